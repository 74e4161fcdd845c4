/* database: SQLite as the roles use it: durable at commit, one writer, and deleted data leaves no
 * traces.
 *
 * It uses WAL, synchronous=FULL (a commit is on the disk when it returns), secure_delete (deleted
 * rows are overwritten) and two locks: on FILE.lock, and on the file itself, whatever its name (a
 * second process is refused, also through a link). Use a database from one thread at a time.
 *
 * A file that is deleted or replaced while it is open can still be written to, but no later start
 * would find what was written. So nothing is written to it any more. */
#ifndef FARO_SERVICE_STATE_DATABASE_H
#define FARO_SERVICE_STATE_DATABASE_H

#include <faro/base.h>
#include <sqlite3.h>
#include <stdarg.h>

typedef struct faro_database faro_database;

/* A step from one version of a schema to the next: SQL, then a function for what SQL cannot say.
 * Either may be NULL. Both run in the transaction of the whole migration. */
typedef struct faro_database_migration {
  const char *sql;
  faro_status (*run)(faro_database *database, faro_error *error);
} faro_database_migration;

/* Whose state it is. The file records this as application_id and user_version.
 *
 * A schema only grows: a change is one more step at the end. A new file gets the first schema and
 * all steps. A file of an earlier version gets the steps that it lacks when it is opened for
 * writing, in one transaction: afterwards it has the newest version, or it is as it was. A reader
 * that finds an earlier version reads a migrated copy in memory. */
typedef struct {
  const char *of; /* whose database, for messages: "an analyzer" */
  int id;
  int first;          /* the first version that can be read */
  const char *schema; /* of that version */
  const faro_database_migration *steps;
  int count; /* of the steps; the newest version is first + count */
} faro_database_kind;

typedef enum faro_access {
  FARO_READ_WRITE, /* locks the file against other processes; creates it if it does not exist, mode 600 */
  FARO_READ_ONLY   /* also while another process has it open */
} faro_access;

/* A file that others may read is refused. A file of another kind, or of a version that is newer
 * than ours or too old, is refused by name and stays unchanged, except that SQLite and the lock may
 * leave files next to it. Opening for writing empties a log that a killed process left (see
 * faro_database_purge). */
faro_status faro_database_open(faro_database **database, const char *path, const faro_database_kind *kind,
                               faro_access mode, faro_error *error) FARO_WARN_UNUSED;
/* Whether the file, if it exists, can be of this kind, by its first bytes, and is private. So a
 * foreign file is refused before anything is created next to it. Do not call it on a file that
 * this process has open: SQLite would lose its locks. */
faro_status faro_database_recognize(const char *path, const faro_database_kind *kind,
                                    faro_error *error) FARO_WARN_UNUSED;
/* Whether no log with contents lies at a path where a database is to be put: SQLite would write
 * them into the new file. */
faro_status faro_database_alone(const char *path, faro_error *error) FARO_WARN_UNUSED;
void faro_database_close(faro_database *database); /* finalizes prepared statements too */

/* Copies the database as it is now to a new file of mode 600, also while another process writes to
 * it, and runs `sql` on the copy, unless that is NULL. The copy is on the disk on return. */
faro_status faro_database_copy(faro_database *database, const char *path, const char *sql,
                               faro_error *error) FARO_WARN_UNUSED;
/* The file as it would be if the open transaction were committed now, without a log. Free it with
 * sqlite3_free, which wipes it. */
faro_status faro_database_image(faro_database *database, unsigned char **bytes, size_t *length,
                                faro_error *error) FARO_WARN_UNUSED;
/* Reads everything: FARO_INVALID if the file is damaged. */
faro_status faro_database_sound(faro_database *database, faro_error *error) FARO_WARN_UNUSED;
/* Marks the database as moved to another place: nobody can open it again. */
faro_status faro_database_retire(faro_database *database, faro_error *error) FARO_WARN_UNUSED;

/* Runs SQL without results: BEGIN IMMEDIATE, COMMIT and so on. A full disk and the like are
 * FARO_SYSTEM. */
faro_status faro_database_run(faro_database *database, const char *sql, faro_error *error) FARO_WARN_UNUSED;
/* BEGIN IMMEDIATE, if the file is still at its path. */
faro_status faro_database_begin(faro_database *database, faro_error *error) FARO_WARN_UNUSED;
void faro_database_rollback(faro_database *database); /* if a transaction is open */
/* Whether the file is still at its path, and not known to be damaged. May be called from any
 * thread. */
faro_status faro_database_present(const faro_database *database, faro_error *error) FARO_WARN_UNUSED;
/* Reads the file anew, if it is small, to notice damage (faro_database_present) before the next
 * start does. */
void faro_database_verify(faro_database *database);
faro_status faro_database_prepare(faro_database *database, const char *sql, sqlite3_stmt **statement,
                                  faro_error *error) FARO_WARN_UNUSED;

/* Binds all parameters and runs a prepared statement to its first row (*row is true) or its end.
 * Formats: i int64_t, r double, t const char *, b const void * and size_t (not copied), n NULL.
 * Call faro_database_reset after reading the row, before the statement is used again. */
faro_status faro_database_step(faro_database *database, sqlite3_stmt *statement, bool *row, faro_error *error,
                               const char *format, ...) FARO_WARN_UNUSED;
faro_status faro_database_step_with(faro_database *database, sqlite3_stmt *statement, bool *row,
                                    faro_error *error, const char *format, va_list args) FARO_WARN_UNUSED;
/* The next row of the same run. */
faro_status faro_database_next(faro_database *database, sqlite3_stmt *statement, bool *row,
                               faro_error *error) FARO_WARN_UNUSED;
void faro_database_reset(sqlite3_stmt *statement);
/* Step and reset, for statements without rows. */
faro_status faro_database_do(faro_database *database, sqlite3_stmt *statement, faro_error *error,
                             const char *format, ...) FARO_WARN_UNUSED;

/* Call it at the end of a transaction that deletes secrets. SQLite keeps what it wrote last in a
 * scratch page, so this writes a page of zeros (to the table `zeros`, which every database has). */
faro_status faro_database_overwrite_scratch(faro_database *database, faro_error *error) FARO_WARN_UNUSED;

/* Writes `bytes` zero bytes to the disk and removes them again: whether there is room, after a
 * write has failed. */
faro_status faro_database_probe(faro_database *database, size_t bytes, faro_error *error) FARO_WARN_UNUSED;

/* Empties the write-ahead log, so that nothing deleted is left in it. That fails while another
 * process reads the file; then the database needs a purge until faro_database_retry_purge
 * succeeds. The latter does nothing if no purge is needed, or if the last one failed less than 5
 * seconds ago. */
faro_status faro_database_purge(faro_database *database, faro_error *error);
faro_status faro_database_retry_purge(faro_database *database, faro_error *error) FARO_WARN_UNUSED;
bool faro_database_needs_purge(const faro_database *database);

#endif
