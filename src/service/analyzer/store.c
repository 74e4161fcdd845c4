/* store: see the header, and store_inner.h for the kinds of databases.
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

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "service/analyzer/store_inner.h"

const char *const faro_store_sql[STATEMENTS] = {
    [GET_CAMPAIGN] = "SELECT document, signer FROM campaign",
    [SET_CAMPAIGN] = "INSERT INTO campaign VALUES (1, ?, ?)",
    [GET_MOVE] = "SELECT document FROM move ORDER BY number DESC LIMIT 1",
    [ADD_MOVE] = "INSERT INTO move VALUES (?, ?)",
    [GET_BATCHES] = "SELECT batches FROM state",
    [GET_STATE] = "SELECT batches, release, policy, seen FROM state",
    [GET_FENCE] = "SELECT one FROM fence",
    [LIFT_FENCE] = "DELETE FROM fence",
    [SET_STATE] =
        "INSERT INTO state VALUES (1, ?, ?, ?, ?) ON CONFLICT (one) DO UPDATE SET batches = "
        "excluded.batches, release = excluded.release, policy = excluded.policy, seen = excluded.seen",
    [NEXT_STATE] = "UPDATE state SET batches = ?, release = ?, policy = ?, seen = ? WHERE batches = ? "
                   "RETURNING batches",
    [HAS_EXPECTED] = "SELECT count(*) FROM state WHERE batches >= ? AND (? = 0 OR EXISTS "
                     "(SELECT 1 FROM ledger WHERE batch = ? AND hash = ?))",
    [GET_NEXT] = "SELECT next, hash FROM shuffler WHERE shuffler = ?",
    [SET_NEXT] = "INSERT INTO shuffler VALUES (?, ?, ?) ON CONFLICT (shuffler) DO UPDATE SET next = "
                 "excluded.next, hash = excluded.hash",
    [PUT_INBOX] = "INSERT INTO inbox VALUES (?, ?, ?)",
    [GET_INBOX] = "SELECT body FROM inbox WHERE shuffler = ? AND number = ?",
    [COUNT_INBOX] = "SELECT count(*) FROM inbox",
    [CLEAR_INBOX] = "DELETE FROM inbox WHERE shuffler = ? AND number < ?",
    [PUT_DEBIT] = "INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [GET_DEBITS] = "SELECT * FROM ledger WHERE batch >= ? ORDER BY batch LIMIT ?",
    [GET_HEAD] = "SELECT document FROM head",
    [SET_HEAD] =
        "INSERT INTO head VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET document = excluded.document",
    [PUT_VIEW] = "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?)",
    [GET_VIEWS] = "SELECT users, last, predicted, width, noise FROM history WHERE batch % ? = 0 OR batch = ? "
                  "ORDER BY 1",
    [PUT_LIFE] = "INSERT INTO life(state, moment) VALUES (?, ?)",
    /* The last ones; a campaign that is paused again and again has many. */
    [GET_LIVES] = "SELECT state, moment FROM (SELECT * FROM life ORDER BY number DESC LIMIT ?) AS last "
                  "ORDER BY number",
    [GET_EPOCH] = "SELECT number, seen FROM epoch",
    [SEE_EPOCH] = "INSERT INTO epoch VALUES (1, 0, ?) ON CONFLICT (one) DO UPDATE SET seen = excluded.seen",
    [SUM_SPOILED] = "SELECT CAST(coalesce(sum(spoiled), 0) AS BIGINT) FROM history",
    [RUN_SPOILED] = "SELECT count(*) FROM history WHERE batch > "
                    "(SELECT coalesce(max(batch), -1) FROM history WHERE spoiled = 0)",
};

static bool is_url(const char *database) {
  return strncmp(database, "postgresql://", 13) == 0 || strncmp(database, "postgres://", 11) == 0;
}

