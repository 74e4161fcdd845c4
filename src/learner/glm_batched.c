/* glm-batched: generalised linear rewards for stochastic contexts, in a few batches fixed in
 * advance. Sarmasarkar 2026, Alg. 1; without noise, B-GLinCB of Sawarni et al. 2024.
 *
 * Every batch is a term with its own people, who send their part of W = sum w x x' and answer one
 * fit. A person draws an arm from a near-optimal design of sqrt(w) x over the arms that are not
 * ruled out. After the last batch that is learned from, people play what looks best, and nobody is
 * asked.
 *
 * Under `tight` everything follows from the belief N(theta, Sigma) after the batches so far
 * (belief.h):
 *
 *   lengths   those with the least predicted regret at this noise (terms.c)
 *   w         the expected slope of the link at the arm, which removes kappa from all widths
 *   x stays   unless the chance that it is better than the arm that looks best, z, is below failure
 *             / K:  <z - x, theta> <= q ||z - x||_Sigma,  q the normal distribution's quantile
 *
 * As published (`paper`; `figure`, which has no noise), with j = 1 .. k - 1 in batch k:
 *
 *   UCB_j(x) = <x, theta_j> + r_j ||x||_{V_j^-1},   LCB_j(x) likewise with minus;
 *   x stays if UCB_j(x) >= max LCB_j
 *   V_1 = lambda I + sum x x'     r_1 = gamma sqrt(kappa)     the first batch: all arms
 *   V_j = lambda I + sum w x x'   r_j = gamma
 *   w = slope(<x, theta_1>) / exp(min(2 S, r_1 ||x||_{V_1^-1})) */
#include <math.h>
#include <string.h>

#include "explore/explore.h"
#include "learner/belief.h"
#include "learner/noise.h"
#include "learner/ridge.h"
#include "learner/terms.h"

enum { PUBLISHED = 4 }; /* M, as published; nothing is learned from the last one */

typedef struct estimate {
  double *theta, *w; /* w: inverse factor of V_j */
  double reach;      /* r_j */
  double longest;    /* the greatest ||x||_{V_j^-1} of an arm of length at most 1 */
} estimate;

typedef struct batched {
  faro_asker_params params;
  faro_host *host;
  faro_explorer *explorer;
  faro_spd *spd;
  faro_terms plan;
  faro_belief belief; /* tight */
  double quantile;    /* q */
  double spread;      /* standard deviation of the noise on the diagonal of W */
  estimate past[PUBLISHED];
  double lambda;
  /* batches begun, and batches with an estimate; if equal, nobody is asked any more */
  size_t terms, finished;
  bool wants;
  double *V;            /* published: V_k; tight: the curvature of the fit */
  faro_arms scaled;     /* sqrt(w) x of the current arms */
  double *weight;       /* w */
  double *mean, *upper; /* per arm */
  double *scratch;
  size_t *active;
} batched;

static bool is_tight(const batched *b) { return b->params.calibration == FARO_CALIBRATION_TIGHT; }

/* The part whose people publish in the current term. The first batch of the published algorithm has
 * weights of 1, beyond the bound of part 1. */
static unsigned part_of(const batched *b) { return b->finished == 0 && !is_tight(b) ? 0 : 1; }

/* Terms. */

/* tau_1 = max(4 sqrt(T), T^(2/3)), at most T/4 and at least 2; tau_2 = alpha, tau_k = alpha
 * sqrt(tau_(k-1)) with alpha = T^(1/(2 (1 - 2^(1-M)))) if M <= log log T and else 2 sqrt(T),
 * Sawarni et al. 2024. DEVIATION: their tau_1, (sqrt(kappa) e^(3S) d^2 gamma^2 alpha / S)^(2/3),
 * exceeds every feasible horizon. */
static double published_length(double t, size_t term) {
  if (term == 0) return fmax(2, fmin(ceil(fmax(4 * sqrt(t), pow(t, 2.0 / 3))), floor(t / 4)));
  const double alpha =
      PUBLISHED <= log2(log2(t)) ? pow(t, 1 / (2 * (1 - ldexp(1, 1 - PUBLISHED)))) : 2 * sqrt(t);
  double length = alpha;
  for (size_t k = 1; k < term; k++) length = alpha * sqrt(length);
  return ceil(length);
}

