/* dense_plain: plain loops, for a library that needs libc alone. Inner loops run along rows, so
 * that the compiler can use vectors. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "linalg/dense.h"
#include "linalg/kernels.h"

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

void faro_dense_rest(void) {}

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

void faro_dense_eigen(size_t d, double *a, double *value, double *work, int *whole) {
  (void)whole;
  faro_tridiagonal_eigen(faro_lanes_here(), d, a, value, work);
}

void faro_dense_eigenvalues(size_t d, double *a, double *value, double *work) {
  faro_tridiagonal_values(d, a, value, work);
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