/* Whether one of the words that libpq has for a connection is in it: "host=db1 user=faro". */
static bool has_words(const char *text) {
  static const char *const words[] = {"host", "hostaddr", "port", "user", "password", "dbname", "service"};
  if (*text == '/' || *text == '.') return false;
  for (const char *sign = strchr(text, '='); sign; sign = strchr(sign + 1, '=')) {
    const char *from = sign;
    while (from > text && from[-1] == ' ') from--; /* libpq allows blanks */
    const char *end = from;
    while (from > text && strchr(" ?&;'\"", from[-1]) == NULL) from--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
      if (strlen(words[i]) == (size_t)(end - from) && memcmp(words[i], from, strlen(words[i])) == 0)
        return true;
  }
  return false;
}

/* postgresql:/faro:secret@db1, posgresql//faro:secret@db1, faro:secret@db1/faro */
static bool is_like_url(const char *text) {
  const char *colon = strchr(text, ':');
  const bool path = *text == '/' || *text == '.';
  return strncasecmp(text, "postgres", 8) == 0 || strstr(text, "://") ||
         (!path && colon && strchr(colon, '@'));
}

faro_status faro_store_check_name(const char *key, const char *database, faro_error *error) {
  if (is_url(database) || (!is_like_url(database) && !has_words(database))) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "%s must be the path of a file, or a URL postgresql://USER:PASSWORD@HOST/NAME; this looks "
                   "like neither, and is not shown, because it may hold a password (a file of such a name: "
                   "./NAME)",
                   key);
}

const char *faro_store_name(const char *database) {
  return is_url(database) ? "the database in the server" : faro_path_end(database);
}

faro_status faro_store_open(faro_store **store, const char *database, faro_access mode, faro_error *error) {
  if (faro_store_check_name("database", database, error) != FARO_OK) return FARO_INVALID;
  faro_store *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the analyzer's state");
  const faro_status status = is_url(database) ? faro_store_postgres_open(made, database, mode, error)
                                              : faro_store_sqlite_open(made, database, mode, error);
  if (status == FARO_OK) *store = made;
  else faro_store_close(made);
  return status;
}

faro_status faro_store_there(const char *database, bool *there, faro_error *error) {
  if (is_url(database)) return faro_store_postgres_there(database, there, error);
  *there = access(database, F_OK) == 0;
  return FARO_OK;
}

void faro_store_close(faro_store *store) {
  if (!store) return;
  if (store->kind) store->kind->close(store);
  free(store);
}

/* Statements. */

static faro_status step(faro_store *s, store_statement which, bool *row, faro_error *error,
                        const char *format, ...) {
  va_list args;
  va_start(args, format);
  const faro_status status = s->kind->step(s, which, row, error, format, args);
  va_end(args);
  return status;
}

/* For statements without rows. */
static faro_status run(faro_store *s, store_statement which, faro_error *error, const char *format, ...) {
  bool row = false;
  va_list args;
  va_start(args, format);
  const faro_status status = s->kind->step(s, which, &row, error, format, args);
  va_end(args);
  s->kind->reset(s, which);
  return status;
}

static faro_status next(faro_store *s, store_statement which, bool *row, faro_error *error) {
  return s->kind->next(s, which, row, error);
}

static void reset(faro_store *s, store_statement which) { s->kind->reset(s, which); }

static uint64_t whole(const faro_store *s, store_statement which, int column) {
  return (uint64_t)s->kind->integer(s, which, column);
}

static double real(const faro_store *s, store_statement which, int column) {
  return s->kind->real(s, which, column);
}

static void take_text(const faro_store *s, store_statement which, int column, char *out, size_t size) {
  size_t length = 0;
  const char *text = s->kind->bytes(s, which, column, &length);
  snprintf(out, size, "%.*s", text ? (int)length : 0, text ? text : "");
}

