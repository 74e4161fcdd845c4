/* glm-logistic, glm-probit: generalised linear rewards, fresh arms for every user. Sarmasarkar
 * 2026, section 6.
 *
 *   theta = S u / ||u||, u uniform in the cube [-1, 1]^d      S: `norm`
 *   x     uniform in the unit ball, or on the sphere
 *   y     has mean mu(<x, theta>), mu the link
 *
 * mu is increasing, so the best arm is the one with the greatest <x, theta>, and mu is computed for
 * two arms per round, not for all. */
#include <math.h>

#include "env/kind.h"

static const faro_setting settings[] = {
    {"norm", FARO_SETTING_REAL, offsetof(faro_env_settings, norm), 0.1, 40, 2, NULL,
     "generalised linear rewards only: S, length of the parameter, and the bound on it that learners know"},
    {"fixed", FARO_SETTING_SWITCH, offsetof(faro_env_settings, fixed), 0, 1, 0, NULL,
     "generalised linear rewards only: one set of arms for an instance, not fresh arms for every user"},
    {0}};

static double norm_of(const faro_env_params *p) { return ((const faro_env_settings *)p->settings)->norm; }

static faro_status check(const faro_env_rules *rules, const faro_env_params *p, faro_error *error) {
  if (!faro_draws_plainly(p))
    return faro_fail(error, FARO_INVALID, "draw must be ball or sphere for %s", rules->about.name);
  if (!(norm_of(p) > 0 && norm_of(p) <= 40))
    return faro_fail(error, FARO_INVALID, "norm must be above 0 and at most 40 (got %g)", norm_of(p));
  return faro_env_check_arms(p, error);
}

static void describe(const faro_env_params *params, faro_env_facts *facts) {
  facts->low = 0;
  facts->bound = norm_of(params);
}

static void draw_parameter(faro_env *env) {
  const size_t d = env->params.dimension;
  double square = 0;
  for (size_t i = 0; i < d; i++) {
    env->theta[i] = 2 * faro_sim_uniform(&env->instance) - 1;
    square += env->theta[i] * env->theta[i];
  }
  for (size_t i = 0; i < d; i++) env->theta[i] *= norm_of(&env->params) / sqrt(square);
}

/* The first d coordinates of a uniform point on the sphere of R^(d+2) are uniform in the ball of
 * R^d. So no d-th root is needed: the squares of the two extra normal variables add up to twice an
 * exponential one. Arms are columns, so that they are scaled together. */
static void draw_arms(faro_env *env) {
  const size_t d = env->arms.dimension;
  const size_t stride = env->arms.stride;
  double *restrict x = env->arms.x;
  double *restrict square = env->mean; /* scratch until the means are computed */
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

static void draw(faro_env *env) {
  draw_arms(env);
  faro_linear_settle(env);
}

static void next(faro_env *env) {
  if (!((const faro_env_settings *)env->params.settings)->fixed) draw(env);
}

static void begin(faro_env *env) {
  draw_parameter(env);
  draw(env);
}

const faro_env_rules faro_env_glm_logistic = {
    .about = {.name = "glm-logistic",
              .summary = "rewards of mean 1 / (1 + e^-<x, theta>), fresh arms for every user",
              .link = FARO_LINK_LOGISTIC,
              .settings = settings,
              .settings_size = sizeof(faro_env_settings)},
    .size = sizeof(faro_env),
    .check = check,
    .describe = describe,
    .begin = begin,
    .next = next,
};

const faro_env_rules faro_env_glm_probit = {
    .about = {.name = "glm-probit",
              .summary = "rewards of mean Phi(<x, theta>), fresh arms for every user",
              .link = FARO_LINK_PROBIT,
              .settings = settings,
              .settings_size = sizeof(faro_env_settings)},
    .size = sizeof(faro_env),
    .check = check,
    .describe = describe,
    .begin = begin,
    .next = next,
};
