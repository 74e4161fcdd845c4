/* table: the summary for a terminal. What matters comes first: the algorithm, its regret, what that
 * is worth, the batch and the claim; then sentences about what the numbers do not say. A narrow
 * terminal gets fewer columns and labels in several lines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/grid.h"

enum { LABEL_MIN = 6 };

static double regret_of(const faro_view_row *row) { return row->regret.mean; }
static double per_user_of(const faro_view_row *row) { return row->per_user; }
static double bytes_of(const faro_view_row *row) { return row->bytes; }
static double refused_of(const faro_view_row *row) { return row->refused; }
static double sends_of(const faro_view_row *row) { return row->sends; }
static double learnt_of(const faro_view_row *row) { return row->learnt; }
static double reward_of(const faro_view_row *row) { return row->reward; }
static double behind_of(const faro_view_row *row) { return row->behind; }

/* Columns. */

typedef struct sheet {
  const faro_report *report;
  faro_digits regret, per_user, behind;
  bool brief; /* claims without their terms */
} sheet;

static bool is_swept(const faro_report *report, const char *key) {
  for (size_t s = 0; s < report->sweeps; s++)
    if (strcmp(report->sweep[s], key) == 0) return true;
  return false;
}

static bool any(const faro_report *report, double (*value)(const faro_view_row *)) {
  for (size_t i = 0; i < report->count; i++)
    if (value(&report->row[i]) > 0) return true;
  return false;
}

static bool any_known(const faro_report *report, double (*value)(const faro_view_row *)) {
  for (size_t i = 0; i < report->count; i++)
    if (isfinite(value(&report->row[i]))) return true;
  return false;
}

static bool always(const faro_report *report) { return report->count > 0; }
static bool has_interval(const faro_report *report) { return report->instances > 2; }
static bool has_yardstick(const faro_report *report) { return any_known(report, learnt_of); }
static bool has_users(const faro_report *report) { return any_known(report, per_user_of); }
static bool has_reward(const faro_report *report) { return any_known(report, reward_of); }
static bool has_behind(const faro_report *report) { return any_known(report, behind_of); }
static bool has_batch(const faro_report *report) { return !is_swept(report, "batch"); }
static bool has_sends(const faro_report *report) { return any_known(report, sends_of); }
static bool has_refused(const faro_report *report) { return any(report, refused_of); }
/* Elimination: users differ in what they send, so the sum is shown too. */
static bool has_sum(const faro_report *report) { return any(report, bytes_of); }

static void put_regret(const sheet *s, const faro_view_row *row, faro_grid_cell *to) {
  char text[32];
  snprintf(to->text, FARO_GRID_CELL, "%s", faro_digits_text(&s->regret, row->regret.mean, text));
}

static void put_interval(const sheet *s, const faro_view_row *row, faro_grid_cell *to) {
  char low[32];
  char high[32];
  snprintf(to->text, FARO_GRID_CELL, "%s to %s", faro_digits_text(&s->regret, row->low, low),
           faro_digits_text(&s->regret, row->high, high));
}

static void put_per_user(const sheet *s, const faro_view_row *row, faro_grid_cell *to) {
  char text[32];
  snprintf(to->text, FARO_GRID_CELL, "%s", faro_digits_text(&s->per_user, row->per_user, text));
}

static void put_reward(const sheet *s, const faro_view_row *row, faro_grid_cell *to) {
  (void)s;
  snprintf(to->text, FARO_GRID_CELL, "%.3f", row->reward);
}

static void put_behind(const sheet *s, const faro_view_row *row, faro_grid_cell *to) {
  char text[32];
  snprintf(to->text, FARO_GRID_CELL, "%s", faro_digits_text(&s->behind, row->behind, text));
}

static void put_learnt(const sheet *s, const faro_view_row *row, faro_grid_cell *to) {
  char text[32];
  (void)s;
  snprintf(to->text, FARO_GRID_CELL, "%s%s", faro_percent(row->learnt, text),
           isfinite(row->learnt) ? " %" : "");
  to->tint = faro_view_learnt_nothing(row) ? FARO_TINT_YELLOW : FARO_TINT_PLAIN;
}

