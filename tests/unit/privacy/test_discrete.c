/* discrete: the exact accountants of Laplace, discrete and binary mechanisms, against enumeration,
 * closed forms and limits. */
#include <float.h>
#include <math.h>

#include "support/support.h"

static faro_sim_rng stream;

static double between(double low, double high) { /* uniform in the logarithm */
  return low * pow(high / low, faro_sim_uniform(&stream));
}
static uint64_t shift_between(double low, double high) { return (uint64_t)between(low, high); }

/* An upper bound on `exact`, and within the stated margin of it. */
static void assert_outward(double value, long double exact, const char *what, double noise, double shift,
                           double epsilon) {
  if (value >= (double)(exact * (1 + 1e-13L)) && value <= (double)(exact * (1 + 3e-11L))) return;
  if (value >= 1 - 1e-11 && exact > 1 - 1e-11L) return;
  if (value < 1e-290 && exact < 1e-290L) return;
  fail_msg("%s(%.17g, %g, %.17g) = %.17g, not %.17Lg", what, noise, shift, epsilon, value, exact);
}

/* Sum of max(0, P(k) - e^epsilon Q(k)) over all k, written P (1 - e^(epsilon - loss)); weight is
 * -ln P. */
static long double enumerate(long double (*weight)(long double, long double), long double noise,
                             long double shift, long double epsilon, long double reach) {
  long double total = 0;
  long double sum = 0;
  for (long double k = -reach; k <= reach; k++) total += expl(-weight(k, noise));
  for (long double k = -reach; k <= reach + shift; k++) {
    const long double loss = weight(k - shift, noise) - weight(k, noise);
    if (loss > epsilon) sum -= expl(-weight(k, noise)) * expm1l(epsilon - loss);
  }
  return sum / total;
}
static long double laplace_weight(long double k, long double scale) { return fabsl(k) / scale; }
static long double gaussian_weight(long double k, long double sigma) { return k * k / (2 * sigma * sigma); }

/* Numerical integral of max(0, p - e^epsilon q) of the continuous Laplace densities, by Simpson's
 * rule on either side of the kinks 0 and tau. It uses nothing of the closed form but the kinks. */
static long double laplace_integral(long double ratio, long double epsilon) {
  const long double edge[] = {-60, 0, (ratio - epsilon) / 2};
  long double sum = 0;
  for (int part = 0; part < 2; part++) {
    const long double width = (edge[part + 1] - edge[part]) / 4000;
    for (int i = 0; i <= 4000; i++) {
      const long double x = edge[part] + width * i;
      const long double value = (expl(-fabsl(x)) - expl(epsilon - fabsl(x - ratio))) / 2;
      sum += value * width / 3 * (i == 0 || i == 4000 ? 1 : i % 2 ? 4 : 2);
    }
  }
  return sum;
}

static void test_laplace__delta_is_exact(void **state) {
  (void)state;
  for (double ratio = 0.1; ratio < 20; ratio *= 1.7)
    for (double part = 0.01; part < 1; part += 0.14)
      assert_close(faro_laplace_delta(ratio, part * ratio), (double)laplace_integral(ratio, part * ratio),
                   1e-9);
  assert_outward(faro_laplace_delta(3, 1), 1 - expl(-1), "laplace", 3, 1, 1);
  assert_true(faro_laplace_delta(1, 1) == 0);
  assert_true(faro_laplace_delta(1, 2) == 0);
  assert_true(faro_laplace_delta(0, 0) == 0);
  assert_true(faro_laplace_delta(1, nextafter(1, 0)) >= DBL_EPSILON / 4);
}

static void test_laplace__inverses_are_closed_forms(void **state) {
  (void)state;
  for (int i = 0; i < 3000; i++) {
    const double ratio = between(1e-3, 1e3);
    const double epsilon = between(1e-4, 1e3);
    const double delta = between(1e-15, 0.999);
    const double least = faro_laplace_epsilon(ratio, delta);
    const double most = faro_laplace_ratio(epsilon, delta);
    assert_close(least, fmax(0, ratio + 2 * log1p(-delta)), 1e-10 * delta / (1 - delta) + 1e-14 * ratio);
    assert_close(most, epsilon - 2 * log1p(-delta), 1e-10 * delta / (1 - delta) + 1e-14 * epsilon);
    assert_true(faro_laplace_delta(ratio, least) <= delta);
    assert_true(faro_laplace_delta(most, epsilon) <= delta);
  }
  assert_true(faro_laplace_epsilon(2, 0) == 2);
  assert_true(faro_laplace_ratio(2, 0) == 2);
  assert_true(faro_laplace_epsilon(0.5, 0.999) == 0);
}

