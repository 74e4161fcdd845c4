/* coverage: elimination under every release's own noise, played as the runner plays it. The
 * interval of every arm holds its mean in all phases, and the best arm stays, at least as often as
 * promised. If the learner is told only a twentieth of the noise, both fail, so the test can fail.
 *
 * For dpe only the best arm is checked: a client's report is clipped to the interval of rewards,
 * which moves means near its ends inwards, and dpe's intervals, as published, ignore that. The sums
 * that the learner hears are intercepted (see tests/CMakeLists.txt). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "env/kind.h"
#include "learner/eliminator.h"
#include "support/play.h"

enum { SEED = 61, ARMS = 10, T = 5000, RUNS = 1000, FAULTY = 200 };
static const double FAILURE = 0.1;

/* ---- between the runner and the learner */

static struct {
  const double *mean; /* true mean of each arm */
  double part;        /* share of the noise that the learner is told */
  double worst;       /* greatest |estimate - mean| / width so far */
} ear;

faro_status __real_faro_eliminator_hear(faro_eliminator *, const faro_heard *, faro_error *);
faro_status __wrap_faro_eliminator_hear(faro_eliminator *, const faro_heard *, faro_error *);

/* Dropping arms does not change the widths and theta. */
static void look(const faro_eliminator *e, const size_t *active, size_t actives) {
  const faro_arms *z = e->design->coordinates;
  for (size_t a = 0; a < actives; a++) {
    double mean = 0;
    for (size_t i = 0; i < z->dimension; i++) mean += e->theta[i] * z->x[i * z->stride + a];
    ear.worst = fmax(ear.worst, fabs(mean - ear.mean[active[a]]) / e->width[a]);
  }
}

faro_status __wrap_faro_eliminator_hear(faro_eliminator *e, const faro_heard *heard, faro_error *error) {
  size_t active[ARMS];
  const size_t actives = e->actives;
  memcpy(active, e->active, actives * sizeof *active);
  faro_heard told[ARMS];
  for (size_t s = 0; s < e->plan.support; s++) {
    told[s] = heard[s];
    told[s].scale *= ear.part;
    told[s].laplace *= ear.part;
  }
  const faro_eliminator_params whole = e->params;
  e->params.reward *= ear.part;
  e->params.spread *= ear.part;
  const faro_status status = __real_faro_eliminator_hear(e, told, error);
  e->params = whole;
  look(e, active, actives);
  return status;
}

/* ---- runs */

static bool asks_clients(const char *learner) {
  return faro_eliminator_kind_asks_clients(faro_learner_find(learner));
}

static faro_experiment *parse(const char *learner, const char *release, size_t d) {
  return parse_experiment(
      "environment: {name: %s, dimension: %zu, arms: %d, draw: sphere}\n"
      "horizon: %d\nepsilon: 0.5\ndelta: 0.001\nfailure: %g\nalgorithms: [{learner: %s, release: %s}]\n",
      asks_clients(learner) ? "linear-population" : "linear-fixed", d, ARMS, T, FAILURE, learner, release);
}

typedef struct tally {
  int runs, lost, outside; /* runs in which the best arm was eliminated; in which some interval failed */
} tally;

static tally play(const char *learner, const char *release, size_t d, int runs, double part) {
  faro_experiment *e = parse(learner, release, d);
  const faro_cell *cell = &e->cell[0];
  const faro_env_params p = faro_cell_env(cell);
  faro_env *env = NULL;
  assert_ok(faro_env_create(&env, cell->env, &p, error));
  tally t = {.runs = runs};
  for (int run = 0; run < runs; run++) {
    faro_env_begin(env, SEED, (uint64_t)run); /* the instance that the runner will play */
    ear.mean = env->mean;
    ear.part = part;
    ear.worst = 0;
    faro_play_record record;
    const faro_turn turn = {.cell = cell, .seed = SEED, .instance = (uint64_t)run, .record = &record};
    assert_ok(faro_play(&turn, error));
    assert_true(record.updates > 0 && ear.worst > 0);
    t.lost += record.lost != 0;
    t.outside += ear.worst > 1;
    assert_true(record.lost == 0 || ear.worst > 1); /* if all intervals hold, the best arm stays */
  }
  faro_env_destroy(env);
  faro_experiment_destroy(e);
  return t;
}

/* The most failures in n runs that FALSE_ALARM allows if each run fails with probability p. */
static int allowed(int n, double p) {
  double tail = 0;
  int k = n;
  for (; k > 0; k--) { /* tail = P(X >= k) */
    tail += exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) + k * log(p) + (n - k) * log1p(-p));
    if (tail > FALSE_ALARM) break;
  }
  return k;
}

static void test_intervals__hold_as_often_as_promised_under_every_release(void **state) {
  (void)state;
  static const char *const learners[] = {"pe", "hanna", "dpe"};
  int releases = 0;
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    if (!faro_release_kind_at(k)->phases) continue;
    const char *name = faro_release_kind_at(k)->name;
    releases++;
    for (size_t l = 0; l < 3; l++) {
      const bool cut = asks_clients(learners[l]);
      const tally good = play(learners[l], name, 2 + l % 2, RUNS, 1);
      const tally bad = play(learners[l], name, 2 + l % 2, FAULTY, 0.05);
      print_message(
          "%s/%s: lost the best arm in %d of %d runs, outside in %d; told of a twentieth of the noise: "
          "lost in %d of %d, outside in %d\n",
          learners[l], name, good.lost, RUNS, good.outside, bad.lost, FAULTY, bad.outside);
      assert_true(cut || good.outside <= allowed(RUNS, FAILURE));
      assert_true(good.lost <= allowed(RUNS, FAILURE));
      assert_true(bad.outside > allowed(FAULTY, FAILURE));
      assert_true(bad.lost > allowed(FAULTY, FAILURE));
    }
  }
  assert_true(releases >= 9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_intervals__hold_as_often_as_promised_under_every_release)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
