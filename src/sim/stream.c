/* stream: running sums of a stream of numbers.
 *
 *   number --release--> statistics --learner--> estimate of the sum */
#include <math.h>

#include "sim/loop.h"

typedef struct table {
  const faro_cell *cell;
  faro_env *env;
  faro_release *release;
  faro_estimator *estimator;
  faro_contribution contribution;
  faro_sim_rng noise;
  double sum; /* of the numbers so far: the truth */
} table;

static void clear(table *t) {
  faro_estimator_destroy(t->estimator);
  faro_release_destroy(t->release);
  faro_env_destroy(t->env);
}

/* As in agent.c: the first of ever longer horizons holds a few batches, and the largest node of every shuffler. */
static faro_release_params release_params(const faro_cell *cell) {
  faro_release_params params = faro_cell_release(cell);
  if (!params.anytime) return params;
  const double batch = (double)params.batch;
  const double tree = ldexp(fmax(2, batch), (int)params.shufflers);
  params.horizon = (uint64_t)fmin((double)params.horizon, fmax(fmax(1024, tree), 4 * batch));
  return params;
}

/* A number less 1/2 is in [-1/2, 1/2]. */
static faro_status make_release(const faro_cell *cell, faro_contribution *contribution,
                                faro_release **release, faro_error *error) {
  const faro_release_params params = release_params(cell);
  const faro_status status = faro_contribution_values(contribution, 1, true, error);
  return status == FARO_OK ? faro_release_create(release, cell->release, contribution, &params, error)
                           : status;
}

static faro_status init(table *t, const faro_turn *turn, faro_error *error) {
  const faro_env_params env = faro_cell_env(t->cell);
  faro_status status = faro_env_create(&t->env, t->cell->env, &env, error);
  if (status == FARO_OK) status = make_release(t->cell, &t->contribution, &t->release, error);
  if (status == FARO_OK)
    status = faro_estimator_create(&t->estimator, t->cell->learner, t->cell->settings.calibration, error);
  if (status != FARO_OK) return status;
  faro_sim_open(&t->noise, turn->seed, turn->instance, FARO_ROLE_USER);
  faro_env_begin(t->env, turn->seed, turn->instance);
  return FARO_OK;
}

static void learn(table *t) {
  const faro_statistics statistics = faro_release_statistics(t->release);
  faro_estimator_update(t->estimator, &statistics);
}

static faro_status take(table *t, double value, faro_error *error) {
  const double centred = value - 0.5;
  t->sum += value;
  if (!faro_release_absorb(t->release, &centred, 0, &t->noise)) return FARO_OK;
  learn(t);
  if (!t->cell->settings.anytime || !faro_release_spent(t->release)) return FARO_OK;
  const faro_status status = faro_release_double(&t->release, error);
  if (status == FARO_OK) learn(t);
  return status;
}

/* Raises `worst` to the worst error of these rounds. Estimates are compared with the truth after every user, not only
 * at releases: in between the error grows. */
static faro_status play_rounds(void *state, uint64_t from, uint64_t until, double *worst, faro_error *error) {
  table *t = state;
  for (uint64_t round = from; round < until; round++) {
    const faro_status status = take(t, faro_env_value(t->env), error);
    if (status != FARO_OK) return status;
    *worst = fmax(*worst, fabs(faro_estimator_at(t->estimator, round + 1) - t->sum));
  }
  return FARO_OK;
}

static faro_status play(const faro_turn *turn, faro_error *error) {
  table t = {.cell = turn->cell};
  faro_status status = init(&t, turn, error);
  if (status == FARO_OK) status = faro_play_curve(turn, play_rounds, &t, error);
  if (status == FARO_OK) turn->record->updates = (double)faro_estimator_diagnose(t.estimator).updates;
  clear(&t);
  return status;
}

static faro_status rehearse(faro_cell *cell, faro_error *error) {
  faro_contribution contribution;
  faro_release *release = NULL;
  const faro_status status = make_release(cell, &contribution, &release, error);
  if (status != FARO_OK) return status;
  cell->claim = *faro_release_claim(release);
  cell->cost = faro_release_cost(release);
  if (!cell->settings.anytime) cell->settings.batch = faro_release_batch(release);
  faro_release_destroy(release);
  return FARO_OK;
}

static const char *needs(const faro_learner_kind *learner) {
  (void)learner;
  return "a stream of numbers";
}

static bool suits(const faro_learner_kind *learner, const faro_env_kind *env) {
  (void)learner;
  return env->traits & FARO_ENV_STREAM;
}

static bool takes(const faro_learner_kind *learner, const faro_release_kind *release) {
  (void)learner;
  return faro_release_kind_takes(release, false);
}

const faro_loop faro_loop_estimator = {
    .protocol = FARO_PROTOCOL_ESTIMATOR,
    .needs = needs,
    .suits = suits,
    .takes = takes,
    .calibrates = faro_release_kind_calibrates,
    .rehearse = rehearse,
    .play = play,
};
