/* spool_postgres_open: opens a spool in PostgreSQL, or founds it, and keeps its keys. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/role/log.h"
#include "service/role/process.h"
#include "service/state/spool_postgres.h"
#include "wire/split.h"

static const char SCHEMA[] =
    "CREATE TABLE meta(id INTEGER PRIMARY KEY CHECK (id = 0), version BIGINT NOT NULL, number BIGINT NOT "
    "NULL,"
    " released BIGINT NOT NULL);"
    "INSERT INTO meta VALUES(0, 1, 0, 0);"
    "CREATE TABLE clients(hash BYTEA PRIMARY KEY, used BIGINT NOT NULL, sequence BIGINT NOT NULL,"
    " batch BIGINT NOT NULL, here BIGINT NOT NULL, was BIGINT NOT NULL) WITH (fillfactor = 70);"
    "CREATE TABLE room(batch BIGINT, place BIGINT, free BIGINT NOT NULL CHECK (free >= 0),"
    " PRIMARY KEY (batch, place)) WITH (fillfactor = 50);" FARO_KEEPERS_TABLE
    "CREATE TABLE groups(batch BIGINT, id BIGINT, reports BIGINT NOT NULL, body BYTEA NOT NULL,"
    " PRIMARY KEY (batch, id));"
    "CREATE TABLE outbox(number BIGINT PRIMARY KEY, count BIGINT NOT NULL, body BYTEA NOT NULL)";
enum { VERSION = 1 };

/* The number of an advisory lock, by its purpose. */
static int64_t lock_of(const faro_spool *s, char purpose) {
  unsigned char bytes[FARO_DIGEST_BYTES + 9], hash[16];
  memcpy(bytes, s->campaign->digest, FARO_DIGEST_BYTES);
  faro_store64(bytes + FARO_DIGEST_BYTES, s->shuffler);
  bytes[FARO_DIGEST_BYTES + 8] = (unsigned char)purpose;
  crypto_generichash(hash, sizeof hash, bytes, sizeof bytes, NULL, 0);
  return (int64_t)faro_load64(hash);
}

/* Each spool has a schema of its own, so that one database can serve many. */
static void name_schema(const faro_campaign *campaign, size_t shuffler, char name[static 64]) {
  char hex[33];
  sodium_bin2hex(hex, sizeof hex, campaign->digest, 16);
  snprintf(name, 64, "faro_%s_%zu", hex, shuffler);
}

static faro_status find(faro_postgres *link, const char *schema, bool *there, faro_error *error) {
  PGresult *rows = NULL;
  const faro_status status = faro_postgres_ask(
      link, &rows, error, "SELECT count(*) FROM pg_namespace WHERE nspname = $1", "t", schema);
  *there = status == FARO_OK && faro_postgres_number(rows, 0, 0) > 0;
  PQclear(rows);
  return status;
}

faro_status faro_spool_there(const faro_spool_params *params, bool *there, faro_error *error) {
  char schema[64];
  faro_postgres *link = NULL;
  *there = false;
  name_schema(params->campaign, params->shuffler, schema);
  faro_status status = faro_postgres_open(&link, params->database, "SELECT 1", faro_process_ending, error);
  if (status == FARO_OK) status = find(link, schema, there, error);
  faro_postgres_close(link);
  return status;
}

static faro_status found(faro_spool *s, const char *schema, bool known, faro_error *error) {
  spool_postgres *p = s->postgres;
  char sql[128];
  bool there = false;
  faro_status status = find(p->link, schema, &there, error);
  if (status != FARO_OK || there) return status;
  if (known)
    return faro_fail(error, FARO_INVALID,
                     "the database holds nothing of this campaign, but reports were collected for it before: "
                     "they, and what each client has sent, are lost. Put the state back if it was moved; "
                     "otherwise end the campaign and start a new one");
  snprintf(sql, sizeof sql, "CREATE SCHEMA %s", schema);
  status = faro_postgres_run(p->link, sql, error);
  if (status == FARO_OK) status = faro_postgres_run(p->link, SCHEMA, error);
  return status == FARO_OK ? faro_spool_pg_make_room(s, error) : status;
}

