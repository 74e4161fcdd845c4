/* watching: what watchers share: V, its inverse factor, and choosing an arm by mean and width. */
#ifndef FARO_LEARNER_WATCHING_H
#define FARO_LEARNER_WATCHING_H

#include "learner/kind.h"
#include "learner/ridge.h"

typedef struct faro_watching {
  faro_watcher_params params;
  faro_host *host;
  faro_policy *policy;
  faro_spd *spd;
  double *V;    /* ridge I + sum of weight x x'   packed */
  double *W;    /* L^-1 with V = L L'             packed */
  double scale; /* factor on the width: 1, or the optimism setting */
  double *mean, *score, *zero, *scratch;
} faro_watching;

/* Sets V = ridge I. The policy shows W; the learner sets its theta and beta. */
faro_status faro_watching_init(faro_watching *w, const faro_watcher_params *params, faro_host *host,
                               faro_policy *policy, double ridge, faro_error *error) FARO_WARN_UNUSED;
void faro_watching_destroy(void *state); /* a state whose first member is a faro_watching */
/* V += weight x x'. */
void faro_watching_add(faro_watching *w, double weight, const double *x);
/* argmax of mu(<x, theta>) + beta ||W x||. */
size_t faro_watching_best(faro_watching *w, const faro_arms *arms, const double *theta, double beta);

#endif
