/* linear: drawing arms on the sphere, and what follows from them. */
#include <math.h>

#include "env/kind.h"

void faro_linear_unit(faro_sim_rng *sim, size_t n, double *u, size_t stride) {
  double square = 0;
  for (size_t i = 0; i < n; i++) {
    u[i * stride] = faro_sim_normal(sim);
    square += u[i * stride] * u[i * stride];
  }
  const double scale = 1 / sqrt(square);
  for (size_t i = 0; i < n; i++) u[i * stride] *= scale;
}

/* The published script replaces its first d arms by the axes: (e_i, 1), and (0, 1) as the last. */
static void put_axes(faro_env *env) {
  const size_t d = env->arms.dimension;
  for (size_t a = 0; a < d && a < env->arms.count; a++)
    for (size_t i = 0; i + 1 < d; i++) env->arms.x[i * env->arms.stride + a] = i == a ? 1 : 0;
}

/* On the sphere, or at a distance U^(1/d) from the centre, which is uniform in the ball. */
static void draw_plain(faro_env *env, faro_sim_rng *sim) {
  if (env->net) { /* theta has length 1: the best of the whole set is theta itself */
    faro_linear_settle(env);
    env->best = 1;
    return;
  }
  const size_t d = env->arms.dimension;
  const size_t stride = env->arms.stride;
  for (size_t a = 0; a < env->arms.count; a++) {
    faro_linear_unit(sim, d, env->arms.x + a, stride);
    const bool ball = env->params.draw == FARO_DRAW_BALL;
    const double length = ball ? pow(faro_sim_uniform(sim), 1 / (double)d) : 1;
    for (size_t i = 0; i < d; i++) env->arms.x[i * stride + a] *= length;
  }
  faro_linear_settle(env);
}

void faro_linear_draw_arms(faro_env *env, faro_sim_rng *sim) {
  const size_t d = env->arms.dimension;
  const size_t stride = env->arms.stride;
  const bool published = env->params.draw == FARO_DRAW_PUBLISHED;
  if (env->params.draw == FARO_DRAW_SPHERE || env->params.draw == FARO_DRAW_BALL) {
    draw_plain(env, sim);
    return;
  }
  for (size_t a = 0; a < env->arms.count; a++) faro_linear_unit(sim, d - 1, env->arms.x + a, stride);
  if (published) put_axes(env);
  const double scale = published ? 1 : sqrt(0.5);
  for (size_t a = 0; a < env->arms.count; a++) {
    for (size_t i = 0; i + 1 < d; i++) env->arms.x[i * stride + a] *= scale;
    env->arms.x[(d - 1) * stride + a] = scale;
  }
  faro_linear_settle(env);
}

void faro_linear_settle(faro_env *env) {
  env->arms.version++;
  const size_t best = faro_means(&env->arms, env->theta, env->mean);
  env->best = faro_link_mean(faro_env_kind_link(env->kind), env->mean[best]);
}
