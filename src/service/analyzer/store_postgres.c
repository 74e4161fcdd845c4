/* store_postgres: the store in a schema of a PostgreSQL server. store.h says who holds it.
 *
 *   meta      the version of the schema, the fencing token, and a number that is changed to write
 *   keepers   public keys of the analyzers for the next batches (state/keepers.h)
 *
 * and the tables of store.h, as a file has them in its newest version.
 *
 * A transaction that a server has kept and its replicas have not may be lost with it. So nothing is
 * read for use before a write of our own has been confirmed in the same session: a commit waits for
 * all that came before it. When a commit fails, nobody knows what became of it, and the session is
 * ended for the same reason. */
#include <math.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "service/analyzer/applier.h"
#include "service/analyzer/store_inner.h"
#include "service/role/log.h"
#include "service/role/process.h"
#include "service/state/keepers.h"

static const char SCHEMA[] =
    "CREATE TABLE meta(one BIGINT PRIMARY KEY CHECK (one = 1), version BIGINT NOT NULL, token BIGINT NOT "
    "NULL,"
    " beat BIGINT NOT NULL);"
    "INSERT INTO meta VALUES(1, 1, 0, 0);" FARO_KEEPERS_TABLE
    "CREATE TABLE campaign(one BIGINT PRIMARY KEY CHECK (one = 1), document BYTEA NOT NULL, signer BYTEA NOT "
    "NULL);"
    "CREATE TABLE move(number BIGINT PRIMARY KEY, document BYTEA NOT NULL);"
    "CREATE TABLE fence(one BIGINT PRIMARY KEY CHECK (one = 1));"
    "CREATE TABLE epoch(one BIGINT PRIMARY KEY CHECK (one = 1), number BIGINT NOT NULL, seen BIGINT NOT "
    "NULL);"
    "CREATE TABLE state(one BIGINT PRIMARY KEY CHECK (one = 1), batches BIGINT NOT NULL, release BYTEA NOT "
    "NULL,"
    " policy BYTEA NOT NULL, seen BYTEA);"
    "CREATE TABLE inbox(shuffler BIGINT, number BIGINT, body BYTEA NOT NULL, PRIMARY KEY (shuffler, number));"
    "CREATE TABLE shuffler(shuffler BIGINT PRIMARY KEY, next BIGINT NOT NULL, hash BYTEA NOT NULL);"
    "CREATE TABLE ledger(batch BIGINT PRIMARY KEY, version BIGINT NOT NULL, users BIGINT NOT NULL,"
    " epsilon DOUBLE PRECISION NOT NULL, delta DOUBLE PRECISION NOT NULL, rounds BIGINT NOT NULL,"
    " charged BIGINT NOT NULL, allowed BIGINT NOT NULL, moment TEXT NOT NULL, hash BYTEA,"
    " CHECK (charged <= allowed));"
    "CREATE TABLE head(one BIGINT PRIMARY KEY CHECK (one = 1), document BYTEA NOT NULL);"
    "CREATE TABLE life(number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state TEXT NOT NULL,"
    " moment TEXT NOT NULL);"
    "CREATE TABLE history(batch BIGINT PRIMARY KEY, users BIGINT NOT NULL, last DOUBLE PRECISION,"
    " predicted DOUBLE PRECISION, width DOUBLE PRECISION, spoiled BIGINT NOT NULL, noise DOUBLE PRECISION)";
enum { VERSION = 1 };
#define NAME "faro_analyzer"

/* Advisory locks of the database: to found the state, and to hold it. */
static const int64_t FOUND = 0x6661726f00000001, HOLD = 0x6661726f00000002;

/* A session that holds the database and is silent for this long is of an analyzer that hangs: it is
 * heard of every two seconds. Within a transaction it may be learning, for a minute unless the
 * server or the URL says something else. One that only reads, a standby's, holds nothing outside
 * transactions, and must not keep what it has locked there for as long as the analyzer waits for it
 * (SESSION of postgres.c). */
