/* hanna: elimination in geometric batches, then the best arm to the end. Hanna et al. 2022, Alg. 1
 * to 4.
 *
 *   q = (2T)^(1/ln T)   batches i = 1 .. ln T - 1 of about q^i pulls */
#include <math.h>

#include "learner/eliminator.h"

static double log_horizon(const faro_eliminator *e) { return log((double)e->params.horizon); }

static double length(const faro_eliminator *e) {
  const double t = (double)e->params.horizon;
  return pow(2 * t, (double)e->phase / log(t));
}

static bool ends(const faro_eliminator *e) { return (double)e->phase >= fmax(1, floor(log_horizon(e)) - 1); }

/* gamma_i: Alg. 1 l. 5 (one Laplace variable per arm), Alg. 2 l. 12 (one per reward), and Alg. 4 l.
 * 10 for sub-Gaussian noise, whose sqrt(180 ln(2/delta)) / epsilon is the scale of the noise in the
 * sum of one arm. DEVIATION: the scale is that of the actual noise, the largest over arms, so that
 * the width of the rewards' interval counts and Gaussian noise (Remark 10) is covered. The size of
 * the core set, B d in the paper, is its bound here; without a core set it is the number of active
 * arms. */
static double width(const faro_eliminator *e, const faro_heard *heard) {
  const faro_eliminator_params *p = &e->params;
  const double d = (double)p->arms->dimension;
  const double logs = log(4 * (double)e->actives) + 2 * log_horizon(e);
  const double core = e->core ? (double)faro_design_bound(p->arms->dimension) : (double)e->plan.support;
  double scale = 0;
  double total = 0;
  bool one = true; /* one Laplace variable per arm */
  for (size_t s = 0; s < e->plan.support; s++) {
    scale = fmax(scale, heard[s].scale);
    total += heard[s].count;
    one &= heard[s].summands == 1;
  }
  const double b = heard[0].laplace;
  const double rewards = p->reward * sqrt(4 * d / e->h * logs);
  if (b > 0 && one) return rewards + (2 * core * d + 2 * d * logs) * b / e->h;
  if (b > 0) return rewards + sqrt(logs * total) * 2 * d * b / e->h;
  return rewards + (2 * core * d + 2 * d * logs) * scale / e->h;
}

const faro_eliminator_kind faro_eliminator_hanna = {
    .about = {.name = "hanna",
              .summary = "elimination in geometric batches with a core set",
              .cite = "Hanna et al. 2022",
              .protocol = FARO_PROTOCOL_ELIMINATOR,
              .refuses = 1U << FARO_CALIBRATION_FIGURE,
              .settings = faro_eliminator_of_users,
              .settings_size = sizeof(faro_eliminator_settings)},
    .length = length,
    .ends = ends,
    .width = width,
};
