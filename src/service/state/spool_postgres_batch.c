/* spool_postgres_batch: closes batches in PostgreSQL, hands them over and forgets them. */
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "release/shuffler.h"
#include "service/role/log.h"
#include "service/state/spool_postgres.h"

/* A full batch while its groups are put together. */
typedef struct whole {
  unsigned char *payload, *scratch; /* as it is sent; and BITS only: the totals of a group */
  size_t length;
  uint64_t size, count; /* reports: of the batch, and so far */
} whole;

/* Adds an opened group. */
static faro_sealed_result open_group(const faro_spool *s, const PGresult *rows, int row, whole *w) {
  size_t size = 0;
  const uint64_t reports = (uint64_t)faro_postgres_number(rows, row, 0);
  const unsigned char *sealed = faro_postgres_bytes(rows, row, 1, &size);
  const faro_box_pair *pair = faro_batch_keys_find(s->postgres->keys, s->now.number);
  const faro_sealed_as as = faro_spool_pg_as(s, s->now.number, reports, PART_GROUP);
  if (!pair) return FARO_SEALED_FOREIGN;
  if (reports > w->size - w->count) return FARO_SEALED_FORGED;
  unsigned char *to = s->entries > 0 ? w->scratch : w->payload + w->count * s->body;
  const size_t length = s->entries > 0 ? s->entries * 8 : reports * s->body;
  const faro_sealed_result result = faro_sealed_open(&as, pair, sealed, size, to, length);
  if (result != FARO_SEALED_OPENED) return result;
  for (size_t i = 0; i < s->entries; i++)
    faro_store64(w->payload + 8 * i, faro_load64(w->payload + 8 * i) + faro_load64(w->scratch + 8 * i));
  w->count += reports;
  return result;
}

/* Puts the groups together; *foreign: one is not for this front-end. */
static faro_status gather(faro_spool *s, whole *w, bool *foreign, faro_error *error) {
  PGresult *rows = NULL;
  faro_status status =
      faro_postgres_ask(s->postgres->link, &rows, error, "SELECT reports, body FROM groups WHERE batch = $1",
                        "i", (int64_t)s->now.number);
  for (int i = 0; status == FARO_OK && !*foreign && i < PQntuples(rows); i++) {
    const faro_sealed_result result = open_group(s, rows, i, w);
    *foreign = result == FARO_SEALED_FOREIGN;
    if (result == FARO_SEALED_FORGED)
      status =
          faro_fail(error, FARO_SYSTEM, "the database is damaged: a group of batch %llu cannot be opened",
                    (unsigned long long)s->now.number);
  }
  PQclear(rows);
  if (status == FARO_OK && !*foreign && w->count != w->size)
    status = faro_fail(error, FARO_SYSTEM, "the database holds %llu reports of batch %llu, not %llu",
                       (unsigned long long)w->count, (unsigned long long)s->now.number,
                       (unsigned long long)w->size);
  if (status == FARO_OK && !*foreign && s->entries == 0)
    faro_shuffler_permute(faro_secure_face(s->secure), w->payload, w->size, s->body);
  return status;
}

/* Moves the batch to the outbox and opens the next one. */
static faro_status turn(faro_spool *s, const whole *w, faro_error *error) {
  spool_postgres *p = s->postgres;
  unsigned char *sealed = NULL;
  size_t size = 0;
  const int64_t number = (int64_t)s->now.number;
  const faro_sealed_as as = faro_spool_pg_as(s, s->now.number, w->size, PART_OUTBOX);
  faro_status status = faro_spool_pg_seal(s, &as, w->payload, w->length, &sealed, &size, error);
  if (status == FARO_OK)
    status = faro_postgres_do(p->link, error, "INSERT INTO outbox VALUES($1, $2, $3)", "iib", number,
                              (int64_t)w->size, (const void *)sealed, size);
  free(sealed);
  if (status == FARO_OK)
    status = faro_postgres_do(p->link, error, "DELETE FROM groups WHERE batch = $1", "i", number);
  if (status == FARO_OK)
    status = faro_postgres_do(p->link, error, "DELETE FROM room WHERE batch = $1", "i", number);
  if (status == FARO_OK)
    status = faro_postgres_do(p->link, error, "UPDATE meta SET number = $1", "i", number + 1);
  s->now.number++;
  return status == FARO_OK ? faro_spool_pg_make_room(s, error) : status;
}

static faro_status close_whole(faro_spool *s, bool *closed, faro_error *error) {
  spool_postgres *p = s->postgres;
  const faro_spool_state state = faro_spool_snapshot(s);
  whole w = {.size = state.size, .length = s->entries > 0 ? s->entries * 8 : state.size * s->body};
  bool foreign = false;
  w.payload = calloc(1, w.length);
  w.scratch = calloc(s->entries + 1, 8);
  faro_status status = w.payload && w.scratch ? gather(s, &w, &foreign, error)
                                              : faro_fail(error, FARO_MEMORY, "cannot allocate a batch");
  if (status == FARO_OK && !foreign) status = turn(s, &w, error);
  *closed = status == FARO_OK && !foreign;
  if (w.payload) sodium_memzero(w.payload, w.length);
  if (w.scratch) sodium_memzero(w.scratch, s->entries * 8);
  free(w.payload);
  free(w.scratch);
  if (foreign && !p->foreign)
    faro_log(FARO_LOG_WARNING, "batch-left-to-others", "sI ss", "batch", (json_int_t)state.number, "reason",
             "reports came before this front-end had published its key");
  p->foreign = p->foreign || foreign;
  return status;
}

