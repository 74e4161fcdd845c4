/* amplified: what the two releases with amplified noise share. */
#ifndef FARO_RELEASE_KINDS_AMPLIFIED_H
#define FARO_RELEASE_KINDS_AMPLIFIED_H

#include "release/release.h"

/* Batches that balance the noise of amplified messages and the users not seen yet
 * (shuffle_amplified.c). */
void faro_amplified_choose(const faro_release *r, faro_release_params *params);

#endif
