/* config: see the header. libyaml composes the document; the walk is as deep as the tables are (two
 * levels). */
#include "service/role/config.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/decimal.h"
#include "base/file.h"
#include "base/text.h"

enum { KEYS_MAX = 64, NAME_SIZE = 80, SHOWN = 64 };

typedef struct reader {
  const char *path;
  yaml_document_t *document;
  const faro_config_key *keys;
  size_t count;
  unsigned char *out;
  bool given[KEYS_MAX];
  faro_error *error;
} reader;

/* The place of a mapping: what its keys' names begin with, and where an element of a list lies. */
typedef struct place {
  char prefix[NAME_SIZE]; /* "", "campaign.", "shufflers[]." */
  size_t shift;
} place;

static int line_of(const yaml_node_t *node) { return (int)node->start_mark.line + 1; }

static const char *text_of(const yaml_node_t *node) {
  if (!node || node->type != YAML_SCALAR_NODE) return NULL;
  const char *text = (const char *)node->data.scalar.value;
  return strlen(text) == node->data.scalar.length ? text : NULL;
}

static const char *shown(const yaml_node_t *node, char out[static SHOWN]) {
  const char *text = text_of(node);
  if (node->type == YAML_MAPPING_NODE) text = "a mapping";
  else if (node->type == YAML_SEQUENCE_NODE) text = "a list";
  else if (!text) text = "something with a NUL in it";
  else if (*text == '\0') text = "nothing";
  snprintf(out, SHOWN, "%.60s%s", text, strlen(text) > 60 ? "..." : "");
  for (char *c = out; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
  return out;
}

static void describe(const faro_config_key *key, char *out, size_t size) {
  size_t used = 0;
  switch (key->type) {
  case FARO_CONFIG_TEXT: snprintf(out, size, "a text of 1 to %zu printable characters", key->size - 1); break;
  case FARO_CONFIG_COUNT:
    snprintf(out, size, "a whole number, %.0f .. %.0f", key->least, key->most > 0 ? key->most : 0x1p53);
    break;
  case FARO_CONFIG_REAL:
    if (key->least == 0 && key->most == 0 && !key->above) snprintf(out, size, "a number");
    else if (key->most == 0)
      snprintf(out, size, "a number, %s %g", key->above ? "above" : "at least", key->least);
    else snprintf(out, size, "a number, %s%g .. %g", key->above ? "above " : "", key->least, key->most);
    break;
  case FARO_CONFIG_FLAG: snprintf(out, size, "true or false"); break;
  case FARO_CONFIG_HEX: snprintf(out, size, "%zu hexadecimal digits", 2 * key->size); break;
  case FARO_CONFIG_KEY:
    snprintf(out, size, "a public signing key, %zu hexadecimal digits that `faro keys show` prints",
             2 * key->size);
    break;
  case FARO_CONFIG_LIST: snprintf(out, size, "a list of at most %.0f", key->most); break;
  case FARO_CONFIG_CHOICE:
    for (size_t i = 0; key->words[i] && used < size; i++)
      used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "one of ", key->words[i]);
    break;
  }
}

/* Zeros, as in the examples, and other digits that are not a key. */
static bool is_placeholder(const faro_config_key *key, const char *text) {
  return key->type == FARO_CONFIG_KEY && text && strlen(text) == 2 * key->size &&
         strspn(text, "0123456789abcdefABCDEF") == 2 * key->size;
}

static faro_status refuse(const reader *r, const faro_config_key *key, const yaml_node_t *node) {
  char allowed[300];
  char got[SHOWN];
  if (is_placeholder(key, text_of(node)))
    return faro_fail(
        r->error, FARO_INVALID,
        "%s:%d: %s is a placeholder, or damaged: put the key that `faro keys show` prints (got %s)", r->path,
        line_of(node), key->name, shown(node, got));
  describe(key, allowed, sizeof allowed);
  const char *meant = NULL;
  if (key->type == FARO_CONFIG_CHOICE && text_of(node)) {
    size_t words = 0;
    while (key->words[words]) words++;
    meant = faro_nearest(text_of(node), key->words, words);
  }
  return faro_fail(r->error, FARO_INVALID, "%s:%d: %s must be %s (got %s%s%s%s)", r->path, line_of(node),
                   key->name, allowed, shown(node, got), meant ? "; did you mean " : "", meant ? meant : "",
                   meant ? "?" : "");
}

