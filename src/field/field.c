/* field: see the header. This is the only place that turns a text into a value and describes what
 * is allowed. */
#include "field/field.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/abort.h"
#include "base/decimal.h"
#include "base/text.h"

/* ---- words */

bool faro_words_find(faro_words *words, const char *word, size_t *index) {
  const char *name = NULL;
  for (size_t i = 0; (name = words(i)); i++)
    if (strcmp(name, word) == 0) {
      *index = i;
      return true;
    }
  return false;
}

size_t faro_words_list(faro_words *words, const char *list[static FARO_WORDS_MAX]) {
  size_t count = 0;
  for (const char *name = NULL; (name = words(count)); count++) {
    FARO_INVARIANT(count < FARO_WORDS_MAX);
    list[count] = name;
  }
  return count;
}

const char *faro_words_join(const char *const *list, size_t count, char *out, size_t size) {
  size_t used = 0;
  *out = '\0';
  for (size_t i = 0; i < count && used < size; i++)
    used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", list[i]);
  return out;
}

size_t faro_field_words(const faro_field *field, const char *list[static FARO_WORDS_MAX]) {
  static const char *const flag[] = {"false", "true", NULL};
  const char *const *from = field->type == FARO_FIELD_FLAG ? flag : field->list;
  size_t count = 0;
  if (field->type != FARO_FIELD_CHOICE && field->type != FARO_FIELD_FLAG) return 0;
  if (!from) return faro_words_list(field->words, list);
  for (; from[count]; count++) {
    FARO_INVARIANT(count < FARO_WORDS_MAX);
    list[count] = from[count];
  }
  return count;
}

/* ---- settings */

faro_field faro_setting_field(const faro_setting *s) {
  static const struct {
    faro_field_type type;
    size_t size;
  } as[] = {[FARO_SETTING_REAL] = {FARO_FIELD_REAL, sizeof(double)},
            [FARO_SETTING_REAL_OPEN] = {FARO_FIELD_REAL, sizeof(double)},
            [FARO_SETTING_COUNT] = {FARO_FIELD_COUNT, sizeof(uint64_t)},
            [FARO_SETTING_SWITCH] = {FARO_FIELD_FLAG, sizeof(bool)},
            [FARO_SETTING_CHOICE] = {FARO_FIELD_CHOICE, sizeof(int)},
            [FARO_SETTING_TEXT] = {FARO_FIELD_TEXT, FARO_SETTING_TEXT_MAX + 1}};
  const bool open = s->type == FARO_SETTING_REAL_OPEN;
  return (faro_field){.name = s->name,
                      .type = as[s->type].type,
                      .offset = s->offset,
                      .size = as[s->type].size,
                      .least = s->least,
                      .most = s->most,
                      .above = open,
                      .below = open,
                      .zero = s->type != FARO_SETTING_CHOICE && s->words ? s->words[0] : NULL,
                      .list = s->words};
}

/* ---- values */

static const char *text_of(const faro_node *node) { return node->type == FARO_NODE_TEXT ? node->text : NULL; }

static bool number_of(const faro_node *node, double *value) {
  if (node->type == FARO_NODE_NUMBER) {
    *value = node->number;
    return true;
  }
  const char *text = text_of(node);
  return text && node->origin != FARO_FROM_JSON && !node->quoted && faro_decimal(text, strlen(text), value);
}

/* Whether the text is the word for 0. The word "0" stands for every way to write 0. */
static bool is_zero(const faro_field *field, const faro_node *node) {
  const char *text = text_of(node);
  double value = 1;
  if (!field->zero) return false;
  if (strcmp(field->zero, "0") == 0) return number_of(node, &value) && value == 0 && !signbit(value);
  return text && strcmp(text, field->zero) == 0;
}

static bool has_range(const faro_field *field) {
  return field->least != 0 || field->most != 0 || field->above || field->below;
}

static bool in_range(const faro_field *field, double value) {
  if (!has_range(field)) return isfinite(value);
  if (!(value >= field->least && value <= field->most)) return false;
  return !(field->above && value == field->least) && !(field->below && value == field->most);
}

static bool read_real(const faro_field *field, const faro_node *node, double *out) {
  double value = 0;
  if (!is_zero(field, node)) {
    if (!number_of(node, &value) || !in_range(field, value)) return false;
    if (field->type == FARO_FIELD_WHOLE && value != floor(value)) return false;
  }
  *out = value;
  return true;
}

static bool read_digits(const char *text, uint64_t *value) {
  uint64_t sum = 0;
  if (*text == '\0') return false;
  for (; *text; text++) {
    const unsigned digit = (unsigned)(unsigned char)*text - '0';
    if (digit > 9 || sum > (UINT64_MAX - digit) / 10) return false;
    sum = 10 * sum + digit;
  }
  *value = sum;
  return true;
}

/* Plain digits are read exactly. In files a whole number may also be written as 1e6, for example,
 * but then it is at most 2^53. */
