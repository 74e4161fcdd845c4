/* bench_rounds: the cost of a simulated round in faro and in the textbook version, for every
 * release, and where faro's time goes. Both play the same instances, so their regrets must agree up
 * to chance. Then the learners of generalised linear rewards, for which there is no textbook
 * version. */
#include <faro/faro.h>

#include <cblas.h>
#include <math.h>

#include "env/kind.h"
#include "sim/loop.h"
#include "textbook.h"
#include "timing.h"

enum { SEED = 1, TURNS = 3, INSTANCES_MAX = 64, STAGES = 4, STAGE_INSTANCES = 10 };
static const double EPSILON = 1;
static const double DELTA = 0.1;

/* Sizes and lengths: the textbook version needs milliseconds per round at the larger size. */
typedef struct size {
  size_t dimension, arms;
  uint64_t horizon;
  size_t instances;
} size;
static const size sizes[] = {{5, 100, 5000, 20}, {20, 1000, 300, 10}};

typedef struct rival {
  const char *name;
  textbook_release textbook;
  uint64_t batch;
} rival;
static const rival rivals[] = {{"none", TEXTBOOK_NONE, 1},
                               {"central-tree", TEXTBOOK_TREE, 1},
                               {"shuffle-bits", TEXTBOOK_BITS, 20},
                               {"shuffle-amplified", TEXTBOOK_AMPLIFIED, 20},
                               {"local", TEXTBOOK_LOCAL, 1}};
enum { RIVALS = sizeof rivals / sizeof *rivals };

typedef struct table { /* what one instance needs */
  faro_env *env;
  faro_contribution contribution;
  faro_release *release;
  faro_updater *learner;
  faro_selector *selector;
  faro_sim_rng noise;
  double *x;
} table;

static void must(faro_status status, const faro_error *error) {
  if (status == FARO_OK) return;
  fprintf(stderr, "%s\n", error->message);
  exit(1);
}

static void set_release(table *t, const size *s, const rival *r) {
  faro_error error = {0};
  const faro_release_params params = {.epsilon = EPSILON,
                                      .delta = DELTA,
                                      .horizon = s->horizon,
                                      .batch = r->batch,
                                      .calibration = FARO_CALIBRATION_FIGURE};
  must(faro_contribution_init(&t->contribution, s->dimension, 1, 0, 1, &error), &error);
  must(faro_release_create(&t->release, faro_release_kind_find(r->name), &t->contribution, &params,
                           faro_source_simulated(&t->noise), &error),
       &error);
}

static void set_table(table *t, const size *s, const rival *r, uint64_t instance) {
  faro_error error = {0};
  const faro_env_params env = {.dimension = s->dimension, .arms = s->arms, .horizon = s->horizon};
  must(faro_env_create(&t->env, faro_env_find("linear-fixed"), &env, &error), &error);
  set_release(t, s, r);
  const faro_updater_params learner = {.dimension = s->dimension,
                                       .horizon = s->horizon,
                                       .releases = s->horizon / r->batch,
                                       .norm = 1,
                                       .failure = 0.1,
                                       .reward = 1,
                                       .calibration = FARO_CALIBRATION_FIGURE,
                                       .noise = faro_release_noise(t->release)};
  must(faro_updater_create(&t->learner, faro_learner_find("linucb"), &learner, &error), &error);
  must(faro_selector_create(&t->selector, s->dimension, s->arms, &error), &error);
  t->x = bench_alloc(s->dimension, sizeof *t->x);
  faro_sim_open(&t->noise, SEED, instance, FARO_ROLE_USER);
  faro_env_begin(t->env, SEED, instance);
}

static void clear_table(table *t) {
  faro_selector_destroy(t->selector);
  faro_updater_destroy(t->learner);
  faro_release_destroy(t->release);
  faro_env_destroy(t->env);
  free(t->x);
}

/* The loop of sim/updater.c, without an agent. */
static double play(table *t, uint64_t rounds) {
  double regret = 0;
  for (uint64_t round = 0; round < rounds; round++) {
    const size_t arm = faro_select(t->selector, faro_updater_policy(t->learner), faro_env_arms(t->env), NULL);
    regret += faro_env_gap(t->env, arm);
    const double reward = faro_env_play(t->env, arm, t->x);
    if (faro_release_absorb(t->release, t->x, reward)) {
      const faro_statistics statistics = faro_release_statistics(t->release);
      faro_updater_update(t->learner, &statistics);
    }
  }
  return regret;
}

