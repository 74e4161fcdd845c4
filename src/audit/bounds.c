/* bounds: see the header.
 *
 *   P(Bin(n, p) >= k) = I_p(k, n - k + 1), the regularised incomplete beta function.
 *
 * The lower bound is the p at which k or more hits have probability alpha. The upper one mirrors
 * hits and misses. */
#include "audit/bounds.h"

#include <math.h>

/* Far above the error of the continued fraction. Results are rounded outward by it. */
static const double MARGIN = 1e-9;

static double log_gamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign); /* lgamma writes a global variable */
}

/* The continued fraction of I_p(a, b) by Lentz's method; converges fast for p < (a+1) / (a+b+2). */
static double fraction(double p, double a, double b) {
  const double tiny = 1e-300;
  double c = 1;
  double d = 1 - (a + b) * p / (a + 1);
  d = 1 / (fabs(d) < tiny ? tiny : d);
  double value = d;
  for (int i = 1; i < 100000; i++) {
    const double m = i;
    const double even = m * (b - m) * p / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * p / ((a + 2 * m) * (a + 2 * m + 1));
    for (int half = 0; half < 2; half++) {
      const double term = half ? odd : even;
      d = 1 + term * d;
      c = 1 + term / c;
      d = 1 / (fabs(d) < tiny ? tiny : d);
      c = fabs(c) < tiny ? tiny : c;
      value *= c * d;
    }
    if (fabs(c * d - 1) < 1e-14) break;
  }
  return value;
}

/* I_p(a, b), given the logarithm of the beta function. */
static double incomplete_beta(double p, double a, double b, double log_beta) {
  const double front = exp(a * log(p) + b * log1p(-p) - log_beta);
  if (p < (a + 1) / (a + b + 2)) return front * fraction(p, a, b) / a;
  return 1 - front * fraction(1 - p, b, a) / b;
}

double faro_proportion_low(uint64_t hits, uint64_t n, double alpha) {
  if (hits == 0) return 0;
  const double a = (double)hits;
  const double b = (double)(n - hits) + 1;
  const double log_beta = log_gamma(a) + log_gamma(b) - log_gamma(a + b);
  double low = 0;
  double high = a / (double)n; /* at the observed rate k or more hits are more likely than alpha */
  for (int i = 0; i < 60 && high - low > MARGIN / 10 * high; i++) {
    const double middle = low + (high - low) / 2;
    if (incomplete_beta(middle, a, b, log_beta) <= alpha) low = middle;
    else high = middle;
  }
  return low * (1 - MARGIN);
}

double faro_proportion_high(uint64_t hits, uint64_t n, double alpha) {
  return 1 - faro_proportion_low(n - hits, n, alpha);
}
