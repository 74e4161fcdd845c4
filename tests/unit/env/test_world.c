/* world: environments of a program's own are read, checked, played and refused like faro's. What
 * every environment must guarantee is in test_env.c, which is built with these too. */
#include "support/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/experiment.h"
#include "support/play.h"

/* A world with settings, whose rewards are its own: arm a has the mean a / arms, times `height`. */
typedef struct stairs_settings {
  double height;
  uint64_t period;
} stairs_settings;

static const faro_setting settings[] = {{"height", FARO_SETTING_REAL, offsetof(stairs_settings, height), 0, 2,
                                         1, NULL, "stairs only: the highest"},
                                        {"period", FARO_SETTING_COUNT, offsetof(stairs_settings, period), 1,
                                         1000, 10, NULL, "stairs only: rounds"},
                                        {0}};

typedef struct stairs {
  const faro_env_params *params;
  double *memory;
  uint64_t round;
  double length; /* of features, from the second round on */
} stairs;

static int living; /* states that were not destroyed */
static double later = 0.5, odd;

static faro_status init(void *state, const faro_env_params *params, faro_error *error) {
  stairs *s = state;
  const stairs_settings *own = params->settings;
  if (own->period == 13) return FARO_INVALID; /* without a word */
  if (own->period == 7)
    return faro_fail(error, FARO_INVALID, "period must not be 7 (got %llu)", (unsigned long long)own->period);
  s->params = params;
  s->memory = malloc(8);
  if (!s->memory) return faro_fail(error, FARO_MEMORY, "no memory for stairs");
  living++;
  return FARO_OK;
}

static void begin(void *state, faro_sim_rng *random) {
  stairs *s = state;
  (void)random;
  s->memory[0] = 0;
}

static void arms(void *state, uint64_t round, faro_sim_rng *random, double *features) {
  stairs *s = state;
  (void)random;
  s->round = round;
  const size_t d = s->params->dimension;
  for (size_t a = 0; a < s->params->arms; a++)
    for (size_t i = 0; i < d; i++) features[a * d + i] = i == a % d ? (round > 0 ? later : 0.5) : 0;
}

/* Arms change places every `period` rounds. */
static double mean(const void *state, size_t arm) {
  const stairs *s = state;
  const stairs_settings *own = s->params->settings;
  const uint64_t shift = s->round / own->period;
  return own->height * (double)((arm + shift) % s->params->arms) / (double)s->params->arms;
}

static double reward(void *state, size_t arm, faro_sim_rng *random) {
  (void)faro_sim_uniform(random);
  return odd != 0 ? odd : mean(state, arm); /* without any noise */
}

static void destroy(void *state) {
  stairs *s = state;
  free(s->memory);
  living--;
}

static const faro_world world = {.name = "stairs",
                                 .summary = "arms that climb",
                                 .settings = settings,
                                 .settings_size = sizeof(stairs_settings),
                                 .size = sizeof(stairs),
                                 .init = init,
                                 .begin = begin,
                                 .arms = arms,
                                 .mean = mean,
                                 .reward = reward,
                                 .destroy = destroy};

static const char TEXT[] =
    "environment: {name: stairs, dimension: 3, arms: 4%s}\nhorizon: 200\ninstances: 3\n"
    "algorithms: [{learner: linucb, release: none}, {learner: lints, release: local}]\n";

static void test_world__is_registered_once_and_listed(void **state) {
  (void)state;
  const size_t before = faro_env_count();
  assert_ok(faro_world_register(&world_stays, error));
  for (int twice = 0; twice < 2; twice++) assert_ok(faro_world_register(&world, error));
  assert_int_equal(faro_env_count(), before + 2);
  assert_string_equal(faro_env_at(before + 1)->name, "stairs");
  assert_string_equal(faro_env_find("stairs")->summary, "arms that climb");
  assert_true(faro_env_find("cube-stays")->traits == FARO_ENV_STAYS);
}