/* Copies a column; NULL stays NULL. */
static faro_status take_blob(const faro_store *s, store_statement which, int column, faro_blob *blob,
                             faro_error *error) {
  size_t length = 0;
  const void *bytes = s->kind->bytes(s, which, column, &length);
  *blob = (faro_blob){0};
  if (!bytes) return FARO_OK;
  blob->bytes = malloc(length + 1); /* an empty blob is not NULL */
  if (!blob->bytes) return faro_fail(error, FARO_MEMORY, "cannot allocate %zu bytes of the state", length);
  memcpy(blob->bytes, bytes, length);
  blob->length = length;
  return FARO_OK;
}

static faro_status fixed_blob(const faro_store *s, store_statement which, int column, unsigned char *out,
                              size_t length, faro_error *error) {
  size_t found = 0;
  const void *bytes = s->kind->bytes(s, which, column, &found);
  if (!bytes || found != length)
    return faro_fail(error, FARO_INVALID, "the state is damaged: %zu bytes instead of %zu", found, length);
  memcpy(out, bytes, length);
  return FARO_OK;
}

/* Reads one number. */
static faro_status one_number(faro_store *s, store_statement which, uint64_t *number, faro_error *error) {
  bool row = false;
  const faro_status status = step(s, which, &row, error, "");
  if (status == FARO_OK && row) *number = whole(s, which, 0);
  reset(s, which);
  return status;
}

faro_status faro_store_campaign(faro_store *store, faro_blob *document,
                                unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  bool row = false;
  *document = (faro_blob){0};
  faro_status status = step(store, GET_CAMPAIGN, &row, error, "");
  if (status == FARO_OK && row) status = fixed_blob(store, GET_CAMPAIGN, 1, signer, FARO_KEY_BYTES, error);
  if (status == FARO_OK && row) status = take_blob(store, GET_CAMPAIGN, 0, document, error);
  reset(store, GET_CAMPAIGN);
  return status;
}

faro_status faro_store_set_campaign(faro_store *store, const char *document, size_t length,
                                    const unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  return run(store, SET_CAMPAIGN, error, "bb", document, length, signer, (size_t)FARO_KEY_BYTES);
}

/* The blob in the only row of a statement without parameters; NULL if there is no row. */
static faro_status one_blob(faro_store *s, store_statement which, faro_blob *blob, faro_error *error) {
  bool row = false;
  *blob = (faro_blob){0};
  faro_status status = step(s, which, &row, error, "");
  if (status == FARO_OK && row) status = take_blob(s, which, 0, blob, error);
  reset(s, which);
  return status;
}

faro_status faro_store_fenced(faro_store *store, bool *fenced, faro_error *error) {
  *fenced = false;
  const faro_status status = step(store, GET_FENCE, fenced, error, "");
  reset(store, GET_FENCE);
  return status;
}

void faro_store_set_witness(faro_store *store, const faro_store_witness *witness) {
  store->witness = *witness;
}

static faro_status begin(faro_store *s, faro_error *error) { return s->kind->begin(s, error); }

/* Ends a transaction, if all went well so far. */
static faro_status end(faro_store *s, faro_status status, faro_error *error) {
  if (status == FARO_OK) status = s->kind->commit(s, error);
  if (status != FARO_OK) s->kind->rollback(s);
  return status;
}

faro_status faro_store_lift(faro_store *store, faro_error *error) {
  faro_status status = begin(store, error);
  if (status == FARO_OK) status = run(store, LIFT_FENCE, error, "");
  return end(store, status, error);
}

faro_status faro_store_epoch(faro_store *store, uint64_t *epoch, uint64_t *seen, faro_error *error) {
  bool row = false;
  *epoch = *seen = 0;
  const faro_status status = step(store, GET_EPOCH, &row, error, "");
  if (status == FARO_OK && row) {
    *epoch = whole(store, GET_EPOCH, 0);
    *seen = whole(store, GET_EPOCH, 1);
  }
  reset(store, GET_EPOCH);
  return status;
}

