/* spool_postgres_group: a group of reports in one transaction of PostgreSQL.
 *
 *   lock -> look at the open batch -> read the rows of the clients -> take room -> judge
 *        -> write the rows of the clients -> give back room -> write the sealed group -> commit
 *
 * If a row of a client has changed since it was read, the whole is done again. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "release/shuffler.h"
#include "service/role/log.h"
#include "service/state/spool_postgres.h"

enum { ATTEMPTS = 8 };

/* A client of the group, as the database has it and as the group leaves it. */
typedef struct member {
  unsigned char hash[FARO_HASH_BYTES];
  uint64_t was; /* reports so far, when it was read */
  uint64_t used, sequence, here;
  bool changed;
} member;

/* A transaction that is being made. */
typedef struct group {
  member *members; /* sorted by hash */
  size_t count;
  int64_t place[PLACES];
  uint64_t free[PLACES];
  size_t places;
  uint64_t room;     /* free places in them */
  uint64_t accepted; /* reports */
  bool known;        /* one was accepted before */
  unsigned char *payload;
  size_t length; /* bytes of it that are used */
} group;

faro_status faro_spool_pg_begin(faro_spool *s, faro_error *error) {
  s->postgres->queued = 0;
  const faro_status status = faro_database_present(s->database, error);
  return status == FARO_OK ? faro_spool_pg_ready(s, error) : status;
}

faro_status faro_spool_pg_accept(faro_spool *s, faro_spool_entry *entry, faro_error *error) {
  spool_postgres *p = s->postgres;
  if (p->queued == p->room) {
    const size_t room = p->room > 0 ? 2 * p->room : 64;
    faro_spool_entry **larger = realloc(p->queue, room * sizeof *larger);
    if (!larger) return faro_fail(error, FARO_MEMORY, "cannot allocate a group of reports");
    p->queue = larger;
    p->room = room;
  }
  p->queue[p->queued++] = entry;
  return FARO_OK;
}

/* Clients. */

static int compare(const void *a, const void *b) {
  return memcmp(((const member *)a)->hash, ((const member *)b)->hash, FARO_HASH_BYTES);
}

static member *find(const group *g, const unsigned char *hash) {
  member key;
  memcpy(key.hash, hash, FARO_HASH_BYTES);
  return bsearch(&key, g->members, g->count, sizeof *g->members, compare);
}

/* Each client of the group once. */
static void enter_members(const faro_spool *s, group *g) {
  const spool_postgres *p = s->postgres;
  g->count = 0;
  for (size_t i = 0; i < p->queued; i++) {
    member fresh = {0};
    memcpy(fresh.hash, p->queue[i]->hash, FARO_HASH_BYTES);
    g->members[g->count++] = fresh;
  }
  qsort(g->members, g->count, sizeof *g->members, compare);
  size_t kept = 0;
  for (size_t i = 0; i < g->count; i++)
    if (kept == 0 || compare(&g->members[kept - 1], &g->members[i]) != 0) g->members[kept++] = g->members[i];
  g->count = kept;
}

static faro_status read_members(faro_spool *s, group *g, faro_error *error) {
  PGresult *rows = NULL;
  unsigned char *hashes = malloc(g->count * FARO_HASH_BYTES + 1);
  if (!hashes) return faro_fail(error, FARO_MEMORY, "cannot allocate a group of reports");
  for (size_t i = 0; i < g->count; i++)
    memcpy(hashes + i * FARO_HASH_BYTES, g->members[i].hash, FARO_HASH_BYTES);
  const faro_status status =
      faro_postgres_ask(s->postgres->link, &rows, error,
                        "SELECT hash, used, sequence, batch, here FROM clients WHERE hash = ANY($1)", "B",
                        (const void *)hashes, (size_t)FARO_HASH_BYTES, g->count);
  sodium_memzero(hashes, g->count * FARO_HASH_BYTES);
  free(hashes);
  for (int i = 0; status == FARO_OK && i < PQntuples(rows); i++) {
    size_t length = 0;
    const unsigned char *hash = faro_postgres_bytes(rows, i, 0, &length);
    member *m = length == FARO_HASH_BYTES ? find(g, hash) : NULL;
    if (!m) continue;
    m->was = m->used = (uint64_t)faro_postgres_number(rows, i, 1);
    m->sequence = (uint64_t)faro_postgres_number(rows, i, 2);
    const bool current = (uint64_t)faro_postgres_number(rows, i, 3) == s->now.number;
    m->here = current ? (uint64_t)faro_postgres_number(rows, i, 4) : 0;
  }
  PQclear(rows);
  return status;
}

/* The changed rows, if they are as they were read; *stale: one is not. In the order of hashes, so
 * that two groups cannot wait for each other. */