/* "auto" if it changes during the run; ".." if later ones are larger. */
static void put_batch(const sheet *s, const faro_view_row *row, faro_grid_cell *to) {
  (void)s;
  if (row->batch > 0) snprintf(to->text, FARO_GRID_CELL, "%.0f%s", row->batch, row->growth > 1 ? ".." : "");
  else snprintf(to->text, FARO_GRID_CELL, "auto");
}

static void put_trust(const sheet *s, const faro_view_row *row, faro_grid_cell *to) {
  (void)s;
  snprintf(to->text, FARO_GRID_CELL, "%s", row->trust);
}

static void put_refused(const sheet *s, const faro_view_row *row, faro_grid_cell *to) {
  (void)s;
  snprintf(to->text, FARO_GRID_CELL, "%.0f %%", 100 * row->refused);
}

static void put_sends(const sheet *s, const faro_view_row *row, faro_grid_cell *to) {
  char text[FARO_NUMBER_SIZE];
  (void)s;
  snprintf(to->text, FARO_GRID_CELL, "%s", faro_bytes(row->sends, text));
}

static void put_sum(const sheet *s, const faro_view_row *row, faro_grid_cell *to) {
  char text[FARO_NUMBER_SIZE];
  (void)s;
  snprintf(to->text, FARO_GRID_CELL, "%s", faro_bytes(row->bytes, text));
}

/* What a claim assumes is long, so a note says it. */
static void put_claim(const sheet *s, const faro_view_row *row, faro_grid_cell *to) {
  faro_text claim = FARO_TEXT_INIT;
  char pair[FARO_PAIR_SIZE];
  if (isfinite(row->epsilon)) faro_text_add(&claim, "%s ", faro_pair_above(row->epsilon, row->delta, pair));
  faro_text_add(&claim, "%s", row->standing);
  faro_view_row short_row = *row;
  short_row.assumes = NULL;
  if (!s->brief) faro_view_add_terms(&short_row, faro_text_put, &claim);
  else if (row->rewards_only) faro_text_add(&claim, ", rewards only");
  snprintf(to->text, FARO_GRID_CELL, "%s", claim.failed ? row->standing : claim.data);
  faro_text_clear(&claim);
  to->tint = strcmp(row->standing, "not proven") == 0 ? FARO_TINT_RED : FARO_TINT_PLAIN;
}

/* The columns after the sweeps and the label, in their order. */
typedef struct column {
  const char *title; /* NULL: the measure */
  bool (*shown)(const faro_report *);
  void (*put)(const sheet *, const faro_view_row *, faro_grid_cell *);
  int lesser; /* on a narrow terminal the greatest go first; 0: stays */
  bool left;
} column;

static const column columns[] = {
    {NULL, always, put_regret, 0, false},
    {"95 % interval", has_interval, put_interval, 1, false},
    {"per user", has_users, put_per_user, 3, false},
    {"learnt", has_yardstick, put_learnt, 0, false},
    {"mean reward", has_reward, put_reward, 4, false},
    {"linear regret", has_behind, put_behind, 5, false},
    {"batch", has_batch, put_batch, 2, false},
    {"refused", has_refused, put_refused, 4, false},
    {"sends", has_sends, put_sends, 6, false},
    {"in total", has_sum, put_sum, 7, false},
    {"trust", always, put_trust, 5, true},
    {"claim", always, put_claim, 0, true},
};
enum { KINDS = sizeof columns / sizeof *columns, LESSER_MAX = 7 };

