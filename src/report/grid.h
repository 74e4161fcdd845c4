/* grid: tables and text for a terminal: columns, colours, lines that wrap, and numbers that have
 * the same form in one column. */
#ifndef FARO_REPORT_GRID_H
#define FARO_REPORT_GRID_H

#include "report/view.h"

enum { FARO_GRID_COLUMNS = FARO_SWEEPS_MAX + 11, FARO_GRID_CELL = 256 };

typedef enum faro_tint { FARO_TINT_PLAIN, FARO_TINT_RED, FARO_TINT_YELLOW } faro_tint;

typedef struct faro_grid_cell {
  char text[FARO_GRID_CELL];
  faro_tint tint;
} faro_grid_cell;

/* A table of text cells, padded to the widest of each column. The cells are the caller's. */
typedef struct faro_grid {
  size_t rows, columns;
  faro_grid_cell (*cell)[FARO_GRID_COLUMNS];
  bool left[FARO_GRID_COLUMNS]; /* else right-aligned */
  size_t width[FARO_GRID_COLUMNS];
  size_t label; /* the column whose texts may wrap */
} faro_grid;

void faro_grid_put(faro_grid *grid, size_t row, size_t column, const char *value);
/* Sets the widths. The label's may be made smaller afterwards. */
void faro_grid_measure(faro_grid *grid);
size_t faro_grid_width(const faro_grid *grid);
void faro_grid_print(const faro_grid *grid, const faro_table_style *style, faro_text *out);
/* Text of one or more lines, NULL: none, wrapped to the terminal; later lines of each are
 * indented. */
void faro_grid_print_text(faro_text *out, const faro_table_style *style, faro_tint tint, const char *text);

/* The form of the numbers of a column: as many decimals as the least positive one needs for two
 * digits; three for a mean in 0 .. 1. */
typedef struct faro_digits {
  int decimals;
  double unit; /* numbers are divided by it */
  const char *suffix;
} faro_digits;
/* For numbers from `least`, the least positive one, to `most`. The report may be NULL. */
faro_digits faro_digits_for(const faro_report *report, double least, double most);
faro_digits faro_digits_of(const faro_report *report, double (*value)(const faro_view_row *));
/* "-" for NaN. */
const char *faro_digits_text(const faro_digits *form, double value, char out[static 32]);

#endif
