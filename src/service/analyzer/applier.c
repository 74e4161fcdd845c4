/* applier: see the header. */
#include "service/analyzer/applier.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/abort.h"
#include "base/clock.h"
#include "service/analyzer/campaign_ledger.h"
#include "service/analyzer/ledger_chain.h"
#include "service/role/log.h"
#include "wire/document.h"
#include "wire/split.h"

enum { PRINT = 16 };             /* bytes of a hash of a sealed body */
static const double ALIVE = 0.5; /* seconds after which the database hears of one that computes */

typedef struct print {
  unsigned char hash[PRINT];
  size_t index;
} print;

struct faro_applier {
  faro_store *store;
  const faro_campaign *campaign;
  const faro_applier_keys *keys;
  faro_learning *learning;
  faro_store_state state;                 /* as in the store */
  unsigned char chain[FARO_DIGEST_BYTES]; /* hash of the ledger's last row, or the campaign's digest */
  faro_learning_view view;
  uint64_t spoiled;
  bool stale;        /* `learning` differs from the store: a batch failed, and so did restoring */
  size_t entries;    /* numbers in a message */
  size_t body;       /* bytes of a sealed message */
  int64_t *messages; /* a batch, as the release reads it */
  bool gathered;     /* `messages` is not empty */
  print *prints;     /* hashes of its bodies; NULL if nothing is sealed */
  double alive_at;   /* when the database is to hear of us again, on faro_clock */
};

static bool sealed(const faro_campaign *c) { return faro_campaign_form(c) != FARO_WIRE_BITS; }
/* Reports in the next batch. */
static size_t next_size(const faro_applier *a) {
  return (size_t)faro_campaign_size(a->campaign, 0, a->state.batches);
}

size_t faro_applier_frame(const faro_campaign *campaign) {
  return faro_batch_size(campaign, sealed(campaign) ? faro_campaign_largest(campaign) : 1);
}

static faro_status allocate(faro_applier *a, faro_error *error) {
  const faro_campaign *c = a->campaign;
  const size_t rows = sealed(c) ? (size_t)faro_campaign_largest(c) : faro_campaign_targets(c);
  a->entries = faro_wire_report_entries(c);
  a->body = faro_wire_report_size(c) - FARO_REPORT_HEAD;
  a->messages = calloc(rows * a->entries, sizeof *a->messages);
  a->prints = sealed(c) ? calloc(rows, sizeof *a->prints) : NULL;
  if (a->messages && (a->prints || !sealed(c))) return FARO_OK;
  return faro_fail(error, FARO_MEMORY, "cannot allocate a batch of %zu messages", rows);
}

/* In phases: what was committed is the plan from now on, for the frames that follow. */
static faro_status follow_plan(const faro_applier *a, faro_error *error) {
  const faro_plan_row *row = NULL;
  faro_plans *plans = a->campaign->plans;
  if (!plans || !faro_learning_plan(a->learning, &row) || faro_plans_newest(plans) >= row->version)
    return FARO_OK;
  return faro_plans_add(plans, row, error);
}

/* Signs the current policy. */
static faro_status sign_policy(const faro_applier *a, faro_blob *policy, faro_error *error) {
  char *text = NULL;
  const faro_status status =
      faro_learning_document(a->learning, &a->keys->sign, &text, &policy->length, error);
  policy->bytes = (unsigned char *)text;
  return status;
}

/* Signs the head of a ledger of this many rows. */
static faro_status sign_head(const faro_applier *a, uint64_t rows,
                             const unsigned char hash[static FARO_DIGEST_BYTES], faro_blob *head,
                             faro_error *error) {
  faro_ledger_head content = {.rows = rows};
  char *text = NULL;
  memcpy(content.campaign, a->campaign->digest, FARO_DIGEST_BYTES);
  memcpy(content.hash, hash, FARO_DIGEST_BYTES);
  const faro_status status = faro_ledger_head_write(&content, &a->keys->sign, &text, &head->length, error);
  head->bytes = (unsigned char *)text;
  return status;
}

/* Whether the stored head is signed by our key and says what the ledger says. */
static bool is_head(const faro_applier *a, const faro_blob *stored) {
  faro_ledger_head head;
  return stored->bytes &&
         faro_ledger_head_open(&head, (const char *)stored->bytes, stored->length, a->keys->sign.public_key,
                               NULL) == FARO_OK &&
         head.rows == a->state.batches && memcmp(head.hash, a->chain, FARO_DIGEST_BYTES) == 0 &&
         memcmp(head.campaign, a->campaign->digest, FARO_DIGEST_BYTES) == 0;
}

