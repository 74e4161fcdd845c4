/* arena: see the header. A block is a header padded to one cache line, followed by the caller's
 * bytes. */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

typedef struct block {
  struct block *before;
  size_t bytes; /* without this header */
} block;

static unsigned char *contents(block *b) { return (unsigned char *)b + LINE; }

void *faro_arena_alloc(faro_arena *arena, size_t count, size_t size, faro_error *error) {
  size_t bytes = 0;
  size_t total = 0;
  block *b = NULL;
  if (!__builtin_mul_overflow(count, size, &bytes) &&
      !__builtin_add_overflow(bytes, (size_t)2 * LINE, &total))
    b = aligned_alloc(LINE, total / LINE * LINE);
  if (!b) {
    (void)faro_fail(error, FARO_MEMORY, "cannot allocate %zu x %zu bytes", count, size);
    return NULL;
  }
  memset(b, 0, total / LINE * LINE);
  *b = (block){.before = arena->newest, .bytes = bytes};
  arena->newest = b;
  return contents(b);
}

char *faro_arena_strdup(faro_arena *arena, const char *text, faro_error *error) {
  const size_t bytes = strlen(text) + 1;
  char *copy = faro_arena_alloc(arena, bytes, 1, error);
  if (copy) memcpy(copy, text, bytes);
  return copy;
}

void faro_arena_free(faro_arena *arena) {
  while (arena->newest) {
    block *b = arena->newest;
    arena->newest = b->before;
    free(b);
  }
}

size_t faro_arena_size(const faro_arena *arena) {
  size_t bytes = 0;
  for (const block *b = arena->newest; b; b = b->before) bytes += b->bytes;
  return bytes;
}

void faro_arena_save(const faro_arena *arena, void *image) {
  unsigned char *to = image;
  for (block *b = arena->newest; b; to += b->bytes, b = b->before) memcpy(to, contents(b), b->bytes);
}

void faro_arena_load(const faro_arena *arena, const void *image) {
  const unsigned char *from = image;
  for (block *b = arena->newest; b; from += b->bytes, b = b->before) memcpy(contents(b), from, b->bytes);
}
