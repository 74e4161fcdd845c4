/* yaml: see the header. libyaml composes a document, a graph whose aliases point at what they name;
 * it is copied into a tree, each value once. */
#include "yaml/yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/file.h"
#include "base/text.h"

enum { DEPTH_MAX = 100, SETTINGS_MAX = 1 << 18 };

typedef struct builder {
  const char *file;
  bool lines;
  yaml_document_t *document;
  struct made {
    const char *text;
    uint32_t node; /* its index in the tree plus 1; 0: not added yet */
  } * made;        /* by libyaml's number, from 1 */
  struct open {
    const yaml_node_t *from;
    uint32_t node, next; /* its index in the tree; its next child */
  } open[DEPTH_MAX];     /* open lists and mappings, innermost last */
  size_t depth;
  faro_tree tree;
  faro_error *error;
} builder;

static faro_status fail_at(const builder *b, size_t line, const char *format, ...) FARO_PRINTF(3, 4);
static faro_status fail_at(const builder *b, size_t line, const char *format, ...) {
  char message[256];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  if (b->lines) return faro_fail(b->error, FARO_INVALID, "%s:%zu: %s", faro_path_end(b->file), line, message);
  return faro_fail(b->error, FARO_INVALID, "%s: %s", faro_path_end(b->file), message);
}

static int line_of(const builder *b, const yaml_node_t *node) {
  return b->lines ? (int)node->start_mark.line + 1 : -1;
}

/* Copies the texts of all scalars. A scalar that contains a zero byte has no text. */
static faro_status copy_texts(builder *b) {
  const yaml_node_t *first = b->document->nodes.start;
  const size_t count = (size_t)(b->document->nodes.top - first);
  size_t bytes = 1;
  for (size_t i = 0; i < count; i++)
    if (first[i].type == YAML_SCALAR_NODE) bytes += first[i].data.scalar.length + 1;
  char *to = b->tree.texts = malloc(bytes);
  b->made = calloc(count + 1, sizeof *b->made);
  if (!to || !b->made) return faro_fail(b->error, FARO_MEMORY, "out of memory");
  for (size_t i = 0; i < count; i++) {
    if (first[i].type != YAML_SCALAR_NODE) continue;
    const size_t length = first[i].data.scalar.length;
    memcpy(to, first[i].data.scalar.value, length);
    to[length] = '\0';
    if (strlen(to) == length) b->made[i + 1].text = to;
    to += length + 1;
  }
  return FARO_OK;
}

static uint32_t count_children(const yaml_node_t *node) {
  if (node->type == YAML_MAPPING_NODE)
    return (uint32_t)(node->data.mapping.pairs.top - node->data.mapping.pairs.start);
  if (node->type == YAML_SEQUENCE_NODE)
    return (uint32_t)(node->data.sequence.items.top - node->data.sequence.items.start);
  return 0;
}

/* Adds a value, given by libyaml's number; `key` is 0 unless it is a member of a mapping. Its
 * children are added next, unless they are in the tree already. */
static faro_status add_value(builder *b, int value, int key) {
  static const faro_node_type types[] = {[YAML_SCALAR_NODE] = FARO_NODE_TEXT,
                                         [YAML_SEQUENCE_NODE] = FARO_NODE_LIST,
                                         [YAML_MAPPING_NODE] = FARO_NODE_MAPPING};
  const yaml_node_t *from = yaml_document_get_node(b->document, value);
  faro_node *node = faro_tree_add(&b->tree, b->error);
  if (!node) return FARO_MEMORY;
  node->line = line_of(b, from);
  node->key = b->made[key].text;
  if (key) node->key_line = line_of(b, yaml_document_get_node(b->document, key));
  if (b->made[value].node) {
    node->target = b->made[value].node - 1;
    return FARO_OK;
  }
  b->made[value].node = b->tree.count;
  node->type = types[from->type];
  node->count = count_children(from);
  node->text = b->made[value].text;
  node->quoted = from->type == YAML_SCALAR_NODE && from->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
  if (node->count == 0) return FARO_OK;
  if (b->depth == DEPTH_MAX)
    return fail_at(b, from->start_mark.line + 1, "values are nested more than %d deep", DEPTH_MAX);
  b->open[b->depth++] = (struct open){.from = from, .node = b->tree.count - 1};
  return FARO_OK;
}

