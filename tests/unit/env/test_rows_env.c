/* The environment rows, against plain second implementations: order, features, rewards, replay, the
 * fitted policy, people who return, and files that do not fit into memory. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/features.h"
#include "data/table.h"
#include "env/kind.h"
#include "support/support.h"

static const char *path_of(const char *name) {
  static char path[4][200];
  static int turn;
  const char *folder = getenv("TMPDIR");
  char *out = path[turn++ % 4];
  snprintf(out, sizeof *path, "%s/faro-env-%d-%s", folder ? folder : "/tmp", (int)getpid(), name);
  return out;
}

static faro_env_settings preset(const char *file) {
  faro_env_settings own = {0};
  faro_settings_preset(faro_env_find("rows")->settings, &own);
  own.rows.file = file;
  return own;
}

static faro_env *make(const faro_env_settings *own, faro_env_params *p) {
  faro_env *env = NULL;
  p->settings = own;
  assert_ok(faro_env_read(faro_env_find("rows"), p, error));
  assert_ok(faro_env_create(&env, faro_env_find("rows"), p, error));
  return env;
}

/* The features that the environment gives to each row of its file, for an instance. */
static void map_rows(const faro_env_settings *own, const faro_table *table, uint64_t seed, uint64_t instance,
                     double *phi) {
  const faro_features_params params = {.facts = table->facts,
                                       .scaling = (faro_scaling)own->scaling,
                                       .ranges = own->ranges,
                                       .components = (size_t)own->components};
  const size_t p = faro_features_count(&params);
  faro_features *features = NULL;
  faro_sim_rng sim;
  faro_cursor *cursor = NULL;
  assert_ok(faro_features_create(&features, &params, error));
  assert_ok(faro_cursor_create(&cursor, table, false, error));
  faro_sim_open(&sim, seed, instance, FARO_ROLE_INSTANCE);
  faro_features_draw(features, &sim);
  faro_cursor_begin(cursor, &sim);
  for (uint64_t i = 0; i < table->facts->rows; i++) {
    const faro_row *row = faro_cursor_next(cursor, &sim);
    faro_features_apply(features, row->number, row->word, phi + i * p);
  }
  faro_cursor_destroy(cursor);
  faro_features_destroy(features);
}

/* Which row this round is: the one whose features stand in the first block. */
static int row_of(const faro_env *env, const double *phi, size_t p, int rows) {
  const faro_arms *arms = faro_env_arms(env);
  for (int i = 0; i < rows; i++) {
    bool same = true;
    for (size_t j = 0; j < p && same; j++) same = arms->x[j * arms->stride] == phi[(size_t)i * p + j];
    if (same) return i;
  }
  return -1;
}

/* ---- order and rewards */

enum { COUNT = 500 };

/* Row i has the numbers i / 1000 and -i / 1000, and class i % 3. */
static const char *write_rows(const char *name) {
  const char *path = path_of(name);
  FILE *file = fopen(path, "wb");
  fputs("x,z,y\n", file);
  for (int i = 0; i < COUNT; i++) fprintf(file, "%.4f,%.4f,c%d\n", i / 1000.0, -i / 1000.0, i % 3);
  fclose(file);
  return path;
}

static void play_all(faro_env *env, const faro_env_settings *own, uint64_t seed, uint64_t instance,
                     int seen[static COUNT]) {
  static double phi[COUNT * 4];
  double x[12];
  map_rows(own, env->params.table, seed, instance, phi);
  faro_env_begin(env, seed, instance);
  for (int t = 0; t < COUNT; t++) {
    seen[t] = row_of(env, phi, 4, COUNT);
    const size_t arm = (size_t)(t % 3);
    const double gap = faro_env_gap(env, arm);
    const double reward = faro_env_play(env, arm, x);
    assert_true(reward == (seen[t] % 3 == (int)arm));
    assert_true(gap == 1 - reward);
  }
}

static void assert_permutation(const int seen[static COUNT]) {
  bool there[COUNT] = {false};
  for (int t = 0; t < COUNT; t++) {
    assert_in_range(seen[t], 0, COUNT - 1);
    assert_false(there[seen[t]]);
    there[seen[t]] = true;
  }
}

/* The order is a permutation, the same for the same instance, another for another; kept in memory
 * or read again in blocks. */
