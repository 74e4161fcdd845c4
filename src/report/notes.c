/* notes: sentences under a table: who learnt nothing, which algorithms differ, and in what else. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/grid.h"

enum { POINTS_SHOWN = 5, LINES_SHOWN = 6, NAMES_SHOWN = 10 };

/* Below this share nothing is said to have been learnt. */
static const double NOTHING = 0.05;

bool faro_view_learnt_nothing(const faro_view_row *row) {
  return row->learnt < NOTHING && strcmp(row->learner, "uniform") != 0;
}

static double uniform_of(const faro_view_row *row) { return row->uniform; }
static double fixed_of(const faro_view_row *row) { return row->fixed; }
static double linear_of(const faro_view_row *row) { return row->linear; }
static double logged_of(const faro_view_row *row) { return row->logged; }
static double per_user_of(const faro_view_row *row) { return row->uniform / row->rounds; }

/* "925", or "925 to 9120" if rows differ. False: no row has it, or it is 0. */
static bool add_range(const faro_report *report, const char *before, double (*value)(const faro_view_row *),
                      faro_text *out) {
  double least = INFINITY;
  double most = 0;
  for (size_t i = 0; i < report->count; i++) {
    least = fmin(least, value(&report->row[i]));
    most = fmax(most, value(&report->row[i]));
  }
  if (!(most > 0)) return false;
  const faro_digits digits = faro_digits_for(report, least, most);
  char text[32];
  faro_text_add(out, "%s%s", before, faro_digits_text(&digits, least, text));
  if (most > least * (1 + 1e-9)) faro_text_add(out, " to %s", faro_digits_text(&digits, most, text));
  return true;
}

void faro_view_add_yardstick(const faro_report *report, const char *before, const char *after,
                             faro_text *out) {
  faro_text line = FARO_TEXT_INIT;
  char start[80];
  snprintf(start, sizeof start, "uniform play would have %s of ", faro_view_measure(report));
  if (add_range(report, start, uniform_of, &line)) {
    if (!faro_view_has_rows(report) && add_range(report, ", ", per_user_of, &line))
      faro_text_add(&line, " per user");
    (void)add_range(report,
                    faro_view_has_classes(report) ? "; the most frequent class " : "; the best single arm ",
                    fixed_of, &line);
    (void)add_range(report, "; the log itself ", logged_of, &line);
    (void)add_range(report, "; the linear policy fitted to the whole file ", linear_of, &line);
    faro_text_add(out, "%s%s%s", before, line.failed ? "" : line.data, after);
  }
  out->failed |= line.failed;
  faro_text_clear(&line);
}

static bool same_label(const faro_view_row *a, const faro_view_row *b) {
  return strcmp(a->label, b->label) == 0;
}

static bool is_first(const faro_report *report, const faro_view_row *row) {
  for (const faro_view_row *other = report->row; other < row; other++)
    if (same_label(other, row)) return false;
  return true;
}

static bool same_limit(const faro_view_row *a, const faro_view_row *b, bool assumed) {
  if (!assumed) return a->rewards_only && b->rewards_only;
  return a->assumes && b->assumes && strcmp(a->assumes, b->assumes) == 0;
}

bool faro_view_rewards_differ(const faro_report *report) {
  size_t count[2] = {0};
  for (size_t i = 0; i < report->count; i++)
    if (faro_view_is_private(&report->row[i])) count[report->row[i].rewards_only]++;
  return count[false] > 0 && count[true] > 0;
}

/* Row i's limit, if it has one that no earlier row has, and the labels of all rows that have it,
 * unless all private ones do. */
static void add_limit(const faro_report *report, size_t i, bool assumed,
                      void (*add)(faro_text *, const char *), faro_text *out) {
  const faro_view_row *row = &report->row[i];
  for (const faro_view_row *other = report->row; other < row; other++)
    if (same_limit(other, row, assumed)) return;
  if (!same_limit(row, row, assumed)) return;
  bool all = true;
  for (size_t j = 0; j < report->count; j++)
    all &= !faro_view_is_private(&report->row[j]) || same_limit(row, &report->row[j], assumed);
  faro_text_add(out, assumed ? "assumes that " : "rewards only");
  if (assumed) add(out, row->assumes);
  for (size_t j = i; j < report->count && !all; j++) {
    bool said = !same_limit(row, &report->row[j], assumed);
    for (size_t k = i; k < j && !said; k++)
      said = same_limit(row, &report->row[k], assumed) && same_label(&report->row[k], &report->row[j]);
    if (said) continue;
    faro_text_add(out, j > i ? ", " : assumed ? ": " : " (");
    add(out, report->row[j].label);
  }
  if (!assumed) faro_text_add(out, "%s: what was shown and played is not protected", all ? "" : ")");
}

