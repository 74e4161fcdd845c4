/* spool: see the header. What every kind of spool shares, and the kind that is one SQLite file. `u`
 * is the number of campaign batches in one batch of this shuffler: 1 except for concurrent-bits. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "release/shuffler.h"
#include "service/state/spool_inner.h"
#include "wire/split.h"

static bool over(const faro_spool *s) {
  const uint64_t first = s->now.number * s->u; /* campaign batch */
  if (first >= faro_campaign_batches(s->campaign)) return true;
  return s->campaign->shufflers > 0 && !faro_campaign_active(s->campaign, s->shuffler, first);
}

uint64_t faro_spool_size(const faro_spool *s, uint64_t number) {
  const uint64_t size = faro_campaign_size(s->campaign, s->shuffler, number);
  const bool whole = s->part.collectors == 0 || s->part.joins;
  return whole ? size : faro_portion_size(size, s->part.collector, s->part.collectors);
}

/* Reports in the open batch when it is full. */
static uint64_t size_of(const faro_spool *s) { return faro_spool_size(s, s->now.number); }

faro_spool_state faro_spool_snapshot(const faro_spool *s) {
  return (faro_spool_state){.number = s->now.number,
                            .held = s->now.held,
                            .size = size_of(s),
                            .waiting = s->now.waiting,
                            .first = s->shared ? s->released : s->now.number - s->now.waiting,
                            .needs_purge = faro_database_needs_purge(s->database),
                            .unfolded = s->now.unfolded,
                            .over = over(s),
                            .shared = s->shared,
                            .closed = s->shared ? s->closed : s->now.number,
                            .reports = s->reports};
}

/* Groups of reports. */

/* Wipes the state before the group: the difference would show the group. */
static void drop_before(faro_spool *s) {
  sodium_memzero(s->ones_before, s->entries * 8);
  sodium_memzero(&s->before, sizeof s->before);
  if (s->undos > 0) sodium_memzero(s->undo, s->undos * sizeof *s->undo);
  s->undos = 0;
}

static faro_status begin_group(faro_spool *s, faro_error *error) {
  s->before = s->now;
  s->changed = false;
  memcpy(s->ones_before, s->ones, s->entries * 8);
  faro_status status = s->stale ? faro_spool_load_members(s, error) : FARO_OK;
  if (status == FARO_OK) {
    s->stale = false;
    status = faro_database_begin(s->database, error);
  }
  if (status != FARO_OK) drop_before(s);
  return status;
}

/* Takes the group's reports from the counts again. If the group closed a batch, its members are
 * gone: they come from the file, before the next group. */
static void undo_counts(faro_spool *s) {
  if (s->now.number != s->before.number) s->stale = true;
  while (s->undos > 0) {
    spool_undo *u = &s->undo[--s->undos];
    faro_count *client = faro_counts_find(s->clients, u->hash);
    faro_count *member = s->stale ? NULL : faro_counts_find(s->members, u->hash);
    if (client) {
      client->used--;
      client->sequence = u->sequence;
    }
    if (member) member->used--;
    sodium_memzero(u, sizeof *u);
  }
}

static void give_up(faro_spool *s) {
  faro_database_rollback(s->database);
  undo_counts(s);
  const bool closed = s->now.number != s->before.number;
  s->now = s->before;
  if (closed) faro_spool_share_key(s);
  memcpy(s->ones, s->ones_before, s->entries * 8);
  drop_before(s);
}

static faro_status commit_group(faro_spool *s, faro_error *error) {
  faro_status status = FARO_OK;
  if (!s->changed) { /* only refusals: nothing to write */
    give_up(s);
    return FARO_OK;
  }
  if (s->entries > 0)
    status =
        faro_database_do(s->database, s->sql[SET_TOTALS], error, "b", (const void *)s->ones, s->entries * 8);
  if (status == FARO_OK) status = faro_database_run(s->database, "COMMIT", error);
  if (status != FARO_OK) give_up(s);
  else drop_before(s);
  return status;
}

/* Marks. */

void faro_spool_share_key(faro_spool *s) {
  pthread_mutex_lock(&s->marker.mutex);
  s->marker.marked++;
  memcpy(s->marker.key, s->now.key, SPOOL_KEY_BYTES);
  pthread_mutex_unlock(&s->marker.mutex);
}

/* Hashes a whole report, except what is the same for the file (campaign, shuffler) or the row
 * (token). */
