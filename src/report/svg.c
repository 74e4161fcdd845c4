/* svg: draws the figure. A line shows the mean, a band the 95 % interval of the mean. All panels
 * have the same scale.
 *
 * Lines differ by colour (the palette of Okabe and Ito, safe for colour-blind readers) and by
 * marker, so that a grey print can still be read. A dashed line has a privacy claim that is not
 * proven. Text, frame and grid have the current colour, so that the page can set it. The names of
 * the lines stand at their ends if there is one panel and room, else below in the order of their
 * results. */
#include "report/svg.h"

#include <math.h>
#include <string.h>

#include "base/names.h"

enum { MARKERS = 5 };

static const char *const palette[FARO_COLOURS] = {"currentColor", "#0072B2", "#D55E00", "#009E73",
                                                  "#CC79A7",      "#E69F00", "#56B4E9"};

typedef struct sheet {
  const faro_figure *figure;
  faro_text *out;
  double font; /* size of the letters; other lengths follow from it */
  double width, left, right, gap, plot_w, plot_h, pitch;
  size_t columns;
  bool direct; /* names stand at the ends of the lines */
  double y;    /* where the next part of the figure starts */
} sheet;

const char *faro_figure_size_name(faro_figure_size size) {
  static const char *const name[] = FARO_NAMES(FARO_FIGURE_LIST);
  return name[size];
}

FARO_FIND(faro_figure_size, FARO_FIGURE_LIST)

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

/* Characters of a UTF-8 text. */
static double letters(const char *text) {
  size_t n = 0;
  for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
  return (double)n;
}

static double text_width(const sheet *s, const char *text) { return 0.54 * s->font * letters(text); }

static const char *colour_of(const sheet *s, size_t line) {
  const int colour = s->figure->line[line].colour;
  return colour == FARO_GREY ? "#8c8c8c" : palette[colour];
}

static double at_x(const sheet *s, double value) {
  const double share = faro_axis_share(&s->figure->x, value);
  /* the first and the last of points that were run stay clear of the frame */
  return s->plot_w * (s->figure->report->x < 0 ? share : 0.03 + 0.94 * share);
}

static double at_y(const sheet *s, double value) {
  return s->plot_h * (1 - faro_axis_share(&s->figure->y, value));
}

/* 5000 stays, 20000 becomes 20k. */
static void add_number(faro_text *out, double value) {
  const double size = fabs(value);
  if (size >= 1e9) faro_text_add(out, "%g&#8239;G", value / 1e9);
  else if (size >= 1e6) faro_text_add(out, "%g&#8239;M", value / 1e6);
  else if (size >= 1e4) faro_text_add(out, "%g&#8239;k", value / 1e3);
  else faro_text_add(out, "%g", value);
}

static void add_x_tick(const sheet *s, double value, bool labelled) {
  const double x = at_x(s, value);
  faro_text_add(s->out, "<path d=\"M%.1f %.1fv%.1f\" stroke=\"currentColor\"/>", x, s->plot_h,
                labelled ? 0.4 * s->font : 0.22 * s->font);
  if (!labelled) return;
  faro_text_add(s->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x, s->plot_h + 1.5 * s->font);
  add_number(s->out, value);
  faro_text_add(s->out, "</text>\n");
}

static void add_y_tick(const sheet *s, double value, bool labelled, bool named) {
  const double y = at_y(s, value);
  if (labelled)
    faro_text_add(s->out, "<path d=\"M0 %.1fh%.1f\" stroke=\"currentColor\" stroke-opacity=\"0.14\"/>", y,
                  s->plot_w);
  faro_text_add(s->out, "<path d=\"M0 %.1fh-%.1f\" stroke=\"currentColor\"/>", y,
                labelled ? 0.4 * s->font : 0.22 * s->font);
  if (!named || !labelled) return;
  faro_text_add(s->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", -0.65 * s->font,
                y + 0.35 * s->font);
  add_number(s->out, value);
  faro_text_add(s->out, "</text>\n");
}