faro_status faro_store_see_epoch(faro_store *store, uint64_t seen, faro_error *error) {
  return run(store, SEE_EPOCH, error, "i", (int64_t)seen);
}

faro_status faro_store_move(faro_store *store, faro_blob *document, faro_error *error) {
  return one_blob(store, GET_MOVE, document, error);
}

faro_status faro_store_add_move(faro_store *store, uint64_t number, const char *document, size_t length,
                                faro_error *error) {
  return run(store, ADD_MOVE, error, "ib", (int64_t)number, document, length);
}

void faro_store_expect(faro_store *store, uint64_t batches,
                       const unsigned char hash[static FARO_DIGEST_BYTES]) {
  store->expected = (store_expected){.set = true, .batches = batches};
  memcpy(store->expected.hash, hash, FARO_DIGEST_BYTES);
}

faro_status faro_store_is_old(const store_expected *expected, faro_error *error) {
  return faro_fail(error, FARO_INVALID,
                   "the database is an old copy, or a replica that was behind: it lacks what this analyzer "
                   "has committed, up to batch %llu. Nothing is written to it. Put the newest one back",
                   (unsigned long long)expected->batches);
}

static faro_status check_expected(faro_store *s, faro_error *error) {
  const store_expected *e = &s->expected;
  bool row = false;
  if (!e->set) return FARO_OK;
  faro_status status = step(s, HAS_EXPECTED, &row, error, "iiib", (int64_t)e->batches, (int64_t)e->batches,
                            (int64_t)e->batches - 1, e->hash, (size_t)FARO_DIGEST_BYTES);
  if (status == FARO_OK && whole(s, HAS_EXPECTED, 0) == 0) status = faro_store_is_old(e, error);
  reset(s, HAS_EXPECTED);
  return status;
}

faro_status faro_store_state_load(faro_store *store, faro_store_state *state, faro_error *error) {
  bool row = false;
  *state = (faro_store_state){0};
  faro_status status = check_expected(store, error);
  if (status == FARO_OK) status = step(store, GET_STATE, &row, error, "");
  if (status == FARO_OK && row) {
    state->batches = whole(store, GET_STATE, 0);
    status = take_blob(store, GET_STATE, 1, &state->release, error);
    if (status == FARO_OK) status = take_blob(store, GET_STATE, 2, &state->policy, error);
    if (status == FARO_OK) status = take_blob(store, GET_STATE, 3, &state->seen, error);
  }
  reset(store, GET_STATE);
  if (status == FARO_OK && state->release.bytes && store->kind->unseal)
    status = store->kind->unseal(store, SECRET_RELEASE, state->batches, &state->release, error);
  if (status != FARO_OK) faro_store_state_clear(state);
  return status;
}

faro_status faro_store_batches(faro_store *store, uint64_t *batches, faro_error *error) {
  *batches = 0;
  return one_number(store, GET_BATCHES, batches, error);
}

void faro_store_state_clear(faro_store_state *state) {
  free(state->release.bytes);
  free(state->policy.bytes);
  free(state->seen.bytes);
  *state = (faro_store_state){0};
}

static faro_status seal(faro_store *s, store_secret what, uint64_t batch, const faro_blob *plain,
                        faro_blob *sealed, faro_error *error) {
  return s->kind->seal ? s->kind->seal(s, what, batch, plain, sealed, error) : FARO_OK;
}

/* The state after the next batch replaces the one before it, and no other. */
static faro_status put_next(faro_store *s, const faro_store_state *state, const faro_blob *release,
                            faro_error *error) {
  bool row = false;
  const int64_t before = (int64_t)state->batches - 1;
  const faro_status status =
      step(s, NEXT_STATE, &row, error, "ibbbi", (int64_t)state->batches, release->bytes, release->length,
           state->policy.bytes, state->policy.length, state->seen.bytes, state->seen.length, before);
  reset(s, NEXT_STATE);
  if (status != FARO_OK || row) return status;
  return faro_fail(error, FARO_INVALID,
                   "the database does not hold the state after %lld batches any more, which this analyzer "
                   "has: it was changed, or it is another one",
                   (long long)before);
}

