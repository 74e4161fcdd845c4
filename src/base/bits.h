/* bits: bits of a stream in words, bit i in word i / 64 from its lowest bit on. */
#ifndef FARO_BASE_BITS_H
#define FARO_BASE_BITS_H

#include <stddef.h>
#include <stdint.h>

static inline unsigned faro_bit(const uint64_t *bits, uint64_t i) { return bits[i / 64] >> (i % 64) & 1; }

/* Without the processor's instruction, which not every one has. */
static inline unsigned faro_ones_of(uint64_t word) {
  word -= word >> 1 & UINT64_C(0x5555555555555555);
  word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
  word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
  return (unsigned)(word * UINT64_C(0x0101010101010101) >> 56);
}

/* The lowest `count` bits, at most 64. */
static inline uint64_t faro_low_bits(uint64_t word, uint64_t count) {
  return count < 64 ? word & ((UINT64_C(1) << count) - 1) : word;
}

/* How many of `count` bits from bit `from` on are ones. */
static inline uint64_t faro_ones(const uint64_t *bits, uint64_t from, uint64_t count) {
  uint64_t ones = 0;
  if (from % 64 + count <= 64 && count > 0)
    return faro_ones_of(faro_low_bits(bits[from / 64] >> from % 64, count));
  while (count > 0) {
    const uint64_t here = count < 64 - from % 64 ? count : 64 - from % 64;
    ones += faro_ones_of(faro_low_bits(bits[from / 64] >> (from % 64), here));
    from += here;
    count -= here;
  }
  return ones;
}

#endif
