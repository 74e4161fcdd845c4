/* tree: the server sees raw contributions and adds Gaussian noise at the nodes of a binary tree
 * over the releases. Shariff and Sheffet 2018; over batches, Chowdhury & Zhou 2022, App. F. The
 * proof of privacy is in docs/privacy.md, The Gaussian mechanism.
 *
 * A node of level l covers 2^l batches, and the sum over the first t batches is that of the nodes
 * named by the ones in t's binary digits:
 *
 *   t = 6 = 110b     sum = node(batches 1-4) + node(batches 5-6)
 *
 *   total   raw sum of the node under way, on each level; it never leaves
 *   base    estimate of the complete node that a prefix uses, on each level
 *
 * Under `tight` every node has noise of its own, and the estimate of a node is the best linear
 * combination of its own noisy sum and its children's estimates (Honaker 2015): variances 1, 2/3,
 * 4/7, ... of one node's instead of 1. The published trees draw noise for the nodes of prefixes
 * only, and combine nothing. */
#include "release/tree.h"

#include <math.h>
#include <string.h>

#include "release/plant.h"
#include "random/noise.h"
#include "release/grounds.h"

typedef struct level {
  double *total;  /* simulation */
  int64_t *whole; /* deployment, in steps of the grid */
  double *base;
  double fused; /* variance of a node's estimate, in units of one node's noise */
} level;

typedef struct tree {
  faro_grid grid;
  size_t levels;
  level *level;
  bool fuse;
} tree;

static tree *tree_of(faro_release *r) { return (tree *)(void *)r; }
static const tree *tree_in(const faro_release *r) { return (const tree *)(const void *)r; }

/* Nodes of 1, 2, 4, ... batches, as long as one fits. */
uint64_t faro_tree_levels(const faro_release *r) {
  uint64_t levels = 1;
  while (r->batches >> levels) levels++;
  return levels;
}

uint64_t faro_tree_published_levels(const faro_release *r) {
  uint64_t levels = 1;
  while ((UINT64_C(1) << (levels - 1)) < r->batches) levels++;
  return levels;
}

static faro_status init(faro_release *r, faro_error *error) {
  tree *t = tree_of(r);
  const size_t length = r->contribution.length;
  faro_status status = faro_grid_init(r, error);
  if (status != FARO_OK) return status;
  t->levels = (size_t)faro_tree_levels(r);
  t->level = faro_arena_alloc(&r->arena, t->levels, sizeof *t->level, error);
  for (size_t i = 0; t->level && i < t->levels; i++) {
    level *l = &t->level[i];
    l->total = faro_arena_alloc(&r->arena, length, sizeof *l->total, error);
    l->whole = faro_arena_alloc(&r->arena, length, sizeof *l->whole, error);
    l->base = faro_arena_alloc(&r->arena, length, sizeof *l->base, error);
    if (!l->total || !l->whole || !l->base) return FARO_MEMORY;
    l->fused = 1;
  }
  return t->level ? FARO_OK : FARO_MEMORY;
}

double faro_tree_fuse(faro_release *r) {
  tree *t = tree_of(r);
  double worst = 1;
  t->fuse = true;
  for (size_t i = 1; i < t->levels; i++) {
    const double below = 2 * t->level[i - 1].fused;
    t->level[i].fused = below / (1 + below);
  }
  for (uint64_t top = 0; top < t->levels; top++) { /* M itself, or M with one digit less and all below */
    const uint64_t cleared =
        r->batches >> top > 0 ? ((r->batches >> top) - 1) << top | ((UINT64_C(1) << top) - 1) : 0;
    double variance = 0;
    double least = 0;
    for (size_t i = 0; i < t->levels; i++) {
      if (r->batches >> i & 1) variance += t->level[i].fused;
      if (cleared >> i & 1) least += t->level[i].fused;
    }
    worst = fmax(worst, fmax(variance, least));
  }
  return sqrt(worst);
}

/* The batch joins the node under way on every level. There are whole numbers only if
 * messages were counted. */
