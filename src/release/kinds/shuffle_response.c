/* shuffle-response: answers of local-response, amplified by a shuffler over each batch. See
 * response.c and docs/privacy.md, Responses. */
#include "release/kinds/amplified.h"
#include "release/response.h"
#include "release/shares.h"

/* At least what is private without amplification. */
static double epsilon0_of(const faro_release *r, uint64_t users, double share) {
  static faro_memo memo;
  double made[FARO_MEMO_VALUES] = {0};
  double key[FARO_MEMO_KEYS];
  faro_calibration_key(r, users, key);
  key[FARO_MEMO_KEYS - 1] = share;
  if (faro_memo_find(&memo, key, made)) return *made;
  const faro_budget each = faro_composed_share(r);
  *made = faro_shuffle_response_local_epsilon(each.epsilon, each.delta, faro_company(r, users), share);
  faro_memo_keep(&memo, key, made);
  return *made;
}

static faro_status calibrate_tight(faro_release *r, faro_error *error) {
  const faro_status status = faro_response_set(r, epsilon0_of, error);
  if (status != FARO_OK) return status;
  r->claim = faro_claim_make(
      r->params.epsilon, r->params.delta, FARO_TRUST_SHUFFLE, true,
      "randomized response, amplified by shuffling (docs/privacy.md, Lemma R, numerically)%s",
      r->repeats == 1 ? "" : "; the batches of a user composed by privacy-loss distributions");
  faro_imply_pure(r, faro_response_most(r));
  return FARO_OK;
}

const faro_release_kind faro_release_shuffle_response = {
    .name = "shuffle-response",
    .summary = "answers of local-response, amplified by a shuffler over each batch",
    .cite = "Duchi, Jordan & Wainwright 2018",
    .trust = FARO_TRUST_SHUFFLE,
    .least_batch = 2,
    .phases = true,
    .weighs = true,
    .blocks = true,
    .mechanism = &faro_mechanism_response,
    .calibrate = {NULL, NULL, calibrate_tight},
    .choose_schedule = faro_amplified_choose,
};
