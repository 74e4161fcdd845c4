/* adder_state: see the header. */
#include "service/adder/adder_state.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "service/state/database.h"

enum { PRINT = 16 }; /* bytes of the hash of a box */

typedef enum adder_sql { ENTER_SEEN, SET_LAST, SET_NEXT, SQLS } adder_sql;

static const char *const text_of[SQLS] = {[ENTER_SEEN] =
                                              "INSERT INTO seen VALUES(?) ON CONFLICT DO NOTHING RETURNING 1",
                                          [SET_LAST] = "INSERT OR REPLACE INTO last VALUES(0, ?, ?)",
                                          [SET_NEXT] = "UPDATE meta SET next = ?"};

static const char schema[] =
    "CREATE TABLE meta(id INTEGER PRIMARY KEY, campaign BLOB, adder INTEGER, next INTEGER);"
    "CREATE TABLE seen(hash BLOB PRIMARY KEY) WITHOUT ROWID;"
    "CREATE TABLE last(id INTEGER PRIMARY KEY, boxes BLOB, sum BLOB)";

static const faro_database_kind kind = {.of = "an adder", .id = 0x66614101, .first = 1, .schema = schema};

struct faro_adder_state {
  faro_database *database;
  sqlite3_stmt *sql[SQLS];
  const faro_campaign *campaign;
  const faro_adder_keys *keys;
  uint64_t next;
  unsigned char last[FARO_DIGEST_BYTES]; /* hash of the boxes of batch next - 1 */
  unsigned char *sum;                    /* its sum */
  uint64_t *masks;                       /* scratch: the sums of the masks */
};

faro_status faro_adder_state_recognize(const char *path, faro_error *error) {
  return faro_database_recognize(path, &kind, error);
}

/* `row` is a row of meta. */
static faro_status check_owner(sqlite3_stmt *row, const char *path, const faro_campaign *campaign,
                               size_t adder, faro_error *error) {
  if (sqlite3_column_bytes(row, 0) == FARO_DIGEST_BYTES &&
      memcmp(sqlite3_column_blob(row, 0), campaign->digest, FARO_DIGEST_BYTES) == 0 &&
      sqlite3_column_int64(row, 1) == (int64_t)adder)
    return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s belongs to another campaign or adder", faro_path_end(path));
}

static const char FIND[] = "SELECT campaign, adder, next FROM meta";

faro_status faro_adder_state_check(const char *path, const faro_campaign *campaign, size_t adder,
                                   faro_error *error) {
  faro_database *database = NULL;
  sqlite3_stmt *find = NULL;
  bool row = false;
  faro_status status = faro_database_open(&database, path, &kind, FARO_READ_ONLY, error);
  if (status == FARO_OK) status = faro_database_prepare(database, FIND, &find, error);
  if (status == FARO_OK) status = faro_database_step(database, find, &row, error, "");
  if (status == FARO_OK && row) status = check_owner(find, path, campaign, adder, error);
  faro_database_close(database);
  return status;
}

/* A new file is assigned to this campaign and adder; an old one must belong to them. */
static faro_status claim_file(faro_adder_state *s, const char *path, size_t adder, bool known,
                              faro_error *error) {
  sqlite3_stmt *find = NULL;
  sqlite3_stmt *enter = NULL;
  bool row = false;
  faro_status status = faro_database_prepare(s->database, FIND, &find, error);
  if (status == FARO_OK)
    status = faro_database_prepare(s->database, "INSERT INTO meta VALUES(0, ?, ?, 0)", &enter, error);
  if (status == FARO_OK) status = faro_database_step(s->database, find, &row, error, "");
  if (status != FARO_OK) return status;
  if (row) {
    status = check_owner(find, path, s->campaign, adder, error);
    s->next = (uint64_t)sqlite3_column_int64(find, 2);
    faro_database_reset(find);
    return status;
  }
  if (known)
    return faro_fail(
        error, FARO_INVALID,
        "%s holds nothing, but shares were added for this campaign before: which ones is lost, and "
        "they could be added again. Put the state back if it was moved; otherwise end the "
        "campaign and start a new one",
        faro_path_end(path));
  faro_database_reset(find);
  return faro_database_do(s->database, enter, error, "bi", (const void *)s->campaign->digest,
                          (size_t)FARO_DIGEST_BYTES, (int64_t)adder);
}

/* Loads the last batch, which may be asked for again. */
static faro_status load_last(faro_adder_state *s, const char *path, faro_error *error) {
  sqlite3_stmt *find = NULL;
  bool row = false;
  const size_t size = faro_sum_size(s->campaign);
  if (s->next == 0) return FARO_OK;
  faro_status status = faro_database_prepare(s->database, "SELECT boxes, sum FROM last", &find, error);
  if (status == FARO_OK) status = faro_database_step(s->database, find, &row, error, "");
  const bool whole = status == FARO_OK && row && sqlite3_column_bytes(find, 0) == FARO_DIGEST_BYTES &&
                     (size_t)sqlite3_column_bytes(find, 1) == size;
  if (whole) memcpy(s->last, sqlite3_column_blob(find, 0), FARO_DIGEST_BYTES);
  if (whole) memcpy(s->sum, sqlite3_column_blob(find, 1), size);
  sqlite3_finalize(find);
  if (status != FARO_OK || whole) return status;
  return faro_fail(error, FARO_INVALID, "%s is damaged: the sum of batch %" PRIu64 " is missing",
                   faro_path_end(path), s->next - 1);
}

