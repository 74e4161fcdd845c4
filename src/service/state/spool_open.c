/* spool_open: opens or creates the file of a spool, loads the roster of clients, and restores the
 * open batch. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "service/state/spool_inner.h"
#include "wire/document.h"
#include "wire/split.h"

static const char schema[] =
    "CREATE TABLE meta(id INTEGER PRIMARY KEY, campaign BLOB, shuffler INTEGER, number INTEGER, key BLOB);"
    "CREATE TABLE clients(hash BLOB PRIMARY KEY, used INTEGER, sequence INTEGER, known INTEGER) WITHOUT "
    "ROWID;"
    "CREATE TABLE open(hash BLOB PRIMARY KEY, used INTEGER, sequence INTEGER, mark BLOB) WITHOUT ROWID;"
    "CREATE TABLE totals(id INTEGER PRIMARY KEY, ones BLOB);"
    "CREATE TABLE bodies(id INTEGER PRIMARY KEY, body BLOB);"
    "CREATE TABLE outbox(number INTEGER PRIMARY KEY, count INTEGER, body BLOB)";

static const faro_database_migration steps[] = {
    /* 3: the roster is in memory, so only clients that have sent have rows; `open` also holds the
     * batch before until it was folded. */
    {"DELETE FROM clients WHERE used = 0; ALTER TABLE clients DROP COLUMN known;"
     "ALTER TABLE open RENAME TO old;"
     "CREATE TABLE open(batch INTEGER, hash BLOB, used INTEGER, sequence INTEGER, mark BLOB, "
     "PRIMARY KEY(batch, hash)) WITHOUT ROWID;"
     "INSERT INTO open SELECT number, hash, used, sequence, mark FROM meta, old; DROP TABLE old",
     NULL},
    /* 4: campaigns in phases. */
    {"CREATE TABLE plans(version INTEGER PRIMARY KEY, document BLOB)", NULL},
    /* 5: shufflers with collectors. `collector` is -1 in a joiner's file. */
    {"ALTER TABLE meta ADD COLUMN collectors INTEGER DEFAULT 0;"
     "ALTER TABLE meta ADD COLUMN collector INTEGER DEFAULT 0;"
     "CREATE TABLE portions(collector INTEGER, number INTEGER, count INTEGER, mark BLOB, body BLOB, "
     "PRIMARY KEY(collector, number))",
     NULL}};

static const faro_database_kind kind = {.of = "a role that collects reports",
                                        .id = 0x66615301,
                                        .first = 2,
                                        .schema = schema,
                                        .steps = steps,
                                        .count = sizeof steps / sizeof *steps};

static const char *const text_of[SQLS] = {
    [FIND_MARK] = "SELECT mark FROM open WHERE hash = ? AND batch = ?",
    [ENTER_OPEN] = "INSERT OR REPLACE INTO open VALUES(?, ?, ?, ?, ?)",
    [FOLD_END] = "SELECT hash FROM open WHERE batch = ? ORDER BY hash LIMIT 1 OFFSET ?",
    [FOLD_ENTER] = ("INSERT INTO clients SELECT hash, used, sequence FROM open WHERE batch = ? AND hash < ? "
                    "ON CONFLICT(hash) DO UPDATE SET used = clients.used + excluded.used, "
                    "sequence = excluded.sequence"),
    [FOLD_LEAVE] = "DELETE FROM open WHERE batch = ? AND hash < ?",
    [ENTER_BODY] = "INSERT INTO bodies VALUES(?, ?)",
    [SET_TOTALS] = "INSERT OR REPLACE INTO totals VALUES(0, ?)",
    [NEXT_BATCH] = "UPDATE meta SET number = ?, key = ?",
    [ALL_BODIES] = "SELECT body FROM bodies ORDER BY id",
    [ENTER_OUTBOX] = "INSERT INTO outbox VALUES(?, ?, ?)",
    [FIRST_OUTBOX] = "SELECT number, count, body FROM outbox ORDER BY number LIMIT 1",
    [DROP_OUTBOX] = "DELETE FROM outbox WHERE number = ?",
    [ENTER_PLAN] = "INSERT INTO plans VALUES(?, ?)",
    [ENTER_PORTION] = "INSERT INTO portions VALUES(?, ?, ?, ?, ?)",
    [FIND_PORTION] = "SELECT mark FROM portions WHERE collector = ? AND number = ?",
    [OPEN_PORTIONS] = "SELECT count, body FROM portions WHERE number = ? ORDER BY collector",
    [EMPTY_PORTIONS] = "UPDATE portions SET body = zeroblob(0) WHERE number = ?",
    [DROP_PORTIONS] = "DELETE FROM portions WHERE number < ?"};

