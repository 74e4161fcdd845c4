/* explore: see the header. */
#include "explore/explore.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "glm/lanes.h"

struct faro_explorer {
  faro_arena arena;
  faro_designer *designer;
  faro_arms rows;   /* arms that came as rows */
  faro_arms scaled; /* differences of arms, or sqrt(weight) x */
  double *weight;   /* per arm, as are the next two */
  double *mean, *upper;
  double *at, *slope; /* of the link at an arm */
  double *zero, *scratch;
  size_t *active;
};

/* Creation. */

static double *vector(faro_explorer *e, size_t count, faro_error *error) {
  return faro_arena_alloc(&e->arena, count, sizeof(double), error);
}

static faro_status build(faro_explorer *e, size_t d, size_t arms, faro_error *error) {
  const size_t stride = faro_arm_stride(arms);
  e->rows.dimension = e->scaled.dimension = d;
  e->active = faro_arena_alloc(&e->arena, stride, sizeof *e->active, error);
  e->rows.x = vector(e, d * stride, error);
  e->scaled.x = vector(e, d * stride, error);
  e->weight = vector(e, stride, error);
  e->mean = vector(e, stride, error);
  e->upper = vector(e, stride, error);
  e->at = vector(e, stride, error);
  e->slope = vector(e, stride, error);
  e->zero = vector(e, d, error);
  e->scratch = vector(e, faro_score_scratch(d, stride), error);
  if (!e->active || !e->rows.x || !e->scaled.x || !e->weight || !e->mean || !e->upper || !e->at ||
      !e->slope || !e->zero || !e->scratch)
    return FARO_MEMORY;
  return faro_designer_create(&e->designer, d, arms, error);
}

faro_status faro_explorer_create(faro_explorer **explorer, size_t dimension, size_t arms, faro_error *error) {
  faro_arena arena = {0};
  faro_explorer *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  if (!made) return FARO_MEMORY;
  *made = (faro_explorer){.arena = arena};
  const faro_status status = build(made, dimension, arms, error);
  if (status == FARO_OK) *explorer = made;
  else faro_explorer_destroy(made);
  return status;
}

void faro_explorer_destroy(faro_explorer *explorer) {
  if (!explorer) return;
  faro_designer_destroy(explorer->designer);
  faro_arena arena = explorer->arena;
  faro_arena_free(&arena);
}

/* Picking. */

/* The mean over a normal variable, by the rule of rectangles over three standard deviations; more
 * than enough for the smooth slopes of links. */
enum { SIDE = 4 };
static const double weights[SIDE + 1] = {1, 0.75483960198900735, 0.32465246735834974, 0.079559508718227687,
                                         0.011108996538242306}; /* e^(-(3 k / SIDE)^2 / 2) */
static const double all_weights = 3.3403211492076541;           /* the first one, and the others twice */

double faro_expected_slope(faro_link link, double mean, double deviation) {
  double sum = 0;
  for (int k = -SIDE; k <= SIDE; k++)
    sum += weights[abs(k)] * faro_link_slope(link, mean + deviation * (3.0 * k / SIDE));
  return sum / all_weights;
}

/* Sets e->weight of all arms to the expected slope, from e->mean and deviations in e->upper. */
static void expect_slopes(faro_explorer *e, faro_link link, size_t arms) {
  for (size_t a = 0; a < arms; a++) e->weight[a] = 0;
  for (int k = -SIDE; k <= SIDE; k++) {
    for (size_t a = 0; a < arms; a++) e->at[a] = e->mean[a] + e->upper[a] * (3.0 * k / SIDE);
    faro_lanes_link(link, arms, e->at, NULL, NULL, e->slope);
    for (size_t a = 0; a < arms; a++) e->weight[a] += weights[abs(k)] * e->slope[a];
  }
  for (size_t a = 0; a < arms; a++) e->weight[a] /= all_weights;
}

static void shape(faro_explorer *e, const faro_arms *arms) {
  e->scaled.count = arms->count;
  e->scaled.stride = arms->stride;
  e->scaled.version++;
}

/* Finds the arms that may be better than the one that looks best. Returns their number, at least
 * 1. */
static size_t keep_likely(faro_explorer *e, const faro_outlook *o, const faro_arms *arms) {
  const size_t best = faro_means(arms, o->theta, e->mean);
  shape(e, arms);
  for (size_t i = 0; i < arms->dimension; i++)
    for (size_t a = 0; a < arms->stride; a++)
      e->scaled.x[i * arms->stride + a] =
          a < arms->count ? arms->x[i * arms->stride + best] - arms->x[i * arms->stride + a] : 0;
  (void)faro_score(&e->scaled, e->zero, o->w, o->quantile, e->upper, e->scratch);
  size_t kept = 0;
  for (size_t a = 0; a < arms->count; a++)
    if (e->mean[best] - e->mean[a] <= e->upper[a]) e->active[kept++] = a;
  if (kept == 0) e->active[kept++] = best; /* a policy with huge numbers: means that are not finite */
  return kept;
}

/* Weights of all arms, and sqrt(weight) x. */
static void scale_arms(faro_explorer *e, const faro_outlook *o, const faro_arms *arms) {
  const double most = faro_link_steepest(o->link, o->bound);
  (void)faro_means(arms, o->theta, e->mean);
  (void)faro_score(arms, o->theta, o->w, 1, e->upper, e->scratch);
  for (size_t a = 0; a < arms->stride; a++) e->upper[a] -= e->mean[a];
  expect_slopes(e, o->link, arms->stride);
  for (size_t a = 0; a < arms->stride; a++) e->weight[a] = fmin(e->weight[a], most);
  shape(e, arms);
  for (size_t i = 0; i < arms->dimension; i++)
    for (size_t a = 0; a < arms->stride; a++)
      e->scaled.x[i * arms->stride + a] = sqrt(e->weight[a]) * arms->x[i * arms->stride + a];
}

size_t faro_explorer_draw(faro_explorer *explorer, const faro_arms *arms, const size_t *active, size_t count,
                          double luck) {
  const faro_design *design = NULL;
  if (count == 1) return active[0];
  if (faro_design_find(explorer->designer, arms, active, count, FARO_DESIGN_TARGET, &design, NULL) != FARO_OK)
    return active[(size_t)(luck * (double)count)];
  size_t i = 0;
  while (i + 1 < design->support && luck >= design->weight[i]) luck -= design->weight[i++];
  return design->arm[i];
}

size_t faro_explorer_pick(faro_explorer *explorer, const faro_outlook *outlook, const faro_arms *arms,
                          double luck, double *weight) {
  const size_t count = keep_likely(explorer, outlook, arms);
  scale_arms(explorer, outlook, arms);
  const size_t arm = faro_explorer_draw(explorer, &explorer->scaled, explorer->active, count, luck);
  if (weight) *weight = explorer->weight[arm];
  return arm;
}

size_t faro_explorer_pick_rows(faro_explorer *explorer, const faro_outlook *outlook, const double *features,
                               size_t count, double luck) {
  faro_arms *arms = &explorer->rows;
  arms->count = count;
  arms->stride = faro_arm_stride(count);
  for (size_t i = 0; i < arms->dimension; i++)
    for (size_t a = 0; a < arms->stride; a++)
      arms->x[i * arms->stride + a] = a < count ? features[a * arms->dimension + i] : 0;
  arms->version++;
  return faro_explorer_pick(explorer, outlook, arms, luck, NULL);
}
