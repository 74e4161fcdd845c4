/* blocks: a learner for each block of features, all under one policy.
 *
 * Where a person's features fill one of several blocks (those of the arm that is played, say), the
 * Gram matrix is zero outside the blocks on its diagonal. This is public, so the release leaves the
 * rest out (faro_contribution_split), and every block is a problem of its own: updater.c puts this
 * wrapper in the place of a learner, which is then created once per block. */
#ifndef FARO_LEARNER_BLOCKS_H
#define FARO_LEARNER_BLOCKS_H

#include "learner/kind.h"

extern const faro_updater_kind faro_updater_blocks; /* not listed: see updater.c */

/* Before init: the kind of the learners. */
void faro_blocks_of_kind(void *state, const faro_learner_kind *kind);

#endif