static void set_mark(const faro_spool *s, uint64_t marked, const unsigned char key[static SPOOL_KEY_BYTES],
                     faro_spool_entry *e) {
  unsigned char head[16];
  crypto_generichash_state state;
  faro_store64(head, e->version);
  faro_store64(head + 8, e->sequence);
  crypto_generichash_init(&state, key, SPOOL_KEY_BYTES, FARO_MARK_BYTES);
  crypto_generichash_update(&state, head, sizeof head);
  crypto_generichash_update(&state, e->body, s->body);
  crypto_generichash_final(&state, e->mark, FARO_MARK_BYTES);
  sodium_memzero(&state, sizeof state);
  e->marked = marked;
}

/* The writer's: a batch may have closed since the report was marked, or it never was. Only the
 * writer's thread changes `marked`. */
static const unsigned char *mark_of(const faro_spool *s, faro_spool_entry *e) {
  if (e->marked != s->marker.marked) set_mark(s, s->marker.marked, s->now.key, e);
  return e->mark;
}

/* Whether the report in the open batch with this client and sequence number is another one. */
static faro_status find_mark(faro_spool *s, faro_spool_entry *e, bool *other, faro_error *error) {
  sqlite3_stmt *statement = s->sql[FIND_MARK];
  bool row = false;
  const faro_status status =
      faro_database_step(s->database, statement, &row, error, "bi", (const void *)e->hash,
                         (size_t)FARO_HASH_BYTES, (int64_t)s->now.number);
  *other = status != FARO_OK || !row || sqlite3_column_bytes(statement, 0) != FARO_MARK_BYTES ||
           sodium_memcmp(sqlite3_column_blob(statement, 0), mark_of(s, e), FARO_MARK_BYTES) != 0;
  faro_database_reset(statement);
  return status;
}

/* Whether the policy of a report is one of the open batch: those of its campaign batches, and the
 * one before the first, whose reports may be on their way, unless they have other noise. */
static bool is_current(const faro_spool *s, uint64_t version) {
  const uint64_t first = s->now.number * s->u;
  return version >= first + !faro_campaign_overlaps(s->campaign, first) && version <= first + s->u;
}

/* Repetitions are checked first: a report that was accepted stays accepted, whatever has changed
 * since. */
faro_verdict faro_spool_judge(const faro_spool *s, const faro_spool_entry *e, const spool_client *c) {
  if (e->sequence == 0 || e->sequence > INT64_MAX) return FARO_VERDICT_MALFORMED;
  if (e->sequence < c->last || c->other) return FARO_VERDICT_REPLAY;
  if (e->sequence == c->last) return FARO_VERDICT_KNOWN;
  if (over(s) || c->full) return FARO_VERDICT_CLOSED;
  if (!is_current(s, e->version)) return c->ahead ? FARO_VERDICT_CLOSED : FARO_VERDICT_STALE;
  if (c->here >= s->u) return FARO_VERDICT_TWICE;
  return c->used >= s->most ? FARO_VERDICT_SPENT : FARO_VERDICT_ACCEPTED;
}

/* The mark of a batch before has lost its key, so only the open one has marks to compare. */
static faro_status judge(faro_spool *s, faro_spool_entry *e, faro_error *error) {
  const faro_count *client = faro_counts_find(s->clients, e->hash);
  const faro_count *member = faro_counts_find(s->members, e->hash);
  spool_client known = {.last = client ? client->sequence : 0,
                        .here = member ? member->used : 0,
                        .used = client ? client->used : 0,
                        .full = s->now.waiting >= FARO_SPOOL_AHEAD,
                        .ahead = faro_spool_is_collector(s) && s->now.number >= s->heard + FARO_SPOOL_AHEAD};
  faro_status status = FARO_OK;
  if (known.here > 0 && e->sequence == known.last) status = find_mark(s, e, &known.other, error);
  e->verdict = faro_spool_judge(s, e, &known);
  return status;
}

/* Makes room for one more report to take back. */
static faro_status make_room(faro_spool *s, faro_error *error) {
  if (s->undos < s->undo_room) return FARO_OK;
  const size_t room = s->undo_room ? 2 * s->undo_room : 1024;
  spool_undo *larger = calloc(room, sizeof *larger);
  if (!larger) return faro_fail(error, FARO_MEMORY, "cannot allocate a group of %zu reports", room);
  if (s->undos > 0) {
    memcpy(larger, s->undo, s->undos * sizeof *larger);
    sodium_memzero(s->undo, s->undos * sizeof *larger);
  }
  free(s->undo);
  s->undo = larger;
  s->undo_room = room;
  return FARO_OK;
}

/* Counts a report for its client, so that it can be taken back. *used: its reports in the open
 * batch. */
