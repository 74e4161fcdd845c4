/* thinned: a count that may be looked at while it grows, without showing any single one of what it
 * counts.
 *
 * The first 99 are free. From then on each one is drawn with probability 1/100, by itself, and what
 * is shown is 100 times the number drawn. One more or one less changes one draw, so it changes what
 * can ever be seen with a probability of at most 1/100, whatever else is counted and however often
 * somebody looks (docs/threat-model.md, Side channels). When the count may be known, settle shows
 * it and starts again. Use it from one thread. */
#ifndef FARO_SERVICE_ROLE_THINNED_H
#define FARO_SERVICE_ROLE_THINNED_H

#include <faro/base.h>

enum { FARO_THINNED_FREE = 99, FARO_THINNED_STEP = 100 };

/* Start with {0} and faro_thinned_init. */
typedef struct faro_thinned {
  uint64_t count; /* since the last settle */
  uint64_t drawn; /* of these */
  uint64_t shown; /* what steps have given since then; more than the count at times */
  uint64_t ahead; /* what was shown too much before the last settle */
  uint64_t skip;  /* how many are passed over before the next one is drawn */
} faro_thinned;

void faro_thinned_init(faro_thinned *thinned);
/* Returns how many of these were drawn. */
uint64_t faro_thinned_add(faro_thinned *thinned, uint64_t count);
/* How much is to be added to what is shown: a multiple of 100. */
uint64_t faro_thinned_step(faro_thinned *thinned);
/* The same, so that all together is the exact count (unless that is already exceeded: then later
 * settles make up for it). */
uint64_t faro_thinned_settle(faro_thinned *thinned);

#endif
