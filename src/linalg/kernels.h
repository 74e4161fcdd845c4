/* kernels: both implementations of each operation, so that tests and benchmarks can compare them.
 * `small` are plain loops, `large` are those of dense.h. The public functions choose. */
#ifndef FARO_LINALG_KERNELS_H
#define FARO_LINALG_KERNELS_H

#include <faro/linalg.h>

/* Up to these dimensions our own loops win (bench_linalg). */
enum { FARO_SMALL_FACTOR = 8, FARO_SMALL_WHITEN = 100, FARO_SMALL_SCORE = 64, FARO_SMALL_EIGEN = 12 };

/* All matrices are packed. Scratch: `full` d x d numbers, `rest` a packed triangle, `column` d. */
bool faro_small_factor(size_t d, const double *a, double *l);
bool faro_large_factor(size_t d, const double *a, double *l, double *full);
bool faro_small_whiten(size_t d, const double *a, double *w, double *rest, double *column);
bool faro_large_whiten(size_t d, const double *a, double *w, double *full);

/* As faro_spd_grow. sum: d, becomes A^-1 x; scratch: 2 d. */
double faro_plain_update(size_t d, double s, const double *x, double *w, double *sum, double *scratch);
double faro_small_update(size_t d, double s, const double *x, double *w, double *sum, double *scratch);

/* Jacobi's method on a full matrix, which is destroyed; rows of `vector` are in the order of
 * `value`. */
void faro_small_eigen(size_t d, double *a, double *value, double *vector);

void faro_plain_score(const faro_arms *arms, const double *theta, const double *w, double beta,
                      double *score);
void faro_small_score(const faro_arms *arms, const double *theta, const double *w, double beta,
                      double *score);
/* scratch: d x stride + d x d */
void faro_large_score(const faro_arms *arms, const double *theta, const double *w, double beta, double *score,
                      double *scratch);

#endif
