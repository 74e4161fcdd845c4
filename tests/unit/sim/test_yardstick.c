/* yardstick: what uniform play and the best fixed arm would get, on every environment with arms. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/support.h"

enum { ROUNDS = 300, INSTANCES = 100 };

/* The environment and its own settings. */
static const char *const worlds[][2] = {
    {"linear-fixed", "draw: sphere-appended"},
    {"linear-fixed", "draw: sphere, zeta: 0.9"},
    {"linear-fixed", "draw: sphere-published"},
    {"linear-iid", "draw: sphere-appended"},
    {"linear-iid", "draw: ball, skew: 5"},
    {"linear-adversarial", "draw: sphere-appended"},
    {"linear-population", "draw: sphere"},
    {"linear-known", "draw: sphere, samples: 100, actions: 3"},
    {"glm-logistic", "draw: ball, contexts: fresh"},
    {"glm-logistic", "draw: sphere, contexts: adversarial"},
    {"glm-probit", "draw: ball, contexts: fixed"},
    {"glm-poisson", "draw: ball, contexts: fresh"},
};
enum { WORLDS = sizeof worlds / sizeof *worlds };

static faro_results *play(const char *const world[2]) {
  char text[400];
  snprintf(text, sizeof text,
           "environment: {name: %s, dimension: 3, arms: 7, %s}\nhorizon: %d\ninstances: %d\nseed: 8\n"
           "algorithms: [{learner: uniform, release: none, batch: 10}]\n",
           world[0], world[1], ROUNDS, INSTANCES);
  faro_experiment *experiment = NULL;
  faro_results *results = NULL;
  assert_ok(faro_experiment_parse(&experiment, "yardstick.yaml", text, strlen(text), NULL, error));
  assert_ok(faro_run(experiment, &(faro_run_options){.jobs = 1}, &results, error));
  faro_experiment_destroy(experiment);
  return results;
}

/* Whether the arms of an instance stay. */
static bool stays(const char *const world[2]) {
  return !strstr(world[1], "fresh") && !strstr(world[1], "adversarial") && !strstr(world[0], "iid") &&
         !strstr(world[0], "adversarial");
}

/* The best arm is among the arms, except for nets of a sphere and policies that respond to
 * contexts. */
static void assert_fixed(const char *const world[2], const faro_play_record *one) {
  const bool zero = strcmp(world[0], "linear-known") != 0 && !strstr(world[1], "zeta");
  if (!stays(world)) assert_true(isnan(one->fixed));
  else assert_true(zero ? one->fixed == 0 : one->fixed > 0 && one->fixed < one->uniform);
}

/* Paired over instances: t of the differences, with 99 degrees of freedom, is beyond 6 in less than
 * one of 10^7 cases; all worlds together fail a correct program with less than 10^-5. The interval
 * is narrow enough to see an error of 5 %. */
static void test_uniform__regret_is_the_yardstick_in_every_environment(void **state) {
  (void)state;
  for (size_t w = 0; w < WORLDS; w++) {
    faro_results *results = play(worlds[w]);
    const double yardstick = results->outcome[0].uniform;
    const double mean = results->outcome[0].regret.mean - yardstick;
    double square = 0;
    for (size_t i = 0; i < INSTANCES; i++) {
      const faro_play_record *one = &results->record[i];
      assert_fixed(worlds[w], one);
      square += pow(one->regret - one->uniform - mean, 2);
    }
    const double se = sqrt(square / INSTANCES / (INSTANCES - 1));
    if (!(fabs(mean) < 6 * se && 6 * se < 0.05 * yardstick))
      fail_msg("%s: regret %g, yardstick %g, standard error %g", worlds[w][0],
               results->outcome[0].regret.mean, yardstick, se);
    faro_results_destroy(results);
  }
}

/* The environment begins where it would have begun without being measured. */
static void test_measuring__does_not_change_the_instance(void **state) {
  (void)state;
  for (size_t k = 0; k < faro_env_count(); k++) {
    const faro_env_kind *kind = faro_env_at(k);
    if (kind->traits & (FARO_ENV_STREAM | FARO_ENV_ROWS)) continue;
    const faro_env_params params = {.dimension = 3, .arms = 6, .horizon = 50, .draw = FARO_DRAW_SPHERE};
    faro_env *one = NULL;
    faro_env *other = NULL;
    assert_ok(faro_env_create(&one, kind, &params, error));
    assert_ok(faro_env_create(&other, kind, &params, error));
    faro_env_begin(one, 3, 2);
    const faro_yardstick yardstick = faro_env_begin_measured(other, 3, 2);
    assert_true(yardstick.uniform > 0);
    for (size_t t = 0; t < 50; t++) {
      double x[2][3];
      assert_int_equal(faro_env_user(one), faro_env_user(other));
      const size_t arm = t % faro_env_arms(one)->count;
      assert_true(faro_env_gap(one, arm) == faro_env_gap(other, arm));
      assert_true(faro_env_play(one, arm, x[0]) == faro_env_play(other, arm, x[1]));
      assert_memory_equal(x[0], x[1], sizeof x[0]);
    }
    faro_env_destroy(one);
    faro_env_destroy(other);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_uniform__regret_is_the_yardstick_in_every_environment),
      cmocka_unit_test(test_measuring__does_not_change_the_instance),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
