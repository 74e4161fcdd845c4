/* shuffle-laplace: every user adds Laplace noise that gives epsilon0 alone, and a shuffler permutes each batch; amplification
 * of a pure local randomizer makes that (epsilon, delta), with epsilon0 > epsilon for large batches. 003 Alg. 3. */
#include <math.h>

#include "release/kind.h"

/* Users who are mixed with each other: the batch, or, where one shuffler serves several releases of a phase, all of them. */
static double crowd_of(const faro_release *r) {
  return faro_honest(r, 1, (double)(r->params.crowd > 0 ? r->params.crowd : r->params.batch));
}

/* Whether the closed form lets epsilon0 pass. */
static bool passes(const faro_release *r, double epsilon0) {
  double epsilon = 0;
  double delta = 0;
  return faro_shuffle_closed_form(epsilon0, 0, crowd_of(r), r->params.delta, &epsilon, &delta) &&
         epsilon <= r->params.epsilon;
}

/* 003's f^-1(epsilon): the largest epsilon0 that passes, and epsilon itself where none above it does. The end of the
 * bisection that satisfies the guarantee is returned.
 * DEVIATION: 003 inverts f everywhere; the theorem behind it holds for epsilon0 <= ln(n / (16 ln(2/delta))) only. */
static double paper_epsilon0(const faro_release *r) {
  double low = r->params.epsilon;
  double high = log(crowd_of(r) / (16 * log(2 / r->params.delta)));
  if (!(high > low) || !passes(r, low)) return low;
  if (passes(r, high)) return high;
  while (high - low > 1e-9 * high) {
    const double middle = low + (high - low) / 2;
    if (passes(r, middle)) low = middle;
    else high = middle;
  }
  return low;
}

static void set(faro_release *r, double epsilon0, double plain, const char *by) {
  faro_set_laplace(r, r->contribution.absolute / epsilon0);
  r->claim = faro_claim_make(r->params.epsilon, r->params.delta, FARO_TRUST_SHUFFLE, true,
                             "Laplace mechanism with epsilon0 %.4g at each user, %s", epsilon0,
                             epsilon0 > plain ? by : "without amplification, of which this batch gives none");
}

static faro_status calibrate_paper(faro_release *r, faro_error *error) {
  if (r->repeats > 1)
    return faro_fail(
        error, FARO_INVALID,
        "level must be event for shuffle-laplace under calibration paper: 003 has no theorem for "
        "users who return");
  set(r, paper_epsilon0(r), r->params.epsilon,
      "amplified by 003's closed form (Feldman, McMillan, Talwar 2021)");
  return FARO_OK;
}

static double amplified_epsilon0(const faro_release *r) {
  const faro_budget each = faro_composed_share(r);
  return faro_shuffle_local_epsilon(each.epsilon, each.delta, crowd_of(r), 0);
}

/* The least noise with amplification, a user's batches composed by the accountant; or without, epsilon a plain sum. */
static faro_status calibrate_tight(faro_release *r, faro_error *error) {
  (void)error;
  const double plain = r->params.epsilon / (double)r->repeats;
  set(r, fmax(plain, faro_kept(r, amplified_epsilon0)), plain,
      "amplified by shuffling (Feldman, McMillan, Talwar 2021, numerically)");
  return FARO_OK;
}

const faro_release_kind faro_release_shuffle_laplace = {
    .name = "shuffle-laplace",
    .summary = "Laplace noise at every user, amplified by a shuffler over each batch",
    .trust = FARO_TRUST_SHUFFLE,
    .least_batch = 2,
    .phases = true,
    .assigns = true,
    .choose_batch = faro_amplified_batch,
    .calibrate = {calibrate_paper, NULL, calibrate_tight},
    .thicken = faro_laplace_thicken,
    .randomize = faro_laplace_randomize,
    .mix = faro_real_mix,
    FARO_REAL_KIND,
};