static void test_order__is_a_permutation_by_seed_and_instance(void **state) {
  (void)state;
  faro_env_settings own = preset(write_rows("order.csv"));
  own.rows.label = "y";
  own.components = 3;
  for (int streamed = 0; streamed < 2; streamed++) {
    faro_env_params p = {0};
    int seen[3][COUNT];
    own.memory = streamed ? 0 : 512;
    faro_env *env = make(&own, &p);
    assert_int_equal(p.table->record == NULL, streamed);
    assert_int_equal(p.arms, 3);
    assert_int_equal(p.dimension, 12);
    assert_int_equal(p.horizon, COUNT);
    assert_int_equal(p.population, 0);
    play_all(env, &own, 1, 0, seen[0]);
    play_all(env, &own, 1, 1, seen[1]);
    play_all(env, &own, 1, 0, seen[2]);
    for (int i = 0; i < 3; i++) assert_permutation(seen[i]);
    assert_memory_equal(seen[0], seen[2], sizeof seen[0]);
    assert_memory_not_equal(seen[0], seen[1], sizeof seen[0]);
    faro_env_destroy(env);
    faro_env_unread(&p);
  }
  unlink(own.rows.file);
}

/* Over many instances every row is equally likely to come first (chi-square). */
static void test_order__has_no_favourite(void **state) {
  (void)state;
  enum { MANY = 20000, PARTS = 10 };
  faro_env_settings own = preset(write_rows("favourite.csv"));
  own.rows.label = "y";
  double first[PARTS] = {0};
  double last[PARTS] = {0};
  double expected[PARTS];
  faro_table *table = NULL;
  faro_cursor *cursor = NULL;
  assert_ok(faro_table_open(&table, &own.rows, 1 << 20, error));
  assert_ok(faro_cursor_create(&cursor, table, true, error));
  for (uint64_t i = 0; i < MANY; i++) {
    faro_sim_rng sim;
    faro_sim_open(&sim, 3, i, FARO_ROLE_CONTEXT);
    faro_cursor_begin(cursor, &sim);
    const faro_row *row = faro_cursor_next(cursor, &sim);
    first[(int)lround(row->number[0] * 1000) * PARTS / COUNT]++;
    for (int k = 0; k < 7; k++) row = faro_cursor_next(cursor, &sim);
    last[(int)lround(row->number[0] * 1000) * PARTS / COUNT]++;
  }
  for (int k = 0; k < PARTS; k++) expected[k] = (double)MANY / PARTS;
  assert_chi_square(first, expected, PARTS);
  assert_chi_square(last, expected, PARTS);
  faro_cursor_destroy(cursor);
  faro_table_close(table);
  unlink(own.rows.file);
}

/* ---- the fitted policy */

enum { FITTED = 300, ARMS = 3, P = 4 };

/* Solves A w = b by Gauss and Jordan. */
static void solve(double a[P][P + 1], double *w) {
  for (int i = 0; i < P; i++)
    for (int k = 0; k < P; k++) {
      const double f = k == i ? 0 : a[k][i] / a[i][i];
      for (int j = i; j <= P; j++) a[k][j] -= f * a[i][j];
    }
  for (int i = 0; i < P; i++) w[i] = a[i][P] / a[i][i];
}

/* What ridge regression on all rows and arms plays, computed with plain loops; and what the
 * environment says it got. */
