/* account_compose: a YAML list of mechanisms, composed. The key `mechanism` of an element decides
 * which other keys it has. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/account/account.h"
#include "cli/cli.h"
#include "yaml/yaml.h"

/* An element of the list: the values of its keys, 0 if not given. */
typedef struct step {
  double value[ACCOUNT_OPTIONS];
  size_t kind; /* index in kinds */
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
enum { KINDS = sizeof kinds / sizeof *kinds, STEPS_MAX = 1000, FILE_MAX = 1 << 20 };

static const char *kind_name(size_t index) { return index < KINDS ? kinds[index].name : NULL; }

/* ---- reading */

static const faro_field mechanism = {"mechanism", FARO_FIELD_CHOICE, FARO_AT(step, kind), .required = true,
                                     .words = kind_name};

/* The keys of a kind: the mechanism itself, and those options that it needs or may have. */
static size_t make_fields(const part_kind *kind, faro_field fields[static ACCOUNT_OPTIONS + 1]) {
  static const faro_field own[ACCOUNT_OWN_MAX] = {ACCOUNT_DELTA_OR_ZERO};
  size_t count = 0;
  fields[count++] = mechanism;
  for (int k = 0; k < ACCOUNT_OPTIONS; k++) {
    if (!((kind->need | kind->may) & (1u << k))) continue;
    fields[count] = account_field((account_option)k, own);
    fields[count].offset += offsetof(step, value);
    fields[count++].required = kind->need & (1u << k);
  }
  return count;
}

static void read_step(faro_reader *r, uint32_t node, step *s) {
  faro_field fields[ACCOUNT_OPTIONS + 1];
  faro_read_member(r, node, "a mechanism", &mechanism, s);
  const size_t count = make_fields(&kinds[s->kind], fields);
  faro_read_fields(r, node, kind_name(s->kind), fields, count, s);
}

/* ---- composing */

/* Adds a step to what is composed so far, which is NULL before the first one. */
static void add_step(faro_reader *r, uint32_t node, const step *s, faro_pld **total) {
  const part_kind *kind = &kinds[s->kind];
  const uint64_t times = (uint64_t)given_or_one(s, ACCOUNT_TIMES);
  faro_pld *pld = NULL;
  faro_error inner = {0};
  if (r->status != FARO_OK) return;
  faro_status status = kind->create(&pld, s, &inner);
  if (status == FARO_OK && times > 1) status = faro_pld_repeat(pld, times, &inner);
  if (status == FARO_OK && *total) status = faro_pld_compose(*total, pld, &inner);
  else if (status == FARO_OK) {
    *total = pld;
    pld = NULL;
  }
  faro_pld_destroy(pld);
  if (status == FARO_INVALID) faro_reader_fail(r, node, "%s: %.300s", kind->name, inner.message);
  else if (status != FARO_OK) r->status = faro_fail(r->error, status, "%s", inner.message);
}

static faro_status read_list(const char *file, const char *text, size_t length, faro_pld **total,
                             faro_error *error) {
  faro_tree tree = {0};
  const faro_status status = faro_yaml_parse(&tree, file, true, text, length, error);
  if (status != FARO_OK) return status;
  faro_reader r = {.tree = &tree, .file = file, .error = error};
  uint32_t node = 0;
  const size_t count = faro_read_list(&r, 0, "the file", 1, STEPS_MAX, "mechanisms", &node);
  for (size_t i = 0; i < count && r.status == FARO_OK; i++, node = tree.node[node].next) {
    step s = {.kind = 0};
    read_step(&r, node, &s);
    add_step(&r, node, &s, total);
  }
  faro_tree_clear(&tree);
  return faro_reader_end(&r);
}

static faro_status read_stdin(char **text, size_t *length, faro_error *error) {
  *text = malloc(FILE_MAX + 1);
  if (!*text) return faro_fail(error, FARO_MEMORY, "out of memory");
  *length = fread(*text, 1, FILE_MAX + 1, stdin);
  if (!ferror(stdin) && *length <= FILE_MAX) return FARO_OK;
  free(*text);
  *text = NULL;
  if (ferror(stdin)) return faro_fail(error, FARO_INVALID, "standard input: cannot be read");
  return faro_fail(error, FARO_INVALID, "standard input: too large: at most %d bytes are allowed", FILE_MAX);
}

/* ---- answering */

/* Adds a point of the curve, unless no epsilon reaches this delta. */
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
      "An (epsilon, delta) of all mechanisms in the list on the same data, and other points of their privacy "
      "curve, by composing their privacy-loss distributions (Sommer, Meiser and Mohammadi 2019; Koskela, "
      "Jalko and Honkela 2020), with all numerical errors included in delta.");
  return EXIT_DONE;
}

static int compose(account *a) {
  const bool from_stdin = strcmp(a->file, "-") == 0;
  faro_error error = {0};
  faro_pld *total = NULL;
  char *text = NULL;
  size_t length = 0;
  faro_status status = from_stdin ? read_stdin(&text, &length, &error)
                                  : faro_read_file(a->file, FILE_MAX, &text, &length, &error);
  if (status == FARO_OK)
    status = read_list(from_stdin ? "standard input" : a->file, text, length, &total, &error);
  const int result = status == FARO_OK ? tell(a, total) : cli_fail(&error);
  faro_pld_destroy(total);
  free(text);
  return result;
}

const account_mechanism account_compose = {
    .name = "compose",
    .summary = "several mechanisms on the same data, from a file",
    .usage = "FILE (--delta D | --epsilon E)",
    .about = "FILE (- is standard input) is a YAML list; `times` repeats a mechanism, 1 by default:\n"
             "  - {mechanism: gaussian, sigma: 2, sensitivity: 1, times: 100}\n"
             "  - {mechanism: laplace, scale: 3, sensitivity: 1}\n"
             "  - {mechanism: response, local-epsilon: 1, times: 5}\n"
             "  - {mechanism: pure, epsilon: 0.1, delta: 1e-8}\n",
    .example = "mechanisms.yaml --delta 1e-6",
    .file = true,
    .form = {{ACCOUNT_BIT(DELTA), 0, compose}, {ACCOUNT_BIT(EPSILON), 0, compose}}};
