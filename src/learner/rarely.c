/* rarely: generalised linear rewards with two estimates that are rarely updated. Sarmasarkar 2026,
 * Alg. 2 (glm-joint) and, without noise, RS-GLinCB of Sawarni et al. 2024 (rs-glm).
 *
 *   V, H        lambda I + released sums: of x x' over the rounds that explore (part 0), and of w x
 *               x' over the others (part 1), with w the slope of the link
 *   theta_o     fitted to part 0; coarse: gives slopes, and drops arms that cannot be best
 *   theta_tau   fitted to part 1; the index is <x, theta_tau> + beta ||x||_{H_tau^-1}, where H_tau
 *               is H at that moment
 *
 *   Criterion I    ||x||^2_{V^-1} >= threshold for some arm: the person explores and plays the
 *                  widest
 *   Criterion II   H is not below f H_tau (rs-glm: its determinant has doubled): theta_tau is
 *                  refitted
 *
 * When fits are asked for depends on released matrices only. DEVIATION: both papers refit theta_o
 * after every round that explores. Under privacy that would show who explored (docs/privacy.md,
 * Studies). Here the growth of V decides, as Criterion II does for H: V <= f V_o keeps theta_o's
 * widths within sqrt(f). For the same reason Criterion II is checked when sums are released, and
 * not only in rounds that do not explore. Under figure theta_o is fitted as published. */
#include "learner/rarely.h"

#include <math.h>
#include <string.h>

#include "learner/noise.h"
#include "learner/optimism.h"
#include "learner/ridge.h"

static const double MOST_FITS = 1e6;  /* that a study allows */
static const double EVERYWHERE = 1e3; /* a radius that binds nothing */

static bool is_figure(const faro_asker_params *p) { return p->calibration == FARO_CALIBRATION_FIGURE; }
static bool is_paper(const faro_asker_params *p) { return p->calibration == FARO_CALIBRATION_PAPER; }
static bool is_tight(const faro_asker_params *p) { return p->calibration == FARO_CALIBRATION_TIGHT; }

/* sqrt(d ln(T / zeta)), the order of all widths. */
static double common_width(const faro_asker_params *p) {
  return sqrt((double)p->dimension * log((double)p->horizon / p->failure));
}

/* A bound on the operator norm of the noise in a part's sums, for both parts and all releases
 * together, with probability 1 - zeta/2. */
static double noise_bound(const faro_asker_params *p, const faro_noise *noise) {
  return faro_gram_bound(noise, p->dimension, p->failure / (4 * (double)p->horizon));
}

/* The width of theta_o's region and Criterion I follow from Gamma and the bound on a fit's loss. R
 * = 1. */
static void set_gamma(faro_rarely_constants *c, const faro_asker_params *p, double nu) {
  const double s = 2 + 2 * p->bound;
  c->gamma = sqrt(c->lambda_max / c->lambda[0]) * (s * c->Gamma + sqrt(s * nu));
  c->threshold = 1 / (c->gamma * c->gamma * p->kappa);
}

static void set_beta(faro_rarely_constants *c, double nu) {
  c->beta = sqrt(c->lambda_max / c->lambda[1]) * (4 * c->Gamma + 2 * sqrt(nu));
}

/* Closed forms of the orders in Sarmasarkar 2026. N_I bounds how often V can outgrow f V_o, as N_II
 * does for H. DEVIATION: the published N_I counts rounds that explore, because each of them makes a
 * fit. And the published noise is smaller off the diagonal, so the bound on its norm is smaller
 * too. */
static faro_rarely_constants theorem(const faro_asker_params *p, double operator_norm) {
  const double d = (double)p->dimension;
  const double t = (double)p->horizon;
  const double B = faro_link_steepest(p->link, p->bound);
  const double lambda = d * log(t / p->failure) + 8 * operator_norm;
  faro_rarely_constants c = {.lambda = {lambda, lambda},
                             .lambda_max = lambda + operator_norm,
                             .lambda_min = lambda - operator_norm,
                             .growth = 2,
                             .ridge = (double)NAN};
  c.Gamma =
      p->bound * sqrt(c.lambda_max) + sqrt(c.lambda_min) / 2 +
      2 / sqrt(c.lambda_min) * (log(1 / p->failure) + d / 2 * log1p(t * B / (d * c.lambda_min)) + d * log(2));
  set_gamma(&c, p, 0);
  set_beta(&c, 0);
  const double base = c.lambda_max / c.lambda_min;
  c.fits[0] = (uint64_t)ceil(d * log(base + t / (d * c.lambda_min)) / log(13.0 / 8));
  c.fits[1] = (uint64_t)ceil(d * log(base + t * B / (d * c.lambda_min)) / log(13.0 / 8));
  return c;
}

