/* roster: see the header. A new array is made aside, so those who look wait for an exchange of
 * pointers only. The first bits of a hash say where in the array to look: places of four clients or
 * so, because hashes are spread evenly. */
#include "service/state/roster.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct listing {
  unsigned char *hashes; /* sorted, each once */
  size_t count;
  unsigned bits; /* number of first bits that tell the place */
  size_t *start; /* 2^bits + 1: the first client of each place */
} listing;

struct faro_roster {
  pthread_rwlock_t lock;
  listing now;
  size_t collectors, collector;
};

faro_status faro_roster_open(faro_roster **roster, const char *path, size_t collectors, size_t collector,
                             faro_error *error) {
  faro_roster *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate a roster");
  made->collectors = collectors;
  made->collector = collector;
  pthread_rwlock_init(&made->lock, NULL);
  const faro_status status = faro_roster_reload(made, path, error);
  if (status == FARO_OK) *roster = made;
  else faro_roster_close(made);
  return status;
}

void faro_roster_close(faro_roster *roster) {
  if (!roster) return;
  pthread_rwlock_destroy(&roster->lock);
  free(roster->now.hashes);
  free(roster->now.start);
  free(roster);
}

/* Keeps the hashes of one collector's clients, in order. */
static size_t select_own(const faro_roster *roster, unsigned char *hashes, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (faro_collector_of(hashes + i * FARO_HASH_BYTES, roster->collectors) == roster->collector)
      memmove(hashes + kept++ * FARO_HASH_BYTES, hashes + i * FARO_HASH_BYTES, FARO_HASH_BYTES);
  return kept;
}

static size_t place_of(const listing *l, const unsigned char *hash) {
  const uint64_t first = (uint64_t)hash[0] << 24 | (uint64_t)hash[1] << 16 | (uint64_t)hash[2] << 8 | hash[3];
  return (size_t)(first >> (32 - l->bits));
}

static faro_status divide(listing *l, faro_error *error) {
  enum { EACH = 4, MOST = 24 };
  while (l->bits < MOST && (size_t)EACH << l->bits < l->count) l->bits++;
  const size_t places = (size_t)1 << l->bits;
  l->start = calloc(places + 1, sizeof *l->start);
  if (!l->start) return faro_fail(error, FARO_MEMORY, "cannot allocate a roster of %zu clients", l->count);
  for (size_t i = 0, at = 0; i <= places; i++) {
    while (at < l->count && place_of(l, l->hashes + at * FARO_HASH_BYTES) < i) at++;
    l->start[i] = at;
  }
  return FARO_OK;
}

faro_status faro_roster_reload(faro_roster *roster, const char *path, faro_error *error) {
  listing fresh = {0};
  faro_status status = faro_hashes_load(path, &fresh.hashes, &fresh.count, error);
  if (status == FARO_OK && roster->collectors > 0)
    fresh.count = select_own(roster, fresh.hashes, fresh.count);
  if (status == FARO_OK) status = divide(&fresh, error);
  if (status != FARO_OK) {
    free(fresh.hashes);
    return status;
  }
  pthread_rwlock_wrlock(&roster->lock);
  const listing before = roster->now;
  roster->now = fresh;
  pthread_rwlock_unlock(&roster->lock);
  free(before.hashes);
  free(before.start);
  return FARO_OK;
}

static int compare(const void *a, const void *b) { return memcmp(a, b, FARO_HASH_BYTES); }

void faro_roster_lock(faro_roster *roster) { pthread_rwlock_rdlock(&roster->lock); }
void faro_roster_unlock(faro_roster *roster) { pthread_rwlock_unlock(&roster->lock); }

bool faro_roster_holds(const faro_roster *roster, const unsigned char hash[static FARO_HASH_BYTES]) {
  const listing *l = &roster->now;
  const size_t *start = l->start + place_of(l, hash);
  return bsearch(hash, l->hashes + start[0] * FARO_HASH_BYTES, start[1] - start[0], FARO_HASH_BYTES,
                 compare) != NULL;
}

size_t faro_roster_count(faro_roster *roster) {
  pthread_rwlock_rdlock(&roster->lock);
  const size_t count = roster->now.count;
  pthread_rwlock_unlock(&roster->lock);
  return count;
}
