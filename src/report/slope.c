/* slope: how fast the measure grows with x, as the exponent of a power law. Fits log(mean) against
 * log(x) by least squares, for every line of a figure whose x is a swept number, and the same for
 * the worst instance. A line that is not straight has no slope; one that does not depend on x is
 * left out. */
#include <math.h>

#include "report/view.h"

enum { SLOPES_MAX = 1000, VALUES_MIN = 3, VALUES_MAX = 100 };

static const double BEND_MAX = 0.25;

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
  double slope, error, sampling;
  double first, last; /* slopes of a parabola at the least and the greatest x */
  double bend_error;  /* standard error of their difference */
} line;

/* The points of a line: logarithms relative to the first row, so that little is lost in the
 * differences of sums. */
typedef struct points {
  size_t count;
  double x[VALUES_MAX], y[VALUES_MAX], se[VALUES_MAX];
} points;

static bool find_points(const faro_report *report, const faro_view_row *first,
                        double (*measure)(const faro_spread *), points *p) {
  bool moves = false;
  p->count = 0;
  for (size_t r = 0; r < report->count && p->count < VALUES_MAX; r++) {
    const faro_view_row *row = &report->row[r];
    if (!faro_view_alike(report, row, first, report->x, -1)) continue;
    p->x[p->count] = log(row->place[report->x]) - log(first->place[report->x]);
    p->y[p->count] = log(measure(&row->regret)) - log(measure(&first->regret));
    p->se[p->count++] = row->regret.error / row->regret.mean;
    moves |= measure(&row->regret) != measure(&first->regret);
  }
  return moves;
}

static double mean_of_list(const double *value, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += value[i] / (double)n;
  return sum;
}

/* y = a + b u + c q, where u is x less its mean and q is u^2 less what a line explains of it: both
 * are orthogonal, so that each coefficient has its own sum. */
static line fit(const points *p) {
  const size_t n = p->count;
  const double x = mean_of_list(p->x, n);
  const double y = mean_of_list(p->y, n);
  double u2 = 0;
  double u3 = 0;
  double uy = 0;
  for (size_t i = 0; i < n; i++) {
    const double u = p->x[i] - x;
    u2 += u * u;
    u3 += u * u * u;
    uy += u * (p->y[i] - y);
  }
  const double slope = uy / u2;
  double rest = 0;
  double q2 = 0;
  double qy = 0;
  double us = 0;
  double qs = 0;
  double low = INFINITY;
  double high = -INFINITY;
  for (size_t i = 0; i < n; i++) {
    const double u = p->x[i] - x;
    const double q = u * u - u2 / (double)n - u * u3 / u2;
    const double off = p->y[i] - y - slope * u;
    rest += off * off;
    q2 += q * q;
    qy += q * off;
    us += u * u * p->se[i] * p->se[i];
    qs += q * q * p->se[i] * p->se[i];
    low = fmin(low, u);
    high = fmax(high, u);
  }
  const double bend = qy / q2;
  return (line){.slope = slope,
                .error = sqrt(rest / ((double)n - 2) / u2),
                .sampling = sqrt(us) / u2,
                .first = slope + bend * (2 * low - u3 / u2),
                .last = slope + bend * (2 * high - u3 / u2),
                .bend_error = 2 * (high - low) * sqrt(qs) / q2};
}

static double mean_of(const faro_spread *spread) { return spread->mean; }
static double most_of(const faro_spread *spread) { return spread->most; }

/* A power law fits unless the slope changes along x by more than BEND_MAX, and by more than
 * sampling explains. */
static bool is_straight(const line *l) {
  const double bend = fabs(l->last - l->first);
  return !(bend > BEND_MAX && bend > 2 * l->bend_error);
}

static faro_view_slope fit_row(const faro_report *report, const faro_view_row *row, const points *means) {
  points worst;
  find_points(report, row, most_of, &worst);
  const line l = fit(means);
  const line most = fit(&worst);
  const bool good = means->count >= VALUES_MIN && isfinite(l.slope) && isfinite(l.error);
  const bool straight = good && is_straight(&l);
  return (faro_view_slope){.row = row,
                           .slope = straight ? l.slope : (double)NAN,
                           .error = straight ? l.error : (double)NAN,
                           .sampling = straight ? l.sampling : (double)NAN,
                           .of_most = straight && isfinite(most.slope) ? most.slope : (double)NAN,
                           .first = l.first,
                           .last = l.last,
                           .straight = straight};
}

faro_status faro_view_fit(faro_report *report, faro_error *error) {
  if (report->x < 0 || !has_places(report)) return FARO_OK;
  report->slope = faro_arena_alloc(&report->arena, SLOPES_MAX, sizeof *report->slope, error);
  if (!report->slope) return FARO_MEMORY;
  for (size_t r = 0; r < report->count && report->slopes < SLOPES_MAX; r++) {
    bool known = false;
    for (size_t i = 0; i < report->slopes && !known; i++)
      known = faro_view_alike(report, &report->row[r], report->slope[i].row, report->x, -1);
    points means;
    if (!known && find_points(report, &report->row[r], mean_of, &means))
      report->slope[report->slopes++] = fit_row(report, &report->row[r], &means);
  }
  return FARO_OK;
}
