/* noise: bounds on the noise in released sums of moments. */
#ifndef FARO_LEARNER_NOISE_H
#define FARO_LEARNER_NOISE_H

#include <faro/statistics.h>

/* Bound on the operator norm of the noise in one released d x d Gram matrix; fails with probability
 * q. 0 without noise. */
double faro_gram_bound(const faro_noise *noise, size_t d, double q);
/* Bound on the length of the noise in one released sum of x y, which follows the Gram matrix in the
 * statistics. 0 without noise. */
double faro_vector_bound(const faro_noise *noise, size_t d, double q);

#endif