/* `follows`: it is that after the next batch. */
static faro_status put_state(faro_store *s, const faro_store_state *state, bool follows, faro_error *error) {
  faro_blob sealed = {0};
  const faro_status status = seal(s, SECRET_RELEASE, state->batches, &state->release, &sealed, error);
  if (status != FARO_OK) return status;
  const faro_blob *release = sealed.bytes ? &sealed : &state->release;
  const faro_status put =
      follows ? put_next(s, state, release, error)
              : run(s, SET_STATE, error, "ibbb", (int64_t)state->batches, release->bytes, release->length,
                    state->policy.bytes, state->policy.length, state->seen.bytes, state->seen.length);
  free(sealed.bytes);
  return put;
}

faro_status faro_store_begin(faro_store *store, const faro_store_state *state, faro_error *error) {
  return put_state(store, state, false, error);
}

faro_status faro_store_next(faro_store *store, uint32_t shuffler, uint64_t *number,
                            unsigned char hash[static FARO_DIGEST_BYTES], faro_error *error) {
  bool row = false;
  *number = 0;
  memset(hash, 0, FARO_DIGEST_BYTES);
  faro_status status = step(store, GET_NEXT, &row, error, "i", (int64_t)shuffler);
  if (status == FARO_OK && row) {
    *number = whole(store, GET_NEXT, 0);
    status = fixed_blob(store, GET_NEXT, 1, hash, FARO_DIGEST_BYTES, error);
  }
  reset(store, GET_NEXT);
  return status;
}

static faro_status put_inbox(faro_store *s, const faro_batch *batch, size_t length, faro_error *error) {
  faro_blob sealed = {0};
  const faro_blob plain = {.bytes = (unsigned char *)batch->body, .length = length};
  const faro_status status = seal(s, SECRET_BODY, batch->number, &plain, &sealed, error);
  if (status != FARO_OK) return status;
  const faro_blob *body = sealed.bytes ? &sealed : &plain;
  const faro_status put = run(s, PUT_INBOX, error, "iib", (int64_t)batch->shuffler, (int64_t)batch->number,
                              body->bytes, body->length);
  free(sealed.bytes);
  return put;
}

/* Since the caller has asked for the next one, the connection may have been lost, and the server
 * may be another one. */
static faro_status check_next(faro_store *s, const faro_batch *batch, faro_error *error) {
  unsigned char hash[FARO_DIGEST_BYTES];
  uint64_t next = 0;
  const faro_status status = faro_store_next(s, batch->shuffler, &next, hash, error);
  if (status != FARO_OK || next == batch->number) return status;
  return faro_fail(error, FARO_SYSTEM, "the database expects batch %llu of the shuffler now, not %llu",
                   (unsigned long long)next, (unsigned long long)batch->number);
}

faro_status faro_store_receive(faro_store *store, const faro_batch *batch, size_t length,
                               const unsigned char hash[static FARO_DIGEST_BYTES], faro_error *error) {
  faro_status status = begin(store, error);
  if (status == FARO_OK) status = check_next(store, batch, error);
  if (status == FARO_OK) status = put_inbox(store, batch, length, error);
  if (status == FARO_OK)
    status = run(store, SET_NEXT, error, "iib", (int64_t)batch->shuffler, (int64_t)batch->number + 1, hash,
                 (size_t)FARO_DIGEST_BYTES);
  return end(store, status, error);
}

faro_status faro_store_confirm(faro_store *store, faro_error *error) {
  return store->kind->confirm ? store->kind->confirm(store, error) : FARO_OK;
}

