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
/* For the ratio of the means of a and b, measured on the same n instances (Fieller 1954): all r for
 * which the mean of a - r b is not seen to differ from 0. Above 0 and without an upper end if the
 * mean of b itself is not seen to be positive, and from one instance. */
faro_interval faro_interval_ratio(const double *a, const double *b, size_t n);

#endif
