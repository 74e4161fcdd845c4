/* none: the raw sums. For comparison, and for data that is not private. */
#include "release/choose.h"

static faro_status calibrate(faro_release *r, faro_error *error) {
  (void)error;
  r->claim = faro_claim_none();
  return FARO_OK;
}

const faro_release_kind faro_release_none = {
    .name = "none",
    .summary = "raw sums, no privacy",
    .trust = FARO_TRUST_NONE,
    .least_batch = 1,
    .phases = true,
    .mechanism = &faro_mechanism_real,
    .calibrate = {calibrate, calibrate, calibrate},
    .choose_schedule = faro_choose_often,
};
