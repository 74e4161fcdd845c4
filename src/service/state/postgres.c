/* postgres: see the header. Parameters and answers are binary. */
#include "service/state/postgres.h"

#include <math.h>
#include <poll.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { PARAMETERS = 12 };
enum {
  BYTEA = 17,
  INT8 = 20,
  TEXT = 25,
  FLOAT8 = 701,
  BYTEA_ARRAY = 1001,
  INT8_ARRAY = 1016
};                                 /* PostgreSQL's types */
static const double PATIENCE = 30; /* seconds that an answer may take */
static const double FAREWELL = 2;  /* and that to the last statement of a session */

struct faro_postgres {
  PGconn *connection;
  char *url, *set_up;
  bool (*stopping)(void);
  double patience;
  bool warned;   /* the server has warned since this was cleared */
  bool collided; /* the last failure was a deadlock or the like */
};

/* Numbers on the wire are big-endian. */

static void put32(unsigned char *out, uint32_t value) {
  for (int i = 0; i < 4; i++) out[i] = (unsigned char)(value >> (24 - 8 * i));
}

static void put64(unsigned char *out, uint64_t value) {
  for (int i = 0; i < 8; i++) out[i] = (unsigned char)(value >> (56 - 8 * i));
}

int64_t faro_postgres_number(const PGresult *rows, int row, int column) {
  const unsigned char *bytes = (const unsigned char *)PQgetvalue(rows, row, column);
  uint64_t value = 0;
  if (PQgetisnull(rows, row, column) || PQgetlength(rows, row, column) != 8) return 0;
  for (int i = 0; i < 8; i++) value = value << 8 | bytes[i];
  return (int64_t)value;
}

double faro_postgres_real(const PGresult *rows, int row, int column) {
  const int64_t bits = faro_postgres_number(rows, row, column); /* IEEE 754 on the wire, too */
  double value = NAN;
  if (!PQgetisnull(rows, row, column)) memcpy(&value, &bits, sizeof value);
  return value;
}

const unsigned char *faro_postgres_bytes(const PGresult *rows, int row, int column, size_t *length) {
  *length = (size_t)PQgetlength(rows, row, column);
  return (const unsigned char *)PQgetvalue(rows, row, column);
}

/* The connection. */

static faro_status fail(faro_postgres *p, const PGresult *rows, faro_error *error) {
  const char *state = rows ? PQresultErrorField(rows, PG_DIAG_SQLSTATE) : NULL;
  const char *why = rows ? PQresultErrorField(rows, PG_DIAG_MESSAGE_PRIMARY) : NULL;
  if (!why) why = PQerrorMessage(p->connection);
  p->collided = state && (strcmp(state, "40P01") == 0 || strcmp(state, "40001") == 0);
  return faro_fail(error, FARO_SYSTEM, "PostgreSQL: %.*s", (int)strcspn(why, "\n"), why);
}

static void note(void *context, const PGresult *notice) {
  (void)notice;
  ((faro_postgres *)context)->warned = true;
}

/* Waits until there is an answer to read, or nothing more to come. A server that does not answer in
 * time is given up: the connection is closed, and the caller does not know what has happened. */
static bool await(faro_postgres *p) {
  const double until = faro_clock() + p->patience;
  while (PQisBusy(p->connection)) {
    struct pollfd socket = {.fd = PQsocket(p->connection), .events = POLLIN};
    if (socket.fd < 0 || faro_clock() > until || (p->stopping && p->stopping())) return false;
    if (poll(&socket, 1, 200) > 0 && !PQconsumeInput(p->connection)) return false;
  }
  return true;
}

static void drop(faro_postgres *p) {
  PQfinish(p->connection);
  p->connection = NULL;
}

/* The last answer to what was sent; NULL: none came. */
static PGresult *receive(faro_postgres *p) {
  PGresult *last = NULL;
  for (;;) {
    if (!await(p)) {
      PQclear(last);
      drop(p);
      return NULL;
    }
    PGresult *next = PQgetResult(p->connection);
    if (!next) return last;
    const bool bad = last && PQresultStatus(last) == PGRES_FATAL_ERROR;
    PQclear(bad ? next : last);
    if (!bad) last = next;
  }
}

static faro_status check(faro_postgres *p, bool sent, PGresult **rows, faro_error *error) {
  PGresult *answer = sent ? receive(p) : NULL;
  if (!p->connection) return faro_fail(error, FARO_SYSTEM, "PostgreSQL does not answer");
  const ExecStatusType status = answer ? PQresultStatus(answer) : PGRES_FATAL_ERROR;
  const bool good = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
  const faro_status result = good ? FARO_OK : fail(p, answer, error);
  if (good && rows) *rows = answer;
  else PQclear(answer);
  return result;
}

