/* adder_inner: what adder_role.c and adder_check.c share. */
#ifndef FARO_SERVICE_ADDER_ADDER_INNER_H
#define FARO_SERVICE_ADDER_ADDER_INNER_H

#include "service/adder/adder_role.h"
#include "service/adder/adder_state.h"
#include "service/shuffler/place.h"

faro_status faro_adder_keys_load(const faro_adder_settings *settings, faro_adder_keys *keys,
                                 faro_error *error) FARO_WARN_UNUSED;
/* Finds the adder of the campaign that has these keys; `file` is for the message. */
faro_status faro_adder_find(const faro_campaign *campaign, const faro_adder_keys *keys, const char *file,
                            size_t *index, faro_error *error) FARO_WARN_UNUSED;
/* The part that needs no campaign: the folders of state and campaign, that the state is not some
 * other file, and that it is there if the campaign was fetched before. */
faro_status faro_adder_check_paths(const faro_adder_settings *settings, faro_error *error) FARO_WARN_UNUSED;

#endif
