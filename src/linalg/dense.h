/* dense: what large matrices need beyond our own loops. It is OpenBLAS and LAPACKE (dense_blas.c),
 * or plain loops where there is no such library (dense_plain.c, FARO_BLAS=OFF): slower for large
 * dimensions, and the same up to rounding.
 *
 * A matrix is full and row major. A triangle is its lower one; what is above is not read. */
#ifndef FARO_LINALG_DENSE_H
#define FARO_LINALG_DENSE_H

#include <faro/base.h>

/* Numbers of scratch that faro_dense_eigen needs, and whole numbers. */
size_t faro_dense_eigen_work(size_t d);
size_t faro_dense_eigen_whole(size_t d);

/* The library and what it found, without blanks: "0.3.21/Haswell"; "none" are the plain loops.
 * Results may differ in the last digits between two of them. */
void faro_dense_name(char *out, size_t size);
/* Sets the number of threads of the library, and returns the one before. */
int faro_dense_threads(int count);
/* One thread from now on. The others, which OpenBLAS starts with the program and which keep a
 * processor busy for some hundredths of a second until they sleep, end at once. Call it while no
 * other thread uses the library. */
void faro_dense_rest(void);

/* The triangle of A becomes L, A = L L'. False if A is not positive definite. */
bool faro_dense_factor(size_t d, double *a);
/* The triangle of L becomes L^-1. The diagonal has no zero. */
void faro_dense_invert(size_t d, double *l);
/* Eigenvalues of the symmetric A, ascending; rows of A become the vectors in the same order. */
void faro_dense_eigen(size_t d, double *a, double *value, double *work, int *whole);
/* Eigenvalues alone; A is destroyed. work: 2 d + 1 numbers. */
void faro_dense_eigenvalues(size_t d, double *a, double *value, double *work);

/* X -= Q' B: Q is rank x rows, B rank x columns, X rows x columns. */
void faro_dense_subtract(size_t rows, size_t columns, size_t rank, const double *q, const double *b,
                         double *x);
/* Z = R^-1 Z for the upper triangle of R, whose rows are `stride` numbers apart. */
void faro_dense_solve_upper(size_t rank, size_t columns, const double *r, size_t stride, double *z);
/* direction -= <q, direction> q */
void faro_dense_project(size_t d, const double *q, double *direction);
/* Scales to length 1. */
void faro_dense_normalise(size_t d, double *direction);
/* A unit vector nu of `columns` + 1 numbers with <nu, a_j> = 0 for every column a_j, which are
 * stored one after another and destroyed. work: 2 `columns` numbers. */
void faro_dense_vanish(size_t columns, double *a, double *work, double *nu);

#endif
