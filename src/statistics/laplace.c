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
 * bound. t is least where l K'(l) - K(l) = ln(2/q). K is convex, so the left side grows from 0, and
 * Newton's method within a bracket finds the place. There t is flat: its error is the square of
 * l's. */
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

/* x K'(x) - K(x) - ln(2/q), and x^2 K''(x), which is x times its derivative. */
static double excess_at(const double *scale, const double *number, size_t count, double largest, double x,
                        double q, double *curve) {
  double sum = -log(2 / q);
  *curve = 0;
  for (size_t i = 0; i < count; i++) {
    const double y = x * (scale[i] / largest);
    const double left = (1 - y) * (1 + y);
    const double part = 2 * y * y / left;
    sum += number[i] * (part + log1p(-y * y));
    *curve += number[i] * part * (1 + y * y) / left;
  }
  return sum;
}

/* Where t is least. The first guess is exact for many variables. */
static double least_at(const double *scale, const double *number, size_t count, double largest, double q) {
  enum { MOST = 100 };
  double number_of_largest = 0;
  for (size_t i = 0; i < count; i++)
    number_of_largest += number[i] * (scale[i] / largest) * (scale[i] / largest);
  double x = fmin(sqrt(log(2 / q) / (log(2 / q) + number_of_largest)), 1 - 0x1p-52);
  double low = 0;
  double high = 1;
  for (int i = 0; i < MOST; i++) {
    double curve = 0;
    const double excess = excess_at(scale, number, count, largest, x, q, &curve);
    if (excess > 0) high = x;
    else low = x;
    const double newton = x - x * (excess / curve);
    const double next = newton > low && newton < high ? newton : (low + high) / 2;
    const bool found = fabs(next - x) <= 1e-9 * x;
    x = next;
    if (found) break;
  }
  return x;
}

double faro_laplace_quantile(const double *scale, const double *number, size_t count, double q) {
  double largest = 0;
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(scale[i]));
  if (q >= 1 || !(largest > 0)) return 0;
  if (!(2 / q < (double)INFINITY)) return (double)INFINITY;
  const double x = least_at(scale, number, count, largest, q);
  return bound_at(scale, number, count, largest, x, q) * (1 + 1e-12);
}

double faro_laplace_sum_quantile(double n, double b, double q) {
  if (n == 1) return q < 1 ? b * log(1 / q) : 0; /* P(|L| > t) = exp(-t / b) */
  return faro_laplace_quantile(&b, &n, 1, q);
}
