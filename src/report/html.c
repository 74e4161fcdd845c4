/* html: the page. One file that fetches nothing: what was run, which row to use, curves, results,
 * promises, and files. Everything is there without scripts; page.js makes the figure and the table
 * interactive. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/data.h"
#include "report/svg.h"
#include "report/words.h"

static const unsigned char STYLE[] = {
#include "report_css.inc"
    0};
static const unsigned char SCRIPT[] = {
#include "report_js.inc"
    0};

/* Nothing may be loaded, sent or framed; style and script are part of the page. */
static const char POLICY[] = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                             "base-uri 'none'; form-action 'none'";

/* A column of the results. `more` columns are shown on request. */
typedef struct column {
  const char *name, *help;
  bool text, more;
  void (*add)(const faro_report *, const faro_view_row *, faro_text *);
  double (*value)(const faro_report *, const faro_view_row *); /* to sort by; NULL: by the text */
} column;

static double regret_of(const faro_report *report, const faro_view_row *row) {
  (void)report;
  return row->regret.mean;
}

static double learnt_of(const faro_report *report, const faro_view_row *row) {
  (void)report;
  return row->learnt;
}

static double price_of(const faro_report *report, const faro_view_row *row) {
  const faro_view_row *best = faro_advice_free(report, row);
  return best && best->regret.mean > 0 ? row->regret.mean / best->regret.mean : (double)NAN;
}

static double epsilon_of(const faro_report *report, const faro_view_row *row) {
  (void)report;
  return row->epsilon;
}

static void add_label(const faro_report *report, const faro_view_row *row, faro_text *out) {
  (void)report;
  faro_markup_add(out, row->label);
}

/* The number, its interval, and a bar whose full width is the worst of all. */
static void add_regret(const faro_report *report, const faro_view_row *row, faro_text *out) {
  double most = 0;
  for (size_t i = 0; i < report->count; i++) most = fmax(most, report->row[i].regret.mean);
  faro_text_add(out, "<b>");
  faro_words_add_number(out, row->regret.mean);
  faro_text_add(out, "</b>");
  if (isfinite(row->low)) {
    faro_text_add(out, " <span class=\"soft\">");
    faro_words_add_number(out, row->low);
    faro_text_add(out, " to ");
    faro_words_add_number(out, row->high);
    faro_text_add(out, "</span>");
  }
  if (most > 0 && row->regret.mean >= 0)
    faro_text_add(out, "<i class=\"bar\" style=\"width:%.1f%%\"></i>", 100 * row->regret.mean / most);
}

static void add_learnt(const faro_report *report, const faro_view_row *row, faro_text *out) {
  (void)report;
  if (row->learnt < 0.05) faro_text_add(out, "<span class=\"no\">nothing</span>");
  else faro_words_add_percent(out, row->learnt);
}

static void add_price(const faro_report *report, const faro_view_row *row, faro_text *out) {
  const double price = price_of(report, row);
  if (isfinite(price)) faro_text_add(out, "%.3g", price);
  else faro_text_add(out, "–");
}

static double batch_of(const faro_report *report, const faro_view_row *row) {
  (void)report;
  return row->batch;
}

static void add_batch(const faro_report *report, const faro_view_row *row, faro_text *out) {
  (void)report;
  if (row->batch > 0) faro_words_add_number(out, row->batch);
  else faro_text_add(out, "changes");
  if (row->growth > 1) faro_text_add(out, ", growing");
}

static void add_claim(const faro_report *report, const faro_view_row *row, faro_text *out) {
  (void)report;
  char pair[FARO_PAIR_SIZE];
  faro_text_add(out, "<span%s>",
                faro_words_proven(row)     ? " class=\"yes\""
                : faro_words_unproven(row) ? " class=\"no\""
                                           : "");
  if (isfinite(row->epsilon)) faro_text_add(out, "%s ", faro_pair_above(row->epsilon, row->delta, pair));
  faro_markup_add(out, row->standing);
  faro_view_add_terms(row, faro_markup_add, out);
  faro_text_add(out, "</span>");
}

static void add_trust(const faro_report *report, const faro_view_row *row, faro_text *out) {
  (void)report;
  faro_markup_add(out, row->trust);
}

static void add_release(const faro_report *report, const faro_view_row *row, faro_text *out) {
  (void)report;
  faro_markup_add(out, row->release);
}

static void add_region(const faro_report *report, const faro_view_row *row, faro_text *out) {
  (void)report;
  faro_markup_add(out, row->region ? row->region : "–");
}

