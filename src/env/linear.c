/* linear: draws parameters and arms on the sphere, makes nets of it, and computes means and
 * rewards. */
#include <faro/design.h>

#include <math.h>
#include <string.h>

#include "env/kind.h"
#include "glm/lanes.h"
#include "linalg/lanes.h"

const faro_setting faro_linear_settings[] = {
    FARO_LINEAR_ZETA,
    {"skew", FARO_SETTING_REAL, offsetof(faro_env_settings, skew), 1, 1000, 1, NULL,
     "linear-fixed, linear-iid: how much more the first feature varies than the last; 1: all alike"},
    {0}};

static double zeta_of(const faro_env_params *p) { return ((const faro_env_settings *)p->settings)->zeta; }

static faro_shape shape_of(const faro_env_params *p) {
  return p->draw == FARO_DRAW_BALL ? FARO_BALL : FARO_SPHERE;
}

static faro_status make_net(faro_points **net, const faro_env_params *p, faro_error *error) {
  return faro_points_net(net, shape_of(p), p->dimension, zeta_of(p), error);
}

/* Refuses a net of too many points before any point is made. */
faro_status faro_linear_check(const faro_env_rules *rules, const faro_env_params *p, faro_error *error) {
  (void)rules;
  const double zeta = zeta_of(p);
  if (p->draw == FARO_DRAW_AXES && p->arms != p->dimension)
    return faro_fail(error, FARO_INVALID,
                     "arms must be the dimension, %zu, for draw axes: one arm for each axis (got %zu)",
                     p->dimension, p->arms);
  if (zeta == 0) return faro_env_check_arms(p, error);
  if (!faro_draws_plainly(p))
    return faro_fail(error, FARO_INVALID, "zeta must be 0 unless draw is sphere or ball (got %g)", zeta);
  faro_points *none = NULL;
  return faro_net_size(shape_of(p), p->dimension, zeta) <= FARO_POINTS_MAX ? FARO_OK
                                                                           : make_net(&none, p, error);
}

faro_status faro_linear_init(faro_env *env, faro_error *error) {
  if (zeta_of(&env->params) == 0) return faro_env_make_arms(env, env->params.arms, error);
  faro_points *net = NULL;
  faro_status status = make_net(&net, &env->params, error);
  if (status != FARO_OK) return status;
  const faro_arms *points = faro_points_arms(net);
  status = faro_env_make_arms(env, points->count, error);
  if (status == FARO_OK)
    memcpy(env->arms.x, points->x, points->dimension * points->stride * sizeof *points->x);
  faro_points_destroy(net);
  return status;
}

void faro_linear_normals(faro_sim_rng *sim, size_t n, double *u, size_t stride) {
  enum { PIECE = 32 };
  double drawn[PIECE];
  for (size_t from = 0; from < n; from += PIECE) {
    const size_t count = n - from < PIECE ? n - from : PIECE;
    faro_sim_normals(sim, drawn, count);
    for (size_t i = 0; i < count; i++) u[(from + i) * stride] = drawn[i];
  }
}

void faro_linear_unit(faro_sim_rng *sim, size_t n, double *u, size_t stride) {
  double square = 0;
  faro_linear_normals(sim, n, u, stride);
  for (size_t i = 0; i < n; i++) square += u[i * stride] * u[i * stride];
  const double scale = 1 / sqrt(square);
  for (size_t i = 0; i < n; i++) u[i * stride] *= scale;
}

/* Normals of all arms, and 1 less a uniform of each where they are in the ball: as many arms at a
 * time as there is room for. */
static void draw_normals(const faro_arms *arms, faro_sim_rng *sim, size_t n, bool ball, double *square) {
  enum { ROOM = 512 };
  double drawn[ROOM];
  const size_t row = n + (ball ? 1 : 0);
  const size_t most = ROOM / row;
  for (size_t a = 0; most == 0 && a < arms->count; a++) {
    square[a] = ball ? 1 - faro_sim_uniform(sim) : 1;
    faro_linear_normals(sim, n, arms->x + a, arms->stride);
  }
  for (size_t from = 0; most > 0 && from < arms->count; from += most) {
    const size_t rows = arms->count - from < most ? arms->count - from : most;
    if (ball) faro_sim_rows(sim, drawn, rows, n);
    else faro_sim_normals(sim, drawn, rows * n);
    for (size_t a = 0; a < rows; a++) square[from + a] = ball ? 1 - drawn[a * row] : 1;
    for (size_t i = 0; i < n; i++)
      for (size_t a = 0; a < rows; a++) arms->x[i * arms->stride + from + a] = drawn[a * row + row - n + i];
  }
}

