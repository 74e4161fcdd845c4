/* file: see the header. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

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

bool faro_flush_folder(const char *path) {
  char *copy = strdup(path);
  if (!copy) return false;
  const int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  free(copy);
  if (folder < 0) return errno == EACCES; /* who may write there, but not read, cannot ask for it */
  const bool good = fsync(folder) == 0 || errno == EINVAL || errno == ENOTSUP; /* nor of some file systems */
  const int reason = errno;
  close(folder);
  errno = reason;
  return good;
}
