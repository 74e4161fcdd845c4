/* store_sqlite: the store in a file of SQLite. */
#include <math.h>
#include <stdio.h>

#include "service/analyzer/ledger_chain.h"
#include "service/analyzer/store_inner.h"
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

/* Steps from one version of the schema to the next: only add to the end. store_postgres.c has the
 * newest one. */
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

static int64_t integer(const faro_store *s, store_statement which, int column) {
  return sqlite3_column_int64(s->statement[which], column);
}

static double real(const faro_store *s, store_statement which, int column) {
  sqlite3_stmt *row = s->statement[which];
  return sqlite3_column_type(row, column) == SQLITE_NULL ? NAN : sqlite3_column_double(row, column);
}

static const void *bytes(const faro_store *s, store_statement which, int column, size_t *length) {
  const void *found = sqlite3_column_blob(s->statement[which], column);
  *length = (size_t)sqlite3_column_bytes(s->statement[which], column);
  if (found || sqlite3_column_type(s->statement[which], column) == SQLITE_NULL) return found;
  return ""; /* an empty blob */
}

static faro_status chain_ledger(faro_database *d, faro_error *error) {
  sqlite3_stmt *set = NULL;
  faro_store store = {.database = d};
  sqlite3_stmt **get = &store.statement[GET_DEBITS];
  unsigned char hash[FARO_DIGEST_BYTES];
  bool row = false;
  faro_status status = campaign_digest(d, hash, &row, error);
  if (status != FARO_OK || !row) return status;
  store.kind = &faro_store_sqlite;
  status = faro_database_prepare(d, "SELECT * FROM ledger ORDER BY batch", get, error);
  if (status == FARO_OK)
    status = faro_database_prepare(d, "UPDATE ledger SET hash = ? WHERE batch = ?", &set, error);
  if (status == FARO_OK) status = faro_database_step(d, *get, &row, error, "");
  while (status == FARO_OK && row) {
    const faro_debit debit = faro_store_read_debit(&store);
    faro_ledger_link(hash, &debit, hash);
    status = faro_database_do(d, set, error, "bi", hash, (size_t)FARO_DIGEST_BYTES, (int64_t)debit.batch);
    if (status == FARO_OK) status = faro_database_next(d, *get, &row, error);
  }
  sqlite3_finalize(*get);
  sqlite3_finalize(set);
  return status;
}

static void close_file(faro_store *s) { faro_database_close(s->database); }

static faro_status step(faro_store *s, store_statement which, bool *row, faro_error *error,
                        const char *format, va_list args) {
  return faro_database_step_with(s->database, s->statement[which], row, error, format, args);
}

static faro_status next(faro_store *s, store_statement which, bool *row, faro_error *error) {
  return faro_database_next(s->database, s->statement[which], row, error);
}

static void reset(faro_store *s, store_statement which) { faro_database_reset(s->statement[which]); }

static faro_status begin(faro_store *s, faro_error *error) { return faro_database_begin(s->database, error); }

static faro_status commit(faro_store *s, faro_error *error) {
  const faro_status status = faro_store_show(s, error);
  return status == FARO_OK ? faro_database_run(s->database, "COMMIT", error) : status;
}

static void rollback(faro_store *s) { faro_database_rollback(s->database); }

static faro_status forget(faro_store *s, faro_error *error) {
  return faro_database_overwrite_scratch(s->database, error);
}

static faro_status purge(faro_store *s, bool again, faro_error *error) {
  return again ? faro_database_retry_purge(s->database, error) : faro_database_purge(s->database, error);
}

static bool needs_purge(const faro_store *s) { return faro_database_needs_purge(s->database); }
static void verify(faro_store *s) { faro_database_verify(s->database); }

static faro_status present(const faro_store *s, faro_error *error) {
  return faro_database_present(s->database, error);
}

static faro_status probe(faro_store *s, size_t size, faro_error *error) {
  return faro_database_probe(s->database, size, error);
}

const store_kind faro_store_sqlite = {.close = close_file,
                                      .step = step,
                                      .next = next,
                                      .reset = reset,
                                      .integer = integer,
                                      .real = real,
                                      .bytes = bytes,
                                      .begin = begin,
                                      .commit = commit,
                                      .rollback = rollback,
                                      .forget = forget,
                                      .purge = purge,
                                      .needs_purge = needs_purge,
                                      .verify = verify,
                                      .present = present,
                                      .probe = probe};

faro_status faro_store_sqlite_open(faro_store *s, const char *path, faro_access mode, faro_error *error) {
  s->kind = &faro_store_sqlite;
  faro_status status = faro_database_open(&s->database, path, &KIND, mode, error);
  for (size_t i = 0; status == FARO_OK && i < STATEMENTS; i++)
    status = faro_database_prepare(s->database, faro_store_sql[i], &s->statement[i], error);
  return status;
}

faro_status faro_store_recognize(const char *path, faro_error *error) {
  return faro_database_recognize(path, &KIND, error);
}

/* What only a file can do: be copied as a whole. */

static faro_status check_file(const faro_store *s, faro_error *error) {
  if (s->database) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "the state is in a database server, and cannot be copied or moved as a file: the server's "
                   "replicas are its copies");
}

faro_status faro_store_copy(faro_store *store, const char *path, bool final, faro_error *error) {
  const char *sql = final ? NULL : "INSERT OR REPLACE INTO fence VALUES (1)";
  const faro_status status = check_file(store, error);
  return status == FARO_OK ? faro_database_copy(store->database, path, sql, error) : status;
}

faro_status faro_store_retire(faro_store *store, faro_error *error) {
  const faro_status status = check_file(store, error);
  return status == FARO_OK ? faro_database_retire(store->database, error) : status;
}

faro_status faro_store_take_over(faro_store *store, const char *path, uint64_t epoch, faro_error *error) {
  char sql[160];
  snprintf(sql, sizeof sql,
           "INSERT OR REPLACE INTO fence VALUES (1); INSERT OR REPLACE INTO epoch VALUES (1, %lld, %lld)",
           (long long)epoch, (long long)epoch);
  const faro_status status = check_file(store, error);
  return status == FARO_OK ? faro_database_copy(store->database, path, sql, error) : status;
}

faro_status faro_store_show(faro_store *store, faro_error *error) {
  unsigned char *image = NULL;
  size_t length = 0;
  if (!store->witness.see) return FARO_OK;
  faro_status status = check_file(store, error);
  if (status == FARO_OK) status = faro_database_image(store->database, &image, &length, error);
  if (status == FARO_OK) status = store->witness.see(store->witness.context, image, length, error);
  sqlite3_free(image);
  return status;
}

faro_status faro_store_sound(faro_store *store, faro_error *error) {
  const faro_status status = check_file(store, error);
  return status == FARO_OK ? faro_database_sound(store->database, error) : status;
}
