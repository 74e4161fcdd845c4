/* laplace: bounds on sums of Laplace noise, for the widths of learners. Such noise has heavier
 * tails than any Gaussian, so a sub-Gaussian scale does not bound it (docs/privacy.md, The Laplace
 * mechanism).
 *
 * E exp(l L) = 1 / (1 - l^2 b^2) for L of scale b and l < 1/b. By Markov's inequality, for any such
 * l,
 *
 *   P(|sum| > t) <= 2 exp(-l t) prod_i (1 - l^2 b_i^2)^-n_i,
 *
 * which is q at t(l) = (ln(2/q) + K(l)) / l, K(l) = -sum_i n_i ln(1 - l^2 b_i^2). Every l gives a
 * bound. K is convex, so t first decreases and then grows in l, and a ternary search finds the
 * least. */
#include <math.h>

#include <faro/statistics.h>

/* t(l), rounded up; x = l b_max is within (0, 1). */
static double bound_at(const double *scale, const double *number, size_t count, double largest, double x,
                       double q) {
  double sum = log(2 / q);
  for (size_t i = 0; i < count; i++) {
    const double y = x * (scale[i] / largest);
    sum -= number[i] * log1p(-y * y);
  }
  return sum / x * largest;
}

double faro_laplace_quantile(const double *scale, const double *number, size_t count, double q) {
  double largest = 0;
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(scale[i]));
  if (q >= 1 || !(largest > 0)) return 0;
  double low = 0;
  double high = 1;
  double least = (double)INFINITY;
  for (int i = 0; i < 100; i++) {
    const double third = (high - low) / 3;
    const double left = bound_at(scale, number, count, largest, low + third, q);
    const double right = bound_at(scale, number, count, largest, high - third, q);
    least = fmin(least, fmin(left, right));
    if (left < right) high -= third;
    else low += third;
  }
  return least * (1 + 1e-12);
}

double faro_laplace_sum_quantile(double n, double b, double q) {
  if (n == 1) return q < 1 ? b * log(1 / q) : 0; /* P(|L| > t) = exp(-t / b) */
  return faro_laplace_quantile(&b, &n, 1, q);
}
