/* shuffle-amplified: every user adds Gaussian noise, a shuffler permutes each batch of B, and the
 * noise may be smaller than in the local model by about sqrt(B). P_Amp, Chowdhury & Zhou 2022, Alg.
 * 2-4; docs/privacy.md, Amplification by shuffling. */
#include <math.h>

#include "base/text.h"
#include "release/choose.h"
#include "release/grid.h"
#include "release/kinds/amplified.h"
#include "release/shares.h"

/* What the paper's own lemma says about the noise: a batch is (epsilon_m, delta_m)-private, and M0
 * of them compose by its Theorem E.2 (or as a plain sum), with what their deltas leave of delta as
 * slack. */
static void claim_paper(faro_release *r, double epsilon0, faro_budget each) {
  const double epsilon = r->params.epsilon;
  const double delta = r->params.delta;
  const double batch = (double)r->params.batch;
  const double m0 = (double)r->repeats;
  char pair[FARO_PAIR_SIZE];
  const char *theorem = r->repeats > 1 ? "E.3" : "B.1";
  double amplified = 0;
  double total = 0;
  if (!faro_shuffle_closed_form(epsilon0, each.delta / batch, batch, each.delta / 2, &amplified, &total)) {
    r->claim = faro_claim_make(epsilon, delta, FARO_TRUST_SHUFFLE, false,
                               "Chowdhury & Zhou 2022, Theorem %s, hides constants, and its Lemma B.4 says "
                               "nothing for a batch of %g",
                               theorem, batch);
    return;
  }
  const double slack = fmax(0, delta - m0 * total);
  const double composed = faro_advanced_epsilon(amplified, m0, slack);
  r->claim = faro_claim_make(epsilon, delta, FARO_TRUST_SHUFFLE, composed <= epsilon && m0 * total <= delta,
                             "Chowdhury & Zhou 2022, Theorem %s, hides constants; its Lemma B.4 proves %s",
                             theorem, faro_pair_above(composed, m0 * total + slack, pair));
}

/* Chowdhury & Zhou 2022, Corollary B.3: every message is (epsilon0, delta)-private by itself, and
 * so are shuffled ones. How much less shuffling leaves has hidden constants, and is not claimed. */
static faro_status calibrate_alone(faro_release *r) {
  const double delta = r->params.delta;
  const double target = r->params.local_epsilon;
  const double sigma = 4 * sqrt(2 * log(2.5 / delta)) / target;
  faro_set_gaussian(r, sigma, 1, 1);
  faro_set_scale(r, sqrt(faro_total_noises(r)));
  const double mu = faro_gaussian_shift(r, sigma, 1, 1);
  faro_imply_gaussian(r, mu);
  const double alone = r->claim.local_epsilon;
  r->params.epsilon = target;
  faro_claim claim = faro_claim_make(target, delta, FARO_TRUST_SHUFFLE, alone <= target,
                                     "Chowdhury & Zhou 2022, Corollary B.3%s",
                                     alone <= target ? "" : ", outside its range (epsilon <= 1)");
  claim.local_epsilon = alone;
  claim.local_delta = delta;
  r->claim = claim;
  return FARO_OK;
}

/* Chowdhury & Zhou 2022, Theorem B.1: noise for a local randomizer of epsilon0 = epsilon sqrt(B /
 * ln(2/delta)) and delta0 = delta / B, for epsilon <= sqrt(ln(2/delta) / B); for returning users
 * with epsilon_m and delta_m (Theorem E.3).
 *
 * DEVIATION: the theorem states "O(epsilon, delta)". With its constants in place, Lemma B.4 gives
 * several times that, and for small batches nothing. So (epsilon, delta) is proven only if the
 * lemma, with what this noise really gives each user, says so; the claim states what the lemma does
 * say.
 *
 * DEVIATION: the sigma printed in Theorem E.3 has ln(2/delta) where its proof gives
 * sqrt(ln(2/delta) ln(4 M/delta)). faro follows the proof. */
