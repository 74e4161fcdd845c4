/* local: every user adds Gaussian noise before sending; nobody is trusted. Zheng et al. 2020 (B =
 * 1), and Chowdhury & Zhou 2022, App. F, Batched-Local-LinUCB (B > 1). */
#include <math.h>

#include "base/text.h"
#include "release/choose.h"
#include "release/grid.h"
#include "release/shares.h"

/* Moments, Chowdhury & Zhou 2022 after Zheng et al. 2020: half the budget for x x', half for x y,
 * L2 sensitivity 2 each. Plain vectors: sigma_nl of Li, Zhou & Ji 2022, section 4.2. DEVIATION:
 * neither has a theorem for returning users in the local model; the share of a message is that of a
 * batch in the shuffle model, advanced composition. What is proven comes from the exact Gaussian
 * mechanism: mu^2 adds. */
static faro_status calibrate_paper(faro_release *r, faro_error *error) {
  (void)error;
  const faro_budget each = faro_advanced_share(r);
  const bool values = r->contribution.gram == 0;
  const double sigma =
      values ? faro_classical_sigma(r, each) : 4 * sqrt(2 * log(2.5 / each.delta)) / each.epsilon;
  faro_set_gaussian(r, sigma, 1, 1);
  faro_set_scale(r, sqrt(faro_total_noises(r)));
  const double shift = sqrt((double)r->repeats) * faro_gaussian_shift(r, sigma, 1, 1);
  char text[FARO_NUMBER_SIZE];
  const double proven = faro_gaussian_epsilon(shift, r->params.delta);
  r->claim = faro_claim_make(
      r->params.epsilon, r->params.delta, FARO_TRUST_LOCAL, proven <= r->params.epsilon,
      "Gaussian noise of %s%s; the exact Gaussian mechanism gives epsilon %s",
      values ? "Li, Zhou & Ji 2022, section 4.2" : "Chowdhury & Zhou 2022, section 2",
      r->repeats > 1
          ? ", shares by Theorem E.2 of Chowdhury & Zhou 2022 (no theorem for returning users here)"
          : "",
      faro_above(proven, 3, text));
  return FARO_OK;
}

static faro_status calibrate_figure(faro_release *r, faro_error *error) {
  (void)error;
  const double d = (double)r->contribution.dimension;
  const double sigma = sqrt(log(2.5 / r->params.delta)) / r->params.epsilon;
  faro_set_gaussian(r, sigma, 1, sqrt(0.5)); /* (N + N')/2 of independent entries */
  faro_set_scale(r, sqrt(faro_total_noises(r)));
  r->gamma = sigma * sqrt((double)r->params.horizon * d);
  r->claim = faro_figure_claim(r);
  return FARO_OK;
}

/* The exact Gaussian mechanism on the whole contribution at once; M0 messages of a user are one
 * mechanism with mu^2 M0. */
static faro_status calibrate_tight(faro_release *r, faro_error *error) {
  (void)error;
  const double epsilon = r->params.epsilon;
  const double delta = r->params.delta;
  const double mu = faro_gaussian_mu(epsilon, delta);
  const double shift = sqrt((double)r->repeats) * r->contribution.sensitivity;
  faro_set_gaussian(r, shift / mu, 1, 1);
  faro_set_scale(r, sqrt(faro_total_noises(r)));
  *faro_grid_of(r)->basis = (faro_grid_basis){.mu = mu,
                                              .epsilon = epsilon,
                                              .delta = delta,
                                              .draws = (double)r->repeats * (double)r->contribution.length};
  r->claim = faro_claim_make(epsilon, delta, FARO_TRUST_LOCAL, true,
                             "exact Gaussian mechanism (Balle & Wang 2018), sensitivity %.4g", shift);
  return FARO_OK;
}

const faro_release_kind faro_release_local = {
    .name = "local",
    .summary = "noise at every user, Gaussian or local-response, whichever is less; nobody is trusted",
    .cite = "Zheng et al. 2020",
    .trust = FARO_TRUST_LOCAL,
    .least_batch = 1,
    .phases = true,
    .splits = true,
    .weighs = true,
    .blocks = true,
    .mechanism = &faro_mechanism_grid,
    .alternative = &faro_release_local_response,
    .calibrate = {calibrate_paper, calibrate_figure, calibrate_tight},
    .choose_schedule = faro_choose_local,
};

const faro_release_kind faro_release_local_gaussian = {
    .name = "local-gaussian",
    .summary = "Gaussian noise at every user; nobody is trusted",
    .cite = "Zheng et al. 2020",
    .trust = FARO_TRUST_LOCAL,
    .least_batch = 1,
    .phases = true,
    .splits = true,
    .weighs = true,
    .blocks = true,
    .mechanism = &faro_mechanism_grid,
    .calibrate = {calibrate_paper, calibrate_figure, calibrate_tight},
    .choose_schedule = faro_choose_local,
};
