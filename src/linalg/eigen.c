/* eigen: the extreme eigenvalues of a symmetric matrix. Cyclic Jacobi for small d, LAPACK beyond. */
#include <lapacke.h>
#include <math.h>

#include "linalg/kernels.h"

/* One rotation that makes entry (p,q) of the full symmetric matrix zero (Golub and Van Loan 8.5). */
static void rotate(size_t d, double *a, size_t p, size_t q) {
  const double apq = a[p * d + q];
  if (apq == 0) return;
  const double tau = (a[q * d + q] - a[p * d + p]) / (2 * apq);
  const double t = (tau >= 0 ? 1 : -1) / (fabs(tau) + sqrt(1 + tau * tau));
  const double c = 1 / sqrt(1 + t * t);
  const double s = t * c;
  for (size_t k = 0; k < d; k++) {
    const double x = a[k * d + p];
    const double y = a[k * d + q];
    a[k * d + p] = c * x - s * y;
    a[k * d + q] = s * x + c * y;
  }
  for (size_t k = 0; k < d; k++) {
    const double x = a[p * d + k];
    const double y = a[q * d + k];
    a[p * d + k] = c * x - s * y;
    a[q * d + k] = s * x + c * y;
  }
}

static double off_diagonal(size_t d, const double *a) {
  double sum = 0;
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < i; j++) sum += a[i * d + j] * a[i * d + j];
  return sum;
}

void faro_small_extremes(size_t d, const double *a, double *full, double *least, double *greatest) {
  double scale = 0;
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++) {
      full[i * d + j] = full[j * d + i] = a[faro_packed(i) + j];
      scale += full[i * d + j] * full[i * d + j];
    }
  /* Converges quadratically: a dozen sweeps are far more than d <= 16 needs. */
  for (int sweep = 0; sweep < 40 && off_diagonal(d, full) > 1e-30 * scale; sweep++)
    for (size_t p = 0; p < d; p++)
      for (size_t q = p + 1; q < d; q++) rotate(d, full, p, q);
  *least = *greatest = full[0];
  for (size_t i = 1; i < d; i++) {
    *least = fmin(*least, full[i * d + i]);
    *greatest = fmax(*greatest, full[i * d + i]);
  }
}

void faro_large_extremes(size_t d, const double *a, double *full, double *work, double *least,
                         double *greatest) {
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++) full[i * d + j] = a[faro_packed(i) + j];
  double *value = work;
  const lapack_int n = (lapack_int)d;
  lapack_int unused = 0;
  (void)LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'N', 'U', n, full, n, value, work + d, 2 * n + 1, &unused, 1);
  *least = value[0];
  *greatest = value[d - 1];
}
