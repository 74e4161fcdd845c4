/* client_send: carries a client's documents and reports over HTTP, for applications that have no transport of their own. */
#ifndef FARO_SERVICE_CLIENT_CLIENT_SEND_H
#define FARO_SERVICE_CLIENT_CLIENT_SEND_H

#include <faro/client.h>

#include "service/http/sender.h"

/* An analyzer that is busy (503, or 304 where too many wait for a policy) says after how long to ask again. Fetching does so, for
 * a minute in all; where nobody listens, it tries again for five seconds.
 *
 * Messages of all of these may quote a server: cut short, and ASCII that a terminal prints, whatever it sent. */

/* Gives the client the campaign of the analyzer at this address; *document is it, for who wants to read it too. */
faro_status faro_client_fetch_campaign(faro_client *client, faro_sender *sender, const char *analyzer,
                                       faro_sent *document, faro_error *error) FARO_WARN_UNUSED;
/* Gives it the newest policy, if that is newer than `after`; *fresh says so. `wait`: for up to half a minute until there is
 * one. */
faro_status faro_client_fetch_policy(faro_client *client, faro_sender *sender, const char *analyzer,
                                     uint64_t after, bool wait, bool *fresh,
                                     faro_error *error) FARO_WARN_UNUSED;

/* Posts one part of a report to its target, as faro_client_target names it. FARO_OK: acknowledged, now or before, and so counted once. FARO_INVALID: refused,
 * and why: it never will be. FARO_SYSTEM: not known; the same bytes may be sent again, and should be. *wait, which may be
 * NULL, is how long the receiver asks to wait before that. */
faro_status faro_client_send(faro_sender *sender, const char *target, const void *part, size_t size,
                             double *wait, faro_error *error) FARO_WARN_UNUSED;

/* Many parts for one target in one post, as a gateway would: one answer each (FARO_VERDICT_LIST). FARO_SYSTEM as above.
 * Parts that got FARO_VERDICT_CLOSED while others got something else should be sent again, without those; where all got it,
 * the target collects no more. */
faro_status faro_client_send_many(faro_sender *sender, const char *target, const void *parts, size_t count,
                                  size_t size, unsigned char *answers, double *wait,
                                  faro_error *error) FARO_WARN_UNUSED;

#endif
