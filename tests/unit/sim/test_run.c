/* run: the same results whatever the threads, and after any interruption; the journal under the
 * runner. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "linalg/dense.h"
#include "sim/journal.h"
#include "support/play.h"

static const char FILE_TEXT[] = "environment: {name: linear-fixed, dimension: 3, arms: 5}\n"
                                "horizon: 500\ninstances: 6\ndelta: 0.1\ncalibration: figure\n"
                                "algorithms:\n"
                                "  - {learner: linucb, release: none}\n"
                                "  - {learner: linucb, release: shuffle-bits, batch: 10}\n"
                                "  - {learner: linucb, release: local}\n";

static faro_results *run(const faro_experiment *e, const faro_run_options *options) {
  faro_results *results = NULL;
  assert_ok(faro_run(e, options, &results, error));
  return results;
}

static void assert_same(const faro_results *a, const faro_results *b) {
  assert_int_equal(a->cells, b->cells);
  for (size_t c = 0; c < a->cells; c++) {
    assert_memory_equal(&a->outcome[c].regret, &b->outcome[c].regret, sizeof a->outcome[c].regret);
    assert_memory_equal(a->outcome[c].curve, b->outcome[c].curve, sizeof a->outcome[c].curve);
    assert_true(a->outcome[c].updates == b->outcome[c].updates);
  }
}

static void test_run__threads_change_nothing(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(FILE_TEXT);
  faro_results *one = run(e, &(faro_run_options){.jobs = 1});
  faro_results *four = run(e, &(faro_run_options){.jobs = 4});
  faro_results *many = run(e, &(faro_run_options){.jobs = 5000});
  faro_results *fit = run(e, &(faro_run_options){0});
  assert_same(one, four);
  assert_same(one, many);
  assert_same(one, fit);
  assert_true(one->outcome[0].regret.mean > 0);
  assert_true(one->outcome[0].updates == 500 && one->outcome[1].updates == 50);
  assert_int_equal(one->outcome[0].points, 200);
  faro_results_destroy(one);
  faro_results_destroy(four);
  faro_results_destroy(many);
  faro_results_destroy(fit);
  faro_results_destroy(NULL);
  faro_experiment_destroy(e);
}

/* One instance, person by person. */
static double play_singly(const faro_cell *cell, uint64_t seed, uint64_t instance) {
  faro_env *env = NULL;
  faro_agent *agent = NULL;
  const faro_env_params world = faro_cell_env(cell);
  assert_ok(faro_env_create(&env, cell->env, &world, error));
  faro_env_begin(env, seed, instance);
  faro_agent_params params = faro_cell_agent(cell, faro_env_arms(env)->count, instance);
  params.seed = seed;
  assert_ok(faro_agent_create(&agent, &params, error));
  double regret = 0;
  double x[5];
  for (uint64_t round = 0; round < cell->settings.horizon; round++) {
    const size_t arm = faro_agent_choose_from(agent, faro_env_arms(env));
    regret += faro_env_gap(env, arm);
    const double reward = faro_env_play(env, arm, x);
    assert_ok(faro_agent_learn(agent, x, reward, error));
  }
  faro_agent_destroy(agent);
  faro_env_destroy(env);
  return regret;
}

/* Batches in which all play one arm are played at once, from the same rewards, except where the
 * release draws for every person. Broken once: the two counts confused; bit sums played at once. */
static void test_run__a_batch_at_once_is_its_people_one_by_one(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(
      "environment: {name: linear-fixed, dimension: 5, arms: 30}\n"
      "horizon: 7013\ninstances: 3\ndelta: 0.1\nepsilon: 5\ncalibration: tight\n"
      "algorithms:\n"
      "  - {label: a, learner: linucb, release: none, batch: 17}\n"
      "  - {label: b, learner: linucb, release: central-tree, batch: 50}\n"
      "  - {label: c, learner: greedy, release: local, batch: 20, growth: 1.5, largest: 300}\n"
      "  - {label: d, learner: linucb, release: central, batch: 4000}\n"
      "  - {label: e, learner: linucb, release: none, batch: 10, anytime: true}\n"
      "  - {label: f, learner: linucb, release: shuffle-response, batch: 500}\n"
      "  - {label: g, learner: linucb, release: shuffle-bits, batch: 100}\n");
  faro_results *results = run(e, &(faro_run_options){0});
  for (size_t c = 0; c < e->count; c++)
    for (size_t i = 0; i < e->instances; i++)
      assert_close(results->record[i * e->count + c].regret, play_singly(&e->cell[c], e->seed, i), 1e-9);
  faro_results_destroy(results);
  faro_experiment_destroy(e);
}

