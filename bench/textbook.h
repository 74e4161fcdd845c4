/* textbook: private LinUCB written directly from the algorithms, without any of faro's
 * optimisations. bench/speed compares faro with it: same algorithm, same flags, same distribution
 * of regret. */
#ifndef FARO_BENCH_TEXTBOOK_H
#define FARO_BENCH_TEXTBOOK_H

#include <stddef.h>
#include <stdint.h>

typedef enum textbook_release {
  TEXTBOOK_NONE,
  TEXTBOOK_TREE,
  TEXTBOOK_BITS,
  TEXTBOOK_AMPLIFIED,
  TEXTBOOK_LOCAL
} textbook_release;

typedef struct textbook_params {
  textbook_release release;
  size_t dimension, arms;
  uint64_t horizon, batch, seed;
  double epsilon, delta;
} textbook_params;

typedef struct textbook textbook;

/* arms: one row per arm, of norm at most sqrt(2). theta: the true parameter. The caller owns
 * both. */
textbook *textbook_create(const textbook_params *params, const double *arms, const double *theta);
void textbook_destroy(textbook *t);
/* Plays this many rounds and returns their regret. */
double textbook_play(textbook *t, uint64_t rounds);

#endif