faro_status faro_postgres_run(faro_postgres *p, const char *sql, faro_error *error) {
  p->collided = false;
  if (!p->connection) return faro_fail(error, FARO_SYSTEM, "PostgreSQL is not connected");
  return check(p, PQsendQuery(p->connection, sql), NULL, error);
}

/* Whether one of the server's settings has this value. */
static faro_status require(faro_postgres *p, const char *name, const char *value, const char *why,
                           faro_error *error) {
  PGresult *rows = NULL;
  faro_status status = faro_postgres_ask(p, &rows, error, "SELECT current_setting($1)", "t", name);
  if (status == FARO_OK && strcmp(PQgetvalue(rows, 0, 0), value) != 0)
    status = faro_fail(error, FARO_INVALID, "PostgreSQL's setting %s must be %s, not %s: %s", name, value,
                       PQgetvalue(rows, 0, 0), why);
  PQclear(rows);
  return status;
}

/* The server must notice soon that our machine is lost, because what the session has locked stays
 * locked until then. Over a Unix socket it ignores the settings of TCP. */
static const char SESSION[] =
    "SET synchronous_commit = on; SET client_min_messages = warning; SET lock_timeout = '20s';"
    "SET idle_in_transaction_session_timeout = '20s'; SET bytea_output = hex;"
    "SET default_transaction_isolation = 'read committed';"
    "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;"
    "SET tcp_user_timeout = 10000";

static faro_status connect_now(faro_postgres *p, faro_error *error) {
  /* What stands before dbname are defaults, which the URL may change. */
  static const char *const names[] = {"connect_timeout",
                                      "keepalives_idle",
                                      "tcp_user_timeout",
                                      "dbname",
                                      "target_session_attrs",
                                      "application_name",
                                      NULL};
  const char *const values[] = {"5", "5", "10000", p->url, "read-write", "faro", NULL};
  p->connection = PQconnectdbParams(names, values, 1);
  if (!p->connection) return faro_fail(error, FARO_MEMORY, "cannot allocate a connection");
  if (PQstatus(p->connection) != CONNECTION_OK) return fail(p, NULL, error);
  PQsetNoticeReceiver(p->connection, note, p);
  faro_status status = faro_postgres_run(p, SESSION, error);
  if (status == FARO_OK)
    status = require(p, "fsync", "on", "reports that were acknowledged must be on the disk", error);
  if (status == FARO_OK)
    status = require(p, "full_page_writes", "on", "a power failure must not damage the state", error);
  return status == FARO_OK ? faro_postgres_run(p, p->set_up, error) : status;
}

/* Reads what has come while the session was idle: that the server has ended it, most likely. */
static bool is_alive(faro_postgres *p) {
  if (!p->connection) return false;
  struct pollfd socket = {.fd = PQsocket(p->connection), .events = POLLIN};
  while (PQtransactionStatus(p->connection) == PQTRANS_IDLE && poll(&socket, 1, 0) > 0)
    if (!PQconsumeInput(p->connection)) return false;
  return PQstatus(p->connection) == CONNECTION_OK;
}

faro_status faro_postgres_ready(faro_postgres *p, bool *fresh, faro_error *error) {
  *fresh = false;
  if (is_alive(p)) return FARO_OK;
  drop(p);
  const faro_status status = connect_now(p, error);
  *fresh = status == FARO_OK;
  if (status != FARO_OK) drop(p);
  return status;
}

/* An @, /, : or % of a password may end up as another part of the URL, which messages of libpq
 * name: such a URL is refused, in our words. */
static bool is_misread(const PQconninfoOption *option) {
  static const char *const parts[] = {"host", "port", "dbname"};
  for (size_t i = 0; option->val && i < sizeof parts / sizeof *parts; i++)
    if (strcmp(option->keyword, parts[i]) == 0)
      return strchr(option->val, '@') || (i == 1 && strspn(option->val, "0123456789,") < strlen(option->val));
  return false;
}

static faro_status check_url(const char *url, faro_error *error) {
  PQconninfoOption *options = PQconninfoParse(url, NULL);
  bool read = options != NULL;
  for (const PQconninfoOption *o = options; read && o->keyword; o++) read = !is_misread(o);
  PQconninfoFree(options);
  return read
             ? FARO_OK
             : faro_fail(error, FARO_INVALID,
                         "the URL of the database cannot be read: in a password, %% is written %%25, @ %%40, "
                         "/ %%2F and : %%3A");
}

