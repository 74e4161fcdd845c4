/* experiment: what a file means. Wrong files are in a golden directory of the command's tests
 * (tests/cli/bad). */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/experiment.h"
#include "support/support.h"

static const char FILE_TEXT[] = "title: A test\n"
                                "environment: {name: linear-iid, dimension: 4, arms: 7}\n"
                                "delta: 0.01\n"
                                "sweep: {epsilon: [1, 2], horizon: [300, 600, 900]}\n"
                                "algorithms:\n"
                                "  - {label: A, learner: linucb, release: none}\n"
                                "  - {learner: linucb, release: shuffle-bits, batch: 30, delta: 0.2}\n"
                                "plot: {x: round, panels: epsilon}\n";

static faro_experiment *parse(const char *text, const char *key, const char *value, bool quick) {
  const faro_override override = {.key = key, .value = value};
  const faro_experiment_options options = {
      .overrides = &override, .override_count = key ? 1 : 0, .quick = quick};
  faro_experiment *e = NULL;
  assert_ok(faro_experiment_parse(&e, "dir/test.yaml", text, strlen(text), &options, error));
  return e;
}

static double value(const faro_experiment *e, size_t cell, faro_key key) {
  return faro_cell_get(&e->cell[cell], key);
}

static void test_parse__sweeps_and_algorithms_multiply(void **state) {
  (void)state;
  faro_experiment *e = parse(FILE_TEXT, NULL, NULL, false);
  assert_string_equal(faro_experiment_name(e), "test");
  assert_string_equal(faro_experiment_title(e), "A test");
  assert_int_equal(e->count, 12);
  assert_int_equal(e->instances, 10);
  assert_int_equal(e->seed, 1);
  for (size_t c = 0; c < 12; c++) {
    assert_true(value(e, c, FARO_KEY_EPSILON) == (c < 6 ? 1 : 2));
    assert_true(value(e, c, FARO_KEY_HORIZON) == 300.0 * (double)(1 + c / 2 % 3));
    assert_true(value(e, c, FARO_KEY_BATCH) == (c % 2 ? 30 : 1));
    assert_true(value(e, c, FARO_KEY_DELTA) == (c % 2 ? 0.2 : 0.01));
    assert_true(value(e, c, FARO_KEY_ARMS) == 7);
    assert_string_equal(e->cell[c].label, c % 2 ? "linucb/shuffle-bits" : "A");
    assert_int_equal(e->cell[c].claim.trust, c % 2 ? FARO_TRUST_SHUFFLE : FARO_TRUST_NONE);
  }
  assert_int_equal(e->x, FARO_PLOT_ROUND);
  assert_int_equal(e->panels, 0);
  faro_experiment_destroy(e);
  faro_experiment_destroy(NULL);
}

static void test_identity__follows_from_the_settings(void **state) {
  (void)state;
  faro_experiment *e[] = {parse(FILE_TEXT, NULL, NULL, false), parse(FILE_TEXT, NULL, NULL, false),
                          parse(FILE_TEXT, "seed", "2", false)};
  assert_int_equal(strlen(faro_experiment_identity(e[0])), 32);
  assert_string_equal(faro_experiment_identity(e[0]), faro_experiment_identity(e[1]));
  assert_string_not_equal(faro_experiment_identity(e[0]), faro_experiment_identity(e[2]));
  for (size_t i = 0; i < 3; i++) faro_experiment_destroy(e[i]);
}

/* The one cell of an algorithm in an environment. */
static faro_claim claim_of(const char *environment, const char *algorithm) {
  char text[400];
  snprintf(text, sizeof text, "title: one\nenvironment: %s\nhorizon: 20000\nalgorithms:\n  - {%s}\n",
           environment, algorithm);
  faro_experiment *e = parse(text, NULL, NULL, false);
  const faro_claim claim = e->cell[0].claim;
  faro_experiment_destroy(e);
  return claim;
}

/* Without contexts all actions may be seen; with them, the protected user's own may not. */
static void test_claim__says_which_actions_may_be_seen(void **state) {
  (void)state;
  const char *const fixed = "{name: linear-fixed, dimension: 3, arms: 6, draw: sphere}";
  const char *const known = "{name: linear-known, dimension: 3, arms: 6, draw: sphere}";
  const char *const people = "{name: linear-population, dimension: 3, arms: 6, draw: sphere}";
  const faro_claim plain = claim_of(fixed, "learner: hanna, release: central-laplace");
  assert_string_equal(faro_claim_trust(&plain), "central");
  assert_int_equal(claim_of(fixed, "learner: linucb, release: central-tree").actions, FARO_ACTIONS_ALL);
  assert_int_equal(claim_of(people, "learner: dpe, release: central").actions, FARO_ACTIONS_ALL);
  assert_int_equal(claim_of(known, "learner: hanna, release: central-laplace").actions, FARO_ACTIONS_OTHERS);
  assert_int_equal(claim_of("{name: linear-iid}", "learner: linucb, release: central-tree").actions,
                   FARO_ACTIONS_OTHERS);
  assert_int_equal(claim_of(fixed, "learner: hanna, release: shuffle-laplace").actions, FARO_ACTIONS_ALL);
  const faro_claim secret = claim_of(fixed, "learner: hanna, release: shuffle-laplace, assignment: secret");
  assert_true(secret.proven && secret.actions == FARO_ACTIONS_HIDDEN);
}

