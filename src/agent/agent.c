/* agent: see the header.
 *
 *   features --selector--> arm     reward --release--> statistics --updater--> policy
 *
 * If the horizon is not known there are epochs, each with twice the horizon of the one before: a
 * new release that continues from the last sums, and a new learner that knows its noise, unless the
 * old one carries over. The epochs share the probability of failure: sum 1/(j (j+1)) = 1. */
#include <math.h>
#include <string.h>

#include <faro/agent.h>
#include <faro/doubling.h>
#include <faro/message.h>

#include "agent/public.h"
#include "base/arena.h"
#include "base/text.h"

enum { ARMS = 256 };

struct faro_agent {
  faro_arena arena;
  faro_agent_params params;
  const faro_learner_kind *learner;
  faro_calibration calibration;
  faro_contribution contribution;
  faro_doubling *sums;
  faro_public arms; /* public arms only: sums of their features */
  faro_updater *updater;
  faro_selector *selector;
  faro_sim_rng noise, luck; /* simulation only */
  faro_secure_rng *secure;  /* deployment only */
  uint64_t epoch;           /* counted from 1 */
  uint64_t batches;         /* number published, over all epochs */
  faro_diagnostics past;    /* from the learners of earlier epochs */
};

/* Parameters. */

static void set_defaults(faro_agent_params *p) {
  if (p->arms == 0) p->arms = ARMS;
  if (p->blocks == 0) p->blocks = 1;
  if (p->norm == 0) p->norm = 1;
  if (p->low == 0 && p->high == 0) {
    p->low = -p->centre;
    p->high = 1 - p->centre;
  }
  if (p->failure == 0) p->failure = 0.1;
  p->anytime |= p->horizon == 0;
}

static faro_status find_calibration(const char *name, faro_calibration *calibration, faro_error *error) {
  *calibration = FARO_CALIBRATION_TIGHT;
  if (!name) return FARO_OK;
  for (int c = 0; c < FARO_CALIBRATION_COUNT; c++)
    if (strcmp(faro_calibration_name((faro_calibration)c), name) == 0) {
      *calibration = (faro_calibration)c;
      return FARO_OK;
    }
  return faro_fail(error, FARO_INVALID, "calibration must be one of paper, figure, tight (got %.40s)", name);
}

enum { NAMES_MAX = 64 };

static faro_status find_learner(const char *name, const faro_learner_kind **kind, faro_error *error) {
  *kind = name ? faro_learner_find(name) : NULL;
  if (*kind && (*kind)->protocol == FARO_PROTOCOL_UPDATER) return FARO_OK;
  const char *names[NAMES_MAX];
  size_t count = 0;
  char hint[FARO_HINT];
  for (size_t i = 0; i < faro_learner_count() && count < NAMES_MAX; i++)
    if (faro_learner_at(i)->protocol == FARO_PROTOCOL_UPDATER) names[count++] = faro_learner_at(i)->name;
  return faro_fail(error, FARO_INVALID, "learner must be one that turns sums into a policy (got %.40s)%s",
                   name ? name : "nothing", faro_hint(name ? name : "", names, count, hint));
}

static faro_release_params release_params(const faro_agent *a) {
  const faro_agent_params *p = &a->params;
  const bool steady = a->learner && a->learner->steady;
  faro_release_params params = {.epsilon = p->epsilon,
                                .delta = p->delta,
                                .horizon = p->horizon,
                                .batch = p->batch,
                                .growth = p->batch == 0 && p->growth == 0 && steady ? 1 : p->growth,
                                .largest = p->largest,
                                .adversarial = p->adversarial,
                                .shufflers = p->shufflers,
                                .level = p->level,
                                .contributions = p->contributions,
                                .honest = p->honest,
                                .anytime = p->anytime,
                                .adaptive = p->adaptive,
                                .local_epsilon = p->local_epsilon,
                                .calibration = a->calibration};
  if (p->anytime) params.horizon = faro_doubling_first(&params);
  return params;
}

/* Creating. */