/* A batch that fills the horizon is not a term, because nobody would come after it. The first batch
 * is a term even so (T = 1, 2), because there is nothing to play by before it. */
static faro_terms published_plan(double t) {
  faro_terms plan = {.count = 1, .length = {(uint64_t)fmin(t, published_length(t, 0))}};
  double left = t - (double)plan.length[0];
  for (size_t k = 1; k + 1 < PUBLISHED && published_length(t, k) < left; k++) {
    plan.length[plan.count++] = (uint64_t)published_length(t, k);
    left -= published_length(t, k);
  }
  return plan;
}

/* The q with P(normal > q) = p. */
static double upper_quantile(double p) {
  double low = 0;
  double high = 40;
  for (int i = 0; i < 60; i++) {
    const double middle = (low + high) / 2;
    *(faro_link_mean(FARO_LINK_PROBIT, -middle) > p ? &low : &high) = middle;
  }
  return high;
}

static faro_terms tight_plan(const batched *b) {
  const faro_asker_params *p = &b->params;
  const double K = (double)p->offers;
  return faro_terms_plan(
      &(faro_terms_facts){.horizon = (double)p->horizon,
                          .dimension = (double)p->dimension,
                          .prior = b->belief.prior,
                          .slope = faro_expected_slope(p->link, 0, 1 / sqrt(b->belief.prior)),
                          .noise = {p->noise[0], p->noise[1]},
                          .quantile = b->quantile,
                          .typical = upper_quantile(1 / (K + 1))});
}

static uint64_t term(void *state) {
  const batched *b = state;
  return b->terms < b->plan.count ? b->plan.length[b->terms] : 0;
}

/* One fit, for this batch's part. */
static void begin(void *state, const faro_noise noise[FARO_PARTS], uint64_t fits[FARO_PARTS]) {
  batched *b = state;
  const faro_asker_params *p = &b->params;
  const unsigned part = part_of(b);
  b->terms++;
  b->spread = faro_noise_diagonal(&noise[part], p->dimension);
  b->lambda = 0.75 * (double)p->dimension * log(4 * (double)p->horizon / p->failure) +
              2 * faro_gram_bound(&noise[part], p->dimension, p->failure / (4 * PUBLISHED));
  fits[part] = 1;
  fits[1 - part] = 0;
}

/* Arms. */

static void judge(batched *b, const faro_arms *arms, size_t j) {
  (void)faro_means(arms, b->past[j].theta, b->mean);
  (void)faro_score(arms, b->past[j].theta, b->past[j].w, b->past[j].reach, b->upper, b->scratch);
}

/* Keeps the arms that estimate j does not rule out. Returns their number, at least 1. */
static size_t keep_published(batched *b, const faro_arms *arms, size_t j, size_t count) {
  judge(b, arms, j);
  double floor = -INFINITY;
  for (size_t i = 0; i < count; i++) {
    const size_t a = b->active[i];
    floor = fmax(floor, 2 * b->mean[a] - b->upper[a]);
  }
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (b->upper[b->active[i]] >= floor) b->active[kept++] = b->active[i];
  return kept;
}

/* As published: finds the arms that are not ruled out; returns their number, at least 1. */
static size_t survivors(batched *b, const faro_arms *arms) {
  size_t count = arms->count;
  for (size_t a = 0; a < count; a++) b->active[a] = a;
  for (size_t j = 0; j < b->finished; j++) count = keep_published(b, arms, j, count);
  return count;
}

/* w of all arms, and sqrt(w) x. */
static void scale_arms(batched *b, const faro_arms *arms) {
  const faro_asker_params *p = &b->params;
  judge(b, arms, 0);
  for (size_t a = 0; a < arms->count; a++)
    b->weight[a] = faro_link_slope(p->link, b->mean[a]) / exp(fmin(2 * p->bound, b->upper[a] - b->mean[a]));
  b->scaled.count = arms->count;
  b->scaled.stride = arms->stride;
  for (size_t i = 0; i < arms->dimension; i++)
    for (size_t a = 0; a < arms->count; a++)
      b->scaled.x[i * arms->stride + a] = sqrt(b->weight[a]) * arms->x[i * arms->stride + a];
  b->scaled.version++;
}