/* Divides every arm's first n features by the root of the sum of their squares and of `square`,
 * which is lost. */
static inline FARO_BODY void scale_body(const faro_arms *arms, size_t n, double *restrict x,
                                        double *restrict square) {
  for (size_t i = 0; i < n; i++)
    for (size_t a = 0; a < arms->count; a++) square[a] += x[i * arms->stride + a] * x[i * arms->stride + a];
  for (size_t a = 0; a < arms->count; a++) square[a] = 1 / sqrt(square[a]);
  for (size_t i = 0; i < n; i++)
    for (size_t a = 0; a < arms->count; a++) x[i * arms->stride + a] *= square[a];
}

static void portable_scale(const faro_arms *arms, size_t n, double *square) {
  scale_body(arms, n, arms->x, square);
}

FARO_AVX static void avx_scale(const faro_arms *arms, size_t n, double *square) {
  scale_body(arms, n, arms->x, square);
}

/* The first n coordinates of a uniform point on the sphere of R^(n+2) are uniform in the ball of
 * R^n. So no n-th root is needed: the squares of the two extra normal variables add up to twice an
 * exponential one. Arms are columns, so that they are scaled together. */
void faro_linear_draw_directions(faro_env *env, faro_sim_rng *sim, size_t n, bool ball) {
  double *square = env->mean; /* scratch until the means are computed */
  draw_normals(&env->arms, sim, n, ball, square);
  if (ball) faro_lanes_log(env->arms.count, square, square);
  for (size_t a = 0; a < env->arms.count; a++) square[a] = ball ? -2 * square[a] : 0;
  if (faro_lanes_here() == FARO_LANES_PORTABLE) portable_scale(&env->arms, n, square);
  else avx_scale(&env->arms, n, square);
}

void faro_linear_draw_parameter(faro_env *env) {
  const size_t d = env->params.dimension;
  if (faro_draws_plainly(&env->params)) {
    faro_linear_unit(&env->instance, d, env->theta, 1);
    return;
  }
  if (env->params.draw == FARO_DRAW_AXES) {
    for (size_t i = 0; i < d; i++) env->theta[i] = faro_sim_uniform(&env->instance);
    return;
  }
  const double last = env->params.draw == FARO_DRAW_PUBLISHED ? 0.5 : sqrt(0.5);
  faro_linear_unit(&env->instance, d - 1, env->theta, 1);
  for (size_t i = 0; i + 1 < d; i++) env->theta[i] *= last;
  env->theta[d - 1] = last;
}

/* The published script replaces its first d arms by the axes: (e_i, 1), with (0, 1) as the last. */
static void put_axes(faro_env *env) {
  const size_t d = env->arms.dimension;
  for (size_t a = 0; a < d && a < env->arms.count; a++)
    for (size_t i = 0; i + 1 < d; i++) env->arms.x[i * env->arms.stride + a] = i == a ? 1 : 0;
}

/* The first n features of an arm, whose standard deviations should fall from 1 to 1 / skew in equal
 * ratios before it is brought to length 1. */
static void skew_direction(const faro_env *env, double skew, size_t n, double *u) {
  const size_t stride = env->arms.stride;
  double square = 0;
  for (size_t i = 0; i < n; i++) {
    u[i * stride] *= pow(skew, -(double)i / (double)(n > 1 ? n - 1 : 1));
    square += u[i * stride] * u[i * stride];
  }
  for (size_t i = 0; i < n; i++) u[i * stride] /= sqrt(square);
}