/* The values of x that were run, in ascending order; returns how many. */
static size_t find_places(const faro_figure *f, double out[static FARO_TICKS_MAX]) {
  size_t n = 0;
  for (size_t r = 0; r < f->report->count; r++) {
    const double x = f->report->row[r].place[f->report->x];
    size_t k = 0;
    while (k < n && out[k] < x) k++;
    if (!isfinite(x) || n == FARO_TICKS_MAX || (k < n && out[k] == x)) continue;
    memmove(&out[k + 1], &out[k], (n - k) * sizeof *out);
    out[k] = x;
    n++;
  }
  return n;
}

/* Ticks where something was run, labelled as far as there is room. */
static void add_run_ticks(const sheet *s) {
  double place[FARO_TICKS_MAX];
  const size_t n = find_places(s->figure, place);
  double end = -INFINITY; /* of the label before */
  for (size_t i = 0; i < n; i++) {
    faro_text label = FARO_TEXT_INIT;
    add_number(&label, place[i]);
    /* the space between number and unit is one letter, not seven */
    const double half =
        label.failed ? 0 : 0.27 * s->font * (letters(label.data) - (strchr(label.data, '&') ? 6 : 0));
    const bool fits = at_x(s, place[i]) - half > end;
    add_x_tick(s, place[i], fits);
    if (fits) end = at_x(s, place[i]) + half + 0.5 * s->font;
    faro_text_clear(&label);
  }
}

static void add_x_axis(const sheet *s, bool named) {
  const faro_figure *f = s->figure;
  faro_tick tick[FARO_TICKS_MAX];
  if (f->report->x >= 0) add_run_ticks(s);
  else
    for (size_t i = 0, n = faro_axis_ticks(&f->x, s->plot_w / (6 * s->font), tick); i < n; i++)
      add_x_tick(s, tick[i].value, tick[i].labelled);
  if (!named) return;
  faro_text_add(s->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", s->plot_w / 2,
                s->plot_h + 3 * s->font);
  faro_markup_add(s->out, faro_figure_x_name(f));
  faro_text_add(s->out, "</text>\n");
}

static void add_y_axis(const sheet *s, bool named) {
  faro_tick tick[FARO_TICKS_MAX];
  const size_t n = faro_axis_ticks(&s->figure->y, fmin(s->plot_h / (3.5 * s->font), 7), tick);
  for (size_t i = 0; i < n; i++) add_y_tick(s, tick[i].value, tick[i].labelled, named);
  if (named)
    faro_text_add(s->out,
                  "<text transform=\"translate(%.1f %.1f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
                  1.2 * s->font - s->left, s->plot_h / 2, faro_figure_y_name(s->figure));
}

static void add_marker(const sheet *s, size_t line, double x, double y) {
  const char *c = colour_of(s, line);
  faro_text *out = s->out;
  switch (line % MARKERS) {
  case 0: faro_text_add(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\" fill=\"%s\"/>", x, y, c); break;
  case 1:
    faro_text_add(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\" fill=\"%s\"/>", x - 3, y - 3, c);
    break;
  case 2: faro_text_add(out, "<path d=\"M%.1f %.1fl4 6.8h-8z\" fill=\"%s\"/>", x, y - 4.2, c); break;
  case 3:
    faro_text_add(out, "<path d=\"M%.1f %.1fl4.2 4.2l-4.2 4.2l-4.2 -4.2z\" fill=\"%s\"/>", x, y - 4.2, c);
    break;
  default:
    faro_text_add(out,
                  "<path d=\"M%.1f %.1fl6 6m0 -6l-6 6\" stroke=\"%s\" stroke-width=\"2\" fill=\"none\"/>",
                  x - 3, y - 3, c);
  }
}

static void add_band(const sheet *s, size_t line, const faro_trace *t) {
  if (isnan(t->point[0].low)) return; /* fewer than three instances have none */
  faro_text_add(s->out, "<path fill=\"%s\" fill-opacity=\"%s\" stroke=\"none\" d=\"M", colour_of(s, line),
                s->figure->lines > 4 ? "0.1" : "0.16");
  for (size_t k = 0; k < t->count; k++)
    faro_text_add(s->out, "%.1f %.1f ", at_x(s, t->point[k].round), at_y(s, t->point[k].high));
  for (size_t k = t->count; k-- > 0;)
    faro_text_add(s->out, "%.1f %.1f ", at_x(s, t->point[k].round), at_y(s, t->point[k].low));
  faro_text_add(s->out, "z\"/>\n");
}

