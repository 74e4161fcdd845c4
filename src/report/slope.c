/* slope: how fast the measure grows with x, as the exponent of a power law. Fits log(mean) against
 * log(x) by least squares, for every line of a figure whose x is a swept number, and the same for
 * the worst instance. */
#include <math.h>

#include "report/view.h"

enum { SLOPES_MAX = 1000, VALUES_MIN = 3 };

/* Whether every row has a positive value on x, and at least VALUES_MIN of the values differ. */
static bool has_places(const faro_report *report) {
  double seen[VALUES_MIN];
  size_t distinct = 0;
  for (size_t r = 0; r < report->count; r++) {
    const double x = report->row[r].place[report->x];
    if (!(x > 0 && isfinite(x))) return false;
    size_t i = 0;
    while (i < distinct && seen[i] != x) i++;
    if (i == distinct && distinct < VALUES_MIN) seen[distinct++] = x;
  }
  return distinct == VALUES_MIN;
}

typedef struct line {
  double slope, error;
} line;

/* Logarithms are taken relative to the first row, so that little is lost in the differences of
 * sums. If a mean is not positive, everything is NaN. */
static line fit(const faro_report *report, const faro_view_row *first,
                double (*measure)(const faro_spread *)) {
  double n = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (size_t r = 0; r < report->count; r++) {
    const faro_view_row *row = &report->row[r];
    if (!faro_view_alike(report, row, first, report->x, -1)) continue;
    const double u = log(row->place[report->x]) - log(first->place[report->x]);
    const double v = log(measure(&row->regret)) - log(measure(&first->regret));
    n++;
    x += u;
    y += v;
    xx += u * u;
    xy += u * v;
    yy += v * v;
  }
  const double spread = xx - x * x / n;
  const double slope = (xy - x * y / n) / spread;
  const double rest = yy - y * y / n - slope * slope * spread; /* sum of squares not explained by the line */
  const double error = sqrt(fmax(rest, 0) / (n - 2) / spread);
  const bool good = n >= VALUES_MIN && isfinite(slope) && isfinite(error);
  return (line){.slope = good ? slope : (double)NAN, .error = good ? error : (double)NAN};
}

static double mean_of(const faro_spread *spread) { return spread->mean; }
static double most_of(const faro_spread *spread) { return spread->most; }

static faro_view_slope fit_row(const faro_report *report, const faro_view_row *row) {
  const line mean = fit(report, row, mean_of);
  return (faro_view_slope){
      .row = row, .slope = mean.slope, .error = mean.error, .of_most = fit(report, row, most_of).slope};
}

faro_status faro_view_fit(faro_report *report, faro_error *error) {
  if (report->x < 0 || !has_places(report)) return FARO_OK;
  report->slope = faro_arena_alloc(&report->arena, SLOPES_MAX, sizeof *report->slope, error);
  if (!report->slope) return FARO_MEMORY;
  for (size_t r = 0; r < report->count && report->slopes < SLOPES_MAX; r++) {
    bool known = false;
    for (size_t i = 0; i < report->slopes && !known; i++)
      known = faro_view_alike(report, &report->row[r], report->slope[i].row, report->x, -1);
    if (!known) report->slope[report->slopes++] = fit_row(report, &report->row[r]);
  }
  return FARO_OK;
}