faro_status faro_spool_pg_close_batch(faro_spool *s, faro_error *error) {
  spool_postgres *p = s->postgres;
  bool closed = false;
  if (p->foreign) return FARO_OK;
  faro_status status = faro_postgres_begin(p->link, error);
  if (status == FARO_OK)
    status = faro_postgres_do(p->link, error, "SELECT pg_advisory_xact_lock($1)", "i", p->lock);
  if (status == FARO_OK) status = faro_spool_pg_look(s, error);
  const faro_spool_state state = faro_spool_snapshot(s);
  const bool full = status == FARO_OK && p->left == 0 && !state.over;
  if (full) status = close_whole(s, &closed, error);
  if (status == FARO_OK && closed) status = faro_postgres_commit(p->link, error);
  if (status == FARO_OK && closed) {
    s->closed++;
    s->reports += state.size;
  }
  faro_postgres_rollback(p->link);
  const faro_status looked = faro_spool_pg_look(s, status == FARO_OK ? error : NULL);
  return status == FARO_OK ? looked : status;
}

/* Handing over. */

/* Whether this front-end is the one that hands over. The lock ends with the connection. */
static faro_status lead(faro_spool *s, faro_error *error) {
  spool_postgres *p = s->postgres;
  PGresult *rows = NULL;
  if (p->leads) return FARO_OK;
  const faro_status status = faro_postgres_ask(
      p->link, &rows, error, "SELECT pg_try_advisory_lock($1)::integer::bigint", "i", p->leader);
  p->leads = status == FARO_OK && faro_postgres_number(rows, 0, 0) == 1;
  PQclear(rows);
  if (p->leads) s->now.waiting = p->waiting;
  return status;
}

static faro_status stand_back(faro_spool *s, faro_error *error) {
  s->postgres->leads = false;
  s->now.waiting = 0;
  return faro_postgres_do(s->postgres->link, error, "SELECT pg_advisory_unlock($1)", "i",
                          s->postgres->leader);
}

/* Opens the batch in the first row. */
static faro_status open_batch(faro_spool *s, const PGresult *rows, faro_batch *batch, faro_error *error) {
  size_t size = 0;
  const uint64_t number = (uint64_t)faro_postgres_number(rows, 0, 0);
  const uint64_t count = (uint64_t)faro_postgres_number(rows, 0, 1);
  const unsigned char *sealed = faro_postgres_bytes(rows, 0, 2, &size);
  const faro_sealed_as as = faro_spool_pg_as(s, number, count, PART_OUTBOX);
  const faro_box_pair *pair = faro_batch_keys_find(s->postgres->keys, number);
  const bool fits = count > 0 && count <= size; /* also against a product that wraps */
  const size_t length = s->entries > 0 ? s->entries * 8 : (fits ? count : 0) * s->body;
  if (!pair) return stand_back(s, error);
  unsigned char *body = malloc(length + 1);
  if (!body) return faro_fail(error, FARO_MEMORY, "cannot allocate a batch");
  const faro_sealed_result result = faro_sealed_open(&as, pair, sealed, size, body, length);
  if (result == FARO_SEALED_OPENED) {
    *batch = (faro_batch){.shuffler = (uint32_t)s->shuffler, .number = number, .count = count, .body = body};
    return FARO_OK;
  }
  free(body);
  if (result == FARO_SEALED_FOREIGN) return stand_back(s, error);
  return faro_fail(error, FARO_SYSTEM, "the database is damaged: batch %llu cannot be opened",
                   (unsigned long long)number);
}

static faro_status take_next(faro_spool *s, faro_batch *batch, faro_error *error) {
  PGresult *rows = NULL;
  faro_status status = faro_postgres_ask(
      s->postgres->link, &rows, error, "SELECT number, count, body FROM outbox ORDER BY number LIMIT 1", "");
  if (status == FARO_OK && PQntuples(rows) == 1) status = open_batch(s, rows, batch, error);
  PQclear(rows);
  return status;
}

/* A server that is away is no failure of a batch: the health says it, and the log once. */
faro_status faro_spool_pg_next(faro_spool *s, faro_batch *batch, faro_error *error) {
  spool_postgres *p = s->postgres;
  *batch = (faro_batch){0};
  if (faro_spool_pg_ready(s, NULL) != FARO_OK) return FARO_OK;
  faro_status status = faro_spool_pg_look(s, error);
  if (status == FARO_OK) status = faro_spool_pg_keys(s, error);
  if (status == FARO_OK && p->left == 0 && !faro_spool_snapshot(s).over)
    status = faro_spool_pg_close_batch(s, error);
  if (status == FARO_OK && p->waiting > 0) status = lead(s, error);
  if (status == FARO_OK && p->leads && p->waiting > 0) status = take_next(s, batch, error);
  if (status != FARO_OK) s->now.waiting = 0; /* so that it is not tried again at once */
  return status;
}

/* The batch is gone for all front-ends when the transaction is over. Each wipes its own key
 * then. */
faro_status faro_spool_pg_forget(faro_spool *s, uint64_t number, faro_error *error) {
  faro_postgres *link = s->postgres->link;
  faro_status status = faro_spool_pg_ready(s, error);
  if (status == FARO_OK) status = faro_postgres_begin(link, error);
  if (status == FARO_OK)
    status = faro_postgres_do(link, error, "DELETE FROM outbox WHERE number = $1", "i", (int64_t)number);
  if (status == FARO_OK)
    status = faro_postgres_do(link, error, "UPDATE meta SET released = greatest(released, $1)", "i",
                              (int64_t)number + 1);
  if (status == FARO_OK)
    status = faro_postgres_do(link, error, "DELETE FROM keepers WHERE batch <= $1", "i", (int64_t)number);
  if (status == FARO_OK) status = faro_postgres_commit(link, error);
  faro_postgres_rollback(link);
  if (status == FARO_OK) status = faro_spool_pg_look(s, error);
  return status == FARO_OK ? faro_spool_pg_keys(s, error) : status;
}
