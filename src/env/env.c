/* env: the registry and what all environments share. */
#include <math.h>
#include <string.h>

#include "env/kind.h"

#define ENV(id) extern const faro_env_kind faro_env_##id;
#include "env/envs.def"
#undef ENV

static const faro_env_kind *const kinds[] = {
#define ENV(id) &faro_env_##id,
#include "env/envs.def"
#undef ENV
};

size_t faro_env_kinds(void) { return sizeof kinds / sizeof *kinds; }
const faro_env_kind *faro_env_kind_at(size_t index) { return kinds[index]; }
const char *faro_env_kind_name(const faro_env_kind *kind) { return kind->name; }
const char *faro_env_kind_summary(const faro_env_kind *kind) { return kind->summary; }
bool faro_env_kind_fixed(const faro_env_kind *kind) { return !kind->next && !kind->value; }
bool faro_env_kind_population(const faro_env_kind *kind) { return kind->clients; }
bool faro_env_kind_streams(const faro_env_kind *kind) { return kind->value != NULL; }
bool faro_env_kind_glm(const faro_env_kind *kind) { return kind->glm; }

faro_link faro_env_kind_link(const faro_env_kind *kind) { return kind->glm ? kind->link : FARO_LINK_LINEAR; }

const faro_env_kind *faro_env_kind_find(const char *name) {
  for (size_t i = 0; i < faro_env_kinds(); i++)
    if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
  return NULL;
}

static bool plain(const faro_env_params *p) {
  return p->draw == FARO_DRAW_SPHERE || p->draw == FARO_DRAW_BALL;
}

static faro_shape shape_of(const faro_env_params *p) {
  return p->draw == FARO_DRAW_BALL ? FARO_BALL : FARO_SPHERE;
}

static faro_status make_net(faro_points **net, const faro_env_params *p, faro_error *error) {
  return faro_points_net(net, shape_of(p), p->dimension, p->zeta, error);
}

/* A net of too many points is refused before any is made. */
static faro_status check_net(const faro_env_params *p, faro_error *error) {
  faro_points *none = NULL;
  return faro_net_size(shape_of(p), p->dimension, p->zeta) <= FARO_POINTS_MAX ? FARO_OK
                                                                              : make_net(&none, p, error);
}

faro_status faro_env_check(const faro_env_kind *kind, const faro_env_params *p, faro_error *error) {
  if (kind->value && p->population > 0)
    return faro_fail(error, FARO_INVALID,
                     "population must be new for %s: nobody returns to a stream (got %llu)", kind->name,
                     (unsigned long long)p->population);
  if (kind->value) return FARO_OK; /* no features, no arms */
  if (p->dimension < 2 || p->dimension > FARO_DIMENSION_MAX)
    return faro_fail(error, FARO_INVALID, "dimension must be 2 .. %d (got %zu)", FARO_DIMENSION_MAX,
                     p->dimension);
  if (kind->pull && (p->actions < 2 || p->samples < 1))
    return faro_fail(error, FARO_INVALID, "actions must be 2 or more, samples 1 or more (got %zu, %llu)",
                     p->actions, (unsigned long long)p->samples);
  if (kind->signs && p->draw != FARO_DRAW_SPHERE)
    return faro_fail(error, FARO_INVALID, "draw must be sphere for %s", kind->name);
  if (kind->glm && !plain(p))
    return faro_fail(error, FARO_INVALID, "draw must be ball or sphere for %s", kind->name);
  if (kind->glm && !(p->norm > 0 && p->norm <= 40))
    return faro_fail(error, FARO_INVALID, "norm must be above 0 and at most 40 (got %g)", p->norm);
  if (p->zeta > 0 && (kind->pull || kind->glm || !plain(p)))
    return faro_fail(error, FARO_INVALID,
                     "zeta must be 0 but for the draws sphere and ball of fixed arms (got %g)", p->zeta);
  if (p->zeta > 0) return check_net(p, error);
  if (p->arms < 2 || p->arms > 1000000)
    return faro_fail(error, FARO_INVALID, "arms must be 2 .. 1000000 (got %zu)", p->arms);
  if (p->dimension * p->arms > 10000000)
    return faro_fail(error, FARO_INVALID, "arms x dimension must be at most 10^7 (got %zu x %zu)", p->arms,
                     p->dimension);
  if (p->population > 1000000000)
    return faro_fail(error, FARO_INVALID, "population must be at most 10^9 (got %llu)",
                     (unsigned long long)p->population);
  return FARO_OK;
}

/* What linear-known needs beyond. */
static faro_status make_contexts(faro_env **env, faro_error *error) {
  faro_env *e = *env;
  const size_t d = e->params.dimension;
  e->direction = faro_arena_alloc(&e->arena, d * e->arms.count, sizeof *e->direction, error);
  e->offer = faro_arena_alloc(&e->arena, d * e->params.actions, sizeof *e->offer, error);
  e->square = faro_arena_alloc(&e->arena, d * e->arms.stride, sizeof *e->square, error);
  if (e->direction && e->offer && e->square) return FARO_OK;
  faro_env_destroy(e);
  *env = NULL;
  return FARO_MEMORY;
}

