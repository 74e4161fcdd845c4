/* eliminator: the loop of learners that eliminate arms, against a naive replay; its counts; and
 * what happens when the population runs out of clients. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/play.h"

enum { ARMS = 7 };

/* ---- without privacy, written down naively: who plays what in which round */

typedef struct replay {
  size_t *played; /* arm of each round */
  uint64_t rounds, horizon;
  double users, updates;
} replay;

static void put(replay *r, size_t arm, uint64_t times) {
  for (uint64_t t = 0; t < times && r->rounds < r->horizon; t++) r->played[r->rounds++] = arm;
}

static faro_heard ask(faro_env *env, const faro_plan *plan, size_t i, double *sum) {
  if (plan->clients > 0) return (faro_heard){.sum = sum[i], .count = (double)plan->clients};
  double rewards = 0;
  for (uint64_t u = 0; u < plan->pulls[i]; u++) rewards += faro_env_pull(env, plan->arm[i]);
  return (faro_heard){.sum = rewards, .count = (double)plan->pulls[i]};
}

static void replay_all(replay *r, const faro_cell *cell, faro_env *env) {
  const faro_eliminator_params p = faro_cell_eliminator(cell, faro_env_arms(env));
  faro_eliminator *learner = NULL;
  assert_ok(faro_eliminator_create(&learner, cell->learner, &p, error));
  while (r->rounds < r->horizon) {
    const faro_plan *plan = NULL;
    assert_ok(faro_eliminator_plan(learner, &plan, error));
    if (plan->last) {
      put(r, plan->arm[0], r->horizon);
      break;
    }
    uint64_t total = 0;
    for (size_t i = 0; i < plan->support; i++) total += plan->pulls[i];
    const bool fits = total <= r->horizon - r->rounds;
    for (size_t i = 0; i < plan->support; i++) put(r, plan->arm[i], plan->pulls[i]);
    if (!fits) break;
    double sum[ARMS] = {0};
    for (uint64_t u = 0; u < plan->clients; u++) {
      double average[ARMS];
      faro_env_client(env, plan->support, plan->arm, plan->pulls, average);
      /* nothing is clipped without privacy */
      for (size_t i = 0; i < plan->support; i++) sum[i] += average[i];
    }
    faro_heard heard[ARMS];
    for (size_t i = 0; i < plan->support; i++) heard[i] = ask(env, plan, i, sum);
    assert_ok(faro_eliminator_hear(learner, heard, error));
    r->users += (double)(plan->clients > 0 ? plan->clients : total);
    r->updates++;
  }
  faro_eliminator_destroy(learner);
}

static void assert_replayed(const faro_cell *cell, uint64_t instance) {
  faro_env *env = make_cell_env(cell, instance);
  replay r = {.horizon = cell->settings.horizon};
  r.played = calloc(r.horizon, sizeof *r.played);
  assert_non_null(r.played);
  replay_all(&r, cell, env);
  assert_int_equal(r.rounds, r.horizon);
  const faro_play_record record = play_cell(cell, instance);
  uint64_t mark[FARO_CURVE_POINTS];
  const size_t marks = faro_curve_rounds(r.horizon, mark);
  double regret = 0;
  for (uint64_t t = 1, m = 0; t <= r.horizon; t++) {
    regret += faro_env_gap(env, r.played[t - 1]);
    if (m < marks && mark[m] == t) assert_close(record.curve[m++], regret, 1e-7);
  }
  assert_close(record.regret, regret, 1e-7);
  assert_true(record.curve[marks - 1] == record.regret);
  assert_true(record.users == r.users && record.updates == r.updates);
  assert_true(record.exhausted == 0);
  free(r.played);
  faro_env_destroy(env);
}

static void test_play__equals_a_naive_replay(void **state) {
  (void)state;
  static const int horizons[] = {2, 7, 150, 1000, 5003};
  static const char *const pairs[][2] = {{"pe", "linear-fixed"},
                                         {"hanna", "linear-fixed"},
                                         {"hanna", "linear-known, samples: 100"},
                                         {"pe", "linear-population"},
                                         {"dpe", "linear-population"}};
  for (size_t h = 0; h < 5; h++)
    for (size_t k = 0; k < 5; k++) {
      faro_experiment *e = parse_experiment(
          "environment: {name: %s, dimension: 3, arms: %d, draw: sphere}\nhorizon: %d\n"
          "algorithms: [{learner: %s, release: none}, {learner: %s, release: none, core: false, label: "
          "all}]\n",
          pairs[k][1], ARMS, horizons[h], pairs[k][0], pairs[k][0]);
      for (uint64_t instance = 0; instance < 5; instance++)
        for (size_t c = 0; c < 2; c++) assert_replayed(&e->cell[c], instance);
      faro_experiment_destroy(e);
    }
}

