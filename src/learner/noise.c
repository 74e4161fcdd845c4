/* noise: tail bounds, each failing with probability q.
 *
 * Gram matrix N, independent sub-Gaussian entries. Tropp 2012, Theorem 4.1 (its proof needs only
 * the entries' sub-Gaussian moment generating functions):
 *   ||N|| <= sqrt(2 v ln(2 d / q)),   v = max_i sum_j scale_ij^2.
 *
 * Gaussian entries, with s the off-diagonal scale and at most sqrt(2) s on the diagonal (Slepian-
 * Fernique, and Lipschitz concentration):
 *   ||N|| <= 2 s sqrt(d) + s sqrt(2) sqrt(2 ln(2 / q)).
 *
 * Laplace entries, sums of n each: for A = e_i e_j' + e_j e_i' (or e_i e_i') with eigenvalues a,
 * |a| <= 1, the eigenvalues of E exp(l N_ij A) are
 *   (1 - l^2 b^2 a^2)^-n <= exp(K(l) a^2),   K(l) = -n ln(1 - l^2 b^2),
 * and the squares A^2 add up to d I, so by Tropp's theorem P(||N|| > t) <= 2 d exp(-l t + d K(l)):
 * as for a sum of d n Laplace variables, with q / d.
 *
 * Entries that depend on each other, with N sub-Gaussian of scale s in every direction of the
 * weighed vech (on the diagonal, and sqrt(2) times off it): v' N v is, for every unit vector v, and
 * a net of 9^d of them with radius 1/4 bounds the norm by twice its maximum (Vershynin 2018, Lemma
 * 4.4.3):
 *   ||N|| <= 2 s sqrt(2 ln(2 9^d / q)),
 * or the Frobenius norm, as for a vector below, if that is less.
 *
 * Vector eta, covariance proxy Sigma. Hsu, Kakade & Zhang 2012, with t = ln(1/q):
 *   ||eta||^2 <= tr Sigma + 2 sqrt(tr(Sigma^2) t) + 2 ||Sigma|| t.
 * For the vector noise alone Sigma = s^2 I. For e = eta - N theta, theta fixed and ||theta|| <= 1,
 * with scales s_on on the diagonal of N and s_off off it,
 *   Sigma  = (s^2 + s_off^2 ||theta||^2) I + s_off^2 theta theta'
 *            + (s_on^2 - 2 s_off^2) diag(theta^2)
 *         <= a I + b theta theta' + c diag(theta^2),
 *   a = s^2 + s_off^2,   b = s_off^2,   c = max(0, s_on^2 - 2 s_off^2).
 * Isotropic noise has s_on^2 = 2 s_off^2, so c = 0.
 *
 * Laplace noise, sums of n variables: every entry of eta, or of e, by itself. An entry of e weighs
 * its variables with 1 and theta_j, whose squares add up to 2 at most, so its tail is that of 2 n
 * variables of weight 1 at most (-n ln(1 - l^2 b^2 w^2) is convex in w^2). */
#include "learner/noise.h"

#include <faro/linalg.h>

#include <math.h>

static double greatest(const double *value, size_t count) {
  double most = 0;
  for (size_t i = 0; i < count; i++) most = fmax(most, value[i]);
  return most;
}

/* The three scales. */
static faro_deviation scales_of(const faro_noise *noise, size_t d) {
  faro_deviation s = {0};
  if (!noise->scale) return s;
  for (size_t i = 0; i < d; i++) {
    s.on = fmax(s.on, noise->scale[faro_diagonal(i)]);
    s.off = fmax(s.off, greatest(noise->scale + faro_packed(i), i));
  }
  s.vector = greatest(noise->scale + faro_packed(d), d);
  return s;
}

faro_deviation faro_noise_deviation(const faro_noise *noise, size_t d) {
  const faro_deviation s = scales_of(noise, d);
  const double ratio = noise->ratio > 0 ? noise->ratio : 1;
  return (faro_deviation){.on = ratio * s.on, .off = ratio * s.off, .vector = ratio * s.vector};
}

double faro_noise_diagonal(const faro_noise *noise, size_t d) {
  double most = 0;
  for (size_t i = 0; noise->scale && i < d; i++) most = fmax(most, noise->scale[faro_diagonal(i)]);
  return most * (noise->ratio > 0 ? noise->ratio : 1);
}

/* Hsu, Kakade and Zhang, from trace, squared Frobenius norm and norm. */
static double length_bound(double trace, double square, double top, double q) {
  const double t = log(1 / q);
  return sqrt(trace + 2 * sqrt(square * t) + 2 * top * t);
}

static double laplace_bound(const faro_noise *noise, double weight, size_t d, double q) {
  return sqrt((double)d) * faro_laplace_sum_quantile(weight * noise->summands, noise->laplace, q / (double)d);
}

static double dependent_bound(const faro_noise *noise, size_t dimension, double q) {
  const faro_deviation s = scales_of(noise, dimension);
  const double d = (double)dimension;
  const double scale = fmax(s.on, sqrt(2) * s.off);
  const double packed = (double)faro_packed(dimension);
  const double net = 2 * sqrt(2 * (log(2 / q) + d * log(9)));
  return scale * fmin(net, length_bound(packed, packed, 1, q));
}

double faro_gram_bound(const faro_noise *noise, size_t d, double q) {
  if (!noise->scale) return 0;
  if (noise->laplace > 0)
    return faro_laplace_sum_quantile((double)d * noise->summands, noise->laplace, q / (double)d);
  if (noise->dependent) return dependent_bound(noise, d, q);
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
  if (noise->laplace > 0) return laplace_bound(noise, 1, dimension, q);
  const double s = scales_of(noise, dimension).vector;
  return s * length_bound((double)dimension, (double)dimension, 1, q);
}

double faro_error_bound(const faro_noise *noise, size_t dimension, double q) {
  if (!noise->scale) return 0;
  if (noise->laplace > 0) return laplace_bound(noise, 2, dimension, q);
  const faro_deviation s = scales_of(noise, dimension);
  const double d = (double)dimension;
  const double b = s.off * s.off;
  const double a = s.vector * s.vector + b;
  const double c = fmax(0, s.on * s.on - 2 * b); /* diag(theta^2) has trace and norm at most 1 */
  return length_bound(d * a + b + c, d * a * a + 2 * a * (b + c) + (b + c) * (b + c), a + b + c, q);
}
