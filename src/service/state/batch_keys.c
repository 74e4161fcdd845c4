/* batch_keys: see the header. */
#include "service/state/batch_keys.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "service/state/spool.h"

enum { MOST = 16 }; /* batches that are open, next, or wait: far fewer */

struct faro_batch_keys {
  faro_database *database;
  sqlite3_stmt *put, *drop, *note;
  uint64_t wiped; /* batches below this are released: they can never be opened again */
  size_t count;
  uint64_t batch[MOST];
  faro_box_pair pair[MOST];
};

static const faro_database_kind kind = {
    .of = "keys of batches in a database server",
    .id = 0x66614b01,
    .first = 1,
    .schema = "CREATE TABLE meta(id INTEGER PRIMARY KEY, campaign BLOB, shuffler INTEGER, wiped INTEGER);"
              "CREATE TABLE keys(batch INTEGER PRIMARY KEY, public BLOB NOT NULL, secret BLOB NOT NULL)"};

/* Whose the file is; *row is false if it is new. *wiped: what it says. */
static faro_status check_owner(faro_database *d, const char *path, const faro_campaign *campaign,
                               size_t shuffler, bool *row, uint64_t *wiped, faro_error *error) {
  sqlite3_stmt *find = NULL;
  faro_status status = faro_database_prepare(d, "SELECT campaign, shuffler, wiped FROM meta", &find, error);
  if (status == FARO_OK) status = faro_database_step(d, find, row, error, "");
  const bool ours = status == FARO_OK && *row && sqlite3_column_bytes(find, 0) == FARO_DIGEST_BYTES &&
                    memcmp(sqlite3_column_blob(find, 0), campaign->digest, FARO_DIGEST_BYTES) == 0 &&
                    sqlite3_column_int64(find, 1) == (int64_t)shuffler;
  *wiped = ours ? (uint64_t)sqlite3_column_int64(find, 2) : 0;
  sqlite3_finalize(find);
  if (status == FARO_OK && *row && !ours)
    status =
        faro_fail(error, FARO_INVALID, "%s belongs to another campaign or shuffler", faro_path_end(path));
  return status;
}

static faro_status claim(faro_batch_keys *k, const char *path, const faro_campaign *campaign, size_t shuffler,
                         faro_error *error) {
  sqlite3_stmt *enter = NULL;
  bool row = false;
  faro_status status = check_owner(k->database, path, campaign, shuffler, &row, &k->wiped, error);
  if (status != FARO_OK || row) return status;
  status = faro_database_prepare(k->database, "INSERT INTO meta VALUES(0, ?, ?, 0)", &enter, error);
  if (status == FARO_OK)
    status = faro_database_do(k->database, enter, error, "bi", (const void *)campaign->digest,
                              (size_t)FARO_DIGEST_BYTES, (int64_t)shuffler);
  sqlite3_finalize(enter);
  return status;
}

static faro_status load(faro_batch_keys *k, const char *path, faro_error *error) {
  sqlite3_stmt *all = NULL;
  bool row = true;
  faro_status status = faro_database_prepare(
      k->database, "SELECT batch, public, secret FROM keys ORDER BY batch", &all, error);
  while (status == FARO_OK && row && k->count < MOST) {
    status = faro_database_next(k->database, all, &row, error);
    if (status != FARO_OK || !row) continue;
    faro_box_pair *pair = &k->pair[k->count];
    if (sqlite3_column_bytes(all, 1) != FARO_PAIR_BYTES || sqlite3_column_bytes(all, 2) != FARO_PAIR_BYTES) {
      status =
          faro_fail(error, FARO_INVALID, "%s is damaged: a key has the wrong length", faro_path_end(path));
      continue;
    }
    memcpy(pair->public_key, sqlite3_column_blob(all, 1), FARO_PAIR_BYTES);
    memcpy(pair->secret_key, sqlite3_column_blob(all, 2), FARO_PAIR_BYTES);
    k->batch[k->count++] = (uint64_t)sqlite3_column_int64(all, 0);
  }
  sqlite3_finalize(all);
  return status;
}

