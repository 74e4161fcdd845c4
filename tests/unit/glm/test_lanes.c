/* lanes: against quadruple precision, link.c, and themselves. */
#include <float.h>
#include <math.h>
#include <quadmath.h>
#include <string.h>

#include "support/support.h"

#include "glm/lanes.h"
#include "glm/link.h"

enum { MANY = 20000 };

static faro_sim_rng sim;

static int open_stream(void **state) {
  (void)state;
  faro_sim_open(&sim, 72, 0, FARO_ROLE_USER);
  return 0;
}

static double between(double low, double high) { return low + (high - low) * faro_sim_uniform(&sim); }

/* The greatest error in units of the last place, 2^-52 of the value, and below the least normal
 * number of DBL_MIN. */
static void check_close(const char *what, double x, double value, __float128 exact, double most) {
  const double error = (double)(fabsq(value - exact) / (fmaxq(fabsq(exact), DBL_MIN) * DBL_EPSILON));
  if (!(error <= most)) fail_msg("%s at %.17g: off by %g in the last place", what, x, error);
}

static void test_exp__is_within_two_last_places_everywhere(void **state) {
  (void)state;
  static double x[MANY], out[MANY];
  for (size_t i = 0; i < MANY; i++) x[i] = i % 2 ? between(-750, 709.7) : between(-3, 3);
  faro_lanes_exp(MANY, x, out);
  for (size_t i = 0; i < MANY; i++) check_close("exp", x[i], out[i], expq(x[i]), 2);
}

static void test_log__is_within_two_last_places_everywhere(void **state) {
  (void)state;
  static double x[MANY], out[MANY];
  for (size_t i = 0; i < MANY; i++)
    x[i] = i == 0   ? 1
           : i == 1 ? DBL_MIN
           : i == 2 ? DBL_MAX
           : i % 2  ? exp(between(-700, 700))
                    : between(0.5, 2);
  faro_lanes_log(MANY, x, out);
  assert_true(out[0] == 0);
  for (size_t i = 0; i < MANY; i++) check_close("log", x[i], out[i], logq(x[i]), 2);
}

static void test_log1p__is_within_two_last_places_from_0_to_1(void **state) {
  (void)state;
  static double x[MANY], out[MANY];
  for (size_t i = 0; i < MANY; i++) x[i] = i < 2 ? (double)i : i % 2 ? exp(between(-744, 0)) : between(0, 1);
  faro_lanes_log1p(MANY, x, out);
  for (size_t i = 0; i < MANY; i++) check_close("log1p", x[i], out[i], log1pq(x[i]), 2);
}

/* The tails of the probit end at -38, those of the logistic link at -745. */
static void test_link__is_within_some_last_places_of_the_truth(void **state) {
  (void)state;
  static double z[MANY], b[MANY], m[MANY], s[MANY];
  for (size_t i = 0; i < MANY; i++) z[i] = i % 2 ? between(-760, 700) : between(-5, 5);
  faro_lanes_link(FARO_LINK_LOGISTIC, MANY, z, b, m, s);
  for (size_t i = 0; i < MANY; i++) {
    const __float128 e = expq(-fabsq(z[i]));
    check_close("logistic b", z[i], b[i], fmaxq(z[i], 0) + log1pq(e), 4);
    check_close("logistic mean", z[i], m[i], z[i] < 0 ? e / (1 + e) : 1 / (1 + e), 4);
    check_close("logistic slope", z[i], s[i], fmaxq(e / ((1 + e) * (1 + e)), DBL_MIN), 4);
  }
  for (size_t i = 0; i < MANY; i++) z[i] = i % 2 ? between(-40, 40) : between(-5, 5);
  faro_lanes_link(FARO_LINK_PROBIT, MANY, z, NULL, m, s);
  for (size_t i = 0; i < MANY; i++) {
    const __float128 w = z[i];
    check_close("probit mean", z[i], m[i], erfcq(-w / sqrtq(2)) / 2, 6);
    check_close("probit slope", z[i], s[i], fmaxq(expq(-w * w / 2) / sqrtq(2 * M_PIq), DBL_MIN), 6);
  }
}

/* All links and outputs, in blocks of every length about a vector and a block. */
static void test_link__agrees_with_the_plain_one(void **state) {
  (void)state;
  enum { MOST = 300 };
  double z[MOST], wide[3][MOST], plain[3][MOST];
  for (faro_link link = 0; link < FARO_LINK_COUNT; link++)
    for (size_t count = 0; count < MOST; count += count < 20 ? 1 : 53) {
      for (size_t i = 0; i < count; i++) z[i] = between(-12, 12);
      faro_link_map(link, count, z, plain[0], plain[1], plain[2]);
      for (unsigned wanted = 0; wanted < 8; wanted++) {
        memset(wide, 0, sizeof wide);
        faro_lanes_link(link, count, z, wanted & 1 ? wide[0] : NULL, wanted & 2 ? wide[1] : NULL,
                        wanted & 4 ? wide[2] : NULL);
        for (int k = 0; k < 3; k++)
          for (size_t i = 0; i < MOST; i++)
            if ((wanted >> k & 1) && i < count)
              assert_close(wide[k][i], plain[k][i], 1e-13 * fabs(plain[k][i]));
            else assert_true(wide[k][i] == 0);
      }
    }
}

