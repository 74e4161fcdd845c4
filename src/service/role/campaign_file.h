/* document: the campaign as a role other than its author gets it: from a file, or from the analyzer, which then is kept. */
#ifndef FARO_SERVICE_ROLE_CAMPAIGN_FILE_H
#define FARO_SERVICE_ROLE_CAMPAIGN_FILE_H

#include "service/http/sender.h"
#include "wire/wire.h"

/* Reads the document in `path`; where there is no such file, asks URL/v1/campaign until it answers (FARO_INTERRUPTED when
 * the process ends first) and keeps what was verified in `path`, so that later starts need nobody. */
faro_status faro_campaign_obtain(faro_campaign *campaign, const char *path, const char *url,
                                 const unsigned char signer[static FARO_KEY_BYTES], faro_sender *sender,
                                 faro_error *error) FARO_WARN_UNUSED;

/* Whole or not at all: written beside, flushed, renamed, the folder flushed. */
faro_status faro_file_put(const char *path, const void *bytes, size_t length,
                          faro_error *error) FARO_WARN_UNUSED;
/* The same, for its owner alone: mode 600. */
faro_status faro_file_put_private(const char *path, const void *bytes, size_t length,
                                  faro_error *error) FARO_WARN_UNUSED;
/* The same from the file alone. */
faro_status faro_campaign_kept(faro_campaign *campaign, const char *path,
                               const unsigned char signer[static FARO_KEY_BYTES],
                               faro_error *error) FARO_WARN_UNUSED;

/* Whether a file could be made at the path: its folder is there, and may be written to. `name` is the setting's. */
faro_status faro_place_check(const char *name, const char *path, faro_error *error) FARO_WARN_UNUSED;

#endif