/* Every point has a marker if x was swept: there something was run. A curve has a few, and those of
 * different lines are kept apart. */
static void add_markers(const sheet *s, size_t line, const faro_trace *t) {
  const bool swept = s->figure->report->x >= 0;
  const size_t every = swept || t->count <= 12 ? 1 : t->count / 6;
  for (size_t k = every > 1 ? line % every * 5 % every : 0; k < t->count; k += every)
    add_marker(s, line, at_x(s, t->point[k].round), at_y(s, t->point[k].mean));
}

static void add_line(const sheet *s, size_t line, const faro_trace *t) {
  const bool grey = s->figure->line[line].colour == FARO_GREY;
  faro_text_add(s->out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s d=\"M", colour_of(s, line),
                grey ? "1.2" : "1.8", t->dashed ? " stroke-dasharray=\"6 3\"" : "");
  for (size_t k = 0; k < t->count; k++)
    faro_text_add(s->out, "%.1f %.1f ", at_x(s, t->point[k].round), at_y(s, t->point[k].mean));
  faro_text_add(s->out, "\"/>\n");
  add_markers(s, line, t);
}

/* The lower bound, if there is one at every point: dotted, without markers. */
static void add_bound(const sheet *s, size_t line, const faro_trace *t) {
  for (size_t k = 0; k < t->count; k++)
    if (!(t->bound[k] > 0)) return;
  faro_text_add(s->out,
                "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.4\" stroke-dasharray=\"1 4\" d=\"M",
                colour_of(s, line));
  for (size_t k = 0; k < t->count; k++)
    faro_text_add(s->out, "%.1f %.1f ", at_x(s, t->point[k].round), at_y(s, t->bound[k]));
  faro_text_add(s->out, "\"/>\n");
}

/* Whether another line of simple play ends so little above this one that its name would be on the
 * same place. */
static bool is_crowded(const sheet *s, size_t reference, size_t panel, double y) {
  for (size_t r = 0; r < FARO_REFERENCES; r++) {
    faro_trace t;
    if (r == reference) continue;
    faro_figure_reference(s->figure, r, panel, &t);
    if (t.count == 0) continue;
    const double other = at_y(s, t.point[t.count - 1].mean);
    if (other <= y && y - other < 1.6 * s->font && (other < y || r < reference)) return true;
  }
  return false;
}

/* The name of a line of simple play, above it near its end; or below it, if it is steep or another
 * name is above. */
static void add_reference_name(const sheet *s, const char *name, double x, double y, bool below) {
  const bool above = x > 7.5 * s->font;
  faro_text_add(s->out,
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%.1f\" "
                "fill-opacity=\"0.75\">%s</text>\n",
                above ? x - 0.4 * s->font : x + 0.6 * s->font,
                above && !below ? y - 0.3 * s->font : y + s->font, above ? "end" : "start", 0.9 * s->font,
                name);
}

/* Simple play, as far as it is within the frame. */
static void add_reference(const sheet *s, size_t reference, size_t panel) {
  faro_trace t;
  faro_figure_reference(s->figure, reference, panel, &t);
  const double high = s->figure->y.high;
  size_t n = 0;
  while (n < t.count && t.point[n].mean <= high) n++;
  if (n == 1 && t.count == 2 && s->figure->report->x < 0) { /* straight: it leaves through the top */
    t.point[1].round *= high / t.point[1].mean;
    t.point[1].mean = high;
    n = 2;
  }
  if (n < 2) return;
  faro_text_add(s->out, "<path fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.55\" "
                        "stroke-width=\"1.2\" stroke-dasharray=\"2 3\" d=\"M");
  for (size_t k = 0; k < n; k++)
    faro_text_add(s->out, "%.1f %.1f ", at_x(s, t.point[k].round), at_y(s, t.point[k].mean));
  faro_text_add(s->out, "\"/>\n");
  const double x[2] = {at_x(s, t.point[n - 2].round), at_x(s, t.point[n - 1].round)};
  const double y[2] = {at_y(s, t.point[n - 2].mean), at_y(s, t.point[n - 1].mean)};
  add_reference_name(s, faro_figure_reference_name(s->figure, reference), 0.2 * x[0] + 0.8 * x[1],
                     0.2 * y[0] + 0.8 * y[1], is_crowded(s, reference, panel, y[1]));
}

