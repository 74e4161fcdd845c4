/* statistics: what a release publishes, and all that a learner sees.
 *
 *     faro_statistics now = faro_release_statistics(release);
 *     double mean = now.sum[0] / (double)now.users;
 *
 * The structs are views: their pointers belong to the release and are valid until it publishes
 * again. */
#ifndef FARO_STATISTICS_H
#define FARO_STATISTICS_H

#include <faro/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calibration: where the size of the noise comes from. */
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
/* The value of a name: false if there is none. */
FARO_API bool faro_calibration_find(const char *name, faro_calibration *calibration);

/* What is public about the noise in sums. */
typedef struct faro_noise {
  /* Per entry: the sub-Gaussian scale of the noise; for Laplace noise, its standard deviation.
   * NULL: there is no noise. */
  const double *scale;
  double ratio; /* standard deviation over scale; 0: they are the same */
  /* Entries of one user's noise depend on each other. In every direction it is sub-Gaussian all the
   * same. */
  bool dependent;
  bool gaussian;   /* the noise is Gaussian, not only sub-Gaussian */
  double laplace;  /* Laplace noise only: the scale b of each variable; else 0 */
  double summands; /* the most variables summed in an entry */
  double gamma;    /* the published experiments' bound on the Gram noise; 0 without noise */
  /* Rewards alone, nobody trusted: every reward y is replaced by an answer of mean y that is plus
   * or minus this, and there is no other noise. 0: rewards are summed as they are. */
  double answer;
} faro_noise;

/* The newest publication: sums over the first `users` users, packed as in linalg.h. */
typedef struct faro_statistics {
  const double *sum; /* vech(x x'), then x y */
  uint64_t users, releases;
  faro_noise noise; /* in this sum */

  /* The newest batch by itself, if the noise of batches is independent: it has less noise than a
   * difference of sums. NULL: the noise of sums is correlated, or there is none. */
  const double *block;
  uint64_t block_users;
  const double *at; /* the point at which the newest batch was linearised; NULL: it was not */
  faro_noise block_noise;

  /* Where there is no noise, and the newest batch added one direction: the sums grew by more more',
   * and by more times more_y, from `more_users` users. It is the difference of two sums, so nothing
   * else is published by it. NULL: they grew by anything. */
  const double *more;
  double more_y;
  uint64_t more_users;
} faro_statistics;

/* Returns a t with P(|L_1 + ... + L_n| > t) <= q for independent Laplace variables of scale b, n >=
 * 1: Chernoff's bound at its best, and exact for n = 1. */
FARO_API double faro_laplace_sum_quantile(double n, double b, double q);
/* The same for a weighted sum: number[i] variables of scale[i], which includes the weight and may
 * have any sign. */
FARO_API double faro_laplace_quantile(const double *scale, const double *number, size_t count, double q);

#ifdef __cplusplus
}
#endif

#endif
