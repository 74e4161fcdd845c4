/* attack: many runs of a mechanism on two neighbours, and a test that tells them apart. audit.c has
 * the code; audit.h says why its bounds are valid. */
#ifndef FARO_AUDIT_ATTACK_H
#define FARO_AUDIT_ATTACK_H

#include <faro/audit.h>

#include "audit/curve.h"

/* The inputs that attacks try, two for each pair of neighbours. */
enum { FARO_ATTACK_INPUTS = 18, FARO_ATTACK_JOBS_MAX = 256 };

/* Writes the features of input `index` and returns its reward. Where only rewards are protected,
 * both inputs of a pair have the same features; if `users`, they may be any two users. */
double faro_attack_input(const faro_contribution *c, size_t index, bool users, double *x);

/* What is attacked: a curve, and the parameter that is promised on it; NaN if nothing is. */
typedef struct faro_target {
  faro_curve curve;
  double claimed;
  bool sums;  /* views move with the contribution: the pair that moves it most should be the best */
  bool users; /* the promise is about any two users, not only about neighbours */
  /* Optional: tells a mechanism's context which pair is played from now on, the inputs 2 pair and
   * 2 pair + 1. */
  void (*tell)(void *context, size_t pair);
} faro_target;

typedef struct faro_finding {
  double least; /* lower bound on the parameter, at least 0 */
  double power; /* the least parameter that was likely to be found; see faro_curve_power */
  const char *pair, *statistic;
  double hits, false_hits;
  uint64_t runs;
} faro_finding;

/* One mechanism for each of `jobs` threads, which differ in their contexts alone. The result does
 * not depend on how many there are. Only trials, confidence and seed of the plan are read. */
faro_status faro_attack_run(const faro_audit_mechanism *mechanism, size_t jobs,
                            const faro_contribution *contribution, const faro_audit_plan *plan,
                            const faro_target *target, faro_finding *outcome,
                            faro_error *error) FARO_WARN_UNUSED;

#endif
