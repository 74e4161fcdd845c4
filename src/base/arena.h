/* arena: zeroed, 64-byte aligned memory that is freed together.
 *
 * An object allocates everything it needs at creation, from one arena, and frees it in one call.
 * Nothing is allocated afterwards. Blocks form a list, newest first. Each block serves one
 * allocation, because objects here are few and large. */
#ifndef FARO_BASE_ARENA_H
#define FARO_BASE_ARENA_H

#include <faro/base.h>

typedef struct faro_arena {
  void *newest;
} faro_arena;

/* Returns count * size bytes, or NULL with `error` filled if memory runs out or the product
 * overflows. */
void *faro_arena_alloc(faro_arena *arena, size_t count, size_t size, faro_error *error);
char *faro_arena_strdup(faro_arena *arena, const char *text, faro_error *error);
void faro_arena_free(faro_arena *arena);

/* The bytes of all allocations, to bring them back later, at the same addresses. No allocation may
 * come between. */
size_t faro_arena_size(const faro_arena *arena);
void faro_arena_save(const faro_arena *arena, void *image);
void faro_arena_load(const faro_arena *arena, const void *image);

#endif