faro_status faro_postgres_open(faro_postgres **postgres, const char *url, const char *set_up,
                               bool (*stopping)(void), faro_error *error) {
  bool fresh = false;
  if (check_url(url, error) != FARO_OK) return FARO_INVALID;
  faro_postgres *p = calloc(1, sizeof *p);
  if (!p) return faro_fail(error, FARO_MEMORY, "cannot allocate a connection");
  p->url = strdup(url);
  p->set_up = strdup(set_up);
  p->stopping = stopping;
  p->patience = PATIENCE;
  const faro_status status = p->url && p->set_up
                                 ? faro_postgres_ready(p, &fresh, error)
                                 : faro_fail(error, FARO_MEMORY, "cannot allocate a connection");
  if (status == FARO_OK) *postgres = p;
  else faro_postgres_close(p);
  return status;
}

/* The server ends a session a moment after its connection. Who connects next, which may be this
 * process, must not find that its locks are still held. */
void faro_postgres_leave(faro_postgres *p) {
  p->patience = FAREWELL;
  faro_postgres_rollback(p);
  if (p->connection && PQstatus(p->connection) == CONNECTION_OK &&
      faro_postgres_run(p, "SELECT pg_advisory_unlock_all()", NULL) != FARO_OK)
    drop(p); /* then they are free when the server notices */
  p->patience = PATIENCE;
  drop(p);
}

void faro_postgres_close(faro_postgres *p) {
  if (!p) return;
  faro_postgres_leave(p);
  free(p->url);
  free(p->set_up);
  free(p);
}

/* Transactions. */

faro_status faro_postgres_begin(faro_postgres *p, faro_error *error) {
  return faro_postgres_run(p, "BEGIN; SET LOCAL synchronous_commit = on", error);
}

faro_status faro_postgres_commit(faro_postgres *p, faro_error *error) {
  PGresult *answer = NULL;
  p->warned = false;
  p->collided = false;
  if (!p->connection) return faro_fail(error, FARO_SYSTEM, "PostgreSQL is not connected");
  const faro_status status = check(p, PQsendQuery(p->connection, "COMMIT"), &answer, error);
  const bool committed = status == FARO_OK && strcmp(PQcmdStatus(answer), "COMMIT") == 0;
  PQclear(answer);
  if (status != FARO_OK || (committed && !p->warned)) return status;
  return faro_fail(error, FARO_SYSTEM,
                   committed ? "PostgreSQL did not wait for its replicas"
                             : "PostgreSQL has rolled back what was to be committed");
}

void faro_postgres_rollback(faro_postgres *p) {
  const bool collided = p->collided;
  if (p->connection && PQstatus(p->connection) == CONNECTION_OK &&
      PQtransactionStatus(p->connection) != PQTRANS_IDLE && faro_postgres_run(p, "ROLLBACK", NULL) != FARO_OK)
    drop(p);
  p->collided = collided;
}

bool faro_postgres_collided(const faro_postgres *p) { return p->collided; }

/* Parameters. */

typedef struct parameters {
  int count;
  Oid type[PARAMETERS];
  const char *value[PARAMETERS];
  int length[PARAMETERS], binary[PARAMETERS];
  unsigned char *made[PARAMETERS]; /* to be freed */
  bool failed;
} parameters;

static void add(parameters *all, Oid type, const void *value, size_t length) {
  const int i = all->count++;
  all->type[i] = type;
  all->value[i] = value;
  all->length[i] = (int)length;
  all->binary[i] = 1;
}

static unsigned char *make(parameters *all, size_t length) {
  unsigned char *bytes = malloc(length);
  if (bytes) all->made[all->count] = bytes;
  else all->failed = true;
  return bytes;
}

static void add_number(parameters *all, Oid type, uint64_t bits) {
  unsigned char *bytes = make(all, 8);
  if (bytes) put64(bytes, bits);
  add(all, type, bytes, 8);
}

static void add_real(parameters *all, double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  add_number(all, FLOAT8, bits);
}

