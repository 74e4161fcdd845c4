/* linear-adversarial: an oblivious adversary that rotates the arms so that old information is least
 * useful. Also for generalised linear rewards (glm.c), with n = d, scale 1 and no constant.
 *
 * A random orthonormal basis q_1 .. q_n of the first n = d - 1 coordinates is cut into planes (q_1,
 * q_2), (q_3, q_4), ... (the last plane takes q_{n-1} again if n is odd; n = 1 leaves a line). The
 * horizon is cut into equally many phases of equal length. In phase s all arms differ only within
 * plane s:
 *
 *   x_a = (cos(phi_a + t w) q_{2s-1} + sin(phi_a + t w) q_{2s}, 1) / sqrt(2),   w = the golden
 *                                                                               angle
 *
 * What a learner found out in earlier phases is orthogonal to every difference between the current
 * arms, as late into the horizon as d directions allow. The turn by w each round means that no
 * choice can be repeated by index. The arms do not depend on what was played, so algorithms stay
 * paired. */
#include <math.h>

#include "env/kind.h"

static double *basis_of(faro_env *env) { return ((faro_adversary *)(void *)env)->basis; }

static const double TURN = 2.399963229728653; /* pi (3 - sqrt 5) */

/* Gram-Schmidt on random directions. */
void faro_adversary_draw(faro_env *env, size_t n) {
  double *q = basis_of(env);
  for (size_t i = 0; i < n; i++) {
    faro_linear_unit(&env->instance, n, q + i * n, 1);
    double square = 0;
    for (size_t k = 0; k < i; k++) {
      double inner = 0;
      for (size_t j = 0; j < n; j++) inner += q[i * n + j] * q[k * n + j];
      for (size_t j = 0; j < n; j++) q[i * n + j] -= inner * q[k * n + j];
    }
    for (size_t j = 0; j < n; j++) square += q[i * n + j] * q[i * n + j];
    for (size_t j = 0; j < n; j++) q[i * n + j] /= sqrt(square);
  }
}

void faro_adversary_turn(faro_env *env, size_t n, double scale) {
  const size_t stride = env->arms.stride;
  const size_t planes = (n + 1) / 2;
  const size_t plane = (size_t)((double)env->round * (double)planes / (double)env->params.horizon);
  const size_t first = 2 * plane + 1 < n ? 2 * plane : (n > 1 ? n - 2 : 0);
  const double *q = basis_of(env) + first * n;
  const double *r = n > 1 ? q + n : q;
  const faro_adversary *adversary = (const faro_adversary *)(void *)env;
  const double turned = (double)env->round * TURN;
  const double c_t = scale * cos(turned);
  const double s_t = scale * sin(turned);
  for (size_t a = 0; a < env->arms.count; a++) {
    const double c = adversary->cosine[a] * c_t - adversary->sine[a] * s_t;
    const double s = n > 1 ? adversary->sine[a] * c_t + adversary->cosine[a] * s_t : 0;
    for (size_t i = 0; i < n; i++) env->arms.x[i * stride + a] = c * q[i] + s * r[i];
    if (n < env->arms.dimension) env->arms.x[n * stride + a] = scale;
  }
  faro_linear_settle(env);
}

static faro_status check(const faro_env_rules *rules, const faro_env_params *p, faro_error *error) {
  if (p->draw == FARO_DRAW_AXES)
    return faro_fail(error, FARO_INVALID, "draw must not be axes for %s: its arms turn", rules->about.name);
  return faro_env_check_arms(p, error);
}

faro_status faro_adversary_init(faro_env *env, faro_error *error) {
  faro_adversary *a = (faro_adversary *)(void *)env;
  const size_t n = env->params.dimension;
  const size_t arms = env->params.arms;
  a->basis = faro_arena_alloc(&env->arena, n * n, sizeof *a->basis, error);
  a->cosine = faro_arena_alloc(&env->arena, arms, sizeof *a->cosine, error);
  a->sine = faro_arena_alloc(&env->arena, arms, sizeof *a->sine, error);
  if (!a->basis || !a->cosine || !a->sine) return FARO_MEMORY;
  for (size_t i = 0; i < arms; i++) {
    a->cosine[i] = cos((double)i * (6.283185307179586 / (double)arms));
    a->sine[i] = sin((double)i * (6.283185307179586 / (double)arms));
  }
  return faro_env_make_arms(env, arms, error);
}

static void turn(faro_env *env) {
  faro_adversary_turn(env, env->arms.dimension - 1, env->params.draw == FARO_DRAW_PUBLISHED ? 1 : sqrt(0.5));
}

static void begin(faro_env *env) {
  faro_linear_draw_parameter(env);
  faro_adversary_draw(env, env->arms.dimension - 1);
  turn(env);
}

static void describe(const faro_env_params *params, faro_env_facts *facts) {
  (void)params;
  facts->adversarial = true;
}

const faro_env_rules faro_env_linear_adversarial = {
    .about = {.name = "linear-adversarial",
              .summary = "linear rewards, arms rotated so that old information is least useful"},
    .size = sizeof(faro_adversary),
    .check = check,
    .describe = describe,
    .init = faro_adversary_init,
    .begin = begin,
    .next = turn,
};
