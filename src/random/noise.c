/* noise: discrete Laplace and discrete Gaussian noise, and binomials of any rational bias, with
 * exactly the stated probabilities (Canonne, Kamath & Steinke 2020, Algorithms 1 to 3;
 * docs/privacy.md, Exact noise). There is no floating point here, so no rounding that an adversary
 * could read off the low bits (Mironov 2012). */
#include "base/abort.h"
#include "random/noise.h"
#include "random/samplers.h"

typedef unsigned __int128 wide;

static int bit_length(wide n) {
  const uint64_t high = (uint64_t)(n >> 64);
  if (high) return 128 - __builtin_clzll(high);
  return (uint64_t)n ? 64 - __builtin_clzll((uint64_t)n) : 0;
}

/* Uniform on 0 .. n-1. Beyond 64 bits it draws as many bits as n - 1 has, and again while too
 * large. */
static wide below(faro_rng *rng, wide n) {
  if (n <= UINT64_MAX) return faro_exact_below(rng, (uint64_t)n);
  const int spare = 128 - bit_length(n - 1);
  for (;;) {
    const wide high = (wide)faro_rng_next(rng) << 64;
    const wide value = (high | faro_rng_next(rng)) >> spare;
    if (value < n) return value;
  }
}

/* exp(-p/q) for p <= q (Algorithm 1): K is the first k for which a coin of bias p/(q k) fails, and
 * P(K > k) = (p/q)^k / k!, so P(K odd) = 1 - p/q + (p/q)^2/2! - ... The coin is a coin of 1/k and
 * one of p/q together, which keeps q k from overflowing. */
static bool exp_up_to_one(faro_rng *rng, wide p, wide q) {
  for (uint64_t k = 1;; k++) {
    const bool stays = (k == 1 || faro_exact_below(rng, k) == 0) && (p == q || below(rng, q) < p);
    if (!stays) return k % 2 == 1;
  }
}

/* exp(-p/q) = exp(-1)^floor(p/q) exp(-(p mod q)/q); stops at the first failure, however large p/q
 * is. */
static bool exp_of_wide(faro_rng *rng, wide p, wide q) {
  while (p > q) {
    if (!exp_up_to_one(rng, 1, 1)) return false;
    p -= q;
  }
  return exp_up_to_one(rng, p, q);
}

bool faro_exact_bernoulli_exp(faro_rng *rng, uint64_t p, uint64_t q) {
  FARO_INVARIANT(q > 0);
  return exp_of_wide(rng, p, q);
}

/* Algorithm 2 with t = num, s = den. X = U + t V has P(X) proportional to exp(-X/t), where U is the
 * remainder, accepted with probability exp(-U/t), and V is the geometric quotient. Then floor(X/s)
 * is geometric with ratio exp(-s/t). A random sign makes it two-sided; -0 is rejected so that 0 is
 * not counted twice. */
int64_t faro_exact_discrete_laplace(faro_rng *rng, uint64_t num, uint64_t den) {
  FARO_INVARIANT(num > 0 && den > 0 && num / den < UINT64_C(1) << 40);
  for (;;) {
    const uint64_t u = faro_exact_below(rng, num);
    if (!exp_up_to_one(rng, u, num)) continue;
    uint64_t v = 0;
    while (exp_up_to_one(rng, 1, 1)) v++;
    const wide y = (u + (wide)num * v) / den;
    FARO_INVARIANT(y <= INT64_MAX); /* fails with probability exp(-2^63 / 2^40) or less */
    const bool negative = faro_rng_next(rng) >> 63;
    if (negative && y == 0) continue;
    return negative ? -(int64_t)y : (int64_t)y;
  }
}

/* floor(sqrt(n)), n < 2^62: Newton's iteration from above decreases until it has converged. */
static uint64_t square_root(uint64_t n) {
  if (n == 0) return 0;
  uint64_t root = UINT64_C(1) << (bit_length(n) + 1) / 2;
  for (;;) {
    const uint64_t next = (root + n / root) / 2;
    if (next >= root) return root;
    root = next;
  }
}

/* Algorithm 3: Y from the discrete Laplace of scale t = floor(sigma) + 1, accepted with probability
 *
 *   exp(-(|Y| - sigma^2/t)^2 / (2 sigma^2)) = exp(-(|Y| t den - num)^2 / (2 num den t^2)).
 *
 * Since den t^2 <= 2^55, num <= 2^55 too, and 2 num den t^2 <= 2^111. */
int64_t faro_exact_discrete_gaussian(faro_rng *rng, uint64_t num, uint64_t den) {
  FARO_INVARIANT(num > 0 && den > 0 && num <= UINT64_C(1) << 55 && den <= UINT64_C(1) << 55);
  const uint64_t t = square_root(num / den) + 1;
  const wide area = (wide)den * t * t; /* < 2^55 * 2^56 */
  FARO_INVARIANT(area <= UINT64_C(1) << 55);
  for (;;) {
    const int64_t y = faro_exact_discrete_laplace(rng, t, 1);
    const wide scaled = (wide)(y < 0 ? -y : y) * t * den; /* < 2^63 * 2^55 */
    const wide gap = scaled > num ? scaled - num : num - scaled;
    FARO_INVARIANT(gap <= UINT64_MAX); /* else |Y| > 2^8 t, which has probability exp(-256) */
    if (exp_of_wide(rng, gap * gap, 2 * (wide)num * area)) return y;
  }
}

/* A trial succeeds when a uniform U, read bit by bit, is below p/q. If the bit of p/q is 1, the
 * trials that drew 0 have succeeded; if it is 0, those that drew 1 have failed. The others, about
 * half at every bit, stay undecided. The number of trials that drew 1 is Bin(undecided, 1/2),
 * counted on whole words. */
uint64_t faro_exact_binomial(faro_rng *rng, uint64_t n, uint64_t p, uint64_t q) {
  FARO_INVARIANT(q > 0 && p <= q);
  if (p == q) return n;
  uint64_t successes = 0;
  uint64_t rest = p; /* what remains of p/q is rest/q; if no bits remain, U is not below it */
  while (n > 0 && rest > 0) {
    const uint64_t ones = faro_exact_binomial_half(rng, n);
    const bool bit = rest >= q - rest; /* 2 rest >= q, without overflow */
    rest = bit ? rest - (q - rest) : rest + rest;
    if (bit) successes += n - ones;
    n = bit ? ones : n - ones;
  }
  return successes;
}
