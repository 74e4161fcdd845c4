/* select: see selector.h.
 *
 * A policy draws one direction, delta = beta w' xi, shared by all arms of a choice: <theta + delta,
 * x> for SAMPLE, <theta, x> + max(0, <delta, x>) for OPTIMIST.
 *
 * Under WIDTH, where the policy says by which step it follows from the one before and the arms
 * stay, the squared widths follow in O(d) an arm, and only arms that may win are scored: the
 * contenders, chosen when all arms were scored last. With theta_0 and beta_0 as they were then, and
 * F the product of `widen` since, the score of any other arm is at most
 *
 *   its score then + L ||theta - theta_0|| + max(0, beta sqrt(F) - beta_0) (its width then),
 *
 * L the length of the longest arm. As soon as the best contender is not above that for all others,
 * all arms are scored again. */
#include <math.h>
#include <string.h>

#include <faro/selector.h>

#include "base/arena.h"
#include "choice/choice.h"

struct faro_selector {
  faro_arena arena;
  size_t room; /* arms that fit, a multiple of FARO_ARM_TILE */
  double *score, *scratch, *direction;
  faro_arms columns;         /* storage for rows, as columns */
  const faro_policy *policy; /* policy and versions that `best` was computed for; NULL before the first */
  const faro_arms *arms;
  uint64_t policy_version, arms_version;
  size_t best;
  bool follows; /* square, few and what follows are of policy_version and arms_version */
  double *square;
  faro_arms few;      /* the contenders: all arms in place, or copies in `columns` */
  size_t *index;      /* a contender's place among all arms */
  double *few_square; /* all arms: square */
  uint64_t since;     /* steps since all arms were scored */
  double margin;      /* arms whose score is less than the best by more than this are left out */
  double *theta;      /* theta_0 */
  double beta, widen; /* beta_0, F */
  double others_score, others_width, longest; /* the greatest of arms that are left out; L */
};

