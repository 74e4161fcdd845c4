/* compare: two runs, row by row. Rows with the same label and the same values of all sweeps are
 * compared. If their instances are the same (seed, rounds, environment), by the differences on each
 * instance; else by the two means, with Welch's interval. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/grid.h"
#include "report/json.h"
#include "sim/interval.h"
#include "sim/settings.h"

typedef struct match {
  const faro_view_row *first, *second;
  const char *unpaired;         /* the setting that differs; empty: instances were not kept; NULL: paired */
  bool longer;                  /* one has more rounds, so more regret says nothing */
  size_t common;                /* instances that both have, if paired */
  double difference, low, high; /* second minus first, and its 95 % interval; NaN: not known */
  bool seen;
} match;

struct faro_comparison {
  faro_arena arena;
  const faro_report *report[2];
  size_t count;
  match *match;
};

/* Which rows belong together. */

/* The value of a key in a row: as it was swept, or as it was set. */
static bool value_of(const faro_report *report, const faro_view_row *row, const char *key,
                     char out[static 64]) {
  for (size_t s = 0; s < report->sweeps; s++)
    if (strcmp(report->sweep[s], key) == 0) return snprintf(out, 64, "%s", row->at[s]) >= 0;
  const char *name = strcmp(key, "name") == 0 ? "environment" : key;
  return faro_view_print(json_object_get(row->settings, name), out);
}

static bool belong(const faro_comparison *c, const faro_view_row *a, const faro_view_row *b) {
  if (strcmp(a->label, b->label) != 0) return false;
  for (size_t r = 0; r < 2; r++)
    for (size_t s = 0; s < c->report[r]->sweeps; s++) {
      char one[64];
      char other[64];
      const char *key = c->report[r]->sweep[s];
      if (!value_of(c->report[0], a, key, one) || !value_of(c->report[1], b, key, other)) return false;
      if (strcmp(one, other) != 0) return false;
    }
  return true;
}

static const faro_view_row *find_partner(const faro_comparison *c, size_t side, const faro_view_row *row) {
  const faro_report *other = c->report[1 - side];
  for (size_t i = 0; i < other->count; i++)
    if (side == 0 ? belong(c, row, &other->row[i]) : belong(c, &other->row[i], row)) return &other->row[i];
  return NULL;
}

/* Whether two settings are the same. Older runs have "false" where newer ones have false. */
static bool same_setting(const json_t *a, const json_t *b) {
  char one[64];
  char other[64];
  const bool known = faro_view_print(a, one);
  if (faro_view_print(b, other) != known) return false;
  return !known || strcmp(one, other) == 0;
}

/* The first setting that makes instances different; NULL: they are the same. */
static const char *find_other_instances(const json_t *a, const json_t *b) {
  const char *name = json_string_value(json_object_get(a, "environment"));
  const bool hard = name && strcmp(name, "bits-hard") == 0; /* made for this epsilon and these shufflers */
  for (faro_key k = 0; k < faro_key_count(); k++) {
    const bool made = k == FARO_KEY_HORIZON || k == FARO_KEY_SEED || faro_key_scope(k) == SCOPE_ENV ||
                      (hard && (k == FARO_KEY_EPSILON || k == FARO_KEY_SHUFFLERS));
    const char *key = k == FARO_KEY_ENVIRONMENT ? "environment" : faro_key_name(k);
    if (made && !same_setting(json_object_get(a, key), json_object_get(b, key))) return key;
  }
  return NULL;
}

/* Differences. */

static void compare_paired(match *m) {
  const double n = (double)m->common;
  double mean = 0;
  double square = 0;
  for (size_t i = 0; i < m->common; i++) mean += (m->second->each[i] - m->first->each[i]) / n;
  for (size_t i = 0; i < m->common; i++) square += pow(m->second->each[i] - m->first->each[i] - mean, 2);
  const faro_interval interval = faro_interval_plain(mean, sqrt(square / (n - 1) / n), n - 1);
  m->difference = mean;
  m->low = interval.low;
  m->high = interval.high;
}

