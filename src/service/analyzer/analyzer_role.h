/* analyzer_role: collects batches, learns from them, and publishes policies.
 *
 *   GET  /v1/campaign           the signed document
 *   GET  /v1/move               the newest signed move of its addresses and keys; 404: none
 *   GET  /v1/policy?after=V     the newest signed policy; waits up to 30 s for one newer than V,
 *                               then 304. ETag: the version
 *   POST /v1/batches            a signed batch from a shuffler. 200: kept, now or before; 400: from
 *                               another campaign; 401: not announced (Faro-Batch); 409: not the
 *                               next one; 503: try again later
 *   POST /v1/reports            for releases without a shuffler (local, central-tree)
 *   GET  /v1/ledger?from=B      what each batch spent, from batch B on
 *   GET  /v1/status.json, /     the status, for programs and for people
 *   GET  /v1/state              campaign digest, policy version, the next batch of each shuffler;
 *                               POST with a shuffler's greeting
 *   GET  /metrics, /healthz, /readyz
 *
 * The servers are not its own: a host (service/host) has one for the public and one for operators,
 * and many campaigns behind them. */
#ifndef FARO_SERVICE_ANALYZER_ANALYZER_ROLE_H
#define FARO_SERVICE_ANALYZER_ANALYZER_ROLE_H

#include "service/analyzer/analyzer_settings.h"

typedef struct faro_analyzer faro_analyzer;

/* Opens the state and begins to work. Settings and server must outlive the analyzer; the server is
 * bound, and need not serve yet. */
faro_status faro_analyzer_start(faro_analyzer **analyzer, const faro_analyzer_settings *settings,
                                faro_http *http, faro_error *error) FARO_WARN_UNUSED;
/* Reads the tokens of its clients again, if they send to it (reload.h). */
void faro_analyzer_reload(faro_analyzer *analyzer);
/* What it serves to clients and shufflers, and what to operators. */
const faro_http_service *faro_analyzer_service(const faro_analyzer *analyzer);
const faro_http_service *faro_analyzer_admin(const faro_analyzer *analyzer);
/* Keeps the connections to a database server alive if no worker does: the campaign is archived.
 * Not beside a change of its life. */
void faro_analyzer_tend(faro_analyzer *analyzer);
/* Whether another analyzer has taken over its database in a server: then the process must end. */
bool faro_analyzer_must_end(const faro_analyzer *analyzer);
/* What it says about itself to operators. */
typedef struct faro_analyzer_summary {
  const faro_campaign *campaign; /* as signed */
  const char *state;             /* life.h */
  uint64_t applied;              /* batches */
  bool healthy;
} faro_analyzer_summary;
faro_analyzer_summary faro_analyzer_summarize(faro_analyzer *analyzer);
/* Does what an operator wants (life.h): "pause", "resume", "finish", "archive". `by`: who wants
 * it, for the log. Durable on return. Call it from one thread at a time. */
faro_status faro_analyzer_change(faro_analyzer *analyzer, const char *verb, const char *by,
                                 faro_error *error) FARO_WARN_UNUSED;
/* To end: close, then stop the servers while the worker still answers parked requests, then
 * stop. */
void faro_analyzer_close(faro_analyzer *analyzer);
void faro_analyzer_stop(faro_analyzer *analyzer); /* NULL is allowed */

#endif