static bool whole_of(const faro_node *node, uint64_t *value) {
  const char *text = text_of(node);
  double number = 0;
  if (text && node->origin != FARO_FROM_JSON && !node->quoted && read_digits(text, value)) return true;
  if (node->origin == FARO_FROM_ARGV || !number_of(node, &number)) return false;
  if (!(number >= 0 && number <= 0x1p53) || number != floor(number)) return false;
  *value = (uint64_t)number;
  return true;
}

static double most_count(const faro_field *field) { return field->most > 0 ? field->most : 0x1p53; }

static void store(const faro_field *field, uint64_t value, void *out) {
  const uint32_t narrow = (uint32_t)value;
  FARO_INVARIANT(field->size == sizeof value || (field->size == sizeof narrow && narrow == value));
  if (field->size == sizeof value) memcpy(out, &value, sizeof value);
  else memcpy(out, &narrow, sizeof narrow);
}

static bool read_count(const faro_field *field, const faro_node *node, void *out) {
  uint64_t value = 0;
  if (!is_zero(field, node)) {
    if (!whole_of(node, &value)) return false;
    if (value < (uint64_t)field->least) return false;
    if (most_count(field) < 0x1p64 && value > (uint64_t)most_count(field)) return false;
  }
  store(field, value, out);
  return true;
}

/* A string in JSON may hold anything; a text that a person writes must be printable. */
static bool read_text(const faro_field *field, const faro_node *node, char *out) {
  const char *text = text_of(node);
  if (!text || *text == '\0' || strlen(text) >= field->size) return false;
  for (const char *c = text; node->origin != FARO_FROM_JSON && *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) return false;
  memcpy(out, text, strlen(text) + 1);
  return true;
}

static bool read_hex(const faro_field *field, const faro_node *node, unsigned char *out) {
  const char *text = text_of(node);
  const char *digits = node->origin == FARO_FROM_JSON ? "0123456789abcdef" : "0123456789abcdefABCDEF";
  if (!text || strlen(text) != 2 * field->size || strspn(text, digits) != 2 * field->size) return false;
  return sodium_hex2bin(out, field->size, text, 2 * field->size, NULL, NULL, NULL) == 0;
}

static bool read_flag(const faro_node *node, bool *out) {
  const char *text = text_of(node);
  const bool is_text = text && node->origin != FARO_FROM_JSON;
  const bool yes = node->type == FARO_NODE_TRUE || (is_text && strcmp(text, "true") == 0);
  if (!yes && node->type != FARO_NODE_FALSE && !(is_text && strcmp(text, "false") == 0)) return false;
  *out = yes;
  return true;
}

static bool read_choice(const faro_field *field, const faro_node *node, void *out) {
  const char *names[FARO_WORDS_MAX];
  const char *text = text_of(node);
  const size_t count = faro_field_words(field, names);
  for (size_t i = 0; text && i < count; i++)
    if (strcmp(names[i], text) == 0) {
      store(field, i, out);
      return true;
    }
  return false;
}

bool faro_field_read(const faro_field *field, const faro_node *node, void *out) {
  const char *text = text_of(node);
  switch (field->type) {
  case FARO_FIELD_TEXT: return read_text(field, node, out);
  case FARO_FIELD_COUNT: return read_count(field, node, out);
  case FARO_FIELD_REAL:
  case FARO_FIELD_WHOLE: return read_real(field, node, out);
  case FARO_FIELD_FLAG: return read_flag(node, out);
  case FARO_FIELD_HEX: return read_hex(field, node, out);
  case FARO_FIELD_OTHER: return text && field->read(text, out);
  case FARO_FIELD_WORD:
    if (text) *(const char **)out = text;
    return text != NULL;
  case FARO_FIELD_CHOICE: return read_choice(field, node, out);
  case FARO_FIELD_LIST:
  case FARO_FIELD_NODE: break;
  }
  faro_abort("lists and nodes are read by reader.c");
}

/* ---- messages */

const char *faro_node_type_name(faro_node_type type, faro_origin origin) {
  static const char *const json[] = {"null",     "false",    "true",     "a number",
                                     "a string", "an array", "an object"};
  static const char *const plain[] = {"nothing", "false",  "true",     "a number",
                                      "a text",  "a list", "a mapping"};
  return origin == FARO_FROM_JSON ? json[type] : plain[type];
}

const char *faro_field_print(const faro_field *field, double value, char out[static FARO_PRINTED]) {
  const char *names[FARO_WORDS_MAX];
  char number[FARO_NUMBER_SIZE];
  const size_t words = faro_field_words(field, names);
  const char *word = value == 0 ? field->zero : NULL;
  if (words > 0 && value >= 0 && value < (double)words) word = names[(size_t)value];
  snprintf(out, FARO_PRINTED, "%s", word ? word : faro_short(value, number));
  return out;
}

