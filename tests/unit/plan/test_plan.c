/* plan: a few people who stand for many, and the advice that follows from playing them. */
#include "support/play.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <faro/plan.h>

enum { D = 2, LENGTH = 5 };

/* ---- people alike */

/* The published sum of `batch` users who contribute the same, absorbed in groups. */
static void sum_in_groups(const faro_release_kind *kind, uint64_t group, faro_sim_rng *sim, double *sum,
                          double *scale) {
  const double x[D] = {0.6, -0.48};
  const faro_release_params params = {.epsilon = 2,
                                      .delta = 1e-5,
                                      .horizon = 2000,
                                      .batch = 2000,
                                      .shufflers = 1,
                                      .calibration = FARO_CALIBRATION_TIGHT};
  faro_contribution contribution;
  faro_release *release = NULL;
  assert_ok(faro_contribution_init(&contribution, D, 1, -0.5, 0.5, error));
  assert_ok(faro_release_create(&release, kind, &contribution, &params, faro_source_simulated(sim), error));
  bool published = false;
  while (faro_release_missing(release) > 0) {
    assert_false(published);
    published = faro_release_absorb_alike(release, x, 0.3, group);
  }
  assert_true(published);
  const faro_statistics statistics = faro_release_statistics(release);
  assert_int_equal(statistics.users, 2000);
  memcpy(sum, statistics.sum, LENGTH * sizeof *sum);
  for (size_t i = 0; i < LENGTH; i++)
    scale[i] = statistics.noise.scale
                   ? statistics.noise.scale[i] * (statistics.noise.ratio > 0 ? statistics.noise.ratio : 1)
                   : 0;
  faro_release_destroy(release);
}

/* Bits are proxies: their variance is up to a fifth below the scale's square. The check of the mean
 * is the sharper one: it would see a group that counts once. */
static void test_release__people_alike_add_up_to_the_same_sum_and_noise(void **state) {
  (void)state;
  enum { RUNS = 200 };
  const double z[LENGTH] = {0.36, -0.288, 0.2304, 0.18, -0.144};
  faro_sim_rng sim;
  faro_sim_open(&sim, 7, 0, FARO_ROLE_USER);
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    const faro_release_kind *kind = faro_release_kind_at(k);
    double mean[LENGTH] = {0};
    double square[LENGTH] = {0};
    double scale[LENGTH];
    for (int run = 0; run < RUNS; run++) {
      double sum[LENGTH];
      sum_in_groups(kind, 300, &sim, sum, scale);
      for (size_t i = 0; i < LENGTH; i++) {
        mean[i] += sum[i] / RUNS;
        square[i] += pow(sum[i] - 2000 * z[i], 2) / RUNS;
      }
    }
    for (size_t i = 0; i < LENGTH; i++) {
      assert_mean(mean[i], 2000 * z[i], fmax(scale[i], 1e-9), RUNS);
      if (scale[i] > 0)
        assert_true(square[i] < 2 * scale[i] * scale[i] && square[i] > 0.4 * scale[i] * scale[i]);
    }
  }
}

static void test_release__does_not_take_more_people_than_are_missing(void **state) {
  (void)state;
  const double x[D] = {1, 0};
  const faro_release_params params = {.horizon = 10, .batch = 5, .calibration = FARO_CALIBRATION_TIGHT};
  faro_contribution contribution;
  faro_release *release = NULL;
  faro_sim_rng sim;
  faro_sim_open(&sim, 1, 0, FARO_ROLE_USER);
  assert_ok(faro_contribution_init(&contribution, D, 1, 0, 1, error));
  assert_ok(faro_release_create(&release, &faro_release_none, &contribution, &params,
                                faro_source_simulated(&sim), error));
  assert_false(faro_release_absorb_alike(release, x, 1, 0));
  assert_int_equal(faro_release_missing(release), 5);
  assert_true(faro_release_absorb_alike(release, x, 1, 100));
  assert_close(faro_release_statistics(release).sum[0], 5, 0);
  assert_true(faro_release_absorb_alike(release, x, 1, 5));
  assert_int_equal(faro_release_missing(release), 0);
  assert_false(faro_release_absorb_alike(release, x, 1, 1));
  faro_release_destroy(release);
}

static void test_env__the_mean_of_many_rewards_varies_less(void **state) {
  (void)state;
  enum { RUNS = 20000, USERS = 25 };
  const faro_env_params params = {.dimension = 3, .arms = 4, .horizon = (uint64_t)RUNS * USERS};
  faro_env *env = NULL;
  double x[3];
  double sum = 0;
  double square = 0;
  assert_ok(faro_env_create(&env, faro_env_find("linear-fixed"), &params, error));
  faro_env_begin(env, 3, 0);
  for (int i = 0; i < RUNS; i++) {
    const double reward = faro_env_play_alike(env, 1, USERS, x);
    sum += reward / RUNS;
    square += reward * reward / RUNS;
  }
  /* Bernoulli of mean p: the variance of a mean of 25 is p (1 - p) / 25. */
  assert_close((square - sum * sum) / (sum * (1 - sum) / USERS), 1, 0.05);
  assert_int_equal(faro_env_user(env), (uint64_t)RUNS * USERS);
  faro_env_destroy(env);
}