faro_status faro_store_waiting(faro_store *store, uint32_t shuffler, uint64_t number, faro_blob *body,
                               faro_error *error) {
  bool row = false;
  *body = (faro_blob){0};
  faro_status status = step(store, GET_INBOX, &row, error, "ii", (int64_t)shuffler, (int64_t)number);
  if (status == FARO_OK && row) status = take_blob(store, GET_INBOX, 0, body, error);
  reset(store, GET_INBOX);
  if (status != FARO_OK || !body->bytes || !store->kind->unseal) return status;
  return store->kind->unseal(store, SECRET_BODY, number, body, error);
}

faro_status faro_store_waits(faro_store *store, uint64_t *count, faro_error *error) {
  return one_number(store, COUNT_INBOX, count, error);
}

faro_status faro_store_debit(faro_store *store, const faro_debit *debit, faro_error *error) {
  const faro_status status = begin(store, error);
  if (status != FARO_OK) return status;
  return run(store, PUT_DEBIT, error, "iiirriiitb", (int64_t)debit->batch, (int64_t)debit->version,
             (int64_t)debit->users, debit->epsilon, debit->delta, (int64_t)debit->rounds,
             (int64_t)debit->charged, (int64_t)debit->allowed, debit->when, debit->hash,
             (size_t)FARO_DIGEST_BYTES);
}

faro_status faro_store_commit(faro_store *store, const faro_store_step *step, faro_error *error) {
  const faro_learning_view *view = step->view;
  faro_status status = put_state(store, step->state, true, error);
  if (status == FARO_OK && view)
    status = run(store, PUT_VIEW, error, "iirrrir", (int64_t)step->state->batches - 1, (int64_t)view->users,
                 view->last, view->predicted, view->width, (int64_t)step->spoiled, view->noise);
  if (status == FARO_OK) status = faro_store_set_head(store, step->head, error);
  for (size_t i = 0; status == FARO_OK && i < step->shufflers; i++)
    status = run(store, CLEAR_INBOX, error, "ii", (int64_t)i, (int64_t)step->taken[i]);
  if (status == FARO_OK && store->kind->forget) status = store->kind->forget(store, error);
  return status == FARO_OK ? store->kind->commit(store, error) : status;
}

void faro_store_rollback(faro_store *store) { store->kind->rollback(store); }

faro_status faro_store_purge(faro_store *store, faro_error *error) {
  return store->kind->purge(store, false, error);
}

faro_status faro_store_retry_purge(faro_store *store, faro_error *error) {
  return store->kind->purge(store, true, error);
}

bool faro_store_needs_purge(const faro_store *store) { return store->kind->needs_purge(store); }

void faro_store_verify(faro_store *store) {
  if (store->kind->verify) store->kind->verify(store);
}

faro_status faro_store_present(const faro_store *store, faro_error *error) {
  return store->kind->present(store, error);
}

faro_status faro_store_probe(faro_store *store, size_t bytes, faro_error *error) {
  return store->kind->probe(store, bytes, error);
}

faro_status faro_store_ready(faro_store *store, faro_error *error) {
  return store->kind->ready ? store->kind->ready(store, error) : FARO_OK;
}

faro_status faro_store_head(faro_store *store, faro_blob *head, faro_error *error) {
  return one_blob(store, GET_HEAD, head, error);
}

faro_status faro_store_set_head(faro_store *store, const faro_blob *head, faro_error *error) {
  return run(store, SET_HEAD, error, "b", head->bytes, head->length);
}

faro_debit faro_store_read_debit(const faro_store *s) {
  faro_debit debit = {.batch = whole(s, GET_DEBITS, 0),
                      .version = whole(s, GET_DEBITS, 1),
                      .users = whole(s, GET_DEBITS, 2),
                      .epsilon = real(s, GET_DEBITS, 3),
                      .delta = real(s, GET_DEBITS, 4),
                      .rounds = whole(s, GET_DEBITS, 5),
                      .charged = whole(s, GET_DEBITS, 6),
                      .allowed = whole(s, GET_DEBITS, 7)};
  size_t length = 0;
  take_text(s, GET_DEBITS, 8, debit.when, sizeof debit.when);
  const void *hash = s->kind->bytes(s, GET_DEBITS, 9, &length);
  if (hash && length == FARO_DIGEST_BYTES) memcpy(debit.hash, hash, length);
  return debit;
}

