/* shuffler_settings: what an operator writes into a shuffler's YAML file. faro-shuffler(1)
 * describes every key.
 *
 * A shuffler is one process; or one joiner, whose file lists `collectors`, and collectors, whose
 * files have a section `collector` (wire/portion.h). */
#ifndef FARO_SERVICE_SHUFFLER_SHUFFLER_SETTINGS_H
#define FARO_SERVICE_SHUFFLER_SHUFFLER_SETTINGS_H

#include "service/http/server.h"
#include "service/state/spool.h"

typedef struct faro_shuffler_settings {
  faro_http_settings http;
  char state[FARO_FILE_MAX + 1];     /* the file of its state, or of its keys if `database` is set */
  char database[FARO_FILE_MAX + 1];  /* postgresql://...; empty: the state is in the file */
  char key[FARO_FILE_MAX + 1];       /* file of the signing key */
  char tokens[FARO_FILE_MAX + 1];    /* file of token hashes */
  char campaign[FARO_FILE_MAX + 1];  /* file of the campaign document; by default STATE.campaign */
  char authority[FARO_FILE_MAX + 1]; /* certificates to trust for the analyzer; empty: the system's */
  char analyzer[FARO_URL_MAX + 1];
  char standby[FARO_URL_MAX + 1]; /* address of the analyzer's standby; empty: it has none */
  unsigned char analyzer_key[FARO_KEY_BYTES];
  /* A joiner's: where clients find the collectors, and their keys. */
  size_t collectors;
  faro_campaign_shuffler collector[FARO_COLLECTORS_MAX];
  /* A collector's. */
  struct {
    uint64_t number, of; /* of: 0 if this is no collector */
    char joiner[FARO_URL_MAX + 1];
    unsigned char joiner_key[FARO_KEY_BYTES]; /* the shuffler's, as the campaign names it now */
  } part;
  char adder[FARO_URL_MAX + 1]; /* if counts are split; empty: none */
} faro_shuffler_settings;

bool faro_shuffler_is_joiner(const faro_shuffler_settings *settings);
bool faro_shuffler_is_collector(const faro_shuffler_settings *settings);
faro_spool_part faro_shuffler_part(const faro_shuffler_settings *settings);

/* Reads the file and checks that the certificate, key and token files it names can be used. */
faro_status faro_shuffler_settings_load(faro_shuffler_settings *settings, const char *path,
                                        faro_error *error) FARO_WARN_UNUSED;
/* Sets the file of the campaign, if it is not given. */
faro_status faro_shuffler_settings_file(faro_shuffler_settings *settings, faro_error *error) FARO_WARN_UNUSED;

#endif
