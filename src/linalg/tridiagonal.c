/* tridiagonal: eigenvalues and eigenvectors of a symmetric matrix. Householder reflections make it
 * tridiagonal, and the QR method with implicit shifts makes that diagonal (Golub & Van Loan 2013,
 * sections 8.3.1 and 8.3.3). Inner loops run along rows, for vectors of any width. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/kernels.h"

/* y += a x */
static inline FARO_BODY void add(size_t n, double a, const double *restrict x, double *restrict y) {
  for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}

/* hypot, which is slow, where squares leave the range of doubles. */
static inline FARO_BODY double length(double x, double y) {
  const double square = x * x + y * y;
  return square > 1e-280 && square < 1e280 ? sqrt(square) : hypot(x, y);
}

/* The reflection I - u u' / h that makes row i zero left of its last but one entry. Row i keeps u;
 * the rest of A becomes its image. Returns h; 0: there is nothing to reflect. */
static inline FARO_BODY double reflect_row(size_t d, double *a, size_t i, double *p) {
  double *u = a + i * d;
  double scale = 0;
  for (size_t k = 0; k + 1 < i; k++) scale = fmax(scale, fabs(u[k]));
  p[i] = u[i - 1];
  if (scale == 0) return 0;
  scale = fmax(scale, fabs(u[i - 1]));
  for (size_t k = 0; k < i; k++) u[k] /= scale;
  const double square = faro_dot_in_parts(i, u, u);
  const double g = -copysign(sqrt(square), u[i - 1]);
  const double h = square - u[i - 1] * g;
  u[i - 1] -= g;
  memset(p, 0, i * sizeof *p); /* p = A u / h, by the lower triangle alone */
  for (size_t j = 0; j < i; j++) {
    p[j] += faro_dot_in_parts(j + 1, a + j * d, u);
    add(j, u[j], a + j * d, p);
  }
  for (size_t j = 0; j < i; j++) p[j] /= h;
  add(i, -faro_dot_in_parts(i, u, p) / (2 * h), u,
      p); /* p becomes q = p - (u'p / 2h) u, and A -= u q' + q u' */
  for (size_t j = 0; j < i; j++) {
    add(j + 1, -u[j], p, a + j * d);
    add(j + 1, -p[j], u, a + j * d);
  }
  p[i] = scale * g;
  return h;
}

/* A becomes tridiagonal: the diagonal in `diagonal`, what is beside it in beside[1 .. d). Row i of
 * A keeps its reflection, and diagonal[i] its h until the vectors are made. */
static inline FARO_BODY void make_tridiagonal(size_t d, double *a, double *diagonal, double *beside) {
  for (size_t i = d - 1; i > 0; i--) diagonal[i] = reflect_row(d, a, i, beside);
  diagonal[0] = 0;
  beside[0] = 0;
}

/* Rows of A become the rows of the orthogonal Q with Q A Q' tridiagonal; `diagonal` its diagonal.
 * The part that is done is the leading block, which has the reflections below i. */
static inline FARO_BODY void gather_vectors(size_t d, double *a, double *diagonal) {
  for (size_t i = 0; i < d; i++) {
    double *u = a + i * d;
    const double h = diagonal[i];
    diagonal[i] = u[i];
    for (size_t j = 0; h > 0 && j < i; j++) add(i, -faro_dot_in_parts(i, a + j * d, u) / h, u, a + j * d);
    memset(u, 0, i * sizeof *u);
    for (size_t j = 0; j < i; j++) a[j * d + i] = 0;
    u[i] = 1;
  }
}

/* Rotates rows i and i + 1. */
static inline FARO_BODY void rotate_rows(size_t d, double *vector, size_t i, double c, double s) {
  double *restrict low = vector + i * d;
  double *restrict high = low + d;
  for (size_t k = 0; k < d; k++) {
    const double f = high[k];
    high[k] = s * low[k] + c * f;
    low[k] = c * low[k] - s * f;
  }
}

/* One QR step with an implicit shift on the block from `from` to `to`. vector: NULL, values
 * only. */
static inline FARO_BODY void step(size_t d, size_t from, size_t to, double *value, double *beside,
                                  double *vector) {
  double g = (value[from + 1] - value[from]) / (2 * beside[from + 1]);
  g = value[to] - value[from] + beside[from + 1] / (g + copysign(length(g, 1), g));
  double s = 1;
  double c = 1;
  double p = 0;
  for (size_t i = to; i-- > from;) {
    const double f = s * beside[i + 1];
    const double b = c * beside[i + 1];
    const double r = length(f, g);
    if (i + 2 <= to) beside[i + 2] = r;
    if (r == 0) { /* it fell apart on the way */
      value[i + 1] -= p;
      return;
    }
    s = f / r;
    c = g / r;
    g = value[i + 1] - p;
    const double t = (value[i] - g) * s + 2 * c * b;
    p = s * t;
    value[i + 1] = g + p;
    g = c * t - b;
    if (vector) rotate_rows(d, vector, i, c, s);
  }
  value[from] -= p;
  beside[from + 1] = g;
}

/* The last index of the block of the tridiagonal matrix that begins at `from`. */
static inline FARO_BODY size_t block_end(size_t d, size_t from, const double *value, const double *beside) {
  size_t to = from;
  while (to + 1 < d && fabs(beside[to + 1]) > DBL_EPSILON * (fabs(value[to]) + fabs(value[to + 1]))) to++;
  return to;
}

static inline FARO_BODY void sort_ascending(size_t d, double *value, double *vector) {
  for (size_t i = 0; i + 1 < d; i++) {
    size_t least = i;
    for (size_t j = i + 1; j < d; j++) least = value[j] < value[least] ? j : least;
    const double swap = value[i];
    value[i] = value[least];
    value[least] = swap;
    for (size_t k = 0; vector && least != i && k < d; k++) {
      const double other = vector[i * d + k];
      vector[i * d + k] = vector[least * d + k];
      vector[least * d + k] = other;
    }
  }
}

static inline FARO_BODY void diagonalise(size_t d, double *value, double *beside, double *vector) {
  enum { STEPS = 100 }; /* two or three are usual */
  for (size_t from = 0; from < d; from++)
    for (int i = 0; i < STEPS; i++) {
      const size_t to = block_end(d, from, value, beside);
      if (to == from) break;
      step(d, from, to, value, beside, vector);
    }
  sort_ascending(d, value, vector);
}

static inline FARO_BODY void body(size_t d, double *a, double *value, double *work) {
  make_tridiagonal(d, a, value, work);
  gather_vectors(d, a, value);
  diagonalise(d, value, work, a);
}

FARO_AVX2 static void avx2_body(size_t d, double *a, double *value, double *work) { body(d, a, value, work); }

FARO_AVX512 static void avx512_body(size_t d, double *a, double *value, double *work) {
  body(d, a, value, work);
}

/* Short rows gain nothing from wide vectors. */
void faro_tridiagonal_eigen(faro_lanes lanes, size_t d, double *a, double *value, double *work) {
  enum { SHORT = 24 };
  switch (d <= SHORT ? FARO_LANES_PORTABLE : lanes) {
  case FARO_LANES_AVX512: avx512_body(d, a, value, work); break;
  case FARO_LANES_AVX2: avx2_body(d, a, value, work); break;
  default: body(d, a, value, work); break;
  }
}

void faro_tridiagonal_values(size_t d, double *a, double *value, double *work) {
  make_tridiagonal(d, a, value, work);
  for (size_t i = 0; i < d; i++) value[i] = a[i * d + i];
  diagonalise(d, value, work, NULL);
}