/* The textbook version on the instance in faro's table: the same arms and parameter. */
static textbook *set_textbook(const table *t, const size *s, const rival *r, uint64_t instance,
                              double *arms) {
  const faro_arms *columns = faro_env_arms(t->env);
  for (size_t a = 0; a < s->arms; a++)
    for (size_t i = 0; i < s->dimension; i++)
      arms[a * s->dimension + i] = columns->x[i * columns->stride + a];
  const textbook_params params = {.release = r->textbook,
                                  .dimension = s->dimension,
                                  .arms = s->arms,
                                  .horizon = s->horizon,
                                  .batch = r->batch,
                                  .seed = instance + 1,
                                  .epsilon = EPSILON,
                                  .delta = DELTA};
  return textbook_create(&params, arms, t->env->theta);
}

typedef struct duel { /* faro first, the textbook second */
  double ns[2];       /* per round */
  double regret[2][INSTANCES_MAX];
} duel;

/* Both play one instance from its start. */
static void play_both(duel *f, const size *s, const rival *r, uint64_t instance, double *arms,
                      double took[2]) {
  table t = {0};
  set_table(&t, s, r, instance);
  textbook *book = set_textbook(&t, s, r, instance, arms);
  const double start = cpu_ns();
  f->regret[0][instance] = play(&t, s->horizon);
  const double middle = cpu_ns();
  f->regret[1][instance] = textbook_play(book, s->horizon);
  const double end = cpu_ns();
  took[0] = fmin(took[0], middle - start);
  took[1] = fmin(took[1], end - middle);
  textbook_destroy(book);
  clear_table(&t);
}

/* Instances differ in cost (noise may or may not make V indefinite), so the best time is taken over
 * turns on one instance, and the mean over instances. */
static void fight(duel *f, const size *s, const rival *r, double *arms) {
  for (uint64_t instance = 0; instance < s->instances; instance++) {
    double took[2] = {INFINITY, INFINITY};
    for (int turn = 0; turn < TURNS; turn++) play_both(f, s, r, instance, arms, took);
    for (size_t k = 0; k < 2; k++) f->ns[k] += took[k] / ((double)s->horizon * (double)s->instances);
  }
}

/* Mean regrets, and the standard error of their difference, which is paired because instances are
 * shared. */
static void print_duel(const duel *f, const size *s, const rival *r) {
  const double n = (double)s->instances;
  double mean[2] = {0, 0};
  double square = 0;
  for (size_t i = 0; i < s->instances; i++) {
    const double difference = f->regret[1][i] - f->regret[0][i];
    square += difference * difference;
    for (size_t k = 0; k < 2; k++) mean[k] += f->regret[k][i] / n;
  }
  const double difference = mean[1] - mean[0];
  const double error = sqrt((square / n - difference * difference) / (n - 1));
  printf("%-18s %10.0f %12.0f %8.1f x %12.1f %10.1f %+9.1f +- %.1f\n", r->name, f->ns[0], f->ns[1],
         f->ns[1] / f->ns[0], mean[0], mean[1], difference, error);
  fflush(stdout);
}

static void compare(const size *s) {
  printf("\nd = %zu, K = %zu, T = %llu, epsilon = %g, delta = %g, %zu instances\n", s->dimension, s->arms,
         (unsigned long long)s->horizon, EPSILON, DELTA, s->instances);
  printf("%-18s %10s %12s %10s %12s %10s\n", "", "faro", "textbook", "", "faro", "textbook");
  printf("%-18s %10s %12s %10s %12s %10s %9s\n", "release", "ns/round", "ns/round", "ratio", "regret",
         "regret", "difference");
  double *arms = bench_alloc(s->arms * s->dimension, sizeof *arms);
  for (size_t r = 0; r < RIVALS; r++) {
    duel f = {0};
    fight(&f, s, &rivals[r], arms);
    print_duel(&f, s, &rivals[r]);
  }
  free(arms);
}

/* The time that reading the clock adds to each stage. */
static double stamp_cost(void) {
  double least = INFINITY;
  for (int turn = 0; turn < 20; turn++) {
    const double start = stamp_ns();
    for (int i = 0; i < 1000; i++) (void)stamp_ns();
    least = fmin(least, (stamp_ns() - start) / 1001);
  }
  return least;
}

/* The same loop, reading the clock after every stage; spent[i] collects stage i. */
static void play_stages(table *t, uint64_t rounds, double spent[STAGES]) {
  double time = stamp_ns();
  for (uint64_t round = 0; round < rounds; round++) {
    double mark[STAGES];
    const size_t arm = faro_select(t->selector, faro_updater_policy(t->learner), faro_env_arms(t->env), NULL);
    mark[0] = stamp_ns();
    const double reward = faro_env_play(t->env, arm, t->x);
    mark[1] = stamp_ns();
    const bool published = faro_release_absorb(t->release, t->x, reward);
    mark[2] = stamp_ns();
    const faro_statistics statistics = faro_release_statistics(t->release);
    if (published) faro_updater_update(t->learner, &statistics);
    mark[3] = stamp_ns();
    for (size_t i = 0; i < STAGES; i++) {
      spent[i] += mark[i] - time;
      time = mark[i];
    }
  }
}

