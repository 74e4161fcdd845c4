/* spd: factor, update, solve, invert; packed lower triangles throughout.
 *
 *   a   packed A       l   packed L, A = L L'       w   packed W = L^-1       d   dimension */
#include <math.h>
#include <string.h>

#include "base/abort.h"
#include "base/arena.h"
#include "linalg/dense.h"
#include "linalg/kernels.h"

struct faro_spd {
  faro_arena arena;
  size_t d, room; /* in use; allocated */
  double *l;      /* packed factor */
  double *full;   /* scratch: d x d, and what faro_whiten_by needs */
  double *work;   /* 3 d + 1 scratch */
};

static size_t scratch_of(size_t d) {
  const size_t small = faro_factor_scratch(d < FARO_SMALL_FACTOR ? d : FARO_SMALL_FACTOR);
  return d * d > small ? d * d : small;
}

faro_status faro_spd_create(faro_spd **spd, size_t d, faro_error *error) {
  if (d < 1 || d > FARO_DIMENSION_MAX)
    return faro_fail(error, FARO_INVALID, "dimension must be 1 .. %d (got %zu)", FARO_DIMENSION_MAX, d);
  faro_arena arena = {0};
  faro_spd *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  double *l = faro_arena_alloc(&arena, faro_packed(d), sizeof *l, error);
  double *full = faro_arena_alloc(&arena, scratch_of(d), sizeof *full, error);
  double *work = faro_arena_alloc(&arena, 3 * d + 1, sizeof *work, error);
  if (!made || !l || !full || !work) {
    faro_arena_free(&arena);
    return FARO_MEMORY;
  }
  *made = (faro_spd){.arena = arena, .d = d, .room = d, .l = l, .full = full, .work = work};
  *spd = made;
  return FARO_OK;
}

void faro_spd_destroy(faro_spd *spd) {
  if (!spd) return;
  faro_arena arena = spd->arena;
  faro_arena_free(&arena);
}

void faro_spd_resize(faro_spd *spd, size_t d) {
  FARO_INVARIANT(d >= 1 && d <= spd->room);
  spd->d = d;
}

static void unpack(size_t d, const double *packed, double *full) {
  for (size_t i = 0; i < d; i++) memcpy(full + i * d, packed + faro_packed(i), (i + 1) * sizeof *full);
}

static void pack(size_t d, const double *full, double *packed) {
  for (size_t i = 0; i < d; i++) memcpy(packed + faro_packed(i), full + i * d, (i + 1) * sizeof *full);
}

static bool factor_full(size_t d, const double *a, double *full) {
  for (size_t i = 0; i < faro_packed(d); i++)
    if (!isfinite(a[i])) return false;
  unpack(d, a, full);
  return faro_dense_factor(d, full);
}

bool faro_large_factor(size_t d, const double *a, double *l, double *full) {
  if (!factor_full(d, a, full)) return false;
  pack(d, full, l);
  return true;
}

bool faro_spd_factor(faro_spd *spd, const double *a) {
  if (spd->d <= FARO_PLAIN_FACTOR) return faro_plain_factor(spd->d, a, spd->l);
  return spd->d <= FARO_SMALL_FACTOR ? faro_factor_by(faro_lanes_here(), spd->d, a, spd->l, spd->full)
                                     : faro_large_factor(spd->d, a, spd->l, spd->full);
}

/* L L' + x x' = M M' by one Givens rotation per column (Golub & Van Loan 2013, section 6.5.4). */
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

bool faro_large_whiten(size_t d, const double *a, double *w, double *full) {
  if (!factor_full(d, a, full)) return false;
  faro_dense_invert(d, full);
  pack(d, full, w);
  return true;
}

bool faro_spd_whiten(faro_spd *spd, const double *a, double *w) {
  if (spd->d <= FARO_PLAIN_FACTOR) return faro_plain_whiten(spd->d, a, w, spd->l, spd->work);
  return spd->d <= FARO_SMALL_FACTOR ? faro_whiten_by(faro_lanes_here(), spd->d, a, w, spd->full)
                                     : faro_large_whiten(spd->d, a, w, spd->full);
}

double faro_spd_grow(faro_spd *spd, double s, const double *x, double *w, double *gain) {
  return faro_update_by(faro_lanes_here(), spd->d, s, x, w, gain, spd->work);
}

void faro_spd_extremes(faro_spd *spd, const double *a, double *least, double *greatest) {
  unpack(spd->d, a, spd->full);
  double *value = spd->work;
  faro_dense_eigenvalues(spd->d, spd->full, value, value + spd->d);
  *least = value[0];
  *greatest = value[spd->d - 1];
}
