/* campaign_move: signs a move of a campaign (wire/move.h): whatever differs between the settings
 * of an analyzer that is stopped and the campaign in its database. */
#ifndef FARO_SERVICE_ANALYZER_CAMPAIGN_MOVE_H
#define FARO_SERVICE_ANALYZER_CAMPAIGN_MOVE_H

#include "base/text.h"
#include "service/analyzer/campaign_create.h"

/* Adds the move to the database, unless `dry`, and says in words what changes. `old` is the file of
 * the signing key of before, if that changes; NULL: it does not. The settings may differ from the
 * campaign in addresses and keys only. A shuffler's change needs its consent in the settings. */
faro_status faro_campaign_move(const faro_analyzer_settings *settings, const char *old, bool dry,
                               faro_text *out, faro_error *error) FARO_WARN_UNUSED;

#endif
