/* memo: the last results of a costly function. Releases are made again and again with the same
 * numbers, and some accountants take milliseconds. Use one memo per function, `static
 * _Thread_local`, so that threads share nothing.
 *
 *   static _Thread_local faro_memo memo;
 *   const double key[FARO_MEMO_KEYS] = {epsilon, delta};
 *   const double *value = faro_memo_find(&memo, key);
 *   if (value) return *value;
 *   return *faro_memo_add(&memo, key) = compute(epsilon, delta); */
#ifndef FARO_PRIVACY_MEMO_H
#define FARO_PRIVACY_MEMO_H

#include <stddef.h>

enum {
  FARO_MEMO_KEYS = 7,
  FARO_MEMO_VALUES = 3,
  FARO_MEMO_SLOTS = 256 /* a release has up to 50 levels, and asks a few times per level */
};

typedef struct faro_memo {
  struct faro_memo_slot {
    double key[FARO_MEMO_KEYS], value[FARO_MEMO_VALUES];
  } slot[FARO_MEMO_SLOTS];
  unsigned used, next;
} faro_memo;

/* The values stored for this key, or NULL. */
const double *faro_memo_find(const faro_memo *memo, const double key[static FARO_MEMO_KEYS]);
/* Room for the values of a new key, which replaces the oldest. */
double *faro_memo_add(faro_memo *memo, const double key[static FARO_MEMO_KEYS]);

#endif
