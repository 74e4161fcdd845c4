/* updater: the loop for learners that turn sums into a policy.
 *
 *   arms --policy--> arm --env--> reward --release--> statistics --learner--> policy
 *
 * There are three ways: round by round; batch by batch, where all people of a batch play one arm;
 * and by groups of people alike, for predictions. */
#include <faro/agent.h>
#include <faro/gate.h>
#include <faro/linalg.h>

#include <stdlib.h>

#include "sim/loop.h"

typedef struct table {
  faro_env *env;
  faro_agent *agent;
  faro_gate *gate; /* NULL: everybody may contribute */
  bool file;       /* people are those of a file, and the release expects no more than they may give */
  uint64_t refused;
  /* Where all people of a batch play one arm, their rewards are counted, and the batch is absorbed
   * when they are all there: `high` people got 1, `low` people the least reward. */
  bool may_be_alike;
  double least;
  uint64_t high, low;
  double *x;
  faro_arena arena;
} table;

static void clear(table *t) {
  faro_agent_destroy(t->agent);
  faro_gate_destroy(t->gate);
  faro_env_destroy(t->env);
  faro_arena_free(&t->arena);
}

/* Under a user-level claim, returning users pass the gate. */
static faro_status make_gate(table *t, const faro_cell *cell, faro_error *error) {
  const faro_settings *s = &cell->settings;
  if (!faro_cell_limits(cell)) return FARO_OK;
  return faro_gate_create(&t->gate, s->population, s->contributions, error);
}

/* Whether all people of the open batch play the same arm, and are the same to the release together
 * and one by one. Another policy or release may follow. */
static bool is_alike(const table *t) {
  const faro_policy *policy = faro_agent_policy(t->agent);
  return policy->rule == FARO_RULE_WIDTH && policy->explore == 0 &&
         faro_release_alike_exactly(faro_agent_release(t->agent));
}

/* Rewards of two values can be counted. Batches of one are played round by round. */
static bool may_be_alike(const table *t, const faro_cell *cell) {
  const faro_settings *s = &cell->settings;
  return faro_env_counts(t->env) && !t->gate && (s->batch != 1 || s->growth > 1);
}

static faro_status init(table *t, const faro_turn *turn, faro_error *error) {
  const faro_cell *cell = turn->cell;
  faro_env_params env = faro_cell_env(cell);
  env.stopped = turn->stopped;
  env.context = turn->context;
  faro_status status = faro_env_create(&t->env, cell->env, &env, error);
  if (status != FARO_OK) return status;
  t->file = cell->table;
  faro_turn_begin(turn, t->env);
  faro_agent_params agent = faro_cell_agent(cell, faro_env_arms(t->env)->count, turn->instance);
  agent.seed = turn->seed;
  status = faro_agent_create(&t->agent, &agent, error);
  if (status == FARO_OK) status = make_gate(t, cell, error);
  t->may_be_alike = status == FARO_OK && may_be_alike(t, cell);
  t->least = faro_cell_facts(cell).low;
  t->x = faro_arena_alloc(&t->arena, env.dimension, sizeof *t->x, error);
  return status == FARO_OK && !t->x ? FARO_MEMORY : status;
}

/* Whether the user's data may be used. A refused user has played nevertheless, and the regret
 * counts. */
static bool admit(table *t, uint64_t user) {
  if (!t->gate || (faro_agent_done(t->agent) && !t->file)) return true;
  if (faro_gate_admit(t->gate, user, faro_agent_batches(t->agent), NULL) == FARO_OK) return true;
  t->refused++;
  return false;
}

/* The rounds until the batch is full, or until `until`; none may be missing, if nobody learns any
 * more. A batch may be played in pieces: it is absorbed as a whole, and the gaps are added one by
 * one, so that nothing depends on where it was cut. */
static faro_status play_batch(table *t, uint64_t *round, uint64_t until, double *regret, faro_error *error) {
  const uint64_t missing = faro_release_missing(faro_agent_release(t->agent));
  const uint64_t left = missing > 0 ? missing - t->high - t->low : until - *round;
  const uint64_t people = left < until - *round ? left : until - *round;
  const size_t arm = faro_agent_choose_from(t->agent, faro_env_arms(t->env));
  const double gap = faro_env_gap(t->env, arm);
  const faro_env_rewards rewards = faro_env_play_times(t->env, arm, people, t->x);
  double sum = *regret;
  for (uint64_t i = 0; i < people; i++) sum += gap;
  *regret = sum;
  *round += people;
  if (missing == 0) return FARO_OK;
  t->high += rewards.high;
  t->low += rewards.low;
  if (t->high + t->low < missing) return FARO_OK;
  faro_status status = faro_agent_learn_alike(t->agent, t->x, t->least, t->low, error);
  if (status == FARO_OK) status = faro_agent_learn_alike(t->agent, t->x, 1, t->high, error);
  t->high = t->low = 0;
  return status;
}

