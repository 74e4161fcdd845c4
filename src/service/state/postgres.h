/* postgres: a connection to a PostgreSQL server as the roles use it: an acknowledged transaction is
 * on the server's disk, and on that of its synchronous replicas.
 *
 * The connection is made again when it was lost. A server that does not flush its log at commits,
 * or that only reads, is refused. Use a connection from one thread at a time. */
#ifndef FARO_SERVICE_STATE_POSTGRES_H
#define FARO_SERVICE_STATE_POSTGRES_H

#include <faro/base.h>
#include <libpq-fe.h>
#include <stdarg.h>

typedef struct faro_postgres faro_postgres;

/* `url` is postgresql://...; `set_up` is SQL that each new connection runs first. Connects. Where
 * `stopping` is true, answers are no longer waited for; NULL: they always are, for those who write.
 * FARO_INVALID: the URL cannot be read. A message never has a password, but one that begins with
 * "PostgreSQL:" may have hosts and users: it is for the log, not for everybody. */
faro_status faro_postgres_open(faro_postgres **postgres, const char *url, const char *set_up,
                               bool (*stopping)(void), faro_error *error) FARO_WARN_UNUSED;
void faro_postgres_close(faro_postgres *postgres); /* NULL is allowed */

/* SQL for `set_up`: the server ends a session that is silent for 15 seconds, unless the server or
 * the URL says something else. For those who must not keep a lock while they hang. */
#define FARO_POSTGRES_SILENCE                                                                                \
  "SELECT set_config('idle_session_timeout', '15s', false) WHERE current_setting('idle_session_timeout') = " \
  "'0';"

/* Whether what a session locks stays locked between its transactions. FARO_INVALID: it does not,
 * because a pooler gives the connection to others. Opens a second connection for the moment. */
faro_status faro_postgres_check_session(faro_postgres *postgres, faro_error *error) FARO_WARN_UNUSED;
/* Ends the connection, and frees at once what its session had locked; faro_postgres_ready makes
 * another one. */
void faro_postgres_leave(faro_postgres *postgres);
/* Connects again if the connection was lost, as far as that can be seen without asking the server;
 * *fresh: it was, and what the session held is gone. */
faro_status faro_postgres_ready(faro_postgres *postgres, bool *fresh, faro_error *error) FARO_WARN_UNUSED;

/* Begins a transaction whose commit waits for the disks, whatever the session was told since. */
faro_status faro_postgres_begin(faro_postgres *postgres, faro_error *error) FARO_WARN_UNUSED;
/* Runs one or more statements without parameters. */
faro_status faro_postgres_run(faro_postgres *postgres, const char *sql, faro_error *error) FARO_WARN_UNUSED;
/* Fails also if a statement of the transaction had failed, so that the server rolls it back, and if
 * the server could not wait for its replicas: then whether the transaction counts is not known, as
 * when the connection is lost in this moment. */
faro_status faro_postgres_commit(faro_postgres *postgres, faro_error *error) FARO_WARN_UNUSED;
void faro_postgres_rollback(faro_postgres *postgres); /* if a transaction is open */
/* Whether the last failure may go away if the transaction is run again at once. */
bool faro_postgres_collided(const faro_postgres *postgres);

/* Runs a statement with parameters $1, $2 ... Formats: i int64_t, r double, t const char *, b const
 * void * and size_t (NULL if that is); arrays: I const int64_t * and size_t count, B const void *,
 * size_t bytes of each, size_t count. Give *rows to PQclear if it is not NULL. */
faro_status faro_postgres_ask(faro_postgres *postgres, PGresult **rows, faro_error *error, const char *sql,
                              const char *format, ...) FARO_WARN_UNUSED;
faro_status faro_postgres_ask_with(faro_postgres *postgres, PGresult **rows, faro_error *error,
                                   const char *sql, const char *format, va_list args) FARO_WARN_UNUSED;
/* The same for a statement without rows. */
faro_status faro_postgres_do(faro_postgres *postgres, faro_error *error, const char *sql, const char *format,
                             ...) FARO_WARN_UNUSED;

/* A number, a real number (NULL: NAN), and bytes, in an answer. */
int64_t faro_postgres_number(const PGresult *rows, int row, int column);
double faro_postgres_real(const PGresult *rows, int row, int column);
const unsigned char *faro_postgres_bytes(const PGresult *rows, int row, int column, size_t *length);

#endif
