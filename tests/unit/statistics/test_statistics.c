/* statistics: bounds on the tails of sums of Laplace variables, against exact tails. */
#include <math.h>

#include "support/support.h"

/* P(|sum of n Laplace of scale 1| > t), exactly: the difference of two Gamma(n) has, for t > 0, the
 * density e^-t / (2^(2n-1) (n-1)!) sum_k (2n-2-k)! / ((n-1-k)! k!) (2t)^k, k < n, whose terms
 * integrate to incomplete gammas. */
static double exact_tail(int n, double t) {
  double sum = 0;
  for (int k = 0; k < n; k++) {
    const double weight = exp(lgamma(2 * n - 1 - k) - lgamma(n) - lgamma(n - k) + (k - 2 * n + 1) * log(2));
    sum += weight * chi_square_tail(2 * t, 2.0 * (k + 1));
  }
  return 2 * sum;
}

static void test_exact_tail__is_a_distribution(void **state) {
  (void)state;
  for (int n = 1; n < 40; n++) assert_close(exact_tail(n, 0), 1, 1e-12);
  assert_close(exact_tail(1, 3), exp(-3), 1e-14);
  assert_close(exact_tail(2, 3), exp(-3) * (1 + 1.5), 1e-14);
}

/* Above the exact quantile, and not far above it for small q; exact for one variable. */
static void test_quantile__holds_and_is_not_loose(void **state) {
  (void)state;
  for (int n = 1; n <= 64; n *= 2)
    for (double q = 0.3; q > 1e-12; q /= 10) {
      const double t = faro_laplace_sum_quantile(n, 1, q);
      const double tail = exact_tail(n, t);
      assert_true(tail <= q * (1 + 1e-9));
      if (n == 1) assert_close(tail / q, 1, 1e-9);
      else assert_true(exact_tail(n, t * (q > 0.1 ? 0.4 : 0.6)) > q);
      assert_close(faro_laplace_sum_quantile(n, 2.5, q), 2.5 * t, 1e-9 * t);
    }
}

/* A sum of many is nearly Gaussian with variance 2 n b^2: t comes near sqrt(2 * 2 n ln(2/q)). */
static void test_quantile__of_many_is_the_gaussian_one(void **state) {
  (void)state;
  for (double n = 1e6; n < 1e13; n *= 100) {
    const double t = faro_laplace_sum_quantile(n, 3, 1e-6);
    assert_close(t / (3 * sqrt(4 * n * log(2e6))), 1, 1e-4);
  }
  assert_true(faro_laplace_sum_quantile(1, 1, 1) == 0 && faro_laplace_sum_quantile(5, 1, 1) == 0);
  assert_true(faro_laplace_sum_quantile(5, 0, 0.1) == 0);
  assert_close(faro_laplace_sum_quantile(0, 1, 0.1), log(20), 1e-8); /* no variables: as the bound has it */
  assert_true(isinf(faro_laplace_sum_quantile(5, 1, 0)) && isinf(faro_laplace_sum_quantile(5, 1, 1e-310)));
}

/* Weights: equal ones are one number, signs do not matter, and a weight of zero adds nothing. */
static void test_quantile__of_weighted_sums_is_consistent(void **state) {
  (void)state;
  const double one = faro_laplace_sum_quantile(12, 0.5, 1e-3);
  const double scale[] = {0.5, -0.5, 0};
  const double number[] = {4, 8, 100};
  assert_close(faro_laplace_quantile(scale, number, 3, 1e-3), one, 1e-9);
  const double more[] = {0.5, 0.6, 0};
  assert_true(faro_laplace_quantile(more, number, 3, 1e-3) > one);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact_tail__is_a_distribution),
      cmocka_unit_test(test_quantile__holds_and_is_not_loose),
      cmocka_unit_test(test_quantile__of_many_is_the_gaussian_one),
      cmocka_unit_test(test_quantile__of_weighted_sums_is_consistent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