static void test_world__what_is_wrong_is_refused(void **state) {
  (void)state;
  faro_error why = {0};
  const faro_setting taken[] = {{"epsilon", FARO_SETTING_REAL, 0, 0, 1, 0, NULL, "a key of every experiment"},
                                {0}};
  const faro_setting other[] = {{"height", FARO_SETTING_REAL, 0, 0, 3, 1, NULL, "another range"}, {0}};
  const faro_setting twice[] = {{"tall", FARO_SETTING_REAL, 0, 0, 3, 1, NULL, ""},
                                {"tall", FARO_SETTING_REAL, 0, 0, 3, 1, NULL, ""},
                                {0}};
  const struct {
    faro_world world;
    const char *says;
  } bad[] = {
      {{.name = NULL}, "name must be 1 .. 40 small letters, digits and - (got \"\")"},
      {{.name = "My World"}, "(got \"My World\")"},
      {{.name = "linear-iid", .begin = begin, .arms = arms, .mean = mean}, "name linear-iid is taken"},
      {{.name = "stairs", .begin = begin, .arms = arms, .mean = mean}, "name stairs is taken"},
      {{.name = "w", .arms = arms, .mean = mean},
       "begin is missing: environment w needs begin, arms and mean"},
      {{.name = "w", .begin = begin, .mean = mean}, "arms is missing"},
      {{.name = "w", .begin = begin, .arms = arms}, "mean is missing"},
      {{.name = "w", .begin = begin, .arms = arms, .mean = mean, .low = -2}, "low must be -1 .. 0"},
      {{.name = "w", .begin = begin, .arms = arms, .mean = mean, .norm = (double)NAN},
       "norm and bound must be"},
      {{.name = "w", .begin = begin, .arms = arms, .mean = mean, .settings = taken},
       "setting epsilon has a name that is taken"},
      {{.name = "w", .begin = begin, .arms = arms, .mean = mean, .settings = other},
       "setting height differs from that of another environment"},
      {{.name = "w", .begin = begin, .arms = arms, .mean = mean, .settings = twice},
       "setting tall is in the table twice"},
  };
  const size_t before = faro_env_count();
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    why = (faro_error){0};
    assert_int_equal(faro_world_register(&bad[i].world, &why), FARO_INVALID);
    if (!strstr(why.message, bad[i].says)) fail_msg("\"%s\" is not in: %s", bad[i].says, why.message);
  }
  assert_int_equal(faro_world_register(NULL, NULL), FARO_INVALID);
  assert_int_equal(faro_env_count(), before);
}

