/* roster: see the header. A new array is made aside, so those who look wait for an exchange of
 * pointers only. */
#include "service/state/roster.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct faro_roster {
  pthread_rwlock_t lock;
  unsigned char *hashes; /* sorted, each once */
  size_t count;
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
  free(roster->hashes);
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

faro_status faro_roster_reload(faro_roster *roster, const char *path, faro_error *error) {
  unsigned char *hashes = NULL;
  size_t count = 0;
  const faro_status status = faro_hashes_load(path, &hashes, &count, error);
  if (status != FARO_OK) return status;
  if (roster->collectors > 0) count = select_own(roster, hashes, count);
  pthread_rwlock_wrlock(&roster->lock);
  unsigned char *before = roster->hashes;
  roster->hashes = hashes;
  roster->count = count;
  pthread_rwlock_unlock(&roster->lock);
  free(before);
  return FARO_OK;
}

static int compare(const void *a, const void *b) { return memcmp(a, b, FARO_HASH_BYTES); }

bool faro_roster_holds(faro_roster *roster, const unsigned char hash[static FARO_HASH_BYTES]) {
  pthread_rwlock_rdlock(&roster->lock);
  const bool held = bsearch(hash, roster->hashes, roster->count, FARO_HASH_BYTES, compare) != NULL;
  pthread_rwlock_unlock(&roster->lock);
  return held;
}

size_t faro_roster_count(faro_roster *roster) {
  pthread_rwlock_rdlock(&roster->lock);
  const size_t count = roster->count;
  pthread_rwlock_unlock(&roster->lock);
  return count;
}
