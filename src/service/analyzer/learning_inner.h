/* learning_inner: how a kind of learner learns in a campaign. learning.c finds the kind and calls
 * it.
 *
 *   learning_updater.c  one release of running sums; the policy is a vector and a matrix
 *   learning_phases.c   a release for each batch; the policy is a plan
 *   learning_rounds.c   a release for each batch, of linearised moments; the policy says at which
 *                       point */
#ifndef FARO_SERVICE_ANALYZER_LEARNING_INNER_H
#define FARO_SERVICE_ANALYZER_LEARNING_INNER_H

#include "service/analyzer/learning.h"

/* What a learning is made of. `settings` are the learner's own; `state` is NULL at the start. */
typedef struct learning_params {
  const faro_campaign *campaign;
  const faro_learner_kind *learner;
  const void *settings;
  const void *state;
  size_t length;
} learning_params;

/* All members are required, except plan, which only kinds with plans have. They do what the
 * functions of learning.h with their names do. */
typedef struct learning_kind {
  faro_protocol protocol;
  faro_status (*complete)(faro_campaign *campaign, const faro_learner_kind *learner, const void *settings,
                          faro_error *error);
  faro_status (*create)(void **own, const learning_params *params, faro_error *error);
  void (*destroy)(void *own); /* NULL is allowed */
  faro_status (*save)(const void *own, unsigned char **state, size_t *length, faro_error *error);
  faro_status (*apply)(void *own, const void *messages, size_t count, faro_error *error);
  const faro_release *(*release)(const void *own);
  uint64_t (*batches)(const void *own);
  bool (*done)(const void *own);
  faro_status (*document)(const void *own, const faro_sign_key *key, char **text, size_t *length,
                          faro_error *error);
  const faro_plan_document *(*plan)(const void *own, const faro_plan_row **row);
  faro_learning_view (*snapshot)(const void *own);
} learning_kind;

extern const learning_kind faro_learning_updater, faro_learning_phases, faro_learning_rounds;

#endif
