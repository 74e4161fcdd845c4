/* shuffle-amplified: every user adds Gaussian noise, a shuffler permutes each batch of B, and the
 * noise may be smaller than in the local model by about sqrt(B). P_Amp, 000 Alg. 2-4. */
#include <math.h>

#include "release/kind.h"

/* 000 Theorem B.1: an (epsilon0, delta0)-local randomizer with epsilon0 = epsilon sqrt(B / ln(2/delta)),
 * delta0 = delta / B, for epsilon <= sqrt(ln(2/delta) / B).
 * DEVIATION: the theorem states "O(epsilon, delta)"; with its constants in place Lemma B.4 gives
 * about (4 epsilon, 3 delta) and more, and for small batches nothing. So (epsilon, delta) itself is
 * never called proven here; the claim says what the lemma does prove. */
static faro_status calibrate_paper(faro_release *r, faro_error *error) {
  (void)error;
  const double epsilon = r->params.epsilon;
  const double delta = r->params.delta;
  const double batch = (double)r->params.batch;
  const double sigma = 4 * sqrt(2 * log(2.5 * batch / delta) * log(2 / delta)) / (epsilon * sqrt(batch));
  faro_set_gaussian(r, sigma, 1, 1);
  faro_set_scale(r, sqrt((double)r->params.horizon));
  const double epsilon0 = epsilon * sqrt(batch / log(2 / delta));
  double amplified = 0;
  double total = 0;
  if (epsilon0 <= 1 &&
      faro_shuffle_closed_form(epsilon0, delta / batch, batch, delta / 2, &amplified, &total))
    r->claim = faro_claim_make(epsilon, delta, FARO_TRUST_SHUFFLE, false,
                               "000 Theorem B.1 holds up to constants: its lemma proves (%.3g, %.3g)",
                               amplified, total);
  else
    r->claim = faro_claim_make(epsilon, delta, FARO_TRUST_SHUFFLE, false,
                               "outside the range of 000 Theorem B.1 and Lemma B.4 (batch %g)", batch);
  return FARO_OK;
}

static faro_status calibrate_figure(faro_release *r, faro_error *error) {
  (void)error;
  const double d = (double)r->contribution.dimension;
  const double batch = (double)r->params.batch;
  const double sigma = sqrt(log(2.5 * batch / r->params.delta)) / (r->params.epsilon * sqrt(batch));
  faro_set_gaussian(r, sigma, 1, sqrt(0.5)); /* (N + N')/2 of independent entries */
  faro_set_scale(r, sqrt((double)r->params.horizon));
  r->gamma = sigma * sqrt((double)r->params.horizon * d);
  r->claim = faro_claim_make(r->params.epsilon, r->params.delta, FARO_TRUST_SHUFFLE, false,
                             "constants of the published figures, which no theorem backs");
  return FARO_OK;
}

/* 000 Alg. 3: a uniform permutation of the batch. */
static size_t mix(const faro_release *r, void *batch, faro_rng *rng) {
  faro_exact_shuffle(rng, batch, r->params.batch, r->message_size);
  return r->params.batch;
}

/* 000 Cor. B.2, without its unknown constant. */
static uint64_t choose_batch(const faro_release *r) {
  const double t = (double)r->params.horizon;
  const double d = (double)r->contribution.dimension;
  const double logs = log(t / r->params.delta) * log(2 / r->params.delta);
  return (uint64_t)ceil(pow(d * r->params.epsilon * r->params.epsilon / logs, -0.2) * pow(t, 0.6));
}

const faro_release_kind faro_release_shuffle_amplified = {
    .name = "shuffle-amplified",
    .summary = "Gaussian noise at every user, amplified by a shuffler over each batch",
    .trust = FARO_TRUST_SHUFFLE,
    .least_batch = 2,
    .choose_batch = choose_batch,
    .calibrate = {calibrate_paper, calibrate_figure, NULL},
    .absorb = faro_real_absorb,
    .thicken = faro_gaussian_thicken,
    .randomize = faro_gaussian_randomize,
    .mix = mix,
    .collect = faro_real_collect,
    .publish = faro_real_publish,
};
