/* glm-logistic, glm-probit: generalised linear rewards, fresh arms for every user (004 section 6).
 *
 *   theta = S u / ||u||, u uniform in the cube [-1, 1]^d      S: `norm`
 *   x     uniform in the unit ball, or on the sphere
 *   y     has mean mu(<x, theta>), mu the link
 *
 * env->mean holds <x, theta> here: mu grows, so the best arm is that of the linear means, and mu is needed of two arms in a
 * round, not of all. */
#include <math.h>

#include "env/kind.h"

static void draw_parameter(faro_env *env) {
  const size_t d = env->params.dimension;
  double square = 0;
  for (size_t i = 0; i < d; i++) {
    env->theta[i] = 2 * faro_sim_uniform(&env->instance) - 1;
    square += env->theta[i] * env->theta[i];
  }
  for (size_t i = 0; i < d; i++) env->theta[i] *= env->params.norm / sqrt(square);
}

/* The first d coordinates of a uniform point on the sphere of R^(d+2) are uniform in the ball of R^d. So there is no root of
 * degree d to take: the squares of two normal variables more are together twice an exponential one. Arms are columns, so
 * that they are scaled together. */
static void draw_arms(faro_env *env) {
  const size_t d = env->arms.dimension;
  const size_t stride = env->arms.stride;
  double *restrict x = env->arms.x;
  double *restrict square = env->mean; /* scratch until the means are found */
  const bool ball = env->params.draw == FARO_DRAW_BALL;
  for (size_t a = 0; a < env->arms.count; a++) {
    square[a] = ball ? -2 * log(1 - faro_sim_uniform(&env->context)) : 0;
    for (size_t i = 0; i < d; i++) x[i * stride + a] = faro_sim_normal(&env->context);
  }
  for (size_t i = 0; i < d; i++)
    for (size_t a = 0; a < env->arms.count; a++) square[a] += x[i * stride + a] * x[i * stride + a];
  for (size_t a = 0; a < env->arms.count; a++) square[a] = 1 / sqrt(square[a]);
  for (size_t i = 0; i < d; i++)
    for (size_t a = 0; a < env->arms.count; a++) x[i * stride + a] *= square[a];
}

static void next(faro_env *env) {
  draw_arms(env);
  faro_linear_settle(env);
}

static void begin(faro_env *env) {
  draw_parameter(env);
  next(env);
}

const faro_env_kind faro_env_glm_logistic = {
    .name = "glm-logistic",
    .summary = "rewards of mean 1 / (1 + e^-<x, theta>), fresh arms for every user",
    .glm = true,
    .link = FARO_LINK_LOGISTIC,
    .begin = begin,
    .next = next,
};

const faro_env_kind faro_env_glm_probit = {
    .name = "glm-probit",
    .summary = "rewards of mean Phi(<x, theta>), fresh arms for every user",
    .glm = true,
    .link = FARO_LINK_PROBIT,
    .begin = begin,
    .next = next,
};
