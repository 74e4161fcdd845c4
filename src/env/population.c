/* linear-population: one action for everybody, with feedback from clients whose own parameters are
 * spread around the common one. Li, Zhou & Ji 2022, section 2. */
#include <math.h>

#include "env/kind.h"

typedef struct population {
  faro_env env;
  double *own; /* a client's parameter less the common one */
} population;

static const faro_setting settings[] = {
    FARO_LINEAR_ZETA,
    {"spread", FARO_SETTING_REAL, offsetof(faro_env_settings, spread), 0, 10, 0.1, NULL,
     "linear-population only: standard deviation of clients' parameters about the common one"},
    {0}};

static double spread_of(const faro_env_params *p) { return ((const faro_env_settings *)p->settings)->spread; }

static void describe(const faro_env_params *params, faro_env_facts *facts) {
  facts->spread = spread_of(params);
}

static faro_status init(faro_env *env, faro_error *error) {
  population *p = (population *)(void *)env;
  p->own = faro_arena_alloc(&env->arena, env->params.dimension, sizeof *p->own, error);
  return p->own ? faro_linear_init(env, error) : FARO_MEMORY;
}

static void begin(faro_env *env) {
  faro_linear_draw_parameter(env);
  faro_linear_draw_arms(env, &env->instance);
}

/* theta_u = theta + noise: only its products with the arms matter. */
static void client(faro_env *env, size_t support, const size_t *arm, const uint64_t *pulls, double *average) {
  const size_t d = env->params.dimension;
  const double spread = spread_of(&env->params);
  double *own = ((population *)(void *)env)->own;
  faro_sim_normals(&env->context, own, d);
  for (size_t i = 0; i < d; i++) own[i] *= spread;
  for (size_t k = 0; k < support; k++) {
    const double *x = env->arms.x + arm[k];
    double mean = env->mean[arm[k]];
    for (size_t i = 0; i < d; i++) mean += own[i] * x[i * env->arms.stride];
    average[k] = mean + faro_sim_normal(&env->reward) / sqrt((double)pulls[k]);
  }
}

/* One round of a new client, whose mean is cut to the interval of rewards (Li, Zhou & Ji 2022,
 * section 8: the linear bandit that this problem is if every round asks somebody new). */
static double pull(faro_env *env, size_t arm) {
  double square = 0;
  for (size_t i = 0; i < env->params.dimension; i++) {
    const double x = env->arms.x[i * env->arms.stride + arm];
    square += x * x;
  }
  const double own = spread_of(&env->params) * sqrt(square) * faro_sim_normal(&env->context);
  return faro_linear_reward(env, fmax(env->low, fmin(1, env->mean[arm] + own)));
}

const faro_env_rules faro_env_linear_population = {
    .about = {.name = "linear-population",
              .summary =
                  "linear rewards of a population: clients with parameters of their own report averages",
              .traits = FARO_ENV_STAYS | FARO_ENV_POPULATION,
              .settings = settings,
              .settings_size = sizeof(faro_env_settings)},
    .size = sizeof(population),
    .check = faro_linear_check,
    .describe = describe,
    .init = init,
    .begin = begin,
    .pull = pull,
    .client = client,
};
