/* play: the loop that everything is about.
 *
 *   arms --select--> arm --env--> reward --release--> statistics --learner--> policy */
#include "sim/play.h"

#include <time.h>

typedef struct table { /* who sits around it */
  faro_env *env;
  faro_release *release;
  faro_gate *gate; /* NULL: everybody may contribute */
  uint64_t refused;
  faro_learner *learner;
  faro_selector *selector;
  faro_contribution contribution;
  double *x;
  double centre; /* subtracted from rewards, see faro_cell_centre */
  faro_arena arena;
} table;

static void clear_table(table *t) {
  faro_selector_destroy(t->selector);
  faro_learner_destroy(t->learner);
  faro_gate_destroy(t->gate);
  faro_release_destroy(t->release);
  faro_env_destroy(t->env);
  faro_arena_free(&t->arena);
}

/* Under a user-level claim whoever returns passes the gate. */
static faro_status set_gate(table *t, const faro_env_params *env, const faro_release_params *release,
                            faro_error *error) {
  if (release->level != FARO_LEVEL_USER || env->population == 0) return FARO_OK;
  return faro_gate_create(&t->gate, env->population, release->contributions, error);
}

static faro_status set_table(table *t, const faro_cell *cell, faro_error *error) {
  const faro_env_params env = faro_cell_env(cell);
  const faro_release_params release = faro_cell_release(cell);
  const size_t kind = (size_t)cell->settings.value[FARO_KEY_ENVIRONMENT];
  faro_status status = faro_env_create(&t->env, faro_env_kind_at(kind), &env, error);
  if (status == FARO_OK) status = faro_cell_contribution(cell, &t->contribution, error);
  if (status == FARO_OK)
    status = faro_release_create(&t->release, cell->release, &t->contribution, &release, error);
  if (status == FARO_OK) status = set_gate(t, &env, &release, error);
  if (status != FARO_OK) return status;
  const bool tight = release.calibration == FARO_CALIBRATION_TIGHT;
  const faro_learner_params learner = {.dimension = env.dimension,
                                       .horizon = env.horizon,
                                       .releases = env.horizon / release.batch,
                                       .norm = t->contribution.norm,
                                       .failure = cell->settings.value[FARO_KEY_FAILURE],
                                       .reward = tight ? 0.5 : 1,
                                       .optimism = tight ? cell->settings.value[FARO_KEY_OPTIMISM] : 1,
                                       .figure = release.calibration == FARO_CALIBRATION_FIGURE,
                                       .noise = faro_release_noise(t->release)};
  status = faro_learner_create(&t->learner, cell->learner, &learner, error);
  if (status == FARO_OK) status = faro_selector_create(&t->selector, env.dimension, env.arms, error);
  if (status != FARO_OK) return status;
  t->centre = faro_cell_centre(cell);
  t->x = faro_arena_alloc(&t->arena, env.dimension, sizeof *t->x, error);
  return t->x ? FARO_OK : FARO_MEMORY;
}

/* Whether the user's data may be used. Who is refused has played, and regrets, all the same. */
static bool admit(table *t, uint64_t user) {
  if (!t->gate || faro_release_spent(t->release)) return true;
  const uint64_t batch = faro_release_statistics(t->release).releases;
  if (faro_gate_admit(t->gate, user, batch, NULL) == FARO_OK) return true;
  t->refused++;
  return false;
}

/* Plays up to round `until`; returns the regret of those rounds. Allocates nothing. */
static double play_rounds(table *t, faro_sim_rng *noise, uint64_t from, uint64_t until) {
  double regret = 0;
  for (uint64_t round = from; round < until; round++) {
    const size_t arm = faro_select(t->selector, faro_learner_policy(t->learner), faro_env_arms(t->env));
    regret += faro_env_gap(t->env, arm);
    const uint64_t user = faro_env_user(t->env);
    const double reward = faro_env_play(t->env, arm, t->x);
    if (!admit(t, user)) continue;
    if (faro_release_absorb(t->release, t->x, reward - t->centre, noise)) {
      const faro_statistics statistics = faro_release_statistics(t->release);
      faro_learner_update(t->learner, &statistics);
    }
  }
  return regret;
}

static faro_status play(table *t, const faro_cell *cell, uint64_t seed, uint64_t instance,
                        const atomic_int *stop, faro_play_record *record) {
  faro_sim_rng noise;
  faro_sim_open(&noise, seed, instance, FARO_ROLE_USER);
  faro_env_begin(t->env, seed, instance);
  uint64_t round[FARO_CURVE_POINTS];
  const size_t points = faro_curve_rounds((uint64_t)cell->settings.value[FARO_KEY_HORIZON], round);
  double regret = 0;
  for (size_t i = 0; i < points; i++) {
    if (stop && *stop) return FARO_INTERRUPTED;
    regret += play_rounds(t, &noise, i ? round[i - 1] : 0, round[i]);
    record->curve[i] = regret;
  }
  const faro_learner_diagnostics diagnostics = faro_learner_diagnose(t->learner);
  record->regret = regret;
  record->updates = (double)diagnostics.updates;
  record->shifted = (double)diagnostics.shifted;
  record->refused = (double)t->refused / cell->settings.value[FARO_KEY_HORIZON];
  return FARO_OK;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

faro_status faro_play(const faro_cell *cell, uint64_t seed, uint64_t instance, const atomic_int *stop,
                      faro_play_record *record, faro_error *error) {
  const double start = now();
  table t = {0};
  *record = (faro_play_record){0};
  faro_status status = set_table(&t, cell, error);
  if (status == FARO_OK) status = play(&t, cell, seed, instance, stop, record);
  clear_table(&t);
  record->seconds = now() - start;
  return status;
}