/* Columns that are plain numbers of a row. */
#define NUMBER_COLUMN(name, expression)                                                                      \
  static double name##_of(const faro_report *report, const faro_view_row *row) {                             \
    (void)report;                                                                                            \
    return expression;                                                                                       \
  }                                                                                                          \
  static void add_##name(const faro_report *report, const faro_view_row *row, faro_text *out) {              \
    faro_words_add_number(out, name##_of(report, row));                                                      \
  }
NUMBER_COLUMN(each, row->per_user)
NUMBER_COLUMN(reward, row->reward)
NUMBER_COLUMN(behind, row->behind)
NUMBER_COLUMN(median, row->regret.median)
NUMBER_COLUMN(updates, row->updates)
NUMBER_COLUMN(seconds, row->seconds)

static double sends_of(const faro_report *report, const faro_view_row *row) {
  (void)report;
  return row->sends;
}

static void add_sends(const faro_report *report, const faro_view_row *row, faro_text *out) {
  char text[FARO_NUMBER_SIZE];
  (void)report;
  faro_text_add(out, "%s", faro_bytes(row->sends, text));
}

#define PERCENT_COLUMN(name, expression)                                                                     \
  static double name##_of(const faro_report *report, const faro_view_row *row) {                             \
    (void)report;                                                                                            \
    return expression;                                                                                       \
  }                                                                                                          \
  static void add_##name(const faro_report *report, const faro_view_row *row, faro_text *out) {              \
    const double share = name##_of(report, row);                                                             \
    if (isfinite(share)) faro_text_add(out, "%.3g&#8239;%%", 100 * share);                                   \
    else faro_text_add(out, "–");                                                                            \
  }
PERCENT_COLUMN(tail, row->regret.tail)
PERCENT_COLUMN(shifted, row->shifted)

