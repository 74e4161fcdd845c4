/* stream: the two families behind faro_rng.
 *
 * A secure stream lives in pages of its own that the kernel zeroes in a forked child (WIPEONFORK)
 * and leaves out of core dumps. A zeroed stream has no words left and family KEY_ME, so the child's
 * first draw keys it afresh: no state of its own is needed to notice the fork. */
#include <faro/random.h>

#include <Random123/philox.h>
#include <sodium.h>
#include <string.h>
#include <sys/mman.h>

#include "base/abort.h"

enum { KEY_ME = 0, SECURE = 1, SIMULATION = 2 };

struct faro_secure_rng {
  faro_rng rng; /* first member: faro_rng_refill finds the whole from it */
  unsigned char key[crypto_stream_chacha20_ietf_KEYBYTES];
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
}

/* Fast key erasure: one run of the cipher makes the next key and the words; the old key is gone. */
static void refill_secure(faro_secure_rng *secure) {
  if (secure->rng.family == KEY_ME) {
    randombytes_buf(secure->key, sizeof secure->key);
    secure->rng.family = SECURE;
  }
  static const unsigned char nonce[crypto_stream_chacha20_ietf_NONCEBYTES];
  unsigned char out[sizeof secure->key + sizeof secure->rng.word];
  crypto_stream_chacha20_ietf(out, sizeof out, nonce, secure->key);
  memcpy(secure->key, out, sizeof secure->key);
  memcpy(secure->rng.word, out + sizeof secure->key, sizeof secure->rng.word);
  sodium_memzero(out, sizeof out);
}

void faro_rng_refill(faro_rng *rng) {
  if (rng->family == SIMULATION) refill_sim((faro_sim_rng *)(void *)rng);
  else if (rng->family <= SECURE) refill_secure((faro_secure_rng *)(void *)rng);
  else faro_abort("a random stream that was never opened");
  rng->left = FARO_RNG_WORDS;
}

faro_status faro_secure_open(faro_secure_rng **secure, faro_error *error) {
  if (sodium_init() < 0) return faro_fail(error, FARO_SYSTEM, "libsodium cannot start");
  const size_t bytes = sizeof(faro_secure_rng);
  void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return faro_fail(error, FARO_MEMORY, "cannot map a secure stream");
  if (madvise(pages, bytes, MADV_WIPEONFORK) != 0 || madvise(pages, bytes, MADV_DONTDUMP) != 0) {
    munmap(pages, bytes);
    return faro_fail(error, FARO_SYSTEM, "this kernel cannot wipe secrets on fork (Linux 4.14 can)");
  }
  *secure = pages;
  return FARO_OK;
}

void faro_secure_close(faro_secure_rng *secure) {
  if (!secure) return;
  sodium_memzero(secure, sizeof *secure);
  munmap(secure, sizeof *secure);
}

faro_rng *faro_secure_face(faro_secure_rng *secure) { return &secure->rng; }
