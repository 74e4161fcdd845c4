/* campaign_create: the campaign of an analyzer. It is created and signed at the first start and
 * never changes.
 *
 * DATABASE.campaign is a copy of the signed document, written when the database holds it. If the
 * copy is there and the campaign is not, the database was lost. Then no new campaign is founded
 * unless the operator says so: it would have the same name and a new budget for the same
 * people. */
#ifndef FARO_SERVICE_ANALYZER_CAMPAIGN_CREATE_H
#define FARO_SERVICE_ANALYZER_CAMPAIGN_CREATE_H

#include "service/analyzer/analyzer_settings.h"
#include "service/analyzer/applier.h"
#include "wire/move.h"

faro_status faro_analyzer_keys_load(const faro_analyzer_settings *settings, faro_applier_keys *keys,
                                    faro_error *error) FARO_WARN_UNUSED;

/* Makes the campaign that the settings describe, as a signed document (free() it). Refused if its
 * claim cannot be proven; the message names the settings' file. */
faro_status faro_campaign_draft(const faro_analyzer_settings *settings, const faro_applier_keys *keys,
                                faro_campaign *campaign, char **document, size_t *length,
                                faro_error *error) FARO_WARN_UNUSED;

/* What an operator should know before a campaign is signed: "" or a sentence. So far: batches or a
 * horizon that no plausible number of clients fills. */
enum { FARO_CAMPAIGN_WARNING = 240 };
const char *faro_campaign_warning(const faro_campaign *campaign, char out[static FARO_CAMPAIGN_WARNING]);

/* Where a campaign is now: as it was founded, its newest move (number 0: it has not moved), and the
 * addresses and keys of now. */
typedef struct faro_campaign_place {
  faro_campaign founded, now;
  faro_move move;
} faro_campaign_place;

/* Loads it from the store; document->bytes is NULL if it holds no campaign, and free() it
 * otherwise. */
faro_status faro_campaign_place_load(faro_store *store, faro_campaign_place *place, faro_blob *document,
                                     faro_error *error) FARO_WARN_UNUSED;

/* The same, with the addresses and keys of now. It must be signed by this key, or by one before it,
 * and agree with the drafted one. If it does not, the message says whether anything was
 * released. */
faro_status faro_campaign_find(faro_store *store, const faro_applier_keys *keys, const faro_campaign *draft,
                               faro_campaign *campaign, faro_blob *document,
                               faro_error *error) FARO_WARN_UNUSED;

/* Whether a campaign may be founded: no copy of an earlier one is there, or the settings say
 * `found`; and they say `honest`, if the claim rests on it. */
faro_status faro_campaign_may_found(const faro_analyzer_settings *settings,
                                    faro_error *error) FARO_WARN_UNUSED;
/* Whether the copy, if there is one, is that of this document; *kept: there is one. */
faro_status faro_campaign_same(const faro_analyzer_settings *settings, const faro_blob *document, bool *kept,
                               faro_error *error) FARO_WARN_UNUSED;
/* Removes the copy of an earlier campaign; writes the copy of this one. */
faro_status faro_campaign_forget(const faro_analyzer_settings *settings, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_campaign_keep(const faro_analyzer_settings *settings, const faro_blob *document,
                               faro_error *error) FARO_WARN_UNUSED;

/* Checks all that a start would read, without starting: keys, tokens, certificate, and the database
 * if it exists. Its campaign must be that of the settings. *known: it has one. */
faro_status faro_campaign_check(const faro_analyzer_settings *settings, faro_campaign *campaign, bool *known,
                                faro_error *error) FARO_WARN_UNUSED;

#endif
