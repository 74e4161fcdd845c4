/* spool_join: the spool of a joiner. Portions wait in their table until all of a batch are there.
 * In the transaction that keeps the last one they become a batch: counts are added up, bodies are
 * permuted all together. So a batch is joined once, and has the same bytes however often it is
 * sent.
 *
 * Of the last portion of each collector a row stays, without the body: a collector that did not get
 * the answer sends it again. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "release/shuffler.h"
#include "service/state/spool_inner.h"

bool faro_spool_joins(const faro_spool *s) { return s->part.joins; }
bool faro_spool_is_collector(const faro_spool *s) { return s->part.collectors > 0 && !s->part.joins; }

void faro_spool_heard(faro_spool *s, uint64_t first) { s->heard = first; }

void faro_spool_expected(const faro_spool *s, uint64_t next[static FARO_COLLECTORS_MAX]) {
  memcpy(next, s->next, sizeof s->next);
}

/* A portion that was here before: the same one, or another. */
static faro_status compare(faro_spool *s, const faro_portion *p, faro_joined *joined, faro_error *error) {
  sqlite3_stmt *find = s->sql[FIND_PORTION];
  bool row = false;
  const faro_status status = faro_database_step(s->database, find, &row, error, "ii", (int64_t)p->collector,
                                                (int64_t)p->batch.number);
  const bool same = status == FARO_OK && row && sqlite3_column_bytes(find, 0) == FARO_MARK_BYTES &&
                    sodium_memcmp(sqlite3_column_blob(find, 0), p->mark, FARO_MARK_BYTES) == 0;
  faro_database_reset(find);
  if (same) *joined = FARO_JOINED_KNOWN;
  return status;
}

/* Adds one portion to what there is of the batch. */
static void add(const faro_spool *s, const unsigned char *body, uint64_t *count, uint64_t more,
                unsigned char *out) {
  if (s->entries == 0) memcpy(out + *count * s->body, body, more * s->body);
  for (size_t i = 0; i < s->entries; i++)
    faro_store64(out + 8 * i, faro_load64(out + 8 * i) + faro_load64(body + 8 * i));
  *count += more;
}

/* All portions of the open batch, joined. */
static faro_status gather(faro_spool *s, uint64_t size, unsigned char *out, faro_error *error) {
  sqlite3_stmt *all = s->sql[OPEN_PORTIONS];
  uint64_t count = 0;
  size_t portions = 0;
  bool row = false;
  faro_status status = faro_database_step(s->database, all, &row, error, "i", (int64_t)s->now.number);
  for (; status == FARO_OK && row; portions++) {
    const uint64_t more = (uint64_t)sqlite3_column_int64(all, 0);
    const size_t length = s->entries > 0 ? s->entries * 8 : more * s->body;
    if (more > size - count || (size_t)sqlite3_column_bytes(all, 1) != length) break;
    add(s, sqlite3_column_blob(all, 1), &count, more, out);
    status = faro_database_next(s->database, all, &row, error);
  }
  faro_database_reset(all);
  if (status == FARO_OK && (row || count != size || portions != s->part.collectors)) /* tampered with */
    status = faro_fail(error, FARO_SYSTEM, "the state holds %zu portions of %llu reports, not %zu of %llu",
                       portions, (unsigned long long)count, s->part.collectors, (unsigned long long)size);
  if (status == FARO_OK && s->entries == 0)
    faro_shuffler_permute(faro_secure_face(s->secure), out, size, s->body);
  return status;
}

static faro_status join(faro_spool *s, faro_error *error) {
  const uint64_t size = faro_spool_size(s, s->now.number);
  const int64_t number = (int64_t)s->now.number;
  const size_t length = s->entries > 0 ? s->entries * 8 : size * s->body;
  unsigned char *payload = calloc(1, length);
  if (!payload) return faro_fail(error, FARO_MEMORY, "cannot allocate a batch");
  faro_status status = gather(s, size, payload, error);
  if (status == FARO_OK) status = faro_spool_put_out(s, size, payload, length, false, error);
  if (status == FARO_OK) status = faro_database_do(s->database, s->sql[EMPTY_PORTIONS], error, "i", number);
  if (status == FARO_OK) status = faro_database_do(s->database, s->sql[DROP_PORTIONS], error, "i", number);
  sodium_memzero(payload, length);
  free(payload);
  return status;
}

/* Whether every collector has closed its portion of the open batch. */
static bool is_whole(const faro_spool *s) {
  for (size_t i = 0; i < s->part.collectors; i++)
    if (s->next[i] <= s->now.number) return false;
  return true;
}

static faro_status keep(faro_spool *s, const faro_portion *p, faro_error *error) {
  const size_t length = s->entries > 0 ? s->entries * 8 : p->batch.count * s->body;
  const bool open = p->batch.number == s->now.number;
  faro_status status = faro_database_do(
      s->database, s->sql[ENTER_PORTION], error, "iiibb", (int64_t)p->collector, (int64_t)p->batch.number,
      (int64_t)p->batch.count, (const void *)p->mark, sizeof p->mark, (const void *)p->batch.body, length);
  s->next[p->collector]++;
  if (open) s->now.held += p->batch.count;
  if (status == FARO_OK && is_whole(s)) {
    status = join(s, error);
    if (status == FARO_OK) status = faro_spool_ask(s, FARO_SPOOL_PORTIONS_HELD, &s->now.held, error);
  }
  return status == FARO_OK ? faro_database_run(s->database, "COMMIT", error) : status;
}

faro_status faro_spool_join(faro_spool *s, const faro_portion *portion, faro_joined *joined,
                            faro_error *error) {
  const uint64_t next = s->next[portion->collector], number = portion->batch.number;
  *joined = FARO_JOINED_OTHER;
  if (number + 1 == next) return compare(s, portion, joined, error);
  if (number != next) return FARO_OK;
  *joined = FARO_JOINED_LATER;
  if (s->now.waiting >= FARO_SPOOL_AHEAD || number >= s->now.number + FARO_SPOOL_AHEAD) return FARO_OK;
  const spool_live before = s->now;
  faro_status status = faro_database_begin(s->database, error);
  if (status != FARO_OK) return status;
  status = keep(s, portion, error);
  if (status == FARO_OK) *joined = FARO_JOINED_KEPT;
  else {
    faro_database_rollback(s->database);
    s->now = before;
    s->next[portion->collector] = next;
  }
  return status;
}
