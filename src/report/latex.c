/* latex: the table for a paper, with the rules of booktabs. The same columns as on a terminal of
 * 80: what was swept, algorithm, measure with its interval, share learnt, batch and claim. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/grid.h"
#include "sim/experiment.h"

static void add_escaped(faro_text *out, const char *value) {
  static const struct {
    char plain;
    const char *escaped;
  } special[] = {{'\\', "\\textbackslash{}"},
                 {'~', "\\textasciitilde{}"},
                 {'^', "\\textasciicircum{}"},
                 {'&', "\\&"},
                 {'%', "\\%"},
                 {'$', "\\$"},
                 {'#', "\\#"},
                 {'_', "\\_"},
                 {'{', "\\{"},
                 {'}', "\\}"},
                 {'<', "\\textless{}"},
                 {'>', "\\textgreater{}"},
                 {'|', "\\textbar{}"},
                 {'"', "''"}};
  for (; *value; value++) {
    size_t i = 0;
    while (i < sizeof special / sizeof *special && special[i].plain != *value) i++;
    if (i < sizeof special / sizeof *special) faro_text_add(out, "%s", special[i].escaped);
    else faro_text_add(out, "%c", *value);
  }
}

/* A number as formula: 1e-6 becomes 10^{-6}, 2.5e-6 becomes 2.5 \cdot 10^{-6}. */
static void add_power(faro_text *out, const char *number) {
  const char *e = strchr(number, 'e');
  if (!e) faro_text_add(out, "%s", number);
  else if (strncmp(number, "1e", 2) == 0) faro_text_add(out, "10^{%s}", e + 1 + (e[1] == '+'));
  else faro_text_add(out, "%.*s \\cdot 10^{%s}", (int)(e - number), number, e + 1 + (e[1] == '+'));
}

static void add_claim(const faro_view_row *row, faro_text *out) {
  char number[FARO_NUMBER_SIZE];
  if (isfinite(row->epsilon)) {
    faro_text_add(out, "$(");
    add_power(out, faro_above(row->epsilon, 6, number));
    faro_text_add(out, ", ");
    add_power(out, faro_above(row->delta, 6, number));
    faro_text_add(out, ")$ ");
  }
  const bool unproven = strcmp(row->standing, "not proven") == 0;
  faro_text_add(out, "%s", unproven ? "\\emph{" : "");
  add_escaped(out, row->standing);
  faro_text_add(out, "%s", unproven ? "}" : "");
  if (strcmp(row->level, "user") == 0 && isfinite(row->epsilon)) faro_text_add(out, ", user level");
  faro_view_add_limits(row, add_escaped, out);
}

static double regret_of(const faro_view_row *row) { return row->regret.mean; }

static bool is_swept(const faro_report *report, const char *key) {
  for (size_t s = 0; s < report->sweeps; s++)
    if (strcmp(report->sweep[s], key) == 0) return true;
  return false;
}

/* What the table has besides sweeps, algorithm, measure and claim. */
typedef struct shape {
  faro_digits digits;
  bool interval, learnt, batch;
} shape;

static shape shape_of(const faro_report *report) {
  shape s = {.digits = faro_digits_of(report, regret_of),
             .interval = report->instances > 2,
             .batch = !is_swept(report, "batch")};
  for (size_t i = 0; i < report->count; i++) s.learnt |= isfinite(report->row[i].learnt);
  return s;
}

static void add_head(const faro_report *report, const shape *s, faro_text *out) {
  faro_text_add(out, "%% faro %s, experiment %s, seed %llu, %zu instance%s; needs \\usepackage{booktabs}\n",
                report->version, report->name, (unsigned long long)report->seed, report->instances,
                report->instances == 1 ? "" : "s");
  faro_text_add(out, "\\begin{tabular}{");
  for (size_t i = 0; i < report->sweeps; i++) faro_text_add(out, "r");
  faro_text_add(out, "lr%s%s%sl}\n\\toprule\n", s->interval ? "c" : "", s->learnt ? "r" : "",
                s->batch ? "r" : "");
  for (size_t i = 0; i < report->sweeps; i++) {
    add_escaped(out, report->sweep[i]);
    faro_text_add(out, " & ");
  }
  faro_text_add(out, "algorithm & %s%s%s%s & claim \\\\\n\\midrule\n", report->measure->name,
                s->interval ? " & 95\\,\\% interval" : "", s->learnt ? " & learnt" : "",
                s->batch ? " & batch" : "");
}

static void add_row(const faro_report *report, const shape *s, const faro_view_row *row, faro_text *out) {
  char text[2][32];
  for (size_t i = 0; i < report->sweeps; i++) {
    add_escaped(out, row->at[i]);
    faro_text_add(out, " & ");
  }
  add_escaped(out, row->label);
  faro_text_add(out, " & $%s$", faro_digits_text(&s->digits, row->regret.mean, text[0]));
  if (s->interval)
    faro_text_add(out, " & $[%s, %s]$", faro_digits_text(&s->digits, row->low, text[0]),
                  faro_digits_text(&s->digits, row->high, text[1]));
  if (s->learnt && isfinite(row->learnt))
    faro_text_add(out, " & $%s\\,\\%%$", faro_percent(row->learnt, text[0]));
  else if (s->learnt) faro_text_add(out, " & --");
  if (s->batch && row->batch > 0)
    faro_text_add(out, " & $%.0f%s$", row->batch, row->growth > 1 ? "\\ldots" : "");
  else if (s->batch) faro_text_add(out, " & auto");
  faro_text_add(out, " & ");
  add_claim(row, out);
  faro_text_add(out, " \\\\\n");
}

char *faro_report_latex(const faro_report *report) {
  faro_text out = FARO_TEXT_INIT;
  const shape s = shape_of(report);
  add_head(report, &s, &out);
  for (size_t i = 0; i < report->count; i++) {
    const faro_view_row *row = &report->row[i];
    if (i > 0 && report->sweeps > 0 && strcmp(row->at[0], row[-1].at[0]) != 0)
      faro_text_add(&out, "\\addlinespace\n");
    add_row(report, &s, row, &out);
  }
  faro_text_add(&out, "\\bottomrule\n\\end{tabular}\n");
  if (out.failed) faro_text_clear(&out);
  return out.data;
}