static void test_link__has_limits_and_keeps_nan(void **state) {
  (void)state;
  const double z[] = {INFINITY, 1e308, -1e308, -INFINITY, NAN, -0.0};
  double m[6], s[6], out[6];
  for (faro_link link = FARO_LINK_LOGISTIC; link <= FARO_LINK_PROBIT; link++) {
    faro_lanes_link(link, 6, z, NULL, m, s);
    assert_true(m[0] == 1 && m[1] == 1 && m[2] == 0 && m[3] == 0 && isnan(m[4]));
    assert_close(m[5], 0.5, 2 * DBL_EPSILON);
    assert_true(s[0] == DBL_MIN && s[3] == DBL_MIN && isnan(s[4]));
  }
  faro_lanes_exp(6, z, out);
  assert_true(isinf(out[0]) && isinf(out[1]) && out[2] == 0 && out[3] == 0 && isnan(out[4]) && out[5] == 1);
}

/* A value does not depend on its neighbours, nor on the width of vectors. */
static void test_lanes__give_the_same_bytes_for_every_width(void **state) {
  (void)state;
  enum { MOST = 1000 };
  double z[MOST], many[3][MOST], one[3], x[MOST], wide[MOST], log;
  for (size_t i = 0; i < MOST; i++) z[i] = between(-40, 40);
  for (size_t i = 0; i < MOST; i++) x[i] = exp(z[i]);
  faro_lanes_log(MOST, x, wide);
  for (unsigned lanes = 8; lanes >= 2; lanes /= 2)
    for (faro_link link = 0; link < FARO_LINK_COUNT; link++) {
      faro_lanes_limit(8);
      faro_lanes_link(link, MOST, z, many[0], many[1], many[2]);
      faro_lanes_limit(lanes);
      for (size_t i = 0; i < MOST; i++) {
        faro_lanes_link(link, 1, z + i, &one[0], &one[1], &one[2]);
        for (int k = 0; k < 3; k++) assert_memory_equal(&one[k], &many[k][i], sizeof one[k]);
        faro_lanes_log(1, x + i, &log);
        assert_memory_equal(&log, &wide[i], sizeof log);
      }
      double again[3][MOST];
      faro_lanes_link(link, MOST, z, again[0], again[1], again[2]);
      assert_memory_equal(again, many, sizeof many);
    }
  faro_lanes_limit(8);
}

/* As one sum after another, in every width. Broken once: fused multiplications and additions. */
static void test_columns__give_the_bytes_of_plain_loops(void **state) {
  (void)state;
  enum { D_MOST = 5, STRIDE = 40 };
  double x[D_MOST * STRIDE], theta[D_MOST], factor[STRIDE], z[STRIDE], to[D_MOST * STRIDE];
  for (size_t i = 0; i < D_MOST * STRIDE; i++) x[i] = between(-1, 1);
  for (size_t i = 0; i < STRIDE; i++) factor[i] = between(-2, 2);
  for (size_t j = 0; j < D_MOST; j++) theta[j] = between(-3, 3);
  for (unsigned lanes = 8; lanes >= 2; lanes /= 2)
    for (size_t d = 1; d <= D_MOST; d++)
      for (size_t count = 0; count <= STRIDE; count++) {
        faro_lanes_limit(lanes);
        memset(z, 0, sizeof z);
        memset(to, 0, sizeof to);
        faro_lanes_products(d, count, x, STRIDE, theta, z);
        faro_lanes_scaled(d, count, x, STRIDE, factor, to);
        for (size_t i = 0; i < STRIDE; i++) {
          volatile double sum = 0;
          for (size_t j = 0; j < d; j++) {
            const volatile double product = theta[j] * x[j * STRIDE + i];
            sum = j == 0 ? product : sum + product;
            assert_true(to[j * STRIDE + i] == (i < count ? x[j * STRIDE + i] * factor[i] : 0));
          }
          assert_true(z[i] == (i < count ? sum : 0));
        }
      }
  faro_lanes_limit(8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exp__is_within_two_last_places_everywhere),
      cmocka_unit_test(test_log__is_within_two_last_places_everywhere),
      cmocka_unit_test(test_log1p__is_within_two_last_places_from_0_to_1),
      cmocka_unit_test(test_link__is_within_some_last_places_of_the_truth),
      cmocka_unit_test(test_link__agrees_with_the_plain_one),
      cmocka_unit_test(test_link__has_limits_and_keeps_nan),
      cmocka_unit_test(test_lanes__give_the_same_bytes_for_every_width),
      cmocka_unit_test(test_columns__give_the_bytes_of_plain_loops),
  };
  return cmocka_run_group_tests(tests, open_stream, NULL);
}
