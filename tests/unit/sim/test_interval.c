/* interval: Student's quantile against its own integral, and what the intervals promise. */
#include "sim/interval.h"

#include <faro/random.h>
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

/* |mean of a - r b| in units of its standard error. */
static double off(const double *a, const double *b, size_t n, double r) {
  double mean = 0;
  double square = 0;
  for (size_t i = 0; i < n; i++) mean += (a[i] - r * b[i]) / (double)n;
  for (size_t i = 0; i < n; i++) square += pow(a[i] - r * b[i] - mean, 2);
  return fabs(mean) / sqrt(square / ((double)n - 1) / (double)n);
}

static void test_interval_ratio__ends_where_the_difference_is_just_seen(void **state) {
  (void)state;
  static const double a[] = {2, 3, 5, 4, 7, 1};
  static const double b[] = {4, 4, 7, 6, 9, 3};
  const faro_interval ratio = faro_interval_ratio(a, b, 6);
  assert_true(ratio.low < 22.0 / 33 && ratio.high > 22.0 / 33);
  assert_close(off(a, b, 6, ratio.low), faro_student(5), 1e-9);
  assert_close(off(a, b, 6, ratio.high), faro_student(5), 1e-9);
  const faro_interval turned = faro_interval_ratio(b, a, 6);
  assert_close(turned.low * ratio.high, 1, 1e-12);
  assert_close(turned.high * ratio.low, 1, 1e-12);
}

static void test_interval_ratio__without_doubt_or_without_knowledge(void **state) {
  (void)state;
  static const double a[] = {8, 10, 12};
  static const double b[] = {4, 5, 6};
  static const double same[] = {3, 3, 3};
  static const double wild[] = {-5, 1, 5};
  static const double none[] = {0, 0, 0};
  const faro_interval twice = faro_interval_ratio(a, b, 3);
  assert_close(twice.low, 2, 1e-12);
  assert_close(twice.high, 2, 1e-12);
  const faro_interval one = faro_interval_ratio(same, same, 3);
  assert_true(one.low == 1 && one.high == 1);
  const struct {
    const double *a, *b;
    size_t n;
  } unknown[] = {{a, b, 0}, {a, b, 1}, {a, wild, 3}, {a, none, 3}, {none, none, 3}};
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
    const faro_interval any = faro_interval_ratio(unknown[i].a, unknown[i].b, unknown[i].n);
    assert_true(any.low == 0 && isinf(any.high));
  }
}

/* Of pairs of normal numbers with means 3 and 2 that have a part in common, five at a time: the
 * interval is exact. Of 20 000, 1000 +- 31 are expected to miss 1.5; false alarm: 6 standard
 * deviations, 1 in 10^8 (the seed is fixed). */
static void test_interval_ratio__covers_as_often_as_it_says(void **state) {
  (void)state;
  enum { DRAWS = 20000, N = 5 };
  faro_sim_rng sim;
  faro_sim_open(&sim, 1, 0, 0);
  int missed = 0;
  for (int i = 0; i < DRAWS; i++) {
    double a[N];
    double b[N];
    for (int k = 0; k < N; k++) {
      const double common = faro_sim_normal(&sim);
      a[k] = 3 + 0.5 * common + 0.2 * faro_sim_normal(&sim);
      b[k] = 2 + 0.4 * common + 0.1 * faro_sim_normal(&sim);
    }
    const faro_interval ratio = faro_interval_ratio(a, b, N);
    missed += ratio.low > 1.5 || ratio.high < 1.5;
  }
  assert_in_range(missed, 1000 - 186, 1000 + 186);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_student__is_the_quantile),
      cmocka_unit_test(test_interval__suits_what_it_measures),
      cmocka_unit_test(test_interval_ratio__ends_where_the_difference_is_just_seen),
      cmocka_unit_test(test_interval_ratio__without_doubt_or_without_knowledge),
      cmocka_unit_test(test_interval_ratio__covers_as_often_as_it_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