/* Directions of all arms. */
static void draw_directions(faro_env *env, faro_sim_rng *sim, size_t n) {
  const double skew = ((const faro_env_settings *)env->params.settings)->skew;
  faro_linear_draw_directions(env, sim, n, false);
  for (size_t a = 0; skew > 1 && a < env->arms.count; a++) skew_direction(env, skew, n, env->arms.x + a);
}

/* At a distance U^(1/d) from the centre, which is uniform in the ball. */
static void draw_ball(faro_env *env, faro_sim_rng *sim) {
  const double skew = ((const faro_env_settings *)env->params.settings)->skew;
  const size_t d = env->arms.dimension;
  for (size_t a = 0; a < env->arms.count; a++) {
    double *u = env->arms.x + a;
    faro_linear_unit(sim, d, u, env->arms.stride);
    if (skew > 1) skew_direction(env, skew, d, u);
    const double length = pow(faro_sim_uniform(sim), 1 / (double)d);
    for (size_t i = 0; i < d; i++) u[i * env->arms.stride] *= length;
  }
}

/* On the sphere or in the ball. */
static void draw_plain(faro_env *env, faro_sim_rng *sim) {
  if (env->params.draw == FARO_DRAW_BALL) draw_ball(env, sim);
  else draw_directions(env, sim, env->arms.dimension);
  faro_linear_settle(env);
}

/* The published and the appended draw: the last feature is constant. */
static void draw_appended(faro_env *env, faro_sim_rng *sim) {
  const size_t d = env->arms.dimension;
  const size_t stride = env->arms.stride;
  const bool published = env->params.draw == FARO_DRAW_PUBLISHED;
  draw_directions(env, sim, d - 1);
  if (published) put_axes(env);
  const double scale = published ? 1 : sqrt(0.5);
  for (size_t a = 0; a < env->arms.count; a++) {
    for (size_t i = 0; i + 1 < d; i++) env->arms.x[i * stride + a] *= scale;
    env->arms.x[(d - 1) * stride + a] = scale;
  }
  faro_linear_settle(env);
}

static void draw_axes(faro_env *env) {
  for (size_t a = 0; a < env->arms.count; a++)
    for (size_t i = 0; i < env->arms.dimension; i++) env->arms.x[i * env->arms.stride + a] = i == a ? 1 : 0;
  faro_linear_settle(env);
}

/* On a net theta itself is the best of the whole set, and has length 1. */
void faro_linear_draw_arms(faro_env *env, faro_sim_rng *sim) {
  if (env->rules->check == faro_linear_check && zeta_of(&env->params) > 0) {
    faro_linear_settle(env);
    env->best = 1;
  } else if (env->params.draw == FARO_DRAW_AXES) draw_axes(env);
  else if (faro_draws_plainly(&env->params)) draw_plain(env, sim);
  else draw_appended(env, sim);
}

void faro_linear_settle(faro_env *env) {
  env->arms.version++;
  const size_t best = faro_means(&env->arms, env->theta, env->mean);
  env->best = faro_link_mean(env->rules->about.link, env->mean[best]);
}

/* A Poisson count of this mean, at most `most`, by inversion: a larger u never gives fewer. */
static double count_of(double u, double mean, double most) {
  double probability = exp(-mean);
  double below = probability;
  double count = 0;
  for (; u >= below && count < most; below += probability) probability *= mean / ++count;
  return count;
}

bool faro_linear_counts(const faro_env *env) {
  return env->rules->about.link != FARO_LINK_POISSON && env->params.reward == FARO_REWARD_BERNOULLI;
}

/* The probability of a reward of 1, where the others are `low`. */
static double chance_of(const faro_env *env, double mean) { return (mean - env->low) / (1 - env->low); }

uint64_t faro_linear_count(faro_env *env, double mean, uint64_t times) {
  return faro_sim_count(&env->reward, times, chance_of(env, mean));
}

double faro_linear_reward(faro_env *env, double mean) {
  if (faro_linear_counts(env)) return faro_sim_bernoulli(&env->reward, chance_of(env, mean)) ? 1 : env->low;
  const double u = faro_sim_uniform(&env->reward);
  const double low = env->low;
  if (env->rules->about.link == FARO_LINK_POISSON) return count_of(u, mean, env->high);
  return mean + (2 * u - 1) * fmin(mean - low, 1 - mean);
}