static void test_claim__clients_counted_on_data_prove_nothing(void **state) {
  (void)state;
  const char *const people = "{name: linear-population, dimension: 3, arms: 6, draw: sphere}";
  assert_true(claim_of(people, "learner: dpe, release: central").proven);
  const char *const kinds[] = {"central", "shuffle-bits", "local"};
  for (int i = 0; i < 3; i++) {
    char algorithm[80];
    snprintf(algorithm, sizeof algorithm, "learner: dpe, release: %s, clients: fixed", kinds[i]);
    const faro_claim claim = claim_of(people, algorithm);
    assert_true(!claim.proven && claim.epsilon == 1);
    assert_string_equal(claim.by, "the number of clients was taken from the data");
  }
  assert_int_equal(claim_of(people, "learner: dpe, release: none, clients: fixed").trust, FARO_TRUST_NONE);
}

/* The messages meet the target, and no more than a thousandth of epsilon is left: for one
 * randomizer the accountant says what follows from it. */
static void test_local_epsilon__is_met_and_epsilon_follows(void **state) {
  (void)state;
  check_test();
  const char *const iid = "{name: linear-iid, dimension: 3}";
  for (double target = 0.5; target < 3; target *= 2) {
    char algorithm[120];
    snprintf(algorithm, sizeof algorithm,
             "learner: linucb, release: shuffle-laplace, batch: 1000, local_epsilon: %g", target);
    const faro_claim pure = claim_of(iid, algorithm);
    assert_true(pure.proven && pure.local_epsilon <= target && pure.local_epsilon > 0.997 * target);
    const double follows = faro_shuffle_epsilon(target, 0, 1000, 1e-6);
    assert_true(pure.epsilon <= follows && pure.epsilon > 0.998 * follows);
    static const char *const others[] = {"shuffle-gaussian", "shuffle-bits", "concurrent-bits"};
    for (int i = 0; i < 3; i++) {
      snprintf(algorithm, sizeof algorithm, "learner: linucb, release: %s, batch: 40, local_epsilon: %g",
               others[i], target);
      const faro_claim c = claim_of(iid, algorithm);
      assert_true(c.proven && c.local_epsilon <= target && c.local_epsilon > 0.99 * target);
      assert_true(c.epsilon <= target && c.local_delta == 1e-6);
    }
    snprintf(algorithm, sizeof algorithm, "learner: linucb, release: local, local_epsilon: %g", target);
    assert_true(claim_of(iid, algorithm).epsilon == target);
    for (int i = 0; i < 2; i++) { /* Chowdhury & Zhou 2022, Corollaries B.3 and C.3 */
      snprintf(algorithm, sizeof algorithm,
               "learner: linucb, release: %s, batch: 400, calibration: paper, local_epsilon: %g", others[i],
               target);
      const faro_claim c = claim_of(iid, algorithm);
      assert_true(c.proven && c.local_epsilon <= target && c.local_epsilon > 0 && c.local_delta == 1e-6);
      assert_close(c.epsilon, i == 0 ? target : target / 20, 1e-12);
    }
  }
}

/* An outline has names and titles, and is not run. */
static void test_outline__can_be_listed_and_not_run(void **state) {
  (void)state;
  const faro_experiment_options options = {.outline = true};
  faro_experiment *e = NULL;
  faro_results *results = NULL;
  faro_error refusal = {0};
  assert_ok(faro_experiment_load(&e, "experiments/trust-models.yaml", &options, error));
  assert_string_equal(faro_experiment_name(e), "trust-models");
  assert_int_equal(faro_run(e, NULL, &results, &refusal), FARO_INVALID);
  assert_non_null(strstr(refusal.message, "outline"));
  faro_experiment_destroy(e);
}

