/* table: the summary for a terminal. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/view.h"

/* A table of text cells, padded to the widest of each column; numbers are right-aligned. */
enum { COLUMNS = 17, CELL = 96 };

typedef struct grid {
  size_t rows, columns;
  char (*cell)[COLUMNS][CELL];
  bool left[COLUMNS];
} grid;

static void put(grid *g, size_t row, size_t column, const char *value) {
  snprintf(g->cell[row][column], CELL, "%s", value);
}

/* Width of a text on a terminal: continuation bytes of UTF-8 take no room. */
static size_t width_of(const char *value) {
  size_t width = 0;
  for (; *value; value++) width += ((unsigned char)*value & 0xC0) != 0x80;
  return width;
}

static void print_grid(const grid *g, faro_text *out) {
  size_t width[COLUMNS] = {0};
  for (size_t r = 0; r < g->rows; r++)
    for (size_t c = 0; c < g->columns; c++)
      if (width_of(g->cell[r][c]) > width[c]) width[c] = width_of(g->cell[r][c]);
  for (size_t r = 0; r < g->rows; r++) {
    for (size_t c = 0; c < g->columns; c++) {
      const int pad = (int)(width[c] - width_of(g->cell[r][c]));
      const bool last = c + 1 == g->columns;
      if (g->left[c]) faro_text_add(out, "%s%*s", g->cell[r][c], last ? 0 : pad, "");
      else faro_text_add(out, "%*s%s", pad, "", g->cell[r][c]);
      faro_text_add(out, "%s", last ? "\n" : "  ");
    }
  }
}

static bool is_swept(const faro_report *report, const char *key) {
  for (size_t s = 0; s < report->sweeps; s++)
    if (strcmp(report->sweep[s], key) == 0) return true;
  return false;
}

/* Elimination: users differ in what they send, so the sum is shown too. */
static bool shows_sent(const faro_report *report) {
  for (size_t i = 0; i < report->count; i++)
    if (report->row[i].sent > 0) return true;
  return false;
}

static void fill_head(const faro_report *report, grid *g) {
  const char *const fixed[] = {
      "algorithm", "trust",   report->measure->name, "se",        "median",  "tail",   "batch",
      "updates",   "shifted", "bits/user",           "bits sent", "seconds", "region", "claim"};
  static const bool left[] = {true,  true,  false, false, false, false, false,
                              false, false, false, false, false, true,  true};
  for (size_t s = 0; s < report->sweeps; s++) put(g, 0, g->columns++, report->sweep[s]);
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
    if (is_swept(report, fixed[i])) continue; /* batch */
    if (strcmp(fixed[i], "bits sent") == 0 && !shows_sent(report)) continue;
    g->left[g->columns] = left[i];
    put(g, 0, g->columns++, fixed[i]);
  }
}

static void fill_row(const faro_report *report, grid *g, size_t index) {
  const faro_view_row *row = &report->row[index];
  char text[32];
  size_t column = 0;
  const size_t r = index + 1;
  for (size_t s = 0; s < report->sweeps; s++) put(g, r, column++, row->at[s]);
  put(g, r, column++, row->label);
  put(g, r, column++, row->trust);
  put(g, r, column++, faro_brief(row->regret.mean, text));
  put(g, r, column++, report->instances > 1 ? faro_brief(row->regret.error, text) : "-");
  put(g, r, column++, faro_brief(row->regret.median, text));
  snprintf(text, sizeof text, "%.2g%%", 100 * row->regret.tail);
  put(g, r, column++, text);
  if (!is_swept(report, "batch")) {
    char batch[48];
    snprintf(batch, sizeof batch, "%s%s", row->batch > 0 ? faro_brief(row->batch, text) : "auto",
             row->growth > 1 ? ".." : "");
    put(g, r, column++, batch);
  }
  put(g, r, column++, faro_brief(row->updates, text));
  snprintf(text, sizeof text, "%.3g%%", 100 * row->shifted);
  put(g, r, column++, text);
  put(g, r, column++, faro_brief(row->bits, text));
  if (shows_sent(report)) put(g, r, column++, faro_brief(row->sent, text));
  snprintf(text, sizeof text, "%.2f", row->seconds);
  put(g, r, column++, text);
  put(g, r, column++, row->region ? row->region : "-");
  faro_text claim = FARO_TEXT_INIT;
  char pair[FARO_PAIR_SIZE];
  if (isfinite(row->epsilon)) faro_text_add(&claim, "%s ", faro_pair_above(row->epsilon, row->delta, pair));
  faro_text_add(&claim, "%s", row->standing);
  faro_view_add_terms(row, &claim);
  put(g, r, column, claim.failed ? row->standing : claim.data);
  faro_text_clear(&claim);
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

/* How the measure grows with x, one row per line of the figure. */
static bool add_slopes(const faro_report *report, faro_text *out) {
  if (report->slopes == 0) return true;
  grid g = {.rows = report->slopes + 1, .cell = calloc(report->slopes + 1, sizeof *g.cell)};
  if (!g.cell) return false;
  faro_text_add(out, "\nslope of %s against %s (log-log)\n\n", report->measure->name,
                report->sweep[report->x]);
  for (size_t r = 0; r < g.rows; r++) {
    const faro_view_slope *slope = r > 0 ? &report->slope[r - 1] : NULL;
    char text[32];
    g.columns = 0;
    for (int s = 0; s < (int)report->sweeps; s++)
      if (s != report->x) put(&g, r, g.columns++, slope ? slope->row->at[s] : report->sweep[s]);
    g.left[g.columns] = true;
    put(&g, r, g.columns++, slope ? slope->row->label : "algorithm");
    put(&g, r, g.columns++, slope ? faro_exponent(slope->slope, text) : "slope");
    put(&g, r, g.columns++, slope ? faro_exponent(slope->error, text) : "standard error");
    put(&g, r, g.columns++, slope ? faro_exponent(slope->of_most, text) : "slope, worst instance");
  }
  print_grid(&g, out);
  free(g.cell);
  return true;
}

static void add_plain(faro_text *out, const char *value) { faro_text_add(out, "%s", value); }

static char *finish(faro_text *out) {
  if (out->failed) faro_text_clear(out);
  return out->data;
}

char *faro_report_table(const faro_report *report) {
  faro_text out = FARO_TEXT_INIT;
  grid g = {.rows = report->count + 1, .cell = calloc(report->count + 1, sizeof *g.cell)};
  if (!g.cell) return NULL;
  fill_head(report, &g);
  for (size_t i = 0; i < report->count; i++) fill_row(report, &g, i);
  faro_text_add(&out, "%s\n", report->title);
  faro_view_add_setting(report, &out);
  faro_text_add(&out, "\n\n");
  print_grid(&g, &out);
  free(g.cell);
  out.failed |= !add_slopes(report, &out);
  faro_text_add(&out, "\n");
  faro_view_add_left_out(report, "", "\n", add_plain, &out);
  faro_view_add_refused(report, "", "\n", &out);
  faro_view_add_phases(report, "", "\n", &out);
  faro_view_add_early(report, "", "\n", add_plain, &out);
  explain(report, &out);
  return finish(&out);
}