/* Reports in the open batch. */
static const char HELD[] = "SELECT coalesce(sum(used), 0) FROM open WHERE batch = (SELECT number FROM meta)";

static void measure(faro_spool *s) {
  const faro_campaign *c = s->campaign;
  const bool bits = faro_campaign_form(c) == FARO_WIRE_BITS;
  s->u = faro_campaign_unit(c, s->shuffler);
  s->entries = bits ? faro_wire_report_entries(c) : 0;
  s->body = faro_wire_report_size(c) - FARO_REPORT_HEAD;
  s->row = faro_campaign_is_split(c) ? FARO_BOX_BYTES : bits ? 0 : s->body;
  s->most = UINT64_MAX; /* at event level each report is protected by itself */
  if (c->params.level == FARO_LEVEL_USER) s->most = c->params.contributions > 0 ? c->params.contributions : 1;
}

static int64_t collector_of(const faro_spool_part *part) {
  if (part->collectors == 0) return 0; /* as in states of earlier versions */
  return part->joins ? -1 : (int64_t)part->collector;
}

enum { PART_TEXT = 40 };
static const char *part_name(int64_t collectors, int64_t collector, char out[static PART_TEXT]) {
  if (collectors == 0) snprintf(out, PART_TEXT, "a shuffler without collectors");
  else if (collector < 0) snprintf(out, PART_TEXT, "a joiner of %lld collectors", (long long)collectors);
  else snprintf(out, PART_TEXT, "collector %lld of %lld", (long long)collector, (long long)collectors);
  return out;
}

/* `row` is a row of meta: campaign, shuffler, collectors, collector. */
static faro_status check_owner(sqlite3_stmt *row, const char *path, const faro_campaign *campaign,
                               size_t shuffler, const faro_spool_part *part, faro_error *error) {
  char there[PART_TEXT], here[PART_TEXT];
  const int64_t collectors = sqlite3_column_int64(row, 2), collector = sqlite3_column_int64(row, 3);
  if (sqlite3_column_bytes(row, 0) != FARO_DIGEST_BYTES ||
      memcmp(sqlite3_column_blob(row, 0), campaign->digest, FARO_DIGEST_BYTES) != 0 ||
      sqlite3_column_int64(row, 1) != (int64_t)shuffler)
    return faro_fail(error, FARO_INVALID, "%s belongs to another campaign or shuffler", faro_path_end(path));
  if (collectors == (int64_t)part->collectors && collector == collector_of(part)) return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "%s is the state of %s, and the settings are those of %s: what a collector holds, and how "
                   "many there are, cannot change within a campaign",
                   faro_path_end(path), part_name(collectors, collector, there),
                   part_name((int64_t)part->collectors, collector_of(part), here));
}

faro_status faro_spool_check(const char *path, const faro_campaign *campaign, size_t shuffler,
                             const faro_spool_part *part, faro_error *error) {
  faro_database *database = NULL;
  sqlite3_stmt *find = NULL;
  bool row = false;
  faro_status status = faro_database_open(&database, path, &kind, FARO_READ_ONLY, error);
  if (status == FARO_OK)
    status = faro_database_prepare(database, "SELECT campaign, shuffler, collectors, collector FROM meta",
                                   &find, error);
  if (status == FARO_OK) status = faro_database_step(database, find, &row, error, "");
  if (status == FARO_OK && row) status = check_owner(find, path, campaign, shuffler, part, error);
  faro_database_close(database);
  return status;
}

faro_status faro_spool_recognize(const char *path, faro_error *error) {
  return faro_database_recognize(path, &kind, error);
}

