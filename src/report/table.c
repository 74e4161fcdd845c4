/* table: the summary for a terminal. What matters comes first: the algorithm, its regret, what that
 * is worth, the batch and the claim; then sentences about what the numbers do not say. A narrow
 * terminal gets fewer columns and labels in several lines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/view.h"

enum { COLUMNS = FARO_SWEEPS_MAX + 11, CELL = 256, LABEL_MIN = 6 };

typedef enum tint { PLAIN, RED, YELLOW } tint;

typedef struct cell {
  char text[CELL];
  tint tint;
} cell;

/* A table of text cells, padded to the widest of each column. */
typedef struct grid {
  size_t rows, columns;
  cell (*cell)[COLUMNS];
  bool left[COLUMNS]; /* else right-aligned */
  size_t width[COLUMNS];
  size_t label; /* the column whose texts may wrap */
} grid;

static void put(grid *g, size_t row, size_t column, const char *value) {
  snprintf(g->cell[row][column].text, CELL, "%s", value);
}

static bool is_start(char byte) { return ((unsigned char)byte & 0xC0) != 0x80; }

/* Width of a text on a terminal: continuation bytes of UTF-8 take no room. */
static size_t width_of(const char *value) {
  size_t width = 0;
  for (; *value; value++) width += is_start(*value);
  return width;
}

/* The bytes of the next line of a text: as many words as fit into `room` columns, at least a
 * character. */
static size_t take_line(const char *text, size_t room) {
  size_t used = 0;
  size_t end = 0; /* after the last word that fits */
  size_t i = 0;
  for (; text[i]; i++) {
    if (text[i] == ' ') end = i;
    if (i > 0 && text[i - 1] == '/') end = i;
    if (is_start(text[i]) && used++ >= room) return end > 0 ? end : i;
  }
  return i;
}

/* Printing. */

static void tinted(faro_text *out, const faro_table_style *style, tint hue, const char *text, int length) {
  static const char *const codes[] = {"", "\033[31m", "\033[33m"};
  const bool colour = style->colour && hue != PLAIN;
  faro_text_add(out, "%s%.*s%s", colour ? codes[hue] : "", length, text, colour ? "\033[0m" : "");
}

/* Text of one or more lines, wrapped to the terminal; later lines of each are indented. */
static void print_text(faro_text *out, const faro_table_style *style, tint hue, const char *text) {
  while (text && *text) {
    const size_t whole = strcspn(text, "\n");
    char line[4 * CELL];
    const char *indent = "";
    snprintf(line, sizeof line, "%.*s", (int)whole, text);
    for (const char *at = line; *at || at == line;) {
      const size_t room = style->width > 2 * CELL || style->width == 0 ? sizeof line : style->width;
      const size_t length = take_line(at, room - strlen(indent));
      faro_text_add(out, "%s", indent);
      tinted(out, style, hue, at, (int)length);
      faro_text_add(out, "\n");
      at += length + strspn(at + length, " ");
      indent = "  ";
      if (!*at) break;
    }
    text += whole + (text[whole] == '\n');
  }
}

static void measure(grid *g) {
  for (size_t c = 0; c < g->columns; c++) {
    g->width[c] = 0;
    for (size_t r = 0; r < g->rows; r++) {
      const size_t width = width_of(g->cell[r][c].text);
      if (width > g->width[c]) g->width[c] = width;
    }
  }
}

static size_t total_width(const grid *g) {
  size_t total = 2 * (g->columns - 1);
  for (size_t c = 0; c < g->columns; c++) total += g->width[c];
  return total;
}

/* One line of a row: the first shows all cells, later ones the rest of the label. */
static void print_line(const grid *g, const faro_table_style *style, const cell *row, const char *label,
                       size_t length, bool first, faro_text *out) {
  for (size_t c = 0; c < g->columns; c++) {
    char text[CELL];
    const bool shown = first || c == g->label;
    snprintf(text, sizeof text, "%.*s", c == g->label ? (int)length : CELL,
             c == g->label ? label : row[c].text);
    if (!shown) *text = '\0';
    const int pad = (int)(g->width[c] - width_of(text));
    const bool last = c + 1 == g->columns;
    if (!g->left[c]) faro_text_add(out, "%*s", pad, "");
    tinted(out, style, shown ? row[c].tint : PLAIN, text, CELL);
    if (g->left[c] && !last) faro_text_add(out, "%*s", pad, "");
    if (!last) faro_text_add(out, "  ");
  }
}

