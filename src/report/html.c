/* html: the page. One file that fetches nothing: figure, table, claims and what backs them, and how
 * to reproduce the numbers. */
#include <math.h>
#include <string.h>

#include "report/svg.h"

static const char STYLE[] =
    "body{font:16px/1.5 Helvetica,Arial,sans-serif;color:#111;background:#fff;max-width:68rem;margin:2rem "
    "auto;padding:0 1rem}"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}svg{max-width:100%;height:auto}"
    "table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;padding:.5rem 0}div.wide{overflow-x:auto}th,td{padding:.25rem "
    ".7rem;text-align:right;border-bottom:1px solid #ddd}"
    "th{border-bottom:2px solid "
    "#333}td.t,th.t{text-align:left;white-space:nowrap}.no{color:#a33100;font-weight:bold}.yes{color:#00694a}"
    "code{background:#f2f2f2;padding:.1rem .3rem}footer{color:#555;font-size:.85rem;margin-top:2rem}";

static void add_cell(faro_text *out, const char *value) {
  faro_text_add(out, "<td class=\"t\">");
  faro_markup_add(out, value);
  faro_text_add(out, "</td>");
}

static void add_standing(faro_text *out, const faro_view_row *row) {
  const bool proven = strcmp(row->standing, "proven") == 0;
  const bool unproven = strcmp(row->standing, "not proven") == 0;
  faro_text_add(out, "<td class=\"t%s\">", proven ? " yes" : unproven ? " no" : "");
  char pair[FARO_PAIR_SIZE];
  if (isfinite(row->epsilon)) faro_text_add(out, "%s ", faro_pair_above(row->epsilon, row->delta, pair));
  faro_markup_add(out, row->standing);
  faro_view_add_terms(row, out);
  faro_text_add(out, "</td>");
}

static void add_row(const faro_report *report, const faro_view_row *row, faro_text *out) {
  faro_text_add(out, "<tr>");
  for (size_t s = 0; s < report->sweeps; s++) add_cell(out, row->at[s]);
  add_cell(out, row->label);
  add_cell(out, row->release);
  add_cell(out, row->trust);
  const double numbers[] = {row->regret.mean, row->regret.error, row->regret.median, row->updates, row->bits};
  char text[32];
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    faro_text_add(out, "<td>%s</td>", faro_brief(numbers[i], text));
    if (i == 2) faro_text_add(out, "<td>%.2g%%</td>", 100 * row->regret.tail);
  }
  if (isfinite(row->shifted)) faro_text_add(out, "<td>%.3g%%</td>", 100 * row->shifted);
  else faro_text_add(out, "<td>-</td>");
  add_cell(out, row->region ? row->region : "-");
  add_standing(out, row);
  faro_text_add(out, "</tr>\n");
}

static void add_head(faro_text *out, const char *value) {
  faro_text_add(out, "<th class=\"t\">");
  faro_markup_add(out, value);
  faro_text_add(out, "</th>");
}

/* How the measure grows with x, under the figure that shows it. */
static void add_slopes(const faro_report *report, faro_text *out) {
  if (report->slopes == 0) return;
  faro_text_add(out, "<div class=\"wide\"><table><caption>slope of %s against ", report->measure->name);
  faro_markup_add(out, report->sweep[report->x]);
  faro_text_add(out, " (log-log)</caption><thead><tr>");
  for (int s = 0; s < (int)report->sweeps; s++)
    if (s != report->x) add_head(out, report->sweep[s]);
  faro_text_add(out, "<th class=\"t\">algorithm</th><th>slope</th><th>standard error</th><th>slope, worst "
                     "instance</th></tr></thead><tbody>\n");
  for (size_t i = 0; i < report->slopes; i++) {
    const faro_view_slope *slope = &report->slope[i];
    char text[32];
    faro_text_add(out, "<tr>");
    for (int s = 0; s < (int)report->sweeps; s++)
      if (s != report->x) add_cell(out, slope->row->at[s]);
    add_cell(out, slope->row->label);
    faro_text_add(out, "<td>%s</td>", faro_exponent(slope->slope, text));
    faro_text_add(out, "<td>%s</td>", faro_exponent(slope->error, text));
    faro_text_add(out, "<td>%s</td></tr>\n", faro_exponent(slope->of_most, text));
  }
  faro_text_add(out, "</tbody></table></div>\n");
}

