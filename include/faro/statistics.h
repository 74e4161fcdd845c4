/* statistics: what a release publishes, and all that a learner gets to see. */
#ifndef FARO_STATISTICS_H
#define FARO_STATISTICS_H

#include <faro/base.h>

/* What was published last: sums over the first `users` users, packed as in linalg.h. */
typedef struct faro_statistics {
  const double *sum; /* vech(x x'), then x y */
  uint64_t users, releases;
} faro_statistics;

/* What may be known of the noise in the sums, over the whole horizon. */
typedef struct faro_noise {
  const double *scale; /* per entry of the sums: the noise in any published sum is sub-Gaussian with it */
  bool gaussian;       /* the noise is Gaussian, not only sub-Gaussian */
  double gamma;        /* the published experiments' bound on the Gram noise; 0 without noise */
} faro_noise;

#endif
