/* belief: see the header. */
#include "learner/belief.h"

#include <math.h>
#include <string.h>

#include "learner/ridge.h"
#include "learner/shrink.h"

/* Mean and factor that follow from a precision without the prior's, and an information vector. */
static void solve(const faro_belief *b, const double *Lambda, const double *r, double *w, double *theta) {
  faro_ridge_matrix(b->dimension, b->prior, Lambda, b->precision);
  (void)faro_ridge_whiten(b->spd, b->dimension, b->precision, w, b->prior);
  faro_ridge_solve(b->dimension, w, r, theta);
}

static void settle(faro_belief *b) { solve(b, b->Lambda, b->r, b->w, b->theta); }

faro_status faro_belief_init(faro_belief *belief, size_t d, double prior, faro_host *host,
                             faro_error *error) {
  belief->dimension = d;
  belief->prior = prior;
  faro_status status = faro_host_vectors(
      host, error, &belief->theta, d, &belief->w, faro_packed(d), &belief->Lambda, faro_packed(d), &belief->r,
      d, &belief->g, d, &belief->Q, d * d, &belief->precision, faro_packed(d), &belief->trial, faro_packed(d),
      &belief->sum, d, &belief->factor, faro_packed(d), (double **)NULL);
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

/* What a fit adds to the precision and to the information vector. */
static void add(const faro_belief *b, const faro_answer *fit, double ridge, double *Lambda, double *r) {
  const size_t d = b->dimension;
  for (size_t k = 0; k < d && b->g[k] > 0; k++) {
    const double *q = b->Q + k * d;
    const double h = b->g[k];
    const double share = h / (h + fit->noise * fit->noise);
    const double slope = fit->gradient ? faro_dot(d, q, fit->gradient) : 0;
    const double along = share * ((h + ridge) * faro_dot(d, q, fit->theta) - slope);
    faro_add_outer(d, share * h, q, Lambda);
    for (size_t i = 0; i < d; i++) r[i] += along * q[i];
  }
}

void faro_belief_take(faro_belief *belief, const faro_answer *fit, double ridge) {
  add(belief, fit, ridge, belief->Lambda, belief->r);
  settle(belief);
}

void faro_belief_guess(const faro_belief *belief, const faro_answer *fit, double ridge, double *theta) {
  memcpy(belief->trial, belief->Lambda, faro_packed(belief->dimension) * sizeof *belief->trial);
  memcpy(belief->sum, belief->r, belief->dimension * sizeof *belief->sum);
  add(belief, fit, ridge, belief->trial, belief->sum);
  solve(belief, belief->trial, belief->sum, belief->factor, theta);
}
