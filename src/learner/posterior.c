/* posterior: optimistic Thompson sampling from a posterior that knows the noise in released sums.
 *
 * It has no constant to tune: prior and sampling scale are Bayes'. The posterior is a Gaussian
 * approximation, so this is a calibrated Bayesian heuristic, not a proven region (docs/regret.md);
 * linucb has that.
 *
 *   theta     prior N(0, I / d): its length is about 1, the bound that is declared
 *   block     a sum with noise of its own: if the noise of batches is independent, all batches in a
 *             row that have the same size; else the running sum
 *   G, u      released Gram matrix and vector of a block
 *   s_G, s_u  standard deviations of their noise, s_G on the diagonal
 *   Q, g      eigenvectors and eigenvalues of G
 *   k, m      number and mean of the eigenvalues that noise alone explains: those within the
 *             semicircle s_G sqrt(2 k)
 *   rho       share of noise in their scatter (Ledoit & Wolf 2004, with the noise known): they are
 *             shrunk towards m by it
 *   c_i       = s_u^2 + kappa s_G^2 (1 + 1/d) / 2 + R^2 g_i: variance of <q_i, u - G theta> for
 *             theta from the prior
 *   Lambda    = d I + sum over blocks and i of g_i^2 / c_i q_i q_i'
 *   r         = sum over blocks and i of g_i / c_i <q_i, u> q_i
 *   policy    argmax <Lambda^-1 r, x> + beta max(0, <w' xi, x>), w' w = Lambda^-1, xi standard
 *             normal, drawn on the user's device
 *   beta      1 less the least eigenvalue of the whole G over their mean, from below: if contexts
 *             vary so much that every direction is explored anyway, exploring on purpose is waste
 *             (Bastani, Bayati & Khosravi 2021)
 *
 * Generalised linear rewards, mean mu(<x, theta>): a batch was linearised at a point theta_0, so
 *   G = sum w x x',   b = sum x (y - mu(<x, theta_0>)),   u = b + G theta_0,
 *   R = 1,   prior N(0, S^2 I / d).
 * The noise N of G acts on theta - theta_0 only: (1 + 1/d) tr(Lambda^-1) s_G^2 / 2 in c_i, with the
 * Lambda before the batch. Running sums: u adds up b_k + G_k theta_0k over differences of sums, so
 * that summing by parts leaves N (theta - theta_0) and the noises of earlier sums times the steps
 * of theta_0, `drift`.
 *
 * Optimistic sampling: May et al. 2012. Regression from noisy sufficient statistics: Bernstein &
 * Sheldon 2019. */
#include <math.h>
#include <string.h>

#include "learner/kind.h"
#include "learner/noise.h"
#include "learner/ridge.h"

/* What is known, without the prior's precision: packed, d, one after the other. */
typedef struct knowledge {
  double *Lambda, *r;
} knowledge;

typedef struct posterior {
  size_t dimension, length; /* length: of a sum */
  double R2;
  double prior; /* precision */
  bool linear;
  faro_spd *spd;
  faro_eigen *eigen;
  knowledge past; /* from the blocks before the open one */
  double *sum;    /* G and u of the open block */
  double *open;   /* OPEN_*: about it */
  double *before; /* not linear, running sums only: the last one */
  double *last;   /* its theta_0 */
  knowledge now;  /* from all blocks */
  double *precision;
  double *g, *Q;
} posterior;

/* Users of each of its batches (0: there is no open block); variances of the noise: on the diagonal
 * of G, of what that does to u - G theta (times 2 / (1 + 1/d)), and in u; and the drift. Memory is
 * `past`, `sum`, `open`, `before` and `last`, one after the other. */
enum { OPEN_USERS, OPEN_GRAM, OPEN_ERROR, OPEN_VECTOR, OPEN_DRIFT, OPEN_COUNT };

/* Number of eigenvalues, the lowest ones, that noise of standard deviation s_G explains, and their
 * mean. */
static size_t find_bulk(const posterior *p, double s_G, double *mean) {
  const size_t d = p->dimension;
  for (size_t k = d;; k--) {
    *mean = 0;
    for (size_t i = d - k; i < d; i++) *mean += p->g[i] / (double)k;
    if (k == 1 || p->g[d - k] - *mean <= s_G * sqrt(2 * (double)k)) return k;
  }
}

/* Shrinks the bulk and cuts eigenvalues at 0. Returns kappa, the share of the Gram noise that is
 * left. */
