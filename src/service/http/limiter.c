/* limiter: see the header. The table has sets of four slots; the hash of a name says which set.
 *
 * A look at a name that adds nothing (amount 0) is free while no name is over the limit, which is
 * nearly always. */
#include "service/http/limiter.h"

#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"

enum { SETS = 1024, WAYS = 4 };

typedef struct slot {
  uint64_t name; /* its hash; 0: the slot is free */
  double level;  /* at the time `at` */
  double at;
} slot;

struct faro_limiter {
  double rate, burst;
  unsigned char key[crypto_shorthash_KEYBYTES];
  atomic_bool any; /* a name may be over the limit */
  pthread_mutex_t mutex;
  double until; /* under the mutex: then no name is over the limit any more */
  slot slot[SETS][WAYS];
};

faro_status faro_limiter_create(faro_limiter **limiter, double rate, double burst, faro_error *error) {
  faro_limiter *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate a limiter");
  made->rate = rate;
  made->burst = burst;
  crypto_shorthash_keygen(made->key);
  pthread_mutex_init(&made->mutex, NULL);
  *limiter = made;
  return FARO_OK;
}

void faro_limiter_destroy(faro_limiter *limiter) {
  if (!limiter) return;
  pthread_mutex_destroy(&limiter->mutex);
  free(limiter);
}

static double level_of(const faro_limiter *limiter, const slot *s, double now) {
  const double level = s->level - limiter->rate * (now - s->at);
  return level > 0 ? level : 0;
}

/* The slot of a name, or the one with the lowest level for it to take. */
static slot *find(faro_limiter *limiter, uint64_t name, double now) {
  slot *set = limiter->slot[name % SETS];
  slot *lowest = &set[0];
  for (size_t i = 0; i < WAYS; i++) {
    if (set[i].name == name) return &set[i];
    if (level_of(limiter, &set[i], now) < level_of(limiter, lowest, now)) lowest = &set[i];
  }
  return lowest;
}

/* Adds to a name. Call it under the mutex. */
static void add(faro_limiter *limiter, slot *s, const slot *added) {
  const double excess = added->level + 1 - limiter->burst;
  *s = *added;
  if (excess <= 0) return;
  const double until = added->at + excess / limiter->rate;
  if (until > limiter->until) limiter->until = until;
  atomic_store(&limiter->any, true);
}

bool faro_limiter_over(faro_limiter *limiter, const void *name, size_t length, double amount) {
  uint64_t hash = 0;
  if (amount <= 0 && !atomic_load(&limiter->any)) return false;
  const double now = faro_clock();
  crypto_shorthash((unsigned char *)&hash, name, length, limiter->key);
  hash |= 1; /* never 0 */
  pthread_mutex_lock(&limiter->mutex);
  slot *s = find(limiter, hash, now);
  const double level = s->name == hash ? level_of(limiter, s, now) : 0;
  const bool over = level + amount > limiter->burst || (amount <= 0 && level + 1 > limiter->burst);
  if (!over && amount > 0) add(limiter, s, &(slot){.name = hash, .level = level + amount, .at = now});
  if (now > limiter->until) atomic_store(&limiter->any, false);
  pthread_mutex_unlock(&limiter->mutex);
  return over;
}
