/* settings: see the header. The table of keys is made once, before main. */
#include "sim/settings.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/abort.h"
#include "base/text.h"

enum { WORDS_MAX = 64 };

#define X(id, text) text,
static const char *const calibrations[] = {FARO_CALIBRATION_LIST(X) NULL};
static const char *const rewards[] = {FARO_REWARD_LIST(X) NULL};
static const char *const draws[] = {FARO_DRAW_LIST(X) NULL};
static const char *const levels[] = {FARO_LEVEL_LIST(X) NULL};
#undef X
static const char *const automatic[] = {"auto", NULL};
static const char *const logarithm[] = {"log", NULL};
static const char *const newcomers[] = {"new", NULL};
static const char *const switches[] = {"false", "true", NULL};
static const char *environments[WORDS_MAX], *learners[WORDS_MAX], *releases[WORDS_MAX];

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

__attribute__((constructor)) static void make_rows(void) {
  for (size_t i = 0; i < faro_learner_count() && i + 1 < WORDS_MAX; i++) {
    learners[i] = faro_learner_at(i)->name;
    add_own(faro_learner_at(i)->settings, SCOPE_BOTH);
  }
  for (size_t i = 0; i < faro_env_count() && i + 1 < WORDS_MAX; i++) {
    environments[i] = faro_env_at(i)->name;
    add_own(faro_env_at(i)->settings, SCOPE_ENV);
  }
  for (size_t i = 0; i < faro_release_kinds() && i + 1 < WORDS_MAX; i++)
    releases[i] = faro_release_kind_at(i)->name;
}

size_t faro_key_count(void) { return count; }
const faro_setting *faro_key_setting(faro_key key) { return &rows[key].setting; }
faro_scope faro_key_scope(faro_key key) { return rows[key].scope; }

const faro_setting *faro_key_own(const faro_setting *table, faro_key key) {
  for (; table && table->name; table++)
    if (strcmp(table->name, faro_key_name(key)) == 0) return table;
  return NULL;
}

/* The words of a choice or switch; NULL: a number. */
static const char *const *choices(const faro_setting *s) {
  if (s->type == FARO_SETTING_SWITCH) return switches;
  return s->type == FARO_SETTING_CHOICE ? s->words : NULL;
}

static size_t length_of(const char *const *words) {
  size_t length = 0;
  while (words && words[length]) length++;
  return length;
}

/* The word that stands for zero in a count, or NULL. */
static const char *zero_word(const faro_setting *s) {
  return s->type == FARO_SETTING_COUNT && s->words ? s->words[0] : NULL;
}

bool faro_key_is_number(faro_key key) { return !choices(faro_key_setting(key)); }

const char *faro_key_print(faro_key key, double value, char out[static 64]) {
  const faro_setting *s = faro_key_setting(key);
  const char *const *words = choices(s);
  const char *word = words && (size_t)value < length_of(words) ? words[(size_t)value] : NULL;
  char number[FARO_NUMBER_SIZE];
  if (!word && value == 0) word = zero_word(s);
  snprintf(out, 64, "%s", word ? word : faro_number(value, number));
  return out;
}

static bool read_choice(const char *const *words, const char *word, double *value) {
  for (size_t i = 0; words[i]; i++)
    if (strcmp(words[i], word) == 0) {
      *value = (double)i;
      return true;
    }
  return false;
}

const char *faro_key_meant(faro_key key, const char *word) {
  const char *const *words = choices(faro_key_setting(key));
  return faro_nearest(word, words, length_of(words));
}

const char *faro_key_title(faro_key key) {
  return key == FARO_KEY_ENVIRONMENT ? "environment name" : faro_key_name(key);
}

/* Plain decimal numbers alone: no hexadecimal, no "nan", nothing behind the number. */
static bool read_number(const char *word, double *value) {
  if (!isdigit((unsigned char)word[strspn(word, "+-.")]) || strpbrk(word, "xX")) return false;
  char *end = NULL;
  *value = strtod(word, &end);
  return *end == '\0' && isfinite(*value);
}

static bool read_value(const faro_setting *s, const char *word, double *value) {
  if (zero_word(s) && strcmp(word, zero_word(s)) == 0) {
    *value = 0;
    return true;
  }
  double number = 0;
  if (!read_number(word, &number)) return false;
  if (s->type == FARO_SETTING_COUNT && number != floor(number)) return false;
  if (number < s->least || number > s->most) return false;
  if (s->type == FARO_SETTING_REAL_OPEN && (number == s->least || number == s->most)) return false;
  *value = number;
  return true;
}

bool faro_key_read(faro_key key, const char *word, bool quoted, double *value) {
  const faro_setting *s = faro_key_setting(key);
  if (choices(s)) return read_choice(choices(s), word, value);
  return !quoted && read_value(s, word, value);
}

const char *faro_key_allowed(faro_key key, char out[static FARO_ALLOWED_SIZE]) {
  const faro_setting *s = faro_key_setting(key);
  const char *const *words = choices(s);
  if (s->type == FARO_SETTING_REAL)
    snprintf(out, FARO_ALLOWED_SIZE, "a number from %g to %g", s->least, s->most);
  else if (s->type == FARO_SETTING_REAL_OPEN)
    snprintf(out, FARO_ALLOWED_SIZE, "a number above %g and below %g", s->least, s->most);
  else
    snprintf(out, FARO_ALLOWED_SIZE, "a whole number from %.0f to %.0f%s%s", s->least, s->most,
             zero_word(s) ? ", or " : "", zero_word(s) ? zero_word(s) : "");
  size_t used = 0;
  for (size_t i = 0; words && words[i] && used < FARO_ALLOWED_SIZE; i++)
    used += (size_t)snprintf(out + used, FARO_ALLOWED_SIZE - used, "%s%s", i ? ", " : "one of ", words[i]);
  return out;
}

static const char *scope_text(faro_scope scope) {
  static const char *const text[] = {"top level", "top level, algorithm", "environment", "algorithm"};
  return text[scope];
}

char *faro_settings_table(void) {
  faro_text table = FARO_TEXT_INIT;
  for (faro_key k = 0; k < faro_key_count(); k++) {
    const faro_setting *s = faro_key_setting(k);
    char allowed[FARO_ALLOWED_SIZE];
    char preset[64] = "required";
    if (!isnan(s->preset)) faro_key_print(k, s->preset, preset);
    faro_text_add(&table, "  %-12s %s\n  %-12s in: %s; default: %s; %s\n", s->name, s->help, "",
                  scope_text(faro_key_scope(k)), preset, faro_key_allowed(k, allowed));
  }
  if (table.failed) faro_text_clear(&table);
  return table.data;
}
