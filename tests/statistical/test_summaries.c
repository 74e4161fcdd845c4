/* summaries: every experiment in experiments/ gives the numbers that it gave before.
 *
 * tests/summaries/NAME.csv holds the mean final regret (or error) of every algorithm at every sweep
 * point, with seed 1. Here the same experiment is played with another seed and fewer instances. A
 * row fails if the logarithms of the two means are further apart than sampling explains: a
 * two-sample t test on both standard errors, at FALSE_ALARM for each row. There are fewer than 1000
 * rows (checked), so all of them together fail a correct program with probability at most 1e-3.
 * Logarithms, because regrets are skewed to the right, about as log-normal variables are: the
 * logarithm of a mean of these is far closer to normal than the mean.
 *
 * An experiment without a file, a row without a counterpart, and settings other than those of the
 * file fail too. After a change that is meant to change results:
 *
 *     FARO_BLESS=1 build/tests/test_summaries [NAME...]
 *
 * in the repository's root writes the files again, all or the named ones. Read the difference
 * before you commit it. Without FARO_BLESS the same command compares. */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/experiment.h"
#include "support/support.h"

enum { SEED_STORED = 1, SEED_TEST = 2, MORE = 2, FEW = 12, ROWS_MAX = 200, TEXT = 256, NAMES_MAX = 200 };

/* How an experiment is made small: `sets` as for --set, several separated by "; ". The test plays
 * `few` instances, and the file is made of MORE times as many. Others: full size, FEW instances. */
typedef struct plan {
  const char *name, *sets;
  size_t few;
} plan;

static const plan plans[] = {
    {"000-fig1", "", 40},
    {"000-fig1-posterior", "", 20},
    {"000-fig2", "", 25},
    {"000-rates", "horizon=[10000, 100000]", 30},
    {"000-returning", "", 30},
    {"001-adaptive", "horizon=100000", 40},
    {"001-hard", "horizon=[1000, 10000, 100000]", 50},
    {"001-linucb-shufflers", "horizon=200000", 24},
    {"001-sum-error", "horizon=[1000, 10000, 100000]", 50},
    {"001-sum-models", "horizon=100000", 40},
    {"002-alpha", "horizon=100000", 12},
    {"002-fig2b", "", 30},
    {"002-fig2c", "", 50},
    {"002-pe", "horizon=[10000, 100000]", 20},
    {"002-pe-posterior", "horizon=[10000, 100000]", 20},
    {"002-population", "horizon=[10000, 100000]", 12},
    {"002-returning", "horizon=60000; population=4000", 12},
    {"002-table1", "horizon=[10000, 100000]", 12},
    {"003-contextual", "horizon=100000; samples=2000", 20},
    {"003-fig2a", "", 60},
    {"003-fig2b", "horizon=1000000", 15},
    {"004-fig1a", "", 6},
    {"004-fig1b", "", 20},
    {"004-horizon", "horizon=[10000, 100000]", 10},
    {"004-kappa", "", 12},
    {"004-lower-bound", "horizon=10000", 8},
    {"004-table2", "", 15},
    {"glm-adversarial", "horizon=20000", 6},
    {"glm-shuffle", "horizon=[10000, 100000]", 10},
    {"glm-t1", "horizon=10000", 6},
    {"glm-t2", "horizon=10000", 6},
    {"glm-t3", "horizon=10000", 6},
    {"k-armed", "horizon=[10000, 100000]", 12},
    {"real-digits", "", 10},
    {"real-movielens", "horizon=10000", 6},
    {"real-mushroom", "horizon=4000", 6},
    {"real-shuttle", "horizon=5000", 6},
    {"real-star", "", 10},
    {"tight-against-paper", "", 30},
    {"trust-models", "", 12},
    {"utility-t1", "", 20},
    {"utility-t2", "horizon=20000", 20},
    {"utility-t3", "horizon=10000", 20},
    {"utility-t4", "horizon=20000", 15},
    {"utility-t5", "horizon=10000", 20},
    {"utility-t6", "horizon=20000", 10},
};

static plan plan_of(const char *name) {
  for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
    if (strcmp(plans[i].name, name) == 0) return plans[i];
  return (plan){.name = name, .sets = "", .few = FEW};
}

typedef struct row {
  char key[TEXT]; /* label and sweep point */
  size_t instances;
  double mean, sd;
} row;