/* Every shipped experiment can be played with the published calibrations. */
static void test_override__calibration_paper_suits_every_shipped_experiment(void **state) {
  (void)state;
  const faro_override paper[] = {{"calibration", "paper"}, {"instances", "1"}};
  const faro_experiment_options options = {.overrides = paper, .override_count = 2, .quick = true};
  glob_t files;
  assert_int_equal(glob("experiments/*.yaml", 0, NULL, &files), 0);
  for (size_t i = 0; i < files.gl_pathc; i++) {
    faro_experiment *e = NULL;
    if (lacks_data(files.gl_pathv[i])) continue;
    assert_ok(faro_experiment_load(&e, files.gl_pathv[i], &options, error));
    for (size_t c = 0; c < e->count; c++)
      assert_int_equal(e->cell[c].settings.calibration, FARO_CALIBRATION_PAPER);
    faro_experiment_destroy(e);
  }
  assert_true(files.gl_pathc > 20);
  globfree(&files);
}

static void test_override__replaces_a_value_wherever_it_stands(void **state) {
  (void)state;
  faro_experiment *e = parse(FILE_TEXT, "delta", "0.3", false);
  for (size_t c = 0; c < 12; c++) assert_true(value(e, c, FARO_KEY_DELTA) == 0.3);
  faro_experiment_destroy(e);
  e = parse(FILE_TEXT, "batch", "50", false); /* only where the file sets it */
  for (size_t c = 0; c < 12; c++) assert_true(value(e, c, FARO_KEY_BATCH) == (c % 2 ? 50 : 1));
  faro_experiment_destroy(e);
  e = parse(FILE_TEXT, "epsilon", "5", false); /* the sweep goes, and the panels with it */
  assert_int_equal(e->count, 6);
  assert_int_equal(e->panels, FARO_PLOT_NONE);
  faro_experiment_destroy(e);
  e = parse(FILE_TEXT, "environment.dimension", "[2, 3]", false); /* a new sweep */
  assert_int_equal(e->count, 24);
  faro_experiment_destroy(e);
  e = parse(FILE_TEXT, "environment", "linear-fixed", false);
  assert_true(value(e, 0, FARO_KEY_ENVIRONMENT) == 0);
  faro_experiment_destroy(e);
  e = parse(FILE_TEXT, "sweep.batch", "[10, 20]", false);
  for (size_t c = 0; c < 24; c++) assert_true(value(e, c, FARO_KEY_BATCH) == (c / 2 % 2 ? 20 : 10));
  faro_experiment_destroy(e);
}

static void test_override__says_what_is_wrong(void **state) {
  (void)state;
  const char *const bad[][3] = {
      {"epsilon", "-1", "--set epsilon: epsilon must be a number from 0.0001 to 1000 (got -1)"},
      {"epsilno", "1", "did you mean epsilon?"},
      {"epsilon", "[1, 1]", "twice"},
      {"epsilon", "", "--set epsilon: epsilon must be a number from 0.0001 to 1000 (got nothing)"},
      {"seed", "[1, 2]", "seed cannot be swept"},
      {"epsilon", "[1", "--set epsilon: not YAML"},
      {"sweep.learner", "[linucb]", "unknown key"},
      {"learner", "linucb", "unknown key"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const faro_override override = {.key = bad[i][0], .value = bad[i][1]};
    const faro_experiment_options options = {.overrides = &override, .override_count = 1};
    faro_experiment *e = NULL;
    faro_error error = {0};
    assert_int_equal(faro_experiment_parse(&e, "t.yaml", FILE_TEXT, strlen(FILE_TEXT), &options, &error),
                     FARO_INVALID);
    assert_non_null(strstr(error.message, bad[i][2]));
    assert_null(e);
  }
  const faro_override four[] = {{"delta", "[0.1, 0.2]"}, {"dimension", "[2, 3]"}};
  const faro_experiment_options options = {.overrides = four, .override_count = 2};
  faro_experiment *e = NULL;
  faro_error error = {0};
  assert_int_equal(faro_experiment_parse(&e, "t.yaml", FILE_TEXT, strlen(FILE_TEXT), &options, &error),
                   FARO_INVALID);
  assert_non_null(strstr(error.message, "at most 3 keys"));
}

static void test_quick__shortens_everything(void **state) {
  (void)state;
  static const char text[] = "environment: {name: linear-fixed}\nhorizon: 1e6\ninstances: 50\n"
                             "algorithms: [{learner: linucb, release: shuffle-bits, batch: 50000}]\n";
  faro_experiment *e = parse(text, NULL, NULL, true);
  assert_true(value(e, 0, FARO_KEY_HORIZON) == 2000);
  assert_true(value(e, 0, FARO_KEY_BATCH) == 200);
  assert_int_equal(e->instances, 4);
  faro_experiment_destroy(e);
}

static void test_figure__takes_the_published_features(void **state) {
  (void)state;
  faro_experiment *e = parse(FILE_TEXT, "calibration", "figure", false);
  assert_true(value(e, 0, FARO_KEY_DRAW) == FARO_DRAW_PUBLISHED);
  assert_true(value(e, 0, FARO_KEY_CALIBRATION) == FARO_CALIBRATION_FIGURE);
  faro_experiment_destroy(e);
}

static void test_digest__changes_with_what_decides_results(void **state) {
  (void)state;
  faro_experiment *a = parse(FILE_TEXT, NULL, NULL, false);
  faro_experiment *b = parse(FILE_TEXT, "seed", "1", false);
  assert_memory_equal(a->digest, b->digest, sizeof a->digest);
  faro_experiment_destroy(b);
  const char *const changes[][2] = {{"seed", "2"}, {"instances", "11"}, {"delta", "0.02"},
                                    {"arms", "8"}, {"horizon", "301"},  {"batch", "7"}};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    b = parse(FILE_TEXT, changes[i][0], changes[i][1], false);
    assert_memory_not_equal(a->digest, b->digest, sizeof a->digest);
    faro_experiment_destroy(b);
  }
  faro_experiment_destroy(a);
  static const char glm[] = "environment: {name: glm-logistic}\nhorizon: 10\n"
                            "algorithms: [{learner: gloc, release: none}]\n";
  a = parse(glm, NULL, NULL, false);
  b = parse(glm, "norm", "3", false); /* the environment's own setting */
  assert_memory_not_equal(a->digest, b->digest, sizeof a->digest);
  faro_experiment_destroy(b);
  b = parse(glm, "optimism", "0.3", false); /* the learner's own setting */
  assert_memory_not_equal(a->digest, b->digest, sizeof a->digest);
  faro_experiment_destroy(a);
  faro_experiment_destroy(b);
}

