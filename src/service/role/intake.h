/* intake: POST /v1/reports, for a shuffler, or for the analyzer if clients send to it.
 *
 * The server's threads parse reports and refuse those of unknown tokens. One writer puts
 * the others that wait into one transaction (group commit) and answers when it is on the disk. A
 * report that was answered with 0 or 1 is in exactly one batch, whatever happens later.
 *
 * The body of a post is one or more report frames. The answer is 200 and one byte per report
 * (faro_verdict). If all are refused for the same reason, it is 400, 401, 409, 421 or 429 with that
 * reason; 503 if nothing can be accepted now. 421: another collector of this shuffler has this
 * client, and the reason names it. */
#ifndef FARO_SERVICE_ROLE_INTAKE_H
#define FARO_SERVICE_ROLE_INTAKE_H

#include "service/http/server.h"
#include "service/role/health.h"
#include "service/state/spool.h"

typedef struct faro_intake faro_intake;

/* Takes over the spool and closes it in the end. */
faro_status faro_intake_create(faro_intake **intake, faro_spool *spool, const faro_campaign *campaign,
                               size_t shuffler, faro_metrics *metrics, faro_error *error) FARO_WARN_UNUSED;
/* Call it after the server has stopped. The open batch stays as it is. */
void faro_intake_destroy(faro_intake *intake);

/* Reads the file of token hashes again: what it holds counts at once for new posts. If it cannot be
 * read, the clients of before stay. */
faro_status faro_intake_reload(faro_intake *intake, const char *tokens, size_t *count,
                               faro_error *error) FARO_WARN_UNUSED;

void faro_intake_handle(faro_intake *intake, faro_http_request *request);
/* In phases: keeps the plan of the open batch (faro_spool_follow). */
faro_status faro_intake_follow(faro_intake *intake, const faro_plan_row *row, const char *document,
                               size_t length, faro_error *error) FARO_WARN_UNUSED;
/* A joiner's (faro_spool_join, faro_spool_expected). */
faro_status faro_intake_join(faro_intake *intake, const faro_portion *portion, faro_joined *joined,
                             faro_error *error) FARO_WARN_UNUSED;
void faro_intake_expected(faro_intake *intake, uint64_t next[static FARO_COLLECTORS_MAX]);
/* A collector's (faro_spool_heard). */
void faro_intake_heard(faro_intake *intake, uint64_t first);
/* Waits at most `seconds` until the first `batches` batches are closed; false if they are not. */
bool faro_intake_closed(faro_intake *intake, uint64_t batches, double seconds);
/* Sets or clears the reasons for being unwell that the intake knows: the last write failed, of
 * reports or of the writer's own that tries the disk; a log waits to be emptied; the state is not
 * at its path any more. */
void faro_intake_check(faro_intake *intake, faro_health *health);
faro_spool_state faro_intake_snapshot(faro_intake *intake);

/* Gives the oldest closed batch, waiting for one for at most `seconds`; count 0: no batch is
 * closed. Give the batch to faro_intake_wipe afterwards. */
faro_status faro_intake_next(faro_intake *intake, double seconds, faro_batch *batch,
                             faro_error *error) FARO_WARN_UNUSED;
void faro_intake_wipe(faro_intake *intake, faro_batch *batch);
/* The batch was acknowledged or applied: removes it for good. */
faro_status faro_intake_forget(faro_intake *intake, uint64_t number, faro_error *error) FARO_WARN_UNUSED;

#endif