static void test_linear__is_ridge_on_all_rows_and_arms(void **state) {
  (void)state;
  static double number[FITTED][3];
  static double phi[FITTED][P];
  static double reward[FITTED][ARMS];
  const char *path = path_of("ridge.csv");
  FILE *file = fopen(path, "wb");
  faro_sim_rng sim;
  faro_sim_open(&sim, 11, 0, FARO_ROLE_INSTANCE);
  fputs("r0,x0,x1,r1,x2,r2\n", file);
  for (int i = 0; i < FITTED; i++) {
    for (int j = 0; j < 3; j++) number[i][j] = round(2e3 * faro_sim_uniform(&sim) - 1e3) / 1e3;
    for (int a = 0; a < ARMS; a++) {
      const double mean = 0.5 + 0.4 * number[i][a] + 0.1 * faro_sim_normal(&sim);
      reward[i][a] = round(1e3 * fmin(1, fmax(0, mean))) / 1e3;
    }
    fprintf(file, "%.3f,%.3f,%.3f,%.3f,%.3f,%.3f\n", 5 * reward[i][0], number[i][0], number[i][1],
            5 * reward[i][1], number[i][2], 5 * reward[i][2]);
  }
  fclose(file);
  faro_env_settings own = preset(path);
  own.rows.rewards = "r*";
  own.rows.high = 5;
  own.components = P - 1;
  faro_env_params p = {0};
  faro_env *env = make(&own, &p);
  map_rows(&own, p.table, 1, 0, *phi);
  double w[ARMS][P];
  double got = 0;
  double uniform = 0;
  double arms[ARMS] = {0};
  for (int a = 0; a < ARMS; a++) {
    double m[P][P + 1] = {{0}};
    for (int i = 0; i < P; i++) m[i][i] = 1;
    for (int t = 0; t < FITTED; t++)
      for (int i = 0; i < P; i++) {
        for (int j = 0; j < P; j++) m[i][j] += phi[t][i] * phi[t][j];
        m[i][P] += phi[t][i] * reward[t][a];
      }
    solve(m, w[a]);
  }
  for (int t = 0; t < FITTED; t++) {
    int best = 0;
    double value[ARMS] = {0};
    for (int a = 0; a < ARMS; a++) {
      for (int i = 0; i < P; i++) value[a] += w[a][i] * phi[t][i];
      if (value[a] > value[best]) best = a;
      uniform += reward[t][a] / ARMS;
      arms[a] += reward[t][a];
    }
    got += reward[t][best];
  }
  double x[ARMS * P];
  double played = 0;
  faro_env_begin(env, 1, 0);
  for (int t = 0; t < FITTED; t++) played += faro_env_play(env, 1, x);
  const faro_env_tally tally = faro_env_tally_of(env);
  assert_true(fabs(tally.linear - got / FITTED) < 1e-3); /* one tie, at most, may go the other way */
  assert_true(fabs(tally.uniform - uniform / FITTED) < 1e-9);
  assert_true(fabs(tally.fixed - fmax(arms[0], fmax(arms[1], arms[2])) / FITTED) < 1e-9);
  assert_true(fabs(tally.played - arms[1] / FITTED) < 1e-9 && fabs(played - arms[1]) < 1e-6);
  assert_true(tally.linear > tally.fixed); /* there is something to learn */
  for (int a = 0; a < ARMS; a++)
    for (int i = 0; i < P; i++) assert_true(fabs(env->theta[a * P + i] - w[a][i]) < 1e-9);
  faro_env_destroy(env);
  faro_env_unread(&p);
  unlink(path);
}

/* ---- replay */

/* A log whose propensities depend on the person. The value of a policy that looks at the person, by
 * replay, is its true value. FALSE_ALARM, as each check here. */
static void test_replay__is_unbiased_for_logs_that_were_not_uniform(void **state) {
  (void)state;
  enum { LOG = 40000 };
  const char *path = path_of("log.csv");
  FILE *file = fopen(path, "wb");
  faro_sim_rng sim;
  faro_sim_open(&sim, 21, 0, FARO_ROLE_INSTANCE);
  fputs("act,gain,p,x\n", file);
  for (int i = 0; i < LOG; i++) {
    const bool old = faro_sim_uniform(&sim) < 0.3;
    const double p0 = old ? 0.8 : 0.25;
    const bool second = faro_sim_uniform(&sim) >= p0;
    const double mean = old ? (second ? 0.9 : 0.2) : (second ? 0.3 : 0.6);
    fprintf(file, "%s,%d,%g,%d\n", second ? "b" : "a", faro_sim_uniform(&sim) < mean, second ? 1 - p0 : p0,
            old);
  }
  fclose(file);
  faro_env_settings own = preset(path);
  own.rows.action = "act";
  own.rows.reward = "gain";
  own.rows.propensity = "p";
  own.components = 1;
  faro_env_params p = {0};
  faro_env *env = make(&own, &p);
  static double phi[LOG][2];
  map_rows(&own, p.table, 1, 0, *phi);
  int one = 0;                                                          /* a row of somebody old */
  while (p.table->record[(size_t)one * p.table->width + 3] == 0) one++; /* the number, as bits */
  assert_true(p.table->least_propensity > 0.19 && p.table->least_propensity < 0.21);
  assert_true(p.horizon > 7000 && p.horizon < 8000); /* 40000 * 0.2, less four deviations */
  double sum = 0;
  double olds = 0;
  double x[4];
  faro_env_begin(env, 1, 0);
  for (uint64_t t = 0; t < p.horizon; t++) {
    size_t arm = 0;
    bool old = false;
    do {
      old = row_of(env, phi[one], 2, 1) == 0;
      arm = old; /* b for the old, a for the others: 0.3 * 0.9 + 0.7 * 0.6 */
    } while (!faro_env_takes(env, arm));
    olds += old;
    sum += faro_env_play(env, arm, x);
  }
  assert_ok(faro_env_status(env, error));
  const double n = (double)p.horizon;
  assert_mean(sum / n, 0.69, sqrt(0.69 * 0.31), n);
  assert_mean(olds / n, 0.3, sqrt(0.21), n); /* and the people are those of the log */
  assert_true(fabs(faro_env_tally_of(env).passed - 0.8) < 0.02);
  assert_true(isnan(faro_env_tally_of(env).linear));
  assert_mean(faro_env_tally_of(env).logged, 0.3 * 0.34 + 0.7 * 0.375, 0.5, LOG);
  assert_mean(faro_env_tally_of(env).uniform, 0.3 * 0.55 + 0.7 * 0.45, 1, LOG); /* weights vary, too */
  faro_env_destroy(env);
  faro_env_unread(&p);
  faro_env_params far = {.horizon = LOG / 2, .settings = &own};
  faro_error error = {0};
  assert_int_equal(faro_env_read(faro_env_find("rows"), &far, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, "horizon must be at most"));
  faro_env_unread(&far);
  unlink(path);
}

