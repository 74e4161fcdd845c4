/* philox: the streams for simulation. They are counter-based: seed, instance and role name a
 * stream, so nothing depends on the order of work. Responses draw their directions from them
 * too.
 *
 * Philox 4x64-10 (Salmon et al. 2011): a block of four words is a permutation of its counter, ten
 * rounds of two products of 64 by 64 bits. With AVX-512 the blocks of a buffer are computed in
 * lanes, eight to a vector, and the words are those of the plain function. Lanes of AVX2 are not
 * worth it: each product would be made of four smaller ones, and processors multiply whole words as
 * fast. */
#include <Random123/philox.h>
#include <string.h>

#include "random/stream_inner.h"

enum { BLOCK = 4, BLOCKS = FARO_RNG_WORDS / BLOCK };
static const uint64_t TAG = 0x6661726f; /* "faro" */

void faro_sim_open(faro_sim_rng *sim, uint64_t seed, uint64_t instance, faro_role role) {
  *sim = (faro_sim_rng){.rng = {.family = FARO_FAMILY_SIMULATION},
                        .key = {seed, TAG},
                        .counter = {0, instance, (uint64_t)role, 0}};
}

void faro_plain_philox(const uint64_t counter[4], const uint64_t key[2], uint64_t *word) {
  const philox4x64_key_t k = {{key[0], key[1]}};
  for (size_t i = 0; i < BLOCKS; i++) {
    const philox4x64_ctr_t c = {{counter[0] + i, counter[1], counter[2], counter[3]}};
    const philox4x64_ctr_t block = philox4x64(c, k);
    memcpy(word + i * BLOCK, block.v, sizeof block.v);
  }
}

/* A buffer is handed out from its end: so its last block comes first, and of that the last word.
 * The first of the two blocks that hold draws 8 b .. 8 b + 7, and the one before it: */
static uint64_t block_of(uint64_t b) {
  enum { PAIRS = BLOCKS / 2 };
  return b / PAIRS * BLOCKS + BLOCKS - 1 - 2 * (b % PAIRS);
}

void faro_plain_abreast(uint64_t seed, uint64_t instance, faro_role role, uint64_t b, uint64_t *word) {
  const philox4x64_key_t key = {{seed, TAG}};
  for (size_t k = 0; k < FARO_ABREAST; k++)
    for (size_t i = 0; i < 2 * BLOCK; i += BLOCK) {
      const philox4x64_ctr_t c = {{block_of(b) - i / BLOCK, instance + k, (uint64_t)role, 0}};
      const philox4x64_ctr_t block = philox4x64(c, key);
      for (size_t w = 0; w < BLOCK; w++) word[FARO_ABREAST * (i + w) + k] = block.v[BLOCK - 1 - w];
    }
}

#ifdef __x86_64__

#include <immintrin.h>

#define WIDE __attribute__((target("avx512f,avx512dq,avx512vl")))
enum { LANES = 8, GROUPS = BLOCKS / LANES, ROUNDS = 10 };

typedef struct lanes {
  __m512i x[BLOCK]; /* word i of each of eight blocks */
} lanes;

/* The product of every lane and a constant, in four of 32 by 32 bits; returns its high half. */
WIDE static inline __m512i multiply(__m512i a, uint64_t constant, __m512i *low) {
  const __m512i half = _mm512_set1_epi64(UINT32_MAX);
  const __m512i m0 = _mm512_set1_epi64((int64_t)(constant & UINT32_MAX));
  const __m512i m1 = _mm512_set1_epi64((int64_t)(constant >> 32));
  const __m512i top = _mm512_srli_epi64(a, 32);
  const __m512i p00 = _mm512_mul_epu32(a, m0);
  const __m512i p10 = _mm512_mul_epu32(top, m0);
  const __m512i p01 = _mm512_add_epi64(_mm512_mul_epu32(a, m1), _mm512_srli_epi64(p00, 32));
  const __m512i p11 = _mm512_add_epi64(_mm512_mul_epu32(top, m1), _mm512_srli_epi64(p01, 32));
  const __m512i middle = _mm512_add_epi64(p10, _mm512_and_si512(p01, half)); /* nothing overflows */
  *low = _mm512_mask_blend_epi32(0x5555, _mm512_slli_epi64(middle, 32), p00);
  return _mm512_add_epi64(p11, _mm512_srli_epi64(middle, 32));
}

WIDE static inline void turn(lanes *g, uint64_t k0, uint64_t k1) {
  enum { XOR = 0x96 }; /* of three */
  __m512i low0;
  __m512i low1;
  const __m512i high0 = multiply(g->x[0], PHILOX_M4x64_0, &low0);
  const __m512i high1 = multiply(g->x[2], PHILOX_M4x64_1, &low1);
  g->x[0] = _mm512_ternarylogic_epi64(high1, g->x[1], _mm512_set1_epi64((int64_t)k0), XOR);
  g->x[2] = _mm512_ternarylogic_epi64(high0, g->x[3], _mm512_set1_epi64((int64_t)k1), XOR);
  g->x[1] = low1;
  g->x[3] = low0;
}