static faro_status make_source(faro_agent *a, faro_source *source, faro_error *error) {
  const faro_agent_params *p = &a->params;
  faro_sim_open(&a->noise, p->seed, p->instance, FARO_ROLE_USER);
  faro_sim_open(&a->luck, p->seed, p->instance, FARO_ROLE_LUCK);
  *source = faro_source_simulated(&a->noise);
  if (p->use == FARO_USE_NONE || p->use == FARO_USE_SIMULATED) return FARO_OK;
  if (p->use != FARO_USE_SERVER && p->use != FARO_USE_ALL_PARTIES)
    return faro_fail(error, FARO_INVALID,
                     "use must be a simulation, a server or all parties: clients have no agent");
  const faro_status status = faro_secure_open(&a->secure, error);
  if (status == FARO_OK)
    *source = p->use == FARO_USE_SERVER ? faro_source_server(a->secure) : faro_source_all_parties(a->secure);
  return status;
}

static faro_status make_contribution(const faro_agent_params *p, faro_contribution *contribution,
                                     faro_error *error) {
  if (p->public_arms && p->use != FARO_USE_NONE && p->use != FARO_USE_SIMULATED)
    return faro_fail(error, FARO_INVALID, "protecting rewards only (public_arms) is for simulation");
  if (p->public_arms && p->link != FARO_LINK_LINEAR)
    return faro_fail(error, FARO_INVALID,
                     "protecting rewards only (public_arms) needs linear rewards (got %s)",
                     faro_link_name(p->link));
  if (p->blocks > 1 && (p->public_arms || p->link != FARO_LINK_LINEAR))
    return faro_fail(error, FARO_INVALID,
                     "blocks must be 1 where rewards are not linear, or only they are protected (got %zu)",
                     p->blocks);
  if (p->public_arms)
    return faro_contribution_rewards(contribution, p->dimension, p->norm, p->low, p->high, error);
  if (p->link != FARO_LINK_LINEAR)
    return faro_contribution_linearised(contribution, p->dimension, p->norm, p->link, p->bound, error);
  const faro_status status =
      faro_contribution_init(contribution, p->dimension, p->norm, p->low, p->high, error);
  return status == FARO_OK ? faro_contribution_split(contribution, p->blocks, error) : status;
}

static faro_status refuse_release(const char *name, faro_error *error) {
  const char *names[NAMES_MAX];
  size_t count = 0;
  char hint[FARO_HINT];
  for (; count < faro_release_kinds() && count < NAMES_MAX; count++)
    names[count] = faro_release_kind_at(count)->name;
  return faro_fail(error, FARO_INVALID, "release must be one that `faro list releases` shows (got %.40s)%s",
                   name ? name : "nothing", faro_hint(name ? name : "", names, count, hint));
}

static faro_status make_sums(faro_agent *a, faro_error *error) {
  const faro_agent_params *p = &a->params;
  const faro_release_kind *kind = p->release ? faro_release_kind_find(p->release) : NULL;
  if (!kind) return refuse_release(p->release, error);
  const faro_release_params params = release_params(a);
  faro_source source;
  faro_status status = make_contribution(p, &a->contribution, error);
  if (status == FARO_OK) status = make_source(a, &source, error);
  return status == FARO_OK ? faro_doubling_create(&a->sums, kind, &a->contribution, &params, source, error)
                           : status;
}

/* The noise of the sums that the learner sees. */
static faro_noise noise_of(faro_agent *a, faro_noise noise) {
  return a->params.public_arms ? faro_public_noise(&a->arms, noise, a->arms.scale) : noise;
}

static faro_status make_updater(faro_agent *a, faro_error *error) {
  const faro_agent_params *p = &a->params;
  const bool tight = a->calibration == FARO_CALIBRATION_TIGHT;
  const uint64_t horizon = faro_doubling_horizon(a->sums);
  const faro_noise noise = noise_of(a, faro_doubling_noise(a->sums));
  const double share = p->anytime ? 1 / ((double)a->epoch * (double)(a->epoch + 1)) : 1;
  const faro_updater_params params = {.dimension = p->dimension,
                                      .blocks = p->blocks,
                                      .horizon = horizon,
                                      .ends = !p->anytime,
                                      .releases = faro_release_batches(faro_agent_release(a)),
                                      .norm = p->norm,
                                      .failure = share * p->failure,
                                      .link = p->link,
                                      .bound = p->bound,
                                      .reward = noise.answer > 0 ? noise.answer
                                                : tight          ? (p->high - p->low) / 2
                                                                 : 1,
                                      .calibration = a->calibration,
                                      .noise = noise,
                                      .settings = p->settings};
  return faro_updater_create(&a->updater, a->learner, &params, error);
}

