/* belief: see the header. */
#include "learner/belief.h"

#include <math.h>
#include <string.h>

#include "learner/ridge.h"
#include "learner/shrink.h"

static void settle(faro_belief *b) {
  faro_ridge_matrix(b->dimension, b->prior, b->Lambda, b->precision);
  (void)faro_ridge_whiten(b->spd, b->dimension, b->precision, b->w, b->prior);
  faro_ridge_solve(b->dimension, b->w, b->r, b->theta);
}

faro_status faro_belief_init(faro_belief *belief, size_t d, double prior, faro_host *host,
                             faro_error *error) {
  belief->dimension = d;
  belief->prior = prior;
  faro_status status = faro_host_vectors(
      host, error, &belief->theta, d, &belief->w, faro_packed(d), &belief->Lambda, faro_packed(d), &belief->r,
      d, &belief->g, d, &belief->Q, d * d, &belief->precision, faro_packed(d), (double **)NULL);
  if (status == FARO_OK) status = faro_spd_create(&belief->spd, d, error);
  if (status == FARO_OK) status = faro_eigen_create(&belief->eigen, d, error);
  if (status == FARO_OK) settle(belief);
  return status;
}

void faro_belief_clear(faro_belief *belief) {
  faro_spd_destroy(belief->spd);
  faro_eigen_destroy(belief->eigen);
}

void faro_belief_see(faro_belief *belief, const double *W, double s) {
  faro_eigen_find(belief->eigen, W, belief->g, belief->Q);
  (void)faro_shrink(belief->dimension, belief->g, s, NULL);
}

void faro_belief_curvature(const faro_belief *belief, double least, double factor, double *P) {
  const size_t d = belief->dimension;
  memset(P, 0, faro_packed(d) * sizeof *P);
  for (size_t i = 0; i < d; i++) faro_add_outer(d, factor * fmax(belief->g[i], least), belief->Q + i * d, P);
}

void faro_belief_take(faro_belief *belief, const faro_answer *fit, double ridge) {
  const size_t d = belief->dimension;
  for (size_t k = 0; k < d && belief->g[k] > 0; k++) {
    const double *q = belief->Q + k * d;
    const double h = belief->g[k];
    const double share = h / (h + fit->noise * fit->noise);
    const double slope = fit->gradient ? faro_dot(d, q, fit->gradient) : 0;
    const double along = share * ((h + ridge) * faro_dot(d, q, fit->theta) - slope);
    faro_add_outer(d, share * h, q, belief->Lambda);
    for (size_t i = 0; i < d; i++) belief->r[i] += along * q[i];
  }
  settle(belief);
}

/* The mean over a normal variable, by the rule of rectangles over three standard deviations; more
 * than enough for the smooth slopes of links. */
double faro_expected_slope(faro_link link, double mean, double deviation) {
  enum { SIDE = 4 };
  double sum = 0;
  double all = 0;
  for (int k = -SIDE; k <= SIDE; k++) {
    const double z = 3.0 * k / SIDE;
    const double weight = exp(-z * z / 2);
    sum += weight * faro_link_slope(link, mean + deviation * z);
    all += weight;
  }
  return sum / all;
}
