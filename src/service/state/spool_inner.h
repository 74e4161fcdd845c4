/* spool_inner: what spool.c and spool_open.c share: the state of a spool, and its statements. */
#ifndef FARO_SERVICE_STATE_SPOOL_INNER_H
#define FARO_SERVICE_STATE_SPOOL_INNER_H

#include "service/state/database.h"
#include "service/state/roster.h"
#include "service/state/spool.h"

typedef enum spool_sql {
  FIND_CLIENT,
  FIND_OPEN,
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
  SQLS
} spool_sql;

enum { SPOOL_KEY_BYTES = 32, SPOOL_MARK_BYTES = 16 };

/* The open batch, as the file has it after a commit. The key is for the marks of this batch
 * only. */
typedef struct spool_live {
  uint64_t number, held, waiting;
  bool unfolded; /* rows of the batch before are left in `open` */
  unsigned char key[SPOOL_KEY_BYTES];
} spool_live;

struct faro_spool {
  faro_database *database;
  sqlite3_stmt *sql[SQLS];
  const faro_campaign *campaign;
  size_t shuffler;
  faro_secure_rng *secure;
  faro_roster *roster;
  uint64_t u;                        /* campaign batches in one batch */
  uint64_t most;                     /* M0: reports of a client in all */
  size_t entries;                    /* BITS only: number of totals */
  size_t body;                       /* bytes of a report's body */
  size_t row;                        /* bytes of it that are kept for the batch; 0: only totals are */
  spool_live now, before;            /* before: at the start of the group */
  bool changed;                      /* a report of the group was accepted */
  unsigned char *ones, *ones_before; /* totals as they are sent, 8 bytes each */
};

/* Runs a query that gives one number. */
faro_status faro_spool_ask(faro_spool *spool, const char *query, uint64_t *value,
                           faro_error *error) FARO_WARN_UNUSED;

#endif