static faro_status count(faro_spool *s, const faro_spool_entry *e, uint64_t *used, faro_error *error) {
  faro_count *client = NULL;
  faro_count *member = NULL;
  faro_status status = faro_counts_enter(s->clients, e->hash, &client, error);
  if (status == FARO_OK) status = faro_counts_enter(s->members, e->hash, &member, error);
  if (status == FARO_OK) status = make_room(s, error);
  if (status != FARO_OK) return status;
  spool_undo *u = &s->undo[s->undos++];
  memcpy(u->hash, e->hash, FARO_HASH_BYTES);
  u->sequence = client->sequence;
  client->used++;
  client->sequence = e->sequence;
  *used = ++member->used;
  return FARO_OK;
}

static void count_ones(faro_spool *s, const unsigned char *body) {
  const faro_encoding *range = faro_campaign_encoding(s->campaign, s->shuffler, s->now.number);
  for (size_t i = 0; i < s->entries; i++)
    faro_store64(s->ones + 8 * i, faro_shuffler_count(faro_load64(s->ones + 8 * i), faro_load32(body + 4 * i),
                                                      (uint64_t)range->least, (uint64_t)range->most));
}

/* If counts are split, the masked share is added, and the box for the adder is kept. */
static faro_status keep(faro_spool *s, faro_spool_entry *e, faro_error *error) {
  s->changed = true;
  uint64_t used = 0;
  faro_status status = count(s, e, &used, error);
  if (status == FARO_OK)
    status = faro_database_do(s->database, s->sql[ENTER_OPEN], error, "ibiib", (int64_t)s->now.number,
                              (const void *)e->hash, (size_t)FARO_HASH_BYTES, (int64_t)used,
                              (int64_t)e->sequence, (const void *)mark_of(s, e), sizeof e->mark);
  if (status != FARO_OK) return status;
  if (faro_campaign_is_split(s->campaign)) faro_split_add(s->campaign, e->body, s->ones);
  else count_ones(s, e->body);
  s->now.held++;
  if (s->row == 0) return FARO_OK;
  const uint64_t place = faro_rng_next(faro_secure_face(s->secure)) >> 1;
  return faro_database_do(s->database, s->sql[ENTER_BODY], error, "ib", (int64_t)place,
                          (const void *)(e->body + s->body - s->row), s->row);
}

/* Copies all bodies, in a random order. */
static faro_status gather(faro_spool *s, unsigned char *out, faro_error *error) {
  const uint64_t size = size_of(s);
  bool row = false;
  uint64_t count = 0;
  faro_status status = faro_database_step(s->database, s->sql[ALL_BODIES], &row, error, "");
  for (; status == FARO_OK && row; count++) {
    const void *body = sqlite3_column_blob(s->sql[ALL_BODIES], 0);
    if (count == size || (size_t)sqlite3_column_bytes(s->sql[ALL_BODIES], 0) != s->row || !body) break;
    memcpy(out + count * s->row, body, s->row);
    status = faro_database_next(s->database, s->sql[ALL_BODIES], &row, error);
  }
  faro_database_reset(s->sql[ALL_BODIES]);
  if (status == FARO_OK && (row || count != size)) /* only if the file was tampered with */
    status = faro_fail(error, FARO_SYSTEM, "the state holds %llu bodies, not %llu", (unsigned long long)count,
                       (unsigned long long)size);
  if (status == FARO_OK) faro_shuffler_permute(faro_secure_face(s->secure), out, size, s->row);
  return status;
}

/* Folds at most `most` rows of the batch before into `clients`, in the order of their hashes, so
 * that neighbours share pages. Call it in a transaction. */
static faro_status fold(faro_spool *s, uint64_t most, faro_error *error) {
  unsigned char end[FARO_HASH_BYTES + 1]; /* the first hash that stays; all: longer than any */
  const int64_t batch = (int64_t)s->now.number - 1;
  size_t length = sizeof end;
  bool row = false;
  memset(end, 0xff, sizeof end);
  faro_status status =
      faro_database_step(s->database, s->sql[FOLD_END], &row, error, "ii", batch, (int64_t)most);
  if (status == FARO_OK && row) {
    length = (size_t)sqlite3_column_bytes(s->sql[FOLD_END], 0);
    length = length < sizeof end ? length : sizeof end;
    memcpy(end, sqlite3_column_blob(s->sql[FOLD_END], 0), length);
  }
  faro_database_reset(s->sql[FOLD_END]);
  for (spool_sql i = FOLD_ENTER; status == FARO_OK && i <= FOLD_LEAVE; i++)
    status = faro_database_do(s->database, s->sql[i], error, "ib", batch, (const void *)end, length);
  if (status == FARO_OK) s->now.unfolded = row;
  return status;
}

