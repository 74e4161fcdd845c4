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

bool faro_pace_follows(faro_pace *pace, const faro_statistics *statistics) {
  enum { MOST = 1024 };
  const bool full = pace->steps == pace->most;
  const bool next = statistics->more && pace->users + statistics->more_users == statistics->users && !full;
  pace->users = statistics->users;
  pace->steps = next ? pace->steps + 1 : 0;
  if (full && pace->most < MOST) pace->most = pace->most > 0 ? 2 * pace->most : 1;
  return next;
}

double faro_ridge_follow(faro_spd *spd, size_t d, double s, const double *x, double y, double *W,
                         double *theta, double *gain) {
  const double error = y - faro_dot(d, x, theta);
  const double t = faro_spd_grow(spd, s, x, W, gain);
  for (size_t i = 0; i < d; i++) theta[i] += s * error / t * gain[i];
  return t;
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
