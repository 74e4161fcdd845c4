/* people: a few numbers for each person, found by the person's id.
 *
 *   index   | 0 | 3 | 0 | 1 | ...   open addressing; number of the person, from 1; 0: free
 *   id      | id of person 1 | id of person 2 | ...
 *   number  | `width` numbers of person 1 | of person 2 | ...
 *
 * Ids are numbers or hashes. Two people with the same hash count as one: that joins their rows, and
 * never lets one person count as two. */
#ifndef FARO_EVALUATE_PEOPLE_H
#define FARO_EVALUATE_PEOPLE_H

#include <faro/base.h>

typedef struct faro_people {
  size_t width, count, room; /* people, and for how many there is memory */
  size_t *index;             /* 2 room places */
  uint64_t *id;
  double *number;
} faro_people;

void faro_people_init(faro_people *p, size_t width);
void faro_people_clear(faro_people *p);
/* The person's numbers, zero at first, valid until the next call. NULL if memory ran out. */
double *faro_people_find(faro_people *p, uint64_t id, faro_error *error);

/* Mixes the bits of an id, so that folds and places do not follow its pattern. */
uint64_t faro_people_mix(uint64_t id);

#endif