/* A new file is assigned to this campaign and shuffler; an old one must belong to them. */
static faro_status claim_file(faro_spool *s, const char *path, bool known, faro_error *error) {
  sqlite3_stmt *find = NULL;
  sqlite3_stmt *enter = NULL;
  bool row = false;
  faro_status status = faro_database_prepare(
      s->database, "SELECT campaign, shuffler, collectors, collector, number, key FROM meta", &find, error);
  if (status == FARO_OK)
    status =
        faro_database_prepare(s->database, "INSERT INTO meta VALUES(0, ?, ?, 0, ?, ?, ?)", &enter, error);
  if (status == FARO_OK) status = faro_database_step(s->database, find, &row, error, "");
  if (status != FARO_OK) return status;
  if (!row && known)
    return faro_fail(error, FARO_INVALID,
                     "%s holds nothing, but reports were collected for this campaign before: they, and what "
                     "each client has sent, are lost. Put the state back if it was moved; otherwise end the "
                     "campaign and start a new one",
                     faro_path_end(path));
  if (!row) {
    faro_database_reset(find);
    randombytes_buf(s->now.key, sizeof s->now.key);
    return faro_database_do(s->database, enter, error, "bibii", s->campaign->digest,
                            (size_t)FARO_DIGEST_BYTES, (int64_t)s->shuffler, (const void *)s->now.key,
                            sizeof s->now.key, (int64_t)s->part.collectors, collector_of(&s->part));
  }
  const bool keyed = sqlite3_column_bytes(find, 5) == SPOOL_KEY_BYTES;
  status = check_owner(find, path, s->campaign, s->shuffler, &s->part, error);
  s->now.number = (uint64_t)sqlite3_column_int64(find, 4);
  if (keyed) memcpy(s->now.key, sqlite3_column_blob(find, 5), SPOOL_KEY_BYTES);
  faro_database_reset(find);
  if (status == FARO_OK && !keyed)
    return faro_fail(error, FARO_INVALID, "%s: its key is missing", faro_path_end(path));
  return status;
}

faro_status faro_spool_ask(faro_spool *s, const char *query, uint64_t *value, faro_error *error) {
  sqlite3_stmt *statement = NULL;
  bool row = false;
  faro_status status = faro_database_prepare(s->database, query, &statement, error);
  if (status == FARO_OK) status = faro_database_step(s->database, statement, &row, error, "");
  if (status == FARO_OK) *value = (uint64_t)sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return status;
}

/* A batch is never sent without reports that were acknowledged. */
static faro_status missing(const faro_spool *s, const char *path, const char *what, faro_error *error) {
  return faro_fail(error, FARO_INVALID, "%s is damaged: %llu reports were acknowledged, but %s",
                   faro_path_end(path), (unsigned long long)s->now.held, what);
}

static faro_status check_bodies(faro_spool *s, const char *path, faro_error *error) {
  uint64_t bodies = 0;
  const faro_status status = faro_spool_ask(s, "SELECT count(*) FROM bodies", &bodies, error);
  if (status != FARO_OK || bodies == s->now.held) return status;
  return missing(s, path, "the number of bodies is different", error);
}

/* The totals of an empty batch are zero, whatever the row says. */
static faro_status load_totals(faro_spool *s, const char *path, faro_error *error) {
  sqlite3_stmt *statement = NULL;
  bool row = false;
  faro_status status = faro_database_prepare(s->database, "SELECT ones FROM totals", &statement, error);
  if (status == FARO_OK) status = faro_database_step(s->database, statement, &row, error, "");
  const size_t length = s->entries * 8;
  const bool whole = status == FARO_OK && row && (size_t)sqlite3_column_bytes(statement, 0) == length;
  if (whole && s->now.held > 0) memcpy(s->ones, sqlite3_column_blob(statement, 0), length);
  sqlite3_finalize(statement);
  if (status != FARO_OK || whole || s->now.held == 0) return status;
  return missing(s, path, row ? "their totals have the wrong length" : "their totals are missing", error);
}

/* Verifies a plan again, and adds it to the campaign's. */
static faro_status load_plan(faro_spool *s, sqlite3_stmt *row, const faro_spool_params *params,
                             faro_error *error) {
  faro_plan_document plan;
  faro_plan_row kept;
  const char *text = sqlite3_column_blob(row, 0);
  const size_t length = (size_t)sqlite3_column_bytes(row, 0);
  const unsigned char *signer = params->signer;
  for (size_t i = 0; params->move && i <= params->move->signers; i++)
    if (faro_document_is_signed(text, length, faro_move_key_at(params->move, i)))
      signer = faro_move_key_at(params->move, i);
  faro_status status = faro_plan_document_open(&plan, text, length, signer, error);
  if (status == FARO_OK) status = faro_plan_check(s->campaign, &plan, &kept, error);
  return status == FARO_OK ? faro_plans_add(s->campaign->plans, &kept, error) : status;
}

