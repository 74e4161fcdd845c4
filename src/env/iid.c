/* linear-iid: fresh arms for every user. */
#include "env/kind.h"

static void draw(faro_env *env) { faro_linear_draw_arms(env, &env->context); }

const faro_env_kind faro_env_linear_iid = {
    .name = "linear-iid",
    .summary = "linear rewards, fresh arms for every user",
    .begin = draw,
    .next = draw,
};
