/* bench_agent: nanoseconds per choose and learn of an agent stepped from C, one line each: what,
 * release, nanoseconds. bench/python.py runs it and compares the same calls from Python. */
#include <faro/faro.h>
#include <math.h>
#include <string.h>

#include "timing.h"

enum { DIMENSION = 5, ARMS = 100 };

typedef struct stage {
  faro_agent *agent;
  double features[ARMS * DIMENSION];
} stage;

/* The same features as in bench/python.py. */
static void fill(double *x) {
  for (size_t a = 0; a < ARMS; a++) {
    double square = 0;
    for (size_t i = 0; i < DIMENSION; i++) {
      x[a * DIMENSION + i] = sin((double)(1 + a * DIMENSION + i));
      square += x[a * DIMENSION + i] * x[a * DIMENSION + i];
    }
    for (size_t i = 0; i < DIMENSION; i++) x[a * DIMENSION + i] /= sqrt(square);
  }
}

static void choose(void *context, size_t times) {
  stage *s = context;
  for (size_t i = 0; i < times; i++) (void)faro_agent_choose(s->agent, s->features, ARMS);
}

static void learn(void *context, size_t times) {
  stage *s = context;
  faro_error error = {0};
  for (size_t i = 0; i < times; i++)
    if (faro_agent_learn(s->agent, s->features + i % ARMS * DIMENSION, 0.5, &error) != FARO_OK) exit(1);
}

static void measure(const char *release, uint64_t batch) {
  static stage s;
  const faro_agent_params params = {.learner = "greedy",
                                    .release = release,
                                    .dimension = DIMENSION,
                                    .arms = ARMS,
                                    .horizon = 10000000000,
                                    .epsilon = 1,
                                    .delta = 1e-6,
                                    .batch = batch,
                                    .seed = 1};
  faro_error error = {0};
  if (faro_agent_create(&s.agent, &params, &error) != FARO_OK) {
    fprintf(stderr, "%s\n", error.message);
    exit(1);
  }
  fill(s.features);
  const bench_rival rivals[] = {{choose, &s}, {learn, &s}};
  double best[2];
  learn(&s, 2 * batch); /* the policy after it is not the first one */
  bench_race(2, rivals, best);
  printf("choose %s %.1f\nlearn %s %.1f\n", release, best[0], release, best[1]);
  faro_agent_destroy(s.agent);
}

int main(void) {
  measure("none", 1);
  measure("shuffle-bits", 500);
  return 0;
}
