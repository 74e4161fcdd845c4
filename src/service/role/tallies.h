/* tallies: what /metrics says about reports, and when.
 *
 * Whether a report with a known token was accepted must not show before its batch closes, and a
 * refusal would show that it was not. So verdicts on such reports, the statuses of their posts and
 * the times of acknowledgements are exact when a batch closes. Until then refusals and statuses are
 * shown thinned (thinned.h), every 30 seconds: a campaign in which no batch closes shows why.
 *
 * Use it from the intake's writer, except faro_tallies_stranger and faro_tallies_refusing. */
#ifndef FARO_SERVICE_ROLE_TALLIES_H
#define FARO_SERVICE_ROLE_TALLIES_H

#include <pthread.h>

#include "service/http/server.h"
#include "service/role/health.h"
#include "service/role/thinned.h"
#include "service/state/spool.h"

enum { FARO_STATUS_CLASSES = 6 };

typedef struct faro_tallies {
  faro_metric *verdict[FARO_VERDICT_COUNT], *seconds;
  faro_metric *answers[FARO_STATUS_CLASSES]; /* the server's; NULL before the first one */
  faro_thinned refused[FARO_VERDICT_COUNT], posts[FARO_STATUS_CLASSES];
  faro_thinned accepted;              /* never shown: for `drawn` */
  uint64_t exact[FARO_VERDICT_COUNT]; /* accepted and known ones, until the batch closes */
  faro_times times;
  double look_at; /* when thinned counts are shown next */
  /* How many of a refusal were drawn since a batch closed or an acceptance was drawn. */
  uint64_t drawn[FARO_VERDICT_COUNT];
  bool good; /* one of these has happened since the last look */
  pthread_mutex_t mutex;
  char refusing[FARO_ILL_TEXT]; /* under the mutex */
} faro_tallies;

void faro_tallies_init(faro_tallies *tallies, faro_metrics *metrics, double now);
void faro_tallies_clear(faro_tallies *tallies);

/* Verdicts that say nothing about a batch are counted at once: malformed, another campaign, unknown
 * token, another collector's client. Counts one such; false if it is another one. From any
 * thread. */
bool faro_tallies_stranger(const faro_tallies *tallies, faro_verdict verdict);
void faro_tallies_add(faro_tallies *tallies, faro_verdict verdict, uint64_t count);
/* The status of a post with a known token; call it before the reply. */
void faro_tallies_answer(faro_tallies *tallies, faro_http_request *request, unsigned status);
/* The same for posts that were answered already, by the class of their status; `answers`: what
 * faro_http_uncounted gave. */
void faro_tallies_posts(faro_tallies *tallies, size_t class, faro_metric *answers, uint64_t count);
void faro_tallies_time(faro_tallies *tallies, double seconds);

/* A batch has closed, or (reports 0) no batch will be open any more: shows everything. */
void faro_tallies_settle(faro_tallies *tallies, uint64_t reports);
/* Shows thinned counts if it is time to. */
void faro_tallies_look(faro_tallies *tallies, double now);

/* Sets or clears the reason that reports are refused. From any thread. */
void faro_tallies_refusing(faro_tallies *tallies, faro_health *health);

#endif
