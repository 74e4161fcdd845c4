/* settings: all keys of an experiment file, with their types and what they allow.
 *
 * A key is a line of keys.def, or a setting of some learner's or environment's own. Several
 * learners may share a setting: it is one key. */
#ifndef FARO_SIM_SETTINGS_H
#define FARO_SIM_SETTINGS_H

#include <faro/setting.h>
#include <faro/sim.h>

#include "field/field.h"

typedef enum faro_key {
#define KEY(id, ...) FARO_KEY_##id,
#include "sim/keys.def"
#undef KEY
  FARO_KEY_OWN /* the first of those that learners and environments have of their own */
} faro_key;

enum { FARO_KEYS_MAX = 96 };

/* The values of the keys in keys.def. Learner, release and environment are indices into their
 * registries. */
typedef struct faro_settings {
#define KEY(id, member, ctype, ...) ctype member;
#include "sim/keys.def"
#undef KEY
} faro_settings;

typedef enum faro_scope { SCOPE_TOP, SCOPE_BOTH, SCOPE_ENV, SCOPE_ALGORITHM } faro_scope;

/* Adds an environment that a program registers, after its settings were checked. */
faro_status faro_keys_check(const faro_setting *own, faro_error *error) FARO_WARN_UNUSED;
void faro_keys_add_env(const faro_env_kind *kind);

size_t faro_key_count(void);
const faro_setting *faro_key_setting(faro_key key);
faro_scope faro_key_scope(faro_key key);
static inline const char *faro_key_name(faro_key key) { return faro_key_setting(key)->name; }

/* The key of this name, which must be there. */
faro_key faro_key_find(const char *name);
/* The row of a kind's own table that is this key; NULL: the kind has no such setting. */
const faro_setting *faro_key_own(const faro_setting *table, faro_key key);
/* Whether every algorithm has the key. */
static inline bool faro_key_general(faro_key key) { return key < FARO_KEY_OWN; }

/* The key as a person would call it: "environment name", "epsilon". */
const char *faro_key_title(faro_key key);
/* The key as a field, by that name: what it allows and how it is read and printed. */
faro_field faro_key_field(faro_key key);
const char *faro_key_print(faro_key key, double value, char out[static FARO_PRINTED]);
const char *faro_key_allowed(faro_key key, char out[static FARO_ALLOWED]);
/* The default as text; "required" if there is none. */
const char *faro_key_preset(faro_key key, char out[static FARO_PRINTED]);
/* "top level, algorithm" */
const char *faro_scope_text(faro_scope scope);
/* Whether the value is a number (else a word). */
static inline bool faro_key_is_number(faro_key key) {
  const faro_setting_type type = faro_key_setting(key)->type;
  return type != FARO_SETTING_CHOICE && type != FARO_SETTING_SWITCH && type != FARO_SETTING_TEXT;
}
/* Whether the value is a text, or a list of words. */
static inline bool faro_key_is_text(faro_key key) { return faro_key_setting(key)->type == FARO_SETTING_TEXT; }

#endif
