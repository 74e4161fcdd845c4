/* learning: what the analyzer computes: release and learner of the campaign, fed with shuffled
 * batches. They are the same code as in simulation. It uses no network and no database, so a test
 * can run it next to the service and compare bytes.
 *
 *   apply(messages) -> release -> statistics -> learner -> policy or plan, version = batches + 1 */
#ifndef FARO_SERVICE_ANALYZER_LEARNING_H
#define FARO_SERVICE_ANALYZER_LEARNING_H

#include <faro/learner.h>

#include "wire/wire.h"

typedef struct faro_learning faro_learning;

/* The learners that can be deployed, by index; NULL past the last one. */
const char *faro_learning_kind(size_t index);

/* Completes a campaign before it is signed: the learner's own settings that it does not state get
 * their defaults; so do the bounds of batches in phases; and batches do not grow if the learner
 * does better without, unless growth is given. FARO_INVALID if the learner cannot be deployed, or a
 * setting is not one of it. */
faro_status faro_learning_complete(faro_campaign *campaign, faro_error *error) FARO_WARN_UNUSED;

/* Starts from nothing (state NULL), or from what save gave. The campaign must outlive it. In
 * phases, loading adds the plans of the batches so far to campaign->plans, if they are not there.
 * FARO_INVALID if the learner that the campaign names cannot be deployed; the message lists those
 * that can. */
faro_status faro_learning_create(faro_learning **learning, const faro_campaign *campaign, const void *state,
                                 size_t length, faro_error *error) FARO_WARN_UNUSED;
void faro_learning_destroy(faro_learning *learning);

/* Everything that the next batch needs; free() it. */
faro_status faro_learning_save(const faro_learning *learning, unsigned char **state, size_t *length,
                               faro_error *error) FARO_WARN_UNUSED;

/* Applies one batch: the totals of the shufflers that finished one, lowest first, or the messages
 * of a batch. On failure nothing has changed. */
faro_status faro_learning_apply(faro_learning *learning, const void *messages, size_t count,
                                faro_error *error) FARO_WARN_UNUSED;

const faro_release *faro_learning_release(const faro_learning *learning);
uint64_t faro_learning_batches(const faro_learning *learning); /* batches applied */
bool faro_learning_done(const faro_learning *learning);        /* all batches of the budget are applied */
/* The policy, or in phases the plan, as it is published; free() it. */
faro_status faro_learning_document(const faro_learning *learning, const faro_sign_key *key, char **text,
                                   size_t *length, faro_error *error) FARO_WARN_UNUSED;

/* In phases: the current plan, and what a party keeps of it, until the next apply; else NULL. */
const faro_plan_document *faro_learning_plan(const faro_learning *learning, const faro_plan_row **row);

/* How well it learns, from released sums only, so it may be shown. */
typedef struct faro_learning_view {
  uint64_t users;
  /* The last entry of the sum of x y, per user. If every x ends in c, this is c times the centred
   * mean reward. */
  double last;
  /* Root mean square of <theta, x> over the users so far. It includes noise and is cut at 0. In
   * phases: the mean reward of the last batch. */
  double predicted;
  /* Root mean square over all directions of an x of the greatest length: of the width beta ||w x||,
   * or, where the policy draws, of what it adds. In phases: the scale of the noise in that mean. */
  double width;
  /* Standard deviation of the privacy noise in `last`; NAN: it is not known. */
  double noise;
} faro_learning_view;
faro_learning_view faro_learning_snapshot(const faro_learning *learning);

#endif
