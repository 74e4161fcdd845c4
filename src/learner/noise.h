/* noise: what follows from the noise in released sums of moments (vech(x x'), then x y). Bounds
 * fail with probability q; without noise they are 0. */
#ifndef FARO_LEARNER_NOISE_H
#define FARO_LEARNER_NOISE_H

#include <faro/statistics.h>

/* Bound on the operator norm of the noise N in a d x d Gram matrix. */
double faro_gram_bound(const faro_noise *noise, size_t d, double q);
/* Bound on the length of the noise eta in a sum of x y. */
double faro_vector_bound(const faro_noise *noise, size_t d, double q);
/* Bound on ||eta - N theta|| for one fixed theta with ||theta|| <= 1. */
double faro_error_bound(const faro_noise *noise, size_t d, double q);

/* Standard deviations: the greatest on the diagonal of N, beside it, and in eta. */
typedef struct faro_deviation {
  double on, off, vector;
} faro_deviation;
faro_deviation faro_noise_deviation(const faro_noise *noise, size_t d);
/* The first of them, for sums of x x' alone. */
double faro_noise_diagonal(const faro_noise *noise, size_t d);

#endif