static faro_status build(faro_selector *s, size_t dimension, faro_error *error) {
  s->columns = (faro_arms){.dimension = dimension, .stride = s->room};
  s->score = faro_arena_alloc(&s->arena, s->room, sizeof *s->score, error);
  s->direction = faro_arena_alloc(&s->arena, dimension, sizeof *s->direction, error);
  s->scratch = faro_arena_alloc(&s->arena, faro_score_scratch(dimension, s->room), sizeof *s->scratch, error);
  s->columns.x = faro_arena_alloc(&s->arena, dimension * s->room, sizeof *s->columns.x, error);
  s->square = faro_arena_alloc(&s->arena, s->room, sizeof *s->square, error);
  s->few_square = faro_arena_alloc(&s->arena, s->room, sizeof *s->few_square, error);
  s->index = faro_arena_alloc(&s->arena, s->room, sizeof *s->index, error);
  s->theta = faro_arena_alloc(&s->arena, dimension, sizeof *s->theta, error);
  return s->score && s->direction && s->scratch && s->columns.x && s->square && s->few_square && s->index &&
                 s->theta
             ? FARO_OK
             : FARO_MEMORY;
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
  if (policy->rule == FARO_RULE_WIDTH && policy->beta == 0) return faro_means(arms, policy->theta, s->score);
  if (policy->rule == FARO_RULE_WIDTH)
    return faro_score(arms, policy->theta, policy->w, policy->beta, s->score, s->scratch);
  return faro_means_moved(arms, policy->theta, s->direction, policy->rule == FARO_RULE_OPTIMIST, s->score);
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

/* ---- contenders */

enum { SHORT = 16, LONG = 64 }; /* steps between two scorings of all arms that are few, and many */

static double longest_of(const faro_arms *arms, double *square) {
  double most = 0;
  memset(square, 0, arms->stride * sizeof *square);
  for (size_t i = 0; i < arms->dimension; i++)
    for (size_t a = 0; a < arms->stride; a++)
      square[a] += arms->x[i * arms->stride + a] * arms->x[i * arms->stride + a];
  for (size_t a = 0; a < arms->count; a++) most = fmax(most, square[a]);
  return sqrt(most);
}

/* Copies the arms in `index` to our own columns. */
static void copy_few(faro_selector *s, const faro_arms *arms, size_t count) {
  s->few = (faro_arms){
      .dimension = arms->dimension, .count = count, .stride = faro_arm_stride(count), .x = s->columns.x};
  for (size_t i = 0; i < arms->dimension; i++) {
    double *column = s->few.x + i * s->few.stride;
    for (size_t a = 0; a < count; a++) column[a] = arms->x[i * arms->stride + s->index[a]];
    for (size_t a = count; a < s->few.stride; a++) column[a] = 0;
  }
  for (size_t a = 0; a < s->few.stride; a++) s->few_square[a] = a < count ? s->square[s->index[a]] : 0;
}

/* Leaves out arms that are behind the best by more than the margin, if that are more than half. */
static void leave_out(faro_selector *s, const faro_arms *arms) {
  const double least = s->score[s->best] - s->margin;
  size_t count = 0;
  s->others_score = -INFINITY;
  double square = 0;
  for (size_t a = 0; a < arms->count; a++) {
    if (s->score[a] >= least) s->index[count++] = a;
    else {
      s->others_score = fmax(s->others_score, s->score[a]);
      square = fmax(square, s->square[a]);
    }
  }
  s->others_width = sqrt(square);
  if (count > 0 && 2 * count <= arms->count) copy_few(s, arms, count); /* 0: a score is not a number */
  else {
    s->few = *arms;
    s->others_score = -INFINITY;
  }
}

static size_t begin_few(faro_selector *s, const faro_policy *policy, const faro_arms *arms) {
  if (!s->follows) {
    s->longest = longest_of(arms, s->square);
    s->margin = 0;
  } else if (s->few.x == arms->x) s->margin /= 2;
  else if (s->since < SHORT) s->margin *= 2;
  else if (s->since >= LONG) s->margin *= 0.7;
  s->best = faro_score_keep(arms, policy->theta, policy->w, policy->beta, s->square, s->score, s->scratch);
  if (!(s->margin > 0)) s->margin = policy->beta * sqrt(s->square[s->best]) / 4;
  leave_out(s, arms);
  memcpy(s->theta, policy->theta, policy->dimension * sizeof *s->theta);
  s->beta = policy->beta;
  s->widen = 1;
  s->since = 0;
  return s->best;
}

/* Whether the best contender, with this score, is above all others. */
static bool wins(const faro_selector *s, const faro_policy *policy, double score) {
  if (!(s->others_score > -INFINITY)) return s->since < LONG;
  double square = 0;
  for (size_t i = 0; i < policy->dimension; i++)
    square += (policy->theta[i] - s->theta[i]) * (policy->theta[i] - s->theta[i]);
  const double wider = fmax(0, policy->beta * sqrt(s->widen) - s->beta) * s->others_width;
  const double most = s->others_score + s->longest * sqrt(square) + wider;
  return score > most + 1e-9 * (fabs(most) + fabs(score));
}

static size_t best_of_few(faro_selector *s, const faro_policy *policy, const faro_arms *arms) {
  const faro_policy_step *step = policy->step;
  if (!s->follows) return begin_few(s, policy, arms);
  const bool all = s->few.x == arms->x;
  s->widen *= step->widen;
  s->since++;
  const size_t best = faro_rescore(&s->few, policy->theta, step->rank, step->gain, step->less, policy->beta,
                                   all ? s->square : s->few_square, s->score);
  return wins(s, policy, s->score[best]) ? (all ? best : s->index[best]) : begin_few(s, policy, arms);
}

size_t faro_select(faro_selector *s, const faro_policy *policy, const faro_arms *arms, faro_rng *rng) {
  size_t arm = 0;
  if (faro_choice_explore(policy, arms->count, rng, &arm)) return arm;
  const bool draws = policy->rule != FARO_RULE_WIDTH;
  if (!draws && is_same(s, policy, arms)) return s->best;
  if (draws) faro_choice_draw(policy, rng, s->direction);
  const bool next = s->policy == policy && s->policy_version + 1 == policy->version && s->arms == arms &&
                    s->arms_version == arms->version;
  const bool few = !draws && next && policy->step && fits(s, arms);
  s->follows = s->follows && few;
  if (few) s->best = best_of_few(s, policy, arms);
  else
    s->best = fits(s, arms) ? best_of(s, policy, arms)
                            : best_of_blocks(s, policy, arms->x, 1, arms->stride, arms->count);
  s->follows = few;
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
