/* json: see the header. */
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/abort.h"
#include "base/decimal.h"
#include "wire/bytes.h"

typedef struct reader {
  faro_json *json;
  char *start, *at, *end; /* in the copy of the text */
  uint32_t open[FARO_JSON_DEPTH];
  unsigned depth;
  faro_error *error;
} reader;

static faro_status bad(const reader *r, const char *what) {
  return faro_fail(r->error, FARO_INVALID, "JSON, byte %zu: %s", (size_t)(r->at - r->start), what);
}

static void skip_blanks(reader *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) r->at++;
}

static char peek(const reader *r) { return r->at < r->end ? *r->at : '\0'; }

/* Strings are decoded in place: an escape is never shorter than what it stands for. */

/* Length of the UTF-8 sequence at `s`; 0 if it is invalid: cut off, overlong, a surrogate, beyond
 * U+10FFFF. */
static size_t utf8_length(const unsigned char *s, size_t left) {
  const unsigned char c = s[0];
  const size_t length = c < 0x80                 ? 1
                        : c >= 0xC2 && c <= 0xDF ? 2
                        : (c & 0xF0) == 0xE0     ? 3
                        : c >= 0xF0 && c <= 0xF4 ? 4
                                                 : 0;
  if (length == 0 || length > left) return 0;
  for (size_t i = 1; i < length; i++)
    if ((s[i] & 0xC0) != 0x80) return 0;
  if (c == 0xE0 && s[1] < 0xA0) return 0;
  if (c == 0xED && s[1] > 0x9F) return 0;
  if (c == 0xF0 && s[1] < 0x90) return 0;
  if (c == 0xF4 && s[1] > 0x8F) return 0;
  return length;
}

static char *put_utf8(char *to, uint32_t point) {
  if (point < 0x80) *to++ = (char)point;
  else if (point < 0x800) {
    *to++ = (char)(0xC0 | point >> 6);
    *to++ = (char)(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    *to++ = (char)(0xE0 | point >> 12);
    *to++ = (char)(0x80 | (point >> 6 & 0x3F));
    *to++ = (char)(0x80 | (point & 0x3F));
  } else {
    *to++ = (char)(0xF0 | point >> 18);
    *to++ = (char)(0x80 | (point >> 12 & 0x3F));
    *to++ = (char)(0x80 | (point >> 6 & 0x3F));
    *to++ = (char)(0x80 | (point & 0x3F));
  }
  return to;
}

/* Reads four hexadecimal digits after "\u". */
static bool read_unit(reader *r, uint32_t *unit) {
  if (r->end - r->at < 4) return false;
  *unit = 0;
  for (int i = 0; i < 4; i++, r->at++) {
    const char c = *r->at;
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return false;
    *unit = *unit << 4 | (uint32_t)digit;
  }
  return true;
}

static faro_status read_unicode(reader *r, char **to) {
  uint32_t point = 0;
  uint32_t low = 0;
  if (!read_unit(r, &point)) return bad(r, "\\u must be followed by four hexadecimal digits");
  if (point >= 0xD800 && point <= 0xDBFF) {
    const bool pair = r->end - r->at >= 2 && r->at[0] == '\\' && r->at[1] == 'u';
    if (pair) r->at += 2;
    if (!pair || !read_unit(r, &low) || low < 0xDC00 || low > 0xDFFF)
      return bad(r, "half of a surrogate pair");
    point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
  } else if (point >= 0xDC00 && point <= 0xDFFF) return bad(r, "half of a surrogate pair");
  if (point == 0) return bad(r, "strings must not contain \\u0000");
  *to = put_utf8(*to, point);
  return FARO_OK;
}

static faro_status read_escape(reader *r, char **to) {
  static const char from[] = "\"\\/bfnrt";
  static const char into[] = "\"\\/\b\f\n\r\t";
  r->at++;
  const char c = peek(r);
  const char *found = c ? strchr(from, c) : NULL;
  if (c != 'u' && !found) return bad(r, "an escape that JSON does not have");
  r->at++;
  if (c == 'u') return read_unicode(r, to);
  *(*to)++ = into[found - from];
  return FARO_OK;
}

static faro_status read_string(reader *r, const char **out) {
  if (peek(r) != '"') return bad(r, "a string must begin here");
  char *to = ++r->at;
  *out = to;
  while (r->at < r->end && *r->at != '"') {
    if (*r->at == '\\') {
      const faro_status status = read_escape(r, &to);
      if (status != FARO_OK) return status;
      continue;
    }
    const unsigned char *byte = (const unsigned char *)r->at;
    const size_t length = utf8_length(byte, (size_t)(r->end - r->at));
    if (*byte < 0x20) return bad(r, "strings must not contain control characters");
    if (length == 0) return bad(r, "strings must be UTF-8");
    memmove(to, r->at, length);
    to += length;
    r->at += length;
  }
  if (r->at == r->end) return bad(r, "a string does not end");
  r->at++;
  *to = '\0';
  return FARO_OK;
}

/* Numbers and words. */

static size_t skip_digits(reader *r) {
  const char *from = r->at;
  while (peek(r) >= '0' && peek(r) <= '9') r->at++;
  return (size_t)(r->at - from);
}

static faro_status read_number(reader *r, faro_json_node *node) {
  const char *from = r->at;
  if (peek(r) == '-') r->at++;
  const char first = peek(r);
  const size_t digits = skip_digits(r);
  if (digits == 0 || (first == '0' && digits > 1))
    return bad(r, "a number must have digits, and no zero before them");
  if (peek(r) == '.') {
    r->at++;
    if (skip_digits(r) == 0) return bad(r, "digits must follow the point");
  }
  if (peek(r) == 'e' || peek(r) == 'E') {
    r->at++;
    if (peek(r) == '+' || peek(r) == '-') r->at++;
    if (skip_digits(r) == 0) return bad(r, "digits must follow the exponent's sign");
  }
  node->type = FARO_JSON_NUMBER;
  if (faro_decimal(from, (size_t)(r->at - from), &node->number)) return FARO_OK;
  return bad(r, "the number is too large, or too long");
}

static faro_status read_word(reader *r, faro_json_node *node) {
  static const struct {
    const char *word;
    faro_json_type type;
  } words[] = {{"null", FARO_JSON_NULL}, {"false", FARO_JSON_FALSE}, {"true", FARO_JSON_TRUE}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const size_t length = strlen(words[i].word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, words[i].word, length) != 0) continue;
    r->at += length;
    node->type = words[i].type;
    return FARO_OK;
  }
  return bad(r, r->at == r->end ? "the text ends before the document does" : "a value must begin here");
}

