/* store: see the header.
 *
 *   campaign   one row: the signed document and the key that signed it
 *   move       the signed documents by which addresses and keys have changed, by their numbers
 *   fence      a row if the file is a copy that may not be the newest state
 *   epoch      one row if a standby has taken over, or an epoch was heard of
 *   state      one row: release and policy after `batches` batches
 *   inbox      batches that arrived and are not applied yet
 *   shuffler   for each, the number of the next batch, and the hash of the last one, to recognize
 *              repetitions
 *   ledger     one row per batch, written in the transaction that applies it
 *   head       one row: the signed head of the ledger
 *   life       changes of the campaign's state
 *   history    what was public about learning at that time */
#include "service/analyzer/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "service/analyzer/ledger_chain.h"
#include "wire/document.h"

static const char SCHEMA[] =
    "CREATE TABLE campaign(one INTEGER PRIMARY KEY CHECK (one = 1), document BLOB NOT NULL, signer BLOB NOT "
    "NULL);"
    "CREATE TABLE state(one INTEGER PRIMARY KEY CHECK (one = 1), batches INTEGER NOT NULL, release BLOB NOT "
    "NULL,"
    " policy BLOB NOT NULL, seen BLOB);"
    "CREATE TABLE inbox(shuffler INTEGER NOT NULL, number INTEGER NOT NULL, body BLOB NOT NULL,"
    " PRIMARY KEY (shuffler, number));"
    "CREATE TABLE shuffler(shuffler INTEGER PRIMARY KEY, next INTEGER NOT NULL, hash BLOB NOT NULL);"
    "CREATE TABLE ledger(batch INTEGER PRIMARY KEY, version INTEGER NOT NULL, users INTEGER NOT NULL,"
    " epsilon REAL NOT NULL, delta REAL NOT NULL, rounds INTEGER NOT NULL, charged INTEGER NOT NULL,"
    " allowed INTEGER NOT NULL, moment TEXT NOT NULL, CHECK (charged <= allowed));"
    "CREATE TABLE history(batch INTEGER PRIMARY KEY, users INTEGER NOT NULL, last REAL, predicted REAL, "
    "width REAL,"
    " spoiled INTEGER NOT NULL);";

/* Hashes the rows of a ledger from before there were hashes. */
static faro_status chain_ledger(faro_database *d, faro_error *error);

/* Steps from one version of the schema to the next: only add to the end. */
static const faro_database_migration STEPS[] = {
    {"ALTER TABLE ledger ADD COLUMN hash BLOB;"
     "CREATE TABLE head(one INTEGER PRIMARY KEY CHECK (one = 1), document BLOB NOT NULL)",
     chain_ledger},
    {"CREATE TABLE life(number INTEGER PRIMARY KEY, state TEXT NOT NULL, moment TEXT NOT NULL)", NULL},
    {"CREATE TABLE move(number INTEGER PRIMARY KEY, document BLOB NOT NULL)", NULL},
    {"CREATE TABLE fence(one INTEGER PRIMARY KEY CHECK (one = 1))", NULL},
    {"ALTER TABLE history ADD COLUMN noise REAL", NULL}, /* NULL: not known */
    {"CREATE TABLE epoch(one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL, seen INTEGER NOT "
     "NULL)",
     NULL},
};

static const faro_database_kind KIND = {.of = "an analyzer",
                                        .id = 0x66614101,
                                        .first = 1,
                                        .schema = SCHEMA,
                                        .steps = STEPS,
                                        .count = sizeof STEPS / sizeof *STEPS};

enum {
  GET_CAMPAIGN,
  SET_CAMPAIGN,
  GET_MOVE,
  ADD_MOVE,
  GET_STATE,
  SET_STATE,
  GET_NEXT,
  SET_NEXT,
  PUT_INBOX,
  GET_INBOX,
  COUNT_INBOX,
  CLEAR_INBOX,
  PUT_DEBIT,
  GET_DEBITS,
  GET_HEAD,
  SET_HEAD,
  PUT_VIEW,
  GET_VIEWS,
  SUM_SPOILED,
  PUT_LIFE,
  GET_LIVES,
  GET_EPOCH,
  SEE_EPOCH,
  STATEMENTS
};

