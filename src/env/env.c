/* env: the registry of environments, and what all of them share. */
#include <math.h>
#include <string.h>

#include "base/names.h"
#include "data/table.h"
#include "env/worlds.h"

#define ENV(id) extern const faro_env_rules faro_env_##id;
#include "env/envs.def"
#undef ENV

static const faro_env_rules *const kinds[] = {
#define ENV(id) &faro_env_##id,
#include "env/envs.def"
#undef ENV
};

enum { BUILT_IN = sizeof kinds / sizeof *kinds };

size_t faro_env_count(void) { return BUILT_IN + faro_worlds_count(); }

const faro_env_kind *faro_env_at(size_t index) {
  return index < BUILT_IN ? &kinds[index]->about : &faro_worlds_at(index - BUILT_IN)->about;
}

const faro_env_kind *faro_env_find(const char *name) {
  for (size_t i = 0; i < faro_env_count(); i++)
    if (strcmp(faro_env_at(i)->name, name) == 0) return faro_env_at(i);
  return NULL;
}

FARO_FIND(faro_reward, FARO_REWARD_LIST)
FARO_FIND(faro_draw, FARO_DRAW_LIST)

static const faro_env_rules *rules_of(const faro_env_kind *kind) {
  return (const faro_env_rules *)(const void *)kind; /* its first member */
}

static bool has(const faro_env *env, unsigned trait) { return env->rules->about.traits & trait; }

bool faro_draws_plainly(const faro_env_params *p) {
  return p->draw == FARO_DRAW_SPHERE || p->draw == FARO_DRAW_BALL;
}

/* The parameters with the kind's default settings where no settings are given. */
static faro_env_params complete(const faro_env_kind *kind, const faro_env_params *params,
                                faro_env_settings *preset) {
  faro_env_params made = *params;
  *preset = (faro_env_settings){0};
  if (made.settings || kind->settings_size > sizeof *preset) return made;
  faro_settings_preset(kind->settings, preset);
  made.settings = preset;
  return made;
}

static faro_status check_stream(const faro_env_kind *kind, const faro_env_params *p, faro_error *error) {
  if (p->population == 0) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "population must be new for %s, because nobody returns to a stream (got %llu)", kind->name,
                   (unsigned long long)p->population);
}

faro_status faro_env_check_arms(const faro_env_params *p, faro_error *error) {
  if (p->arms < 2 || p->arms > 1000000)
    return faro_fail(error, FARO_INVALID, "arms must be 2 .. 1000000 (got %zu)", p->arms);
  if (p->dimension * p->arms > 10000000)
    return faro_fail(error, FARO_INVALID, "arms x dimension must be at most 10^7 (got %zu x %zu)", p->arms,
                     p->dimension);
  return FARO_OK;
}

static faro_status check(const faro_env_rules *rules, const faro_env_params *p, faro_error *error) {
  if (rules->about.traits & FARO_ENV_STREAM) return check_stream(&rules->about, p, error);
  if (p->dimension < 2 || p->dimension > FARO_DIMENSION_MAX)
    return faro_fail(error, FARO_INVALID, "dimension must be 2 .. %d (got %zu)", FARO_DIMENSION_MAX,
                     p->dimension);
  if (p->population > 1000000000)
    return faro_fail(error, FARO_INVALID, "population must be at most 10^9 (got %llu)",
                     (unsigned long long)p->population);
  return rules->check ? rules->check(rules, p, error) : faro_env_check_arms(p, error);
}

faro_status faro_env_check(const faro_env_kind *kind, const faro_env_params *params, faro_error *error) {
  faro_env_settings preset;
  const faro_env_params complete_params = complete(kind, params, &preset);
  return check(rules_of(kind), &complete_params, error);
}

/* Means (1 + <u, v>) / 2 and those of axes are in [0, 1], those of plain draws in [-1, 1]; the
 * published draw is not scaled. */
