/* settings: see the header. The table of keys is made once, before main. */
#include "sim/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/abort.h"

#define X(id, text) text,
static const char *const calibrations[] = {FARO_CALIBRATION_LIST(X) NULL};
static const char *const rewards[] = {FARO_REWARD_LIST(X) NULL};
static const char *const draws[] = {FARO_DRAW_LIST(X) NULL};
static const char *const levels[] = {FARO_LEVEL_LIST(X) NULL};
#undef X
static const char *const automatic[] = {"auto", NULL};
static const char *const nothing[] = {"none", NULL};
static const char *const protections[] = {"all", "rewards", NULL};
static const char *const logarithm[] = {"log", NULL};
static const char *const newcomers[] = {"new", NULL};
static const char *environments[FARO_WORDS_MAX], *learners[FARO_WORDS_MAX], *releases[FARO_WORDS_MAX];

typedef struct key_row {
  faro_setting setting;
  faro_scope scope;
} key_row;

#define NONE ((double)NAN)
static key_row rows[FARO_KEYS_MAX] = {
#define KEY(id, member, ctype, type, name, scope, least, most, preset, words, help)                          \
  {{name, FARO_SETTING_##type, offsetof(faro_settings, member), least, most, preset, words, help},           \
   SCOPE_##scope},
#include "sim/keys.def"
#undef KEY
};
#undef NONE
static size_t count = FARO_KEY_OWN;

static bool same_word_lists(const char *const *a, const char *const *b) { return a == b || (a && b); }

/* Adds a kind's own settings. Kinds may share one if they mean the same by it. */
static void add_own(const faro_setting *own, faro_scope scope) {
  for (; own && own->name; own++) {
    size_t k = 0;
    while (k < count && strcmp(rows[k].setting.name, own->name) != 0) k++;
    if (k == count) {
      FARO_INVARIANT(count < FARO_KEYS_MAX);
      rows[count++] = (key_row){*own, scope};
    }
    const faro_setting *first = &rows[k].setting;
    FARO_INVARIANT(k >= FARO_KEY_OWN && first->type == own->type && first->least == own->least &&
                   first->most == own->most && first->preset == own->preset &&
                   same_word_lists(first->words, own->words) && rows[k].scope == scope);
  }
}

/* Whether a setting can be added: its name is new, or means the same elsewhere. */
static faro_status check_own(const faro_setting *own, faro_scope scope, faro_error *error) {
  for (size_t k = 0; k < count; k++) {
    const faro_setting *other = &rows[k].setting;
    if (strcmp(other->name, own->name) != 0) continue;
    if (k < FARO_KEY_OWN || rows[k].scope != scope)
      return faro_fail(error, FARO_INVALID, "setting %s has a name that is taken; choose another", own->name);
    if (other->type != own->type || other->least != own->least || other->most != own->most ||
        other->preset != own->preset || !same_word_lists(other->words, own->words))
      return faro_fail(
          error, FARO_INVALID,
          "setting %s differs from that of another environment in type, range or default; choose "
          "another name",
          own->name);
  }
  return FARO_OK;
}

faro_status faro_keys_check(const faro_setting *own, faro_error *error) {
  size_t more = 0;
  faro_status status = FARO_OK;
  for (; own && own[more].name && status == FARO_OK; more++) {
    status = check_own(&own[more], SCOPE_ENV, error);
    for (size_t i = 0; i < more && status == FARO_OK; i++)
      if (strcmp(own[i].name, own[more].name) == 0)
        status = faro_fail(error, FARO_INVALID, "setting %s is in the table twice", own[i].name);
  }
  if (status != FARO_OK) return status;
  if (count + more <= FARO_KEYS_MAX && faro_env_count() + 1 < FARO_WORDS_MAX) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "there are too many settings or environments");
}

void faro_keys_add_env(const faro_env_kind *kind) {
  size_t i = 0;
  while (environments[i]) i++;
  environments[i] = kind->name;
  add_own(kind->settings, SCOPE_ENV);
}

__attribute__((constructor)) static void make_rows(void) {
  for (size_t i = 0; i < faro_learner_count() && i + 1 < FARO_WORDS_MAX; i++) {
    learners[i] = faro_learner_at(i)->name;
    add_own(faro_learner_at(i)->settings, SCOPE_BOTH);
  }
  for (size_t i = 0; i < faro_env_count() && i + 1 < FARO_WORDS_MAX; i++) {
    environments[i] = faro_env_at(i)->name;
    add_own(faro_env_at(i)->settings, SCOPE_ENV);
  }
  for (size_t i = 0; i < faro_release_kinds() && i + 1 < FARO_WORDS_MAX; i++)
    releases[i] = faro_release_kind_at(i)->name;
}

size_t faro_key_count(void) { return count; }
const faro_setting *faro_key_setting(faro_key key) { return &rows[key].setting; }
faro_scope faro_key_scope(faro_key key) { return rows[key].scope; }

faro_key faro_key_find(const char *name) {
  faro_key key = 0;
  while (key < count && strcmp(rows[key].setting.name, name) != 0) key++;
  FARO_INVARIANT(key < count);
  return key;
}

const faro_setting *faro_key_own(const faro_setting *table, faro_key key) {
  for (; table && table->name; table++)
    if (strcmp(table->name, faro_key_name(key)) == 0) return table;
  return NULL;
}

const char *faro_key_title(faro_key key) {
  return key == FARO_KEY_ENVIRONMENT ? "environment name" : faro_key_name(key);
}

faro_field faro_key_field(faro_key key) {
  faro_field field = faro_setting_field(faro_key_setting(key));
  field.name = faro_key_title(key);
  return field;
}

const char *faro_key_print(faro_key key, double value, char out[static FARO_PRINTED]) {
  const faro_field field = faro_key_field(key);
  return faro_field_print(&field, value, out);
}

const char *faro_key_allowed(faro_key key, char out[static FARO_ALLOWED]) {
  const faro_field field = faro_key_field(key);
  return faro_field_allowed(&field, FARO_FROM_YAML, out);
}

const char *faro_scope_text(faro_scope scope) {
  static const char *const text[] = {"top level", "top level, algorithm", "environment", "algorithm"};
  return text[scope];
}

const char *faro_key_preset(faro_key key, char out[static FARO_PRINTED]) {
  const faro_setting *s = faro_key_setting(key);
  if (isnan(s->preset)) snprintf(out, FARO_PRINTED, "required");
  else if (s->type == FARO_SETTING_TEXT) snprintf(out, FARO_PRINTED, "none");
  else faro_key_print(key, s->preset, out);
  return out;
}
