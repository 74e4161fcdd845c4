/* dpe: one action for a population, private averages from sampled clients. DP-DPE, 002 Alg. 1. */
#include <math.h>

#include "learner/elimination.h"

static double length(const faro_elimination *e) { return ldexp(1, (int)e->phase); } /* h_1 = 2, doubled */

static uint64_t clients(const faro_elimination *e) {
  const faro_learner_params *p = &e->learner.params;
  return p->clients > 0
             ? p->clients
             : (uint64_t)fmax(2,
                              ceil(pow(2, p->alpha * (double)e->phase))); /* two: a shuffler needs company */
}

/* DEVIATION: S is cut to d (d + 1) / 2, which no design needs to exceed. 002 eq. (3), beta = 1/(kT); the privacy noise is 2 sd sqrt(S d) in every trust model, sd that of the mean over clients. */
static double width(const faro_elimination *e, const faro_heard *heard) {
  const faro_learner_params *p = &e->learner.params;
  const double d = (double)p->arms->dimension;
  const double users = (double)e->plan.clients;
  double sd = 0;
  for (size_t s = 0; s < e->plan.support; s++) sd = fmax(sd, faro_heard_sd(&heard[s]) / heard[s].count);
  const double noise = 2 * sd * sqrt((double)faro_design_bound(p->arms->dimension) * d);
  return (sqrt(2 * d / (users * e->h)) + p->spread / sqrt(users) + noise) *
         sqrt(2 * log((double)p->arms->count * (double)p->horizon));
}

static const faro_rules rules = {.length = length, .clients = clients, .width = width};

const faro_learner_kind faro_learner_dpe = {
    .name = "dpe",
    .summary = "elimination for a population, from private averages of sampled clients (002)",
    FARO_ELIMINATION_KIND,
    .rules = &rules,
};
