/* store: the analyzer's database: the campaign, waiting batches, the state and policy after the
 * last applied batch, the ledger, and what was published about learning. It is a file of SQLite, or
 * is in a PostgreSQL server (postgresql://...).
 *
 * A batch is first received (durable, in the inbox) and later applied: one transaction debits the
 * ledger, replaces state and policy, and removes the batch. So after a crash at any moment it was
 * applied completely or not at all, and it is charged once. Use a store from one thread at a
 * time. */
#ifndef FARO_SERVICE_ANALYZER_STORE_H
#define FARO_SERVICE_ANALYZER_STORE_H

#include "service/analyzer/learning.h"
#include "service/analyzer/life.h"
#include "service/state/database.h"
#include "wire/wire.h"

typedef struct faro_store faro_store;

/* `database`: a path or a URL. One process at a time may open it for writing; FARO_OLD: another one
 * has a database in a server. */
faro_status faro_store_open(faro_store **store, const char *database, faro_access mode,
                            faro_error *error) FARO_WARN_UNUSED;
void faro_store_close(faro_store *store); /* NULL is allowed */
/* Whether it can be a path or a URL. A mistyped URL is not taken for a path: it may have a
 * password, which would be in messages, and in the name of a file. `key` is that of the
 * setting. */
faro_status faro_store_check_name(const char *key, const char *database, faro_error *error) FARO_WARN_UNUSED;
/* What a message says of it: the name of the file, or that it is in a server. */
const char *faro_store_name(const char *database);
/* Whether there is a state to open. */
faro_status faro_store_there(const char *database, bool *there, faro_error *error) FARO_WARN_UNUSED;
/* Whether the file, if it exists, can be an analyzer's and is private (faro_database_recognize). */
faro_status faro_store_recognize(const char *path, faro_error *error) FARO_WARN_UNUSED;

/* Bytes that the caller frees; NULL if there is nothing yet. */
typedef struct faro_blob {
  unsigned char *bytes;
  size_t length;
} faro_blob;

faro_status faro_store_campaign(faro_store *store, faro_blob *document,
                                unsigned char signer[static FARO_KEY_BYTES],
                                faro_error *error) FARO_WARN_UNUSED;
faro_status faro_store_set_campaign(faro_store *store, const char *document, size_t length,
                                    const unsigned char signer[static FARO_KEY_BYTES],
                                    faro_error *error) FARO_WARN_UNUSED;

/* A copy of the database, as of now. Unless it is `final`, it is fenced: it may only go on when it
 * is known that no batch was handed over after it was made. Retire: nobody can open it again. */
faro_status faro_store_copy(faro_store *store, const char *path, bool final,
                            faro_error *error) FARO_WARN_UNUSED;
