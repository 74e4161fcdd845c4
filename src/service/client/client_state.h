/* client_state: what `faro client` keeps between two runs, in a file of one line:
 *
 *   faro-client-state-1 DIGEST SEQUENCE VERSION */
#ifndef FARO_SERVICE_CLIENT_CLIENT_STATE_H
#define FARO_SERVICE_CLIENT_CLIENT_STATE_H

#include "wire/wire.h"

typedef struct faro_client_state {
  unsigned char campaign[FARO_DIGEST_BYTES]; /* zero: no campaign yet */
  uint64_t sequence, version;
} faro_client_state;

/* A file that does not exist belongs to a new client: all zero. */
faro_status faro_client_state_load(const char *path, faro_client_state *state,
                                   faro_error *error) FARO_WARN_UNUSED;
/* Locks PATH.lock until *lock is closed. Two processes would use a sequence number twice. The lock
 * is not on the file itself, because saving replaces that file. */
faro_status faro_client_state_lock(const char *path, int *lock, faro_error *error) FARO_WARN_UNUSED;
/* Durable on return: the file is replaced as a whole, mode 600. */
faro_status faro_client_state_save(const char *path, const faro_client_state *state,
                                   faro_error *error) FARO_WARN_UNUSED;

#endif
