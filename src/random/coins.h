/* coins: the number of heads among n fair coins, exactly, in the time of a few random words.
 * Private to random/ and release/. */
#ifndef FARO_RANDOM_COINS_H
#define FARO_RANDOM_COINS_H

#include <faro/random.h>

#include "base/arena.h"

typedef struct faro_coins {
  uint64_t n, half, step; /* m = n / 2 rounded down; s: see coins.c */
  uint64_t kept;          /* number of stored q; 0: coins are tossed one by one */
  unsigned __int128 *q;   /* q_0, q_1, ... in units of 2^-127, rounded down */
  bool refine;            /* for tests: always decide by long numbers */
} faro_coins;

/* Coins are tossed one by one if there are few, or if the table would exceed a megabyte. */
faro_status faro_coins_init(faro_coins *coins, faro_arena *arena, uint64_t n,
                            faro_error *error) FARO_WARN_UNUSED;
uint64_t faro_coins_draw(const faro_coins *coins, faro_rng *rng);

#endif
