/* reward_model: ridge regression for each arm, cross-fitted (Chernozhukov et al. 2018).
 *
 *   x       features, then the constant 1; d numbers
 *   k       fold of a row: a hash of its group
 *   G, u    sums of x x' and x r, for each fold and arm; c, s the number of rows and the sum of r
 *   r0      mean reward of all rows outside the fold: what an arm without rows is predicted to give
 *   theta   (lambda I + G)^-1 (u - r0 sum x), from all folds but k
 *
 * The prediction is r0 + <theta, x>, clipped to the interval of rewards. The sum of x is the last
 * row of G. */
#include <math.h>
#include <string.h>

#include <faro/linalg.h>

#include "base/arena.h"
#include "evaluate/people.h"
#include "evaluate/row.h"

enum { FOLDS_DEFAULT = 5, FOLDS_MAX = 100 };
static const size_t NUMBERS_MAX = (size_t)1 << 28; /* 2 GiB */

struct faro_reward_model {
  faro_reward_model_params params;
  faro_arena arena;
  size_t d, gram;
  faro_spd *spd;
  double *sum;    /* folds x arms x (gram + d): G, then u */
  double *count;  /* folds x 2: rows and sum of rewards */
  double *theta;  /* folds x arms x d */
  double *centre; /* folds: r0 */
  double *G, *u;  /* of one model */
};

static faro_status check(const faro_reward_model_params *p, faro_error *error) {
  if (p->arms < 1 || p->arms > 1000)
    return faro_fail(error, FARO_INVALID, "arms must be from 1 to 1000 (got %zu)", p->arms);
  if (p->dimension >= FARO_DIMENSION_MAX)
    return faro_fail(error, FARO_INVALID, "a reward model takes at most %d features (got %zu)",
                     FARO_DIMENSION_MAX - 1, p->dimension);
  if (p->folds < 2 || p->folds > FOLDS_MAX)
    return faro_fail(error, FARO_INVALID, "folds must be from 2 to %d (got %zu)", (int)FOLDS_MAX, p->folds);
  if (!(p->ridge > 0 && isfinite(p->ridge)))
    return faro_fail(error, FARO_INVALID, "ridge must be above 0 (got %g)", p->ridge);
  const size_t d = p->dimension + 1;
  if (p->folds * p->arms > NUMBERS_MAX / (faro_packed(d) + 2 * d))
    return faro_fail(error, FARO_INVALID,
                     "a reward model of %zu arms, %zu features and %zu folds is too large", p->arms,
                     p->dimension, p->folds);
  return faro_evaluate_check_range(p->low, p->high, error);
}

static faro_status allocate(faro_reward_model *m, faro_error *error) {
  const size_t folds = m->params.folds;
  const size_t models = folds * m->params.arms;
  struct {
    double **to;
    size_t count;
  } const all[] = {{&m->sum, models * (m->gram + m->d)},
                   {&m->count, 2 * folds},
                   {&m->theta, models * m->d},
                   {&m->centre, folds},
                   {&m->G, m->gram},
                   {&m->u, m->d}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!(*all[i].to = faro_arena_alloc(&m->arena, all[i].count, sizeof(double), error))) return FARO_MEMORY;
  return faro_spd_create(&m->spd, m->d, error);
}

faro_status faro_reward_model_create(faro_reward_model **model, const faro_reward_model_params *params,
                                     faro_error *error) {
  faro_reward_model_params p = *params;
  if (p.folds == 0) p.folds = FOLDS_DEFAULT;
  if (p.ridge == 0) p.ridge = 1;
  faro_status status = check(&p, error);
  if (status != FARO_OK) return status;
  faro_arena arena = {0};
  faro_reward_model *m = faro_arena_alloc(&arena, 1, sizeof *m, error);
  if (!m) return FARO_MEMORY;
  *m = (faro_reward_model){.params = p, .arena = arena, .d = p.dimension + 1};
  m->gram = faro_packed(m->d);
  status = allocate(m, error);
  if (status == FARO_OK) *model = m;
  else faro_reward_model_destroy(m);
  return status;
}

