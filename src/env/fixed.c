/* linear-fixed: one set of arms for the whole instance. */
#include "env/kind.h"

static void begin(faro_env *env) { faro_linear_draw_arms(env, &env->instance); }

const faro_env_kind faro_env_linear_fixed = {
    .name = "linear-fixed",
    .summary = "linear rewards, one set of arms for an instance",
    .begin = begin,
};
