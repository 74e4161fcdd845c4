/* local-laplace: every user adds Laplace noise before sending. Pure epsilon: delta is 0. Hanna et
 * al. 2022, Alg. 2. */
#include <math.h>

#include "release/choose.h"
#include "release/shares.h"

static void choose(const faro_release *r, faro_release_params *params) {
  const double sigma = sqrt(2) * (double)r->repeats * r->contribution.absolute / r->params.epsilon;
  faro_choose_alone(r, sigma, params);
}

const faro_release_kind faro_release_local_laplace = {
    .name = "local-laplace",
    .summary = "Laplace noise at every user, delta 0; nobody is trusted",
    .cite = "Hanna et al. 2022",
    .trust = FARO_TRUST_LOCAL,
    .least_batch = 1,
    .phases = true,
    .splits = true,
    .blocks = true,
    .mechanism = &faro_mechanism_real,
    .calibrate = {faro_laplace_calibrate, NULL, faro_laplace_calibrate},
    .choose_schedule = choose,
};
