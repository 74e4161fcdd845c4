/* confidence: LinUCB's published ellipsoid holds the true parameter at every release, under every
 * release's own noise, at least as often as promised. It would not if it were much smaller, so the
 * test can fail. test_region.c has the clipped one. */
#include <math.h>
#include <string.h>

#include "env/kind.h"
#include "support/support.h"

enum { D = 3, T = 400, BATCH = 4, RUNS = 400 };

/* The inverse of a packed lower triangle, column by column. */
static void invert(const double *w, double *l) {
  for (size_t j = 0; j < D; j++)
    for (size_t i = j; i < D; i++) {
      double sum = i == j;
      for (size_t k = j; k < i; k++) sum -= w[faro_packed(i) + k] * l[faro_packed(k) + j];
      l[faro_packed(i) + j] = sum / w[faro_diagonal(i)];
    }
}

/* The greatest ||theta - theta*||_V / beta over the releases of one run. */
static double worst_ratio(const char *name, uint64_t run) {
  const faro_calibration calibration = FARO_CALIBRATION_PAPER;
  const faro_env_params ep = {.dimension = D, .arms = 10, .horizon = T};
  const faro_release_params rp = {
      .epsilon = 1, .delta = 0.1, .horizon = T, .batch = BATCH, .calibration = calibration};
  faro_env *env = NULL;
  faro_release *release = NULL;
  faro_updater *learner = NULL;
  faro_selector *selector = NULL;
  faro_contribution c;
  assert_ok(faro_env_create(&env, faro_env_find("linear-iid"), &ep, error));
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  faro_sim_rng noise;
  assert_ok(faro_release_create(&release, faro_release_kind_find(name), &c, &rp,
                                faro_source_simulated(&noise), error));
  const faro_updater_params lp = {.dimension = D,
                                  .horizon = T,
                                  .releases = T / BATCH,
                                  .norm = 1,
                                  .failure = 0.1,
                                  .reward = 0.5,
                                  .calibration = calibration,
                                  .noise = faro_release_noise(release)};
  assert_ok(faro_updater_create(&learner, faro_learner_find("linucb"), &lp, error));
  assert_ok(faro_selector_create(&selector, D, 10, error));
  faro_sim_open(&noise, 31, run, FARO_ROLE_USER);
  faro_env_begin(env, 31, run);
  double worst = 0;
  for (int t = 0; t < T; t++) {
    double x[D];
    const size_t arm = faro_select(selector, faro_updater_policy(learner), faro_env_arms(env), NULL);
    const double reward = faro_env_play(env, arm, x);
    if (!faro_release_absorb(release, x, reward)) continue;
    const faro_statistics s = faro_release_statistics(release);
    faro_updater_update(learner, &s);
    const faro_policy *p = faro_updater_policy(learner);
    double l[6]; /* L = W^-1; ||L' e|| is the norm of e in V */
    invert(p->w, l);
    double square = 0;
    for (size_t j = 0; j < D; j++) {
      double row = 0;
      for (size_t i = j; i < D; i++) row += l[faro_packed(i) + j] * (p->theta[i] - env->theta[i]);
      square += row * row;
    }
    worst = fmax(worst, sqrt(square) / p->beta);
  }
  faro_selector_destroy(selector);
  faro_updater_destroy(learner);
  faro_release_destroy(release);
  faro_env_destroy(env);
  return worst;
}

static void test_region__holds_the_parameter_as_often_as_promised(void **state) {
  (void)state;
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    const char *const name = faro_release_kind_at(k)->name;
    if (!faro_release_kind_calibrates(faro_release_kind_at(k), FARO_CALIBRATION_PAPER)) continue;
    int outside = 0;
    int smaller = 0;
    for (uint64_t run = 0; run < RUNS; run++) {
      const double ratio = worst_ratio(name, run);
      outside += ratio > 1;
      smaller += 6 * ratio > 1;
    }
    print_message("%s: outside in %d of %d runs; with a radius six times smaller in %d\n", name, outside,
                  RUNS, smaller);
    assert_true(outside <= RUNS / 10);
    assert_true(smaller > RUNS / 10);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_region__holds_the_parameter_as_often_as_promised)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
