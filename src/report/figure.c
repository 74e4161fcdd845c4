/* figure: see the header. */
#include "report/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows belong to one line if they differ only in x and in the panel. */
static bool same_line(const faro_report *report, const faro_view_row *a, const faro_view_row *b) {
  return faro_view_alike(report, a, b, report->x, report->panels);
}

static bool same_panel(const faro_report *report, const faro_view_row *a, const faro_view_row *b) {
  return report->panels < 0 || strcmp(a->at[report->panels], b->at[report->panels]) == 0;
}

static bool is_standing(const faro_view_row *row, const char *standing) {
  return strcmp(row->standing, standing) == 0;
}

/* Assigns every row its line and its panel, in the order of first appearance. */
static void group_rows(faro_figure *f) {
  const faro_report *report = f->report;
  for (size_t r = 0; r < report->count; r++) {
    const faro_view_row *row = &report->row[r];
    size_t s = 0;
    while (s < f->lines && !same_line(report, row, &report->row[f->line[s].first])) s++;
    if (s == f->lines && s < FARO_LINES_MAX) f->line[f->lines++] = (faro_line){.first = r};
    if (s < f->lines) {
      f->line[s].rows++;
      f->line[s].unproven += is_standing(row, "not proven");
      f->line[s].result += row->regret.mean;
    }
    size_t p = 0;
    while (p < f->panels && !same_panel(report, row, &report->row[f->panel[p]])) p++;
    if (p == f->panels && p < FARO_PANELS_MAX) f->panel[f->panels++] = r;
    f->line_of[r] = s;
    f->panel_of[r] = p;
  }
  for (size_t s = 0; s < f->lines; s++) f->line[s].result /= (double)f->line[s].rows;
}

/* Insertion sort: stable, so that ties stay in the order of the file. */
static void order_lines(faro_figure *f) {
  for (size_t i = 0; i < f->lines; i++) {
    size_t k = i;
    for (; k > 0 && f->line[f->order[k - 1]].result > f->line[i].result; k--) f->order[k] = f->order[k - 1];
    f->order[k] = i;
  }
}

static const faro_view_row *row_of(const faro_figure *f, size_t line) {
  return &f->report->row[f->line[line].first];
}

/* Whether a line is the best with its trust: of those that are proven, if a claim can be. */
static bool leads(const faro_figure *f, size_t line) {
  const faro_view_row *row = row_of(f, line);
  if (is_standing(row, "not proven")) return false;
  for (size_t i = 0; f->order[i] != line; i++) {
    const faro_view_row *better = row_of(f, f->order[i]);
    if (!is_standing(better, "not proven") && strcmp(better->trust, row->trust) == 0) return false;
  }
  return true;
}

/* The best line without privacy has the ink of the text. With more lines than colours, the best of
 * each trust model are coloured first, then the others by their result. */
static void choose_colours(faro_figure *f) {
  int spare = FARO_COLOURS - 1;
  bool taken[FARO_LINES_MAX] = {false};
  size_t ink = f->lines;
  for (size_t i = 0; i < f->lines && ink == f->lines; i++)
    if (is_standing(row_of(f, f->order[i]), "no privacy")) ink = f->order[i];
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < f->lines && spare > 0; i++) {
      const size_t line = f->order[i];
      if (line == ink || taken[line] || (pass == 0 && !leads(f, line))) continue;
      taken[line] = true;
      spare--;
    }
  int next = 1;
  for (size_t i = 0; i < f->lines; i++) {
    const size_t line = f->order[i];
    if (!taken[line] && ink == f->lines) ink = line; /* the seventh colour, if all have a claim */
    f->line[line].colour = line == ink ? 0 : taken[line] ? next++ : FARO_GREY;
  }
}

/* A point of a curve as the figure shows it. */
static faro_view_point shown(const faro_report *report, faro_view_point point) {
  if (!report->per_round || !(point.round > 0)) return point;
  point.mean /= point.round;
  point.low /= point.round;
  point.high /= point.round;
  return point;
}

/* Logarithmic if x is a number that was swept over a wide range, or if results differ by much, so
 * that power laws are straight and small values can be seen beside large ones. */
static bool wants_log(const faro_figure *f) {
  const faro_report *report = f->report;
  if (report->x < 0 || !(f->x.low > 0)) return false;
  double least = INFINITY;
  double most = 0;
  size_t values = 0;
  for (size_t r = 0; r < report->count; r++) {
    least = fmin(least, report->row[r].regret.mean);
    most = fmax(most, report->row[r].regret.mean);
    if (!isfinite(report->row[r].place[report->x])) return false;
    values += f->line_of[r] == 0 && f->panel_of[r] == 0;
  }
  return least > 0 && values >= 3 && (f->x.high / f->x.low >= 100 || most / least >= 20);
}

/* A band that is wider than this does not stretch the axis: a few instances say little. */
static double seen_high(double high, double mean) { return isnan(high) ? mean : fmin(high, 3 * mean); }
static double seen_low(double low, double mean) { return isnan(low) ? mean : fmax(low, mean / 3); }

