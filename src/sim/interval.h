/* interval: 95 % confidence intervals of a mean. */
#ifndef FARO_SIM_INTERVAL_H
#define FARO_SIM_INTERVAL_H

#include <faro/base.h>

/* The 97.5 % quantile of Student's t with `freedom` degrees of freedom, to seven digits; NaN
 * below 1. */
double faro_student(double freedom);

typedef struct faro_interval {
  double low, high; /* NaN: not known */
} faro_interval;

/* mean -+ t se. For differences, which may have either sign. */
faro_interval faro_interval_plain(double mean, double se, double freedom);
/* mean exp(-+ t se / mean), the delta method on the logarithm: for measures that cannot be
 * negative. Suits skewed samples and logarithmic axes, and stays above 0. Where t se is above the
 * mean (few instances), the factor grows linearly, because the method no longer holds. Plain if
 * the mean is 0. Not known from two instances: it would often reach beyond what is possible. */
faro_interval faro_interval_positive(double mean, double se, double freedom);

#endif