/* The name, settings, sweeps and messages of an experiment. */
static void test_world__experiments_read_it_like_any_other(void **state) {
  (void)state;
  const struct {
    const char *more, *says;
  } bad[] = {
      {", height: 3", "test.yaml:1: height must be a number from 0 to 2 (got 3)"},
      {", heigth: 1", "unknown key \"heigth\" in environment (did you mean height?)"},
      {", zeta: 0.1", "zeta is a setting of "},
      {", period: 7", "test.yaml:1: period must not be 7 (got 7)"},
      {", period: 13", "environment stairs refuses its parameters"},
      {", height: 1.9", "environment stairs must have mean rewards from 0 to 1 (got 1.425 for arm 3)"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char text[500];
    faro_experiment *e = NULL;
    faro_error why = {0};
    snprintf(text, sizeof text, TEXT, bad[i].more);
    assert_int_equal(faro_experiment_parse(&e, "test.yaml", text, strlen(text), NULL, &why), FARO_INVALID);
    if (!strstr(why.message, bad[i].says)) fail_msg("\"%s\" is not in: %s", bad[i].says, why.message);
  }
  char text[500];
  snprintf(text, sizeof text, TEXT, "");
  char *name = strstr(text, "stairs");
  memcpy(name, "stairz", 6);
  faro_experiment *e = NULL;
  faro_error why = {0};
  assert_int_equal(faro_experiment_parse(&e, "test.yaml", text, strlen(text), NULL, &why), FARO_INVALID);
  assert_non_null(strstr(why.message, "did you mean stairs?"));
  e = parse_experiment(TEXT, ", height: 0.5");
  assert_true(((const stairs_settings *)e->cell[0].env_own)->height == 0.5);
  assert_true(((const stairs_settings *)e->cell[0].env_own)->period == 10);
  faro_experiment *swept = NULL;
  const faro_override sweep = {"period", "[5, 20]"};
  const faro_experiment_options options = {.overrides = &sweep, .override_count = 1};
  snprintf(text, sizeof text, TEXT, "");
  assert_ok(faro_experiment_parse(&swept, "test.yaml", text, strlen(text), &options, error));
  assert_int_equal(swept->count, 4);
  assert_int_not_equal(memcmp(swept->digest, e->digest, sizeof e->digest), 0);
  faro_experiment_destroy(swept);
  faro_experiment_destroy(e);
  assert_int_equal(living, 0);
}

/* Against the world played by hand: the means of the arms, their gaps, the rewards. */
static void test_world__is_played_as_it_says(void **state) {
  (void)state;
  const stairs_settings own = {.height = 0.8, .period = 3};
  const faro_env_params p = {.dimension = 3, .arms = 4, .horizon = 20, .settings = &own};
  faro_env *env = NULL;
  assert_ok(faro_env_create(&env, faro_env_find("stairs"), &p, error));
  const faro_env_facts facts = faro_env_describe(faro_env_find("stairs"), &p);
  assert_true(facts.norm == 1 && facts.low == 0 && facts.high == 1 && facts.bound == 1);
  faro_env_begin(env, 1, 0);
  for (uint64_t t = 0; t < 20; t++) {
    double x[3];
    const size_t arm = t % 4;
    for (size_t a = 0; a < 4; a++)
      assert_close(faro_env_gap(env, a), 0.6 - 0.2 * (double)((a + t / 3) % 4), 1e-15);
    assert_int_equal((faro_env_best(env) + t / 3) % 4, 3);
    assert_close(faro_env_play(env, arm, x), 0.2 * (double)((arm + t / 3) % 4), 1e-15);
    for (size_t i = 0; i < 3; i++) assert_true(x[i] == (i == arm % 3 ? 0.5 : 0));
  }
  faro_env_destroy(env);
  assert_int_equal(living, 0);
  assert_survives_exhaustion(faro_env_create(&env, faro_env_find("stairs"), &p, error));
  faro_env_destroy(env);
  assert_int_equal(living, 0);
}

/* Later rounds cannot be refused any more. */
static void test_world__what_is_out_of_bounds_later_is_clipped(void **state) {
  (void)state;
  const faro_env_params p = {.dimension = 3, .arms = 4, .horizon = 20};
  static const double lengths[] = {7, (double)INFINITY, (double)NAN, -3};
  static const double kept[] = {1, 0, 0, -1};
  for (size_t i = 0; i < 4; i++) {
    faro_env *env = NULL;
    double x[3];
    later = 0.5;
    assert_ok(faro_env_create(&env, faro_env_find("stairs"), &p, error));
    later = lengths[i];
    odd = lengths[i];
    faro_env_begin(env, 1, 0);
    const double first = faro_env_play(env, 1, x);
    assert_true(x[1] == 0.5);
    assert_true(first == (i == 0 || i == 1 ? 1 : 0));
    (void)faro_env_play(env, 1, x);
    assert_true(x[0] == 0 && x[1] == kept[i] && x[2] == 0);
    faro_env_destroy(env);
  }
  later = 0.5;
  odd = 0;
}

/* Threads, journal, report. */
static void test_world__is_run_over_threads_with_a_journal(void **state) {
  (void)state;
  char path[] = "/tmp/faro-world-XXXXXX";
  close(mkstemp(path));
  faro_experiment *e =
      parse_experiment("environment: {name: cube-stays, dimension: 3, arms: 5}\nhorizon: 8000\n"
                       "instances: 4\nalgorithms:\n"
                       "  - {learner: posterior, release: none}\n  - {learner: pe, release: none}\n"
                       "  - {learner: uniform, release: none}\n");
  faro_results *one = NULL;
  faro_results *two = NULL;
  faro_results *again = NULL;
  assert_ok(faro_run(e, &(faro_run_options){.jobs = 1}, &one, error));
  assert_ok(faro_run(e, &(faro_run_options){.jobs = 4, .journal = path}, &two, error));
  for (size_t c = 0; c < 3; c++) assert_true(one->outcome[c].regret.mean == two->outcome[c].regret.mean);
  /* it learns, and playing at random has the regret that the yardstick says */
  assert_true(one->outcome[0].regret.mean < 0.6 * one->outcome[0].uniform);
  assert_true(one->outcome[1].regret.mean < 0.8 * one->outcome[0].uniform);
  assert_close(one->outcome[2].regret.mean / one->outcome[2].uniform, 1, 0.1);
  faro_results_destroy(two);
  assert_ok(faro_run(e, &(faro_run_options){.jobs = 1, .journal = path}, &again, error));
  assert_int_equal(again->resumed, 12);
  faro_report *report = NULL;
  assert_ok(faro_report_make(&report, e, again, error));
  char *table = faro_report_table(report, (faro_table_style){0});
  assert_non_null(strstr(table, "cube-stays, dimension 3, arms 5"));
  free(table);
  faro_report_destroy(report);
  faro_results_destroy(again);
  faro_results_destroy(one);
  faro_experiment_destroy(e);
  assert_int_equal(remove(path), 0);
}

/* Code that the hash of the program does not see. */
static void test_world__another_version_is_another_experiment(void **state) {
  (void)state;
  static faro_world dated;
  dated = world_fresh;
  dated.name = "dated";
  dated.version = "1";
  assert_ok(faro_world_register(&dated, error));
  static const char text[] = "environment: {name: dated, dimension: 3, arms: 5}\nhorizon: 20\n"
                             "algorithms: [{learner: linucb, release: none}]\n";
  faro_experiment *one = parse_experiment(text);
  faro_experiment *same = parse_experiment(text);
  assert_memory_equal(one->digest, same->digest, sizeof one->digest);
  ((faro_env_kind *)(void *)faro_env_find("dated"))->version = "2";
  faro_experiment *other = parse_experiment(text);
  assert_memory_not_equal(one->digest, other->digest, sizeof one->digest);
  faro_experiment_destroy(one);
  faro_experiment_destroy(same);
  faro_experiment_destroy(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_world__is_registered_once_and_listed),
      cmocka_unit_test(test_world__what_is_wrong_is_refused),
      cmocka_unit_test(test_world__experiments_read_it_like_any_other),
      cmocka_unit_test(test_world__is_played_as_it_says),
      cmocka_unit_test(test_world__what_is_out_of_bounds_later_is_clipped),
      cmocka_unit_test(test_world__is_run_over_threads_with_a_journal),
      cmocka_unit_test(test_world__another_version_is_another_experiment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