/* Finds the end of the chain, and signs it if that was not done: before the first batch, after a
 * migration, and with another key. */
static faro_status restore_chain(faro_applier *a, faro_error *error) {
  faro_debit last = {0};
  size_t count = 1;
  faro_blob head = {0};
  memcpy(a->chain, a->campaign->digest, FARO_DIGEST_BYTES);
  faro_status status = a->state.batches > 0
                           ? faro_store_debits(a->store, a->state.batches - 1, &last, &count, error)
                           : FARO_OK;
  if (status == FARO_OK && count == 0)
    status = faro_fail(error, FARO_INVALID, "the state is damaged: its ledger has no row of batch %" PRIu64,
                       a->state.batches - 1);
  if (status == FARO_OK && a->state.batches > 0) memcpy(a->chain, last.hash, FARO_DIGEST_BYTES);
  if (status == FARO_OK) status = faro_store_head(a->store, &head, error);
  const bool signed_before = status == FARO_OK && is_head(a, &head);
  free(head.bytes);
  if (status != FARO_OK || signed_before) return status;
  status = sign_head(a, a->state.batches, a->chain, &head, error);
  if (status == FARO_OK) status = faro_store_set_head(a->store, &head, error);
  free(head.bytes);
  return status;
}

/* Stores version 1, which uses no batch and is not debited. */
static faro_status begin(faro_applier *a, faro_error *error) {
  faro_store_state state = {0};
  faro_status status = faro_learning_save(a->learning, &state.release.bytes, &state.release.length, error);
  if (status == FARO_OK) status = sign_policy(a, &state.policy, error);
  if (status == FARO_OK) status = faro_store_begin(a->store, &state, error);
  if (status != FARO_OK) {
    faro_store_state_clear(&state);
    return status;
  }
  a->state = state;
  return follow_plan(a, error);
}

/* If the signing key was handed over since: signs the published policy, or plan, again as it is. */
static faro_status renew_policy(faro_applier *a, faro_error *error) {
  faro_blob *policy = &a->state.policy;
  char *text = NULL;
  size_t length = 0;
  if (faro_document_is_signed((const char *)policy->bytes, policy->length, a->keys->sign.public_key))
    return FARO_OK;
  const faro_status status = faro_document_sign_again((const char *)policy->bytes, policy->length,
                                                      &a->keys->sign, &text, &length, error);
  if (status != FARO_OK) return status;
  free(policy->bytes);
  *policy = (faro_blob){.bytes = (unsigned char *)text, .length = length};
  return faro_store_begin(a->store, &a->state, error);
}

/* Loads the last durable state. */
static faro_status restore(faro_applier *a, faro_error *error) {
  faro_store_state state = {0};
  faro_learning *learning = NULL;
  faro_status status = faro_store_state_load(a->store, &state, error);
  if (status == FARO_OK)
    status = faro_learning_create(&learning, a->campaign, state.release.bytes, state.release.length, error);
  if (status == FARO_OK && faro_learning_batches(learning) != state.batches)
    status = faro_fail(error, FARO_INVALID,
                       "the state is damaged: it has %" PRIu64 " batches, but its release has %" PRIu64,
                       state.batches, faro_learning_batches(learning));
  if (status != FARO_OK) {
    faro_learning_destroy(learning);
    faro_store_state_clear(&state);
    return status;
  }
  faro_learning_destroy(a->learning);
  faro_store_state_clear(&a->state);
  a->learning = learning;
  a->state = state;
  a->view = faro_learning_snapshot(learning);
  status = a->state.policy.bytes ? follow_plan(a, error) : begin(a, error);
  if (status == FARO_OK) status = renew_policy(a, error);
  if (status == FARO_OK) status = restore_chain(a, error);
  if (status == FARO_OK) faro_store_expect(a->store, a->state.batches, a->chain);
  return status;
}

faro_status faro_applier_create(faro_applier **applier, faro_store *store, const faro_campaign *campaign,
                                const faro_applier_keys *keys, faro_error *error) {
  faro_applier *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the analyzer's state");
  *made = (faro_applier){.store = store, .campaign = campaign, .keys = keys};
  faro_status status = allocate(made, error);
  if (status == FARO_OK) status = restore(made, error);
  if (status == FARO_OK) *applier = made;
  else faro_applier_destroy(made);
  return status;
}

