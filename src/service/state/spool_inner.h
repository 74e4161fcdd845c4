/* spool_inner: what spool.c, spool_join.c and spool_open.c share: the state of a spool, and its
 * statements. */
#ifndef FARO_SERVICE_STATE_SPOOL_INNER_H
#define FARO_SERVICE_STATE_SPOOL_INNER_H

#include <pthread.h>

#include "service/state/counts.h"
#include "service/state/database.h"
#include "service/state/roster.h"
#include "service/state/spool.h"

typedef enum spool_sql {
  FIND_MARK,
  ENTER_OPEN,
  FOLD_END,
  FOLD_ENTER,
  FOLD_LEAVE,
  ENTER_BODY,
  SET_TOTALS,
  NEXT_BATCH,
  ALL_BODIES,
  ENTER_OUTBOX,
  FIRST_OUTBOX,
  DROP_OUTBOX,
  ENTER_PLAN,
  ENTER_PORTION,
  FIND_PORTION,
  OPEN_PORTIONS,
  EMPTY_PORTIONS,
  DROP_PORTIONS,
  SQLS
} spool_sql;

enum { SPOOL_KEY_BYTES = 32 };

/* The open batch, as the file has it after a commit. The key is for the marks of this batch
 * only. */
typedef struct spool_live {
  uint64_t number, held, waiting;
  bool unfolded; /* rows of the batch before are left in `open` */
  unsigned char key[SPOOL_KEY_BYTES];
} spool_live;

/* The key of the open batch, for threads that make marks. */
typedef struct spool_marker {
  pthread_mutex_t mutex;
  uint64_t marked; /* as in faro_spool_entry; 0: reports have no marks here */
  unsigned char key[SPOOL_KEY_BYTES];
} spool_marker;

/* How to take back a report of the group. */
typedef struct spool_undo {
  unsigned char hash[FARO_HASH_BYTES];
  uint64_t sequence; /* the client's last one before */
} spool_undo;

/* Where a spool keeps what it holds: functions of spool.h that are not the same everywhere, with
 * the same contracts. They are required unless they are marked. */
typedef struct faro_spool_kind {
  /* Restores the open batch. The roster and the members that the campaign determines are set. */
  faro_status (*open)(faro_spool *spool, const faro_spool_params *params, faro_error *error);
  void (*close)(faro_spool *spool); /* optional: frees what only this kind has */
  faro_status (*begin)(faro_spool *spool, faro_error *error);
  faro_status (*accept)(faro_spool *spool, faro_spool_entry *entry, faro_error *error);
  faro_status (*commit)(faro_spool *spool, faro_error *error);
  faro_status (*follow)(faro_spool *spool, const faro_plan_row *row, const char *document, size_t length,
                        faro_error *error);
  faro_status (*next)(faro_spool *spool, faro_batch *batch, faro_error *error);
  faro_status (*forget)(faro_spool *spool, uint64_t number, faro_error *error);
  faro_status (*probe)(faro_spool *spool, faro_error *error);
  faro_status (*present)(const faro_spool *spool, faro_error *error); /* optional: besides the file */
  faro_status (*opens)(faro_spool *spool, faro_error *error);         /* optional: it does */
} faro_spool_kind;

extern const faro_spool_kind faro_spool_sqlite;
extern const faro_spool_kind faro_spool_postgres; /* spool_postgres.h */

struct faro_spool {
  const faro_spool_kind *kind;
  struct spool_postgres *postgres; /* if this is the kind */
  faro_database *database;         /* the state, or the keys of its batches */
  sqlite3_stmt *sql[SQLS];
  const faro_campaign *campaign;
  size_t shuffler;
  faro_spool_part part;
  faro_secure_rng *secure;
  faro_roster *roster;  /* NULL at a joiner */
  faro_counts *clients; /* what each has sent in all batches, with the open one */
  faro_counts *members; /* the same in the open batch; only `used` counts */
  bool stale;           /* the members are to be loaded again */
  spool_undo *undo;     /* the reports of the group, `undos` of them */
  size_t undos, undo_room;
  uint64_t u;               /* campaign batches in one batch */
  uint64_t most;            /* M0: reports of a client in all */
  size_t entries;           /* BITS only: number of totals */
  size_t body;              /* bytes of a report's body */
  bool shared;              /* with other processes */
  uint64_t closed, reports; /* shared: batches that this one has closed, and their reports */
  uint64_t released;        /* shared: batches that were handed over, by any process */
  size_t row;               /* bytes of it that are kept for the batch; 0: only totals are */
  spool_live now, before;   /* before: at the start of the group */
  spool_marker marker;
  bool changed;                       /* a report of the group was accepted */
  unsigned char *ones, *ones_before;  /* totals as they are sent, 8 bytes each */
  uint64_t heard;                     /* a collector's: batches that the joiner has handed over */
  uint64_t next[FARO_COLLECTORS_MAX]; /* a joiner's: the portion that is expected of each collector */
};

/* What a verdict depends on, besides the open batch. */
typedef struct spool_client {
  uint64_t last;       /* sequence number of the client's last report */
  uint64_t here, used; /* its reports in the open batch, and in all */
  bool other;          /* its last report has the same number and other bytes */
  bool full;           /* nothing is accepted until a closed batch is handed over */
  bool ahead;          /* the newest policy may be older than those of the open batch */
} spool_client;
faro_verdict faro_spool_judge(const faro_spool *spool, const faro_spool_entry *entry,
                              const spool_client *client);

faro_status faro_spool_sqlite_open(faro_spool *spool, const faro_spool_params *params,
                                   faro_error *error) FARO_WARN_UNUSED;

/* Reports in the portions of the open batch. */
#define FARO_SPOOL_PORTIONS_HELD                                                                             \
  "SELECT coalesce(sum(count), 0) FROM portions WHERE number = (SELECT number FROM meta)"

/* Runs a query that gives one number. */
faro_status faro_spool_ask(faro_spool *spool, const char *query, uint64_t *value,
                           faro_error *error) FARO_WARN_UNUSED;

/* Moves the joined batch, or what was collected, to the outbox; `now` is the next one. Call it in a
 * transaction. */
faro_status faro_spool_put_out(faro_spool *spool, uint64_t size, const unsigned char *payload, size_t length,
                               bool unfolded, faro_error *error) FARO_WARN_UNUSED;

/* Makes `now.key` known to the threads that make marks. Call it whenever the key has changed. */
void faro_spool_share_key(faro_spool *spool);

/* Loads who is in the open batch. */
faro_status faro_spool_load_members(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;

#endif