static void test_discrete_laplace__delta_is_the_sum_over_all_outputs(void **state) {
  (void)state;
  for (int i = 0; i < 2000; i++) {
    const double scale = between(0.02, 8);
    const uint64_t shift = shift_between(1, 60);
    const double epsilon = between(1e-4, 1.2 * (double)shift / scale);
    const long double exact =
        enumerate(laplace_weight, scale, (long double)shift, epsilon, ceill(60 * scale) + 80);
    if (exact > 0 && exact < 1e-9L) continue; /* there the rounding of the enumeration shows */
    assert_outward(faro_discrete_laplace_delta(scale, shift, epsilon), exact, "discrete laplace", scale,
                   (double)shift, epsilon);
  }
}

static void test_discrete_laplace__edge_cases_are_exact(void **state) {
  (void)state;
  /* epsilon = 0, shift 1: P(0) is the distance in total variation */
  const double a = exp(-1 / 2.5);
  assert_close(faro_discrete_laplace_delta(2.5, 1, 0), (1 - a) / (1 + a), 1e-11);
  assert_true(faro_discrete_laplace_delta(2, 4, 2) == 0); /* the largest loss is shift/scale */
  assert_true(faro_discrete_laplace_delta(2, 4, nextafter(2, 0)) > 0);
  assert_true(faro_discrete_laplace_delta(2, 0, 1) == 0);
  /* epsilon scale = 4 (1 - 2^-60): only 0 and below lose more than epsilon, by 2^-58 / scale */
  const double scale = 1 + ldexp(1, -30);
  const long double above = ldexpl(1, -58) / scale / (1 + expl(-1 / (long double)scale));
  assert_outward(faro_discrete_laplace_delta(scale, 4, 4 * (1 - ldexp(1, -30))), above, "discrete laplace",
                 scale, 4, 4);
  assert_true(faro_discrete_laplace_delta(1e-3, 1000000, 1e-4) == 1);
  assert_true(faro_discrete_laplace_scale(0, 1, 1e-6) == 0);
  /* without delta the scale is shift/epsilon, and epsilon is shift/scale */
  assert_close(faro_discrete_laplace_scale(7, 3, 0), 7.0 / 3, 1e-14);
  assert_close(faro_discrete_laplace_epsilon(3, 7, 0), 7.0 / 3, 1e-14);
  assert_true(faro_discrete_laplace_scale(7, 3, 0) >= 7.0 / 3);
}

static void test_discrete_laplace__tends_to_laplace(void **state) {
  (void)state;
  for (int i = 0; i < 1000; i++) {
    const double scale = between(1e4, 1e7);
    const uint64_t shift = shift_between(1e4, 1e6);
    const double ratio = (double)shift / scale;
    const double epsilon = ratio * faro_sim_uniform(&stream);
    assert_close(faro_discrete_laplace_delta(scale, shift, epsilon), faro_laplace_delta(ratio, epsilon),
                 1 / scale + 1e-10);
  }
}

static void test_discrete_gaussian__delta_is_the_sum_over_all_outputs(void **state) {
  (void)state;
  for (int i = 0; i < 4000; i++) {
    const double sigma = i % 20 ? between(0.1, 12) : between(12, 600); /* the sum, and Euler-Maclaurin */
    const uint64_t shift = shift_between(1, i % 3 ? 3 * sigma + 2 : 40 * sigma + 2);
    const double mu = (double)shift / sigma;
    const double a = 4 - 12 * faro_sim_uniform(&stream);
    const double epsilon = fmax(0, mu * (mu / 2 - a)); /* about Phi(a) */
    const long double reach = ceil(14 * sigma) + 10;
    const long double exact = enumerate(gaussian_weight, sigma, (long double)shift, epsilon, reach);
    if (exact > 0 && exact < 1e-16L) continue;
    /* rounding of the enumeration's own losses, next to a kink */
    const long double slack = 1e-17L * (epsilon + mu * mu);
    const double value = faro_discrete_gaussian_delta(sigma, shift, epsilon);
    if (fabsl(value - exact) < slack * exact + 1e-26L) continue;
    assert_outward(value, exact, "discrete gaussian", sigma, (double)shift, epsilon);
  }
}