/* ---- features */

static void test_features__are_within_the_norm_and_follow_the_seed(void **state) {
  (void)state;
  faro_env_settings own = preset("tests/data/people.csv");
  own.rows.label = "class";
  own.rows.words = "city";
  for (int layout = 0; layout < 2; layout++)
    for (int scaling = 0; scaling < 3; scaling++) {
      faro_env_params p = {.dimension = 6};
      own.layout = (faro_layout)layout;
      own.scaling = scaling;
      own.ranges = scaling == FARO_SCALING_DECLARED ? "-0.5 .. 0.25" : NULL;
      faro_env *env = make(&own, &p);
      double x[200];
      double sum[3] = {0};
      for (int run = 0; run < 3; run++) {
        faro_env_begin(env, 7, run == 1 ? 5 : 4);
        for (uint64_t t = 0; t < p.horizon; t++) {
          double square = 0;
          (void)faro_env_play(env, t % 3, x);
          for (size_t i = 0; i < p.dimension; i++) square += x[i] * x[i];
          for (size_t i = 0; i < p.dimension; i++) sum[run] += (double)(t * (i + 1)) * x[i];
          assert_true(square <= 1 + 1e-12 && square > 0.01);
        }
      }
      assert_true(sum[0] == sum[2] && sum[0] != sum[1]);
      const faro_env_facts facts = faro_env_describe(faro_env_find("rows"), &p);
      assert_true(facts.norm == 1 && facts.low == 0 && facts.high == 1);
      assert_int_equal(facts.blocks, layout == FARO_LAYOUT_BLOCK ? 3 : 1);
      faro_env_destroy(env);
      faro_env_unread(&p);
    }
}

/* Neither scaling `none` nor `declared` looks at the data: a person's features are the same whoever
 * else is in the file. Under `public` they are not. */
static void test_features__of_a_person_do_not_depend_on_others(void **state) {
  (void)state;
  double phi[2][3][5];
  for (int other = 0; other < 2; other++) {
    const char *path = path_of("others.csv");
    FILE *file = fopen(path, "wb");
    fprintf(file, "y,a,b,w\nu,0.5,-0.25,here\nv,%s\n", other ? "9,-9,there" : "0.1,0.2,here");
    fclose(file);
    for (int scaling = 0; scaling < 3; scaling++) {
      const faro_rows_params rows = {.file = path, .label = "y", .words = "w"};
      faro_table *table = NULL;
      faro_features *features = NULL;
      faro_sim_rng sim;
      faro_sim_open(&sim, 1, 1, FARO_ROLE_INSTANCE);
      assert_ok(faro_table_open(&table, &rows, 1 << 20, error));
      const faro_features_params params = {.facts = table->facts,
                                           .scaling = (faro_scaling)scaling,
                                           .ranges = scaling == FARO_SCALING_DECLARED ? "-1..1, -2..2" : NULL,
                                           .components = 4};
      assert_int_equal(faro_features_count(&params), 5);
      assert_ok(faro_features_create(&features, &params, error));
      faro_features_draw(features, &sim);
      const uint64_t *record = table->record + 3; /* person, arm, propensity; then numbers and words */
      faro_features_apply(features, (const double *)(const void *)record, record + 2, phi[other][scaling]);
      faro_features_destroy(features);
      faro_table_close(table);
    }
    unlink(path);
  }
  assert_memory_equal(phi[0][FARO_SCALING_NONE], phi[1][FARO_SCALING_NONE], sizeof phi[0][0]);
  assert_memory_equal(phi[0][FARO_SCALING_DECLARED], phi[1][FARO_SCALING_DECLARED], sizeof phi[0][0]);
  assert_memory_not_equal(phi[0][FARO_SCALING_PUBLIC], phi[1][FARO_SCALING_PUBLIC], sizeof phi[0][0]);
}

