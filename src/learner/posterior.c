/* posterior: optimistic Thompson sampling from a posterior that knows the noise in released sums.
 *
 * Prior and sampling scale are Bayes'. The posterior is a Gaussian approximation, so this is a
 * calibrated Bayesian heuristic, not a proven region; linucb has that. docs/regret.md says which
 * problems its rules were chosen on.
 *
 *   theta     prior N(0, I / d): its length is about 1, the bound that is declared
 *   block     a sum with noise of its own: a batch, if the noise of batches is independent;
 *             else the running sum, which is the only block
 *   G, b      released Gram matrix of a block, and its vector less G theta_0
 *   theta_0   the estimate before the block; 0 for running sums
 *   W         G of a batch, drawn to what the people before would have made of it as far as noise
 *             and chance explain the difference; else G. u = b + W theta_0, so that what W says
 *             differently from G acts on theta - theta_0 only
 *   s_G, s_u  standard deviations of the noise in G, on its diagonal, and in u; s_W what is left of
 *             s_G in W
 *   Q, g      eigenvectors and eigenvalues of W
 *   k         number of eigenvalues that noise alone explains; they are shrunk (shrink.c)
 *   c_i       = s_u^2 + kappa s_G^2 (1 + 1/d) / 2 + R^2 g_i: variance of <q_i, u - W theta> for
 *             theta from the prior
 *   J, r      = sum over blocks and i of g_i^2 / c_i q_i q_i',  of g_i / c_i <q_i, u> q_i
 *   excess    what noise adds to J, by tilting the d - k directions that stand out: the sum of
 *             s_W^2 / (2 c_i) over them and over blocks
 *   Lambda    = d I + J less the excess, in no direction below d
 *   policy    argmax <Lambda^-1 r, x> + beta max(0, <w' xi, x>), w' w = Lambda^-1, xi standard
 *             normal, drawn on the user's device
 *   beta      = (1 - a) sqrt(1 - n / T)
 *   a         the least eigenvalue of the whole G over their mean, from below: if contexts vary so
 *             much that every direction is explored anyway, exploring on purpose is waste (Bastani,
 *             Bayati & Khosravi 2021)
 *   n / T     users so far over all: what is explored now pays for the share of them that is still
 *             to come, and the last batch teaches nobody (docs/regret.md). 0 if T may grow
 *
 * Generalised linear rewards, mean mu(<x, theta>): a batch was linearised at a point theta_0, so
 *   G = sum w x x',   b = sum x (y - mu(<x, theta_0>)),   R = 1,   prior N(0, S^2 I / d).
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
#include "learner/shrink.h"

/* What is known, without the prior's precision: packed, d, one number, one after the other. */
typedef struct knowledge {
  double *J, *r, *excess;
} knowledge;

typedef struct posterior {
  size_t dimension, length; /* length: of a sum; what is known has one number more */
  double R2;
  double prior; /* precision */
  bool linear;
  double horizon; /* T; INFINITY: it may grow */
  faro_spd *spd;
  faro_eigen *eigen;
  knowledge past; /* from the blocks before the newest */
  double *sum;    /* W and u of the newest block */
  double *block;  /* BLOCK_*: about it */
  double *before; /* not linear, running sums only: the last one */
  double *last;   /* its theta_0 */
  knowledge now;  /* from all blocks */
  double *precision;
  double *g, *Q;
} posterior;

/* 1 or, if there is no block, 0; variances of the noise: on the diagonal of W, of what that of G
 * does to u - W theta (times 2 / (1 + 1/d)), and in u; and the drift. Memory is `past`, `sum`,
 * `block`, `before` and `last`, one after the other. */
enum { BLOCK_IS, BLOCK_GRAM, BLOCK_ERROR, BLOCK_VECTOR, BLOCK_DRIFT, BLOCK_COUNT };

