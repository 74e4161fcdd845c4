/* rank: finds the value that has a given number of greater ones. */
#ifndef FARO_LINALG_RANK_H
#define FARO_LINALG_RANK_H

#include <stddef.h>

#include "linalg/lanes.h"

/* The index that comes after `rank` others when the greatest comes first, and of equals the one
 * with the least index. Needs rank < count <= FARO_RANK_MOST and room for whole eights; the values
 * are at least 0, and are overwritten. */
enum { FARO_RANK_MOST = 128 };
size_t faro_rank(size_t count, double *value, size_t rank);

/* For tests: the same, in vectors of this width, and as the sentence above says it. */
size_t faro_rank_by(faro_lanes lanes, size_t count, double *value, size_t rank);
size_t faro_plain_rank(size_t count, double *value, size_t rank);

#endif