typedef struct summary {
  size_t count;
  row row[ROWS_MAX];
} summary;

static const row *find(const summary *s, const char *key) {
  for (size_t i = 0; i < s->count; i++)
    if (strcmp(s->row[i].key, key) == 0) return &s->row[i];
  return NULL;
}

/* Playing an experiment. */

/* Splits "KEY=VALUE; KEY=VALUE" in place. */
static size_t split(char *sets, faro_override *override, size_t most) {
  size_t count = 0;
  for (char *save = NULL, *set = strtok_r(sets, ";", &save); set && count < most;
       set = strtok_r(NULL, ";", &save)) {
    set += strspn(set, " ");
    char *equals = strchr(set, '=');
    *equals = '\0';
    override[count++] = (faro_override){.key = set, .value = equals + 1};
  }
  return count;
}

static faro_experiment *load(const plan *p, uint64_t seed, size_t instances) {
  char path[TEXT];
  char sets[TEXT];
  faro_override override[8];
  faro_experiment *experiment = NULL;
  snprintf(path, sizeof path, "experiments/%s.yaml", p->name);
  snprintf(sets, sizeof sets, "%s%sinstances=%zu; seed=%llu", p->sets, *p->sets ? "; " : "", instances,
           (unsigned long long)seed);
  const faro_experiment_options options = {.overrides = override, .override_count = split(sets, override, 8)};
  faro_error error = {0};
  if (faro_experiment_load(&experiment, path, &options, &error) == FARO_OK) return experiment;
  fprintf(stderr, "%s\n", error.message);
  abort();
}

static void name_row(const faro_experiment *experiment, const faro_cell *cell, char key[static TEXT]) {
  int used = snprintf(key, TEXT, "%s", cell->label);
  for (size_t s = 0; s < experiment->sweeps; s++) {
    char value[FARO_PRINTED];
    const faro_sweep *sweep = &experiment->sweep[s];
    used += snprintf(key + used, (size_t)(TEXT - used), " | %s=%s", faro_key_name(sweep->key),
                     faro_key_print(sweep->key, sweep->value[cell->at[s]], value));
  }
}

static void play(const plan *p, uint64_t seed, size_t instances, summary *out) {
  faro_experiment *experiment = load(p, seed, instances);
  faro_results *results = NULL;
  faro_error error = {0};
  if (experiment->count > ROWS_MAX ||
      faro_run(experiment, &(faro_run_options){0}, &results, &error) != FARO_OK) {
    fprintf(stderr, "%s: %s\n", p->name, error.message);
    abort();
  }
  out->count = experiment->count;
  for (size_t c = 0; c < experiment->count; c++) {
    const faro_spread *regret = &results->outcome[c].regret;
    out->row[c] = (row){.instances = instances, .mean = regret->mean, .sd = regret->sd};
    name_row(experiment, &experiment->cell[c], out->row[c].key);
  }
  faro_results_destroy(results);
  faro_experiment_destroy(experiment);
}

/* Files. */

static void head_of(const plan *p, char head[static TEXT]) {
  snprintf(head, TEXT, "# %s; seed %d, %zu instances\n", *p->sets ? p->sets : "full size", SEED_STORED,
           MORE * p->few);
}

static FILE *open_summary(const char *name, const char *mode) {
  char path[TEXT];
  snprintf(path, sizeof path, "tests/summaries/%s.csv", name);
  return fopen(path, mode);
}

static int bless(const char *name) {
  static summary s;
  char head[TEXT];
  const plan p = plan_of(name);
  play(&p, SEED_STORED, MORE * p.few, &s);
  FILE *file = open_summary(name, "w");
  if (!file) {
    perror(name);
    return 1;
  }
  head_of(&p, head);
  fprintf(file, "%salgorithm,instances,mean,sd,se\n", head);
  for (size_t i = 0; i < s.count; i++)
    fprintf(file, "\"%s\",%zu,%.6g,%.6g,%.6g\n", s.row[i].key, s.row[i].instances, s.row[i].mean, s.row[i].sd,
            s.row[i].sd / sqrt((double)s.row[i].instances));
  printf("tests/summaries/%s.csv: %zu rows\n", name, s.count);
  return fclose(file) == 0 ? 0 : 1;
}

