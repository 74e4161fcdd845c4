/* follow: in a campaign in phases, a shuffler follows the analyzer's plans.
 *
 *   batch v - 1 is handed over -> GET /v1/policy?after=v -> verify -> state (durable) -> collect
 *
 * The first plan of a version that it has seen is the plan of that version, whatever the analyzer
 * shows later or to others. Reports must name it by its digest, so clients that were shown another
 * plan are refused. */
#ifndef FARO_SERVICE_SHUFFLER_FOLLOW_H
#define FARO_SERVICE_SHUFFLER_FOLLOW_H

#include "service/http/sender.h"
#include "service/role/health.h"
#include "service/role/intake.h"
#include "service/shuffler/place.h"

typedef struct faro_follow faro_follow;

/* Everything must outlive the follower. */
typedef struct faro_follow_params {
  faro_place *place;     /* where the analyzer is */
  const char *authority; /* NULL: the system's */
  const faro_campaign *campaign;
  faro_intake *intake;
  faro_health *health;
} faro_follow_params;

/* Starts a thread. */
faro_status faro_follow_create(faro_follow **follow, const faro_follow_params *params,
                               faro_error *error) FARO_WARN_UNUSED;
/* Call it when the process ends (faro_process_end). NULL is allowed. */
void faro_follow_destroy(faro_follow *follow);

#endif
