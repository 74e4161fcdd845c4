/* reader: see the header. A mapping is read in two steps: first its keys, each by the row with its
 * name, then the rows whose key is missing. Sections and elements of lists are mappings too. Their
 * rows are those whose names begin with theirs. They have no sections or lists themselves. */
#include "field/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/abort.h"
#include "base/text.h"

enum { NAME_SIZE = 80 };

/* A mapping, and the rows for its keys: those whose names begin with `prefix`. */
typedef struct scope {
  const faro_field *fields;
  size_t count;
  const char *place;  /* what messages call it; NULL: the file or document */
  const char *prefix; /* "campaign.", "shufflers[]."; not ended by a zero byte */
  size_t length;      /* length of the prefix */
  size_t index;       /* in a list: index of the element */
  unsigned char *out;
  /* faro_read_each only. */
  faro_read_row *each;
  void *context;
} scope;

/* ---- errors */

enum { PLACE_SIZE = 160 };

/* "file:12: ", for the start of a message. */
static const char *place_of(const faro_reader *r, int line, char out[static PLACE_SIZE]) {
  *out = '\0';
  if (r->file && line > 0) snprintf(out, PLACE_SIZE, "%s:%d: ", faro_path_end(r->file), line);
  else if (r->file) snprintf(out, PLACE_SIZE, "%s: ", faro_path_end(r->file));
  return out;
}

static void fail_list(faro_reader *r, int line, const char *format, va_list args) {
  char place[PLACE_SIZE];
  char message[480];
  if (r->status != FARO_OK) return;
  vsnprintf(message, sizeof message, format, args);
  r->status = faro_fail(r->error, FARO_INVALID, "%s%s", place_of(r, line, place), message);
}

static void fail_at(faro_reader *r, int line, const char *format, ...) FARO_PRINTF(3, 4);
static void fail_at(faro_reader *r, int line, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fail_list(r, line, format, args);
  va_end(args);
}

/* The line of a member's key, or of the value itself if it has no key. */
static int key_line(const faro_reader *r, uint32_t node) {
  const int line = r->tree->node[node].key_line;
  return line ? line : faro_tree_value(r->tree, node)->line;
}

void faro_reader_fail(faro_reader *r, uint32_t node, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fail_list(r, faro_tree_value(r->tree, node)->line, format, args);
  va_end(args);
}

faro_status faro_reader_end(const faro_reader *r) { return r->status; }

/* ---- names */

/* The part of a row's name inside this mapping: "url" of "shufflers[].url" in an element. NULL: the
 * row belongs elsewhere. */
static const char *name_here(const scope *s, const faro_field *field) {
  return strncmp(field->name, s->prefix, s->length) == 0 ? field->name + s->length : NULL;
}

/* The length of the key at its start: "campaign" of "campaign.epsilon". */
static size_t key_length(const char *name) { return strcspn(name, ".["); }

/* The first `length` bytes of a row's name, with the number of the element: "shufflers[1].url". */
static const char *write_name(const scope *s, const faro_field *field, size_t length,
                              char out[static NAME_SIZE]) {
  const char *each = strstr(field->name, "[]");
  const int list = each ? (int)(each - field->name) : 0;
  if (each)
    snprintf(out, NAME_SIZE, "%.*s[%zu]%.*s", list, field->name, s->index, (int)length - list - 2, each + 2);
  else snprintf(out, NAME_SIZE, "%.*s", (int)length, field->name);
  return out;
}

static const char *name_of(const scope *s, const faro_field *field, char out[static NAME_SIZE]) {
  return write_name(s, field, strlen(field->name), out);
}

/* The row of a key: its own, or the first of its section. FARO_FIELDS_MAX if the key is unknown. */
static size_t find(const scope *s, const char *key, size_t length) {
  for (size_t i = 0; i < s->count; i++) {
    const char *name = name_here(s, &s->fields[i]);
    if (name && key_length(name) == length && strncmp(name, key, length) == 0) return i;
  }
  return FARO_FIELDS_MAX;
}

/* The keys that a mapping may have, each once. */
static size_t list_keys(const scope *s, char keys[static FARO_FIELDS_MAX][NAME_SIZE],
                        const char *names[static FARO_FIELDS_MAX]) {
  size_t count = 0;
  for (size_t i = 0; i < s->count; i++) {
    const char *name = name_here(s, &s->fields[i]);
    if (!name) continue;
    snprintf(keys[count], NAME_SIZE, "%.*s", (int)key_length(name), name);
    names[count] = keys[count];
    if (count == 0 || strcmp(keys[count - 1], keys[count]) != 0) count++;
  }
  return count;
}