/* Adds what the newest block says to `now`. */
static void add_block(posterior *p) {
  const size_t d = p->dimension;
  const double *u = p->sum + faro_packed(d);
  if (p->block[BLOCK_IS] == 0) return;
  faro_eigen_find(p->eigen, p->sum, p->g, p->Q);
  size_t out = 0;
  const double kappa = faro_shrink(d, p->g, sqrt(p->block[BLOCK_GRAM]), &out);
  const double c0 = p->block[BLOCK_VECTOR] + kappa * p->block[BLOCK_ERROR] * (1 + 1 / (double)d) / 2;
  for (size_t k = 0; k < d && p->g[k] > 0; k++) {
    const double *q = p->Q + k * d;
    const double c = c0 + p->R2 * p->g[k];
    const double along = p->g[k] / c * faro_dot(d, q, u);
    for (size_t i = 0; i < d; i++) p->now.r[i] += along * q[i];
    faro_add_outer(d, p->g[k] * p->g[k] / c, q, p->now.J);
    if (k < out) *p->now.excess += p->block[BLOCK_GRAM] / (2 * c);
  }
}

static void set_precision(posterior *p) {
  const size_t d = p->dimension;
  faro_eigen_find(p->eigen, p->now.J, p->g, p->Q);
  memset(p->precision, 0, faro_packed(d) * sizeof *p->precision);
  for (size_t k = 0; k < d; k++)
    faro_add_outer(d, p->prior + fmax(0, p->g[k] - *p->now.excess), p->Q + k * d, p->precision);
}

static void set_policy(posterior *p, faro_policy *policy) {
  memcpy(p->now.J, p->past.J, (p->length + 1) * sizeof *p->now.J);
  add_block(p);
  set_precision(p);
  (void)faro_ridge_whiten(p->spd, p->dimension, p->precision, policy->w, 1);
  faro_ridge_solve(p->dimension, policy->w, p->now.r, policy->theta);
}

/* y += scale A x, A packed. */
static void multiply_add(size_t d, double scale, const double *A, const double *x, double *y) {
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++)
      y[i] += scale * (i >= j ? A[faro_packed(i) + j] : A[faro_packed(j) + i]) * x[j];
}

/* The expected squared length of what the noise of G acts on: theta from the prior, or theta -
 * theta_0, whose covariance is Lambda^-1 = w' w. */
static double spread_of(const posterior *p, const faro_policy *policy) {
  if (p->linear) return 1;
  double trace = 0;
  for (size_t i = 0; i < faro_packed(p->dimension); i++) trace += policy->w[i] * policy->w[i];
  return trace;
}

/* What a batch of its size would have added to the Gram matrix before. */
static double like(const faro_statistics *statistics, size_t entry) {
  const double before = (double)(statistics->users - statistics->block_users);
  return (double)statistics->block_users / before * (statistics->sum[entry] - statistics->block[entry]);
}

/* Squared Frobenius distance of the batch from that, per entry, beyond what noise of these
 * variances and chance explain: of noise, a standard deviation more than its mean; of chance, the
 * trace, which is at least the sum of ||x||^4. */
static double change(size_t d, const faro_statistics *statistics, double noise) {
  const double entries = (double)d * ((double)d + 1) / 2;
  double distance = 0;
  double trace = 0;
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++) {
      const size_t entry = faro_packed(i) + j;
      const double e = statistics->block[entry] - like(statistics, entry);
      distance += (i == j ? 1 : 2) * e * e;
      if (i == j) trace += fmax(0, like(statistics, entry) + statistics->block[entry]);
    }
  return fmax(0, (distance - trace) / entries - noise * (1 + sqrt(2 / entries)));
}

/* Makes W, and returns s_W^2. */
static double draw_together(posterior *p, const faro_statistics *statistics, double own) {
  const size_t d = p->dimension;
  memcpy(p->sum, statistics->block, p->length * sizeof *p->sum);
  if (statistics->users == statistics->block_users) return own;
  const double s = faro_noise_deviation(&statistics->noise, d).on;
  const double scale =
      (double)statistics->block_users / (double)(statistics->users - statistics->block_users);
  const double before = fmax(0, s * s - own) * scale * scale;
  const double other = before + change(d, statistics, own + before);
  const double weight = other / (own + other);
  for (size_t i = 0; i < faro_packed(d); i++)
    p->sum[i] = weight * p->sum[i] + (1 - weight) * like(statistics, i);
  return own * weight;
}

