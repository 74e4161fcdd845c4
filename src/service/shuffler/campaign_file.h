/* campaign_file: how a shuffler gets the campaign: from its file, or from the analyzer, and then
 * into the file. */
#ifndef FARO_SERVICE_SHUFFLER_CAMPAIGN_FILE_H
#define FARO_SERVICE_SHUFFLER_CAMPAIGN_FILE_H

#include "service/http/sender.h"
#include "wire/wire.h"

/* Reads and verifies the document in `path`. */
faro_status faro_campaign_file_load(faro_campaign *campaign, const char *path,
                                    const unsigned char signer[static FARO_KEY_BYTES],
                                    faro_error *error) FARO_WARN_UNUSED;

/* The same if the file exists. If not, asks URL/v1/campaign until the analyzer answers, verifies
 * the document and saves it in `path`, so that later starts do not need the analyzer.
 * FARO_INTERRUPTED if the process is asked to end first. */
faro_status faro_campaign_file_obtain(faro_campaign *campaign, const char *path, const char *url,
                                      const unsigned char signer[static FARO_KEY_BYTES], faro_sender *sender,
                                      faro_error *error) FARO_WARN_UNUSED;

#endif
