/* discrete: Laplace (docs/privacy.md, The Laplace mechanism), discrete Laplace, discrete Gaussian
 * and randomized response, exactly.
 *
 * delta(epsilon) = sum over the outputs k of max(0, P(k) - e^epsilon Q(k)), where Q is P shifted by
 * the sensitivity. For all four, the loss ln P(k)/Q(k) decreases with k, so the sum is over a half
 * line k < tau. Everything is written as a sum of terms of one sign in long double, so nothing
 * cancels. The error is far below the factor ROUND by which results are rounded outward. Values
 * below 1e-300 may be returned as 0.
 *
 * Letters: a = e^(-1/scale); s = shift; tau = where the loss is epsilon; m = the last integer below
 * tau. */
#include <math.h>

#include <faro/privacy.h>

#include "privacy/bisect.h"

static const double ROUND = 1 + 1e-11;

static double outward(long double delta) { return (double)fminl(1, fmaxl(0, delta) * ROUND); }

/* Inverses. */

typedef double delta_of(double noise, uint64_t shift, double epsilon);

/* The given values of a search over noise or over epsilon. */
typedef struct target {
  delta_of *delta_at;
  double noise;
  uint64_t shift;
  double epsilon, delta;
} target;

static bool epsilon_holds(double epsilon, const void *context) {
  const target *t = context;
  return t->delta_at(t->noise, t->shift, epsilon) <= t->delta;
}

static bool noise_holds(double noise, const void *context) {
  const target *t = context;
  return t->delta_at(noise, t->shift, t->epsilon) <= t->delta;
}

static bool near(double low, double high) { return !(high - low > 1e-15 * high); }

/* The least epsilon. The guarantee is known to hold at `high`. */
static double least_epsilon(delta_of *delta_at, double noise, uint64_t shift, double delta, double high) {
  const target t = {.delta_at = delta_at, .noise = noise, .shift = shift, .delta = delta};
  if (epsilon_holds(0, &t)) return 0;
  return faro_bisect(&(faro_bisection){.holds = epsilon_holds, .context = &t, .near = near}, high, 0);
}

/* Searches noise between `bad`, which is too little, and `good`, which is enough. */
static double bisect_noise(delta_of *delta_at, uint64_t shift, double epsilon, double delta, double bad,
                           double good) {
  const target t = {.delta_at = delta_at, .shift = shift, .epsilon = epsilon, .delta = delta};
  return faro_bisect(&(faro_bisection){.holds = noise_holds, .context = &t}, good, bad);
}

/* The least noise, where delta decreases with it. Without noise delta is 1, so some noise is too
 * little. */
static double least_noise(delta_of *delta_at, uint64_t shift, double epsilon, double delta) {
  if (shift == 0 || delta >= 1) return 0;
  double high = 1;
  while (delta_at(high, shift, epsilon) > delta && high < 1e300) high *= 2;
  double low = high / 2;
  while (delta_at(low, shift, epsilon) <= delta && low > 1e-300) {
    high = low;
    low /= 2;
  }
  return bisect_noise(delta_at, shift, epsilon, delta, low, high);
}

/* Laplace. The loss at x is min(ratio, ratio - 2x) where it is positive (unit scale), so tau =
 * (ratio - epsilon)/2 and delta = P(x < tau) - e^epsilon Q(x < tau) = 1 - e^(-tau). */

double faro_laplace_delta(double ratio, double epsilon) {
  if (!(ratio > epsilon)) return 0;
  return outward(-expm1l(((long double)epsilon - ratio) / 2));
}

static double laplace_delta(double ratio, uint64_t shift, double epsilon) {
  (void)shift;
  return faro_laplace_delta(ratio, epsilon);
}

double faro_laplace_epsilon(double ratio, double delta) {
  return ratio > 0 ? least_epsilon(laplace_delta, ratio, 1, delta, ratio) : 0;
}

double faro_laplace_ratio(double epsilon, double delta) {
  if (delta >= 1) return INFINITY;
  double high = epsilon + 1;
  while (faro_laplace_delta(high, epsilon) <= delta) high *= 2;
  /* at ratio epsilon no delta is needed */
  return bisect_noise(laplace_delta, 1, epsilon, delta, high, epsilon);
}

