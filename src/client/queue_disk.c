/* queue_disk: a queue on a disk: its file is read, replaced and locked. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "client/queue_inner.h"

enum { PATH_SIZE = 4096, FILE_MAX = 32 << 20 };

static faro_status check_mode(const char *path, bool *there, faro_error *error) {
  struct stat about;
  *there = stat(path, &about) == 0;
  if (!*there && errno != ENOENT)
    return faro_fail(error, FARO_SYSTEM, "%s: cannot be read: %s", faro_path_end(path), strerror(errno));
  if (!*there || !S_ISREG(about.st_mode) || (about.st_mode & 077) == 0) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s must not be readable by others (its mode is %o; use 600)",
                   faro_path_end(path), (unsigned)about.st_mode & 0777);
}

faro_status faro_queue_load(faro_queue *queue, faro_error *error) {
  bool there = false;
  bool memory = false;
  char *bytes = NULL;
  size_t length = 0;
  faro_status status = check_mode(queue->path, &there, error);
  if (status != FARO_OK || !there) return status;
  status = faro_read_file(queue->path, FILE_MAX, &bytes, &length, error);
  if (status != FARO_OK) return status;
  const bool good = faro_queue_read(queue, (const unsigned char *)bytes, length, &memory);
  sodium_memzero(bytes, length);
  free(bytes);
  if (good) return FARO_OK;
  if (memory) return faro_fail(error, FARO_MEMORY, "out of memory");
  return faro_fail(error, FARO_INVALID, "%s is not the state of a client, or is damaged",
                   faro_path_end(queue->path));
}

faro_status faro_queue_store(const faro_queue *queue, faro_error *error) {
  size_t length = 0;
  unsigned char *bytes = faro_queue_write(queue, &length);
  if (!bytes) return faro_fail(error, FARO_MEMORY, "out of memory");
  const faro_status status = faro_write_file(queue->path, bytes, length, 0600, error);
  sodium_memzero(bytes, length);
  free(bytes);
  return status;
}

faro_status faro_queue_lock(faro_queue *queue, faro_error *error) {
  char beside[PATH_SIZE];
  if (snprintf(beside, sizeof beside, "%s.lock", queue->path) >= (int)sizeof beside)
    return faro_fail(error, FARO_INVALID, "the path %.100s... is too long", queue->path);
  const int file = open(beside, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0)
    return faro_fail(error, FARO_SYSTEM, "%s: cannot be written: %s", faro_path_end(beside), strerror(errno));
  if (flock(file, LOCK_EX | LOCK_NB) == 0) {
    queue->lock = file;
    return FARO_OK;
  }
  const bool held = errno == EWOULDBLOCK;
  const char *why = strerror(errno);
  close(file);
  if (held) return faro_fail(error, FARO_SYSTEM, "state %s is in use", faro_path_end(queue->path));
  return faro_fail(error, FARO_SYSTEM, "%s: cannot be locked: %s", faro_path_end(beside), why);
}

void faro_queue_unlock(faro_queue *queue) {
  if (queue->lock >= 0) close(queue->lock);
  queue->lock = -1;
}
