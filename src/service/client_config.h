/* client_config: the settings of `faro client`, and what it keeps between two runs. */
#ifndef FARO_SERVICE_CLIENT_CONFIG_H
#define FARO_SERVICE_CLIENT_CONFIG_H

#include "wire/wire.h"

enum { FARO_CLIENT_PATH = 1024 };

/* In the file, for example:
 *
 *   analyzer: http://127.0.0.1:8400
 *   key: 64 hexadecimal digits       # the analyzer's public key, pinned
 *   token: /etc/faro/my.token        # a file with one token
 *   state: /var/lib/faro/client      # campaign, sequence number and policy version, over restarts
 *   epsilon: 1                       # the floor: campaigns that promise less are refused
 *   delta: 1e-6
 *   trust: shuffle                   # local, shuffle, concurrent or joint
 *   level: user                      # or event
 *   honest: 0.9                      # the most of a batch that the noise may count on; 0: any
 *   insecure: false                  # true: plain http:// beyond this machine */
typedef struct faro_client_config {
  char analyzer[FARO_URL_MAX + 1];
  unsigned char key[FARO_KEY_BYTES];
  bool key_set;
  char key_file[FARO_CLIENT_PATH], token[FARO_CLIENT_PATH], state[FARO_CLIENT_PATH],
      authority[FARO_CLIENT_PATH];
  double epsilon, delta, honest;
  bool insecure;
  size_t trust, level; /* index in the words below */
} faro_client_config;

/* The words of trust and level by their index; NULL past the last one. */
const char *faro_client_trusts(size_t index);
const char *faro_client_levels(size_t index);

faro_status faro_client_configure(faro_client_config *config, const char *path,
                                  faro_error *error) FARO_WARN_UNUSED;

/* What is kept. A file that is not there is a new client. */
typedef struct faro_client_state {
  unsigned char campaign[FARO_DIGEST_BYTES]; /* zero: none yet */
  uint64_t sequence, version;
} faro_client_state;
faro_status faro_client_state_load(const char *path, faro_client_state *state,
                                   faro_error *error) FARO_WARN_UNUSED;
/* One process at a time, until the lock is closed: two would use a sequence number twice. The lock is on a file beside
 * (FILE.lock), for saving puts a new file in the place of the old one. */
faro_status faro_client_state_lock(const char *path, int *lock, faro_error *error) FARO_WARN_UNUSED;
/* Durable on return: a new file, in place of the old one; mode 600. */
faro_status faro_client_state_save(const char *path, const faro_client_state *state,
                                   faro_error *error) FARO_WARN_UNUSED;

#endif
