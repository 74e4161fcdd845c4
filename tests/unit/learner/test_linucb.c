/* linucb: against a naive second implementation, its radius against the formulas, and its repair of
 * V. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learner/optimism.h"
#include "support/support.h"

static const double silence[2000] = {0};

static const faro_optimism theorem = {.optimism = 1};

static faro_updater_params quiet(size_t d) {
  return (faro_updater_params){.dimension = d,
                               .horizon = 1000,
                               .releases = 1000,
                               .norm = 1,
                               .failure = 0.1,
                               .reward = 1,
                               .calibration = FARO_CALIBRATION_TIGHT,
                               .noise = {.scale = silence, .gaussian = true},
                               .settings = &theorem};
}

static faro_updater *make(const faro_updater_params *p) {
  faro_updater *l = NULL;
  assert_ok(faro_updater_create(&l, faro_learner_find("linucb"), p, error));
  return l;
}

/* x = A^-1 b by Gauss-Jordan with pivots, on a full matrix. */
static void naive_solve(size_t d, const double *packed, double ridge, const double *b, double *x) {
  double m[10][11];
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < d; j++)
      m[i][j] = (i >= j ? packed[faro_packed(i) + j] : packed[faro_packed(j) + i]) + (i == j) * ridge;
    m[i][d] = b[i];
  }
  for (size_t c = 0; c < d; c++) {
    size_t pivot = c;
    for (size_t r = c; r < d; r++)
      if (fabs(m[r][c]) > fabs(m[pivot][c])) pivot = r;
    for (size_t j = 0; j <= d; j++) {
      const double swap = m[c][j];
      m[c][j] = m[pivot][j];
      m[pivot][j] = swap;
    }
    for (size_t r = 0; r < d; r++) {
      if (r == c) continue;
      const double factor = m[r][c] / m[c][c];
      for (size_t j = c; j <= d; j++) m[r][j] -= factor * m[c][j];
    }
  }
  for (size_t i = 0; i < d; i++) x[i] = m[i][d] / m[i][i];
}

static void test_linucb__policy_equals_the_naive_one(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 21, 0, FARO_ROLE_CONTEXT);
  for (size_t d = 1; d <= 8; d++) {
    const faro_updater_params p = quiet(d);
    faro_updater *l = make(&p);
    double sum[100] = {0};
    for (uint64_t t = 1; t <= 50; t++) {
      double x[8];
      for (size_t i = 0; i < d; i++) x[i] = (faro_sim_uniform(&sim) - 0.5) / sqrt((double)d);
      double *z = sum;
      for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) *z++ += x[i] * x[j];
      const double y = faro_sim_uniform(&sim);
      for (size_t i = 0; i < d; i++) *z++ += x[i] * y;
      const faro_statistics s = {.sum = sum, .users = t, .releases = t};
      faro_updater_update(l, &s);
      const faro_policy *policy = faro_updater_policy(l);
      double theta[8];
      double inverse_x[8];
      naive_solve(d, sum, 1, sum + faro_packed(d), theta);
      naive_solve(d, sum, 1, x, inverse_x);
      double width = 0;
      double ours = 0;
      for (size_t i = 0; i < d; i++) {
        assert_close(policy->theta[i], theta[i], 1e-11);
        width += x[i] * inverse_x[i];
        double row = 0;
        for (size_t j = 0; j <= i; j++) row += policy->w[faro_packed(i) + j] * x[j];
        ours += row * row;
      }
      assert_close(ours, width, 1e-12);
      const double dd = (double)d;
      assert_close(policy->beta, sqrt(2 * log(2 / 0.1) + dd * log(1 + (double)t / dd)) + 1, 1e-12);
    }
    assert_int_equal(faro_updater_diagnose(l).updates, 50);
    assert_int_equal(faro_updater_diagnose(l).shifted, 0);
    faro_updater_destroy(l);
  }
}

/* Chowdhury & Zhou 2022, Lemmas A.2 and A.4 by hand, with the tail bounds computed in this file. */
static void test_linucb__radius_follows_the_noise(void **state) {
  (void)state;
  const size_t d = 4;
  double scale[14];
  for (int i = 0; i < 14; i++) scale[i] = 3;
  for (int gaussian = 0; gaussian < 2; gaussian++) {
    faro_updater_params p = quiet(d);
    p.noise = (faro_noise){.scale = scale, .gaussian = gaussian == 1};
    faro_updater *l = make(&p);
    const double q = 0.1 / 4 / 1000;
    double gram = sqrt(2 * (4 * 9) * log(2 * 4 / q));
    if (gaussian) gram = fmin(gram, 2 * 3 * 2 + 2 * 3 * sqrt(log(2 / q)));
    const double t = log(1 / q);
    const double vector = 3 * sqrt(4 + 2 * sqrt(4 * t) + 2 * t);
    const double expected = sqrt(2 * log(20.0)) + sqrt(3 * gram) + vector / sqrt(gram); /* before any user */
    assert_close(faro_updater_policy(l)->beta, expected, 1e-10);
    faro_updater_destroy(l);
  }
}