/* OpenBLAS is shared with everything else in the process. */
static void test_run__leaves_the_threads_of_blas_as_they_were(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(FILE_TEXT);
  faro_results *results = NULL;
  faro_estimate estimate;
  faro_error error = {0};
  (void)faro_dense_threads(2);
  const int two = faro_dense_threads(2); /* 1 where there is no such library */
  faro_results_destroy(run(e, &(faro_run_options){.jobs = 2}));
  assert_int_equal(faro_dense_threads(2), two);
  assert_int_equal(faro_run(e, &(faro_run_options){.journal = "/no/such/folder/j"}, &results, &error),
                   FARO_SYSTEM);
  assert_int_equal(faro_dense_threads(2), two);
  assert_int_equal(faro_run_estimate(e, 0.01, &estimate, &error), FARO_OK);
  assert_int_equal(faro_dense_threads(2), two);
  (void)faro_dense_threads(1);
  faro_experiment_destroy(e);
}

static void note(void *context, size_t done, size_t total, double share) {
  (void)done;
  (void)share;
  *(size_t *)context = total;
}

/* Algorithms without privacy do not depend on epsilon and delta: if these are swept, one run gives
 * the results of all. Private algorithms, and other keys, are always played. */
static void test_run__cells_without_privacy_are_played_once(void **state) {
  (void)state;
  static const char file[] = "environment: {name: linear-fixed, dimension: 3, arms: 5}\ninstances: 3\n"
                             "%s\nalgorithms:\n"
                             "  - {learner: linucb, release: none}\n"
                             "  - {learner: linucb, release: local}\n";
  char text[500];
  snprintf(text, sizeof text, file, "sweep: {epsilon: [1, 2], horizon: [50, 100], delta: [0.01, 0.1]}");
  faro_experiment *e = parse_experiment("%s", text);
  size_t total = 0;
  faro_results *all = run(e, &(faro_run_options){.jobs = 2, .progress = note, .context = &total});
  assert_int_equal(total, 3 * (2 + 8));
  for (size_t point = 0; point < 8; point++) {
    char fixed[100];
    snprintf(fixed, sizeof fixed, "epsilon: %d\nhorizon: %d\ndelta: %g", point < 4 ? 1 : 2,
             point / 2 % 2 ? 100 : 50, point % 2 ? 0.1 : 0.01);
    snprintf(text, sizeof text, file, fixed);
    faro_experiment *alone = parse_experiment("%s", text);
    faro_results *one = run(alone, &(faro_run_options){.jobs = 1});
    const faro_results part = {.cells = 2, .outcome = all->outcome + 2 * point};
    assert_same(&part, one);
    faro_results_destroy(one);
    faro_experiment_destroy(alone);
  }
  faro_results_destroy(all);
  faro_experiment_destroy(e);
}

/* A swept setting that a learner does not have changes nothing for it. */
static void test_run__cells_without_the_swept_setting_are_played_once(void **state) {
  (void)state;
  faro_experiment *e =
      parse_experiment("environment: {name: linear-fixed, dimension: 3, arms: 5}\nhorizon: 60\ninstances: 3\n"
                       "sweep: {scale: [0.1, 1]}\n"
                       "algorithms: [{learner: lints, release: local}, {learner: pe, release: local}]\n");
  size_t total = 0;
  faro_results *all = run(e, &(faro_run_options){.jobs = 2, .progress = note, .context = &total});
  assert_int_equal(total, 3 * (2 + 1));
  const faro_results first = {.cells = 1, .outcome = all->outcome + 1};
  const faro_results second = {.cells = 1, .outcome = all->outcome + 3};
  assert_same(&first, &second);
  assert_true(all->outcome[0].regret.mean != all->outcome[2].regret.mean);
  faro_results_destroy(all);
  faro_experiment_destroy(e);
}