static void print_grid(const grid *g, const faro_table_style *style, faro_text *out) {
  for (size_t r = 0; r < g->rows; r++) {
    const char *label = g->cell[r][g->label].text;
    for (bool first = true; first || *label; first = false) {
      const size_t length = take_line(label, g->width[g->label]);
      print_line(g, style, g->cell[r], label, length, first, out);
      while (!out->failed && out->length > 0 && out->data[out->length - 1] == ' ') out->length--;
      faro_text_add(out, "\n");
      label += length + strspn(label + length, " ");
    }
  }
}

/* Numbers. In one column all have the same form. */

/* As many decimals as the least positive number needs for two digits. */
typedef struct form {
  int decimals;
  double unit; /* numbers are divided by it */
  const char *suffix;
} form;

static form form_of(const faro_report *report, double (*value)(const faro_view_row *)) {
  double least = INFINITY;
  double most = 0;
  for (size_t i = 0; i < report->count; i++) {
    const double v = value(&report->row[i]);
    if (v > 0) least = fmin(least, v);
    if (v > 0) most = fmax(most, v);
  }
  if (most >= 1e7) return (form){.decimals = 3, .unit = 1e6, .suffix = "M"};
  const int wanted = isfinite(least) ? 1 - (int)floor(log10(least)) : 0;
  const int room = most >= 1000 ? 1 : most >= 10 ? 2 : 4;
  return (form){.decimals = wanted < 0 ? 0 : wanted < room ? wanted : room, .unit = 1, .suffix = ""};
}

static const char *formed(const form *f, double value, char out[static 32]) {
  if (isfinite(value)) snprintf(out, 32, "%.*f%s", f->decimals, value / f->unit, f->suffix);
  else snprintf(out, 32, "-");
  return out;
}

