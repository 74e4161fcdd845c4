/* shuffle-laplace: every user adds Laplace noise that gives epsilon0 by itself, and a shuffler
 * permutes each batch. Amplification of a pure local randomizer makes that (epsilon, delta), with
 * epsilon0 > epsilon for large batches. Hanna et al. 2022, Alg. 3; docs/privacy.md, The Laplace
 * mechanism. */
#include <math.h>

#include "privacy/bisect.h"
#include "release/kinds/amplified.h"
#include "release/real.h"
#include "release/shares.h"

/* Whether the closed form accepts epsilon0. */
static bool passes(double epsilon0, const void *context) {
  const faro_release *r = context;
  double epsilon = 0;
  double delta = 0;
  return faro_shuffle_closed_form(epsilon0, 0, faro_company(r, r->params.batch), r->params.delta, &epsilon,
                                  &delta) &&
         epsilon <= r->params.epsilon;
}

static bool near(double low, double high) { return !(high - low > 1e-9 * high); }

/* f^-1(epsilon) of Hanna et al. 2022: the largest epsilon0 that passes, or epsilon itself if no
 * larger one does. DEVIATION: they invert f everywhere; the theorem behind it holds only for
 * epsilon0 <= ln(n / (16 ln(2/delta))). */
static double paper_epsilon0(const faro_release *r) {
  const double low = r->params.epsilon;
  const double high = log(faro_company(r, r->params.batch) / (16 * log(2 / r->params.delta)));
  if (!(high > low) || !passes(low, r)) return low;
  if (passes(high, r)) return high;
  return faro_bisect(&(faro_bisection){.holds = passes, .context = r, .near = near}, low, high);
}

/* epsilon0 of the messages with most noise, and the largest of all. */
static void set(faro_release *r, double epsilon0, double most, double plain, const char *by) {
  faro_set_laplace(r, r->contribution.absolute / epsilon0);
  r->claim = faro_claim_make(r->params.epsilon, r->params.delta, FARO_TRUST_SHUFFLE, true,
                             "Laplace mechanism with epsilon0 %.4g at each user, %s", epsilon0,
                             epsilon0 > plain ? by : "this batch amplifies nothing");
  faro_imply_pure(r, most);
}

static faro_status calibrate_paper(faro_release *r, faro_error *error) {
  const faro_status status = faro_refuse_returning(r, "", "Hanna et al. 2022", error);
  if (status != FARO_OK) return status;
  const double epsilon0 = paper_epsilon0(r);
  set(r, epsilon0, epsilon0, r->params.epsilon,
      "amplified by the closed form of Hanna et al. 2022 (Feldman, McMillan, Talwar 2021)");
  return FARO_OK;
}

static double amplified_epsilon0(const faro_release *r, uint64_t users) {
  static faro_memo memo;
  double made[FARO_MEMO_VALUES] = {0};
  double key[FARO_MEMO_KEYS];
  faro_calibration_key(r, users, key);
  if (faro_memo_find(&memo, key, made)) return *made;
  const faro_budget each = faro_composed_share(r);
  *made = faro_shuffle_local_epsilon(each.epsilon, each.delta, faro_company(r, users), 0);
  faro_memo_keep(&memo, key, made);
  return *made;
}

static double plain_epsilon0(const faro_release *r) { return r->params.epsilon / (double)r->repeats; }

static double amplified_noise(const faro_release *r, uint64_t users) {
  return r->contribution.absolute / amplified_epsilon0(r, users);
}

static double plain_noise(const faro_release *r, uint64_t users) {
  (void)users;
  return r->contribution.absolute / plain_epsilon0(r);
}

/* For users who come once: the lesser of the two in every batch. */
static double lesser_noise(const faro_release *r, uint64_t users) {
  return fmin(amplified_noise(r, users), plain_noise(r, users));
}

/* The least noise with amplification, a user's batches composed by the accountant; or without,
 * epsilon a plain sum. */
static faro_status calibrate_tight(faro_release *r, faro_error *error) {
  double b = 0;
  const bool less = faro_noise_is_less(r, amplified_noise, plain_noise);
  const faro_status status = faro_set_factors(r,
                                              r->repeats == 1 ? lesser_noise
                                              : less          ? amplified_noise
                                                              : plain_noise,
                                              &b, error);
  if (status != FARO_OK) return status;
  double most = r->repeats == 1 || !less ? plain_epsilon0(r) : 0;
  for (size_t c = 0; c < r->schedule.classes && (r->repeats == 1 || less); c++)
    most = fmax(most, amplified_epsilon0(r, r->schedule.size[c]));
  set(r, r->contribution.absolute / b, most, plain_epsilon0(r),
      "amplified by shuffling (Feldman, McMillan, Talwar 2021, numerically)");
  return FARO_OK;
}

const faro_release_kind faro_release_shuffle_laplace = {
    .name = "shuffle-laplace",
    .summary = "Laplace noise at every user, amplified by a shuffler over each batch",
    .cite = "Hanna et al. 2022",
    .trust = FARO_TRUST_SHUFFLE,
    .least_batch = 2,
    .phases = true,
    .splits = true, /* each batch is (epsilon_b, delta_b)-private, and the pair follows from M0 alone */
    .assigns = true,
    .blocks = true,
    .mechanism = &faro_mechanism_real,
    .calibrate = {calibrate_paper, NULL, calibrate_tight},
    .choose_schedule = faro_amplified_choose,
};
