/* dense_plain: plain loops, for a library that needs libc alone. Inner loops run along rows, so
 * that the compiler can use vectors.
 *
 * Eigenvalues: Householder reflections make the matrix tridiagonal, and the QR method with implicit
 * shifts makes that diagonal (Golub & Van Loan 2013, sections 8.3.1 and 8.3.3). */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "linalg/dense.h"

size_t faro_dense_eigen_work(size_t d) { return 2 * d + 1; }
size_t faro_dense_eigen_whole(size_t d) {
  (void)d;
  return 1;
}

void faro_dense_name(char *out, size_t size) { snprintf(out, size, "none"); }

/* One thread, always. */
int faro_dense_threads(int count) {
  (void)count;
  return 1;
}

static double dot(size_t n, const double *restrict x, const double *restrict y) {
  double sum[4] = {0};
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (size_t k = 0; k < 4; k++) sum[k] += x[i + k] * y[i + k];
  for (; i < n; i++) sum[0] += x[i] * y[i];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* y += a x */
static void add(size_t n, double a, const double *restrict x, double *restrict y) {
  for (size_t i = 0; i < n; i++) y[i] += a * x[i];
}

bool faro_dense_factor(size_t d, double *a) {
  for (size_t i = 0; i < d; i++) {
    double *row = a + i * d;
    for (size_t j = 0; j < i; j++) row[j] = (row[j] - dot(j, row, a + j * d)) / a[j * d + j];
    const double pivot = row[i] - dot(i, row, row);
    if (!(pivot > 0 && pivot < INFINITY)) return false;
    row[i] = sqrt(pivot);
  }
  return true;
}

/* Row i of L^-1 is (e_i - sum_{k<i} l_ik row k of L^-1) / l_ii. */
void faro_dense_invert(size_t d, double *l) {
  for (size_t i = 0; i < d; i++) {
    double *row = l + i * d;
    const double scale = 1 / row[i];
    for (size_t k = 0; k < i; k++) {
      const double factor = row[k];
      row[k] = 0;
      add(k + 1, factor, l + k * d, row);
    }
    for (size_t k = 0; k < i; k++) row[k] *= -scale;
    row[i] = scale;
  }
}

/* ---- eigenvalues */

/* The reflection I - u u' / h that makes row i zero left of its last but one entry. Row i keeps u;
 * the rest of A becomes its image. Returns h; 0: there is nothing to reflect. */
static double reflect_row(size_t d, double *a, size_t i, double *p) {
  double *u = a + i * d;
  double scale = 0;
  for (size_t k = 0; k + 1 < i; k++) scale = fmax(scale, fabs(u[k]));
  p[i] = u[i - 1];
  if (scale == 0) return 0;
  scale = fmax(scale, fabs(u[i - 1]));
  for (size_t k = 0; k < i; k++) u[k] /= scale;
  const double square = dot(i, u, u);
  const double g = -copysign(sqrt(square), u[i - 1]);
  const double h = square - u[i - 1] * g;
  u[i - 1] -= g;
  memset(p, 0, i * sizeof *p); /* p = A u / h, by the lower triangle alone */
  for (size_t j = 0; j < i; j++) {
    p[j] += dot(j + 1, a + j * d, u);
    add(j, u[j], a + j * d, p);
  }
  for (size_t j = 0; j < i; j++) p[j] /= h;
  add(i, -dot(i, u, p) / (2 * h), u, p); /* p becomes q = p - (u'p / 2h) u, and A -= u q' + q u' */
  for (size_t j = 0; j < i; j++) {
    add(j + 1, -u[j], p, a + j * d);
    add(j + 1, -p[j], u, a + j * d);
  }
  p[i] = scale * g;
  return h;
}

/* A becomes tridiagonal: the diagonal in `diagonal`, what is beside it in beside[1 .. d). Row i of
 * A keeps its reflection, and diagonal[i] its h until the vectors are made. */
static void make_tridiagonal(size_t d, double *a, double *diagonal, double *beside) {
  for (size_t i = d - 1; i > 0; i--) diagonal[i] = reflect_row(d, a, i, beside);
  diagonal[0] = 0;
  beside[0] = 0;
}

/* Rows of A become the rows of the orthogonal Q with Q A Q' tridiagonal; `diagonal` its diagonal.
 * The part that is done is the leading block, which has the reflections below i. */
static void gather_vectors(size_t d, double *a, double *diagonal) {
  for (size_t i = 0; i < d; i++) {
    double *u = a + i * d;
    const double h = diagonal[i];
    diagonal[i] = u[i];
    for (size_t j = 0; h > 0 && j < i; j++) add(i, -dot(i, a + j * d, u) / h, u, a + j * d);
    memset(u, 0, i * sizeof *u);
    for (size_t j = 0; j < i; j++) a[j * d + i] = 0;
    u[i] = 1;
  }
}

/* Rotates rows i and i + 1. */
static void rotate_rows(size_t d, double *vector, size_t i, double c, double s) {
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
static void step(size_t d, size_t from, size_t to, double *value, double *beside, double *vector) {
  double g = (value[from + 1] - value[from]) / (2 * beside[from + 1]);
  g = value[to] - value[from] + beside[from + 1] / (g + copysign(hypot(g, 1), g));
  double s = 1;
  double c = 1;
  double p = 0;
  for (size_t i = to; i-- > from;) {
    const double f = s * beside[i + 1];
    const double b = c * beside[i + 1];
    const double r = hypot(f, g);
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
static size_t block_end(size_t d, size_t from, const double *value, const double *beside) {
  size_t to = from;
  while (to + 1 < d && fabs(beside[to + 1]) > DBL_EPSILON * (fabs(value[to]) + fabs(value[to + 1]))) to++;
  return to;
}

static void sort_ascending(size_t d, double *value, double *vector) {
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

static void diagonalise(size_t d, double *value, double *beside, double *vector) {
  enum { STEPS = 100 }; /* two or three are usual */
  for (size_t from = 0; from < d; from++)
    for (int i = 0; i < STEPS; i++) {
      const size_t to = block_end(d, from, value, beside);
      if (to == from) break;
      step(d, from, to, value, beside, vector);
    }
  sort_ascending(d, value, vector);
}

void faro_dense_eigen(size_t d, double *a, double *value, double *work, int *whole) {
  (void)whole;
  make_tridiagonal(d, a, value, work);
  gather_vectors(d, a, value);
  diagonalise(d, value, work, a);
}

void faro_dense_eigenvalues(size_t d, double *a, double *value, double *work) {
  make_tridiagonal(d, a, value, work);
  for (size_t i = 0; i < d; i++) value[i] = a[i * d + i];
  diagonalise(d, value, work, NULL);
}

/* ---- spans and designs */

void faro_dense_subtract(size_t rows, size_t columns, size_t rank, const double *q, const double *b,
                         double *x) {
  for (size_t i = 0; i < rows; i++)
    for (size_t k = 0; k < rank; k++) add(columns, -q[k * rows + i], b + k * columns, x + i * columns);
}

void faro_dense_solve_upper(size_t rank, size_t columns, const double *r, size_t stride, double *z) {
  for (size_t i = rank; i-- > 0;) {
    double *row = z + i * columns;
    for (size_t k = i + 1; k < rank; k++) add(columns, -r[i * stride + k], z + k * columns, row);
    for (size_t c = 0; c < columns; c++) row[c] /= r[i * stride + i];
  }
}

void faro_dense_project(size_t d, const double *q, double *direction) {
  add(d, -dot(d, q, direction), q, direction);
}

void faro_dense_normalise(size_t d, double *direction) {
  double most = 0;
  for (size_t i = 0; i < d; i++) most = fmax(most, fabs(direction[i]));
  for (size_t i = 0; i < d; i++) direction[i] /= most;
  const double length = sqrt(dot(d, direction, direction));
  for (size_t i = 0; i < d; i++) direction[i] /= length;
}

/* x -= (u'x) u tau, for u = (1, rest) */
static void reflect(size_t n, const double *rest, double tau, double *x) {
  const double along = tau * (x[0] + dot(n - 1, rest, x + 1));
  x[0] -= along;
  add(n - 1, -along, rest, x + 1);
}

/* With A = Q R by Householder reflections, the last column of Q is orthogonal to every column of A.
 * Column k keeps its reflection, whose first entry is 1, below the diagonal. */
void faro_dense_vanish(size_t columns, double *a, double *work, double *nu) {
  const size_t rows = columns + 1;
  double *tau = work;
  for (size_t k = 0; k < columns; k++) {
    double *x = a + k * rows + k;
    const size_t n = rows - k;
    const double square = dot(n - 1, x + 1, x + 1);
    const double length = -copysign(sqrt(x[0] * x[0] + square), x[0]);
    tau[k] = square > 0 ? (length - x[0]) / length : 0;
    for (size_t i = 1; i < n && square > 0; i++) x[i] /= x[0] - length;
    for (size_t j = k + 1; j < columns; j++) reflect(n, x + 1, tau[k], a + j * rows + k);
  }
  memset(nu, 0, columns * sizeof *nu);
  nu[columns] = 1;
  for (size_t k = columns; k-- > 0;) reflect(rows - k, a + k * rows + k + 1, tau[k], nu + k);
}
