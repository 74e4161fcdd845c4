/* keepers: see the header. */
#include "service/state/keepers.h"

#include <string.h>

static faro_status too_many(uint64_t batch, faro_error *error) {
  return faro_fail(
      error, FARO_SYSTEM,
      "more than %d front-ends have keys of batch %llu: start fewer of them, and none with a new "
      "file of keys",
      FARO_KEEPERS_MAX, (unsigned long long)batch);
}

faro_status faro_keepers_publish(faro_postgres *link, const faro_batch_keys *keys, uint64_t batch,
                                 faro_error *error) {
  const faro_box_pair *pair = faro_batch_keys_find(keys, batch);
  PGresult *rows = NULL;
  const faro_status status = faro_postgres_ask(
      link, &rows, error,
      "INSERT INTO keepers SELECT $1, $2 WHERE (SELECT count(*) FROM keepers WHERE batch = $1 AND key <> $2) "
      "< $3 ON CONFLICT (batch, key) DO UPDATE SET key = excluded.key RETURNING batch",
      "ibi", (int64_t)batch, (const void *)pair->public_key, (size_t)FARO_PAIR_BYTES,
      (int64_t)FARO_KEEPERS_MAX);
  const bool there = status == FARO_OK && PQntuples(rows) == 1;
  PQclear(rows);
  return status == FARO_OK && !there ? too_many(batch, error) : status;
}

static faro_status read_all(faro_postgres *link, const faro_batch_keys *keys, uint64_t batch,
                            unsigned char *keepers, size_t *count, faro_error *error) {
  PGresult *rows = NULL;
  const faro_box_pair *own = faro_batch_keys_find(keys, batch);
  faro_status status =
      own ? faro_postgres_ask(link, &rows, error, "SELECT key FROM keepers WHERE batch = $1", "i",
                              (int64_t)batch)
          : faro_fail(error, FARO_SYSTEM, "there is no key of batch %llu", (unsigned long long)batch);
  if (status == FARO_OK) memcpy(keepers, own->public_key, FARO_PAIR_BYTES);
  *count = 1;
  for (int i = 0; status == FARO_OK && i < PQntuples(rows); i++) {
    size_t each = 0;
    const unsigned char *key = faro_postgres_bytes(rows, i, 0, &each);
    if (each != FARO_PAIR_BYTES || memcmp(key, own->public_key, each) == 0) continue;
    if (*count == FARO_KEEPERS_MAX) status = too_many(batch, error);
    else memcpy(keepers + (*count)++ * FARO_PAIR_BYTES, key, each);
  }
  PQclear(rows);
  return status;
}

faro_status faro_keepers_seal(faro_postgres *link, const faro_batch_keys *keys, const faro_sealed_as *as,
                              const void *bytes, size_t length, unsigned char **sealed, size_t *size,
                              faro_error *error) {
  unsigned char keepers[FARO_KEEPERS_MAX * FARO_PAIR_BYTES];
  size_t count = 0;
  const faro_status status = read_all(link, keys, as->batch, keepers, &count, error);
  return status == FARO_OK ? faro_sealed_write(as, keepers, count, bytes, length, sealed, size, error)
                           : status;
}
