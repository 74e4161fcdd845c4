/* learning: what the analyzer computes: the campaign's release, fed with shuffled batches, and the learner behind it. The
 * same code, set up alike, as in simulation. Knows nothing of networks and databases, so that a test can run it beside the
 * service and compare bytes.
 *
 *   apply(messages) -> release -> statistics -> linucb -> policy, version = batches + 1 */
#ifndef FARO_SERVICE_ANALYZER_LEARNING_H
#define FARO_SERVICE_ANALYZER_LEARNING_H

#include <faro/learner.h>

#include "wire/wire.h"

typedef struct faro_learning faro_learning;

/* From nothing, or from what save gave. The campaign must outlive it. */
faro_status faro_learning_create(faro_learning **learning, const faro_campaign *campaign, const void *state,
                                 size_t length, faro_error *error) FARO_WARN_UNUSED;
void faro_learning_destroy(faro_learning *learning);

/* All that the next batch needs of the past; free() it. */
faro_status faro_learning_save(const faro_learning *learning, unsigned char **state, size_t *length,
                               faro_error *error) FARO_WARN_UNUSED;

/* One batch: what the shufflers that are due reported, lowest first, or the messages of a batch. On failure nothing has
 * changed. */
faro_status faro_learning_apply(faro_learning *learning, const void *messages, size_t count,
                                faro_secure_rng *secure, faro_error *error) FARO_WARN_UNUSED;

const faro_release *faro_learning_release(const faro_learning *learning);
uint64_t faro_learning_batches(const faro_learning *learning); /* applied */
bool faro_learning_done(const faro_learning *learning);        /* all that the noise was made for */
/* As it is published; pointers hold until the next apply. */
faro_policy faro_learning_policy(const faro_learning *learning);

/* What may be shown of how well it learns, from released sums alone. */
typedef struct faro_learning_view {
  uint64_t users;
  double
      last; /* the last entry of the sum of x y, for each user: times 1/c the mean reward, centred, where every x
                     * ends in c */
  double
      predicted; /* root mean square of <theta, x> over the users so far; noise included, so it may be cut at 0 */
  double width; /* root mean square of beta ||x|| in V^-1 over all directions of an x of greatest length */
} faro_learning_view;
faro_learning_view faro_learning_snapshot(const faro_learning *learning);

#endif