/* Values. True when the text is one that the key takes. */

static bool read_text(const faro_config_key *key, const char *text, char *out) {
  if (*text == '\0' || strlen(text) >= key->size) return false;
  for (const char *c = text; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) return false;
  snprintf(out, key->size, "%s", text);
  return true;
}

static bool read_number(const faro_config_key *key, const char *text, double *out) {
  double value = 0;
  if (!faro_decimal(text, strlen(text), &value)) return false;
  const bool any = key->type == FARO_CONFIG_REAL && key->least == 0 && key->most == 0 && !key->above;
  const double most = key->most > 0 ? key->most : key->type == FARO_CONFIG_COUNT ? 0x1p53 : INFINITY;
  if (!any && !(value >= key->least && value <= most)) return false;
  if (key->above && value <= key->least) return false;
  if (key->type == FARO_CONFIG_COUNT && value != floor(value)) return false;
  *out = value;
  return true;
}

static bool read_choice(const faro_config_key *key, const char *text, size_t *out) {
  for (size_t i = 0; key->words[i]; i++)
    if (strcmp(key->words[i], text) == 0) {
      *out = i;
      return true;
    }
  return false;
}

static bool read_hex(const faro_config_key *key, const char *text, unsigned char *out) {
  unsigned char bytes[256];
  size_t length = 0;
  const char *end = NULL;
  if (key->size > sizeof bytes || strlen(text) != 2 * key->size) return false;
  if (sodium_hex2bin(bytes, key->size, text, 2 * key->size, NULL, &length, &end) != 0) return false;
  if (length != key->size) return false;
  memcpy(out, bytes, length);
  return true;
}

static bool read_value(const faro_config_key *key, const char *text, void *out) {
  double number = 0;
  switch (key->type) {
  case FARO_CONFIG_TEXT: return read_text(key, text, out);
  case FARO_CONFIG_CHOICE: return read_choice(key, text, out);
  case FARO_CONFIG_HEX: return read_hex(key, text, out);
  case FARO_CONFIG_KEY: return read_hex(key, text, out) && crypto_core_ed25519_is_valid_point(out) == 1;
  case FARO_CONFIG_REAL: return read_number(key, text, out);
  case FARO_CONFIG_COUNT:
    if (!read_number(key, text, &number)) return false;
    *(uint64_t *)out = (uint64_t)number;
    return true;
  case FARO_CONFIG_FLAG:
    *(bool *)out = strcmp(text, "true") == 0;
    return *(bool *)out || strcmp(text, "false") == 0;
  default: return false;
  }
}

/* Keys. */

/* The part of a row's name that stands in this place: "url" of "shufflers[].url" under
 * "shufflers[]."; NULL: elsewhere. */
static const char *here(const faro_config_key *key, const char *prefix) {
  const size_t length = strlen(prefix);
  return strncmp(key->name, prefix, length) == 0 ? key->name + length : NULL;
}