static void scale_x(faro_figure *f) {
  const faro_report *report = f->report;
  f->x = (faro_axis){.low = INFINITY, .high = -INFINITY};
  for (size_t r = 0; r < report->count; r++) {
    const faro_view_row *row = &report->row[r];
    if (report->x < 0) faro_axis_cover(&f->x, 0);
    const double x = report->x < 0 ? row->curve[row->points - 1].round : row->place[report->x];
    if (isfinite(x)) faro_axis_cover(&f->x, x);
  }
  if (!(f->x.low < f->x.high))
    f->x = (faro_axis){.low = isfinite(f->x.low) ? f->x.low - 1 : 0,
                       .high = isfinite(f->x.high) ? f->x.high + 1 : 1};
  f->x.log = report->x >= 0 && f->x.low > 0 && f->x.high / f->x.low >= 20;
}

static void cover_row(faro_figure *f, const faro_view_row *row) {
  const faro_report *report = f->report;
  for (size_t k = 0; report->x < 0 && k < row->points; k++) {
    const faro_view_point point = shown(report, row->curve[k]);
    faro_axis_cover(&f->y, seen_high(point.high, point.mean));
  }
  if (report->x < 0) return;
  faro_axis_cover(&f->y, seen_high(row->high, row->regret.mean));
  if (f->y.log) faro_axis_cover(&f->y, seen_low(row->low, row->regret.mean));
  if (f->y.log && row->least > 0) faro_axis_cover(&f->y, row->least);
}

/* Makes room for simple play if that does not cost the lines much of theirs. */
static void cover_references(faro_figure *f) {
  const double high = f->y.high;
  for (size_t i = 0; i < FARO_REFERENCES * f->panels; i++) {
    faro_trace t;
    faro_figure_reference(f, i % FARO_REFERENCES, i / FARO_REFERENCES, &t);
    for (size_t k = 0; k < t.count; k++)
      if (t.point[k].mean <= 1.3 * high) faro_axis_cover(&f->y, t.point[k].mean);
  }
}

static void scale_y(faro_figure *f) {
  const bool log = wants_log(f);
  f->y = (faro_axis){.low = log ? (double)INFINITY : 0, .high = -INFINITY, .log = log};
  for (size_t r = 0; r < f->report->count; r++) cover_row(f, &f->report->row[r]);
  cover_references(f);
  if (log && !(f->y.low > 0 && isfinite(f->y.high))) f->y = (faro_axis){.low = 0, .high = 1}; /* stored run */
  if (!(f->y.high > 0 && isfinite(f->y.high))) f->y.high = 1;
  faro_axis_round(&f->y);
}

bool faro_figure_init(faro_figure *f, const faro_report *report) {
  *f = (faro_figure){.report = report, .line_of = calloc(2 * report->count, sizeof *f->line_of)};
  if (!f->line_of) return false;
  f->panel_of = f->line_of + report->count;
  group_rows(f);
  order_lines(f);
  choose_colours(f);
  scale_x(f);
  scale_y(f);
  return true;
}

void faro_figure_clear(faro_figure *f) { free(f->line_of); }

/* Every second point if there are many: finer than the figure can show. */
static void trace_curve(const faro_figure *f, const faro_view_row *row, faro_trace *t) {
  const size_t stride = row->points > FARO_THIN ? 2 : 1;
  for (size_t k = (row->points - 1) % stride; k < row->points; k += stride) {
    t->bound[t->count] = 0;
    t->point[t->count++] = shown(f->report, row->curve[k]);
  }
}

static void trace_row(const faro_view_row *row, double x, faro_trace *t) {
  size_t k = t->count++;
  for (; k > 0 && t->point[k - 1].round > x; k--) {
    t->point[k] = t->point[k - 1];
    t->bound[k] = t->bound[k - 1];
  }
  t->point[k] = (faro_view_point){
      .round = x, .mean = row->regret.mean, .sd = row->regret.sd, .low = row->low, .high = row->high};
  t->bound[k] = row->least;
}

void faro_figure_trace(const faro_figure *f, size_t line, size_t panel, faro_trace *t) {
  t->count = 0;
  t->dashed = false;
  for (size_t r = 0; r < f->report->count && t->count < FARO_CURVE_POINTS; r++) {
    const faro_view_row *row = &f->report->row[r];
    if (f->line_of[r] != line || f->panel_of[r] != panel) continue;
    t->dashed |= is_standing(row, "not proven");
    if (f->report->x < 0) {
      trace_curve(f, row, t);
      return;
    }
    if (isfinite(row->place[f->report->x])) trace_row(row, row->place[f->report->x], t);
  }
}

/* Adds what simple play gets at a row's x. False if another row there says something else. */
static bool add_reference(const faro_view_row *row, double x, double value, faro_trace *t) {
  for (size_t k = 0; k < t->count; k++)
    if (t->point[k].round == x) return fabs(t->point[k].mean - value) <= 1e-9 * value;
  if (t->count == FARO_CURVE_POINTS) return false;
  trace_row(row, x, t);
  for (size_t k = 0; k < t->count; k++)
    if (t->point[k].round == x) t->point[k].mean = t->point[k].low = t->point[k].high = value;
  return true;
}

