/* gaussian: the Gaussian mechanism, exactly (Balle & Wang 2018; docs/privacy.md, The Gaussian
 * mechanism).
 *
 *   delta(epsilon) = Phi(a) - e^epsilon Phi(b),   a = mu/2 - epsilon/mu,   b = -mu/2 - epsilon/mu
 *
 * e^epsilon phi(b) = phi(a), so with Mills' ratio M(x) = (1 - Phi(x)) / phi(x)
 *
 *   delta = phi(a) (M(-a) - M(-b)),
 *
 * which does not overflow, and does not lose delta in the difference of two numbers near one. All
 * of it is computed in long double, whose error is far below the factor round_of by which results
 * are rounded outward. */
#include <float.h>
#include <math.h>

#include <faro/privacy.h>

#include "privacy/bisect.h"
#include "privacy/memo.h"

/* This file, bits.c, discrete.c, shuffle.c, pld.c and random/table.c were checked with a long
 * double of 64 bits of mantissa and 15 of exponent. With fewer, erfc(28) below is no longer normal,
 * and results come out on the wrong side. */
_Static_assert(LDBL_MANT_DIG >= 64 && LDBL_MAX_EXP >= 16384,
               "the accountants need a long double of at least 80 bits");

/* In the far tail, a < -20 and delta < 1e-88, the drop of Mills' ratio loses up to 1e-9 to
 * cancellation. */
static double round_of(double a) { return 1 + (a < -20 ? 1e-8 : 1e-11); }

/* Mills' ratio, for any x. */
static long double mills(long double x) {
  if (x < 40)
    return expl(x * x / 2) * sqrtl(acosl(-1) / 2) * erfcl(x / sqrtl(2)); /* erfc(28) is still normal */
  const long double y = 1 / (x * x); /* asymptotic series: the first term left out bounds the error */
  return (1 - y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y * (1 - 9 * y * (1 - 11 * y)))))) / x;
}

/* M(x) - M(x + h), h > 0. For small h it uses the Taylor series, because M' = x M - 1 and so on are
 * known exactly. */
static long double mills_drop(long double x, long double h) {
  if (h * fmaxl(1, fabsl(x)) > 1e-4L) return mills(x) - mills(x + h);
  const long double m = mills(x);
  const long double d1 = x * m - 1;
  const long double d2 = m + x * d1;
  const long double d3 = 2 * d1 + x * d2;
  const long double d4 = 3 * d2 + x * d3;
  return -h * (d1 + h / 2 * (d2 + h / 3 * (d3 + h / 4 * d4)));
}

static long double gaussian_delta(long double mu, long double epsilon) {
  const long double a = mu / 2 - epsilon / mu;
  if (a > 20) return 1; /* 1 - delta < 1e-88 */
  const long double density = expl(-a * a / 2) / sqrtl(2 * acosl(-1));
  return fmaxl(0, density * mills_drop(-a, mu));
}

double faro_gaussian_delta(double mu, double epsilon) {
  if (!(mu > 0)) return 0;
  const double delta = (double)gaussian_delta(mu, epsilon) * round_of(mu / 2 - epsilon / mu);
  return fmin(1, fmax(delta, DBL_MIN)); /* never 0: what underflows is still positive */
}

/* A search: for mu or epsilon, with the other and delta given. */
typedef struct target {
  double given, delta;
} target;

static bool epsilon_holds(double epsilon, const void *context) {
  const target *t = context;
  return !(faro_gaussian_delta(t->given, epsilon) > t->delta);
}

static bool mu_holds(double mu, const void *context) {
  const target *t = context;
  return faro_gaussian_delta(mu, t->given) <= t->delta;
}

static bool near(double low, double high) { return !(high - low > 1e-15 * high); }

double faro_gaussian_epsilon(double mu, double delta) {
  static faro_memo memo;
  double value[FARO_MEMO_VALUES] = {0};
  const double key[FARO_MEMO_KEYS] = {mu, delta};
  if (!(mu > 0) || faro_gaussian_delta(mu, 0) <= delta) return 0;
  if (faro_memo_find(&memo, key, value)) return *value;
  const target t = {.given = mu, .delta = delta};
  double low = 0;
  double high = 1e-6;
  for (; !epsilon_holds(high, &t); high *= 2) low = high;
  *value = faro_bisect(&(faro_bisection){.holds = epsilon_holds, .context = &t, .near = near}, high, low);
  faro_memo_keep(&memo, key, value);
  return *value;
}

/* Schedules are chosen among hundreds, all for the same epsilon and delta. */
double faro_gaussian_mu(double epsilon, double delta) {
  static faro_memo memo;
  double value[FARO_MEMO_VALUES] = {0};
  const double key[FARO_MEMO_KEYS] = {epsilon, delta};
  if (faro_memo_find(&memo, key, value)) return *value;
  const target t = {.given = epsilon, .delta = delta};
  double high = 1;
  while (mu_holds(high, &t)) high *= 2;
  *value = faro_bisect(&(faro_bisection){.holds = mu_holds, .context = &t, .ratio = true}, 1e-12, high);
  faro_memo_keep(&memo, key, value);
  return *value;
}
