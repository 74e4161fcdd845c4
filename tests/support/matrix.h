/* matrix: plain dense linear algebra, for second implementations that are slow and obvious.
 * Matrices are row-major, d x d with d <= MATRIX_MAX. */
#ifndef FARO_TESTS_MATRIX_H
#define FARO_TESTS_MATRIX_H

#include <stddef.h>

enum { MATRIX_MAX = 16 };

/* The full matrix of a packed lower triangle. */
void matrix_unpack(size_t d, const double *packed, double *full);
/* w' w of a packed lower triangle w. */
void matrix_square(size_t d, const double *packed, double *full);
/* Gauss-Jordan elimination with pivots. */
void matrix_invert(size_t d, const double *a, double *inverse);
/* Eigenvalues, descending, and eigenvectors of a symmetric matrix; row i of `vector` belongs to
 * value i. Jacobi's own method: always the largest entry beside the diagonal. */
void matrix_eigen(size_t d, const double *a, double *value, double *vector);
/* Q' diag(value) Q, with eigenvectors in the rows of Q. */
void matrix_compose(size_t d, const double *value, const double *vector, double *a);

#endif
