/* table: Walker's alias method over integers (Vose 1991); see table.h, and docs/privacy.md, Exact
 * noise. Every column holds 2^(128 - columns) units, some for its own outcome and the rest for one
 * other. The first bits of a uniform 128-bit number pick a column, and the other bits pick one of
 * its units. */
#include "random/table.h"

#include <math.h>

#include "base/abort.h"

typedef unsigned __int128 wide;

enum { COLUMNS_MAX = 22 };
static const double REACH = 11; /* standard deviations: exp(-11^2 / 2) is 5e-27 */

/* Finds the outcomes first .. first + count - 1 that are within reach. */
static void span(uint64_t n, double p, double shift, uint64_t *first, uint64_t *count) {
  const double mean = (double)n * p;
  /* the second term: for few expected ones */
  const double reach = REACH * sqrt(mean * (1 - p)) + REACH * REACH + shift;
  const double low = floor(fmax(0, mean - reach));
  const double high = ceil(fmin((double)n, mean + reach));
  *first = (uint64_t)low;
  *count = (uint64_t)(high - low) + 1;
}

/* share[i] = P(first + i) / P(mode), from the ratios of adjacent outcomes; returns their sum. */
static long double compare(uint64_t n, double p, uint64_t first, uint64_t count, long double *share) {
  const uint64_t mode = (uint64_t)fmin(floor((double)(n + 1) * p), (double)n) - first;
  const long double odds = (long double)p / (1 - (long double)p);
  share[mode] = 1;
  for (uint64_t i = mode + 1; i < count; i++) { /* P(k) = P(k-1) (n-k+1)/k odds */
    const long double k = (long double)(first + i);
    share[i] = share[i - 1] * (((long double)n - k + 1) / k * odds);
  }
  for (uint64_t i = mode; i-- > 0;) { /* P(k) = P(k+1) (k+1)/(n-k) / odds */
    const long double k = (long double)(first + i);
    share[i] = share[i + 1] * ((k + 1) / ((long double)n - k) / odds);
  }
  long double sum = 0;
  for (uint64_t i = 0; i < count; i++) sum += share[i];
  return sum;
}

/* weight[i] = share[i] / sum 2^128, in whole numbers that add up to 2^128. What rounding leaves
 * over is spread in the same proportions, and the few units that remain go to the largest. */
static void weigh(uint64_t count, const long double *share, long double sum, wide *weight) {
  wide total = 0;
  uint64_t largest = 0;
  for (uint64_t i = 0; i < count; i++) {
    weight[i] = (wide)(share[i] / sum * 0x1p128L);
    total += weight[i];
    if (share[i] > share[largest]) largest = i;
  }
  const long double rest = (long double)(__int128)(0 - total); /* modulo 2^128 */
  for (uint64_t i = 0; i < count; i++) {
    const __int128 more = (__int128)(share[i] / sum * rest);
    weight[i] += (wide)more;
    total += (wide)more;
  }
  weight[largest] -= total;
}

/* Splits the weights over columns: a heavy one fills up each light one. `next` links the unfinished
 * columns. */
static void fill(faro_table *t, wide *weight, uint64_t *next) {
  const uint64_t columns = UINT64_C(1) << t->columns;
  const wide full = (wide)1 << (128 - t->columns);
  const uint64_t end = UINT64_MAX;
  uint64_t light = end;
  uint64_t heavy = end;
  for (uint64_t i = 0; i < columns; i++) {
    uint64_t *list = weight[i] < full ? &light : &heavy;
    next[i] = *list;
    *list = i;
  }
  while (light != end && heavy != end) {
    const uint64_t small = light;
    const uint64_t large = heavy;
    light = next[small];
    t->column[small].own = weight[small];
    t->column[small].other = large;
    weight[large] -= full - weight[small];
    if (weight[large] >= full) continue;
    heavy = next[large]; /* it has become a light one */
    next[large] = light;
    light = large;
  }
  FARO_INVARIANT(light == end); /* the weights add up, so only full columns are left */
  for (; heavy != end; heavy = next[heavy]) {
    t->column[heavy].own = full;
    t->column[heavy].other = heavy;
  }
}

faro_status faro_table_init(faro_table *table, faro_arena *arena, uint64_t n, double p, uint64_t shift,
                            faro_error *error) {
  FARO_INVARIANT(n >= 1 && p >= 0.01 && p <= 0.99);
  uint64_t count = 0;
  faro_table t = {.columns = 1}; /* at least two columns, so that the units of one fit 128 bits */
  span(n, p, (double)shift, &t.first, &count);
  while (t.columns <= COLUMNS_MAX && UINT64_C(1) << t.columns < count) t.columns++;
  if (t.columns > COLUMNS_MAX)
    return faro_fail(error, FARO_INVALID,
                     "exact noise from %llu bits would need a table of %llu numbers (at most 2^%d); use "
                     "calibration tight or a larger epsilon",
                     (unsigned long long)n, (unsigned long long)count, COLUMNS_MAX);
  const uint64_t columns = UINT64_C(1) << t.columns;
  t.column = faro_arena_alloc(arena, columns, sizeof *t.column, error);
  faro_arena scratch = {0};
  wide *weight = faro_arena_alloc(&scratch, columns, sizeof *weight, error);
  long double *share = faro_arena_alloc(&scratch, columns, sizeof *share, error);
  uint64_t *next = faro_arena_alloc(&scratch, columns, sizeof *next, error);
  const bool enough = t.column && weight && share && next;
  if (enough) {
    weigh(count, share, compare(n, p, t.first, count, share), weight);
    fill(&t, weight, next);
    *table = t;
  }
  faro_arena_free(&scratch);
  return enough ? FARO_OK : FARO_MEMORY;
}

/* A weight is a product over at most half of the columns (3 roundings each), divided by a sum over
 * all of them: 2.5 roundings of 2^-64 per column, and a few more. */
double faro_table_error(const faro_table *table) { return ldexp(4, table->columns - 64); }

uint64_t faro_table_draw(const faro_table *table, faro_rng *rng) {
  const uint64_t high = faro_rng_next(rng);
  const wide part = ((wide)high << 64 | faro_rng_next(rng)) << table->columns >> table->columns;
  const uint64_t index = high >> (64 - table->columns);
  const struct faro_table_column *column = &table->column[index];
  return table->first + (part < column->own ? index : column->other);
}