/* ---- without a known horizon */

/* What is played cannot depend on rounds that are still to come: a longer run begins as a shorter
 * one does, also where a user's data may be used four times only. */
static void test_anytime__longer_runs_begin_like_shorter_ones(void **state) {
  (void)state;
  static const char *const pairs[][3] = {{"pe", "linear-fixed", "central"},
                                         {"hanna", "linear-fixed", "shuffle-laplace"},
                                         {"hanna", "linear-fixed", "central-bits"},
                                         {"dpe", "linear-population", "central"}};
  enum { SHORT = 4000, TIMES = 4 };
  for (size_t k = 0; k < 4; k++)
    for (int user = 0; user < 2; user++) {
      faro_play_record record[2];
      for (size_t longer = 0; longer < 2; longer++) {
        const bool returns = user && strcmp(pairs[k][0], "dpe") != 0;
        faro_experiment *e = parse_experiment(
            "environment: {name: %s, dimension: 3, arms: 7, draw: sphere%s}\nhorizon: %d\nanytime: true\n"
            "delta: 0.01\nepsilon: 10\n%salgorithms: [{learner: %s, release: %s}]\n",
            pairs[k][1], returns ? ", population: 900" : "", longer ? TIMES * SHORT : SHORT,
            returns ? "level: user\ncontributions: 4\n" : "", pairs[k][0], pairs[k][2]);
        record[longer] = play_cell(&e->cell[0], 3);
        assert_true(record[longer].updates >= 4);
        assert_true((record[longer].refused > 0) == returns);
        faro_experiment_destroy(e);
      }
      for (size_t i = 0; i < FARO_CURVE_POINTS / TIMES; i++)
        assert_close(record[1].curve[i], record[0].curve[TIMES * i + TIMES - 1], 1e-9);
    }
}

/* The price of not knowing the horizon: less than three times the regret, over ten instances. */
static void test_anytime__costs_little(void **state) {
  (void)state;
  static const char *const learners[] = {"pe", "hanna"};
  for (size_t l = 0; l < 2; l++) {
    faro_experiment *e = parse_experiment(
        "environment: {name: linear-fixed, dimension: 3, arms: 20, draw: sphere}\nhorizon: 50000\n"
        "algorithms: [{learner: %s, release: central}, {learner: %s, release: central, anytime: true, "
        "label: a}]\n",
        learners[l], learners[l]);
    double known = 0;
    double unknown = 0;
    for (uint64_t instance = 0; instance < 10; instance++) {
      known += play_cell(&e->cell[0], instance).regret;
      unknown += play_cell(&e->cell[1], instance).regret;
    }
    assert_true(unknown > known / 2 && unknown < 3 * known);
    faro_experiment_destroy(e);
  }
}

/* ---- returning users */

/* Who comes when is public, so the gate can be replayed: nobody contributes more than M0 times, and
 * nobody twice to a batch, which is that of an arm, or of the phase if a shuffler assigns. With
 * fewer contributions than the run wants, all of them are used and the rest is refused. */
static void test_returning__users_contribute_as_often_as_allowed(void **state) {
  (void)state;
  enum { PEOPLE = 50, M0 = 3, ROUNDS = 3000 };
  static const char *const releases[] = {"central", "central-laplace", "shuffle-laplace", "local-bits"};
  for (size_t k = 0; k < 4; k++) {
    faro_experiment *e = parse_experiment(
        "environment: {name: linear-fixed, dimension: 2, arms: 4, draw: sphere, population: %d}\n"
        "horizon: %d\nlevel: user\ncontributions: %d\nepsilon: 0.1\n"
        "algorithms: [{learner: pe, release: %s}]\n",
        PEOPLE, ROUNDS, M0, releases[k]);
    assert_int_equal(e->cell[0].claim.level, FARO_LEVEL_USER);
    assert_int_equal(e->cell[0].claim.contributions, M0);
    for (uint64_t instance = 0; instance < 5; instance++) {
      const faro_play_record record = play_cell(&e->cell[0], instance);
      assert_true(record.users <= PEOPLE * M0);
      assert_true(record.refused > 0.9 && record.refused < 1);
      assert_true(record.curve[FARO_CURVE_POINTS - 1] == record.regret);
      assert_true((1 - record.refused) * ROUNDS >= record.users); /* the last phase is not learned from */
    }
    faro_experiment_destroy(e);
  }
}

