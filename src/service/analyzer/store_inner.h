/* store_inner: what the two kinds of databases behind the store share: a file of SQLite, or a
 * schema of a PostgreSQL server.
 *
 * What the store decides and what it says is in store.c, once: statements in SQL that both
 * understand, with ? for parameters. A kind runs them, and says what a transaction is. */
#ifndef FARO_SERVICE_ANALYZER_STORE_INNER_H
#define FARO_SERVICE_ANALYZER_STORE_INNER_H

#include <stdarg.h>

#include "service/analyzer/store.h"

typedef enum store_statement {
  GET_CAMPAIGN,
  SET_CAMPAIGN,
  GET_MOVE,
  ADD_MOVE,
  GET_FENCE,
  LIFT_FENCE,
  GET_STATE,
  GET_BATCHES,
  SET_STATE,
  NEXT_STATE,
  HAS_EXPECTED,
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
  RUN_SPOILED,
  PUT_LIFE,
  GET_LIVES,
  GET_EPOCH,
  SEE_EPOCH,
  STATEMENTS
} store_statement;

extern const char *const faro_store_sql[STATEMENTS];

/* What is sealed: the body of a batch, to the keys of that batch; and in the central model the
 * release, which may hold sums without noise, to the keys of the batch that replaces it. */
typedef enum store_secret { SECRET_BODY = 3, SECRET_RELEASE } store_secret;

/* The functions marked "optional" may be NULL: then there is nothing to do. */
typedef struct store_kind {
  void (*close)(faro_store *store);

  /* Runs a statement to its first row (*row) or its end; formats as in database.h. Then columns can
   * be read, of the next row after `next`; `reset` ends it. A statement that changes something, and
   * is run outside a transaction, is one by itself. */
  faro_status (*step)(faro_store *store, store_statement which, bool *row, faro_error *error,
                      const char *format, va_list args);
  faro_status (*next)(faro_store *store, store_statement which, bool *row, faro_error *error);
  void (*reset)(faro_store *store, store_statement which);
  int64_t (*integer)(const faro_store *store, store_statement which, int column);
  double (*real)(const faro_store *store, store_statement which, int column); /* NULL: NAN */
  /* Bytes or text; NULL if the column is. */
  const void *(*bytes)(const faro_store *store, store_statement which, int column, size_t *length);

  faro_status (*begin)(faro_store *store, faro_error *error);
  faro_status (*commit)(faro_store *store, faro_error *error);
  void (*rollback)(faro_store *store); /* if a transaction is open */

  /* How what depends on single reports is kept. Optional: as it is. `seal` gives other bytes, which
   * the caller frees, or none: then as it is, too. `unseal` replaces what was read. */
  faro_status (*seal)(faro_store *store, store_secret what, uint64_t batch, const faro_blob *plain,
                      faro_blob *sealed, faro_error *error);
  faro_status (*unseal)(faro_store *store, store_secret what, uint64_t batch, faro_blob *blob,
                        faro_error *error);

  /* The rest are the functions of store.h with these names. */
  faro_status (*ready)(faro_store *store, faro_error *error);   /* optional */
  faro_status (*confirm)(faro_store *store, faro_error *error); /* optional */
  faro_status (*forget)(faro_store *store, faro_error *error);  /* optional: at a commit */
  faro_status (*purge)(faro_store *store, bool again, faro_error *error);
  bool (*needs_purge)(const faro_store *store);
  void (*verify)(faro_store *store); /* optional */
  faro_status (*present)(const faro_store *store, faro_error *error);
  faro_status (*probe)(faro_store *store, size_t bytes, faro_error *error);
} store_kind;

/* faro_store_expect. */
typedef struct store_expected {
  bool set;
  uint64_t batches;
  unsigned char hash[FARO_DIGEST_BYTES];
} store_expected;

struct faro_store {
  const store_kind *kind;
  store_expected expected;
  faro_database *database; /* SQLite */
  sqlite3_stmt *statement[STATEMENTS];
  faro_store_witness witness;      /* see is NULL: none */
  struct store_postgres *postgres; /* PostgreSQL */
};

extern const store_kind faro_store_sqlite;
/* What an old copy of the database is told. */
faro_status faro_store_is_old(const store_expected *expected, faro_error *error);
/* The row of the ledger that GET_DEBITS is at. */
faro_debit faro_store_read_debit(const faro_store *store);

faro_status faro_store_sqlite_open(faro_store *store, const char *path, faro_access mode,
                                   faro_error *error) FARO_WARN_UNUSED;

/* Of PostgreSQL; also in a build without it, where all of them are refused. */
faro_status faro_store_postgres_open(faro_store *store, const char *url, faro_access mode,
                                     faro_error *error) FARO_WARN_UNUSED;
faro_status faro_store_postgres_there(const char *url, bool *there, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_store_postgres_follow(faro_store *store, bool *unheld, faro_error *error) FARO_WARN_UNUSED;
faro_status faro_store_postgres_keep(faro_store *store, const char *path, const faro_campaign *campaign,
                                     faro_error *error) FARO_WARN_UNUSED;
void faro_store_postgres_drop_keys(faro_store *store);
bool faro_store_postgres_replaced(const faro_store *store);

#endif
