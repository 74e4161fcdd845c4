/* unfilter: the inverse of the factored mechanism's filter, in whole numbers. Given prefix sums p
 * it finds whole numbers y with L y = p up to a small residual, which does not grow from step to
 * step because y itself is fed back (docs/privacy.md, Exact noise, Lemma 9). */
#ifndef FARO_RELEASE_UNFILTER_H
#define FARO_RELEASE_UNFILTER_H

#include <float.h>
#include <math.h>

#include "privacy/continual.h"

/* The next y for one entry; `state` has FARO_FACTORED_TERMS numbers, zero at first. */
static inline int64_t faro_unfilter(const double weight[static FARO_FACTORED_TERMS],
                                    const double base[static FARO_FACTORED_TERMS],
                                    long double state[static FARO_FACTORED_TERMS], int64_t prefix) {
  long double past = 0;
  for (size_t j = 0; j < FARO_FACTORED_TERMS; j++) past += (long double)weight[j] * base[j] * state[j];
  const int64_t y = llrintl((long double)prefix - past);
  for (size_t j = 0; j < FARO_FACTORED_TERMS; j++) state[j] = base[j] * state[j] + (long double)y;
  return y;
}

/* A bound on |L y - p| for `steps` prefix sums that each grow by at most `most`; INFINITY if y
 * might not fit. `column` is the norm of a column of R (faro_continual). */
static inline double faro_unfilter_residual(const double weight[static FARO_FACTORED_TERMS],
                                            const double base[static FARO_FACTORED_TERMS], double steps,
                                            double most, double column) {
  const double unit = (double)LDBL_EPSILON;
  const double y = most * sqrt(steps) * column; /* bound on |R x|, by Cauchy and Schwarz */
  double error = 4 * unit * steps * most;
  for (size_t j = 0; j < FARO_FACTORED_TERMS; j++) {
    const double kept = fmin(steps, 1 / (1 - base[j])); /* steps that a number of the state lasts */
    error += unit * (2 * y + 4) * weight[j] * kept * (2 * kept + FARO_FACTORED_TERMS + 4);
  }
  const double residual = 0.5 + 1.01 * error;
  return 2 * residual <= y + 4 && 2 * y + 4 < 0x1p62 ? residual : (double)INFINITY;
}

#endif
