/* standing: how a campaign stands, for the page and for programs: /v1/status.json. Nothing of it tells of one client. */
#ifndef FARO_SERVICE_ANALYZER_ANALYZER_STATUS_H
#define FARO_SERVICE_ANALYZER_ANALYZER_STATUS_H

#include <jansson.h>

#include "service/analyzer/store.h"

/* When batches were applied, for rates over the last minute. */
enum { FARO_PACE = 256 };
typedef struct faro_pace {
  double start, at[FARO_PACE]; /* of the monotonic clock; the last FARO_PACE ones, in a ring */
  uint64_t count;
} faro_pace;

void faro_pace_mark(faro_pace *pace, double now);
/* A second, over the last minute or what there is of it. */
double faro_pace_rate(const faro_pace *pace, double now);

typedef struct faro_standing {
  const faro_campaign *campaign;
  const unsigned char *signer; /* the key to pin */
  double constant;             /* NAN: none */
  uint64_t version;
  bool stalled;
  faro_pace pace;
} faro_standing;

faro_status faro_standing_json(faro_store *store, const faro_standing *standing, double now, json_t **json,
                               faro_error *error) FARO_WARN_UNUSED;

#endif