faro_status faro_store_retire(faro_store *store, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_store_fenced(faro_store *store, bool *fenced, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_store_lift(faro_store *store, faro_error *error) FARO_WARN_UNUSED;

/* How often a standby has taken over, and the highest epoch that was heard of: if that is higher,
 * another analyzer goes on with the campaign, and this one never does again. */
faro_status faro_store_epoch(faro_store *store, uint64_t *epoch, uint64_t *seen,
                             faro_error *error) FARO_WARN_UNUSED;
faro_status faro_store_see_epoch(faro_store *store, uint64_t seen, faro_error *error) FARO_WARN_UNUSED;
/* A copy that goes on in a new epoch, fenced, at a new path. */
faro_status faro_store_take_over(faro_store *store, const char *path, uint64_t epoch,
                                 faro_error *error) FARO_WARN_UNUSED;

/* A witness sees the database as it will be, before each commit of a batch, of a step and of a
 * state of the campaign. If it fails, nothing is committed. */
typedef struct faro_store_witness {
  faro_status (*see)(void *context, const unsigned char *image, size_t length, faro_error *error);
  void *context;
} faro_store_witness;
void faro_store_set_witness(faro_store *store, const faro_store_witness *witness);
/* Shows it the database as it is. */
faro_status faro_store_show(faro_store *store, faro_error *error) FARO_WARN_UNUSED;
/* Whether the file is not damaged. */
faro_status faro_store_sound(faro_store *store, faro_error *error) FARO_WARN_UNUSED;

/* The newest move of the campaign (wire/move.h); NULL if it has not moved. */
faro_status faro_store_move(faro_store *store, faro_blob *document, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_store_add_move(faro_store *store, uint64_t number, const char *document, size_t length,
                                faro_error *error) FARO_WARN_UNUSED;

/* The state after the last applied batch. `seen`: hashes of its sealed bodies. */
typedef struct faro_store_state {
  uint64_t batches;
  faro_blob release, policy, seen;
} faro_store_state;
faro_status faro_store_state_load(faro_store *store, faro_store_state *state,
                                  faro_error *error) FARO_WARN_UNUSED;
/* What this process has seen committed: `batches` batches, and `hash` in the last one's row of the
 * ledger. From now on a state without it is refused, as that of an old copy (FARO_INVALID): when it
 * is loaded, and before anything is read from or written to a server after a lost connection. */
void faro_store_expect(faro_store *store, uint64_t batches,
                       const unsigned char hash[static FARO_DIGEST_BYTES]);
/* Only its number of batches; 0: there is none yet. */
faro_status faro_store_batches(faro_store *store, uint64_t *batches, faro_error *error) FARO_WARN_UNUSED;
void faro_store_state_clear(faro_store_state *state);
/* Stores the state before the first batch, or the same state with a policy that was signed anew. */
faro_status faro_store_begin(faro_store *store, const faro_store_state *state,
                             faro_error *error) FARO_WARN_UNUSED;

/* The number of the next batch of a shuffler, and the hash of its last one (zero: none arrived
 * yet). */
faro_status faro_store_next(faro_store *store, uint32_t shuffler, uint64_t *number,
                            unsigned char hash[static FARO_DIGEST_BYTES], faro_error *error) FARO_WARN_UNUSED;
/* Keeps a batch, which must be the next one of its shuffler. Durable on return. */
faro_status faro_store_receive(faro_store *store, const faro_batch *batch, size_t length,
                               const unsigned char hash[static FARO_DIGEST_BYTES],
                               faro_error *error) FARO_WARN_UNUSED;
/* Before a batch is acknowledged again: in a server with replicas, they have it too on return. */
faro_status faro_store_confirm(faro_store *store, faro_error *error) FARO_WARN_UNUSED;
/* The body of a waiting batch; NULL if it has not arrived. */
faro_status faro_store_waiting(faro_store *store, uint32_t shuffler, uint64_t number, faro_blob *body,
                               faro_error *error) FARO_WARN_UNUSED;
faro_status faro_store_waits(faro_store *store, uint64_t *count, faro_error *error) FARO_WARN_UNUSED;

/* An entry of the ledger: what one batch spent. */
typedef struct faro_debit {
  uint64_t batch;
  uint64_t version;      /* version of the policy after the batch */
  uint64_t users;        /* reports in the batch */
  double epsilon, delta; /* upper bound on what any client has spent so far */
  uint64_t rounds;       /* upper bound on the rounds of any client so far */
  uint64_t charged, allowed;
  char when[24];                         /* UTC */
  unsigned char hash[FARO_DIGEST_BYTES]; /* covers this row and all before it (ledger_chain.h) */
} faro_debit;

/* debit starts the transaction; apply the batch; then commit or rollback. Publish nothing before
 * the commit. It is refused if the database has another state than that before this batch. */
faro_status faro_store_debit(faro_store *store, const faro_debit *debit, faro_error *error) FARO_WARN_UNUSED;
typedef struct faro_store_step {
  const faro_store_state *state;
  const faro_learning_view *view;
  const faro_blob *head; /* the signed head of the ledger */
  uint64_t spoiled;
  const uint64_t *taken; /* for each shuffler, how many of its batches are applied now */
  size_t shufflers;
} faro_store_step;
faro_status faro_store_commit(faro_store *store, const faro_store_step *step,
                              faro_error *error) FARO_WARN_UNUSED;
void faro_store_rollback(faro_store *store);
/* Call purge after a commit, to remove from the database's log what it deleted. This fails while
 * another process reads the file; then the store needs a purge, and retry_purge tries again
 * (database.h). */
faro_status faro_store_purge(faro_store *store, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_store_retry_purge(faro_store *store, faro_error *error) FARO_WARN_UNUSED;
bool faro_store_needs_purge(const faro_store *store);

/* Looks for damage in the file (database.h). */
void faro_store_verify(faro_store *store);
/* Whether the file is still at its path (database.h). May be called from any thread. */
faro_status faro_store_present(const faro_store *store, faro_error *error) FARO_WARN_UNUSED;
/* Writes `bytes` and removes them: whether the disk has room again (database.h). */
faro_status faro_store_probe(faro_store *store, size_t bytes, faro_error *error) FARO_WARN_UNUSED;

/* The functions from here to the end of this part are for a database in a server, and do nothing if
 * it is a file.
 *
 * Two analyzers may have the same database. One holds it: it has an advisory lock, which ends with
 * its session, and the fencing token that it has drawn then. Each transaction that changes anything
 * compares the token, so one that was replaced while it slept changes nothing when it wakes up, and
 * knows it from then on: it is replaced for good.
 *
 * The server writes a log. So sealed bodies, in each of which is a single report, are sealed once
 * more to keys of their batch, which each analyzer keeps in a file of its own (batch_keys.h) and
 * wipes when the batch was applied (faro_store_purge). In the central model the state of the
 * release is sealed in the same way, because it may hold sums without noise. */

/* Connects again if the connection was lost, and asks whether the database is still ours. Call it
 * every few seconds: the server ends a session that holds the database and is silent for longer, so
 * that another analyzer can take over from one that hangs. A store that was opened for reading
 * connects here only. */
faro_status faro_store_ready(faro_store *store, faro_error *error) FARO_WARN_UNUSED;
bool faro_store_replaced(const faro_store *store); /* from any thread */
/* Opens or makes the file of keys, and publishes those of the next batches. Campaigns whose bodies
 * are totals need none. */
faro_status faro_store_keep_keys(faro_store *store, const char *path, const faro_campaign *campaign,
                                 faro_error *error) FARO_WARN_UNUSED;
void faro_store_drop_keys(faro_store *store); /* closes that file */
/* For a standby, whose store is open for reading: publishes and wipes keys as it is time; *unheld:
 * nobody holds the database, and all that waits in it can be opened here. */
faro_status faro_store_follow(faro_store *store, bool *unheld, faro_error *error) FARO_WARN_UNUSED;

/* The signed head of the ledger, as the last commit stored it; NULL if there is none yet. */
faro_status faro_store_head(faro_store *store, faro_blob *head, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_store_set_head(faro_store *store, const faro_blob *head, faro_error *error) FARO_WARN_UNUSED;

/* Entries of the ledger from batch `from` on, at most *count; sets *count. */
faro_status faro_store_debits(faro_store *store, uint64_t from, faro_debit *debits, size_t *count,
                              faro_error *error) FARO_WARN_UNUSED;

/* Changes of the campaign's state, oldest first, at most *count; sets *count. A campaign that was
 * founded by a release without states has none: then it is open. */
enum { FARO_LIFE_ROWS = 64 };
typedef struct faro_life_row {
  faro_life life;
  char when[24]; /* UTC */
} faro_life_row;
faro_status faro_store_lives(faro_store *store, faro_life_row *rows, size_t *count,
                             faro_error *error) FARO_WARN_UNUSED;
/* The last of them. */
faro_status faro_store_life(faro_store *store, faro_life *life, faro_error *error) FARO_WARN_UNUSED;
/* Records a change. Durable on return. */
faro_status faro_store_live(faro_store *store, faro_life life, faro_error *error) FARO_WARN_UNUSED;

/* At most *count points of the history, evenly over the first `batches` batches and with the last
 * one; sets *count. */
faro_status faro_store_history(faro_store *store, uint64_t batches, faro_learning_view *views, size_t *count,
                               faro_error *error) FARO_WARN_UNUSED;
faro_status faro_store_spoiled(faro_store *store, uint64_t *count, faro_error *error) FARO_WARN_UNUSED;
/* How many of the newest batches, in a row, have spoiled reports. */
faro_status faro_store_spoiled_run(faro_store *store, uint64_t *batches, faro_error *error) FARO_WARN_UNUSED;

#endif
