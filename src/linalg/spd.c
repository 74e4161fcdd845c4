/* spd: factor, update, solve, invert; packed lower triangles throughout.
 *
 *   a   packed A       l   packed L, A = L L'       w   packed W = L^-1       d   dimension */
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "linalg/kernels.h"

struct faro_spd {
  faro_arena arena;
  size_t d;
  double *l;    /* packed factor */
  double *full; /* d x d scratch */
  double *work; /* 3 d + 1 scratch */
};

faro_status faro_spd_create(faro_spd **spd, size_t d, faro_error *error) {
  if (d < 1 || d > FARO_DIMENSION_MAX)
    return faro_fail(error, FARO_INVALID, "dimension must be 1 .. %d (got %zu)", FARO_DIMENSION_MAX, d);
  faro_arena arena = {0};
  faro_spd *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  double *l = faro_arena_alloc(&arena, faro_packed(d), sizeof *l, error);
  double *full = faro_arena_alloc(&arena, d * d, sizeof *full, error);
  double *work = faro_arena_alloc(&arena, 3 * d + 1, sizeof *work, error);
  if (!made || !l || !full || !work) {
    faro_arena_free(&arena);
    return FARO_MEMORY;
  }
  *made = (faro_spd){.arena = arena, .d = d, .l = l, .full = full, .work = work};
  *spd = made;
  return FARO_OK;
}

void faro_spd_destroy(faro_spd *spd) {
  if (!spd) return;
  faro_arena arena = spd->arena;
  faro_arena_free(&arena);
}

bool faro_small_factor(size_t d, const double *a, double *l) {
  for (size_t i = 0; i < d; i++) {
    double *row = l + faro_packed(i);
    const double *source = a + faro_packed(i);
    for (size_t j = 0; j < i; j++) { /* L_ij = (A_ij - sum_k L_ik L_jk) / L_jj */
      const double *other = l + faro_packed(j);
      double sum = source[j];
      for (size_t k = 0; k < j; k++) sum -= row[k] * other[k];
      row[j] = sum * other[j]; /* the diagonal holds 1 / L_jj until the end */
    }
    double pivot = source[i];
    for (size_t k = 0; k < i; k++) pivot -= row[k] * row[k];
    if (!(pivot > 0 && pivot < INFINITY)) return false;
    row[i] = 1 / sqrt(pivot);
  }
  for (size_t i = 0; i < d; i++) l[faro_diagonal(i)] = 1 / l[faro_diagonal(i)];
  return true;
}

/* LAPACK reads column major: our rows of the lower triangle are its columns of the upper one. */
static void unpack(size_t d, const double *packed, double *full) {
  for (size_t i = 0; i < d; i++) memcpy(full + i * d, packed + faro_packed(i), (i + 1) * sizeof *full);
}

static void pack(size_t d, const double *full, double *packed) {
  for (size_t i = 0; i < d; i++) memcpy(packed + faro_packed(i), full + i * d, (i + 1) * sizeof *full);
}

bool faro_large_factor(size_t d, const double *a, double *l, double *full) {
  for (size_t i = 0; i < faro_packed(d); i++)
    if (!isfinite(a[i])) return false;
  unpack(d, a, full);
  const lapack_int n = (lapack_int)d;
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, full, n) != 0) return false;
  pack(d, full, l);
  return true;
}

bool faro_spd_factor(faro_spd *spd, const double *a) {
  return spd->d <= FARO_SMALL_FACTOR ? faro_small_factor(spd->d, a, spd->l)
                                     : faro_large_factor(spd->d, a, spd->l, spd->full);
}

/* L L' + x x' = M M' by one Givens rotation a column (Golub and Van Loan, section 6.5.4). */
void faro_spd_update(faro_spd *spd, const double *x) {
  double *rest = spd->work;
  memcpy(rest, x, spd->d * sizeof *rest);
  for (size_t j = 0; j < spd->d; j++) {
    double *diagonal = spd->l + faro_diagonal(j);
    const double r = hypot(*diagonal, rest[j]);
    const double c = r / *diagonal;
    const double s = rest[j] / *diagonal;
    *diagonal = r;
    for (size_t i = j + 1; i < spd->d; i++) {
      double *entry = spd->l + faro_packed(i) + j;
      *entry = (*entry + s * rest[i]) / c;
      rest[i] = c * rest[i] - s * *entry;
    }
  }
}

void faro_spd_solve(const faro_spd *spd, const double *b, double *x) {
  const size_t d = spd->d;
  for (size_t i = 0; i < d; i++) { /* L y = b */
    const double *row = spd->l + faro_packed(i);
    double sum = b[i];
    for (size_t k = 0; k < i; k++) sum -= row[k] * x[k];
    x[i] = sum / row[i];
  }
  for (size_t i = d; i-- > 0;) { /* L' x = y */
    const double *row = spd->l + faro_packed(i);
    x[i] /= row[i];
    for (size_t k = 0; k < i; k++) x[k] -= row[k] * x[i];
  }
}

/* Row i of W is (e_i - sum_{k<i} L_ik W_k) / L_ii: whole rows at a time. */
void faro_small_invert(size_t d, const double *l, double *w) {
  for (size_t i = 0; i < d; i++) {
    double *row = w + faro_packed(i);
    const double *source = l + faro_packed(i);
    const double inverse = 1 / source[i];
    for (size_t j = 0; j < i; j++) row[j] = 0;
    for (size_t k = 0; k < i; k++) {
      const double *other = w + faro_packed(k);
      const double factor = -source[k] * inverse;
      for (size_t j = 0; j <= k; j++) row[j] += factor * other[j];
    }
    row[i] = inverse;
  }
}

void faro_large_invert(size_t d, const double *l, double *w, double *full) {
  unpack(d, l, full);
  const lapack_int n = (lapack_int)d;
  (void)LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'U', 'N', n, full, n); /* L has no zero on its diagonal */
  pack(d, full, w);
}

void faro_spd_whiten(faro_spd *spd, double *w) {
  if (spd->d <= FARO_SMALL_FACTOR) faro_small_invert(spd->d, spd->l, w);
  else faro_large_invert(spd->d, spd->l, w, spd->full);
}

void faro_spd_extremes(faro_spd *spd, const double *a, double *least, double *greatest) {
  if (spd->d <= FARO_SMALL_EIGEN) faro_small_extremes(spd->d, a, spd->full, least, greatest);
  else faro_large_extremes(spd->d, a, spd->full, spd->work, least, greatest);
}