static void test_linucb__published_region_under_figure(void **state) {
  (void)state;
  faro_updater_params p = quiet(5);
  p.horizon = 20000;
  p.norm = sqrt(2);
  p.calibration = FARO_CALIBRATION_FIGURE;
  p.noise.gamma = 567;
  faro_updater *l = make(&p);
  const double expected = sqrt(5.0) * sqrt(567.0) + 0.5 * sqrt(5 * log((1 + 20000 * 2 / 567.0) * 20000));
  assert_close(faro_updater_policy(l)->beta, expected, 1e-10);
  faro_updater_destroy(l);
  p.noise.gamma = 0; /* LinUCB: Gamma = 1 in the width */
  l = make(&p);
  assert_close(faro_updater_policy(l)->beta, sqrt(5.0) + 0.5 * sqrt(5 * log((1 + 20000 * 2) * 20000.0)),
               1e-10);
  faro_updater_destroy(l);
}

static void test_linucb__indefinite_V_is_shifted_widened_and_counted(void **state) {
  (void)state;
  for (size_t d = 1; d <= 60; d += d < 8 ? 1 : 26) { /* small and large eigen-solvers */
    const faro_updater_params p = quiet(d);
    faro_updater *l = make(&p);
    double *sum = calloc(faro_packed(d) + d, sizeof *sum);
    assert_non_null(sum);
    sum[faro_diagonal(d - 1)] = -1000;
    for (size_t i = 0; i < d; i++) sum[faro_packed(d) + i] = 1;
    const faro_statistics s = {.sum = sum, .users = 10, .releases = 1};
    faro_updater_update(l, &s);
    const faro_policy *policy = faro_updater_policy(l);
    /* V + shift I has least eigenvalue lambda_min = 1, so W's last row has length 1 */
    assert_close(policy->w[faro_diagonal(d - 1)], 1, 1e-6);
    assert_true(policy->beta > sqrt(1000.0)); /* sqrt(lambda_max + shift) */
    for (size_t i = 0; i < d; i++) assert_true(isfinite(policy->theta[i]));
    assert_int_equal(faro_updater_diagnose(l).shifted, 1);
    sum[faro_diagonal(d - 1)] = 0;
    faro_updater_update(l, &s);
    assert_int_equal(faro_updater_diagnose(l).shifted, 1);
    assert_int_equal(faro_updater_diagnose(l).updates, 2);
    sum[faro_diagonal(d - 1)] = -1e17; /* too far below for lambda_min to exceed the rounding */
    faro_updater_update(l, &s);
    assert_int_equal(faro_updater_diagnose(l).shifted, 2);
    free(sum);
    faro_updater_destroy(l);
  }
}

static void test_linucb__updates_allocate_nothing(void **state) {
  (void)state;
  const faro_updater_params p = quiet(30);
  faro_updater *l = make(&p);
  double sum[495] = {0};
  const faro_statistics s = {.sum = sum, .users = 1, .releases = 1};
  alloc_reset();
  faro_updater_update(l, &s);
  sum[0] = -50; /* the repair too */
  faro_updater_update(l, &s);
  assert_int_equal(alloc_count(), 0);
  faro_updater_destroy(l);
}

static void test_create__refuses_bad_parameters_and_survives_exhaustion(void **state) {
  (void)state;
  const faro_learner_kind *kind = faro_learner_find("linucb");
  const struct {
    size_t d;
    double failure, optimism;
    const char *start;
  } bad[] = {{0, 0.1, 1, "dimension must"},
             {1001, 0.1, 1, "dimension must"},
             {3, 0, 1, "failure must"},
             {3, 1, 1, "failure must"},
             {3, (double)NAN, 1, "failure must"},
             {3, 0.1, 0, "optimism must"},
             {3, 0.1, (double)NAN, "optimism must"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const faro_optimism own = {.optimism = bad[i].optimism};
    faro_updater_params p = quiet(bad[i].d);
    p.failure = bad[i].failure;
    p.settings = &own;
    faro_updater *l = NULL;
    faro_error error = {0};
    assert_int_equal(faro_updater_create(&l, kind, &p, &error), FARO_INVALID);
    assert_memory_equal(error.message, bad[i].start, strlen(bad[i].start));
    assert_null(l);
  }
  const faro_updater_params p = quiet(3);
  faro_updater *l = NULL;
  assert_survives_exhaustion(faro_updater_create(&l, kind, &p, error));
  faro_updater_destroy(l);
  faro_updater_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linucb__policy_equals_the_naive_one),
      cmocka_unit_test(test_linucb__radius_follows_the_noise),
      cmocka_unit_test(test_linucb__published_region_under_figure),
      cmocka_unit_test(test_linucb__indefinite_V_is_shifted_widened_and_counted),
      cmocka_unit_test(test_linucb__updates_allocate_nothing),
      cmocka_unit_test(test_create__refuses_bad_parameters_and_survives_exhaustion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