static inline faro_status play_round(table *t, double *regret, faro_error *error) {
  size_t arm = faro_agent_choose_from(t->agent, faro_env_arms(t->env));
  while (!faro_env_takes(t->env, arm)) arm = faro_agent_choose_from(t->agent, faro_env_arms(t->env));
  *regret += faro_env_gap(t->env, arm);
  const uint64_t user = faro_env_user(t->env);
  const double reward = faro_env_play(t->env, arm, t->x);
  return admit(t, user) ? faro_agent_learn(t->agent, t->x, reward, error) : FARO_OK;
}

static faro_status play_one_by_one(table *t, uint64_t *round, uint64_t until, double *regret,
                                   faro_error *error) {
  double sum = *regret;
  faro_status status = FARO_OK;
  for (; status == FARO_OK && *round < until; (*round)++) status = play_round(t, &sum, error);
  *regret = sum;
  return status;
}

/* Allocates nothing, except when an epoch ends. */
static faro_status play_rounds(void *state, uint64_t from, uint64_t until, double *regret,
                               faro_error *error) {
  table *t = state;
  faro_status status = FARO_OK;
  while (status == FARO_OK && from < until) {
    if (t->high + t->low > 0 || (t->may_be_alike && is_alike(t))) {
      status = play_batch(t, &from, until, regret, error);
      continue;
    }
    const uint64_t missing = faro_release_missing(faro_agent_release(t->agent));
    const bool all = !t->may_be_alike || missing == 0 || missing > until - from;
    status = play_one_by_one(t, &from, all ? until : from + missing, regret, error);
  }
  return status;
}

/* A prediction: of each batch only cell->thin people are played, each in the place of a group of
 * people alike. The means of their rewards have the variance of the group's, and the noise is that
 * of the whole batch, so the sums say as much as they would with everybody; only the choice of
 * arms is coarser. Without a curve, and without people who return. */
static faro_status play_groups(table *t, const faro_turn *turn, double *regret, faro_error *error) {
  const uint64_t horizon = turn->cell->settings.horizon;
  const uint64_t thin = turn->cell->thin;
  uint64_t group = 0;
  uint64_t batch = UINT64_MAX;
  faro_status status = FARO_OK;
  for (uint64_t round = 0; status == FARO_OK && round < horizon;) {
    const uint64_t missing = faro_release_missing(faro_agent_release(t->agent));
    const uint64_t left = missing > 0 ? missing : horizon - round;
    if (batch != faro_agent_batches(t->agent)) {
      if (faro_turn_stopped(turn)) return FARO_INTERRUPTED;
      group = (left + thin - 1) / thin;
    }
    batch = faro_agent_batches(t->agent);
    const uint64_t users = group < left ? group : left;
    const size_t arm = faro_agent_choose_from(t->agent, faro_env_arms(t->env));
    *regret += (double)users * faro_env_gap(t->env, arm);
    const double reward = faro_env_play_alike(t->env, arm, users, t->x);
    status = faro_agent_learn_alike(t->agent, t->x, reward, users, error);
    round += users;
  }
  return status;
}

/* Rows: the sum of losses becomes the mean of the last tenth of the horizon, at every point of the
 * curve. */
static faro_status finish_rows(const table *t, const faro_turn *turn, faro_error *error) {
  faro_play_record *record = turn->record;
  const uint64_t horizon = turn->cell->settings.horizon;
  const faro_env_tally tally = faro_env_tally_of(t->env);
  uint64_t round[FARO_CURVE_POINTS];
  const size_t points = faro_curve_rounds(horizon, round);
  const size_t tenth = points < 10 ? 1 : points / 10;
  for (size_t i = points; i-- > 0;) {
    const double before = i >= tenth ? record->curve[i - tenth] : 0;
    const uint64_t from = i >= tenth ? round[i - tenth] : 0;
    record->curve[i] = (record->curve[i] - before) / (double)(round[i] - from);
  }
  record->regret = record->curve[points - 1];
  record->uniform = 1 - tally.uniform;
  record->fixed = 1 - tally.fixed;
  record->reward = tally.played;
  record->linear = 1 - tally.linear;
  record->behind = (tally.linear - tally.played) * (double)horizon;
  record->passed = tally.passed;
  record->logged = 1 - tally.logged;
  return faro_env_status(t->env, error);
}

static faro_status play(const faro_turn *turn, faro_error *error) {
  table t = {0};
  faro_status status = init(&t, turn, error);
  if (status == FARO_OK)
    status = turn->cell->thin > 0 ? play_groups(&t, turn, &turn->record->regret, error)
                                  : faro_play_curve(turn, play_rounds, &t, error);
  if (status == FARO_OK && (turn->cell->env->traits & FARO_ENV_ROWS)) status = finish_rows(&t, turn, error);
  if (status == FARO_OK) {
    const faro_diagnostics diagnostics = faro_agent_diagnose(t.agent);
    turn->record->updates = (double)diagnostics.updates;
    turn->record->shifted = (double)diagnostics.shifted;
    turn->record->refused = (double)t.refused / (double)turn->cell->settings.horizon;
  }
  clear(&t);
  return status;
}

