/* account_compose: a YAML list of mechanisms, composed. libyaml composes the document; this file walks it, as deep as
 * the format (a list of mappings), and refuses what it does not know. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/file.h"
#include "cli/account/account.h"
#include "cli/cli.h"

/* What a list may hold. A step has the values of its keys; 0 where not given. */
typedef struct step {
  double value[ACCOUNT_OPTIONS];
  size_t line;
} step;

typedef struct part_kind {
  const char *name;
  unsigned need, may;
  faro_status (*create)(faro_pld **pld, const step *s, faro_error *error);
} part_kind;

static double given_or_one(const step *s, account_option option) {
  return s->value[option] > 0 ? s->value[option] : 1;
}

static faro_status create_gaussian(faro_pld **pld, const step *s, faro_error *error) {
  const double S = given_or_one(s, ACCOUNT_SENSITIVITY);
  return faro_pld_gaussian(pld, account_divide_up(S, s->value[ACCOUNT_SIGMA]), error);
}

static faro_status create_laplace(faro_pld **pld, const step *s, faro_error *error) {
  const double S = given_or_one(s, ACCOUNT_SENSITIVITY);
  return faro_pld_laplace(pld, account_divide_up(S, s->value[ACCOUNT_SCALE]), error);
}

static faro_status create_response(faro_pld **pld, const step *s, faro_error *error) {
  return faro_pld_response(pld, s->value[ACCOUNT_LOCAL_EPSILON], error);
}

static faro_status create_pure(faro_pld **pld, const step *s, faro_error *error) {
  return faro_pld_pure(pld, s->value[ACCOUNT_EPSILON], s->value[ACCOUNT_DELTA], error);
}

static const part_kind kinds[] = {
    {"gaussian", ACCOUNT_BIT(SIGMA), ACCOUNT_BIT(SENSITIVITY) | ACCOUNT_BIT(TIMES), create_gaussian},
    {"laplace", ACCOUNT_BIT(SCALE), ACCOUNT_BIT(SENSITIVITY) | ACCOUNT_BIT(TIMES), create_laplace},
    {"response", ACCOUNT_BIT(LOCAL_EPSILON), ACCOUNT_BIT(TIMES), create_response},
    {"pure", ACCOUNT_BIT(EPSILON), ACCOUNT_BIT(DELTA) | ACCOUNT_BIT(TIMES), create_pure},
};
enum { KINDS = sizeof kinds / sizeof *kinds, STEPS_MAX = 1000, FILE_MAX = 1 << 20, DEPTH_MAX = 100 };

/* A key of a step where it is no option of the command: delta may be 0. */
static const account_own own[ACCOUNT_OWN_MAX] = {{ACCOUNT_DELTA, {1e-15, 0.999, false, .zero = true}}};

/* ---- reading */

typedef struct reader {
  const char *file;
  yaml_document_t *document;
  faro_pld *total; /* NULL before the first step */
  faro_error *error;
} reader;

static faro_status fail_at(const reader *r, size_t line, const char *format, ...) FARO_PRINTF(3, 4);
static faro_status fail_at(const reader *r, size_t line, const char *format, ...) {
  char message[380];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return faro_fail(r->error, FARO_INVALID, "%s:%zu: %s", faro_path_end(r->file), line, message);
}

static size_t line_of(const yaml_node_t *node) { return node->start_mark.line + 1; }

/* The scalar's text when it is one, without NULs inside; else NULL. */
static const char *text_of(const yaml_node_t *node) {
  if (node->type != YAML_SCALAR_NODE) return NULL;
  const char *text = (const char *)node->data.scalar.value;
  return strlen(text) == node->data.scalar.length ? text : NULL;
}

/* What a node is, for messages. */
static const char *shown(const yaml_node_t *node, char out[static ACCOUNT_SHOWN]) {
  if (node->type == YAML_MAPPING_NODE) return "a mapping";
  if (node->type == YAML_SEQUENCE_NODE) return "a list";
  return text_of(node) ? account_shown(text_of(node), out) : "something with a NUL in it";
}