/* If epsilon is just below a loss, delta is one term with a tiny factor. */
static void test_discrete_gaussian__holds_next_to_a_loss(void **state) {
  (void)state;
  for (int i = 1; i <= 40; i++) { /* sigma^2 = 2^-8 exactly: losses are 128 s (s - 2k), theta = 1 */
    const double gap = ldexp(1, -i);
    const double value = faro_discrete_gaussian_delta(0.0625, 2, 512 - gap);
    assert_outward(value, -expm1l(-gap), "discrete gaussian", 0.0625, 2, 512 - gap);
  }
  /* sigma^2 = 2^-8 (1 + 2^-39 + 2^-80) does not fit a long double. With s = 1, epsilon = 128 (1 -
   * 2^-39), the loss at 0 exceeds epsilon by (1 - 2 epsilon sigma^2) / 2 sigma^2, where 1 - 2
   * epsilon sigma^2 = 3 * 2^-80 + 2^-119. */
  const double sigma = 0.0625 * (1 + ldexp(1, -40));
  const double epsilon = 128 * (1 - ldexp(1, -39));
  const long double exact = (3 * ldexpl(1, -80) + ldexpl(1, -119)) * 128 / (1 + ldexpl(1, -39));
  assert_outward(faro_discrete_gaussian_delta(sigma, 1, epsilon), exact, "discrete gaussian", sigma, 1,
                 epsilon);
  assert_true(faro_discrete_gaussian_delta(sigma, 1, nextafter(epsilon, 200)) < 1e-50); /* beyond the loss */
}

static void test_discrete_gaussian__tends_to_gaussian(void **state) {
  (void)state;
  for (int i = 0; i < 3000; i++) {
    const double sigma = between(1e4, 1e7);
    const uint64_t shift = shift_between(1, 1e6);
    const double mu = (double)shift / sigma;
    const double epsilon = fmax(1e-4, mu * (mu / 2 + 6 * faro_sim_uniform(&stream)));
    const double limit = faro_gaussian_delta(mu, epsilon);
    if (limit < 1e-250) continue;
    const double a = mu / 2 - epsilon / mu;
    assert_close(faro_discrete_gaussian_delta(sigma, shift, epsilon) / limit, 1,
                 3e-11 + (2 + mu + a * a) * (2 + a * a) / (sigma * sigma));
  }
}

/* Both methods, across the border between them: the result is continuous in sigma. */
static void test_discrete_gaussian__both_ways_agree_at_their_border(void **state) {
  (void)state;
  for (int i = 0; i < 300; i++) {
    const uint64_t shift = shift_between(1, 2000);
    const double sigma = between(45, 400);
    const double mu = (double)shift / sigma;
    const double epsilon = fmax(1e-4, mu * (mu / 2 + 4 * faro_sim_uniform(&stream)));
    const long double exact =
        enumerate(gaussian_weight, sigma, (long double)shift, epsilon, ceil(13 * sigma) + 1);
    if (exact > 1e-16L)
      assert_outward(faro_discrete_gaussian_delta(sigma, shift, epsilon), exact, "discrete gaussian", sigma,
                     (double)shift, epsilon);
  }
}

static void test_discrete_gaussian__edge_cases_are_exact(void **state) {
  (void)state;
  assert_true(faro_discrete_gaussian_delta(1, 0, 0.5) == 0);
  assert_true(faro_discrete_gaussian_delta(1e-3, 1, 1000) == 1);
  assert_true(faro_discrete_gaussian_delta(1e-3, 1000000, 1e-4) == 1);
  assert_true(faro_discrete_gaussian_delta(1e7, 1, 1000) == 0);
  assert_true(isinf(faro_discrete_gaussian_epsilon(1, 1, 0)));
  assert_true(faro_discrete_gaussian_epsilon(1, 0, 1e-9) == 0);
  assert_true(faro_discrete_gaussian_epsilon(1e7, 1, 0.5) == 0);
  assert_true(faro_discrete_gaussian_sigma(0, 1, 1e-9) == 0);
  /* epsilon = 0, shift 1: P(0) = 1/theta */
  double theta = 1;
  for (int k = 1; k < 40; k++) theta += 2 * exp(-k * k / (2 * 1.7 * 1.7));
  assert_close(faro_discrete_gaussian_delta(1.7, 1, 0), 1 / theta, 1e-11);
}

