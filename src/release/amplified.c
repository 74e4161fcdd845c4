/* shuffle-amplified: every user adds Gaussian noise, a shuffler permutes each batch of B, and the
 * noise may be smaller than in the local model by about sqrt(B). P_Amp, 000 Alg. 2-4. */
#include <math.h>

#include "release/kind.h"

/* 000 Theorem B.1: noise for a local randomizer of epsilon0 = epsilon sqrt(B / ln(2/delta)) and delta0 = delta / B,
 * for epsilon <= sqrt(ln(2/delta) / B).
 * DEVIATION: the theorem states "O(epsilon, delta)"; with its constants in place Lemma B.4 gives several times that,
 * and for small batches nothing. So (epsilon, delta) is proven only if the lemma, fed with what this noise really
 * gives each user, says so; the claim tells what it does say. */
static faro_status calibrate_paper(faro_release *r, faro_error *error) {
  (void)error;
  const double epsilon = r->params.epsilon;
  const double delta = r->params.delta;
  const double batch = (double)r->params.batch;
  const double sigma = 4 * sqrt(2 * log(2.5 * batch / delta) * log(2 / delta)) / (epsilon * sqrt(batch));
  faro_set_gaussian(r, sigma, 1, 1);
  faro_set_scale(r, sqrt((double)r->params.horizon));
  const double epsilon0 = faro_gaussian_epsilon(faro_gaussian_shift(r, sigma, 1, 1), delta / batch);
  double amplified = 0;
  double total = 0;
  if (faro_shuffle_closed_form(epsilon0, delta / batch, batch, delta / 2, &amplified, &total))
    r->claim = faro_claim_make(epsilon, delta, FARO_TRUST_SHUFFLE, amplified <= epsilon && total <= delta,
                               "000 Theorem B.1 hides constants; its Lemma B.4 proves (%.3g, %.3g)",
                               amplified, total);
  else
    r->claim = faro_claim_make(
        epsilon, delta, FARO_TRUST_SHUFFLE, false,
        "000 Theorem B.1 hides constants, and its Lemma B.4 says nothing for a batch of %g", batch);
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

/* The least noise over a few ways to split delta, and without amplification when that is less: a local randomizer is
 * private whatever the shuffler does. */
static faro_status calibrate_tight(faro_release *r, faro_error *error) {
  (void)error;
  const double epsilon = r->params.epsilon;
  const double delta = r->params.delta;
  const double batch = (double)r->params.batch;
  double mu = faro_gaussian_mu(epsilon, delta);
  bool amplified = false;
  for (double share = 0.5; share > 1e-3; share /= 4) { /* of delta, for the local randomizers' own deltas */
    const double delta0 = share * delta / (2 * (exp(epsilon) + 1) * batch); /* (1 + e^-epsilon0 / 2) < 2 */
    const double epsilon0 = faro_shuffle_local_epsilon(epsilon, delta, batch, delta0);
    const double local = faro_gaussian_mu(epsilon0, delta0);
    amplified |= local > mu;
    mu = fmax(mu, local);
  }
  faro_set_gaussian(r, r->contribution.sensitivity / mu, 1, 1);
  faro_set_scale(r, sqrt((double)r->params.horizon));
  r->claim = faro_claim_make(
      epsilon, delta, FARO_TRUST_SHUFFLE, true, "%s",
      amplified ? "exact Gaussian mechanism, amplified by shuffling (Feldman, McMillan, Talwar 2021, "
                  "numerically)"
                : "exact Gaussian mechanism (Balle & Wang 2018); this batch amplifies nothing");
  return FARO_OK;
}

/* 000 Alg. 3: a uniform permutation of the batch. */
static void mix(const faro_release *r, void *batch, faro_rng *rng) {
  faro_exact_shuffle(rng, batch, r->params.batch, r->message_size);
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
    .calibrate = {calibrate_paper, calibrate_figure, calibrate_tight},
    .size = sizeof(faro_real),
    .init = faro_real_init,
    .absorb = faro_real_absorb,
    .thicken = faro_gaussian_thicken,
    .randomize = faro_gaussian_randomize,
    .mix = mix,
    .sound = faro_real_sound,
    .collect = faro_real_collect,
    .publish = faro_real_publish,
};
