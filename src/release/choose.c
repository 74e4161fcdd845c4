/* choose: see the header. The ratios and caps were chosen on problems that docs/plan.md and
 * docs/regret.md name, and only there. */
#include "release/choose.h"

#include <math.h>

bool faro_learns(const faro_release *r) {
  const faro_form form = r->contribution.form;
  return (form == FARO_FORM_MOMENTS || form == FARO_FORM_REWARDS) &&
         r->params.calibration == FARO_CALIBRATION_TIGHT;
}

static bool must_be_uniform(const faro_release *r) { return r->params.growth == 1; }

void faro_choose_often(const faro_release *r, faro_release_params *params) {
  if (!faro_learns(r)) return;
  params->largest = params->horizon / 5000 + 1;
  params->batch = must_be_uniform(r) ? params->largest : 1;
  params->growth = 1.005;
}

/* The least n for which the precision that n users add to a direction, (a n)^2 / (c nu + R^2 a n)
 * with a = L^2 / d, reaches that of the prior, d. nu is 1, or n where each user adds noise.
 * Linearised rewards: a has the mean slope as a factor, R is 1 (their variance is their slope), and
 * the prior's precision is d / S^2. Over scores from N(0, s^2) the mean slope of the probit link is
 * mu'(0) / sqrt(1 + s^2), and mu'(0) / sqrt(1 + 2 pi mu'(0)^2 s^2) is close for the logistic. */
static double mean_slope(const faro_contribution *c) {
  const double steepest = faro_link_slope(c->link, 0);
  const double s = c->norm * c->bound / sqrt((double)c->dimension);
  return steepest / sqrt(1 + 2 * 3.141592653589793 * steepest * steepest * s * s);
}

static double users_to_learn(const faro_release *r, double sigma, bool per_user) {
  const faro_contribution *c = &r->contribution;
  const double d = (double)c->dimension;
  const bool linear = c->link == FARO_LINK_LINEAR;
  const double S = linear ? 1 : c->bound;
  const double a = c->norm * c->norm / d * (linear ? 1 : mean_slope(c));
  const double R = fmax(fabs(c->low), fabs(c->high));
  const double own = d / (double)c->blocks; /* dimension of what is learned together */
  const double prior = own / (S * S);
  const double gram = c->gram > 0 ? sigma / c->on : 0;
  const double vector = sigma / c->vector;
  const double noise = vector * vector + S * S * gram * gram * (1 + 1 / own) / 2;
  if (per_user) return prior * (noise + R * R * a) / (a * a);
  const double half = prior * R * R / (2 * a);
  return half + sqrt(half * half + prior * noise / (a * a));
}

double faro_gaussian_sigma(const faro_release *r) {
  return sqrt((double)r->repeats) * r->contribution.sensitivity /
         faro_gaussian_mu(r->params.epsilon, r->params.delta);
}

static bool choose_growing(const faro_release *r, double first, uint64_t count, faro_release_params *params) {
  if (!faro_learns(r) || must_be_uniform(r)) return false;
  const uint64_t most = params->horizon / (r->params.adversarial ? 50 : count);
  params->batch = (uint64_t)fmax(2, fmin(first, (double)most));
  params->growth = 2;
  params->largest = most + 1;
  return true;
}

bool faro_choose_blocks(const faro_release *r, double sigma, faro_release_params *params) {
  return choose_growing(r, 2 * users_to_learn(r, sigma, false), 10, params);
}

bool faro_choose_mixed(const faro_release *r, double sigma, faro_release_params *params) {
  return choose_growing(r, 0.25 * users_to_learn(r, sigma, true), 20, params);
}

static void choose_many(const faro_release *r, faro_release_params *params) {
  if (faro_learns(r)) params->batch = params->horizon / 400 + 1;
}

void faro_choose_alone(const faro_release *r, double sigma, faro_release_params *params) {
  if (!choose_growing(r, users_to_learn(r, sigma, true), 20, params)) choose_many(r, params);
}

void faro_choose_continual(const faro_release *r, faro_release_params *params) {
  if (!faro_choose_blocks(r, faro_gaussian_sigma(r), params)) choose_many(r, params);
}

void faro_choose_local(const faro_release *r, faro_release_params *params) {
  faro_choose_alone(r, faro_gaussian_sigma(r), params);
}

bool faro_choose_nodes(const faro_release *r, size_t levels, double most, faro_release_params *params) {
  if (!faro_learns(r) || must_be_uniform(r)) return false;
  const double n = (double)params->horizon;
  const double first = 3 * users_to_learn(r, sqrt((double)levels) * faro_gaussian_sigma(r), false);
  params->batch = (uint64_t)fmax(2, fmin(fmax(first, n / 400), fmin(n / 10, most)));
  return true;
}

/* By how much users who are in M0 batches raise the variance of a node of `unit` batches;
 * docs/privacy.md, Returning users. */
static double load(double m0, double unit) { return m0 * fmin(unit, m0); }

/* Predicts noise by the accountant, and the effect of users whom the server does not see yet. The
 * sum of the highest level's nodes is a random walk, which usually stays within twice its last
 * standard deviation. The levels below start again under each parent, so their worst case is a
 * maximum over many. Sums: half of the users not seen, and the noise at its worst. Moments: the
 * regret of linucb grows with the square root of the noise (Chowdhury & Zhou 2022, Lemma A.4); the
 * two factors were fitted at d = 5, T = 10^6 (docs/experiments.md). */
double faro_predict_cost(const faro_release *r, size_t levels, double batch, double degree,
                         uint64_t repeats) {
  const double n = (double)r->params.horizon;
  const double d = (double)r->contribution.dimension;
  const double m0 = (double)repeats;
  const double top = batch * pow(degree, (double)levels - 1);
  if (top > n) return INFINITY;
  const double sigma = r->contribution.sensitivity / faro_gaussian_mu(r->params.epsilon, r->params.delta) *
                       sqrt((double)levels);
  const double walk = sigma * sqrt(load(m0, top / batch) * n / top);
  double nodes = 0; /* below the highest level, each weighed by its variance */
  for (size_t i = 0; i + 1 < levels; i++) nodes += load(m0, pow(degree, (double)i)) * (degree - 1);
  const double below = sigma * sqrt(nodes);
  if (r->contribution.gram == 0)
    return (batch - 1) / 2 + hypot(2 * walk, below * sqrt(2 * log(2 * n / batch)));
  return 0.3 * d * batch + 0.66 * pow(d, 0.75) * sqrt(n * hypot(walk, below));
}

uint64_t faro_least_batch(const faro_release *r, double (*cost)(const faro_release *, double batch)) {
  double best = 2;
  double least = INFINITY;
  for (double batch = 2; batch <= (double)r->params.horizon; batch = ceil(batch * 1.05)) {
    const double here = cost(r, batch);
    if (here >= least) continue;
    least = here;
    best = batch;
  }
  return (uint64_t)best;
}

static double uniform_cost(const faro_release *r, double batch) {
  return faro_predict_cost(r, 1, batch, 1, r->repeats);
}

uint64_t faro_choose_uniform(const faro_release *r) { return faro_least_batch(r, uniform_cost); }
