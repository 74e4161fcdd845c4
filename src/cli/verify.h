/* verify: the claim of a campaign, for `faro verify` and `faro demo`. */
#ifndef FARO_CLI_VERIFY_H
#define FARO_CLI_VERIFY_H

#include "verify/verify.h"
#include "wire/wire.h"

/* Computes the claim again from the noise that follows from the document: what its clients add. */
faro_status cli_verify_campaign(const faro_campaign *campaign, faro_finding *finding, faro_error *error);

#endif