/* s = 1, epsilon = 2: at sigma = 1/2 the term k = 0 vanishes, and the term k = -1 then grows with
 * sigma. The sigma for a delta in between must be beyond the maximum. */
static void test_discrete_gaussian__sigma_is_beyond_all_maxima(void **state) {
  (void)state;
  slow_test();
  assert_true(faro_discrete_gaussian_delta(0.58, 1, 2) > 1.2 * faro_discrete_gaussian_delta(0.5, 1, 2));
  assert_true(faro_discrete_gaussian_sigma(1, 2, 0.12) > 0.6);
  for (int i = 0; i < 400; i++) {
    const uint64_t shift = shift_between(1, i % 2 ? 6 : 5000);
    const double epsilon = between(0.5, 1000);
    const double delta = between(1e-15, 0.999);
    const double sigma = faro_discrete_gaussian_sigma(shift, epsilon, delta);
    for (int j = 0; j < 400; j++) {
      const double larger = sigma * (1 + between(1e-6, 3));
      const double at = faro_discrete_gaussian_delta(larger, shift, epsilon);
      if (at > delta * (1 + 1e-9))
        fail_msg("s %g epsilon %.17g: sigma %.17g for %g, but %.17g gives %g", (double)shift, epsilon, sigma,
                 delta, larger, at);
    }
  }
}

static void test_response__delta_and_inverse_are_exact(void **state) {
  (void)state;
  for (int i = 0; i < 3000; i++) {
    const double truth = between(1e-3, 30);
    const double epsilon = truth * faro_sim_uniform(&stream);
    const double delta = between(1e-15, 0.999);
    const long double p = expl(truth) / (1 + expl(truth));
    const double value = faro_response_delta(truth, epsilon);
    assert_close(value, (double)(p - expl(epsilon) / (1 + expl(truth))), 2e-11 * value + 1e-15);
    const double least = faro_response_epsilon(truth, delta);
    assert_true(faro_response_delta(truth, least) <= delta);
    if (least > 0) assert_true(faro_response_delta(truth, least * (1 - 1e-9) - 1e-15) > delta);
  }
  assert_true(faro_response_delta(1, 1) == 0);
  assert_true(faro_response_delta(1000, 1e-4) == 1);
  assert_true(faro_response_epsilon(0, 1e-6) == 0);
  assert_true(faro_response_epsilon(1.5, 0) == 1.5);
  assert_close(faro_response_delta(log(3), 0), 0.5, 1e-11); /* 3/4 - 1/4 */
}

static void test_inverses__are_the_least_that_holds(void **state) {
  (void)state;
  slow_test();
  for (int i = 0; i < 2000; i++) {
    const double noise = between(1e-3, 1e7);
    const uint64_t shift = shift_between(1, 1e6);
    const double epsilon = between(1e-4, 1e3);
    const double delta = between(1e-15, 0.999);
    const double least[] = {faro_discrete_laplace_epsilon(noise, shift, delta),
                            faro_discrete_gaussian_epsilon(noise, shift, delta),
                            faro_discrete_laplace_scale(shift, epsilon, delta),
                            faro_discrete_gaussian_sigma(shift, epsilon, delta)};
    const double less = 1 - 1e-9;
    assert_true(faro_discrete_laplace_delta(noise, shift, least[0]) <= delta);
    assert_true(least[0] == 0 || faro_discrete_laplace_delta(noise, shift, least[0] * less) > delta);
    assert_true(faro_discrete_gaussian_delta(noise, shift, least[1]) <= delta);
    assert_true(least[1] == 0 || faro_discrete_gaussian_delta(noise, shift, least[1] * less) > delta);
    assert_true(faro_discrete_laplace_delta(least[2], shift, epsilon) <= delta);
    assert_true(faro_discrete_laplace_delta(least[2] * less, shift, epsilon) > delta);
    assert_true(faro_discrete_gaussian_delta(least[3], shift, epsilon) <= delta);
    assert_true(faro_discrete_gaussian_delta(least[3] * less, shift, epsilon) > delta);
  }
}

