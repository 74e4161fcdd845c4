/* store: what the analyzer keeps, in one database: the campaign, batches that wait, the state after the last applied one,
 * the policy that follows from it, the ledger, and what was published about learning.
 *
 * A batch is received (durable, in the inbox) and later applied: one transaction debits the ledger, replaces state and
 * policy, and removes the batch. So after a crash at any moment it was applied whole or not at all, and is charged once.
 * One thread at a time. */
#ifndef FARO_SERVICE_ANALYZER_STORE_H
#define FARO_SERVICE_ANALYZER_STORE_H

#include "service/analyzer/learning.h"
#include "service/state/database.h"
#include "wire/wire.h"

typedef struct faro_store faro_store;

faro_status faro_store_open(faro_store **store, const char *path, faro_access mode,
                            faro_error *error) FARO_WARN_UNUSED;
void faro_store_close(faro_store *store);

/* Bytes that the caller frees; NULL where there is nothing yet. */
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

/* What the last applied batch left. `seen`: hashes of its sealed bodies. */
typedef struct faro_store_state {
  uint64_t batches;
  faro_blob release, policy, seen;
} faro_store_state;
faro_status faro_store_state_load(faro_store *store, faro_store_state *state,
                                  faro_error *error) FARO_WARN_UNUSED;
void faro_store_state_clear(faro_store_state *state);
/* The state before the first batch: charged to nobody. */
faro_status faro_store_begin(faro_store *store, const faro_store_state *state,
                             faro_error *error) FARO_WARN_UNUSED;

/* The next batch that is expected of a shuffler, and the hash of the last one that came (zero: none did). */
faro_status faro_store_next(faro_store *store, uint32_t shuffler, uint64_t *number,
                            unsigned char hash[static FARO_DIGEST_BYTES], faro_error *error) FARO_WARN_UNUSED;
/* Keeps a batch; it is the next one of its shuffler. Durable on return. */
faro_status faro_store_receive(faro_store *store, const faro_batch *batch, size_t length,
                               const unsigned char hash[static FARO_DIGEST_BYTES],
                               faro_error *error) FARO_WARN_UNUSED;
/* A batch that waits: its body; NULL when it has not come. */
faro_status faro_store_waiting(faro_store *store, uint32_t shuffler, uint64_t number, faro_blob *body,
                               faro_error *error) FARO_WARN_UNUSED;
faro_status faro_store_waits(faro_store *store, uint64_t *count, faro_error *error) FARO_WARN_UNUSED;

/* A line of the ledger: what batch `batch` spent. */
typedef struct faro_debit {
  uint64_t batch, version; /* the policy that it leads to */
  uint64_t users;          /* in it */
  double epsilon, delta;   /* what all that is published until then can tell of any one client */
  uint64_t rounds;         /* of any one client, at most, until then */
  uint64_t charged, allowed;
  char when[24]; /* UTC */
} faro_debit;

/* Begin, debit, apply; then commit, or rollback. Only after the commit may anything of it be published. */
faro_status faro_store_debit(faro_store *store, const faro_debit *debit, faro_error *error) FARO_WARN_UNUSED;
typedef struct faro_store_step {
  const faro_store_state *state;
  const faro_learning_view *view;
  uint64_t spoiled;
  const uint64_t *taken; /* of each shuffler, how many batches are applied now */
  size_t shufflers;
} faro_store_step;
faro_status faro_store_commit(faro_store *store, const faro_store_step *step,
                              faro_error *error) FARO_WARN_UNUSED;
void faro_store_rollback(faro_store *store);
/* After a commit: what it deleted is gone from the log of the database too. Where somebody reads the file, after the commit or
 * when it is opened, the log may hold it still: then it needs a purge, and faro_store_retry_purge tries again (database.h). */
faro_status faro_store_purge(faro_store *store, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_store_retry_purge(faro_store *store, faro_error *error) FARO_WARN_UNUSED;
bool faro_store_needs_purge(const faro_store *store);

/* Lines of the ledger from batch `from` on, at most *count; sets *count. */
faro_status faro_store_debits(faro_store *store, uint64_t from, faro_debit *debits, size_t *count,
                              faro_error *error) FARO_WARN_UNUSED;

/* At most *count points of the past, evenly over the `batches` so far, the last one with them; sets *count. */
faro_status faro_store_history(faro_store *store, uint64_t batches, faro_learning_view *views, size_t *count,
                               faro_error *error) FARO_WARN_UNUSED;
faro_status faro_store_spoiled(faro_store *store, uint64_t *count, faro_error *error) FARO_WARN_UNUSED;

#endif
