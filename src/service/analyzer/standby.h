/* standby: an analyzer that holds a copy of another one's database, and takes over when that one is
 * lost.
 *
 *   first analyzer  POST /v1/copy (copies.h)       -> DATABASE.copy, durable before the answer;
 *                                                     only with the ticket of the last one
 *   shuffler        POST /v1/state, a greeting     -> how long the first one has been silent;
 *                                                     503 with a challenge for the next one
 *   operator        promote, or by `take-over`     -> DATABASE, in the next epoch, fenced
 *
 * The first analyzer commits nothing that is not in the copy. So what it has acknowledged or
 * published is here, and when this one has taken over it confirms nothing any more: the first one
 * can neither acknowledge nor publish. The new database goes on when every shuffler has greeted in
 * the new epoch (peers.h): from then on they hand batches to this one only.
 *
 * It takes over by itself only if the first analyzer has been silent for `take-over` seconds, here
 * and at every shuffler, each of which has answered a fresh challenge. */
#ifndef FARO_SERVICE_ANALYZER_STANDBY_H
#define FARO_SERVICE_ANALYZER_STANDBY_H

#include "service/analyzer/analyzer_settings.h"

typedef struct faro_standby faro_standby;

/* Whether the settings describe a standby that has not taken over: there is no database. */
bool faro_standby_wanted(const faro_analyzer_settings *settings);

/* Reads keys, and the copy if there is one; both must fit to the settings, which must outlive the
 * standby. */
faro_status faro_standby_create(faro_standby **standby, const faro_analyzer_settings *settings,
                                faro_error *error) FARO_WARN_UNUSED;
void faro_standby_destroy(faro_standby *standby); /* NULL is allowed */

/* What it serves to clients and shufflers, and to operators and the first analyzer. */
const faro_http_service *faro_standby_service(const faro_standby *standby);
const faro_http_service *faro_standby_admin(const faro_standby *standby);
/* The size of the largest copy. */
size_t faro_standby_largest(const faro_standby *standby);

/* Whether it is time to take over by itself. */
bool faro_standby_due(faro_standby *standby);
/* Takes over: DATABASE is there on return, and an analyzer can be started with it. The standby
 * stays, and refuses copies. It may have taken over even if this fails: then the folder of DATABASE
 * could not be flushed. */
faro_status faro_standby_promote(faro_standby *standby, faro_error *error) FARO_WARN_UNUSED;
bool faro_standby_promoted(faro_standby *standby);

#endif