/* Fills the grid with the columns whose rank is at most `most`. */
static void fill(const sheet *s, int most, faro_grid *g) {
  const faro_report *report = s->report;
  memset(g->cell, 0, g->rows * sizeof *g->cell);
  g->columns = report->sweeps + 1;
  for (size_t c = 0; c < report->sweeps; c++) faro_grid_put(g, 0, c, report->sweep[c]);
  g->label = report->sweeps;
  g->left[g->label] = true;
  faro_grid_put(g, 0, g->label, "algorithm");
  for (size_t i = 0; i < report->count; i++) {
    for (size_t c = 0; c < report->sweeps; c++) faro_grid_put(g, i + 1, c, report->row[i].at[c]);
    faro_grid_put(g, i + 1, g->label, report->row[i].label);
  }
  for (size_t k = 0; k < KINDS; k++) {
    if (columns[k].lesser > most || !columns[k].shown(report)) continue;
    const size_t c = g->columns++;
    g->left[c] = columns[k].left;
    faro_grid_put(g, 0, c, columns[k].title ? columns[k].title : report->measure->name);
    for (size_t i = 0; i < report->count; i++) columns[k].put(s, &report->row[i], &g->cell[i + 1][c]);
  }
  faro_grid_measure(g);
}

/* Leaves out what the terminal has no room for: first what claims say besides epsilon and delta,
 * then lesser columns, then the rest of a label's line. */
static void fit(sheet *s, const faro_table_style *style, faro_grid *g) {
  fill(s, LESSER_MAX, g);
  if (style->width == 0 || faro_grid_width(g) <= style->width) return;
  s->brief = true;
  for (int most = LESSER_MAX; most >= 0; most--) {
    fill(s, most, g);
    const size_t others = faro_grid_width(g) - g->width[g->label];
    const size_t room = style->width > others ? style->width - others : 0;
    if (faro_grid_width(g) <= style->width) return;
    if (most > 3 || (room < 4 * (size_t)LABEL_MIN && most > 0)) continue;
    g->width[g->label] = room > LABEL_MIN ? room : LABEL_MIN;
    return;
  }
}

/* Whether an earlier row gives the same reason for the same algorithm. */
static bool said_before(const faro_report *report, size_t index, bool same_label) {
  for (size_t j = 0; j < index; j++)
    if (strcmp(report->row[j].by, report->row[index].by) == 0 &&
        (!same_label || strcmp(report->row[j].label, report->row[index].label) == 0))
      return true;
  return false;
}

/* Explains why claims are not proven: each reason once, with the algorithms it applies to. */
static void explain(const faro_report *report, faro_text *out) {
  for (size_t i = 0; i < report->count; i++) {
    if (strcmp(report->row[i].standing, "not proven") != 0 || said_before(report, i, false)) continue;
    faro_text_add(out, "not proven: %s", report->row[i].label);
    for (size_t j = i + 1; j < report->count; j++)
      if (strcmp(report->row[j].by, report->row[i].by) == 0 && !said_before(report, j, true))
        faro_text_add(out, ", %s", report->row[j].label);
    faro_text_add(out, ": %s\n", report->row[i].by);
  }
}

/* Learners of linear rewards where rewards are not linear. */
static void add_misspecified(const faro_report *report, faro_text *out) {
  for (size_t i = 0; i < report->count; i++) {
    const faro_view_row *row = &report->row[i];
    bool said = !row->region || strcmp(row->region, "misspecified") != 0;
    for (size_t j = 0; j < i && !said; j++) said = strcmp(report->row[j].label, row->label) == 0;
    if (!said)
      faro_text_add(out, "misspecified: %s treats rewards as linear, which they are not\n", row->label);
  }
}

