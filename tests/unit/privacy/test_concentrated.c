/* concentrated privacy: never below the exact Gaussian, better than the textbook conversion,
 * consistent with its inverse. */
#include <math.h>

#include "support/support.h"

static double uniform_log(faro_sim_rng *sim, double low, double high) {
  return low * pow(high / low, faro_sim_uniform(sim));
}

/* A Gaussian of mu is mu^2/2-concentrated, so the conversion must not promise more than the exact
 * curve. */
static void test_zcdp__lies_between_the_exact_gaussian_and_the_textbook(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 81, 0, FARO_ROLE_USER);
  for (int i = 0; i < 10000; i++) {
    const double mu = uniform_log(&sim, 1e-3, 10);
    const double delta = uniform_log(&sim, 1e-15, 0.1);
    const double rho = mu * mu / 2;
    const double ours = faro_zcdp_epsilon(rho, delta);
    assert_true(ours >= 0 && isfinite(ours));
    assert_true(ours >= faro_gaussian_epsilon(mu, delta));
    assert_true(ours <= (rho + 2 * sqrt(rho * log(1 / delta))) * (1 + 1e-9));
    assert_true(faro_zcdp_epsilon(rho * 1.01, delta) >= ours);
    assert_true(faro_zcdp_epsilon(rho, delta * 1.01) <= ours);
  }
  assert_true(faro_zcdp_epsilon(0, 1e-6) == 0);
}

static void test_zcdp__rho_is_the_inverse(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 82, 0, FARO_ROLE_USER);
  for (int i = 0; i < 1000; i++) {
    const double epsilon = uniform_log(&sim, 1e-3, 50);
    const double delta = uniform_log(&sim, 1e-15, 0.1);
    const double rho = faro_zcdp_rho(epsilon, delta);
    assert_true(faro_zcdp_epsilon(rho, delta) <= epsilon);
    assert_true(faro_zcdp_epsilon(rho * (1 + 1e-6), delta) > epsilon * (1 - 1e-6));
  }
}

static void test_advanced__is_the_formula_or_the_plain_sum(void **state) {
  (void)state;
  assert_close(faro_advanced_epsilon(0.01, 1000, 1e-6), 0.01 * sqrt(2000 * log(1e6)) + 10 * expm1(0.01),
               1e-10);
  assert_close(faro_advanced_epsilon(1, 2, 1e-6), 2, 1e-10); /* few strong ones: the plain sum is less */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_zcdp__lies_between_the_exact_gaussian_and_the_textbook),
      cmocka_unit_test(test_zcdp__rho_is_the_inverse),
      cmocka_unit_test(test_advanced__is_the_formula_or_the_plain_sum),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