/* The names of a set of keys, and the mechanism's own. */
static size_t key_names(const part_kind *kind, const char *names[static ACCOUNT_OPTIONS + 1],
                        char list[static ACCOUNT_TEXT]) {
  size_t count = 0;
  size_t used = 0;
  names[count++] = "mechanism";
  for (int k = 0; k < ACCOUNT_OPTIONS; k++)
    if ((kind->need | kind->may) & (1u << k)) names[count++] = account_option_name((account_option)k);
  for (size_t i = 0; i < count && used < ACCOUNT_TEXT; i++)
    used += (size_t)snprintf(list + used, ACCOUNT_TEXT - used, "%s%s", i ? ", " : "", names[i]);
  return count;
}

static faro_status unknown_key(const reader *r, const part_kind *kind, const yaml_node_t *key) {
  const char *names[ACCOUNT_OPTIONS + 1];
  char list[ACCOUNT_TEXT];
  char got[ACCOUNT_SHOWN];
  const size_t count = key_names(kind, names, list);
  const char *nearest = text_of(key) ? faro_nearest(text_of(key), names, count) : NULL;
  return fail_at(r, line_of(key), "unknown key \"%s\" in %s%s%s%s; allowed: %s", shown(key, got), kind->name,
                 nearest ? " (did you mean " : "", nearest ? nearest : "", nearest ? "?)" : "", list);
}

static faro_status read_pair(const reader *r, const part_kind *kind, step *s, unsigned *given,
                             const yaml_node_t *key, const yaml_node_t *value) {
  const char *name = text_of(key);
  if (name && strcmp(name, "mechanism") == 0) return FARO_OK;
  int k = 0;
  while (k < ACCOUNT_OPTIONS && (!name || !((kind->need | kind->may) & (1u << k)) ||
                                 strcmp(name, account_option_name((account_option)k)) != 0))
    k++;
  if (k == ACCOUNT_OPTIONS) return unknown_key(r, kind, key);
  if (*given & (1u << k)) return fail_at(r, line_of(key), "key \"%s\" is given twice", name);
  *given |= 1u << k;
  const account_option option = (account_option)k;
  const account_range range = account_range_of(option, own);
  const bool plain = value->type == YAML_SCALAR_NODE && value->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  if (plain && text_of(value) && account_read(option, &range, text_of(value), &s->value[k])) return FARO_OK;
  char allowed[ACCOUNT_TEXT];
  char got[ACCOUNT_SHOWN];
  const char *quote = value->type == YAML_SCALAR_NODE && !plain ? "\"" : "";
  return fail_at(r, line_of(value), "%s must be %s (got %s%s%s)", name,
                 account_allowed(option, &range, allowed), quote, shown(value, got), quote);
}

/* The kind that the key `mechanism` names. */
static faro_status find_kind(const reader *r, const yaml_node_t *node, const part_kind **kind) {
  const yaml_node_t *value = NULL;
  const yaml_node_pair_t *const end = node->data.mapping.pairs.top;
  for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < end; pair++) {
    const yaml_node_t *key = yaml_document_get_node(r->document, pair->key);
    if (!text_of(key) || strcmp(text_of(key), "mechanism") != 0) continue;
    if (value) return fail_at(r, line_of(key), "key \"mechanism\" is given twice");
    value = yaml_document_get_node(r->document, pair->value);
  }
  if (!value)
    return fail_at(r, line_of(node),
                   "a mechanism lacks its key mechanism: gaussian, laplace, response or pure");
  const char *names[KINDS];
  for (size_t i = 0; i < KINDS; i++) {
    names[i] = kinds[i].name;
    *kind = &kinds[i];
    if (text_of(value) && strcmp(text_of(value), names[i]) == 0) return FARO_OK;
  }
  const char *nearest = text_of(value) ? faro_nearest(text_of(value), names, KINDS) : NULL;
  char got[ACCOUNT_SHOWN];
  return fail_at(r, line_of(value), "mechanism must be gaussian, laplace, response or pure (got %s%s%s%s)",
                 shown(value, got), nearest ? "; did you mean " : "", nearest ? nearest : "",
                 nearest ? "?" : "");
}

