/* greedy: plays what looks best, without exploring. A baseline that says what exploration is
 * worth; with fresh contexts it often does well, with fixed arms it can get stuck.
 *
 *   G, u     released sums of x x' and x y
 *   lambda   the rewards' variance, or the edge of the noise's spectrum (Wigner's semicircle) if
 *            that is larger: below it G carries no information
 *   V        lambda I + G, shifted up if noise has made it indefinite
 *   theta    V^-1 u
 *   play     argmax <theta, x> */
#include <math.h>

#include "learner/kind.h"
#include "learner/noise.h"
#include "learner/ridge.h"

typedef struct greedy {
  size_t dimension;
  faro_host *host;
  faro_spd *spd;
  double *V;
  double *gain;
  double R2;
  bool open; /* V was not shifted */
  faro_pace pace;
} greedy;

static void update(void *state, const faro_statistics *statistics, faro_policy *policy) {
  greedy *g = state;
  const size_t d = g->dimension;
  const double edge = faro_noise_deviation(&statistics->noise, d).on * sqrt(2 * (double)d);
  const double lambda = fmax(g->R2, edge);
  if (faro_pace_follows(&g->pace, statistics) && g->open) {
    (void)faro_ridge_follow(g->spd, d, 1, statistics->more, statistics->more_y, policy->w, policy->theta,
                            g->gain);
    return;
  }
  faro_ridge_matrix(d, lambda, statistics->sum, g->V);
  g->open = faro_ridge_whiten(g->spd, d, g->V, policy->w, lambda) == 0;
  if (!g->open) g->host->diagnostics.shifted++;
  faro_ridge_solve(d, policy->w, statistics->sum + faro_packed(d), policy->theta);
}

/* The policy stays as it is: theta and beta are zero. */
static faro_status init(void *state, const faro_updater_params *params, faro_host *host, faro_policy *policy,
                        faro_error *error) {
  greedy *g = state;
  (void)policy;
  *g = (greedy){.dimension = params->dimension, .host = host, .R2 = params->reward * params->reward};
  const faro_status status = faro_host_vectors(host, error, &g->V, faro_packed(g->dimension), &g->gain,
                                               g->dimension, (double **)NULL);
  return status == FARO_OK ? faro_spd_create(&g->spd, g->dimension, error) : status;
}

static void destroy(void *state) { faro_spd_destroy(((greedy *)state)->spd); }

const faro_updater_kind faro_updater_greedy = {
    .about = {.name = "greedy",
              .summary = "plays the best estimate and never explores: often best where contexts vary, unsafe "
                         "on fixed arms",
              .protocol = FARO_PROTOCOL_UPDATER,
              .steady = true},
    .size = sizeof(greedy),
    .init = init,
    .update = update,
    .destroy = destroy,
};
