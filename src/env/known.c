/* linear-known: contextual bandits whose contexts come from a known distribution, as linear bandits without contexts. 003
 * III-A (after Hanna, Yang, Fragouli 2022).
 *
 *   c         a context: `actions` actions with features phi(a, c), independent and uniform on the unit sphere
 *   theta_j   a parameter that arm j stands for: whoever is told j plays the action that is best under theta_j
 *   g_j       = E_c[ phi of that action ]: the features of arm j, since its mean reward is <g_j, theta>
 *
 * g is found once from `samples` contexts drawn from the known distribution, before anybody has done anything; so no private
 * data go into it, and a user returns nothing but a reward. The best of all policies responds to theta itself; what the arms
 * fall short of it is part of the regret, and falls with their number. */
#include <math.h>
#include <string.h>

#include "env/kind.h"

static const double *best_response(const faro_env *env, const double *theta) {
  const size_t d = env->params.dimension;
  size_t best = 0;
  double most = -INFINITY;
  for (size_t a = 0; a < env->params.actions; a++) {
    double value = 0;
    for (size_t i = 0; i < d; i++) value += env->offer[a * d + i] * theta[i];
    if (value <= most) continue;
    most = value;
    best = a;
  }
  return env->offer + best * d;
}

static void draw_context(faro_env *env, faro_sim_rng *sim) {
  for (size_t a = 0; a < env->params.actions; a++)
    faro_linear_unit(sim, env->params.dimension, env->offer + a * env->params.dimension, 1);
}

/* Sums and sums of squares of every arm's features over the samples. */
static void sample(faro_env *env) {
  const size_t d = env->params.dimension;
  memset(env->arms.x, 0, d * env->arms.stride * sizeof *env->arms.x);
  memset(env->square, 0, d * env->arms.stride * sizeof *env->square);
  env->top = 0;
  for (uint64_t n = 0; n < env->params.samples; n++) {
    draw_context(env, &env->instance);
    const double *best = best_response(env, env->theta);
    for (size_t i = 0; i < d; i++) env->top += best[i] * env->theta[i] / (double)env->params.samples;
    for (size_t j = 0; j < env->arms.count; j++) {
      const double *phi = best_response(env, env->direction + j * d);
      for (size_t i = 0; i < d; i++) {
        env->arms.x[i * env->arms.stride + j] += phi[i];
        env->square[i * env->arms.stride + j] += phi[i] * phi[i];
      }
    }
  }
}

/* Means, and the largest standard error: at most the root of the summed variances, whatever the direction. */
static void settle(faro_env *env) {
  const size_t d = env->params.dimension;
  const double n = (double)env->params.samples;
  env->error = 0;
  for (size_t j = 0; j < env->arms.count; j++) {
    double variance = 0;
    for (size_t i = 0; i < d; i++) {
      double *x = &env->arms.x[i * env->arms.stride + j];
      *x /= n;
      variance += env->square[i * env->arms.stride + j] / n - *x * *x;
    }
    env->error = fmax(env->error, sqrt(fmax(variance, 0) / n));
  }
  faro_linear_settle(env);
  env->best = fmax(env->best,
                   env->top); /* regret is against the best response to theta itself, which no arm may be */
}

static bool same(const faro_env *env, size_t a, size_t b) {
  for (size_t i = 0; i < env->params.dimension; i++)
    if (env->arms.x[i * env->arms.stride + a] != env->arms.x[i * env->arms.stride + b]) return false;
  return true;
}

static void move(faro_env *env, size_t to, size_t from) {
  const size_t d = env->params.dimension;
  for (size_t i = 0; i < d; i++) {
    env->arms.x[i * env->arms.stride + to] = env->arms.x[i * env->arms.stride + from];
    env->square[i * env->arms.stride + to] = env->square[i * env->arms.stride + from];
    env->direction[to * d + i] = env->direction[from * d + i];
  }
}

/* Parameters so near each other that they chose alike in every context are one arm. Columns beyond the count stay zero. */
static void merge(faro_env *env) {
  size_t kept = 0;
  for (size_t j = 0; j < env->arms.count; j++) {
    bool known = false;
    for (size_t i = 0; i < kept && !known; i++) known = same(env, i, j);
    if (known) continue;
    if (kept != j) move(env, kept, j);
    kept++;
  }
  for (size_t j = kept; j < env->arms.count; j++)
    for (size_t i = 0; i < env->params.dimension; i++) env->arms.x[i * env->arms.stride + j] = 0;
  env->arms.count = kept;
}

static void draw(faro_env *env) {
  env->arms.count = env->params.arms;
  for (size_t j = 0; j < env->arms.count; j++)
    faro_linear_unit(&env->instance, env->params.dimension, env->direction + j * env->params.dimension, 1);
  sample(env);
  merge(env);
}

/* Two arms there must be. */
static void begin(faro_env *env) {
  do draw(env);
  while (env->arms.count < 2);
  settle(env);
}

/* The user sees a context, plays the best response to what it was told, and gets that action's reward. */
static double pull(faro_env *env, size_t arm) {
  draw_context(env, &env->context);
  const double *phi = best_response(env, env->direction + arm * env->params.dimension);
  double mean = 0;
  for (size_t i = 0; i < env->params.dimension; i++) mean += phi[i] * env->theta[i];
  return faro_linear_reward(env, mean);
}

const faro_env_kind faro_env_linear_known = {
    .name = "linear-known",
    .summary = "contexts from a known distribution: arms are parameters to respond to",
    .signs = true,
    .begin = begin,
    .pull = pull,
};
