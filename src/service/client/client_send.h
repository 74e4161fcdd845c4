/* client_send: fetches documents and sends reports over HTTP, for applications without a transport
 * of their own.
 *
 * A busy analyzer (503, or 304 if too many clients wait for a policy) says when to ask again.
 * Fetching does so, for a minute in all. If the connection is refused, it tries again for five
 * seconds.
 *
 * Error messages may quote a server. The quotation is cut short and contains printable ASCII
 * only. */
#ifndef FARO_SERVICE_CLIENT_CLIENT_SEND_H
#define FARO_SERVICE_CLIENT_CLIENT_SEND_H

#include <faro/client.h>

#include "service/http/sender.h"

/* Gives the client the campaign of the analyzer at this address. *document is the document, for
 * callers that need it too. */
faro_status faro_client_fetch_campaign(faro_client *client, faro_sender *sender, const char *analyzer,
                                       faro_sent *document, faro_error *error) FARO_WARN_UNUSED;
/* Gives the client the newest move, if there is one. *document is the document; its length is 0 if
 * there is none. `patient`: waits as the others do; otherwise asks once. */
faro_status faro_client_fetch_move(faro_client *client, faro_sender *sender, const char *analyzer,
                                   bool patient, faro_sent *document, faro_error *error) FARO_WARN_UNUSED;
/* Gives the client the newest policy, if it is newer than `after` (*fresh). `wait`: waits for one
 * for up to half a minute. */
faro_status faro_client_fetch_policy(faro_client *client, faro_sender *sender, const char *analyzer,
                                     uint64_t after, bool wait, bool *fresh,
                                     faro_error *error) FARO_WARN_UNUSED;

/* Gives the client the list of a shuffler's collectors, if it has any (*some). */
faro_status faro_client_fetch_collectors(faro_client *client, faro_sender *sender, size_t shuffler,
                                         bool *some, faro_error *error) FARO_WARN_UNUSED;

/* Posts one part of a report to its target (faro_client_target).
 *   FARO_OK       acknowledged, now or before: it counts once
 *   FARO_INVALID  refused for good, with the reason
 *   FARO_SYSTEM   unknown: send the same bytes again, after *wait seconds if the receiver asks
 * `wait` may be NULL. */
faro_status faro_client_send(faro_sender *sender, const char *target, const void *part, size_t size,
                             double *wait, faro_error *error) FARO_WARN_UNUSED;

/* Posts many parts for one target at once, as a gateway would, and sets one answer for each
 * (faro_verdict). FARO_SYSTEM as above. If some parts got FARO_VERDICT_CLOSED and others did not,
 * send the closed ones again by themselves. If all got it, the target collects no more reports. */
faro_status faro_client_send_many(faro_sender *sender, const char *target, const void *parts, size_t count,
                                  size_t size, unsigned char *answers, double *wait,
                                  faro_error *error) FARO_WARN_UNUSED;

#endif
