/* client_settings: what a person writes into the YAML file of `faro client`. */
#ifndef FARO_SERVICE_CLIENT_CLIENT_SETTINGS_H
#define FARO_SERVICE_CLIENT_CLIENT_SETTINGS_H

#include "wire/wire.h"

enum { FARO_CLIENT_PATH = 1024 };

/* An example:
 *
 *   analyzer: http://127.0.0.1:8400
 *   standby: http://127.0.0.1:8410   # where its standby would answer; none: left out
 *   key: 64 hexadecimal digits       # the analyzer's public key, pinned
 *   token: /etc/faro/my.token        # a file with one token
 *   state: /var/lib/faro/client      # campaign, sequence number and policy version
 *   epsilon: 1                       # the minimum: campaigns that promise less are refused
 *   delta: 1e-6
 *   trust: shuffle                   # local, shuffle, concurrent or joint
 *   level: user                      # or event
 *   honest: 0.9                      # the most of a batch whose noise may be counted on; 1: any
 *   insecure: false                  # true allows plain http:// beyond this machine
 *   fixed: false                     # true refuses moves to other addresses and keys
 *   shufflers:                       # pinned: a campaign with another one is refused; none: any
 *     - url: https://shuffler.example.net:8401
 *       key: 64 hexadecimal digits */
typedef struct faro_client_settings {
  char analyzer[FARO_URL_MAX + 1], standby[FARO_URL_MAX + 1];
  unsigned char key[FARO_KEY_BYTES];
  bool key_set;
  char key_file[FARO_CLIENT_PATH], token[FARO_CLIENT_PATH], state[FARO_CLIENT_PATH],
      authority[FARO_CLIENT_PATH];
  double epsilon, delta, honest;
  bool insecure, fixed;
  size_t trust, level; /* indices in the words below */
  size_t shufflers;    /* pinned; 0: any */
  faro_campaign_shuffler shuffler[FARO_SHUFFLERS_MAX];
} faro_client_settings;

/* The words of trust and level by index; NULL past the last one. */
const char *faro_client_trusts(size_t index);
const char *faro_client_levels(size_t index);

faro_status faro_client_settings_load(faro_client_settings *settings, const char *path,
                                      faro_error *error) FARO_WARN_UNUSED;

#endif