faro_status faro_spool_put_out(faro_spool *s, uint64_t size, const unsigned char *payload, size_t length,
                               bool unfolded, faro_error *error) {
  faro_status status = faro_database_do(s->database, s->sql[ENTER_OUTBOX], error, "iib",
                                        (int64_t)s->now.number, (int64_t)size, (const void *)payload, length);
  s->now = (spool_live){.number = s->now.number + 1, .waiting = s->now.waiting + 1, .unfolded = unfolded};
  randombytes_buf(s->now.key, sizeof s->now.key);
  faro_spool_share_key(s);
  if (status == FARO_OK)
    status = faro_database_do(s->database, s->sql[NEXT_BATCH], error, "ib", (int64_t)s->now.number,
                              (const void *)s->now.key, sizeof s->now.key);
  return status;
}

/* Bytes of a closed batch: totals, and what was kept of each report. */
static size_t length_of(const faro_spool *s, uint64_t count) {
  return s->entries * 8 + (size_t)count * s->row;
}

/* Moves the batch to the outbox. What it says about its clients stays in `open` and is folded
 * later, because that takes long if there are many. */
static faro_status close_batch(faro_spool *s, faro_error *error) {
  const uint64_t size = size_of(s);
  const size_t length = length_of(s, size);
  unsigned char *payload = malloc(length + 1);
  if (!payload) return faro_fail(error, FARO_MEMORY, "cannot allocate a batch");
  memcpy(payload, s->ones, s->entries * 8);
  faro_status status = s->row > 0 ? gather(s, payload + s->entries * 8, error) : FARO_OK;
  if (status == FARO_OK && s->now.unfolded) status = fold(s, INT64_MAX, error); /* it should be done */
  if (status == FARO_OK) status = faro_database_run(s->database, "DELETE FROM bodies", error);
  if (status == FARO_OK) status = faro_spool_put_out(s, size, payload, length, true, error);
  faro_counts_clear(s->members);
  if (status != FARO_OK) s->stale = true; /* the batch stays open, with its members */
  sodium_memzero(payload, length);
  free(payload);
  sodium_memzero(s->ones, s->entries * 8);
  return status;
}

static faro_status accept_entry(faro_spool *s, faro_spool_entry *entry, faro_error *error) {
  faro_status status = judge(s, entry, error);
  if (status == FARO_OK && entry->verdict == FARO_VERDICT_ACCEPTED) status = keep(s, entry, error);
  if (status == FARO_OK && s->now.held == size_of(s)) status = close_batch(s, error);
  if (status != FARO_OK) give_up(s);
  return status;
}

static faro_status follow_plan(faro_spool *s, const faro_plan_row *row, const char *document, size_t length,
                               faro_error *error) {
  if (row->version != s->now.number + 1)
    return faro_fail(error, FARO_INVALID,
                     "version of the plan must be %llu, that of the open batch (got %llu)",
                     (unsigned long long)s->now.number + 1, (unsigned long long)row->version);
  const faro_status status = faro_database_do(s->database, s->sql[ENTER_PLAN], error, "ib",
                                              (int64_t)row->version, (const void *)document, length);
  return status == FARO_OK ? faro_plans_add(s->campaign->plans, row, error) : status;
}

/* Closed batches. */

faro_status faro_spool_fold(faro_spool *s, faro_error *error) {
  enum { ROWS = 4000 }; /* some 10 ms, even with a million clients */
  if (!s->now.unfolded) return FARO_OK;
  faro_status status = faro_database_begin(s->database, error);
  if (status == FARO_OK) status = fold(s, ROWS, error);
  if (status == FARO_OK) status = faro_database_run(s->database, "COMMIT", error);
  if (status == FARO_OK) return FARO_OK;
  faro_database_rollback(s->database);
  s->now.unfolded = true;
  return status;
}

static faro_status next_batch(faro_spool *s, faro_batch *batch, faro_error *error) {
  sqlite3_stmt *first = s->sql[FIRST_OUTBOX];
  bool row = false;
  *batch = (faro_batch){0};
  faro_status status = faro_database_step(s->database, first, &row, error, "");
  if (status == FARO_OK && row) {
    const size_t length = (size_t)sqlite3_column_bytes(first, 2);
    unsigned char *body = malloc(length + 1);
    if (body) memcpy(body, sqlite3_column_blob(first, 2), length);
    else status = faro_fail(error, FARO_MEMORY, "cannot allocate a batch");
    if (body)
      *batch = (faro_batch){.shuffler = (uint32_t)s->shuffler,
                            .number = (uint64_t)sqlite3_column_int64(first, 0),
                            .count = (uint64_t)sqlite3_column_int64(first, 1),
                            .body = body};
  }
  faro_database_reset(first);
  return status;
}