static void add_name(const sheet *s, size_t line, double x, double y) {
  faro_text name = FARO_TEXT_INIT;
  faro_figure_add_name(s->figure, line, &name);
  faro_text_add(s->out, "<text x=\"%.1f\" y=\"%.1f\">", x, y);
  if (name.failed) s->out->failed = true;
  else faro_markup_add(s->out, name.data);
  faro_text_add(s->out, "</text>\n");
  faro_text_clear(&name);
}

/* Moves labels apart: `y` are sorted places; afterwards neighbours are at least `apart` from one
 * another, and all are within 0 and `most` if there is room. */
static void spread_out(double *y, size_t count, double apart, double most) {
  for (size_t i = 1; i < count; i++) y[i] = fmax(y[i], y[i - 1] + apart);
  double limit = most;
  for (size_t i = count; i-- > 0; limit = y[i] - apart) y[i] = fmin(y[i], limit);
}

/* The names at the ends of the lines, with a thread to each end. */
static void add_ends(const sheet *s) {
  const faro_figure *f = s->figure;
  size_t line[FARO_LINES_MAX];
  double end[FARO_LINES_MAX];
  double place[FARO_LINES_MAX];
  double x[FARO_LINES_MAX];
  size_t n = 0;
  for (size_t i = 0; i < f->lines; i++) {
    faro_trace t;
    faro_figure_trace(f, f->order[i], 0, &t);
    if (t.count == 0) continue;
    const double y = at_y(s, t.point[t.count - 1].mean);
    size_t k = n++;
    for (; k > 0 && end[k - 1] > y; k--) {
      end[k] = end[k - 1];
      x[k] = x[k - 1];
      line[k] = line[k - 1];
    }
    end[k] = y;
    x[k] = at_x(s, t.point[t.count - 1].round);
    line[k] = f->order[i];
  }
  memcpy(place, end, n * sizeof *place);
  spread_out(place, n, 1.25 * s->font, s->plot_h);
  for (size_t i = 0; i < n; i++) {
    const double from = s->plot_w + 1.4 * s->font;
    faro_text_add(s->out, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"currentColor\" stroke-opacity=\"0.3\"/>",
                  x[i] + 3, end[i], from - 5, place[i]);
    add_marker(s, line[i], from, place[i]);
    add_name(s, line[i], from + 0.8 * s->font, place[i] + 0.35 * s->font);
  }
}

static void add_panel_name(const sheet *s, size_t panel) {
  faro_text name = FARO_TEXT_INIT;
  faro_figure_add_panel(s->figure, panel, &name);
  if (name.failed) s->out->failed = true;
  else if (name.length > 0) {
    faro_text_add(s->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-weight=\"bold\">",
                  s->plot_w / 2, -0.6 * s->font);
    faro_markup_add(s->out, name.data);
    faro_text_add(s->out, "</text>\n");
  }
  faro_text_clear(&name);
}

/* Bands are under lines, and grey lines have none; coloured lines are above grey ones, the better
 * above the worse. */
static void add_lines(const sheet *s, size_t panel) {
  enum { BANDS, GREY, COLOURED, PASSES };
  const faro_figure *f = s->figure;
  for (int pass = BANDS; pass < PASSES; pass++)
    for (size_t i = f->lines; i-- > 0;) {
      const size_t line = f->order[i];
      if ((f->line[line].colour == FARO_GREY) != (pass == GREY)) continue;
      faro_trace t;
      faro_figure_trace(f, line, panel, &t);
      if (t.count == 0) continue;
      if (pass == BANDS) add_band(s, line, &t);
      else add_line(s, line, &t);
      if (pass != BANDS && f->report->x >= 0) add_bound(s, line, &t);
    }
}

