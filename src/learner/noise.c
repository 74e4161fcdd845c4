/* noise: tail bounds, each of which fails with probability q.
 *
 * Gram matrix N, independent sub-Gaussian entries. Tropp 2012, Theorem 4.1 (its proof needs only
 * the entries' sub-Gaussian moment generating functions):
 *   ||N|| <= sqrt(2 v ln(2 d / q)),  v = max_i sum_j scale_ij^2.
 * Gaussian entries, with s the off-diagonal scale and at most sqrt(2) s on the diagonal:
 *   ||N|| <= 2 s sqrt(d) + s sqrt(2) sqrt(2 ln(2 / q))  (Slepian-Fernique, Lipschitz
 *                                                       concentration).
 * Laplace entries, sums of n each. For A = e_i e_j' + e_j e_i' (or e_i e_i') with eigenvalues a,
 * |a| <= 1, E exp(l N_ij A) has the eigenvalues (1 - l^2 b^2 a^2)^-n <= exp(K(l) a^2),
 * K(l) = -n ln(1 - l^2 b^2), and the squares A^2 add up to d I. So by Tropp's theorem
 * P(||N|| > t) <= 2 d exp(-l t + d K(l)): as for a sum of d n Laplace variables, with q / d.
 *
 * Vector h. Hsu, Kakade & Zhang 2012: ||h||^2 <= s^2 (d + 2 sqrt(d t) + 2 t), t = ln(1/q). Laplace
 * noise: every entry by itself. */
#include "learner/noise.h"

#include <faro/linalg.h>

#include <math.h>

double faro_gram_bound(const faro_noise *noise, size_t d, double q) {
  if (!noise->scale) return 0;
  if (noise->laplace > 0)
    return faro_laplace_sum_quantile((double)d * noise->summands, noise->laplace, q / (double)d);
  const double *scale = noise->scale;
  double v = 0;
  double s = 0;
  for (size_t i = 0; i < d; i++) {
    double row = 0;
    for (size_t j = 0; j < d; j++) {
      const double entry = i >= j ? scale[faro_packed(i) + j] : scale[faro_packed(j) + i];
      row += entry * entry;
      s = fmax(s, i == j ? entry / sqrt(2) : entry);
    }
    v = fmax(v, row);
  }
  const double tropp = sqrt(2 * v * log(2 * (double)d / q));
  const double gaussian = 2 * s * sqrt((double)d) + 2 * s * sqrt(log(2 / q));
  return noise->gaussian ? fmin(tropp, gaussian) : tropp;
}

double faro_vector_bound(const faro_noise *noise, size_t dimension, double q) {
  if (!noise->scale) return 0;
  const double d = (double)dimension;
  if (noise->laplace > 0) return sqrt(d) * faro_laplace_sum_quantile(noise->summands, noise->laplace, q / d);
  double s = 0;
  for (size_t i = 0; i < dimension; i++) s = fmax(s, noise->scale[faro_packed(dimension) + i]);
  const double t = log(1 / q);
  return s * sqrt(d + 2 * sqrt(d * t) + 2 * t);
}