static void add_batch(posterior *p, const faro_statistics *statistics, const faro_policy *policy) {
  const size_t d = p->dimension;
  const faro_deviation s = faro_noise_deviation(&statistics->block_noise, d);
  const double *at = p->linear ? policy->theta : statistics->at;
  double *u = p->sum + faro_packed(d);
  memcpy(p->past.J, p->now.J, (p->length + 1) * sizeof *p->now.J);
  p->block[BLOCK_IS] = 1;
  p->block[BLOCK_GRAM] = draw_together(p, statistics, s.on * s.on);
  p->block[BLOCK_ERROR] = s.on * s.on * spread_of(p, policy);
  p->block[BLOCK_VECTOR] = s.vector * s.vector;
  if (p->linear) multiply_add(d, -1, statistics->block, at, u);
  multiply_add(d, 1, p->sum, at, u);
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
  multiply_add(d, 1, p->before, at, u);
  if (statistics->releases > 1) p->block[BLOCK_DRIFT] += s_G * s_G * step;
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
  for (size_t i = 0; i < p->length; i++) p->past.J[i] = noise ? 0 : p->sum[i] / p->R2;
  p->block[BLOCK_IS] = noise ? 1 : 0;
  p->block[BLOCK_GRAM] = s.on * s.on;
  p->block[BLOCK_ERROR] = s.on * s.on * spread_of(p, policy) + p->block[BLOCK_DRIFT];
  p->block[BLOCK_VECTOR] = s.vector * s.vector;
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
  const double left = 1 - (double)statistics->users / p->horizon;
  return (least > 0 ? 1 - least / mean : 1) * sqrt(fmax(0, left));
}

static void update(void *state, const faro_statistics *statistics, faro_policy *policy) {
  posterior *p = state;
  if (statistics->block && statistics->noise.scale) add_batch(p, statistics, policy);
  else take_sum(p, statistics, policy);
  set_policy(p, policy);
  policy->beta = need_to_explore(p, statistics);
}

static size_t memory_length(const posterior *p) {
  return 2 * p->length + 1 + BLOCK_COUNT + (p->linear ? 0 : p->length + p->dimension);
}

static void link_knowledge(const posterior *p, knowledge *k) {
  k->r = k->J + faro_packed(p->dimension);
  k->excess = k->J + p->length;
}

static faro_status init(void *state, const faro_updater_params *params, faro_host *host, faro_policy *policy,
                        faro_error *error) {
  posterior *p = state;
  const size_t d = params->dimension;
  p->dimension = d;
  p->length = faro_packed(d) + d;
  p->linear = params->link == FARO_LINK_LINEAR;
  p->horizon = params->ends ? (double)params->horizon : INFINITY;
  p->R2 = p->linear ? params->reward * params->reward : 1;
  p->prior = p->linear ? (double)d : (double)d / (params->bound * params->bound);
  faro_status status =
      faro_host_vectors(host, error, &p->past.J, memory_length(p), &p->now.J, p->length + 1, &p->precision,
                        faro_packed(d), &p->g, d, &p->Q, d * d, (double **)NULL);
  if (status == FARO_OK) status = faro_spd_create(&p->spd, d, error);
  if (status == FARO_OK) status = faro_eigen_create(&p->eigen, d, error);
  if (status != FARO_OK) return status;
  link_knowledge(p, &p->past);
  link_knowledge(p, &p->now);
  p->sum = p->past.excess + 1;
  p->block = p->sum + p->length;
  p->before = p->block + BLOCK_COUNT;
  p->last = p->before + p->length;
  policy->rule = FARO_RULE_OPTIMIST;
  policy->beta = 1;
  set_policy(p, policy);
  return FARO_OK;
}

static size_t memory(void *state, double **values) {
  const posterior *p = state;
  *values = p->past.J;
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