static const column columns[] = {
    {"algorithm", NULL, true, false, add_label, NULL},
    {NULL, "mean of all instances, and the 95 % interval of the mean", false, false, add_regret, regret_of},
    {"learnt", "the share that it avoids of what one who learns nothing would lose (see above)", false, false,
     add_learnt, learnt_of},
    {"× no privacy", "times the best row without privacy", false, false, add_price, price_of},
    {"batch", "users of the first batch", false, false, add_batch, batch_of},
    {"claim (ε, δ)", NULL, true, false, add_claim, epsilon_of},
    {"trust", NULL, true, true, add_trust, NULL},
    {"release", NULL, true, true, add_release, NULL},
    {"per user", "regret per round", false, true, add_each, each_of},
    {"mean reward", "of all rounds, on the scale from 0 to 1", false, true, add_reward, reward_of},
    {"linear regret", "over all rounds, against the linear policy fitted to the whole file", false, true,
     add_behind, behind_of},
    {"median", "of the instances", false, true, add_median, median_of},
    {"tail", "share of instances above three times the mean", false, true, add_tail, tail_of},
    {"updates", "of the policy", false, true, add_updates, updates_of},
    {"sends", "what a user sends, as reports of the protocol", false, true, add_sends, sends_of},
    {"V shifted",
     "share of updates in which noise had made the design matrix indefinite, so that it was "
     "shifted and the confidence region widened",
     false, true, add_shifted, shifted_of},
    {"region",
     "what the learner's exploration rests on; proven: a theorem; calibrated: a posterior that was "
     "checked against the truth by simulation",
     true, true, add_region, NULL},
    {"seconds", "computing time of all instances", false, true, add_seconds, seconds_of},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* Columns that say nothing about this run are left out. */
static bool is_shown(const faro_report *report, const column *c) {
  for (size_t i = 0; c->value && i < report->count; i++)
    if (isfinite(c->value(report, &report->row[i]))) return true;
  return !c->value || c->value == epsilon_of;
}

static const char *name_of(const faro_report *report, const column *c) {
  return c->name ? c->name : report->measure->end;
}

static void add_heads(const faro_report *report, faro_text *out) {
  for (size_t s = 0; s < report->sweeps; s++) {
    faro_text_add(out, "<th class=\"t\" scope=\"col\">");
    faro_markup_add(out, report->sweep[s]);
    faro_text_add(out, "</th>");
  }
  for (const column *c = columns; c < columns + COLUMNS; c++) {
    if (!is_shown(report, c)) continue;
    faro_text_add(out, "<th scope=\"col\" class=\"%s%s\"", c->text || c->value == regret_of ? "t" : "n",
                  c->more ? " more" : "");
    if (c->help) faro_text_add(out, " title=\"%s\"", c->help);
    faro_text_add(out, ">%s</th>", name_of(report, c));
  }
}

static void add_column(const faro_report *report, const faro_view_row *row, const column *c, faro_text *out) {
  faro_text_add(out, "<td class=\"%s%s\" data-t=\"%s\"",
                c->value == regret_of ? "measure"
                : c->text             ? "t"
                                      : "n",
                c->more ? " more" : "", name_of(report, c));
  const double value = c->value ? c->value(report, row) : (double)NAN;
  if (isfinite(value)) faro_text_add(out, " data-v=\"%.6g\"", value);
  faro_text_add(out, ">");
  c->add(report, row, out);
  faro_text_add(out, "</td>");
}

/* Whether an algorithm got the same for every value of a sweep, on which it cannot depend. */
static bool is_any(const faro_report *report, const faro_view_row *row, size_t s) {
  size_t alike = 0;
  for (size_t i = 0; i < report->count; i++) {
    const faro_view_row *other = &report->row[i];
    if (!faro_view_alike(report, row, other, (int)s, -1)) continue;
    if (other->regret.mean != row->regret.mean || other->regret.sd != row->regret.sd ||
        other->batch != row->batch || strcmp(other->standing, row->standing) != 0)
      return false;
    alike++;
  }
  return alike > 1 && !isfinite(row->epsilon);
}

/* Whether a row says what an earlier one said for any value of a sweep. */
static bool is_repeated(const faro_report *report, size_t i) {
  const faro_view_row *row = &report->row[i];
  for (size_t s = 0; s < report->sweeps; s++) {
    if (!is_any(report, row, s)) continue;
    for (size_t j = 0; j < i; j++)
      if (faro_view_alike(report, row, &report->row[j], (int)s, -1)) return true;
  }
  return false;
}

static void add_row(const faro_report *report, const faro_view_row *row, bool apart, faro_text *out) {
  faro_text_add(out, "<tr class=\"%s%s\">", faro_words_unproven(row) ? "unproven" : "",
                apart ? " apart" : "");
  for (size_t s = 0; s < report->sweeps; s++) {
    faro_text_add(out, "<td class=\"t\" data-t=\"");
    faro_markup_add(out, report->sweep[s]);
    faro_text_add(out, "\"");
    const bool any = is_any(report, row, s);
    if (isfinite(row->place[s]) && !any) faro_text_add(out, " data-v=\"%.6g\"", row->place[s]);
    faro_text_add(out, ">");
    faro_markup_add(out, any ? "any" : row->at[s]);
    faro_text_add(out, "</td>");
  }
  for (const column *c = columns; c < columns + COLUMNS; c++)
    if (is_shown(report, c)) add_column(report, row, c, out);
  faro_text_add(out, "</tr>\n");
}

static bool same_point(const faro_report *report, const faro_view_row *a, const faro_view_row *b) {
  for (size_t s = 0; s < report->sweeps; s++)
    if (strcmp(a->at[s], b->at[s]) != 0) return false;
  return true;
}

/* The rows of one sweep point, best first. */
static void add_point(const faro_report *report, size_t first, faro_text *out) {
  double done = -INFINITY;
  for (bool apart = true;; apart = false) {
    double next = INFINITY;
    for (size_t i = first; i < report->count; i++)
      if (report->row[i].regret.mean > done && same_point(report, &report->row[first], &report->row[i]))
        next = fmin(next, report->row[i].regret.mean);
    if (next == INFINITY) return;
    for (size_t i = first; i < report->count; i++)
      if (report->row[i].regret.mean == next && same_point(report, &report->row[first], &report->row[i]) &&
          !is_repeated(report, i))
        add_row(report, &report->row[i], apart, out);
    done = next;
  }
}

static void add_rows(const faro_report *report, faro_text *out) {
  for (size_t i = 0; i < report->count; i++) {
    bool first = true;
    for (size_t j = 0; j < i && first; j++) first = !same_point(report, &report->row[j], &report->row[i]);
    if (first) add_point(report, i, out);
  }
}

static void add_remarks(const faro_report *report, faro_text *out) {
  if (faro_view_has_rows(report)) faro_view_add_yardstick(report, "<p>", ".</p>\n", out);
  faro_view_add_data(report, "<p>", ".</p>\n", faro_markup_add, out);
  faro_view_add_no_better(report, "<p>", ".</p>\n", faro_markup_add, out);
  faro_view_add_schedules(report, "<p>", ".</p>\n", faro_markup_add, out);
  faro_view_add_idle_shufflers(report, "<p>", ".</p>\n", faro_markup_add, out);
  faro_view_add_left_out(report, "<p>", ".</p>\n", faro_markup_add, out);
  faro_view_add_refused(report, "<p>", ".</p>\n", out);
  faro_view_add_phases(report, "<p>", ".</p>\n", out);
  faro_view_add_early(report, "<p>", ".</p>\n", faro_markup_add, out);
}

static void add_results(const faro_report *report, faro_text *out) {
  faro_text_add(out, "<section id=\"results\"><h2>Results</h2>\n<input type=\"checkbox\" id=\"more\"><label "
                     "for=\"more\">more columns</label>\n<div class=\"wide\"><table class=\"sortable "
                     "stack\"><thead><tr>");
  add_heads(report, out);
  faro_text_add(out, "</tr></thead><tbody>\n");
  add_rows(report, out);
  faro_text_add(out, "</tbody></table></div>\n");
  add_remarks(report, out);
  faro_text_add(out, "</section>\n");
}

/* How the measure grows with x. */
static void add_slopes(const faro_report *report, faro_text *out) {
  if (report->slopes == 0) return;
  faro_text_add(out, "<div class=\"wide\"><table><caption>slope of %s against ", report->measure->name);
  faro_markup_add(out, report->sweep[report->x]);
  faro_text_add(out, " (log-log)</caption><thead><tr>");
  for (int s = 0; s < (int)report->sweeps; s++) {
    if (s == report->x) continue;
    faro_text_add(out, "<th class=\"t\">");
    faro_markup_add(out, report->sweep[s]);
    faro_text_add(out, "</th>");
  }
  faro_text_add(out, "<th class=\"t\">algorithm</th><th>slope</th><th>standard error</th><th>slope, worst "
                     "instance</th></tr></thead><tbody>\n");
  for (size_t i = 0; i < report->slopes; i++) {
    const faro_view_slope *slope = &report->slope[i];
    char text[32];
    faro_text_add(out, "<tr>");
    for (int s = 0; s < (int)report->sweeps; s++) {
      if (s == report->x) continue;
      faro_text_add(out, "<td class=\"t\">");
      faro_markup_add(out, slope->row->at[s]);
      faro_text_add(out, "</td>");
    }
    faro_text_add(out, "<td class=\"t\">");
    faro_markup_add(out, slope->row->label);
    faro_text_add(out, "</td><td>%s</td>", faro_exponent(slope->slope, text));
    faro_text_add(out, "<td>%s</td>", faro_exponent(slope->error, text));
    faro_text_add(out, "<td>%s</td></tr>\n", faro_exponent(slope->of_most, text));
  }
  faro_text_add(out, "</tbody></table></div>\n");
  faro_view_add_bends(report, "<p class=\"soft\">", "</p>\n", faro_markup_add, out);
}

/* The drawing that is there without scripts, and the data that the script replaces it from. */
static void add_figure(const faro_report *report, faro_text *out) {
  faro_figure figure;
  if (!faro_figure_init(&figure, report)) {
    out->failed = true;
    return;
  }
  faro_text_add(out, "<section id=\"curves\"><h2>Curves</h2>\n<div id=\"controls\" hidden></div>\n"
                     "<div id=\"chart\" class=\"static\">\n");
  faro_svg_add(&figure, FARO_FIGURE_SCREEN, false, out);
  faro_text_add(out, "</div>\n<p id=\"caption\" class=\"soft\" hidden>");
  faro_text caption = FARO_TEXT_INIT;
  faro_figure_add_caption(&figure, &caption);
  if (caption.failed) out->failed = true;
  else faro_markup_add(out, caption.data);
  faro_text_clear(&caption);
  faro_text_add(out, "</p>\n");
  add_slopes(report, out);
  faro_text_add(out, "</section>\n<script type=\"application/json\" id=\"data\">");
  faro_data_add(&figure, out);
  faro_text_add(out, "</script>\n");
  faro_figure_clear(&figure);
}

static size_t count_labels(const faro_report *report) {
  size_t labels = 0;
  for (size_t i = 0; i < report->count; i++) {
    bool first = true;
    for (size_t j = 0; j < i && first; j++) first = strcmp(report->row[i].label, report->row[j].label) != 0;
    labels += first;
  }
  return labels;
}

/* What was run, in a sentence; then the settings; then what is measured. */
static void add_lead(const faro_report *report, faro_text *out) {
  const size_t labels = count_labels(report);
  faro_text_add(out, "<p class=\"lead\">%zu algorithm%s on %s%zu random instance%s", labels,
                labels == 1 ? "" : "s", report->instances > 1 ? "the same " : "", report->instances,
                report->instances == 1 ? "" : "s");
  for (size_t s = 0; s < report->sweeps; s++) {
    faro_text_add(out, "%s", s == 0 ? ", for several values of " : " and ");
    faro_markup_add(out, report->sweep[s]);
  }
  faro_text_add(out, ". <span class=\"soft\">");
  faro_markup_add_setting(out, report);
  faro_text_add(out, ".</span>");
  faro_view_add_people(report, " ", ".", faro_markup_add, out);
  faro_text_add(out, "</p>\n");
  if (strcmp(report->measure->name, "regret") == 0)
    faro_text_add(out, "<p><b>Regret</b> is the reward lost over all rounds against always taking the best "
                       "arm: 0 is perfect. <b>Learnt</b> is the share of what playing at random would lose "
                       "that was not lost: 100&#8239;%% is perfect, 0 no better than random.</p>\n");
  else if (faro_view_has_rows(report))
    faro_text_add(
        out,
        "<p><b>%s</b> is %s, in the last tenth of the horizon: 0 is perfect. <b>Learnt</b> is the "
        "share of the %s of %s that it avoids: 100&#8239;%% is perfect, 0 no better. The linear policy "
        "fitted to the whole file (ridge regression on the same features) is a reference that sees "
        "everything.</p>\n",
        strcmp(report->measure->name, "loss") == 0 ? "Loss" : "Error rate",
        strcmp(report->measure->name, "loss") == 0 ? "1 less the mean reward, on the scale from 0 to 1"
                                                   : "the share of people for whom a wrong class was picked",
        faro_view_has_classes(report) ? "errors" : "loss", faro_view_base_name(report));
  else
    faro_text_add(out, "<p><b>Error</b> is the greatest distance, over all times, between the published "
                       "running sum and the true one: 0 is perfect.</p>\n");
}

static void add_link(faro_text *out, const char *name, const char *ending, const char *what) {
  faro_text_add(out, "<li><a href=\"");
  faro_markup_add(out, name);
  faro_text_add(out, "%s\">", ending);
  faro_markup_add(out, name);
  faro_text_add(out, "%s</a> <span class=\"soft\">%s</span></li>\n", ending, what);
}

static void add_files(const faro_report *report, faro_text *out) {
  const char *command = json_string_value(json_object_get(report->document, "command"));
  faro_text_add(out, "<section id=\"files\"><h2>Files</h2>\n<ul class=\"files\">\n");
  add_link(out, "summary", ".csv", "the table, with all columns");
  add_link(out, "curves", ".csv", "the curves");
  if (report->row[0].each) add_link(out, "instances", ".csv", "every instance");
  add_link(out, "table", ".tex", "the table, for LaTeX");
  add_link(out, report->name, ".svg", "the figure");
  add_link(out, "run", ".json", "everything, with settings and claims");
  if (command) add_link(out, "experiment", ".yaml", "what was run");
  faro_text_add(out, "</ul>\n");
  if (command) {
    faro_text_add(out, "<p class=\"soft\">Run by <code>");
    faro_markup_add(out, command);
    faro_text_add(out, "</code>.</p>\n");
  }
  faro_text_add(out, "<p class=\"soft\">For a paper: <code>faro report DIR --figure one-column "
                     "--pdf</code> (or <code>two-column</code>, <code>--png</code>).</p></section>\n");
}

static void add_foot(const faro_report *report, faro_text *out) {
  faro_text_add(out, "<footer>Made by faro ");
  faro_markup_add(out, report->version);
  faro_text_add(out, " (commit ");
  faro_markup_add(out, report->commit);
  faro_text_add(out, ", ");
  faro_markup_add(out, report->compiler);
  faro_text_add(out, ") in %.1f s.</footer>\n", report->seconds);
}

static void add_head(const faro_report *report, faro_text *out) {
  faro_text_add(out,
                "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
                "<meta name=\"color-scheme\" content=\"light dark\"><title>",
                POLICY);
  faro_markup_add(out, report->title);
  faro_text_add(out, "</title><style>\n%s</style></head><body>\n<header><h1>", (const char *)STYLE);
  faro_markup_add(out, report->title);
  faro_text_add(out, "</h1></header>\n");
}

char *faro_report_html(const faro_report *report) {
  faro_text out = FARO_TEXT_INIT;
  add_head(report, &out);
  add_lead(report, &out);
  faro_advice_add(report, &out);
  add_figure(report, &out);
  add_results(report, &out);
  faro_words_add_claims(report, &out);
  add_files(report, &out);
  add_foot(report, &out);
  faro_text_add(&out, "<script>\n%s</script>\n</body></html>\n", (const char *)SCRIPT);
  if (out.failed) faro_text_clear(&out);
  return out.data;
}
