/* linalg: small dense symmetric algebra, d = 1 .. 1000.
 *
 * A symmetric matrix is its lower triangle, packed row by row: A(i,j) with j <= i is a[i (i+1)/2 +
 * j]. vech(x x'), the factor L (A = L L') and its inverse W = L^-1 have the same order, so
 * statistics, factors and policies need no conversion.
 *
 * Scores of arms, and small matrices, run on our own loops, large matrices on OpenBLAS and LAPACKE;
 * bench_linalg shows where one overtakes the other. */
#ifndef FARO_LINALG_H
#define FARO_LINALG_H

#include <faro/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FARO_DIMENSION_MAX = 1000, FARO_ARM_TILE = 16, FARO_ARM_ALIGNMENT = 64 };

/* Length of a packed triangle, and the index of its i-th diagonal entry. */
static inline size_t faro_packed(size_t d) { return d * (d + 1) / 2; }
static inline size_t faro_diagonal(size_t i) { return i * (i + 3) / 2; }

/* A symmetric positive definite matrix, stored as its factor. */
typedef struct faro_spd faro_spd;

FARO_API faro_status faro_spd_create(faro_spd **spd, size_t d, faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_spd_destroy(faro_spd *spd);
/* Changes the dimension to d, at most that of its creation. The factor is lost. */
FARO_API void faro_spd_resize(faro_spd *spd, size_t d);

/* Factors packed A. False if A is not positive definite (or not finite); the object is then
 * unusable until the next success. */
FARO_API bool faro_spd_factor(faro_spd *spd, const double *a);
/* A += x x', in O(d^2). */
FARO_API void faro_spd_update(faro_spd *spd, const double *x);
/* x = A^-1 b; x and b may be the same. */
FARO_API void faro_spd_solve(const faro_spd *spd, const double *b, double *x);
/* w = L^-1, packed, directly from packed A: ||w x|| is the norm of x in A^-1. False if A is not
 * positive definite; w is then undefined. The object's factor is lost. */
FARO_API bool faro_spd_whiten(faro_spd *spd, const double *a, double *w);
/* w = L^-1 of packed A becomes that of A + s x x', in O(d^2), and `gain` (d numbers) A^-1 x with
 * A as it was: (A + s x x')^-1 = A^-1 - s/t gain gain', where t = 1 + s x' A^-1 x is returned. If t
 * is not positive, neither is A + s x x', and w stays as it was. The object's factor is untouched.
 * Rounding adds up to 1e-12 of a row of w in 10^5 updates with s > 0. */
FARO_API double faro_spd_grow(faro_spd *spd, double s, const double *x, double *w, double *gain);
/* The least and greatest eigenvalue of packed A (any symmetric A). The factor is not touched. */
FARO_API void faro_spd_extremes(faro_spd *spd, const double *a, double *least, double *greatest);

/* Eigenvalues, descending, and orthonormal eigenvectors of packed symmetric A. Row i of the d x d
 * matrix `vector` belongs to value i. A must be finite. Only create allocates memory. */
typedef struct faro_eigen faro_eigen;

FARO_API faro_status faro_eigen_create(faro_eigen **eigen, size_t d, faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_eigen_destroy(faro_eigen *eigen); /* NULL is allowed */
FARO_API void faro_eigen_find(faro_eigen *eigen, const double *a, double *value, double *vector);

/* K arms as columns: x[i * stride + a] is feature i of arm a. stride is K rounded up to a multiple
 * of FARO_ARM_TILE, and the columns beyond K are zero. x is aligned to FARO_ARM_ALIGNMENT bytes, as
 * faro_score needs. `version` changes whenever x does. */
typedef struct faro_arms {
  size_t dimension, count, stride;
  double *x;
  uint64_t version;
} faro_arms;

static inline size_t faro_arm_stride(size_t count) {
  return (count + FARO_ARM_TILE - 1) / FARO_ARM_TILE * FARO_ARM_TILE;
}
/* Doubles that faro_score needs as `scratch`. */
FARO_API size_t faro_score_scratch(size_t d, size_t stride);

/* score[a] = <theta, x_a> + beta ||w x_a|| for all arms. Returns the first arm with the greatest
 * score. score has room for `stride` values. */
FARO_API size_t faro_score(const faro_arms *arms, const double *theta, const double *w, double beta,
                           double *score, double *scratch);
/* As faro_score, and square[a] = ||w x_a||^2, for rank-one changes of w from then on. */
FARO_API size_t faro_score_keep(const faro_arms *arms, const double *theta, const double *w, double beta,
                                double *square, double *score, double *scratch);
/* The scores of the same arms after `rank` changes, 1 or 2, by faro_spd_grow, in O(K d):
 * square[a] loses sum_k share[k] <gain_k, x_a>^2, but is never negative; share is s / t, gain has
 * `rank` rows of d numbers. Rounding adds up to about DBL_EPSILON of the squares that
 * faro_score_keep found, for each change. */
FARO_API size_t faro_rescore(const faro_arms *arms, const double *theta, size_t rank, const double *gain,
                             const double *share, double beta, double *square, double *score);
/* mean[a] = <theta, x_a>. Returns the first arm with the greatest mean. */
FARO_API size_t faro_means(const faro_arms *arms, const double *theta, double *mean);
/* score[a] = <theta, x_a> + <direction, x_a>, the second at least 0 if `positive`, rounded as two
 * faro_means. Returns the first arm with the greatest score. */
FARO_API size_t faro_means_moved(const faro_arms *arms, const double *theta, const double *direction,
                                 bool positive, double *score);
/* The index of the first greatest value of `count` >= 1 values; NaN is none. */
FARO_API size_t faro_greatest(const double *value, size_t count);

#ifdef __cplusplus
}
#endif

#endif