static const char *const SQL[STATEMENTS] = {
    [GET_CAMPAIGN] = "SELECT document, signer FROM campaign",
    [SET_CAMPAIGN] = "INSERT INTO campaign VALUES (1, ?, ?)",
    [GET_MOVE] = "SELECT document FROM move ORDER BY number DESC LIMIT 1",
    [ADD_MOVE] = "INSERT INTO move VALUES (?, ?)",
    [GET_STATE] = "SELECT batches, release, policy, seen FROM state",
    [SET_STATE] = "INSERT OR REPLACE INTO state VALUES (1, ?, ?, ?, ?)",
    [GET_NEXT] = "SELECT next, hash FROM shuffler WHERE shuffler = ?",
    [SET_NEXT] = "INSERT OR REPLACE INTO shuffler VALUES (?, ?, ?)",
    [PUT_INBOX] = "INSERT INTO inbox VALUES (?, ?, ?)",
    [GET_INBOX] = "SELECT body FROM inbox WHERE shuffler = ? AND number = ?",
    [COUNT_INBOX] = "SELECT count(*) FROM inbox",
    [CLEAR_INBOX] = "DELETE FROM inbox WHERE shuffler = ? AND number < ?",
    [PUT_DEBIT] = "INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [GET_DEBITS] = "SELECT * FROM ledger WHERE batch >= ? ORDER BY batch LIMIT ?",
    [GET_HEAD] = "SELECT document FROM head",
    [SET_HEAD] = "INSERT OR REPLACE INTO head VALUES (1, ?)",
    [PUT_VIEW] = "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?)",
    [GET_VIEWS] = "SELECT users, last, predicted, width, noise FROM history WHERE batch % ? = 0 OR batch = ? "
                  "ORDER BY 1",
    [PUT_LIFE] = "INSERT INTO life(state, moment) VALUES (?, ?)",
    /* The last ones; a campaign that is paused again and again has many. */
    [GET_LIVES] =
        "SELECT state, moment FROM (SELECT * FROM life ORDER BY number DESC LIMIT ?) ORDER BY number",
    [GET_EPOCH] = "SELECT number, seen FROM epoch",
    [SEE_EPOCH] = "INSERT INTO epoch VALUES (1, 0, ?) ON CONFLICT DO UPDATE SET seen = excluded.seen",
    [SUM_SPOILED] = "SELECT coalesce(sum(spoiled), 0) FROM history",
};

struct faro_store {
  faro_database *database;
  sqlite3_stmt *statement[STATEMENTS];
  faro_store_witness witness; /* see is NULL: none */
};

static faro_status prepare(faro_store *s, faro_error *error) {
  faro_status status = FARO_OK;
  for (size_t i = 0; status == FARO_OK && i < STATEMENTS; i++)
    status = faro_database_prepare(s->database, SQL[i], &s->statement[i], error);
  return status;
}

faro_status faro_store_open(faro_store **store, const char *path, faro_access mode, faro_error *error) {
  faro_store *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the analyzer's state");
  faro_status status = faro_database_open(&made->database, path, &KIND, mode, error);
  if (status == FARO_OK) status = prepare(made, error);
  if (status == FARO_OK) *store = made;
  else faro_store_close(made);
  return status;
}

faro_status faro_store_recognize(const char *path, faro_error *error) {
  return faro_database_recognize(path, &KIND, error);
}

void faro_store_close(faro_store *store) {
  if (!store) return;
  faro_database_close(store->database);
  free(store);
}

/* Copies column i; NULL stays NULL. */
static faro_status take_blob(sqlite3_stmt *statement, int i, faro_blob *blob, faro_error *error) {
  const int length = sqlite3_column_bytes(statement, i);
  const void *bytes = sqlite3_column_blob(statement, i);
  *blob = (faro_blob){0};
  if (!bytes) return FARO_OK;
  blob->bytes = malloc((size_t)length + 1); /* an empty blob is not NULL */
  if (!blob->bytes) return faro_fail(error, FARO_MEMORY, "cannot allocate %d bytes of the state", length);
  memcpy(blob->bytes, bytes, (size_t)length);
  blob->length = (size_t)length;
  return FARO_OK;
}

static faro_status fixed_blob(sqlite3_stmt *statement, int i, unsigned char *out, size_t length,
                              faro_error *error) {
  if (sqlite3_column_bytes(statement, i) != (int)length)
    return faro_fail(error, FARO_INVALID, "the state is damaged: %d bytes instead of %zu",
                     sqlite3_column_bytes(statement, i), length);
  memcpy(out, sqlite3_column_blob(statement, i), length);
  return FARO_OK;
}

