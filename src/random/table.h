/* table: binomial noise of any size in the time of two random words. Private to random/ and
 * release/.
 *
 * Counting N random bits is exact but takes N bits, and a node of a large sum may need millions.
 * Instead, a table of the outcomes within REACH standard deviations is made once, in floating
 * point. It holds whole numbers that add up to 2^128. From then on those numbers are the noise: a
 * draw only compares integers, so the low bits reveal nothing. How far the table's probabilities
 * are from the binomial ones is known: each by a factor of 1 +- FARO_TABLE_ERROR, plus the mass
 * beyond the table, below FARO_TABLE_MISSING. Data may shift the noise. The table reaches further
 * by that shift, so that almost no mass lies where a neighbour's shifted noise never is
 * (docs/privacy.md, Exact noise). */
#ifndef FARO_RANDOM_TABLE_H
#define FARO_RANDOM_TABLE_H

#include <faro/random.h>

#include "base/arena.h"

#define FARO_TABLE_ERROR 1e-12
#define FARO_TABLE_MISSING 1e-25

typedef struct faro_table {
  uint64_t first; /* outcome of column 0 */
  int columns;    /* log2 of their number */
  struct faro_table_column {
    unsigned __int128 own; /* units of the column's own outcome, of 2^(128 - columns) */
    uint64_t other;        /* column whose outcome has the rest */
  } * column;
} faro_table;

/* Bin(n, p), which data shift by up to `shift`; 0.01 <= p <= 0.99, n >= 1. FARO_INVALID if the
 * table would be too large (a standard deviation above about 10^5). */
faro_status faro_table_init(faro_table *table, faro_arena *arena, uint64_t n, double p, uint64_t shift,
                            faro_error *error) FARO_WARN_UNUSED;
/* By what share a probability of this table may be wrong, at most FARO_TABLE_ERROR: fewer columns
 * take fewer roundings. */
double faro_table_error(const faro_table *table);
uint64_t faro_table_draw(const faro_table *table, faro_rng *rng);

#endif
