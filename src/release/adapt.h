/* adapt: the size of the next batch, chosen from what has been published (Tenenbaum et al. 2023,
 * Alg. 1, step 1). docs/privacy.md, Sizes chosen from what was released. */
#ifndef FARO_RELEASE_ADAPT_H
#define FARO_RELEASE_ADAPT_H

#include "release/release.h"

/* Sets batch, the least size, and largest, around the best batch of one size. */
void faro_adapt_range(uint64_t uniform, faro_release_params *params);

/* The class of the next batch. Reads published numbers only. */
size_t faro_adapt_class(const faro_release *r);

#endif
