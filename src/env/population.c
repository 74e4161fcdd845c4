/* linear-population: one action for everybody, feedback from clients whose own parameters scatter about the common one.
 * 002 section 2. */
#include "env/kind.h"

static void begin(faro_env *env) { faro_linear_draw_arms(env, &env->instance); }

const faro_env_kind faro_env_linear_population = {
    .name = "linear-population",
    .summary = "linear rewards of a population: clients with parameters of their own report averages",
    .clients = true,
    .begin = begin,
};
