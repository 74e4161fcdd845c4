/* ridge: see the header. */
#include "learner/ridge.h"

#include <math.h>

#include "base/abort.h"

void faro_ridge_solve(size_t d, const double *W, const double *u, double *to) {
  for (size_t i = 0; i < d; i++) to[i] = 0;
  for (size_t i = 0; i < d; i++) {
    const double *row = W + faro_packed(i);
    const double t = faro_dot(i + 1, row, u);
    for (size_t j = 0; j <= i; j++) to[j] += row[j] * t;
  }
}

void faro_ridge_matrix(size_t d, double lambda, const double *gram, double *V) {
  for (size_t i = 0; i < faro_packed(d); i++) V[i] = gram ? gram[i] : 0;
  for (size_t i = 0; i < d; i++) V[faro_diagonal(i)] += lambda;
}

double faro_ridge_whiten(faro_spd *spd, size_t d, double *V, double *W, double least) {
  if (faro_spd_whiten(spd, V, W)) return 0;
  double lowest = 0;
  double greatest = 0;
  faro_spd_extremes(spd, V, &lowest, &greatest);
  const double shift = fmax(least, 1e-9 * fmax(greatest, -lowest)) - lowest;
  for (size_t i = 0; i < d; i++) V[faro_diagonal(i)] += shift;
  FARO_INVARIANT(faro_spd_whiten(spd, V, W));
  return shift;
}
