/* local-bits: every user adds binomial noise that is enough by itself, and nobody is trusted: local
 * with binomial noise. See bits.c. */
#include <math.h>

#include "release/bits.h"
#include "release/choose.h"

const faro_release_kind faro_release_local_bits = {
    .name = "local-bits",
    .summary = "binomial noise at every user; nobody is trusted",
    .cite = "Chowdhury & Zhou 2022",
    .trust = FARO_TRUST_LOCAL,
    .least_batch = 1,
    .phases = true,
    .splits = true,
    .weighs = true,
    .blocks = true,
    .mechanism = &faro_mechanism_bits,
    .calibrate = {NULL, NULL, faro_bits_tight},
    .choose_schedule = faro_choose_local,
};