static faro_env_facts describe(const faro_env_rules *rules, const faro_env_params *p) {
  faro_env_facts facts = {.norm = p->draw == FARO_DRAW_PUBLISHED ? sqrt(2) : 1,
                          .low = faro_draws_plainly(p) ? -1 : 0,
                          .high = 1,
                          .bound = p->draw == FARO_DRAW_AXES ? sqrt((double)p->dimension) : 1};
  if (rules->describe) rules->describe(p, &facts);
  return rules->facts ? *rules->facts : facts;
}

faro_env_facts faro_env_describe(const faro_env_kind *kind, const faro_env_params *params) {
  faro_env_settings preset;
  const faro_env_params complete_params = complete(kind, params, &preset);
  return describe(rules_of(kind), &complete_params);
}

faro_status faro_env_make_arms(faro_env *env, size_t count, faro_error *error) {
  const size_t d = has(env, FARO_ENV_STREAM) ? 1 : env->params.dimension;
  const size_t stride = faro_arm_stride(count);
  env->arms = (faro_arms){.dimension = d, .count = count, .stride = stride};
  env->arms.x = faro_arena_alloc(&env->arena, d * stride, sizeof *env->arms.x, error);
  env->theta = faro_arena_alloc(&env->arena, d, sizeof *env->theta, error);
  env->mean = faro_arena_alloc(&env->arena, stride, sizeof *env->mean, error);
  return env->arms.x && env->theta && env->mean ? FARO_OK : FARO_MEMORY;
}

static faro_status build(faro_env *env, faro_error *error) {
  const faro_env_kind *kind = &env->rules->about;
  void *own = faro_arena_alloc(&env->arena, 1, kind->settings_size + 1, error);
  if (!own) return FARO_MEMORY;
  if (kind->settings && env->params.settings) memcpy(own, env->params.settings, kind->settings_size);
  else faro_settings_preset(kind->settings, own);
  env->params.settings = own;
  const faro_env_facts facts = describe(env->rules, &env->params);
  env->low = facts.low;
  env->high = facts.high;
  if (env->rules->init) return env->rules->init(env, error);
  return faro_env_make_arms(env, has(env, FARO_ENV_STREAM) ? 1 : env->params.arms, error);
}

faro_status faro_env_create(faro_env **env, const faro_env_kind *kind, const faro_env_params *params,
                            faro_error *error) {
  faro_env_settings preset;
  const faro_env_params complete_params = complete(kind, params, &preset);
  faro_status status = check(rules_of(kind), &complete_params, error);
  if (status != FARO_OK) return status;
  faro_arena arena = {0};
  faro_env *made = faro_arena_alloc(&arena, 1, rules_of(kind)->size, error);
  if (!made) return FARO_MEMORY;
  *made = (faro_env){.rules = rules_of(kind), .arena = arena, .params = complete_params};
  status = build(made, error);
  if (status == FARO_OK) *env = made;
  else faro_env_destroy(made);
  return status;
}

void faro_env_destroy(faro_env *env) {
  if (!env) return;
  if (env->rules->destroy) env->rules->destroy(env);
  faro_arena arena = env->arena;
  faro_arena_free(&arena);
}

/* Users have a random stream of their own: the same people come whatever else is drawn, and nothing
 * else changes with the population. */
static void call_user(faro_env *env) {
  if (has(env, FARO_ENV_ROWS)) return; /* the row says who it is */
  const double n = (double)env->params.population;
  env->user = n > 0 ? (uint64_t)(n * faro_sim_uniform(&env->visitor)) : env->round;
}

void faro_env_begin(faro_env *env, uint64_t seed, uint64_t instance) {
  faro_sim_open(&env->instance, seed, instance, FARO_ROLE_INSTANCE);
  faro_sim_open(&env->context, seed, instance, FARO_ROLE_CONTEXT);
  faro_sim_open(&env->reward, seed, instance, FARO_ROLE_REWARD);
  faro_sim_open(&env->visitor, seed, instance, FARO_ROLE_VISITOR);
  env->round = 0;
  call_user(env);
  env->rules->begin(env);
}

/* The average gap of all arms in this round. */
static double average_gap(const faro_env *env) {
  double sum = 0;
  for (size_t a = 0; a < env->arms.count; a++) sum += faro_env_gap(env, a);
  return sum / (double)env->arms.count;
}

