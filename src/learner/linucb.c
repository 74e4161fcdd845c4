/* linucb: optimism over a confidence region around a least-squares estimate, from private sums.
 *
 * Under `tight` the region is that of docs/regret.md, Theorem 1: eigenvalues of the released Gram
 * matrix are clipped from below, and the region knows in which directions noise matters.
 *
 *   G, u     released sums of x x' and x y, with noise N and eta
 *   Q, g     eigenvectors and eigenvalues of G
 *   E, SN    bounds on ||eta - N theta|| and ||N||; both hold at all releases with probability
 *            1 - failure/2
 *   f        = max(1, E): eigenvalues below it are clipped up to it
 *   l, D     l_i = max(g_i, f),   D_i = l_i - g_i
 *   theta    = Q diag(1/l) Q' u
 *   beta^2   = R^2 (2 ln(2/failure) + min(sum ln(l_i + SN + 1), d ln(1 + n L^2 / d)))
 *   A, B, C  what rewards, noise and clipping add to the squared error, in direction i
 *   Sigma    = Q diag(A/a + B/b + C/c) Q', with weights a + b + c = 1
 *   w        the policy's: |x'(theta_hat - theta)| <= s ||w x||, s^2 w' w = Sigma, s the policy's
 *            `beta`, which is 1 unless the region is plain
 *
 * The region is plain without noise, once all eigenvalues are at least 1: Sigma = beta^2 (G^-1 +
 * G^-2) and s = beta. The inverse of G^-1 + G^-2 is G - I + H^-1 with H = G + I. Where a person
 * adds x x' to G, it gains x x' and loses what H^-1 loses, so that everything follows in O(d^2).
 *
 * Under `paper` and `figure` the region is published: Chowdhury & Zhou 2022, Alg. 1 and Lemma A.2
 * (Abbasi-Yadkori et al. 2011 without privacy):
 *
 *   V       lambda I + G, shifted up where noise has made it indefinite     Alg. 1 l. 16
 *   theta   V^-1 u                                                         Alg. 1 l. 17
 *   lambda_min, lambda_max   bounds on the eigenvalues of lambda I + N
 *   beta    radius                                                          Lemma A.2 */
#include <math.h>

#include "base/abort.h"
#include "learner/kind.h"
#include "learner/noise.h"
#include "learner/ridge.h"

typedef struct linucb {
  faro_updater_params params;
  faro_host *host;
  faro_spd *spd;
  faro_eigen *eigen;
  double *V, *P;
  double *g, *Q;                             /* d, d x d */
  double *sigma;                             /* d: eigenvalues of Sigma */
  double lambda, lambda_min, lambda_max, nu; /* published regions */
  /* To follow one direction: inverse factors of G and H, log det H (tight only); gains. */
  bool open; /* the next direction can be followed */
  double *W_G, *W_H, log_det;
  double *gain, *other; /* 2 d, d */
  faro_pace pace;
  faro_policy_step step;
} linucb;

static double failure_of_one(const faro_updater_params *p) {
  return p->failure / (4 * (double)(p->releases > 0 ? p->releases : 1));
}

/* The clipped region. */

typedef struct parts {
  double rewards, noise, clip; /* roots of the sums of A, B and C, then weights that add up to 1 */
} parts;

static parts weights_of(const linucb *l, double f, double beta2, double E, double SN) {
  parts w = {0};
  for (size_t i = 0; i < l->params.dimension; i++) {
    const double e = fmax(l->g[i], f);
    const double clipped = e - l->g[i];
    w.rewards += beta2 * (e + SN + 1) / (e * e);
    w.noise += E * E / (e * e);
    w.clip += clipped * clipped / (e * e);
  }
  const double a = sqrt(w.rewards);
  const double b = sqrt(w.noise);
  const double c = sqrt(w.clip);
  return (parts){.rewards = a / (a + b + c), .noise = b / (a + b + c), .clip = c / (a + b + c)};
}

static double log_det(const linucb *l, double f, double SN) {
  double sum = 0;
  for (size_t i = 0; i < l->params.dimension; i++) sum += log(fmax(l->g[i], f) + SN + 1);
  return sum;
}

static double beta_squared(const linucb *l, double log_det, double users) {
  const faro_updater_params *p = &l->params;
  const double d = (double)p->dimension;
  return p->reward * p->reward *
         (2 * log(2 / p->failure) + fmin(log_det, d * log1p(users * p->norm * p->norm / d)));
}

