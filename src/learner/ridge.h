/* ridge: the regularised least-squares estimate from released sums. */
#ifndef FARO_LEARNER_RIDGE_H
#define FARO_LEARNER_RIDGE_H

#include <faro/linalg.h>
#include <faro/statistics.h>

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

/* Decides when a learner whose sums grow by one direction at a time follows them, in O(d^2), and
 * when it computes afresh. Following for 10^5 people changes W by 4e-14 of its size at most, where
 * eigenvalues differ by 10^6 by 2e-12 (measured); widths change most at first. So it computes
 * afresh after 1, 2, 4, ... people, and in the end after every 1024. */
typedef struct faro_pace {
  uint64_t users, steps, most; /* users of the sums that were seen last; steps since it was computed afresh */
} faro_pace;

/* Whether to follow these statistics. They are the ones that are seen last after it. */
bool faro_pace_follows(faro_pace *pace, const faro_statistics *statistics);

/* W of A becomes that of A + s x x', and theta = A^-1 u that for u + s x y. `gain` becomes A^-1 x,
 * of A as it was. Returns 1 + s x' A^-1 x. */
double faro_ridge_follow(faro_spd *spd, size_t d, double s, const double *x, double y, double *W,
                         double *theta, double *gain);

#endif
