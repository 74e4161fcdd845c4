/* central-bits: a trusted server adds integer noise at the nodes of a binary tree over the
 * releases: central-tree with binomial noise. With a single batch the tree is one node: the
 * binomial mechanism, exact and fit for deployment. See bits.c, and docs/privacy.md, Trees of bit
 * sums (Lemma 5). */
#include "release/bits.h"
#include "release/choose.h"

/* Nodes of 1, 2, 4, ... batches, while one fits. */
static faro_status shape(const faro_release *r, size_t *levels, uint64_t *degree, faro_error *error) {
  (void)error;
  while (r->batches >> *levels) ++*levels;
  *degree = 2;
  return FARO_OK;
}

const faro_release_kind faro_release_central_bits = {
    .name = "central-bits",
    .summary = "binomial noise at the nodes of a binary tree; the server is trusted",
    .cite = "Tenenbaum et al. 2023",
    .trust = FARO_TRUST_JOINT,
    .least_batch = 1,
    .phases = true,
    .splits = true,
    .weighs = true,
    .mechanism = &faro_mechanism_bits,
    .shape = shape,
    .calibrate = {NULL, NULL, faro_bits_tight},
    .choose_schedule = faro_choose_continual,
};