static void join(faro_release *r) {
  const tree *t = tree_in(r);
  const size_t length = r->contribution.length;
  double *open = t->grid.real.open;
  for (size_t l = 0; l < t->levels; l++) {
    for (size_t i = 0; i < length; i++) t->level[l].total[i] += open[i];
    for (size_t i = 0; i < length && t->grid.counted; i++) t->level[l].whole[i] += t->grid.whole[i];
  }
  memset(open, 0, length * sizeof *open);
  memset(t->grid.whole, 0, length * sizeof *t->grid.whole);
}

/* A node's own noisy sum, in place of the raw one. */
static void draw(faro_release *r, size_t l, double *own) {
  const tree *t = tree_in(r);
  const size_t length = r->contribution.length;
  if (!r->deployed)
    faro_sim_add_normals(r->source.sim, 1 FARO_PLANT_NOISE, r->unit, t->level[l].total, length);
  for (size_t i = 0; i < length; i++) {
    if (r->deployed) t->level[l].whole[i] += faro_exact_discrete_gaussian(r->rng, t->grid.variance[i], 1);
    own[i] = t->level[l].total[i] + t->grid.unit * (double)t->level[l].whole[i];
  }
}

/* The estimate of node l, which has just ended; its children's are used up. z is scratch. */
static void estimate(faro_release *r, size_t l) {
  const tree *t = tree_in(r);
  const size_t length = r->contribution.length;
  const double weight = t->fuse ? t->level[l].fused : 1; /* of its own sum */
  const double *below = l > 0 ? t->level[l - 1].base : NULL;
  draw(r, l, r->z);
  for (size_t i = 0; i < length; i++)
    t->level[l].base[i] += below && t->fuse ? weight * r->z[i] + (1 - weight) * below[i] : r->z[i];
}

/* Levels whose node ends with batch k, from 0: the lowest ones. */
static size_t count_ends(const faro_release *r, uint64_t k) {
  size_t ended = 1;
  while (ended < tree_in(r)->levels && (k + 1) % (UINT64_C(1) << ended) == 0) ended++;
  return ended;
}

static void add_noise(faro_release *r) {
  const tree *t = tree_in(r);
  const size_t bytes = r->contribution.length * sizeof(double);
  const size_t ended = count_ends(r, r->ledger.charged - 1);
  join(r);
  for (size_t l = t->fuse ? 0 : ended - 1; l < ended; l++) {
    estimate(r, l);
    for (size_t below = 0; below < l; below++) memset(t->level[below].base, 0, bytes);
  }
  for (size_t l = 0; l < ended; l++) {
    memset(t->level[l].total, 0, bytes);
    memset(t->level[l].whole, 0, bytes);
  }
}

static void publish(faro_release *r) {
  const tree *t = tree_in(r);
  memset(r->sum, 0, r->contribution.length * sizeof *r->sum);
  for (uint64_t left = r->ledger.charged; left > 0; left &= left - 1) {
    const double *base = t->level[__builtin_ctzll(left)].base;
    for (size_t i = 0; i < r->contribution.length; i++) r->sum[i] += base[i];
  }
}

static void measure(faro_release *r) {
  const tree *t = tree_in(r);
  r->variance = 0;
  for (uint64_t left = r->ledger.charged; left > 0; left &= left - 1)
    r->variance += t->level[__builtin_ctzll(left)].fused;
}

static bool state(const faro_release *r, size_t index, faro_state_vector *vector) {
  const tree *t = tree_in(r);
  const size_t length = r->contribution.length;
  if (index >= 3 * t->levels) return false;
  const level *l = &t->level[index / 3];
  *vector = (faro_state_vector){.count = length, .most = UINT64_C(1) << 62};
  if (index % 3 == 0) vector->real = l->total;
  else if (index % 3 == 1) vector->whole = l->whole;
  else vector->real = l->base;
  return true;
}

static void grounds(const faro_release *r, faro_text *out) {
  faro_ground_word(out, "mechanism", "tree");
  faro_ground_number(out, "releases", (double)r->batches);
  faro_grid_ground(r, 0, out);
}

const faro_mechanism faro_mechanism_tree = {
    .size = sizeof(tree),
    .adds = true,
    .grounds = grounds,
    .exact = true,
    .init = init,
    .settle = faro_grid_settle,
    .encode = faro_grid_round,
    .collect = faro_grid_collect,
    .absorb = faro_grid_absorb,
    .add_noise = add_noise,
    .publish = publish,
    .measure = measure,
    .state = state,
};