/* Discrete Laplace, P(k) = (1-a)/(1+a) a^|k|. The loss at 0 <= k <= s is (s - 2k)/scale, so tau =
 * (s - epsilon scale)/2 if that is positive; otherwise no output loses more than epsilon. With P(k
 * <= m) = 1 - a^(m+1)/(1+a), Q(k <= m) = a^(s-m)/(1+a) and e^epsilon = a^(-epsilon scale),
 *
 *   delta = ((1 - a^u) + a (1 - a^m)) / (1 + a),   u = s - m - epsilon scale > m >= 0.
 *
 * fma keeps u and the sign of tau right even if epsilon scale is nearly s. */
double faro_discrete_laplace_delta(double scale, uint64_t shift, double epsilon) {
  const long double s = (long double)shift;
  const long double tau = fmal(-epsilon, scale, s) / 2;
  if (!(tau > 0)) return 0;
  const long double m = ceill(tau) - 1;
  const long double u = fmal(-epsilon, scale, s - m);
  const long double a = expl(-1 / (long double)scale);
  return outward((-expm1l(-u / scale) - a * expm1l(-m / scale)) / (1 + a));
}

double faro_discrete_laplace_epsilon(double scale, uint64_t shift, double delta) {
  const double most = nextafter((double)shift / scale, INFINITY); /* the largest loss, rounded up */
  return least_epsilon(faro_discrete_laplace_delta, scale, shift, delta, most);
}

/* delta decreases as the scale grows: the wider distribution is the narrower one plus independent
 * noise, because the ratio of their generating functions is that of a mixture of 0 and geometric
 * variables. */
double faro_discrete_laplace_scale(uint64_t shift, double epsilon, double delta) {
  return least_noise(faro_discrete_laplace_delta, shift, epsilon, delta);
}

/* Discrete Gaussian, P(k) = e^(-k^2 / 2 sigma^2) / theta. The loss at k is s (s - 2k) / 2 sigma^2,
 * which is epsilon + y (tau - k) with y = s/sigma^2, tau = s/2 - epsilon sigma^2 / s, so that
 *
 *   delta = sum over k <= m of P(k) (1 - e^(-y (tau - k))).
 *
 * a = tau/sigma and b = (tau - s)/sigma are those of the Gaussian mechanism (gaussian.c). */

static const long double PI = 3.14159265358979323846264338327950288L;

/* theta, the sum of e^(-k^2 / 2 sigma^2) over all k. For larger sigma it is computed by Poisson's
 * summation formula, whose next term is e^(-8 pi^2 sigma^2). */
static long double normalizer(long double sigma) {
  const long double r = 1 / (2 * sigma * sigma);
  if (sigma > 1) return sqrtl(PI / r) * (1 + 2 * expl(-PI * PI / r));
  long double sum = 1;
  for (int k = 1; k <= 12; k++) sum += 2 * expl(-r * k * k); /* e^(-13^2 / 2) = 2e-37 */
  return sum;
}

/* loss(k) - epsilon = (s (s - 2k) - 2 epsilon sigma^2) / 2 sigma^2, with sigma^2 in two parts: near
 * tau the difference is small, and delta depends on it entirely. */
static long double excess(long double sigma, long double s, long double epsilon, long double k) {
  const long double square = sigma * sigma;
  const long double low = fmal(sigma, sigma, -square);
  const long double high_part = fmal(-2 * epsilon, square, s * (s - 2 * k));
  return fmal(-2 * epsilon, low, high_part) / (2 * square);
}

/* theta delta, term by term, for k = from, from - 1, ... From one k to the next
 *
 *   h = e^(-k^2 / 2 sigma^2)   is multiplied by e^((2k-1) / 2 sigma^2), that by e^(-1/sigma^2),
 *   g = 1 - e^(-y (tau - k))   grows by           (1 - g) (1 - e^-y).
 *
 * Both are computed afresh every BLOCK terms, before errors add up. For k <= 0 the remainder is
 * less than h times the sum of all e^(-j^2 / 2 sigma^2). */
