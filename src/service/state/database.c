/* database: see the header. */
#include "service/state/database.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "service/role/log.h"

enum { RETIRED = 1000000 }; /* instead of a version: the state was moved away */
enum { PATH_SIZE = 4096, HEADER = 72 /* bytes of SQLite's header that we need */ };
enum { VERIFY_MAX = 16 << 20 }; /* bytes of a file that can be checked in passing */

struct faro_database {
  sqlite3 *handle;
  int lock;            /* on FILE.lock */
  int file;            /* the file itself, locked; negative: opened for reading only */
  bool needs_purge;    /* the log may hold deleted data */
  double purge_at;     /* not tried again before */
  atomic_bool damaged; /* SQLite has found what it cannot have written */
  char path[PATH_SIZE];
};

/* SQLite frees copies of what it writes, so what it frees is wiped. Its own small pools are turned
 * off. */

static sqlite3_mem_methods plain;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void wiping_free(void *memory) {
  if (memory) sodium_memzero(memory, (size_t)plain.xSize(memory));
  plain.xFree(memory);
}

static void *wiping_realloc(void *memory, int size) {
  void *larger = plain.xMalloc(size);
  if (!larger) return NULL;
  const int before = plain.xSize(memory);
  memcpy(larger, memory, (size_t)(before < size ? before : size));
  wiping_free(memory);
  return larger;
}

static void set_up(void) {
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain);
  sqlite3_mem_methods wiping = plain;
  wiping.xFree = wiping_free;
  wiping.xRealloc = wiping_realloc;
  sqlite3_config(SQLITE_CONFIG_MALLOC, &wiping);
  sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
}

static bool is_damage(int code) { return code == SQLITE_CORRUPT || code == SQLITE_NOTADB; }

static faro_status fail(faro_database *d, faro_error *error) {
  const bool other = sqlite3_errcode(d->handle) == SQLITE_NOTADB;
  if (is_damage(sqlite3_errcode(d->handle))) atomic_store(&d->damaged, true);
  return faro_fail(error, other ? FARO_INVALID : FARO_SYSTEM, "%s: %s", faro_path_end(d->path),
                   sqlite3_errmsg(d->handle));
}

/* A number in SQLite's header: 4 bytes, big-endian. */
static uint32_t number_at(const unsigned char *header, size_t at) {
  return (uint32_t)header[at] << 24 | (uint32_t)header[at + 1] << 16 | (uint32_t)header[at + 2] << 8 |
         header[at + 3];
}

/* Whether a file is not ours, by its first bytes. A file without an id may be ours and unfinished:
 * empty, or with the rest in its log. */
static bool is_foreign(const char *path, const unsigned char *header, size_t length, int id) {
  enum { PAGES = 28, ID = 68 };
  static const char magic[16] = "SQLite format 3";
  char log[PATH_SIZE + 8];
  if (length == 0) return false;
  if (length < HEADER || memcmp(header, magic, sizeof magic) != 0) return true;
  if (number_at(header, ID) != 0) return number_at(header, ID) != (uint32_t)id;
  snprintf(log, sizeof log, "%s-wal", path);
  return number_at(header, PAGES) > 1 && access(log, F_OK) != 0;
}

/* Refuses folders, pipes and so on. */
static faro_status check_plain(const char *path, faro_error *error) {
  struct stat info;
  if (stat(path, &info) != 0 || S_ISREG(info.st_mode)) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s must be a plain file, not %s", faro_path_end(path),
                   S_ISDIR(info.st_mode) ? "a folder" : "a device or pipe");
}

/* A state holds reports and token hashes, so it is as secret as a key. */
static faro_status check_private(const char *path, faro_error *error) {
  struct stat info;
  if (stat(path, &info) != 0 || (info.st_mode & 077) == 0) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s must not be readable by others: chmod 600 (mode is %03o)",
                   faro_path_end(path), (unsigned)(info.st_mode & 0777));
}