static faro_status build(faro_agent *a, faro_error *error) {
  const faro_agent_params *p = &a->params;
  a->epoch = 1;
  faro_status status = find_learner(p->learner, &a->learner, error);
  if (status == FARO_OK) status = find_calibration(p->calibration, &a->calibration, error);
  if (status == FARO_OK) status = make_sums(a, error);
  if (status == FARO_OK && p->public_arms)
    status = faro_public_init(&a->arms, &a->contribution, &a->arena, error);
  if (status == FARO_OK) status = make_updater(a, error);
  if (status == FARO_OK) status = faro_selector_create(&a->selector, p->dimension, p->arms, error);
  return status;
}

faro_status faro_agent_create(faro_agent **agent, const faro_agent_params *params, faro_error *error) {
  faro_arena arena = {0};
  faro_agent *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  if (!made) return FARO_MEMORY;
  *made = (faro_agent){.arena = arena, .params = *params};
  set_defaults(&made->params);
  const faro_status status = build(made, error);
  if (status == FARO_OK) *agent = made;
  else faro_agent_destroy(made);
  return status;
}

void faro_agent_destroy(faro_agent *agent) {
  if (!agent) return;
  faro_selector_destroy(agent->selector);
  faro_updater_destroy(agent->updater);
  faro_doubling_destroy(agent->sums);
  faro_secure_close(agent->secure);
  faro_arena arena = agent->arena;
  faro_arena_free(&arena);
}

/* Choosing. */

static faro_rng *luck_of(faro_agent *a) { return a->secure ? faro_secure_face(a->secure) : &a->luck.rng; }

size_t faro_agent_choose_from(faro_agent *agent, const faro_arms *arms) {
  return faro_select(agent->selector, faro_updater_policy(agent->updater), arms, luck_of(agent));
}

size_t faro_agent_choose(faro_agent *agent, const double *features, size_t arms) {
  return faro_select_rows(agent->selector, faro_updater_policy(agent->updater), features, arms,
                          luck_of(agent));
}

/* Learning. */

static void learn(faro_agent *a) {
  faro_statistics statistics = faro_doubling_statistics(a->sums);
  if (a->params.public_arms) statistics = faro_public_extend(&a->arms, &statistics);
  faro_updater_update(a->updater, &statistics);
  if (a->params.link != FARO_LINK_LINEAR)
    faro_doubling_linearise(a->sums, faro_updater_policy(a->updater)->theta);
}

/* Starts the next epoch. On failure the old one stays. */
static faro_status double_horizon(faro_agent *a, faro_error *error) {
  faro_status status = faro_doubling_next(a->sums, error);
  if (status != FARO_OK || a->learner->carries) return status;
  faro_updater *old = a->updater;
  const faro_diagnostics now = faro_updater_diagnose(old);
  a->epoch++;
  status = make_updater(a, error);
  if (status != FARO_OK) return status;
  a->past.updates += now.updates;
  a->past.shifted += now.shifted;
  faro_updater_destroy(old);
  learn(a);
  return FARO_OK;
}

static faro_status publish(faro_agent *a, faro_error *error) {
  a->batches++;
  learn(a);
  return a->params.anytime && faro_doubling_spent(a->sums) ? double_horizon(a, error) : FARO_OK;
}

faro_status faro_agent_learn(faro_agent *agent, const double *x, double reward, faro_error *error) {
  return faro_agent_learn_alike(agent, x, reward, 1, error);
}

faro_status faro_agent_learn_alike(faro_agent *agent, const double *x, double reward, uint64_t people,
                                   faro_error *error) {
  if (people > 1 && agent->secure)
    return faro_fail(error, FARO_INVALID,
                     "people must be 0 or 1 in a deployment (got %llu): each has noise of their own",
                     (unsigned long long)people);
  const uint64_t missing = faro_release_missing(faro_agent_release(agent));
  if (people > missing) people = missing;
  if (agent->params.public_arms) faro_public_add(&agent->arms, x, (double)people);
  const bool published = faro_doubling_absorb_alike(agent->sums, x, reward - agent->params.centre, people);
  return published ? publish(agent, error) : FARO_OK;
}

