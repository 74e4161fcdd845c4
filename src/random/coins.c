/* coins: Bin(2m, 1/2) by rejection, after Bringmann et al. 2014; docs/privacy.md, Exact noise.
 *
 *   q_k = P(m + k) / P(m) = prod_{i <= k} (m - i + 1) / (m + i)        the same for m - k
 *
 * The factors decrease, so with q_s <= 1/2 every further s of them at least halve q: q_k <= 2^-j
 * for k >= j s.
 *
 *   draw a block j with probability 2^-(j+1), a sign, and k in j s .. (j+1) s - 1;
 *   accept m +- k with probability q_k 2^j
 *
 * About half of all proposals are accepted. Whether a uniform U is below q_k 2^j is decided from as
 * many bits of both as are needed. Nearly always 64 bits of U are compared with q_k, whose error is
 * known. Otherwise, once in 2^63 times, long numbers are computed until the answer is certain. So
 * every probability is exact.
 *
 *   m  half   s  step   q  stored values, 127 bits */
#include "random/coins.h"

#include <string.h>

#include "base/abort.h"
#include "random/samplers.h"

typedef unsigned __int128 wide;

enum {
  FEW = 512, /* up to this many coins, tossing them is faster */
  KEPT_MAX = 1 << 16,
  BLOCKS = 8,    /* beyond these blocks q is computed when needed, once in 2^8 draws */
  SHIFT_MAX = 60 /* largest j for which 127 bits are tried */
};
static const uint64_t MANY = UINT64_C(1) << 31; /* factors fit 32 bits */

/* q_k from q_{k-1}, rounded down. An error of e units becomes one of at most e + 1. */
static wide times_factor(wide q, uint64_t m, uint64_t k) {
  const uint64_t factor = m - k + 1;
  const uint64_t divisor = m + k;
  const wide whole = q / divisor; /* q < 2^128 and factor < 2^31: in two parts, so that nothing overflows */
  const wide rest = q % divisor;
  return whole * factor + rest * factor / divisor;
}

/* s: the first k with q_k <= 1/2 for certain; 0 if it would be too large. */
static uint64_t find_step(uint64_t m) {
  wide q = (wide)1 << 127;
  for (uint64_t k = 1; k <= KEPT_MAX / BLOCKS && k <= m; k++) {
    q = times_factor(q, m, k);
    if (q + k + 1 <= (wide)1 << 126) return k;
  }
  return 0;
}

faro_status faro_coins_init(faro_coins *coins, faro_arena *arena, uint64_t n, faro_error *error) {
  faro_coins made = {.n = n, .half = n / 2};
  made.step = n >= FEW && n < MANY ? find_step(made.half) : 0;
  if (made.step > 0) {
    const uint64_t wanted = BLOCKS * made.step;
    made.kept = wanted <= made.half ? wanted : made.half + 1;
    made.q = faro_arena_alloc(arena, made.kept, sizeof *made.q, error);
    if (!made.q) return FARO_MEMORY;
    made.q[0] = (wide)1 << 127;
    for (uint64_t k = 1; k < made.kept; k++) made.q[k] = times_factor(made.q[k - 1], made.half, k);
  }
  *coins = made;
  return FARO_OK;
}

/* Long numbers: limb 0 is the integer part; each other limb holds 32 bits of the fraction, highest
 * first. */

enum { LIMBS = 66 };
typedef struct number {
  uint32_t limb[LIMBS];
} number;

static void multiply(number *x, uint32_t factor) {
  uint64_t carry = 0;
  for (int i = LIMBS; i-- > 0; carry >>= 32) {
    carry += (uint64_t)x->limb[i] * factor;
    x->limb[i] = (uint32_t)carry;
  }
}

static void divide(number *x, uint32_t divisor) {
  uint64_t rest = 0;
  for (int i = 0; i < LIMBS; i++) {
    rest = rest << 32 | x->limb[i];
    x->limb[i] = (uint32_t)(rest / divisor);
    rest %= divisor;
  }
}

