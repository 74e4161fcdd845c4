/* linear-known: contextual bandits whose contexts come from a known distribution, as linear bandits
 * without contexts. Hanna et al. 2022, section III-A (after Hanna, Yang & Fragouli 2022).
 *
 *   c         a context: `actions` actions with features phi(a, c), independent and uniform on the
 *             sphere
 *   theta_j   the parameter that arm j stands for: a user who is told j plays the best action under
 *             theta_j
 *   g_j       = E_c[ phi of that action ]: the features of arm j, as its mean reward is <g_j,
 *             theta>
 *
 * g is estimated once from `samples` contexts drawn from the known distribution, before anybody has
 * played. So no private data goes into it, and a user returns only a reward. The best of all
 * policies responds to theta itself. What the best arm loses against it is part of the regret, and
 * decreases with the number of arms. */
#include <math.h>
#include <string.h>

#include "env/kind.h"
#include "linalg/lanes.h"

typedef struct known {
  faro_env env;
  size_t actions;
  uint64_t samples;
  double *direction; /* theta_j of each arm */
  double *offer;     /* the actions of a context */
  double *square;    /* sums of squares of the arms' features over the samples */
  double *column;    /* the directions as columns, as many as there is room for */
  size_t *response;  /* the action that each arm plays in a context */
  double top;        /* mean reward of the best response to theta */
} known;

static known *known_of(faro_env *env) { return (known *)(void *)env; }

static const faro_setting settings[] = {
    {"actions", FARO_SETTING_COUNT, offsetof(faro_env_settings, actions), 2, 1000, 10, NULL,
     "linear-known only: actions offered in a context"},
    {"samples", FARO_SETTING_COUNT, offsetof(faro_env_settings, samples), 100, 1e7, 10000, NULL,
     "linear-known only: contexts drawn in advance, to find the mean features of each arm"},
    {0}};

static faro_status check(const faro_env_rules *rules, const faro_env_params *p, faro_error *error) {
  const faro_env_settings *own = p->settings;
  if (own->actions < 2 || own->samples < 1)
    return faro_fail(error, FARO_INVALID, "actions must be 2 or more, samples 1 or more (got %llu, %llu)",
                     (unsigned long long)own->actions, (unsigned long long)own->samples);
  if (p->draw != FARO_DRAW_SPHERE)
    return faro_fail(error, FARO_INVALID, "draw must be sphere for %s", rules->about.name);
  return faro_env_check_arms(p, error);
}

static faro_status init(faro_env *env, faro_error *error) {
  known *k = known_of(env);
  const faro_env_settings *own = env->params.settings;
  const size_t d = env->params.dimension;
  k->actions = (size_t)own->actions;
  k->samples = own->samples;
  const faro_status status = faro_env_make_arms(env, env->params.arms, error);
  if (status != FARO_OK) return status;
  k->direction = faro_arena_alloc(&env->arena, d * env->arms.count, sizeof *k->direction, error);
  k->offer = faro_arena_alloc(&env->arena, d * k->actions, sizeof *k->offer, error);
  k->square = faro_arena_alloc(&env->arena, d * env->arms.stride, sizeof *k->square, error);
  k->column = faro_arena_alloc(&env->arena, d * env->arms.stride, sizeof *k->column, error);
  k->response = faro_arena_alloc(&env->arena, env->arms.stride, sizeof *k->response, error);
  return k->direction && k->offer && k->square && k->column && k->response ? FARO_OK : FARO_MEMORY;
}

static const double *best_response(const known *k, const double *theta) {
  const size_t d = k->env.params.dimension;
  size_t best = 0;
  double most = -INFINITY;
  for (size_t a = 0; a < k->actions; a++) {
    double value = 0;
    for (size_t i = 0; i < d; i++) value += k->offer[a * d + i] * theta[i];
    if (value <= most) continue;
    most = value;
    best = a;
  }
  return k->offer + best * d;
}

static void draw_context(known *k, faro_sim_rng *sim) {
  const size_t d = k->env.params.dimension;
  faro_linear_normals(sim, k->actions * d, k->offer, 1);
  for (double *u = k->offer; u < k->offer + k->actions * d; u += d) {
    double square = 0;
    for (size_t i = 0; i < d; i++) square += u[i] * u[i];
    const double scale = 1 / sqrt(square);
    for (size_t i = 0; i < d; i++) u[i] *= scale;
  }
}

/* The best responses of all arms, in vectors of arms: as best_response has them. */
typedef double four __attribute__((vector_size(32)));
typedef double four_loose __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t choice_of_four __attribute__((vector_size(32)));

static inline FARO_BODY void respond_body(const known *k) {
  const size_t d = k->env.params.dimension;
  const size_t stride = k->env.arms.stride;
  for (size_t j = 0; j < stride; j += 4) {
    four most = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    choice_of_four best = {0};
    for (size_t a = 0; a < k->actions; a++) {
      four value = {0};
      for (size_t i = 0; i < d; i++)
        value += k->offer[a * d + i] * *(const four_loose *)(const void *)(k->column + i * stride + j);
      const choice_of_four better = value > most;
      const choice_of_four action = (choice_of_four){0} + (int64_t)a;
      most = (four)(((choice_of_four)value & better) | ((choice_of_four)most & ~better));
      best = (action & better) | (best & ~better);
    }
    for (size_t l = 0; l < 4; l++) k->response[j + l] = (size_t)best[l];
  }
}

