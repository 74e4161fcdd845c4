/* linear-iid: fresh arms for every user. */
#include "env/kind.h"

static void next(faro_env *env) { faro_linear_draw_arms(env, &env->context); }

static void begin(faro_env *env) {
  faro_linear_draw_parameter(env);
  next(env);
}

const faro_env_rules faro_env_linear_iid = {
    .about = {.name = "linear-iid",
              .summary = "linear rewards, fresh arms for every user",
              .settings = faro_linear_settings,
              .settings_size = sizeof(faro_env_settings)},
    .size = sizeof(faro_env),
    .check = faro_linear_check,
    .init = faro_linear_init,
    .begin = begin,
    .next = next,
};