static void add_panel(const sheet *s, size_t index) {
  const size_t column = index % s->columns;
  const size_t row = index / s->columns;
  faro_text_add(s->out, "<g transform=\"translate(%.1f %.1f)\">\n",
                s->left + (double)column * (s->plot_w + s->gap), s->y + (double)row * s->pitch);
  add_panel_name(s, index);
  add_y_axis(s, column == 0);
  add_x_axis(s, index + s->columns >= s->figure->panels);
  for (size_t r = 0; r < FARO_REFERENCES; r++) add_reference(s, r, index);
  add_lines(s, index);
  faro_text_add(s->out,
                "<rect x=\"0\" y=\"0\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
                "stroke=\"currentColor\"/>\n",
                s->plot_w, s->plot_h);
  if (s->direct) add_ends(s);
  faro_text_add(s->out, "</g>\n");
}

/* Width of the longest name. */
static double widest_name(const sheet *s) {
  double widest = 0;
  for (size_t i = 0; i < s->figure->lines; i++) {
    faro_text name = FARO_TEXT_INIT;
    faro_figure_add_name(s->figure, i, &name);
    if (!name.failed) widest = fmax(widest, text_width(s, name.data));
    faro_text_clear(&name);
  }
  return widest;
}

static void add_legend(sheet *s) {
  const faro_figure *f = s->figure;
  const double entry = widest_name(s) + 4.5 * s->font;
  const double left = 0.5 * s->font;
  const size_t per_row = (size_t)fmax(floor((s->width - left) / entry), 1);
  for (size_t i = 0; i < f->lines; i++) {
    const size_t line = f->order[i];
    const size_t row = i / per_row;
    const double x = left + (double)(i % per_row) * entry;
    const double y = s->y + (double)row * 1.7 * s->font;
    faro_text_add(s->out, "<path d=\"M%.1f %.1fh%.1f\" stroke=\"%s\" stroke-width=\"1.8\"%s/>", x, y,
                  2.2 * s->font, colour_of(s, line),
                  f->line[line].unproven == f->line[line].rows ? " stroke-dasharray=\"6 3\"" : "");
    add_marker(s, line, x + 1.1 * s->font, y);
    add_name(s, line, x + 2.8 * s->font, y + 0.35 * s->font);
  }
  const size_t rows = (f->lines + per_row - 1) / per_row;
  s->y += (double)rows * 1.7 * s->font;
}

/* Appends text in lines that fit the width, and moves down. */
static void add_words(sheet *s, const char *text, double size, const char *style) {
  const size_t most = (size_t)fmax((s->width - s->font) / (0.52 * size), 20);
  while (*text) {
    size_t n = strlen(text);
    if (n > most) {
      n = most;
      while (n > 0 && text[n] != ' ') n--;
      if (n == 0) n = strlen(text); /* one long word */
    }
    s->y += 1.35 * size;
    faro_text_add(s->out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\" %s>", 0.5 * s->font, s->y, size,
                  style);
    faro_text line = FARO_TEXT_INIT;
    faro_text_add(&line, "%.*s", (int)n, text);
    if (line.failed) s->out->failed = true;
    else faro_markup_add(s->out, line.data);
    faro_text_clear(&line);
    faro_text_add(s->out, "</text>\n");
    text += n;
    while (*text == ' ') text++;
  }
}

/* Words that a function of the figure or of the report writes. */
static void add_setting(sheet *s) {
  faro_text words = FARO_TEXT_INIT;
  faro_view_add_setting(s->figure->report, &words);
  if (words.failed) s->out->failed = true;
  else add_words(s, words.data, s->font, "fill-opacity=\"0.7\"");
  faro_text_clear(&words);
}

static void add_caption(sheet *s) {
  faro_text words = FARO_TEXT_INIT;
  faro_figure_add_caption(s->figure, &words);
  if (words.failed) s->out->failed = true;
  else add_words(s, words.data, 0.92 * s->font, "fill-opacity=\"0.7\"");
  faro_text_clear(&words);
}