/* The noise of a phase is that of four: twice as much if it is Gaussian or binomial, four times if
 * it is Laplace. */
static void test_returning__noise_is_for_all_contributions_of_a_user(void **state) {
  (void)state;
  static const char *const releases[] = {"central", "central-bits", "shuffle-bits", "local-gaussian",
                                         "central-laplace"};
  const size_t arm[] = {0, 1};
  const uint64_t pulls[] = {500, 500};
  const faro_plan plan = {.support = 2, .arm = arm, .pulls = pulls};
  for (size_t k = 0; k < 5; k++) {
    faro_experiment *e = parse_experiment(
        "environment: {name: linear-fixed, dimension: 2, arms: 4, draw: sphere, population: 900}\n"
        "horizon: 3000\nlevel: user\nsweep: {contributions: [1, 4]}\n"
        "algorithms: [{learner: hanna, release: %s}]\n",
        releases[k]);
    faro_heard heard[2][2];
    for (size_t c = 0; c < 2; c++) assert_ok(faro_cell_preview(&e->cell[c], &plan, heard[c], error));
    if (k == 4) assert_close(heard[1][1].laplace, 4 * heard[0][1].laplace, 1e-9);
    else assert_close(heard[1][1].scale / heard[0][1].scale, 2, 0.02);
    assert_true(heard[0][1].count == 500);
    faro_experiment_destroy(e);
  }
}

/* With one contribution per user and more people than rounds can use, nobody is refused, and the
 * noise is that of event level: the same run. */
static void test_returning__a_single_contribution_is_event_level(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(
      "environment: {name: linear-fixed, dimension: 3, arms: 7, draw: sphere}\nhorizon: 4000\n"
      "algorithms: [{learner: hanna, release: shuffle-bits}, {learner: hanna, release: shuffle-bits, "
      "level: user, label: u}]\n");
  assert_true(play_cell(&e->cell[0], 1).regret == play_cell(&e->cell[1], 1).regret);
  faro_experiment_destroy(e);
}

/* ---- a population asked one by one */

static void test_population__one_client_per_round_runs_out_too(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(
      "environment: {name: linear-population, dimension: 3, arms: 7, draw: sphere, population: 500}\n"
      "horizon: 20000\nepsilon: 1\nalgorithms: [{learner: pe, release: central}, {learner: dpe, release: "
      "central}]\n");
  const faro_play_record one = play_cell(&e->cell[0], 1);
  const faro_play_record many = play_cell(&e->cell[1], 1);
  assert_true(one.users > 0 && one.users <= 500 && one.exhausted >= one.users);
  assert_true(many.users <= 500);
  assert_true(one.sent == 64 * one.users); /* a single number each */
  faro_experiment_destroy(e);
}

/* ---- every release */

static faro_experiment *parse_all(const char *environment, const char *learner, int horizon) {
  char list[1000] = "";
  size_t used = 0;
  for (size_t k = 0; k < faro_release_kinds(); k++)
    if (faro_release_kind_at(k)->phases)
      used += (size_t)snprintf(list + used, sizeof list - used, "%s{learner: %s, release: %s}",
                               used ? ", " : "", learner, faro_release_kind_at(k)->name);
  return parse_experiment(
      "environment: {name: %s, dimension: 3, arms: 7, draw: sphere}\nhorizon: %d\ninstances: 4\n"
      "delta: 0.01\nalgorithms: [%s]\n",
      environment, horizon, list);
}