/* Adds the next child of the innermost value that is open, or closes it. */
static faro_status add_next(builder *b) {
  struct open *at = &b->open[b->depth - 1];
  if (at->next == b->tree.node[at->node].count) {
    b->tree.node[at->node].next = b->tree.count;
    b->depth--;
    return FARO_OK;
  }
  const uint32_t i = at->next++;
  if (at->from->type == YAML_SEQUENCE_NODE) return add_value(b, at->from->data.sequence.items.start[i], 0);
  const yaml_node_pair_t pair = at->from->data.mapping.pairs.start[i];
  return add_value(b, pair.value, pair.key);
}

static faro_status build(builder *b) {
  if (!yaml_document_get_root_node(b->document)) {
    faro_node *empty = faro_tree_add(&b->tree, b->error);
    if (!empty) return FARO_MEMORY;
    empty->line = b->lines ? 1 : -1;
    return FARO_OK;
  }
  faro_status status = copy_texts(b);
  if (status == FARO_OK) status = add_value(b, 1, 0);
  while (status == FARO_OK && b->depth > 0) status = add_next(b);
  return status;
}

/* Reports libyaml's message, with what it was reading and the line where that began. */
static faro_status not_yaml(const builder *b, const yaml_parser_t *parser) {
  char since[32] = "";
  if (parser->error == YAML_MEMORY_ERROR) return faro_fail(b->error, FARO_MEMORY, "out of memory");
  const char *problem = parser->problem ? parser->problem : "it cannot be read";
  const bool star = strstr(problem, "alias") || (parser->context && strstr(parser->context, "alias"));
  if (b->lines) snprintf(since, sizeof since, " (from line %zu)", parser->context_mark.line + 1);
  return fail_at(b, parser->problem_mark.line + 1, "not YAML: %s%s%s%s%s",
                 parser->context ? parser->context : "", parser->context ? since : "",
                 parser->context ? ", " : "", problem,
                 star ? "; a text that begins with * needs quotes: \"*\"" : "");
}

/* The first document becomes the tree; there must not be a second one. */
static faro_status next_document(builder *b, yaml_parser_t *parser, bool first) {
  yaml_document_t document;
  if (!yaml_parser_load(parser, &document)) return not_yaml(b, parser);
  const yaml_node_t *root = yaml_document_get_root_node(&document);
  b->document = &document;
  faro_status status = FARO_OK;
  if (first) status = build(b);
  else if (root)
    status = fail_at(b, root->start_mark.line + 1, "a second YAML document begins here; only one is allowed");
  yaml_document_delete(&document);
  b->document = NULL;
  return status;
}

/* libyaml takes quadratic time in the depth of brackets, so great depths are refused before it
 * parses the text. */
static faro_status check_depth(const builder *b, const char *text, size_t length) {
  long depth = 0;
  size_t line = 1;
  for (size_t i = 0; i < length && depth <= DEPTH_MAX; i++) {
    depth += (text[i] == '[' || text[i] == '{') - (depth > 0 && (text[i] == ']' || text[i] == '}'));
    line += text[i] == '\n';
  }
  return depth > DEPTH_MAX ? fail_at(b, line, "brackets are nested more than %d deep", DEPTH_MAX) : FARO_OK;
}

faro_status faro_yaml_parse(faro_tree *tree, const char *file, bool lines, const char *text, size_t length,
                            faro_error *error) {
  yaml_parser_t parser;
  builder b = {.file = file, .lines = lines, .error = error};
  faro_status status = check_depth(&b, text, length);
  if (status != FARO_OK) return status;
  if (!yaml_parser_initialize(&parser)) return faro_fail(error, FARO_MEMORY, "out of memory");
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
  status = next_document(&b, &parser, true);
  if (status == FARO_OK) status = next_document(&b, &parser, false);
  yaml_parser_delete(&parser);
  free(b.made);
  if (status == FARO_OK) *tree = b.tree;
  else faro_tree_clear(&b.tree);
  return status;
}

faro_status faro_yaml_read(const char *path, const char *text, size_t length, const faro_field *fields,
                           size_t count, void *settings, faro_error *error) {
  faro_tree tree = {0};
  const faro_status status = faro_yaml_parse(&tree, path, true, text, length, error);
  if (status != FARO_OK) return status;
  faro_reader r = {.tree = &tree, .file = path, .quoted_numbers = true, .error = error};
  faro_read_fields(&r, 0, NULL, fields, count, settings);
  faro_tree_clear(&tree);
  return faro_reader_end(&r);
}

faro_status faro_yaml_load(const char *path, const faro_field *fields, size_t count, void *settings,
                           faro_error *error) {
  char *text = NULL;
  size_t length = 0;
  faro_status status = faro_read_file(path, SETTINGS_MAX, &text, &length, error);
  if (status == FARO_OK) status = faro_yaml_read(path, text, length, fields, count, settings, error);
  free(text);
  return status;
}
