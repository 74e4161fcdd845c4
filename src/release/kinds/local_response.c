/* local-response: every user answers by direction response. Pure epsilon, messages of a few bits.
 * See response.c and docs/privacy.md, Responses. */
#include <math.h>

#include "release/choose.h"
#include "release/response.h"
#include "release/shares.h"

/* What each of a user's M0 messages may spend: the exact accountant, or a plain sum. */
static double epsilon0_of(const faro_release *r, uint64_t users, double share) {
  (void)users;
  (void)share;
  return fmax(faro_composed_share(r).epsilon, r->params.epsilon / (double)r->repeats);
}

static faro_status calibrate_tight(faro_release *r, faro_error *error) {
  const bool composed = r->repeats > 1;
  faro_status status = FARO_OK;
  if (r->contribution.form == FARO_FORM_REWARDS) faro_response_set_answers(r, epsilon0_of(r, 1, 0.5));
  else status = faro_response_set(r, epsilon0_of, error);
  if (status != FARO_OK) return status;
  r->claim = faro_claim_make(r->params.epsilon, composed ? r->params.delta : 0, FARO_TRUST_LOCAL, true,
                             composed ? "randomized response; the messages of a user composed exactly"
                                      : "randomized response (Warner 1965); delta is 0");
  return FARO_OK;
}

static void choose(const faro_release *r, faro_release_params *params) {
  if (r->contribution.form == FARO_FORM_REWARDS) { /* sums without noise of their own */
    faro_choose_often(r, params);
    return;
  }
  const double sigma = faro_response_choose(epsilon0_of(r, 1, 0.5), r->contribution.radius).length;
  faro_choose_alone(r, sigma, params);
}

const faro_release_kind faro_release_local_response = {
    .name = "local-response",
    .summary =
        "every user answers with one of a few random directions near the data; delta 0; nobody is trusted",
    .cite = "Duchi, Jordan & Wainwright 2018",
    .trust = FARO_TRUST_LOCAL,
    .least_batch = 1,
    .phases = true,
    .weighs = true,
    .blocks = true,
    .mechanism = &faro_mechanism_response,
    .calibrate = {NULL, NULL, calibrate_tight},
    .choose_schedule = choose,
};