/* How the measure grows with x, one row per line of the figure that a power law fits. */
static bool add_slopes(const faro_report *report, const faro_table_style *style, faro_text *out) {
  faro_grid g = {.rows = 1, .cell = calloc(report->slopes + 1, sizeof *g.cell)};
  if (!g.cell) return false;
  for (size_t i = 0; i <= report->slopes; i++) {
    const faro_view_slope *slope = i > 0 ? &report->slope[i - 1] : NULL;
    const size_t r = i > 0 ? g.rows : 0;
    char text[32];
    size_t c = 0;
    if (slope && !slope->straight) continue;
    for (int s = 0; s < (int)report->sweeps; s++)
      if (s != report->x) faro_grid_put(&g, r, c++, slope ? slope->row->at[s] : report->sweep[s]);
    g.left[g.label = c] = true;
    faro_grid_put(&g, r, c++, slope ? slope->row->label : "algorithm");
    faro_grid_put(&g, r, c++, slope ? faro_exponent(slope->slope, text) : "slope");
    faro_grid_put(&g, r, c++, slope ? faro_exponent(slope->error, text) : "standard error");
    faro_grid_put(&g, r, c++, slope ? faro_exponent(slope->of_most, text) : "slope, worst instance");
    g.columns = c;
    g.rows += slope != NULL;
  }
  faro_grid_measure(&g);
  if (g.rows > 1) {
    faro_text_add(out, "\nslope of %s against %s (log-log)\n\n", report->measure->name,
                  report->sweep[report->x]);
    faro_grid_print(&g, style, out);
  }
  free(g.cell);
  return true;
}

/* Sentences under the table. */
static void add_notes(const sheet *s, const faro_table_style *style, faro_text *out) {
  const faro_report *report = s->report;
  faro_text learnt = FARO_TEXT_INIT;
  faro_text plain = FARO_TEXT_INIT;
  faro_text unproven = FARO_TEXT_INIT;
  faro_view_add_learnt(report, "", "\n", faro_text_put, &learnt);
  faro_view_add_no_better(report, "", "\n", faro_text_put, &learnt);
  faro_view_add_yardstick(report, "", "\n", &plain);
  faro_view_add_limited(report, "", "\n", faro_text_put, &plain);
  faro_view_add_data(report, "", "\n", faro_text_put, &plain);
  faro_view_add_comparisons(report, "", "\n", faro_text_put, &plain);
  faro_view_add_schedules(report, "", "\n", faro_text_put, &plain);
  faro_view_add_idle_shufflers(report, "", "\n", faro_text_put, &plain);
  faro_view_add_bends(report, "", "\n", faro_text_put, &plain);
  faro_view_add_left_out(report, "", "\n", faro_text_put, &plain);
  faro_view_add_refused(report, "", "\n", &plain);
  faro_view_add_phases(report, "", "\n", &plain);
  faro_view_add_early(report, "", "\n", faro_text_put, &plain);
  add_misspecified(report, &plain);
  explain(report, &unproven);
  faro_grid_print_text(out, style, FARO_TINT_YELLOW, learnt.data);
  faro_grid_print_text(out, style, FARO_TINT_PLAIN, plain.data);
  faro_grid_print_text(out, style, FARO_TINT_RED, unproven.data);
  out->failed |= learnt.failed || plain.failed || unproven.failed;
  faro_text_clear(&learnt);
  faro_text_clear(&plain);
  faro_text_clear(&unproven);
}

static void add_head(const faro_report *report, const faro_table_style *style, faro_text *out) {
  faro_text head = FARO_TEXT_INIT;
  faro_text_add(&head, "%s\n", report->title);
  faro_view_add_setting(report, &head);
  faro_grid_print_text(out, style, FARO_TINT_PLAIN, head.data);
  out->failed |= head.failed;
  faro_text_clear(&head);
}

char *faro_report_table(const faro_report *report, faro_table_style style) {
  faro_text out = FARO_TEXT_INIT;
  faro_grid g = {.rows = report->count + 1, .cell = calloc(report->count + 1, sizeof *g.cell)};
  sheet s = {.report = report,
             .regret = faro_digits_of(report, regret_of),
             .per_user = faro_digits_of(report, per_user_of),
             .behind = faro_digits_of(report, behind_of)};
  if (!g.cell) return NULL;
  fit(&s, &style, &g);
  add_head(report, &style, &out);
  faro_text_add(&out, "\n");
  faro_grid_print(&g, &style, &out);
  free(g.cell);
  out.failed |= !add_slopes(report, &style, &out);
  faro_text_add(&out, "\n");
  add_notes(&s, &style, &out);
  if (out.failed) faro_text_clear(&out);
  return out.data;
}