/* Strings in JSON come from other parties: they are shown in quotes, in ASCII only. */
static const char *text_shown(const faro_node *node, char out[static FARO_GOT]) {
  const bool json = node->origin == FARO_FROM_JSON;
  const size_t length = strlen(node->text);
  const char *quote = json || node->quoted ? "\"" : "";
  char excerpt[FARO_SHORT_SIZE];
  char more[sizeof ", 18446744073709551615 bytes"] = "";
  if (length > 60) snprintf(more, sizeof more, ", %zu bytes", length);
  faro_shorten(node->text, length, excerpt);
  for (char *c = excerpt; json && *c; c++)
    if (*c < ' ' || *c > '~') *c = '?';
  snprintf(out, FARO_GOT, "%s%s%s%s", quote, excerpt, quote, more);
  return out;
}

const char *faro_node_shown(const faro_node *node, char out[static FARO_GOT]) {
  char number[FARO_NUMBER_SIZE];
  const char *shown = faro_node_type_name(node->type, node->origin);
  if (node->type == FARO_NODE_NUMBER) shown = faro_short(node->number, number);
  if (node->type == FARO_NODE_TEXT) {
    const bool empty = node->text && *node->text == '\0' && node->origin != FARO_FROM_JSON;
    if (node->text && !empty) return text_shown(node, out);
    shown = empty ? "nothing" : "a text with a zero byte in it";
  }
  snprintf(out, FARO_GOT, "%s", shown);
  return out;
}

/* Writes whole numbers without an exponent: 1000000000000000, not 1e+15. */
static const char *bound_text(const faro_field *field, double bound, char out[static FARO_NUMBER_SIZE]) {
  if (field->type == FARO_FIELD_REAL || !(fabs(bound) <= 0x1p53)) return faro_short(bound, out);
  snprintf(out, FARO_NUMBER_SIZE, "%.0f", bound);
  return out;
}

static void describe_number(const faro_field *field, char out[static FARO_ALLOWED]) {
  const bool count = field->type == FARO_FIELD_COUNT;
  const char *kind = field->type == FARO_FIELD_REAL ? "a number" : "a whole number";
  char low[FARO_NUMBER_SIZE];
  char high[FARO_NUMBER_SIZE] = "2^64 - 1";
  char range[3 * FARO_NUMBER_SIZE] = "";
  bound_text(field, field->least, low);
  if (!count || field->most < 0x1p64) bound_text(field, count ? most_count(field) : field->most, high);
  const bool any = !count && !has_range(field);
  if (!any && isinf(field->most))
    snprintf(range, sizeof range, field->above ? " above %s" : " of at least %s", low);
  else if (!any && field->above)
    snprintf(range, sizeof range, field->below ? " above %s and below %s" : " above %s, at most %s", low,
             high);
  else if (!any)
    snprintf(range, sizeof range, field->below ? " of at least %s, below %s" : " from %s to %s", low, high);
  snprintf(out, FARO_ALLOWED, "%s%s%s%s", kind, range, field->zero ? ", or " : "",
           field->zero ? field->zero : "");
}

static void describe_choice(const faro_field *field, char out[static FARO_ALLOWED]) {
  const char *names[FARO_WORDS_MAX];
  static const char start[] = "one of ";
  memcpy(out, start, sizeof start);
  faro_words_join(names, faro_field_words(field, names), out + sizeof start - 1,
                  FARO_ALLOWED - sizeof start + 1);
}

const char *faro_field_allowed(const faro_field *field, faro_origin origin, char out[static FARO_ALLOWED]) {
  const bool json = origin == FARO_FROM_JSON;
  switch (field->allowed ? FARO_FIELD_OTHER : field->type) {
  case FARO_FIELD_COUNT:
  case FARO_FIELD_REAL:
  case FARO_FIELD_WHOLE: describe_number(field, out); break;
  case FARO_FIELD_CHOICE: describe_choice(field, out); break;
  case FARO_FIELD_FLAG: snprintf(out, FARO_ALLOWED, "true or false"); break;
  case FARO_FIELD_TEXT:
    snprintf(out, FARO_ALLOWED,
             json ? "a string of 1 to %zu bytes" : "a text of 1 to %zu printable characters",
             field->size - 1);
    break;
  case FARO_FIELD_HEX:
    snprintf(out, FARO_ALLOWED, "%zu hexadecimal digits%s", 2 * field->size, json ? ", lower case" : "");
    break;
  case FARO_FIELD_LIST: snprintf(out, FARO_ALLOWED, "%s", faro_node_type_name(FARO_NODE_LIST, origin)); break;
  case FARO_FIELD_WORD:
  case FARO_FIELD_OTHER:
  case FARO_FIELD_NODE: snprintf(out, FARO_ALLOWED, "%s", field->allowed ? field->allowed : "a text"); break;
  }
  return out;
}

faro_status faro_field_refuse(const faro_field *field, const char *place, const char *name,
                              const faro_node *node, faro_error *error) {
  const char *names[FARO_WORDS_MAX];
  char allowed[FARO_ALLOWED];
  char got[FARO_GOT];
  const char *text = text_of(node);
  const char *meant = text ? faro_nearest(text, names, faro_field_words(field, names)) : NULL;
  return faro_fail(error, FARO_INVALID, "%s%s must be %s (got %s%s%s%s)", place, name,
                   faro_field_allowed(field, node->origin, allowed), faro_node_shown(node, got),
                   meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
}