/* Structure. */

static faro_status grow(reader *r) {
  faro_json *json = r->json;
  if (json->count < json->capacity) return FARO_OK;
  if (json->capacity == FARO_JSON_NODES) return bad(r, "too many values");
  const uint32_t capacity = json->capacity ? 2 * json->capacity : 64;
  faro_json_node *larger = realloc(json->node, capacity * sizeof *larger);
  if (!larger) return faro_fail(r->error, FARO_MEMORY, "out of memory");
  json->node = larger;
  json->capacity = capacity;
  return FARO_OK;
}

/* Reads the key of a member and its colon. */
static faro_status read_key(reader *r, const char **key) {
  const faro_json_node *object = &r->json->node[r->open[r->depth - 1]];
  faro_status status = read_string(r, key);
  if (status != FARO_OK) return status;
  if (object->count == FARO_JSON_MEMBERS) return bad(r, "too many keys in one object");
  uint32_t child = r->open[r->depth - 1] + 1;
  for (uint32_t i = 0; i < object->count; i++, child = r->json->node[child].next)
    if (strcmp(r->json->node[child].key, *key) == 0) return bad(r, "a key is there twice");
  skip_blanks(r);
  if (peek(r) != ':') return bad(r, "a key must be followed by a colon");
  r->at++;
  skip_blanks(r);
  return FARO_OK;
}

static faro_status begin(reader *r, faro_json_node *node, faro_json_type type) {
  if (r->depth == FARO_JSON_DEPTH) return bad(r, "nested too deeply");
  node->type = type;
  r->open[r->depth++] = (uint32_t)(node - r->json->node);
  r->at++;
  return FARO_OK;
}

/* Reads a value, or the start of an object or array. */
static faro_status read_value(reader *r) {
  skip_blanks(r);
  const char *key = NULL;
  faro_status status = grow(r);
  faro_json_node *parent = r->depth > 0 && status == FARO_OK ? &r->json->node[r->open[r->depth - 1]] : NULL;
  if (parent && parent->type == FARO_JSON_OBJECT) status = read_key(r, &key);
  if (status != FARO_OK) return status;
  if (parent && parent->type == FARO_JSON_ARRAY) key = parent->key;
  if (parent) parent->count++;
  FARO_INVARIANT(r->json->node && r->json->count < r->json->capacity);
  faro_json_node *node = &r->json->node[r->json->count++];
  *node = (faro_json_node){.key = key, .next = r->json->count};
  const char c = peek(r);
  if (c == '{') return begin(r, node, FARO_JSON_OBJECT);
  if (c == '[') return begin(r, node, FARO_JSON_ARRAY);
  if (c == '-' || (c >= '0' && c <= '9')) return read_number(r, node);
  if (c != '"') return read_word(r, node);
  node->type = FARO_JSON_STRING;
  return read_string(r, &node->text);
}

