/* glm-ucb: optimism on the scale of the rewards, around the regularised maximum likelihood
 * estimate. Filippi et al. 2010: GLM-UCB and its Proposition 1.
 *
 *   theta    minimiser of the loss with ridge lambda, each round, to TOLERANCE
 *   V        lambda I + sum x x', lambda = d
 *   B, S     greatest slope of mu over |z| <= S; bound on the parameter
 *   kappa    greatest 1 / slope;  R = 1 is the greatest reward
 *   rho      2 B kappa R sqrt(3 + 2 ln(1 + 2 / lambda)) sqrt(2 d ln(2 d T / failure))
 *   index    mu(<x, theta>) + rho ||x||_{V^-1}
 *
 * Their Proposition 1 has one more factor in rho, sqrt(ln t), which later bounds on self-normalised
 * sums made unnecessary: with Abbasi-Yadkori et al. 2011, half of rho / (B kappa) only has to cover
 * sqrt(lambda) S + sqrt(d ln(1 + T / (d lambda)) + 2 ln(1 / failure)) / 2.
 *
 * DEVIATION: an estimate outside ||theta|| <= S is not projected back (their projection is not a
 * convex problem). The ridge keeps it near, and rho is far larger than necessary. The paper starts
 * from d independent arms and has no ridge.
 *
 * Under `figure`, as in the published comparison: sqrt(ln t) for the probit link, and a ridge of 2
 * d for the estimate (the penalty has no 1/2 there). The estimate stays the root of sum (mu - y) x
 * + ridge theta, as in the paper; the published one maximises the likelihood of the probit, which
 * is another function. */
#include <math.h>
#include <string.h>

#include "learner/optimism.h"
#include "learner/watching.h"

/* Tolerance on the gradient, which one reward changes by up to 1: below a thousandth of rho, and
 * rounds are cheap. */
#define TOLERANCE 0.03

typedef struct glm_ucb {
  faro_watching w;
  faro_follower *follower;
  double *theta; /* belongs to the follower; for the policy */
  double rho;
} glm_ucb;

/* t: the coming round, counted from 1. */
static double width(const glm_ucb *l, uint64_t t) {
  const faro_watcher_params *p = &l->w.params;
  const bool growing = p->calibration == FARO_CALIBRATION_FIGURE && p->link == FARO_LINK_PROBIT;
  return l->w.scale * l->rho * (growing ? sqrt(log((double)t)) : 1);
}

static void set_policy(glm_ucb *l, uint64_t t) {
  memcpy(l->theta, faro_follower_theta(l->follower), l->w.params.dimension * sizeof *l->theta);
  l->w.policy->beta = width(l, t);
}

static size_t pick(void *state, const faro_arms *arms) {
  glm_ucb *l = state;
  return faro_watching_best(&l->w, arms, l->theta, l->w.policy->beta);
}

static void observe(void *state, const double *x, double y) {
  glm_ucb *l = state;
  faro_watching_add(&l->w, 1, x);
  faro_follower_add(l->follower, x, y);
  set_policy(l, l->w.host->diagnostics.updates + 2);
}

static faro_status init(void *state, const faro_watcher_params *p, faro_host *host, faro_policy *policy,
                        faro_error *error) {
  glm_ucb *l = state;
  const double d = (double)p->dimension;
  const double lambda = d;
  faro_status status = faro_watching_init(&l->w, p, host, policy, lambda, error);
  if (status == FARO_OK) status = faro_host_vectors(host, error, &l->theta, p->dimension, (double **)NULL);
  if (status == FARO_OK)
    status = faro_follower_create(&l->follower, p->link, p->dimension, (size_t)p->horizon,
                                  p->calibration == FARO_CALIBRATION_FIGURE ? 2 * lambda : lambda, TOLERANCE,
                                  error);
  if (status != FARO_OK) return status;
  const double B = faro_link_steepest(p->link, p->bound);
  l->rho = 2 * B * p->kappa * sqrt(3 + 2 * log1p(2 / lambda)) *
           sqrt(2 * d * log(2 * d * (double)p->horizon / p->failure));
  policy->theta = l->theta;
  set_policy(l, 1);
  return FARO_OK;
}

static void destroy(void *state) {
  faro_follower_destroy(((glm_ucb *)state)->follower);
  faro_watching_destroy(state);
}

const faro_watcher_kind faro_watcher_glm_ucb = {
    .about = {.name = "glm-ucb",
              .summary = "optimism around the maximum likelihood estimate of a generalised linear model, "
                         "without privacy",
              .cite = "Filippi et al. 2010",
              .protocol = FARO_PROTOCOL_WATCHER,
              .settings = faro_optimism_settings,
              .settings_size = sizeof(faro_optimism)},
    .size = sizeof(glm_ucb),
    .init = init,
    .pick = pick,
    .observe = observe,
    .destroy = destroy,
};
