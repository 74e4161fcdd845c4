/* stream: the two families of streams behind faro_rng.
 *
 * A secure stream hands out one word at a time from a pool. The pool is in pages of its own, which
 * the kernel zeroes in a forked child (WIPEONFORK) and leaves out of core dumps. A zeroed pool is
 * keyed afresh, so a child never draws what its parent draws. Nothing else is needed to notice the
 * fork. */
#include <faro/random.h>

#include <Random123/philox.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/abort.h"

enum { SECURE = 1, SIMULATION = 2 }; /* 0: never opened */

typedef struct pool {
  uint64_t word[FARO_RNG_WORDS];
  unsigned char key[crypto_stream_chacha20_ietf_KEYBYTES];
  uint32_t left, keyed;
} pool;

struct faro_secure_rng {
  faro_rng rng; /* first member: faro_rng_refill finds the whole from it */
  pool *pool;
};

void faro_sim_open(faro_sim_rng *sim, uint64_t seed, uint64_t instance, faro_role role) {
  *sim = (faro_sim_rng){.rng = {.family = SIMULATION},
                        .key = {seed, UINT64_C(0x6661726f)},
                        .counter = {0, instance, (uint64_t)role, 0}};
}

static void refill_sim(faro_sim_rng *sim) {
  const philox4x64_key_t key = {{sim->key[0], sim->key[1]}};
  for (size_t i = 0; i < FARO_RNG_WORDS; i += 4) {
    const philox4x64_ctr_t counter = {{sim->counter[0]++, sim->counter[1], sim->counter[2], sim->counter[3]}};
    const philox4x64_ctr_t block = philox4x64(counter, key);
    memcpy(&sim->rng.word[i], block.v, sizeof block.v);
  }
  sim->rng.left = FARO_RNG_WORDS;
}

/* Fast key erasure: one run of the cipher makes the next key and the words; the old key is
 * overwritten. */
static void refill_pool(pool *p) {
  static const unsigned char nonce[crypto_stream_chacha20_ietf_NONCEBYTES];
  unsigned char out[sizeof p->key + sizeof p->word];
  if (!p->keyed) randombytes_buf(p->key, sizeof p->key);
  crypto_stream_chacha20_ietf(out, sizeof out, nonce, p->key);
  memcpy(p->key, out, sizeof p->key);
  memcpy(p->word, out + sizeof p->key, sizeof p->word);
  sodium_memzero(out, sizeof out);
  p->keyed = 1;
  p->left = FARO_RNG_WORDS;
}

/* One word, which the caller takes at once: no word waits outside the pool, where a fork would copy
 * it. */
static void refill_secure(faro_secure_rng *secure) {
  pool *p = secure->pool;
  if (p->left == 0) refill_pool(p);
  secure->rng.word[0] = p->word[--p->left];
  p->word[p->left] = 0;
  secure->rng.left = 1;
}

void faro_rng_refill(faro_rng *rng) {
  if (rng->family == SIMULATION) refill_sim((faro_sim_rng *)(void *)rng);
  else if (rng->family == SECURE) refill_secure((faro_secure_rng *)(void *)rng);
  else faro_abort("a random stream was used before it was opened");
}

static pool *map_pool(faro_error *error) {
  void *pages = mmap(NULL, sizeof(pool), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    (void)faro_fail(error, FARO_MEMORY, "cannot map a secure stream");
    return NULL;
  }
  if (madvise(pages, sizeof(pool), MADV_WIPEONFORK) == 0 && madvise(pages, sizeof(pool), MADV_DONTDUMP) == 0)
    return pages;
  munmap(pages, sizeof(pool));
  (void)faro_fail(error, FARO_SYSTEM,
                  "this kernel cannot wipe memory on fork; Linux 4.14 or later is required");
  return NULL;
}

faro_status faro_secure_open(faro_secure_rng **secure, faro_error *error) {
  if (sodium_init() < 0) return faro_fail(error, FARO_SYSTEM, "libsodium cannot start");
  faro_secure_rng *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot open a secure stream");
  made->rng.family = SECURE;
  made->pool = map_pool(error);
  if (!made->pool) {
    free(made);
    return FARO_SYSTEM;
  }
  *secure = made;
  return FARO_OK;
}

void faro_secure_close(faro_secure_rng *secure) {
  if (!secure) return;
  sodium_memzero(secure->pool, sizeof *secure->pool);
  munmap(secure->pool, sizeof *secure->pool);
  free(secure);
}

faro_rng *faro_secure_face(faro_secure_rng *secure) { return &secure->rng; }

faro_source faro_source_none(void) { return (faro_source){.use = FARO_USE_NONE}; }

faro_source faro_source_simulated(faro_sim_rng *sim) {
  return (faro_source){.use = FARO_USE_SIMULATED, .sim = sim};
}

faro_source faro_source_client(faro_secure_rng *secure) {
  return (faro_source){.use = FARO_USE_CLIENT, .secure = secure};
}

faro_source faro_source_server(faro_secure_rng *secure) {
  return (faro_source){.use = FARO_USE_SERVER, .secure = secure};
}

faro_source faro_source_all_parties(faro_secure_rng *secure) {
  return (faro_source){.use = FARO_USE_ALL_PARTIES, .secure = secure};
}
