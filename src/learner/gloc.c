/* gloc: a confidence set from the regret of an online learner, here the online Newton step. A round
 * is O(d^3) and no data is stored. Jun et al. 2017, Theorems 1 and 3.
 *
 *   m        least slope of mu, 1 / kappa; R the sub-Gaussian scale of rewards: 1/2, as they are in
 *            [0, 1]
 *   V        lambda I + sum x_s x_s', lambda = d;  S the bound on the parameter
 *   theta    online Newton step: g = mu(<x, theta>) - y, then theta - (g / m) V^-1 x with x in V
 *            already, projected on ||theta|| <= S in the norm of V
 *   centre   V^-1 u,  u = sum z_s x_s,  z_s = <x_s, theta_s>, with theta_s from before x_s
 *   regret   B = (1 / 2m) sum g_s^2 ||x_s||^2_{V_s^-1} + (m / 2) lambda S^2
 *   radius   beta^2 = lambda S^2 + alpha(B) - (sum z_s^2 - <u, centre>)
 *            alpha(B) = 1 + (4 / m) B
 *              + (8 R^2 / m^2) ln((2 / failure) sqrt(1 + (2 / m) B + 4 R^4 / (m^4 failure^2)))
 *   index    <x, centre> + beta ||x||_{V^-1}, optimism over <x, theta>: the link is increasing
 *
 * The losses are m-strongly convex along x, so the decrease of the potential ||theta_s - theta*||^2
 * (m / 2) pays for the regret. It starts at (m / 2) lambda ||theta_1 - theta*||^2, and theta_1 = 0
 * (the paper has 4 S^2 for any start). Strong convexity again gives sum (z_s - <x_s, theta*>)^2 <=
 * (2 / m) (B + sum noise_s (z_s - <x_s, theta*>)), whose last sum is self-normalised: alpha(B)
 * bounds the left side for all rounds at once. The ellipsoid is that sum with a ridge, with the
 * square completed.
 *
 * Under `figure`, as in the published comparison: R is the square of the greatest slope, B starts
 * with 2 m lambda S^2, beta^2 = alpha(B), theta is always scaled to length S, and the index is
 * mu(<x, theta>) + beta ||x||_{V^-1} with the online learner's theta in place of the centre. */
#include <math.h>

#include "learner/optimism.h"
#include "learner/watching.h"

typedef struct gloc {
  faro_watching w;
  bool figure;
  faro_solver *solver;
  double *theta, *centre, *u, *step;
  double lambda, m, R, B, squares;
} gloc;

static double alpha(const gloc *l) {
  const double failure = l->w.params.failure;
  const double ratio = l->R * l->R / (l->m * l->m);
  return 1 + 4 / l->m * l->B +
         8 * ratio * log(2 / failure * sqrt(1 + 2 / l->m * l->B + 4 * ratio * ratio / (failure * failure)));
}

static double width(const gloc *l) {
  const faro_watcher_params *p = &l->w.params;
  if (l->figure) return sqrt(alpha(l));
  const double left = fmax(0, l->squares - faro_dot(p->dimension, l->u, l->centre));
  return l->w.scale * sqrt(fmax(0, l->lambda * p->bound * p->bound + alpha(l) - left));
}

static size_t pick(void *state, const faro_arms *arms) {
  gloc *l = state;
  const double beta = l->w.policy->beta;
  if (l->figure) return faro_watching_best(&l->w, arms, l->theta, beta);
  return faro_score(arms, l->centre, l->w.W, beta, l->w.score, l->w.scratch);
}

/* Projects theta on the set of possible parameters. */
static void bring_back(gloc *l) {
  const faro_watcher_params *p = &l->w.params;
  const double length = sqrt(faro_dot(p->dimension, l->theta, l->theta));
  if (l->figure)
    for (size_t i = 0; i < p->dimension && length > 0; i++) l->theta[i] *= p->bound / length;
  else if (length > p->bound)
    faro_solver_nearest(l->solver, l->w.V, &(faro_region){.radius = p->bound}, l->theta, l->theta);
}

static void observe(void *state, const double *x, double y) {
  gloc *l = state;
  const size_t d = l->w.params.dimension;
  const double z = faro_dot(d, x, l->theta);
  const double g = faro_link_mean(l->w.params.link, z) - y;
  faro_watching_add(&l->w, 1, x);
  faro_ridge_solve(d, l->w.W, x, l->step);
  l->B += g * g * faro_dot(d, x, l->step) / (2 * l->m);
  for (size_t i = 0; i < d; i++) {
    l->u[i] += z * x[i];
    l->theta[i] -= g / l->m * l->step[i];
  }
  l->squares += z * z;
  faro_ridge_solve(d, l->w.W, l->u, l->centre);
  bring_back(l);
  l->w.policy->beta = width(l);
}

static faro_status init(void *state, const faro_watcher_params *p, faro_host *host, faro_policy *policy,
                        faro_error *error) {
  gloc *l = state;
  const size_t d = p->dimension;
  l->figure = p->calibration == FARO_CALIBRATION_FIGURE;
  l->lambda = (double)d;
  faro_status status =
      faro_host_vectors(host, error, &l->theta, d, &l->centre, d, &l->u, d, &l->step, d, (double **)NULL);
  if (status == FARO_OK) status = faro_watching_init(&l->w, p, host, policy, l->lambda, error);
  if (status == FARO_OK) status = faro_solver_create(&l->solver, d, error);
  if (status != FARO_OK) return status;
  const double steepest = faro_link_steepest(p->link, p->bound);
  l->m = 1 / p->kappa;
  l->R = l->figure ? steepest * steepest : 0.5;
  l->B = (l->figure ? 2 : 0.5) * l->m * l->lambda * p->bound * p->bound;
  policy->theta = l->figure ? l->theta : l->centre;
  policy->beta = width(l);
  return FARO_OK;
}

static void destroy(void *state) {
  faro_solver_destroy(((gloc *)state)->solver);
  faro_watching_destroy(state);
}

const faro_watcher_kind faro_watcher_gloc = {
    .about = {.name = "gloc",
              .summary =
                  "optimism over a confidence set from the regret of an online Newton step, without privacy",
              .cite = "Jun et al. 2017",
              .protocol = FARO_PROTOCOL_WATCHER,
              .settings = faro_optimism_settings,
              .settings_size = sizeof(faro_optimism)},
    .size = sizeof(gloc),
    .init = init,
    .pick = pick,
    .observe = observe,
    .destroy = destroy,
};