/* What is to be played, counted by hand: lints at both values of the sweep, pe once. The seconds
 * are those of a whole run, of which little was played here. */
static void test_run__an_estimate_counts_what_is_played_once(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(
      "environment: {name: linear-fixed, dimension: 3, arms: 5}\nhorizon: 1000000000\ninstances: 3\n"
      "sweep: {scale: [0.1, 1]}\n"
      "algorithms: [{learner: lints, release: none}, {learner: pe, release: none}]\n");
  faro_estimate estimate;
  assert_ok(faro_run_estimate(e, 0.03, &estimate, error));
  assert_int_equal(estimate.cells, 4);
  assert_int_equal(estimate.instances, 3 * (2 + 1));
  assert_true(estimate.rounds == 9e9);
  assert_true(estimate.seconds > 6);                    /* 6e9 rounds of lints: more than a nanosecond each */
  assert_ok(faro_run_estimate(e, 0, &estimate, error)); /* plays a round nevertheless */
  assert_true(estimate.seconds > 6);
  faro_experiment_destroy(e);
}

/* Ten users in batches of five, each at most twice: 20 contributions and four updates, however long
 * it continues. At event level, if nobody comes back, and if nothing is claimed, all count. */
static void test_run__nobody_contributes_beyond_the_bound(void **state) {
  (void)state;
  static const char file[] = "environment: {name: linear-fixed, dimension: 2, arms: 3, population: %s}\n"
                             "horizon: 500\ninstances: 3\ndelta: 0.1\nbatch: 5\n%s"
                             "algorithms:\n"
                             "  - {learner: linucb, release: none}\n"
                             "  - {learner: linucb, release: local}\n";
  const struct {
    const char *population, *level;
    double refused, updates;
  } at[] = {{"10", "level: user\ncontributions: 2\n", 0.96, 4},
            {"new", "level: user\ncontributions: 2\n", 0, 100},
            {"10", "level: event\n", 0, 100}};
  for (size_t i = 0; i < 3; i++) {
    char text[500];
    snprintf(text, sizeof text, file, at[i].population, at[i].level);
    faro_experiment *e = parse_experiment("%s", text);
    faro_results *results = run(e, &(faro_run_options){.jobs = 1});
    for (size_t c = 0; c < 2; c++) {
      const faro_outcome *outcome = &results->outcome[c];
      const double updates = c == 0 ? 100 : at[i].updates;
      const double refused = c == 0 ? 0 : at[i].refused;
      assert_true(outcome->updates <= updates && outcome->updates >= updates - 1);
      /* the last batch may wait for users who are not in it yet */
      assert_true(outcome->refused <= refused + 0.01 && outcome->refused >= refused - 0.01);
      assert_true(outcome->round[outcome->points - 1] == 500); /* refused users still play */
    }
    faro_results_destroy(results);
    faro_experiment_destroy(e);
  }
}

/* A stop after a few instances, from the progress callback. */
typedef struct brake {
  atomic_bool pressed;
  size_t after, shown;
  double share;
} brake;

static void press(void *context, size_t done, size_t total, double share) {
  brake *b = context;
  b->shown++;
  assert_true(done <= total);
  assert_true(share >= b->share - 1e-9 && share <= 1 && share >= (double)done / (double)total - 1e-9);
  b->share = share;
  if (done >= b->after) atomic_store(&b->pressed, true);
}

static bool is_pressed(void *context) {
  brake *b = context;
  return atomic_load(&b->pressed);
}

/* A net has more points than the setting `arms` says, which is not read there: learners over sums
 * choose among all of them. */
