/* central-bits: a trusted server adds whole-numbered noise at the nodes of a binary tree over the releases: what
 * central-tree is for simulations, for deployment. See bits.c. */
#include "release/bits.h"

/* Nodes of 1, 2, 4, ... batches, as long as one fits. */
static faro_status init(faro_release *r, faro_error *error) {
  size_t levels = 1;
  while (r->batches >> levels) levels++;
  return faro_bits_init(r, levels, 2, error);
}

const faro_release_kind faro_release_central_bits = {
    .name = "central-bits",
    .summary = "binomial noise at the nodes of a binary tree; the server is trusted",
    .trust = FARO_TRUST_JOINT,
    .least_batch = 1,
    .init = init,
    .calibrate = {NULL, NULL, faro_bits_tighten},
    FARO_BITS_KIND,
};