static void test_play__curves_rise_and_end_at_the_regret(void **state) {
  (void)state;
  static const char *const pairs[][2] = {
      {"pe", "linear-fixed"}, {"hanna", "linear-known"}, {"dpe", "linear-population"}};
  for (size_t k = 0; k < 3; k++) {
    faro_experiment *e = parse_all(pairs[k][1], pairs[k][0], 2000);
    assert_true(e->count >= 9);
    for (size_t c = 0; c < e->count; c++) {
      const faro_play_record record = play_cell(&e->cell[c], c);
      for (int i = 0; i < FARO_CURVE_POINTS; i++)
        assert_true(isfinite(record.curve[i]) && record.curve[i] >= (i > 0 ? record.curve[i - 1] : 0));
      assert_true(record.curve[FARO_CURVE_POINTS - 1] == record.regret);
      assert_true(record.users > 0 && record.updates > 0);
    }
    faro_experiment_destroy(e);
  }
}

static void test_play__communication_is_users_times_bits(void **state) {
  (void)state;
  faro_experiment *e = parse_all("linear-fixed", "pe", 2000);
  size_t checked = 0;
  /* one number per user; for bits, as many as the release says; for responses a seed of 45 bits and
   * a code of 1 to 8 */
  for (size_t c = 0; c < e->count; c++) {
    const faro_play_record record = play_cell(&e->cell[c], 0);
    const char *name = e->cell[c].release->name;
    assert_true(record.users <= 2000);
    assert_true(record.sent >= record.users);
    if (strstr(name, "-bits")) continue;
    const double each = record.sent / record.users;
    const faro_release_kind *other = e->cell[c].release->alternative;
    const bool responds = strstr(name, "-response") != NULL;
    if (responds || (other && each != 64)) assert_true(each >= 46 && each <= 53);
    else assert_true(each == 64);
    checked++;
  }
  assert_true(checked >= 8);
  faro_experiment_destroy(e);
}

static void test_run__threads_change_nothing(void **state) {
  (void)state;
  faro_experiment *e = parse_all("linear-fixed", "hanna", 1000);
  faro_results *results[2];
  for (size_t i = 0; i < 2; i++)
    assert_ok(faro_run(e, &(faro_run_options){.jobs = i + 1}, &results[i], error));
  for (size_t c = 0; c < e->count; c++) {
    results[0]->outcome[c].seconds = results[1]->outcome[c].seconds = 0;
    assert_memory_equal(&results[0]->outcome[c], &results[1]->outcome[c], sizeof results[0]->outcome[c]);
  }
  for (size_t i = 0; i < 2; i++) faro_results_destroy(results[i]);
  faro_experiment_destroy(e);
}

/* ---- clients */

/* alpha 0.5: phases have 2, 2, 3, 4, 6, 8, 12 ... clients. */
static void test_population__without_clients_plays_the_best_arm_to_the_end(void **state) {
  (void)state;
  const struct {
    int population;
    double users;
  } at[] = {{1, 0}, {2, 2}, {4, 4}, {10, 7}, {11, 11}, {24, 17}};
  for (size_t i = 0; i < 6; i++) {
    faro_experiment *e =
        parse_experiment("environment: {name: linear-population, dimension: 3, arms: 7, draw: sphere, "
                         "population: %d}\nhorizon: 3000\nalpha: 0.5\ninstances: 5\nepsilon: 0.1\n"
                         "algorithms: [{learner: dpe, release: local}]\n",
                         at[i].population);
    const faro_play_record record = play_cell(&e->cell[0], 2);
    assert_true(record.users == at[i].users);
    assert_true(record.exhausted >= 1 && record.exhausted <= 3000);
    assert_true(isfinite(record.regret) && record.curve[FARO_CURVE_POINTS - 1] == record.regret);
    double least = INFINITY; /* from then on one arm is played: the curve has equal steps */
    double most = 0;
    for (int t = 1; t < FARO_CURVE_POINTS; t++) {
      if (15 * t < (int)record.exhausted) continue; /* one point every 15 rounds */
      least = fmin(least, record.curve[t] - record.curve[t - 1]);
      most = fmax(most, record.curve[t] - record.curve[t - 1]);
    }
    assert_close(least, most, 1e-9);
    faro_results *results = NULL;
    assert_ok(faro_run(e, &(faro_run_options){.jobs = 1}, &results, error));
    assert_true(results->outcome[0].exhausted == 1);
    assert_int_equal(results->outcome[0].points, FARO_CURVE_POINTS);
    faro_results_destroy(results);
    faro_experiment_destroy(e);
  }
}

/* Equal communication on the same instance: usually within five per cent; whole numbers of clients
 * are sometimes further off. */
