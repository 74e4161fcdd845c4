/* founding: the campaign of an analyzer, which is made at its first start and never changes afterwards. */
#ifndef FARO_SERVICE_ANALYZER_CAMPAIGN_CREATE_H
#define FARO_SERVICE_ANALYZER_CAMPAIGN_CREATE_H

#include "service/analyzer/analyzer_role.h"

/* What the database holds, if it holds a campaign (else document->bytes is NULL): it must be signed by this key, and be the one that is asked
 * for. A refusal says whether anything was released under it. free() document->bytes. */
faro_status faro_founding_find(faro_store *store, const faro_applier_keys *keys, const faro_campaign *asked,
                               faro_campaign *campaign, faro_blob *document,
                               faro_error *error) FARO_WARN_UNUSED;
/* All that a start would read, without starting: keys, tokens, certificate, and the database if there is one, whose campaign
 * must be that of the settings (*known). */
faro_status faro_founding_check(const faro_analyzer_settings *settings, faro_campaign *campaign, bool *known,
                                faro_error *error) FARO_WARN_UNUSED;

#endif
