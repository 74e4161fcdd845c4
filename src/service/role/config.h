/* config: reads a role's settings from a YAML file, strictly, by a table of keys. Messages name
 * file, line, key, value and what is allowed.
 *
 * A name with a dot is a key of a section: "campaign.epsilon". A list of sections is a row of type
 * LIST ("shufflers") and rows for its keys ("shufflers[].url"), whose offsets are those in the
 * first element. */
#ifndef FARO_SERVICE_ROLE_CONFIG_H
#define FARO_SERVICE_ROLE_CONFIG_H

#include <faro/base.h>

typedef enum faro_config_type {
  FARO_CONFIG_TEXT,   /* char[size] */
  FARO_CONFIG_COUNT,  /* uint64_t, least .. most (0: up to 2^53) */
  FARO_CONFIG_REAL,   /* double, least .. most (both 0: any) */
  FARO_CONFIG_FLAG,   /* bool: true or false */
  FARO_CONFIG_CHOICE, /* size_t: index among the words, which end with NULL */
  FARO_CONFIG_HEX,    /* unsigned char[size], as 2 size hexadecimal digits */
  FARO_CONFIG_KEY,    /* unsigned char[32], likewise: an Ed25519 public key, not a placeholder */
  FARO_CONFIG_LIST    /* size_t: how many; elements are `size` bytes apart, at most `most` */
} faro_config_type;

typedef struct faro_config_key {
  const char *name;
  faro_config_type type;
  bool required; /* in a list: in each element */
  bool above;    /* REAL only: `least` itself is not allowed */
  size_t offset, size;
  double least, most;
  const char *const *words;
  const char *help;
} faro_config_key;

/* Sets what the file gives. Everything else in `settings` keeps its value: these are the
 * defaults. */
faro_status faro_config_load(const char *path, const faro_config_key *keys, size_t count, void *settings,
                             faro_error *error) FARO_WARN_UNUSED;
/* The same from a text, for tests and fuzzing. `path` is for messages. */
faro_status faro_config_parse(const char *path, const char *text, size_t length, const faro_config_key *keys,
                              size_t count, void *settings, faro_error *error) FARO_WARN_UNUSED;

#endif