/* Blocks one after another: a transposition. */
WIDE static inline void store(const lanes *g, uint64_t *word) {
  const __m512i front = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i back = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  const __m512i even01 = _mm512_unpacklo_epi64(g->x[0], g->x[1]); /* words 0, 1 of blocks 0, 2, 4, 6 */
  const __m512i odd01 = _mm512_unpackhi_epi64(g->x[0], g->x[1]);
  const __m512i even23 = _mm512_unpacklo_epi64(g->x[2], g->x[3]);
  const __m512i odd23 = _mm512_unpackhi_epi64(g->x[2], g->x[3]);
  const __m512i even[2] = {_mm512_permutex2var_epi64(even01, front, even23),
                           _mm512_permutex2var_epi64(even01, back, even23)};
  const __m512i odd[2] = {_mm512_permutex2var_epi64(odd01, front, odd23),
                          _mm512_permutex2var_epi64(odd01, back, odd23)};
  for (size_t i = 0; i < 2; i++) {
    _mm512_storeu_si512(word + 16 * i, _mm512_shuffle_i64x2(even[i], odd[i], 0x44));
    _mm512_storeu_si512(word + 16 * i + 8, _mm512_shuffle_i64x2(even[i], odd[i], 0xee));
  }
}

/* Both groups in step: one multiplies while the other waits for its products. */
WIDE static inline void turn_all(lanes group[GROUPS], uint64_t k0, uint64_t k1) {
  for (int round = 0; round < ROUNDS; round++, k0 += PHILOX_W64_0, k1 += PHILOX_W64_1)
    for (size_t i = 0; i < GROUPS; i++) turn(&group[i], k0, k1);
}

WIDE static void wide_philox(const uint64_t counter[4], const uint64_t key[2], uint64_t *word) {
  lanes group[GROUPS];
  for (size_t i = 0; i < GROUPS; i++) {
    const __m512i step = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    group[i].x[0] = _mm512_add_epi64(_mm512_set1_epi64((int64_t)(counter[0] + LANES * i)), step);
    for (size_t k = 1; k < BLOCK; k++) group[i].x[k] = _mm512_set1_epi64((int64_t)counter[k]);
  }
  turn_all(group, key[0], key[1]);
  for (size_t i = 0; i < GROUPS; i++) store(&group[i], word + LANES * BLOCK * i);
}

WIDE static void wide_abreast(uint64_t seed, uint64_t instance, faro_role role, uint64_t b, uint64_t *word) {
  lanes group[GROUPS];
  const __m512i step = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
  for (size_t i = 0; i < GROUPS; i++) {
    group[i].x[0] = _mm512_set1_epi64((int64_t)(block_of(b) - i));
    group[i].x[1] = _mm512_add_epi64(_mm512_set1_epi64((int64_t)instance), step);
    group[i].x[2] = _mm512_set1_epi64((int64_t)role);
    group[i].x[3] = _mm512_setzero_si512();
  }
  turn_all(group, seed, TAG);
  for (size_t i = 0; i < GROUPS; i++)
    for (size_t w = 0; w < BLOCK; w++)
      _mm512_storeu_si512(word + LANES * (BLOCK * i + w), group[i].x[BLOCK - 1 - w]);
}

static bool has_lanes(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

void faro_philox_abreast(uint64_t seed, uint64_t instance, faro_role role, uint64_t b, uint64_t *word) {
  if (has_lanes()) wide_abreast(seed, instance, role, b, word);
  else faro_plain_abreast(seed, instance, role, b, word);
}

void faro_sim_refill(faro_sim_rng *sim) {
  if (has_lanes()) wide_philox(sim->counter, sim->key, sim->rng.word);
  else faro_plain_philox(sim->counter, sim->key, sim->rng.word);
  sim->counter[0] += BLOCKS;
  sim->rng.left = FARO_RNG_WORDS;
}

#else

void faro_philox_abreast(uint64_t seed, uint64_t instance, faro_role role, uint64_t b, uint64_t *word) {
  faro_plain_abreast(seed, instance, role, b, word);
}

void faro_sim_refill(faro_sim_rng *sim) {
  faro_plain_philox(sim->counter, sim->key, sim->rng.word);
  sim->counter[0] += BLOCKS;
  sim->rng.left = FARO_RNG_WORDS;
}

#endif

/* Blocks of words that are passed over as a whole are not made: only their counters pass. */
void faro_sim_skip(faro_sim_rng *sim, uint64_t n) {
  faro_rng *rng = &sim->rng;
  if (n > rng->left) {
    n -= rng->left;
    const uint64_t whole = (n - 1) / FARO_RNG_WORDS;
    sim->counter[0] += whole * BLOCKS;
    n -= whole * FARO_RNG_WORDS;
    faro_sim_refill(sim);
  }
  for (; n > 0; n--) rng->word[--rng->left] = 0;
}