static faro_status write_members(faro_spool *s, const group *g, bool *stale, faro_error *error) {
  PGresult *rows = NULL;
  size_t count = 0;
  unsigned char *hashes = malloc(g->count * FARO_HASH_BYTES + 1);
  int64_t *numbers = malloc((4 * g->count + 1) * sizeof *numbers);
  int64_t *used = numbers, *sequence = used + g->count, *here = sequence + g->count, *was = here + g->count;
  for (size_t i = 0; hashes && numbers && i < g->count; i++) {
    const member *m = &g->members[i];
    if (!m->changed) continue;
    memcpy(hashes + count * FARO_HASH_BYTES, m->hash, FARO_HASH_BYTES);
    used[count] = (int64_t)m->used;
    sequence[count] = (int64_t)m->sequence;
    here[count] = (int64_t)m->here;
    was[count++] = (int64_t)m->was;
  }
  const faro_status status =
      !hashes || !numbers
          ? faro_fail(error, FARO_MEMORY, "cannot allocate a group of reports")
          : faro_postgres_ask(
                s->postgres->link, &rows, error,
                "INSERT INTO clients AS c SELECT hash, used, sequence, $6, here, was "
                "FROM unnest($1, $2, $3, $4, $5) AS t(hash, used, sequence, here, was) ORDER BY hash "
                "ON CONFLICT (hash) DO UPDATE SET used = excluded.used, sequence = excluded.sequence,"
                " batch = excluded.batch, here = excluded.here, was = excluded.was "
                "WHERE c.used = excluded.was RETURNING c.used",
                "BIIIIi", (const void *)hashes, (size_t)FARO_HASH_BYTES, count, used, count, sequence, count,
                here, count, was, count, (int64_t)s->now.number);
  *stale = status == FARO_OK && (size_t)PQntuples(rows) != count;
  PQclear(rows);
  if (hashes) sodium_memzero(hashes, count * FARO_HASH_BYTES);
  free(hashes);
  free(numbers);
  return status;
}

/* Room. */

/* Locks rows with free places until there are enough for the group, or none is left that no other
 * group has locked. */
static faro_status take_room(faro_spool *s, group *g, faro_error *error) {
  spool_postgres *p = s->postgres;
  faro_status status = FARO_OK;
  int64_t last = 0;
  g->places = 0;
  g->room = 0;
  while (status == FARO_OK && g->room < p->queued && g->places < PLACES) {
    PGresult *rows = NULL;
    status = faro_postgres_ask(p->link, &rows, error,
                               "SELECT place, free FROM room WHERE batch = $1 AND place > $2 AND free > 0 "
                               "ORDER BY place LIMIT 1 FOR UPDATE SKIP LOCKED",
                               "ii", (int64_t)s->now.number, last);
    const bool none = status != FARO_OK || PQntuples(rows) == 0;
    if (!none) {
      last = g->place[g->places] = faro_postgres_number(rows, 0, 0);
      g->free[g->places] = (uint64_t)faro_postgres_number(rows, 0, 1);
      g->room += g->free[g->places++];
    }
    PQclear(rows);
    if (none) break;
  }
  return status;
}

/* Takes the places of the accepted reports; the rest is as it was. */
static faro_status use_room(faro_spool *s, const group *g, faro_error *error) {
  uint64_t left = g->accepted;
  faro_status status = FARO_OK;
  for (size_t i = 0; status == FARO_OK && left > 0 && i < g->places; i++) {
    const uint64_t taken = left < g->free[i] ? left : g->free[i];
    left -= taken;
    status = faro_postgres_do(s->postgres->link, error,
                              "UPDATE room SET free = free - $3 WHERE batch = $1 AND place = $2", "iii",
                              (int64_t)s->now.number, g->place[i], (int64_t)taken);
  }
  return status;
}

/* Reports. */

static void add_body(const faro_spool *s, group *g, const unsigned char *body) {
  const faro_encoding *range = faro_campaign_encoding(s->campaign, s->shuffler, s->now.number);
  if (s->entries == 0) {
    memcpy(g->payload + g->length, body, s->body);
    g->length += s->body;
    return;
  }
  for (size_t i = 0; i < s->entries; i++)
    faro_store64(g->payload + 8 * i,
                 faro_shuffler_count(faro_load64(g->payload + 8 * i), faro_load32(body + 4 * i),
                                     (uint64_t)range->least, (uint64_t)range->most));
  g->length = s->entries * 8;
}

static faro_verdict judge_one(const faro_spool *s, group *g, const faro_spool_entry *e) {
  member *m = find(g, e->hash);
  if (!m) return FARO_VERDICT_TOKEN; /* every report has one */
  const spool_client client = {.last = m->sequence,
                               .here = m->here,
                               .used = m->used,
                               .full = s->postgres->waiting >= FARO_SPOOL_AHEAD};
  const faro_verdict verdict = faro_spool_judge(s, e, &client);
  if (verdict != FARO_VERDICT_ACCEPTED) return verdict;
  if (g->accepted == g->room) return FARO_VERDICT_CLOSED; /* until the batch is closed, or others are done */
  m->sequence = e->sequence;
  m->used++;
  m->here++;
  m->changed = true;
  g->accepted++;
  return verdict;
}

