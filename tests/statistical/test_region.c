/* region: how often linucb's clipped region (docs/regret.md, Theorem 1) holds the parameter, and
 * how well the posterior of `posterior` is calibrated, with real noise and contexts that the
 * learner chose. Fixed seeds. False-alarm rates: of coverage, less than 1e-3 per release if the
 * region failed exactly as often as it may; of calibration none, because the bounds are statements
 * about these seeds: standard errors are 0.02 to 0.07. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { D = 5, ARMS = 20, LENGTH = D * (D + 1) / 2 };

/* ---- worlds: linear rewards, at one of two ends */

typedef enum family {
  FIXED,      /* (u, 1) / sqrt(2), one set of arms */
  IID,        /* the same, fresh arms for everybody */
  SPHERE,     /* fresh arms on the sphere */
  ANISOTROPIC /* the same, some directions much shorter than others */
} family;

static const char *const family_name[] = {"fixed", "iid", "sphere", "anisotropic"};

typedef struct world {
  family family;
  faro_sim_rng sim;
  double theta[D]; /* of centred rewards */
  double x[ARMS][D];
} world;

static bool has_intercept(family f) { return f == FIXED || f == IID; }

static void draw_unit(faro_sim_rng *sim, size_t n, double *u) {
  double square = 0;
  for (size_t i = 0; i < n; i++) {
    u[i] = faro_sim_normal(sim);
    square += u[i] * u[i];
  }
  for (size_t i = 0; i < n; i++) u[i] /= sqrt(square);
}

static void draw_arms(world *w) {
  const double half = sqrt(0.5);
  for (size_t a = 0; a < ARMS; a++) {
    draw_unit(&w->sim, has_intercept(w->family) ? D - 1 : D, w->x[a]);
    if (has_intercept(w->family)) {
      for (size_t i = 0; i + 1 < D; i++) w->x[a][i] *= half;
      w->x[a][D - 1] = half;
    }
    for (size_t i = 0; w->family == ANISOTROPIC && i < D; i++) w->x[a][i] *= pow(0.6, (double)i);
  }
}

/* With an intercept, means are (1 + <u, v>) / 2; less 1/2 they are <x, (v, 0) / sqrt(2)>. */
static void open_world(world *w, family f, uint64_t run) {
  *w = (world){.family = f};
  faro_sim_open(&w->sim, 71, run, FARO_ROLE_INSTANCE);
  draw_unit(&w->sim, has_intercept(f) ? D - 1 : D, w->theta);
  for (size_t i = 0; has_intercept(f) && i < D; i++) w->theta[i] *= sqrt(0.5);
  draw_arms(w);
}

/* A centred reward: -h or h. */
static double pull(world *w, size_t arm) {
  const double h = has_intercept(w->family) ? 0.5 : 1;
  double mean = 0;
  for (size_t i = 0; i < D; i++) mean += w->x[arm][i] * w->theta[i];
  return faro_sim_uniform(&w->sim) < (1 + mean / h) / 2 ? h : -h;
}

static faro_agent *make(const char *learner, const char *release, family f, double epsilon, uint64_t horizon,
                        uint64_t run) {
  const double h = has_intercept(f) ? 0.5 : 1;
  const faro_agent_params p = {.learner = learner,
                               .release = release,
                               .dimension = D,
                               .arms = ARMS,
                               .horizon = horizon,
                               .epsilon = epsilon,
                               .delta = 1e-6,
                               .low = -h,
                               .high = h,
                               .failure = 0.1,
                               .seed = 72,
                               .instance = run};
  faro_agent *agent = NULL;
  assert_ok(faro_agent_create(&agent, &p, error));
  return agent;
}

/* ||theta_hat - theta|| in units of the policy's region, or of its posterior: ||w^-T e||, over beta
 * for a region. */
static double error_of(const faro_policy *p, const double *theta) {
  double e[D]; /* w' e' = e, from the last entry up */
  double square = 0;
  for (size_t i = D; i-- > 0;) {
    double rest = p->theta[i] - theta[i];
    for (size_t k = i + 1; k < D; k++) rest -= p->w[faro_packed(k) + i] * e[k];
    e[i] = rest / p->w[faro_diagonal(i)];
    square += e[i] * e[i];
  }
  return sqrt(square) / (p->rule == FARO_RULE_WIDTH ? p->beta : 1);
}

