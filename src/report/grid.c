/* grid: see the header. */
#include "report/grid.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH_MIN = 20 };

void faro_grid_put(faro_grid *g, size_t row, size_t column, const char *value) {
  snprintf(g->cell[row][column].text, FARO_GRID_CELL, "%s", value);
}

static bool is_start(char byte) { return ((unsigned char)byte & 0xC0) != 0x80; }

/* Width on a terminal of the first `length` bytes: continuation bytes of UTF-8 take no room. */
static size_t width_of(const char *value, size_t length) {
  size_t width = 0;
  for (size_t i = 0; i < length; i++) width += is_start(value[i]);
  return width;
}

/* The bytes of the next line of a text of `length` bytes: as many words as fit into `room` columns,
 * and at least a character. */
static size_t take_line(const char *text, size_t length, size_t room) {
  size_t used = 0;
  size_t end = 0; /* after the last word that fits */
  for (size_t i = 0; i < length; i++) {
    if (text[i] == ' ' || (i > 0 && text[i - 1] == '/')) end = i;
    if (is_start(text[i]) && used++ >= room && i > 0) return end > 0 ? end : i;
  }
  return length;
}

/* Printing. */

static void tinted(faro_text *out, const faro_table_style *style, faro_tint hue, const char *text,
                   int length) {
  static const char *const codes[] = {"", "\033[31m", "\033[33m"};
  const bool colour = style->colour && hue != FARO_TINT_PLAIN;
  faro_text_add(out, "%s%.*s%s", colour ? codes[hue] : "", length, text, colour ? "\033[0m" : "");
}

/* One line of text, in as many lines as it needs. */
static void print_wrapped(faro_text *out, const faro_table_style *style, faro_tint hue, const char *text,
                          size_t length) {
  const size_t width = style->width == 0 ? SIZE_MAX : style->width < WIDTH_MIN ? WIDTH_MIN : style->width;
  const char *indent = "";
  do {
    const size_t taken = take_line(text, length, width - strlen(indent));
    faro_text_add(out, "%s", indent);
    tinted(out, style, hue, text, (int)taken);
    faro_text_add(out, "\n");
    indent = "  ";
    for (text += taken, length -= taken; length > 0 && *text == ' '; length--) text++;
  } while (length > 0);
}

void faro_grid_print_text(faro_text *out, const faro_table_style *style, faro_tint hue, const char *text) {
  while (text && *text) {
    const size_t length = strcspn(text, "\n");
    print_wrapped(out, style, hue, text, length);
    text += length + (text[length] == '\n');
  }
}

void faro_grid_measure(faro_grid *g) {
  for (size_t c = 0; c < g->columns; c++) {
    g->width[c] = 0;
    for (size_t r = 0; r < g->rows; r++) {
      const char *text = g->cell[r][c].text;
      const size_t width = width_of(text, strlen(text));
      if (width > g->width[c]) g->width[c] = width;
    }
  }
}

size_t faro_grid_width(const faro_grid *g) {
  size_t total = 2 * (g->columns - 1);
  for (size_t c = 0; c < g->columns; c++) total += g->width[c];
  return total;
}

/* One line of a row: the first shows all cells, later ones the rest of the label. */
static void print_line(const faro_grid *g, const faro_table_style *style, const faro_grid_cell *row,
                       const char *label, size_t length, bool first, faro_text *out) {
  for (size_t c = 0; c < g->columns; c++) {
    const char *text = c == g->label ? label : row[c].text;
    const bool shown = first || c == g->label;
    const size_t bytes = c == g->label ? length : first ? strlen(text) : 0;
    const int pad = (int)(g->width[c] - width_of(text, bytes));
    const bool last = c + 1 == g->columns;
    if (!g->left[c]) faro_text_add(out, "%*s", pad, "");
    tinted(out, style, shown ? row[c].tint : FARO_TINT_PLAIN, text, (int)bytes);
    if (g->left[c] && !last) faro_text_add(out, "%*s", pad, "");
    if (!last) faro_text_add(out, "  ");
  }
}

void faro_grid_print(const faro_grid *g, const faro_table_style *style, faro_text *out) {
  for (size_t r = 0; r < g->rows; r++) {
    const char *label = g->cell[r][g->label].text;
    for (bool first = true; first || *label; first = false) {
      const size_t length = take_line(label, strlen(label), g->width[g->label]);
      print_line(g, style, g->cell[r], label, length, first, out);
      while (!out->failed && out->length > 0 && out->data[out->length - 1] == ' ') out->length--;
      faro_text_add(out, "\n");
      label += length + strspn(label + length, " ");
    }
  }
}

faro_digits faro_digits_for(const faro_report *report, double least, double most) {
  if (report && faro_view_has_rows(report) && most <= 1)
    return (faro_digits){.decimals = 3, .unit = 1, .suffix = ""};
  if (most >= 1e7) return (faro_digits){.decimals = 3, .unit = 1e6, .suffix = "M"};
  const int wanted = isfinite(least) && least > 0 ? 1 - (int)floor(log10(least)) : 0;
  const int room = most >= 1000 ? 1 : most >= 10 ? 2 : 4;
  return (faro_digits){.decimals = wanted < 0 ? 0 : wanted < room ? wanted : room, .unit = 1, .suffix = ""};
}

faro_digits faro_digits_of(const faro_report *report, double (*value)(const faro_view_row *)) {
  double least = INFINITY;
  double most = 0;
  for (size_t i = 0; i < report->count; i++) {
    const double v = value(&report->row[i]);
    if (v > 0) least = fmin(least, v);
    if (v > 0) most = fmax(most, v);
  }
  return faro_digits_for(report, least, most);
}

const char *faro_digits_text(const faro_digits *f, double value, char out[static 32]) {
  if (isfinite(value)) snprintf(out, 32, "%.*f%s", f->decimals, value / f->unit, f->suffix);
  else snprintf(out, 32, "-");
  return out;
}