/* One round drawn from each of at most SAMPLES equal parts of the horizon. Arms that depend on the
 * round (adversarial) are hit in all of its parts, and fresh ones are drawn as they are played. */
static double sample_gap(faro_env *env, faro_sim_rng *pick) {
  enum { SAMPLES = 256 };
  const uint64_t horizon = env->params.horizon;
  const uint64_t parts = horizon < SAMPLES ? horizon : SAMPLES;
  double sum = 0;
  for (uint64_t i = 0; i < parts; i++) {
    const double place = ((double)i + faro_sim_uniform(pick)) / (double)parts;
    const uint64_t round = (uint64_t)(place * (double)horizon);
    env->round = round < horizon ? round : horizon - 1;
    env->rules->next(env);
    sum += average_gap(env);
  }
  return sum / (double)parts;
}

faro_yardstick faro_env_begin_measured(faro_env *env, uint64_t seed, uint64_t instance) {
  const double horizon = (double)env->params.horizon;
  faro_env_begin(env, seed, instance);
  if (has(env, FARO_ENV_STREAM) || has(env, FARO_ENV_ROWS))
    return (faro_yardstick){.uniform = (double)NAN, .fixed = (double)NAN};
  const uint64_t version = env->arms.version;
  if (env->rules->next) env->rules->next(env);
  if (env->arms.version == version)
    return (faro_yardstick){.uniform = horizon * average_gap(env),
                            .fixed = horizon * faro_env_gap(env, faro_env_best(env))};
  faro_sim_rng pick;
  faro_sim_open(&pick, seed, instance, FARO_ROLE_YARDSTICK);
  const double gap = sample_gap(env, &pick);
  faro_env_begin(env, seed, instance);
  return (faro_yardstick){.uniform = horizon * gap, .fixed = (double)NAN};
}

double faro_env_begin_kappa(faro_env *env, uint64_t seed, uint64_t instance) {
  const faro_link link = env->rules->about.link;
  double least = 1;
  faro_env_begin(env, seed, instance);
  if (link == FARO_LINK_LINEAR) return 1;
  for (uint64_t round = 0; round < env->params.horizon; round++) {
    env->round = round;
    if (round > 0 && env->rules->next) env->rules->next(env);
    for (size_t a = 0; a < env->arms.count; a++) {
      const double slope = faro_link_slope(link, env->mean[a]);
      least = round == 0 && a == 0 ? slope : fmin(least, slope);
    }
  }
  faro_env_begin(env, seed, instance);
  return 1 / least;
}

faro_status faro_env_read(const faro_env_kind *kind, faro_env_params *params, faro_error *error) {
  const faro_env_rules *rules = rules_of(kind);
  return rules->read ? rules->read(params, error) : FARO_OK;
}

faro_status faro_env_once(const faro_env_kind *kind, const faro_env_params *params, faro_error *error) {
  const faro_env_rules *rules = rules_of(kind);
  return rules->once ? rules->once(params, error) : FARO_OK;
}

void faro_env_unread(faro_env_params *params) {
  faro_table_close(params->table);
  params->table = NULL;
}

bool faro_env_takes(faro_env *env, size_t arm) { return !env->rules->takes || env->rules->takes(env, arm); }

faro_env_tally faro_env_tally_of(const faro_env *env) {
  const double none = (double)NAN;
  return env->rules->tally ? env->rules->tally(env) : (faro_env_tally){none, none, none, none, none, none};
}

faro_status faro_env_status(const faro_env *env, faro_error *error) {
  return env->rules->status ? env->rules->status(env, error) : FARO_OK;
}

double faro_env_least_error(const faro_env *env) {
  return env->rules->least_error ? env->rules->least_error(&env->params) : 0;
}

void faro_env_bits(faro_env *env, uint64_t count, uint64_t *bits) {
  if (env->rules->bits) env->rules->bits(env, count, bits);
  else memset(bits, 0, (size_t)((count + 63) / 64) * sizeof *bits);
}

double faro_env_value(faro_env *env) {
  uint64_t bit = 0;
  if (!env->rules->bits) return (double)NAN;
  env->rules->bits(env, 1, &bit);
  return (double)(bit & 1);
}