/* Reads one number. */
static faro_status one_number(faro_store *s, int which, uint64_t *number, faro_error *error) {
  bool row = false;
  const faro_status status = faro_database_step(s->database, s->statement[which], &row, error, "");
  if (status == FARO_OK && row) *number = (uint64_t)sqlite3_column_int64(s->statement[which], 0);
  faro_database_reset(s->statement[which]);
  return status;
}

faro_status faro_store_campaign(faro_store *store, faro_blob *document,
                                unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  sqlite3_stmt *get = store->statement[GET_CAMPAIGN];
  bool row = false;
  *document = (faro_blob){0};
  faro_status status = faro_database_step(store->database, get, &row, error, "");
  if (status == FARO_OK && row) status = fixed_blob(get, 1, signer, FARO_KEY_BYTES, error);
  if (status == FARO_OK && row) status = take_blob(get, 0, document, error);
  faro_database_reset(get);
  return status;
}

faro_status faro_store_set_campaign(faro_store *store, const char *document, size_t length,
                                    const unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  return faro_database_do(store->database, store->statement[SET_CAMPAIGN], error, "bb", document, length,
                          signer, (size_t)FARO_KEY_BYTES);
}

/* The blob in the only row of a statement without parameters; NULL if there is no row. */
static faro_status one_blob(faro_store *s, int which, faro_blob *blob, faro_error *error) {
  bool row = false;
  *blob = (faro_blob){0};
  faro_status status = faro_database_step(s->database, s->statement[which], &row, error, "");
  if (status == FARO_OK && row) status = take_blob(s->statement[which], 0, blob, error);
  faro_database_reset(s->statement[which]);
  return status;
}

faro_status faro_store_copy(faro_store *store, const char *path, bool final, faro_error *error) {
  return faro_database_copy(store->database, path, final ? NULL : "INSERT OR REPLACE INTO fence VALUES (1)",
                            error);
}

faro_status faro_store_retire(faro_store *store, faro_error *error) {
  return faro_database_retire(store->database, error);
}

faro_status faro_store_fenced(faro_store *store, bool *fenced, faro_error *error) {
  sqlite3_stmt *get = NULL;
  *fenced = false;
  faro_status status = faro_database_prepare(store->database, "SELECT one FROM fence", &get, error);
  if (status == FARO_OK) status = faro_database_step(store->database, get, fenced, error, "");
  sqlite3_finalize(get);
  return status;
}

void faro_store_set_witness(faro_store *store, const faro_store_witness *witness) {
  store->witness = *witness;
}

faro_status faro_store_show(faro_store *store, faro_error *error) {
  unsigned char *image = NULL;
  size_t length = 0;
  if (!store->witness.see) return FARO_OK;
  faro_status status = faro_database_image(store->database, &image, &length, error);
  if (status == FARO_OK) status = store->witness.see(store->witness.context, image, length, error);
  sqlite3_free(image);
  return status;
}

static faro_status commit(faro_store *s, faro_error *error) {
  const faro_status status = faro_store_show(s, error);
  return status == FARO_OK ? faro_database_run(s->database, "COMMIT", error) : status;
}

faro_status faro_store_sound(faro_store *store, faro_error *error) {
  return faro_database_sound(store->database, error);
}

faro_status faro_store_lift(faro_store *store, faro_error *error) {
  faro_status status = faro_database_begin(store->database, error);
  if (status == FARO_OK) status = faro_database_run(store->database, "DELETE FROM fence", error);
  if (status == FARO_OK) status = commit(store, error);
  if (status != FARO_OK) faro_database_rollback(store->database);
  return status;
}

faro_status faro_store_epoch(faro_store *store, uint64_t *epoch, uint64_t *seen, faro_error *error) {
  sqlite3_stmt *get = store->statement[GET_EPOCH];
  bool row = false;
  *epoch = *seen = 0;
  const faro_status status = faro_database_step(store->database, get, &row, error, "");
  if (status == FARO_OK && row) {
    *epoch = (uint64_t)sqlite3_column_int64(get, 0);
    *seen = (uint64_t)sqlite3_column_int64(get, 1);
  }
  faro_database_reset(get);
  return status;
}

faro_status faro_store_see_epoch(faro_store *store, uint64_t seen, faro_error *error) {
  return faro_database_do(store->database, store->statement[SEE_EPOCH], error, "i", (int64_t)seen);
}

faro_status faro_store_take_over(faro_store *store, const char *path, uint64_t epoch, faro_error *error) {
  char sql[160];
  snprintf(sql, sizeof sql,
           "INSERT OR REPLACE INTO fence VALUES (1); INSERT OR REPLACE INTO epoch VALUES (1, %lld, %lld)",
           (long long)epoch, (long long)epoch);
  return faro_database_copy(store->database, path, sql, error);
}

