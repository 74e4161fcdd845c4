/* central-laplace: a trusted server adds Laplace noise to the sum of each batch. Pure epsilon:
 * delta is 0. Hanna et al. 2022, Alg. 1, for the rewards of one arm. */
#include <math.h>

#include "release/choose.h"
#include "release/shares.h"

static void choose(const faro_release *r, faro_release_params *params) {
  const double sigma = sqrt(2) * (double)r->repeats * r->contribution.absolute / r->params.epsilon;
  if (!faro_choose_blocks(r, sigma, params) && faro_learns(r)) params->batch = faro_choose_uniform(r);
}

const faro_release_kind faro_release_central_laplace = {
    .name = "central-laplace",
    .summary = "Laplace noise on the sum of each batch, delta 0; the server is trusted",
    .cite = "Hanna et al. 2022",
    .trust = FARO_TRUST_JOINT,
    .least_batch = 1,
    .phases = true,
    .splits = true,
    .blocks = true,
    .mechanism = &faro_mechanism_real,
    .calibrate = {faro_laplace_calibrate, NULL, faro_laplace_calibrate},
    .choose_schedule = choose,
};
