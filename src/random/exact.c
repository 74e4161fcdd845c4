/* exact: draws that use integers only. The probability of every outcome is exact, whatever
 * generator is behind the stream. */
#include <string.h>

#include "base/abort.h"
#include "random/samplers.h"

/* The high half of word * n is uniform on 0 .. n-1 once the few words that would favour some values
 * are rejected (Lemire 2019). There is no division in the common case. */
uint64_t faro_exact_below(faro_rng *rng, uint64_t n) {
  FARO_INVARIANT(n > 0);
  unsigned __int128 product = (unsigned __int128)faro_rng_next(rng) * n;
  if ((uint64_t)product < n) {
    const uint64_t threshold = -n % n; /* 2^64 mod n */
    while ((uint64_t)product < threshold) product = (unsigned __int128)faro_rng_next(rng) * n;
  }
  return (uint64_t)(product >> 64);
}

bool faro_exact_bernoulli(faro_rng *rng, uint64_t p, uint64_t q) {
  FARO_INVARIANT(p <= q);
  return faro_exact_below(rng, q) < p;
}

/* The number of ones among n independent bits of probability 2^-depth: the AND of `depth` words. */
static uint64_t count_ones(faro_rng *rng, uint64_t n, int depth) {
  uint64_t ones = 0;
  for (; n > 0; n -= n < 64 ? n : 64) {
    uint64_t word = faro_rng_next(rng);
    for (int i = 1; i < depth; i++) word &= faro_rng_next(rng);
    if (n < 64) word &= (UINT64_C(1) << n) - 1;
    ones += (uint64_t)__builtin_popcountll(word);
  }
  return ones;
}

uint64_t faro_exact_binomial_half(faro_rng *rng, uint64_t n) { return count_ones(rng, n, 1); }
uint64_t faro_exact_binomial_quarter(faro_rng *rng, uint64_t n) { return count_ones(rng, n, 2); }

static void swap(unsigned char *a, unsigned char *b, size_t size) {
  unsigned char scratch[256];
  while (size > 0) {
    const size_t part = size < sizeof scratch ? size : sizeof scratch;
    memcpy(scratch, a, part);
    memcpy(a, b, part);
    memcpy(b, scratch, part);
    a += part;
    b += part;
    size -= part;
  }
}

void faro_exact_shuffle(faro_rng *rng, void *items, size_t count, size_t size) {
  unsigned char *item = items;
  for (size_t i = count; i > 1; i--) {
    const size_t j = (size_t)faro_exact_below(rng, i);
    if (j != i - 1) swap(item + j * size, item + (i - 1) * size, size);
  }
}