faro_status faro_store_move(faro_store *store, faro_blob *document, faro_error *error) {
  return one_blob(store, GET_MOVE, document, error);
}

faro_status faro_store_add_move(faro_store *store, uint64_t number, const char *document, size_t length,
                                faro_error *error) {
  return faro_database_do(store->database, store->statement[ADD_MOVE], error, "ib", (int64_t)number, document,
                          length);
}

faro_status faro_store_state_load(faro_store *store, faro_store_state *state, faro_error *error) {
  sqlite3_stmt *get = store->statement[GET_STATE];
  bool row = false;
  *state = (faro_store_state){0};
  faro_status status = faro_database_step(store->database, get, &row, error, "");
  if (status == FARO_OK && row) {
    state->batches = (uint64_t)sqlite3_column_int64(get, 0);
    status = take_blob(get, 1, &state->release, error);
    if (status == FARO_OK) status = take_blob(get, 2, &state->policy, error);
    if (status == FARO_OK) status = take_blob(get, 3, &state->seen, error);
  }
  faro_database_reset(get);
  if (status != FARO_OK) faro_store_state_clear(state);
  return status;
}

void faro_store_state_clear(faro_store_state *state) {
  free(state->release.bytes);
  free(state->policy.bytes);
  free(state->seen.bytes);
  *state = (faro_store_state){0};
}

static faro_status put_state(faro_store *s, const faro_store_state *state, faro_error *error) {
  return faro_database_do(s->database, s->statement[SET_STATE], error, "ibbb", (int64_t)state->batches,
                          state->release.bytes, state->release.length, state->policy.bytes,
                          state->policy.length, state->seen.bytes, state->seen.length);
}

faro_status faro_store_begin(faro_store *store, const faro_store_state *state, faro_error *error) {
  return put_state(store, state, error);
}

faro_status faro_store_next(faro_store *store, uint32_t shuffler, uint64_t *number,
                            unsigned char hash[static FARO_DIGEST_BYTES], faro_error *error) {
  sqlite3_stmt *get = store->statement[GET_NEXT];
  bool row = false;
  *number = 0;
  memset(hash, 0, FARO_DIGEST_BYTES);
  faro_status status = faro_database_step(store->database, get, &row, error, "i", (int64_t)shuffler);
  if (status == FARO_OK && row) {
    *number = (uint64_t)sqlite3_column_int64(get, 0);
    status = fixed_blob(get, 1, hash, FARO_DIGEST_BYTES, error);
  }
  faro_database_reset(get);
  return status;
}

faro_status faro_store_receive(faro_store *store, const faro_batch *batch, size_t length,
                               const unsigned char hash[static FARO_DIGEST_BYTES], faro_error *error) {
  faro_database *d = store->database;
  faro_status status = faro_database_begin(d, error);
  if (status == FARO_OK)
    status = faro_database_do(d, store->statement[PUT_INBOX], error, "iib", (int64_t)batch->shuffler,
                              (int64_t)batch->number, batch->body, length);
  if (status == FARO_OK)
    status = faro_database_do(d, store->statement[SET_NEXT], error, "iib", (int64_t)batch->shuffler,
                              (int64_t)batch->number + 1, hash, (size_t)FARO_DIGEST_BYTES);
  if (status == FARO_OK) status = commit(store, error);
  if (status != FARO_OK) faro_database_rollback(d);
  return status;
}

faro_status faro_store_waiting(faro_store *store, uint32_t shuffler, uint64_t number, faro_blob *body,
                               faro_error *error) {
  sqlite3_stmt *get = store->statement[GET_INBOX];
  bool row = false;
  *body = (faro_blob){0};
  faro_status status =
      faro_database_step(store->database, get, &row, error, "ii", (int64_t)shuffler, (int64_t)number);
  if (status == FARO_OK && row) status = take_blob(get, 0, body, error);
  faro_database_reset(get);
  return status;
}

faro_status faro_store_waits(faro_store *store, uint64_t *count, faro_error *error) {
  return one_number(store, COUNT_INBOX, count, error);
}

