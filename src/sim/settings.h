/* settings: the table of keys with their types and choices. */
#ifndef FARO_SIM_SETTINGS_H
#define FARO_SIM_SETTINGS_H

#include "sim/experiment.h"

typedef enum faro_scope { SCOPE_TOP, SCOPE_BOTH, SCOPE_ENV, SCOPE_ALGORITHM } faro_scope;
typedef enum faro_type {
  TYPE_INTEGER,
  TYPE_REAL,
  TYPE_REAL_OPEN,
  TYPE_COUNT_AUTO, /* a count, or a word for zero */
  TYPE_COUNT_LOG,
  TYPE_COUNT_NEW,
  TYPE_CALIBRATION,
  TYPE_LEVEL,
  TYPE_SWITCH,
  TYPE_CLIENTS,
  TYPE_ENVIRONMENT,
  TYPE_REWARD,
  TYPE_DRAW,
  TYPE_LEARNER,
  TYPE_RELEASE
} faro_type;

typedef struct faro_key_info {
  const char *name;
  faro_scope scope;
  faro_type type;
  double least, most, fallback; /* fallback NaN: must be given */
  const char *help;
} faro_key_info;

const faro_key_info *faro_key_info_of(faro_key key);
/* The i-th word of a choice, NULL past the last; NULL at once when the type is a number. */
const char *faro_choice(faro_type type, size_t index);
/* Reads a word as a value of the key. */
bool faro_key_read(faro_key key, const char *word, bool quoted, double *value);
/* What the key allows, as "one of a, b" or "a number from 0 to 1". */
enum { FARO_ALLOWED_SIZE = 300 };
const char *faro_key_allowed(faro_key key, char out[static FARO_ALLOWED_SIZE]);
/* The choice that the word perhaps meant, or NULL. */
const char *faro_key_meant(faro_key key, const char *word);
/* The key as a person would call it: "environment name", "epsilon". */
const char *faro_key_title(faro_key key);

#endif
