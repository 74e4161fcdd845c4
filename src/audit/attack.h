/* attack: many runs of a mechanism on two neighbours, and a test that tells them apart. audit.c has
 * the code; audit.h says why its bounds are valid. */
#ifndef FARO_AUDIT_ATTACK_H
#define FARO_AUDIT_ATTACK_H

#include <faro/audit.h>

#include "audit/curve.h"

/* The inputs that attacks try, two for each pair of neighbours. */
enum { FARO_ATTACK_INPUTS = 12 };

/* Writes the features of input `index` and returns its reward. */
double faro_attack_input(const faro_contribution *c, size_t index, double *x);

/* What is attacked: a curve, and the parameter that is promised on it; NaN if nothing is. */
typedef struct faro_target {
  faro_curve curve;
  double claimed;
  bool sums; /* views move with the contribution: the pair that moves it most should be the best */
} faro_target;

typedef struct faro_finding {
  double least; /* lower bound on the parameter, at least 0 */
  double power; /* the least parameter that was likely to be found; see faro_curve_power */
  const char *pair, *statistic;
  double hits, false_hits;
  uint64_t runs;
} faro_finding;

/* Only trials, confidence and seed of the plan are read. */
faro_status faro_attack_run(const faro_audit_mechanism *mechanism, const faro_contribution *contribution,
                            const faro_audit_plan *plan, const faro_target *target, faro_finding *outcome,
                            faro_error *error) FARO_WARN_UNUSED;

#endif
