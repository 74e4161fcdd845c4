/* select: the user's side of a policy. */
#include "base/arena.h"

#include <faro/learner.h>

struct faro_selector {
  faro_arena arena;
  double *score, *scratch;
  const faro_policy *policy; /* what `best` was computed for, and in which versions; NULL before the first */
  const faro_arms *arms;
  uint64_t policy_version, arms_version;
  size_t best;
};

faro_status faro_selector_create(faro_selector **selector, size_t dimension, size_t arms, faro_error *error) {
  const size_t stride = faro_arm_stride(arms);
  faro_arena arena = {0};
  faro_selector *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  double *score = faro_arena_alloc(&arena, stride, sizeof *score, error);
  double *scratch = faro_arena_alloc(&arena, faro_score_scratch(dimension, stride), sizeof *scratch, error);
  if (!made || !score || !scratch) {
    faro_arena_free(&arena);
    return FARO_MEMORY;
  }
  *made = (faro_selector){.arena = arena, .score = score, .scratch = scratch};
  *selector = made;
  return FARO_OK;
}

void faro_selector_destroy(faro_selector *selector) {
  if (!selector) return;
  faro_arena arena = selector->arena;
  faro_arena_free(&arena);
}

size_t faro_select(faro_selector *s, const faro_policy *policy, const faro_arms *arms) {
  if (s->policy == policy && s->arms == arms && s->policy_version == policy->version &&
      s->arms_version == arms->version)
    return s->best;
  s->best = faro_score(arms, policy->theta, policy->w, policy->beta, s->score, s->scratch);
  s->policy = policy;
  s->arms = arms;
  s->policy_version = policy->version;
  s->arms_version = arms->version;
  return s->best;
}
