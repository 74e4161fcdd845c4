/* bits: the state of a bit sum, for bits.c and its tests. */
#ifndef FARO_RELEASE_BITS_H
#define FARO_RELEASE_BITS_H

#include "release/kind.h"

typedef struct faro_bits {
  faro_release release;
  int64_t *count;     /* ones of the open batch */
  double step;        /* one grid step in original units */
  uint64_t grid;      /* G: steps that span [-entry, entry] */
  uint64_t bits;      /* b: noise bits of a user and entry */
  bool fair;          /* noise bits are ones with 1/2; else with 1/4 */
  faro_binomial plan; /* the noise of a whole batch */
} faro_bits;

#endif
