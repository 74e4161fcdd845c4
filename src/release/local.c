/* local: every user adds Gaussian noise before sending; nobody is trusted.
 * Zheng et al. 2020 (B = 1), and 000 App. F, Batched-Local-LinUCB (B > 1). */
#include <math.h>

#include "release/grid.h"

/* Moments, 000 after Zheng et al. 2020: half the budget for x x', half for x y, L2 sensitivity 2 each. Plain vectors:
 * sigma_nl of 002 section 4.2.
 * DEVIATION: neither has a theorem for returning users in the local model; the share of a message is that of a batch in its
 * shuffle model, advanced composition. What is proven comes from the exact Gaussian mechanism: mu^2 adds. */
static faro_status calibrate_paper(faro_release *r, faro_error *error) {
  (void)error;
  const faro_budget each = faro_advanced_share(r);
  const bool values = r->contribution.gram == 0;
  const double sigma =
      values ? faro_classical_sigma(r, each) : 4 * sqrt(2 * log(2.5 / each.delta)) / each.epsilon;
  faro_set_gaussian(r, sigma, 1, 1);
  faro_set_scale(r, sqrt((double)r->params.horizon));
  const double shift = sqrt((double)r->repeats) * faro_gaussian_shift(r, sigma, 1, 1);
  const double proven = faro_gaussian_epsilon(shift, r->params.delta);
  r->claim = faro_claim_make(
      r->params.epsilon, r->params.delta, FARO_TRUST_LOCAL, proven <= r->params.epsilon,
      "Gaussian noise of %s%s; the exact Gaussian mechanism gives epsilon %.3g",
      values ? "002 section 4.2" : "000 section 2",
      r->repeats > 1 ? " by 000 Theorem E.2 (no theorem for returning users here)" : "", proven);
  return FARO_OK;
}

static faro_status calibrate_figure(faro_release *r, faro_error *error) {
  (void)error;
  const double d = (double)r->contribution.dimension;
  const double sigma = sqrt(log(2.5 / r->params.delta)) / r->params.epsilon;
  faro_set_gaussian(r, sigma, 1, sqrt(0.5)); /* (N + N')/2 of independent entries */
  faro_set_scale(r, sqrt((double)r->params.horizon));
  r->gamma = sigma * sqrt((double)r->params.horizon * d);
  r->claim = faro_claim_make(r->params.epsilon, r->params.delta, FARO_TRUST_LOCAL, false,
                             "constants of the published figures, which no theorem backs");
  return FARO_OK;
}

/* The exact Gaussian mechanism on the whole contribution at once; M0 messages of a user are one with mu^2 M0. */
static faro_status calibrate_tight(faro_release *r, faro_error *error) {
  (void)error;
  const double shift = sqrt((double)r->repeats) * r->contribution.sensitivity;
  faro_set_gaussian(r, shift / faro_gaussian_mu(r->params.epsilon, r->params.delta), 1, 1);
  faro_set_scale(r, sqrt((double)r->params.horizon));
  r->claim = faro_claim_make(r->params.epsilon, r->params.delta, FARO_TRUST_LOCAL, true,
                             "exact Gaussian mechanism (Balle & Wang 2018), sensitivity %.4g", shift);
  return FARO_OK;
}

/* A user has M0 messages. */
static faro_status vouch(const faro_release *r, faro_error *error) {
  const faro_release_params *p = &r->params;
  const double draws = (double)r->repeats * (double)r->contribution.length;
  const faro_grid_basis basis = {faro_gaussian_mu(p->epsilon, p->delta), p->epsilon, p->delta, draws};
  return faro_grid_vouch(r, basis, error);
}

const faro_release_kind faro_release_local = {
    .name = "local",
    .summary = "Gaussian noise at every user; nobody is trusted",
    .trust = FARO_TRUST_LOCAL,
    .least_batch = 1,
    .phases = true,
    .splits = true,
    .calibrate = {calibrate_paper, calibrate_figure, calibrate_tight},
    .vouch = vouch,
    FARO_GRID_KIND,
};
