/* names: a table of names with open addressing, and the hash behind it. All memory is allocated
 * when the table is made. */
#include <stdlib.h>
#include <string.h>

#include "base/abort.h"
#include "base/decimal.h"
#include "data/inner.h"

uint64_t faro_names_hash(uint64_t key, faro_span text) {
  unsigned char secret[crypto_shorthash_KEYBYTES] = "faro words";
  unsigned char out[crypto_shorthash_BYTES];
  uint64_t hash = 0;
  for (size_t i = 0; i < 6; i++) secret[10 + i] = (unsigned char)(key >> (8 * i));
  crypto_shorthash(out, (const unsigned char *)text.text, text.length, secret);
  for (size_t i = 0; i < 8; i++) hash |= (uint64_t)out[i] << (8 * i);
  return hash;
}

faro_status faro_names_make(faro_names *w, size_t most, faro_arena *arena, faro_error *error) {
  *w = (faro_names){.most = most, .slots = 16};
  while (w->slots < 4 * most) w->slots *= 2;
  w->name = faro_arena_alloc(arena, most, sizeof *w->name, error);
  w->slot = faro_arena_alloc(arena, w->slots, sizeof *w->slot, error);
  char *room = faro_arena_alloc(arena, most, FARO_ROWS_NAME_MAX + 1, error);
  if (!w->name || !w->slot || !room) return FARO_MEMORY;
  for (size_t i = 0; i < most; i++) w->name[i] = room + i * (FARO_ROWS_NAME_MAX + 1);
  return FARO_OK;
}

static bool same(const char *name, faro_span text) {
  return strncmp(name, text.text, text.length) == 0 && name[text.length] == '\0';
}

/* The slot of a name, or the free one where it would go. FNV-1a: names are short. */
static size_t slot_of(const faro_names *w, faro_span name) {
  uint32_t hash = 2166136261U;
  for (size_t i = 0; i < name.length; i++) hash = (hash ^ (unsigned char)name.text[i]) * 16777619U;
  size_t at = (hash ^ hash >> 15) & (w->slots - 1);
  while (w->slot[at] && !same(w->name[w->slot[at] - 1], name)) at = (at + 1) & (w->slots - 1);
  return at;
}

size_t faro_names_find(const faro_names *w, faro_span name) {
  const uint32_t found = w->slot[slot_of(w, name)];
  return found ? found - 1 : w->count;
}

void faro_names_add(faro_names *w, faro_span name) {
  FARO_INVARIANT(w->count < w->most && name.length <= FARO_ROWS_NAME_MAX);
  memcpy(w->name[w->count], name.text, name.length);
  w->name[w->count][name.length] = '\0';
  w->slot[slot_of(w, name)] = (uint32_t)++w->count;
}

static bool number_of(const char *name, double *value) { return faro_decimal(name, strlen(name), value); }

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int by_value(const void *a, const void *b) {
  double x = 0;
  double y = 0;
  (void)number_of(*(char *const *)a, &x);
  (void)number_of(*(char *const *)b, &y);
  return x < y ? -1 : x > y ? 1 : by_bytes(a, b); /* 1 and 1.0 are two names */
}

void faro_names_sort(faro_names *w) {
  bool numbers = true;
  double value = 0;
  for (size_t i = 0; i < w->count; i++) numbers &= number_of(w->name[i], &value);
  qsort(w->name, w->count, sizeof *w->name, numbers ? by_value : by_bytes);
  memset(w->slot, 0, w->slots * sizeof *w->slot);
  for (size_t i = 0; i < w->count; i++)
    w->slot[slot_of(w, (faro_span){w->name[i], strlen(w->name[i])})] = (uint32_t)(i + 1);
}
