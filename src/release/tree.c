/* tree: the server sees raw contributions and adds Gaussian noise at the nodes of a binary tree
 * over the releases. Shariff & Sheffet 2018; over batches, Chowdhury & Zhou 2022, App. F. See
 * docs/privacy.md, The Gaussian mechanism.
 *
 * The prefix up to release t is the sum of the nodes that the ones in t's binary digits stand for,
 * and its noise is the sum of those nodes' noises. noise[c] holds the noise of the prefix made of
 * the c highest ones. At release t, the lowest one is a new node; everything above it was complete
 * when t had a zero there:
 *
 *   t = 6 = 110b     noise[1] = node(100b)     noise[2] = noise[1] + node(10b)     c = ones(t) = 2
 *
 * So one new node is drawn per release, no node is used again for another prefix of the same depth,
 * and log2(M) + 1 vectors are stored. */
#include "release/tree.h"

#include <string.h>

#include "random/noise.h"

typedef struct tree {
  faro_grid grid;
  /* (levels + 1) x length: noise of the prefix made of the c highest ones, c = 0, 1, ... */
  double *noise;
  int64_t *exact; /* the same in deployment, in steps of the grid; one of the two is zero */
} tree;

static tree *tree_of(faro_release *r) { return (tree *)(void *)r; }

uint64_t faro_tree_levels(const faro_release *r) {
  uint64_t levels = 1;
  while ((UINT64_C(1) << (levels - 1)) < r->batches) levels++;
  return levels;
}

static faro_status init(faro_release *r, faro_error *error) {
  tree *t = tree_of(r);
  const faro_status status = faro_grid_init(r, error);
  if (status != FARO_OK) return status;
  const size_t count = (faro_tree_levels(r) + 1) * r->contribution.length;
  t->noise = faro_arena_alloc(&r->arena, count, sizeof *t->noise, error);
  t->exact = faro_arena_alloc(&r->arena, count, sizeof *t->exact, error);
  return t->noise && t->exact ? FARO_OK : FARO_MEMORY;
}

static size_t prefix_of(const faro_release *r) {
  return (size_t)__builtin_popcountll(r->ledger.charged) * r->contribution.length;
}

/* Adds the new node to the prefix above it. */
static void add_noise(faro_release *r) {
  const tree *t = tree_of(r);
  const size_t length = r->contribution.length;
  double *noise = t->noise + prefix_of(r);
  int64_t *exact = t->exact + prefix_of(r);
  memcpy(noise, noise - length, length * sizeof *noise);
  memcpy(exact, exact - length, length * sizeof *exact);
  if (r->deployed)
    for (size_t i = 0; i < length; i++)
      exact[i] += faro_exact_discrete_gaussian(r->rng, t->grid.variance[i], 1);
  else
    for (size_t i = 0; i < length; i++) noise[i] += t->grid.real.sd[i] * faro_sim_normal(r->source.sim);
}

/* sum = raw + noise(prefix). The raw sum of everything stays in `open` and `whole` and is never
 * published. */
static void publish(faro_release *r) {
  const tree *t = tree_of(r);
  const size_t length = r->contribution.length;
  const double *noise = t->noise + prefix_of(r);
  const int64_t *exact = t->exact + prefix_of(r);
  for (size_t i = 0; i < length; i++) r->sum[i] = t->grid.real.open[i] + noise[i];
  for (size_t i = 0; t->grid.counted && i < length; i++)
    r->sum[i] += t->grid.unit * (double)(t->grid.whole[i] + exact[i]);
}

static bool state(const faro_release *r, size_t index, faro_state_vector *vector) {
  const tree *t = (const tree *)(const void *)r;
  const size_t length = r->contribution.length;
  const size_t prefixes = (faro_tree_levels(r) + 1) * length;
  const uint64_t most = UINT64_C(1) << 61;
  if (index == 0) *vector = (faro_state_vector){.real = t->grid.real.open, .count = length};
  if (index == 1) *vector = (faro_state_vector){.real = t->noise, .count = prefixes};
  if (index == 2) *vector = (faro_state_vector){.whole = t->grid.whole, .count = length, .most = most};
  if (index == 3) *vector = (faro_state_vector){.whole = t->exact, .count = prefixes, .most = most};
  return index < 4;
}

static void resume(faro_release *r) { tree_of(r)->grid.counted = true; }

const faro_mechanism faro_mechanism_tree = {
    .size = sizeof(tree),
    .exact = true,
    .init = init,
    .settle = faro_grid_settle,
    .encode = faro_grid_round,
    .collect = faro_grid_collect,
    .absorb = faro_grid_absorb,
    .add_noise = add_noise,
    .publish = publish,
    .state = state,
    .resume = resume,
};