/* Learners of linear rewards may be played elsewhere, as baselines that are wrong in the end; but
 * not by mistake. */
static faro_status check_link(const faro_cell *cell, faro_error *error) {
  if (cell->env->link == FARO_LINK_LINEAR || cell->learner->generalised || cell->learner->blind ||
      cell->settings.surrogate)
    return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "surrogate must be true for learner %s with %s, whose rewards it would treat as linear",
                   cell->learner->name, cell->env->name);
}

/* The first sum of x y stands after the Gram matrix of the first block. */
static double last_noise(const faro_cell *cell, const faro_release *release) {
  const faro_noise noise = faro_release_noise(release);
  const size_t blocks = faro_cell_facts(cell).blocks;
  const size_t width = (size_t)cell->settings.dimension / (blocks > 0 ? blocks : 1);
  const size_t gram = cell->settings.protect == 1 ? 0 : faro_packed(width);
  return noise.scale ? noise.scale[gram] * (noise.ratio > 0 ? noise.ratio : 1) : 0;
}

static faro_status try_agent(faro_cell *cell, faro_error *error) {
  const faro_agent_params params = faro_cell_agent(cell, 1, 0);
  faro_agent *agent = NULL;
  const faro_status status = faro_agent_create(&agent, &params, error);
  if (status != FARO_OK) return status;
  cell->claim = *faro_agent_claim(agent);
  cell->cost = faro_agent_cost(agent);
  free(cell->grounds);
  cell->grounds = faro_agent_grounds(agent);
  cell->batches = faro_release_batches(faro_agent_release(agent));
  cell->noise = last_noise(cell, faro_agent_release(agent));
  faro_cell_keep_schedule(cell, faro_agent_release(agent));
  faro_agent_destroy(agent);
  return FARO_OK;
}

/* The most people of a batch, from the schedule; 0: it has no bound. */
static uint64_t greatest_batch(const faro_settings *s) {
  if (s->growth <= 1 && !s->adaptive) return s->batch;
  return s->largest > 0 && s->largest < s->batch ? s->batch : s->largest;
}

/* A person of a file who returns is in a batch once, so that a batch of more than all people is
 * never full, and one of nearly all waits for the last of them. Batches that faro chooses have at
 * most half of the people. */
static faro_status fit_batches(faro_cell *cell, bool chosen, faro_error *error) {
  faro_settings *s = &cell->settings;
  const uint64_t people = s->population;
  const uint64_t most = chosen ? (people + 1) / 2 : people;
  const uint64_t greatest = greatest_batch(s);
  if (s->batch == 0 || (greatest > 0 && greatest <= most)) return FARO_OK;
  if (chosen) {
    if (s->batch > most) s->batch = most;
    s->largest = s->growth > 1 || s->adaptive ? most : 0;
    return try_agent(cell, error);
  }
  return faro_fail(error, FARO_INVALID,
                   "%s must be at most %llu%s: a person is in a batch once, and the file has %llu people, so "
                   "that a larger one is never full",
                   s->batch > people ? "batch" : "largest", (unsigned long long)people,
                   greatest == 0 ? " where batches grow" : "", (unsigned long long)people);
}

static faro_status rehearse(faro_cell *cell, faro_error *error) {
  const bool chosen = cell->settings.batch == 0;
  faro_status status = check_link(cell, error);
  if (status == FARO_OK) status = try_agent(cell, error);
  if (status == FARO_OK && cell->table && faro_cell_limits(cell)) status = fit_batches(cell, chosen, error);
  return status;
}

static const char *needs(const faro_learner_kind *learner) {
  (void)learner;
  return "arms";
}

static bool suits(const faro_learner_kind *learner, const faro_env_kind *env) {
  if (env->traits & FARO_ENV_STREAM) return false;
  return learner->blind || !(env->traits & FARO_ENV_POPULATION);
}

static const char *misfit(const faro_learner_kind *learner, const faro_env_kind *env) {
  (void)learner;
  const char *arms = faro_loop_misfit_arms(env);
  if (arms) return arms;
  return env->traits & FARO_ENV_POPULATION
             ? "clients report averages over a phase, and it learns from single rounds"
             : "its estimate is biased if rewards are not linear";
}

const faro_loop faro_loop_updater = {
    .protocol = FARO_PROTOCOL_UPDATER,
    .needs = needs,
    .suits = suits,
    .misfit = misfit,
    .rehearse = rehearse,
    .play = play,
};