faro_status faro_database_recognize(const char *path, const faro_database_kind *kind, faro_error *error) {
  unsigned char header[HEADER];
  const faro_status status = check_plain(path, error);
  if (status != FARO_OK || (access(path, F_OK) != 0 && errno == ENOENT)) return status;
  FILE *file = fopen(path, "rbe");
  const size_t length = file ? fread(header, 1, sizeof header, file) : 0;
  const int reason = !file || ferror(file) ? errno : 0;
  if (file) fclose(file);
  if (reason)
    return faro_fail(error, FARO_SYSTEM, "%s: cannot be read: %s", faro_path_end(path), strerror(reason));
  if (!is_foreign(path, header, length, kind->id)) return check_private(path, error);
  return faro_fail(error, FARO_INVALID, "%s is not a database of %s", faro_path_end(path), kind->of);
}

static faro_status take_lock(faro_database *d, faro_error *error) {
  char path[sizeof d->path + 8];
  snprintf(path, sizeof path, "%s.lock", d->path);
  d->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (d->lock < 0)
    return faro_fail(error, FARO_SYSTEM, "%s: cannot be opened: %s", faro_path_end(path), strerror(errno));
  if (flock(d->lock, LOCK_EX | LOCK_NB) == 0) return FARO_OK;
  return faro_fail(error, FARO_SYSTEM, "%s: another process has this state open", faro_path_end(d->path));
}

/* Locks the file itself: under another name it has another FILE.lock. flock does not touch SQLite's
 * own locks, but closing the file would end them, so it is closed after SQLite's handle. */
static faro_status take_file(faro_database *d, faro_error *error) {
  const char *name = faro_path_end(d->path);
  d->file = open(d->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (d->file < 0) return faro_fail(error, FARO_SYSTEM, "%s: cannot be opened: %s", name, strerror(errno));
  if (flock(d->file, LOCK_EX | LOCK_NB) == 0) return FARO_OK;
  return faro_fail(error, FARO_SYSTEM, "%s: another process has this state open, perhaps under another name",
                   name);
}

faro_status faro_database_present(const faro_database *d, faro_error *error) {
  struct stat ours, there;
  if (atomic_load(&d->damaged))
    return faro_fail(error, FARO_SYSTEM,
                     "%s is damaged; nothing is written to it any more (stop this role, check the disk, and "
                     "see \"Back up and restore\" in docs/service.md)",
                     faro_path_end(d->path));
  if (d->file < 0 || fstat(d->file, &ours) != 0) return FARO_OK;
  const bool found = stat(d->path, &there) == 0;
  if (found && ours.st_ino == there.st_ino && ours.st_dev == there.st_dev) return FARO_OK;
  return faro_fail(
      error, FARO_SYSTEM,
      "%s was %s while it was in use; nothing is written to it any more (put the same file back, "
      "or stop this role and see \"Back up and restore\" in docs/service.md)",
      faro_path_end(d->path), found ? "replaced" : "moved or deleted");
}

/* Through a connection of its own: the role's has pages in memory, and would not look. */
void faro_database_verify(faro_database *d) {
  struct stat about;
  sqlite3 *fresh = NULL;
  sqlite3_stmt *statement = NULL;
  if (fstat(d->file, &about) != 0 || about.st_size > VERIFY_MAX || atomic_load(&d->damaged)) return;
  if (faro_database_present(d, NULL) != FARO_OK) return;
  int result = sqlite3_open_v2(d->path, &fresh, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
  if (result == SQLITE_OK) result = sqlite3_prepare_v2(fresh, "PRAGMA quick_check(1)", -1, &statement, NULL);
  if (result == SQLITE_OK) result = sqlite3_step(statement);
  const bool bad = is_damage(result) || (result == SQLITE_ROW &&
                                         strcmp((const char *)sqlite3_column_text(statement, 0), "ok") != 0);
  if (bad) atomic_store(&d->damaged, true);
  sqlite3_finalize(statement);
  sqlite3_close(fresh);
}

/* Asks for one number. */
static faro_status ask(faro_database *d, const char *sql, int *value, faro_error *error) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(d->handle, sql, -1, &statement, NULL) != SQLITE_OK) return fail(d, error);
  const bool row = sqlite3_step(statement) == SQLITE_ROW;
  if (row) *value = sqlite3_column_int(statement, 0);
  sqlite3_finalize(statement);
  return row ? FARO_OK : fail(d, error);
}

static int newest(const faro_database_kind *kind) { return kind->first + kind->count; }

