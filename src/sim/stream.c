/* stream: running sums of a stream of numbers.
 *
 *   number --release--> statistics --learner--> estimate of the sum
 *
 * Users are played in blocks. Within one, only batches cost anything. */
#include <math.h>

#include "base/bits.h"
#include "release/many.h"
#include "sim/loop.h"

enum { BLOCK = 4096 }; /* users who are drawn at once */

typedef struct table {
  const faro_cell *cell;
  faro_env *env;
  faro_doubling *sums;
  faro_estimator *estimator;
  faro_forecast forecast; /* of its estimates */
  faro_sim_rng noise;
  double sum;                /* true sum of the numbers so far */
  uint64_t bits[BLOCK / 64]; /* the numbers of the users after the first `begun` */
  uint64_t begun, at;        /* how many of them have been compared */
  uint64_t size[BLOCK];      /* of the batches that end among them */
  double released[BLOCK];    /* the sum after each of these */
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
  t->forecast = faro_estimator_forecast(t->estimator);
  return FARO_OK;
}

static void learn(table *t, const faro_statistics *statistics) {
  faro_estimator_update(t->estimator, statistics);
  t->forecast = faro_estimator_forecast(t->estimator);
}

static inline double greater(double a, double b) { return a > b ? a : b; }

/* Raises `worst` to the error after the next user. */
static inline void compare_one(table *t, double *worst) {
  const faro_forecast line = t->forecast;
  t->sum += faro_bit(t->bits, t->at);
  t->at++;
  /* signed: one instruction */
  const double estimate = line.base + line.each * (double)(int64_t)(t->begun + t->at - line.from);
  *worst = greater(*worst, fabs(estimate - t->sum));
}

/* The same for each of the next users. Estimates are compared with the truth after every user, not
 * only at releases, because the error grows in between. An estimate that stays as it is errs most
 * after the first or the last of them, as the sum never falls. */
static inline void compare(table *t, uint64_t users, double *worst) {
  if (t->forecast.each != 0 || users < 3) {
    for (uint64_t i = 0; i < users; i++) compare_one(t, worst);
    return;
  }
  compare_one(t, worst);
  t->sum += (double)(int64_t)faro_ones(t->bits, t->at, users - 2);
  t->at += users - 2;
  compare_one(t, worst);
}

/* The batches that end within the next `users`. Where sizes are chosen from what was released, only
 * that of the open one is known. */
static uint64_t list_batches(table *t, uint64_t users) {
  const faro_release *release = faro_doubling_release(t->sums);
  const uint64_t open = faro_release_statistics(release).releases;
  const uint64_t most = t->cell->settings.adaptive ? 1 : BLOCK;
  uint64_t count = 0;
  for (uint64_t size = faro_release_missing(release); count < most && size > 0 && size <= users;
       size = faro_release_batch_size(release, open + count)) {
    t->size[count++] = size;
    users -= size;
  }
  return count;
}

/* A release that ends with the batch is followed by the next one before its last user is. */
static faro_status renew(table *t, faro_error *error) {
  if (!t->cell->settings.anytime || !faro_doubling_spent(t->sums)) return FARO_OK;
  const faro_status status = faro_doubling_next(t->sums, error);
  const faro_statistics statistics = faro_doubling_statistics(t->sums);
  if (status == FARO_OK) learn(t, &statistics);
  return status;
}

static faro_status take_batches(table *t, uint64_t batches, double *worst, faro_error *error) {
  faro_status status = FARO_OK;
  faro_statistics newest = {0};
  double most = *worst;
  faro_doubling_absorb_batches(t->sums, t->bits, t->at, batches, t->released);
  for (uint64_t k = 0; status == FARO_OK && k < batches; k++) {
    compare(t, t->size[k] - 1, &most);
    newest.sum = &t->released[k];
    newest.users = t->begun + t->at + 1;
    learn(t, &newest);
    if (k + 1 == batches) status = renew(t, error);
    compare(t, 1, &most);
  }
  *worst = most;
  return status;
}

/* The users of `bits`. The last ones may be in a batch that is not complete, or come after all of
 * them. */
static faro_status take(table *t, uint64_t users, double *worst, faro_error *error) {
  faro_status status = FARO_OK;
  for (t->at = 0; status == FARO_OK && t->at < users;) {
    const uint64_t batches = list_batches(t, users - t->at);
    if (batches > 0) status = take_batches(t, batches, worst, error);
    else {
      faro_doubling_absorb_bits(t->sums, t->bits, t->at, users - t->at);
      compare(t, users - t->at, worst);
    }
  }
  return status;
}

static faro_status play_rounds(void *state, uint64_t from, uint64_t until, double *worst, faro_error *error) {
  table *t = state;
  faro_status status = FARO_OK;
  for (t->begun = from; status == FARO_OK && t->begun < until;) {
    const uint64_t users = until - t->begun < BLOCK ? until - t->begun : BLOCK;
    faro_env_bits(t->env, users, t->bits);
    status = take(t, users, worst, error);
    t->begun += users;
  }
  return status;
}

/* Sizes that adapt are known afterwards, and with them what users have sent. */
static void record_cost(const table *t, faro_play_record *record) {
  const faro_release *release = faro_doubling_release(t->sums);
  if (!t->cell->settings.adaptive) return;
  const faro_cost cost = faro_release_cost(release);
  record->users = (double)faro_release_statistics(release).users;
  record->bytes = cost.bytes * record->users;
  record->sent = cost.bits * record->users;
  record->posted = cost.messages * record->users;
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
