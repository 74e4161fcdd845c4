/* adder_settings: what an operator writes into an adder's YAML file. faro-adder(1) describes every
 * key. */
#ifndef FARO_SERVICE_ADDER_ADDER_SETTINGS_H
#define FARO_SERVICE_ADDER_ADDER_SETTINGS_H

#include "service/shuffler/shuffler_settings.h"

typedef struct faro_adder_settings {
  /* What it has in common with a shuffler: all but the tokens and the address of an adder. */
  faro_shuffler_settings common;
  char seal[FARO_FILE_MAX + 1]; /* file of the sealing key */
} faro_adder_settings;

/* Reads the file and checks that the certificate and key files it names can be used. */
faro_status faro_adder_settings_load(faro_adder_settings *settings, const char *path,
                                     faro_error *error) FARO_WARN_UNUSED;

#endif
