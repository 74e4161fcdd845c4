/* copies: an analyzer's side of a standby. It sends an image of its database before each commit,
 * and commits only what the standby has on its disk (store.h, the witness). So nothing is
 * acknowledged or published that would be lost with this machine.
 *
 *   POST /v1/copy?ticket=T   an image -> 200 {"hash", "ticket"}: what the standby holds now
 *   POST /v1/copy            nothing  -> the same: the analyzer lives
 *                            409      -> {"ticket"}: T is not that of the last answer
 *                            409      -> {"epoch", "proof"}: the standby has taken over
 *
 * Each answer has a new ticket, so an image that was held back on its way never replaces one that
 * was sent after it.
 *
 * Use it from one thread. */
#ifndef FARO_SERVICE_ANALYZER_COPIES_H
#define FARO_SERVICE_ANALYZER_COPIES_H

#include "service/analyzer/analyzer_settings.h"

typedef struct faro_copies faro_copies;

/* Reads the token and the certificates to trust. Settings, campaign and key must outlive it. */
faro_status faro_copies_create(faro_copies **copies, const faro_analyzer_settings *settings,
                               const faro_campaign *campaign,
                               const unsigned char signer[static FARO_KEY_BYTES],
                               faro_error *error) FARO_WARN_UNUSED;
void faro_copies_destroy(faro_copies *copies); /* NULL is allowed */

/* FARO_OK: the standby has it on its disk. */
faro_status faro_copies_send(faro_copies *copies, const unsigned char *image, size_t length,
                             faro_error *error) FARO_WARN_UNUSED;
/* Says that the analyzer lives. *holds: the standby holds what was sent last. */
faro_status faro_copies_greet(faro_copies *copies, bool *holds, faro_error *error) FARO_WARN_UNUSED;
/* The epoch in which the standby has taken over, as it has proven; 0: it has not. */
uint64_t faro_copies_epoch(const faro_copies *copies);

#endif