const faro_arms *faro_env_arms(const faro_env *env) { return &env->arms; }
uint64_t faro_env_user(const faro_env *env) { return env->user; }
double faro_env_error(const faro_env *env) { return env->error; }

/* The mean reward of an arm. */
static double mean_of(const faro_env *env, size_t arm) {
  return faro_link_mean(env->rules->about.link, env->mean[arm]);
}

double faro_env_gap(const faro_env *env, size_t arm) { return env->best - mean_of(env, arm); }

void faro_env_client(faro_env *env, size_t support, const size_t *arm, const uint64_t *pulls,
                     double *average) {
  if (env->rules->client) env->rules->client(env, support, arm, pulls, average);
  else
    for (size_t i = 0; i < support; i++) average[i] = (double)NAN;
}

/* The reward of an arm that is played. */
static double draw_reward(faro_env *env, size_t arm) {
  return env->rules->reward ? env->rules->reward(env, arm) : faro_linear_reward(env, mean_of(env, arm));
}

double faro_env_pull(faro_env *env, size_t arm) {
  return env->rules->pull ? env->rules->pull(env, arm) : draw_reward(env, arm);
}

/* Rewards of two values are drawn around the mean by faro_linear_reward. */
static faro_env_rewards draw_rewards(faro_env *env, size_t arm, uint64_t times,
                                     double (*one)(faro_env *, size_t arm)) {
  faro_env_rewards rewards = {0};
  if (!one && faro_linear_counts(env)) {
    rewards.high = faro_linear_count(env, mean_of(env, arm), times);
    rewards.low = times - rewards.high;
    rewards.sum = (double)rewards.high + env->low * (double)rewards.low;
    return rewards;
  }
  for (uint64_t i = 0; i < times; i++) rewards.sum += one ? one(env, arm) : draw_reward(env, arm);
  return rewards;
}

faro_env_rewards faro_env_pull_times(faro_env *env, size_t arm, uint64_t times) {
  return draw_rewards(env, arm, times, env->rules->pull ? env->rules->pull : env->rules->reward);
}

bool faro_env_counts_pulls(const faro_env *env) {
  return !env->rules->pull && !env->rules->reward && faro_linear_counts(env);
}

size_t faro_env_best(const faro_env *env) {
  size_t best = 0;
  for (size_t a = 1; a < env->arms.count; a++)
    if (env->mean[a] > env->mean[best]) best = a;
  return best;
}

double faro_env_play(faro_env *env, size_t arm, double *x) { return faro_env_play_alike(env, arm, 1, x); }

static void copy_features(const faro_env *env, size_t arm, double *x) {
  for (size_t i = 0; i < env->arms.dimension; i++) x[i] = env->arms.x[i * env->arms.stride + arm];
}

bool faro_env_stays(const faro_env *env) {
  return !env->rules->next && !has(env, FARO_ENV_STREAM) && !has(env, FARO_ENV_ROWS);
}

bool faro_env_counts(const faro_env *env) {
  return faro_env_stays(env) && !env->rules->reward && faro_linear_counts(env);
}

faro_env_rewards faro_env_play_times(faro_env *env, size_t arm, uint64_t times, double *x) {
  copy_features(env, arm, x);
  const faro_env_rewards rewards = draw_rewards(env, arm, times, env->rules->reward);
  for (uint64_t i = 1; i < times && env->params.population > 0; i++) call_user(env);
  env->round += times;
  if (times > 0) call_user(env);
  return rewards;
}

double faro_env_play_alike(faro_env *env, size_t arm, uint64_t users, double *x) {
  copy_features(env, arm, x);
  const double mean = mean_of(env, arm);
  const double one = has(env, FARO_ENV_ROWS) ? mean : draw_reward(env, arm);
  const double reward = users == 1 ? one : mean + (one - mean) / sqrt((double)users);
  if (env->rules->note) env->rules->note(env, arm);
  env->round += users;
  call_user(env);
  if (env->rules->next && env->round < env->params.horizon) env->rules->next(env);
  return reward;
}
