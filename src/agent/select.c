/* select: see selector.h.
 *
 * A policy draws one direction, delta = beta w' xi, shared by all arms of a choice: <theta + delta,
 * x> for SAMPLE, <theta, x> + max(0, <delta, x>) for OPTIMIST. */
#include <math.h>

#include <faro/selector.h>

#include "base/arena.h"
#include "choice/choice.h"

struct faro_selector {
  faro_arena arena;
  size_t room; /* arms that fit, a multiple of FARO_ARM_TILE */
  double *score, *extra, *scratch, *direction;
  faro_arms columns;         /* storage for rows, as columns */
  const faro_policy *policy; /* policy and versions that `best` was computed for; NULL before the first */
  const faro_arms *arms;
  uint64_t policy_version, arms_version;
  size_t best;
};

static faro_status build(faro_selector *s, size_t dimension, faro_error *error) {
  s->columns = (faro_arms){.dimension = dimension, .stride = s->room};
  s->score = faro_arena_alloc(&s->arena, s->room, sizeof *s->score, error);
  s->extra = faro_arena_alloc(&s->arena, s->room, sizeof *s->extra, error);
  s->direction = faro_arena_alloc(&s->arena, dimension, sizeof *s->direction, error);
  s->scratch = faro_arena_alloc(&s->arena, faro_score_scratch(dimension, s->room), sizeof *s->scratch, error);
  s->columns.x = faro_arena_alloc(&s->arena, dimension * s->room, sizeof *s->columns.x, error);
  return s->score && s->extra && s->direction && s->scratch && s->columns.x ? FARO_OK : FARO_MEMORY;
}

faro_status faro_selector_create(faro_selector **selector, size_t dimension, size_t arms, faro_error *error) {
  faro_arena arena = {0};
  faro_selector *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  if (!made) return FARO_MEMORY;
  *made = (faro_selector){.arena = arena, .room = faro_arm_stride(arms > 0 ? arms : 1)};
  const faro_status status = build(made, dimension, error);
  if (status == FARO_OK) *selector = made;
  else faro_selector_destroy(made);
  return status;
}

void faro_selector_destroy(faro_selector *selector) {
  if (!selector) return;
  faro_arena arena = selector->arena;
  faro_arena_free(&arena);
}

/* The best of arms that fit. Its index value is in `score`. */
static size_t best_of(faro_selector *s, const faro_policy *policy, const faro_arms *arms) {
  if (policy->rule == FARO_RULE_WIDTH)
    return faro_score(arms, policy->theta, policy->w, policy->beta, s->score, s->scratch);
  (void)faro_means(arms, policy->theta, s->score);
  (void)faro_means(arms, s->direction, s->extra);
  const bool optimist = policy->rule == FARO_RULE_OPTIMIST;
  for (size_t a = 0; a < arms->count; a++) s->score[a] += optimist ? fmax(0, s->extra[a]) : s->extra[a];
  return faro_greatest(s->score, arms->count);
}

/* Copies arms from `from` on, as many as fit, into our own columns. Feature i of arm a is x[a *
 * step + i * pitch]. */
static void take_block(faro_selector *s, const double *x, size_t step, size_t pitch, size_t from,
                       size_t count) {
  faro_arms *c = &s->columns;
  c->count = count - from < s->room ? count - from : s->room;
  for (size_t i = 0; i < c->dimension; i++) {
    double *column = c->x + i * c->stride;
    for (size_t a = 0; a < c->count; a++) column[a] = x[(from + a) * step + i * pitch];
    for (size_t a = c->count; a < c->stride; a++) column[a] = 0;
  }
}

static size_t best_of_blocks(faro_selector *s, const faro_policy *policy, const double *x, size_t step,
                             size_t pitch, size_t count) {
  size_t best = 0;
  double most = -INFINITY;
  for (size_t from = 0; from < count; from += s->room) {
    take_block(s, x, step, pitch, from, count);
    const size_t arm = best_of(s, policy, &s->columns);
    if (!(s->score[arm] > most)) continue;
    most = s->score[arm];
    best = from + arm;
  }
  return best;
}

static bool is_same(const faro_selector *s, const faro_policy *policy, const faro_arms *arms) {
  return s->policy == policy && s->arms == arms && s->policy_version == policy->version &&
         s->arms_version == arms->version;
}

/* Whether the arms can be scored in place: they fit, and are aligned as vectors of doubles
 * require. */
static bool fits(const faro_selector *s, const faro_arms *arms) {
  return arms->stride <= s->room && (uintptr_t)arms->x % FARO_ARM_ALIGNMENT == 0;
}

size_t faro_select(faro_selector *s, const faro_policy *policy, const faro_arms *arms, faro_rng *rng) {
  size_t arm = 0;
  if (faro_choice_explore(policy, arms->count, rng, &arm)) return arm;
  const bool draws = policy->rule != FARO_RULE_WIDTH;
  if (!draws && is_same(s, policy, arms)) return s->best;
  if (draws) faro_choice_draw(policy, rng, s->direction);
  s->best = fits(s, arms) ? best_of(s, policy, arms)
                          : best_of_blocks(s, policy, arms->x, 1, arms->stride, arms->count);
  s->policy = draws ? NULL : policy;
  s->arms = arms;
  s->policy_version = policy->version;
  s->arms_version = arms->version;
  return s->best;
}

size_t faro_select_rows(faro_selector *s, const faro_policy *policy, const double *features, size_t count,
                        faro_rng *rng) {
  size_t arm = 0;
  s->policy = NULL;
  if (faro_choice_explore(policy, count, rng, &arm)) return arm;
  if (policy->rule != FARO_RULE_WIDTH) faro_choice_draw(policy, rng, s->direction);
  return best_of_blocks(s, policy, features, policy->dimension, 1, count);
}