/* Whether the file is of this kind and of a version that can be read; *version: which. */
static faro_status check_kind(faro_database *d, const faro_database_kind *kind, int *version,
                              faro_error *error) {
  int id = 0;
  faro_status status = ask(d, "PRAGMA application_id", &id, error);
  if (status == FARO_OK) status = ask(d, "PRAGMA user_version", version, error);
  if (status != FARO_OK) return status;
  const char *name = faro_path_end(d->path);
  if (id != kind->id) return faro_fail(error, FARO_INVALID, "%s is not a database of %s", name, kind->of);
  if (*version == RETIRED)
    return faro_fail(
        error, FARO_INVALID,
        "%s was moved to another place by `faro backup --final` or `faro restore`; it must not be "
        "used any more, because the state goes on there",
        name);
  if (*version < kind->first)
    return faro_fail(error, FARO_INVALID,
                     "%s: the state has version %d, which is too old; this faro reads versions %d to %d",
                     name, *version, kind->first, newest(kind));
  if (*version > newest(kind))
    return faro_fail(error, FARO_INVALID,
                     "%s: the state has version %d, written by a newer faro; this one reads up to version %d",
                     name, *version, newest(kind));
  return FARO_OK;
}

static faro_status run_step(faro_database *d, const faro_database_migration *step, faro_error *error) {
  const faro_status status = step->sql ? faro_database_run(d, step->sql, error) : FARO_OK;
  return status == FARO_OK && step->run ? step->run(d, error) : status;
}

/* Brings the schema from `version` to the newest one, in one transaction. */
static faro_status migrate(faro_database *d, const faro_database_kind *kind, int version, faro_error *error) {
  const bool fresh = version < kind->first;
  char numbers[96];
  faro_error inner = {0};
  snprintf(numbers, sizeof numbers, "PRAGMA application_id = %d; PRAGMA user_version = %d", kind->id,
           newest(kind));
  faro_status status = faro_database_run(d, "BEGIN IMMEDIATE", error);
  if (status == FARO_OK && fresh) status = faro_database_run(d, kind->schema, error);
  for (int i = fresh ? 0 : version - kind->first; status == FARO_OK && i < kind->count; i++) {
    status = run_step(d, &kind->steps[i], &inner);
    if (status != FARO_OK)
      (void)faro_fail(error, status, "%s: the state cannot be brought from version %d to %d: %.200s",
                      faro_path_end(d->path), kind->first + i, kind->first + i + 1, inner.message);
  }
  if (status == FARO_OK) status = faro_database_run(d, numbers, error);
  if (status == FARO_OK) status = faro_database_run(d, "COMMIT", error);
  if (status != FARO_OK) faro_database_rollback(d);
  return status;
}

/* On some file systems SQLite keeps another journal, and says so only in its answer. */
static faro_status set_journal(faro_database *d, faro_error *error) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(d->handle, "PRAGMA journal_mode = WAL", -1, &statement, NULL) != SQLITE_OK)
    return fail(d, error);
  const bool row = sqlite3_step(statement) == SQLITE_ROW;
  const bool wal = row && strcmp((const char *)sqlite3_column_text(statement, 0), "wal") == 0;
  sqlite3_finalize(statement);
  if (wal) return FARO_OK;
  if (!row) return fail(d, error);
  return faro_fail(error, FARO_SYSTEM, "%s: this file system does not support a write-ahead log",
                   faro_path_end(d->path));
}