void faro_view_add_limited(const faro_report *report, const char *before, const char *after,
                           void (*add)(faro_text *, const char *), faro_text *out) {
  for (size_t i = 0; i < report->count; i++)
    for (int kind = 0; kind <= 1; kind++) {
      faro_text line = FARO_TEXT_INIT;
      add_limit(report, i, kind == 1, add, &line);
      if (line.length > 0) {
        faro_text_put(out, before);
        faro_text_put(out, line.data);
        faro_text_put(out, after);
      }
      out->failed |= line.failed;
      faro_text_clear(&line);
    }
}

/* " at epsilon 0.2, dimension 5"; nothing without sweeps. */
static void add_place(const faro_report *report, const faro_view_row *row, const char *before,
                      void (*add)(faro_text *, const char *), faro_text *out) {
  for (size_t s = 0; s < report->sweeps; s++) {
    faro_text_add(out, "%s%s ", s ? ", " : before, report->sweep[s]);
    add(out, row->at[s]);
  }
}

/* The rows of a label that learnt nothing: how many, how many of them did even worse, and beside
 * which uniform play. */
typedef struct idle {
  size_t count, worse;
  double least, most;
} idle;

static idle find_idle(const faro_report *report, const faro_view_row *row) {
  idle found = {.least = INFINITY};
  for (const faro_view_row *other = row; other < report->row + report->count; other++) {
    if (!same_label(other, row) || !faro_view_learnt_nothing(other)) continue;
    found.count++;
    found.worse += other->learnt < -NOTHING;
    found.least = fmin(found.least, other->uniform);
    found.most = fmax(found.most, other->uniform);
  }
  return found;
}

/* Where something is true of a label, whose first row this is; nothing if it is true everywhere. */
static void add_places(const faro_report *report, const faro_view_row *row,
                       bool (*is_true)(const faro_view_row *), void (*add)(faro_text *, const char *),
                       faro_text *out) {
  size_t all = 0;
  size_t count = 0;
  size_t shown = 0;
  for (const faro_view_row *other = row; other < report->row + report->count; other++) {
    all += same_label(other, row);
    count += same_label(other, row) && is_true(other);
  }
  if (count == all) return;
  for (const faro_view_row *other = row; other < report->row + report->count; other++) {
    if (!same_label(other, row) || !is_true(other) || shown == POINTS_SHOWN) continue;
    const bool short_form = shown++ > 0 && report->sweeps == 1;
    if (short_form) faro_text_add(out, ", ");
    if (short_form) add(out, other->at[0]);
    else add_place(report, other, shown > 1 ? "; " : " at ", add, out);
  }
  if (count > shown) faro_text_add(out, " and %zu more", count - shown);
}

void faro_view_add_learnt(const faro_report *report, const char *before, const char *after,
                          void (*add)(faro_text *, const char *), faro_text *out) {
  if (faro_view_has_classes(report)) return; /* faro_view_add_no_better says it of the constant class */
  for (const faro_view_row *row = report->row; row < report->row + report->count; row++) {
    if (!is_first(report, row)) continue;
    const idle found = find_idle(report, row);
    if (found.count == 0) continue;
    char number[32];
    faro_text_add(out, "%s", before);
    add(out, row->label);
    faro_text_add(out, " learnt nothing");
    add_places(report, row, faro_view_learnt_nothing, add, out);
    faro_text_add(out, ": its %s is %s uniform play%s (%s", faro_view_word(report),
                  found.worse == found.count ? "above that of" : "that of",
                  found.worse > 0 && found.worse < found.count ? " or more" : "",
                  faro_brief(found.least, number));
    if (found.least < found.most) faro_text_add(out, " to %s", faro_brief(found.most, number));
    faro_text_add(out, ")%s", after);
  }
}

/* Whether a row may have learnt no more than which single arm is best: its interval reaches that
 * arm's measure. Others that learnt nothing are named already. */
