/* bench_textbook: plays the textbook version on the instances of an experiment, and prints what
 * bench_play prints. Regrets of both must agree up to chance: the instances are the same, the
 * randomness of rewards and noise is not.
 *
 *   bench_textbook TURNS [FILE] <experiment.yaml
 *
 * With FILE it writes the instances of the first algorithm instead: instances, K and d, then for
 * each instance the arms, row by row, and the parameter; all as doubles. With 0 turns that is all
 * it does. */
#include <faro/faro.h>

#include <math.h>
#include <string.h>

#include "env/kind.h"
#include "sim/loop.h"
#include "textbook.h"
#include "timing.h"

enum { TEXT_MAX = 1 << 16 };

static const struct release {
  const char *name;
  textbook_release textbook;
} releases[] = {{"none", TEXTBOOK_NONE},
                {"central-tree", TEXTBOOK_TREE},
                {"shuffle-bits", TEXTBOOK_BITS},
                {"shuffle-amplified", TEXTBOOK_AMPLIFIED},
                {"local", TEXTBOOK_LOCAL}};

static void must(faro_status status, const faro_error *error) {
  if (status == FARO_OK) return;
  fprintf(stderr, "bench_textbook: %s\n", error->message);
  exit(1);
}

static textbook_release find(const char *name) {
  for (size_t i = 0; i < sizeof releases / sizeof *releases; i++)
    if (strcmp(releases[i].name, name) == 0) return releases[i].textbook;
  fprintf(stderr, "bench_textbook: the textbook has no release %s\n", name);
  exit(2);
}

static faro_env *begin(const faro_cell *cell, uint64_t seed, uint64_t instance) {
  faro_error error = {0};
  faro_env *env = NULL;
  const faro_env_params params = faro_cell_env(cell);
  must(faro_env_create(&env, cell->env, &params, &error), &error);
  faro_env_begin(env, seed, instance);
  return env;
}

/* The arms, row by row, as the textbook has them. The caller frees them. */
static double *rows_of(faro_env *env) {
  const faro_arms *arms = faro_env_arms(env);
  const size_t d = arms->dimension;
  double *row = bench_alloc(arms->count * d, sizeof *row);
  for (size_t a = 0; a < arms->count; a++)
    for (size_t i = 0; i < d; i++) row[a * d + i] = arms->x[i * arms->stride + a];
  return row;
}

/* Regret; the least time of some turns. */
static double play(const faro_cell *cell, uint64_t seed, uint64_t instance, int turns, double *least) {
  faro_env *env = begin(cell, seed, instance);
  double *arms = rows_of(env);
  const textbook_params params = {.release = find(cell->release->name),
                                  .dimension = cell->settings.dimension,
                                  .arms = cell->settings.arms,
                                  .horizon = cell->settings.horizon,
                                  .batch = cell->settings.batch,
                                  .seed = instance + 1,
                                  .epsilon = cell->settings.epsilon,
                                  .delta = cell->settings.delta};
  double regret = 0;
  *least = INFINITY;
  for (int turn = 0; turn < turns; turn++) {
    textbook *book = textbook_create(&params, arms, env->theta);
    const double start = cpu_ns();
    regret = textbook_play(book, cell->settings.horizon);
    *least = fmin(*least, cpu_ns() - start);
    textbook_destroy(book);
  }
  free(arms);
  faro_env_destroy(env);
  return regret;
}

static void measure(const faro_experiment *e, const faro_cell *cell, int turns) {
  double ns = 0;
  printf("{\"label\": \"%s\", \"release\": \"%s\", \"batch\": %llu, \"regrets\": [", cell->label,
         cell->release->name, (unsigned long long)cell->settings.batch);
  for (size_t i = 0; i < e->instances; i++) {
    double least = 0;
    printf("%s%.17g", i ? ", " : "", play(cell, e->seed, i, turns, &least));
    ns += least / ((double)cell->settings.horizon * (double)e->instances);
  }
  printf("], \"ns\": %.6g}\n", ns);
  fflush(stdout);
}

static void write_instances(const faro_experiment *e, const char *path) {
  const faro_cell *cell = &e->cell[0];
  FILE *file = fopen(path, "wb");
  if (!file) exit(1);
  const double head[3] = {(double)e->instances, (double)cell->settings.arms,
                          (double)cell->settings.dimension};
  size_t written = fwrite(head, sizeof *head, 3, file);
  for (size_t i = 0; i < e->instances; i++) {
    faro_env *env = begin(cell, e->seed, i);
    double *arms = rows_of(env);
    written += fwrite(arms, sizeof *arms, cell->settings.arms * cell->settings.dimension, file);
    written += fwrite(env->theta, sizeof *arms, cell->settings.dimension, file);
    free(arms);
    faro_env_destroy(env);
  }
  const size_t each = (cell->settings.arms + 1) * cell->settings.dimension;
  if (fclose(file) != 0 || written != 3 + e->instances * each) exit(1);
}

int main(int argc, char **argv) {
  static char text[TEXT_MAX];
  const size_t length = fread(text, 1, sizeof text, stdin);
  const int turns = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 3;
  faro_error error = {0};
  faro_experiment *e = NULL;
  must(faro_experiment_parse(&e, "bench", text, length, NULL, &error), &error);
  if (argc > 2) write_instances(e, argv[2]);
  for (size_t c = 0; turns > 0 && c < e->count; c++) measure(e, &e->cell[c], turns);
  faro_experiment_destroy(e);
  return 0;
}