static void test_run__learners_choose_among_all_points_of_a_net(void **state) {
  (void)state;
  static const char *const learners[] = {"linucb", "posterior", "lints"};
  static const char *const places[] = {"linear-fixed, draw: sphere", "linear-iid, draw: ball"};
  for (size_t l = 0; l < 3; l++)
    for (size_t k = 0; k < 2; k++) {
      faro_experiment *e =
          parse_experiment("environment: {name: %s, dimension: 2, arms: 3, zeta: 0.02}\nhorizon: 3000\n"
                           "algorithms: [{learner: %s, release: none}]\n",
                           places[k], learners[l]);
      faro_env *env = make_cell_env(&e->cell[0], 1);
      assert_true(faro_env_arms(env)->count > 150);
      faro_env_destroy(env);
      /* a learner that saw only the first three points would lose about 1 a round */
      assert_true(play_cell(&e->cell[0], 1).regret < 0.05 * 3000);
      faro_experiment_destroy(e);
    }
}

/* Stops as soon as it has seen progress, or after a minute without any. */
static void press_within(void *context, size_t done, size_t total, double share) {
  brake *b = context;
  assert_int_equal(done, 0);
  assert_int_equal(total, 2);
  b->share = share;
  if (share > 0 || ++b->shown > 300) atomic_store(&b->pressed, true);
}

/* An instance of these would take minutes. */
static void test_run__progress_and_stops_within_an_instance(void **state) {
  (void)state;
  static const char *const algorithms[] = {
      "linucb, release: none", "linucb, release: shuffle-bits, batch: 100", "lints, release: local"};
  for (size_t i = 0; i < 3; i++) {
    faro_experiment *e =
        parse_experiment("environment: {name: linear-fixed, dimension: 3, arms: 5}\nhorizon: 1000000000\n"
                         "instances: 2\nalgorithms: [{learner: %s}]\n",
                         algorithms[i]);
    brake b = {0};
    faro_results *results = NULL;
    faro_error error = {0};
    const faro_run_options options = {
        .jobs = 2, .stopped = is_pressed, .progress = press_within, .context = &b};
    assert_int_equal(faro_run(e, &options, &results, &error), FARO_INTERRUPTED);
    assert_non_null(strstr(error.message, "before the first instance finished; nothing was saved"));
    assert_true(b.share > 0 && b.share < 0.5);
    faro_experiment_destroy(e);
  }
}

static void test_run__resumes_where_it_stopped(void **state) {
  (void)state;
  check_test();
  char path[] = "/tmp/faro-test-XXXXXX";
  assert_true(mkdtemp(path) != NULL);
  char journal[64];
  snprintf(journal, sizeof journal, "%s/j", path);
  static const char slow[] = "environment: {name: linear-iid, dimension: 3, arms: 50}\n"
                             "horizon: 20000\ninstances: 24\ndelta: 0.1\n"
                             "algorithms: [{learner: linucb, release: local}]\n";
  faro_experiment *e = parse_experiment(slow);
  faro_results *whole = run(e, &(faro_run_options){.jobs = 2});
  brake b = {.after = 1};
  const faro_run_options options = {
      .jobs = 2, .journal = journal, .stopped = is_pressed, .progress = press, .context = &b};
  faro_results *results = NULL;
  faro_error error = {0};
  assert_int_equal(faro_run(e, &options, &results, &error), FARO_INTERRUPTED);
  assert_null(results);
  assert_non_null(strstr(error.message, "of 24 instances are finished and saved"));
  faro_results *resumed = run(e, &(faro_run_options){.jobs = 2, .journal = journal});
  assert_true(resumed->resumed >= 1 && resumed->resumed < 24);
  assert_same(whole, resumed);
  error = (faro_error){0}; /* nobody else may open the journal before the results are saved */
  assert_int_equal(faro_run(e, &(faro_run_options){.jobs = 1, .journal = journal}, &results, &error),
                   FARO_SYSTEM);
  faro_results_destroy(resumed);
  /* all of it from the journal */
  faro_results *again = run(e, &(faro_run_options){.jobs = 1, .journal = journal});
  assert_int_equal(again->resumed, 24);
  assert_same(whole, again);
  faro_results_destroy(again);
  faro_experiment *other = parse_experiment(FILE_TEXT);
  error = (faro_error){0};
  assert_int_equal(faro_run(other, &(faro_run_options){.journal = journal}, &results, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, "another experiment"));
  faro_results_destroy(whole);
  faro_experiment_destroy(e);
  faro_experiment_destroy(other);
  assert_int_equal(remove(journal), 0);
  assert_int_equal(remove(path), 0);
}

