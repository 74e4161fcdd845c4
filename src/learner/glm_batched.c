/* glm-batched: generalised linear rewards for stochastic contexts, in a few batches fixed in
 * advance. Sarmasarkar 2026, Alg. 1; without noise, B-GLinCB of Sawarni et al. 2024.
 *
 * Every batch is a term with its own people. A person draws an arm from a near-optimal design of
 * the arms that no earlier batch rules out, j = 1 .. k - 1:
 *
 *   UCB_j(x) = <x, theta_j> + r_j ||x||_{V_j^-1},   LCB_j(x) likewise with minus;
 *   x stays if UCB_j(x) >= max LCB_j
 *   V_1 = lambda I + sum x x'     r_1 = gamma sqrt(kappa)     the first batch: all arms
 *   V_j = lambda I + sum w x x'   r_j = gamma
 *   w = slope(<x, theta_1>) / exp(min(2 S, r_1 ||x||_{V_1^-1}))
 *
 * From the second batch on, the design is that of sqrt(w) x, because the weights remove kappa from
 * the widths. After the last batch that is learned from, people play by the last estimate, and
 * nobody is asked. */
#include <math.h>
#include <string.h>

#include <faro/design.h>

#include "learner/kind.h"
#include "learner/noise.h"
#include "learner/optimism.h"
#include "learner/ridge.h"

enum { BATCHES = 4 }; /* M; nothing is learned from the last one */

static const double RIDGE = 1; /* regularisation of the fits under `tight` */

typedef struct estimate {
  double *theta, *w; /* w: inverse factor of V_j */
  double reach;      /* r_j */
  double longest;    /* the greatest ||x||_{V_j^-1} of an arm of length at most 1 */
} estimate;

typedef struct batched {
  faro_asker_params params;
  faro_host *host;
  double optimism;
  faro_designer *designer;
  faro_spd *spd;
  estimate past[BATCHES];
  /* batches begun, and batches with an estimate; if equal, nobody is asked any more */
  size_t terms, finished;
  uint64_t begun; /* people in all of them */
  double lambda;
  bool wants;
  double *V;
  faro_arms scaled;     /* sqrt(w) x of the current arms */
  double *weight;       /* w */
  double *mean, *upper; /* per arm, by one estimate */
  double *scratch;
  size_t *active;
} batched;

static bool is_paper(const batched *b) { return b->params.calibration == FARO_CALIBRATION_PAPER; }

/* tau_1 = max(4 sqrt(T), T^(2/3)), at most T/4 and at least 2; tau_2 = alpha, tau_k = alpha
 * sqrt(tau_(k-1)) with alpha = T^(1/(2 (1 - 2^(1-M)))) if M <= log log T and else 2 sqrt(T),
 * Sawarni et al. 2024. DEVIATION: their tau_1, (sqrt(kappa) e^(3S) d^2 gamma^2 alpha / S)^(2/3),
 * exceeds every feasible horizon. */
static double length_of(double t, size_t term) {
  if (term == 0) return fmax(2, fmin(ceil(fmax(4 * sqrt(t), pow(t, 2.0 / 3))), floor(t / 4)));
  const double alpha = BATCHES <= log2(log2(t)) ? pow(t, 1 / (2 * (1 - ldexp(1, 1 - BATCHES)))) : 2 * sqrt(t);
  double length = alpha;
  for (size_t k = 1; k < term; k++) length = alpha * sqrt(length);
  return ceil(length);
}

/* A batch that fills the horizon is not a term, because nobody would come after it. The first batch
 * is a term even so (T = 1, 2), because there is nothing to play by before it. */
static uint64_t term(void *state) {
  const batched *b = state;
  const uint64_t horizon = b->params.horizon;
  if (b->terms == 0) return (uint64_t)fmin((double)horizon, length_of((double)horizon, 0));
  const double length = length_of((double)horizon, b->terms);
  return b->terms + 1 < BATCHES && length < (double)(horizon - b->begun) ? (uint64_t)length : 0;
}