/* Welch 1947: variances differ, and so do the numbers of instances. */
static void compare_unpaired(const faro_comparison *c, match *m) {
  const double n[2] = {(double)c->report[0]->instances, (double)c->report[1]->instances};
  const double v[2] = {pow(m->first->regret.error, 2), pow(m->second->regret.error, 2)};
  const double rest = v[0] * v[0] / (n[0] - 1) + v[1] * v[1] / (n[1] - 1);
  const double freedom = n[0] < 2 || n[1] < 2 ? 0 : rest > 0 ? pow(v[0] + v[1], 2) / rest : n[0] + n[1] - 2;
  const double mean = m->second->regret.mean - m->first->regret.mean;
  const faro_interval interval = faro_interval_plain(mean, sqrt(v[0] + v[1]), freedom);
  m->difference = mean;
  m->low = interval.low;
  m->high = interval.high;
}

static match compare(const faro_comparison *c, const faro_view_row *a, const faro_view_row *b) {
  match m = {.first = a, .second = b, .unpaired = find_other_instances(a->settings, b->settings)};
  const size_t n[2] = {c->report[0]->instances, c->report[1]->instances};
  m.common = n[0] < n[1] ? n[0] : n[1];
  if (!m.unpaired && !(a->each && b->each)) m.unpaired = "";
  if (m.unpaired) compare_unpaired(c, &m);
  else compare_paired(&m);
  m.longer = !same_setting(json_object_get(a->settings, "horizon"), json_object_get(b->settings, "horizon"));
  m.seen = !m.longer && (m.low > 0 || m.high < 0);
  return m;
}

faro_status faro_comparison_create(faro_comparison **comparison, const faro_report *first,
                                   const faro_report *second, faro_error *error) {
  if (first->measure != second->measure)
    return faro_fail(error, FARO_INVALID, "a run that measures the %s cannot be compared with one of the %s",
                     first->measure->name, second->measure->name);
  faro_arena arena = {0};
  faro_comparison *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  if (!made) return FARO_MEMORY;
  *made = (faro_comparison){.arena = arena, .report = {first, second}};
  made->match = faro_arena_alloc(&made->arena, first->count, sizeof *made->match, error);
  for (size_t i = 0; made->match && i < first->count; i++) {
    const faro_view_row *partner = find_partner(made, 0, &first->row[i]);
    if (partner) made->match[made->count++] = compare(made, &first->row[i], partner);
  }
  if (made->count > 0) *comparison = made;
  const faro_status status =
      made->count > 0 ? FARO_OK
      : made->match
          ? faro_fail(error, FARO_INVALID, "no algorithm has the same label and sweep values in both runs")
          : FARO_MEMORY;
  if (status != FARO_OK) faro_comparison_destroy(made);
  return status;
}

void faro_comparison_destroy(faro_comparison *comparison) {
  if (!comparison) return;
  faro_arena arena = comparison->arena;
  faro_arena_free(&arena);
}

/* Settings that differ. */

/* Older runs have no `honest`: they counted on everybody. */
static bool differs(const match *m, const char *key) {
  const json_t *a = json_object_get(m->first->settings, key);
  const json_t *b = json_object_get(m->second->settings, key);
  if (!(a && b) && strcmp(key, "honest") == 0) return json_number_value(a ? a : b) != 1;
  return !same_setting(a, b);
}

static bool alike(const match *a, const match *b, const char *key) {
  return same_setting(json_object_get(a->first->settings, key), json_object_get(b->first->settings, key)) &&
         same_setting(json_object_get(a->second->settings, key), json_object_get(b->second->settings, key));
}

/* The keys that differ in some match, each with the first such match. */
static json_t *find_keys(const faro_comparison *c) {
  json_t *keys = json_object();
  for (size_t i = 0; i < c->count; i++) {
    const json_t *const settings[] = {c->match[i].first->settings, c->match[i].second->settings};
    for (size_t side = 0; side < 2; side++) {
      const char *key = NULL;
      json_t *value = NULL;
      json_object_foreach((json_t *)settings[side], key,
                          value) if (differs(&c->match[i], key) && !json_object_get(keys, key))
          json_object_set_new(keys, key, json_integer((json_int_t)i));
    }
  }
  return keys;
}

static void add_change(const match *m, const char *key, faro_text *out) {
  char a[64];
  char b[64];
  faro_text_add(out, "%s -> %s", faro_view_print(json_object_get(m->first->settings, key), a) ? a : "none",
                faro_view_print(json_object_get(m->second->settings, key), b) ? b : "none");
}

