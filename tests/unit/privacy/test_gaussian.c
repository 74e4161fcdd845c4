/* gaussian: the exact mechanism against an evaluation in quadruple precision, rounded outward in
 * both directions. */
#include <math.h>
#include <quadmath.h>

#include "support/support.h"

static __float128 phi_q(__float128 x) { return erfcq(-x / sqrtq(2)) / 2; }

/* Phi(a) - e^epsilon Phi(b), computed directly: 113 bits leave enough after the cancellation. */
static __float128 delta_q(double mu, double epsilon) {
  const __float128 m = mu;
  const __float128 e = epsilon;
  return phi_q(m / 2 - e / m) - expq(e) * phi_q(-m / 2 - e / m);
}

static double uniform_log(faro_sim_rng *sim, double low, double high) {
  return low * pow(high / low, faro_sim_uniform(sim));
}

static void test_delta__agrees_with_quadruple_precision_and_is_never_below(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 41, 0, FARO_ROLE_USER);
  int compared = 0;
  for (int i = 0; i < 40000; i++) {
    const double epsilon = uniform_log(&sim, 1e-4, 50);
    const double mu = uniform_log(&sim, 1e-5, 20);
    const __float128 exact = delta_q(mu, epsilon);
    if (exact < 1e-15Q || exact > 0.9Q) continue;
    const double ours = faro_gaussian_delta(mu, epsilon);
    compared++;
    assert_true((__float128)ours >= exact);
    assert_true((double)(((__float128)ours - exact) / exact) < 1e-9);
  }
  assert_true(compared > 5000);
}

/* Far out, where deltas are no longer of use, they are still upper bounds. Broken once: rounding by
 * 1e-11 there, and 0 where it underflows. */
static void test_delta__is_never_below_in_the_far_tail(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 44, 0, FARO_ROLE_USER);
  int compared = 0;
  for (int i = 0; i < 8000; i++) {
    const double mu = uniform_log(&sim, 1e-8, 1);
    const double epsilon = mu * uniform_log(&sim, 20, 37);
    const __float128 exact = delta_q(mu, epsilon);
    if (exact < 1e-300Q || exact > 1e-88Q) continue;
    const double ours = faro_gaussian_delta(mu, epsilon);
    compared++;
    assert_true((__float128)ours >= exact);
    assert_true((double)(((__float128)ours - exact) / exact) < 1e-7);
  }
  assert_true(compared > 2000);
  const double gone = faro_gaussian_delta(1e-6, 50);
  assert_true(gone > 0 && gone <= 1e-300);
}

static void test_inverse__inverts_forward_to_1e_9_over_the_whole_range(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 42, 0, FARO_ROLE_USER);
  for (int i = 0; i < 10000; i++) {
    const double epsilon = uniform_log(&sim, 1e-4, 50);
    const double delta = uniform_log(&sim, 1e-15, 0.5);
    const double mu = faro_gaussian_mu(epsilon, delta);
    assert_true(mu > 0 && isfinite(mu));
    assert_true(delta_q(mu, epsilon) <= (__float128)delta);                           /* enough noise */
    assert_true(delta_q(mu * (1 + 1e-9), epsilon) > (__float128)delta * (1 - 1e-6Q)); /* and no more */
    const double back = faro_gaussian_epsilon(mu, delta);
    assert_close(back / epsilon, 1, 1e-8);
    assert_true(delta_q(mu, back) <= (__float128)delta);
  }
}

static void test_gaussian__is_monotone(void **state) {
  (void)state;
  slow_test();
  faro_sim_rng sim;
  faro_sim_open(&sim, 43, 0, FARO_ROLE_USER);
  for (int i = 0; i < 10000; i++) {
    const double epsilon = uniform_log(&sim, 1e-4, 1000);
    const double delta = uniform_log(&sim, 1e-15, 0.999);
    const double mu = uniform_log(&sim, 1e-6, 1000);
    const double value = faro_gaussian_delta(mu, epsilon);
    assert_true(value >= 0 && value <= 1);
    assert_true(faro_gaussian_delta(mu, epsilon * 1.01) <= value);
    assert_true(faro_gaussian_delta(mu * 1.01, epsilon) >= value);
    const double least = faro_gaussian_epsilon(mu, delta);
    assert_true(least >= 0 && isfinite(least));
    assert_true(faro_gaussian_epsilon(mu * 1.01, delta) >= least);
    assert_true(faro_gaussian_epsilon(mu, fmin(0.9995, delta * 1.01)) <= least);
    assert_true(faro_gaussian_mu(epsilon * 1.01, delta) >= faro_gaussian_mu(epsilon, delta));
  }
  assert_true(faro_gaussian_delta(0, 1) == 0 && faro_gaussian_epsilon(0, 0.1) == 0);
  assert_close(1 / faro_gaussian_mu(1, 1e-6), 4.224678889, 1e-8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_delta__agrees_with_quadruple_precision_and_is_never_below),
      cmocka_unit_test(test_delta__is_never_below_in_the_far_tail),
      cmocka_unit_test(test_inverse__inverts_forward_to_1e_9_over_the_whole_range),
      cmocka_unit_test(test_gaussian__is_monotone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
