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
 *   GET  /metrics, /healthz, /readyz */
#ifndef FARO_SERVICE_ANALYZER_ANALYZER_ROLE_H
#define FARO_SERVICE_ANALYZER_ANALYZER_ROLE_H

#include "service/analyzer/analyzer_settings.h"

typedef struct faro_analyzer faro_analyzer;

/* Opens the state and serves from now on. The settings must outlive the analyzer. */
faro_status faro_analyzer_start(faro_analyzer **analyzer, const faro_analyzer_settings *settings,
                                faro_error *error) FARO_WARN_UNUSED;
uint16_t faro_analyzer_port(const faro_analyzer *analyzer);
/* Answers requests that are under way, and ends. NULL is allowed. */
void faro_analyzer_stop(faro_analyzer *analyzer);

#endif
