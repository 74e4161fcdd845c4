/* egreedy: mostly the arm that looks best, and now and then any arm. A learner in one file, as
 * docs/extending.md builds it.
 *
 *   G, u    released sums of x x' and x y
 *   V       lambda I + G, shifted up if noise has made it indefinite
 *   theta   V^-1 u
 *   play    argmax <theta, x>; with probability `explore` an arm drawn uniformly */
#include <math.h>

#include "learner/kind.h"
#include "learner/noise.h"
#include "learner/ridge.h"

typedef struct egreedy_settings {
  double explore;
} egreedy_settings;

static const faro_setting settings[] = {{"explore", FARO_SETTING_REAL, offsetof(egreedy_settings, explore), 0,
                                         1, 0.05, NULL,
                                         "egreedy only: share of rounds that play an arm at random"},
                                        {0}};

typedef struct egreedy {
  size_t dimension;
  faro_host *host;
  faro_spd *spd;
  double *V, *W; /* packed, see linalg.h */
} egreedy;

/* Noise in G moves its eigenvalues by about s sqrt(2 d) (Wigner's semicircle), where s is the
 * standard deviation on its diagonal. Below that G carries no information. */
static double lambda_of(const faro_noise *noise, size_t d) {
  return fmax(1, faro_noise_deviation(noise, d).on * sqrt(2 * (double)d));
}

static void update(void *state, const faro_statistics *statistics, faro_policy *policy) {
  egreedy *e = state;
  const size_t d = e->dimension;
  const double lambda = lambda_of(&statistics->noise, d);
  faro_ridge_matrix(d, lambda, statistics->sum, e->V);
  if (faro_ridge_whiten(e->spd, d, e->V, e->W, lambda) > 0) e->host->diagnostics.shifted++;
  faro_ridge_solve(d, e->W, statistics->sum + faro_packed(d), policy->theta);
}

static faro_status init(void *state, const faro_updater_params *params, faro_host *host, faro_policy *policy,
                        faro_error *error) {
  egreedy *e = state;
  const size_t packed = faro_packed(params->dimension);
  e->dimension = params->dimension;
  e->host = host;
  policy->rule = FARO_RULE_WIDTH; /* with beta = 0: no width, so the arm that looks best */
  policy->explore = ((const egreedy_settings *)params->settings)->explore;
  const faro_status status = faro_host_vectors(host, error, &e->V, packed, &e->W, packed, (double **)NULL);
  return status == FARO_OK ? faro_spd_create(&e->spd, params->dimension, error) : status;
}

static void destroy(void *state) { faro_spd_destroy(((egreedy *)state)->spd); }

const faro_updater_kind faro_updater_egreedy = {
    .about = {.name = "egreedy",
              .summary = "mostly the arm that looks best, now and then any arm",
              .protocol = FARO_PROTOCOL_UPDATER,
              .carries = true,
              .refuses = 1U << FARO_CALIBRATION_FIGURE,
              .settings = settings,
              .settings_size = sizeof(egreedy_settings)},
    .size = sizeof(egreedy),
    .init = init,
    .update = update,
    .destroy = destroy,
};
