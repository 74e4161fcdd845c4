/* arena: see the header. A block is a header padded to one cache line, followed by the caller's
 * bytes. */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

void *faro_arena_alloc(faro_arena *arena, size_t count, size_t size, faro_error *error) {
  size_t bytes = 0;
  size_t total = 0;
  void *block = NULL;
  if (!__builtin_mul_overflow(count, size, &bytes) &&
      !__builtin_add_overflow(bytes, (size_t)2 * LINE, &total))
    block = aligned_alloc(LINE, total / LINE * LINE);
  if (!block) {
    (void)faro_fail(error, FARO_MEMORY, "cannot allocate %zu x %zu bytes", count, size);
    return NULL;
  }
  memset(block, 0, total / LINE * LINE);
  *(void **)block = arena->newest;
  arena->newest = block;
  return (unsigned char *)block + LINE;
}

char *faro_arena_strdup(faro_arena *arena, const char *text, faro_error *error) {
  const size_t bytes = strlen(text) + 1;
  char *copy = faro_arena_alloc(arena, bytes, 1, error);
  if (copy) memcpy(copy, text, bytes);
  return copy;
}

void faro_arena_free(faro_arena *arena) {
  while (arena->newest) {
    void *block = arena->newest;
    arena->newest = *(void **)block;
    free(block);
  }
}
