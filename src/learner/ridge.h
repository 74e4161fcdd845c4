/* ridge: the regularised least-squares estimate from released sums. */
#ifndef FARO_LEARNER_RIDGE_H
#define FARO_LEARNER_RIDGE_H

#include <faro/linalg.h>

static inline double faro_dot(size_t d, const double *a, const double *b) {
  double sum = 0;
  for (size_t i = 0; i < d; i++) sum += a[i] * b[i];
  return sum;
}

/* A += weight q q', packed. */
static inline void faro_add_outer(size_t d, double weight, const double *q, double *A) {
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++) A[faro_packed(i) + j] += weight * q[i] * q[j];
}

/* to = A^-1 u = W' (W u), where W is the packed inverse factor of A. `to` and `u` must differ. */
void faro_ridge_solve(size_t d, const double *W, const double *u, double *to);

/* V = lambda I + gram (NULL: zero), packed. */
void faro_ridge_matrix(size_t d, double lambda, const double *gram, double *V);

/* W = L^-1 of packed V = L L'. If noise has made V indefinite, it is first shifted up to the least
 * eigenvalue `least`. Returns the shift, or 0. */
double faro_ridge_whiten(faro_spd *spd, size_t d, double *V, double *W, double least);

#endif
