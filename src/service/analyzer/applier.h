/* applier: stores batches, and applies each exactly once and in order: ledger, release, learner and
 * policy in one transaction. Use it from one thread.
 *
 *   receive (durable) -> complete? -> debit -> unseal -> release, learner -> sign -> commit
 *   -> the policy may be shown
 *
 * A malicious client can only waste its own place in a batch. A sealed body counts as nothing
 * (faro_release_blank) if it does not open, is for another campaign, is out of range, or is a copy
 * of another one in this batch or the last. The batch stays complete, and the other clients lose
 * nothing. */
#ifndef FARO_SERVICE_ANALYZER_APPLIER_H
#define FARO_SERVICE_ANALYZER_APPLIER_H

#include "service/analyzer/store.h"

typedef struct faro_applier faro_applier;

typedef struct faro_applier_keys {
  faro_sign_key sign;
  faro_seal_key seal;
  faro_seal_key before; /* the sealing key before it, for reports that are still sealed to that */
  bool has_before;
} faro_applier_keys;

/* Restores the last state, or starts with version 1 and signs it. Store, campaign and keys must
 * outlive the applier. */
faro_status faro_applier_create(faro_applier **applier, faro_store *store, const faro_campaign *campaign,
                                const faro_applier_keys *keys, faro_error *error) FARO_WARN_UNUSED;
void faro_applier_destroy(faro_applier *applier);

/* What happened to a batch that arrived. */
typedef enum faro_receipt {
  FARO_RECEIPT_TAKEN,   /* kept, durable */
  FARO_RECEIPT_KNOWN,   /* kept before */
  FARO_RECEIPT_BAD,     /* from another campaign, or its signature is wrong */
  FARO_RECEIPT_UNASKED, /* valid, but not the next one: the error says which that is */
  FARO_RECEIPT_FULL,    /* too many of this shuffler wait already */
  FARO_RECEIPTS
} faro_receipt;

/* How many batches of one shuffler may wait for those of the others. */
enum { FARO_INBOX_MAX = 4 };

/* Receives a signed frame (wire.h). FARO_OK if there is a receipt; the error explains all receipts
 * but TAKEN and KNOWN. */
faro_status faro_applier_receive(faro_applier *applier, const unsigned char *frame, size_t length,
                                 faro_receipt *receipt, faro_error *error) FARO_WARN_UNUSED;
/* Takes a batch from the analyzer's own intake, unsigned. */
faro_status faro_applier_take(faro_applier *applier, const faro_batch *batch, faro_receipt *receipt,
                              faro_error *error) FARO_WARN_UNUSED;
/* The greatest size of a frame. */
size_t faro_applier_frame(const faro_campaign *campaign);

/* Applies the next batch if it is complete. On failure nothing has changed, and it can be tried
 * again. */
faro_status faro_applier_step(faro_applier *applier, bool *applied, faro_error *error) FARO_WARN_UNUSED;

/* What is public now. Pointers are valid until the next step. */
typedef struct faro_applier_view {
  uint64_t version, batches;
  bool done;
  const char *policy;
  size_t length;
  faro_learning_view learning;
  uint64_t spoiled; /* in the last batch */
} faro_applier_view;
faro_applier_view faro_applier_snapshot(const faro_applier *applier);
const faro_learning *faro_applier_learning(const faro_applier *applier);

#endif
