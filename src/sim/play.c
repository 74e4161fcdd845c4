/* play: the loop that everything is about.
 *
 *   arms --select--> arm --env--> reward --release--> statistics --learner--> policy
 *
 * and, for a stream of numbers,    number --release--> statistics --learner--> estimate of the sum */
#include "sim/play.h"

#include <faro/doubling.h>
#include <faro/gate.h>
#include <math.h>
#include <time.h>

typedef struct table { /* who sits around it */
  const faro_cell *cell;
  faro_env *env;
  faro_doubling *release;
  faro_gate *gate; /* NULL: everybody may contribute */
  uint64_t refused;
  faro_learner *learner;
  faro_selector *selector;
  faro_contribution contribution;
  faro_sim_rng noise;
  double *x;
  double centre; /* subtracted from rewards, see faro_cell_centre */
  double sum;    /* of a stream's numbers so far: the truth */
  bool streams;
  uint64_t epoch;                /* from 1; each has twice the horizon of the one before */
  uint64_t published;            /* batches, over all epochs */
  faro_learner_diagnostics past; /* of the learners of earlier epochs */
  faro_arena arena;
} table;

static void clear_table(table *t) {
  faro_selector_destroy(t->selector);
  faro_learner_destroy(t->learner);
  faro_gate_destroy(t->gate);
  faro_doubling_destroy(t->release);
  faro_env_destroy(t->env);
  faro_arena_free(&t->arena);
}

/* The learner, and users who follow it. The epochs share the probability of failure: sum 1/(j (j+1)) = 1. */
static faro_status set_learner(table *t, faro_error *error) {
  const faro_cell *cell = t->cell;
  const faro_env_params env = faro_cell_env(cell);
  const faro_release_params release = faro_cell_release(cell);
  const bool tight = release.calibration == FARO_CALIBRATION_TIGHT;
  const uint64_t horizon = release.horizon << (t->epoch - 1);
  const double share = release.anytime ? 1 / ((double)t->epoch * (double)(t->epoch + 1)) : 1;
  const faro_learner_params learner = {.dimension = env.dimension,
                                       .horizon = horizon,
                                       .releases =
                                           horizon / faro_release_batch(faro_doubling_release(t->release)),
                                       .norm = t->contribution.norm,
                                       .failure = share * cell->settings.value[FARO_KEY_FAILURE],
                                       .reward = tight ? (1 - faro_cell_low(cell)) / 2 : 1,
                                       .optimism = tight ? cell->settings.value[FARO_KEY_OPTIMISM] : 1,
                                       .figure = release.calibration == FARO_CALIBRATION_FIGURE,
                                       .guess = tight,
                                       .noise = faro_doubling_noise(t->release)};
  const faro_status status = faro_learner_create(&t->learner, cell->learner, &learner, error);
  if (status != FARO_OK || t->streams) return status;
  return faro_selector_create(&t->selector, env.dimension, env.arms, error);
}

/* Under a user-level claim whoever returns passes the gate. */
static faro_status set_gate(table *t, const faro_env_params *env, const faro_release_params *release,
                            faro_error *error) {
  if (release->level != FARO_LEVEL_USER || env->population == 0) return FARO_OK;
  return faro_gate_create(&t->gate, env->population, release->contributions, error);
}

static faro_status set_table(table *t, faro_error *error) {
  const faro_cell *cell = t->cell;
  const faro_env_params env = faro_cell_env(cell);
  const faro_release_params release = faro_cell_release(cell);
  t->epoch = 1;
  t->streams = faro_cell_streams(cell);
  faro_status status = faro_env_create(&t->env, faro_cell_env_kind(cell), &env, error);
  if (status == FARO_OK) status = faro_cell_contribution(cell, &t->contribution, error);
  if (status == FARO_OK)
    status = faro_doubling_create(&t->release, cell->release, &t->contribution, &release,
                                  faro_source_simulated(&t->noise), error);
  if (status == FARO_OK) status = set_gate(t, &env, &release, error);
  if (status == FARO_OK) status = set_learner(t, error);
  if (status != FARO_OK) return status;
  t->centre = faro_cell_centre(cell);
  t->x = faro_arena_alloc(&t->arena, env.dimension, sizeof *t->x, error);
  return t->x ? FARO_OK : FARO_MEMORY;
}

static void learn(table *t) {
  const faro_statistics statistics = faro_doubling_statistics(t->release);
  faro_learner_update(t->learner, &statistics);
}

static void keep_diagnostics(table *t) {
  const faro_learner_diagnostics now = faro_learner_diagnose(t->learner);
  t->past.updates += now.updates;
  t->past.shifted += now.shifted;
}