/* theta = sum_i <q_i, u> q_i / l_i, and P = Sigma^-1. */
static void set_from_eigen(linucb *l, double f, const double *u, faro_policy *policy) {
  const size_t d = l->params.dimension;
  for (size_t i = 0; i < d; i++) policy->theta[i] = 0;
  for (size_t i = 0; i < faro_packed(d); i++) l->P[i] = 0;
  for (size_t k = 0; k < d; k++) {
    const double *q = l->Q + k * d;
    const double along = u ? faro_dot(d, q, u) / fmax(l->g[k], f) : 0;
    for (size_t i = 0; i < d; i++) {
      policy->theta[i] += along * q[i];
      for (size_t j = 0; j <= i; j++) l->P[faro_packed(i) + j] += q[i] * q[j] / l->sigma[k];
    }
  }
  (void)faro_ridge_whiten(l->spd, d, l->P, policy->w, 0);
}

/* Inverse factors of a matrix whose eigenvalues differ by more say little, or do not exist. */
static const double ILL = 1e-9;

/* Whether the next direction can be followed from here. */
static bool prepare(linucb *l, const double *gram) {
  const size_t d = l->params.dimension;
  if (!(l->g[d - 1] >= ILL * l->g[0])) return false;
  faro_ridge_matrix(d, 0, gram, l->P);
  if (!faro_spd_whiten(l->spd, l->P, l->W_G)) return false;
  faro_ridge_matrix(d, 1, gram, l->P);
  return faro_spd_whiten(l->spd, l->P, l->W_H);
}

/* more: whether the sums have grown by one direction, as they may again. */
static void set_clipped(linucb *l, const double *gram, const double *u, double users, const faro_noise *noise,
                        bool more, faro_policy *policy) {
  const size_t d = l->params.dimension;
  const double q = failure_of_one(&l->params);
  const double E = faro_error_bound(noise, d, q);
  const double SN = faro_gram_bound(noise, d, q);
  const double f = fmax(1, E);
  faro_eigen_find(l->eigen, gram, l->g, l->Q);
  if (l->g[d - 1] < f) l->host->diagnostics.shifted++;
  l->log_det = log_det(l, f, SN);
  const bool plain = !noise->scale && l->g[d - 1] >= f;
  const double beta2 = beta_squared(l, l->log_det, users);
  const double scale = plain ? beta2 : 1;
  const parts w = weights_of(l, f, beta2, E, SN);
  for (size_t i = 0; i < d; i++) {
    const double e = fmax(l->g[i], f);
    const double clipped = e - l->g[i];
    l->sigma[i] = beta2 / scale * (e + SN + 1) / (e * e) / w.rewards;
    if (w.noise > 0) l->sigma[i] += E * E / (e * e) / w.noise;
    if (w.clip > 0) l->sigma[i] += clipped * clipped / (e * e) / w.clip;
  }
  set_from_eigen(l, f, u, policy);
  policy->beta = sqrt(scale);
  l->open = plain && more && prepare(l, gram);
}

/* What H^-1 loses is -(1 / t_H) h h', h = H^-1 x. Of the inverse of a matrix P that loses r r', no
 * direction grows by more than 1 / (1 - r' P^-1 r). False if rounding has left nothing of P. */
static bool follow_clipped(linucb *l, const faro_statistics *s, faro_policy *policy) {
  const size_t d = l->params.dimension;
  (void)faro_ridge_follow(l->spd, d, 1, s->more, s->more_y, l->W_G, policy->theta, l->other);
  const double t_H = faro_spd_grow(l->spd, 1, s->more, l->W_H, l->other);
  const double gains = faro_spd_grow(l->spd, 1, s->more, policy->w, l->gain);
  const double loses = faro_spd_grow(l->spd, -1 / t_H, l->other, policy->w, l->gain + d);
  if (!(loses > 0)) return false;
  l->log_det += log(t_H);
  policy->beta = sqrt(beta_squared(l, l->log_det, (double)s->users));
  l->step = (faro_policy_step){
      .rank = 2, .gain = l->gain, .less = {1 / gains, -1 / (t_H * loses)}, .widen = 1 / loses};
  policy->step = &l->step;
  return true;
}

/* Published regions. */

