/* target: the policy that is evaluated: uniform, always one arm, probabilities in columns of the
 * log, or a linear policy in a file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "cli/evaluate/evaluate.h"

static const char always[] = "always ";

void target_read(target *t, const char *text) {
  const size_t length = strlen(text);
  const bool json = length > 5 && strcasecmp(text + length - 5, ".json") == 0;
  *t = (target){.text = text};
  if (strcmp(text, "uniform") == 0) t->kind = TARGET_UNIFORM;
  else if (strncmp(text, always, sizeof always - 1) == 0) t->kind = TARGET_ALWAYS;
  else if (json) t->kind = TARGET_FILE;
  else t->kind = strchr(text, ',') ? TARGET_COLUMNS : TARGET_COLUMN;
  if (t->kind == TARGET_COLUMN || t->kind == TARGET_COLUMNS) t->columns = text;
}

void target_clear(target *t) {
  free(t->column);
  free(t->probability);
  linear_clear(&t->linear);
}

const char *target_arms(const faro_rows_facts *facts, char out[static TARGET_ARMS]) {
  static const char more[] = ", ...";
  size_t used = 0;
  *out = '\0';
  for (size_t a = 0; a < facts->arms; a++) {
    char shown[FARO_SHORT_SIZE];
    const char *name = faro_shorten(facts->arm[a], strlen(facts->arm[a]), shown);
    const bool fits = used + strlen(name) + 2 + sizeof more <= TARGET_ARMS;
    used += (size_t)snprintf(out + used, TARGET_ARMS - used, "%s%s",
                             !fits ? more
                             : a   ? ", "
                                   : "",
                             fits ? name : "");
    if (!fits) break;
  }
  return out;
}

static faro_status find_arm(target *t, const faro_rows_facts *facts, faro_error *error) {
  char list[TARGET_ARMS];
  const char *wanted = t->text + sizeof always - 1;
  while (t->arm < facts->arms && strcmp(facts->arm[t->arm], wanted) != 0) t->arm++;
  if (t->arm < facts->arms) return FARO_OK;
  char shown[FARO_SHORT_SIZE];
  return faro_fail(error, FARO_INVALID,
                   "--policy always must name an arm of the log, or of --arms (got \"%s\"); its arms are: %s",
                   faro_shorten(wanted, strlen(wanted), shown), target_arms(facts, list));
}

/* The numbers of a row that the names of --policy stand for, in their order. */
static faro_status find_columns(target *t, const faro_rows_facts *facts, faro_error *error) {
  const size_t wanted = t->kind == TARGET_COLUMN ? 1 : facts->arms;
  size_t count = 0;
  for (const char *at = t->columns; at;) {
    const char *comma = strchr(at, ',');
    size_t length = comma ? (size_t)(comma - at) : strlen(at);
    while (length > 0 && *at == ' ') at++, length--;
    while (length > 0 && at[length - 1] == ' ') length--;
    size_t i = 0;
    while (i < facts->numbers &&
           (strlen(facts->name[i]) != length || memcmp(facts->name[i], at, length) != 0))
      i++;
    char shown[FARO_SHORT_SIZE];
    if (i == facts->numbers)
      return faro_fail(error, FARO_INVALID,
                       "--policy must be uniform, \"always ARM\", FILE.json, or columns of the log (got %s)",
                       faro_shorten(at, length, shown));
    if (count < wanted) t->column[count] = i;
    count++;
    at = comma ? comma + 1 : NULL;
  }
  if (count == wanted) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "--policy must name one column, or one for each of the %zu arms in their order (got %zu)",
                   facts->arms, count);
}

faro_status target_open(target *t, const faro_rows_facts *facts, faro_error *error) {
  t->arms = facts->arms;
  t->name = facts->name;
  t->column = calloc(facts->arms, sizeof *t->column);
  t->probability = calloc(facts->arms, sizeof *t->probability);
  if (!t->column || !t->probability) return faro_fail(error, FARO_MEMORY, "out of memory");
  if (t->kind == TARGET_ALWAYS) return find_arm(t, facts, error);
  return t->columns ? find_columns(t, facts, error) : FARO_OK;
}

faro_status target_load(target *t, const features *f, faro_error *error) {
  return t->kind == TARGET_FILE ? linear_load(&t->linear, t->text, t->arms, f, error) : FARO_OK;
}

bool target_ordered(const target *t) { return t->kind == TARGET_COLUMNS || t->kind == TARGET_FILE; }

bool target_uses(const target *t, size_t number) {
  const size_t count = t->kind == TARGET_COLUMN ? 1 : t->kind == TARGET_COLUMNS ? t->arms : 0;
  for (size_t i = 0; i < count; i++)
    if (t->column[i] == number) return true;
  return false;
}

/* The best arm, the first of equals; with probability `explore` any arm. */
static void play_linear(target *t, const double *number) {
  double *p = t->probability;
  size_t best = 0;
  linear_scores(&t->linear, number, p);
  for (size_t a = 1; a < t->arms; a++)
    if (p[a] > p[best]) best = a;
  for (size_t a = 0; a < t->arms; a++)
    p[a] = t->linear.explore / (double)t->arms + (a == best ? 1 - t->linear.explore : 0);
}

static faro_status read_columns(target *t, const double *number, size_t count, faro_error *error) {
  for (size_t i = 0; i < count; i++) {
    const double p = number[t->column[i]];
    if (!(p >= 0 && p <= 1))
      return faro_fail(error, FARO_INVALID, "column %s must be a probability from 0 to 1 (got %g)",
                       t->name[t->column[i]], p);
    t->probability[i] = p;
  }
  return FARO_OK;
}

faro_status target_find(target *t, const faro_row *from, faro_logged *row, faro_error *error) {
  faro_status status = FARO_OK;
  switch (t->kind) {
  case TARGET_UNIFORM:
    for (size_t a = 0; a < t->arms; a++) t->probability[a] = 1 / (double)t->arms;
    break;
  case TARGET_ALWAYS:
    for (size_t a = 0; a < t->arms; a++) t->probability[a] = a == t->arm;
    break;
  case TARGET_COLUMN: status = read_columns(t, from->number, 1, error); break;
  case TARGET_COLUMNS: status = read_columns(t, from->number, t->arms, error); break;
  case TARGET_FILE: play_linear(t, from->number); break;
  }
  const bool all = t->kind != TARGET_COLUMN;
  row->target = t->probability[all ? from->arm : 0];
  row->targets = all ? t->probability : NULL;
  return status;
}
