/* linucb: optimism over a confidence ellipsoid around the ridge estimate, from private sums.
 * 000 Alg. 1; Abbasi-Yadkori et al. 2011 without privacy.
 *
 *   V       lambda I + noisy sum of x x'         packed, d x d    000 Alg. 1 l.16
 *   u       noisy sum of x y                     d
 *   theta   V^-1 u                               d                000 Alg. 1 l.17
 *   W       L^-1 with V = L L'                   packed
 *   Sigma_N bound on the operator norm of the Gram noise, Sigma_n on the length of the vector noise;
 *           both hold for all releases together with probability 1 - failure/2
 *   lambda_min, lambda_max   bounds on the eigenvalues of lambda I + Gram noise
 *   beta    radius                                                000 Lemma A.2
 *
 * Noise can make V indefinite. It is then shifted up to lambda_min, the region is widened by as
 * much, and the update is counted. */
#include <math.h>

#include "learner/kind.h"
#include "learner/noise.h"

typedef struct linucb {
  faro_learner learner;
  faro_spd *spd;
  double *V, *theta, *W;
  double lambda, lambda_min, lambda_max, nu;
} linucb;

/* Hsu, Kakade, Zhang 2012: ||h||^2 <= s^2 (d + 2 sqrt(d t) + 2 t), t = ln(1/q). Laplace: every entry by itself. */
static double vector_bound(const faro_learner_params *p, double q) {
  const double d = (double)p->dimension;
  if (p->noise.laplace > 0)
    return sqrt(d) * faro_laplace_sum_quantile(p->noise.summands, p->noise.laplace, q / d);
  double s = 0;
  for (size_t i = 0; i < p->dimension; i++) s = fmax(s, p->noise.scale[faro_packed(p->dimension) + i]);
  const double t = log(1 / q);
  return s * sqrt(d + 2 * sqrt(d * t) + 2 * t);
}

/* lambda = 2 Sigma_N, at least 1. 000 Lemma A.4. `optimism` shrinks both bounds, which hold for all releases at once and
 * in the worst case; privacy does not rest on them. */
static void theorem_region(linucb *l) {
  const faro_learner_params *p = &l->learner.params;
  const double q = p->failure / (4 * (double)(p->releases > 0 ? p->releases : 1));
  const double Sigma_N = p->optimism * faro_gram_bound(&p->noise, p->dimension, q);
  l->lambda = fmax(1, 2 * Sigma_N);
  l->lambda_min = l->lambda - Sigma_N;
  l->lambda_max = l->lambda + Sigma_N;
  l->nu = p->optimism * vector_bound(p, q) / sqrt(l->lambda_min);
}

/* The published experiments: lambda = 2 Gamma; without noise 1e-4, and Gamma = 1 in the width. */
static void figure_region(linucb *l) {
  const double gamma = l->learner.params.noise.gamma;
  l->lambda = gamma > 0 ? 2 * gamma : 1e-4;
  l->lambda_max = gamma > 0 ? gamma : 1;
  l->lambda_min = gamma > 0 ? gamma : 1e-4;
}

/* beta after `users` users, when V had to be shifted by `shift`. */
static double radius(const linucb *l, double users, double shift) {
  const faro_learner_params *p = &l->learner.params;
  const double d = (double)p->dimension;
  if (p->figure) { /* S sqrt(Gamma) + R sqrt(d ln((1 + T L^2 / Gamma) T)), S = sqrt(d), R = 1/2 */
    const double t = (double)p->horizon;
    const double gamma = l->lambda_max;
    return sqrt(d * (gamma + shift)) + 0.5 * sqrt(d * log((1 + t * p->norm * p->norm / gamma) * t));
  }
  return p->reward *
             sqrt(2 * log(2 / p->failure) + d * log1p(users * p->norm * p->norm / (d * l->lambda_min))) +
         sqrt(l->lambda_max + shift) + l->nu;
}

static void set_policy(linucb *l, const double *gram, const double *u, double users) {
  const size_t d = l->learner.params.dimension;
  for (size_t i = 0; i < faro_packed(d); i++) l->V[i] = gram ? gram[i] : 0;
  for (size_t i = 0; i < d; i++) l->V[faro_diagonal(i)] += l->lambda; /* V = lambda I + sum   l.16 */
  const double shift = faro_whiten_shifted(l->spd, d, l->V, l->W, l->lambda_min);
  if (shift > 0) l->learner.diagnostics.shifted++;
  for (size_t i = 0; i < d; i++) l->theta[i] = 0;
  for (size_t i = 0; u && i < d; i++) { /* theta = V^-1 u = W' (W u)   l.17 */
    const double *row = l->W + faro_packed(i);
    double t = 0;
    for (size_t j = 0; j <= i; j++) t += row[j] * u[j];
    for (size_t j = 0; j <= i; j++) l->theta[j] += row[j] * t;
  }
  l->learner.policy.beta = radius(l, users, shift);
}

static void update(faro_learner *learner, const faro_statistics *statistics) {
  const size_t gram = faro_packed(learner->params.dimension);
  set_policy((linucb *)(void *)learner, statistics->sum, statistics->sum + gram, (double)statistics->users);
}

static faro_status init(faro_learner *learner, faro_error *error) {
  linucb *l = (linucb *)(void *)learner;
  const size_t d = learner->params.dimension;
  l->V = faro_arena_alloc(&learner->arena, faro_packed(d), sizeof *l->V, error);
  l->W = faro_arena_alloc(&learner->arena, faro_packed(d), sizeof *l->W, error);
  l->theta = faro_arena_alloc(&learner->arena, d, sizeof *l->theta, error);
  if (!l->V || !l->W || !l->theta) return FARO_MEMORY;
  const faro_status status = faro_spd_create(&l->spd, d, error);
  if (status != FARO_OK) return status;
  if (learner->params.figure) figure_region(l);
  else theorem_region(l);
  learner->policy = (faro_policy){.dimension = d, .theta = l->theta, .w = l->W, .version = 1};
  set_policy(l, NULL, NULL, 0);
  return FARO_OK;
}

static void release(faro_learner *learner) { faro_spd_destroy(((linucb *)(void *)learner)->spd); }

const faro_learner_kind faro_learner_linucb = {
    .name = "linucb",
    .summary = "optimism over a confidence ellipsoid, from (private) sums of x x' and x y",
    .size = sizeof(linucb),
    .init = init,
    .release = release,
    .update = update,
};