static void add_results(const faro_report *report, faro_text *out) {
  faro_text_add(out, "<h2>Results</h2>\n<div class=\"wide\"><table><thead><tr>");
  for (size_t s = 0; s < report->sweeps; s++) add_head(out, report->sweep[s]);
  faro_text_add(
      out,
      "<th class=\"t\">algorithm</th><th class=\"t\">release</th><th class=\"t\">trust</th>"
      "<th>%s</th><th>se</th><th>median</th><th>tail</th><th>policy updates</th><th>bits per user</th>"
      "<th>V shifted</th><th class=\"t\">region</th><th class=\"t\">claim (&epsilon;, "
      "&delta;)</th></tr></thead><tbody>\n",
      report->measure->end);
  for (size_t i = 0; i < report->count; i++) add_row(report, &report->row[i], out);
  faro_text_add(
      out, "</tbody></table></div>\n<p>se: standard error of the mean. tail: the share of instances above "
           "three times the mean. region: what the learner's exploration rests on; proven: a theorem, "
           "calibrated: a posterior that was checked against the truth by simulation.</p>\n");
  faro_text_add(out,
                "<p>V shifted: the share of policy updates in which noise had made the "
                "design matrix indefinite, so that it was shifted and the confidence region widened.</p>\n");
  faro_view_add_left_out(report, "<p>", ".</p>\n", faro_markup_add, out);
  faro_view_add_refused(report, "<p>", ".</p>\n", out);
  faro_view_add_phases(report, "<p>", ".</p>\n", out);
  faro_view_add_early(report, "<p>", ".</p>\n", faro_markup_add, out);
}

/* The sweep points of the rows with this row's label and backing, unless all rows of the label have
 * it. */
static void add_points(const faro_report *report, const faro_view_row *row, faro_text *out) {
  const char *separator = "";
  bool all = true;
  for (size_t j = 0; j < report->count; j++)
    all &= strcmp(report->row[j].label, row->label) != 0 || strcmp(report->row[j].by, row->by) == 0;
  for (size_t j = 0; !all && j < report->count; j++) {
    const faro_view_row *other = &report->row[j];
    if (strcmp(other->label, row->label) != 0 || strcmp(other->by, row->by) != 0) continue;
    faro_text_add(out, "%s", *separator ? separator : ", at ");
    separator = "; ";
    for (size_t s = 0; s < report->sweeps; s++) {
      faro_text_add(out, "%s", s ? ", " : "");
      faro_markup_add(out, report->sweep[s]);
      faro_text_add(out, " ");
      faro_markup_add(out, other->at[s]);
    }
  }
}

/* What backs each claim. The same text is shown once per algorithm. */
static void add_claims(const faro_report *report, faro_text *out) {
  bool users = false;
  for (size_t i = 0; i < report->count; i++) users |= strcmp(report->row[i].level, "user") == 0;
  faro_text_add(
      out,
      "<h2>What the claims rest on</h2>\n<p>%s at event level. The guarantee covers a single round: it "
      "bounds what changes when one round of one user is replaced by any other.%s</p>\n<ul>\n",
      users ? "Claims that do not say otherwise are" : "All claims are",
      users ? " At user level it covers all rounds of one user: at most the number stated in the claim, "
              "no two of them in one batch."
            : "");
  for (size_t i = 0; i < report->count; i++) {
    const faro_view_row *row = &report->row[i];
    bool said = false;
    for (size_t j = 0; j < i && !said; j++)
      said = strcmp(report->row[j].label, row->label) == 0 && strcmp(report->row[j].by, row->by) == 0;
    if (said) continue;
    faro_text_add(out, "<li><b>");
    faro_markup_add(out, row->label);
    faro_text_add(out, "</b>");
    add_points(report, row, out);
    faro_text_add(out, " (trust: ");
    faro_markup_add(out, row->trust);
    faro_text_add(out, "), ");
    faro_markup_add(out, row->standing);
    faro_text_add(out, ": ");
    faro_markup_add(out, row->by);
    faro_text_add(out, ".</li>\n");
  }
  faro_text_add(out, "</ul>\n");
}

char *faro_report_html(const faro_report *report) {
  faro_text out = FARO_TEXT_INIT;
  faro_text_add(&out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>");
  faro_markup_add(&out, report->title);
  faro_text_add(&out, "</title><style>%s</style></head><body>\n<h1>", STYLE);
  faro_markup_add(&out, report->title);
  faro_text_add(&out, "</h1>\n<p>");
  faro_markup_add_setting(&out, report);
  faro_text_add(&out, ".</p>\n");
  faro_svg_add(report, &out);
  add_slopes(report, &out);
  add_results(report, &out);
  add_claims(report, &out);
  faro_text_add(&out, "<footer>Made by faro ");
  faro_markup_add(&out, report->version);
  faro_text_add(&out, " (commit ");
  faro_markup_add(&out, report->commit);
  faro_text_add(&out, ", ");
  faro_markup_add(&out, report->compiler);
  faro_text_add(&out,
                ") in %.1f s. The numbers: <code>summary.csv</code>, <code>curves.csv</code>, "
                "<code>run.json</code> beside "
                "this page.</footer>\n</body></html>\n",
                report->seconds);
  if (out.failed) faro_text_clear(&out);
  return out.data;
}
