/* shuffler_settings: what an operator writes into a shuffler's YAML file. faro-shuffler(1)
 * describes every key. */
#ifndef FARO_SERVICE_SHUFFLER_SHUFFLER_SETTINGS_H
#define FARO_SERVICE_SHUFFLER_SHUFFLER_SETTINGS_H

#include "service/http/server.h"
#include "wire/wire.h"

typedef struct faro_shuffler_settings {
  faro_http_settings http;
  char state[FARO_FILE_MAX + 1];     /* the database */
  char key[FARO_FILE_MAX + 1];       /* file of the signing key */
  char tokens[FARO_FILE_MAX + 1];    /* file of token hashes */
  char campaign[FARO_FILE_MAX + 1];  /* file of the campaign document; by default STATE.campaign */
  char authority[FARO_FILE_MAX + 1]; /* certificates to trust for the analyzer; empty: the system's */
  char analyzer[FARO_URL_MAX + 1];
  char standby[FARO_URL_MAX + 1]; /* address of the analyzer's standby; empty: it has none */
  unsigned char analyzer_key[FARO_KEY_BYTES];
} faro_shuffler_settings;

/* Reads the file and checks that the certificate, key and token files it names can be used. */
faro_status faro_shuffler_settings_load(faro_shuffler_settings *settings, const char *path,
                                        faro_error *error) FARO_WARN_UNUSED;

#endif