const char *faro_figure_reference_name(const faro_figure *f, size_t reference) {
  if (reference == 0) return "uniform play";
  return strcmp(f->report->measure->name, "error-rate") == 0 ? "most frequent class" : "best single arm";
}

void faro_figure_reference(const faro_figure *f, size_t reference, size_t panel, faro_trace *t) {
  t->count = 0;
  t->dashed = false;
  bool same = reference == 0 || faro_view_has_rows(f->report);
  const bool rounds = f->report->x < 0;
  for (size_t r = 0; same && r < f->report->count; r++) {
    const faro_view_row *row = &f->report->row[r];
    if (f->panel_of[r] != panel) continue;
    const double x = rounds ? row->curve[row->points - 1].round : row->place[f->report->x];
    const double all = reference == 0 ? row->uniform : row->fixed;
    const double value = f->report->per_round ? all / row->rounds : all;
    same = isfinite(value) && isfinite(x) && add_reference(row, x, value, t);
  }
  if (!same || (rounds && t->count != 1)) t->count = 0;
  if (t->count != 1 || !rounds) return;
  t->point[1] = t->point[0]; /* a regret grows by the same in each round, a mean stays */
  t->count = 2;
  t->point[0].round = 0;
  if (!f->report->per_round && !faro_view_has_rows(f->report))
    t->point[0].mean = t->point[0].low = t->point[0].high = 0;
}

bool faro_figure_bounded(const faro_figure *f) {
  for (size_t r = 0; f->report->x >= 0 && r < f->report->count; r++)
    if (f->report->row[r].least > 0) return true;
  return false;
}

void faro_figure_add_name(const faro_figure *f, size_t line, faro_text *out) {
  const faro_view_row *row = row_of(f, line);
  faro_text_add(out, "%s", row->label);
  for (int k = 0; k < (int)f->report->sweeps; k++)
    if (k != f->report->x && k != f->report->panels)
      faro_text_add(out, ", %s %s", f->report->sweep[k], row->at[k]);
  if (f->line[line].unproven == f->line[line].rows) faro_text_add(out, " (not proven)");
  else if (f->line[line].unproven > 0) faro_text_add(out, " (not proven where dashed)");
  if (row->rewards_only && faro_view_rewards_differ(f->report)) faro_text_add(out, " (rewards only)");
}

void faro_figure_add_panel(const faro_figure *f, size_t panel, faro_text *out) {
  const int key = f->report->panels;
  if (key >= 0) faro_text_add(out, "%s = %s", f->report->sweep[key], f->report->row[f->panel[panel]].at[key]);
}

const char *faro_figure_x_name(const faro_figure *f) {
  return f->report->x < 0 ? "round (one user each)" : f->report->sweep[f->report->x];
}

const char *faro_figure_y_name(const faro_figure *f) {
  if (f->report->x >= 0) return f->report->measure->end;
  return f->report->per_round ? "pseudo-regret per round" : f->report->measure->course;
}

/* What claims leave out and assume, each once. */
static void add_limits(const faro_report *report, faro_text *out) {
  bool rewards = false;
  for (size_t i = 0; i < report->count; i++) {
    const char *assumes = report->row[i].assumes;
    rewards |= report->row[i].rewards_only;
    for (size_t j = 0; assumes && j < i; j++)
      if (report->row[j].assumes && strcmp(report->row[j].assumes, assumes) == 0) assumes = NULL;
    if (assumes) faro_text_add(out, " Assumed: %s.", assumes);
  }
  if (rewards) faro_text_add(out, " Rewards only: what was shown and played is not protected.");
}

void faro_figure_add_caption(const faro_figure *f, faro_text *out) {
  const size_t instances = f->report->instances;
  bool unproven = false;
  bool grey = false;
  for (size_t s = 0; s < f->lines; s++) {
    unproven |= f->line[s].unproven > 0;
    grey |= f->line[s].colour == FARO_GREY;
  }
  const char *y = faro_figure_y_name(f);
  faro_text_add(out, "%c%s against %s%s%s. ", y[0] >= 'a' && y[0] <= 'z' ? y[0] - 'a' + 'A' : y[0], y + 1,
                f->report->x < 0 ? "rounds" : f->report->sweep[f->report->x],
                f->panels > 1 ? ", a panel for each value of " : "",
                f->panels > 1 ? f->report->sweep[f->report->panels] : "");
  if (instances == 2) faro_text_add(out, "Lines: mean over 2 instances, too few for an interval.");
  else if (instances > 1)
    faro_text_add(out, "Lines: mean over %zu instances. Bands: 95 %% interval of the mean.", instances);
  else faro_text_add(out, "One instance: nothing says how much another would differ.");
  if (unproven) faro_text_add(out, " Dashed: the privacy claim is not proven.");
  add_limits(f->report, out);
  if (faro_figure_bounded(f)) faro_text_add(out, " Dotted: order of the lower bound, without its constant.");
  if (grey) faro_text_add(out, " Grey: lines after the seventh.");
}