static bool is_no_better(const faro_report *report, const faro_view_row *row) {
  const double reach = isfinite(row->high) ? row->high : row->regret.mean;
  return faro_view_has_rows(report) && strcmp(row->learner, "uniform") != 0 &&
         (faro_view_has_classes(report) || !faro_view_learnt_nothing(row)) && reach >= row->fixed;
}

void faro_view_add_no_better(const faro_report *report, const char *before, const char *after,
                             void (*add)(faro_text *, const char *), faro_text *out) {
  size_t count = 0;
  for (const faro_view_row *row = report->row; row < report->row + report->count; row++) {
    if (!is_no_better(report, row)) continue;
    if (count == 0)
      faro_text_add(out, "%snot clearly better than always %s: ", before,
                    faro_view_has_classes(report) ? "naming the most frequent class"
                                                  : "playing the best single arm");
    if (count++ >= NAMES_SHOWN) continue;
    faro_text_add(out, "%s", count > 1 ? "; " : "");
    add(out, row->label);
    add_place(report, row, " at ", add, out);
  }
  if (count > NAMES_SHOWN) faro_text_add(out, " and %zu more", count - NAMES_SHOWN);
  if (count > 0) faro_text_add(out, "%s", after);
}

/* Whether two rows differ in the learner, and in nothing else that the experiment says. */
static bool is_rival(const faro_report *report, const faro_view_row *a, const faro_view_row *b) {
  static const char *const other[] = {"learner", "batch", "growth", "largest"};
  if (strcmp(a->learner, b->learner) == 0 || strcmp(a->release, b->release) != 0) return false;
  for (size_t s = 0; s < report->sweeps; s++)
    if (strcmp(a->at[s], b->at[s]) != 0) return false;
  const char *key = NULL;
  json_t *value = NULL;
  json_object_foreach((json_t *)(uintptr_t)a->settings, key, value) {
    bool skip = false;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) skip |= strcmp(key, other[i]) == 0;
    const json_t *there = json_object_get(b->settings, key); /* NULL: the learner's own setting */
    if (!skip && there && !json_equal(value, there)) return false;
  }
  return true;
}

static bool same_schedule(const faro_view_row *a, const faro_view_row *b) {
  return a->batch == b->batch && (a->growth > 1) == (b->growth > 1) &&
         json_equal(json_object_get(a->settings, "growth"), json_object_get(b->settings, "growth"));
}

/* The rows with which a row may be compared, if it is the first of them and their schedules
 * differ. */
static bool opens_schedules(const faro_report *report, const faro_view_row *row) {
  bool differ = false;
  if (!faro_view_is_private(row)) return false;
  for (const faro_view_row *other = report->row; other < report->row + report->count; other++) {
    if (!is_rival(report, row, other)) continue;
    if (other < row) return false;
    differ |= !same_schedule(row, other);
  }
  return differ;
}

static void add_schedule(const faro_view_row *row, const char *before, void (*add)(faro_text *, const char *),
                         faro_text *out) {
  faro_text_add(out, "%s", before);
  add(out, row->label);
  if (row->batch > 0) faro_text_add(out, " (%.0f%s)", row->batch, row->growth > 1 ? ".." : "");
  else faro_text_add(out, " (auto)");
}

void faro_view_add_schedules(const faro_report *report, const char *before, const char *after,
                             void (*add)(faro_text *, const char *), faro_text *out) {
  const faro_view_row *said[LINES_SHOWN];
  size_t lines = 0;
  for (const faro_view_row *row = report->row; row < report->row + report->count; row++) {
    bool again = lines == LINES_SHOWN;
    for (size_t i = 0; i < lines; i++) again |= same_label(said[i], row);
    if (again || !opens_schedules(report, row)) continue;
    said[lines++] = row;
    faro_text_add(out, "%sbatches differ", before);
    add_place(report, row, " at ", add, out);
    add_schedule(row, ": ", add, out);
    for (const faro_view_row *other = row + 1; other < report->row + report->count; other++)
      if (is_rival(report, row, other)) add_schedule(other, ", ", add, out);
    faro_text_add(out, "; --set batch=B compares the learners alone%s", after);
  }
}

/* Whether a batch is too small for its claim to gain more than a hundredth by mixing. */
static bool is_idle_shuffler(const faro_view_row *row) {
  return strcmp(row->trust, "shuffle") == 0 && row->local_epsilon <= 1.01 * row->epsilon &&
         row->local_delta <= row->delta;
}