#define PLACE "SET search_path = " NAME ";"
static const char READING[] = PLACE "SET idle_in_transaction_session_timeout = '10s'";
static const char WRITING[] = FARO_POSTGRES_SILENCE PLACE
    "SELECT set_config(name, CASE reset_val WHEN '0' THEN '60s' ELSE reset_val END, false)"
    " FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'";

struct store_postgres {
  faro_postgres *link;
  char *sql[STATEMENTS];
  PGresult *rows[STATEMENTS];
  int row[STATEMENTS];
  bool holds; /* it was opened for writing: the lock is ours, and the token */
  bool open;  /* a transaction is */
  int64_t token;
  const store_expected *expected;
  atomic_bool lost, replaced;
  atomic_bool old;       /* the server lacks what is expected */
  faro_batch_keys *keys; /* NULL: bodies are kept as they are */
  faro_database *file;   /* that of the keys */
  faro_sealed_as seal;
  bool central;       /* the release is sealed, too */
  uint64_t published; /* the keys of batches below this are in the database */
  bool unwiped;       /* keys of applied batches are left */
};

/* Fencing. */

static faro_status is_replaced(faro_error *error) {
  return faro_fail(error, FARO_OLD,
                   "another analyzer has taken over this database; this one changes nothing any more");
}

static faro_status one_number(faro_postgres *link, const char *sql, int64_t *number, faro_error *error) {
  PGresult *rows = NULL;
  faro_status status = faro_postgres_ask(link, &rows, error, sql, "");
  if (status == FARO_OK && PQntuples(rows) != 1)
    status = faro_fail(error, FARO_SYSTEM, "the database has lost the state of this analyzer");
  if (status == FARO_OK) *number = faro_postgres_number(rows, 0, 0);
  PQclear(rows);
  return status;
}

/* Whether the token is still ours, by a statement that reads it. */
static faro_status check_token(struct store_postgres *p, const char *sql, faro_error *error) {
  int64_t token = 0;
  const faro_status status = one_number(p->link, sql, &token, error);
  if (status != FARO_OK || token == p->token) return status;
  faro_error why = {0};
  (void)is_replaced(&why);
  if (!atomic_exchange(&p->replaced, true)) faro_log_error("replaced", &why);
  return is_replaced(error);
}

/* The lock ends with the session, or at once, with the statement. */
static const char FOR_GOOD[] = "SELECT pg_try_advisory_lock($1)::integer::bigint";
static const char FOR_A_MOMENT[] = "SELECT pg_try_advisory_xact_lock($1)::integer::bigint";

static faro_status try_lock(struct store_postgres *p, const char *sql, bool *got, faro_error *error) {
  PGresult *rows = NULL;
  const faro_status status = faro_postgres_ask(p->link, &rows, error, sql, "i", HOLD);
  *got = status == FARO_OK && faro_postgres_number(rows, 0, 0) == 1;
  PQclear(rows);
  return status;
}

/* Whether the server has what this process has seen committed. A replica that was behind may have
 * our token, and lack batches since. */
static faro_status check_expected(struct store_postgres *p, faro_error *error) {
  const store_expected *e = p->expected;
  PGresult *rows = NULL;
  faro_error why = {0};
  if (!e->set) return FARO_OK;
  const faro_status status = faro_postgres_ask(
      p->link, &rows, error, p->sql[HAS_EXPECTED], "iiib", (int64_t)e->batches, (int64_t)e->batches,
      (int64_t)e->batches - 1, (const void *)e->hash, (size_t)FARO_DIGEST_BYTES);
  const bool old = status == FARO_OK && faro_postgres_number(rows, 0, 0) == 0;
  PQclear(rows);
  if (status != FARO_OK) return status;
  (void)faro_store_is_old(e, &why);
  if (!atomic_exchange(&p->old, old) && old) faro_log_error("database-old", &why);
  return old ? faro_store_is_old(e, error) : FARO_OK;
}

static const char TOKEN[] = "SELECT token FROM meta";
static const char TOKEN_LOCKED[] = "SELECT token FROM meta FOR UPDATE";
static const char BEAT[] = "UPDATE meta SET beat = beat + 1";

/* A transaction that is ours as long as nobody else has drawn a token; who wants one waits for its
 * end. */
