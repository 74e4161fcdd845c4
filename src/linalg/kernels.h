/* kernels: the two ways to do one thing, so that tests and benchmarks can set them side by side.
 * `small` are plain loops; `large` are OpenBLAS and LAPACKE. The public functions choose. */
#ifndef FARO_LINALG_KERNELS_H
#define FARO_LINALG_KERNELS_H

#include <faro/linalg.h>

enum {
  FARO_SMALL_FACTOR = 48, /* up to here our factorisation and inversion win (make bench) */
  FARO_SMALL_SCORE = 64,  /* up to here our scoring wins */
  FARO_SMALL_EIGEN = 16,
};

/* full: d x d scratch. All matrices packed. */
bool faro_small_factor(size_t d, const double *a, double *l);
bool faro_large_factor(size_t d, const double *a, double *l, double *full);
void faro_small_invert(size_t d, const double *l, double *w);
void faro_large_invert(size_t d, const double *l, double *w, double *full);
void faro_small_extremes(size_t d, const double *a, double *full, double *least, double *greatest);
/* work: 3 d + 1 */
void faro_large_extremes(size_t d, const double *a, double *full, double *work, double *least,
                         double *greatest);

void faro_plain_score(const faro_arms *arms, const double *theta, const double *w, double beta,
                      double *score);
void faro_small_score(const faro_arms *arms, const double *theta, const double *w, double beta,
                      double *score);
/* scratch: d x stride + d x d */
void faro_large_score(const faro_arms *arms, const double *theta, const double *w, double beta, double *score,
                      double *scratch);

#endif