static long double sum_terms(long double sigma, long double s, long double epsilon, long double from) {
  enum { BLOCK = 64 };
  const long double r = 1 / (2 * sigma * sigma);
  const long double y = 2 * r * s;
  const long double shrink = expl(-2 * r);
  const long double step = -expm1l(-y);
  const long double first = excess(sigma, s, epsilon, from);
  long double sum = 0;
  for (long double k = from;; k -= BLOCK) {
    long double h = expl(-r * k * k);
    if (k <= 0 && h * (2 + 3 * sigma) <= 1e-22L * sum) return sum;
    if (h <= 0) return sum; /* underflow */
    long double ratio = expl(r * (2 * k - 1));
    long double g = -expm1l(-(first + y * (from - k)));
    for (int i = 0; i < BLOCK; i++) {
      sum += h * g;
      h *= ratio;
      ratio *= shrink;
      g += (1 - g) * step;
    }
  }
}

/* delta by the Euler-Maclaurin formula, if h and g hardly change from one k to the next. With F(x)
 * the term at tau - x, f = tau - m in (0, 1], and B_j Bernoulli's polynomials,
 *
 *   sum over i >= 0 of F(f + i) = integral of F - sum over j of B_j(f)/j! F^(j-1)(0),
 *   F(0) = 0,   F^(n)(0) = h(tau) (He_n(a) - He_n(b)) / sigma^n   (Hermite's polynomials).
 *
 * The integral is the Gaussian mechanism. The first term left out is j = 7: less than 12 (0.05 / 2
 * pi)^7 = 3e-14 of delta for (2 + |a|)/sigma and (2 + |b|)/sigma below 0.05. */
static long double smooth_delta(long double sigma, long double s, long double epsilon, long double f) {
  const long double a = s / (2 * sigma) - epsilon * sigma / s;
  const long double b = a - s / sigma;
  const long double f2 = f * f;
  const long double bernoulli[] = {/* B_j(f) / j!, j = 2 .. 6 */
                                   (f2 - f + 1 / 6.0L) / 2, f * (f2 - 1.5L * f + 0.5L) / 6,
                                   (f2 * (f2 - 2 * f + 1) - 1 / 30.0L) / 24,
                                   f * (f2 * (f2 - 2.5L * f + 5 / 3.0L) - 1 / 6.0L) / 120,
                                   (f2 * (f2 * (f2 - 3 * f + 2.5L) - 0.5L) + 1 / 42.0L) / 720};
  long double at_a[] = {1, a}; /* He_(n-1), He_n; He_(n+1)(x) = x He_n(x) - n He_(n-1)(x) */
  long double at_b[] = {1, b};
  long double correction = bernoulli[0] * s / (sigma * sigma * sigma); /* a - b = s/sigma */
  long double power = sigma * sigma;
  for (int n = 2; n <= 5; n++) {
    const long double next_a = a * at_a[1] - (n - 1) * at_a[0];
    const long double next_b = b * at_b[1] - (n - 1) * at_b[0];
    at_a[0] = at_a[1], at_a[1] = next_a;
    at_b[0] = at_b[1], at_b[1] = next_b;
    power *= sigma;
    correction += bernoulli[n - 1] * (next_a - next_b) / power;
  }
  const double integral = faro_gaussian_delta((double)(s / sigma), (double)epsilon); /* rounded up */
  return integral - expl(-a * a / 2) / sqrtl(2 * PI) * correction;
}

double faro_discrete_gaussian_delta(double sigma, uint64_t shift, double epsilon) {
  if (shift == 0) return 0;
  const long double w = sigma;
  const long double s = (long double)shift;
  const long double a = s / (2 * w) - epsilon * w / s;
  const long double b = a - s / w;
  if (a > 12) return 1;  /* 1 - delta <= 2 P(k >= tau) < 1e-30 */
  if (a < -40) return 0; /* delta <= P(k <= tau) < 1e-340 */
  const long double tau = a * w;
  long double m = ceill(tau) - 1;
  if (2 + fmaxl(fabsl(a), fabsl(b)) < 0.05L * w) return outward(smooth_delta(w, s, epsilon, tau - m));
  if (!(excess(w, s, epsilon, m) > 0)) m--; /* tau is rounded, the excess is not */
  else if (excess(w, s, epsilon, m + 1) > 0) m++;
  return outward(sum_terms(w, s, epsilon, m) / normalizer(w));
}