/* "epsilon: 1 -> 2", or with labels if it is not the same everywhere. */
static void add_key(const faro_comparison *c, const char *key, size_t first, faro_text *out) {
  enum { SHOWN = 4 };
  bool same = true;
  size_t shown = 0;
  faro_text_add(out, "  %s: ", key);
  for (size_t i = 0; i < c->count; i++) same &= alike(&c->match[i], &c->match[first], key);
  if (same) add_change(&c->match[first], key, out);
  for (size_t i = 0; i < c->count && !same && shown <= SHOWN; i++) {
    if (!differs(&c->match[i], key)) continue;
    if (shown++ == SHOWN) faro_text_add(out, "; and others");
    if (shown > SHOWN) break;
    faro_text_add(out, "%s", shown > 1 ? "; " : "");
    add_change(&c->match[i], key, out);
    faro_text_add(out, " (%s)", c->match[i].first->label);
  }
  faro_text_add(out, "\n");
}

static void add_settings(const faro_comparison *c, faro_text *out) {
  json_t *keys = find_keys(c);
  const char *key = NULL;
  json_t *value = NULL;
  faro_text_add(out, json_object_size(keys) > 0 ? "settings that differ (first -> second):\n"
                                                : "all settings are the same\n");
  json_object_foreach(keys, key, value) add_key(c, key, (size_t)json_integer_value(value), out);
  json_decref(keys);
  if (strcmp(c->report[0]->commit, c->report[1]->commit) != 0)
    faro_text_add(out, "  program: %s -> %s\n", c->report[0]->commit, c->report[1]->commit);
}

/* Rows that only one of the runs has. */
static void add_lonely(const faro_comparison *c, size_t side, faro_text *out) {
  const faro_report *report = c->report[side];
  size_t count = 0;
  for (size_t i = 0; i < report->count; i++) {
    if (find_partner(c, side, &report->row[i])) continue;
    const faro_view_row *row = &report->row[i];
    faro_text_add(out, "%s%s",
                  count++ ? "; "
                  : side  ? "only in the second: "
                          : "only in the first: ",
                  row->label);
    for (size_t s = 0; s < report->sweeps; s++) faro_text_add(out, ", %s %s", report->sweep[s], row->at[s]);
  }
  if (count > 0) faro_text_add(out, "\n");
}

/* How the differences were taken. */
static void add_method(const faro_comparison *c, faro_text *out) {
  size_t paired = 0;
  bool longer = false;
  const char *why = NULL;
  for (size_t i = 0; i < c->count; i++) {
    longer |= c->match[i].longer;
    paired += !c->match[i].unpaired;
    if (c->match[i].unpaired) why = c->match[i].unpaired;
  }
  if (paired > 0)
    faro_text_add(out, "paired: both runs met the same instances (%zu in common)\n", c->match[0].common);
  if (!why) return;
  faro_text_add(out, "%snot paired, because ", paired > 0 ? "some rows are " : "");
  if (*why) faro_text_add(out, "the runs differ in %s", why);
  else faro_text_add(out, "a run did not keep its instances");
  faro_text_add(out, ": intervals by Welch's rule\n");
  if (longer)
    faro_text_add(out,
                  "not comparable: one run has more rounds, and the %s grows with them; give both the "
                  "same horizon\n",
                  c->report[0]->measure->name);
}

/* Tables. */

static const char *verdict(const match *m) {
  if (m->longer) return "not comparable";
  if (!isfinite(m->low)) return "one instance";
  if (m->low == 0 && m->high == 0) return "the same";
  return !m->seen ? "no difference seen" : m->difference < 0 ? "second better" : "second worse";
}

static void fill_head(const faro_comparison *c, faro_grid *g) {
  static const char *const titles[] = {"algorithm", "first", "second", "difference", "95 % interval", ""};
  const faro_report *report = c->report[0];
  for (size_t s = 0; s < report->sweeps; s++) faro_grid_put(g, 0, g->columns++, report->sweep[s]);
  g->label = g->columns;
  g->left[g->label] = g->left[g->label + 5] = true;
  for (size_t i = 0; i < 6; i++) faro_grid_put(g, 0, g->columns++, titles[i]);
}

static void fill_row(const faro_comparison *c, const faro_digits *digits, size_t index, faro_grid *g) {
  const match *m = &c->match[index];
  const size_t r = index + 1;
  const size_t label = g->label;
  char text[2][32];
  for (size_t s = 0; s < label; s++) faro_grid_put(g, r, s, m->first->at[s]);
  faro_grid_put(g, r, label, m->first->label);
  faro_grid_put(g, r, label + 1, faro_digits_text(digits, m->first->regret.mean, text[0]));
  faro_grid_put(g, r, label + 2, faro_digits_text(digits, m->second->regret.mean, text[0]));
  faro_grid_put(g, r, label + 3, faro_digits_text(digits, m->difference, text[0]));
  snprintf(g->cell[r][label + 4].text, FARO_GRID_CELL, "%s to %s", faro_digits_text(digits, m->low, text[0]),
           faro_digits_text(digits, m->high, text[1]));
  faro_grid_put(g, r, label + 5, verdict(m));
}

