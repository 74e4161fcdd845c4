/* parse: YAML into a draft. libyaml composes the document; this file walks it and refuses what it
 * does not know. The walk is as deep as the format (three levels), whatever the input nests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/text.h"
#include "sim/draft.h"

typedef struct parser {
  faro_draft *draft;
  yaml_document_t *document;
  faro_line line; /* of overrides: always -1; else 0 and the nodes' own lines count */
} parser;

static faro_line line_of(const parser *p, const yaml_node_t *node) {
  return p->line < 0 ? p->line : (faro_line)node->start_mark.line + 1;
}

/* The scalar's text when it is one, without NULs inside; else NULL. */
static const char *text_of(const yaml_node_t *node) {
  if (node->type != YAML_SCALAR_NODE) return NULL;
  const char *text = (const char *)node->data.scalar.value;
  return strlen(text) == node->data.scalar.length ? text : NULL;
}

/* A text for messages: at most 60 bytes, cut between characters. */
enum { SHOWN_SIZE = 72 };

static const char *cut(const char *text, char out[static SHOWN_SIZE]) {
  size_t length = strlen(text);
  const bool longer = length > 60;
  if (longer)
    for (length = 60; length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80;) length--;
  snprintf(out, SHOWN_SIZE, "%.*s%s", (int)length, text, longer ? "..." : "");
  return out;
}

/* What a node is, for messages: its text or its kind. */
static const char *shown(const yaml_node_t *node, char out[static SHOWN_SIZE]) {
  const char *text = text_of(node);
  if (node->type == YAML_MAPPING_NODE) text = "a mapping";
  else if (node->type == YAML_SEQUENCE_NODE) text = "a list";
  else if (!text) text = "something with a NUL in it";
  else if (*text == '\0') text = "nothing";
  return cut(text, out);
}