static double shrink(posterior *p, double s_G) {
  const size_t d = p->dimension;
  double m = 0;
  const size_t k = find_bulk(p, s_G, &m);
  double scatter = 0;
  for (size_t i = d - k; i < d; i++) scatter += (p->g[i] - m) * (p->g[i] - m);
  const double noise = s_G * s_G * ((double)k - 1) * ((double)k + 2) / 2;
  const double rho = noise > 0 ? fmin(1, noise / scatter) : 0;
  for (size_t i = d - k; i < d; i++) p->g[i] = m + (1 - rho) * (p->g[i] - m);
  for (size_t i = 0; i < d; i++) p->g[i] = fmax(0, p->g[i]);
  return k == d ? 1 - rho : 1;
}

/* Adds what the open block says to `now`. */
static void add_open(posterior *p) {
  const size_t d = p->dimension;
  const double *u = p->sum + faro_packed(d);
  if (p->open[OPEN_USERS] == 0) return;
  faro_eigen_find(p->eigen, p->sum, p->g, p->Q);
  const double kappa = shrink(p, sqrt(p->open[OPEN_GRAM]));
  const double c0 = p->open[OPEN_VECTOR] + kappa * p->open[OPEN_ERROR] * (1 + 1 / (double)d) / 2;
  for (size_t k = 0; k < d && p->g[k] > 0; k++) {
    const double *q = p->Q + k * d;
    const double weight = p->g[k] / (c0 + p->R2 * p->g[k]);
    const double along = weight * faro_dot(d, q, u);
    for (size_t i = 0; i < d; i++) {
      p->now.r[i] += along * q[i];
      for (size_t j = 0; j <= i; j++) p->now.Lambda[faro_packed(i) + j] += weight * p->g[k] * q[i] * q[j];
    }
  }
}

static void set_policy(posterior *p, faro_policy *policy) {
  const size_t d = p->dimension;
  memcpy(p->now.Lambda, p->past.Lambda, p->length * sizeof *p->now.Lambda);
  add_open(p);
  faro_ridge_matrix(d, p->prior, p->now.Lambda, p->precision);
  (void)faro_ridge_whiten(p->spd, d, p->precision, policy->w, 1);
  faro_ridge_solve(d, policy->w, p->now.r, policy->theta);
}

/* y += A x, A packed. */
static void multiply_add(size_t d, const double *A, const double *x, double *y) {
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++) y[i] += (i >= j ? A[faro_packed(i) + j] : A[faro_packed(j) + i]) * x[j];
}

/* The expected squared length of what the noise of G acts on: theta from the prior, or theta -
 * theta_0, whose covariance is Lambda^-1 = w' w. */
static double spread_of(const posterior *p, const faro_policy *policy) {
  if (p->linear) return 1;
  double trace = 0;
  for (size_t i = 0; i < faro_packed(p->dimension); i++) trace += policy->w[i] * policy->w[i];
  return trace;
}

/* Batches of one size are summed before their noise is judged: many small blocks, each with the
 * same bias, would be too sure of themselves. */
static void add_batch(posterior *p, const faro_statistics *statistics, const faro_policy *policy) {
  const size_t d = p->dimension;
  const double users = (double)statistics->block_users;
  const faro_deviation s = faro_noise_deviation(&statistics->block_noise, d);
  if (p->open[OPEN_USERS] != users) {
    memcpy(p->past.Lambda, p->now.Lambda, p->length * sizeof *p->now.Lambda);
    memset(p->sum, 0, p->length * sizeof *p->sum);
    memset(p->open, 0, OPEN_COUNT * sizeof *p->open);
    p->open[OPEN_USERS] = users;
  }
  for (size_t i = 0; i < p->length; i++) p->sum[i] += statistics->block[i];
  if (!p->linear) multiply_add(d, statistics->block, statistics->at, p->sum + faro_packed(d));
  p->open[OPEN_GRAM] += s.on * s.on;
  p->open[OPEN_ERROR] += s.on * s.on * spread_of(p, policy);
  p->open[OPEN_VECTOR] += s.vector * s.vector;
}

/* u of all batches, from the difference of two running sums. */
static void follow(posterior *p, const faro_statistics *statistics, double s_G) {
  const size_t d = p->dimension;
  const double *at = statistics->at;
  double *u = p->sum + faro_packed(d);
  double step = 0;
  for (size_t i = 0; i < p->length; i++) p->before[i] = statistics->sum[i] - p->before[i];
  for (size_t i = 0; i < d; i++) {
    u[i] += p->before[faro_packed(d) + i];
    step += (at[i] - p->last[i]) * (at[i] - p->last[i]);
  }
  multiply_add(d, p->before, at, u);
  if (statistics->releases > 1) p->open[OPEN_DRIFT] += s_G * s_G * step;
  memcpy(p->before, statistics->sum, p->length * sizeof *p->before);
  memcpy(p->last, at, d * sizeof *p->last);
  memcpy(p->sum, statistics->sum, faro_packed(d) * sizeof *p->sum);
}