/* An array with one dimension: its head, then length and bytes of each. `numbers` or `bytes`. */
static void add_array(parameters *all, const int64_t *numbers, const unsigned char *bytes, size_t each,
                      size_t count) {
  enum { HEAD = 20 };
  const size_t length = HEAD + count * (4 + each);
  unsigned char *out = make(all, length);
  if (out) {
    put32(out, count > 0);
    put32(out + 4, 0);
    put32(out + 8, numbers ? INT8 : BYTEA);
    put32(out + 12, (uint32_t)count);
    put32(out + 16, 1);
  }
  for (size_t i = 0; out && i < count; i++) {
    unsigned char *place = out + HEAD + i * (4 + each);
    put32(place, (uint32_t)each);
    if (numbers) put64(place + 4, (uint64_t)numbers[i]);
    else if (bytes) memcpy(place + 4, bytes + i * each, each);
  }
  add(all, numbers ? INT8_ARRAY : BYTEA_ARRAY, out, count > 0 ? length : 12);
}

static void collect(parameters *all, const char *format, va_list args) {
  for (; *format && all->count < PARAMETERS; format++) {
    if (*format == 'i') add_number(all, INT8, (uint64_t)va_arg(args, int64_t));
    else if (*format == 'r') add_real(all, va_arg(args, double));
    else if (*format == 't') {
      const char *text = va_arg(args, const char *);
      add(all, TEXT, text, strlen(text));
    } else if (*format == 'I') {
      const int64_t *numbers = va_arg(args, const int64_t *);
      add_array(all, numbers, NULL, 8, va_arg(args, size_t));
    } else if (*format == 'B') {
      const unsigned char *bytes = va_arg(args, const void *);
      const size_t each = va_arg(args, size_t);
      add_array(all, NULL, bytes, each, va_arg(args, size_t));
    } else {
      const void *bytes = va_arg(args, const void *);
      add(all, BYTEA, bytes, va_arg(args, size_t));
    }
  }
}

faro_status faro_postgres_ask_with(faro_postgres *p, PGresult **rows, faro_error *error, const char *sql,
                                   const char *format, va_list args) {
  parameters all = {0};
  p->collided = false;
  if (!p->connection) return faro_fail(error, FARO_SYSTEM, "PostgreSQL is not connected");
  collect(&all, format, args);
  const faro_status status =
      all.failed ? faro_fail(error, FARO_MEMORY, "cannot allocate the parameters of a statement")
                 : check(p,
                         PQsendQueryParams(p->connection, sql, all.count, all.type, all.value, all.length,
                                           all.binary, 1),
                         rows, error);
  for (int i = 0; i < PARAMETERS; i++) {
    if (all.made[i]) sodium_memzero(all.made[i], (size_t)all.length[i]);
    free(all.made[i]);
  }
  return status;
}

faro_status faro_postgres_ask(faro_postgres *p, PGresult **rows, faro_error *error, const char *sql,
                              const char *format, ...) {
  va_list args;
  va_start(args, format);
  const faro_status status = faro_postgres_ask_with(p, rows, error, sql, format, args);
  va_end(args);
  return status;
}

faro_status faro_postgres_do(faro_postgres *p, faro_error *error, const char *sql, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const faro_status status = faro_postgres_ask_with(p, NULL, error, sql, format, args);
  va_end(args);
  return status;
}

/* Sessions. */

/* Such a pooler likes to give out the connection that was used last: so another session of ours
 * takes that one first, and keeps it for the moment. */
faro_status faro_postgres_check_session(faro_postgres *p, faro_error *error) {
  faro_postgres *other = NULL;
  PGresult *rows = NULL;
  int64_t key = 0;
  randombytes_buf(&key, sizeof key);
  faro_status status = faro_postgres_do(p, error, "SELECT pg_advisory_lock($1)", "i", key);
  if (status == FARO_OK) status = faro_postgres_open(&other, p->url, "BEGIN", p->stopping, error);
  if (status == FARO_OK)
    status = faro_postgres_ask(p, &rows, error,
                               "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = "
                               "pg_backend_pid() AND (classid::bigint << 32 | objid::bigint) = $1",
                               "i", key);
  const bool held = status == FARO_OK && faro_postgres_number(rows, 0, 0) == 1;
  PQclear(rows);
  faro_postgres_close(other);
  if (status != FARO_OK) return status;
  if (held) return faro_postgres_do(p, error, "SELECT pg_advisory_unlock($1)", "i", key);
  return faro_fail(error, FARO_INVALID,
                   "a session of the database does not keep what it locks: a pooler gives its connections to "
                   "others between transactions. Connect to the server itself, or let the pooler keep one "
                   "connection for each session (PgBouncer: pool_mode = session)");
}
