/* observer: what the learners share that see every arm played and its reward: V, its inverse factor, and choosing an
 * arm by mean and width. They are the baselines without privacy. */
#ifndef FARO_LEARNER_OBSERVER_H
#define FARO_LEARNER_OBSERVER_H

#include "learner/kind.h"

typedef struct faro_observer {
  faro_learner learner;
  faro_spd *spd;
  double *V;    /* ridge I + sum of weight x x'   packed */
  double *W;    /* L^-1 with V = L L'             packed */
  double scale; /* on the width: 1, or the optimism that was asked for */
  double *mean, *score, *zero, *scratch;
} faro_observer;

/* Checks the parameters and sets V = ridge I; the policy is that of V and theta, for whoever wants to look on. */
faro_status faro_observer_init(faro_observer *o, double ridge, const double *theta, faro_error *error);
void faro_observer_release(faro_learner *learner);
/* V += weight x x'. */
void faro_observer_add(faro_observer *o, double weight, const double *x);
/* to = V^-1 u; two different vectors. */
void faro_observer_solve(const faro_observer *o, const double *u, double *to);
/* argmax of mu(<x, theta>) + beta ||W x||. */
size_t faro_observer_best(faro_observer *o, const faro_arms *arms, const double *theta, double beta);
/* The learner's estimate changed; beta is its width from now on. */
void faro_observer_changed(faro_observer *o, double beta);

static inline double faro_dot(size_t d, const double *a, const double *b) {
  double sum = 0;
  for (size_t i = 0; i < d; i++) sum += a[i] * b[i];
  return sum;
}

#endif