void faro_view_add_idle_shufflers(const faro_report *report, const char *before, const char *after,
                                  void (*add)(faro_text *, const char *), faro_text *out) {
  size_t count = 0;
  for (const faro_view_row *row = report->row; row < report->row + report->count; row++) {
    bool adds_nothing = false;
    for (const faro_view_row *other = row; is_first(report, row) && other < report->row + report->count;
         other++)
      adds_nothing |= same_label(other, row) && is_idle_shuffler(other);
    if (!adds_nothing || ++count > NAMES_SHOWN) continue;
    faro_text_add(out, "%s", count > 1 ? "; " : before);
    add(out, row->label);
    add_places(report, row, is_idle_shuffler, add, out);
  }
  if (count > NAMES_SHOWN) faro_text_add(out, " and %zu more", count - NAMES_SHOWN);
  if (count > 0)
    faro_text_add(out, ": the shuffler adds nothing here; each message promises as much by itself%s", after);
}

static bool same_place(const faro_view_comparison *a, const faro_view_comparison *b, size_t sweeps) {
  for (size_t s = 0; s < sweeps; s++)
    if (strcmp(a->better->at[s], b->better->at[s]) != 0) return false;
  return true;
}

/* " (-12 to 30)" */
static void add_interval(const faro_report *report, const faro_view_comparison *c, faro_text *out) {
  const double most = fmax(fabs(c->low), fabs(c->high));
  const faro_digits digits = faro_digits_for(report, most, most);
  char low[32];
  char high[32];
  if (c->low < c->high)
    faro_text_add(out, " (%s to %s)", faro_digits_text(&digits, c->low, low),
                  faro_digits_text(&digits, c->high, high));
  else faro_text_add(out, " (the same on every instance)");
}

/* "no difference seen at epsilon 1: A and B; C and D", from the first of the sweep point on. */
static void add_alike(const faro_report *report, size_t first, void (*add)(faro_text *, const char *),
                      faro_text *out) {
  const faro_view_comparison *c = report->comparison;
  faro_text_add(out, "no difference seen");
  add_place(report, c[first].better, " at ", add, out);
  const char *separator = ": ";
  for (size_t i = first; i < report->comparisons && same_place(&c[i], &c[first], report->sweeps); i++) {
    if (c[i].seen) continue;
    faro_text_add(out, "%s", separator);
    add(out, c[i].better->label);
    faro_text_add(out, " and ");
    add(out, c[i].worse->label);
    add_interval(report, &c[i], out);
    separator = "; ";
  }
}

void faro_view_add_comparisons(const faro_report *report, const char *before, const char *after,
                               void (*add)(faro_text *, const char *), faro_text *out) {
  const faro_view_comparison *c = report->comparison;
  size_t lines = 0;
  for (size_t i = 0; i < report->comparisons; i++) {
    if (c[i].seen) continue;
    if (lines++ < LINES_SHOWN) {
      faro_text_add(out, "%s", before);
      add_alike(report, i, add, out);
      faro_text_add(out, "%s", after);
    }
    while (i + 1 < report->comparisons && same_place(&c[i + 1], &c[i], report->sweeps)) i++;
  }
  if (lines > LINES_SHOWN)
    faro_text_add(out, "%sno difference seen at %zu more points of the sweep (comparisons in run.json)%s",
                  before, lines - LINES_SHOWN, after);
  if (lines > 0)
    faro_text_add(out, "%sin brackets: 95 %% interval of the difference on the same instances%s", before,
                  after);
}

void faro_view_add_bends(const faro_report *report, const char *before, const char *after,
                         void (*add)(faro_text *, const char *), faro_text *out) {
  for (size_t i = 0; i < report->slopes; i++) {
    const faro_view_slope *slope = &report->slope[i];
    if (slope->straight) continue;
    faro_text_add(out, "%sno slope for ", before);
    add(out, slope->row->label);
    for (int s = 0; s < (int)report->sweeps; s++) {
      if (s == report->x) continue;
      faro_text_add(out, ", ");
      add(out, report->sweep[s]);
      faro_text_add(out, " ");
      add(out, slope->row->at[s]);
    }
    if (isfinite(slope->first + slope->last)) {
      faro_text_add(out, ": not a power law (the slope changes from %.2f to %.2f along ", slope->first,
                    slope->last);
      add(out, report->sweep[report->x]);
      faro_text_add(out, ")%s", after);
    } else faro_text_add(out, ": a mean is not positive%s", after);
  }
}
