/* factor: L of packed A = L L', or W = L^-1, by Gaussian elimination on A, or on [A | I].
 *
 *   u   what is left of A, its upper triangle alone. Row k, once it is final, is sqrt(D_k) times
 *       column k of L, where D_k, the pivot, is its first entry
 *   v   what becomes of I: row k is sqrt(D_k) times row k of W
 *   f   factors of the rows of a block: row r of it is -u_r / D_r
 *
 * Rows are padded to whole vectors of 8; what the padding holds is never used. BLOCK rows are
 * eliminated from one another, then together from every row below, which is so read and written
 * once for all of them. Each entry takes them in their order, so no width of vectors changes it. */
#include <math.h>
#include <string.h>

#include "linalg/kernels.h"

enum { BLOCK = 4, VECTOR = 8 };

typedef struct elimination {
  size_t d, stride;          /* stride: d, in whole vectors */
  double *u, *v, *f, *pivot; /* v: NULL for L */
} elimination;

bool faro_plain_factor(size_t d, const double *a, double *l) {
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

/* Gaussian elimination on [A | I], one column k of A after another. With L D L' = A it leaves the
 * pivots D on the diagonal of `rest`, and (L D^(1/2))^-1 = D^(-1/2) L^-1 builds up in w. No square
 * root or division delays the next column, which makes it fast for small d. */
static inline FARO_BODY bool whiten(size_t d, const double *restrict a, double *restrict w,
                                    double *restrict rest, double *restrict column) {
  memcpy(rest, a, faro_packed(d) * sizeof *rest);
  FARO_UNROLLED_IF_KNOWN (k, 0, d) {
    const double pivot = rest[faro_diagonal(k)];
    if (!(pivot > 0 && pivot < INFINITY)) return false;
    const double *done = w + faro_packed(k);
    for (size_t i = k + 1; i < d; i++) column[i] = rest[faro_packed(i) + k];
    for (size_t i = k + 1; i < d; i++) {
      const double factor = -column[i] / pivot;
      double *row = rest + faro_packed(i);
      double *out = w + faro_packed(i);
      for (size_t j = k + 1; j <= i; j++) row[j] += factor * column[j];
      for (size_t j = 0; j < k; j++) out[j] += factor * done[j];
      out[k] = factor;
    }
  }
  for (size_t i = 0; i < d; i++) {
    const double scale = 1 / sqrt(rest[faro_diagonal(i)]);
    double *row = w + faro_packed(i);
    for (size_t j = 0; j < i; j++) row[j] *= scale;
    row[i] = scale;
  }
  return true;
}

/* Where the compiler knows the dimension, no loop is left. */
bool faro_plain_whiten(size_t d, const double *a, double *w, double *rest, double *column) {
  switch (d) {
  case 2: return whiten(2, a, w, rest, column);
  case 3: return whiten(3, a, w, rest, column);
  case 4: return whiten(4, a, w, rest, column);
  case 5: return whiten(5, a, w, rest, column);
  case 6: return whiten(6, a, w, rest, column);
  case 7: return whiten(7, a, w, rest, column);
  case 8: return whiten(8, a, w, rest, column);
  default: return whiten(d, a, w, rest, column);
  }
}

/* x += factor y, in whole vectors. */
static inline FARO_BODY void add(size_t vectors, double factor, const double *restrict y,
                                 double *restrict x) {
  for (size_t j = 0; j < vectors * VECTOR; j++) x[j] += factor * y[j];
}

/* Rows k .. k + count become final, and f gets their factors for every row below. */
static inline FARO_BODY bool eliminate_block(const elimination *e, size_t k, size_t count) {
  const size_t wide = e->stride / VECTOR;
  for (size_t r = 0; r < count; r++) {
    const size_t b = k + r;
    const double *u = e->u + b * e->stride;
    double *restrict f = e->f + r * e->stride;
    const double pivot = u[b];
    if (!(pivot > 0 && pivot < INFINITY)) return false;
    e->pivot[b] = pivot;
    const double scale = -1 / pivot;
    const size_t from = b / VECTOR * VECTOR;
    for (size_t j = 0; j < e->stride - from; j++) f[from + j] = scale * u[from + j];
    for (size_t i = b + 1; i < k + count; i++) {
      const size_t at = i / VECTOR;
      add(wide - at, f[i], u + at * VECTOR, e->u + i * e->stride + at * VECTOR);
      if (e->v) add(b / VECTOR + 1, f[i], e->v + b * e->stride, e->v + i * e->stride);
    }
  }
  return true;
}

/* x += sum_r factor_r row_r, in whole vectors. */
static inline FARO_BODY void add_rows(size_t vectors, size_t stride, const double factor[static BLOCK],
                                      const double *restrict row, double *restrict x) {
  for (size_t j = 0; j < vectors * VECTOR; j++) {
    double sum = x[j];
    sum += factor[0] * row[j];
    sum += factor[1] * row[stride + j];
    sum += factor[2] * row[2 * stride + j];
    sum += factor[3] * row[3 * stride + j];
    x[j] = sum;
  }
}

/* All rows below those of the block. */
static inline FARO_BODY void eliminate_below(const elimination *e, size_t k) {
  const size_t stride = e->stride;
  for (size_t i = k + BLOCK; i < e->d; i++) {
    const size_t from = i / VECTOR * VECTOR;
    const double factor[] = {e->f[i], e->f[stride + i], e->f[2 * stride + i], e->f[3 * stride + i]};
    add_rows((stride - from) / VECTOR, stride, factor, e->u + k * stride + from, e->u + i * stride + from);
    if (e->v) add_rows(k / VECTOR + 1, stride, factor, e->v + k * stride, e->v + i * stride);
  }
}

/* Writes L, or W. */
static inline FARO_BODY bool body(size_t d, bool inverse, const double *restrict a, double *restrict to,
                                  double *restrict scratch) {
  const size_t stride = (d + VECTOR - 1) / VECTOR * VECTOR;
  const elimination e = {.d = d,
                         .stride = stride,
                         .f = scratch,
                         .pivot = scratch + BLOCK * stride,
                         .u = scratch + (BLOCK + 1) * stride,
                         .v = inverse ? scratch + (BLOCK + 1 + d) * stride : NULL};
  if (inverse) memset(e.v, 0, d * stride * sizeof *e.v);
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j <= i; j++) e.u[j * stride + i] = a[faro_packed(i) + j];
    if (inverse) e.v[i * stride + i] = 1;
  }
  for (size_t k = 0; k < d; k += BLOCK) {
    if (!eliminate_block(&e, k, d - k < BLOCK ? d - k : BLOCK)) return false;
    eliminate_below(&e, k);
  }
  for (size_t j = 0; j < stride; j++) e.pivot[j] = 1 / sqrt(e.pivot[j]);
  for (size_t i = 0; i < d; i++) {
    double *restrict row = to + faro_packed(i);
    if (inverse)
      for (size_t j = 0; j <= i; j++) row[j] = e.v[i * stride + j] * e.pivot[i];
    else
      for (size_t j = 0; j <= i; j++) row[j] = e.u[j * stride + i] * e.pivot[j];
  }
  return true;
}

FARO_AVX2 static bool avx2_body(size_t d, bool inverse, const double *a, double *to, double *scratch) {
  return body(d, inverse, a, to, scratch);
}

FARO_AVX512 static bool avx512_body(size_t d, bool inverse, const double *a, double *to, double *scratch) {
  return body(d, inverse, a, to, scratch);
}

static bool by(faro_lanes lanes, size_t d, bool inverse, const double *a, double *to, double *scratch) {
  switch (lanes) {
  case FARO_LANES_AVX512: return avx512_body(d, inverse, a, to, scratch);
  case FARO_LANES_AVX2: return avx2_body(d, inverse, a, to, scratch);
  default: return body(d, inverse, a, to, scratch);
  }
}

size_t faro_factor_scratch(size_t d) { return (2 * d + BLOCK + 1) * ((d + VECTOR - 1) / VECTOR * VECTOR); }

bool faro_factor_by(faro_lanes lanes, size_t d, const double *a, double *l, double *scratch) {
  return by(lanes, d, false, a, l, scratch);
}

bool faro_whiten_by(faro_lanes lanes, size_t d, const double *a, double *w, double *scratch) {
  return by(lanes, d, true, a, w, scratch);
}
