/* stream: the loop of private running sums. The measure is recomputed here from the bits and the
 * releases alone. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/play.h"

enum { N = 1003 }; /* users; not a multiple of the batches */

static faro_experiment *parse(const char *release, int horizon, const char *more) {
  return parse_experiment(
      "environment: {name: bits-hard}\nhorizon: %d\ninstances: 1\nepsilon: 1\ndelta: 0.01\n"
      "algorithms: [{learner: sum, release: %s, shufflers: 1, %s}]\n",
      horizon, release, more);
}

/* The running sums S_1 .. S_n of the cell's stream. */
static void naive_truth(const faro_cell *cell, uint64_t instance, size_t n, double *truth) {
  const faro_env_params p = {.horizon = n, .shufflers = 1, .epsilon = cell->settings.epsilon};
  faro_env *env = NULL;
  assert_ok(faro_env_create(&env, faro_env_find("bits-hard"), &p, error));
  faro_env_begin(env, PLAY_SEED, instance);
  for (size_t t = 0; t < n; t++) truth[t] = (t > 0 ? truth[t - 1] : 0) + faro_env_value(env);
  faro_env_destroy(env);
}

/* Without noise the estimate is the sum over whole batches of B, and under tight 1/2 for everybody
 * else. */
static void test_error__without_noise_is_that_of_the_users_not_seen(void **state) {
  (void)state;
  for (int tight = 0; tight < 2; tight++)
    for (size_t batch = 1; batch <= 64; batch = 2 * batch + 1)
      for (uint64_t instance = 0; instance < 3; instance++) {
        char more[60];
        snprintf(more, sizeof more, "batch: %zu, calibration: %s", batch, tight ? "tight" : "paper");
        faro_experiment *e = parse("none", N, more);
        const faro_play_record record = play_cell(&e->cell[0], instance);
        double truth[N];
        naive_truth(&e->cell[0], instance, N, truth);
        uint64_t round[FARO_CURVE_POINTS];
        const size_t points = faro_curve_rounds(N, round);
        double worst = 0;
        for (size_t t = 1, point = 0; t <= N; t++) {
          const size_t covered = t / batch * batch;
          const double seen = covered > 0 ? truth[covered - 1] : 0;
          const double guess = tight ? (double)(t - covered) / 2 : 0;
          worst = fmax(worst, fabs(seen + guess - truth[t - 1]));
          if (point < points && round[point] == t) assert_true(record.curve[point++] == worst);
        }
        assert_true(record.regret == worst);
        assert_true((worst > 0) == (batch > 1));
        assert_true(record.updates == (double)(N / batch));
        faro_experiment_destroy(e);
      }
}

/* With noise: the same release, driven by hand with the same stream of noise. */
static void test_error__with_noise_is_that_of_what_was_released(void **state) {
  (void)state;
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (int c = 0; c < FARO_CALIBRATION_COUNT; c++) {
      const faro_release_kind *kind = faro_release_kind_at(k);
      if (!faro_release_kind_calibrates(kind, (faro_calibration)c)) continue;
      char more[60];
      snprintf(more, sizeof more, "calibration: %s", faro_calibration_name((faro_calibration)c));
      faro_experiment *e = parse(kind->name, N, more);
      const faro_play_record record = play_cell(&e->cell[0], 2);
      double truth[N];
      naive_truth(&e->cell[0], 2, N, truth);
      const faro_release_params params = faro_cell_release(&e->cell[0]);
      faro_contribution contribution;
      faro_release *release = NULL;
      faro_sim_rng noise;
      faro_sim_open(&noise, PLAY_SEED, 2, FARO_ROLE_USER);
      assert_ok(faro_contribution_values(&contribution, 1, true, error));
      assert_ok(
          faro_release_create(&release, kind, &contribution, &params, faro_source_simulated(&noise), error));
      double worst = 0;
      for (size_t t = 1; t <= N; t++) {
        const double x = truth[t - 1] - (t > 1 ? truth[t - 2] : 0) - 0.5;
        (void)faro_release_absorb(release, &x, 0);
        const faro_statistics s = faro_release_statistics(release);
        double estimate = *s.sum + 0.5 * (double)s.users;
        if (c == FARO_CALIBRATION_TIGHT) estimate += 0.5 * (double)(t - s.users);
        worst = fmax(worst, fabs(estimate - truth[t - 1]));
      }
      assert_close(record.regret, worst, 1e-9 * worst);
      assert_true(e->cell[0].claim.trust == FARO_TRUST_NONE || record.regret > 10); /* there was noise */
      faro_release_destroy(release);
      faro_experiment_destroy(e);
    }
}

/* A longer stream needs no more memory: nothing is allocated during a run. */
static void test_play__allocates_nothing_for_a_value(void **state) {
  (void)state;
  size_t count[2];
  for (int longer = 0; longer < 2; longer++) {
    faro_experiment *e = parse("shuffle-bits", longer ? 5000 : 500, "batch: 10");
    alloc_reset();
    (void)play_cell(&e->cell[0], 0);
    count[longer] = alloc_count();
    faro_experiment_destroy(e);
  }
  assert_int_equal(count[0], count[1]);
}

/* Settings that mean nothing for a stream are neither read nor reported. */
static void test_settings__of_arms_are_not_used(void **state) {
  (void)state;
  faro_experiment *e =
      parse_experiment("environment: {name: bits-random, dimension: 1000, arms: 1e6}\nhorizon: 10\n"
                       "algorithms: [{learner: sum, release: none}]\n");
  const faro_play_record record = play_cell(&e->cell[0], 0);
  assert_true(record.regret == 0); /* every value is released at once */
  faro_experiment_destroy(e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_error__without_noise_is_that_of_the_users_not_seen),
      cmocka_unit_test(test_error__with_noise_is_that_of_what_was_released),
      cmocka_unit_test(test_play__allocates_nothing_for_a_value),
      cmocka_unit_test(test_settings__of_arms_are_not_used),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
