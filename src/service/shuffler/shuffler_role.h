/* shuffler: the role that collects reports, and passes them on in whole batches without their senders.
 *
 * Which of the campaign's shufflers it is follows from its key. It sends a closed batch until the analyzer has it; an open
 * one stays open over any number of restarts, and never leaves before it is full. */
#ifndef FARO_SERVICE_SHUFFLER_SHUFFLER_ROLE_H
#define FARO_SERVICE_SHUFFLER_SHUFFLER_ROLE_H

#include "service/http/server.h"
#include "wire/wire.h"

typedef struct faro_shuffler_config {
  faro_http_settings http;
  char state[FARO_FILE_MAX + 1];     /* the database */
  char key[FARO_FILE_MAX + 1];       /* file of the signing key */
  char tokens[FARO_FILE_MAX + 1];    /* file of hashes */
  char campaign[FARO_FILE_MAX + 1];  /* file of the document; empty: beside the state */
  char authority[FARO_FILE_MAX + 1]; /* certificates for the analyzer; empty: the system's */
  char analyzer[FARO_URL_MAX + 1];
  unsigned char analyzer_key[FARO_KEY_BYTES];
} faro_shuffler_config;

/* Reads and checks the file, and that the files it names can be used. */
faro_status faro_shuffler_configure(faro_shuffler_config *config, const char *path,
                                    faro_error *error) FARO_WARN_UNUSED;

/* What a start would open besides, without starting: the campaign and the state, where they are there, and that they are
 * this shuffler's; else that they can be made. */
faro_status faro_shuffler_check(const faro_shuffler_config *config, faro_error *error) FARO_WARN_UNUSED;

/* Serves until SIGTERM or SIGINT. FARO_OK: it was asked to stop, and did. */
faro_status faro_shuffler_serve(const faro_shuffler_config *config, faro_error *error) FARO_WARN_UNUSED;

#endif
