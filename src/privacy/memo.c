/* memo: see the header. */
#include "privacy/memo.h"

#include <stdbool.h>
#include <string.h>

static bool is_same(const double *a, const double *b) {
  for (size_t i = 0; i < FARO_MEMO_KEYS; i++)
    if (a[i] != b[i]) return false;
  return true;
}

const double *faro_memo_find(const faro_memo *memo, const double key[static FARO_MEMO_KEYS]) {
  for (unsigned i = 0; i < memo->used; i++)
    if (is_same(memo->slot[i].key, key)) return memo->slot[i].value;
  return NULL;
}

double *faro_memo_add(faro_memo *memo, const double key[static FARO_MEMO_KEYS]) {
  struct faro_memo_slot *slot = &memo->slot[memo->next];
  memcpy(slot->key, key, sizeof slot->key);
  memo->next = (memo->next + 1) % FARO_MEMO_SLOTS;
  if (memo->used < FARO_MEMO_SLOTS) memo->used++;
  return slot->value;
}