faro_status faro_store_debit(faro_store *store, const faro_debit *debit, faro_error *error) {
  faro_status status = faro_database_begin(store->database, error);
  if (status != FARO_OK) return status;
  return faro_database_do(store->database, store->statement[PUT_DEBIT], error, "iiirriiitb",
                          (int64_t)debit->batch, (int64_t)debit->version, (int64_t)debit->users,
                          debit->epsilon, debit->delta, (int64_t)debit->rounds, (int64_t)debit->charged,
                          (int64_t)debit->allowed, debit->when, debit->hash, (size_t)FARO_DIGEST_BYTES);
}

faro_status faro_store_commit(faro_store *store, const faro_store_step *step, faro_error *error) {
  faro_database *d = store->database;
  const faro_learning_view *view = step->view;
  faro_status status = put_state(store, step->state, error);
  if (status == FARO_OK && view)
    status = faro_database_do(d, store->statement[PUT_VIEW], error, "iirrrir",
                              (int64_t)step->state->batches - 1, (int64_t)view->users, view->last,
                              view->predicted, view->width, (int64_t)step->spoiled, view->noise);
  if (status == FARO_OK) status = faro_store_set_head(store, step->head, error);
  for (size_t i = 0; status == FARO_OK && i < step->shufflers; i++)
    status =
        faro_database_do(d, store->statement[CLEAR_INBOX], error, "ii", (int64_t)i, (int64_t)step->taken[i]);
  if (status == FARO_OK) status = faro_database_overwrite_scratch(d, error);
  if (status == FARO_OK) status = commit(store, error);
  return status;
}

void faro_store_rollback(faro_store *store) { faro_database_rollback(store->database); }

faro_status faro_store_purge(faro_store *store, faro_error *error) {
  return faro_database_purge(store->database, error);
}

faro_status faro_store_retry_purge(faro_store *store, faro_error *error) {
  return faro_database_retry_purge(store->database, error);
}

bool faro_store_needs_purge(const faro_store *store) { return faro_database_needs_purge(store->database); }

void faro_store_verify(faro_store *store) { faro_database_verify(store->database); }

faro_status faro_store_present(const faro_store *store, faro_error *error) {
  return faro_database_present(store->database, error);
}

faro_status faro_store_probe(faro_store *store, size_t bytes, faro_error *error) {
  return faro_database_probe(store->database, bytes, error);
}

faro_status faro_store_head(faro_store *store, faro_blob *head, faro_error *error) {
  return one_blob(store, GET_HEAD, head, error);
}

faro_status faro_store_set_head(faro_store *store, const faro_blob *head, faro_error *error) {
  return faro_database_do(store->database, store->statement[SET_HEAD], error, "b", head->bytes, head->length);
}

static void read_debit(sqlite3_stmt *row, faro_debit *debit) {
  *debit = (faro_debit){.batch = (uint64_t)sqlite3_column_int64(row, 0),
                        .version = (uint64_t)sqlite3_column_int64(row, 1),
                        .users = (uint64_t)sqlite3_column_int64(row, 2),
                        .epsilon = sqlite3_column_double(row, 3),
                        .delta = sqlite3_column_double(row, 4),
                        .rounds = (uint64_t)sqlite3_column_int64(row, 5),
                        .charged = (uint64_t)sqlite3_column_int64(row, 6),
                        .allowed = (uint64_t)sqlite3_column_int64(row, 7)};
  const char *when = (const char *)sqlite3_column_text(row, 8);
  snprintf(debit->when, sizeof debit->when, "%s", when ? when : "");
  if (sqlite3_column_bytes(row, 9) == FARO_DIGEST_BYTES)
    memcpy(debit->hash, sqlite3_column_blob(row, 9), FARO_DIGEST_BYTES);
}

/* The digest of the campaign in a database; *found is false if there is none yet. */
static faro_status campaign_digest(faro_database *d, unsigned char digest[static FARO_DIGEST_BYTES],
                                   bool *found, faro_error *error) {
  sqlite3_stmt *get = NULL;
  faro_status status = faro_database_prepare(d, "SELECT document FROM campaign", &get, error);
  if (status == FARO_OK) status = faro_database_step(d, get, found, error, "");
  if (status == FARO_OK && *found &&
      !faro_document_digest((const char *)sqlite3_column_blob(get, 0), (size_t)sqlite3_column_bytes(get, 0),
                            digest))
    status = faro_fail(error, FARO_INVALID, "the state is damaged: its campaign is not a document");
  sqlite3_finalize(get);
  return status;
}

