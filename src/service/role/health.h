/* health: why a role is unwell, if it is. /healthz, /metrics, the log and the page say the same,
 * because all of them ask here.
 *
 * A role sets and clears reasons; each begins and ends with one line in the log. Every role waits
 * for its campaign at its start, so that has a line only if it lasts for longer than five seconds.
 * May be used from any thread. */
#ifndef FARO_SERVICE_ROLE_HEALTH_H
#define FARO_SERVICE_ROLE_HEALTH_H

#include <pthread.h>

#include "service/http/metrics.h"

/* X(NAME, label, serves): `serves`: the role can serve its clients all the same (/readyz). */
#define FARO_ILL_LIST(X)                                                                                     \
  X(NO_CAMPAIGN, "no-campaign", false)              /* a shuffler waits for its first campaign */            \
  X(REPORTS, "reports-not-stored", false)           /* the last write of reports failed */                   \
  X(STATE, "state-lost", false)                     /* their file was moved and so on, or is damaged */      \
  X(STATE_LOG, "state-log-not-emptied", true)       /* another process reads that file */                    \
  X(BATCHES, "batches-not-applied", false)          /* a batch could not be kept or applied */               \
  X(DATABASE, "database-lost", false)               /* the same for the analyzer's file */                   \
  X(DATABASE_LOG, "database-log-not-emptied", true) /* another process reads that file */                    \
  X(FENCED, "fenced", true)                         /* a restored copy that may not be the newest state */   \
  X(STANDBY, "standby-away", true)                  /* nothing is applied without it */                      \
  X(NO_COPY, "no-copy", true)                       /* a standby waits for its first copy */                 \
  X(SILENT, "peer-silent", true)                    /* another role does not answer */                       \
  X(DIFFERS, "peer-differs", true)                  /* another role holds something else */                  \
  X(COLLECTOR, "collector-silent", true)            /* a joiner does not hear of a collector */              \
  X(COLLECTION, "collector-differs", true)          /* what a collector holds does not fit */                \
  X(TOO_FEW, "too-few-clients", true)               /* a collector can never fill its portion */             \
  X(HANDOVER, "batches-not-taken", true)            /* the analyzer does not take batches */                 \
  X(LEFT, "batches-left", true)                     /* nor ever will: the campaign has ended, it says */     \
  X(ADDER, "adder-unwell", true)                    /* a shuffler's adder is away, or elsewhere */           \
  X(SPOILED, "batches-spoiled", true)               /* totals that cannot be, in a row: it has paused */     \
  X(PLAN, "plan-refused", false)                    /* the analyzer's plan is not one of the campaign */     \
  X(REFUSALS, "reports-refused", true)              /* almost all reports are refused */

typedef enum faro_ill {
#define X(name, label, serves) FARO_ILL_##name,
  FARO_ILL_LIST(X)
#undef X
      FARO_ILLS
} faro_ill;

enum { FARO_ILL_TEXT = 400 };

typedef struct faro_health {
  pthread_mutex_t change;              /* held by who sets or clears a reason; comes first */
  double start;                        /* guarded by `change`, by faro_clock */
  bool logged[FARO_ILLS];              /* guarded by `change`: its beginning is in the log */
  pthread_mutex_t mutex;               /* guards `text` */
  char text[FARO_ILLS][FARO_ILL_TEXT]; /* empty: this is not a reason now */
  faro_metric *gauge[FARO_ILLS];
} faro_health;

/* Enters the gauges faro_unwell{reason="..."}. */
void faro_health_init(faro_health *health, faro_metrics *metrics);
void faro_health_clear(faro_health *health);

/* A reason, in a sentence; NULL or "": it is gone. */
void faro_health_set(faro_health *health, faro_ill ill, const char *text);
/* What everybody may hear of a failure. The words of a database server name hosts and users: they
 * are for the log. */
const char *faro_health_words(const faro_error *error);

const char *faro_ill_label(faro_ill ill);
/* Copies the text of a reason; false if it is none now. */
bool faro_health_get(faro_health *health, faro_ill ill, char text[static FARO_ILL_TEXT]);
/* Whether there is no reason; with `ready`, none that keeps the role from serving its clients. Adds
 * a line "label: text" for each to `reasons`, unless that is NULL. */
bool faro_health_write(faro_health *health, bool ready, faro_text *reasons);

#endif