/* The best arm by the last estimate, among those that no estimate rules out. */
static size_t greedy(batched *b, const faro_arms *arms) {
  if (is_tight(b)) return faro_means(arms, b->belief.theta, b->mean);
  const size_t count = survivors(b, arms);
  (void)faro_means(arms, b->past[b->finished - 1].theta, b->mean);
  size_t best = b->active[0];
  for (size_t i = 1; i < count; i++)
    if (b->mean[b->active[i]] > b->mean[best]) best = b->active[i];
  return best;
}

static faro_pick pick_published(batched *b, const faro_arms *arms, double luck) {
  const size_t count = survivors(b, arms);
  if (part_of(b) == 0)
    return (faro_pick){.arm = faro_explorer_draw(b->explorer, arms, b->active, count, luck), .weight = 1};
  scale_arms(b, arms);
  const size_t arm = faro_explorer_draw(b->explorer, &b->scaled, b->active, count, luck);
  return (faro_pick){.arm = arm, .part = 1, .weight = b->weight[arm]};
}

static bool explores(const batched *b) { return b->finished == 0 || b->finished < b->terms; }

static faro_pick pick(void *state, const faro_arms *arms, double luck) {
  batched *b = state;
  if (!explores(b)) return (faro_pick){.arm = greedy(b, arms), .part = 1};
  if (!is_tight(b)) return pick_published(b, arms, luck);
  const faro_outlook outlook = {.link = b->params.link,
                                .bound = b->params.bound,
                                .theta = b->belief.theta,
                                .w = b->belief.w,
                                .quantile = b->quantile};
  faro_pick picked = {.part = 1};
  picked.arm = faro_explorer_pick(b->explorer, &outlook, arms, luck, &picked.weight);
  return picked;
}

/* Fits. */

static void see_published(batched *b, const double *sum) {
  const size_t d = b->params.dimension;
  faro_ridge_matrix(d, b->lambda, sum, b->V);
  if (faro_ridge_whiten(b->spd, d, b->V, b->past[b->finished].w, b->lambda / 2) > 0)
    b->host->diagnostics.shifted++;
  double least = 0;
  double greatest = 0;
  faro_spd_extremes(b->spd, b->V, &least, &greatest);
  b->past[b->finished].longest = 1 / sqrt(fmax(least, b->lambda / 2));
}

static void see(void *state, const faro_statistics sum[FARO_PARTS]) {
  batched *b = state;
  const double *W = sum[part_of(b)].sum;
  if (is_tight(b)) faro_belief_see(&b->belief, W, b->spread);
  else see_published(b, W);
  b->wants = true;
}

/* The factor that brings V above the Hessian. In the first batch it is the steepest slope. In later
 * batches V is below the Hessian at theta_1 by the exponentials in the weights, none of which
 * exceeds that of an arm of length 1 in V_1's least direction. */
static double lift(const batched *b) {
  const faro_asker_params *p = &b->params;
  if (b->finished == 0) return faro_link_steepest(p->link, p->bound);
  return exp(fmin(2 * p->bound, b->past[0].reach * b->past[0].longest));
}

/* W is the Hessian that is expected. A fit passes points where it is steeper, up to about twice.
 * Eigenvalues within the semicircle of the noise say nothing. */
static void set_curvature(batched *b) {
  const size_t d = b->params.dimension;
  if (is_tight(b))
    faro_belief_curvature(&b->belief, fmax(b->belief.prior, b->spread * sqrt(2 * (double)d)), 2, b->V);
  else {
    const double factor = lift(b);
    for (size_t i = 0; i < faro_packed(d); i++) b->V[i] *= factor;
  }
}

static const double *start_of(const batched *b) {
  return is_tight(b) ? b->belief.theta : b->past[b->finished == 0 ? 0 : b->finished - 1].theta;
}

static bool ask(void *state, faro_question *question) {
  batched *b = state;
  if (!b->wants) return false;
  b->wants = false;
  set_curvature(b);
  *question = (faro_question){.part = part_of(b),
                              .ridge = is_tight(b) ? b->belief.prior : b->lambda,
                              .region = {.radius = b->params.bound},
                              .curvature = b->V,
                              .start = start_of(b)};
  return true;
}

