/* client_state: see the header. */
#include "service/client/client_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

#define STATE "faro-client-state-1 "
enum { DIGITS = 2 * FARO_DIGEST_BYTES, LINE = 160, PATH_SIZE = 4096 };

static int write_state(const faro_client_state *state, char line[static LINE]) {
  char digest[DIGITS + 1];
  sodium_bin2hex(digest, sizeof digest, state->campaign, FARO_DIGEST_BYTES);
  return snprintf(line, LINE, STATE "%s %" PRIu64 " %" PRIu64 "\n", digest, state->sequence, state->version);
}

/* Valid is exactly what write_state writes, to the byte. */
static bool read_state(const char *text, size_t length, faro_client_state *state) {
  const size_t at = sizeof STATE - 1;
  char line[LINE], *end = NULL;
  if (length < at + DIGITS || length >= LINE) return false;
  if (sodium_hex2bin(state->campaign, FARO_DIGEST_BYTES, text + at, DIGITS, NULL, NULL, NULL) != 0)
    return false;
  state->sequence = strtoull(text + at + DIGITS, &end, 10);
  state->version = strtoull(end, NULL, 10);
  return (size_t)write_state(state, line) == length && memcmp(line, text, length) == 0;
}

faro_status faro_client_state_load(const char *path, faro_client_state *state, faro_error *error) {
  *state = (faro_client_state){0};
  if (access(path, F_OK) != 0 && errno == ENOENT) return FARO_OK;
  char *text = NULL;
  size_t length = 0;
  const faro_status status = faro_read_file(path, 4096, &text, &length, error);
  if (status != FARO_OK) return status;
  faro_client_state read = {0};
  const bool good = read_state(text, length, &read);
  free(text);
  if (!good) return faro_fail(error, FARO_INVALID, "%s is not the state of a client", path);
  *state = read;
  return FARO_OK;
}

faro_status faro_client_state_lock(const char *path, int *lock, faro_error *error) {
  char beside[PATH_SIZE];
  if (snprintf(beside, sizeof beside, "%s.lock", path) >= (int)sizeof beside)
    return faro_fail(error, FARO_INVALID, "the path %.100s... is too long", path);
  const int file = open(beside, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0)
    return faro_fail(error, FARO_SYSTEM, "%s: cannot be written: %s", faro_path_end(beside), strerror(errno));
  if (flock(file, LOCK_EX | LOCK_NB) == 0) {
    *lock = file;
    return FARO_OK;
  }
  const bool held = errno == EWOULDBLOCK;
  const char *why = strerror(errno);
  close(file);
  if (held) return faro_fail(error, FARO_SYSTEM, "state %s is in use", faro_path_end(path));
  return faro_fail(error, FARO_SYSTEM, "%s: cannot be locked: %s", faro_path_end(beside), why);
}

faro_status faro_client_state_save(const char *path, const faro_client_state *state, faro_error *error) {
  char line[LINE];
  return faro_write_file(path, line, (size_t)write_state(state, line), 0600, error);
}