/* Two front-ends that start at once must not both found it. */
static faro_status found_once(faro_spool *s, const char *schema, bool known, faro_error *error) {
  spool_postgres *p = s->postgres;
  faro_status status = faro_postgres_begin(p->link, error);
  if (status == FARO_OK)
    status = faro_postgres_do(p->link, error, "SELECT pg_advisory_xact_lock($1)", "i", p->lock);
  if (status == FARO_OK) status = found(s, schema, known, error);
  if (status == FARO_OK) status = faro_postgres_commit(p->link, error);
  if (status != FARO_OK) faro_postgres_rollback(p->link);
  return status;
}

static faro_status check_version(faro_spool *s, faro_error *error) {
  PGresult *rows = NULL;
  faro_status status = faro_postgres_ask(s->postgres->link, &rows, error, "SELECT version FROM meta", "");
  const int64_t version = status == FARO_OK && PQntuples(rows) == 1 ? faro_postgres_number(rows, 0, 0) : 0;
  PQclear(rows);
  if (status == FARO_OK && version != VERSION)
    status = faro_fail(error, FARO_INVALID, "the database has version %lld of the state; this faro reads %d",
                       (long long)version, VERSION);
  return status;
}

static faro_status may_be_shared(const faro_spool *s, faro_error *error) {
  if (faro_campaign_in_phases(s->campaign))
    return faro_fail(
        error, FARO_INVALID,
        "database: a campaign in phases cannot be collected in PostgreSQL yet; leave the setting "
        "out, and its state is in the file");
  if (faro_campaign_is_split(s->campaign))
    return faro_fail(error, FARO_INVALID,
                     "database: split counts cannot be collected in PostgreSQL yet; leave the setting out, "
                     "and the state is in the file");
  if (s->part.collectors > 0)
    return faro_fail(error, FARO_INVALID,
                     "database: a shuffler in parts cannot keep its state in PostgreSQL yet; leave the "
                     "setting out, and the state is in the file");
  return FARO_OK;
}

/* An analyzer that collects itself may be replaced while it hangs, and must not keep the lock of
 * the one that hands over: the server ends a session that is silent. */
static faro_status open_postgres(faro_spool *s, const faro_spool_params *params, faro_error *error) {
  char schema[64], set_up[256];
  spool_postgres *p = calloc(1, sizeof *p);
  if (!p) return faro_fail(error, FARO_MEMORY, "cannot allocate a spool");
  s->postgres = p;
  s->shared = true;
  p->lock = lock_of(s, 'c');
  p->leader = lock_of(s, 'l');
  memcpy(p->seal.campaign, s->campaign->digest, sizeof p->seal.campaign);
  p->seal.shuffler = s->shuffler;
  name_schema(s->campaign, s->shuffler, schema);
  snprintf(set_up, sizeof set_up, "%sSET search_path = %s",
           faro_campaign_form(s->campaign) == FARO_WIRE_DIRECT ? FARO_POSTGRES_SILENCE : "", schema);
  faro_status status = may_be_shared(s, error);
  if (status == FARO_OK)
    status = faro_batch_keys_open(&p->keys, &s->database, params->path, s->campaign, s->shuffler, error);
  if (status == FARO_OK) status = faro_postgres_open(&p->link, params->database, set_up, NULL, error);
  if (status == FARO_OK) status = faro_postgres_check_session(p->link, error);
  if (status == FARO_OK) status = found_once(s, schema, params->known, error);
  if (status == FARO_OK) status = check_version(s, error);
  if (status == FARO_OK) status = faro_spool_pg_look(s, error);
  return status == FARO_OK ? faro_spool_pg_keys(s, error) : status;
}

static void close_postgres(faro_spool *s) {
  spool_postgres *p = s->postgres;
  if (!p) return;
  faro_postgres_close(p->link);
  faro_batch_keys_close(p->keys);
  free(p->queue);
  free(p);
}

