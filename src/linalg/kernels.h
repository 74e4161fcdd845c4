/* kernels: all implementations of each operation, so that tests and benchmarks can compare them.
 * `plain` are plain loops, `by` are compiled for vectors of a width, `large` are those of dense.h.
 * The public functions choose. */
#ifndef FARO_LINALG_KERNELS_H
#define FARO_LINALG_KERNELS_H

#include <faro/linalg.h>

#include "linalg/lanes.h"

/* Up to which dimension plain loops win (PLAIN), and our own kernels (SMALL). `make bench` measures
 * it: plain loops win up to 8 or 9, ours up to 1000 with AVX-512, and to nearly as much with AVX2.
 * Beyond 512, where they win little, their scratch would be large. */
enum { FARO_PLAIN_FACTOR = 8, FARO_SMALL_FACTOR = 512, FARO_SMALL_EIGEN = 12 };
/* Arms that the widest vectors score together, and the dimension from which they are copied
 * first. */
enum { FARO_SCORE_TILE = 32, FARO_SCORE_COPIED = 65 };

/* All matrices are packed. Scratch: `full` d x d numbers, `rest` a packed triangle, `column` d. */
bool faro_plain_factor(size_t d, const double *a, double *l);
bool faro_plain_whiten(size_t d, const double *a, double *w, double *rest, double *column);
bool faro_large_factor(size_t d, const double *a, double *l, double *full);
bool faro_large_whiten(size_t d, const double *a, double *w, double *full);
/* scratch: faro_factor_scratch(d) numbers, aligned to a cache line */
size_t faro_factor_scratch(size_t d);
bool faro_factor_by(faro_lanes lanes, size_t d, const double *a, double *l, double *scratch);
bool faro_whiten_by(faro_lanes lanes, size_t d, const double *a, double *w, double *scratch);

/* As faro_spd_grow. sum: d, becomes A^-1 x; scratch: 2 d. */
double faro_update_by(faro_lanes lanes, size_t d, double s, const double *x, double *w, double *sum,
                      double *scratch);

/* Jacobi's method on a full matrix, which is destroyed; rows of `vector` are in the order of
 * `value`. */
void faro_small_eigen(size_t d, double *a, double *value, double *vector);

/* What faro_score_keep and faro_rescore were asked for. square may be NULL in a scoring; copy:
 * room for FARO_SCORE_TILE arms, if d >= FARO_SCORE_COPIED. A rescoring of rank 0 gives the means.
 * */
typedef struct faro_scoring {
  const faro_arms *arms;
  const double *theta, *w;
  double beta, *square, *score, *copy;
} faro_scoring;

typedef struct faro_rescoring {
  const faro_arms *arms;
  const double *theta;
  size_t rank; /* at most 2 */
  const double *gain, *share;
  double beta, *square, *score;
} faro_rescoring;

void faro_plain_score(const faro_scoring *task);
void faro_score_by(faro_lanes lanes, const faro_scoring *task);
void faro_plain_rescore(const faro_rescoring *task);
void faro_rescore_by(faro_lanes lanes, const faro_rescoring *task);
size_t faro_plain_greatest(const double *value, size_t count);
size_t faro_greatest_by(faro_lanes lanes, const double *value, size_t count);

#endif
