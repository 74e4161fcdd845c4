/* shrink: the bulk of the eigenvalues, within the semicircle of noise, is shrunk towards its mean
 * (Ledoit & Wolf 2004, with the noise known).
 *
 *   k, m     number and mean of the eigenvalues that noise alone explains: those within s sqrt(2 k)
 *   rho      share of noise in their scatter
 *   degrees  of freedom of k x k noise, less its trace: noise alone scatters by s^2 degrees
 *
 * Those below m are raised only if the scatter is not above its likeliest value under noise alone:
 * else there may be directions that nobody plays. What noise adds to their squares is taken off. */
#include "learner/shrink.h"

#include <math.h>
#include <stdbool.h>

static size_t find_bulk(size_t d, const double *g, double s, double *mean) {
  for (size_t k = d;; k--) {
    *mean = 0;
    for (size_t i = d - k; i < d; i++) *mean += g[i] / (double)k;
    if (k == 1 || g[d - k] - *mean <= s * sqrt(2 * (double)k)) return k;
  }
}

/* The scatter is known up to its own standard deviation, so not less than that is left. */
double faro_shrink(size_t d, double *g, double s, size_t *out) {
  double m = 0;
  const size_t k = find_bulk(d, g, s, &m);
  double scatter = 0;
  for (size_t i = d - k; i < d; i++) scatter += (g[i] - m) * (g[i] - m);
  const double degrees = ((double)k - 1) * ((double)k + 2) / 2;
  const double noise = s * s * degrees;
  const double rho = noise > 0 ? fmin(1, noise / scatter) : 0;
  const bool alike = scatter <= s * s * (degrees - 2); /* where chi squared is likeliest */
  const double left = s * s * (1 - rho + rho / (double)k);
  for (size_t i = d - k; i < d; i++) {
    const double shrunk = m + (1 - rho) * (g[i] - m);
    const double cut = fmax(0, alike ? shrunk : fmin(g[i], shrunk));
    g[i] = sqrt(fmax(0, cut * cut - left));
  }
  if (out) *out = d - k;
  return k == d ? fmin(1, fmax(1 - rho, sqrt(2 / degrees))) : 1;
}