/* False if there is no such file. */
static bool read_summary(const char *name, char head[static TEXT], summary *s) {
  char line[2 * TEXT];
  FILE *file = open_summary(name, "r");
  s->count = 0;
  if (!file) return false;
  if (!fgets(head, TEXT, file) || !fgets(line, sizeof line, file)) head[0] = '\0';
  while (s->count < ROWS_MAX && fgets(line, sizeof line, file)) {
    row *r = &s->row[s->count];
    if (sscanf(line, "\"%255[^\"]\",%zu,%lf,%lf", r->key, &r->instances, &r->mean, &r->sd) != 4)
      fail_msg("tests/summaries/%s.csv: cannot read: %s", name, line);
    s->count++;
  }
  fclose(file);
  return true;
}

/* Comparing. */

/* P(|t| > x) of Student's t with `freedom` degrees of freedom, Abramowitz & Stegun 1964, 26.7.3
 * and 26.7.4. */
static double student_two_sided(double x, size_t freedom) {
  const double angle = atan(fabs(x) / sqrt((double)freedom));
  const double c2 = cos(angle) * cos(angle);
  const bool odd = freedom % 2 == 1;
  double term = odd ? cos(angle) : 1;
  double sum = 0;
  for (size_t i = odd ? 1 : 0; i + 2 <= freedom; i += 2) {
    sum += term;
    term *= c2 * (double)(i + 1) / (double)(i + 2);
  }
  return 1 - (odd ? M_2_PI * (angle + sin(angle) * sum) : sin(angle) * sum);
}

/* Standard error of the difference of the two logarithms; of the means themselves if one of them
 * is not positive. Both samples count, each relative to its own mean. */
static double spread_of(const row *a, const row *b, bool logs) {
  const double sa = logs ? a->sd / a->mean : a->sd;
  const double sb = logs ? b->sd / b->mean : b->sd;
  const double na = (double)a->instances;
  const double nb = (double)b->instances;
  const double pooled = ((na - 1) * sa * sa + (nb - 1) * sb * sb) / (na + nb - 2);
  return sqrt(pooled * (1 / na + 1 / nb));
}

/* The probability that the means are so far apart by chance; 1 if both are the same constant up to
 * the digits of the file. With a factor: after multiplying one of them by it. */
static double chance(const row *a, const row *b, double factor) {
  const bool logs = a->mean > 0 && b->mean > 0;
  const double apart = logs ? log(factor * b->mean / a->mean) : factor * b->mean - a->mean;
  const double error = spread_of(a, b, logs);
  if (error <= 0) return fabs(apart) < 1e-5 ? 1 : 0;
  return student_two_sided(apart / error, a->instances + b->instances - 2);
}

/* Complains about every row that differs. Returns how many do. */
static size_t compare(const char *name, const summary *stored, const summary *now) {
  size_t bad = 0;
  for (size_t i = 0; i < stored->count; i++) {
    const row *a = &stored->row[i];
    const row *b = find(now, a->key);
    if (b && chance(a, b, 1) >= FALSE_ALARM) continue;
    bad++;
    if (b)
      print_message("%s: %s: %.6g, stored %.6g: apart by %.1f standard errors\n", name, a->key, b->mean,
                    a->mean, log(b->mean / a->mean) / spread_of(a, b, true));
    else print_message("%s: %s: stored, but not in the experiment\n", name, a->key);
  }
  for (size_t i = 0; i < now->count; i++)
    if (!find(stored, now->row[i].key) && ++bad)
      print_message("%s: %s: not in tests/summaries/%s.csv\n", name, now->row[i].key, name);
  return bad;
}

/* The rows in which regret off by a fifth would be noticed if nothing else were off. */
static size_t precise(const summary *stored, const summary *now) {
  size_t count = 0;
  for (size_t i = 0; i < stored->count; i++) {
    row same = stored->row[i];
    const row *b = find(now, same.key);
    if (!b || b->mean <= 0) continue;
    same.sd *= b->mean / same.mean;
    same.mean = b->mean;
    if (chance(&same, b, 1.2) < FALSE_ALARM) count++;
  }
  return count;
}