/* Columns NAME@ARM describe arms: an arm's features are those of the person's columns and its own,
 * whichever arm it is. */
static void test_offers__describe_arms_by_their_columns(void **state) {
  (void)state;
  const char *path = path_of("offers.csv");
  FILE *file = fopen(path, "wb");
  fputs("r2,size@r1,price@r2,age,price@r1,size@r2,r1\n", file);      /* in any order */
  fputs("1,0.1,0.2,0.3,0.4,0.5,0\n0,0.5,0.4,0.3,0.2,0.1,1\n", file); /* arms change places */
  fclose(file);
  faro_env_settings own = preset(path);
  own.rows.rewards = "r1, r2";
  own.layout = FARO_LAYOUT_SHARED;
  own.components = 5;
  faro_env_params p = {.dimension = 5};
  faro_env *env = make(&own, &p);
  assert_int_equal(p.dimension, 6);
  double x[2][2][6];
  faro_env_begin(env, 1, 0);
  for (int t = 0; t < 2; t++) {
    const faro_arms *arms = faro_env_arms(env);
    for (size_t a = 0; a < 2; a++)
      for (size_t i = 0; i < 6; i++) x[t][a][i] = arms->x[i * arms->stride + a];
    double played[6];
    (void)faro_env_play(env, 0, played);
  }
  assert_memory_equal(x[0][0], x[1][1], sizeof x[0][0]);
  assert_memory_equal(x[0][1], x[1][0], sizeof x[0][0]);
  assert_memory_not_equal(x[0][0], x[0][1], sizeof x[0][0]);
  faro_env_destroy(env);
  faro_env_unread(&p);
  for (int wrong = 0; wrong < 2; wrong++) {
    file = fopen(path, "wb");
    fputs(wrong ? "r1,r2,price@r1,price@r2,price@r3\n0,1,1,2,3\n" : "r1,r2,price@r1,size@r2\n0,1,1,2\n",
          file);
    fclose(file);
    faro_env_params bad = {.dimension = 5, .settings = &own};
    faro_error error = {0};
    assert_int_equal(faro_env_read(faro_env_find("rows"), &bad, &error), FARO_INVALID);
    assert_non_null(strstr(error.message, wrong
                                              ? ":1: column price@r3 must have the name of an arm after the @"
                                              : ":1: column price@r2 is missing: every arm must have one"));
    faro_env_unread(&bad);
  }
  unlink(path);
}

/* ---- people */

static void test_people__are_numbered_and_counted(void **state) {
  (void)state;
  const char *path = path_of("people.csv");
  static const char *const who[] = {"ann", "bob", "ann", "cid", "ann", "bob"};
  FILE *file = fopen(path, "wb");
  fputs("who,y,x\n", file);
  for (int i = 0; i < 6; i++) fprintf(file, "%s,%d,%g\n", who[i], i % 2, i / 10.0);
  fclose(file);
  faro_env_settings own = preset(path);
  own.rows.label = "y";
  own.rows.person = "who";
  own.components = 3;
  faro_env_params p = {0};
  faro_env *env = make(&own, &p);
  double phi[6 * 4];
  map_rows(&own, p.table, 1, 0, phi);
  assert_int_equal(p.population, 3);
  assert_int_equal(p.table->visits, 3);
  double x[8];
  int times[3] = {0};
  uint64_t user[6];
  faro_env_begin(env, 1, 0);
  for (int t = 0; t < 6; t++) {
    const int row = row_of(env, phi, 4, 6);
    assert_in_range(row, 0, 5);
    user[row] = faro_env_user(env);
    assert_true(user[row] < 3);
    times[user[row]]++;
    (void)faro_env_play(env, 0, x);
  }
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) assert_int_equal(user[i] == user[j], strcmp(who[i], who[j]) == 0);
  assert_int_equal(times[user[0]], 3);
  faro_env_destroy(env);
  faro_env_unread(&p);
  own.memory = 0; /* who returns cannot be known then */
  faro_env_params small = {.settings = &own};
  faro_error error = {0};
  assert_int_equal(faro_env_read(faro_env_find("rows"), &small, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, "person must be left out"));
  unlink(path);
}

