/* central-factored: a trusted server adds correlated Gaussian noise to the prefix sums. See
 * factored.c. */
#include "release/choose.h"
#include "release/grid.h"
#include "release/plant.h"

static faro_status calibrate_tight(faro_release *r, faro_error *error) {
  (void)error;
  const faro_continual factors = faro_factored_factors(r->batches, r->repeats);
  const double shift = r->contribution.sensitivity * FARO_PLANT_LEVELS(factors.sensitivity);
  r->mu = faro_gaussian_mu(r->params.epsilon, r->params.delta);
  faro_set_gaussian(r, shift / r->mu, 1, 1);
  faro_set_scale(r, factors.prefix);
  if (r->deployed)
    *faro_grid_of(r)->basis = (faro_grid_basis){.mu = r->mu,
                                                .epsilon = r->params.epsilon,
                                                .delta = r->params.delta,
                                                .draws = (double)r->batches * (double)r->contribution.length};
  r->claim = faro_claim_make(
      r->params.epsilon, r->params.delta, FARO_TRUST_JOINT, true,
      "exact Gaussian mechanism (Balle & Wang 2018) on the factored prefix sums, column norm %.4g",
      factors.sensitivity);
  return FARO_OK;
}

const faro_release_kind faro_release_central_factored = {
    .name = "central-factored",
    .summary = "correlated Gaussian noise by the square-root factorisation; the server is trusted",
    .cite = "Dvijotham et al. 2024",
    .trust = FARO_TRUST_JOINT,
    .least_batch = 1,
    .weighs = true,
    .mechanism = &faro_mechanism_factored,
    .calibrate = {NULL, NULL, calibrate_tight},
    .choose_schedule = faro_choose_continual,
};
