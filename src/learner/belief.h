/* belief: what private fits say about the parameter of a generalised linear model, as a Gaussian.
 *
 *   prior   N(0, I / prior)
 *   fit     on data of its own, with Hessian H: the mean theta_k of some points, and the mean g_k
 *           of the gradients released there, with a ridge. They need not be at the minimum, because
 *             u = (H + ridge) theta_k - g_k = H theta + e + xi,   e of covariance H (rewards),
 *             xi of covariance sigma^2 I (privacy),
 *           wherever the points are. It adds  H (H + sigma^2)^-1 H  to the precision, and
 *           H (H + sigma^2)^-1 u  to the information vector
 *
 * H is known through a released sum W only, whose eigenvalues are shrunk by what noise would
 * scatter (shrink.h). A Gaussian approximation, calibrated and not proven (docs/regret.md). */
#ifndef FARO_LEARNER_BELIEF_H
#define FARO_LEARNER_BELIEF_H

#include "learner/kind.h"

typedef struct faro_belief {
  size_t dimension;
  double prior;
  double *theta, *w;  /* mean; w' w is the covariance, packed */
  double *Lambda, *r; /* precision without the prior's, packed, and information vector */
  double *g, *Q;      /* eigenvalues, shrunk, and eigenvectors of the W given last */
  double *precision;
  double *trial, *sum, *factor; /* of a fit that is only tried: precision, vector and factor */
  faro_spd *spd;
  faro_eigen *eigen;
} faro_belief;

faro_status faro_belief_init(faro_belief *belief, size_t d, double prior, faro_host *host,
                             faro_error *error) FARO_WARN_UNUSED;
void faro_belief_clear(faro_belief *belief);

/* The released sum of the next fit, packed, with noise of standard deviation s on its diagonal. */
void faro_belief_see(faro_belief *belief, const double *W, double s);
/* An upper estimate of the fit's Hessian, packed: eigenvalues of W at least `least`, times
 * `factor`. */
void faro_belief_curvature(const faro_belief *belief, double least, double factor, double *P);
/* The fit itself; without a gradient, a minimum. */
void faro_belief_take(faro_belief *belief, const faro_answer *fit, double ridge);
/* The mean that the belief would have after this fit. */
void faro_belief_guess(const faro_belief *belief, const faro_answer *fit, double ridge, double *theta);

#endif
