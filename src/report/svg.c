/* svg: the figure. The measure against rounds (or against a swept key), one panel for each value of
 * another key, all panels on the same scale. A line shows the mean, a band one standard deviation.
 *
 * Lines differ by colour (the palette of Okabe and Ito, safe for colour-blind readers) and by
 * marker, so that a grey print can still be read. A dashed line has a privacy claim that is not
 * proven. */
#include "report/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  PANEL_W = 300,
  SINGLE_W = 620, /* width of a single panel */
  PLOT_H = 230,
  GAP_X = 34,
  GAP_Y = 74,
  LEFT = 74,
  TOP = 90,
  PER_ROW = 3,
  LEGEND_ROW = 22,
  SERIES_MAX = 256,
  PANELS_MAX = 100,
  MARKERS = 5
};

static const char *const colour[] = {"#000000", "#0072B2", "#D55E00", "#009E73",
                                     "#CC79A7", "#E69F00", "#56B4E9"};
enum { COLOURS = sizeof colour / sizeof *colour };

typedef struct axis {
  double low, high;
  bool log;
} axis;

typedef struct series {
  size_t first;          /* index of a row in it */
  size_t rows, unproven; /* number of rows, and of those whose claim is not proven */
} series;

typedef struct figure {
  const faro_report *report;
  faro_text *out;
  size_t series_count, panels;
  series line[SERIES_MAX];
  size_t panel[PANELS_MAX]; /* index of a row in each panel */
  int plot_w;               /* width of a panel */
  size_t *place;            /* per row: its series, and in the second half its panel */
  axis x, y;
  bool labelled; /* the current panel has labels on its y axis: the first panel in each row of panels */
} figure;

void faro_markup_add(faro_text *out, const char *text) {
  for (; *text; text++) {
    switch (*text) {
    case '&': faro_text_add(out, "&amp;"); break;
    case '<': faro_text_add(out, "&lt;"); break;
    case '>': faro_text_add(out, "&gt;"); break;
    case '"': faro_text_add(out, "&quot;"); break;
    default: faro_text_add(out, "%c", *text);
    }
  }
}

void faro_markup_add_setting(faro_text *out, const faro_report *report) {
  faro_text plain = FARO_TEXT_INIT;
  faro_view_add_setting(report, &plain);
  if (plain.failed) out->failed = true;
  else faro_markup_add(out, plain.data);
  faro_text_clear(&plain);
}

/* Rows belong to one series if they differ only in x and in the panel. */
static bool same_series(const faro_report *report, const faro_view_row *a, const faro_view_row *b) {
  return faro_view_alike(report, a, b, report->x, report->panels);
}

static bool same_panel(const faro_report *report, const faro_view_row *a, const faro_view_row *b) {
  return report->panels < 0 || strcmp(a->at[report->panels], b->at[report->panels]) == 0;
}

/* Assigns every row its series and its panel, in the order of first appearance. */
static void group_rows(figure *f) {
  const faro_report *report = f->report;
  size_t *series_of = f->place;
  size_t *panel_of = f->place + report->count;
  for (size_t r = 0; r < report->count; r++) {
    const faro_view_row *row = &report->row[r];
    size_t s = 0;
    while (s < f->series_count && !same_series(report, row, &report->row[f->line[s].first])) s++;
    if (s == f->series_count && s < SERIES_MAX) f->line[f->series_count++] = (series){.first = r};
    if (s < f->series_count) {
      f->line[s].rows++;
      f->line[s].unproven += strcmp(row->standing, "not proven") == 0;
    }
    size_t p = 0;
    while (p < f->panels && !same_panel(report, row, &report->row[f->panel[p]])) p++;
    if (p == f->panels && p < PANELS_MAX) f->panel[f->panels++] = r;
    series_of[r] = s;
    panel_of[r] = p;
  }
}

static void cover(axis *a, double value) {
  a->low = fmin(a->low, value);
  a->high = fmax(a->high, value);
}