/* Reads what may follow a value, up to the start of the next one. */
static faro_status read_after(reader *r) {
  while (r->depth > 0) {
    skip_blanks(r);
    faro_json_node *node = &r->json->node[r->open[r->depth - 1]];
    const char c = peek(r);
    if (c == (node->type == FARO_JSON_OBJECT ? '}' : ']')) {
      node->next = r->json->count;
      r->depth--;
      r->at++;
      continue;
    }
    if (node->count == 0) return FARO_OK; /* still empty */
    if (c != ',')
      return bad(r, r->at == r->end ? "the text ends before the document does"
                                    : "a comma or the end must follow a value");
    r->at++;
    return FARO_OK;
  }
  return FARO_OK;
}

faro_status faro_json_parse(faro_json *json, const char *text, size_t length, size_t limit,
                            faro_error *error) {
  if (length > limit)
    return faro_fail(error, FARO_INVALID,
                     "the document is too large: at most %zu bytes are allowed (got %zu)", limit, length);
  faro_json made = {.copy = malloc(length + 1)};
  if (!made.copy) return faro_fail(error, FARO_MEMORY, "out of memory");
  if (length > 0) memcpy(made.copy, text, length);
  reader r = {.json = &made, .start = made.copy, .at = made.copy, .end = made.copy + length, .error = error};
  faro_status status = FARO_OK;
  do {
    status = read_value(&r);
    if (status == FARO_OK) status = read_after(&r);
  } while (status == FARO_OK && r.depth > 0);
  skip_blanks(&r);
  if (status == FARO_OK && r.at < r.end) status = bad(&r, "nothing may follow the document");
  if (status == FARO_OK) *json = made;
  else faro_json_clear(&made);
  return status;
}

void faro_json_clear(faro_json *json) {
  free(json->copy);
  free(json->node);
  *json = (faro_json){0};
}

/* Checking against a schema. */

const char *faro_json_shape(faro_json_type type) {
  static const char *const shape[] = {"null",     "false",    "true",     "a number",
                                      "a string", "an array", "an object"};
  return shape[type];
}

/* The path of a key, like "release.epsilon", in printable characters. */
enum { NAME_SIZE = 96 };
static const char *name_of(const faro_json *json, uint32_t object, const char *key,
                           char out[static NAME_SIZE]) {
  const char *outer = json->node[object].key;
  snprintf(out, NAME_SIZE, "%.40s%s%.50s", outer ? outer : "", outer ? "." : "", key);
  for (char *c = out; *c; c++)
    if (*c < ' ' || *c > '~') *c = '?';
  return out;
}

static faro_status expect_shape(const faro_json *json, uint32_t object, const char *key, uint32_t node,
                                faro_json_type type, faro_error *error) {
  char name[NAME_SIZE];
  const faro_json_type got = json->node[node].type;
  if (got == type) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s must be %s (got %s)", name_of(json, object, key, name),
                   faro_json_shape(type), faro_json_shape(got));
}

/* 0 if there is none. */
static uint32_t find(const faro_json *json, uint32_t object, const char *key) {
  uint32_t child = object + 1;
  for (uint32_t i = 0; i < json->node[object].count; i++, child = json->node[child].next)
    if (strcmp(json->node[child].key, key) == 0) return child;
  return 0;
}

faro_status faro_json_expect(const faro_json *json, uint32_t node, const char *const *keys, size_t count,
                             faro_error *error) {
  char name[NAME_SIZE];
  const faro_json_node *object = &json->node[node];
  if (object->type != FARO_JSON_OBJECT)
    return faro_fail(error, FARO_INVALID, "%s must be an object (got %s)",
                     object->key ? object->key : "the document", faro_json_shape(object->type));
  uint32_t child = node + 1;
  for (uint32_t i = 0; i < object->count; i++, child = json->node[child].next) {
    const char *key = json->node[child].key;
    size_t k = 0;
    while (k < count && strcmp(keys[k], key) != 0) k++;
    if (k < count) continue;
    const char *nearest = faro_nearest(key, keys, count);
    return faro_fail(error, FARO_INVALID, "%s is not known%s%s%s", name_of(json, node, key, name),
                     nearest ? " (did you mean " : "", nearest ? nearest : "", nearest ? "?)" : "");
  }
  for (size_t k = 0; k < count; k++)
    if (!find(json, node, keys[k]))
      return faro_fail(error, FARO_INVALID, "%s is missing", name_of(json, node, keys[k], name));
  return FARO_OK;
}

faro_status faro_json_real(const faro_json *json, uint32_t object, const char *key, double least, double most,
                           double *out, faro_error *error) {
  char name[NAME_SIZE];
  const uint32_t node = find(json, object, key);
  const faro_status status = expect_shape(json, object, key, node, FARO_JSON_NUMBER, error);
  if (status != FARO_OK) return status;
  const double value = json->node[node].number;
  if (!(value >= least && value <= most))
    return faro_fail(error, FARO_INVALID, "%s must be %g .. %g (got %g)", name_of(json, object, key, name),
                     least, most, value);
  *out = value;
  return FARO_OK;
}

