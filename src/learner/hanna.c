/* hanna: elimination in geometric batches, then the best arm for good. 003 Alg. 1 to 4 (Hanna et al.).
 *
 *   q = (2T)^(1/ln T)   batches i = 1 .. ln T - 1 of about q^i pulls */
#include <math.h>

#include "learner/elimination.h"

static double log_horizon(const faro_elimination *e) { return log((double)e->learner.params.horizon); }

static double length(const faro_elimination *e) {
  const double t = (double)e->learner.params.horizon;
  return pow(2 * t, (double)e->phase / log(t));
}

static bool ends(const faro_elimination *e) { return (double)e->phase >= fmax(1, floor(log_horizon(e)) - 1); }

/* gamma_i, 003 Alg. 1 l.5 (one Laplace variable for each arm), Alg. 2 l.12 (one for each reward), and for sub-Gaussian noise as in
 * Alg. 4. The size of the core set, B d there, is its bound here; without a core set it is all active arms. */
static double width(const faro_elimination *e, const faro_heard *heard) {
  const faro_learner_params *p = &e->learner.params;
  const double d = (double)p->arms->dimension;
  const double logs = log(4 * (double)e->actives) + 2 * log_horizon(e);
  const double core = p->core ? (double)faro_design_bound(p->arms->dimension) : (double)e->plan.support;
  double square = 0;
  double total = 0;
  bool one = true; /* variable for each arm */
  for (size_t s = 0; s < e->plan.support; s++) {
    square += heard[s].scale * heard[s].scale;
    total += heard[s].count;
    one &= heard[s].summands == 1;
  }
  const double b = heard[0].laplace;
  const double rewards = p->reward * sqrt(4 * d / e->h * logs);
  if (b > 0 && one) return rewards + (2 * core * d + 2 * d * logs) * b / e->h;
  if (b > 0) return rewards + sqrt(logs * total) * 2 * d * b / e->h;
  return rewards + 2 * d * sqrt(2 * logs * square) / e->h;
}

static const faro_rules rules = {.length = length, .ends = ends, .width = width};

const faro_learner_kind faro_learner_hanna = {
    .name = "hanna",
    .summary = "elimination in geometric batches with a core set (003)",
    FARO_ELIMINATION_KIND,
    .rules = &rules,
};
