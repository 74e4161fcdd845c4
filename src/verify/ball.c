/* ball: the normal distribution, the Gaussian mechanism and binomial probabilities, as balls. */
#include <arb_hypgeom.h>
#include <math.h>

#include "verify/inner.h"

void curve_init(curve *c) {
  arb_init(c->square);
  arb_init(c->slack);
}

void curve_clear(curve *c) {
  arb_clear(c->square);
  arb_clear(c->slack);
}

/* erfc(-x / sqrt(2)) / 2 */
void ball_normal(arb_t result, const arb_t x, slong bits) {
  arb_t root;
  arb_init(root);
  arb_sqrt_ui(root, 2, bits);
  arb_div(root, x, root, bits);
  arb_neg(root, root);
  arb_hypgeom_erfc(result, root, bits);
  arb_mul_2exp_si(result, result, -1);
  arb_clear(root);
}

void ball_density(arb_t result, const arb_t x, slong bits) {
  arb_t root;
  arb_init(root);
  arb_const_pi(root, bits);
  arb_mul_2exp_si(root, root, 1);
  arb_rsqrt(root, root, bits);
  arb_mul(result, x, x, bits);
  arb_mul_2exp_si(result, result, -1);
  arb_neg(result, result);
  arb_exp(result, result, bits);
  arb_mul(result, result, root, bits);
  arb_clear(root);
}

/* Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)    (Balle & Wang 2018) */
void ball_gaussian_delta(arb_t result, const arb_t square, const arb_t epsilon) {
  arb_t mu, ratio, a, b;
  arb_init(mu), arb_init(ratio), arb_init(a), arb_init(b);
  arb_zero(result);
  if (!arb_is_zero(square)) {
    arb_sqrt(mu, square, BITS);
    arb_div(ratio, epsilon, mu, BITS);
    arb_mul_2exp_si(mu, mu, -1);
    arb_sub(a, mu, ratio, BITS);
    arb_add(b, mu, ratio, BITS);
    arb_neg(b, b);
    ball_normal(a, a, BITS);
    ball_normal(b, b, BITS);
    arb_exp(ratio, epsilon, BITS);
    arb_submul(a, ratio, b, BITS);
    arb_set(result, a);
  }
  arb_clear(mu), arb_clear(ratio), arb_clear(a), arb_clear(b);
}

/* ln binom(n, k) by the logarithm of the gamma function. */
static void log_choose(arb_t result, double n, double k) {
  arb_t x;
  arb_init(x);
  arb_set_d(x, n + 1);
  arb_lgamma(result, x, BITS);
  arb_set_d(x, k + 1);
  arb_lgamma(x, x, BITS);
  arb_sub(result, result, x, BITS);
  arb_set_d(x, n - k + 1);
  arb_lgamma(x, x, BITS);
  arb_sub(result, result, x, BITS);
  arb_clear(x);
}

void ball_binomial(arb_t result, double n, double k, const arb_t p) {
  arb_t x;
  arb_init(x);
  log_choose(result, n, k);
  arb_log(x, p, BITS);
  arb_mul_si(x, x, (slong)k, BITS);
  if (k > 0) arb_add(result, result, x, BITS);
  arb_sub_ui(x, p, 1, BITS);
  arb_neg(x, x);
  arb_log(x, x, BITS);
  arb_mul_si(x, x, (slong)(n - k), BITS);
  if (k < n) arb_add(result, result, x, BITS);
  arb_exp(result, result, BITS);
  arb_clear(x);
}

void ball_fair(arb_t result, double n, double k) {
  arb_t half;
  arb_init(half);
  arb_set_d(half, 0.5);
  ball_binomial(result, n, k, half);
  arb_clear(half);
}

static double end_of(const arb_t x, bool upper) {
  arf_t end;
  arf_init(end);
  if (upper) arb_get_ubound_arf(end, x, 64);
  else arb_get_lbound_arf(end, x, 64);
  const double value = arf_get_d(end, upper ? ARF_RND_CEIL : ARF_RND_FLOOR);
  arf_clear(end);
  return value;
}

double ball_upper(const arb_t x) { return arb_is_finite(x) ? end_of(x, true) : (double)INFINITY; }
double ball_lower(const arb_t x) { return arb_is_finite(x) ? end_of(x, false) : -(double)INFINITY; }

bool ball_at_most(const arb_t x, double y) {
  arb_t bound;
  arb_init(bound);
  arb_set_d(bound, y);
  const bool holds = arb_le(x, bound);
  arb_clear(bound);
  return holds;
}