static faro_status begin_fenced(struct store_postgres *p, faro_error *error) {
  faro_status status = faro_postgres_begin(p->link, error);
  if (status == FARO_OK) status = check_token(p, TOKEN_LOCKED, error);
  if (status != FARO_OK) faro_postgres_rollback(p->link);
  return status;
}

static faro_status commit_or_leave(struct store_postgres *p, faro_error *error) {
  const faro_status status = faro_postgres_commit(p->link, error);
  if (status != FARO_OK) faro_postgres_leave(p->link);
  return status;
}

/* Goes on in a new session, if nobody has taken over in between, and the server is not behind. What
 * came before is confirmed. */
static faro_status resume(struct store_postgres *p, faro_error *error) {
  bool got = false;
  faro_status status = try_lock(p, FOR_GOOD, &got, error);
  if (status == FARO_OK && !got) {
    status = check_token(p, TOKEN, error);
    if (status != FARO_OK) return status;
    return faro_fail(error, FARO_SYSTEM,
                     "the database is held by a session that was lost, until the server notices that");
  }
  if (status == FARO_OK) status = begin_fenced(p, error);
  if (status == FARO_OK) status = check_expected(p, error);
  if (status == FARO_OK) status = faro_postgres_run(p->link, BEAT, error);
  return status == FARO_OK ? commit_or_leave(p, error) : status;
}

/* The connection. */

static void note_lost(struct store_postgres *p, faro_status status, const faro_error *error) {
  const bool lost = status != FARO_OK;
  if (atomic_exchange(&p->lost, lost) == lost || !p->holds) return;
  if (lost) faro_log_error("database-lost", error);
  else faro_log(FARO_LOG_INFO, "database-back", NULL);
}

/* Connects, if the connection was lost. */
static faro_status connect_again(struct store_postgres *p, faro_error *error) {
  bool fresh = false;
  faro_error why = {0};
  if (atomic_load(&p->replaced)) return is_replaced(error);
  faro_status status = faro_postgres_ready(p->link, &fresh, &why);
  if (fresh) p->published = 0; /* it may be a replica that was behind */
  if (fresh) status = p->holds ? resume(p, &why) : check_expected(p, &why);
  if (fresh && status != FARO_OK) faro_postgres_leave(p->link);
  note_lost(p, status, &why);
  return status == FARO_OK ? FARO_OK : faro_fail(error, status, "%s", why.message);
}

static faro_status tend_keys(struct store_postgres *p, faro_error *error);

/* After a new connection, keys are published again: the server may have lost them. */
static faro_status ready(faro_store *s, faro_error *error) {
  struct store_postgres *p = s->postgres;
  int64_t version = 0;
  faro_error why = {0};
  faro_status status = connect_again(p, error);
  if (status != FARO_OK) return status;
  status = p->holds ? check_token(p, TOKEN, &why)
                    : one_number(p->link, "SELECT version FROM meta", &version, &why);
  note_lost(p, status, &why);
  if (status == FARO_OK && p->keys && p->published == 0) {
    status = tend_keys(p, &why);
    p->unwiped = status != FARO_OK; /* another reason than a lost database */
  }
  return status == FARO_OK ? FARO_OK : faro_fail(error, status, "%s", why.message);
}

static faro_status present(const faro_store *s, faro_error *error) {
  if (atomic_load(&s->postgres->replaced)) return is_replaced(error);
  if (atomic_load(&s->postgres->old))
    return faro_fail(error, FARO_INVALID,
                     "the database is an old copy, or a replica that was behind: it lacks what this analyzer "
                     "has committed, and nothing is written to it; see the log");
  if (!atomic_load(&s->postgres->lost)) return FARO_OK;
  return faro_fail(error, FARO_SYSTEM, "the database does not answer; see the log");
}

bool faro_store_postgres_replaced(const faro_store *s) { return atomic_load(&s->postgres->replaced); }

/* Transactions. */

static faro_status begin(faro_store *s, faro_error *error) {
  struct store_postgres *p = s->postgres;
  if (!p->holds) return faro_fail(error, FARO_INVALID, "the database is open for reading only");
  faro_status status = connect_again(p, error);
  if (status == FARO_OK) status = begin_fenced(p, error);
  p->open = status == FARO_OK;
  return status;
}

