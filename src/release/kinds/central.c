/* central: a trusted server adds Gaussian noise to the sum of each batch. Different batches have
 * different users, so every batch has the whole budget. The noise of running sums grows with the
 * square root of the number of releases; that of a tree grows with its logarithm. For algorithms
 * that need the sum of each batch separately: Li, Zhou & Ji 2022, Alg. 1, central model. */
#include <math.h>

#include "base/text.h"
#include "release/choose.h"
#include "release/real.h"
#include "release/shares.h"

static void set(faro_release *r, double sigma) {
  faro_set_gaussian(r, sigma, 1, 1);
  faro_set_scale(r, sqrt(faro_total_noises(r)));
}

/* Li, Zhou & Ji 2022, section 4.1 and App. C: sigma_nc. DEVIATION: they have no theorem for
 * returning users; a batch's share is that of advanced composition. What is proven comes from the
 * exact Gaussian mechanism: mu^2 adds. */
static faro_status calibrate_paper(faro_release *r, faro_error *error) {
  (void)error;
  const double sigma = faro_classical_sigma(r, faro_advanced_share(r));
  set(r, sigma);
  const double shift = sqrt((double)r->repeats) * r->contribution.sensitivity / sigma;
  char text[FARO_NUMBER_SIZE];
  const double proven = faro_gaussian_epsilon(shift, r->params.delta);
  r->mu = shift;
  r->claim = faro_claim_make(
      r->params.epsilon, r->params.delta, FARO_TRUST_JOINT, proven <= r->params.epsilon,
      "Gaussian noise of Li, Zhou & Ji 2022 on each batch%s; the exact Gaussian mechanism gives epsilon %s",
      r->repeats > 1 ? " (no theorem there for returning users)" : "", faro_above(proven, 3, text));
  return FARO_OK;
}

/* One Gaussian mechanism per batch that a user is in: mu^2 adds. */
static faro_status calibrate_tight(faro_release *r, faro_error *error) {
  (void)error;
  const double shift = sqrt((double)r->repeats) * r->contribution.sensitivity;
  r->mu = faro_gaussian_mu(r->params.epsilon, r->params.delta);
  set(r, shift / r->mu);
  r->claim =
      faro_claim_make(r->params.epsilon, r->params.delta, FARO_TRUST_JOINT, true,
                      "exact Gaussian mechanism (Balle & Wang 2018) on each batch, sensitivity %.4g", shift);
  return FARO_OK;
}

static void choose(const faro_release *r, faro_release_params *params) {
  if (!faro_choose_blocks(r, faro_gaussian_sigma(r), params) && faro_learns(r))
    params->batch = faro_choose_uniform(r);
}

const faro_release_kind faro_release_central = {
    .name = "central",
    .summary = "Gaussian noise on the sum of each batch; the server is trusted",
    .cite = "Li, Zhou & Ji 2022",
    .trust = FARO_TRUST_JOINT,
    .least_batch = 1,
    .phases = true,
    .splits = true,
    .weighs = true,
    .blocks = true,
    .mechanism = &faro_mechanism_real,
    .calibrate = {calibrate_paper, NULL, calibrate_tight},
    .choose_schedule = choose,
};