/* The constants of the published program. noise: its bound on the Gram noise, ln(4/delta)
 * ln^2(4T/zeta) / (epsilon kappa*). rs-glm (exact) has the same widths, and a small lambda. */
static faro_rarely_constants figure(const faro_asker_params *p, bool exact, double noise) {
  const double d = (double)p->dimension;
  const double t = (double)p->horizon;
  const double B = faro_link_steepest(p->link, p->bound);
  const double lambda = exact ? 0.5 : 2 * noise + 0.75 * d * log(4 * t / p->failure);
  const double least = lambda - 1.5 * noise;
  const double most = lambda + 1.5 * noise;
  faro_rarely_constants c = {.lambda = {lambda, lambda},
                             .lambda_max = most,
                             .lambda_min = least,
                             .gamma = p->bound * common_width(p),
                             .beta = 4 * common_width(p),
                             .threshold = 100 / (p->kappa * p->bound * p->bound * d),
                             .growth = exact ? 1.5 : 1.05 + 5 / (8 * sqrt(d)),
                             .ridge = 2e-5};
  const double coarse = floor(d * p->kappa * c.gamma * c.gamma * log(t) / 20000);
  c.fits[0] = (uint64_t)fmin(t, fmax(1, coarse)); /* kappa may be anything, and no round has two fits */
  c.fits[1] = (uint64_t)fmax(1, floor(3 * log2(most / least + t * B * B / (least * d))));
  return c;
}

/* The constants under `tight`: the published program's widths times `optimism`, and its threshold
 * divided by it (not by its square, as in `theorem`, so more is explored). lambda follows from the
 * actual noise, as in linucb. lambda is so small that noise alone can double V or H, so growth
 * within `doubt` does not count. For V, which few people enter, that is the whole bound. Fits: one
 * more than V can double in all directions equally; for H in each direction by itself, as
 * adversarial contexts need. Where all directions grow together few of them are made, and what the
 * others would have spent is little. */
static faro_rarely_constants practice(const faro_asker_params *p, const faro_noise noise[FARO_PARTS]) {
  const double d = (double)p->dimension;
  const double t = (double)p->horizon;
  const double B = faro_link_steepest(p->link, p->bound);
  const double optimism = faro_optimism_of(p->settings, p->calibration);
  faro_rarely_constants c = {.gamma = optimism * p->bound * common_width(p),
                             .beta = optimism * 4 * common_width(p),
                             .threshold = 100 / (optimism * p->kappa * p->bound * p->bound * d),
                             .growth = 2,
                             .ridge = 1};
  for (int part = 0; part < FARO_PARTS; part++) {
    const double bound = noise_bound(p, &noise[part]);
    c.lambda[part] = fmax(1, 2 * optimism * bound);
    c.doubt[part] = part == 0 ? bound : optimism * bound;
  }
  const double explored = fmin(t / d, 1 / c.threshold); /* V grows up to this and no further */
  c.fits[0] = 1 + (uint64_t)ceil(log2(1 + explored / c.lambda[0]));
  c.fits[1] = 1 + (uint64_t)ceil(d * log2(1 + t * B / (d * c.lambda[1])));
  return c;
}

/* As many fits as are possible without noise: each fit multiplies a determinant by at least
 * `growth`, and that of lambda I + sum w x x', w <= most, is at most (lambda + most T / d)^d. One
 * more for rounding. */
static uint64_t all_fits(const faro_asker_params *p, double lambda, double most, double growth) {
  const double d = (double)p->dimension;
  return 1 + (uint64_t)ceil(d * log1p(most * (double)p->horizon / (d * lambda)) / log(growth));
}

faro_rarely_constants faro_rarely_settle(const faro_asker_params *p, bool exact,
                                         const faro_noise noise[FARO_PARTS]) {
  faro_rarely_constants c = is_figure(p) ? figure(p, exact, noise[1].gamma)
                            : is_paper(p)
                                ? theorem(p, fmax(noise_bound(p, &noise[0]), noise_bound(p, &noise[1])))
                                : practice(p, noise);
  if (!exact) return c;
  c.fits[0] =
      is_figure(p) ? (uint64_t)fmin((double)p->horizon, MOST_FITS) : all_fits(p, c.lambda[0], 1, c.growth);
  c.fits[1] = all_fits(p, c.lambda[1], faro_link_steepest(p->link, p->bound), c.growth);
  return c;
}

