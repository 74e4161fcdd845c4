/* analyzer_inner: what the files of the analyzer share.
 *
 *   handler (analyzer_http.c):   POST /v1/batches -> queue
 *   worker (analyzer_worker.c):  queue -> receive, answer -> step, step ... -> publish, which
 *                                wakes handlers
 *
 * One thread works. It alone touches the applier and the store. Handlers put batches into its
 * queue. They read the published policy under a mutex, and the database through a second connection
 * that can only read.
 *
 * If clients send to the analyzer itself, an intake collects their reports as in a shuffler, in a
 * database of its own, and the worker takes closed batches from there: the same hand-over, once and
 * in order, without a network in between. */
#ifndef FARO_SERVICE_ANALYZER_ANALYZER_INNER_H
#define FARO_SERVICE_ANALYZER_ANALYZER_INNER_H

#include <pthread.h>
#include <sodium.h>

#include "service/analyzer/analyzer_role.h"
#include "service/analyzer/analyzer_status.h"
#include "service/analyzer/applier.h"
#include "service/analyzer/copies.h"
#include "service/analyzer/page.h"
#include "service/role/peers.h"
#include "service/role/disk.h"
#include "service/role/intake.h"

enum {
  FARO_BATCH_QUEUE = 64,
  /* Policy, batches or reports, state and greetings; campaign, move and ledger; page and status. */
  FARO_ANALYZER_ROUTES = 9,
  FARO_ANALYZER_OWN = 4,
  FARO_ANALYZER_PUBLIC = 7,
  FARO_ETAG_HASH = crypto_generichash_BYTES_MIN,
  FARO_ETAG = 2 * FARO_ETAG_HASH + 3 /* its digits between quotes */
};

/* What handlers and the worker share, under the mutex. */
typedef struct analyzer_served {
  pthread_mutex_t mutex;
  pthread_cond_t work;
  faro_http_request *queue[FARO_BATCH_QUEUE]; /* batches for the worker */
  size_t queued;
  bool closing; /* the server stops: wake no handler any more */
  bool ending;  /* the worker is to end */
  faro_life life;
  uint64_t spoiled; /* split counts: how many of the newest batches, in a row, are spoiled */
  const char *verb; /* what an operator wants of the worker; NULL: nothing */
  const char *by;   /* which operator */
  bool taken;       /* the worker does it now: it cannot be withdrawn any more */
  pthread_cond_t done;
  faro_status answer; /* the worker's to that, with the reason */
  faro_error why;
  char *policy; /* the published document */
  size_t length;
  char etag[FARO_ETAG];
  faro_analyzer_status status;
  char stalled[FARO_ILL_TEXT]; /* why a batch could not be kept or applied; empty: all could */
  bool fenced;      /* a restored copy: nothing is taken or applied until it is known to be the newest */
  bool unseen;      /* the standby has not seen what the start has changed, so it is not served yet */
  uint64_t seen;    /* the highest epoch; above the analyzer's own: another one has taken over */
  bool needs_purge; /* the log of the database may hold reports that were applied */
} analyzer_served;

/* What the worker alone touches. */
typedef struct analyzer_worker {
  faro_store *store;
  faro_applier *applier;
  faro_copies *copies; /* NULL: there is no standby */
  bool away;           /* the standby does not confirm: nothing is taken or applied */
  double confirmed;    /* when it did so last, on faro_clock; 0: never */
  uint64_t kept_seen;  /* `seen` of the database */
  bool alarmed;        /* so many batches are spoiled that the campaign is to be paused */
  char by[24];         /* who changes the campaign's life: an operator, or why it does so itself */
  bool unsettled;      /* a change of the campaign's life failed, and may have been kept */
  double tend_at;      /* when the connections to a database server are looked at again */
  double verify_at;    /* when the file is read anew */
  uint64_t published;  /* version of the policy */
  size_t unkept;       /* bytes of a batch that could not be kept; 0: the last one could */
  const char *logged;  /* the campaign in lines of the log */
  pthread_t thread;
  bool started;
} analyzer_worker;

/* An answer that is given out again, and what it was made for. */
typedef struct analyzer_kept {
  char *text; /* NULL: none */
  uint64_t version, from;
  faro_life life;
  bool healthy;
  double until; /* by faro_clock */
} analyzer_kept;

/* The handlers' connection to the database, one handler at a time. */
typedef struct analyzer_reader {
  pthread_mutex_t mutex;
  faro_store *store;
  analyzer_kept ledger, status;
} analyzer_reader;

typedef struct analyzer_metrics {
  faro_metrics *all;
  faro_metric *since, *waiting, *heard[FARO_SHUFFLERS_MAX];
  faro_disk disk;
  faro_metric *receipt[FARO_RECEIPTS], *applied, *reports, *spoiled, *failures, *version, *charged, *allowed,
      *seconds, *standby, *epoch, *confirmed;
} analyzer_metrics;

/* The members before `served` do not change after the start. */
struct faro_analyzer {
  const faro_analyzer_settings *settings;
  faro_applier_keys keys;
  faro_campaign campaign;
  faro_blob document; /* the campaign's */
  faro_blob move;     /* its newest move's; NULL if it has not moved */
  uint64_t epoch;     /* how often a standby has taken over */
  bool kept;          /* a copy of it is beside the database: it is not the first start */
  faro_http *http;    /* the public server, which is not ours */
  faro_http_route routes[FARO_ANALYZER_ROUTES];
  faro_http_service service, admin; /* on the public server, and on that for operators */
  faro_page page;
  faro_intake *intake; /* NULL if shufflers send batches */
  analyzer_metrics metrics;
  faro_health health;
  faro_peers peers;
  analyzer_served served;
  analyzer_reader reader;
  analyzer_worker worker;
};

/* analyzer_http.c: the routes (`open`: the public server has everything), and what /healthz says
 * (faro_http_service). */
void faro_analyzer_set_routes(faro_analyzer *analyzer, bool open);
bool faro_analyzer_is_healthy(void *analyzer, bool ready, faro_text *reasons);
/* The tag of a document: a hash of its bytes, so that one that was signed anew has another. */
void faro_analyzer_tag(const void *bytes, size_t length, char etag[static FARO_ETAG]);
/* So many spoiled batches in a row pause the campaign. */
enum { FARO_SPOILED_MOST = 2 };
/* Whether batches and reports are taken: not while the campaign is paused, nor after an operator
 * has ended it. A used-up budget is another thing: what comes then is refused one by one. */
bool faro_analyzer_takes(faro_analyzer *analyzer);
/* Whether another analyzer has taken over. Then this one serves campaign and ledger only. */
bool faro_analyzer_is_replaced(faro_analyzer *analyzer);
/* Answers a batch or reports that the campaign does not take now, or never again. False: it
 * does. */
bool faro_analyzer_refuses(faro_analyzer *analyzer, faro_http_request *request);

/* analyzer_worker.c. publish makes visible what the applier has committed, before the worker starts
 * or in its thread; `news`: a batch was applied, so handlers that wait are woken. */
faro_status faro_analyzer_publish(faro_analyzer *analyzer, bool news, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_analyzer_start_worker(faro_analyzer *analyzer, faro_error *error) FARO_WARN_UNUSED;
void faro_analyzer_stop_worker(faro_analyzer *analyzer);
faro_life faro_analyzer_life(faro_analyzer *analyzer);

#endif