static void test_parse__survives_exhausted_memory(void **state) {
  (void)state;
  const faro_override override = {.key = "epsilon", .value = "[1, 3]"};
  const faro_experiment_options options = {.overrides = &override, .override_count = 1};
  for (size_t n = 1; n < 3000; n++) {
    faro_experiment *e = NULL;
    faro_error error = {0};
    alloc_fail_at(n);
    const faro_status status =
        faro_experiment_parse(&e, "t.yaml", FILE_TEXT, strlen(FILE_TEXT), &options, &error);
    const bool reached = alloc_count() >= n;
    alloc_reset();
    if (status == FARO_OK) {
      faro_experiment_destroy(e);
      if (!reached) return;
      continue;
    }
    assert_null(e);
    assert_true(error.message[0] != '\0');
  }
  fail_msg("parsing never succeeded");
}

static void test_load__reads_files_and_names_those_it_cannot(void **state) {
  (void)state;
  faro_experiment *e = NULL;
  assert_ok(faro_experiment_load(&e, "experiments/000-fig1.yaml", NULL, error));
  assert_int_equal(e->count, 15);
  faro_experiment_destroy(e);
  faro_error error = {0};
  assert_int_equal(faro_experiment_load(&e, "no/such/file.yaml", NULL, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, "no/such/file.yaml"));
  error = (faro_error){0};
  assert_int_equal(faro_experiment_load(&e, "experiments", NULL, &error), FARO_INVALID);
}

static void test_curve__rounds_rise_to_the_horizon(void **state) {
  (void)state;
  const uint64_t horizons[] = {2, 3, 199, 200, 201, 1000, 20000, 10000000000};
  for (size_t h = 0; h < 8; h++) {
    uint64_t round[FARO_CURVE_POINTS];
    const size_t points = faro_curve_rounds(horizons[h], round);
    assert_int_equal(points, horizons[h] < 200 ? horizons[h] : 200);
    for (size_t i = 1; i < points; i++) assert_true(round[i] > round[i - 1]);
    assert_int_equal(round[points - 1], horizons[h]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parse__sweeps_and_algorithms_multiply),
      cmocka_unit_test(test_identity__follows_from_the_settings),
      cmocka_unit_test(test_claim__says_which_actions_may_be_seen),
      cmocka_unit_test(test_claim__clients_counted_on_data_prove_nothing),
      cmocka_unit_test(test_local_epsilon__is_met_and_epsilon_follows),
      cmocka_unit_test(test_outline__can_be_listed_and_not_run),
      cmocka_unit_test(test_override__calibration_paper_suits_every_shipped_experiment),
      cmocka_unit_test(test_override__replaces_a_value_wherever_it_stands),
      cmocka_unit_test(test_override__says_what_is_wrong),
      cmocka_unit_test(test_quick__shortens_everything),
      cmocka_unit_test(test_figure__takes_the_published_features),
      cmocka_unit_test(test_digest__changes_with_what_decides_results),
      cmocka_unit_test(test_parse__survives_exhausted_memory),
      cmocka_unit_test(test_load__reads_files_and_names_those_it_cannot),
      cmocka_unit_test(test_curve__rounds_rise_to_the_horizon),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