static void set_diagonal(double *a, size_t d, double value) {
  memset(a, 0, faro_packed(d) * sizeof *a);
  for (size_t i = 0; i < d; i++) a[faro_diagonal(i)] = value;
}

uint64_t faro_rarely_term(void *state) { return ((const faro_rarely *)state)->params.horizon; }

void faro_rarely_begin(void *state, const faro_noise noise[FARO_PARTS], uint64_t fits[FARO_PARTS]) {
  faro_rarely *r = state;
  const size_t d = r->params.dimension;
  r->constant = faro_rarely_settle(&r->params, r->exact, noise);
  for (int part = 0; part < FARO_PARTS; part++) r->left[part] = fits[part] = r->constant.fits[part];
  set_diagonal(r->V, d, r->constant.lambda[0]);
  set_diagonal(r->V_o, d, r->constant.lambda[0]);
  set_diagonal(r->H, d, r->constant.lambda[1]);
  set_diagonal(r->H_tau, d, r->constant.lambda[1]);
  (void)faro_ridge_whiten(r->spd, d, r->V, r->W_V, r->constant.lambda[0] / 2);
  (void)faro_ridge_whiten(r->spd, d, r->H_tau, r->W_H, r->constant.lambda[1] / 2);
  r->log_det = (double)d * log(r->constant.lambda[1]);
  r->explores = 1 / r->constant.lambda[0] >= r->constant.threshold;
}

/* The best index among the arms that theta_o does not rule out: UCB_o(x) >= max LCB_o. */
static size_t best_left(const faro_rarely *r, const faro_arms *arms) {
  const double reach = r->constant.gamma * sqrt(r->params.kappa);
  double *mean = r->scratch;
  (void)faro_means(arms, r->theta_o, mean);
  double floor = -INFINITY;
  for (size_t a = 0; a < arms->count; a++) floor = fmax(floor, mean[a] - reach * r->width[a]);
  size_t best = arms->count;
  for (size_t a = 0; a < arms->count; a++)
    if (mean[a] + reach * r->width[a] >= floor && (best == arms->count || r->score[a] > r->score[best]))
      best = a;
  return best;
}

/* Slope of the link at the arm, by the current estimate. As published: theta_o's, divided by e,
 * which bounds its error. Under `tight`: theta_tau's, unchanged. */
static double weight_of(const faro_rarely *r, const faro_arms *arms, size_t arm) {
  const faro_asker_params *p = &r->params;
  const bool published = !is_tight(p);
  const double *theta = published ? r->theta_o : r->theta;
  double z = 0;
  for (size_t i = 0; i < p->dimension; i++) z += theta[i] * arms->x[i * arms->stride + arm];
  return faro_link_slope(p->link, z) * (published ? exp(-1) : 1);
}

faro_pick faro_rarely_pick(void *state, const faro_arms *arms, double luck) {
  (void)luck;
  faro_rarely *r = state;
  const bool drops = r->answered[0];
  if (r->explores || drops) {
    const size_t widest = faro_score(arms, r->zero, r->W_V, 1, r->width, r->scratch);
    if (r->width[widest] * r->width[widest] >= r->constant.threshold) { /* Criterion I */
      r->explored = true;
      const double square = r->width[widest] * r->width[widest];
      return (faro_pick){.arm = widest, .part = 0, .weight = is_figure(&r->params) ? 1 / (1 + square) : 1};
    }
  }
  size_t arm = faro_score(arms, r->theta, r->W_H, r->constant.beta, r->score, r->scratch);
  if (drops) arm = best_left(r, arms);
  return (faro_pick){.arm = arm, .part = 1, .weight = weight_of(r, arms, arm)};
}

/* True unless a <= f b + doubt I, that is, if the difference is not positive definite. */
static bool outgrown(faro_rarely *r, const double *a, const double *b, double doubt) {
  const size_t d = r->params.dimension;
  for (size_t i = 0; i < faro_packed(d); i++) r->curvature[i] = r->constant.growth * b[i] - a[i];
  for (size_t i = 0; i < d; i++) r->curvature[faro_diagonal(i)] += doubt;
  return !faro_spd_factor(r->spd, r->curvature);
}

/* ln det of packed positive definite a, whose inverse factor is w. */
static double log_det(const double *w, size_t d) {
  double sum = 0;
  for (size_t i = 0; i < d; i++) sum -= 2 * log(w[faro_diagonal(i)]);
  return sum;
}

