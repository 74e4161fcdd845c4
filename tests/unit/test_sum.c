/* sum: private running sums. What a run measures is recomputed here from the bits and the releases alone. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/play.h"
#include "support/support.h"

enum { N = 1003 }; /* users; no multiple of the batches */

static faro_experiment *parse(const char *release, int horizon, const char *more) {
  char text[600];
  snprintf(text, sizeof text,
           "environment: {name: bits-hard}\nhorizon: %d\ninstances: 1\nseed: 6\nepsilon: 1\ndelta: 0.01\n"
           "algorithms: [{learner: sum, release: %s, shufflers: 1, %s}]\n",
           horizon, release, more);
  faro_experiment *e = NULL;
  assert_ok(faro_experiment_parse(&e, "sum.yaml", text, strlen(text), NULL, error));
  return e;
}

/* The running sums S_1 .. S_n of the cell's stream. */
static void naive_truth(const faro_cell *cell, uint64_t instance, size_t n, double *truth) {
  const faro_env_params p = {.horizon = n, .shufflers = 1, .epsilon = cell->settings.value[FARO_KEY_EPSILON]};
  faro_env *env = NULL;
  assert_ok(faro_env_create(&env, faro_env_kind_find("bits-hard"), &p, error));
  faro_env_begin(env, 6, instance);
  for (size_t t = 0; t < n; t++) truth[t] = (t > 0 ? truth[t - 1] : 0) + faro_env_value(env);
  faro_env_destroy(env);
}

static void play(const faro_experiment *e, uint64_t instance, faro_play_record *record) {
  assert_ok(faro_play(&e->cell[0], 6, instance, NULL, record, error));
}

/* Without noise the estimate is the sum over whole batches of B, and under tight 1/2 for everybody else. */
static void test_error__without_noise_is_that_of_the_users_not_seen(void **state) {
  (void)state;
  for (int tight = 0; tight < 2; tight++)
    for (size_t batch = 1; batch <= 64; batch = 2 * batch + 1)
      for (uint64_t instance = 0; instance < 3; instance++) {
        char more[60];
        snprintf(more, sizeof more, "batch: %zu, calibration: %s", batch, tight ? "tight" : "paper");
        faro_experiment *e = parse("none", N, more);
        faro_play_record record;
        play(e, instance, &record);
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

/* With noise: the same release again, driven by hand with the same stream of noise. */
static void test_error__with_noise_is_that_of_what_was_released(void **state) {
  (void)state;
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (int c = 0; c < FARO_CALIBRATION_COUNT; c++) {
      const faro_release_kind *kind = faro_release_kind_at(k);
      if (!faro_release_kind_calibrates(kind, (faro_calibration)c)) continue;
      char more[60];
      snprintf(more, sizeof more, "calibration: %s", faro_calibration_name((faro_calibration)c));
      faro_experiment *e = parse(kind->name, N, more);
      faro_play_record record;
      play(e, 2, &record);
      double truth[N];
      naive_truth(&e->cell[0], 2, N, truth);
      const faro_release_params params = faro_cell_release(&e->cell[0]);
      faro_contribution contribution;
      faro_release *release = NULL;
      faro_sim_rng noise;
      faro_sim_open(&noise, 6, 2, FARO_ROLE_USER);
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

/* A longer stream needs no more memory: nothing is allocated on the way. */
static void test_play__allocates_nothing_for_a_value(void **state) {
  (void)state;
  size_t count[2];
  for (int longer = 0; longer < 2; longer++) {
    faro_experiment *e = parse("shuffle-bits", longer ? 5000 : 500, "batch: 10");
    faro_play_record record;
    alloc_reset();
    play(e, 0, &record);
    count[longer] = alloc_count();
    faro_experiment_destroy(e);
  }
  assert_int_equal(count[0], count[1]);
}

/* Every learner takes the environments of its own sort and no others; the message says which. */
static void test_pairs__of_streams_and_arms_are_refused_both_ways(void **state) {
  (void)state;
  for (size_t l = 0; l < faro_learner_kinds(); l++)
    for (size_t v = 0; v < faro_env_kinds(); v++) {
      const char *learner = faro_learner_kind_name(faro_learner_kind_at(l));
      const char *environment = faro_env_kind_name(faro_env_kind_at(v));
      const faro_env_kind *env = faro_env_kind_at(v);
      const faro_learner_kind *kind = faro_learner_kind_at(l);
      const bool sums = faro_learner_kind_sums(kind);
      const bool own = faro_env_kind_streams(env)      ? sums
                       : faro_env_kind_population(env) ? faro_learner_kind_clients(kind)
                       : faro_env_kind_glm(env)
                           ? faro_learner_kind_glm(kind)
                           : !sums && !faro_learner_kind_clients(kind) && !faro_learner_kind_glm(kind) &&
                                 (faro_env_kind_fixed(env) || !faro_learner_kind_phased(kind));
      char text[300];
      snprintf(text, sizeof text,
               "environment: {name: %s, draw: sphere}\nhorizon: 10\nalgorithms:\n  - release: none\n    "
               "learner: %s\n",
               environment, learner);
      faro_experiment *e = NULL;
      faro_error error = {0};
      const faro_status status = faro_experiment_parse(&e, "p.yaml", text, strlen(text), NULL, &error);
      if (own && faro_env_kind_link(env) == FARO_LINK_PROBIT && strcmp(learner, "ecolog") == 0) {
        assert_non_null(strstr(error.message, "environment must be glm-logistic for learner ecolog"));
        continue;
      }
      if (own) {
        assert_int_equal(status, FARO_OK);
        assert_int_equal(faro_experiment_measure(e), sums ? FARO_MEASURE_ERROR : FARO_MEASURE_REGRET);
        faro_experiment_destroy(e);
        continue;
      }
      assert_int_equal(status, FARO_INVALID);
      char begin[120];
      snprintf(begin, sizeof begin, "p.yaml:5: learner %s does not go with environment %s; ", learner,
               environment);
      assert_memory_equal(error.message, begin, strlen(begin));
      if (sums) assert_non_null(strstr(error.message, "bits-random, bits-hard"));
      if (faro_env_kind_streams(env)) assert_non_null(strstr(error.message, "with sum"));
    }
}

/* What means nothing for a stream is neither looked at nor reported. */
static void test_settings__of_arms_are_not_used(void **state) {
  (void)state;
  static const char text[] = "environment: {name: bits-random, dimension: 1000, arms: 1e6}\nhorizon: 10\n"
                             "algorithms: [{learner: sum, release: none}]\n";
  faro_experiment *e = NULL;
  assert_ok(faro_experiment_parse(&e, "a.yaml", text, strlen(text), NULL, error));
  faro_play_record record;
  play(e, 0, &record);
  assert_true(record.regret == 0); /* every value is released at once */
  faro_experiment_destroy(e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_error__without_noise_is_that_of_the_users_not_seen),
      cmocka_unit_test(test_error__with_noise_is_that_of_what_was_released),
      cmocka_unit_test(test_play__allocates_nothing_for_a_value),
      cmocka_unit_test(test_pairs__of_streams_and_arms_are_refused_both_ways),
      cmocka_unit_test(test_settings__of_arms_are_not_used),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
