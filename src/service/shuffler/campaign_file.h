/* campaign_file: how a shuffler gets the campaign: from its file, or from the analyzer, and then
 * into the file.
 *
 * The file is written after the state was created. So a file without a state means that the state
 * was lost. */
#ifndef FARO_SERVICE_SHUFFLER_CAMPAIGN_FILE_H
#define FARO_SERVICE_SHUFFLER_CAMPAIGN_FILE_H

#include "service/shuffler/place.h"
#include "wire/wire.h"

/* Reads and verifies the document in `path`. */
faro_status faro_campaign_file_load(faro_campaign *campaign, const char *path,
                                    const unsigned char signer[static FARO_KEY_BYTES],
                                    faro_error *error) FARO_WARN_UNUSED;

/* The same if the file exists, after asking once for a newer move. If not, asks for the move and
 * the campaign until the analyzer answers, and verifies them; the campaign's document is then in
 * *fresh, for faro_campaign_file_keep, until the sender is used again. FARO_INTERRUPTED if the
 * process is asked to end first. The campaign has the addresses and keys of now. */
faro_status faro_campaign_file_obtain(faro_campaign *campaign, const char *path, faro_place *place,
                                      faro_sender *sender, faro_sent *fresh,
                                      faro_error *error) FARO_WARN_UNUSED;
/* Saves a fresh document in `path`, so that later starts do not need the analyzer. Does nothing if
 * there is none. */
faro_status faro_campaign_file_keep(const char *path, const faro_sent *fresh,
                                    faro_error *error) FARO_WARN_UNUSED;

#endif
