/* interval: Student's quantile against its own integral, and what the intervals promise. */
#include "sim/interval.h"

#include <math.h>

#include "support/support.h"

/* P(|T| <= t) by Simpson's rule on the density, in the angle of t = sqrt(n) tan(angle), where it is
 * proportional to cos(angle)^(n-1). */
static double integral(double angle, double n) {
  enum { STEPS = 20000 };
  double sum = 0;
  for (int i = 0; i <= STEPS; i++) {
    const double weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
    sum += weight * pow(cos(angle * i / STEPS), n - 1);
  }
  return sum * angle / STEPS / 3;
}

static void test_student__is_the_quantile(void **state) {
  (void)state;
  const double pi = acos(-1);
  for (int n = 1; n <= 200; n += n < 45 ? 1 : 31) {
    const double t = faro_student(n);
    const double within = integral(atan(t / sqrt(n)), n) / integral(pi / 2, n);
    assert_close(within, 0.95, 1e-7);
  }
  assert_close(faro_student(1e12), 1.959963984540054, 1e-9);
  assert_true(isnan(faro_student(0)));
}

static void test_interval__suits_what_it_measures(void **state) {
  (void)state;
  const faro_interval plain = faro_interval_plain(-3, 2, 9);
  assert_close(plain.low, -3 - 2 * 2.262157163, 1e-8);
  assert_close(plain.high, -3 + 2 * 2.262157163, 1e-8);
  const faro_interval positive = faro_interval_positive(10, 8, 3);
  assert_true(positive.low > 0 && positive.high > 10);
  assert_close(positive.low * positive.high, 100, 1e-12);             /* symmetric in the logarithm */
  assert_close(positive.high, 10 * exp(1) * 0.8 * 3.182446305, 1e-7); /* few instances: linear */
  assert_close(log(faro_interval_positive(10, 2, 3).high / 10), 0.2 * 3.182446305, 1e-8);
  const faro_interval zero = faro_interval_positive(0, 0, 4);
  assert_true(zero.low == 0 && zero.high == 0);
  assert_true(isnan(faro_interval_positive(5, 0, 0).low));
  assert_true(isnan(faro_interval_positive(5, 1, 1).high)); /* two instances */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_student__is_the_quantile),
      cmocka_unit_test(test_interval__suits_what_it_measures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
