/* figure: which results make a line and which a panel, in which order and colour, and on which
 * axes. svg.c draws it, data.c gives it to the page's script. */
#ifndef FARO_REPORT_FIGURE_H
#define FARO_REPORT_FIGURE_H

#include "report/axis.h"
#include "report/view.h"

enum { FARO_LINES_MAX = 256, FARO_PANELS_MAX = 100, FARO_COLOURS = 7, FARO_GREY = -1, FARO_THIN = 100 };

typedef struct faro_line {
  size_t first;          /* index of a row in it */
  size_t rows, unproven; /* number of rows, and of those whose claim is not proven */
  double result;         /* the mean of its final values, by which lines are ordered */
  int colour;            /* 0 is the ink of the text; FARO_GREY: the panel has enough colours */
} faro_line;

typedef struct faro_figure {
  const faro_report *report;
  size_t lines, panels;
  faro_line line[FARO_LINES_MAX];
  size_t order[FARO_LINES_MAX];  /* the lines, best result first */
  size_t panel[FARO_PANELS_MAX]; /* index of a row in each panel */
  size_t *line_of, *panel_of;    /* per row */
  faro_axis x, y;
} faro_figure;

/* What a line shows in a panel: the curve of its only row, or its rows in the order of x. */
typedef struct faro_trace {
  faro_view_point point[FARO_CURVE_POINTS];
  double bound[FARO_CURVE_POINTS]; /* order of the lower bound; 0: not known */
  size_t count;
  bool dashed; /* a claim in it is not proven */
} faro_trace;

/* False if memory runs out. */
bool faro_figure_init(faro_figure *figure, const faro_report *report);
void faro_figure_clear(faro_figure *figure);

void faro_figure_trace(const faro_figure *figure, size_t line, size_t panel, faro_trace *out);
/* What simple play gets, if it is known and the same for all lines of the panel; else no points:
 * uniform play and, for people from a file, the best single arm. */
enum { FARO_REFERENCES = 2 };
void faro_figure_reference(const faro_figure *figure, size_t reference, size_t panel, faro_trace *out);
const char *faro_figure_reference_name(const faro_figure *figure, size_t reference);
/* Whether a lower bound is known for some point. */
bool faro_figure_bounded(const faro_figure *figure);

/* The name of a line: its label, the values of sweeps other than x and panels, and its standing. */
void faro_figure_add_name(const faro_figure *figure, size_t line, faro_text *out);
/* "epsilon = 1"; nothing if there is one panel only. */
void faro_figure_add_panel(const faro_figure *figure, size_t panel, faro_text *out);
const char *faro_figure_x_name(const faro_figure *figure);
const char *faro_figure_y_name(const faro_figure *figure);
/* What bands, dashes and dots mean. */
void faro_figure_add_caption(const faro_figure *figure, faro_text *out);

#endif