double faro_discrete_gaussian_epsilon(double sigma, uint64_t shift, double delta) {
  if (!(delta > 0)) return shift == 0 ? 0 : INFINITY; /* losses are unbounded */
  double high = 1e-6;
  while (faro_discrete_gaussian_delta(sigma, shift, high) > delta) high *= 2;
  return least_epsilon(faro_discrete_gaussian_delta, sigma, shift, delta, high);
}

/* Where delta is largest between two sigmas with at most one maximum between them: golden
 * section. */
static double top_of_hump(uint64_t shift, double epsilon, double left, double right) {
  const double golden = 0.61803398874989485;
  const double start = left;
  double x[2] = {right - golden * (right - left), left + golden * (right - left)};
  double value[2];
  for (int i = 0; i < 2; i++) value[i] = faro_discrete_gaussian_delta(x[i], shift, epsilon);
  for (int i = 0; i < 60 && right - left > 1e-9 * right; i++) {
    const bool up = value[1] > value[0]; /* the maximum is right of x[0] */
    if (up) left = x[0], x[0] = x[1], value[0] = value[1], x[1] = left + golden * (right - left);
    else right = x[1], x[1] = x[0], value[1] = value[0], x[0] = right - golden * (right - left);
    value[up] = faro_discrete_gaussian_delta(x[up], shift, epsilon);
  }
  /* never the left end, which is the maximum if delta only decreases */
  const double top = x[value[1] > value[0]];
  return faro_discrete_gaussian_delta(start, shift, epsilon) > fmax(value[0], value[1]) ? start : top;
}

/* More sigma is not always better. While tau stays between two negative integers, growing sigma
 * makes P(k <= m) grow, and the last term has lost little yet. For epsilon above about s, delta
 * then rises before it decreases (s = 1, epsilon = 2: 0.105 at sigma = 0.5, 0.153 at 0.64). The
 * sigma returned must hold for every larger one too, so that a caller may round it up. So the
 * search starts at the crossing found by bisection and walks over the pieces between sigma_m =
 * sqrt(s (s - 2m) / 2 epsilon), where the term m vanishes, until a whole piece stays below delta.
 * It is observed, not proven, that a piece has at most one maximum and that the maxima decrease
 * with m. That the sigma itself is enough is checked by delta alone. For tau > 0, delta does
 * decrease: P(k <= m) with m >= 0 shrinks as sigma grows, and P(k <= m - s) grows. */
double faro_discrete_gaussian_sigma(uint64_t shift, double epsilon, double delta) {
  double sigma = least_noise(faro_discrete_gaussian_delta, shift, epsilon, delta);
  if (!(sigma > 0 && epsilon > 0)) return sigma;
  const double s = (double)shift;
  const double start = fmax(sigma, s / sqrt(2 * epsilon));
  double m = fmin(-1, ceil(s / 2 - epsilon * start * start / s) - 1);
  double left = start;
  for (int whole = 0;; m--) { /* the maxima decrease to 0 with m: the walk ends, usually after two pieces */
    const double right = sqrt(s * (s - 2 * m) / (2 * epsilon));
    if (!(right > left)) continue;
    const double top = top_of_hump(shift, epsilon, left, right);
    if (faro_discrete_gaussian_delta(top, shift, epsilon) > delta) {
      const bool falls = faro_discrete_gaussian_delta(right, shift, epsilon) <= delta;
      sigma = falls ? bisect_noise(faro_discrete_gaussian_delta, shift, epsilon, delta, top, right) : right;
    } else if (whole) return sigma; /* the first piece may be only the end of one */
    left = right;
    whole = 1;
  }
}

/* Randomized response: with p = 1/(1 + e^-epsilon0) for the truth, delta = p - e^epsilon (1 -
 * p). */

double faro_response_delta(double epsilon0, double epsilon) {
  if (!(epsilon0 > epsilon)) return 0;
  return outward(-expm1l((long double)epsilon - epsilon0) / (1 + expl(-(long double)epsilon0)));
}

static double response_delta(double epsilon0, uint64_t shift, double epsilon) {
  (void)shift;
  return faro_response_delta(epsilon0, epsilon);
}

double faro_response_epsilon(double epsilon0, double delta) {
  return epsilon0 > 0 ? least_epsilon(response_delta, epsilon0, 1, delta, epsilon0) : 0;
}
