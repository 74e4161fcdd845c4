/* shuffler_check: what a shuffler can check before it starts. `faro shuffler --check-config` stops
 * after these checks; a start makes some of them too. */
#ifndef FARO_SERVICE_SHUFFLER_SHUFFLER_CHECK_H
#define FARO_SERVICE_SHUFFLER_SHUFFLER_CHECK_H

#include "service/shuffler/shuffler_settings.h"

/* Checks the campaign and the state if they exist: both must belong to this shuffler. If not,
 * checks that they can be created. */
faro_status faro_shuffler_check(const faro_shuffler_settings *settings, faro_error *error) FARO_WARN_UNUSED;

/* The part that needs no campaign: the folders of state and campaign, and that the state is not
 * some other file. */
faro_status faro_shuffler_check_paths(const faro_shuffler_settings *settings,
                                      faro_error *error) FARO_WARN_UNUSED;

/* That the state is there if the campaign was fetched before: a shuffler that lost its state must
 * not start again from nothing. */
faro_status faro_shuffler_check_state(const faro_shuffler_settings *settings,
                                      faro_error *error) FARO_WARN_UNUSED;

/* Finds the shuffler of the campaign that has this key, or the key of the collector's joiner, and
 * checks that the campaign can be collected in as many portions as the settings say. */
faro_status faro_shuffler_find(const faro_campaign *campaign, const faro_sign_key *key,
                               const faro_shuffler_settings *settings, size_t *index,
                               faro_error *error) FARO_WARN_UNUSED;

#endif