/* The running sum is the only block. Without noise it is ordinary Bayesian regression. */
static void take_sum(posterior *p, const faro_statistics *statistics, const faro_policy *policy) {
  const faro_deviation s = faro_noise_deviation(&statistics->noise, p->dimension);
  const bool noise = statistics->noise.scale;
  if (p->linear) memcpy(p->sum, statistics->sum, p->length * sizeof *p->sum);
  else follow(p, statistics, s.on);
  for (size_t i = 0; i < p->length; i++) p->past.Lambda[i] = noise ? 0 : p->sum[i] / p->R2;
  p->open[OPEN_USERS] = noise ? (double)statistics->users : 0;
  p->open[OPEN_GRAM] = s.on * s.on;
  p->open[OPEN_ERROR] = s.on * s.on * spread_of(p, policy) + p->open[OPEN_DRIFT];
  p->open[OPEN_VECTOR] = s.vector * s.vector;
}

/* Noise moves no eigenvalue beyond the semicircle's edge by much, so the edge is taken off the
 * least. */
static double need_to_explore(posterior *p, const faro_statistics *statistics) {
  const size_t d = p->dimension;
  const double s_G = faro_noise_deviation(&statistics->noise, d).on;
  double mean = 0;
  faro_eigen_find(p->eigen, statistics->sum, p->g, p->Q);
  for (size_t i = 0; i < d; i++) mean += p->g[i] / (double)d;
  const double least = p->g[d - 1] - s_G * sqrt(2 * (double)d);
  return least > 0 ? 1 - least / mean : 1;
}

static void update(void *state, const faro_statistics *statistics, faro_policy *policy) {
  posterior *p = state;
  if (statistics->block && statistics->noise.scale) add_batch(p, statistics, policy);
  else take_sum(p, statistics, policy);
  set_policy(p, policy);
  policy->beta = need_to_explore(p, statistics);
}

static size_t memory_length(const posterior *p) {
  return 2 * p->length + OPEN_COUNT + (p->linear ? 0 : p->length + p->dimension);
}

static faro_status init(void *state, const faro_updater_params *params, faro_host *host, faro_policy *policy,
                        faro_error *error) {
  posterior *p = state;
  const size_t d = params->dimension;
  p->dimension = d;
  p->length = faro_packed(d) + d;
  p->linear = params->link == FARO_LINK_LINEAR;
  p->R2 = p->linear ? params->reward * params->reward : 1;
  p->prior = p->linear ? (double)d : (double)d / (params->bound * params->bound);
  faro_status status =
      faro_host_vectors(host, error, &p->past.Lambda, memory_length(p), &p->now.Lambda, p->length,
                        &p->precision, faro_packed(d), &p->g, d, &p->Q, d * d, (double **)NULL);
  if (status == FARO_OK) status = faro_spd_create(&p->spd, d, error);
  if (status == FARO_OK) status = faro_eigen_create(&p->eigen, d, error);
  if (status != FARO_OK) return status;
  p->past.r = p->past.Lambda + faro_packed(d);
  p->sum = p->past.Lambda + p->length;
  p->open = p->sum + p->length;
  p->before = p->open + OPEN_COUNT;
  p->last = p->before + p->length;
  p->now.r = p->now.Lambda + faro_packed(d);
  policy->rule = FARO_RULE_OPTIMIST;
  policy->beta = 1;
  set_policy(p, policy);
  return FARO_OK;
}

static size_t memory(void *state, double **values) {
  const posterior *p = state;
  *values = p->past.Lambda;
  return memory_length(p);
}

static void resume(void *state, const faro_statistics *statistics, faro_policy *policy) {
  set_policy(state, policy);
  policy->beta = need_to_explore(state, statistics);
}

static void destroy(void *state) {
  faro_spd_destroy(((posterior *)state)->spd);
  faro_eigen_destroy(((posterior *)state)->eigen);
}

const faro_updater_kind faro_updater_posterior = {
    .about = {.name = "posterior",
              .summary =
                  "optimistic sampling from the posterior that knows the noise; calibrated, not proven",
              .protocol = FARO_PROTOCOL_UPDATER,
              .region = "calibrated",
              .carries = true,
              .generalised = true,
              .refuses = 1U << FARO_CALIBRATION_FIGURE},
    .size = sizeof(posterior),
    .init = init,
    .update = update,
    .memory = memory,
    .resume = resume,
    .destroy = destroy,
};
