/* pe: elimination in which every pull is a user of its own. DP-PE, Li, Zhou & Ji 2022, Alg. 3. */
#include <math.h>

#include "learner/eliminator.h"

/* h_1 = S, then doubled. DEVIATION: S is at most d (d + 1) / 2, which no design needs to exceed. */
static double length(const faro_eliminator *e) {
  return (double)faro_design_bound(e->params.arms->dimension) * ldexp(1, (int)e->phase - 1);
}

/* Eq. (54), beta = 1/(kT). The privacy noise is (2d/h) times the length of the vector of all
 * noises: 2 d sigma sqrt(s) / h in the central and shuffle models, as published. DEVIATION: in the
 * local model that is 2 d sigma sqrt(sum T) / h, less than the published 2 d sigma sqrt(2 s /
 * h). */
static double width(const faro_eliminator *e, const faro_heard *heard) {
  const faro_eliminator_params *p = &e->params;
  const double d = (double)p->arms->dimension;
  double square = 0;
  for (size_t s = 0; s < e->plan.support; s++) square += pow(faro_heard_sd(&heard[s]), 2);
  return (p->reward * sqrt(2 * d / e->h) + 2 * d * sqrt(square) / e->h) *
         sqrt(2 * log((double)p->arms->count * (double)p->horizon));
}

const faro_eliminator_kind faro_eliminator_pe = {
    .about = {.name = "pe",
              .summary = "phased elimination, every pull a user of its own",
              .cite = "Li, Zhou & Ji 2022, App. C",
              .protocol = FARO_PROTOCOL_ELIMINATOR,
              .refuses = 1U << FARO_CALIBRATION_FIGURE,
              .settings = faro_eliminator_of_users,
              .settings_size = sizeof(faro_eliminator_settings)},
    .length = length,
    .width = width,
};