static faro_status read_step(const reader *r, const yaml_node_t *node, const part_kind **kind, step *s) {
  char got[ACCOUNT_SHOWN];
  if (node->type != YAML_MAPPING_NODE)
    return fail_at(r, line_of(node), "a mechanism must be a mapping of keys to values (got %s)",
                   shown(node, got));
  faro_status status = find_kind(r, node, kind);
  unsigned given = 0;
  s->line = line_of(node);
  const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
  for (; status == FARO_OK && pair < node->data.mapping.pairs.top; pair++)
    status = read_pair(r, *kind, s, &given, yaml_document_get_node(r->document, pair->key),
                       yaml_document_get_node(r->document, pair->value));
  for (int k = 0; status == FARO_OK && k < ACCOUNT_OPTIONS; k++)
    if ((*kind)->need & ~given & (1u << k)) {
      const account_range range = account_range_of((account_option)k, own);
      char allowed[ACCOUNT_TEXT];
      status = fail_at(r, s->line, "%s lacks %s: %s", (*kind)->name, account_option_name((account_option)k),
                       account_allowed((account_option)k, &range, allowed));
    }
  return status;
}

/* ---- composing */

static faro_status add_step(reader *r, const part_kind *kind, const step *s) {
  faro_pld *pld = NULL;
  faro_error inner = {0};
  faro_status status = kind->create(&pld, s, &inner);
  const uint64_t times = (uint64_t)given_or_one(s, ACCOUNT_TIMES);
  if (status == FARO_OK && times > 1) status = faro_pld_repeat(pld, times, &inner);
  if (status == FARO_OK && r->total) status = faro_pld_compose(r->total, pld, &inner);
  else if (status == FARO_OK) {
    r->total = pld;
    pld = NULL;
  }
  faro_pld_destroy(pld);
  if (status == FARO_INVALID) return fail_at(r, s->line, "%s: %.300s", kind->name, inner.message);
  return status == FARO_OK ? FARO_OK : faro_fail(r->error, status, "%s", inner.message);
}

static faro_status read_list(reader *r, const yaml_node_t *root) {
  char got[ACCOUNT_SHOWN];
  if (!root || root->type != YAML_SEQUENCE_NODE)
    return fail_at(r, root ? line_of(root) : 1, "the file must be a list of mechanisms (got %s)",
                   root ? shown(root, got) : "nothing");
  const yaml_node_item_t *item = root->data.sequence.items.start;
  const size_t count = (size_t)(root->data.sequence.items.top - item);
  if (count < 1 || count > STEPS_MAX)
    return fail_at(r, line_of(root), "the list must have 1 to %d mechanisms (got %zu)", STEPS_MAX, count);
  for (size_t i = 0; i < count; i++) {
    const part_kind *kind = &kinds[0];
    step s = {.line = 0};
    faro_status status = read_step(r, yaml_document_get_node(r->document, item[i]), &kind, &s);
    if (status == FARO_OK) status = add_step(r, kind, &s);
    if (status != FARO_OK) return status;
  }
  return FARO_OK;
}

/* libyaml takes quadratic time in the depth of brackets: absurd depths are refused before it sees them. */
static bool too_deep(const char *text, size_t length) {
  long depth = 0;
  for (size_t i = 0; i < length && depth <= DEPTH_MAX; i++)
    depth += (text[i] == '[' || text[i] == '{') - (depth > 0 && (text[i] == ']' || text[i] == '}'));
  return depth > DEPTH_MAX;
}

/* The first document must be the list, the second must not be. */
static faro_status next_document(reader *r, yaml_parser_t *yaml, bool first) {
  yaml_document_t document;
  if (!yaml_parser_load(yaml, &document))
    return fail_at(r, yaml->problem_mark.line + 1, "not YAML: %s",
                   yaml->problem ? yaml->problem : "unreadable");
  r->document = &document;
  const yaml_node_t *root = yaml_document_get_root_node(&document);
  faro_status status = FARO_OK;
  if (first) status = read_list(r, root);
  else if (root) status = fail_at(r, line_of(root), "a second YAML document begins here; one is allowed");
  yaml_document_delete(&document);
  r->document = NULL;
  return status;
}