void faro_applier_destroy(faro_applier *applier) {
  if (!applier) return;
  faro_store_state_clear(&applier->state);
  faro_learning_destroy(applier->learning);
  free(applier->messages);
  free(applier->prints);
  free(applier);
}

/* Receiving. */

/* How many batches of the shuffler are in the first `batches` of the campaign. */
static uint64_t taken_of(const faro_applier *a, size_t shuffler, uint64_t batches) {
  return batches / faro_campaign_unit(a->campaign, shuffler);
}

static faro_status place(faro_applier *a, const faro_batch *batch, faro_receipt *receipt, faro_error *error) {
  unsigned char hash[FARO_DIGEST_BYTES];
  unsigned char last[FARO_DIGEST_BYTES];
  uint64_t next = 0;
  const size_t length = faro_batch_body(a->campaign, batch->count);
  crypto_generichash(hash, sizeof hash, batch->body, length, NULL, 0);
  const faro_status status = faro_store_next(a->store, batch->shuffler, &next, last, error);
  if (status != FARO_OK) return status;
  *receipt = FARO_RECEIPT_KNOWN;
  if (batch->number + 1 == next && memcmp(hash, last, sizeof hash) == 0)
    return faro_store_confirm(a->store, error);
  *receipt = FARO_RECEIPT_UNASKED;
  if (batch->number != next) {
    (void)faro_fail(error, FARO_INVALID,
                    "batch must be %" PRIu64 ", the next of this shuffler (got %" PRIu64 ")%s", next,
                    batch->number,
                    batch->number > next
                        ? ": the shuffler has handed over batches that are missing here; perhaps an old copy "
                          "of the analyzer's database was restored"
                        : "");
    return FARO_OK;
  }
  *receipt = FARO_RECEIPT_FULL;
  if (next - taken_of(a, batch->shuffler, a->state.batches) >= FARO_INBOX_MAX) {
    (void)faro_fail(error, FARO_INVALID, "%d batches of this shuffler wait already", FARO_INBOX_MAX);
    return FARO_OK;
  }
  *receipt = FARO_RECEIPT_TAKEN;
  return faro_store_receive(a->store, batch, length, hash, error);
}

faro_status faro_applier_take(faro_applier *applier, const faro_batch *batch, faro_receipt *receipt,
                              faro_error *error) {
  FARO_INVARIANT(batch->shuffler < faro_campaign_targets(applier->campaign) &&
                 batch->count == faro_campaign_size(applier->campaign, 0, batch->number));
  return place(applier, batch, receipt, error);
}

faro_status faro_applier_receive(faro_applier *applier, const unsigned char *frame, size_t length,
                                 faro_receipt *receipt, faro_error *error) {
  faro_batch batch;
  *receipt = FARO_RECEIPT_BAD;
  if (faro_batch_read(applier->campaign, frame, length, &batch, error) != FARO_OK) return FARO_OK;
  return place(applier, &batch, receipt, error);
}

/* Applying. */

static int by_hash(const void *a, const void *b) {
  const print *left = a;
  const print *right = b;
  const int order = memcmp(left->hash, right->hash, PRINT);
  if (order != 0) return order;
  return left->index < right->index ? -1 : left->index > right->index;
}

static int hash_only(const void *a, const void *b) { return memcmp(a, b, PRINT); }

/* Replaces a message by one that counts as nothing. */
static void spoil(faro_applier *a, size_t index) {
  faro_release_blank(faro_learning_release(a->learning), a->messages + index * a->entries);
  a->spoiled++;
}

/* A box that is not a report of this campaign is spoiled. If memory is out, the batch is tried
 * again. */
static faro_status unseal(faro_applier *a, size_t index, const unsigned char *body, faro_error *error) {
  int64_t *numbers = a->messages + index * a->entries;
  faro_error why = {0};
  faro_status status =
      faro_wire_report_unseal(a->campaign, &a->keys->seal, a->state.batches, body, numbers, &why);
  if (status == FARO_INVALID && a->keys->has_before)
    status = faro_wire_report_unseal(a->campaign, &a->keys->before, a->state.batches, body, numbers, &why);
  if (status == FARO_INVALID) spoil(a, index);
  else if (status != FARO_OK) return faro_fail(error, status, "%s", why.message);
  return FARO_OK;
}

/* A database server takes an analyzer that is silent for seconds for one that hangs. To open the
 * boxes of a large batch takes longer, and nothing is asked of the server meanwhile. */
