/* local-bits: every user adds binomial noise that protects alone; nobody is trusted. What local is for simulations, for
 * deployment. See bits.c. */
#include "release/bits.h"

static faro_status init(faro_release *r, faro_error *error) { return faro_bits_init(r, 1, 1, error); }

const faro_release_kind faro_release_local_bits = {
    .name = "local-bits",
    .summary = "binomial noise at every user; nobody is trusted",
    .trust = FARO_TRUST_LOCAL,
    .least_batch = 1,
    .phases = true,
    .init = init,
    .calibrate = {NULL, NULL, faro_bits_tighten},
    FARO_BITS_KIND,
};
