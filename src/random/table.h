/* table: binomial noise of any size in the time of two random words. Private to random/ and release/.
 *
 * Counting N random bits is exact but takes N bits; a node of a large sum may need millions. A table of the outcomes
 * within REACH standard deviations is made once, in floating point, and holds whole numbers that add up to 2^128. From
 * then on those numbers are the noise: a draw compares integers, nothing else, so no low bits tell anything, and what
 * the table's probabilities miss of the binomial ones is known: a factor of 1 +- FARO_TABLE_ERROR each, and the mass
 * beyond the table, below FARO_TABLE_MISSING. Data may shift the noise; so that almost nothing of it falls where the
 * shifted noise of a neighbour never is, the table reaches further by that shift. */
#ifndef FARO_RANDOM_TABLE_H
#define FARO_RANDOM_TABLE_H

#include <faro/random.h>

#include "base/arena.h"

#define FARO_TABLE_ERROR 1e-12
#define FARO_TABLE_MISSING 1e-25

typedef struct faro_table {
  uint64_t first; /* the outcome of column 0 */
  int columns;    /* log2 of how many */
  struct faro_table_column {
    unsigned __int128 own; /* of 2^(128 - columns): how much of the column is its own outcome's */
    uint64_t other;        /* the column whose outcome has the rest */
  } * column;
} faro_table;

/* Bin(n, p) that data shift by up to `shift`; 0.01 <= p <= 0.99, n >= 1. FARO_INVALID when the table would be too large (a standard deviation above about 10^5). */
faro_status faro_table_init(faro_table *table, faro_arena *arena, uint64_t n, double p, uint64_t shift,
                            faro_error *error) FARO_WARN_UNUSED;
uint64_t faro_table_draw(const faro_table *table, faro_rng *rng);

#endif
