/* json: see the header. */
#include "wire/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

typedef struct reader {
  faro_tree *tree;
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

static faro_status read_number(reader *r, faro_node *node) {
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
  node->type = FARO_NODE_NUMBER;
  if (faro_decimal(from, (size_t)(r->at - from), &node->number)) return FARO_OK;
  return bad(r, "the number is too large, or too long");
}

static faro_status read_word(reader *r, faro_node *node) {
  static const struct {
    const char *word;
    faro_node_type type;
  } words[] = {{"null", FARO_NODE_NULL}, {"false", FARO_NODE_FALSE}, {"true", FARO_NODE_TRUE}};
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

/* Reads the key of a member and its colon. */
static faro_status read_key(reader *r, const char **key) {
  const uint32_t object = r->open[r->depth - 1];
  const faro_status status = read_string(r, key);
  if (status != FARO_OK) return status;
  if (r->tree->node[object].count == FARO_JSON_MEMBERS) return bad(r, "too many keys in one object");
  if (faro_tree_member(r->tree, object, *key)) return bad(r, "a key is there twice");
  skip_blanks(r);
  if (peek(r) != ':') return bad(r, "a key must be followed by a colon");
  r->at++;
  skip_blanks(r);
  return FARO_OK;
}

static faro_status begin(reader *r, faro_node *node, faro_node_type type) {
  if (r->depth == FARO_JSON_DEPTH) return bad(r, "nested too deeply");
  node->type = type;
  r->open[r->depth++] = (uint32_t)(node - r->tree->node);
  r->at++;
  return FARO_OK;
}

/* Reads a value, or the start of an object or array. */
static faro_status read_value(reader *r) {
  skip_blanks(r);
  const char *key = NULL;
  const faro_node *parent = r->depth > 0 ? &r->tree->node[r->open[r->depth - 1]] : NULL;
  if (r->tree->count == FARO_JSON_NODES) return bad(r, "too many values");
  if (parent && parent->type == FARO_NODE_MAPPING) {
    const faro_status status = read_key(r, &key);
    if (status != FARO_OK) return status;
  }
  faro_node *node = faro_tree_add(r->tree, r->error);
  if (!node) return FARO_MEMORY;
  if (parent) r->tree->node[r->open[r->depth - 1]].count++;
  node->origin = FARO_FROM_JSON;
  node->key = key;
  const char c = peek(r);
  if (c == '{') return begin(r, node, FARO_NODE_MAPPING);
  if (c == '[') return begin(r, node, FARO_NODE_LIST);
  if (c == '-' || (c >= '0' && c <= '9')) return read_number(r, node);
  if (c != '"') return read_word(r, node);
  node->type = FARO_NODE_TEXT;
  return read_string(r, &node->text);
}

/* Reads what may follow a value, up to the start of the next one. */
static faro_status read_after(reader *r) {
  while (r->depth > 0) {
    skip_blanks(r);
    faro_node *node = &r->tree->node[r->open[r->depth - 1]];
    const char c = peek(r);
    if (c == (node->type == FARO_NODE_MAPPING ? '}' : ']')) {
      node->next = r->tree->count;
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

faro_status faro_json_parse(faro_tree *tree, const char *text, size_t length, size_t limit,
                            faro_error *error) {
  if (length > limit)
    return faro_fail(error, FARO_INVALID,
                     "the document is too large: at most %zu bytes are allowed (got %zu)", limit, length);
  faro_tree made = {.texts = malloc(length + 1)};
  if (!made.texts) return faro_fail(error, FARO_MEMORY, "out of memory");
  if (length > 0) memcpy(made.texts, text, length);
  reader r = {
      .tree = &made, .start = made.texts, .at = made.texts, .end = made.texts + length, .error = error};
  faro_status status = FARO_OK;
  do {
    status = read_value(&r);
    if (status == FARO_OK) status = read_after(&r);
  } while (status == FARO_OK && r.depth > 0);
  skip_blanks(&r);
  if (status == FARO_OK && r.at < r.end) status = bad(&r, "nothing may follow the document");
  if (status == FARO_OK) *tree = made;
  else faro_tree_clear(&made);
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
