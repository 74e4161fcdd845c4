/* analyzer_status: the status of a campaign, for the page and for programs: /v1/status.json.
 * Nothing in it is about a single client. */
#ifndef FARO_SERVICE_ANALYZER_ANALYZER_STATUS_H
#define FARO_SERVICE_ANALYZER_ANALYZER_STATUS_H

#include <jansson.h>

#include "service/role/peers.h"
#include "service/analyzer/store.h"

/* When batches were applied, for rates over the last minute. */
enum { FARO_RATE_MARKS = 256 };
typedef struct faro_rate {
  double start;               /* when the process started, on faro_clock */
  double at[FARO_RATE_MARKS]; /* the last marks, in a ring */
  uint64_t count;             /* number of all marks */
} faro_rate;

void faro_rate_mark(faro_rate *rate, double now);
/* Marks over the last minute, or since the start if that is less; *seconds: how long that is. */
double faro_rate_recent(const faro_rate *rate, double now, double *seconds);

typedef struct faro_analyzer_status {
  const faro_campaign *campaign;
  const unsigned char *signer; /* the key to pin */
  double constant;             /* NAN: none */
  uint64_t version;            /* version of the published policy */
  struct {
    uint64_t phase, best, left, size; /* as in faro_plan_document; phase 0: the campaign has no phases */
    size_t arms;
    uint64_t arm; /* the first of those that are played */
  } plan;
  faro_life life;
  faro_health *health;
  faro_peers *peers;
  faro_rate applied; /* when batches were applied */
} faro_analyzer_status;

faro_status faro_analyzer_status_json(faro_store *store, const faro_analyzer_status *status, double now,
                                      json_t **json, faro_error *error) FARO_WARN_UNUSED;

#endif
