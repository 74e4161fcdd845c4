/* counts: see the header. A client is in the first free slot from the place that a keyed hash of
 * its hash gives, so tokens cannot be made to meet at one place. */
#include "service/state/counts.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

struct faro_counts {
  faro_count *slot;
  unsigned char *taken; /* for each slot: whether it holds a client */
  size_t slots;
  size_t count;
  unsigned char key[crypto_shorthash_KEYBYTES];
};

static void release_memory(faro_counts *counts) {
  if (counts->slot) sodium_memzero(counts->slot, counts->slots * sizeof *counts->slot);
  free(counts->slot);
  free(counts->taken);
}

/* Makes a table of its own; on failure the counts stay as they are. */
static faro_status allocate(faro_counts *counts, size_t slots, faro_error *error) {
  faro_counts made = *counts;
  made.slots = slots;
  made.count = 0;
  made.slot = calloc(slots, sizeof *made.slot);
  made.taken = calloc(slots, 1);
  if (!made.slot || !made.taken) {
    free(made.slot);
    free(made.taken);
    return faro_fail(error, FARO_MEMORY, "cannot allocate the counts of %zu clients", slots / 4 * 3);
  }
  faro_counts_clear(&made); /* writes to all pages: those that are only promised would come one by one */
  *counts = made;
  return FARO_OK;
}

faro_status faro_counts_create(faro_counts **counts, size_t clients, faro_error *error) {
  faro_counts *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate counts");
  crypto_shorthash_keygen(made->key);
  const faro_status status = allocate(made, clients + clients / 3 + 16, error);
  if (status == FARO_OK) *counts = made;
  else free(made);
  return status;
}

void faro_counts_destroy(faro_counts *counts) {
  if (!counts) return;
  release_memory(counts);
  free(counts);
}

void faro_counts_clear(faro_counts *counts) {
  sodium_memzero(counts->slot, counts->slots * sizeof *counts->slot);
  sodium_memzero(counts->taken, counts->slots);
  counts->count = 0;
}

/* The client's slot, or the free one that it would take. */
static size_t place(const faro_counts *counts, const unsigned char *hash) {
  uint64_t start = 0;
  crypto_shorthash((unsigned char *)&start, hash, FARO_HASH_BYTES, counts->key);
  size_t i = (size_t)(start % counts->slots);
  while (counts->taken[i] && memcmp(counts->slot[i].hash, hash, FARO_HASH_BYTES) != 0)
    i = i + 1 < counts->slots ? i + 1 : 0;
  return i;
}

faro_count *faro_counts_find(const faro_counts *counts, const unsigned char hash[static FARO_HASH_BYTES]) {
  const size_t i = place(counts, hash);
  return counts->taken[i] ? &counts->slot[i] : NULL;
}

static void put(faro_counts *counts, const faro_count *count) {
  const size_t i = place(counts, count->hash);
  counts->slot[i] = *count;
  counts->taken[i] = 1;
  counts->count++;
}

static faro_status grow(faro_counts *counts, faro_error *error) {
  faro_counts old = *counts;
  const faro_status status = allocate(counts, 2 * old.slots, error);
  if (status != FARO_OK) return status;
  for (size_t i = 0; i < old.slots; i++)
    if (old.taken[i]) put(counts, &old.slot[i]);
  release_memory(&old);
  return FARO_OK;
}

faro_status faro_counts_enter(faro_counts *counts, const unsigned char hash[static FARO_HASH_BYTES],
                              faro_count **count, faro_error *error) {
  *count = faro_counts_find(counts, hash);
  if (*count) return FARO_OK;
  const bool full = 4 * (counts->count + 1) > 3 * counts->slots;
  const faro_status status = full ? grow(counts, error) : FARO_OK;
  if (status != FARO_OK) return status;
  faro_count fresh = {0};
  memcpy(fresh.hash, hash, FARO_HASH_BYTES);
  put(counts, &fresh);
  *count = faro_counts_find(counts, hash);
  return FARO_OK;
}
