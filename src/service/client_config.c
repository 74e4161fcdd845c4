/* client_config: see the header. */
#include "service/client_config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "service/document.h"
#include "yaml/yaml.h"

FARO_WORDS(trusts, "local", "shuffle", "concurrent", "joint")
FARO_WORDS(levels, "event", "user")

const char *faro_client_trusts(size_t index) { return trusts(index); }
const char *faro_client_levels(size_t index) { return levels(index); }

#define AT(member) FARO_AT(faro_client_config, member)

faro_status faro_client_configure(faro_client_config *config, const char *path, faro_error *error) {
  static const faro_field fields[] = {
      {"analyzer", FARO_FIELD_TEXT, AT(analyzer)},
      {"key", FARO_FIELD_OTHER, AT(key), .required = true, .read = faro_public_key_read,
       .allowed = FARO_PUBLIC_KEY_ALLOWED},
      {"token", FARO_FIELD_TEXT, AT(token)},
      {"state", FARO_FIELD_TEXT, AT(state)},
      {"authority", FARO_FIELD_TEXT, AT(authority)},
      {"epsilon", FARO_FIELD_REAL, AT(epsilon), .most = 1000, .above = true},
      {"delta", FARO_FIELD_REAL, AT(delta), .most = 0.999},
      {"trust", FARO_FIELD_CHOICE, AT(trust), .words = trusts},
      {"level", FARO_FIELD_CHOICE, AT(level), .words = levels},
      {"honest", FARO_FIELD_REAL, AT(honest), .most = 1},
      {"insecure", FARO_FIELD_FLAG, AT(insecure)},
  };
  const faro_status status = faro_yaml_load(path, fields, sizeof fields / sizeof *fields, config, error);
  if (status == FARO_OK) config->key_set = true;
  return status;
}

/* One line: faro-client-state-1 DIGEST SEQUENCE VERSION. */
#define STATE "faro-client-state-1 "
enum { DIGITS = 2 * FARO_DIGEST_BYTES, LINE = 160 };

static int write_state(const faro_client_state *state, char line[static LINE]) {
  char digest[DIGITS + 1];
  sodium_bin2hex(digest, sizeof digest, state->campaign, FARO_DIGEST_BYTES);
  return snprintf(line, LINE, STATE "%s %" PRIu64 " %" PRIu64 "\n", digest, state->sequence, state->version);
}

/* Good is what write would have written, to the byte. */
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
  if (!good) return faro_fail(error, FARO_INVALID, "%s is no state of a client", path);
  *state = read;
  return FARO_OK;
}

faro_status faro_client_state_lock(const char *path, int *lock, faro_error *error) {
  char beside[FARO_CLIENT_PATH + 8];
  snprintf(beside, sizeof beside, "%s.lock", path);
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
  return faro_file_put_private(path, line, (size_t)write_state(state, line), error);
}