static faro_status chain_ledger(faro_database *d, faro_error *error) {
  sqlite3_stmt *get = NULL, *set = NULL;
  unsigned char hash[FARO_DIGEST_BYTES];
  bool row = false;
  faro_status status = campaign_digest(d, hash, &row, error);
  if (status != FARO_OK || !row) return status;
  status = faro_database_prepare(d, "SELECT * FROM ledger ORDER BY batch", &get, error);
  if (status == FARO_OK)
    status = faro_database_prepare(d, "UPDATE ledger SET hash = ? WHERE batch = ?", &set, error);
  if (status == FARO_OK) status = faro_database_step(d, get, &row, error, "");
  while (status == FARO_OK && row) {
    faro_debit debit;
    read_debit(get, &debit);
    faro_ledger_link(hash, &debit, hash);
    status = faro_database_do(d, set, error, "bi", hash, (size_t)FARO_DIGEST_BYTES, (int64_t)debit.batch);
    if (status == FARO_OK) status = faro_database_next(d, get, &row, error);
  }
  sqlite3_finalize(get);
  sqlite3_finalize(set);
  return status;
}

faro_status faro_store_debits(faro_store *store, uint64_t from, faro_debit *debits, size_t *count,
                              faro_error *error) {
  sqlite3_stmt *get = store->statement[GET_DEBITS];
  const size_t most = *count;
  bool row = false;
  *count = 0;
  faro_status status =
      faro_database_step(store->database, get, &row, error, "ii", (int64_t)from, (int64_t)most);
  while (status == FARO_OK && row && *count < most) {
    read_debit(get, &debits[(*count)++]);
    status = faro_database_next(store->database, get, &row, error);
  }
  faro_database_reset(get);
  return status;
}

faro_status faro_store_history(faro_store *store, uint64_t batches, faro_learning_view *views, size_t *count,
                               faro_error *error) {
  sqlite3_stmt *get = store->statement[GET_VIEWS];
  const size_t most = *count;
  const uint64_t every = most > 1 ? batches / (most - 1) + 1 : batches + 1;
  bool row = false;
  *count = 0;
  faro_status status =
      faro_database_step(store->database, get, &row, error, "ii", (int64_t)every, (int64_t)batches - 1);
  while (status == FARO_OK && row && *count < most) {
    views[(*count)++] = (faro_learning_view){
        .users = (uint64_t)sqlite3_column_int64(get, 0),
        .last = sqlite3_column_double(get, 1),
        .predicted = sqlite3_column_double(get, 2),
        .width = sqlite3_column_double(get, 3),
        .noise = sqlite3_column_type(get, 4) == SQLITE_NULL ? NAN : sqlite3_column_double(get, 4)};
    status = faro_database_next(store->database, get, &row, error);
  }
  faro_database_reset(get);
  return status;
}

faro_status faro_store_spoiled(faro_store *store, uint64_t *count, faro_error *error) {
  return one_number(store, SUM_SPOILED, count, error);
}

faro_status faro_store_lives(faro_store *store, faro_life_row *rows, size_t *count, faro_error *error) {
  sqlite3_stmt *get = store->statement[GET_LIVES];
  const size_t most = *count;
  bool row = false;
  *count = 0;
  faro_status status = faro_database_step(store->database, get, &row, error, "i", (int64_t)most);
  while (status == FARO_OK && row && *count < most) {
    const char *state = (const char *)sqlite3_column_text(get, 0);
    const char *when = (const char *)sqlite3_column_text(get, 1);
    faro_life_row *next = &rows[(*count)++];
    status = faro_life_read(state ? state : "", &next->life, error);
    snprintf(next->when, sizeof next->when, "%s", when ? when : "");
    if (status == FARO_OK) status = faro_database_next(store->database, get, &row, error);
  }
  faro_database_reset(get);
  return status;
}

faro_status faro_store_life(faro_store *store, faro_life *life, faro_error *error) {
  faro_life_row last;
  size_t count = 1;
  const faro_status status = faro_store_lives(store, &last, &count, error);
  if (status == FARO_OK) *life = count > 0 ? last.life : FARO_LIFE_OPEN;
  return status;
}

faro_status faro_store_live(faro_store *store, faro_life life, faro_error *error) {
  char when[24];
  const time_t now = time(NULL);
  struct tm utc;
  gmtime_r(&now, &utc);
  strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
  faro_status status = faro_database_begin(store->database, error);
  if (status == FARO_OK)
    status = faro_database_do(store->database, store->statement[PUT_LIFE], error, "tt", faro_life_name(life),
                              when);
  if (status == FARO_OK) status = commit(store, error);
  if (status != FARO_OK) faro_database_rollback(store->database);
  return status;
}