/* a = lambda I + the released sum. False if nothing has changed. */
static bool take(const faro_statistics *sum, double lambda, size_t d, double *a) {
  bool same = true;
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++, a++) {
      const double entry = sum->sum[faro_packed(i) + j] + (i == j ? lambda : 0);
      same = same && *a == entry;
      *a = entry;
    }
  return !same;
}

/* Whether theta_o is to be fitted again. The published program does so after every round that
 * explores; elsewhere nobody may know whether anybody has explored. */
static bool is_old(faro_rarely *r) {
  return is_figure(&r->params) ? r->explored : outgrown(r, r->V, r->V_o, r->constant.doubt[0]);
}

/* Criterion I cannot apply to any arm if V > I / threshold, because arms have length at most 1. */
static void look_at_V(faro_rarely *r) {
  const size_t d = r->params.dimension;
  memcpy(r->curvature, r->V, faro_packed(d) * sizeof *r->V);
  for (size_t i = 0; i < d; i++) r->curvature[faro_diagonal(i)] -= 1 / r->constant.threshold;
  r->explores = !faro_spd_factor(r->spd, r->curvature);
  r->wants[0] = r->left[0] > 0 && is_old(r);
  if (r->explores || r->answered[0] || r->wants[0])
    (void)faro_ridge_whiten(r->spd, d, r->V, r->W_V, r->constant.lambda[0] / 2);
}

/* People before the first fit under `tight`, which has the largest share of the budget: if H
 * doubled in all directions at once until the horizon ends, this is when it would for the first
 * time. */
static double wait_of(const faro_rarely *r) {
  const faro_asker_params *p = &r->params;
  const double doublings = ceil((double)r->constant.fits[1] / (double)p->dimension);
  return is_tight(p) && !r->answered[1] ? (double)p->horizon * exp2(-doublings) : 0;
}

/* Criterion II. In the published program of rs-glm, H_tau is H itself from the first fit on, so H
 * never outgrows it. */
static void look_at_H(faro_rarely *r, uint64_t users) {
  const size_t d = r->params.dimension;
  if (!r->exact) {
    r->wants[1] = r->left[1] > 0 && (double)users >= wait_of(r) &&
                  outgrown(r, r->H, r->H_tau, r->answered[1] ? r->constant.doubt[1] : 0);
    return;
  }
  const bool aliased = is_figure(&r->params) && r->answered[1];
  double *w = aliased ? r->W_H : r->curvature;
  (void)faro_ridge_whiten(r->spd, d, r->H, w, r->constant.lambda[1] / 2);
  r->wants[1] = r->left[1] > 0 && !aliased && log_det(w, d) > r->log_det + log(r->constant.growth);
}

void faro_rarely_see(void *state, const faro_statistics sum[FARO_PARTS]) {
  faro_rarely *r = state;
  const size_t d = r->params.dimension;
  if (take(&sum[0], r->constant.lambda[0], d, r->V)) look_at_V(r);
  if (take(&sum[1], r->constant.lambda[1], d, r->H) || !r->exact) look_at_H(r, sum[1].users);
}

static double ridge_of(const faro_rarely *r, unsigned part) {
  return isnan(r->constant.ridge) ? r->constant.lambda[part] : r->constant.ridge;
}

/* The published program searches everywhere, from the estimate of the index. */
static double radius_of(const faro_asker_params *p) { return is_figure(p) ? EVERYWHERE : p->bound; }

/* theta_o: over ||theta|| <= S; V times the steepest slope is above the Hessian. */
static void ask_coarse(faro_rarely *r, faro_question *q) {
  const faro_asker_params *p = &r->params;
  const size_t d = p->dimension;
  const double B = faro_link_steepest(p->link, p->bound);
  memcpy(r->V_o, r->V, faro_packed(d) * sizeof *r->V);
  for (size_t i = 0; i < faro_packed(d); i++) r->curvature[i] = B * r->V[i];
  *q = (faro_question){.part = 0,
                       .ridge = ridge_of(r, 0),
                       .region = {.radius = radius_of(p)},
                       .curvature = r->curvature,
                       .start = is_figure(p) ? r->theta : r->theta_o};
  r->explored = false;
}

/* theta_tau: H approximates the Hessian. The paper searches ||theta - theta_o||_V <= gamma
 * sqrt(kappa); `tight` searches ||theta|| <= S, which is inside the ellipsoid until much has been
 * explored. The published program fits it to those who explored, too. */