/* lambda = 2 Sigma_N, at least 1 (Lemma A.4). */
static void theorem_region(linucb *l) {
  const faro_updater_params *p = &l->params;
  const double q = failure_of_one(p);
  const double Sigma_N = faro_gram_bound(&p->noise, p->dimension, q);
  l->lambda = fmax(1, 2 * Sigma_N);
  l->lambda_min = l->lambda - Sigma_N;
  l->lambda_max = l->lambda + Sigma_N;
  l->nu = faro_vector_bound(&p->noise, p->dimension, q) / sqrt(l->lambda_min);
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

static void set_published(linucb *l, const double *gram, const double *u, double users, faro_policy *policy) {
  const size_t d = l->params.dimension;
  faro_ridge_matrix(d, l->lambda, gram, l->V); /* V = lambda I + sum   l. 16 */
  const double shift = faro_ridge_whiten(l->spd, d, l->V, policy->w, l->lambda_min);
  l->open = shift == 0;
  if (shift > 0) l->host->diagnostics.shifted++;
  if (u) faro_ridge_solve(d, policy->w, u, policy->theta); /* theta = V^-1 u   l. 17 */
  policy->beta = radius(l, users, shift);
}

static bool follow_published(linucb *l, const faro_statistics *s, faro_policy *policy) {
  const double t = faro_ridge_follow(l->spd, l->params.dimension, 1, s->more, s->more_y, policy->w,
                                     policy->theta, l->gain);
  policy->beta = radius(l, (double)s->users, 0);
  l->step = (faro_policy_step){.rank = 1, .gain = l->gain, .less = {1 / t}, .widen = 1};
  policy->step = &l->step;
  return true;
}

/* Either. */

static bool is_tight(const linucb *l) { return l->params.calibration == FARO_CALIBRATION_TIGHT; }

static void update(void *state, const faro_statistics *statistics, faro_policy *policy) {
  linucb *l = state;
  const double *u = statistics->sum + faro_packed(l->params.dimension);
  const bool follows = faro_pace_follows(&l->pace, statistics) && l->open;
  if (follows &&
      (is_tight(l) ? follow_clipped(l, statistics, policy) : follow_published(l, statistics, policy)))
    return;
  if (is_tight(l))
    set_clipped(l, statistics->sum, u, (double)statistics->users, &statistics->noise,
                statistics->more != NULL, policy);
  else set_published(l, statistics->sum, u, (double)statistics->users, policy);
}

static faro_status allocate(linucb *l, faro_error *error) {
  const size_t d = l->params.dimension;
  const size_t packed = faro_packed(d);
  faro_status status =
      faro_host_vectors(l->host, error, &l->V, packed, &l->P, packed, &l->g, d, &l->Q, d * d, &l->sigma, d,
                        &l->gain, 2 * d, &l->other, d, &l->W_G, packed, &l->W_H, packed, (double **)NULL);
  if (status == FARO_OK) status = faro_spd_create(&l->spd, d, error);
  return status == FARO_OK ? faro_eigen_create(&l->eigen, d, error) : status;
}

static faro_status init(void *state, const faro_updater_params *params, faro_host *host, faro_policy *policy,
                        faro_error *error) {
  linucb *l = state;
  l->params = *params;
  l->host = host;
  const faro_status status = allocate(l, error);
  if (status != FARO_OK) return status;
  if (params->calibration == FARO_CALIBRATION_FIGURE) figure_region(l);
  else theorem_region(l);
  l->params.noise.scale = NULL;                                                    /* it may go away now */
  if (is_tight(l)) set_clipped(l, l->V, NULL, 0, &(faro_noise){0}, false, policy); /* V is zero */
  else set_published(l, NULL, NULL, 0, policy);
  host->diagnostics.shifted = 0;
  return FARO_OK;
}

static void destroy(void *state) {
  faro_spd_destroy(((linucb *)state)->spd);
  faro_eigen_destroy(((linucb *)state)->eigen);
}

const faro_updater_kind faro_updater_linucb = {
    .about = {.name = "linucb",
              .summary = "optimism over a proven confidence region, from (private) sums of x x' and x y",
              .cite = "Chowdhury & Zhou 2022",
              .protocol = FARO_PROTOCOL_UPDATER,
              .region = "proven",
              .steady = true}, /* it plays one arm until the next release */
    .size = sizeof(linucb),
    .init = init,
    .update = update,
    .destroy = destroy,
};
