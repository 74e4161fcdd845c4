/* dense_blas: OpenBLAS and LAPACKE. LAPACK is column major: our rows of the lower triangle are its
 * columns of the upper one. */
#include <cblas.h>
#include <lapacke.h>
#include <stdio.h>
#include <string.h>

#include "linalg/dense.h"

size_t faro_dense_eigen_work(size_t d) { return 1 + 6 * d + 2 * d * d; }
size_t faro_dense_eigen_whole(size_t d) { return 3 + 5 * d; }

/* From "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...". */
void faro_dense_name(char *out, size_t size) {
  char version[24] = "unknown";
  (void)sscanf(openblas_get_config(), "OpenBLAS %23s", version);
  snprintf(out, size, "%s/%.24s", version, openblas_get_corename());
}

int faro_dense_threads(int count) {
  const int before = openblas_get_num_threads();
  if (count != before) openblas_set_num_threads(count);
  return before;
}

/* What OpenBLAS calls before a fork: its threads end, and come back when they are needed. Builds of
 * it without threads lack the function. */
extern int blas_thread_shutdown_(void) __attribute__((weak));

void faro_dense_rest(void) {
  (void)faro_dense_threads(1);
  if (blas_thread_shutdown_) (void)blas_thread_shutdown_();
}

bool faro_dense_factor(size_t d, double *a) {
  return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)d, a, (lapack_int)d) == 0;
}

void faro_dense_invert(size_t d, double *l) {
  (void)LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'U', 'N', (lapack_int)d, l, (lapack_int)d);
}

void faro_dense_eigen(size_t d, double *a, double *value, double *work, int *whole) {
  const lapack_int n = (lapack_int)d;
  (void)LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'U', n, a, n, value, work,
                            (lapack_int)faro_dense_eigen_work(d), whole,
                            (lapack_int)faro_dense_eigen_whole(d));
}

void faro_dense_eigenvalues(size_t d, double *a, double *value, double *work) {
  const lapack_int n = (lapack_int)d;
  lapack_int unused = 0;
  (void)LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'N', 'U', n, a, n, value, work, 2 * n + 1, &unused, 1);
}

void faro_dense_subtract(size_t rows, size_t columns, size_t rank, const double *q, const double *b,
                         double *x) {
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)rows, (int)columns, (int)rank, -1, q, (int)rows,
              b, (int)columns, 1, x, (int)columns);
}

void faro_dense_solve_upper(size_t rank, size_t columns, const double *r, size_t stride, double *z) {
  cblas_dtrsm(CblasRowMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, (int)rank, (int)columns, 1, r,
              (int)stride, z, (int)columns);
}

void faro_dense_project(size_t d, const double *q, double *direction) {
  cblas_daxpy((int)d, -cblas_ddot((int)d, q, 1, direction, 1), q, 1, direction, 1);
}

void faro_dense_normalise(size_t d, double *direction) {
  cblas_dscal((int)d, 1 / cblas_dnrm2((int)d, direction, 1), direction, 1);
}

/* With A = Q R, the last column of Q is orthogonal to every column of A. */
void faro_dense_vanish(size_t columns, double *a, double *work, double *nu) {
  const lapack_int r = (lapack_int)columns;
  const lapack_int n = r + 1;
  double *tau = work;
  work += columns;
  memset(nu, 0, columns * sizeof *nu);
  nu[columns] = 1;
  (void)LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, n, r, a, n, tau, work, r);
  (void)LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', 'N', n, 1, r, a, n, tau, nu, n, work, r);
}
