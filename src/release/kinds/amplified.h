/* amplified: what the two releases with amplified noise share. */
#ifndef FARO_RELEASE_KINDS_AMPLIFIED_H
#define FARO_RELEASE_KINDS_AMPLIFIED_H

#include "release/release.h"

/* The batch that balances the noise of amplified messages and the users not seen yet
 * (shuffle_amplified.c). */
uint64_t faro_amplified_batch(const faro_release *r);

#endif
