/* linucb: optimism over a confidence ellipsoid around the ridge estimate, from private sums.
 * Chowdhury & Zhou 2022, Alg. 1; Abbasi-Yadkori et al. 2011 without privacy.
 *
 *   V       lambda I + noisy sum of x x'         packed, d x d    Alg. 1 l. 16
 *   u       noisy sum of x y                     d
 *   theta   V^-1 u                               d                Alg. 1 l. 17
 *   W       L^-1 with V = L L'                   packed
 *   Sigma_N bound on the operator norm of the Gram noise, Sigma_n on the length of the vector
 *   noise;
 *           both hold for all releases together with probability 1 - failure/2
 *   lambda_min, lambda_max   bounds on the eigenvalues of lambda I + Gram noise
 *   beta    radius                                                Lemma A.2
 *
 * Noise can make V indefinite. It is then shifted up to lambda_min, the region is widened by as
 * much, and the update is counted. */
#include <math.h>

#include "learner/kind.h"
#include "learner/noise.h"
#include "learner/optimism.h"
#include "learner/ridge.h"

typedef struct linucb {
  faro_updater_params params;
  faro_host *host;
  faro_spd *spd;
  double *V;
  double lambda, lambda_min, lambda_max, nu;
} linucb;

/* lambda = 2 Sigma_N, at least 1 (Lemma A.4). `optimism` shrinks both bounds, which hold for all
 * releases at once and in the worst case. Privacy does not depend on them. */
static void theorem_region(linucb *l) {
  const faro_updater_params *p = &l->params;
  const double optimism = faro_optimism_of(p->settings, p->calibration);
  const double q = p->failure / (4 * (double)(p->releases > 0 ? p->releases : 1));
  const double Sigma_N = optimism * faro_gram_bound(&p->noise, p->dimension, q);
  l->lambda = fmax(1, 2 * Sigma_N);
  l->lambda_min = l->lambda - Sigma_N;
  l->lambda_max = l->lambda + Sigma_N;
  l->nu = optimism * faro_vector_bound(&p->noise, p->dimension, q) / sqrt(l->lambda_min);
}

/* The published experiments: lambda = 2 Gamma; without noise 1e-4, and Gamma = 1 in the width. */
static void figure_region(linucb *l) {
  const double gamma = l->params.noise.gamma;
  l->lambda = gamma > 0 ? 2 * gamma : 1e-4;
  l->lambda_max = gamma > 0 ? gamma : 1;
  l->lambda_min = gamma > 0 ? gamma : 1e-4;
}

/* beta after `users` users, when V had to be shifted by `shift`. */
static double radius(const linucb *l, double users, double shift) {
  const faro_updater_params *p = &l->params;
  const double d = (double)p->dimension;
  if (p->calibration == FARO_CALIBRATION_FIGURE) {
    /* S sqrt(Gamma) + R sqrt(d ln((1 + T L^2 / Gamma) T)), S = sqrt(d), R = 1/2 */
    const double t = (double)p->horizon;
    const double gamma = l->lambda_max;
    return sqrt(d * (gamma + shift)) + 0.5 * sqrt(d * log((1 + t * p->norm * p->norm / gamma) * t));
  }
  return p->reward *
             sqrt(2 * log(2 / p->failure) + d * log1p(users * p->norm * p->norm / (d * l->lambda_min))) +
         sqrt(l->lambda_max + shift) + l->nu;
}

static void set_policy(linucb *l, const double *gram, const double *u, double users, faro_policy *policy) {
  const size_t d = l->params.dimension;
  faro_ridge_matrix(d, l->lambda, gram, l->V); /* V = lambda I + sum   l. 16 */
  const double shift = faro_ridge_whiten(l->spd, d, l->V, policy->w, l->lambda_min);
  if (shift > 0) l->host->diagnostics.shifted++;
  if (u) faro_ridge_solve(d, policy->w, u, policy->theta); /* theta = V^-1 u   l. 17 */
  policy->beta = radius(l, users, shift);
}

static void update(void *state, const faro_statistics *statistics, faro_policy *policy) {
  linucb *l = state;
  const size_t gram = faro_packed(l->params.dimension);
  set_policy(l, statistics->sum, statistics->sum + gram, (double)statistics->users, policy);
}

static faro_status init(void *state, const faro_updater_params *params, faro_host *host, faro_policy *policy,
                        faro_error *error) {
  linucb *l = state;
  const size_t d = params->dimension;
  l->params = *params;
  l->host = host;
  faro_status status = faro_host_vectors(host, error, &l->V, faro_packed(d), (double **)NULL);
  if (status == FARO_OK) status = faro_spd_create(&l->spd, d, error);
  if (status != FARO_OK) return status;
  if (params->calibration == FARO_CALIBRATION_FIGURE) figure_region(l);
  else theorem_region(l);
  l->params.noise.scale = NULL; /* not valid after init */
  set_policy(l, NULL, NULL, 0, policy);
  return FARO_OK;
}

static void destroy(void *state) { faro_spd_destroy(((linucb *)state)->spd); }

const faro_updater_kind faro_updater_linucb = {
    .about = {.name = "linucb",
              .summary = "optimism over a confidence ellipsoid, from (private) sums of x x' and x y",
              .cite = "Chowdhury & Zhou 2022",
              .protocol = FARO_PROTOCOL_UPDATER,
              .settings = faro_optimism_settings,
              .settings_size = sizeof(faro_optimism)},
    .size = sizeof(linucb),
    .init = init,
    .update = update,
    .destroy = destroy,
};
