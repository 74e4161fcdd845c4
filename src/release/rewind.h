/* rewind: brings a release back to how it was when it was created. Audits run one many thousand
 * times, and calibration takes longer than a run. For nothing else: what was charged to the ledger
 * is forgotten too. */
#ifndef FARO_RELEASE_REWIND_H
#define FARO_RELEASE_REWIND_H

#include <faro/release.h>

size_t faro_release_image_size(const faro_release *release);
/* Writes or reads `image`, of that size. The stream of its source is not part of it. */
void faro_release_image(const faro_release *release, void *image);
void faro_release_rewind(faro_release *release, const void *image);
/* Opens batch k, as if all before it had been published. */
void faro_release_wind(faro_release *release, uint64_t k);
/* From now on a release that was made for a deployment draws from this stream: all that it does is
 * as deployed, but for the randomness, which can be repeated and hides nothing. */
void faro_release_rehearse(faro_release *release, faro_sim_rng *sim);

#endif
