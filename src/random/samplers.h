/* samplers: the draws that releases are made of. Private to random/, privacy/ and release/.
 *
 * Exact: integers and rationals only, from either family of streams; used in deployment. Fast:
 * floating point, from simulation streams only; tested against the exact ones. */
#ifndef FARO_RANDOM_SAMPLERS_H
#define FARO_RANDOM_SAMPLERS_H

#include <faro/random.h>

/* Exact. */
uint64_t faro_exact_below(faro_rng *rng, uint64_t n);             /* 0 .. n-1, n >= 1 */
bool faro_exact_bernoulli(faro_rng *rng, uint64_t p, uint64_t q); /* true with p/q, p <= q, q >= 1 */
uint64_t faro_exact_binomial_half(faro_rng *rng, uint64_t n);     /* Bin(n, 1/2) by counting bits */
uint64_t faro_exact_binomial_quarter(faro_rng *rng, uint64_t n);  /* Bin(n, 1/4), likewise */
void faro_exact_shuffle(faro_rng *rng, void *items, size_t count, size_t size); /* Fisher-Yates */

/* Fast. A plan holds what depends only on (n, p), so that a batch computes it once. */
typedef struct faro_binomial {
  uint64_t n;
  double p; /* <= 1/2; `mirror`: 1 - p was asked for */
  bool mirror;
  double a, b, c, alpha, vr; /* the hat of Hormann's transformed rejection, for n p >= 10 */
  double mode_log;           /* log of the probability of the mode */
  double mean[2];            /* of successes and of failures */
  double reach;              /* how far from the mean faro_binomial_near answers */
  double mode_near, doubt;   /* what it makes of the mode, and how wrong that may be */
  double first, odds;        /* inversion, for n p < 10: P(0) and p / (1-p) */
} faro_binomial;

/* to[i] += factor sd[i] N(0, 1), from the words of n calls of faro_sim_normal. */
void faro_sim_add_normals(faro_sim_rng *sim, double factor, const double *sd, double *to, size_t n);
/* faro_sim_normals without lanes: their oracle. */
void faro_plain_normals(faro_sim_rng *sim, double *to, size_t n);
/* The first n normals of eight fresh streams, of this instance and the seven after it: to[8 i + k]
 * is the i-th of stream k. Makes no more of the streams than it takes. */
enum { FARO_ABREAST = 8 };
void faro_sim_abreast(uint64_t seed, uint64_t instance, faro_role role, size_t n, double *to);
/* faro_sim_rows, row by row: the oracle. */
void faro_plain_rows(faro_sim_rng *sim, double *to, size_t rows, size_t n);

void faro_binomial_plan(faro_binomial *plan, uint64_t n, double p);
uint64_t faro_sim_binomial(const faro_binomial *plan, faro_sim_rng *sim);

/* Gamma of integer shape n >= 1 and scale 1 (the sum of n exponentials), and the sum of n Laplace
 * variables of scale 1. */
double faro_sim_gamma(faro_sim_rng *sim, double n);
double faro_sim_laplace_sum(faro_sim_rng *sim, double n);

/* log P(Bin(n, p) = k), accurate for any n (Loader's saddle-point form); 0 < p < 1, 0 <= k <= n. */
double faro_binomial_log(double n, double p, double k);
/* log P(k) - log P(mode) of a plan with n p >= 10, without a logarithm: faro_binomial_log differs
 * from it by `error` at most. False if k is further than `reach` from the mean. */
bool faro_binomial_near(const faro_binomial *plan, double k, double *ratio, double *error);

#endif