/* ---- faults */

static void test_file__that_disappears_is_reported(void **state) {
  (void)state;
  faro_env_settings own = preset(write_rows("vanish.csv"));
  own.rows.label = "y";
  own.memory = 0;
  own.components = 3;
  faro_env_params p = {0};
  faro_env *env = make(&own, &p);
  double x[12];
  assert_int_equal(truncate(own.rows.file, 300), 0);
  faro_env_begin(env, 1, 0);
  for (int t = 0; t < COUNT; t++) (void)faro_env_play(env, 0, x);
  faro_error error = {0};
  assert_int_equal(faro_env_status(env, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, "vanish.csv"));
  faro_env_destroy(env);
  faro_env_unread(&p);
  unlink(own.rows.file);
}

/* All rows are in the buffer already, and none has other bytes: only the file's time tells. */
static void test_file__that_changes_while_it_is_played_is_reported(void **state) {
  (void)state;
  faro_env_settings own = preset(write_rows("touched.csv"));
  own.rows.label = "y";
  own.memory = 0;
  own.components = 3;
  faro_env_params p = {0};
  faro_env *env = make(&own, &p);
  faro_error error = {0};
  double x[12];
  faro_env_begin(env, 1, 0);
  for (int t = 0; t < COUNT / 2; t++) (void)faro_env_play(env, 0, x);
  assert_int_equal(faro_env_status(env, &error), FARO_OK);
  const struct timespec other[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
  assert_int_equal(utimensat(AT_FDCWD, own.rows.file, other, 0), 0);
  assert_int_equal(faro_env_status(env, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, "touched.csv: has changed since it was opened"));
  faro_env_destroy(env);
  faro_env_unread(&p);
  unlink(own.rows.file);
}

static faro_status read_and_create(const faro_env_settings *own, faro_error *error) {
  faro_env_params p = {.settings = own};
  faro_env *env = NULL;
  faro_status status = faro_env_read(faro_env_find("rows"), &p, error);
  if (status == FARO_OK) status = faro_env_create(&env, faro_env_find("rows"), &p, error);
  faro_env_destroy(env);
  faro_env_unread(&p);
  return status;
}

static void test_memory__that_runs_out_is_reported(void **state) {
  (void)state;
  faro_env_settings own = preset("tests/data/people.csv");
  own.rows.label = "class";
  own.rows.words = "city";
  own.rows.person = "age";
  for (int streamed = 0; streamed < 2; streamed++) {
    own.memory = streamed ? 0 : 512;
    if (streamed) own.rows.person = NULL;
    for (size_t n = 1;; n++) {
      faro_error error = {0};
      alloc_fail_at(n);
      const faro_status status = read_and_create(&own, &error);
      alloc_fail_at(0);
      if (status == FARO_OK) break;
      assert_int_equal(status, FARO_MEMORY);
      assert_true(n < 200);
    }
  }
}

static void test_play__allocates_nothing(void **state) {
  (void)state;
  faro_env_settings own = preset("tests/data/people.csv");
  own.rows.label = "class";
  own.rows.words = "city";
  for (int streamed = 0; streamed < 2; streamed++) {
    faro_env_params p = {0};
    double x[200];
    own.memory = streamed ? 0 : 512;
    faro_env *env = make(&own, &p);
    alloc_reset();
    faro_env_begin(env, 1, 0);
    for (uint64_t t = 0; t < p.horizon; t++) (void)faro_env_play(env, t % 3, x);
    assert_int_equal(alloc_count(), 0);
    faro_env_destroy(env);
    faro_env_unread(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order__is_a_permutation_by_seed_and_instance),
      cmocka_unit_test(test_order__has_no_favourite),
      cmocka_unit_test(test_linear__is_ridge_on_all_rows_and_arms),
      cmocka_unit_test(test_replay__is_unbiased_for_logs_that_were_not_uniform),
      cmocka_unit_test(test_features__are_within_the_norm_and_follow_the_seed),
      cmocka_unit_test(test_features__of_a_person_do_not_depend_on_others),
      cmocka_unit_test(test_offers__describe_arms_by_their_columns),
      cmocka_unit_test(test_people__are_numbered_and_counted),
      cmocka_unit_test(test_file__that_disappears_is_reported),
      cmocka_unit_test(test_file__that_changes_while_it_is_played_is_reported),
      cmocka_unit_test(test_memory__that_runs_out_is_reported),
      cmocka_unit_test(test_play__allocates_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