static faro_status read_text(reader *r, const char *text, size_t length) {
  yaml_parser_t yaml;
  if (too_deep(text, length)) return fail_at(r, 1, "brackets are nested more than %d deep", DEPTH_MAX);
  if (!yaml_parser_initialize(&yaml)) return faro_fail(r->error, FARO_MEMORY, "cannot start libyaml");
  yaml_parser_set_input_string(&yaml, (const unsigned char *)text, length);
  faro_status status = next_document(r, &yaml, true);
  if (status == FARO_OK) status = next_document(r, &yaml, false);
  yaml_parser_delete(&yaml);
  return status;
}

static faro_status read_stdin(char **text, size_t *length, faro_error *error) {
  *text = malloc(FILE_MAX + 1);
  if (!*text) return faro_fail(error, FARO_MEMORY, "cannot hold standard input");
  *length = fread(*text, 1, FILE_MAX + 1, stdin);
  if (!ferror(stdin) && *length <= FILE_MAX) return FARO_OK;
  free(*text);
  *text = NULL;
  if (ferror(stdin)) return faro_fail(error, FARO_INVALID, "standard input: cannot be read");
  return faro_fail(error, FARO_INVALID, "standard input: too large: at most %d bytes are allowed", FILE_MAX);
}

/* ---- answering */

/* A point of the curve, left out where no epsilon is enough. */
static void add_point(account *a, json_t *curve, const faro_pld *pld, double delta) {
  const double epsilon = faro_pld_epsilon(pld, delta);
  if (!isfinite(epsilon)) return;
  json_t *point = json_pack("{s:f, s:f}", "epsilon", epsilon, "delta", delta);
  if (json_array_append_new(curve, point) != 0) a->why.failed = true;
}

/* delta = 3e-1, 1e-1, 3e-2 ... 1e-12 */
static json_t *make_curve(account *a, const faro_pld *pld) {
  json_t *curve = json_array();
  double power = 1;
  for (int k = 1; k <= 12; k++) {
    power *= 10;
    add_point(a, curve, pld, 3 / power);
    add_point(a, curve, pld, 1 / power);
  }
  return curve;
}

static int tell(account *a, const faro_pld *pld) {
  const bool forward = a->given & ACCOUNT_BIT(DELTA);
  const double E = forward ? faro_pld_epsilon(pld, a->value[ACCOUNT_DELTA]) : a->value[ACCOUNT_EPSILON];
  const double D = forward ? a->value[ACCOUNT_DELTA] : faro_pld_delta(pld, a->value[ACCOUNT_EPSILON]);
  account_put(a, "epsilon", E);
  account_put(a, "delta", D);
  if (json_object_set_new(a->fields, "curve", make_curve(a, pld)) != 0) a->why.failed = true;
  account_say(
      a,
      "An (epsilon, delta) of all mechanisms of the list on the same data, and the curve of what else they "
      "are, by composing their privacy-loss distributions (Sommer, Meiser and Mohammadi 2019; Koskela, "
      "Jalko and Honkela 2020), with all numerical errors counted into delta.");
  return EXIT_DONE;
}

static int compose(account *a) {
  const bool from_stdin = strcmp(a->file, "-") == 0;
  faro_error error = {0};
  reader r = {.file = from_stdin ? "standard input" : a->file, .error = &error};
  char *text = NULL;
  size_t length = 0;
  faro_status status = from_stdin ? read_stdin(&text, &length, &error)
                                  : faro_read_file(a->file, FILE_MAX, &text, &length, &error);
  if (status == FARO_OK && text) status = read_text(&r, text, length);
  const int result = status == FARO_OK && r.total ? tell(a, r.total) : cli_fail(&error);
  faro_pld_destroy(r.total);
  free(text);
  return result;
}

const account_mechanism account_compose = {
    .name = "compose",
    .file = true,
    .form = {{ACCOUNT_BIT(DELTA), 0, compose}, {ACCOUNT_BIT(EPSILON), 0, compose}}};
