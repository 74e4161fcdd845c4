/* ecolog: optimism for the logistic model with a local metric. A round is O(d^3), no data is
 * stored, and the width does not grow with kappa. Faury et al. 2022: OFU-ECOLog, with all of
 * ||theta|| <= S as its set.
 *
 *   V        lambda I + sum mu'(<x_s, theta_{s+1}>) x_s x_s', lambda = 10      (the paper's W)
 *   loss_s   b(<x_s, theta>) - y_s <x_s, theta>
 *   theta_{s+1}  argmin over ||theta|| <= S of ||theta - theta_s||^2_V / (2 + D) + loss_s(theta), D
 *                = 2 S
 *   bar_s    the same with the losses of both rewards, 0 and 1, instead: known before the reward
 *   radius   beta^2 = lambda S^2 + (2 + D) (ln(1 / failure) + sum loss_s(bar_s) -
 *            loss_s(theta_{s+1}))
 *                   - sum ||theta_{s+1} - theta_s||^2_V
 *   index    <x, theta> + beta ||x||_{V^-1}, the greatest over the set, because the link is
 *            increasing
 *
 * Why this is a confidence set. |mu''| <= mu' makes loss_s(theta*) at least its tangent at
 * theta_{s+1} plus mu'(<x_s, theta_{s+1}>) <x_s, theta* - theta_{s+1}>^2 / (2 + D) (their lemma on
 * self-concordance). theta_{s+1} is a minimum over a convex set that contains theta*, so
 *
 *   ||theta_{s+1} - theta*||^2 <= ||theta_s - theta*||^2 + (2 + D) (loss_s(theta*) -
 *   loss_s(theta_{s+1}))
 *                                 - ||theta_{s+1} - theta_s||^2,
 *
 * with the new V on the left and the old V on the right. Summed, with theta_1 = 0, only sum
 * loss_s(theta*) is unknown. But exp sum (loss_s(theta*) - loss_s(bar_s)) is a likelihood ratio,
 * whose mean is at most 1 for rewards in [0, 1]. By Ville's inequality the sum stays below ln(1 /
 * failure) for all rounds at once, with probability 1 - failure.
 *
 * DEVIATION: the paper bounds that last sum by a Bernstein inequality, and makes D small by a
 * warm-up or by setting rounds aside in which mu' at bar and at theta differ by more than a factor
 * 2. The set above needs neither, so there is no warm-up and no such test; the price is D = 2 S.
 * Both minimisations are exact up to rounding instead of up to 1/s.
 *
 * Under `figure`, as in the published code: 2 + D = 2 in the steps and 2 + 2 S in the radius, which
 * is 2 lambda S^2 + (1 + S)^2 gamma + the sum, where gamma = sqrt(lambda) / 2 + 2 ln((2 / failure)
 * sqrt(1 + t / 4 lambda)) / sqrt(lambda). bar_s starts at theta_{s+1}, and half the (unsquared)
 * distance of the two is subtracted. The index is mu(<x, theta>) + beta ||x||_{V^-1}. */
#include <math.h>
#include <string.h>

#include "base/abort.h"
#include "glm/link.h"
#include "learner/optimism.h"
#include "learner/watching.h"

#define LAMBDA 10.0
enum { STEPS = 100 };

typedef struct ecolog {
  faro_watching w;
  bool figure;
  double *theta, *next, *bar;
  double *A, *pull, *h, *k; /* scratch for minimise: a packed matrix, and vectors */
  double weight;            /* (2 + D) / 2 of the steps */
  double sum;               /* sum of the terms that rounds add to beta^2 */
} ecolog;

/* The loss count b(z) - y z, z = <x, theta>, of one reward or of both. */
typedef struct term {
  const double *x;
  double count, y;
} term;

/* Finds the root of z - z0 + q (count mu(z) - y), which increases, by Newton's method within a
 * bracket. `mean` and `slope` are those of mu at the root. */
static void settle(double z0, double q, const term *t, double *mean, double *slope) {
  double low = z0 - q * (t->count - t->y);
  double high = z0 + q * t->y;
  double z = z0;
  for (int i = 0; i < STEPS; i++) {
    faro_link_map(FARO_LINK_LOGISTIC, 1, &z, NULL, mean, slope);
    const double value = z - z0 + q * (t->count * *mean - t->y);
    if (value > 0) high = z;
    else low = z;
    const double step = value / (1 + q * t->count * *slope);
    if (fabs(step) <= 1e-13 * (1 + fabs(z))) return;
    z -= step;
    if (!(z > low && z < high)) z = low + (high - low) / 2;
  }
}

/* The minimiser of (||theta - from||^2_V + nu ||theta||^2) / 2 + weight (count b(<x, theta>) - y
 * <x, theta>): theta = A^-1 V from - weight g A^-1 x with A = V + nu I and g the derivative of the
 * loss at <x, theta>. Returns d ||theta|| / d nu, which is negative. */
static double penalised(ecolog *l, double nu, const double *from, const term *t, double *theta) {
  const size_t d = l->w.params.dimension;
  memcpy(l->A, l->w.V, faro_packed(d) * sizeof *l->A);
  for (size_t i = 0; i < d; i++) l->A[faro_diagonal(i)] += nu;
  FARO_INVARIANT(faro_spd_factor(l->w.spd, l->A));
  faro_spd_solve(l->w.spd, from, l->pull); /* A^-1 V from = from - nu A^-1 from */
  faro_spd_solve(l->w.spd, t->x, l->h);
  for (size_t i = 0; i < d; i++) theta[i] = from[i] - nu * l->pull[i];
  const double q = l->weight * faro_dot(d, t->x, l->h);
  double mean;
  double slope;
  settle(faro_dot(d, t->x, theta), q, t, &mean, &slope);
  for (size_t i = 0; i < d; i++) theta[i] -= l->weight * (t->count * mean - t->y) * l->h[i];
  slope *= l->weight * t->count;
  /* theta' = -(A + slope x x')^-1 theta, by the Sherman-Morrison formula */
  faro_spd_solve(l->w.spd, theta, l->k);
  const double along = faro_dot(d, l->h, theta);
  const double square =
      faro_dot(d, theta, l->k) - slope * along * along / (1 + slope * faro_dot(d, t->x, l->h));
  return -square / sqrt(faro_dot(d, theta, theta));
}

