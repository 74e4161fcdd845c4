/* tree: prefix sums with noise at the nodes of a binary tree. */
#ifndef FARO_RELEASE_TREE_H
#define FARO_RELEASE_TREE_H

#include "release/grid.h"

/* m = 1 + ceil(log2 M): the nodes that one user is in, and the most that a prefix adds up. */
uint64_t faro_tree_levels(const faro_release *r);

#endif
