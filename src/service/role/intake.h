/* intake: POST /v1/reports, for a shuffler, and for the analyzer where clients send to it.
 *
 * Reports are parsed by the server's threads; one writer puts all that wait into one transaction (group commit) and answers
 * when it is on the disk. A report that was answered with 0 or 1 is in exactly one batch, whatever happens afterwards.
 *
 * The body of a post is report frames, one after another. Its answer: 200 and a byte for each (faro_verdict), unless all
 * are refused for one reason: then 400, 401 or 409 with that; 503 when nothing can be taken now. */
#ifndef FARO_SERVICE_ROLE_INTAKE_H
#define FARO_SERVICE_ROLE_INTAKE_H

#include "service/http/server.h"
#include "service/state/spool.h"

typedef struct faro_intake faro_intake;

/* Takes over the spool, and closes it with itself. */
faro_status faro_intake_create(faro_intake **intake, faro_spool *spool, const faro_campaign *campaign,
                               size_t shuffler, faro_metrics *metrics, faro_error *error) FARO_WARN_UNUSED;
/* After the server has stopped. What is in the open batch stays there. */
void faro_intake_destroy(faro_intake *intake);

void faro_intake_handle(faro_intake *intake, faro_http_request *request);
bool faro_intake_healthy(faro_intake *intake); /* the last group could be written */
faro_spool_state faro_intake_snapshot(faro_intake *intake);

/* The oldest closed batch: waits for one at most so many seconds; count 0: none came. Body: to faro_intake_wipe. */
faro_status faro_intake_next(faro_intake *intake, double seconds, faro_batch *batch,
                             faro_error *error) FARO_WARN_UNUSED;
void faro_intake_wipe(faro_intake *intake, faro_batch *batch);
/* It was acknowledged, or applied: nothing of it stays. */
faro_status faro_intake_forget(faro_intake *intake, uint64_t number, faro_error *error) FARO_WARN_UNUSED;

#endif