static void keep_alive(faro_applier *a) {
  const double now = faro_clock();
  faro_error none = {0};
  if (now < a->alive_at) return;
  a->alive_at = now + ALIVE;
  const faro_status status = faro_store_ready(a->store, &none);
  (void)status; /* what comes next finds out by itself */
}

/* A copy of another client's sealed body would count that client twice. Copies of bodies older than
 * the last batch cannot be recognized here: a box does not say when it was made, so that boxes
 * cannot be told apart. A client's own repetitions are refused by their sequence numbers, when
 * reports are accepted. */
static faro_status unseal_all(faro_applier *a, const unsigned char *bodies, faro_error *error) {
  const size_t count = next_size(a);
  faro_status status = FARO_OK;
  for (size_t i = 0; i < count; i++) {
    a->prints[i].index = i;
    crypto_generichash(a->prints[i].hash, PRINT, bodies + i * a->body, a->body, NULL, 0);
    keep_alive(a);
  }
  qsort(a->prints, count, sizeof *a->prints, by_hash);
  const faro_blob *seen = &a->state.seen;
  for (size_t i = 0; status == FARO_OK && i < count; i++) {
    const print *p = &a->prints[i];
    const bool copy = (i > 0 && memcmp(p->hash, a->prints[i - 1].hash, PRINT) == 0) ||
                      (seen->bytes && bsearch(p->hash, seen->bytes, seen->length / PRINT, PRINT, hash_only));
    if (copy) spoil(a, p->index);
    else status = unseal(a, p->index, bodies + p->index * a->body, error);
    keep_alive(a);
  }
  return status;
}

/* Reads one shuffler's totals. */
static void read_totals(faro_applier *a, size_t row, const unsigned char *body) {
  for (size_t i = 0; i < a->entries; i++)
    a->messages[row * a->entries + i] = (int64_t)faro_load64(body + 8 * i);
}

/* Joins the two sums of split counts. If they cannot be the totals of honest reports, nobody can
 * say which report was wrong: the whole batch counts as zeros. */
static faro_status join(faro_applier *a, size_t row, const unsigned char *body, faro_error *error) {
  const uint64_t number = taken_of(a, row, a->state.batches + 1) - 1;
  const faro_batch batch = {.shuffler = (uint32_t)row,
                            .number = number,
                            .count = faro_campaign_size(a->campaign, row, number),
                            .body = body};
  const faro_encoding *e = faro_campaign_encoding(a->campaign, row, number);
  int64_t *totals = a->messages + row * a->entries;
  faro_error why = {0};
  faro_status status = faro_split_join(a->campaign, &batch, &a->keys->seal, totals, &why);
  if (status == FARO_INVALID && a->keys->has_before) {
    faro_error again = {0};
    status = faro_split_join(a->campaign, &batch, &a->keys->before, totals, &again);
  }
  if (status == FARO_OK) return FARO_OK;
  if (status != FARO_INVALID) return faro_fail(error, status, "%s", why.message);
  faro_log_error("batch-spoiled", &why);
  a->spoiled += batch.count;
  for (size_t i = 0; i < a->entries; i++)
    totals[i] = (int64_t)batch.count * e->least + (int64_t)batch.count * (e->most - e->least) / 2;
  return FARO_OK;
}

/* Reads all that the next batch needs into `messages`; *whole is false if something has not arrived
 * yet. */
static faro_status gather(faro_applier *a, size_t due, bool *whole, faro_error *error) {
  faro_status status = FARO_OK;
  *whole = true;
  a->alive_at = faro_clock() + ALIVE;
  a->spoiled = 0;
  a->gathered = false;
  for (size_t i = 0; status == FARO_OK && *whole && i < due; i++) {
    faro_blob body = {0};
    status =
        faro_store_waiting(a->store, (uint32_t)i, taken_of(a, i, a->state.batches + 1) - 1, &body, error);
    *whole = body.bytes != NULL;
    const size_t length = faro_batch_body(a->campaign, next_size(a));
    if (status == FARO_OK && *whole && body.length != length)
      status = faro_fail(error, FARO_INVALID, "the state is damaged: a batch has %zu bytes instead of %zu",
                         body.length, length);
    if (status == FARO_OK && *whole) {
      a->gathered = true;
      if (sealed(a->campaign)) status = unseal_all(a, body.bytes, error);
      else if (faro_campaign_is_split(a->campaign)) status = join(a, i, body.bytes, error);
      else read_totals(a, i, body.bytes);
    }
    if (body.bytes) sodium_memzero(body.bytes, body.length);
    free(body.bytes);
  }
  return status;
}