faro_status faro_agent_analyze(faro_agent *agent, const void *messages, size_t count, faro_error *error) {
  const faro_status status = faro_doubling_analyze(agent->sums, messages, count, error);
  return status == FARO_OK ? publish(agent, error) : status;
}

/* Questions. */

const faro_policy *faro_agent_policy(const faro_agent *agent) { return faro_updater_policy(agent->updater); }
const faro_claim *faro_agent_claim(const faro_agent *agent) {
  return faro_release_claim(faro_agent_release(agent));
}
faro_cost faro_agent_cost(const faro_agent *agent) { return faro_release_cost(faro_agent_release(agent)); }
char *faro_agent_grounds(const faro_agent *agent) {
  return faro_doubling_grounds(agent->sums, agent->params.horizon);
}
const faro_release *faro_agent_release(const faro_agent *agent) { return faro_doubling_release(agent->sums); }
uint64_t faro_agent_batch(const faro_agent *agent) { return faro_release_batch(faro_agent_release(agent)); }
uint64_t faro_agent_batches(const faro_agent *agent) { return agent->batches; }

faro_statistics faro_agent_statistics(const faro_agent *agent) {
  return faro_doubling_statistics(agent->sums);
}

bool faro_agent_done(const faro_agent *agent) {
  return !agent->params.anytime && faro_doubling_spent(agent->sums);
}

faro_diagnostics faro_agent_diagnose(const faro_agent *agent) {
  const faro_diagnostics now = faro_updater_diagnose(agent->updater);
  return (faro_diagnostics){.updates = agent->past.updates + now.updates,
                            .shifted = agent->past.shifted + now.shifted};
}

/* State: that of the release, then what the learner remembers, if it remembers anything. */

static size_t memory_size(const faro_agent *a) {
  double *memory;
  return faro_updater_memory(a->updater, &memory) * sizeof *memory;
}

size_t faro_agent_state_size(const faro_agent *agent) {
  const size_t size = faro_doubling_state_size(agent->sums);
  return size > 0 ? size + memory_size(agent) : 0;
}

faro_status faro_agent_save(const faro_agent *agent, void *state, faro_error *error) {
  const faro_status status = faro_doubling_save(agent->sums, state, error);
  if (status != FARO_OK) return status;
  double *memory;
  const size_t size = faro_updater_memory(agent->updater, &memory) * sizeof *memory;
  if (size > 0) memcpy((char *)state + faro_doubling_state_size(agent->sums), memory, size);
  return FARO_OK;
}

/* Every number that a learner remembers is finite. */
static faro_status check_memory(const char *bytes, size_t count, faro_error *error) {
  for (size_t i = 0; i < count; i++) {
    double value;
    memcpy(&value, bytes + i * sizeof value, sizeof value);
    if (!isfinite(value))
      return faro_fail(error, FARO_INVALID, "number %zu of the learner's state is not finite", i);
  }
  return FARO_OK;
}

/* Without a memory, the policy follows from the sums alone. */
faro_status faro_agent_load(faro_agent *agent, const void *state, size_t size, faro_error *error) {
  double *memory;
  const size_t count = faro_updater_memory(agent->updater, &memory);
  const size_t own = count * sizeof *memory;
  if (size < own)
    return faro_fail(error, FARO_INVALID, "the state must have %zu bytes (got %zu)",
                     faro_agent_state_size(agent), size);
  const char *bytes = (const char *)state + (size - own);
  faro_status status = check_memory(bytes, count, error);
  if (status == FARO_OK) status = faro_doubling_load(agent->sums, state, size - own, error);
  if (status != FARO_OK) return status;
  agent->batches = faro_doubling_statistics(agent->sums).releases;
  if (own > 0) memcpy(memory, bytes, own);
  const faro_statistics statistics = faro_doubling_statistics(agent->sums);
  if (agent->batches > 0) faro_updater_resume(agent->updater, &statistics);
  if (agent->params.link != FARO_LINK_LINEAR)
    faro_doubling_linearise(agent->sums, faro_updater_policy(agent->updater)->theta);
  return FARO_OK;
}