static faro_status commit(faro_store *s, faro_error *error) {
  s->postgres->open = false;
  return commit_or_leave(s->postgres, error);
}

static void rollback(faro_store *s) {
  s->postgres->open = false;
  faro_postgres_rollback(s->postgres->link);
}

/* Writes, so that the commit waits for the replicas. A standby may do that: it changes nothing. */
static faro_status confirm(faro_store *s, faro_error *error) {
  struct store_postgres *p = s->postgres;
  faro_status status = p->holds ? begin(s, error) : faro_postgres_begin(p->link, error);
  if (status == FARO_OK) status = faro_postgres_run(p->link, BEAT, error);
  if (status == FARO_OK) status = commit(s, error);
  if (status != FARO_OK) rollback(s);
  return status;
}

static faro_status probe(faro_store *s, size_t bytes, faro_error *error) {
  (void)bytes;
  return confirm(s, error);
}

/* Statements. */

/* ? becomes $1, $2 ... */
static char *number_parameters(const char *sql) {
  char *out = malloc(2 * strlen(sql) + 1), *end = out;
  int count = 0;
  if (!out) return NULL;
  for (; *sql; sql++) {
    if (*sql == '?') end += sprintf(end, "$%d", ++count);
    else *end++ = *sql;
  }
  *end = '\0';
  return out;
}

static void reset(faro_store *s, store_statement which) {
  struct store_postgres *p = s->postgres;
  PQclear(p->rows[which]);
  p->rows[which] = NULL;
}

static faro_status step(faro_store *s, store_statement which, bool *row, faro_error *error,
                        const char *format, va_list args) {
  struct store_postgres *p = s->postgres;
  const bool reads = strncmp(faro_store_sql[which], "SELECT", 6) == 0;
  const bool alone = !reads && !p->open;
  faro_status status = FARO_OK;
  if (alone) status = begin(s, error);
  else if (p->holds && !p->open) status = connect_again(p, error);
  if (status == FARO_OK)
    status = faro_postgres_ask_with(p->link, &p->rows[which], error, p->sql[which], format, args);
  if (alone && status == FARO_OK) status = commit(s, error);
  if (alone && status != FARO_OK) rollback(s);
  p->row[which] = 0;
  *row = status == FARO_OK && PQntuples(p->rows[which]) > 0;
  return status;
}

static faro_status next(faro_store *s, store_statement which, bool *row, faro_error *error) {
  struct store_postgres *p = s->postgres;
  (void)error;
  *row = ++p->row[which] < PQntuples(p->rows[which]);
  return FARO_OK;
}

static int64_t integer(const faro_store *s, store_statement which, int column) {
  return faro_postgres_number(s->postgres->rows[which], s->postgres->row[which], column);
}

static double real(const faro_store *s, store_statement which, int column) {
  return faro_postgres_real(s->postgres->rows[which], s->postgres->row[which], column);
}

static const void *bytes(const faro_store *s, store_statement which, int column, size_t *length) {
  const struct store_postgres *p = s->postgres;
  const void *found = faro_postgres_bytes(p->rows[which], p->row[which], column, length);
  return PQgetisnull(p->rows[which], p->row[which], column) ? NULL : found;
}

/* Keys of batches. */

/* The key is on our disk before anything can be sealed to it. */
static faro_status publish(struct store_postgres *p, uint64_t applied, faro_error *error) {
  faro_status status = FARO_OK;
  for (uint64_t batch = applied; status == FARO_OK && batch <= applied + FARO_INBOX_MAX; batch++)
    status = faro_batch_keys_make(p->keys, batch, error);
  if (status == FARO_OK) status = faro_postgres_begin(p->link, error);
  for (uint64_t batch = applied; status == FARO_OK && batch <= applied + FARO_INBOX_MAX; batch++)
    status = faro_keepers_publish(p->link, p->keys, batch, error);
  if (status == FARO_OK)
    status = faro_postgres_do(p->link, error, "DELETE FROM keepers WHERE batch < $1", "i", (int64_t)applied);
  if (status == FARO_OK) status = commit_or_leave(p, error);
  if (status == FARO_OK) p->published = applied + FARO_INBOX_MAX + 1;
  faro_postgres_rollback(p->link);
  return status;
}

