/* settings: see the header. */
#include "sim/settings.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define NONE ((double)NAN)
static const faro_key_info info[] = {
#define KEY(id, name, scope, type, least, most, fallback, help)                                              \
  {name, SCOPE_##scope, TYPE_##type, least, most, fallback, help},
#include "sim/keys.def"
#undef KEY
};
#undef NONE

const faro_key_info *faro_key_info_of(faro_key key) { return &info[key]; }
const char *faro_key_name(faro_key key) { return info[key].name; }

const char *faro_measure_name(faro_measure measure) {
  static const char *const name[] = {
#define X(id, text, ...) text,
      FARO_MEASURE_LIST(X)
#undef X
  };
  return name[measure];
}

static const char *word_at(const char *const *words, size_t count, size_t index) {
  return index < count ? words[index] : NULL;
}

/* Whether some release has the calibration. */
static bool offered(size_t calibration) {
  for (size_t k = 0; calibration < FARO_CALIBRATION_COUNT && k < faro_release_kinds(); k++)
    if (faro_release_kind_calibrates(faro_release_kind_at(k), (faro_calibration)calibration)) return true;
  return false;
}

const char *faro_choice(faro_type type, size_t index) {
#define X(id, text) text,
  static const char *const calibrations[] = {FARO_CALIBRATION_LIST(X)};
  static const char *const rewards[] = {FARO_REWARD_LIST(X)};
  static const char *const draws[] = {FARO_DRAW_LIST(X)};
  static const char *const levels[] = {FARO_LEVEL_LIST(X)};
#undef X
  static const char *const switches[] = {"false", "true"};
  static const char *const clients[] = {"growing", "fixed"};
  switch (type) {
  case TYPE_CALIBRATION:
    return offered(index) ? word_at(calibrations, sizeof calibrations / sizeof *calibrations, index) : NULL;
  case TYPE_REWARD: return word_at(rewards, sizeof rewards / sizeof *rewards, index);
  case TYPE_DRAW: return word_at(draws, sizeof draws / sizeof *draws, index);
  case TYPE_LEVEL: return word_at(levels, sizeof levels / sizeof *levels, index);
  case TYPE_CLIENTS: return word_at(clients, sizeof clients / sizeof *clients, index);
  case TYPE_SWITCH: return word_at(switches, sizeof switches / sizeof *switches, index);
  case TYPE_ENVIRONMENT: return index < faro_env_kinds() ? faro_env_kind_name(faro_env_kind_at(index)) : NULL;
  case TYPE_LEARNER:
    return index < faro_learner_kinds() ? faro_learner_kind_name(faro_learner_kind_at(index)) : NULL;
  case TYPE_RELEASE:
    return index < faro_release_kinds() ? faro_release_kind_name(faro_release_kind_at(index)) : NULL;
  case TYPE_INTEGER:
  case TYPE_REAL:
  case TYPE_REAL_OPEN:
  case TYPE_COUNT_AUTO:
  case TYPE_COUNT_LOG:
  case TYPE_COUNT_NEW: break;
  }
  return NULL;
}

/* The word that stands for zero in a count, or NULL. */
static const char *zero_word(faro_type type) {
  if (type == TYPE_COUNT_AUTO) return "auto";
  if (type == TYPE_COUNT_LOG) return "log";
  return type == TYPE_COUNT_NEW ? "new" : NULL;
}

bool faro_key_is_number(faro_key key) { return faro_choice(info[key].type, 0) == NULL; }

const char *faro_key_print(faro_key key, double value, char out[static 64]) {
  const char *word = faro_choice(info[key].type, (size_t)value);
  char number[FARO_NUMBER_SIZE];
  if (!word && value == 0) word = zero_word(info[key].type);
  snprintf(out, 64, "%s", word ? word : faro_number(value, number));
  return out;
}

static size_t list_choices(faro_type type, const char *names[static 64]) {
  size_t count = 0;
  for (const char *name = NULL; count < 64 && (name = faro_choice(type, count)); count++) names[count] = name;
  return count;
}

static bool read_choice(faro_type type, const char *word, double *value) {
  const char *name = NULL;
  for (size_t i = 0; (name = faro_choice(type, i)); i++)
    if (strcmp(name, word) == 0) {
      *value = (double)i;
      return true;
    }
  return false;
}

const char *faro_key_meant(faro_key key, const char *word) {
  const char *names[64];
  const size_t count = list_choices(info[key].type, names);
  return faro_nearest(word, names, count);
}

const char *faro_key_title(faro_key key) {
  return key == FARO_KEY_ENVIRONMENT ? "environment name" : info[key].name;
}

/* Plain decimal numbers alone: no hexadecimal, no "nan", nothing behind the number. */
static bool read_number(const char *word, double *value) {
  if (!isdigit((unsigned char)word[strspn(word, "+-.")]) || strpbrk(word, "xX")) return false;
  char *end = NULL;
  *value = strtod(word, &end);
  return *end == '\0' && isfinite(*value);
}

static bool read_value(const faro_key_info *key, const char *word, double *value) {
  if (zero_word(key->type) && strcmp(word, zero_word(key->type)) == 0) {
    *value = 0;
    return true;
  }
  double number = 0;
  if (!read_number(word, &number)) return false;
  if (key->type != TYPE_REAL && key->type != TYPE_REAL_OPEN && number != floor(number)) return false;
  if (number < key->least || number > key->most) return false;
  if (key->type == TYPE_REAL_OPEN && (number == key->least || number == key->most)) return false;
  *value = number;
  return true;
}

bool faro_key_read(faro_key key, const char *word, bool quoted, double *value) {
  if (!faro_key_is_number(key)) return read_choice(info[key].type, word, value);
  return !quoted && read_value(&info[key], word, value);
}

const char *faro_key_allowed(faro_key key, char out[static FARO_ALLOWED_SIZE]) {
  const faro_key_info *k = &info[key];
  const char *names[64];
  const size_t count = list_choices(k->type, names);
  if (k->type == TYPE_REAL || k->type == TYPE_REAL_OPEN)
    snprintf(out, FARO_ALLOWED_SIZE,
             k->type == TYPE_REAL ? "a number from %g to %g" : "a number above %g and below %g", k->least,
             k->most);
  else
    snprintf(out, FARO_ALLOWED_SIZE, "a whole number from %.0f to %.0f%s%s", k->least, k->most,
             zero_word(k->type) ? ", or " : "", zero_word(k->type) ? zero_word(k->type) : "");
  size_t used = 0;
  for (size_t i = 0; i < count && used < FARO_ALLOWED_SIZE; i++)
    used += (size_t)snprintf(out + used, FARO_ALLOWED_SIZE - used, "%s%s", i ? ", " : "one of ", names[i]);
  return out;
}

static const char *scope_text(faro_scope scope) {
  static const char *const text[] = {"top level", "top level, algorithm", "environment", "algorithm"};
  return text[scope];
}

char *faro_settings_table(void) {
  faro_text table = FARO_TEXT_INIT;
  for (size_t i = 0; i < FARO_KEY_COUNT; i++) {
    const faro_key_info *k = &info[i];
    char allowed[FARO_ALLOWED_SIZE];
    char fallback[64] = "required";
    if (!isnan(k->fallback)) faro_key_print((faro_key)i, k->fallback, fallback);
    faro_text_add(&table, "  %-12s %s\n  %-12s in: %s; default: %s; %s\n", k->name, k->help, "",
                  scope_text(k->scope), fallback, faro_key_allowed((faro_key)i, allowed));
  }
  if (table.failed) faro_text_clear(&table);
  return table.data;
}

size_t faro_curve_rounds(uint64_t horizon, uint64_t round[static FARO_CURVE_POINTS]) {
  const size_t points = horizon < FARO_CURVE_POINTS ? (size_t)horizon : FARO_CURVE_POINTS;
  for (size_t i = 0; i < points; i++) /* horizon <= 10^10, so the product fits */
    round[i] = (horizon * (i + 1) + points - 1) / points;
  return points;
}
