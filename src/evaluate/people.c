/* people: see the header. */
#include "evaluate/people.h"

#include <stdlib.h>
#include <string.h>

void faro_people_init(faro_people *p, size_t width) { *p = (faro_people){.width = width}; }

void faro_people_clear(faro_people *p) {
  free(p->index);
  free(p->id);
  free(p->number);
  *p = (faro_people){.width = p->width};
}

/* The finaliser of splitmix64 (Steele, Lea & Flood 2014). */
uint64_t faro_people_mix(uint64_t id) {
  id += UINT64_C(0x9e3779b97f4a7c15);
  id = (id ^ (id >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  id = (id ^ (id >> 27)) * UINT64_C(0x94d049bb133111eb);
  return id ^ (id >> 31);
}

/* The place of an id in the index: where it is, or the free place where it belongs. The index has
 * 2^k places, at most half of them taken. */
static size_t place(const faro_people *p, uint64_t id) {
  const size_t mask = 2 * p->room - 1;
  size_t at = (size_t)faro_people_mix(id) & mask;
  while (p->index[at] > 0 && p->id[p->index[at] - 1] != id) at = (at + 1) & mask;
  return at;
}

/* Doubles the room. On failure nothing is lost. */
static bool grow(faro_people *p) {
  enum { FIRST_ROOM = 1024 };
  const size_t room = p->room > 0 ? 2 * p->room : FIRST_ROOM;
  if (room > SIZE_MAX / 2 / sizeof(double) / p->width) return false;
  uint64_t *id = realloc(p->id, room * sizeof *id);
  if (id) p->id = id;
  double *number = id ? realloc(p->number, room * p->width * sizeof *number) : NULL;
  if (number) p->number = number;
  size_t *index = number ? calloc(2 * room, sizeof *index) : NULL;
  if (!index) return false;
  free(p->index);
  p->index = index;
  p->room = room;
  for (size_t i = 0; i < p->count; i++) p->index[place(p, p->id[i])] = i + 1;
  return true;
}

double *faro_people_find(faro_people *p, uint64_t id, faro_error *error) {
  size_t at = p->room > 0 ? place(p, id) : 0;
  if (p->room > 0 && p->index[at] > 0) return p->number + (p->index[at] - 1) * p->width;
  if (p->count == p->room) {
    if (!grow(p)) {
      (void)faro_fail(error, FARO_MEMORY, "out of memory: %zu people so far", p->count);
      return NULL;
    }
    at = place(p, id);
  }
  p->id[p->count] = id;
  p->index[at] = ++p->count;
  return memset(p->number + (p->count - 1) * p->width, 0, p->width * sizeof *p->number);
}