faro_status faro_env_create(faro_env **env, const faro_env_kind *kind, const faro_env_params *params,
                            faro_error *error) {
  const faro_status status = faro_env_check(kind, params, error);
  if (status != FARO_OK) return status;
  const size_t d = kind->value ? 1 : params->dimension; /* a stream's arms are never looked at */
  faro_points *net = NULL;
  if (params->zeta > 0) {
    const faro_status made_net = make_net(&net, params, error);
    if (made_net != FARO_OK) return made_net;
  }
  const size_t count = kind->value ? 1 : net ? faro_points_arms(net)->count : params->arms;
  const size_t stride = faro_arm_stride(count);
  faro_arena arena = {0};
  faro_env *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  double *x = faro_arena_alloc(&arena, d * stride, sizeof *x, error);
  double *theta = faro_arena_alloc(&arena, d, sizeof *theta, error);
  double *mean = faro_arena_alloc(&arena, stride, sizeof *mean, error);
  double *basis = faro_arena_alloc(&arena, d * d, sizeof *basis, error);
  if (!made || !x || !theta || !mean || !basis) {
    faro_arena_free(&arena);
    faro_points_destroy(net);
    return FARO_MEMORY;
  }
  *made = (faro_env){
      .kind = kind, .arena = arena, .params = *params, .theta = theta, .mean = mean, .basis = basis};
  made->arms = (faro_arms){.dimension = d, .count = count, .stride = stride, .x = x};
  made->net = net;
  if (net) memcpy(x, faro_points_arms(net)->x, d * stride * sizeof *x);
  *env = made;
  return kind->pull ? make_contexts(env, error) : FARO_OK;
}

void faro_env_destroy(faro_env *env) {
  if (!env) return;
  faro_points_destroy(env->net);
  faro_arena arena = env->arena;
  faro_arena_free(&arena);
}

/* A stream of its own: the same people come whatever else is drawn, and nothing else changes with the population. */
static void call_user(faro_env *env) {
  const double n = (double)env->params.population;
  env->user = n > 0 ? (uint64_t)(n * faro_sim_uniform(&env->visitor)) : env->round;
}

static void draw_parameter(faro_env *env) {
  const size_t d = env->params.dimension;
  if (plain(&env->params)) {
    faro_linear_unit(&env->instance, d, env->theta, 1);
    return;
  }
  const double last = env->params.draw == FARO_DRAW_PUBLISHED ? 0.5 : sqrt(0.5);
  faro_linear_unit(&env->instance, d - 1, env->theta, 1);
  for (size_t i = 0; i + 1 < d; i++) env->theta[i] *= last;
  env->theta[d - 1] = last;
}

void faro_env_begin(faro_env *env, uint64_t seed, uint64_t instance) {
  faro_sim_open(&env->instance, seed, instance, FARO_ROLE_INSTANCE);
  faro_sim_open(&env->context, seed, instance, FARO_ROLE_CONTEXT);
  faro_sim_open(&env->reward, seed, instance, FARO_ROLE_REWARD);
  faro_sim_open(&env->visitor, seed, instance, FARO_ROLE_VISITOR);
  env->round = 0;
  call_user(env);
  if (!env->kind->value && !env->kind->glm) draw_parameter(env);
  env->kind->begin(env);
}

double faro_env_value(faro_env *env) { return env->kind->value(env); }

const faro_arms *faro_env_arms(const faro_env *env) { return &env->arms; }
uint64_t faro_env_user(const faro_env *env) { return env->user; }

/* The mean reward of an arm. */
static double mean_of(const faro_env *env, size_t arm) {
  return faro_link_mean(faro_env_kind_link(env->kind), env->mean[arm]);
}

double faro_env_gap(const faro_env *env, size_t arm) { return env->best - mean_of(env, arm); }

double faro_env_norm(const faro_env_params *params) {
  return params->draw == FARO_DRAW_PUBLISHED ? sqrt(2) : 1;
}

double faro_env_low(const faro_env_kind *kind, const faro_env_params *params) {
  return !kind->glm && plain(params) ? -1 : 0;
}

double faro_linear_reward(faro_env *env, double mean) {
  const double u = faro_sim_uniform(&env->reward);
  const double low = faro_env_low(env->kind, &env->params);
  if (env->params.reward == FARO_REWARD_BERNOULLI) return u < (mean - low) / (1 - low) ? 1 : low;
  return mean + (2 * u - 1) * fmin(mean - low, 1 - mean);
}

/* theta_u = theta + noise: only its products with the arms matter. */
void faro_env_client(faro_env *env, size_t support, const size_t *arm, const uint64_t *pulls,
                     double *average) {
  const size_t d = env->params.dimension;
  double *own = env->basis;
  for (size_t i = 0; i < d; i++) own[i] = env->params.spread * faro_sim_normal(&env->context);
  for (size_t k = 0; k < support; k++) {
    const double *x = env->arms.x + arm[k];
    double mean = env->mean[arm[k]];
    for (size_t i = 0; i < d; i++) mean += own[i] * x[i * env->arms.stride];
    average[k] = mean + faro_sim_normal(&env->reward) / sqrt((double)pulls[k]);
  }
}

double faro_env_pull(faro_env *env, size_t arm) {
  return env->kind->pull ? env->kind->pull(env, arm) : faro_linear_reward(env, mean_of(env, arm));
}

double faro_env_error(const faro_env *env) { return env->error; }

size_t faro_env_best(const faro_env *env) {
  size_t best = 0;
  for (size_t a = 1; a < env->arms.count; a++)
    if (env->mean[a] > env->mean[best]) best = a;
  return best;
}

double faro_env_play(faro_env *env, size_t arm, double *x) {
  for (size_t i = 0; i < env->params.dimension; i++) x[i] = env->arms.x[i * env->arms.stride + arm];
  const double reward = faro_linear_reward(env, mean_of(env, arm));
  env->round++;
  call_user(env);
  if (env->kind->next && env->round < env->params.horizon) env->kind->next(env);
  return reward;
}