static void test_clients__fixed_ones_communicate_as_much_as_growing_ones(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(
      "environment: {name: linear-population, dimension: 3, arms: 30, draw: sphere}\nhorizon: 100000\n"
      "algorithms: [{learner: dpe, release: none}, {learner: dpe, release: none, clients: fixed, "
      "label: f}]\n");
  int near = 0;
  for (uint64_t instance = 0; instance < 20; instance++) {
    const faro_play_record growing = play_cell(&e->cell[0], instance);
    const faro_play_record fixed = play_cell(&e->cell[1], instance);
    near += fabs(fixed.sent / growing.sent - 1) < 0.1;
    assert_true(fmod(fixed.users, fixed.updates) == 0); /* the same number in each phase */
    assert_true(fixed.sent < 2 * growing.sent && growing.sent < 2 * fixed.sent);
  }
  assert_true(near >= 12);
  faro_experiment_destroy(e);
}

/* ---- the shuffler's order: which arms come first and second in the first phase of Hanna et al.
 * 2022, Alg. 3, as if drawn from an urn. */
static void test_order__of_a_shuffler_that_assigns_is_uniform(void **state) {
  (void)state;
  enum { RUNS = 4000 };
  faro_experiment *e = parse_experiment(
      "environment: {name: linear-fixed, dimension: 2, arms: 2, draw: sphere}\nhorizon: 100\n"
      "algorithms: [{learner: hanna, release: shuffle-laplace}]\n");
  const faro_cell *cell = &e->cell[0];
  double observed[4] = {0};
  double expected[4] = {0};
  for (uint64_t run = 0; run < RUNS; run++) {
    faro_env *env = make_cell_env(cell, run);
    const faro_eliminator_params p = faro_cell_eliminator(cell, faro_env_arms(env));
    faro_eliminator *learner = NULL;
    const faro_plan *plan = NULL;
    assert_ok(faro_eliminator_create(&learner, cell->learner, &p, error));
    assert_ok(faro_eliminator_plan(learner, &plan, error));
    assert_int_equal(plan->support, 2);
    const double left[2] = {(double)plan->pulls[0], (double)plan->pulls[1]};
    const double total = left[0] + left[1];
    for (size_t i = 0; i < 4; i++)
      expected[i] += left[i / 2] / total * (left[i % 2] - (i / 2 == i % 2)) / (total - 1);
    /* one point per round, and the best arm has no regret */
    const faro_play_record record = play_cell(cell, run);
    const size_t best = plan->arm[0] == faro_env_best(env) ? 0 : 1;
    const size_t first = record.curve[0] == 0 ? best : 1 - best;
    const size_t second = record.curve[1] == record.curve[0] ? best : 1 - best;
    observed[2 * first + second]++;
    faro_eliminator_destroy(learner);
    faro_env_destroy(env);
  }
  assert_chi_square(observed, expected, 4);
  faro_experiment_destroy(e);
}

/* ---- exhausted memory */

static void test_play__survives_exhausted_memory(void **state) {
  (void)state;
  faro_experiment *e =
      parse_experiment("environment: {name: linear-fixed, dimension: 3, arms: 5, draw: sphere}\nhorizon: 60\n"
                       "algorithms: [{learner: hanna, release: central-laplace}]\n");
  faro_play_record record;
  assert_survives_exhaustion(try_cell(&e->cell[0], &record, error));
  faro_experiment_destroy(e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_play__equals_a_naive_replay),
      cmocka_unit_test(test_anytime__longer_runs_begin_like_shorter_ones),
      cmocka_unit_test(test_anytime__costs_little),
      cmocka_unit_test(test_returning__users_contribute_as_often_as_allowed),
      cmocka_unit_test(test_returning__noise_is_for_all_contributions_of_a_user),
      cmocka_unit_test(test_returning__a_single_contribution_is_event_level),
      cmocka_unit_test(test_population__one_client_per_round_runs_out_too),
      cmocka_unit_test(test_play__curves_rise_and_end_at_the_regret),
      cmocka_unit_test(test_play__communication_is_users_times_bits),
      cmocka_unit_test(test_run__threads_change_nothing),
      cmocka_unit_test(test_population__without_clients_plays_the_best_arm_to_the_end),
      cmocka_unit_test(test_clients__fixed_ones_communicate_as_much_as_growing_ones),
      cmocka_unit_test(test_order__of_a_shuffler_that_assigns_is_uniform),
      cmocka_unit_test(test_play__survives_exhausted_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