/* Publishing is a commit that comes after the one which applied the batch. So that one is confirmed
 * before the key is wiped. */
static faro_status tend_keys(struct store_postgres *p, faro_error *error) {
  int64_t applied = 0;
  faro_status status =
      one_number(p->link, "SELECT coalesce((SELECT batches FROM state), 0)::bigint", &applied, error);
  if (status != FARO_OK) return status;
  const uint64_t wiped = faro_batch_keys_wiped(p->keys);
  if ((uint64_t)applied < wiped)
    return faro_fail(error, FARO_INVALID,
                     "the database says that batch %llu was not applied, but it was: this is an old copy of "
                     "the database. Put the newest one back, or end the campaign",
                     (unsigned long long)applied);
  if ((uint64_t)applied + FARO_INBOX_MAX >= p->published) status = publish(p, (uint64_t)applied, error);
  if (status == FARO_OK && (uint64_t)applied > wiped)
    status = faro_batch_keys_wipe(p->keys, (uint64_t)applied, error);
  return status;
}

faro_status faro_store_postgres_keep(faro_store *s, const char *path, const faro_campaign *campaign,
                                     faro_error *error) {
  struct store_postgres *p = s->postgres;
  if (p->keys || faro_campaign_form(campaign) == FARO_WIRE_BITS) return FARO_OK;
  memcpy(p->seal.campaign, campaign->digest, sizeof p->seal.campaign);
  p->central = campaign->release->trust == FARO_TRUST_JOINT;
  faro_status status = faro_batch_keys_open(&p->keys, &p->file, path, campaign, 0, error);
  if (status == FARO_OK) status = tend_keys(p, error);
  if (status != FARO_OK) faro_store_postgres_drop_keys(s);
  return status;
}

void faro_store_postgres_drop_keys(faro_store *s) {
  struct store_postgres *p = s->postgres;
  faro_batch_keys_close(p->keys);
  faro_database_close(p->file);
  p->keys = NULL;
  p->file = NULL;
  p->published = 0;
}

/* Parts that a spool does not have (spool_postgres.h). */
static faro_sealed_as as_secret(const struct store_postgres *p, store_secret what, uint64_t batch) {
  faro_sealed_as as = p->seal;
  as.part = what;
  as.batch = batch;
  return as;
}

static bool is_sealed(const struct store_postgres *p, store_secret what) {
  return p->keys && (what == SECRET_BODY || p->central);
}

static faro_status seal(faro_store *s, store_secret what, uint64_t batch, const faro_blob *plain,
                        faro_blob *sealed, faro_error *error) {
  struct store_postgres *p = s->postgres;
  const faro_sealed_as as = as_secret(p, what, batch);
  if (!is_sealed(p, what)) return FARO_OK;
  return faro_keepers_seal(p->link, p->keys, &as, plain->bytes, plain->length, &sealed->bytes,
                           &sealed->length, error);
}

static faro_status is_foreign(store_secret what, uint64_t batch, faro_error *error) {
  return faro_fail(error, FARO_SYSTEM,
                   "%s batch %llu came before this analyzer had published its key: start the other one",
                   what == SECRET_BODY ? "the body of" : "the state before", (unsigned long long)batch);
}

