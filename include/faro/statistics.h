/* statistics: what a release publishes, and all that a learner gets to see. */
#ifndef FARO_STATISTICS_H
#define FARO_STATISTICS_H

#include <faro/base.h>

/* Where the size of the noise comes from. */
#define FARO_CALIBRATION_LIST(X)                                                                             \
  X(PAPER, "paper")   /* the constants of the published theorems */                                          \
  X(FIGURE, "figure") /* the smaller ones behind the published figures; they prove nothing */                \
  X(TIGHT, "tight")   /* the least noise that the accountant proves */

typedef enum faro_calibration {
#define X(name, text) FARO_CALIBRATION_##name,
  FARO_CALIBRATION_LIST(X)
#undef X
      FARO_CALIBRATION_COUNT
} faro_calibration;

FARO_API const char *faro_calibration_name(faro_calibration calibration);

/* What was published last: sums over the first `users` users, packed as in linalg.h. */
typedef struct faro_statistics {
  const double *sum; /* vech(x x'), then x y */
  uint64_t users, releases;
} faro_statistics;

/* What may be known of the noise in the sums, over the whole horizon. */
typedef struct faro_noise {
  /* Per entry of the sums: the noise in any published sum is sub-Gaussian with it. Laplace noise is not; of it this is
   * the standard deviation. */
  const double *scale;
  bool gaussian;   /* the noise is Gaussian, not only sub-Gaussian */
  double laplace;  /* Laplace noise: its scale b, in every entry; 0: none */
  double summands; /* and how many such variables are added up in an entry of any published sum, at most */
  double gamma;    /* the published experiments' bound on the Gram noise; 0 without noise */
} faro_noise;

/* A t with P(|L_1 + ... + L_n| > t) <= q for independent Laplace variables of scale b, n >= 1: Chernoff's bound at its
 * best, and exact for n = 1. */
FARO_API double faro_laplace_sum_quantile(double n, double b, double q);
/* The same for a weighted sum of such noises: of scale[i] (the weight in it, any sign) there are number[i]. */
FARO_API double faro_laplace_quantile(const double *scale, const double *number, size_t count, double q);

#endif