void faro_spool_wipe(const faro_spool *s, faro_batch *batch) {
  unsigned char *body = (unsigned char *)batch->body;
  if (body) sodium_memzero(body, length_of(s, batch->count));
  free(body);
  *batch = (faro_batch){0};
}

static faro_status forget_batch(faro_spool *s, uint64_t number, faro_error *error) {
  uint64_t waiting = 0;
  const bool unfolded = s->now.unfolded;
  faro_status status = faro_database_begin(s->database, error);
  if (status == FARO_OK && unfolded) status = fold(s, INT64_MAX, error);
  if (status == FARO_OK)
    status = faro_database_do(s->database, s->sql[DROP_OUTBOX], error, "i", (int64_t)number);
  if (status == FARO_OK) status = faro_database_overwrite_scratch(s->database, error);
  if (status == FARO_OK) status = faro_database_run(s->database, "COMMIT", error);
  if (status != FARO_OK) {
    faro_database_rollback(s->database);
    s->now.unfolded = unfolded;
    return status;
  }
  status = faro_spool_ask(s, "SELECT count(*) FROM outbox", &waiting, error);
  if (status != FARO_OK) return status;
  s->now.waiting = waiting;
  (void)faro_database_purge(s->database, NULL); /* if it fails, the state says so; the batch is gone */
  return FARO_OK;
}

faro_status faro_spool_retry_purge(faro_spool *s, faro_error *error) {
  return faro_database_retry_purge(s->database, error);
}

static faro_status probe_disk(faro_spool *s, faro_error *error) {
  enum { ROOM = 64 << 10 };
  return faro_database_probe(s->database, ROOM, error);
}

void faro_spool_verify(faro_spool *spool) { faro_database_verify(spool->database); }

faro_status faro_spool_present(const faro_spool *s, faro_error *error) {
  const faro_status status = s->kind->present ? s->kind->present(s, error) : FARO_OK;
  if (status != FARO_OK) return status;
  return faro_database_present(s->database, error);
}

bool faro_spool_collects(const faro_spool *s, const unsigned char hash[static FARO_HASH_BYTES],
                         size_t *collector, size_t *collectors) {
  *collectors = s->part.collectors;
  if (*collectors == 0) return true;
  *collector = faro_collector_of(hash, *collectors);
  return !s->part.joins && *collector == s->part.collector;
}

size_t faro_spool_clients(const faro_spool *s) { return faro_roster_count(s->roster); }

void faro_spool_admit(const faro_spool *s, faro_spool_entry *entry, size_t count) {
  if (!s->roster) return; /* a joiner has no clients */
  faro_roster_lock(s->roster);
  for (size_t i = 0; i < count; i++)
    if (entry[i].verdict == FARO_VERDICT_ACCEPTED && !faro_roster_holds(s->roster, entry[i].hash))
      entry[i].verdict = FARO_VERDICT_TOKEN;
  faro_roster_unlock(s->roster);
}

void faro_spool_mark(faro_spool *s, faro_spool_entry *entry, size_t count) {
  enum { STACK = 4 << 10 }; /* bytes that are wiped: hashing leaves pieces of reports there */
  unsigned char key[SPOOL_KEY_BYTES];
  pthread_mutex_lock(&s->marker.mutex);
  const uint64_t marked = s->marker.marked;
  memcpy(key, s->marker.key, sizeof key);
  pthread_mutex_unlock(&s->marker.mutex);
  if (marked == 0) return; /* no file, no marks */
  for (size_t i = 0; i < count; i++)
    if (entry[i].verdict == FARO_VERDICT_ACCEPTED) set_mark(s, marked, key, &entry[i]);
  sodium_memzero(key, sizeof key);
  sodium_stackzero(STACK);
}

faro_status faro_spool_reload(const faro_spool *s, const char *tokens, size_t *count, faro_error *error) {
  const faro_status status = faro_roster_reload(s->roster, tokens, error);
  if (status == FARO_OK) *count = faro_roster_count(s->roster);
  return status;
}

const faro_spool_kind faro_spool_sqlite = {.open = faro_spool_sqlite_open,
                                           .begin = begin_group,
                                           .accept = accept_entry,
                                           .commit = commit_group,
                                           .follow = follow_plan,
                                           .next = next_batch,
                                           .forget = forget_batch,
                                           .probe = probe_disk};
