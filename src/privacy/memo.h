/* memo: the last results of a costly function. Releases are made again and again with the same
 * numbers, and some accountants take milliseconds. One memo per function, for all threads:
 *
 *   static faro_memo memo;
 *   double value[FARO_MEMO_VALUES] = {0};
 *   const double key[FARO_MEMO_KEYS] = {epsilon, delta};
 *   if (faro_memo_find(&memo, key, value)) return *value;
 *   *value = compute(epsilon, delta);
 *   faro_memo_keep(&memo, key, value);
 *   return *value;
 *
 * Nobody waits: while one thread reads or writes, another one finds nothing and keeps nothing. */
#ifndef FARO_PRIVACY_MEMO_H
#define FARO_PRIVACY_MEMO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum {
  FARO_MEMO_KEYS = 7,
  FARO_MEMO_VALUES = 3,
  FARO_MEMO_SLOTS = 1024 /* a release has up to 50 levels, and asks a few times per level */
};

typedef struct faro_memo {
  atomic_bool taken;
  unsigned used, next;
  double key[FARO_MEMO_SLOTS][FARO_MEMO_KEYS], value[FARO_MEMO_SLOTS][FARO_MEMO_VALUES];
} faro_memo;

/* The values of this key, if they are there. */
bool faro_memo_find(faro_memo *memo, const double key[static FARO_MEMO_KEYS],
                    double value[static FARO_MEMO_VALUES]);
/* A new key replaces the oldest. One that is there, because several threads worked it out at once,
 * stays as it is. */
void faro_memo_keep(faro_memo *memo, const double key[static FARO_MEMO_KEYS],
                    const double value[static FARO_MEMO_VALUES]);

#endif