/* x += value units of the last limb. */
static void increase(number *x, uint64_t value) {
  for (int i = LIMBS; i-- > 0 && value > 0; value >>= 32) {
    value += x->limb[i];
    x->limb[i] = (uint32_t)value;
  }
}

static int compare(const number *x, const number *y) {
  for (int i = 0; i < LIMBS; i++)
    if (x->limb[i] != y->limb[i]) return x->limb[i] < y->limb[i] ? -1 : 1;
  return 0;
}

/* Sets bit `place` after the point, counted from 1. */
static void set_bit(number *x, uint64_t place) {
  x->limb[1 + (place - 1) / 32] |= (uint32_t)1 << (31 - (place - 1) % 32);
}

/* Appends the bits of a word after `place` bits of the fraction. */
static void append(number *x, uint64_t place, uint64_t word) {
  for (int i = 0; i < 64; i++)
    if (word >> (63 - i) & 1) set_bit(x, place + 1 + (uint64_t)i);
}

/* Whether U 2^-j < q_k, where U begins with `word`: uses more and more bits of U until it is
 * decided. */
static bool below_by_long(const faro_coins *c, faro_rng *rng, uint64_t k, uint64_t j, uint64_t word) {
  number q = {{1}};
  for (uint64_t i = 1; i <= k; i++) {
    multiply(&q, (uint32_t)(c->half - i + 1));
    divide(&q, (uint32_t)(c->half + i));
  }
  number q_end = q; /* the true q_k lies between q and q_end */
  increase(&q_end, k + 1);
  number u = {{0}};
  for (uint64_t bits = j;; word = faro_rng_next(rng)) {
    FARO_INVARIANT(bits + 96 < (uint64_t)32 * (LIMBS - 1)); /* fails once in 2^1900 times */
    append(&u, bits, word);
    bits += 64;
    number u_end = u;
    number unit = {{0}};
    set_bit(&unit, bits);
    uint64_t carry = 0;
    for (int i = LIMBS; i-- > 0; carry >>= 32) {
      carry += (uint64_t)u_end.limb[i] + unit.limb[i];
      u_end.limb[i] = (uint32_t)carry;
    }
    if (compare(&u_end, &q) <= 0) return true;
    if (compare(&u, &q_end) >= 0) return false;
  }
}

/* Whether a uniform U is below q_k 2^j. */
static bool accept(const faro_coins *c, faro_rng *rng, uint64_t k, uint64_t j) {
  const uint64_t word = faro_rng_next(rng);
  if (c->refine || j > SHIFT_MAX) return below_by_long(c, rng, k, j, word);
  const uint64_t known = k < c->kept ? k : c->kept - 1;
  wide q = c->q[known];
  for (uint64_t i = known + 1; i <= k; i++) q = times_factor(q, c->half, i);
  const wide least = q << j;          /* at most 2^127 */
  const wide most = (q + k + 1) << j; /* k + 1 < 2^31 and j <= 60 */
  if (((wide)word + 1) << 63 <= least) return true;
  if ((wide)word << 63 >= most) return false;
  return below_by_long(c, rng, k, j, word);
}

/* Draws a sign and the number of tails before the first head. */
static uint64_t draw_block(faro_rng *rng, bool *sign) {
  uint64_t word = faro_rng_next(rng);
  *sign = word >> 63;
  word <<= 1;
  if (word != 0) return (uint64_t)__builtin_clzll(word);
  uint64_t j = 63;
  while ((word = faro_rng_next(rng)) == 0) j += 64;
  return j + (uint64_t)__builtin_clzll(word);
}

uint64_t faro_coins_draw(const faro_coins *coins, faro_rng *rng) {
  if (coins->kept == 0) return faro_exact_binomial_half(rng, coins->n);
  const uint64_t odd = coins->n % 2 ? faro_rng_next(rng) >> 63 : 0;
  for (;;) {
    bool sign = false;
    const uint64_t j = draw_block(rng, &sign);
    const uint64_t k = j * coins->step + faro_exact_below(rng, coins->step);
    if (k > coins->half || (sign && k == 0) || !accept(coins, rng, k, j)) continue;
    return odd + (sign ? coins->half - k : coins->half + k);
  }
}