/* Distance between ticks: 1, 2 or 5 times a power of ten, about `count` of them. */
static double tick_step(double span, double count) {
  const double power = pow(10, floor(log10(span / count)));
  const double rest = span / count / power;
  return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

/* The next of 1, 2, 5, 10, 20, ... at or above a value, or with `down` at or below it. */
static double round_step(double value, bool down) {
  static const double digit[] = {1, 2, 5, 10};
  const double power = pow(10, floor(log10(value)));
  size_t i = 0;
  while (i < 3 && (down ? digit[i + 1] * power <= value : digit[i] * power < value)) i++;
  return digit[i] * power;
}

/* Uses logarithmic axes, so that power laws are straight lines and small values are visible next to
 * large ones, if x or y covers a wide range and every y is positive. */
static bool scale_log(figure *f) {
  const faro_report *report = f->report;
  if (report->slopes == 0) return false;
  double least = INFINITY;
  double most = 0;
  for (size_t r = 0; r < report->count; r++) {
    least = fmin(least, report->row[r].regret.mean);
    most = fmax(most, report->row[r].regret.mean);
  }
  if (!(f->x.high / f->x.low >= 100 || most / least >= 20)) return false;
  axis y = {.low = INFINITY, .high = -INFINITY, .log = true};
  for (size_t r = 0; r < report->count; r++) {
    const faro_spread *s = &report->row[r].regret;
    if (!(s->mean > 0)) return false;
    cover(&y, s->mean + s->sd);
    cover(&y, fmax(s->mean - s->sd, s->mean / 2)); /* a band that reaches down to 0 ends at the frame */
    if (report->row[r].least > 0) cover(&y, report->row[r].least);
  }
  y.low = round_step(y.low, true);
  y.high = round_step(y.high * (1 + 1e-9), false);
  if (!(y.low > 0 && isfinite(y.high))) return false; /* possible in a stored run */
  f->y = y;
  return true;
}

/* A point of a curve as the figure shows it. */
static faro_view_point shown(const faro_report *report, faro_view_point point) {
  if (!report->per_round || !(point.round > 0)) return point;
  point.mean /= point.round;
  point.sd /= point.round;
  return point;
}

static void scale_axes(figure *f) {
  const faro_report *report = f->report;
  f->x = (axis){.low = INFINITY, .high = -INFINITY};
  f->y = (axis){.low = 0, .high = 0};
  for (size_t r = 0; r < report->count; r++) {
    const faro_view_row *row = &report->row[r];
    if (report->x < 0) {
      cover(&f->x, 0);
      cover(&f->x, row->curve[row->points - 1].round);
      for (size_t k = 0; k < row->points; k++) {
        const faro_view_point point = shown(report, row->curve[k]);
        cover(&f->y, point.mean + point.sd);
      }
    } else {
      if (isfinite(row->place[report->x])) cover(&f->x, row->place[report->x]);
      cover(&f->y, row->regret.mean + row->regret.sd);
    }
  }
  if (!(f->x.low < f->x.high))
    f->x =
        (axis){.low = isfinite(f->x.low) ? f->x.low - 1 : 0, .high = isfinite(f->x.high) ? f->x.high + 1 : 1};
  f->x.log = report->x >= 0 && f->x.low > 0 && f->x.high / f->x.low >= 20;
  if (scale_log(f)) return;
  if (!(f->y.high > 0)) f->y.high = 1;
  const double step = tick_step(f->y.high, 5);
  f->y.high = ceil(f->y.high / step) * step;
}

/* The position of a value on its axis: 0 is the low end, 1 the high end. */
static double share_of(const axis *a, double value) {
  if (a->log) return log(value / a->low) / log(a->high / a->low);
  return (value - a->low) / (a->high - a->low);
}

static double at_x(const figure *f, double value) { return f->plot_w * share_of(&f->x, value); }
static double at_y(const figure *f, double value) {
  return PLOT_H * (1 - share_of(&f->y, fmax(value, f->y.low)));
}

/* 5000 stays, 20000 becomes 20k. */
static void add_tick_text(faro_text *out, double value) {
  if (fabs(value) >= 1e9) faro_text_add(out, "%g&#8239;G", value / 1e9);
  else if (fabs(value) >= 1e6) faro_text_add(out, "%g&#8239;M", value / 1e6);
  else if (fabs(value) >= 1e4) faro_text_add(out, "%g&#8239;k", value / 1e3);
  else faro_text_add(out, "%g", value);
}

static void add_x_tick(const figure *f, double value) {
  const double x = at_x(f, value);
  faro_text_add(f->out, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#333\"/>", x, PLOT_H, x,
                PLOT_H + 5);
  faro_text_add(f->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x, PLOT_H + 19);
  add_tick_text(f->out, value);
  faro_text_add(f->out, "</text>\n");
}

static void add_y_tick(const figure *f, double value) {
  const double y = at_y(f, value);
  faro_text_add(f->out, "<line x1=\"0\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>", y, f->plot_w,
                y);
  if (!f->labelled) return;
  faro_text_add(f->out, "<text x=\"-8\" y=\"%.1f\" text-anchor=\"end\">", y + 4);
  add_tick_text(f->out, value);
  faro_text_add(f->out, "</text>\n");
}

/* Ticks of a logarithmic axis: the powers of ten; also 2 and 5 times them if there are fewer than
 * two. */
static void add_log_ticks(const figure *f, const axis *a, void (*add)(const figure *, double)) {
  const int first = (int)ceil(log10(a->low) - 1e-9);
  const int last = (int)floor(log10(a->high) + 1e-9);
  for (int decade = first - 1; decade <= last; decade++)
    for (int digit = 1; digit <= 5; digit += digit == 1 ? 1 : 3) {
      const double value = digit * pow(10, decade);
      const bool inside = value >= a->low * (1 - 1e-9) && value <= a->high * (1 + 1e-9);
      if (inside && (digit == 1 || last <= first)) add(f, value);
    }
}

/* Ticks of a linear axis, about `count` of them. */
static void add_even_ticks(const figure *f, const axis *a, double count,
                           void (*add)(const figure *, double)) {
  const double step = tick_step(a->high - a->low, count);
  const long last = (long)floor(a->high / step + 1e-9);
  for (long k = (long)ceil(a->low / step - 1e-9); k <= last; k++) add(f, (double)k * step);
}

static void add_ticks(const figure *f, const axis *a, double count, void (*add)(const figure *, double)) {
  if (a->log) add_log_ticks(f, a, add);
  else add_even_ticks(f, a, count, add);
}

static const char *log_text(const axis *a) { return a->log ? " (logarithmic)" : ""; }

static void add_x_axis(const figure *f) {
  add_ticks(f, &f->x, 4, add_x_tick);
  const char *name = f->report->x < 0 ? "round (one user each)" : f->report->sweep[f->report->x];
  faro_text_add(f->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", f->plot_w / 2, PLOT_H + 38);
  faro_markup_add(f->out, name);
  faro_text_add(f->out, "%s</text>\n", log_text(&f->x));
}

static void add_y_axis(const figure *f) {
  add_ticks(f, &f->y, 5, add_y_tick);
  const faro_measure_text *measure = f->report->measure;
  const char *course = f->report->per_round ? "pseudo-regret per round" : measure->course;
  if (f->labelled)
    faro_text_add(f->out,
                  "<text transform=\"translate(-54 %d) rotate(-90)\" text-anchor=\"middle\">%s%s</text>\n",
                  PLOT_H / 2, f->report->x < 0 ? course : measure->end, log_text(&f->y));
}

static void add_marker(const figure *f, size_t style, double x, double y) {
  const char *c = colour[style % COLOURS];
  switch (style % MARKERS) {
  case 0: faro_text_add(f->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.4\" fill=\"%s\"/>", x, y, c); break;
  case 1:
    faro_text_add(f->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\" fill=\"%s\"/>", x - 3, y - 3,
                  c);
    break;
  case 2: faro_text_add(f->out, "<path d=\"M%.1f %.1fl4.2 7.2h-8.4z\" fill=\"%s\"/>", x, y - 4.6, c); break;
  case 3:
    faro_text_add(f->out, "<path d=\"M%.1f %.1fl4.4 4.4l-4.4 4.4l-4.4 -4.4z\" fill=\"%s\"/>", x, y - 4.4, c);
    break;
  default:
    faro_text_add(f->out,
                  "<path d=\"M%.1f %.1fl6 6m0 -6l-6 6\" stroke=\"%s\" stroke-width=\"2\" fill=\"none\"/>",
                  x - 3, y - 3, c);
  }
}

static void add_band(const figure *f, size_t style, const faro_view_point *point, size_t count) {
  faro_text_add(f->out, "<path fill=\"%s\" fill-opacity=\"0.14\" stroke=\"none\" d=\"M",
                colour[style % COLOURS]);
  for (size_t k = 0; k < count; k++)
    faro_text_add(f->out, "%.1f %.1f ", at_x(f, point[k].round), at_y(f, point[k].mean + point[k].sd));
  for (size_t k = count; k-- > 0;)
    faro_text_add(f->out, "%.1f %.1f ", at_x(f, point[k].round), at_y(f, point[k].mean - point[k].sd));
  faro_text_add(f->out, "z\"/>\n");
}

static void add_line(const figure *f, size_t style, const faro_view_point *point, size_t count, bool dashed) {
  faro_text_add(f->out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\"%s d=\"M",
                colour[style % COLOURS], dashed ? " stroke-dasharray=\"6 3\"" : "");
  for (size_t k = 0; k < count; k++)
    faro_text_add(f->out, "%.1f %.1f ", at_x(f, point[k].round), at_y(f, point[k].mean));
  faro_text_add(f->out, "\"/>\n");
  const size_t every = count > 12 ? count / 6 : 1;
  /* keeps markers of different lines apart */
  const size_t offset = count > 12 ? style % every * 5 % every : 0;
  for (size_t k = offset; k < count; k += every)
    add_marker(f, style, at_x(f, point[k].round), at_y(f, point[k].mean));
}

/* The lower bound, if there is one at every point: dotted, without markers. */
static void add_bound(const figure *f, size_t style, const faro_view_point *point, size_t count) {
  for (size_t k = 0; k < count; k++)
    if (!(point[k].lower > 0)) return;
  faro_text_add(f->out,
                "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.4\" stroke-dasharray=\"1 4\" d=\"M",
                colour[style % COLOURS]);
  for (size_t k = 0; k < count; k++)
    faro_text_add(f->out, "%.1f %.1f ", at_x(f, point[k].round), at_y(f, point[k].lower));
  faro_text_add(f->out, "\"/>\n");
}

static bool has_bound(const figure *f) {
  for (size_t r = 0; f->report->x >= 0 && r < f->report->count; r++)
    if (f->report->row[r].least > 0) return true;
  return false;
}

/* What a series shows in a panel: the curve of its only row, or its rows in the order of x, with
 * the lower bound as `lower`. */
typedef struct trace {
  faro_view_point point[FARO_CURVE_POINTS];
  size_t count;
  bool dashed;
} trace;

static void follow(const figure *f, size_t style, size_t panel, trace *t) {
  t->count = 0;
  t->dashed = false;
  for (size_t r = 0; r < f->report->count && t->count < FARO_CURVE_POINTS; r++) {
    const faro_view_row *row = &f->report->row[r];
    if (f->place[r] != style || f->place[f->report->count + r] != panel) continue;
    t->dashed |= strcmp(row->standing, "not proven") == 0;
    if (f->report->x < 0) {
      for (size_t k = 0; k < row->points; k++) t->point[k] = shown(f->report, row->curve[k]);
      t->count = row->points;
      return;
    }
    const double x = row->place[f->report->x];
    if (!isfinite(x)) continue;
    size_t k = t->count++;
    for (; k > 0 && t->point[k - 1].round > x; k--) t->point[k] = t->point[k - 1];
    t->point[k] =
        (faro_view_point){.round = x, .mean = row->regret.mean, .sd = row->regret.sd, .lower = row->least};
  }
}

static void add_panel(figure *f, size_t index) {
  const faro_view_row *panel = &f->report->row[f->panel[index]];
  const size_t column = index % PER_ROW;
  faro_text_add(f->out, "<g transform=\"translate(%zu %zu)\">\n", LEFT + column * (size_t)(f->plot_w + GAP_X),
                TOP + index / PER_ROW * (PLOT_H + GAP_Y));
  if (f->report->panels >= 0) {
    faro_text_add(f->out, "<text x=\"%d\" y=\"-10\" text-anchor=\"middle\" font-size=\"13\">", f->plot_w / 2);
    faro_markup_add(f->out, f->report->sweep[f->report->panels]);
    faro_text_add(f->out, " = ");
    faro_markup_add(f->out, panel->at[f->report->panels]);
    faro_text_add(f->out, "</text>\n");
  }
  f->labelled = column == 0;
  add_y_axis(f);
  add_x_axis(f);
  for (int pass = 0; pass < 2; pass++) /* all bands are under all lines */
    for (size_t s = 0; s < f->series_count; s++) {
      trace t;
      follow(f, s, index, &t);
      if (t.count > 0 && pass == 0) add_band(f, s, t.point, t.count);
      if (t.count > 0 && pass == 1) add_line(f, s, t.point, t.count, t.dashed);
      if (t.count > 0 && pass == 1 && f->report->x >= 0) add_bound(f, s, t.point, t.count);
    }
  faro_text_add(f->out,
                "<rect x=\"0\" y=\"0\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#333\"/>\n</g>\n",
                f->plot_w, PLOT_H);
}

/* The name of a series: its label, the values of sweeps other than x and panels, and its
 * standing. */
static void add_series_name(const figure *f, size_t s, faro_text *out) {
  const series *line = &f->line[s];
  const faro_view_row *row = &f->report->row[line->first];
  faro_markup_add(out, row->label);
  for (int k = 0; k < (int)f->report->sweeps; k++)
    if (k != f->report->x && k != f->report->panels) {
      faro_text_add(out, ", ");
      faro_markup_add(out, f->report->sweep[k]);
      faro_text_add(out, " ");
      faro_markup_add(out, row->at[k]);
    }
  if (line->unproven == line->rows) faro_text_add(out, " (not proven)");
  else if (line->unproven > 0) faro_text_add(out, " (not proven where dashed)");
}

/* Width of the longest name, at about seven units per letter. */
static size_t legend_width(const figure *f) {
  size_t longest = 0;
  for (size_t s = 0; s < f->series_count; s++) {
    faro_text name = FARO_TEXT_INIT;
    add_series_name(f, s, &name);
    if (name.length > longest) longest = name.length;
    faro_text_clear(&name);
  }
  return 7 * longest + 64;
}

static void add_legend_entry(const figure *f, size_t s, size_t x, size_t y) {
  const bool dashed = f->line[s].unproven == f->line[s].rows;
  faro_text_add(f->out, "<path d=\"M%zu %zuh30\" stroke=\"%s\" stroke-width=\"1.8\"%s/>", x, y,
                colour[s % COLOURS], dashed ? " stroke-dasharray=\"6 3\"" : "");
  add_marker(f, s, (double)x + 15, (double)y);
  faro_text_add(f->out, "<text x=\"%zu\" y=\"%zu\">", x + 38, y + 4);
  add_series_name(f, s, f->out);
  faro_text_add(f->out, "</text>\n");
}

static void add_head(const figure *f, size_t width, size_t height) {
  faro_text_add(
      f->out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %zu %zu\" width=\"%zu\" height=\"%zu\" "
      "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#111\" role=\"img\">\n<title>",
      width, height, width, height);
  faro_markup_add(f->out, f->report->title);
  faro_text_add(f->out,
                "</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
                "<text x=\"%zu\" y=\"30\" text-anchor=\"middle\" font-size=\"16\" font-weight=\"bold\">",
                width / 2);
  faro_markup_add(f->out, f->report->title);
  faro_text_add(f->out, "</text>\n<text x=\"%zu\" y=\"50\" text-anchor=\"middle\" fill=\"#555\">", width / 2);
  faro_markup_add_setting(f->out, f->report);
  faro_text_add(f->out, "</text>\n");
}

static size_t greater(size_t a, size_t b) { return a > b ? a : b; }

void faro_svg_add(const faro_report *report, faro_text *out) {
  figure f = {.report = report, .out = out, .place = calloc(2 * report->count, sizeof *f.place)};
  if (!f.place) {
    out->failed = true;
    return;
  }
  group_rows(&f);
  scale_axes(&f);
  f.plot_w = f.panels == 1 ? SINGLE_W : PANEL_W;
  faro_text setting = FARO_TEXT_INIT;
  faro_view_add_setting(report, &setting); /* to measure its length */
  const size_t words = greater(8 * strlen(report->title), 6 * setting.length);
  faro_text_clear(&setting);
  const size_t columns = f.panels < PER_ROW ? f.panels : PER_ROW;
  const size_t rows = (f.panels + PER_ROW - 1) / PER_ROW;
  const size_t entry = legend_width(&f);
  const size_t width = LEFT + greater(greater(columns * (size_t)(f.plot_w + GAP_X), entry), words + LEFT);
  const size_t per_row = greater((width - LEFT) / entry, 1);
  const size_t legend = TOP + rows * (PLOT_H + GAP_Y);
  const size_t height = legend + (f.series_count + per_row - 1) / per_row * LEGEND_ROW + 34;
  add_head(&f, width, height);
  for (size_t p = 0; p < f.panels; p++) add_panel(&f, p);
  for (size_t s = 0; s < f.series_count; s++)
    add_legend_entry(&f, s, LEFT + s % per_row * entry, legend + s / per_row * LEGEND_ROW);
  faro_text_add(out,
                "<text x=\"%d\" y=\"%zu\" fill=\"#555\" font-size=\"11\">Mean over %zu instances; band: one "
                "standard deviation on either side. Dashed: the claim is not proven.%s</text>\n</svg>\n",
                LEFT, height - 14, report->instances,
                has_bound(&f) ? " Dotted: order of the lower bound, without its constant." : "");
  free(f.place);
}

char *faro_report_svg(const faro_report *report) {
  faro_text out = FARO_TEXT_INIT;
  faro_svg_add(report, &out);
  if (out.failed) faro_text_clear(&out);
  return out.data;
}