static void ask_fine(faro_rarely *r, faro_question *q) {
  const faro_asker_params *p = &r->params;
  const size_t d = p->dimension;
  memcpy(r->H_tau, r->H, faro_packed(d) * sizeof *r->H);
  if (faro_ridge_whiten(r->spd, d, r->H_tau, r->W_H, r->constant.lambda[1] / 2) > 0)
    r->host->diagnostics.shifted++;
  r->log_det = log_det(r->W_H, d);
  *q = (faro_question){.part = 1,
                       .whole = is_figure(p),
                       .ridge = ridge_of(r, 1),
                       .region = {.radius = radius_of(p)},
                       .curvature = r->H_tau,
                       .start = r->theta};
  if (!is_paper(p)) return;
  q->region =
      (faro_region){.centre = r->theta_o, .metric = r->V, .radius = r->constant.gamma * sqrt(p->kappa)};
  q->start = r->theta_o;
}

bool faro_rarely_ask(void *state, faro_question *question) {
  faro_rarely *r = state;
  for (unsigned part = 0; part < FARO_PARTS; part++) {
    if (!r->wants[part]) continue;
    r->wants[part] = false;
    r->left[part]--;
    r->asked = part;
    (part == 0 ? ask_coarse : ask_fine)(r, question);
    return true;
  }
  return false;
}

/* The estimate of the index. The published programs take the mean of both; `tight` takes theta_o
 * until there is a theta_tau. */
static void set_index(faro_rarely *r) {
  const faro_asker_params *p = &r->params;
  const bool coarse = !r->answered[1] && is_tight(p);
  for (size_t i = 0; i < p->dimension; i++) {
    r->theta[i] = coarse ? r->theta_o[i] : r->theta_tau[i];
    if (is_figure(p)) r->theta[i] = (r->theta_o[i] + r->theta_tau[i]) / 2;
  }
}

/* Widths that depend on the quality of the fit. Under `tight`: noise xi in the gradient moves theta
 * by H^-1 xi, whose norm in H is ||xi||_{H^-1} <= ||xi|| / sqrt(lambda_min(H)), with ||xi|| by Hsu,
 * Kakade & Zhang 2012. For theta_o this takes V / kappa for the Hessian where it is flat, and
 * counts a cost of sqrt(kappa) for that, though it may be kappa. */
static void set_widths(faro_rarely *r, unsigned part, const faro_answer *answer) {
  const faro_asker_params *p = &r->params;
  faro_rarely_constants *c = &r->constant;
  if (is_paper(p) && part == 0) set_gamma(c, p, answer->bound);
  if (is_paper(p) && part == 1) set_beta(c, answer->bound);
  if (!is_tight(p)) return;
  const double length = answer->noise * (sqrt((double)p->dimension) + sqrt(2 * log(1 / p->failure)));
  double least = 0;
  double greatest = 0;
  faro_spd_extremes(r->spd, part == 0 ? r->V : r->H_tau, &least, &greatest);
  const double moved = length / sqrt(fmax(least, c->lambda[part] / 2));
  if (part == 0) c->gamma = r->optimism * (p->bound * common_width(p) + moved);
  else c->beta = r->optimism * (4 * common_width(p) + moved);
}

void faro_rarely_answer(void *state, const faro_answer *answer) {
  faro_rarely *r = state;
  const unsigned part = r->asked;
  memcpy(part == 0 ? r->theta_o : r->theta_tau, answer->theta, r->params.dimension * sizeof(double));
  r->answered[part] = true;
  set_widths(r, part, answer);
  set_index(r);
}

faro_status faro_rarely_init(void *state, const faro_asker_params *params, faro_host *host,
                             faro_error *error) {
  faro_rarely *r = state;
  const size_t d = params->dimension;
  const size_t packed = faro_packed(d);
  const size_t stride = faro_arm_stride(params->offers);
  r->params = *params;
  r->host = host;
  r->optimism = faro_optimism_of(params->settings, params->calibration);
  const faro_status status = faro_host_vectors(
      host, error, &r->V, packed, &r->V_o, packed, &r->W_V, packed, &r->H, packed, &r->H_tau, packed, &r->W_H,
      packed, &r->curvature, packed, &r->theta_o, d, &r->theta_tau, d, &r->theta, d, &r->zero, d, &r->width,
      stride, &r->score, stride, &r->scratch, faro_score_scratch(d, stride) + stride, (double **)NULL);
  return status == FARO_OK ? faro_spd_create(&r->spd, d, error) : status;
}

void faro_rarely_destroy(void *state) { faro_spd_destroy(((faro_rarely *)state)->spd); }
