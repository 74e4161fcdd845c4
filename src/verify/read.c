/* read: members of the grounds, within their ranges. A message names the member, what is allowed,
 * and what is there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "verify/inner.h"

void read_fail(reader *r, const char *name, const json_t *got, const char *allowed) {
  char *text = got ? json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  char shown[FARO_SHORT_SIZE];
  if (r->status == FARO_OK)
    r->status = faro_fail(r->error, FARO_INVALID, "grounds: %s must be %s (got %s)", name, allowed,
                          text ? faro_shorten(text, strlen(text), shown) : "nothing");
  free(text);
}

static double checked(reader *r, const char *name, const json_t *value, double least, double most) {
  const double number = json_is_number(value) ? json_number_value(value) : (double)NAN;
  if (number >= least && number <= most) return number;
  char allowed[96];
  snprintf(allowed, sizeof allowed, "a number from %.17g to %.17g", least, most);
  read_fail(r, name, value, allowed);
  return least;
}

double read_number(reader *r, const json_t *object, const char *name, double least, double most) {
  return checked(r, name, json_object_get(object, name), least, most);
}

double read_whole(reader *r, const json_t *object, const char *name, double least, double most) {
  const double number = read_number(r, object, name, least, most);
  if (number == floor(number)) return number;
  read_fail(r, name, json_object_get(object, name), "a whole number");
  return least;
}

bool read_flag(reader *r, const json_t *object, const char *name) {
  const json_t *value = json_object_get(object, name);
  if (!json_is_boolean(value)) read_fail(r, name, value, "true or false");
  return json_is_true(value);
}

size_t read_word(reader *r, const json_t *object, const char *name, const char *const *words) {
  const json_t *value = json_object_get(object, name);
  faro_text allowed = FARO_TEXT_INIT;
  for (size_t i = 0; words[i]; i++) {
    if (json_is_string(value) && strcmp(json_string_value(value), words[i]) == 0) {
      faro_text_clear(&allowed);
      return i;
    }
    faro_text_add(&allowed, "%s%s", i ? ", " : "one of: ", words[i]);
  }
  read_fail(r, name, value, allowed.data ? allowed.data : "known");
  faro_text_clear(&allowed);
  return 0;
}

void read_long(reader *r, const json_t *object, const char *name, arb_t value) {
  const json_t *got = json_object_get(object, name);
  const char *text = json_is_string(got) ? json_string_value(got) : "";
  const size_t length = strlen(text);
  arb_zero(value);
  if (length < 1 || length > 20 || strspn(text, "0123456789") != length ||
      arb_set_str(value, text, BITS) != 0)
    read_fail(r, name, got, "a string of 1 .. 20 digits");
}

const json_t *read_list(reader *r, const json_t *object, const char *name, size_t most) {
  const json_t *value = json_object_get(object, name);
  if (json_is_array(value) && json_array_size(value) >= 1 && json_array_size(value) <= most) return value;
  char allowed[64];
  snprintf(allowed, sizeof allowed, "a list of 1 .. %zu", most);
  read_fail(r, name, json_is_array(value) ? NULL : value, allowed);
  return NULL;
}

const json_t *read_object(reader *r, const json_t *object, const char *name) {
  const json_t *value = json_object_get(object, name);
  if (!json_is_object(value)) read_fail(r, name, value, "an object");
  return value;
}

void read_numbers(reader *r, const json_t *object, const char *name, size_t count, double least, double most,
                  double *value) {
  const json_t *list = json_object_get(object, name);
  char allowed[64];
  snprintf(allowed, sizeof allowed, "a list of %zu numbers", count);
  const bool fits = json_is_array(list) && json_array_size(list) == count;
  if (!fits) read_fail(r, name, list, allowed);
  for (size_t i = 0; i < count; i++)
    value[i] = fits ? checked(r, name, json_array_get(list, i), least, most) : least;
}
