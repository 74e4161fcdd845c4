/* curve: see the header. */
#include "audit/curve.h"

#include <math.h>

#include "audit/bounds.h"

static double normal(double z) { return erfc(-z / sqrt(2)) / 2; }

/* z with Phi(z) = p, to 1e-9; p within 1e-12 of 0 or 1 counts as 1e-12 away. */
static double quantile(double p) {
  const double end = 1e-12;
  double low = -8;
  double high = 8;
  p = fmin(fmax(p, end), 1 - end);
  while (high - low > 1e-10) {
    const double middle = (low + high) / 2;
    if (normal(middle) < p) low = middle;
    else high = middle;
  }
  return low;
}

static double least_epsilon(double delta, double hits, double false_hits) {
  return hits > delta ? log((hits - delta) / false_hits) : -INFINITY;
}

/* Two Laplace variables, one moved by epsilon scales, and the test "above t": t is beyond both, or
 * between them, or before both. */
static double least_laplace(double hits, double false_hits) {
  if (hits <= 0.5) return log(hits / false_hits);
  if (false_hits >= 0.5) return log((1 - false_hits) / (1 - hits));
  return -log(4 * false_hits * (1 - hits));
}

double faro_curve_least(faro_curve curve, double hits, double false_hits) {
  const double margin = 1e-9; /* far above the error of the quantiles */
  switch (curve.form) {
  case FARO_CURVE_POINT: return least_epsilon(curve.slack, hits, false_hits);
  case FARO_CURVE_GAUSSIAN: return quantile(hits - curve.slack) - quantile(false_hits) - margin;
  case FARO_CURVE_LAPLACE: return least_laplace(hits, false_hits);
  }
  return 0;
}

/* Hits of the best test in the middle of the curve, whose false hits are as many as its misses. */
static double best_hits(faro_curve curve, double parameter) {
  switch (curve.form) {
  case FARO_CURVE_POINT: return 1 - (1 - curve.slack) / (1 + exp(parameter));
  case FARO_CURVE_GAUSSIAN: return normal(parameter / 2);
  case FARO_CURVE_LAPLACE: return 1 - exp(-parameter / 2) / 2;
  }
  return 0.5;
}

static bool shows(faro_curve curve, double parameter, double claimed, uint64_t n, double alpha) {
  const uint64_t hits = (uint64_t)llround((double)n * best_hits(curve, parameter));
  const double low = faro_proportion_low(hits, n, alpha);
  return faro_curve_least(curve, low, 1 - low) > claimed;
}

double faro_curve_power(faro_curve curve, double claimed, uint64_t n, double alpha) {
  double low = claimed;
  double high = claimed + 1;
  while (high < claimed + 64 && !shows(curve, high, claimed, n, alpha)) high = claimed + 2 * (high - claimed);
  if (!shows(curve, high, claimed, n, alpha)) return INFINITY;
  while (high - low > 1e-4 * high) {
    const double middle = (low + high) / 2;
    if (shows(curve, middle, claimed, n, alpha)) high = middle;
    else low = middle;
  }
  return high;
}
