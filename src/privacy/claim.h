/* claim: what the library itself adds to its claims. */
#ifndef FARO_PRIVACY_CLAIM_H
#define FARO_PRIVACY_CLAIM_H

#include <faro/privacy.h>

/* Appends to `by`, formatted as by printf; a claim without privacy stays as it is. No room: the
 * claim is not proven, as in faro_claim_make. */
void faro_claim_say(faro_claim *claim, const char *format, ...) FARO_PRINTF(2, 3);

#endif
