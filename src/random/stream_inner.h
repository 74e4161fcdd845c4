/* stream_inner: what the files of the streams share. stream.c tells the families apart, philox.c is
 * the one for simulation, and a pool holds what a secure stream hands out next. */
#ifndef FARO_RANDOM_STREAM_INNER_H
#define FARO_RANDOM_STREAM_INNER_H

#include <faro/random.h>
#include <sodium.h>

#include "random/samplers.h"

enum { FARO_FAMILY_SECURE = 1, FARO_FAMILY_SIMULATION = 2 }; /* 0: never opened */

void faro_sim_refill(faro_sim_rng *sim);
/* The words of FARO_RNG_WORDS / 4 blocks from `counter` on, in plain C: the oracle of the lanes. */
void faro_plain_philox(const uint64_t counter[4], const uint64_t key[2], uint64_t *word);

/* Eight streams side by side, of this instance and the seven after it: of their draws 8 b .. 8 b +
 * 7, draw i of stream k is word[8 i + k]. */
void faro_philox_abreast(uint64_t seed, uint64_t instance, faro_role role, uint64_t b, uint64_t *word);
/* The same in plain C: its oracle. */
void faro_plain_abreast(uint64_t seed, uint64_t instance, faro_role role, uint64_t b, uint64_t *word);

typedef struct faro_pool {
  uint64_t word[FARO_RNG_WORDS];
  unsigned char key[crypto_stream_chacha20_ietf_KEYBYTES];
  uint32_t left, keyed;
} faro_pool;

/* Memory for a pool, zeroed. It must be zeroed in a forked child too: a zeroed pool is keyed
 * afresh, so a child never draws what its parent draws. pool_linux.c asks the kernel for it. */
faro_pool *faro_pool_create(faro_error *error);
void faro_pool_destroy(faro_pool *pool); /* wiped */

#endif