static faro_status unknown(const reader *r, const place *p, const yaml_node_t *node) {
  const char *names[KEYS_MAX];
  char section[KEYS_MAX][NAME_SIZE];
  char list[300] = "";
  char got[SHOWN];
  size_t count = 0;
  for (size_t i = 0; i < r->count; i++) {
    const char *name = here(&r->keys[i], p->prefix);
    if (!name || strchr(name, '[')) continue;
    snprintf(section[count], NAME_SIZE, "%.*s", (int)strcspn(name, "."), name);
    if (count > 0 && strcmp(names[count - 1], section[count]) == 0) continue;
    names[count] = section[count];
    count++;
  }
  for (size_t i = 0, used = 0; i < count && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
  const char *nearest = text_of(node) ? faro_nearest(text_of(node), names, count) : NULL;
  return faro_fail(r->error, FARO_INVALID, "%s:%d: unknown key \"%s%s\"%s%s%s; allowed: %s", r->path,
                   line_of(node), p->prefix, shown(node, got), nearest ? " (did you mean " : "",
                   nearest ? nearest : "", nearest ? "?)" : "", list);
}

/* What a key belongs to, its section or the mapping itself: it is missing there, not in the file's
 * first line. NULL: the section is missing. */
static const yaml_node_t *section_of(const reader *r, const char *name, const yaml_node_t *node) {
  const size_t length = strcspn(name, ".");
  if (name[length] == '\0') return node;
  const yaml_node_pair_t *end = node->data.mapping.pairs.top;
  for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < end; pair++) {
    const yaml_node_t *key = yaml_document_get_node(r->document, pair->key);
    const char *text = text_of(key);
    if (text && strlen(text) == length && strncmp(text, name, length) == 0) return key;
  }
  return NULL;
}

static faro_status check_required(const reader *r, const place *p, const yaml_node_t *node) {
  char allowed[300];
  for (size_t i = 0; i < r->count; i++) {
    const faro_config_key *key = &r->keys[i];
    const char *name = here(key, p->prefix);
    if (!key->required || r->given[i] || !name || (strchr(name, '[') && strchr(name, '.'))) continue;
    const yaml_node_t *section = section_of(r, name, node);
    if (!section)
      return faro_fail(r->error, FARO_INVALID, "%s: the section %.*s is missing", r->path,
                       (int)strcspn(name, "."), name);
    describe(key, allowed, sizeof allowed);
    return faro_fail(r->error, FARO_INVALID, "%s:%d: %s is missing: %s", r->path, line_of(section), key->name,
                     key->help ? key->help : allowed);
  }
  return FARO_OK;
}

/* Calls `each` on the pairs of a mapping. Sections have no sections, so the walk is as deep as its
 * functions are many. */
typedef faro_status (*each_pair)(reader *, const place *, const yaml_node_t *name, const yaml_node_t *value);

static faro_status walk(reader *r, const place *p, const yaml_node_t *node, each_pair each) {
  char got[SHOWN];
  char name[NAME_SIZE] = "the file";
  const int length = (int)strlen(p->prefix);
  if (length > 0) snprintf(name, sizeof name, "%.*s", length - 1, p->prefix); /* without its dot */
  if (!node || node->type != YAML_MAPPING_NODE)
    return faro_fail(r->error, FARO_INVALID, "%s:%d: %s must be a mapping of keys to values (got %s)",
                     r->path, node ? line_of(node) : 1, name, node ? shown(node, got) : "nothing");
  const yaml_node_pair_t *end = node->data.mapping.pairs.top;
  for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < end; pair++) {
    const faro_status status = each(r, p, yaml_document_get_node(r->document, pair->key),
                                    yaml_document_get_node(r->document, pair->value));
    if (status != FARO_OK) return status;
  }
  return FARO_OK;
}

/* The row of a key in this place, and that it comes once. NULL, with the error set. */
static const faro_config_key *find(reader *r, const place *p, const yaml_node_t *name) {
  const char *text = text_of(name);
  for (size_t i = 0; text && i < r->count; i++) {
    const char *own = here(&r->keys[i], p->prefix);
    if (!own || strchr(own, '.') || strcmp(own, text) != 0) continue;
    if (r->given[i]) {
      faro_fail(r->error, FARO_INVALID, "%s:%d: %s is given twice", r->path, line_of(name), r->keys[i].name);
      return NULL;
    }
    r->given[i] = true;
    return &r->keys[i];
  }
  (void)unknown(r, p, name);
  return NULL;
}