faro_status faro_adder_state_open(faro_adder_state **state, const char *path, const faro_campaign *campaign,
                                  size_t adder, const faro_adder_keys *keys, bool known, faro_error *error) {
  faro_adder_state *s = calloc(1, sizeof *s);
  if (!s) return faro_fail(error, FARO_MEMORY, "cannot allocate the adder's state");
  s->campaign = campaign;
  s->keys = keys;
  s->sum = calloc(1, faro_sum_size(campaign));
  s->masks = calloc(campaign->entries, sizeof *s->masks);
  faro_status status = FARO_OK;
  if (!s->sum || !s->masks) status = faro_fail(error, FARO_MEMORY, "cannot allocate the sums");
  if (status == FARO_OK) status = faro_database_open(&s->database, path, &kind, FARO_READ_WRITE, error);
  if (status == FARO_OK) status = claim_file(s, path, adder, known, error);
  if (status == FARO_OK) status = load_last(s, path, error);
  for (size_t i = 0; status == FARO_OK && i < SQLS; i++)
    status = faro_database_prepare(s->database, text_of[i], &s->sql[i], error);
  if (status == FARO_OK) *state = s;
  else faro_adder_state_close(s);
  return status;
}

void faro_adder_state_close(faro_adder_state *state) {
  if (!state) return;
  faro_database_close(state->database);
  free(state->sum);
  free(state->masks);
  free(state);
}

uint64_t faro_adder_state_next(const faro_adder_state *state) { return state->next; }

faro_status faro_adder_state_present(const faro_adder_state *state, faro_error *error) {
  return faro_database_present(state->database, error);
}

/* Whether the batch may be asked for; *known: it was added before. */
static faro_status place(const faro_adder_state *s, const faro_batch *batch,
                         const unsigned char hash[static FARO_DIGEST_BYTES], bool *known, faro_error *error) {
  *known = batch->number + 1 == s->next && memcmp(hash, s->last, FARO_DIGEST_BYTES) == 0;
  if (*known || batch->number == s->next) return FARO_OK;
  if (batch->number + 1 == s->next)
    return faro_fail(error, FARO_INVALID,
                     "batch %" PRIu64 " was added with other shares: a batch has one set of clients",
                     batch->number);
  return faro_fail(error, FARO_INVALID,
                   "batch must be %" PRIu64 ", the next one (got %" PRIu64
                   "): perhaps an old copy of the shuffler's or of the adder's state was restored",
                   s->next, batch->number);
}

/* Adds one box, if it is new and can be opened. */
static faro_status add_box(faro_adder_state *s, const unsigned char *box, bool *added, faro_error *error) {
  unsigned char hash[PRINT];
  crypto_generichash(hash, sizeof hash, box, FARO_BOX_BYTES, NULL, 0);
  const faro_status status =
      faro_database_step(s->database, s->sql[ENTER_SEEN], added, error, "b", (const void *)hash, sizeof hash);
  faro_database_reset(s->sql[ENTER_SEEN]);
  if (status == FARO_OK && *added)
    *added = faro_share_add(s->campaign, &s->keys->seal, box, s->masks, NULL) == FARO_OK;
  return status;
}

static faro_status add_all(faro_adder_state *s, const faro_batch *batch, const unsigned char *hash,
                           unsigned char *sum, uint64_t *left_out, faro_error *error) {
  faro_status status = FARO_OK;
  *left_out = 0;
  for (uint64_t i = 0; status == FARO_OK && i < batch->count; i++) {
    bool added = false;
    status = add_box(s, batch->body + i * FARO_BOX_BYTES, &added, error);
    *left_out += !added;
  }
  if (status == FARO_OK)
    status = faro_sum_write(s->campaign, batch, *left_out, s->masks, &s->keys->sign, sum, error);
  if (status == FARO_OK)
    status = faro_database_do(s->database, s->sql[SET_LAST], error, "bb", (const void *)hash,
                              (size_t)FARO_DIGEST_BYTES, (const void *)sum, faro_sum_size(s->campaign));
  if (status == FARO_OK)
    status = faro_database_do(s->database, s->sql[SET_NEXT], error, "i", (int64_t)(batch->number + 1));
  return status == FARO_OK ? faro_database_run(s->database, "COMMIT", error) : status;
}

faro_status faro_adder_add(faro_adder_state *state, const faro_batch *batch, faro_adder_answer *answer,
                           faro_error *error) {
  faro_adder_state *s = state;
  unsigned char hash[FARO_DIGEST_BYTES];
  const size_t size = faro_sum_size(s->campaign);
  *answer = (faro_adder_answer){.sum = s->sum};
  crypto_generichash(hash, sizeof hash, batch->body, batch->count * FARO_BOX_BYTES, NULL, 0);
  faro_status status = place(s, batch, hash, &answer->known, error);
  if (status != FARO_OK || answer->known) return status;
  unsigned char *sum = malloc(size);
  if (!sum) return faro_fail(error, FARO_MEMORY, "cannot allocate a sum");
  memset(s->masks, 0, s->campaign->entries * sizeof *s->masks);
  status = faro_database_begin(s->database, error);
  if (status == FARO_OK) status = add_all(s, batch, hash, sum, &answer->left_out, error);
  sodium_memzero(s->masks, s->campaign->entries * sizeof *s->masks);
  if (status == FARO_OK) {
    memcpy(s->sum, sum, size);
    memcpy(s->last, hash, sizeof hash);
    s->next = batch->number + 1;
  } else faro_database_rollback(s->database);
  free(sum);
  return status;
}