/* Keeps the sorted hashes of this batch's bodies, to find copies in the next one. */
static faro_status keep_prints(const faro_applier *a, faro_blob *seen, faro_error *error) {
  if (!a->prints) return FARO_OK;
  const size_t count = next_size(a);
  seen->bytes = malloc(count * PRINT);
  if (!seen->bytes) return faro_fail(error, FARO_MEMORY, "cannot allocate the hashes of a batch");
  seen->length = count * PRINT;
  for (size_t i = 0; i < count; i++) memcpy(seen->bytes + i * PRINT, a->prints[i].hash, PRINT);
  return FARO_OK;
}

/* The debit is in the transaction before anything is computed, and nothing is published before the
 * commit. */
static faro_status apply(faro_applier *a, size_t count, faro_store_state *next, faro_error *error) {
  const faro_campaign *c = a->campaign;
  faro_debit debit = faro_ledger_debit(c, faro_learning_release(a->learning), a->state.batches);
  faro_blob head = {0};
  uint64_t taken[FARO_SHUFFLERS_MAX];
  faro_ledger_link(a->chain, &debit, debit.hash);
  next->batches = a->state.batches + 1;
  for (size_t i = 0; i < faro_campaign_targets(c); i++) taken[i] = taken_of(a, i, next->batches);
  faro_status status = faro_store_debit(a->store, &debit, error);
  if (status == FARO_OK) status = faro_learning_apply(a->learning, a->messages, count, error);
  if (status == FARO_OK)
    status = faro_learning_save(a->learning, &next->release.bytes, &next->release.length, error);
  if (status == FARO_OK) status = sign_policy(a, &next->policy, error);
  if (status == FARO_OK) status = keep_prints(a, &next->seen, error);
  if (status == FARO_OK) status = sign_head(a, next->batches, debit.hash, &head, error);
  if (status != FARO_OK) return status;
  const faro_learning_view view = faro_learning_snapshot(a->learning);
  const faro_store_step step = {.state = next,
                                .view = &view,
                                .head = &head,
                                .spoiled = a->spoiled,
                                .taken = taken,
                                .shufflers = faro_campaign_targets(c)};
  status = faro_store_commit(a->store, &step, error);
  free(head.bytes);
  if (status != FARO_OK) return status;
  memcpy(a->chain, debit.hash, FARO_DIGEST_BYTES);
  faro_store_expect(a->store, next->batches, a->chain);
  return FARO_OK;
}

faro_status faro_applier_step(faro_applier *applier, bool *applied, faro_error *error) {
  faro_applier *a = applier;
  *applied = false;
  if (a->stale) {
    const faro_status back = restore(a, error);
    if (back != FARO_OK) return back;
    a->stale = false;
  }
  if (faro_learning_done(a->learning)) return FARO_OK;
  const size_t due = sealed(a->campaign) ? 1 : faro_release_expected(faro_learning_release(a->learning));
  const size_t rows = sealed(a->campaign) ? next_size(a) : due;
  bool whole = false;
  faro_store_state next = {0};
  faro_status status = gather(a, due, &whole, error);
  const bool ready = status == FARO_OK && whole;
  if (ready) status = apply(a, rows, &next, error);
  if (a->gathered) sodium_memzero(a->messages, rows * a->entries * sizeof *a->messages);
  if (!ready) return status;
  if (status != FARO_OK) { /* go back to the durable state, with the release and its noise */
    faro_store_rollback(a->store);
    faro_store_state_clear(&next);
    a->stale = restore(a, NULL) != FARO_OK; /* then the next step starts with restoring */
    return status;
  }
  faro_store_state_clear(&a->state);
  a->state = next;
  a->view = faro_learning_snapshot(a->learning);
  *applied = true;
  return follow_plan(a, error);
}

faro_applier_view faro_applier_snapshot(const faro_applier *applier) {
  return (faro_applier_view){.version = applier->state.batches + 1,
                             .batches = applier->state.batches,
                             .done = faro_learning_done(applier->learning),
                             .policy = (const char *)applier->state.policy.bytes,
                             .length = applier->state.policy.length,
                             .learning = applier->view,
                             .spoiled = applier->spoiled};
}

const faro_learning *faro_applier_learning(const faro_applier *applier) { return applier->learning; }
