/* rank: see the header. All pairs are compared, eight at a time, without a branch that could be
 * guessed wrongly. */
#include "linalg/rank.h"

#include <faro/linalg.h>
#include <stdint.h>
#include <string.h>

#include "base/abort.h"

enum { EIGHT = 8 };
typedef double doubles __attribute__((vector_size(EIGHT * sizeof(double))));
typedef int64_t counts __attribute__((vector_size(EIGHT * sizeof(int64_t))));

size_t faro_plain_rank(size_t count, double *value, size_t rank) {
  FARO_INVARIANT(rank < count);
  for (;; rank--) {
    const size_t best = faro_greatest(value, count);
    if (rank == 0) return best;
    value[best] = -1;
  }
}

/* The first value with `rank` greater ones; `count` if equal ones leave none. */
static inline FARO_BODY size_t body(size_t count, const double *value, size_t rank) {
  int64_t greater[FARO_RANK_MOST];
  for (size_t i = 0; i < count; i += EIGHT) {
    doubles eight;
    counts sum = {0};
    memcpy(&eight, value + i, sizeof eight);
    for (size_t k = 0; k < count; k++) sum -= value[k] > eight; /* true is -1 */
    memcpy(greater + i, &sum, sizeof sum);
  }
  size_t i = 0;
  while (i < count && greater[i] != (int64_t)rank) i++;
  return i;
}

static size_t portable(size_t count, const double *value, size_t rank) { return body(count, value, rank); }
FARO_AVX2 static size_t avx2(size_t count, const double *value, size_t rank) {
  return body(count, value, rank);
}
FARO_AVX512 static size_t avx512(size_t count, const double *value, size_t rank) {
  return body(count, value, rank);
}

size_t faro_rank_by(faro_lanes lanes, size_t count, double *value, size_t rank) {
  FARO_INVARIANT(rank < count && count <= FARO_RANK_MOST);
  const size_t i = lanes == FARO_LANES_AVX512 ? avx512(count, value, rank)
                   : lanes == FARO_LANES_AVX2 ? avx2(count, value, rank)
                                              : portable(count, value, rank);
  return i < count ? i : faro_plain_rank(count, value, rank);
}

/* A few greater ones are sooner set aside one by one. */
size_t faro_rank(size_t count, double *value, size_t rank) {
  if (rank < count / EIGHT) return faro_plain_rank(count, value, rank);
  return faro_rank_by(faro_lanes_here(), count, value, rank);
}