/* Three digits and a unit: 50, 1.28k, 3.07M. */
static const char *with_unit(double value, char out[static 32]) {
  static const char *const unit[] = {"", "k", "M", "G", "T"};
  size_t u = 0;
  for (; value >= 999.5 && u + 1 < sizeof unit / sizeof *unit; u++) value /= 1000;
  if (!isfinite(value)) snprintf(out, 32, "-");
  else if (value == floor(value)) snprintf(out, 32, "%.0f%s", value, unit[u]);
  else snprintf(out, 32, "%.*f%s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit[u]);
  return out;
}

static double regret_of(const faro_view_row *row) { return row->regret.mean; }
static double per_user_of(const faro_view_row *row) { return row->per_user; }
static double sent_of(const faro_view_row *row) { return row->sent; }
static double refused_of(const faro_view_row *row) { return row->refused; }
static double learnt_of(const faro_view_row *row) { return row->learnt; }

/* Columns. */

typedef struct sheet {
  const faro_report *report;
  form regret, per_user;
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
static bool has_interval(const faro_report *report) { return report->instances > 1; }
static bool has_yardstick(const faro_report *report) { return any_known(report, learnt_of); }
static bool has_users(const faro_report *report) { return any_known(report, per_user_of); }
static bool has_batch(const faro_report *report) { return !is_swept(report, "batch"); }
static bool has_refused(const faro_report *report) { return any(report, refused_of); }
/* Elimination: users differ in what they send, so the sum is shown too. */
static bool has_sent(const faro_report *report) { return any(report, sent_of); }

static void put_regret(const sheet *s, const faro_view_row *row, cell *to) {
  char text[32];
  snprintf(to->text, CELL, "%s", formed(&s->regret, row->regret.mean, text));
}

static void put_interval(const sheet *s, const faro_view_row *row, cell *to) {
  char low[32];
  char high[32];
  snprintf(to->text, CELL, "%s to %s", formed(&s->regret, row->low, low),
           formed(&s->regret, row->high, high));
}

static void put_per_user(const sheet *s, const faro_view_row *row, cell *to) {
  char text[32];
  snprintf(to->text, CELL, "%s", formed(&s->per_user, row->per_user, text));
}

static void put_learnt(const sheet *s, const faro_view_row *row, cell *to) {
  (void)s;
  if (isfinite(row->learnt)) snprintf(to->text, CELL, "%.0f %%", 100 * row->learnt + 0.0);
  else snprintf(to->text, CELL, "-");
  if (strcmp(to->text, "-0 %") == 0) snprintf(to->text, CELL, "0 %%");
  to->tint = faro_view_learnt_nothing(row) ? YELLOW : PLAIN;
}

/* "auto" if it changes during the run; ".." if later ones are larger. */
static void put_batch(const sheet *s, const faro_view_row *row, cell *to) {
  (void)s;
  if (row->batch > 0) snprintf(to->text, CELL, "%.0f%s", row->batch, row->growth > 1 ? ".." : "");
  else snprintf(to->text, CELL, "auto");
}

static void put_trust(const sheet *s, const faro_view_row *row, cell *to) {
  (void)s;
  snprintf(to->text, CELL, "%s", row->trust);
}

static void put_refused(const sheet *s, const faro_view_row *row, cell *to) {
  (void)s;
  snprintf(to->text, CELL, "%.0f %%", 100 * row->refused);
}

static void put_bits(const sheet *s, const faro_view_row *row, cell *to) {
  char text[32];
  (void)s;
  snprintf(to->text, CELL, "%s", with_unit(row->bits, text));
}

static void put_sent(const sheet *s, const faro_view_row *row, cell *to) {
  char text[32];
  (void)s;
  snprintf(to->text, CELL, "%s", with_unit(row->sent, text));
}

static void put_claim(const sheet *s, const faro_view_row *row, cell *to) {
  faro_text claim = FARO_TEXT_INIT;
  char pair[FARO_PAIR_SIZE];
  if (isfinite(row->epsilon)) faro_text_add(&claim, "%s ", faro_pair_above(row->epsilon, row->delta, pair));
  faro_text_add(&claim, "%s", row->standing);
  if (!s->brief) faro_view_add_terms(row, &claim);
  snprintf(to->text, CELL, "%s", claim.failed ? row->standing : claim.data);
  faro_text_clear(&claim);
  to->tint = strcmp(row->standing, "not proven") == 0 ? RED : PLAIN;
}

/* The columns after the sweeps and the label, in their order. */
typedef struct column {
  const char *title; /* NULL: the measure */
  bool (*shown)(const faro_report *);
  void (*put)(const sheet *, const faro_view_row *, cell *);
  int lesser; /* on a narrow terminal the greatest go first; 0: stays */
  bool left;
} column;

static const column columns[] = {
    {NULL, always, put_regret, 0, false},
    {"95 % interval", has_interval, put_interval, 1, false},
    {"per user", has_users, put_per_user, 3, false},
    {"learnt", has_yardstick, put_learnt, 0, false},
    {"batch", has_batch, put_batch, 2, false},
    {"refused", has_refused, put_refused, 4, false},
    {"bits/user", always, put_bits, 6, false},
    {"bits sent", has_sent, put_sent, 7, false},
    {"trust", always, put_trust, 5, true},
    {"claim", always, put_claim, 0, true},
};
enum { KINDS = sizeof columns / sizeof *columns, LESSER_MAX = 7 };

/* Fills the grid with the columns whose rank is at most `most`. */
static void fill(const sheet *s, int most, grid *g) {
  const faro_report *report = s->report;
  memset(g->cell, 0, g->rows * sizeof *g->cell);
  g->columns = report->sweeps + 1;
  for (size_t c = 0; c < report->sweeps; c++) put(g, 0, c, report->sweep[c]);
  g->label = report->sweeps;
  g->left[g->label] = true;
  put(g, 0, g->label, "algorithm");
  for (size_t i = 0; i < report->count; i++) {
    for (size_t c = 0; c < report->sweeps; c++) put(g, i + 1, c, report->row[i].at[c]);
    put(g, i + 1, g->label, report->row[i].label);
  }
  for (size_t k = 0; k < KINDS; k++) {
    if (columns[k].lesser > most || !columns[k].shown(report)) continue;
    const size_t c = g->columns++;
    g->left[c] = columns[k].left;
    put(g, 0, c, columns[k].title ? columns[k].title : report->measure->name);
    for (size_t i = 0; i < report->count; i++) columns[k].put(s, &report->row[i], &g->cell[i + 1][c]);
  }
  measure(g);
}

/* Leaves out what the terminal has no room for: first what claims say besides epsilon and delta,
 * then lesser columns, then the rest of a label's line. */
static void fit(sheet *s, const faro_table_style *style, grid *g) {
  fill(s, LESSER_MAX, g);
  if (style->width == 0 || total_width(g) <= style->width) return;
  s->brief = true;
  for (int most = LESSER_MAX; most >= 0; most--) {
    fill(s, most, g);
    const size_t others = total_width(g) - g->width[g->label];
    const size_t room = style->width > others ? style->width - others : 0;
    if (total_width(g) <= style->width) return;
    if (most > 3 || (room < 4 * LABEL_MIN && most > 0)) continue;
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

static void add_plain(faro_text *out, const char *value) { faro_text_add(out, "%s", value); }

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
  grid g = {.rows = 1, .cell = calloc(report->slopes + 1, sizeof *g.cell)};
  if (!g.cell) return false;
  for (size_t i = 0; i <= report->slopes; i++) {
    const faro_view_slope *slope = i > 0 ? &report->slope[i - 1] : NULL;
    const size_t r = i > 0 ? g.rows : 0;
    char text[32];
    size_t c = 0;
    if (slope && !slope->straight) continue;
    for (int s = 0; s < (int)report->sweeps; s++)
      if (s != report->x) put(&g, r, c++, slope ? slope->row->at[s] : report->sweep[s]);
    g.left[g.label = c] = true;
    put(&g, r, c++, slope ? slope->row->label : "algorithm");
    put(&g, r, c++, slope ? faro_exponent(slope->slope, text) : "slope");
    put(&g, r, c++, slope ? faro_exponent(slope->error, text) : "standard error");
    put(&g, r, c++, slope ? faro_exponent(slope->of_most, text) : "slope, worst instance");
    g.columns = c;
    g.rows += slope != NULL;
  }
  measure(&g);
  if (g.rows > 1) {
    faro_text_add(out, "\nslope of %s against %s (log-log)\n\n", report->measure->name,
                  report->sweep[report->x]);
    print_grid(&g, style, out);
  }
  free(g.cell);
  return true;
}

/* Why a line has no slope. */
static void add_bends(const faro_report *report, faro_text *out) {
  for (size_t i = 0; i < report->slopes; i++) {
    const faro_view_slope *slope = &report->slope[i];
    if (slope->straight) continue;
    faro_text_add(out, "no slope for %s", slope->row->label);
    for (int s = 0; s < (int)report->sweeps; s++)
      if (s != report->x) faro_text_add(out, ", %s %s", report->sweep[s], slope->row->at[s]);
    if (isfinite(slope->first + slope->last))
      faro_text_add(out, ": not a power law (the slope changes from %.2f to %.2f along %s)\n", slope->first,
                    slope->last, report->sweep[report->x]);
    else faro_text_add(out, ": a mean is not positive\n");
  }
}

/* Sentences under the table. */
static void add_notes(const faro_report *report, const faro_table_style *style, faro_text *out) {
  faro_text learnt = FARO_TEXT_INIT;
  faro_text plain = FARO_TEXT_INIT;
  faro_text unproven = FARO_TEXT_INIT;
  faro_view_add_learnt(report, "", "\n", add_plain, &learnt);
  faro_view_add_comparisons(report, "", "\n", add_plain, &plain);
  add_bends(report, &plain);
  faro_view_add_left_out(report, "", "\n", add_plain, &plain);
  faro_view_add_refused(report, "", "\n", &plain);
  faro_view_add_phases(report, "", "\n", &plain);
  faro_view_add_early(report, "", "\n", add_plain, &plain);
  add_misspecified(report, &plain);
  explain(report, &unproven);
  print_text(out, style, YELLOW, learnt.data);
  print_text(out, style, PLAIN, plain.data);
  print_text(out, style, RED, unproven.data);
  out->failed |= learnt.failed || plain.failed || unproven.failed;
  faro_text_clear(&learnt);
  faro_text_clear(&plain);
  faro_text_clear(&unproven);
}

static void add_head(const faro_report *report, const faro_table_style *style, faro_text *out) {
  faro_text head = FARO_TEXT_INIT;
  faro_text_add(&head, "%s\n", report->title);
  faro_view_add_setting(report, &head);
  print_text(out, style, PLAIN, head.data);
  out->failed |= head.failed;
  faro_text_clear(&head);
}

char *faro_report_table(const faro_report *report, faro_table_style style) {
  faro_text out = FARO_TEXT_INIT;
  grid g = {.rows = report->count + 1, .cell = calloc(report->count + 1, sizeof *g.cell)};
  sheet s = {
      .report = report, .regret = form_of(report, regret_of), .per_user = form_of(report, per_user_of)};
  if (!g.cell) return NULL;
  fit(&s, &style, &g);
  add_head(report, &style, &out);
  faro_text_add(&out, "\n");
  print_grid(&g, &style, &out);
  free(g.cell);
  out.failed |= !add_slopes(report, &style, &out);
  faro_text_add(&out, "\n");
  add_notes(report, &style, &out);
  if (out.failed) faro_text_clear(&out);
  return out.data;
}