faro_status faro_spool_pg_ready(faro_spool *s, faro_error *error) {
  spool_postgres *p = s->postgres;
  bool fresh = false;
  faro_error why = {0};
  const faro_status status = faro_postgres_ready(p->link, &fresh, &why);
  if (fresh || status != FARO_OK) p->leads = false;
  if (fresh) p->published = 0; /* it may be another server, a replica that was behind */
  if (status != FARO_OK) s->now.waiting = 0;
  const bool lost = status != FARO_OK;
  if (atomic_exchange(&p->lost, lost) != lost) {
    if (lost) faro_log_error("database-lost", &why);
    else faro_log(FARO_LOG_INFO, "database-back", NULL);
  }
  return lost ? faro_fail(error, status, "%s", why.message) : FARO_OK;
}

static faro_status present(const faro_spool *s, faro_error *error) {
  if (!atomic_load(&s->postgres->lost)) return FARO_OK;
  return faro_fail(error, FARO_SYSTEM, "the database does not answer; see the log");
}

faro_status faro_spool_pg_look(faro_spool *s, faro_error *error) {
  spool_postgres *p = s->postgres;
  PGresult *rows = NULL;
  faro_status status =
      faro_postgres_ask(p->link, &rows, error,
                        "SELECT number, released, (SELECT count(*) FROM outbox),"
                        " (SELECT coalesce(sum(free), 0)::bigint FROM room WHERE batch = number) FROM meta",
                        "");
  if (status == FARO_OK && PQntuples(rows) != 1)
    status = faro_fail(error, FARO_SYSTEM, "the database has lost the state of this spool");
  if (status == FARO_OK) {
    const uint64_t number = (uint64_t)faro_postgres_number(rows, 0, 0);
    if (number != s->now.number) p->foreign = false;
    s->now.number = number;
    s->released = (uint64_t)faro_postgres_number(rows, 0, 1);
    p->waiting = (uint64_t)faro_postgres_number(rows, 0, 2);
    p->left = (uint64_t)faro_postgres_number(rows, 0, 3);
    s->now.waiting = p->leads ? p->waiting : 0;
    const faro_spool_state state = faro_spool_snapshot(s);
    s->now.held = state.over || p->left > state.size ? 0 : state.size - p->left;
  }
  PQclear(rows);
  return status;
}

faro_status faro_spool_pg_make_room(faro_spool *s, faro_error *error) {
  const faro_spool_state state = faro_spool_snapshot(s);
  int64_t free_places[PLACES];
  if (state.over) return FARO_OK;
  for (uint64_t i = 0; i < PLACES; i++)
    free_places[i] = (int64_t)(state.size / PLACES + (i < state.size % PLACES));
  return faro_postgres_do(
      s->postgres->link, error,
      "INSERT INTO room SELECT $1, i, free FROM unnest($2) WITH ORDINALITY AS t(free, i) WHERE free > 0",
      "iI", (int64_t)s->now.number, free_places, (size_t)PLACES);
}

/* After a crash, the server may say of a batch that it was released, and its replicas do not know
 * it yet. They do when a write of our own was committed after that. */
static faro_status wipe_released(faro_spool *s, faro_error *error) {
  spool_postgres *p = s->postgres;
  faro_status status = faro_postgres_begin(p->link, error);
  if (status == FARO_OK) status = faro_postgres_run(p->link, "UPDATE meta SET version = version", error);
  if (status == FARO_OK) status = faro_postgres_commit(p->link, error);
  faro_postgres_rollback(p->link);
  return status == FARO_OK ? faro_batch_keys_wipe(p->keys, s->released, error) : status;
}

/* The key is on our disk before anything can be sealed to it. One that was made before a crash may
 * not have been published: so all are, at the start. */
faro_status faro_spool_pg_keys(faro_spool *s, faro_error *error) {
  spool_postgres *p = s->postgres;
  faro_status status = FARO_OK;
  const uint64_t wiped = faro_batch_keys_wiped(p->keys);
  if (s->released < wiped)
    return faro_fail(error, FARO_SYSTEM,
                     "the database says that batch %llu was not released, but it was: this is an old copy of "
                     "the database, and what clients have sent since is not in it",
                     (unsigned long long)s->released);
  if (s->released > wiped) status = wipe_released(s, error);
  for (uint64_t batch = s->now.number; status == FARO_OK && batch <= s->now.number + 1; batch++) {
    const bool there = faro_batch_keys_find(p->keys, batch) && batch < p->published;
    if (there) continue;
    status = faro_batch_keys_make(p->keys, batch, error);
    if (status == FARO_OK) status = faro_keepers_publish(p->link, p->keys, batch, error);
    if (status == FARO_OK) p->published = batch + 1;
  }
  return status;
}

