/* memo: see the header. */
#include "privacy/memo.h"

#include <string.h>

static bool take(faro_memo *memo) {
  return !atomic_exchange_explicit(&memo->taken, true, memory_order_acquire);
}

static void leave(faro_memo *memo) { atomic_store_explicit(&memo->taken, false, memory_order_release); }

static bool is_same(const double *a, const double *b) {
  for (size_t i = 0; i < FARO_MEMO_KEYS; i++)
    if (a[i] != b[i]) return false;
  return true;
}

/* Its slot; `used` if it has none. */
static unsigned slot_of(const faro_memo *memo, const double *key) {
  unsigned i = 0;
  while (i < memo->used && !is_same(memo->key[i], key)) i++;
  return i;
}

bool faro_memo_find(faro_memo *memo, const double key[static FARO_MEMO_KEYS],
                    double value[static FARO_MEMO_VALUES]) {
  if (!take(memo)) return false;
  const unsigned i = slot_of(memo, key);
  const bool found = i < memo->used;
  if (found) memcpy(value, memo->value[i], sizeof memo->value[i]);
  leave(memo);
  return found;
}

void faro_memo_keep(faro_memo *memo, const double key[static FARO_MEMO_KEYS],
                    const double value[static FARO_MEMO_VALUES]) {
  if (!take(memo)) return;
  if (slot_of(memo, key) == memo->used) {
    memcpy(memo->key[memo->next], key, sizeof memo->key[0]);
    memcpy(memo->value[memo->next], value, sizeof memo->value[0]);
    memo->next = (memo->next + 1) % FARO_MEMO_SLOTS;
    if (memo->used < FARO_MEMO_SLOTS) memo->used++;
  }
  leave(memo);
}
