/* local-laplace: every user adds Laplace noise before sending; epsilon alone, delta is 0. 003 Alg. 2. */
#include "release/kind.h"

const faro_release_kind faro_release_local_laplace = {
    .name = "local-laplace",
    .summary = "Laplace noise at every user, delta 0; nobody is trusted",
    .trust = FARO_TRUST_LOCAL,
    .least_batch = 1,
    .phases = true,
    .splits = true,
    .calibrate = {faro_laplace_calibrate, NULL, faro_laplace_calibrate},
    .thicken = faro_laplace_thicken,
    .randomize = faro_laplace_randomize,
    FARO_REAL_KIND,
};