static void assert_falls(const char *what, double from, double to, double noise, double shift,
                         double epsilon) {
  if (!(from >= 0 && from <= 1 && to >= 0 && to <= from * (1 + 1e-12) + 1e-300))
    fail_msg("%s: from %.17g to %.17g near (%.17g, %g, %.17g)", what, from, to, noise, shift, epsilon);
}

/* At half of the points, delta is neither 0 nor 1. */
static void test_deltas__are_monotone_in_every_argument(void **state) {
  (void)state;
  for (int i = 0; i < 20000; i++) {
    const double noise = between(1e-3, 1e7);
    const uint64_t shift = shift_between(1, 1e6);
    const double ratio = (double)shift / noise;
    const double near = i % 4 < 2 ? ratio : ratio * (ratio / 2 + 3);
    double epsilon = i % 2 ? between(1e-4, 1000) : near * faro_sim_uniform(&stream);
    epsilon = fmin(1000, fmax(1e-4, epsilon));
    const double grow = 1 + between(1e-9, 1);
    const double here[] = {faro_laplace_delta(ratio, epsilon), faro_response_delta(ratio, epsilon),
                           faro_discrete_laplace_delta(noise, shift, epsilon),
                           faro_discrete_gaussian_delta(noise, shift, epsilon)};
#define FALLS(name, from, to) assert_falls(name, from, to, noise, (double)shift, epsilon)
    FALLS("laplace, epsilon", here[0], faro_laplace_delta(ratio, epsilon * grow));
    FALLS("laplace, ratio", faro_laplace_delta(ratio * grow, epsilon), here[0]);
    FALLS("response, epsilon", here[1], faro_response_delta(ratio, epsilon * grow));
    FALLS("response, epsilon0", faro_response_delta(ratio * grow, epsilon), here[1]);
    FALLS("d. laplace, epsilon", here[2], faro_discrete_laplace_delta(noise, shift, epsilon * grow));
    FALLS("d. laplace, scale", here[2], faro_discrete_laplace_delta(noise * grow, shift, epsilon));
    FALLS("d. laplace, shift", faro_discrete_laplace_delta(noise, shift + 1, epsilon), here[2]);
    FALLS("d. gaussian, epsilon", here[3], faro_discrete_gaussian_delta(noise, shift, epsilon * grow));
    FALLS("d. gaussian, shift", faro_discrete_gaussian_delta(noise, shift + 1, epsilon), here[3]);
    /* maxima exist only if tau < 0 and epsilon is not small compared with the shift */
    const double wide = noise * grow;
    const double s = (double)shift;
    if (epsilon < s / 2 || wide * wide * epsilon < s * s / 2)
      FALLS("d. gaussian, sigma", here[3], faro_discrete_gaussian_delta(wide, shift, epsilon));
#undef FALLS
  }
}

static int open_stream(void **state) {
  (void)state;
  faro_sim_open(&stream, 12, 0, FARO_ROLE_USER);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_laplace__delta_is_exact),
      cmocka_unit_test(test_laplace__inverses_are_closed_forms),
      cmocka_unit_test(test_discrete_laplace__delta_is_the_sum_over_all_outputs),
      cmocka_unit_test(test_discrete_laplace__edge_cases_are_exact),
      cmocka_unit_test(test_discrete_laplace__tends_to_laplace),
      cmocka_unit_test(test_discrete_gaussian__delta_is_the_sum_over_all_outputs),
      cmocka_unit_test(test_discrete_gaussian__holds_next_to_a_loss),
      cmocka_unit_test(test_discrete_gaussian__tends_to_gaussian),
      cmocka_unit_test(test_discrete_gaussian__both_ways_agree_at_their_border),
      cmocka_unit_test(test_discrete_gaussian__edge_cases_are_exact),
      cmocka_unit_test(test_discrete_gaussian__sigma_is_beyond_all_maxima),
      cmocka_unit_test(test_response__delta_and_inverse_are_exact),
      cmocka_unit_test(test_inverses__are_the_least_that_holds),
      cmocka_unit_test(test_deltas__are_monotone_in_every_argument),
  };
  return cmocka_run_group_tests(tests, open_stream, NULL);
}
