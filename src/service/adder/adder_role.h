/* adder_role: the second party of split counts (wire/split.h). Its shuffler posts the boxes of a
 * closed batch to /v1/shares; the adder opens them, adds the masks up, and answers with the sum,
 * signed, and sealed to the analyzer. It sees no counts, no tokens and no clients' addresses.
 *
 * An adder finds its place in the campaign by its key. */
#ifndef FARO_SERVICE_ADDER_ADDER_ROLE_H
#define FARO_SERVICE_ADDER_ADDER_ROLE_H

#include "service/adder/adder_settings.h"

/* Serves until SIGTERM or SIGINT, and then returns FARO_OK. */
faro_status faro_adder_serve(const faro_adder_settings *settings, faro_error *error) FARO_WARN_UNUSED;

/* Checks the campaign and the state if they exist: both must belong to this adder. If not, checks
 * that they can be created. */
faro_status faro_adder_check(const faro_adder_settings *settings, faro_error *error) FARO_WARN_UNUSED;

#endif