static bool add_table(const faro_comparison *c, const faro_table_style *style, faro_text *out) {
  faro_grid g = {.rows = c->count + 1, .cell = calloc(c->count + 1, sizeof *g.cell)};
  if (!g.cell) return false;
  double least = INFINITY;
  double most = 0;
  for (size_t i = 0; i < c->count; i++) {
    least = fmin(least, fmin(c->match[i].first->regret.mean, c->match[i].second->regret.mean));
    most = fmax(most, fmax(c->match[i].first->regret.mean, c->match[i].second->regret.mean));
  }
  const faro_digits digits = faro_digits_for(c->report[0], least, most);
  fill_head(c, &g);
  for (size_t i = 0; i < c->count; i++) fill_row(c, &digits, i, &g);
  faro_grid_measure(&g);
  const size_t others = faro_grid_width(&g) - g.width[g.label];
  const bool narrow = style->width > 0 && faro_grid_width(&g) > style->width;
  if (narrow) g.width[g.label] = style->width > others + 10 ? style->width - others : 10;
  faro_grid_print(&g, style, out);
  free(g.cell);
  return true;
}

char *faro_comparison_table(const faro_comparison *c, const char *first, const char *second,
                            faro_table_style style) {
  faro_text out = FARO_TEXT_INIT;
  faro_text notes = FARO_TEXT_INIT;
  const char *const place[] = {first, second};
  for (size_t side = 0; side < 2; side++) {
    const faro_report *report = c->report[side];
    faro_text_add(&out, "%s %s: %s, %zu instance%s, seed %llu\n", side ? "second" : "first ", place[side],
                  report->name, report->instances, report->instances == 1 ? "" : "s",
                  (unsigned long long)report->seed);
  }
  faro_text_add(&out, "%s; difference: second minus first\n\n", c->report[0]->measure->name);
  out.failed |= !add_table(c, &style, &out);
  faro_text_add(&out, "\n");
  add_method(c, &notes);
  add_settings(c, &notes);
  add_lonely(c, 0, &notes);
  add_lonely(c, 1, &notes);
  faro_view_add_limited(c->report[0], "first: ", "\n", faro_text_put, &notes);
  faro_view_add_limited(c->report[1], "second: ", "\n", faro_text_put, &notes);
  faro_grid_print_text(&out, &style, FARO_TINT_PLAIN, notes.data);
  if (out.failed || notes.failed) faro_text_clear(&out);
  faro_text_clear(&notes);
  return out.data;
}

/* JSON. */

static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *make_match(const faro_comparison *c, const match *m) {
  const faro_report *report = c->report[0];
  json_t *at = json_object();
  json_t *settings = json_object();
  for (size_t s = 0; s < report->sweeps; s++)
    json_object_set_new(at, report->sweep[s],
                        isfinite(m->first->place[s]) ? number(m->first->place[s])
                                                     : json_string(m->first->at[s]));
  json_t *keys = find_keys(c);
  const char *key = NULL;
  json_t *value = NULL;
  json_object_foreach(keys, key, value) {
    json_t *one = json_object_get(m->first->settings, key);
    json_t *other = json_object_get(m->second->settings, key);
    if (differs(m, key)) json_object_set_new(settings, key, json_pack("[O?, O?]", one, other));
  }
  json_decref(keys);
  return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:o}", "at", at, "label", m->first->label,
                   "first", number(m->first->regret.mean), "second", number(m->second->regret.mean),
                   "difference", number(m->difference), "low", number(m->low), "high", number(m->high),
                   "seen", m->seen ? 1 : 0, "paired", m->unpaired ? 0 : 1, "settings", settings);
}

char *faro_comparison_json(const faro_comparison *c, const char *first, const char *second) {
  json_t *matches = json_array();
  for (size_t i = 0; i < c->count; i++) json_array_append_new(matches, make_match(c, &c->match[i]));
  json_t *document = json_pack("{s:s, s:s, s:s, s:o}", "first", first, "second", second, "measure",
                               c->report[0]->measure->name, "differences", matches);
  char *text = faro_json_text(document, true);
  json_decref(document);
  return text;
}
