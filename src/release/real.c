/* real: what releases of real-valued messages share. A message is z as doubles, with or without one
 * user's Gaussian noise.
 *
 * The noise of n users in one draw: sums of independent N(0, sd^2) are N(0, n sd^2). */
#include <math.h>
#include <string.h>

#include "release/kind.h"

void faro_real_absorb(faro_release *r, const double *z, faro_sim_rng *sim) {
  (void)sim;
  for (size_t i = 0; i < r->contribution.length; i++) r->open[i] += z[i];
}

void faro_real_collect(faro_release *r, const void *message) { faro_real_absorb(r, message, NULL); }

void faro_real_publish(faro_release *r, faro_sim_rng *sim) {
  (void)sim;
  for (size_t i = 0; i < r->contribution.length; i++) {
    r->sum[i] += r->open[i];
    r->open[i] = 0;
  }
}

void faro_plain_randomize(const faro_release *r, const double *z, faro_rng *rng, void *message) {
  (void)rng;
  memcpy(message, z, r->contribution.length * sizeof *z);
}

/* Floating-point noise: for rehearsals only, so the stream behind `rng` is a simulation's. */
void faro_gaussian_randomize(const faro_release *r, const double *z, faro_rng *rng, void *message) {
  faro_sim_rng *sim = (faro_sim_rng *)(void *)rng;
  double *noisy = message;
  for (size_t i = 0; i < r->contribution.length; i++) noisy[i] = z[i] + r->sd[i] * faro_sim_normal(sim);
}

void faro_gaussian_thicken(faro_release *r, faro_sim_rng *sim) {
  const double root = sqrt((double)r->waiting);
  for (size_t i = 0; i < r->contribution.length; i++) r->open[i] += root * r->sd[i] * faro_sim_normal(sim);
}

void faro_set_gaussian(faro_release *r, double sigma, double on, double off) {
  double *sd = r->sd;
  for (size_t i = 0; i < r->contribution.dimension; i++)
    for (size_t j = 0; j <= i; j++) *sd++ = sigma * (i == j ? on : off);
  for (size_t i = 0; i < r->contribution.dimension; i++) *sd++ = sigma;
  r->gaussian = true;
}

void faro_set_scale(faro_release *r, double factor) {
  for (size_t i = 0; i < r->contribution.length; i++) r->scale[i] = factor * r->sd[i];
}

/* With D = x x' - v v' and norms <= L:  ||D||_F^2 = |x|^4 + |v|^4 - 2 <x,v>^2 <= 2 L^4, and
 *   sum_{j<=i} (D_ij / sd_ij)^2 = ( sum_i D_ii^2 / on^2 + sum_{i<j} D_ij^2 / off^2 ) / sigma^2
 *                              <= max(1 / on^2, 1 / (2 off^2)) ||D||_F^2 / sigma^2.
 * For x y - v w with y, w in [low, high]: at most (2 L max|y|)^2. */
double faro_gaussian_shift(const faro_release *r, double sigma, double on, double off) {
  const faro_contribution *c = &r->contribution;
  const double gram = fmax(1 / (on * on), 1 / (2 * off * off)) * 2 * pow(c->norm, 4);
  const double reward = fmax(fabs(c->low), fabs(c->high));
  return sqrt(gram + 4 * c->norm * c->norm * reward * reward) / sigma;
}

double faro_gaussian_epsilon(double shift, double delta) {
  const double rho = shift * shift / 2;
  return rho + 2 * sqrt(rho * log(1 / delta));
}