/* Plays until the horizon. The greatest error over all releases, and the last one. */
static void play(faro_agent *agent, world *w, uint64_t horizon, double *worst, double *last) {
  *worst = error_of(faro_agent_policy(agent), w->theta);
  for (uint64_t t = 0; t < horizon; t++) {
    const size_t arm = faro_agent_choose(agent, w->x[0], ARMS);
    const uint64_t version = faro_agent_policy(agent)->version;
    assert_ok(faro_agent_learn(agent, w->x[arm], pull(w, arm), error));
    if (w->family != FIXED) draw_arms(w);
    if (faro_agent_policy(agent)->version == version) continue;
    *last = error_of(faro_agent_policy(agent), w->theta);
    *worst = fmax(*worst, *last);
  }
}

/* ---- coverage */

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a;
  const double y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Outside at any release of a run: at most as often as promised, and three standard errors. The
 * width of 95 % of runs says how much narrower the region could be. */
static void check_coverage(const char *release, double epsilon) {
  enum { RUNS = 1000, HORIZON = 1500 };
  static double ratio[RUNS];
  const double failure = 0.1;
  int outside = 0;
  uint64_t releases = 0;
  for (uint64_t run = 0; run < RUNS; run++) {
    const family f = run % 2 ? SPHERE : FIXED;
    world w;
    double last = 0;
    open_world(&w, f, run);
    faro_agent *agent = make("linucb", release, f, epsilon, HORIZON, run);
    play(agent, &w, HORIZON, &ratio[run], &last);
    releases = faro_agent_batches(agent);
    outside += ratio[run] > 1;
    faro_agent_destroy(agent);
  }
  qsort(ratio, RUNS, sizeof *ratio, compare);
  print_message(
      "  %s: outside in %d of %d runs of %d releases; 95 %% of runs stay within %.3f of the width\n", release,
      outside, RUNS, (int)releases, ratio[RUNS * 95 / 100]);
  assert_true(outside <= failure * RUNS + 3 * sqrt(failure * (1 - failure) * RUNS));
  assert_true(ratio[RUNS * 95 / 100] > 0.2); /* not so wide that it says nothing */
}

static void test_region__holds_the_parameter_as_often_as_promised(void **state) {
  (void)state;
  check_coverage("none", 1);
  check_coverage("central-tree", 1);
  check_coverage("central-factored", 1);
  check_coverage("shuffle-bits", 1);
  check_coverage("local", 1);
  check_coverage("local", 8);
}

/* ---- calibration */

static void check_calibration(const char *release, double epsilon, double least, family f) {
  enum { RUNS = 200, HORIZON = 10000 };
  double sum = 0;
  double square = 0;
  for (uint64_t run = 0; run < RUNS; run++) {
    world w;
    double worst = 0;
    double last = 0;
    open_world(&w, f, run);
    faro_agent *agent = make("posterior", release, f, epsilon, HORIZON, run);
    play(agent, &w, HORIZON, &worst, &last);
    sum += last * last / D;
    square += pow(last, 4) / (D * D);
    faro_agent_destroy(agent);
  }
  const double mean = sum / RUNS;
  const double error = sqrt((square / RUNS - mean * mean) / RUNS);
  print_message("  %s at %g, %s: %.3f +- %.3f\n", release, epsilon, family_name[f], mean, error);
  assert_true(mean > least && mean < 1.3);
}

/* The mean of (theta_hat - theta)' Lambda (theta_hat - theta) / d is 1 if the posterior is right.
 * It is less where rewards vary less than their bound R says. */
static void test_posterior__is_calibrated(void **state) {
  (void)state;
  for (int f = FIXED; f <= ANISOTROPIC; f++) {
    check_calibration("none", 1, 0.35, (family)f);
    check_calibration("central-factored", 1, 0.5, (family)f);
    check_calibration("shuffle-bits", 1, 0.5, (family)f);
    check_calibration("local", 8, 0.5, (family)f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_region__holds_the_parameter_as_often_as_promised),
      cmocka_unit_test(test_posterior__is_calibrated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
