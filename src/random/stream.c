/* stream: the two families of streams behind faro_rng.
 *
 * A secure stream hands out one word at a time from a pool, which is wiped in a forked child
 * (stream_inner.h). */
#include <faro/random.h>

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/abort.h"
#include "random/stream_inner.h"

struct faro_secure_rng {
  faro_rng rng; /* first member: faro_rng_refill finds the whole from it */
  faro_pool *pool;
};

/* Fast key erasure: one run of the cipher makes the next key and the words; the old key is
 * overwritten. */
static void refill_pool(faro_pool *p) {
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
  faro_pool *p = secure->pool;
  if (p->left == 0) refill_pool(p);
  secure->rng.word[0] = p->word[--p->left];
  p->word[p->left] = 0;
  secure->rng.left = 1;
}

void faro_rng_refill(faro_rng *rng) {
  if (rng->family == FARO_FAMILY_SIMULATION) faro_sim_refill((faro_sim_rng *)(void *)rng);
  else if (rng->family == FARO_FAMILY_SECURE) refill_secure((faro_secure_rng *)(void *)rng);
  else faro_abort("a random stream was used before it was opened");
}

faro_status faro_secure_open(faro_secure_rng **secure, faro_error *error) {
  if (sodium_init() < 0) return faro_fail(error, FARO_SYSTEM, "libsodium cannot start");
  faro_secure_rng *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot open a secure stream");
  made->rng.family = FARO_FAMILY_SECURE;
  made->pool = faro_pool_create(error);
  if (!made->pool) {
    free(made);
    return FARO_SYSTEM;
  }
  *secure = made;
  return FARO_OK;
}

void faro_secure_close(faro_secure_rng *secure) {
  if (!secure) return;
  faro_pool_destroy(secure->pool);
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
