/* pe: elimination where every pull is a user of its own. DP-PE, 002 Alg. 3. */
#include <math.h>

#include "learner/elimination.h"

/* h_1 = S, doubled. DEVIATION: S is cut to d (d + 1) / 2, which no design needs to exceed. */
static double length(const faro_elimination *e) {
  return (double)faro_design_bound(e->learner.params.arms->dimension) * ldexp(1, (int)e->phase - 1);
}

/* 002 eq. (54), beta = 1/(kT). The privacy noise is (2d/h) times the length of all sums' noises: 2 d sigma sqrt(s) / h in the
 * central and shuffle models, as published.
 * DEVIATION: in the local model that is 2 d sigma sqrt(sum T) / h, less than the published 2 d sigma sqrt(2 s / h). */
static double width(const faro_elimination *e, const faro_heard *heard) {
  const faro_learner_params *p = &e->learner.params;
  const double d = (double)p->arms->dimension;
  double square = 0;
  for (size_t s = 0; s < e->plan.support; s++) square += pow(faro_heard_sd(&heard[s]), 2);
  return (p->reward * sqrt(2 * d / e->h) + 2 * d * sqrt(square) / e->h) *
         sqrt(2 * log((double)p->arms->count * (double)p->horizon));
}

static const faro_rules rules = {.length = length, .width = width};

const faro_learner_kind faro_learner_pe = {
    .name = "pe",
    .summary = "phased elimination, every pull a user of its own (002 App. C)",
    FARO_ELIMINATION_KIND,
    .rules = &rules,
};