static faro_status calibrate_paper(faro_release *r, faro_error *error) {
  (void)error;
  if (r->params.local_epsilon > 0) return calibrate_alone(r);
  const faro_budget each = faro_advanced_share(r);
  const double batch = (double)r->params.batch;
  const double sigma =
      4 * sqrt(2 * log(2.5 * batch / each.delta) * log(2 / each.delta)) / (each.epsilon * sqrt(batch));
  faro_set_gaussian(r, sigma, 1, 1);
  faro_set_scale(r, sqrt(faro_total_noises(r)));
  const double mu = faro_gaussian_shift(r, sigma, 1, 1);
  claim_paper(r, faro_gaussian_epsilon(mu, each.delta / batch), each);
  faro_imply_gaussian(r, mu);
  return FARO_OK;
}

static faro_status calibrate_figure(faro_release *r, faro_error *error) {
  (void)error;
  const double d = (double)r->contribution.dimension;
  const double batch = (double)r->params.batch;
  const double sigma = sqrt(log(2.5 * batch / r->params.delta)) / (r->params.epsilon * sqrt(batch));
  faro_set_gaussian(r, sigma, 1, sqrt(0.5)); /* (N + N')/2 of independent entries */
  faro_set_scale(r, sqrt(faro_total_noises(r)));
  r->gamma = sigma * sqrt((double)r->params.horizon * d);
  r->claim = faro_figure_claim(r);
  return FARO_OK;
}

/* The largest mu of a user's message with which a shuffled batch spends at most `each`, over a few
 * ways to split delta. `batch` counts honest users: mixing in the other messages is something that
 * an adversary could do. */
static faro_grid_basis amplify(faro_budget each, double batch) {
  faro_grid_basis best = {0};
  for (double share = 0.5; share > 1e-3; share /= 4) { /* share of delta for the messages' deltas */
    /* (1 + e^-epsilon0 / 2) < 2 */
    const double delta0 = share * each.delta / (2 * (exp(each.epsilon) + 1) * batch);
    const double epsilon0 = faro_shuffle_local_epsilon(each.epsilon, each.delta, batch, delta0);
    const double mu = faro_gaussian_mu(epsilon0, delta0);
    if (mu > best.mu) best = (faro_grid_basis){.mu = mu, .epsilon = epsilon0, .delta = delta0};
  }
  return best;
}

/* One message of a batch of `users`, which is (epsilon0, delta0)-private by itself. */
static faro_grid_basis amplified(const faro_release *r, uint64_t users) {
  static faro_memo memo;
  double kept[FARO_MEMO_VALUES] = {0};
  double key[FARO_MEMO_KEYS];
  faro_calibration_key(r, users, key);
  if (!faro_memo_find(&memo, key, kept)) {
    const faro_grid_basis made = amplify(faro_composed_share(r), faro_honest(r, 1, (double)users));
    kept[0] = made.mu;
    kept[1] = made.epsilon;
    kept[2] = made.delta;
    faro_memo_keep(&memo, key, kept);
  }
  return (faro_grid_basis){
      .mu = kept[0], .epsilon = kept[1], .delta = kept[2], .draws = (double)r->contribution.length};
}

/* What each of a user's M0 messages is without amplification: together they are a Gaussian
 * mechanism with mu^2 M0. */
static faro_grid_basis plain(const faro_release *r) {
  const double whole = faro_gaussian_mu(r->params.epsilon, r->params.delta);
  return (faro_grid_basis){.mu = whole,
                           .epsilon = r->params.epsilon,
                           .delta = r->params.delta,
                           .draws = (double)r->repeats * (double)r->contribution.length};
}

static double plain_mu(const faro_release *r) { return plain(r).mu / sqrt((double)r->repeats); }

static double amplified_noise(const faro_release *r, uint64_t users) {
  return r->contribution.sensitivity / amplified(r, users).mu;
}

static double plain_noise(const faro_release *r, uint64_t users) {
  (void)users;
  return r->contribution.sensitivity / plain_mu(r);
}