static void test_experiment__gives_its_stored_summary(void **state) {
  static summary stored;
  static summary now;
  const char *name = *state;
  const plan p = plan_of(name);
  char head[TEXT];
  char expected[TEXT];
  char path[TEXT];
  snprintf(path, sizeof path, "experiments/%s.yaml", name);
  if (lacks_data(path)) skip();
  if (!read_summary(name, head, &stored)) fail_msg("tests/summaries/%s.csv does not exist", name);
  head_of(&p, expected);
  if (strcmp(head, expected) != 0) fail_msg("tests/summaries/%s.csv was made otherwise: %s", name, head);
  play(&p, SEED_TEST, p.few, &now);
  const size_t bad = compare(name, &stored, &now);
  print_message("%s: %zu rows, a fifth more would be seen in %zu\n", name, stored.count,
                precise(&stored, &now));
  if (bad > 0) fail_msg("%s: %zu rows differ", name, bad);
}

/* The comparison itself. */

static void test_student__agrees_with_closed_forms_and_tables(void **state) {
  (void)state;
  assert_close(student_two_sided(1, 1), 0.5, 1e-12);             /* Cauchy */
  assert_close(student_two_sided(2, 2), 1 - 2 / sqrt(6), 1e-12); /* 1 - t / sqrt(2 + t^2) */
  assert_close(student_two_sided(2.570582, 5), 0.05, 1e-6);      /* tables */
  assert_close(student_two_sided(2.228139, 10), 0.05, 1e-6);
  assert_close(student_two_sided(4.9, 4000), normal_two_sided(4.9), 5e-8);
}

static void test_compare__sees_a_fifth_more_and_missing_rows(void **state) {
  (void)state;
  static summary stored = {.count = 2, .row = {{"a", 80, 100, 15}, {"b", 80, 3, 0}}};
  static summary now;
  now = stored;
  now.row[0].instances = now.row[1].instances = 40;
  assert_int_equal(compare("same", &stored, &now), 0);
  assert_int_equal(precise(&stored, &now), 2);
  now.row[0].mean = 105;
  assert_int_equal(compare("within the errors", &stored, &now), 0);
  now.row[0].mean = 120;
  assert_int_equal(compare("more", &stored, &now), 1);
  now.row[0].mean = 83;
  assert_int_equal(compare("less", &stored, &now), 1);
  now.row[0].mean = 100;
  now.row[1].mean = 3.001;
  assert_int_equal(compare("a constant", &stored, &now), 1);
  now.count = 1;
  assert_int_equal(compare("missing", &stored, &now), 1);
  assert_int_equal(compare("new", &now, &stored), 1);
}

static glob_t found;
static char *name_of[NAMES_MAX];
static size_t names;

/* Those named on the command line, or all. */
static void find_experiments(int argc, char **argv) {
  for (int i = 1; i < argc && names < NAMES_MAX; i++) name_of[names++] = argv[i];
  if (names > 0 || glob("experiments/*.yaml", 0, NULL, &found) != 0) return;
  for (; names < found.gl_pathc && names < NAMES_MAX; names++) {
    name_of[names] = strchr(found.gl_pathv[names], '/') + 1;
    *strrchr(name_of[names], '.') = '\0';
  }
}

static void test_summaries__are_few_enough_for_the_stated_rate(void **state) {
  (void)state;
  static summary s;
  char head[TEXT];
  size_t rows = 0;
  for (size_t i = 0; i < names; i++)
    if (read_summary(name_of[i], head, &s)) rows += s.count;
  assert_true(names > 0 && rows > 0);
  assert_true((double)rows * FALSE_ALARM <= 1e-3);
}

static int bless_all(void) {
  int status = 0;
  for (size_t i = 0; i < names; i++) status |= bless(name_of[i]);
  return status;
}

int main(int argc, char **argv) {
  static struct CMUnitTest tests[NAMES_MAX + 3] = {
      cmocka_unit_test(test_student__agrees_with_closed_forms_and_tables),
      cmocka_unit_test(test_compare__sees_a_fifth_more_and_missing_rows),
      cmocka_unit_test(test_summaries__are_few_enough_for_the_stated_rate),
  };
  find_experiments(argc, argv);
  if (getenv("FARO_BLESS")) return bless_all();
  for (size_t i = 0; i < names; i++)
    tests[3 + i] = (struct CMUnitTest){.name = name_of[i],
                                       .test_func = test_experiment__gives_its_stored_summary,
                                       .initial_state = name_of[i]};
  return _cmocka_run_group_tests("summaries", tests, 3 + names, NULL, NULL);
}