static faro_status unseal(faro_store *s, store_secret what, uint64_t batch, faro_blob *blob,
                          faro_error *error) {
  struct store_postgres *p = s->postgres;
  if (!is_sealed(p, what)) return FARO_OK;
  const faro_sealed_as as = as_secret(p, what, batch);
  const faro_blob sealed = *blob;
  const size_t length = faro_sealed_length(sealed.bytes, sealed.length);
  const faro_box_pair *pair = faro_batch_keys_find(p->keys, batch);
  faro_sealed_result result = FARO_SEALED_FOREIGN;
  unsigned char *bytes = malloc(length + 1);
  if (bytes && pair) result = faro_sealed_open(&as, pair, sealed.bytes, sealed.length, bytes, length);
  free(sealed.bytes);
  const bool opened = bytes && result == FARO_SEALED_OPENED;
  *blob = opened ? (faro_blob){.bytes = bytes, .length = length} : (faro_blob){0};
  if (opened) return FARO_OK;
  const bool memory = bytes != NULL;
  free(bytes);
  if (!memory) return faro_fail(error, FARO_MEMORY, "cannot allocate %zu bytes of the state", length);
  if (result == FARO_SEALED_FOREIGN) return is_foreign(what, batch, error);
  return faro_fail(error, FARO_SYSTEM, "the database is damaged: what belongs to batch %llu cannot be opened",
                   (unsigned long long)batch);
}

/* What is deleted stays in the server's log. It cannot be opened any more without its key. */
static faro_status purge(faro_store *s, bool again, faro_error *error) {
  struct store_postgres *p = s->postgres;
  if (!p->keys || (again && !p->unwiped && !faro_database_needs_purge(p->file))) return FARO_OK;
  faro_status status = connect_again(p, error);
  if (status == FARO_OK) status = tend_keys(p, error);
  p->unwiped = status != FARO_OK;
  return status == FARO_OK ? faro_database_retry_purge(p->file, error) : status;
}

static bool needs_purge(const faro_store *s) {
  const struct store_postgres *p = s->postgres;
  return p->keys && (p->unwiped || faro_database_needs_purge(p->file));
}

/* A standby. */

/* Whether we have the key to everything in an answer: batches, and the heads of what is sealed to
 * them. */
static faro_status check_keys(struct store_postgres *p, store_secret what, const char *sql,
                              faro_error *error) {
  PGresult *rows = NULL;
  if (!is_sealed(p, what)) return FARO_OK;
  faro_status status = faro_postgres_ask(p->link, &rows, error, sql, "i", (int64_t)FARO_SEALED_HEAD);
  for (int i = 0; status == FARO_OK && i < PQntuples(rows); i++) {
    size_t size = 0;
    const uint64_t batch = (uint64_t)faro_postgres_number(rows, i, 0);
    const unsigned char *head = faro_postgres_bytes(rows, i, 1, &size);
    const faro_box_pair *pair = faro_batch_keys_find(p->keys, batch);
    if (!pair || !faro_sealed_is_for(pair, head, size)) status = is_foreign(what, batch, error);
  }
  PQclear(rows);
  return status;
}

faro_status faro_store_postgres_follow(faro_store *s, bool *unheld, faro_error *error) {
  struct store_postgres *p = s->postgres;
  bool got = false;
  faro_status status = connect_again(p, error);
  if (status == FARO_OK && p->keys) status = tend_keys(p, error);
  if (status == FARO_OK) status = try_lock(p, FOR_A_MOMENT, &got, error);
  if (status == FARO_OK && got)
    status = check_keys(p, SECRET_BODY, "SELECT number, substring(body for $1::integer) FROM inbox", error);
  if (status == FARO_OK && got)
    status =
        check_keys(p, SECRET_RELEASE, "SELECT batches, substring(release for $1::integer) FROM state", error);
  *unheld = status == FARO_OK && got;
  return status;
}

/* Opening. */

static const char SCHEMAS[] = "SELECT count(*) FROM pg_namespace WHERE nspname = '" NAME "'";

static faro_status found(struct store_postgres *p, faro_error *error) {
  int64_t there = 0;
  faro_status status = one_number(p->link, SCHEMAS, &there, error);
  if (status != FARO_OK || there > 0) return status;
  status = faro_postgres_run(p->link, "CREATE SCHEMA " NAME, error);
  return status == FARO_OK ? faro_postgres_run(p->link, SCHEMA, error) : status;
}

/* Two analyzers that start at once must not both found it. */
static faro_status found_once(struct store_postgres *p, faro_error *error) {
  faro_status status = faro_postgres_begin(p->link, error);
  if (status == FARO_OK)
    status = faro_postgres_do(p->link, error, "SELECT pg_advisory_xact_lock($1)", "i", FOUND);
  if (status == FARO_OK) status = found(p, error);
  if (status == FARO_OK) status = faro_postgres_commit(p->link, error);
  faro_postgres_rollback(p->link);
  return status;
}