/* ---- predictions */

/* The mean regret over instances, thinned or not. */
static double mean_regret(faro_cell *cell, uint64_t thin, size_t instances) {
  double sum = 0;
  cell->thin = thin;
  for (size_t i = 0; i < instances; i++) sum += play_cell(cell, i).regret;
  return sum / (double)instances;
}

/* Both means are over the same instances, but draw differently, and each has a standard error of up
 * to a tenth. A group that counts once, or noise that is not the batch's, is off by far more. */
static void compare(const char *environment, uint64_t horizon, const char *algorithm, size_t instances) {
  faro_experiment *experiment = parse_experiment("environment: {%s}\nhorizon: %llu\nepsilon: 2\ndelta: 1e-5\n"
                                                 "algorithms: [{%s}]\n",
                                                 environment, (unsigned long long)horizon, algorithm);
  faro_cell *cell = &experiment->cell[0];
  const double whole = mean_regret(cell, 0, instances);
  const double thinned = mean_regret(cell, 60, instances);
  if (!(thinned < 1.25 * whole && thinned > whole / 1.25))
    fail_msg("%s, %s: %g by a few people, %g by all", environment, algorithm, thinned, whole);
  faro_experiment_destroy(experiment);
}

static void test_prediction__few_people_regret_like_all(void **state) {
  (void)state;
  compare("name: linear-iid, dimension: 3, arms: 5", 5000, "learner: posterior, release: shuffle-bits", 12);
}

static void test_prediction__few_people_regret_like_all_everywhere(void **state) {
  (void)state;
  slow_test();
  static const char *const environment[] = {
      "name: linear-fixed, dimension: 4, arms: 20", "name: linear-iid, dimension: 5, arms: 10",
      "name: linear-adversarial, dimension: 5, arms: 10", "name: glm-logistic, dimension: 4, arms: 10",
      "name: glm-probit, dimension: 3, arms: 10, contexts: fixed"};
  static const char *const release[] = {
      "central-factored",  "central",         "central-tree", "shuffle-bits",
      "shuffle-amplified", "concurrent-bits", "local"};
  for (size_t e = 0; e < sizeof environment / sizeof *environment; e++)
    for (size_t k = 0; k < sizeof release / sizeof *release; k++) {
      char algorithm[100];
      snprintf(algorithm, sizeof algorithm, "learner: posterior, release: %s", release[k]);
      compare(environment[e], 15000, algorithm, 40);
    }
  compare(environment[0], 15000, "learner: linucb, release: central-factored", 16);
}

/* ---- advice */

static const faro_problem small = {.users = 2000,
                                   .dimension = 2,
                                   .arms = 4,
                                   .epsilon = 2,
                                   .delta = 1e-5,
                                   .contexts = FARO_CONTEXTS_FIXED,
                                   .trusts = 1U << FARO_TRUST_SHUFFLE};

static void check_way(const faro_advice *advice, size_t i) {
  const faro_way *way = &advice->way[i];
  assert_true(way->regret.low < way->regret.mean && way->regret.mean < way->regret.high);
  assert_close(way->learnt, 1 - way->regret.mean / advice->uniform, 1e-12);
  assert_true(way->claim.proven);
  assert_true(way->claim.epsilon <= 2 && way->claim.delta <= 1e-5);
  assert_true(way->chosen == (i == 0));
  assert_true(i < 2 || way->regret.mean >= advice->way[i - 1].regret.mean);
  faro_experiment *experiment = NULL;
  assert_ok(
      faro_experiment_parse(&experiment, "way.yaml", way->experiment, strlen(way->experiment), NULL, error));
  assert_int_equal(experiment->cell[0].settings.batch, way->batch);
  assert_string_equal(experiment->cell[0].release->name, way->release);
  faro_experiment_destroy(experiment);
}

static void test_advice__is_sorted_claimed_and_can_be_run(void **state) {
  (void)state;
  const faro_advice_options options = {.instances = 4, .jobs = 1};
  faro_advice *advice = NULL;
  assert_ok(faro_advise(&advice, &small, &options, error));
  assert_true(advice->count >= 3);
  assert_int_equal(advice->rounds, 2000);
  for (size_t i = 0; i < advice->count; i++) {
    assert_int_equal(advice->way[i].trust, FARO_TRUST_SHUFFLE);
    check_way(advice, i);
  }
  faro_advice_destroy(advice);
}