static void test_run__a_journal_that_cannot_be_opened_is_an_error(void **state) {
  (void)state;
  faro_experiment *e = parse_experiment(FILE_TEXT);
  faro_results *results = NULL;
  faro_error error = {0};
  assert_int_equal(faro_run(e, &(faro_run_options){.journal = "/no/such/folder/j"}, &results, &error),
                   FARO_SYSTEM);
  assert_non_null(strstr(error.message, "/no/such/folder/j"));
  faro_experiment_destroy(e);
}

/* A disk that fills up: files may not grow past a few records. */
static void test_run__a_full_disk_ends_the_run_with_its_reason(void **state) {
  (void)state;
  char path[] = "/tmp/faro-journal-XXXXXX";
  close(mkstemp(path));
  struct rlimit old;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  const struct rlimit small = {.rlim_cur = 4000, .rlim_max = old.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
  faro_experiment *e = parse_experiment(FILE_TEXT);
  faro_results *results = NULL;
  faro_error error = {0};
  const faro_status status = faro_run(e, &(faro_run_options){.jobs = 2, .journal = path}, &results, &error);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  assert_int_equal(status, FARO_SYSTEM);
  assert_null(results);
  assert_non_null(strstr(error.message, "cannot be written"));
  /* with room again, what was saved is valid */
  results = run(e, &(faro_run_options){.jobs = 2, .journal = path});
  assert_int_equal(results->resumed, 2);
  faro_results_destroy(results);
  faro_experiment_destroy(e);
  assert_int_equal(remove(path), 0);
}

static void test_run__survives_exhausted_memory(void **state) {
  (void)state;
  static const char small[] =
      "environment: {name: linear-fixed, dimension: 3, arms: 5}\nhorizon: 50\ninstances: 2\n"
      "algorithms: [{learner: linucb, release: central-tree}]\n";
  faro_experiment *e = parse_experiment(small);
  for (size_t n = 1; n < 400; n++) {
    faro_results *results = NULL;
    faro_error error = {0};
    alloc_fail_at(n);
    const faro_status status = faro_run(e, &(faro_run_options){.jobs = 1}, &results, &error);
    const bool reached = alloc_count() >= n;
    alloc_reset();
    if (status == FARO_OK) {
      faro_results_destroy(results);
      if (reached) continue;
      faro_experiment_destroy(e);
      return;
    }
    assert_true(status == FARO_MEMORY || status == FARO_SYSTEM);
    assert_true(error.message[0] != '\0');
    assert_null(results);
  }
  fail_msg("the run never succeeded");
}

/* The journal itself. */

typedef struct memory {
  size_t count, refuse_from;
  uint32_t cell[16], instance[16];
  double first[16];
} memory;

static faro_record_verdict remember(void *context, uint32_t cell, uint32_t instance, const double *values,
                                    faro_error *error) {
  memory *m = context;
  (void)error;
  if (m->count >= m->refuse_from) return FARO_RECORD_SENSELESS;
  m->cell[m->count] = cell;
  m->instance[m->count] = instance;
  m->first[m->count++] = values[0];
  return FARO_RECORD_TAKEN;
}

static const unsigned char digest[32] = "a digest of thirty-two bytes....";

static faro_journal *open_journal(const char *path, memory *m) {
  faro_journal *j = NULL;
  *m = (memory){.refuse_from = m->refuse_from ? m->refuse_from : 16};
  assert_ok(faro_journal_open(&j, path, digest, 3, false, remember, m, error));
  return j;
}

static void add(faro_journal *j, uint32_t cell) {
  const double values[3] = {cell + 0.5, 2, 3};
  assert_ok(faro_journal_add(j, cell, cell + 100, values, error));
}

static void test_journal__keeps_whole_records_and_cuts_torn_ones(void **state) {
  (void)state;
  char path[] = "/tmp/faro-journal-XXXXXX";
  close(mkstemp(path));
  memory m = {0};
  faro_journal *j = open_journal(path, &m);
  assert_int_equal(m.count, 0);
  for (uint32_t i = 0; i < 3; i++) add(j, i);
  faro_journal_close(j);
  FILE *file = fopen(path, "ab"); /* torn: half a record, as after a crash */
  assert_non_null(file);
  assert_int_equal(fwrite("torn torn torn", 14, 1, file), 1);
  fclose(file);
  j = open_journal(path, &m);
  assert_int_equal(m.count, 3);
  for (uint32_t i = 0; i < 3; i++)
    assert_true(m.cell[i] == i && m.instance[i] == i + 100 && m.first[i] == i + 0.5);
  add(j, 3);
  faro_journal_close(j);
  j = open_journal(path, &m);
  assert_int_equal(m.count, 4);
  faro_journal_close(j);
  file = fopen(path, "r+b"); /* a flipped bit in the second record */
  assert_non_null(file);
  const long header = 192;
  const long record = 8 + 24 + 8;
  assert_int_equal(fseek(file, header + record + 10, SEEK_SET), 0);
  assert_int_equal(fputc(0x55, file), 0x55);
  fclose(file);
  j = open_journal(path, &m);
  assert_int_equal(m.count, 1);
  faro_journal_close(j);
  assert_int_equal(remove(path), 0);
}

static void test_journal__records_that_make_no_sense_are_cut_off(void **state) {
  (void)state;
  char path[] = "/tmp/faro-journal-XXXXXX";
  close(mkstemp(path));
  memory m = {0};
  faro_journal *j = open_journal(path, &m);
  for (uint32_t i = 0; i < 5; i++) add(j, i);
  faro_journal_close(j);
  m.refuse_from = 2;
  faro_journal_close(open_journal(path, &m));
  m.refuse_from = 16;
  faro_journal_close(open_journal(path, &m));
  assert_int_equal(m.count, 2);
  assert_int_equal(remove(path), 0);
}

static void test_journal__one_writer_at_a_time(void **state) {
  (void)state;
  char path[] = "/tmp/faro-journal-XXXXXX";
  close(mkstemp(path));
  memory m = {0};
  faro_journal *j = open_journal(path, &m);
  faro_journal *second = NULL;
  faro_error error = {0};
  assert_int_equal(faro_journal_open(&second, path, digest, 3, false, remember, &m, &error), FARO_SYSTEM);
  assert_non_null(strstr(error.message, "another run"));
  faro_journal_close(j);
  faro_journal_close(NULL);
  for (size_t n = 1; n <= 3; n++) {
    error = (faro_error){0};
    alloc_fail_at(n);
    assert_int_equal(faro_journal_open(&second, path, digest, 3, false, remember, &m, &error), FARO_MEMORY);
    alloc_reset();
  }
  assert_int_equal(remove(path), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_run__threads_change_nothing),
      cmocka_unit_test(test_run__a_batch_at_once_is_its_people_one_by_one),
      cmocka_unit_test(test_run__leaves_the_threads_of_blas_as_they_were),
      cmocka_unit_test(test_run__cells_without_privacy_are_played_once),
      cmocka_unit_test(test_run__cells_without_the_swept_setting_are_played_once),
      cmocka_unit_test(test_run__an_estimate_counts_what_is_played_once),
      cmocka_unit_test(test_run__nobody_contributes_beyond_the_bound),
      cmocka_unit_test(test_run__learners_choose_among_all_points_of_a_net),
      cmocka_unit_test(test_run__progress_and_stops_within_an_instance),
      cmocka_unit_test(test_run__resumes_where_it_stopped),
      cmocka_unit_test(test_run__a_journal_that_cannot_be_opened_is_an_error),
      cmocka_unit_test(test_run__a_full_disk_ends_the_run_with_its_reason),
      cmocka_unit_test(test_run__survives_exhausted_memory),
      cmocka_unit_test(test_journal__keeps_whole_records_and_cuts_torn_ones),
      cmocka_unit_test(test_journal__records_that_make_no_sense_are_cut_off),
      cmocka_unit_test(test_journal__one_writer_at_a_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
