/* share: whole numbers of people in a share of a crowd. */
#ifndef FARO_BASE_SHARE_H
#define FARO_BASE_SHARE_H

#include <float.h>
#include <math.h>

/* share n, rounded down. The double nearest to a share like 0.29 may be less than it, and so its
 * product with 200 less than 58: what is nearer to a whole number than the two roundings is it. */
static inline double faro_share_of(double share, double n) {
  const double product = share * n;
  const double nearest = nearbyint(product);
  return fabs(product - nearest) <= DBL_EPSILON * product ? nearest : floor(product);
}

#endif
