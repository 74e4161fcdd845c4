/* local-bits: every user adds binomial noise that is enough by itself, and nobody is trusted: local
 * with binomial noise. See bits.c. */
#include <math.h>

#include "release/bits.h"
#include "release/choose.h"

static void choose(const faro_release *r, faro_release_params *params) {
  const double shift = sqrt((double)r->repeats) * r->contribution.sensitivity;
  const double sigma = shift / faro_gaussian_mu(r->params.epsilon, r->params.delta);
  if (!faro_choose_blocks(r, sigma, true, 0.5, params)) faro_choose_continual(r, params);
}

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
    .choose_schedule = choose,
};
