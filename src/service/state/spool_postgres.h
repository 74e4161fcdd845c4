/* spool_postgres: a spool in a PostgreSQL server, for a shuffler that must survive a lost machine.
 * Any number of processes (front-ends) with the same settings collect for it, and each of them can
 * close a batch and hand it over.
 *
 *   meta     number of the open batch; batches below `released` were handed over
 *   clients  token hash, number of reports, last sequence number, batch of the last report, reports
 *            in that batch; for ever
 *   room     places that are left in the open batch, in PLACES rows
 *   keepers  public keys of the front-ends for the open batch and the next one (sealed.h)
 *   groups   what one front-end took in one transaction, sealed: BITS: the totals of its reports;
 *            otherwise their bodies
 *   outbox   closed batches, sealed, until they are acknowledged
 *
 * Each batch has exactly its size. A group takes as much room as it has reports, in its own
 * transaction: a row of `room` is locked by one group, and others skip it, so front-ends do not
 * wait for one another. A report that finds no room is told to come again. A client has one row,
 * which a group changes only if it is as it was read, so no two front-ends can accept the same
 * report, or two of one client in a batch.
 *
 * Groups hold an advisory lock that they share; closing takes it alone, so it sees whole groups
 * and no other closing. In one transaction it takes all groups of the full batch, puts the batch
 * into the outbox and opens the next one. The front-end that filled a batch closes it; if it
 * cannot, any other one does. One front-end, which holds another advisory lock, hands batches
 * over. If it is lost, the lock goes to the next one. A batch that both have sent is recognized by
 * the analyzer: it is sealed in the outbox with its order.
 *
 * The server keeps a log, so everything that depends on reports is sealed to keys of the batch
 * that are not in the database but in a file of each front-end (batch_keys.h). A key is wiped when
 * its batch was released. Then what the server, its log, its replicas and its backups hold of the
 * batch is noise. They do show which clients have sent to which batch, and when.
 *
 * There are no marks: the front-ends share no key for them. So other bytes under a number that was
 * used get "accepted before", also while the batch is open. */
#ifndef FARO_SERVICE_STATE_SPOOL_POSTGRES_H
#define FARO_SERVICE_STATE_SPOOL_POSTGRES_H

#include <stdatomic.h>

#include "service/state/keepers.h"
#include "service/state/spool_inner.h"

enum { PLACES = 16 };
typedef enum spool_part { PART_GROUP = 1, PART_OUTBOX = 2 } spool_part;

typedef struct spool_postgres {
  faro_postgres *link;
  faro_batch_keys *keys;
  faro_spool_entry **queue; /* the reports of the group */
  size_t queued, room;
  int64_t lock;   /* groups share it, closing takes it alone */
  int64_t leader; /* held by the front-end that hands over */
  bool leads;
  uint64_t waiting;    /* closed batches, whichever front-end hands them over */
  uint64_t left;       /* places left in the open batch */
  uint64_t published;  /* the keys of batches below this are in the database */
  bool foreign;        /* the open batch holds what this front-end cannot open: logged once */
  atomic_bool lost;    /* the server does not answer */
  faro_sealed_as seal; /* the campaign and shuffler */
} spool_postgres;

/* Connects if the connection was lost. */
faro_status faro_spool_pg_ready(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;
/* Reads what the database says about the open batch. */
faro_status faro_spool_pg_look(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;
/* Makes and publishes this front-end's keys of the open batch and the next one, and wipes those of
 * released batches. Not within a transaction. */
faro_status faro_spool_pg_keys(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;
/* Opens room for the open batch. Within a transaction. */
faro_status faro_spool_pg_make_room(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;
/* Seals to all keepers of a batch. The caller frees *sealed. Within a transaction. */
faro_status faro_spool_pg_seal(faro_spool *spool, const faro_sealed_as *as, const void *bytes, size_t length,
                               unsigned char **sealed, size_t *size, faro_error *error) FARO_WARN_UNUSED;
faro_sealed_as faro_spool_pg_as(const faro_spool *spool, uint64_t batch, uint64_t count, spool_part part);

/* Groups of reports: verdicts are known after the commit. */
faro_status faro_spool_pg_begin(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_spool_pg_accept(faro_spool *spool, faro_spool_entry *entry,
                                 faro_error *error) FARO_WARN_UNUSED;
faro_status faro_spool_pg_commit(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;

/* Closes the open batch if it is full and this front-end can open all of it. */
faro_status faro_spool_pg_close_batch(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_spool_pg_next(faro_spool *spool, faro_batch *batch, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_spool_pg_forget(faro_spool *spool, uint64_t number, faro_error *error) FARO_WARN_UNUSED;

#endif