faro_status faro_batch_keys_open(faro_batch_keys **keys, faro_database **database, const char *path,
                                 const faro_campaign *campaign, size_t shuffler, faro_error *error) {
  faro_batch_keys *k = calloc(1, sizeof *k);
  if (!k) return faro_fail(error, FARO_MEMORY, "cannot allocate the keys of batches");
  faro_status status = faro_database_open(database, path, &kind, FARO_READ_WRITE, error);
  k->database = *database;
  if (status == FARO_OK) status = claim(k, path, campaign, shuffler, error);
  if (status == FARO_OK) status = load(k, path, error);
  if (status == FARO_OK)
    status = faro_database_prepare(k->database, "INSERT INTO keys VALUES(?, ?, ?)", &k->put, error);
  if (status == FARO_OK)
    status = faro_database_prepare(k->database, "DELETE FROM keys WHERE batch < ?", &k->drop, error);
  if (status == FARO_OK)
    status = faro_database_prepare(k->database, "UPDATE meta SET wiped = ?", &k->note, error);
  if (status == FARO_OK) *keys = k;
  else faro_batch_keys_close(k);
  return status;
}

void faro_batch_keys_close(faro_batch_keys *k) {
  if (!k) return;
  sodium_memzero(k, sizeof *k); /* the statements end with the database */
  free(k);
}

const faro_box_pair *faro_batch_keys_find(const faro_batch_keys *k, uint64_t batch) {
  for (size_t i = 0; i < k->count; i++)
    if (k->batch[i] == batch) return &k->pair[i];
  return NULL;
}

faro_status faro_batch_keys_make(faro_batch_keys *k, uint64_t batch, faro_error *error) {
  if (faro_batch_keys_find(k, batch)) return FARO_OK;
  if (k->count == MOST) return faro_fail(error, FARO_SYSTEM, "%d batches are not released yet", MOST);
  faro_box_pair *pair = &k->pair[k->count];
  crypto_box_keypair(pair->public_key, pair->secret_key);
  faro_status status = faro_database_present(k->database, error);
  if (status == FARO_OK)
    status =
        faro_database_do(k->database, k->put, error, "ibb", (int64_t)batch, (const void *)pair->public_key,
                         (size_t)FARO_PAIR_BYTES, (const void *)pair->secret_key, (size_t)FARO_PAIR_BYTES);
  if (status == FARO_OK) k->batch[k->count++] = batch;
  else sodium_memzero(pair, sizeof *pair);
  return status;
}

uint64_t faro_batch_keys_wiped(const faro_batch_keys *k) { return k->wiped; }

static void wipe_memory(faro_batch_keys *k, uint64_t before) {
  size_t kept = 0;
  for (size_t i = 0; i < k->count; i++) {
    if (k->batch[i] < before) continue;
    k->batch[kept] = k->batch[i];
    k->pair[kept++] = k->pair[i];
  }
  sodium_memzero(&k->pair[kept], (k->count - kept) * sizeof *k->pair);
  k->count = kept;
}

/* If the log cannot be emptied, the database needs a purge, and its owner tries
 * again. */
faro_status faro_batch_keys_wipe(faro_batch_keys *k, uint64_t before, faro_error *error) {
  faro_status status = faro_database_begin(k->database, error);
  if (status == FARO_OK) status = faro_database_do(k->database, k->drop, error, "i", (int64_t)before);
  if (status == FARO_OK) status = faro_database_do(k->database, k->note, error, "i", (int64_t)before);
  if (status == FARO_OK) status = faro_database_overwrite_scratch(k->database, error);
  if (status == FARO_OK) status = faro_database_run(k->database, "COMMIT", error);
  if (status != FARO_OK) {
    faro_database_rollback(k->database);
    return status;
  }
  wipe_memory(k, before);
  k->wiped = before;
  (void)faro_database_purge(k->database, NULL);
  return FARO_OK;
}

faro_status faro_spool_keys_recognize(const char *path, faro_error *error) {
  return faro_database_recognize(path, &kind, error);
}

faro_status faro_spool_keys_check(const char *path, const faro_campaign *campaign, size_t shuffler,
                                  faro_error *error) {
  faro_database *database = NULL;
  bool row = false;
  uint64_t wiped = 0;
  faro_status status = faro_database_open(&database, path, &kind, FARO_READ_ONLY, error);
  if (status == FARO_OK) status = check_owner(database, path, campaign, shuffler, &row, &wiped, error);
  faro_database_close(database);
  return status;
}