static void test_advice__does_not_depend_on_threads(void **state) {
  (void)state;
  faro_advice *one = NULL;
  faro_advice *other = NULL;
  const faro_advice_options alone = {.instances = 4, .jobs = 1};
  const faro_advice_options together = {.instances = 4, .jobs = 3};
  assert_ok(faro_advise(&one, &small, &alone, error));
  assert_ok(faro_advise(&other, &small, &together, error));
  assert_int_equal(one->count, other->count);
  for (size_t i = 0; i < one->count; i++) {
    assert_string_equal(one->way[i].experiment, other->way[i].experiment);
    assert_true(one->way[i].regret.mean == other->way[i].regret.mean);
  }
  faro_advice_destroy(one);
  faro_advice_destroy(other);
}

/* Nobody can learn from 300 users and this noise: a policy that does not see them plays at random,
 * in the mean. Were the best of nine reported on the instances that chose it, it would be a tenth
 * below. */
static void test_advice__sees_no_learning_where_there_is_none(void **state) {
  (void)state;
  check_test();
  const faro_problem hopeless = {.users = 300,
                                 .dimension = 10,
                                 .arms = 20,
                                 .epsilon = 0.1,
                                 .delta = 1e-6,
                                 .trusts = 1U << FARO_TRUST_LOCAL};
  const faro_advice_options options = {.instances = 24, .jobs = 1};
  faro_advice *advice = NULL;
  assert_ok(faro_advise(&advice, &hopeless, &options, error));
  assert_true(advice->way[0].regret.high >= advice->uniform);
  assert_true(advice->way[0].regret.mean > 0.93 * advice->uniform);
  faro_advice_destroy(advice);
}

/* Where nothing can be learnt all are equal. With this seed another way has the least mean, but its
 * users send far more. */
static void test_advice__prefers_what_is_cheaper_among_equals(void **state) {
  (void)state;
  const faro_problem hopeless = {.users = 200,
                                 .dimension = 4,
                                 .arms = 20,
                                 .epsilon = 0.05,
                                 .delta = 1e-6,
                                 .honest = 1,
                                 .shufflers = 3,
                                 .trusts = 1U << FARO_TRUST_CONCURRENT};
  const faro_advice_options options = {.instances = 12, .jobs = 1, .seed = 31};
  faro_advice *advice = NULL;
  assert_ok(faro_advise(&advice, &hopeless, &options, error));
  const faro_way *way = advice->way;
  assert_true(way[0].chosen && way[0].shufflers == 1);
  assert_true(way[1].regret.mean < way[0].regret.mean && way[0].regret.mean < 1.1 * way[1].regret.mean);
  assert_true(way[0].bytes < way[1].bytes);
  faro_advice_destroy(advice);
}

static void refuse(faro_problem problem, const char *message) {
  faro_advice *advice = NULL;
  faro_error error = {0};
  assert_int_equal(faro_advise(&advice, &problem, NULL, &error), FARO_INVALID);
  assert_null(advice);
  assert_non_null(strstr(error.message, message));
}

static void test_advice__refuses_what_is_out_of_range(void **state) {
  (void)state;
  faro_problem p = small;
  p.users = 10;
  refuse(p, "users must be 100 .. 1000000000 (got 10)");
  p = small, p.arms = 1;
  refuse(p, "arms must be 2 .. 100000 (got 1)");
  p = small, p.dimension = 1000;
  refuse(p, "dimension must be 2 .. 200 (got 1000)");
  p = small, p.epsilon = -1;
  refuse(p, "epsilon must be 0.0001 .. 1000 (got -1)");
  p = small, p.delta = 0;
  refuse(p, "delta must be at least 1e-15 and below 1 (got 0)");
  p = small, p.contexts = FARO_CONTEXTS_COORDINATES;
  refuse(p, "contexts must be fresh, fixed or adversarial");
  p = small, p.rewards = FARO_LINK_POISSON;
  refuse(p, "rewards must be linear, logistic or probit");
  p = small, p.trusts = 1U << FARO_TRUST_NONE;
  refuse(p, "trusts must be a sum of trust models");
}

static bool at_once(void *context) {
  (void)context;
  return true;
}

static void test_advice__stops_when_it_is_told_to(void **state) {
  (void)state;
  const faro_advice_options options = {.stopped = at_once};
  faro_advice *advice = NULL;
  faro_error error = {0};
  assert_int_equal(faro_advise(&advice, &small, &options, &error), FARO_INTERRUPTED);
  assert_null(advice);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_release__people_alike_add_up_to_the_same_sum_and_noise),
      cmocka_unit_test(test_release__does_not_take_more_people_than_are_missing),
      cmocka_unit_test(test_env__the_mean_of_many_rewards_varies_less),
      cmocka_unit_test(test_prediction__few_people_regret_like_all),
      cmocka_unit_test(test_prediction__few_people_regret_like_all_everywhere),
      cmocka_unit_test(test_advice__is_sorted_claimed_and_can_be_run),
      cmocka_unit_test(test_advice__does_not_depend_on_threads),
      cmocka_unit_test(test_advice__sees_no_learning_where_there_is_none),
      cmocka_unit_test(test_advice__prefers_what_is_cheaper_among_equals),
      cmocka_unit_test(test_advice__refuses_what_is_out_of_range),
      cmocka_unit_test(test_advice__stops_when_it_is_told_to),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
