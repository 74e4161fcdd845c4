/* tree: prefix sums with noise at the nodes of a binary tree. */
#ifndef FARO_RELEASE_TREE_H
#define FARO_RELEASE_TREE_H

#include "release/grid.h"

/* 1 + floor(log2 M): the levels of the tree, and the most nodes that one user is in. */
uint64_t faro_tree_levels(const faro_release *r);
/* m = 1 + ceil(log2 M), as published. */
uint64_t faro_tree_published_levels(const faro_release *r);

/* For calibration tight: estimates of nodes use those of their children. Returns the worst standard
 * deviation of a sum, in units of one node's noise. */
double faro_tree_fuse(faro_release *r);

#endif
