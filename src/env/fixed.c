/* linear-fixed: one set of arms for the whole instance. */
#include "env/kind.h"

static void begin(faro_env *env) {
  faro_linear_draw_parameter(env);
  faro_linear_draw_arms(env, &env->instance);
}

const faro_env_rules faro_env_linear_fixed = {
    .about = {.name = "linear-fixed",
              .summary = "linear rewards, one set of arms for an instance",
              .traits = FARO_ENV_STAYS,
              .settings = faro_linear_settings,
              .settings_size = sizeof(faro_env_settings)},
    .size = sizeof(faro_env),
    .check = faro_linear_check,
    .init = faro_linear_init,
    .begin = begin,
};
