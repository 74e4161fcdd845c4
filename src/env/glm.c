/* glm-logistic, glm-probit, glm-poisson: generalised linear rewards. Sarmasarkar 2026, section 6.
 *
 *   theta = S u / ||u||, u uniform in the cube [-1, 1]^d      S: `norm`
 *   x     uniform in the unit ball, or on the sphere, fresh for every user or drawn once
 *   y     has mean mu(<x, theta>), mu the link; counts are cut at a bound far above all means
 *
 * adversarial: x = cos(phi) q + sin(phi) r in planes that change (adversarial.c), the contexts that
 * Alg. 2 is made for.
 * coordinates: the family behind the lower bound, Lemma 7.1 (appendix R), around theta = 0: x =
 * +-e_i, theta = S v / sqrt(d), v uniform in {-1, 1}^d. Every wrong sign costs as much as any
 * other.
 *
 * mu is increasing, so the best arm is the one with the greatest <x, theta>, and mu is computed for
 * two arms per round, not for all. */
#include <math.h>

#include "env/kind.h"

static const char *const words[] = {
#define X(name, text) text,
    FARO_CONTEXTS_LIST(X)
#undef X
        NULL};

static const faro_setting settings[] = {
    {"norm", FARO_SETTING_REAL, offsetof(faro_env_settings, norm), 0.1, 40, 2, NULL,
     "generalised linear rewards only: S, length of the parameter, and the bound on it that learners know"},
    {"contexts", FARO_SETTING_CHOICE, offsetof(faro_env_settings, contexts), 0, FARO_CONTEXTS_COUNT - 1,
     FARO_CONTEXTS_FRESH, words,
     "generalised linear rewards only: fresh arms for every user, fixed ones, adversarial or coordinates"},
    {0}};

static faro_contexts contexts_of(const faro_env_params *p) {
  return ((const faro_env_settings *)p->settings)->contexts;
}

static double norm_of(const faro_env_params *p) { return ((const faro_env_settings *)p->settings)->norm; }

static faro_status check(const faro_env_rules *rules, const faro_env_params *p, faro_error *error) {
  if (!faro_draws_plainly(p))
    return faro_fail(error, FARO_INVALID, "draw must be ball or sphere for %s", rules->about.name);
  if (!(norm_of(p) > 0 && norm_of(p) <= 40))
    return faro_fail(error, FARO_INVALID, "norm must be above 0 and at most 40 (got %g)", norm_of(p));
  if (rules->about.link == FARO_LINK_POISSON && norm_of(p) > 3)
    return faro_fail(error, FARO_INVALID, "norm must be at most 3 for %s, whose means reach e^norm (got %g)",
                     rules->about.name, norm_of(p));
  if (contexts_of(p) == FARO_CONTEXTS_COORDINATES && p->arms != 2 * p->dimension)
    return faro_fail(error, FARO_INVALID,
                     "arms must be 2 x dimension, %zu, for contexts: coordinates (got %zu)", 2 * p->dimension,
                     p->arms);
  return faro_env_check_arms(p, error);
}

static void describe(const faro_env_params *params, faro_env_facts *facts) {
  facts->low = 0;
  facts->bound = norm_of(params);
  facts->adversarial = contexts_of(params) == FARO_CONTEXTS_ADVERSARIAL;
}

/* Five standard deviations above the greatest mean, and five. */
static void describe_counts(const faro_env_params *params, faro_env_facts *facts) {
  const double greatest = exp(norm_of(params));
  describe(params, facts);
  facts->high = ceil(greatest + 5 * sqrt(greatest) + 5);
}

static void draw_parameter(faro_env *env) {
  const size_t d = env->params.dimension;
  const bool signs = contexts_of(&env->params) == FARO_CONTEXTS_COORDINATES;
  double square = 0;
  for (size_t i = 0; i < d; i++) {
    env->theta[i] = 2 * faro_sim_uniform(&env->instance) - 1;
    if (signs) env->theta[i] = env->theta[i] < 0 ? -1 : 1;
    square += env->theta[i] * env->theta[i];
  }
  for (size_t i = 0; i < d; i++) env->theta[i] *= norm_of(&env->params) / sqrt(square);
}

/* e_1 .. e_d, then the same with minus. */
static void put_coordinates(faro_env *env) {
  const size_t d = env->arms.dimension;
  for (size_t i = 0; i < d; i++)
    for (size_t a = 0; a < 2 * d; a++)
      env->arms.x[i * env->arms.stride + a] = a % d != i ? 0 : a < d ? 1 : -1;
}

static void draw(faro_env *env) {
  const faro_contexts contexts = contexts_of(&env->params);
  if (contexts == FARO_CONTEXTS_ADVERSARIAL) {
    faro_adversary_turn(env, env->arms.dimension, 1);
    return;
  }
  if (contexts == FARO_CONTEXTS_COORDINATES) put_coordinates(env);
  else
    faro_linear_draw_directions(env, &env->context, env->arms.dimension, env->params.draw == FARO_DRAW_BALL);
  faro_linear_settle(env);
}

static void next(faro_env *env) {
  const faro_contexts contexts = contexts_of(&env->params);
  if (contexts == FARO_CONTEXTS_FRESH || contexts == FARO_CONTEXTS_ADVERSARIAL) draw(env);
}

static void begin(faro_env *env) {
  draw_parameter(env);
  if (contexts_of(&env->params) == FARO_CONTEXTS_ADVERSARIAL) faro_adversary_draw(env, env->arms.dimension);
  draw(env);
}

const faro_env_rules faro_env_glm_logistic = {
    .about = {.name = "glm-logistic",
              .summary = "rewards of mean 1 / (1 + e^-<x, theta>)",
              .link = FARO_LINK_LOGISTIC,
              .settings = settings,
              .settings_size = sizeof(faro_env_settings)},
    .size = sizeof(faro_adversary),
    .check = check,
    .init = faro_adversary_init,
    .describe = describe,
    .begin = begin,
    .next = next,
};

const faro_env_rules faro_env_glm_probit = {
    .about = {.name = "glm-probit",
              .summary = "rewards of mean Phi(<x, theta>)",
              .link = FARO_LINK_PROBIT,
              .settings = settings,
              .settings_size = sizeof(faro_env_settings)},
    .size = sizeof(faro_adversary),
    .check = check,
    .init = faro_adversary_init,
    .describe = describe,
    .begin = begin,
    .next = next,
};

const faro_env_rules faro_env_glm_poisson = {
    .about = {.name = "glm-poisson",
              .summary = "counts of mean e^<x, theta>",
              .link = FARO_LINK_POISSON,
              .settings = settings,
              .settings_size = sizeof(faro_env_settings)},
    .size = sizeof(faro_adversary),
    .check = check,
    .init = faro_adversary_init,
    .describe = describe_counts,
    .begin = begin,
    .next = next,
};