static faro_status open_handle(faro_database *d, faro_error *error) {
  pthread_once(&once, set_up);
  const mode_t before = umask(0077);
  const int result = sqlite3_open_v2(d->path, &d->handle,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
  umask(before);
  if (result != SQLITE_OK) return fail(d, error);
  sqlite3_busy_timeout(d->handle, 5000);
  sqlite3_db_config(d->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
  return faro_database_run(d,
                           "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA foreign_keys = ON;"
                           "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF",
                           error);
}

/* Nothing is written to the file until it is known to be ours; until then closing it does not touch
 * its log either (open_handle). */
static faro_status make_ours(faro_database *d, const faro_database_kind *kind, faro_error *error) {
  int tables = 0;
  int version = kind->first - 1;
  faro_status status = ask(d, "SELECT count(*) FROM sqlite_master", &tables, error);
  if (status == FARO_OK && tables > 0) status = check_kind(d, kind, &version, error);
  if (status != FARO_OK) return status;
  sqlite3_db_config(d->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
  status = set_journal(d, error);
  const bool due = version < newest(kind);
  if (status == FARO_OK && due) status = migrate(d, kind, version, error);
  if (status == FARO_OK && due && tables > 0)
    faro_log(FARO_LOG_INFO, "state-migrated", "ss si si", "file", faro_path_end(d->path), "from", version,
             "to", newest(kind));
  if (status == FARO_OK)
    status =
        faro_database_run(d, "CREATE TABLE IF NOT EXISTS zeros(id INTEGER PRIMARY KEY, bytes BLOB)", error);
  return status;
}

static faro_status begin(faro_database **database, const char *path, faro_error *error) {
  if (strlen(path) >= sizeof(*database)->path)
    return faro_fail(error, FARO_INVALID, "the path %s is too long", faro_path_end(path));
  faro_database *d = calloc(1, sizeof *d);
  if (!d) return faro_fail(error, FARO_MEMORY, "cannot allocate a database");
  snprintf(d->path, sizeof d->path, "%s", path);
  d->lock = d->file = -1;
  *database = d;
  return FARO_OK;
}

static faro_status open_writer(faro_database *d, const faro_database_kind *kind, faro_error *error) {
  faro_status status =
      faro_database_recognize(d->path, kind, error); /* first: a foreign file gets no lock file */
  if (status == FARO_OK) status = take_lock(d, error);
  if (status == FARO_OK) status = take_file(d, error);
  if (status == FARO_OK) status = open_handle(d, error);
  if (status == FARO_OK) status = make_ours(d, kind, error);
  if (status == FARO_OK) (void)faro_database_purge(d, NULL); /* a killed process may have left a log */
  return status;
}

/* Replaces the handle by one to a copy in memory. The file must not change. */
static faro_status copy_to_memory(faro_database *d, faro_error *error) {
  sqlite3 *copy = NULL;
  bool done = false;
  if (sqlite3_open_v2(":memory:", &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK) {
    sqlite3_backup *backup = sqlite3_backup_init(copy, "main", d->handle, "main");
    done = backup && sqlite3_backup_step(backup, -1) == SQLITE_DONE;
    sqlite3_backup_finish(backup);
  }
  if (done) {
    sqlite3_close(d->handle);
    d->handle = copy;
    return FARO_OK;
  }
  const faro_status status = faro_fail(error, FARO_SYSTEM, "%s: cannot be copied into memory: %s",
                                       faro_path_end(d->path), sqlite3_errmsg(copy));
  sqlite3_close(copy);
  return status;
}

static faro_status open_reader(faro_database *d, const faro_database_kind *kind, faro_error *error) {
  int version = 0;
  faro_status status = check_plain(d->path, error);
  if (status != FARO_OK) return status;
  pthread_once(&once, set_up);
  if (sqlite3_open_v2(d->path, &d->handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
    return faro_fail(error, FARO_INVALID, "%s: %s", faro_path_end(d->path), sqlite3_errmsg(d->handle));
  sqlite3_busy_timeout(d->handle, 5000);
  status = check_kind(d, kind, &version, error);
  if (status != FARO_OK || version == newest(kind)) return status;
  status = copy_to_memory(d, error);
  return status == FARO_OK ? migrate(d, kind, version, error) : status;
}

faro_status faro_database_open(faro_database **database, const char *path, const faro_database_kind *kind,
                               faro_access mode, faro_error *error) {
  faro_database *d = NULL;
  faro_status status = begin(&d, path, error);
  if (!d) return status;
  status = mode == FARO_READ_ONLY ? open_reader(d, kind, error) : open_writer(d, kind, error);
  if (status == FARO_OK) *database = d;
  else faro_database_close(d);
  return status;
}

static faro_status copy_failed(const char *path, sqlite3 *copy, faro_error *error) {
  const faro_status status = faro_fail(error, FARO_SYSTEM, "%s: cannot be written: %s", faro_path_end(path),
                                       copy ? sqlite3_errmsg(copy) : strerror(errno));
  sqlite3_close(copy);
  return status;
}

/* Without a log, so that the copy is one file. */
static faro_status fill_copy(faro_database *d, const char *path, const char *sql, faro_error *error) {
  sqlite3 *copy = NULL;
  if (sqlite3_open_v2(path, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
    return copy_failed(path, copy, error);
  sqlite3_backup *backup = sqlite3_backup_init(copy, "main", d->handle, "main");
  const bool done = backup && sqlite3_backup_step(backup, -1) == SQLITE_DONE;
  if (sqlite3_backup_finish(backup) != SQLITE_OK || !done) return copy_failed(path, copy, error);
  if (sqlite3_exec(copy, "PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE", NULL, NULL, NULL) !=
          SQLITE_OK ||
      (sql && sqlite3_exec(copy, sql, NULL, NULL, NULL) != SQLITE_OK))
    return copy_failed(path, copy, error);
  sqlite3_close(copy);
  return FARO_OK;
}

faro_status faro_database_copy(faro_database *database, const char *path, const char *sql,
                               faro_error *error) {
  const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return copy_failed(path, NULL, error);
  faro_status status = fill_copy(database, path, sql, error);
  if (status == FARO_OK && (fsync(file) != 0 || !faro_flush_folder(path)))
    status = copy_failed(path, NULL, error);
  close(file);
  if (status != FARO_OK) (void)unlink(path);
  return status;
}

/* SQLite reads the pages through its cache, so those of the open transaction are among them. Bytes
 * 18 and 19 say that there is a log; the image has none. */
faro_status faro_database_image(faro_database *database, unsigned char **bytes, size_t *length,
                                faro_error *error) {
  sqlite3_int64 size = 0;
  *bytes = sqlite3_serialize(database->handle, "main", &size, 0);
  if (!*bytes || size < HEADER) {
    sqlite3_free(*bytes);
    *bytes = NULL;
    return faro_fail(error, FARO_MEMORY, "cannot allocate a copy of %s", faro_path_end(database->path));
  }
  (*bytes)[18] = (*bytes)[19] = 1;
  *length = (size_t)size;
  return FARO_OK;
}

faro_status faro_database_sound(faro_database *database, faro_error *error) {
  sqlite3_stmt *check = NULL;
  bool row = false;
  faro_status status = faro_database_prepare(database, "PRAGMA quick_check(1)", &check, error);
  if (status == FARO_OK) status = faro_database_next(database, check, &row, error);
  if (status == FARO_OK && !(row && strcmp((const char *)sqlite3_column_text(check, 0), "ok") == 0))
    status = faro_fail(error, FARO_INVALID, "%s is damaged", faro_path_end(database->path));
  sqlite3_finalize(check);
  return status;
}

faro_status faro_database_retire(faro_database *database, faro_error *error) {
  char sql[48];
  snprintf(sql, sizeof sql, "PRAGMA user_version = %d", RETIRED);
  const faro_status status = faro_database_run(database, sql, error);
  return status == FARO_OK ? faro_database_purge(database, error) : status;
}

faro_status faro_database_alone(const char *path, faro_error *error) {
  static const char *const ends[] = {"-wal", "-journal"};
  char log[PATH_SIZE + 16];
  struct stat info;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    snprintf(log, sizeof log, "%s%s", path, ends[i]);
    if (stat(log, &info) == 0 && info.st_size > 0) /* SQLite may leave an empty one */
      return faro_fail(error, FARO_INVALID,
                       "%s exists: it belongs to another database that was at this place, and would change "
                       "the one that comes here; move it away first, together with that database",
                       faro_path_end(log));
  }
  return FARO_OK;
}

void faro_database_close(faro_database *database) {
  if (!database) return;
  sqlite3_stmt *statement = NULL;
  while (database->handle && (statement = sqlite3_next_stmt(database->handle, NULL)))
    sqlite3_finalize(statement);
  sqlite3_close(database->handle);
  if (database->file >= 0) close(database->file);
  if (database->lock >= 0)
    close(database->lock); /* the lock file stays: if it were removed, two could hold the lock */
  free(database);
}

faro_status faro_database_run(faro_database *database, const char *sql, faro_error *error) {
  return sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? FARO_OK : fail(database, error);
}

faro_status faro_database_begin(faro_database *database, faro_error *error) {
  const faro_status status = faro_database_present(database, error);
  return status == FARO_OK ? faro_database_run(database, "BEGIN IMMEDIATE", error) : status;
}

void faro_database_rollback(faro_database *database) {
  if (!sqlite3_get_autocommit(database->handle)) sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
}

faro_status faro_database_prepare(faro_database *database, const char *sql, sqlite3_stmt **statement,
                                  faro_error *error) {
  if (sqlite3_prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) == SQLITE_OK)
    return FARO_OK;
  return fail(database, error);
}

static int bind_all(sqlite3_stmt *statement, const char *format, va_list args) {
  int result = SQLITE_OK;
  for (int i = 1; *format && result == SQLITE_OK; i++, format++) {
    if (*format == 'i') result = sqlite3_bind_int64(statement, i, va_arg(args, int64_t));
    else if (*format == 'r') result = sqlite3_bind_double(statement, i, va_arg(args, double));
    else if (*format == 't')
      result = sqlite3_bind_text(statement, i, va_arg(args, const char *), -1, SQLITE_STATIC);
    else if (*format == 'n') result = sqlite3_bind_null(statement, i);
    else {
      const void *bytes = va_arg(args, const void *);
      result = sqlite3_bind_blob64(statement, i, bytes, va_arg(args, size_t), SQLITE_STATIC);
    }
  }
  return result;
}

faro_status faro_database_next(faro_database *database, sqlite3_stmt *statement, bool *row,
                               faro_error *error) {
  const int result = sqlite3_step(statement);
  if (result != SQLITE_ROW && result != SQLITE_DONE) {
    const faro_status status = fail(database, error);
    faro_database_reset(statement);
    return status;
  }
  *row = result == SQLITE_ROW;
  return FARO_OK;
}

void faro_database_reset(sqlite3_stmt *statement) {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
}

faro_status faro_database_step_with(faro_database *database, sqlite3_stmt *statement, bool *row,
                                    faro_error *error, const char *format, va_list args) {
  if (bind_all(statement, format, args) != SQLITE_OK) return fail(database, error);
  return faro_database_next(database, statement, row, error);
}

faro_status faro_database_step(faro_database *database, sqlite3_stmt *statement, bool *row, faro_error *error,
                               const char *format, ...) {
  va_list args;
  va_start(args, format);
  const faro_status status = faro_database_step_with(database, statement, row, error, format, args);
  va_end(args);
  return status;
}

faro_status faro_database_do(faro_database *database, sqlite3_stmt *statement, faro_error *error,
                             const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int result = bind_all(statement, format, args);
  va_end(args);
  bool row = false;
  const faro_status status =
      result == SQLITE_OK ? faro_database_next(database, statement, &row, error) : fail(database, error);
  faro_database_reset(statement);
  return status;
}

faro_status faro_database_overwrite_scratch(faro_database *database, faro_error *error) {
  return faro_database_run(database, "INSERT OR REPLACE INTO zeros VALUES(0, zeroblob(4057))", error);
}

/* Two commits: SQLite would not write a row that its own transaction removes. */
faro_status faro_database_probe(faro_database *database, size_t bytes, faro_error *error) {
  char put[80];
  snprintf(put, sizeof put, "INSERT OR REPLACE INTO zeros VALUES(1, zeroblob(%zu))", bytes);
  faro_status status = faro_database_present(database, error);
  if (status == FARO_OK) status = faro_database_run(database, put, error);
  return status == FARO_OK ? faro_database_run(database, "DELETE FROM zeros WHERE id = 1", error) : status;
}

static faro_status empty_log(faro_database *d, faro_error *error) {
  int busy = 0;
  const faro_status status = ask(d, "PRAGMA wal_checkpoint(TRUNCATE)", &busy, error);
  if (status != FARO_OK || !busy) return status;
  return faro_fail(error, FARO_SYSTEM, "%s: its log cannot be emptied while another process reads the file",
                   faro_path_end(d->path));
}

faro_status faro_database_purge(faro_database *database, faro_error *error) {
  const faro_status status = empty_log(database, error);
  database->needs_purge = status != FARO_OK;
  database->purge_at = faro_clock() + 5; /* a reader of the file has delayed us already */
  return status;
}

bool faro_database_needs_purge(const faro_database *database) { return database->needs_purge; }

faro_status faro_database_retry_purge(faro_database *database, faro_error *error) {
  const bool due = database->needs_purge && faro_clock() >= database->purge_at;
  return due ? faro_database_purge(database, error) : FARO_OK;
}
