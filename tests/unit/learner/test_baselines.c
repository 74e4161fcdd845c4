/* baselines: greedy by its formula, and uniform, which ignores what it hears. */
#include <math.h>

#include "support/matrix.h"
#include "support/support.h"

enum { D = 3, SUMS = D * (D + 3) / 2 };

static faro_updater *make(const char *name, const double *scale) {
  const faro_updater_params params = {.dimension = D,
                                      .horizon = 100,
                                      .releases = 10,
                                      .norm = 1,
                                      .failure = 0.1,
                                      .reward = 0.5,
                                      .calibration = FARO_CALIBRATION_TIGHT,
                                      .noise = {.scale = scale, .gaussian = true}};
  faro_updater *updater = NULL;
  assert_ok(faro_updater_create(&updater, faro_learner_find(name), &params, error));
  return updater;
}

static const double sum[SUMS] = {9, 2, 7, -1, 0.5, 5, /* u */ 3, -2, 1};

/* theta = (lambda I + G)^-1 u by Gauss-Jordan elimination; lambda is R^2, or the noise's edge. */
static void test_greedy__plays_the_best_estimate(void **state) {
  (void)state;
  double scale[SUMS];
  for (size_t i = 0; i < SUMS; i++) scale[i] = 1.5;
  for (int noisy = 0; noisy < 2; noisy++) {
    faro_updater *updater = make("greedy", noisy ? scale : NULL);
    const faro_policy *policy = faro_updater_policy(updater);
    for (size_t i = 0; i < D; i++) assert_true(policy->theta[i] == 0);
    const faro_statistics statistics = {
        .sum = sum, .users = 60, .releases = 1, .noise = {.scale = noisy ? scale : NULL, .gaussian = true}};
    faro_updater_update(updater, &statistics);
    double V[D * D];
    double inverse[D * D];
    matrix_unpack(D, sum, V);
    for (size_t i = 0; i < D; i++) V[i * D + i] += noisy ? 1.5 * sqrt(2 * D) : 0.25;
    matrix_invert(D, V, inverse);
    for (size_t i = 0; i < D; i++) {
      double theta = 0;
      for (size_t j = 0; j < D; j++) theta += inverse[i * D + j] * sum[SUMS - D + j];
      assert_close(policy->theta[i], theta, 1e-12);
    }
    assert_true(policy->beta == 0 && policy->explore == 0 && policy->rule == FARO_RULE_WIDTH);
    assert_int_equal(faro_updater_diagnose(updater).shifted, 0);
    faro_updater_destroy(updater);
  }
}

/* Noise may give any matrix: the estimate stays finite, and it is counted. */
static void test_greedy__survives_an_indefinite_matrix(void **state) {
  (void)state;
  const double bad[SUMS] = {-9, 2, -7, -1, 0.5, -5, 3, -2, 1};
  faro_updater *updater = make("greedy", NULL);
  const faro_statistics statistics = {.sum = bad, .users = 60, .releases = 1};
  faro_updater_update(updater, &statistics);
  for (size_t i = 0; i < D; i++) assert_true(isfinite(faro_updater_policy(updater)->theta[i]));
  assert_int_equal(faro_updater_diagnose(updater).shifted, 1);
  faro_updater_destroy(updater);
}

static void test_uniform__draws_every_arm_alike_whatever_it_hears(void **state) {
  (void)state;
  enum { ARMS = 5, DRAWS = 20000 };
  faro_updater *updater = make("uniform", NULL);
  const faro_statistics statistics = {.sum = sum, .users = 60, .releases = 1};
  faro_updater_update(updater, &statistics);
  faro_selector *selector = NULL;
  assert_ok(faro_selector_create(&selector, D, ARMS, error));
  const double features[ARMS * D] = {1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 0, 0.5, 0.5, 0.5};
  double count[ARMS] = {0};
  double expected[ARMS];
  faro_sim_rng sim;
  faro_sim_open(&sim, 4, 0, FARO_ROLE_LUCK);
  for (size_t a = 0; a < ARMS; a++) expected[a] = (double)DRAWS / ARMS;
  for (int i = 0; i < DRAWS; i++)
    count[faro_select_rows(selector, faro_updater_policy(updater), features, ARMS, &sim.rng)]++;
  assert_chi_square(count, expected, ARMS);
  faro_selector_destroy(selector);
  faro_updater_destroy(updater);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_greedy__plays_the_best_estimate),
      cmocka_unit_test(test_greedy__survives_an_indefinite_matrix),
      cmocka_unit_test(test_uniform__draws_every_arm_alike_whatever_it_hears),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