/* The next epoch: a release with twice the horizon, and a learner that knows its noise and starts from its sums. */
static faro_status double_horizon(table *t, faro_error *error) {
  keep_diagnostics(t);
  faro_selector_destroy(t->selector);
  faro_learner_destroy(t->learner);
  t->selector = NULL;
  t->learner = NULL;
  t->epoch++;
  faro_status status = faro_doubling_next(t->release, error);
  if (status == FARO_OK) status = set_learner(t, error);
  if (status == FARO_OK) learn(t);
  return status;
}

/* Whether the user's data may be used. Who is refused has played, and regrets, all the same. */
static bool admit(table *t, uint64_t user) {
  if (!t->gate || faro_doubling_spent(t->release)) return true;
  if (faro_gate_admit(t->gate, user, t->published, NULL) == FARO_OK) return true;
  t->refused++;
  return false;
}

/* Hands the user's contribution on, and what is published then to the learner. */
static inline faro_status contribute(table *t, double y, faro_error *error) {
  if (!faro_doubling_absorb(t->release, t->x, y)) return FARO_OK;
  t->published++;
  learn(t);
  const bool ends = t->cell->settings.value[FARO_KEY_ANYTIME] != 0 && faro_doubling_spent(t->release);
  return ends ? double_horizon(t, error) : FARO_OK;
}

/* Plays up to round `until`, and adds the regret of those rounds. Allocates nothing, but when an epoch ends. */
static faro_status play_rounds(void *seats, uint64_t from, uint64_t until, double *regret,
                               faro_error *error) {
  table *t = seats;
  double sum = 0;
  faro_status status = FARO_OK;
  for (uint64_t round = from; status == FARO_OK && round < until; round++) {
    const size_t arm = faro_select(t->selector, faro_learner_policy(t->learner), faro_env_arms(t->env));
    sum += faro_env_gap(t->env, arm);
    const uint64_t user = faro_env_user(t->env);
    const double reward = faro_env_play(t->env, arm, t->x);
    if (admit(t, user)) status = contribute(t, reward - t->centre, error);
  }
  *regret += sum;
  return status;
}

/* The same for a stream: raises `worst` to the worst error of these rounds. Estimates are compared with the truth after
 * every user, not only at releases: in between the error grows. */
static faro_status sum_rounds(void *seats, uint64_t from, uint64_t until, double *worst, faro_error *error) {
  table *t = seats;
  for (uint64_t round = from; round < until; round++) {
    const double value = faro_env_value(t->env);
    t->sum += value;
    *t->x = value - 0.5;
    const faro_status status = contribute(t, 0, error);
    if (status != FARO_OK) return status;
    const double *theta = faro_learner_policy(t->learner)->theta;
    *worst = fmax(*worst, fabs(theta[0] + theta[1] * (double)(round + 1) - t->sum));
  }
  return FARO_OK;
}

static void finish(table *t, faro_play_record *record) {
  keep_diagnostics(t);
  record->updates = (double)t->past.updates;
  record->shifted = (double)t->past.shifted;
  record->refused = (double)t->refused / t->cell->settings.value[FARO_KEY_HORIZON];
}

faro_status faro_play_curve(const faro_cell *cell, faro_play_rounds *rounds, void *seats,
                            const atomic_int *stop, faro_play_record *record, faro_error *error) {
  uint64_t round[FARO_CURVE_POINTS];
  const size_t points = faro_curve_rounds((uint64_t)cell->settings.value[FARO_KEY_HORIZON], round);
  double measure = 0;
  for (size_t i = 0; i < points; i++) {
    if (stop && *stop) return FARO_INTERRUPTED;
    const faro_status status = rounds(seats, i ? round[i - 1] : 0, round[i], &measure, error);
    if (status != FARO_OK) return status;
    record->curve[i] = measure;
  }
  record->regret = measure;
  return FARO_OK;
}

static faro_status play(const faro_cell *cell, uint64_t seed, uint64_t instance, const atomic_int *stop,
                        faro_play_record *record, faro_error *error) {
  table t = {.cell = cell};
  faro_status status = set_table(&t, error);
  if (status == FARO_OK) {
    faro_sim_open(&t.noise, seed, instance, FARO_ROLE_USER);
    faro_env_begin(t.env, seed, instance);
    status = faro_play_curve(cell, t.streams ? sum_rounds : play_rounds, &t, stop, record, error);
  }
  if (status == FARO_OK) finish(&t, record);
  clear_table(&t);
  return status;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

faro_status faro_play(const faro_cell *cell, uint64_t seed, uint64_t instance, const atomic_int *stop,
                      faro_play_record *record, faro_error *error) {
  const double start = now();
  *record = (faro_play_record){0};
  const faro_status status =
      (faro_learner_kind_phased(cell->learner) ? faro_play_phases
       : faro_learner_kind_glm(cell->learner)  ? faro_play_glm
                                               : play)(cell, seed, instance, stop, record, error);
  record->seconds = now() - start;
  return status;
}
