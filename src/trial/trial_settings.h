/* trial_settings: writes the YAML file of a role, as an operator would. */
#ifndef FARO_TRIAL_TRIAL_SETTINGS_H
#define FARO_TRIAL_TRIAL_SETTINGS_H

#include "trial/trial.h"

faro_status faro_trial_write_settings(const faro_trial *trial, size_t role,
                                      faro_error *error) FARO_WARN_UNUSED;

#endif