/* For users who come once: the lesser of the two in every batch. A local randomizer is private
 * whatever the shuffler does. */
static double lesser_noise(const faro_release *r, uint64_t users) {
  return fmin(amplified_noise(r, users), plain_noise(r, users));
}

static faro_status calibrate_tight(faro_release *r, faro_error *error) {
  double sigma = 0;
  const bool less = faro_noise_is_less(r, amplified_noise, plain_noise);
  const faro_status status = faro_set_factors(r,
                                              r->repeats == 1 ? lesser_noise
                                              : less          ? amplified_noise
                                                              : plain_noise,
                                              &sigma, error);
  if (status != FARO_OK) return status;
  faro_set_gaussian(r, sigma, 1, 1);
  faro_set_scale(r, sqrt(faro_total_noises(r)));
  bool amplifies = false;
  for (size_t c = 0; c < r->schedule.classes; c++) {
    const faro_grid_basis shuffled = amplified(r, r->schedule.size[c]);
    const bool here = r->repeats == 1 ? shuffled.mu > plain_mu(r) : less;
    faro_grid_of(r)->basis[c] = here ? shuffled : plain(r);
    amplifies |= here;
  }
  r->claim = faro_claim_make(
      r->params.epsilon, r->params.delta, FARO_TRUST_SHUFFLE, true, "%s%s",
      amplifies
          ? "exact Gaussian mechanism, amplified by shuffling (Feldman, McMillan, Talwar 2021, numerically)"
          : "exact Gaussian mechanism (Balle & Wang 2018); this batch amplifies nothing",
      r->repeats == 1 ? ""
      : amplifies     ? "; the batches of a user composed by privacy-loss distributions"
                      : "; mu^2 adds over the batches of a user");
  faro_imply_gaussian(r, r->contribution.sensitivity / (sigma * faro_least_factor(r)));
  return FARO_OK;
}

/* Chowdhury & Zhou 2022, Cor. B.2, without its unknown constant; E.4 for users who return, as for
 * bit sums. */
void faro_amplified_choose(const faro_release *r, faro_release_params *params) {
  const double t = (double)r->params.horizon;
  const double d = (double)r->contribution.dimension;
  const faro_budget each = faro_advanced_share(r);
  const double logs = log(t / each.delta) * log(2 / each.delta);
  const double alone = params->local_epsilon; /* Corollary B.3 */
  if (alone > 0) {
    params->batch = (uint64_t)ceil(pow(t * t * t * log(1 / each.delta) / (d * alone * alone), 0.25));
    return;
  }
  params->batch = (uint64_t)ceil(pow(d * each.epsilon * each.epsilon / logs, -0.2) * pow(t, 0.6));
  (void)faro_choose_mixed(r, faro_gaussian_sigma(r), params);
}

const faro_release_kind faro_release_shuffle_amplified = {
    .name = "shuffle-amplified",
    .summary =
        "noise at every user, amplified by a shuffler; Gaussian or shuffle-response, whichever is less",
    .cite = "Chowdhury & Zhou 2022",
    .trust = FARO_TRUST_SHUFFLE,
    .least_batch = 2,
    .phases = true,
    .weighs = true,
    .blocks = true,
    .mechanism = &faro_mechanism_grid,
    .alternative = &faro_release_shuffle_response,
    .calibrate = {calibrate_paper, calibrate_figure, calibrate_tight},
    .choose_schedule = faro_amplified_choose,
};

const faro_release_kind faro_release_shuffle_gaussian = {
    .name = "shuffle-gaussian",
    .summary = "Gaussian noise at every user, amplified by a shuffler over each batch",
    .cite = "Chowdhury & Zhou 2022",
    .trust = FARO_TRUST_SHUFFLE,
    .least_batch = 2,
    .phases = true,
    .weighs = true,
    .blocks = true,
    .mechanism = &faro_mechanism_grid,
    .calibrate = {calibrate_paper, calibrate_figure, calibrate_tight},
    .choose_schedule = faro_amplified_choose,
};
