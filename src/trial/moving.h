/* moving: roles of a trial get other addresses and keys in mid-campaign, as an operator would do
 * it: with `faro move`, new settings, and restarts. */
#ifndef FARO_TRIAL_MOVING_H
#define FARO_TRIAL_MOVING_H

#include "trial/trial.h"

/* Gives a role another address (its relay listens on both), another signing key, or both, and signs
 * the move. All roles run again afterwards. The others hear of it by themselves; then
 * faro_relay_leave may close the old address. */
faro_status faro_trial_move(faro_trial *trial, size_t role, bool address, bool key,
                            faro_error *error) FARO_WARN_UNUSED;

#endif