static faro_status read_leaf(reader *r, const place *p, const yaml_node_t *name, const yaml_node_t *value) {
  const faro_config_key *key = find(r, p, name);
  if (!key) return FARO_INVALID;
  if (text_of(value) && read_value(key, text_of(value), r->out + key->offset + p->shift)) return FARO_OK;
  return refuse(r, key, value);
}

static faro_status read_list(reader *r, const faro_config_key *key, const yaml_node_t *node) {
  if (node->type != YAML_SEQUENCE_NODE) return refuse(r, key, node);
  const yaml_node_item_t *item = node->data.sequence.items.start;
  const size_t count = (size_t)(node->data.sequence.items.top - item);
  if ((double)count > key->most) return refuse(r, key, node);
  place inner = {.shift = 0};
  snprintf(inner.prefix, sizeof inner.prefix, "%s[].", key->name);
  for (size_t i = 0; i < count; i++, inner.shift += key->size) {
    for (size_t k = 0; k < r->count; k++)
      if (here(&r->keys[k], inner.prefix)) r->given[k] = false;
    const yaml_node_t *element = yaml_document_get_node(r->document, item[i]);
    faro_status status = walk(r, &inner, element, read_leaf);
    if (status == FARO_OK) status = check_required(r, &inner, element);
    if (status != FARO_OK) return status;
  }
  *(size_t *)(void *)(r->out + key->offset) = count;
  return FARO_OK;
}

static faro_status read_top(reader *r, const place *p, const yaml_node_t *name, const yaml_node_t *value) {
  place inner = {.shift = 0};
  const bool fits = text_of(name) && snprintf(inner.prefix, NAME_SIZE, "%s.", text_of(name)) < NAME_SIZE &&
                    !strchr(text_of(name), '[');
  for (size_t i = 0; fits && i < r->count; i++)
    if (here(&r->keys[i], inner.prefix)) return walk(r, &inner, value, read_leaf);
  for (size_t i = 0; text_of(name) && i < r->count; i++) {
    if (r->keys[i].type != FARO_CONFIG_LIST || strcmp(r->keys[i].name, text_of(name)) != 0) continue;
    return find(r, p, name) ? read_list(r, &r->keys[i], value) : FARO_INVALID;
  }
  return read_leaf(r, p, name, value);
}

static faro_status read_document(reader *r) {
  const place top = {.shift = 0};
  const yaml_node_t *root = yaml_document_get_root_node(r->document);
  const faro_status status = walk(r, &top, root, read_top);
  return status == FARO_OK ? check_required(r, &top, root) : status;
}

faro_status faro_config_parse(const char *path, const char *text, size_t length, const faro_config_key *keys,
                              size_t count, void *settings, faro_error *error) {
  yaml_parser_t parser;
  yaml_document_t document;
  path = faro_path_end(path);
  if (!yaml_parser_initialize(&parser)) return faro_fail(error, FARO_MEMORY, "cannot allocate %s", path);
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
  faro_status status = FARO_OK;
  if (!yaml_parser_load(&parser, &document)) {
    status = faro_fail(error, FARO_INVALID, "%s:%d: not YAML: %s", path, (int)parser.problem_mark.line + 1,
                       parser.problem ? parser.problem : "it cannot be read");
  } else {
    reader r = {
        .path = path, .document = &document, .keys = keys, .count = count, .out = settings, .error = error};
    status = read_document(&r);
    yaml_document_delete(&document);
  }
  yaml_parser_delete(&parser);
  return status;
}

faro_status faro_config_load(const char *path, const faro_config_key *keys, size_t count, void *settings,
                             faro_error *error) {
  char *text = NULL;
  size_t length = 0;
  faro_status status = faro_read_file(path, 1 << 18, &text, &length, error);
  if (status == FARO_OK) status = faro_config_parse(path, text, length, keys, count, settings, error);
  free(text);
  return status;
}
