/* lints: linear Thompson sampling from private sums. Agrawal & Goyal 2013; the privacy noise in the
 * covariance as in Riyazat & Ukwatta 2026, here for noise in x x' as well as in x y.
 *
 *   G, u    released sums of x x' and x y
 *   V       lambda I + G, shifted up if noise has made it indefinite
 *   theta   V^-1 u
 *   s^2     bound on the variance, in any direction, of the noise in u - G theta for ||theta|| <= 1
 *   C       R^2 V^-1 + s^2 V^-2: the uncertainty about theta from rewards and privacy noise
 *   play    argmax <theta + v C^(1/2) xi, x>, xi standard normal, drawn on the user's device */
#include <math.h>

#include "base/abort.h"
#include "learner/kind.h"
#include "learner/noise.h"
#include "learner/ridge.h"

typedef struct lints_settings {
  double scale; /* v */
} lints_settings;

static const faro_setting settings[] = {{"scale", FARO_SETTING_REAL, offsetof(lints_settings, scale), 0.001,
                                         100, 1, NULL,
                                         "lints only: factor on the standard deviation of the samples"},
                                        {0}};

typedef struct lints {
  size_t dimension;
  faro_host *host;
  faro_spd *spd;
  double *V, *W, *M, *B, *P;
  double *gain;
  double lambda, R2, s2;
  bool open; /* V was not shifted */
  faro_pace pace;
} lints;

/* lambda: the prior's precision, or the edge of the noise's spectrum (Wigner's semicircle) if that
 * is larger. Below it G carries no information. */
static void set_noise(lints *l, const faro_noise *noise) {
  const faro_deviation s = faro_noise_deviation(noise, l->dimension);
  l->s2 = s.vector * s.vector + s.on * s.on;
  l->lambda = fmax(l->R2, s.on * sqrt(2 * (double)l->dimension));
}

/* P = C^-1 = V M^-1 V with M = R^2 V + s^2 I. With B = L^-1 V, M = L L', it is B' B. */
static void set_precision(lints *l) {
  const size_t d = l->dimension;
  for (size_t i = 0; i < faro_packed(d); i++) l->M[i] = l->R2 * l->V[i];
  for (size_t i = 0; i < d; i++) l->M[faro_diagonal(i)] += l->s2;
  (void)faro_ridge_whiten(l->spd, d, l->M, l->W, 0);
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++) {
      double sum = 0;
      for (size_t k = 0; k <= i; k++)
        sum += l->W[faro_packed(i) + k] * l->V[k >= j ? faro_packed(k) + j : faro_packed(j) + k];
      l->B[i * d + j] = sum;
    }
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++) {
      double sum = 0;
      for (size_t k = 0; k < d; k++) sum += l->B[k * d + i] * l->B[k * d + j];
      l->P[faro_packed(i) + j] = sum;
    }
}

static void set_policy(lints *l, const double *gram, const double *u, faro_policy *policy) {
  const size_t d = l->dimension;
  faro_ridge_matrix(d, l->lambda, gram, l->V);
  l->open = faro_ridge_whiten(l->spd, d, l->V, l->W, l->lambda) == 0;
  if (!l->open) l->host->diagnostics.shifted++;
  if (u) faro_ridge_solve(d, l->W, u, policy->theta);
  set_precision(l);
  (void)faro_ridge_whiten(l->spd, d, l->P, policy->w, 0); /* w' w = C */
}

/* Without noise C = R^2 V^-1, and w is the inverse factor of V / R^2. */
static void update(void *state, const faro_statistics *statistics, faro_policy *policy) {
  lints *l = state;
  if (faro_pace_follows(&l->pace, statistics) && l->open) {
    (void)faro_ridge_follow(l->spd, l->dimension, 1 / l->R2, statistics->more, statistics->more_y, policy->w,
                            policy->theta, l->gain);
    return;
  }
  set_noise(l, &statistics->noise);
  set_policy(l, statistics->sum, statistics->sum + faro_packed(l->dimension), policy);
}

static faro_status init(void *state, const faro_updater_params *params, faro_host *host, faro_policy *policy,
                        faro_error *error) {
  lints *l = state;
  const size_t d = params->dimension;
  const size_t packed = faro_packed(d);
  l->dimension = d;
  l->host = host;
  l->R2 = params->reward * params->reward;
  set_noise(l, &params->noise);
  faro_status status = faro_host_vectors(host, error, &l->V, packed, &l->W, packed, &l->M, packed, &l->P,
                                         packed, &l->B, d * d, &l->gain, d, (double **)NULL);
  if (status == FARO_OK) status = faro_spd_create(&l->spd, d, error);
  if (status != FARO_OK) return status;
  policy->rule = FARO_RULE_SAMPLE;
  policy->beta = ((const lints_settings *)params->settings)->scale;
  set_policy(l, NULL, NULL, policy);
  return FARO_OK;
}

static void destroy(void *state) { faro_spd_destroy(((lints *)state)->spd); }

const faro_updater_kind faro_updater_lints = {
    .about = {.name = "lints",
              .summary = "linear Thompson sampling, from (private) sums of x x' and x y",
              .cite = "Agrawal & Goyal 2013",
              .protocol = FARO_PROTOCOL_UPDATER,
              .carries = true,
              .refuses = 1U << FARO_CALIBRATION_FIGURE,
              .settings = settings,
              .settings_size = sizeof(lints_settings)},
    .size = sizeof(lints),
    .init = init,
    .update = update,
    .destroy = destroy,
};