static faro_status read_scalar(const parser *p, faro_key key, const yaml_node_t *node, double *value) {
  const char *word = text_of(node);
  const bool quoted = node->type == YAML_SCALAR_NODE && node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
  if (word && faro_key_read(key, word, quoted, value)) return FARO_OK;
  char allowed[FARO_ALLOWED_SIZE];
  char got[SHOWN_SIZE];
  const char *meant = word ? faro_key_meant(key, word) : NULL;
  const char *quote = quoted && word ? "\"" : "";
  return faro_draft_fail(p->draft, line_of(p, node), "%s must be %s (got %s%s%s%s%s%s)", faro_key_title(key),
                         faro_key_allowed(key, allowed), quote, shown(node, got), quote,
                         meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

static faro_status read_entry(const parser *p, faro_key key, const yaml_node_t *node, faro_entry *entry) {
  double value = 0;
  const faro_status status = read_scalar(p, key, node, &value);
  if (status == FARO_OK) *entry = (faro_entry){.given = true, .value = value, .line = line_of(p, node)};
  return status;
}

/* Free text of a person: not empty, printable, not too long. */
static faro_status read_text(const parser *p, const char *name, const yaml_node_t *node,
                             char out[static DRAFT_NAME_MAX]) {
  const char *text = text_of(node);
  const char *fault = NULL;
  if (!text || *text == '\0') fault = "";
  else if (strlen(text) >= DRAFT_NAME_MAX) fault = "too long: ";
  for (const char *c = text; !fault && *c != '\0'; c++)
    if ((unsigned char)*c < ' ' || *c == 127) fault = "a control character in: ";
  char got[SHOWN_SIZE];
  if (fault)
    return faro_draft_fail(p->draft, line_of(p, node),
                           "%s must be a line of 1 to %d printable characters (got %s%s)", name,
                           DRAFT_NAME_MAX - 1, fault, shown(node, got));
  snprintf(out, DRAFT_NAME_MAX, "%s", text);
  return FARO_OK;
}

static bool in_scope(faro_key key, faro_scope scope) {
  const faro_scope own = faro_key_scope(key);
  return own == scope || (own == SCOPE_BOTH && (scope == SCOPE_TOP || scope == SCOPE_ALGORITHM));
}

static bool find_key(const char *name, faro_scope scope, faro_key *key) {
  for (faro_key k = 0; k < faro_key_count(); k++)
    if (in_scope(k, scope) && strcmp(faro_key_name(k), name) == 0) {
      *key = k;
      return true;
    }
  return false;
}

static bool sweepable(faro_key key) {
  return faro_key_scope(key) != SCOPE_ALGORITHM && key != FARO_KEY_INSTANCES && key != FARO_KEY_SEED;
}

/* Where a key belongs that stands in the wrong place. */
static const char *home_of(const char *word) {
  faro_key key = FARO_KEY_OWN;
  if (find_key(word, SCOPE_ENV, &key)) return " (it belongs under environment)";
  if (find_key(word, SCOPE_TOP, &key)) return " (it belongs at the top level)";
  return find_key(word, SCOPE_ALGORITHM, &key) ? " (it belongs under an algorithm)" : NULL;
}

/* "unknown key": with what is allowed there, and what was perhaps meant. `extra` ends with NULL. */
static faro_status unknown_word(const faro_draft *draft, faro_line line, const char *word, const char *place,
                                bool (*allowed)(faro_key), const char *const *extra) {
  const char *names[FARO_KEYS_MAX + 8];
  size_t count = 0;
  for (; extra && extra[count]; count++) names[count] = extra[count];
  for (faro_key k = 0; k < faro_key_count(); k++)
    if (allowed(k)) names[count++] = faro_key_name(k);
  char list[300] = "";
  size_t used = 0;
  for (size_t i = 0; i < count && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
  const char *nearest = faro_nearest(word, names, count);
  const char *elsewhere = nearest ? NULL : home_of(word);
  char got[SHOWN_SIZE];
  return faro_draft_fail(draft, line, "unknown key \"%s\" in %s%s%s%s%s; allowed: %s", cut(word, got), place,
                         nearest ? " (did you mean " : "", nearest ? nearest : "", nearest ? "?)" : "",
                         elsewhere ? elsewhere : "", list);
}

static faro_status unknown_key(const parser *p, const yaml_node_t *node, const char *place,
                               bool (*allowed)(faro_key), const char *const *extra) {
  char got[SHOWN_SIZE];
  if (text_of(node)) return unknown_word(p->draft, line_of(p, node), text_of(node), place, allowed, extra);
  return faro_draft_fail(p->draft, line_of(p, node), "a key in %s must be a word (got %s)", place,
                         shown(node, got));
}

static bool allowed_top(faro_key key) { return in_scope(key, SCOPE_TOP); }
static bool allowed_env(faro_key key) { return in_scope(key, SCOPE_ENV); }
static bool allowed_algorithm(faro_key key) { return in_scope(key, SCOPE_ALGORITHM); }

/* Calls `each` on the pairs of a mapping, refusing what is no mapping and keys that come twice. */
typedef faro_status (*each_pair)(const parser *, void *, const yaml_node_t *key, const yaml_node_t *value);

static faro_status walk_mapping(const parser *p, const char *place, const yaml_node_t *node, each_pair each,
                                void *context) {
  char got[SHOWN_SIZE];
  if (node->type != YAML_MAPPING_NODE)
    return faro_draft_fail(p->draft, line_of(p, node), "%s must be a mapping of keys to values (got %s)",
                           place, shown(node, got));
  const yaml_node_pair_t *first = node->data.mapping.pairs.start;
  for (const yaml_node_pair_t *pair = first; pair < node->data.mapping.pairs.top; pair++) {
    const yaml_node_t *key = yaml_document_get_node(p->document, pair->key);
    for (const yaml_node_pair_t *other = first; other < pair; other++) {
      const char *a = text_of(yaml_document_get_node(p->document, other->key));
      if (a && text_of(key) && strcmp(a, text_of(key)) == 0)
        return faro_draft_fail(p->draft, line_of(p, key), "key \"%s\" is given twice in %s", shown(key, got),
                               place);
    }
    const faro_status status = each(p, context, key, yaml_document_get_node(p->document, pair->value));
    if (status != FARO_OK) return status;
  }
  return FARO_OK;
}

static faro_status env_pair(const parser *p, void *context, const yaml_node_t *key,
                            const yaml_node_t *value) {
  (void)context;
  faro_key found = FARO_KEY_OWN;
  if (!text_of(key) || !find_key(text_of(key), SCOPE_ENV, &found))
    return unknown_key(p, key, "environment", allowed_env, NULL);
  return read_entry(p, found, value, &p->draft->top[found]);
}

/* One value or a list of them into a sweep. */
static faro_status read_values(const parser *p, faro_draft_sweep *sweep, const yaml_node_t *node) {
  const char *name = faro_key_name(sweep->key);
  char got[SHOWN_SIZE];
  if (node->type != YAML_SEQUENCE_NODE)
    return faro_draft_fail(p->draft, line_of(p, node), "sweep of %s must be a list of values (got %s)", name,
                           shown(node, got));
  const yaml_node_item_t *item = node->data.sequence.items.start;
  const size_t count = (size_t)(node->data.sequence.items.top - item);
  if (count < 1 || count > DRAFT_VALUES_MAX)
    return faro_draft_fail(p->draft, line_of(p, node), "sweep of %s must have 1 to %d values (got %zu)", name,
                           DRAFT_VALUES_MAX, count);
  for (size_t i = 0; i < count; i++) {
    const yaml_node_t *element = yaml_document_get_node(p->document, item[i]);
    const faro_status status = read_scalar(p, sweep->key, element, &sweep->value[i]);
    if (status != FARO_OK) return status;
    for (size_t j = 0; j < i; j++)
      if (sweep->value[j] == sweep->value[i])
        return faro_draft_fail(p->draft, line_of(p, element), "sweep of %s has the value %s twice", name,
                               shown(element, got));
  }
  sweep->count = count;
  sweep->line = line_of(p, node);
  return FARO_OK;
}

static bool find_sweepable(const char *name, faro_key *key) {
  return (find_key(name, SCOPE_TOP, key) || find_key(name, SCOPE_ENV, key)) && sweepable(*key);
}

static faro_status sweep_pair(const parser *p, void *context, const yaml_node_t *key,
                              const yaml_node_t *value) {
  (void)context;
  faro_draft *draft = p->draft;
  faro_key found = FARO_KEY_OWN;
  if (!text_of(key) || !find_sweepable(text_of(key), &found)) {
    const bool known = text_of(key) && (find_key(text_of(key), SCOPE_TOP, &found) ||
                                        find_key(text_of(key), SCOPE_ALGORITHM, &found));
    if (known)
      return faro_draft_fail(
          draft, line_of(p, key),
          "%s cannot be swept; every other key of the top level and of the environment can",
          faro_key_name(found));
    return unknown_key(p, key, "sweep", sweepable, NULL);
  }
  if (draft->sweeps == FARO_SWEEPS_MAX)
    return faro_draft_fail(draft, line_of(p, key), "sweep has more than %d keys", FARO_SWEEPS_MAX);
  faro_draft_sweep *sweep = &draft->sweep[draft->sweeps];
  *sweep = (faro_draft_sweep){.key = found};
  const faro_status status = read_values(p, sweep, value);
  if (status == FARO_OK) draft->sweeps++;
  return status;
}

static faro_status algorithm_pair(const parser *p, void *context, const yaml_node_t *key,
                                  const yaml_node_t *value) {
  static const char *const extra[] = {"label", NULL};
  faro_draft_algorithm *algorithm = context;
  faro_key found = FARO_KEY_OWN;
  if (text_of(key) && strcmp(text_of(key), "label") == 0)
    return read_text(p, "label", value, algorithm->label);
  if (!text_of(key) || !find_key(text_of(key), SCOPE_ALGORITHM, &found))
    return unknown_key(p, key, "an algorithm", allowed_algorithm, extra);
  return read_entry(p, found, value, &algorithm->own[found]);
}

/* What an algorithm must say, and that its label is its own. */
static faro_status check_algorithm(const parser *p, const faro_draft_algorithm *algorithm) {
  const faro_draft *draft = p->draft;
  for (faro_key k = 0; k < faro_key_count(); k++)
    if (faro_key_scope(k) == SCOPE_ALGORITHM && !algorithm->own[k].given) {
      char allowed[FARO_ALLOWED_SIZE];
      return faro_draft_fail(draft, algorithm->line, "an algorithm lacks %s: %s", faro_key_name(k),
                             faro_key_allowed(k, allowed));
    }
  for (const faro_draft_algorithm *other = draft->algorithm; other < algorithm; other++)
    if (strcmp(other->label, algorithm->label) == 0)
      return faro_draft_fail(draft, algorithm->line,
                             "label \"%s\" is used twice (also in line %d); labels must differ",
                             algorithm->label, other->line);
  return FARO_OK;
}

static faro_status read_algorithms(const parser *p, const yaml_node_t *node) {
  faro_draft *draft = p->draft;
  char got[SHOWN_SIZE];
  if (node->type != YAML_SEQUENCE_NODE || node->data.sequence.items.top == node->data.sequence.items.start)
    return faro_draft_fail(draft, line_of(p, node),
                           "algorithms must be a list of at least one algorithm (got %s)",
                           node->type == YAML_SEQUENCE_NODE ? "an empty one" : shown(node, got));
  const yaml_node_item_t *item = node->data.sequence.items.start;
  const size_t count = (size_t)(node->data.sequence.items.top - item);
  if (count > DRAFT_ALGORITHMS_MAX)
    return faro_draft_fail(draft, line_of(p, node), "algorithms must be at most %d (got %zu)",
                           DRAFT_ALGORITHMS_MAX, count);
  draft->algorithm = calloc(count, sizeof *draft->algorithm);
  if (!draft->algorithm) return faro_fail(draft->error, FARO_MEMORY, "cannot hold %zu algorithms", count);
  for (size_t i = 0; i < count; i++) {
    const yaml_node_t *element = yaml_document_get_node(p->document, item[i]);
    faro_draft_algorithm *algorithm = &draft->algorithm[i];
    algorithm->line = line_of(p, element);
    faro_status status = walk_mapping(p, "an algorithm", element, algorithm_pair, algorithm);
    if (status == FARO_OK && *algorithm->label == '\0' && algorithm->own[FARO_KEY_LEARNER].given &&
        algorithm->own[FARO_KEY_RELEASE].given) { /* the default label: learner and release */
      char learner[64];
      char release[64];
      snprintf(algorithm->label, sizeof algorithm->label, "%s/%s",
               faro_key_print(FARO_KEY_LEARNER, algorithm->own[FARO_KEY_LEARNER].value, learner),
               faro_key_print(FARO_KEY_RELEASE, algorithm->own[FARO_KEY_RELEASE].value, release));
    }
    if (status == FARO_OK) status = check_algorithm(p, algorithm);
    if (status != FARO_OK) return status;
    draft->algorithms++;
  }
  return FARO_OK;
}

static bool no_key(faro_key key) {
  (void)key;
  return false;
}

static faro_status plot_pair(const parser *p, void *context, const yaml_node_t *key,
                             const yaml_node_t *value) {
  (void)context;
  static const char *const extra[] = {"x", "y", "panels", NULL};
  faro_draft *draft = p->draft;
  faro_draft_axis *const axes[] = {&draft->x, &draft->y, &draft->panels};
  const char *name = text_of(key);
  size_t i = 0;
  while (name && extra[i] && strcmp(name, extra[i]) != 0) i++;
  if (!name || !extra[i]) return unknown_key(p, key, "plot", no_key, extra);
  axes[i]->line = line_of(p, value);
  return read_text(p, name, value, axes[i]->name);
}

static faro_status top_pair(const parser *p, void *context, const yaml_node_t *key,
                            const yaml_node_t *value) {
  (void)context;
  static const char *const extra[] = {"title", "environment", "sweep", "algorithms", "plot", NULL};
  faro_draft *draft = p->draft;
  const char *name = text_of(key);
  faro_key found = FARO_KEY_OWN;
  if (!name) return unknown_key(p, key, "the experiment", allowed_top, extra);
  if (strcmp(name, "title") == 0) return read_text(p, "title", value, draft->title);
  if (strcmp(name, "environment") == 0) return walk_mapping(p, "environment", value, env_pair, NULL);
  if (strcmp(name, "sweep") == 0) return walk_mapping(p, "sweep", value, sweep_pair, NULL);
  if (strcmp(name, "algorithms") == 0) return read_algorithms(p, value);
  if (strcmp(name, "plot") == 0) return walk_mapping(p, "plot", value, plot_pair, NULL);
  if (!find_key(name, SCOPE_TOP, &found)) return unknown_key(p, key, "the experiment", allowed_top, extra);
  return read_entry(p, found, value, &draft->top[found]);
}

enum { DEPTH_MAX = 100 };

/* libyaml's scanner takes quadratic time in the depth of flow brackets, so absurd depths are refused before it
 * sees them. Brackets in texts count too; nobody has that many. */
static bool too_deep(const char *text, size_t length, faro_line *line) {
  long depth = 0;
  *line = 1;
  for (size_t i = 0; i < length && depth <= DEPTH_MAX; i++) {
    depth += (text[i] == '[' || text[i] == '{') - (depth > 0 && (text[i] == ']' || text[i] == '}'));
    *line += text[i] == '\n';
  }
  return depth > DEPTH_MAX;
}

static faro_status not_yaml(const faro_draft *draft, faro_line line, const yaml_parser_t *yaml) {
  char opened[128] = ""; /* what was being read, and since which line */
  if (yaml->context)
    snprintf(opened, sizeof opened, "%s (from line %zu), ", yaml->context, yaml->context_mark.line + 1);
  return faro_draft_fail(draft, line < 0 ? line : (faro_line)yaml->problem_mark.line + 1, "not YAML: %s%s",
                         opened, yaml->problem ? yaml->problem : "unreadable");
}

/* Hands the root of the next document to `use`; NULL where there is none. */
static faro_status next_document(yaml_parser_t *yaml, faro_draft *draft, faro_line line,
                                 faro_status (*use)(parser *, const yaml_node_t *, const void *),
                                 const void *context) {
  yaml_document_t document;
  if (!yaml_parser_load(yaml, &document)) return not_yaml(draft, line, yaml);
  parser p = {.draft = draft, .document = &document, .line = line};
  const faro_status status = use(&p, yaml_document_get_root_node(&document), context);
  yaml_document_delete(&document);
  return status;
}

static faro_status expect_end(parser *p, const yaml_node_t *root, const void *context) {
  (void)context;
  if (!root) return FARO_OK;
  return faro_draft_fail(p->draft, line_of(p, root), "a second YAML document begins here; one is allowed");
}

/* Composes the one document of a text and hands its root to `use`. */
static faro_status with_document(faro_draft *draft, faro_line line, const char *text, size_t length,
                                 faro_status (*use)(parser *, const yaml_node_t *, const void *),
                                 const void *context) {
  yaml_parser_t yaml;
  faro_line deep = 0;
  if (too_deep(text, length, &deep))
    return faro_draft_fail(draft, line < 0 ? line : deep, "brackets are nested more than %d deep", DEPTH_MAX);
  if (!yaml_parser_initialize(&yaml)) return faro_fail(draft->error, FARO_MEMORY, "cannot start libyaml");
  yaml_parser_set_input_string(&yaml, (const unsigned char *)text, length);
  faro_status status = next_document(&yaml, draft, line, use, context);
  if (status == FARO_OK) status = next_document(&yaml, draft, line, expect_end, NULL);
  yaml_parser_delete(&yaml);
  return status;
}

static faro_status use_experiment(parser *p, const yaml_node_t *root, const void *context) {
  (void)context;
  if (!root) return faro_draft_fail(p->draft, 0, "the experiment is empty");
  return walk_mapping(p, "the experiment", root, top_pair, NULL);
}

faro_status faro_draft_parse(faro_draft *draft, const char *text, size_t length) {
  return with_document(draft, 0, text, length, use_experiment, NULL);
}

/* Overrides: `key=value` replaces the key wherever the file gives it, and the top level if nowhere;
 * `key=[a, b]` sweeps it. */

static bool find_override(const char *name, faro_key *key) {
  static const char *const prefix[] = {"environment.", "sweep."};
  for (size_t i = 0; i < 2; i++)
    if (strncmp(name, prefix[i], strlen(prefix[i])) == 0)
      return find_sweepable(name + strlen(prefix[i]), key);
  if (strcmp(name, "environment") == 0) name = faro_key_name(FARO_KEY_ENVIRONMENT);
  return find_key(name, SCOPE_TOP, key) || find_key(name, SCOPE_ENV, key);
}

static void drop_sweep(faro_draft *draft, faro_key key) {
  for (size_t i = 0; i < draft->sweeps; i++)
    if (draft->sweep[i].key == key) {
      memmove(&draft->sweep[i], &draft->sweep[i + 1], (draft->sweeps - i - 1) * sizeof *draft->sweep);
      draft->sweeps--;
      return;
    }
}

static faro_status override_scalar(const parser *p, faro_key key, const yaml_node_t *node) {
  faro_draft *draft = p->draft;
  faro_entry entry = {0};
  const faro_status status = read_entry(p, key, node, &entry);
  if (status != FARO_OK) return status;
  drop_sweep(draft, key);
  bool placed = false;
  for (size_t i = 0; i < draft->algorithms; i++)
    if (draft->algorithm[i].own[key].given) {
      draft->algorithm[i].own[key] = entry;
      placed = true;
    }
  if (!placed || draft->top[key].given) draft->top[key] = entry;
  return FARO_OK;
}

static faro_status override_sweep(const parser *p, faro_key key, const yaml_node_t *node) {
  faro_draft *draft = p->draft;
  if (!sweepable(key)) return faro_draft_fail(draft, -1, "%s cannot be swept", faro_key_name(key));
  faro_draft_sweep sweep = {.key = key};
  const faro_status status = read_values(p, &sweep, node);
  if (status != FARO_OK) return status;
  const faro_draft_sweep *old = faro_draft_sweep_of(draft, key);
  if (!old && draft->sweeps == FARO_SWEEPS_MAX)
    return faro_draft_fail(draft, -1, "sweep has more than %d keys", FARO_SWEEPS_MAX);
  draft->sweep[old ? (size_t)(old - draft->sweep) : draft->sweeps++] = sweep;
  draft->top[key].given = false;
  for (size_t i = 0; i < draft->algorithms; i++) draft->algorithm[i].own[key].given = false;
  return FARO_OK;
}

static faro_status use_override(parser *p, const yaml_node_t *root, const void *context) {
  const faro_key key = *(const faro_key *)context;
  if (!root) return faro_draft_fail(p->draft, -1, "a value is missing behind the =");
  return root->type == YAML_SEQUENCE_NODE ? override_sweep(p, key, root) : override_scalar(p, key, root);
}

static bool overridable(faro_key key) { return faro_key_scope(key) != SCOPE_ALGORITHM; }

faro_status faro_draft_override(faro_draft *draft, const faro_override *override) {
  faro_key key = FARO_KEY_OWN;
  draft->override = NULL;
  if (!find_override(override->key, &key))
    return unknown_word(draft, -1, override->key, "an override", overridable, NULL);
  draft->overridden[key] = true;
  draft->override = override->key;
  return with_document(draft, -1, override->value, strlen(override->value), use_override, &key);
}