static void judge_all(faro_spool *s, group *g) {
  const spool_postgres *p = s->postgres;
  g->accepted = 0;
  g->known = false;
  g->length = 0;
  if (s->entries > 0) memset(g->payload, 0, s->entries * 8);
  for (size_t i = 0; i < p->queued; i++) {
    faro_spool_entry *e = p->queue[i];
    e->verdict = judge_one(s, g, e);
    if (e->verdict == FARO_VERDICT_ACCEPTED) add_body(s, g, e->body);
    g->known = g->known || e->verdict == FARO_VERDICT_KNOWN;
  }
}

static faro_status write_body(faro_spool *s, const group *g, faro_error *error) {
  unsigned char *sealed = NULL;
  size_t size = 0;
  const faro_sealed_as as = faro_spool_pg_as(s, s->now.number, g->accepted, PART_GROUP);
  const int64_t id = (int64_t)(faro_rng_next(faro_secure_face(s->secure)) >> 1);
  faro_status status = faro_spool_pg_seal(s, &as, g->payload, g->length, &sealed, &size, error);
  if (status == FARO_OK)
    status = faro_postgres_do(s->postgres->link, error, "INSERT INTO groups VALUES($1, $2, $3, $4)", "iiib",
                              (int64_t)s->now.number, id, (int64_t)g->accepted, (const void *)sealed, size);
  free(sealed);
  return status;
}

/* The transaction. */

/* A report that was accepted before may have come with a transaction that the replicas do not have:
 * the server was killed while it waited for them. A commit waits for all that came before it, but
 * only if it has written something. */
static faro_status confirm(faro_spool *s, faro_error *error) {
  faro_postgres *link = s->postgres->link;
  const faro_status status = faro_postgres_run(link, "UPDATE meta SET version = version", error);
  return status == FARO_OK ? faro_postgres_commit(link, error) : status;
}

/* *again: it is worth another try. */
static faro_status attempt(faro_spool *s, group *g, bool *again, faro_error *error) {
  spool_postgres *p = s->postgres;
  faro_status status = faro_postgres_begin(p->link, error);
  if (status == FARO_OK)
    status = faro_postgres_do(p->link, error, "SELECT pg_advisory_xact_lock_shared($1)", "i", p->lock);
  if (status == FARO_OK) status = faro_spool_pg_look(s, error);
  if (status == FARO_OK && s->now.number >= p->published) { /* our key must be there first */
    *again = true;
    return FARO_OK;
  }
  enter_members(s, g);
  if (status == FARO_OK) status = read_members(s, g, error);
  if (status == FARO_OK) status = take_room(s, g, error);
  if (status != FARO_OK) return status;
  judge_all(s, g);
  if (g->accepted == 0) return g->known ? confirm(s, error) : FARO_OK; /* only refusals: nothing to write */
  status = write_members(s, g, again, error);
  if (status != FARO_OK || *again) return status;
  status = use_room(s, g, error);
  if (status == FARO_OK) status = write_body(s, g, error);
  return status == FARO_OK ? faro_postgres_commit(p->link, error) : status;
}

static faro_status try_all(faro_spool *s, group *g, faro_error *error) {
  spool_postgres *p = s->postgres;
  for (int i = 0; i < ATTEMPTS; i++) {
    faro_error why = {0};
    bool again = false;
    faro_status status = faro_spool_pg_keys(s, &why);
    if (status == FARO_OK) status = attempt(s, g, &again, &why);
    const bool collided = status != FARO_OK && faro_postgres_collided(p->link);
    faro_postgres_rollback(p->link);
    if (status == FARO_OK && !again) return FARO_OK;
    if (status != FARO_OK && !collided) return faro_fail(error, status, "%s", why.message);
  }
  return faro_fail(error, FARO_SYSTEM, "other front-ends have changed the same clients %d times", ATTEMPTS);
}

/* After the group was kept, nothing may fail: what is not done now is done by
 * faro_spool_pg_next. */
static void close_if_full(faro_spool *s) {
  faro_error error = {0};
  faro_status status = faro_spool_pg_look(s, &error);
  if (status == FARO_OK && s->postgres->left == 0) status = faro_spool_pg_close_batch(s, &error);
  if (status != FARO_OK) faro_log_error("batch-not-closed", &error);
}

faro_status faro_spool_pg_commit(faro_spool *s, faro_error *error) {
  spool_postgres *p = s->postgres;
  group g = {0};
  if (p->queued == 0) return FARO_OK;
  const size_t room = s->entries > 0 ? s->entries * 8 : p->queued * s->body;
  g.members = malloc(p->queued * sizeof *g.members);
  g.payload = malloc(room);
  const faro_status status = g.members && g.payload
                                 ? try_all(s, &g, error)
                                 : faro_fail(error, FARO_MEMORY, "cannot allocate a group of reports");
  if (g.payload) sodium_memzero(g.payload, room);
  if (g.members) sodium_memzero(g.members, p->queued * sizeof *g.members);
  free(g.payload);
  free(g.members);
  p->queued = 0;
  if (status == FARO_OK && g.accepted > 0) close_if_full(s);
  return status;
}