faro_sealed_as faro_spool_pg_as(const faro_spool *s, uint64_t batch, uint64_t count, spool_part part) {
  faro_sealed_as as = s->postgres->seal;
  as.batch = batch;
  as.count = count;
  as.part = part;
  return as;
}

faro_status faro_spool_pg_seal(faro_spool *s, const faro_sealed_as *as, const void *bytes, size_t length,
                               unsigned char **sealed, size_t *size, faro_error *error) {
  return faro_keepers_seal(s->postgres->link, s->postgres->keys, as, bytes, length, sealed, size, error);
}

/* A standby of an analyzer must not take over what only the other one can open. The heads say who
 * can. */
static faro_status opens(faro_spool *s, faro_error *error) {
  PGresult *rows = NULL;
  faro_status status = faro_postgres_ask(
      s->postgres->link, &rows, error,
      "SELECT batch, substring(body for $1::integer) FROM groups UNION ALL SELECT number, substring(body for "
      "$1::integer) FROM outbox",
      "i", (int64_t)FARO_SEALED_HEAD);
  for (int i = 0; status == FARO_OK && i < PQntuples(rows); i++) {
    size_t size = 0;
    const uint64_t batch = (uint64_t)faro_postgres_number(rows, i, 0);
    const unsigned char *head = faro_postgres_bytes(rows, i, 1, &size);
    const faro_box_pair *pair = faro_batch_keys_find(s->postgres->keys, batch);
    if (!pair || !faro_sealed_is_for(pair, head, size))
      status = faro_fail(error, FARO_SYSTEM,
                         "batch %llu came before this analyzer had published its key: start the other one",
                         (unsigned long long)batch);
  }
  PQclear(rows);
  return status;
}

/* A standby of an analyzer does this, and no more as long as the analyzer lives. It may be the only
 * one that can close the open batch, and the analyzer the only one that hands it over. */
static faro_status probe(faro_spool *s, faro_error *error) {
  faro_status status = faro_database_present(s->database, error);
  if (status == FARO_OK) status = faro_spool_pg_ready(s, error);
  if (status == FARO_OK) status = faro_spool_pg_look(s, error);
  if (status == FARO_OK) status = faro_spool_pg_keys(s, error);
  if (status == FARO_OK && s->postgres->left == 0 && !faro_spool_snapshot(s).over)
    status = faro_spool_pg_close_batch(s, error);
  if (status == FARO_OK)
    status = faro_postgres_run(s->postgres->link, "UPDATE meta SET version = version", error);
  return status;
}

static faro_status follow(faro_spool *s, const faro_plan_row *row, const char *document, size_t length,
                          faro_error *error) {
  (void)row;
  (void)document;
  (void)length;
  return may_be_shared(s, error);
}

const faro_spool_kind faro_spool_postgres = {.open = open_postgres,
                                             .close = close_postgres,
                                             .begin = faro_spool_pg_begin,
                                             .accept = faro_spool_pg_accept,
                                             .commit = faro_spool_pg_commit,
                                             .follow = follow,
                                             .next = faro_spool_pg_next,
                                             .forget = faro_spool_pg_forget,
                                             .probe = probe,
                                             .present = present,
                                             .opens = opens};

faro_status faro_spool_database_check(const char *database, faro_error *error) {
  if (strncmp(database, "postgresql://", 13) == 0 || strncmp(database, "postgres://", 11) == 0)
    return FARO_OK;
  const size_t scheme = strcspn(database, ":@/= "); /* what follows may hold a password */
  if (database[scheme] != ':')
    return faro_fail(error, FARO_INVALID, "database must be a URL postgresql://... (got none)");
  return faro_fail(error, FARO_INVALID, "database must be a URL postgresql://... (got %.*s:...)",
                   (int)(scheme < 40 ? scheme : 40), database);
}
