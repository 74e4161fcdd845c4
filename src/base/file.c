/* file: see the header. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

enum { PATH_SIZE = 4096 };

/* Reads to the end, or one byte past the limit. */
static char *read_all(FILE *file, size_t limit, size_t *length) {
  size_t capacity = 1 << 16;
  char *text = malloc(capacity);
  *length = 0;
  while (text) {
    *length += fread(text + *length, 1, capacity - *length, file);
    if (*length < capacity || *length > limit) return text;
    capacity *= 2;
    char *larger = realloc(text, capacity);
    if (!larger) free(text);
    text = larger;
  }
  return NULL;
}

faro_status faro_read_file(const char *path, size_t limit, char **text, size_t *length, faro_error *error) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return faro_fail(error, FARO_INVALID, "%s: cannot be read: %s", faro_path_end(path), strerror(errno));
  errno = 0;
  char *read = read_all(file, limit, length);
  const int reason = ferror(file) ? errno : 0;
  fclose(file);
  if (read && reason == 0 && *length <= limit) {
    *text = read;
    return FARO_OK;
  }
  free(read);
  if (!read) return faro_fail(error, FARO_MEMORY, "cannot hold %s", faro_path_end(path));
  if (reason)
    return faro_fail(error, FARO_INVALID, "%s: cannot be read: %s", faro_path_end(path), strerror(reason));
  return faro_fail(error, FARO_INVALID, "%s: too large: at most %zu bytes are allowed", faro_path_end(path),
                   limit);
}

bool faro_write_all(int file, const void *bytes, size_t length) {
  const char *at = bytes;
  while (length > 0) {
    const ssize_t written = write(file, at, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    length -= (size_t)written;
  }
  return true;
}

static bool write_flushed(const char *path, const void *bytes, size_t length, mode_t mode) {
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
  if (file < 0) return false;
  const bool good =
      (mode != 0600 || fchmod(file, mode) == 0) && faro_write_all(file, bytes, length) && fsync(file) == 0;
  const int reason = errno;
  const bool closed = close(file) == 0;
  if (!good) errno = reason;
  return good && closed;
}

faro_status faro_write_file(const char *path, const void *bytes, size_t length, unsigned mode,
                            faro_error *error) {
  char fresh[PATH_SIZE];
  if (snprintf(fresh, sizeof fresh, "%s.new", path) >= (int)sizeof fresh)
    return faro_fail(error, FARO_INVALID, "the path %.100s... is too long", path);
  if (write_flushed(fresh, bytes, length, mode) && rename(fresh, path) == 0 && faro_flush_folder(path))
    return FARO_OK;
  const int reason = errno;
  (void)unlink(fresh);
  return faro_fail(error, FARO_SYSTEM, "%s: cannot be written: %s", faro_path_end(path), strerror(reason));
}

faro_status faro_check_folder(const char *name, const char *path, faro_error *error) {
  char copy[PATH_SIZE];
  snprintf(copy, sizeof copy, "%s", path);
  const char *folder = dirname(copy);
  if (access(folder, R_OK | W_OK | X_OK) == 0) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s cannot be created in %s: %s", name, faro_path_end(folder),
                   strerror(errno));
}

bool faro_flush_folder(const char *path) {
  char *copy = strdup(path);
  if (!copy) return false;
  const int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  free(copy);
  if (folder < 0) return errno == EACCES; /* a folder that may be written but not read cannot be flushed */
  /* some file systems cannot flush folders */
  const bool good = fsync(folder) == 0 || errno == EINVAL || errno == ENOTSUP;
  const int reason = errno;
  close(folder);
  errno = reason;
  return good;
}