/* One instance from its start, with and without the clock; the least times go to best[] and
 * *whole. */
static void time_stages(const size *s, const rival *r, uint64_t instance, double best[STAGES],
                        double *whole) {
  double spent[STAGES] = {0};
  table t = {0};
  set_table(&t, s, r, instance);
  play_stages(&t, s->horizon, spent);
  clear_table(&t);
  for (size_t i = 0; i < STAGES; i++) best[i] = fmin(best[i], spent[i]);
  table plain = {0};
  set_table(&plain, s, r, instance);
  const double start = cpu_ns();
  (void)play(&plain, s->horizon);
  *whole = fmin(*whole, cpu_ns() - start);
  clear_table(&plain);
}

static void print_stages(const size *s, const rival *r, double cost) {
  const double rounds = (double)s->horizon * STAGE_INSTANCES;
  double mean[STAGES] = {0};
  double whole = 0;
  double sum = 0;
  for (uint64_t instance = 0; instance < STAGE_INSTANCES; instance++) {
    double best[STAGES] = {INFINITY, INFINITY, INFINITY, INFINITY};
    double least = INFINITY;
    for (int turn = 0; turn < TURNS; turn++) time_stages(s, r, instance, best, &least);
    for (size_t i = 0; i < STAGES; i++) mean[i] += best[i] / rounds;
    whole += least / rounds;
  }
  for (size_t i = 0; i < STAGES; i++) sum += mean[i] -= cost;
  printf("%4zu %6zu  %-18s %10.0f %14.0f %14.0f %15.0f %10.0f %10.0f\n", s->dimension, s->arms, r->name,
         mean[0], mean[3], mean[2], mean[1], sum, whole);
}

static void break_down(void) {
  const double cost = stamp_cost();
  printf("\nWhere a faro round goes, ns (the clock is read after every stage; its %.0f ns are taken off)\n",
         cost);
  printf("%4s %6s  %-18s %10s %14s %14s %15s %10s %10s\n", "d", "K", "release", "select", "learner update",
         "clip+sum+noise", "reward", "together", "unstamped");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    printf("\n");
    for (size_t r = 0; r < RIVALS; r++) print_stages(&sizes[i], &rivals[r], cost);
  }
}

/* Learners of generalised linear rewards, at the size of Figure 1(a) in Sarmasarkar 2026: whole
 * instances as the runner plays them, with arms, studies and fits. */
static void time_glm(void) {
  static const char text[] = "environment: {name: glm-logistic, dimension: 5, arms: 20, norm: 3.5}\n"
                             "horizon: 15000\n"
                             "epsilon: 1\n"
                             "delta: 1e-6\n"
                             "algorithms:\n"
                             "  - {label: glm-joint,   learner: glm-joint,   release: central-tree}\n"
                             "  - {label: glm-batched, learner: glm-batched, release: shuffle-bits}\n"
                             "  - {label: rs-glm,      learner: rs-glm,      release: none}\n"
                             "  - {label: glm-ucb,     learner: glm-ucb,     release: none}\n"
                             "  - {label: gloc,        learner: gloc,        release: none}\n"
                             "  - {label: ecolog,      learner: ecolog,      release: none}\n";
  faro_error error = {0};
  faro_experiment *e = NULL;
  must(faro_experiment_parse(&e, "bench", text, sizeof text - 1, NULL, &error), &error);
  printf("\nGeneralised linear rewards: d = 5, K = 20, T = 15000, epsilon = 1, best of %d turns\n", TURNS);
  printf("%-18s %10s %12s\n", "learner", "ns/round", "regret");
  for (size_t c = 0; c < e->count; c++) {
    double least = INFINITY;
    faro_play_record record = {0};
    const faro_turn turn = {.cell = &e->cell[c], .seed = SEED, .record = &record};
    for (int again = 0; again < TURNS; again++) {
      const double start = cpu_ns();
      must(faro_play(&turn, &error), &error);
      least = fmin(least, cpu_ns() - start);
    }
    printf("%-18s %10.0f %12.1f\n", e->cell[c].label, least / (double)e->cell[c].settings.horizon,
           record.regret);
  }
  faro_experiment_destroy(e);
}

int main(void) {
  openblas_set_num_threads(1);
  printf("Nanoseconds of one simulated round: mean over instances of the best of %d turns\n", TURNS);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) compare(&sizes[i]);
  break_down();
  time_glm();
  return 0;
}