/* gamma = S sqrt(d ln(T/zeta)) plus what the noise in the gradient adds (rarely.c, set_widths). */
static void take_published(batched *b, const faro_answer *given) {
  const faro_asker_params *p = &b->params;
  const double d = (double)p->dimension;
  estimate *e = &b->past[b->finished];
  memcpy(e->theta, given->theta, p->dimension * sizeof *e->theta);
  const double length = given->noise * (sqrt(d) + sqrt(2 * log(1 / p->failure)));
  const double gamma = p->bound * sqrt(d * log((double)p->horizon / p->failure)) + length * e->longest;
  e->reach = gamma * (b->finished == 0 ? sqrt(p->kappa) : 1);
}

static void answer(void *state, const faro_answer *given) {
  batched *b = state;
  if (is_tight(b)) faro_belief_take(&b->belief, given, b->belief.prior);
  else take_published(b, given);
  b->finished++;
}

/* For people who are elsewhere. */

static bool publish(const void *state, faro_policy *policy) {
  const batched *b = state;
  if (!is_tight(b)) return false;
  *policy = (faro_policy){.rule = explores(b) ? FARO_RULE_DESIGN : FARO_RULE_WIDTH,
                          .dimension = b->params.dimension,
                          .theta = b->belief.theta,
                          .w = b->belief.w,
                          .beta = explores(b) ? b->quantile : 0,
                          .version = b->finished + 1};
  return true;
}

static bool guess(const void *state, const faro_answer *given, double *theta) {
  const batched *b = state;
  if (!is_tight(b)) return false;
  faro_belief_guess(&b->belief, given, b->belief.prior, theta);
  return true;
}

/* Creation. */

static faro_status allocate(batched *b, faro_error *error) {
  const size_t d = b->params.dimension;
  const size_t stride = faro_arm_stride(b->params.offers);
  b->scaled.dimension = d;
  b->active = faro_arena_alloc(&b->host->arena, stride, sizeof *b->active, error);
  if (!b->active) return FARO_MEMORY;
  faro_status status = faro_host_vectors(b->host, error, &b->V, faro_packed(d), &b->scaled.x, d * stride,
                                         &b->weight, stride, &b->mean, stride, &b->upper, stride, &b->scratch,
                                         faro_score_scratch(d, stride), (double **)NULL);
  for (size_t j = 0; status == FARO_OK && j < PUBLISHED; j++)
    status = faro_host_vectors(b->host, error, &b->past[j].theta, d, &b->past[j].w, faro_packed(d),
                               (double **)NULL);
  return status;
}

/* The prior: theta has a length of about S. */
static faro_status init(void *state, const faro_asker_params *params, faro_host *host, faro_error *error) {
  batched *b = state;
  const size_t d = params->dimension;
  b->params = *params;
  b->host = host;
  b->quantile = upper_quantile(params->failure / (double)params->offers);
  faro_status status = allocate(b, error);
  if (status == FARO_OK) status = faro_spd_create(&b->spd, d, error);
  if (status == FARO_OK) status = faro_explorer_create(&b->explorer, d, params->offers, error);
  if (status == FARO_OK)
    status = faro_belief_init(&b->belief, d, (double)d / (params->bound * params->bound), host, error);
  if (status == FARO_OK) b->plan = is_tight(b) ? tight_plan(b) : published_plan((double)params->horizon);
  return status;
}

static void destroy(void *state) {
  batched *b = state;
  faro_explorer_destroy(b->explorer);
  faro_spd_destroy(b->spd);
  faro_belief_clear(&b->belief);
}

const faro_asker_kind faro_asker_glm_batched = {
    .about = {.name = "glm-batched",
              .summary = "generalised linear rewards, elimination in a few batches",
              .cite = "Sarmasarkar 2026, Alg. 1",
              .protocol = FARO_PROTOCOL_ASKER,
              .region = "calibrated"},
    .size = sizeof(batched),
    .studies = FARO_STUDIES_BATCHES,
    .init = init,
    .term = term,
    .begin = begin,
    .pick = pick,
    .see = see,
    .ask = ask,
    .answer = answer,
    .publish = publish,
    .guess = guess,
    .destroy = destroy,
};