static faro_status load_plans(faro_spool *s, const faro_spool_params *params, faro_error *error) {
  sqlite3_stmt *all = NULL;
  bool row = true;
  if (!params->signer || !s->campaign->plans) return FARO_OK;
  faro_status status =
      faro_database_prepare(s->database, "SELECT document FROM plans ORDER BY version", &all, error);
  while (status == FARO_OK && row) {
    status = faro_database_next(s->database, all, &row, error);
    if (status == FARO_OK && row) status = load_plan(s, all, params, error);
  }
  sqlite3_finalize(all);
  const uint64_t newest = faro_plans_newest(s->campaign->plans);
  if (status != FARO_OK || newest == s->now.number || newest == s->now.number + 1) return status;
  return faro_fail(error, FARO_INVALID, "%s is damaged: it is at batch %llu, but has %llu plans",
                   faro_path_end(params->path), (unsigned long long)s->now.number,
                   (unsigned long long)newest);
}

/* A joiner's: which portion of each collector comes next. */
static faro_status load_portions(faro_spool *s, faro_error *error) {
  sqlite3_stmt *all = NULL;
  bool row = true;
  faro_status status = faro_spool_ask(s, FARO_SPOOL_PORTIONS_HELD, &s->now.held, error);
  if (status == FARO_OK) status = faro_spool_ask(s, "SELECT count(*) FROM outbox", &s->now.waiting, error);
  if (status == FARO_OK)
    status = faro_database_prepare(
        s->database, "SELECT collector, max(number) + 1 FROM portions GROUP BY collector", &all, error);
  while (status == FARO_OK && row) {
    status = faro_database_next(s->database, all, &row, error);
    const uint64_t collector = row ? (uint64_t)sqlite3_column_int64(all, 0) : 0;
    if (status == FARO_OK && row && collector < FARO_COLLECTORS_MAX)
      s->next[collector] = (uint64_t)sqlite3_column_int64(all, 1);
  }
  sqlite3_finalize(all);
  return status;
}

/* Adds rows of hash, number of reports and last sequence number. */
static faro_status load_counts(faro_spool *s, faro_counts *counts, const char *query, faro_error *error) {
  sqlite3_stmt *all = NULL;
  bool row = true;
  faro_status status = faro_database_prepare(s->database, query, &all, error);
  while (status == FARO_OK && row) {
    faro_count *count = NULL;
    status = faro_database_next(s->database, all, &row, error);
    if (status != FARO_OK || !row) break;
    if (sqlite3_column_bytes(all, 0) != FARO_HASH_BYTES)
      status = faro_fail(error, FARO_INVALID, "the state is damaged: a client's hash has %d bytes, not %d",
                         sqlite3_column_bytes(all, 0), FARO_HASH_BYTES);
    else status = faro_counts_enter(counts, sqlite3_column_blob(all, 0), &count, error);
    if (status != FARO_OK) break;
    count->used += (uint64_t)sqlite3_column_int64(all, 1);
    count->sequence = (uint64_t)sqlite3_column_int64(all, 2);
  }
  sqlite3_finalize(all);
  return status;
}

faro_status faro_spool_load_members(faro_spool *s, faro_error *error) {
  faro_counts_clear(s->members);
  return load_counts(s, s->members,
                     "SELECT hash, used, sequence FROM open WHERE batch = (SELECT number FROM meta)", error);
}

static faro_status load_clients(faro_spool *s, faro_error *error) {
  const size_t clients = faro_roster_count(s->roster);
  const uint64_t size = faro_spool_size(s, s->now.number);
  faro_status status = faro_counts_create(&s->clients, clients, error);
  if (status == FARO_OK)
    status = faro_counts_create(&s->members, size < clients ? (size_t)size : clients, error);
  if (status == FARO_OK)
    status = load_counts(s, s->clients, "SELECT hash, used, sequence FROM clients", error);
  if (status == FARO_OK) /* the open batch last: its sequence numbers are the newest */
    status = load_counts(s, s->clients, "SELECT hash, used, sequence FROM open ORDER BY batch", error);
  return status == FARO_OK ? faro_spool_load_members(s, error) : status;
}

