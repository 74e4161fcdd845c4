/* eigen: all eigenvalues and eigenvectors of a packed symmetric matrix.
 *
 * Small matrices by Jacobi's rotations in cyclic order: the entries beside the diagonal shrink
 * quadratically from sweep to sweep, and the vectors come out orthogonal to rounding. Large ones by
 * dense.h. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "linalg/dense.h"
#include "linalg/kernels.h"

enum { SWEEPS = 60 };

struct faro_eigen {
  faro_arena arena;
  size_t d;
  double *full, *work;
  int *whole;
};

faro_status faro_eigen_create(faro_eigen **eigen, size_t d, faro_error *error) {
  faro_arena arena = {0};
  faro_eigen *e = faro_arena_alloc(&arena, 1, sizeof *e, error);
  if (!e) return FARO_MEMORY;
  *e = (faro_eigen){.arena = arena, .d = d};
  e->full = faro_arena_alloc(&e->arena, d * d, sizeof *e->full, error);
  e->work = faro_arena_alloc(&e->arena, faro_dense_eigen_work(d), sizeof *e->work, error);
  e->whole = faro_arena_alloc(&e->arena, faro_dense_eigen_whole(d), sizeof *e->whole, error);
  if (!e->full || !e->work || !e->whole) {
    faro_eigen_destroy(e);
    return FARO_MEMORY;
  }
  *eigen = e;
  return FARO_OK;
}

void faro_eigen_destroy(faro_eigen *eigen) {
  if (!eigen) return;
  faro_arena arena = eigen->arena;
  faro_arena_free(&arena);
}

/* Rotates rows and columns p < q of the full matrix a so that a_pq becomes zero; rows of v
 * follow. */
static void rotate(size_t d, double *a, double *v, size_t p, size_t q) {
  const double theta = (a[q * d + q] - a[p * d + p]) / (2 * a[p * d + q]);
  const double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
  const double c = 1 / sqrt(t * t + 1);
  const double s = t * c;
  for (size_t k = 0; k < d; k++) {
    const double kp = a[k * d + p];
    const double kq = a[k * d + q];
    a[k * d + p] = c * kp - s * kq;
    a[k * d + q] = s * kp + c * kq;
  }
  for (size_t k = 0; k < d; k++) {
    const double pk = a[p * d + k];
    const double qk = a[q * d + k];
    a[p * d + k] = c * pk - s * qk;
    a[q * d + k] = s * pk + c * qk;
    const double vp = v[p * d + k];
    const double vq = v[q * d + k];
    v[p * d + k] = c * vp - s * vq;
    v[q * d + k] = s * vp + c * vq;
  }
}

/* Below rounding beside the two diagonal entries. */
static bool is_negligible(double entry, double one, double other) {
  return fabs(entry) <= 1e-17 * (fabs(one) + fabs(other)) || fabs(entry) < 1e-290;
}

void faro_small_eigen(size_t d, double *a, double *value, double *vector) {
  memset(vector, 0, d * d * sizeof *vector);
  for (size_t i = 0; i < d; i++) vector[i * d + i] = 1;
  bool done = false;
  for (int sweep = 0; !done && sweep < SWEEPS; sweep++) {
    done = true;
    for (size_t p = 0; p + 1 < d; p++)
      for (size_t q = p + 1; q < d; q++) {
        if (is_negligible(a[p * d + q], a[p * d + p], a[q * d + q])) continue;
        rotate(d, a, vector, p, q);
        done = false;
      }
  }
  for (size_t i = 0; i < d; i++) value[i] = a[i * d + i];
}

/* Descending, by insertion: the rows move with their values. */
static void sort(size_t d, double *value, double *vector) {
  for (size_t i = 1; i < d; i++)
    for (size_t j = i; j > 0 && value[j] > value[j - 1]; j--) {
      const double swap = value[j];
      value[j] = value[j - 1];
      value[j - 1] = swap;
      for (size_t k = 0; k < d; k++) {
        const double other = vector[j * d + k];
        vector[j * d + k] = vector[(j - 1) * d + k];
        vector[(j - 1) * d + k] = other;
      }
    }
}

/* Values come ascending, and are turned round with their vectors. */
static void large(faro_eigen *e, double *value, double *vector) {
  const size_t d = e->d;
  faro_dense_eigen(d, e->full, value, e->work, e->whole);
  for (size_t i = 0; i < d; i++) memcpy(vector + i * d, e->full + (d - 1 - i) * d, d * sizeof *vector);
  for (size_t i = 0; i < d / 2; i++) {
    const double swap = value[i];
    value[i] = value[d - 1 - i];
    value[d - 1 - i] = swap;
  }
}

void faro_eigen_find(faro_eigen *eigen, const double *a, double *value, double *vector) {
  const size_t d = eigen->d;
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++) eigen->full[i * d + j] = eigen->full[j * d + i] = a[faro_packed(i) + j];
  if (d > FARO_SMALL_EIGEN) {
    large(eigen, value, vector);
    return;
  }
  faro_small_eigen(d, eigen->full, value, vector);
  sort(d, value, vector);
}