faro_status faro_store_debits(faro_store *store, uint64_t from, faro_debit *debits, size_t *count,
                              faro_error *error) {
  const size_t most = *count;
  bool row = false;
  *count = 0;
  faro_status status = step(store, GET_DEBITS, &row, error, "ii", (int64_t)from, (int64_t)most);
  while (status == FARO_OK && row && *count < most) {
    debits[(*count)++] = faro_store_read_debit(store);
    status = next(store, GET_DEBITS, &row, error);
  }
  reset(store, GET_DEBITS);
  return status;
}

faro_status faro_store_history(faro_store *store, uint64_t batches, faro_learning_view *views, size_t *count,
                               faro_error *error) {
  const size_t most = *count;
  const uint64_t every = most > 1 ? batches / (most - 1) + 1 : batches + 1;
  bool row = false;
  *count = 0;
  faro_status status = step(store, GET_VIEWS, &row, error, "ii", (int64_t)every, (int64_t)batches - 1);
  while (status == FARO_OK && row && *count < most) {
    views[(*count)++] = (faro_learning_view){.users = whole(store, GET_VIEWS, 0),
                                             .last = real(store, GET_VIEWS, 1),
                                             .predicted = real(store, GET_VIEWS, 2),
                                             .width = real(store, GET_VIEWS, 3),
                                             .noise = real(store, GET_VIEWS, 4)};
    status = next(store, GET_VIEWS, &row, error);
  }
  reset(store, GET_VIEWS);
  return status;
}

faro_status faro_store_spoiled(faro_store *store, uint64_t *count, faro_error *error) {
  return one_number(store, SUM_SPOILED, count, error);
}

faro_status faro_store_spoiled_run(faro_store *store, uint64_t *batches, faro_error *error) {
  return one_number(store, RUN_SPOILED, batches, error);
}

faro_status faro_store_lives(faro_store *store, faro_life_row *rows, size_t *count, faro_error *error) {
  const size_t most = *count;
  bool row = false;
  *count = 0;
  faro_status status = step(store, GET_LIVES, &row, error, "i", (int64_t)most);
  while (status == FARO_OK && row && *count < most) {
    char state[24];
    faro_life_row *last = &rows[(*count)++];
    take_text(store, GET_LIVES, 0, state, sizeof state);
    take_text(store, GET_LIVES, 1, last->when, sizeof last->when);
    status = faro_life_read(state, &last->life, error);
    if (status == FARO_OK) status = next(store, GET_LIVES, &row, error);
  }
  reset(store, GET_LIVES);
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
  faro_status status = begin(store, error);
  if (status == FARO_OK) status = run(store, PUT_LIFE, error, "tt", faro_life_name(life), when);
  return end(store, status, error);
}

/* Of a database server. */

faro_status faro_store_keep_keys(faro_store *store, const char *path, const faro_campaign *campaign,
                                 faro_error *error) {
  return store->postgres ? faro_store_postgres_keep(store, path, campaign, error) : FARO_OK;
}

void faro_store_drop_keys(faro_store *store) {
  if (store->postgres) faro_store_postgres_drop_keys(store);
}

faro_status faro_store_follow(faro_store *store, bool *unheld, faro_error *error) {
  *unheld = false;
  return store->postgres ? faro_store_postgres_follow(store, unheld, error) : FARO_OK;
}

bool faro_store_replaced(const faro_store *store) {
  return store->postgres && faro_store_postgres_replaced(store);
}