/* The same minimiser over ||theta|| <= S. Its length decreases as nu grows. Uses Newton's method on
 * 1 / length, which is nearly linear in nu (More & Sorensen 1983), within a bracket. */
static void minimise(ecolog *l, const double *from, const term *t, double *theta) {
  const size_t d = l->w.params.dimension;
  const double S = l->w.params.bound;
  double low = 0;
  double high = INFINITY;
  double nu = 0;
  for (int i = 0; i < STEPS; i++) {
    const double change = penalised(l, nu, from, t, theta);
    const double length = sqrt(faro_dot(d, theta, theta));
    if (length <= S && nu == 0) return;
    if (fabs(length - S) <= 1e-12 * S) return;
    if (length > S) low = nu;
    else high = nu;
    nu += (S - length) / change * (length / S);
    if (!(nu > low && nu < high)) nu = high < INFINITY ? low + (high - low) / 2 : 2 * low + 1;
  }
}

static double loss(size_t d, const double *x, double y, const double *theta) {
  const double z = faro_dot(d, x, theta);
  return faro_link_potential(FARO_LINK_LOGISTIC, z) - y * z;
}

/* ||a - b||^2 in the norm of V. */
static double distance(const ecolog *l, const double *a, const double *b) {
  const double *entry = l->w.V;
  double sum = 0;
  for (size_t i = 0; i < l->w.params.dimension; i++) {
    const double diagonal = a[i] - b[i];
    for (size_t j = 0; j < i; j++) sum += 2 * *entry++ * diagonal * (a[j] - b[j]);
    sum += *entry++ * diagonal * diagonal;
  }
  return fmax(0, sum);
}

/* t: the coming round, counted from 1. */
static double width(const ecolog *l, uint64_t t) {
  const faro_watcher_params *p = &l->w.params;
  const double S = p->bound;
  if (!l->figure)
    return l->w.scale * sqrt(fmax(0, LAMBDA * S * S + 2 * (1 + S) * log(1 / p->failure) + l->sum));
  const double gamma =
      sqrt(LAMBDA) / 2 + 2 * log(2 / p->failure * sqrt(1 + (double)t / (4 * LAMBDA))) / sqrt(LAMBDA);
  return sqrt(fmax(0, 2 * LAMBDA * S * S + (1 + S) * (1 + S) * gamma + l->sum));
}

static size_t pick(void *state, const faro_arms *arms) {
  ecolog *l = state;
  const double beta = l->w.policy->beta;
  if (l->figure) return faro_watching_best(&l->w, arms, l->theta, beta);
  return faro_score(arms, l->theta, l->w.W, beta, l->w.score, l->w.scratch);
}

static void observe(void *state, const double *x, double y) {
  ecolog *l = state;
  const size_t d = l->w.params.dimension;
  minimise(l, l->theta, &(term){.x = x, .count = 1, .y = y}, l->next);
  minimise(l, l->figure ? l->next : l->theta, &(term){.x = x, .count = 2, .y = 1}, l->bar);
  const double apart = l->figure ? sqrt(distance(l, l->next, l->bar)) / 2 : distance(l, l->next, l->theta);
  l->sum += 2 * (1 + l->w.params.bound) * (loss(d, x, y, l->bar) - loss(d, x, y, l->next)) - apart;
  memcpy(l->theta, l->next, d * sizeof *l->theta);
  faro_watching_add(&l->w, faro_link_slope(FARO_LINK_LOGISTIC, faro_dot(d, x, l->theta)), x);
  l->w.policy->beta = width(l, l->w.host->diagnostics.updates + 2);
}

static faro_status init(void *state, const faro_watcher_params *p, faro_host *host, faro_policy *policy,
                        faro_error *error) {
  ecolog *l = state;
  const size_t d = p->dimension;
  if (p->link != FARO_LINK_LOGISTIC)
    return faro_fail(error, FARO_INVALID, "environment must be glm-logistic for learner ecolog (got link %s)",
                     faro_link_name(p->link));
  faro_status status = faro_host_vectors(host, error, &l->theta, d, &l->next, d, &l->bar, d, &l->pull, d,
                                         &l->h, d, &l->k, d, &l->A, faro_packed(d), (double **)NULL);
  if (status == FARO_OK) status = faro_watching_init(&l->w, p, host, policy, LAMBDA, error);
  if (status != FARO_OK) return status;
  l->figure = p->calibration == FARO_CALIBRATION_FIGURE;
  l->weight = l->figure ? 1 : 1 + p->bound;
  policy->theta = l->theta;
  policy->beta = width(l, 1);
  return FARO_OK;
}

const faro_watcher_kind faro_watcher_ecolog = {
    .about = {.name = "ecolog",
              .summary = "optimism for the logistic model in a local metric, from two small fits a round, "
                         "without privacy",
              .cite = "Faury et al. 2022",
              .protocol = FARO_PROTOCOL_WATCHER,
              .settings = faro_optimism_settings,
              .settings_size = sizeof(faro_optimism)},
    .size = sizeof(ecolog),
    .init = init,
    .pick = pick,
    .observe = observe,
    .destroy = faro_watching_destroy,
};
