/* stream: running sums of a stream of numbers.
 *
 *   number --release--> statistics --learner--> estimate of the sum */
#include <math.h>

#include <faro/doubling.h>

#include "sim/loop.h"

typedef struct table {
  const faro_cell *cell;
  faro_env *env;
  faro_doubling *sums;
  faro_estimator *estimator;
  faro_sim_rng noise;
  double sum; /* true sum of the numbers so far */
} table;

static void clear(table *t) {
  faro_estimator_destroy(t->estimator);
  faro_doubling_destroy(t->sums);
  faro_env_destroy(t->env);
}

/* A number less 1/2 is in [-1/2, 1/2]. */
static faro_status make_sums(const faro_cell *cell, faro_source source, faro_doubling **sums,
                             faro_error *error) {
  faro_contribution contribution;
  const faro_release_params params = faro_cell_release(cell);
  const faro_status status = faro_contribution_values(&contribution, 1, true, error);
  return status == FARO_OK ? faro_doubling_create(sums, cell->release, &contribution, &params, source, error)
                           : status;
}

static faro_status init(table *t, const faro_turn *turn, faro_error *error) {
  const faro_env_params env = faro_cell_env(t->cell);
  faro_status status = faro_env_create(&t->env, t->cell->env, &env, error);
  if (status == FARO_OK) status = make_sums(t->cell, faro_source_simulated(&t->noise), &t->sums, error);
  if (status == FARO_OK)
    status = faro_estimator_create(&t->estimator, t->cell->learner, t->cell->settings.calibration, error);
  if (status != FARO_OK) return status;
  faro_sim_open(&t->noise, turn->seed, turn->instance, FARO_ROLE_USER);
  faro_turn_begin(turn, t->env);
  return FARO_OK;
}

static void learn(table *t) {
  const faro_statistics statistics = faro_doubling_statistics(t->sums);
  faro_estimator_update(t->estimator, &statistics);
}

static faro_status take(table *t, double value, faro_error *error) {
  const double centred = value - 0.5;
  t->sum += value;
  if (!faro_doubling_absorb(t->sums, &centred, 0)) return FARO_OK;
  learn(t);
  if (!t->cell->settings.anytime || !faro_doubling_spent(t->sums)) return FARO_OK;
  const faro_status status = faro_doubling_next(t->sums, error);
  if (status == FARO_OK) learn(t);
  return status;
}

/* Sizes that adapt are known afterwards, and with them what users have sent. */
static void record_cost(const table *t, faro_play_record *record) {
  const faro_release *release = faro_doubling_release(t->sums);
  if (!t->cell->settings.adaptive) return;
  const faro_cost cost = faro_release_cost(release);
  record->users = (double)faro_release_statistics(release).users;
  record->sent = cost.bits * record->users;
  record->posted = cost.messages * record->users;
}

/* Raises `worst` to the greatest error of these rounds. Estimates are compared with the truth after
 * every user, not only at releases, because the error grows in between. */
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
  if (status == FARO_OK) record_cost(&t, turn->record);
  if (status == FARO_OK) turn->record->least = faro_env_least_error(t.env);
  clear(&t);
  return status;
}

static faro_status rehearse(faro_cell *cell, faro_error *error) {
  faro_doubling *sums = NULL;
  const faro_status status = make_sums(cell, faro_source_none(), &sums, error);
  if (status != FARO_OK) return status;
  const faro_release *release = faro_doubling_release(sums);
  cell->claim = *faro_release_claim(release);
  cell->cost = faro_release_cost(release);
  cell->grounds = faro_doubling_grounds(sums, cell->settings.horizon);
  faro_cell_keep_schedule(cell, release);
  faro_doubling_destroy(sums);
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

static const char *misfit(const faro_learner_kind *learner, const faro_env_kind *env) {
  (void)learner;
  (void)env;
  return "it estimates a running sum and chooses no arms";
}

const faro_loop faro_loop_estimator = {
    .protocol = FARO_PROTOCOL_ESTIMATOR,
    .needs = needs,
    .suits = suits,
    .misfit = misfit,
    .rehearse = rehearse,
    .play = play,
};
