/* rounding: adding 32 random bits to a number in 2^-32 fixed point before dropping the fraction
 * rounds it up with exactly the probability of the fraction. In simulation, AVX-512 rounds eight
 * entries together, from the words that the plain loop would give them. */
#include "release/rounding.h"

void faro_plain_round(faro_rng *rng, const faro_grid_of_steps *grid, const double *z, uint64_t *ones,
                      size_t length) {
  for (size_t i = 0; i < length; i += 2) {
    const uint64_t word = faro_rng_next(rng);
    ones[i] += (faro_fixed_point(grid, z[i]) + (word & UINT32_MAX)) >> 32;
    if (i + 1 < length) ones[i + 1] += (faro_fixed_point(grid, z[i + 1]) + (word >> 32)) >> 32;
  }
}

#ifdef __x86_64__

#include <immintrin.h>

enum { LANES = 8 };

__attribute__((target("avx512f,avx512dq,avx512vl"))) static void
wide_round(faro_rng *rng, const faro_grid_of_steps *grid, const double *z, uint64_t *ones, size_t length) {
  const __m512d entry = _mm512_set1_pd(grid->entry);
  const __m512d scale = _mm512_set1_pd(0x1p32 / grid->step);
  const __m512d most = _mm512_set1_pd(0x1p32 * (double)grid->steps);
  for (size_t i = 0; i < length;) {
    if (rng->left == 0) faro_rng_refill(rng);
    size_t count = length - i < LANES ? length - i : LANES;
    if (count > 2 * (size_t)rng->left) count = 2 * (size_t)rng->left;
    const unsigned words = (unsigned)(count + 1) / 2;
    rng->left -= words;
    const __m512i turned =
        _mm512_sub_epi64(_mm512_set1_epi64((int64_t)words - 1),
                         _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7)); /* the last word first */
    const __m512i word = _mm512_permutexvar_epi64(
        turned, _mm512_maskz_loadu_epi64((__mmask8)((1U << words) - 1), rng->word + rng->left));
    const __m512i random = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(word));
    const __mmask8 there = (__mmask8)((1U << count) - 1);
    __m512d steps = _mm512_mul_pd(_mm512_add_pd(_mm512_maskz_loadu_pd(there, z + i), entry), scale);
    steps = _mm512_min_pd(_mm512_max_pd(steps, _mm512_setzero_pd()), most); /* max of NaN and 0 is 0 */
    const __m512i up = _mm512_srli_epi64(_mm512_add_epi64(_mm512_cvttpd_epi64(steps), random), 32);
    _mm512_mask_storeu_epi64(ones + i, there,
                             _mm512_add_epi64(_mm512_maskz_loadu_epi64(there, ones + i), up));
    i += count;
  }
}

void faro_sim_round(faro_sim_rng *sim, const faro_grid_of_steps *grid, const double *z, uint64_t *ones,
                    size_t length) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    wide_round(&sim->rng, grid, z, ones, length);
  else faro_plain_round(&sim->rng, grid, z, ones, length);
}

#else

void faro_sim_round(faro_sim_rng *sim, const faro_grid_of_steps *grid, const double *z, uint64_t *ones,
                    size_t length) {
  faro_plain_round(&sim->rng, grid, z, ones, length);
}

#endif
