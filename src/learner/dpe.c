/* dpe: one action for a population, private averages from sampled clients. DP-DPE, Li, Zhou & Ji
 * 2022, Alg. 1. */
#include <math.h>

#include "learner/eliminator.h"

static double length(const faro_eliminator *e) { return ldexp(1, (int)e->phase); } /* h_1 = 2, doubled */

/* At least two: a shuffler needs more than one message. */
static uint64_t clients(const faro_eliminator *e) {
  if (e->params.clients > 0) return e->params.clients;
  return (uint64_t)fmax(2, ceil(pow(2, e->settings.alpha * (double)e->phase)));
}

/* Eq. (3), beta = 1/(kT). The privacy noise is 2 sd sqrt(S d) in every trust model, where sd is
 * that of the mean over clients. DEVIATION: S is at most d (d + 1) / 2, which no design needs to
 * exceed. */
static double width(const faro_eliminator *e, const faro_heard *heard) {
  const faro_eliminator_params *p = &e->params;
  const double d = (double)p->arms->dimension;
  const double users = (double)e->plan.clients;
  double sd = 0;
  for (size_t s = 0; s < e->plan.support; s++) sd = fmax(sd, faro_heard_sd(&heard[s]) / heard[s].count);
  const double noise = 2 * sd * sqrt((double)faro_design_bound(p->arms->dimension) * d);
  return (sqrt(2 * d / (users * e->h)) + p->spread / sqrt(users) + noise) *
         sqrt(2 * log((double)p->arms->count * (double)p->horizon));
}

const faro_eliminator_kind faro_eliminator_dpe = {
    .about = {.name = "dpe",
              .summary = "elimination for a population, from private averages of sampled clients",
              .cite = "Li, Zhou & Ji 2022",
              .protocol = FARO_PROTOCOL_ELIMINATOR,
              .refuses = 1U << FARO_CALIBRATION_FIGURE,
              .settings = faro_eliminator_of_clients,
              .settings_size = sizeof(faro_eliminator_settings)},
    .length = length,
    .clients = clients,
    .width = width,
};