void faro_reader_unknown(faro_reader *r, int line, const char *key, const char *place,
                         const char *const *names, size_t count) {
  const faro_origin origin = r->tree && r->tree->count > 0 ? r->tree->node[0].origin : FARO_FROM_YAML;
  const faro_node shown = {.type = FARO_NODE_TEXT, .origin = origin, .quoted = true, .text = key};
  char list[FARO_ALLOWED];
  char hint[FARO_HINT];
  char got[FARO_GOT];
  faro_hint(key, names, count, hint);
  const char *elsewhere = *hint == '\0' && r->elsewhere ? r->elsewhere(place, key) : NULL;
  fail_at(r, line, "unknown key %s%s%s%s; allowed: %s", faro_node_shown(&shown, got), place ? " in " : "",
          place ? place : "", elsewhere ? elsewhere : hint, faro_words_join(names, count, list, sizeof list));
}

static void refuse_unknown(faro_reader *r, const scope *s, uint32_t node) {
  const char *key = r->tree->node[node].key;
  char keys[FARO_FIELDS_MAX][NAME_SIZE];
  const char *names[FARO_FIELDS_MAX];
  char list[FARO_ALLOWED];
  const size_t count = list_keys(s, keys, names);
  if (key) faro_reader_unknown(r, key_line(r, node), key, s->place, names, count);
  else
    fail_at(r, key_line(r, node), "a key%s%s must be a text; allowed: %s", s->place ? " in " : "",
            s->place ? s->place : "", faro_words_join(names, count, list, sizeof list));
}

/* ---- values */

static void read_value(faro_reader *r, uint32_t node, const faro_field *field, const char *name, void *out) {
  const faro_node *value = faro_tree_value(r->tree, node);
  faro_node plain = *value;
  if (r->quoted_numbers) plain.quoted = false;
  if (faro_field_read(field, &plain, out)) return;
  char place[PLACE_SIZE];
  r->status = faro_field_refuse(field, place_of(r, value->line, place), name, value, r->error);
}

void faro_read_value(faro_reader *r, uint32_t node, const faro_field *field, void *out) {
  if (r->status == FARO_OK) read_value(r, node, field, field->name, out);
}

size_t faro_read_list(faro_reader *r, uint32_t node, const char *name, size_t least, size_t most,
                      const char *what, uint32_t *first) {
  if (r->status != FARO_OK) return 0;
  const faro_node *list = faro_tree_value(r->tree, node);
  char size[64];
  char got[FARO_GOT];
  *first = faro_tree_first(r->tree, node);
  if (list->type == FARO_NODE_LIST && list->count >= least && list->count <= most) return list->count;
  if (least == most) snprintf(size, sizeof size, "%zu", least);
  else if (least == 0) snprintf(size, sizeof size, "at most %zu", most);
  else snprintf(size, sizeof size, "%zu to %zu", least, most);
  const char *type = faro_node_type_name(FARO_NODE_LIST, list->origin);
  if (list->type != FARO_NODE_LIST) faro_node_shown(list, got);
  else if (list->count > 0) snprintf(got, sizeof got, "%s of %u", type, list->count);
  else snprintf(got, sizeof got, "an empty %s", strchr(type, ' ') + 1);
  faro_reader_fail(r, node, "%s must be %s of %s %s (got %s)", name, type, size, what, got);
  return 0;
}

/* ---- mappings */

static bool expect_mapping(faro_reader *r, uint32_t node, const char *place) {
  const faro_node *mapping = faro_tree_value(r->tree, node);
  const bool json = mapping->origin == FARO_FROM_JSON;
  char got[FARO_GOT];
  if (mapping->type == FARO_NODE_MAPPING) return true;
  if (!place) place = json ? "the document" : "the file";
  faro_reader_fail(r, node, "%s must be %s (got %s)", place,
                   json ? "an object" : "a mapping of keys to values", faro_node_shown(mapping, got));
  return false;
}

static void refuse_missing(faro_reader *r, uint32_t node, const scope *s, const faro_field *field) {
  const faro_origin origin = faro_tree_value(r->tree, node)->origin;
  const bool named =
      s->length == 0 && s->place; /* the caller has named the mapping: the row's name does not contain it */
  char name[NAME_SIZE];
  char allowed[FARO_ALLOWED];
  fail_at(r, key_line(r, node), "%s is missing%s%s: %s", name_of(s, field, name), named ? " in " : "",
          named ? s->place : "", field->help ? field->help : faro_field_allowed(field, origin, allowed));
}

static void check_missing(faro_reader *r, uint32_t node, const scope *s, const bool *given) {
  for (size_t i = 0; i < s->count && r->status == FARO_OK; i++) {
    const faro_field *field = &s->fields[i];
    const char *name = name_here(s, field);
    if (!name || !(field->required || r->all)) continue;
    const size_t length = key_length(name);
    if (name[length] != '[' && !given[find(s, name, length)]) refuse_missing(r, node, s, field);
  }
}