faro_status faro_json_count(const faro_json *json, uint32_t object, const char *key, uint64_t least,
                            uint64_t most, uint64_t *out, faro_error *error) {
  char name[NAME_SIZE];
  const uint32_t node = find(json, object, key);
  const faro_status status = expect_shape(json, object, key, node, FARO_JSON_NUMBER, error);
  if (status != FARO_OK) return status;
  const double value = json->node[node].number;
  const bool whole = value >= 0 && value <= 0x1p53 && (double)(uint64_t)value == value;
  if (!whole || (uint64_t)value < least || (uint64_t)value > most)
    return faro_fail(error, FARO_INVALID, "%s must be a whole number, %llu .. %llu (got %.17g)",
                     name_of(json, object, key, name), (unsigned long long)least, (unsigned long long)most,
                     value);
  *out = (uint64_t)value;
  return FARO_OK;
}

faro_status faro_json_text(const faro_json *json, uint32_t object, const char *key, char *out, size_t size,
                           faro_error *error) {
  char name[NAME_SIZE];
  const uint32_t node = find(json, object, key);
  const faro_status status = expect_shape(json, object, key, node, FARO_JSON_STRING, error);
  if (status != FARO_OK) return status;
  const char *text = json->node[node].text;
  const size_t length = strlen(text);
  if (length == 0 || length >= size)
    return faro_fail(error, FARO_INVALID, "%s must be a string of 1 .. %zu bytes (got %zu)",
                     name_of(json, object, key, name), size - 1, length);
  memcpy(out, text, length + 1);
  return FARO_OK;
}

faro_status faro_json_choice(const faro_json *json, uint32_t object, const char *key,
                             const char *const *words, size_t count, size_t *out, faro_error *error) {
  char name[NAME_SIZE];
  const uint32_t node = find(json, object, key);
  const faro_status status = expect_shape(json, object, key, node, FARO_JSON_STRING, error);
  if (status != FARO_OK) return status;
  char list[300] = "";
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    if (strcmp(words[i], json->node[node].text) == 0) {
      *out = i;
      return FARO_OK;
    }
    if (used < sizeof list)
      used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
  }
  return faro_fail(error, FARO_INVALID, "%s must be one of %s", name_of(json, object, key, name), list);
}

faro_status faro_json_bytes(const faro_json *json, uint32_t object, const char *key, unsigned char *out,
                            size_t size, faro_error *error) {
  char name[NAME_SIZE];
  const uint32_t node = find(json, object, key);
  const faro_status status = expect_shape(json, object, key, node, FARO_JSON_STRING, error);
  if (status != FARO_OK) return status;
  const char *text = json->node[node].text;
  if (!faro_hex_read(text, strlen(text), out, size))
    return faro_fail(error, FARO_INVALID,
                     "%s must be %zu hexadecimal digits, lower case (got %zu characters)",
                     name_of(json, object, key, name), 2 * size, strlen(text));
  return FARO_OK;
}

faro_status faro_json_reals(const faro_json *json, uint32_t object, const char *key, double *out,
                            size_t count, faro_error *error) {
  char name[NAME_SIZE];
  const uint32_t node = find(json, object, key);
  faro_status status = expect_shape(json, object, key, node, FARO_JSON_ARRAY, error);
  if (status != FARO_OK) return status;
  if (json->node[node].count != count)
    return faro_fail(error, FARO_INVALID, "%s must have %zu numbers (got %u)",
                     name_of(json, object, key, name), count, json->node[node].count);
  uint32_t child = node + 1;
  for (size_t i = 0; status == FARO_OK && i < count; i++, child = json->node[child].next) {
    status = expect_shape(json, object, key, child, FARO_JSON_NUMBER, error);
    out[i] = json->node[child].number;
  }
  return status;
}

faro_status faro_json_inside(const faro_json *json, uint32_t object, const char *key, faro_json_type type,
                             uint32_t *out, faro_error *error) {
  const uint32_t node = find(json, object, key);
  const faro_status status = expect_shape(json, object, key, node, type, error);
  if (status == FARO_OK) *out = node;
  return status;
}

void faro_json_quote(faro_text *text, const char *string) {
  faro_text_add(text, "\"");
  for (const char *c = string; *c; c++) {
    if (*c == '"' || *c == '\\') faro_text_add(text, "\\%c", *c);
    else if ((unsigned char)*c < 0x20) faro_text_add(text, "\\u%04x", (unsigned)(unsigned char)*c);
    else faro_text_add(text, "%c", *c);
  }
  faro_text_add(text, "\"");
}