static void portable_respond(const known *k) { respond_body(k); }
FARO_AVX static void avx_respond(const known *k) { respond_body(k); }

static void respond(const known *k) {
  if (faro_lanes_here() == FARO_LANES_PORTABLE) portable_respond(k);
  else avx_respond(k);
}

/* Sums and sums of squares of every arm's features over the samples. */
static void sample(known *k) {
  faro_env *env = &k->env;
  const size_t d = env->params.dimension;
  memset(env->arms.x, 0, d * env->arms.stride * sizeof *env->arms.x);
  memset(k->square, 0, d * env->arms.stride * sizeof *k->square);
  k->top = 0;
  for (size_t j = 0; j < env->arms.count; j++)
    for (size_t i = 0; i < d; i++) k->column[i * env->arms.stride + j] = k->direction[j * d + i];
  for (uint64_t n = 0; n < k->samples; n++) {
    draw_context(k, &env->instance);
    const double *best = best_response(k, env->theta);
    for (size_t i = 0; i < d; i++) k->top += best[i] * env->theta[i] / (double)k->samples;
    respond(k);
    for (size_t i = 0; i < d; i++)
      for (size_t j = 0; j < env->arms.count; j++) {
        const double phi = k->offer[k->response[j] * d + i];
        env->arms.x[i * env->arms.stride + j] += phi;
        k->square[i * env->arms.stride + j] += phi * phi;
      }
  }
}

/* Computes means and the largest standard error: at most the root of the summed variances, in any
 * direction. */
static void settle(known *k) {
  faro_env *env = &k->env;
  const size_t d = env->params.dimension;
  const double n = (double)k->samples;
  env->error = 0;
  for (size_t j = 0; j < env->arms.count; j++) {
    double variance = 0;
    for (size_t i = 0; i < d; i++) {
      double *x = &env->arms.x[i * env->arms.stride + j];
      *x /= n;
      variance += k->square[i * env->arms.stride + j] / n - *x * *x;
    }
    env->error = fmax(env->error, sqrt(fmax(variance, 0) / n));
  }
  faro_linear_settle(env);
  env->best = fmax(env->best, k->top); /* the best policy may be better than every arm */
}

static bool same(const faro_env *env, size_t a, size_t b) {
  for (size_t i = 0; i < env->params.dimension; i++)
    if (env->arms.x[i * env->arms.stride + a] != env->arms.x[i * env->arms.stride + b]) return false;
  return true;
}

static void move(known *k, size_t to, size_t from) {
  faro_env *env = &k->env;
  const size_t d = env->params.dimension;
  for (size_t i = 0; i < d; i++) {
    env->arms.x[i * env->arms.stride + to] = env->arms.x[i * env->arms.stride + from];
    k->square[i * env->arms.stride + to] = k->square[i * env->arms.stride + from];
    k->direction[to * d + i] = k->direction[from * d + i];
  }
}

/* Parameters that are so near each other that they choose the same action in every context are one
 * arm. Columns beyond the count stay zero. */
static void merge(known *k) {
  faro_env *env = &k->env;
  size_t kept = 0;
  for (size_t j = 0; j < env->arms.count; j++) {
    bool seen = false;
    for (size_t i = 0; i < kept && !seen; i++) seen = same(env, i, j);
    if (seen) continue;
    if (kept != j) move(k, kept, j);
    kept++;
  }
  for (size_t j = kept; j < env->arms.count; j++)
    for (size_t i = 0; i < env->params.dimension; i++) env->arms.x[i * env->arms.stride + j] = 0;
  env->arms.count = kept;
}

static void draw(known *k) {
  faro_env *env = &k->env;
  env->arms.count = env->params.arms;
  for (size_t j = 0; j < env->arms.count; j++)
    faro_linear_unit(&env->instance, env->params.dimension, k->direction + j * env->params.dimension, 1);
  sample(k);
  merge(k);
}

/* Makes sure that an instance has at least two arms. */
static void begin(faro_env *env) {
  known *k = known_of(env);
  faro_linear_draw_parameter(env);
  do draw(k);
  while (env->arms.count < 2);
  settle(k);
}

/* The user sees a context, plays the best response to the parameter of the arm, and gets that
 * action's reward. */
static double pull(faro_env *env, size_t arm) {
  known *k = known_of(env);
  const size_t d = env->params.dimension;
  draw_context(k, &env->context);
  const double *phi = best_response(k, k->direction + arm * d);
  double mean = 0;
  for (size_t i = 0; i < d; i++) mean += phi[i] * env->theta[i];
  return faro_linear_reward(env, mean);
}

const faro_env_rules faro_env_linear_known = {
    .about = {.name = "linear-known",
              .summary = "contexts from a known distribution: arms are parameters to respond to",
              .traits = FARO_ENV_STAYS | FARO_ENV_CONTEXTS,
              .settings = settings,
              .settings_size = sizeof(faro_env_settings)},
    .size = sizeof(known),
    .check = check,
    .init = init,
    .begin = begin,
    .pull = pull,
};
