/* watch: a shuffler compares what it holds with what its analyzer holds, at the start and every
 * five seconds. A collector does the same with its joiner.
 *
 *   shuffler -> POST /v1/state, a greeting (wire.h)  -> analyzer compares
 *   shuffler compares <- {"campaign", "version", "next", "state", "epoch", "proof",
 *                        "spoiled"} <-
 *
 * It also asks whether the campaign has moved (place.h). If the analyzer has a standby, it greets
 * that too, and each other address: the analyzer of the highest epoch is the one that counts. A
 * standby hears from it how long the analyzer has been silent.
 *
 * Both are unwell if they cannot meet: they hold different campaigns, or one of them was put back
 * to an older state, so that batches are missing or would be made again. */
#ifndef FARO_SERVICE_SHUFFLER_WATCH_H
#define FARO_SERVICE_SHUFFLER_WATCH_H

#include <stdatomic.h>

#include "service/http/sender.h"
#include "service/role/health.h"
#include "service/role/intake.h"
#include "service/shuffler/place.h"

typedef struct faro_watch faro_watch;

/* Everything must outlive the watch. */
typedef struct faro_watch_params {
  faro_place *place;     /* where the analyzer is */
  const char *authority; /* NULL: the system's */
  const faro_campaign *campaign;
  const faro_sign_key *key;
  const char *joiner; /* a collector's: the address to greet; NULL: the analyzer */
  size_t number;      /* this shuffler's, or this collector's */
  faro_intake *intake;
  faro_health *health;
  faro_metric *reachable; /* whether the other side answered */
  bool standby;           /* the analyzer has a standby, and this is not a collector */
  atomic_bool *ended;     /* whether it said last that the campaign has ended */
} faro_watch_params;

faro_status faro_watch_create(faro_watch **watch, const faro_watch_params *params,
                              faro_error *error) FARO_WARN_UNUSED;
void faro_watch_destroy(faro_watch *watch); /* NULL is allowed */
/* Says in the health if the other side has not answered for too long. */
void faro_watch_refresh(faro_watch *watch);

/* What the analyzer holds, or the joiner. */
typedef struct faro_standing {
  unsigned char digest[FARO_DIGEST_BYTES];
  uint64_t version; /* the published policy's; of a joiner, what it can be at most */
  uint64_t next;    /* the batch that it expects next of this shuffler or collector */
  bool ended;       /* an operator has ended the campaign, or its budget is used up */
  uint64_t spoiled; /* split counts: batches in a row that are, if these are too many */
  uint64_t epoch;   /* 0: no standby has taken over, or an analyzer of an older release */
  unsigned char proof[FARO_SIGNATURE_BYTES]; /* that the epoch is the analyzer's; not verified */
} faro_standing;
/* Reads an answer of /v1/state. */
faro_status faro_standing_read(const char *text, size_t length, size_t shuffler, faro_standing *standing,
                               faro_error *error) FARO_WARN_UNUSED;
/* Says in the health whether batches are spoiled. */
void faro_standing_tell(const faro_standing *standing, faro_health *health);

#endif
