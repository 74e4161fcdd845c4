/* verify: the claim of a campaign, for `faro verify` and `faro demo`. */
#ifndef FARO_CLI_VERIFY_H
#define FARO_CLI_VERIFY_H

#include "verify/verify.h"
#include "wire/wire.h"

/* Checks the claim by the noise that follows from the document: what its clients add. The caller
 * clears the result. */
faro_status cli_verify_campaign(const faro_campaign *campaign, faro_verification *found, faro_error *error);

#endif
