/* watcher: the loop for learners that watch raw rewards.
 *
 *   arms --pick--> arm --env--> reward --observe--> learner */
#include "release/size.h"
#include "sim/loop.h"

typedef struct table {
  faro_env *env;
  faro_watcher *learner;
  double *x;
  faro_arena arena;
} table;

static faro_status init(table *t, const faro_turn *turn, faro_error *error) {
  const faro_env_params env = faro_cell_env(turn->cell);
  faro_watcher_params learner = faro_cell_asker(turn->cell);
  faro_status status = faro_env_create(&t->env, turn->cell->env, &env, error);
  if (status != FARO_OK) return status;
  learner.offers = faro_env_arms(t->env)->count; /* those of a net, too */
  learner.kappa = faro_turn_kappa(turn, t->env);
  status = faro_watcher_create(&t->learner, turn->cell->learner, &learner, error);
  if (status != FARO_OK) return status;
  faro_turn_begin(turn, t->env);
  t->x = faro_arena_alloc(&t->arena, env.dimension, sizeof *t->x, error);
  return t->x ? FARO_OK : FARO_MEMORY;
}

static faro_status play_rounds(void *state, uint64_t from, uint64_t until, double *regret,
                               faro_error *error) {
  table *t = state;
  (void)error;
  for (uint64_t round = from; round < until; round++) {
    const size_t arm = faro_watcher_pick(t->learner, faro_env_arms(t->env));
    *regret += faro_env_gap(t->env, arm);
    const double y = faro_env_play(t->env, arm, t->x);
    faro_watcher_observe(t->learner, t->x, y);
  }
  return FARO_OK;
}

static faro_status play(const faro_turn *turn, faro_error *error) {
  table t = {0};
  faro_status status = init(&t, turn, error);
  if (status == FARO_OK) status = faro_play_curve(turn, play_rounds, &t, error);
  if (status == FARO_OK) turn->record->updates = (double)faro_watcher_diagnose(t.learner).updates;
  faro_watcher_destroy(t.learner);
  faro_env_destroy(t.env);
  faro_arena_free(&t.arena);
  return status;
}

static faro_status check(const faro_cell *cell, faro_error *error) {
  if (cell->settings.level != FARO_LEVEL_EVENT)
    return faro_fail(error, FARO_INVALID,
                     "level must be event for learner %s: it runs without privacy, so nothing is claimed",
                     cell->learner->name);
  if (cell->settings.anytime)
    return faro_fail(error, FARO_INVALID,
                     "anytime must be false for learner %s: its width is for a known horizon",
                     cell->learner->name);
  if (faro_cell_facts(cell).norm > 1)
    return faro_fail(error, FARO_INVALID,
                     "draw must not be sphere-published for learner %s, whose features have length 1",
                     cell->learner->name);
  if (cell->settings.horizon > 1000000000)
    return faro_fail(
        error, FARO_INVALID,
        "horizon must be at most 10^9 for learner %s, which stores the data of all users (got %llu)",
        cell->learner->name, (unsigned long long)cell->settings.horizon);
  return FARO_OK;
}

static faro_status rehearse(faro_cell *cell, faro_error *error) {
  faro_watcher *learner = NULL;
  const faro_watcher_params params = faro_cell_asker(cell);
  faro_status status = check(cell, error);
  if (status == FARO_OK) status = faro_watcher_create(&learner, cell->learner, &params, error);
  faro_watcher_destroy(learner);
  if (status != FARO_OK) return status;
  cell->claim = faro_claim_none();
  cell->cost.bytes = faro_report_bytes(false, params.dimension + 1);
  cell->cost.bits = 64 * ((double)params.dimension + 1); /* x and y unchanged */
  cell->settings.batch = 1;
  return FARO_OK;
}

static bool takes(const faro_learner_kind *learner, const faro_release_kind *release) {
  (void)learner;
  return release->trust == FARO_TRUST_NONE;
}

static const char *refusal(const faro_learner_kind *learner, const faro_release_kind *release) {
  (void)learner;
  (void)release;
  return "it sees every reward as it is, which no noise on sums can hide";
}

const faro_loop faro_loop_watcher = {
    .protocol = FARO_PROTOCOL_WATCHER,
    .needs = faro_loop_needs_glm,
    .suits = faro_loop_suits_glm,
    .misfit = faro_loop_misfit_glm,
    .takes = takes,
    .refusal = refusal,
    .rehearse = rehearse,
    .play = play,
};