void faro_reward_model_destroy(faro_reward_model *m) {
  if (!m) return;
  faro_spd_destroy(m->spd);
  faro_arena arena = m->arena;
  faro_arena_free(&arena);
}

/* ---- the first pass */

static size_t fold_of(const faro_reward_model *m, uint64_t group) {
  return (size_t)(faro_people_mix(group ^ UINT64_C(0x666f6c64)) % m->params.folds);
}

static double *sum_of(const faro_reward_model *m, size_t fold, size_t arm) {
  return m->sum + (fold * m->params.arms + arm) * (m->gram + m->d);
}

static double at(const faro_reward_model *m, const double *x, size_t i) { return i + 1 < m->d ? x[i] : 1; }

void faro_reward_model_learn(faro_reward_model *m, uint64_t group, size_t arm, const double *x,
                             double reward) {
  const size_t fold = fold_of(m, group);
  double *G = sum_of(m, fold, arm);
  double *u = G + m->gram;
  for (size_t i = 0; i < m->d; i++) {
    const double xi = at(m, x, i);
    for (size_t j = 0; j <= i; j++) *G++ += xi * at(m, x, j); /* G += x x' */
    u[i] += xi * reward;
  }
  m->count[2 * fold] += 1;
  m->count[2 * fold + 1] += reward;
}

/* ---- the models */

/* r0 of all folds but one; the middle of the interval if there is no row. */
static double centre_without(const faro_reward_model *m, size_t fold) {
  double rows = 0;
  double rewards = 0;
  for (size_t k = 0; k < m->params.folds; k++) {
    if (k == fold) continue;
    rows += m->count[2 * k];
    rewards += m->count[2 * k + 1];
  }
  return rows > 0 ? rewards / rows : (m->params.low + m->params.high) / 2;
}

static void fit_one(faro_reward_model *m, size_t fold, size_t arm) {
  const size_t d = m->d;
  double *theta = m->theta + (fold * m->params.arms + arm) * d;
  memset(m->G, 0, m->gram * sizeof *m->G);
  memset(m->u, 0, d * sizeof *m->u);
  for (size_t k = 0; k < m->params.folds; k++) {
    if (k == fold) continue;
    const double *sum = sum_of(m, k, arm);
    for (size_t i = 0; i < m->gram; i++) m->G[i] += sum[i];
    for (size_t i = 0; i < d; i++) m->u[i] += sum[m->gram + i];
  }
  const double *ones = m->G + faro_packed(d - 1); /* the last row of G: sum of x */
  for (size_t i = 0; i < d; i++) m->u[i] -= m->centre[fold] * ones[i];
  for (size_t i = 0; i < d; i++) m->G[faro_diagonal(i)] += m->params.ridge;
  /* features that are not finite, or overflow: the arm is predicted by r0 */
  if (faro_spd_factor(m->spd, m->G)) faro_spd_solve(m->spd, m->u, theta);
  else memset(theta, 0, d * sizeof *theta);
}

void faro_reward_model_fit(faro_reward_model *m) {
  for (size_t k = 0; k < m->params.folds; k++) {
    m->centre[k] = centre_without(m, k);
    for (size_t a = 0; a < m->params.arms; a++) fit_one(m, k, a);
  }
}

void faro_reward_model_predict(const faro_reward_model *m, uint64_t group, const double *x, double *mean) {
  const size_t fold = fold_of(m, group);
  for (size_t a = 0; a < m->params.arms; a++) {
    const double *theta = m->theta + (fold * m->params.arms + a) * m->d;
    double value = m->centre[fold];
    for (size_t i = 0; i < m->d; i++) value += theta[i] * at(m, x, i);
    mean[a] = fmin(fmax(value, m->params.low), m->params.high);
  }
}
