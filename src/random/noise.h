/* noise: exact draws of noise, in integers and rationals only, from either family of streams.
 * Private to random/, privacy/ and release/. Not constant time: the time of a draw depends on its
 * outcome. */
#ifndef FARO_RANDOM_NOISE_H
#define FARO_RANDOM_NOISE_H

#include <faro/random.h>

/* True with probability exp(-p/q); q >= 1, any p. */
bool faro_exact_bernoulli_exp(faro_rng *rng, uint64_t p, uint64_t q);

/* P(k) proportional to exp(-|k| den/num), scale num/den; num, den >= 1, num/den < 2^40. */
int64_t faro_exact_discrete_laplace(faro_rng *rng, uint64_t num, uint64_t den);

/* P(k) proportional to exp(-k^2 den/(2 num)), variance parameter sigma^2 = num/den; num, den >= 1
 * and den (floor(sigma) + 1)^2 <= 2^55: sigma up to 1e7 leaves den up to 360, sigma about 1 leaves
 * den up to 2^53. */
int64_t faro_exact_discrete_gaussian(faro_rng *rng, uint64_t num, uint64_t den);
/* The greatest num for a den of 1. */
#define FARO_EXACT_VARIANCE_MAX (UINT64_C(189812531) * 189812531 - 1)

/* Bin(n, p/q), p <= q, q >= 1. Reads about 2n/64 words. */
uint64_t faro_exact_binomial(faro_rng *rng, uint64_t n, uint64_t p, uint64_t q);

#endif