/* Reads the value of a key by its row. */
typedef void read_row(faro_reader *r, uint32_t node, const scope *s, const faro_field *field);

static void read_mapping(faro_reader *r, uint32_t node, const scope *s, read_row *read) {
  bool given[FARO_FIELDS_MAX + 1] = {false};
  if (!expect_mapping(r, node, s->place)) return;
  const uint32_t count = faro_tree_value(r->tree, node)->count;
  uint32_t child = faro_tree_first(r->tree, node);
  for (uint32_t i = 0; i < count && r->status == FARO_OK; i++, child = r->tree->node[child].next) {
    const char *key = r->tree->node[child].key;
    const size_t row = key ? find(s, key, strlen(key)) : FARO_FIELDS_MAX;
    if (row == FARO_FIELDS_MAX) refuse_unknown(r, s, child);
    else if (given[row])
      fail_at(r, key_line(r, child), "key \"%s\" is given twice%s%s", key, s->place ? " in " : "",
              s->place ? s->place : "");
    else read(r, child, s, &s->fields[row]);
    given[row] = true;
  }
  check_missing(r, node, s, given);
}

static void read_leaf(faro_reader *r, uint32_t node, const scope *s, const faro_field *field) {
  char name[NAME_SIZE];
  unsigned char *out = s->out + field->offset + s->index * field->stride;
  if (field->type == FARO_FIELD_NODE) memcpy(out, &node, sizeof node);
  else read_value(r, node, field, name_of(s, field, name), out);
}

/* Reads a section or an element. The first `length` bytes of the row's name are the prefix of its
 * keys. */
static void read_inner(faro_reader *r, uint32_t node, const scope *s, const faro_field *field, size_t length,
                       size_t index) {
  scope inner = *s;
  char place[NAME_SIZE];
  inner.prefix = field->name;
  inner.length = length;
  inner.index = index;
  inner.place = write_name(&inner, field, length - 1, place); /* "campaign", "shufflers[1]" */
  read_mapping(r, node, &inner, read_leaf);
}

/* Reads a row of type LIST. The rows of its elements follow it. */
static void read_elements(faro_reader *r, uint32_t node, const scope *s, const faro_field *field) {
  const size_t length = strlen(field->name);
  uint32_t element = 0;
  FARO_INVARIANT(field->size == sizeof(size_t) && strncmp(field[1].name + length, "[].", 3) == 0);
  const size_t count =
      faro_read_list(r, node, field->name, (size_t)field->least, (size_t)field->most, "elements", &element);
  for (size_t i = 0; i < count && r->status == FARO_OK; i++, element = r->tree->node[element].next)
    read_inner(r, element, s, field + 1, length + 3, i);
  if (r->status == FARO_OK) memcpy(s->out + field->offset, &count, sizeof count);
}

static void read_any(faro_reader *r, uint32_t node, const scope *s, const faro_field *field) {
  const size_t length = key_length(field->name);
  if (field->name[length] == '.') read_inner(r, node, s, field, length + 1, 0);
  else if (field->type == FARO_FIELD_LIST) read_elements(r, node, s, field);
  else read_leaf(r, node, s, field);
}

void faro_read_fields(faro_reader *r, uint32_t node, const char *place, const faro_field *fields,
                      size_t count, void *out) {
  FARO_INVARIANT(count <= FARO_FIELDS_MAX);
  const scope s = {.fields = fields, .count = count, .place = place, .prefix = "", .out = out};
  if (r->status == FARO_OK) read_mapping(r, node, &s, read_any);
}

static void read_other(faro_reader *r, uint32_t node, const scope *s, const faro_field *field) {
  s->each(r, node, field, s->context);
}

void faro_read_each(faro_reader *r, uint32_t node, const char *place, const faro_field *fields, size_t count,
                    faro_read_row *each, void *context) {
  FARO_INVARIANT(count <= FARO_FIELDS_MAX);
  const scope s = {
      .fields = fields, .count = count, .place = place, .prefix = "", .each = each, .context = context};
  if (r->status == FARO_OK) read_mapping(r, node, &s, read_other);
}

void faro_read_member(faro_reader *r, uint32_t node, const char *place, const faro_field *field, void *out) {
  const scope s = {.fields = field, .count = 1, .place = place, .prefix = "", .out = out};
  if (r->status != FARO_OK || !expect_mapping(r, node, place)) return;
  const uint32_t member = faro_tree_member(r->tree, node, field->name);
  if (member) read_leaf(r, member, &s, field);
  else refuse_missing(r, node, &s, field);
}