/* Takes the lock, and draws a token: from now on nobody else writes. It is random: a replica that
 * had not heard of the last one must not give it out again. */
static faro_status hold(struct store_postgres *p, faro_error *error) {
  bool got = false;
  int64_t token = 0;
  randombytes_buf(&token, sizeof token);
  p->token = token & INT64_MAX;
  faro_status status = try_lock(p, FOR_GOOD, &got, error);
  if (status == FARO_OK && !got) return faro_fail(error, FARO_OLD, "another analyzer holds this database");
  if (status == FARO_OK) status = faro_postgres_begin(p->link, error);
  if (status == FARO_OK)
    status = faro_postgres_do(p->link, error, "UPDATE meta SET token = $1", "i", p->token);
  if (status == FARO_OK) status = faro_postgres_commit(p->link, error);
  faro_postgres_rollback(p->link);
  p->holds = status == FARO_OK;
  return status;
}

static faro_status check_version(struct store_postgres *p, faro_error *error) {
  int64_t version = 0;
  const faro_status status = one_number(p->link, "SELECT version FROM meta", &version, error);
  if (status != FARO_OK || version == VERSION) return status;
  return faro_fail(error, FARO_INVALID, "the database has version %lld of the state; this faro reads %d",
                   (long long)version, VERSION);
}

static faro_status check_there(struct store_postgres *p, faro_error *error) {
  int64_t there = 0;
  const faro_status status = one_number(p->link, SCHEMAS, &there, error);
  if (status != FARO_OK || there > 0) return status;
  return faro_fail(error, FARO_INVALID, "the database holds no state of an analyzer");
}

faro_status faro_store_postgres_there(const char *url, bool *there, faro_error *error) {
  faro_postgres *link = NULL;
  int64_t count = 0;
  faro_status status = faro_postgres_open(&link, url, "SELECT 1", faro_process_ending, error);
  if (status == FARO_OK) status = one_number(link, SCHEMAS, &count, error);
  *there = count > 0;
  faro_postgres_close(link);
  return status;
}

static void close_postgres(faro_store *s) {
  struct store_postgres *p = s->postgres;
  for (store_statement which = 0; which < STATEMENTS; which++) {
    reset(s, which);
    free(p->sql[which]);
  }
  faro_store_postgres_drop_keys(s);
  faro_postgres_close(p->link);
  free(p);
}

static const store_kind faro_store_postgres = {.close = close_postgres,
                                               .step = step,
                                               .next = next,
                                               .reset = reset,
                                               .integer = integer,
                                               .real = real,
                                               .bytes = bytes,
                                               .begin = begin,
                                               .commit = commit,
                                               .rollback = rollback,
                                               .seal = seal,
                                               .unseal = unseal,
                                               .ready = ready,
                                               .confirm = confirm,
                                               .purge = purge,
                                               .needs_purge = needs_purge,
                                               .present = present,
                                               .probe = probe};

faro_status faro_store_postgres_open(faro_store *s, const char *url, faro_access mode, faro_error *error) {
  struct store_postgres *p = calloc(1, sizeof *p);
  if (!p) return faro_fail(error, FARO_MEMORY, "cannot allocate the analyzer's state");
  s->kind = &faro_store_postgres;
  s->postgres = p;
  p->expected = &s->expected;
  bool made = true;
  for (size_t i = 0; i < STATEMENTS; i++)
    made = (p->sql[i] = number_parameters(faro_store_sql[i])) != NULL && made;
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the analyzer's state");
  const bool writes = mode == FARO_READ_WRITE;
  faro_status status = faro_postgres_open(&p->link, url, writes ? WRITING : READING,
                                          writes ? NULL : faro_process_ending, error);
  if (status == FARO_OK && writes) status = faro_postgres_check_session(p->link, error);
  if (status == FARO_OK) status = writes ? found_once(p, error) : check_there(p, error);
  if (status == FARO_OK) status = check_version(p, error);
  return status == FARO_OK && writes ? hold(p, error) : status;
}