/* One fit, for this batch's part. Under `tight` lambda is that of rarely.c. */
static void begin(void *state, const faro_noise noise[FARO_PARTS], uint64_t fits[FARO_PARTS]) {
  batched *b = state;
  const faro_asker_params *p = &b->params;
  const unsigned part = b->terms == 0 ? 0 : 1;
  b->begun += term(b);
  b->terms++;
  const double bound = faro_gram_bound(&noise[part], p->dimension, p->failure / (4 * BATCHES));
  const double wide = 0.75 * (double)p->dimension * log(4 * (double)p->horizon / p->failure);
  b->lambda = is_paper(b) ? wide + 2 * bound : fmax(1, 2 * b->optimism * bound);
  fits[part] = 1;
  fits[1 - part] = 0;
}

/* Means and upper bounds of all arms by estimate j. */
static void judge(batched *b, const faro_arms *arms, size_t j) {
  (void)faro_means(arms, b->past[j].theta, b->mean);
  (void)faro_score(arms, b->past[j].theta, b->past[j].w, b->past[j].reach, b->upper, b->scratch);
}

/* Finds the arms that no finished batch rules out; returns their number, at least 1. */
static size_t survivors(batched *b, const faro_arms *arms, size_t finished) {
  size_t count = arms->count;
  for (size_t a = 0; a < count; a++) b->active[a] = a;
  for (size_t j = 0; j < finished; j++) {
    judge(b, arms, j);
    double floor = -INFINITY;
    for (size_t i = 0; i < count; i++) {
      const size_t a = b->active[i];
      floor = fmax(floor, 2 * b->mean[a] - b->upper[a]);
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
      if (b->upper[b->active[i]] >= floor) b->active[kept++] = b->active[i];
    count = kept;
  }
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
  for (size_t i = 0; i < p->dimension; i++)
    for (size_t a = 0; a < arms->count; a++)
      b->scaled.x[i * arms->stride + a] = sqrt(b->weight[a]) * arms->x[i * arms->stride + a];
  b->scaled.version++;
}

/* Draws an arm from the design; any arm if there is no design (all arms zero). */
static size_t draw(batched *b, const faro_arms *arms, size_t count, double luck) {
  const faro_design *design = NULL;
  if (count == 1) return b->active[0];
  if (faro_design_find(b->designer, arms, b->active, count, FARO_DESIGN_TARGET, &design, NULL) != FARO_OK)
    return b->active[(size_t)(luck * (double)count)];
  size_t i = 0;
  while (i + 1 < design->support && luck >= design->weight[i]) luck -= design->weight[i++];
  return design->arm[i];
}

/* The best arm by the last estimate, among those that no estimate rules out. */
static size_t greedy(batched *b, const faro_arms *arms) {
  const size_t count = survivors(b, arms, b->finished);
  (void)faro_means(arms, b->past[b->finished - 1].theta, b->mean);
  size_t best = b->active[0];
  for (size_t i = 1; i < count; i++)
    if (b->mean[b->active[i]] > b->mean[best]) best = b->active[i];
  return best;
}

static faro_pick pick(void *state, const faro_arms *arms, double luck) {
  batched *b = state;
  if (b->finished > 0 && b->finished == b->terms) return (faro_pick){.arm = greedy(b, arms), .part = 1};
  const size_t count = survivors(b, arms, b->finished);
  if (b->finished == 0) return (faro_pick){.arm = draw(b, arms, count, luck), .part = 0, .weight = 1};
  scale_arms(b, arms);
  const size_t arm = draw(b, &b->scaled, count, luck);
  return (faro_pick){.arm = arm, .part = 1, .weight = b->weight[arm]};
}

static void see(void *state, const faro_statistics sum[FARO_PARTS]) {
  batched *b = state;
  const size_t d = b->params.dimension;
  memcpy(b->V, sum[b->finished == 0 ? 0 : 1].sum, faro_packed(d) * sizeof *b->V);
  for (size_t i = 0; i < d; i++) b->V[faro_diagonal(i)] += b->lambda;
  if (faro_ridge_whiten(b->spd, d, b->V, b->past[b->finished].w, b->lambda / 2) > 0)
    b->host->diagnostics.shifted++;
  double least = 0;
  double greatest = 0;
  faro_spd_extremes(b->spd, b->V, &least, &greatest);
  b->past[b->finished].longest = 1 / sqrt(fmax(least, b->lambda / 2));
  b->wants = true;
}

/* The factor that brings V above the Hessian. In the first batch it is the steepest slope, or what
 * the ridge needs. In later batches V is below the Hessian at theta_1 by the exponentials in the
 * weights, none of which exceeds that of an arm of length 1 in V_1's least direction. */
static double lift(const batched *b) {
  const faro_asker_params *p = &b->params;
  if (b->finished == 0) return fmax(faro_link_steepest(p->link, p->bound), RIDGE / b->lambda);
  return exp(fmin(2 * p->bound, b->past[0].reach * b->past[0].longest));
}

static bool ask(void *state, faro_question *question) {
  batched *b = state;
  const faro_asker_params *p = &b->params;
  if (!b->wants) return false;
  b->wants = false;
  const unsigned part = b->finished == 0 ? 0 : 1;
  const double factor = lift(b);
  for (size_t i = 0; i < faro_packed(p->dimension); i++) b->V[i] *= factor;
  *question = (faro_question){.part = part,
                              .ridge = is_paper(b) ? b->lambda : RIDGE,
                              .region = {.radius = p->bound},
                              .curvature = b->V,
                              .start = b->past[b->finished == 0 ? 0 : b->finished - 1].theta};
  return true;
}

/* gamma = S sqrt(d ln(T/zeta)) plus what the noise in the gradient adds (rarely.c, set_widths);
 * under `tight` times optimism. */
static void answer(void *state, const faro_answer *given) {
  batched *b = state;
  const faro_asker_params *p = &b->params;
  const double d = (double)p->dimension;
  estimate *e = &b->past[b->finished];
  memcpy(e->theta, given->theta, p->dimension * sizeof *e->theta);
  const double length = given->noise * (sqrt(d) + sqrt(2 * log(1 / p->failure)));
  const double gamma = p->bound * sqrt(d * log((double)p->horizon / p->failure)) + length * e->longest;
  e->reach = b->optimism * gamma * (b->finished == 0 ? sqrt(p->kappa) : 1);
  b->finished++;
}

static faro_status allocate(batched *b, faro_error *error) {
  const size_t d = b->params.dimension;
  const size_t stride = faro_arm_stride(b->params.offers);
  b->scaled.dimension = d;
  b->active = faro_arena_alloc(&b->host->arena, stride, sizeof *b->active, error);
  if (!b->active) return FARO_MEMORY;
  faro_status status = faro_host_vectors(b->host, error, &b->V, faro_packed(d), &b->scaled.x, d * stride,
                                         &b->weight, stride, &b->mean, stride, &b->upper, stride, &b->scratch,
                                         faro_score_scratch(d, stride), (double **)NULL);
  for (size_t j = 0; status == FARO_OK && j < BATCHES; j++)
    status = faro_host_vectors(b->host, error, &b->past[j].theta, d, &b->past[j].w, faro_packed(d),
                               (double **)NULL);
  return status;
}

static faro_status init(void *state, const faro_asker_params *params, faro_host *host, faro_error *error) {
  batched *b = state;
  b->params = *params;
  b->host = host;
  b->optimism = faro_optimism_of(params->settings, params->calibration);
  faro_status status = allocate(b, error);
  if (status == FARO_OK) status = faro_spd_create(&b->spd, params->dimension, error);
  if (status == FARO_OK)
    status = faro_designer_create(&b->designer, params->dimension, params->offers, error);
  return status;
}

static void destroy(void *state) {
  faro_designer_destroy(((batched *)state)->designer);
  faro_spd_destroy(((batched *)state)->spd);
}

const faro_asker_kind faro_asker_glm_batched = {
    .about = {.name = "glm-batched",
              .summary = "generalised linear rewards, elimination in a few batches",
              .cite = "Sarmasarkar 2026, Alg. 1",
              .protocol = FARO_PROTOCOL_ASKER,
              .settings = faro_optimism_settings,
              .settings_size = sizeof(faro_optimism)},
    .size = sizeof(batched),
    .studies = FARO_STUDIES_BATCHES,
    .init = init,
    .term = term,
    .begin = begin,
    .pick = pick,
    .see = see,
    .ask = ask,
    .answer = answer,
    .destroy = destroy,
};
