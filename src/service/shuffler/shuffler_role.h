/* shuffler_role: collects reports and passes them on to the analyzer in whole batches, without
 * their senders.
 *
 * A shuffler finds its place in the campaign by its key. It sends a closed batch until the
 * analyzer has it. An open batch stays open over any number of restarts and is never sent before
 * it is full. */
#ifndef FARO_SERVICE_SHUFFLER_SHUFFLER_ROLE_H
#define FARO_SERVICE_SHUFFLER_SHUFFLER_ROLE_H

#include "service/shuffler/shuffler_settings.h"

/* Serves until SIGTERM or SIGINT, and then returns FARO_OK. */
faro_status faro_shuffler_serve(const faro_shuffler_settings *settings, faro_error *error) FARO_WARN_UNUSED;

#endif
