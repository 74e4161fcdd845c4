/* curve: how well any test may tell two neighbours apart, if a proof holds.
 *
 * A test has a rate of hits h (it says "first" on the first input) and of false hits f (it says so
 * on the second). What is proven bounds h by a function of f, with one parameter:
 *
 *   point     (epsilon, delta)-privacy: h <= e^epsilon f + delta
 *   Gaussian  mu: h <= Phi(Phi^-1(f) + mu) + slack (Dong, Roth & Su 2022)
 *   Laplace   epsilon: the curve of one Laplace variable that is moved by epsilon scales
 *
 * A whole curve is a stronger promise than one point of it, and it is tested where tests are
 * strong: in the middle, where rates are near one half. Near f = delta / e^epsilon, which is all
 * that a point says, a small delta hides twice the proper mu from millions of runs. */
#ifndef FARO_AUDIT_CURVE_H
#define FARO_AUDIT_CURVE_H

#include <faro/base.h>

typedef enum faro_curve_form { FARO_CURVE_POINT, FARO_CURVE_GAUSSIAN, FARO_CURVE_LAPLACE } faro_curve_form;

typedef struct faro_curve {
  faro_curve_form form;
  double slack; /* point: delta; Gaussian: what the proof adds to every h */
} faro_curve;

/* The least parameter with which a test can have at least `hits` and at most `false_hits`. Not
 * above 0: they show nothing. */
double faro_curve_least(faro_curve curve, double hits, double false_hits);

/* The least parameter that tests of n runs per input are likely to show to be above `claimed`, if
 * each of their bounds on a rate fails with probability alpha: the parameter for which the best
 * test, with the rates that it should have, just does. INFINITY if none. */
double faro_curve_power(faro_curve curve, double claimed, uint64_t n, double alpha);

#endif
