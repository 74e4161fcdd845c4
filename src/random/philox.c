/* philox: the streams for simulation. They are counter-based: seed, instance and role name a
 * stream, so nothing depends on the order of work. Responses draw their directions from them
 * too. */
#include <Random123/philox.h>
#include <string.h>

#include "random/stream_inner.h"

void faro_sim_open(faro_sim_rng *sim, uint64_t seed, uint64_t instance, faro_role role) {
  *sim = (faro_sim_rng){.rng = {.family = FARO_FAMILY_SIMULATION},
                        .key = {seed, UINT64_C(0x6661726f)},
                        .counter = {0, instance, (uint64_t)role, 0}};
}

void faro_sim_refill(faro_sim_rng *sim) {
  const philox4x64_key_t key = {{sim->key[0], sim->key[1]}};
  for (size_t i = 0; i < FARO_RNG_WORDS; i += 4) {
    const philox4x64_ctr_t counter = {{sim->counter[0]++, sim->counter[1], sim->counter[2], sim->counter[3]}};
    const philox4x64_ctr_t block = philox4x64(counter, key);
    memcpy(&sim->rng.word[i], block.v, sizeof block.v);
  }
  sim->rng.left = FARO_RNG_WORDS;
}

/* Blocks of words that are passed over as a whole are not made: only their counters pass. */
void faro_sim_skip(faro_sim_rng *sim, uint64_t n) {
  faro_rng *rng = &sim->rng;
  if (n > rng->left) {
    n -= rng->left;
    const uint64_t whole = (n - 1) / FARO_RNG_WORDS;
    sim->counter[0] += whole * (FARO_RNG_WORDS / 4);
    n -= whole * FARO_RNG_WORDS;
    faro_sim_refill(sim);
  }
  for (; n > 0; n--) rng->word[--rng->left] = 0;
}
