/* eigen: all eigenvalues and eigenvectors of a packed symmetric matrix: of small ones by
 * tridiagonal.c, of large ones by dense.h. */
#include <string.h>

#include "base/arena.h"
#include "linalg/dense.h"
#include "linalg/kernels.h"

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

void faro_eigen_find(faro_eigen *eigen, const double *a, double *value, double *vector) {
  const size_t d = eigen->d;
  for (size_t i = 0; i < d; i++) memcpy(eigen->full + i * d, a + faro_packed(i), (i + 1) * sizeof *a);
  if (d <= FARO_SMALL_EIGEN) faro_tridiagonal_eigen(faro_lanes_here(), d, eigen->full, value, eigen->work);
  else faro_dense_eigen(d, eigen->full, value, eigen->work, eigen->whole);
  for (size_t i = 0; i < d; i++) memcpy(vector + i * d, eigen->full + (d - 1 - i) * d, d * sizeof *vector);
  for (size_t i = 0; i < d / 2; i++) { /* they ascend */
    const double swap = value[i];
    value[i] = value[d - 1 - i];
    value[d - 1 - i] = swap;
  }
}