faro_status faro_spool_sqlite_open(faro_spool *s, const faro_spool_params *params, faro_error *error) {
  uint64_t left = 0;
  faro_status status = faro_database_open(&s->database, params->path, &kind, FARO_READ_WRITE, error);
  if (status == FARO_OK) status = claim_file(s, params->path, params->known, error);
  for (size_t i = 0; status == FARO_OK && i < SQLS; i++)
    status = faro_database_prepare(s->database, text_of[i], &s->sql[i], error);
  if (status == FARO_OK) status = load_plans(s, params, error);
  if (status == FARO_OK && s->part.joins) return load_portions(s, error);
  if (status == FARO_OK) status = load_clients(s, error);
  if (status == FARO_OK) status = faro_spool_ask(s, HELD, &s->now.held, error);
  if (status == FARO_OK) status = faro_spool_ask(s, "SELECT count(*) FROM outbox", &s->now.waiting, error);
  if (status == FARO_OK)
    status =
        faro_spool_ask(s, "SELECT count(*) FROM open WHERE batch < (SELECT number FROM meta)", &left, error);
  s->now.unfolded = left > 0;
  faro_spool_share_key(s);
  if (status == FARO_OK && s->entries > 0) status = load_totals(s, params->path, error);
  if (status == FARO_OK && s->row > 0) status = check_bodies(s, params->path, error);
  return status;
}

faro_status faro_spool_open(faro_spool **spool, const faro_spool_params *params, faro_error *error) {
  faro_spool *s = calloc(1, sizeof *s);
  if (!s) return faro_fail(error, FARO_MEMORY, "cannot allocate a spool");
  s->kind = params->database && *params->database ? &faro_spool_postgres : &faro_spool_sqlite;
  pthread_mutex_init(&s->marker.mutex, NULL);
  s->campaign = params->campaign;
  s->shuffler = params->shuffler;
  s->part = params->part;
  measure(s);
  s->ones = calloc(s->entries + 1, 8);
  s->ones_before = calloc(s->entries + 1, 8);
  faro_status status = FARO_OK;
  if (!s->ones || !s->ones_before) status = faro_fail(error, FARO_MEMORY, "cannot allocate the totals");
  if (status == FARO_OK) status = faro_secure_open(&s->secure, error);
  if (status == FARO_OK && !s->part.joins)
    status = faro_roster_open(&s->roster, params->tokens, s->part.collectors, s->part.collector, error);
  if (status == FARO_OK) status = s->kind->open(s, params, error);
  if (status == FARO_OK) *spool = s;
  else faro_spool_close(s);
  return status;
}

void faro_spool_close(faro_spool *spool) {
  if (!spool) return;
  if (spool->kind->close) spool->kind->close(spool);
  faro_database_close(spool->database);
  faro_secure_close(spool->secure);
  faro_roster_close(spool->roster);
  faro_counts_destroy(spool->clients);
  faro_counts_destroy(spool->members);
  if (spool->undo) sodium_memzero(spool->undo, spool->undo_room * sizeof *spool->undo);
  free(spool->undo);
  sodium_memzero(&spool->now, sizeof spool->now);
  sodium_memzero(&spool->before, sizeof spool->before);
  pthread_mutex_destroy(&spool->marker.mutex);
  sodium_memzero(&spool->marker, sizeof spool->marker);
  if (spool->ones) sodium_memzero(spool->ones, spool->entries * 8);
  if (spool->ones_before) sodium_memzero(spool->ones_before, spool->entries * 8);
  free(spool->ones);
  free(spool->ones_before);
  free(spool);
}

faro_status faro_spool_move(const char *from, const char *to, faro_error *error) {
  faro_database *database = NULL;
  faro_status status = faro_database_open(&database, from, &kind, FARO_READ_WRITE, error);
  if (status == FARO_OK) status = faro_database_copy(database, to, NULL, error);
  if (status == FARO_OK) status = faro_database_retire(database, error);
  faro_database_close(database);
  return status;
}

faro_status faro_spool_count_open(const char *path, uint64_t *held, faro_error *error) {
  faro_spool looking = {0};
  faro_status status = faro_database_open(&looking.database, path, &kind, FARO_READ_ONLY, error);
  if (status == FARO_OK) status = faro_spool_ask(&looking, HELD, held, error);
  faro_database_close(looking.database);
  return status;
}
