/* spool: the durable side of accepting reports, in one SQLite file; used by one thread at a time (see intake.h).
 *
 * Tables, and what stays in them of a client:
 *   clients  hash of the token, reports used, last sequence number          for ever: replays and M0 need them
 *   open     hash, sequence number, how often, mark of the last report      until the batch closes
 *   totals   BITS: ones of each entry so far; no row for a single report (but see below)
 *   bodies   SEALED, DIRECT: under random numbers, so that the file tells no order of arrival
 *   outbox   closed batches, permuted, until they are acknowledged
 *
 * A batch is closed in the transaction that accepts its last report. A smaller one never is.
 *
 * An open batch on the disk is as sensitive as the memory of whoever collects it. SQLite's log keeps the totals as they were
 * after each group until it is emptied: the difference of two versions is a group, and a group may be one report. What is
 * promised is the end: once a batch was acknowledged nothing of it is in the files (faro_spool_forget).
 *
 * A number that comes again. The mark is a hash of the report, BLAKE2b-128, so that in the open batch "accepted before" is
 * said to the same bytes only; others under the same number are a replay. Marks go when the batch closes: kept, they would
 * tie a client to its message at the analyzer. From then on the last number alone is "accepted before": clients use a number
 * once, and who sends again what was acknowledged must not hear that it is lost. The hash is keyed, and the key is
 * replaced with each batch: counts can be guessed, and an old block of the disk must not tell whether the guess is right. */
#ifndef FARO_SERVICE_STATE_SPOOL_H
#define FARO_SERVICE_STATE_SPOOL_H

#include "wire/wire.h"

typedef struct faro_spool faro_spool;

/* What becomes of a report: the byte in the answer to whoever sent it. */
#define FARO_VERDICT_LIST(X)                                                                                 \
  X(ACCEPTED, "accepted", "accepted")                                                                        \
  X(KNOWN, "known", "accepted before")                                                                       \
  X(CAMPAIGN, "campaign", "the report is for another campaign")                                              \
  X(MALFORMED, "malformed", "the report is malformed")                                                       \
  X(TOKEN, "token", "the token is not known here")                                                           \
  X(TWICE, "twice", "this client is in the open batch already")                                              \
  X(SPENT, "spent", "this client has sent as many reports as the campaign allows")                           \
  X(STALE, "stale", "the policy of the report is not one of the open batch")                                 \
  X(REPLAY, "replay", "the sequence number was used before")                                                 \
  X(CLOSED, "closed", "no reports are collected now")

typedef enum faro_verdict {
#define X(name, label, text) FARO_VERDICT_##name,
  FARO_VERDICT_LIST(X)
#undef X
      FARO_VERDICT_COUNT
} faro_verdict;

/* A report that is well formed, with the hash of its token. */
typedef struct faro_spool_entry {
  unsigned char hash[FARO_HASH_BYTES];
  uint64_t version, sequence;
  const unsigned char *body;
  faro_verdict verdict;
} faro_spool_entry;

typedef struct faro_spool_params {
  const char *path;
  const char *tokens; /* file of hashes: those who may send */
  const faro_campaign *campaign;
  size_t shuffler; /* 0 where clients send to the analyzer */
} faro_spool_params;

enum { FARO_SPOOL_AHEAD = 2 }; /* closed batches that may wait; then nothing is accepted */

faro_status faro_spool_open(faro_spool **spool, const faro_spool_params *params,
                            faro_error *error) FARO_WARN_UNUSED;
/* Whether the file, which is only looked at, is this shuffler's in this campaign. */
faro_status faro_spool_check(const char *path, const faro_campaign *campaign, size_t shuffler,
                             faro_error *error) FARO_WARN_UNUSED;
/* The same where no campaign is known yet: that the file, if there is one, may be a spool's (faro_database_recognize). */
faro_status faro_spool_recognize(const char *path, faro_error *error) FARO_WARN_UNUSED;
void faro_spool_close(faro_spool *spool);

/* A group of reports: begin, accept each, commit. What was accepted counts when commit returned FARO_OK; after any failure
 * nothing of the group does, and the group is over. */
faro_status faro_spool_begin(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_spool_accept(faro_spool *spool, faro_spool_entry *entry, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_spool_commit(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;

typedef struct faro_spool_state {
  uint64_t number, held, size; /* the open batch; reports in it; of how many */
  uint64_t waiting;            /* closed batches */
  bool needs_purge;            /* the database's log could not be emptied */
  bool over;                   /* this shuffler has collected all it ever will */
} faro_spool_state;
faro_spool_state faro_spool_snapshot(const faro_spool *spool);

/* The oldest closed batch; its body is to be given to faro_spool_wipe. FARO_OK with count 0: there is none. */
faro_status faro_spool_next(faro_spool *spool, faro_batch *batch, faro_error *error) FARO_WARN_UNUSED;
void faro_spool_wipe(const faro_spool *spool, faro_batch *batch);
/* It was acknowledged: nothing of it stays in the files, unless the state needs a purge then: the batch is gone but for the
 * log, which faro_spool_retry_purge empties. That does nothing where there is nothing to do, or it failed 5 seconds ago or less. */
faro_status faro_spool_forget(faro_spool *spool, uint64_t number, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_spool_retry_purge(faro_spool *spool, faro_error *error) FARO_WARN_UNUSED;

/* Reports in the open batch of a file that a process may have open; for tests of a deployment. */
faro_status faro_spool_count_open(const char *path, uint64_t *held, faro_error *error) FARO_WARN_UNUSED;

#endif