/* As many columns as leave no hole in the last row, if some number does. */
static size_t choose_columns(size_t panels, size_t most) {
  if (panels <= most) return panels == 4 && most >= 4 ? 2 : panels;
  for (size_t c = most; c > 1; c--)
    if (panels % c == 0) return c;
  return most;
}

/* Names at the ends need one panel, room for all of them above one another, and a plot that is
 * still wide. */
static void lay_out(sheet *s, faro_figure_size size) {
  static const double width[] = {
      [FARO_FIGURE_SCREEN] = 860, [FARO_FIGURE_ONE_COLUMN] = 336, [FARO_FIGURE_TWO_COLUMN] = 672};
  static const double font[] = {12.5, 10, 10.5};
  const faro_figure *f = s->figure;
  s->width = width[size];
  s->font = font[size];
  s->left = 5 * s->font;
  s->gap = 3 * s->font;
  s->columns = choose_columns(f->panels, size == FARO_FIGURE_ONE_COLUMN ? 1 : 3);
  const double names = widest_name(s) + 3.2 * s->font;
  s->direct = f->panels == 1 && names < 0.4 * s->width && f->lines <= 20;
  s->right = s->direct ? names : 1.7 * s->font;
  const double inner = s->width - s->left - s->right - s->gap * (double)(s->columns - 1);
  s->plot_w = inner / (double)s->columns;
  s->plot_h = fmax(s->plot_w * (f->panels == 1 ? 0.56 : 0.7), 12 * s->font);
  if (s->direct) s->plot_h = fmax(s->plot_h, 1.25 * s->font * (double)f->lines);
  s->pitch = s->plot_h + 2.2 * s->font + (f->report->panels >= 0 ? 1.8 * s->font : s->font);
}

static void add_body(sheet *s, faro_figure_size size, bool titled) {
  const faro_figure *f = s->figure;
  if (titled) {
    add_words(s, f->report->title, 1.3 * s->font, "font-weight=\"bold\"");
    add_setting(s);
  }
  s->y += f->report->panels >= 0 ? 2.2 * s->font : s->font;
  for (size_t p = 0; p < f->panels; p++) add_panel(s, p);
  const size_t rows = (f->panels + s->columns - 1) / s->columns;
  s->y += (double)rows * s->pitch + 1.6 * s->font;
  if (!s->direct) add_legend(s);
  if (size == FARO_FIGURE_SCREEN) add_caption(s);
  s->y += 0.8 * s->font;
}

/* The head needs the height, which is known after the body. */
void faro_svg_add(const faro_figure *figure, faro_figure_size size, bool titled, faro_text *out) {
  faro_text body = FARO_TEXT_INIT;
  sheet s = {.figure = figure, .out = &body};
  lay_out(&s, size);
  add_body(&s, size, titled);
  faro_text_add(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
                "height=\"%.0f\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"%g\" "
                "color=\"#111\" fill=\"currentColor\" role=\"img\">\n<title>",
                s.width, s.y, s.width, s.y, s.font);
  faro_markup_add(out, figure->report->title);
  faro_text_add(out, "</title>\n%s", titled ? "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" : "");
  if (body.failed) out->failed = true;
  else faro_text_add(out, "%s</svg>\n", body.data);
  faro_text_clear(&body);
}

char *faro_report_figure(const faro_report *report, faro_figure_size size) {
  faro_text out = FARO_TEXT_INIT;
  faro_figure figure;
  if (!faro_figure_init(&figure, report)) return NULL;
  faro_svg_add(&figure, size, size == FARO_FIGURE_SCREEN, &out);
  faro_figure_clear(&figure);
  if (out.failed) faro_text_clear(&out);
  return out.data;
}

char *faro_report_caption(const faro_report *report) {
  faro_text out = FARO_TEXT_INIT;
  faro_figure figure;
  if (!faro_figure_init(&figure, report)) return NULL;
  faro_figure_add_caption(&figure, &out);
  faro_figure_clear(&figure);
  if (out.failed) faro_text_clear(&out);
  return out.data;
}

char *faro_report_svg(const faro_report *report) { return faro_report_figure(report, FARO_FIGURE_SCREEN); }
