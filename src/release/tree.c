/* central-tree: the server sees raw contributions and adds Gaussian noise at the nodes of a binary
 * tree over the releases. Shariff and Sheffet 2018; over batches, 000 App. F.
 *
 * The prefix up to release t is the sum of the nodes named by the ones in t's binary digits; its
 * noise is the sum of those nodes' noises. noise[c] holds the noise of the prefix made of the c
 * highest ones. Going to t, the lowest one is a new node, and everything above it was complete when
 * t was still t minus that digit:
 *
 *   t = 6 = 110b     noise[1] = node(100b)     noise[2] = noise[1] + node(10b)     c = ones(t) = 2
 *
 * so one fresh node is drawn for each release, none is used again for another prefix of the same
 * depth, and log2(M) + 1 vectors are all that is kept. */
#include <math.h>

#include "random/noise.h"
#include "release/grid.h"

typedef struct tree {
  faro_grid grid;
  double *noise;   /* (levels + 1) x length: of the prefix made of the c highest ones, c = 0, 1, ... */
  int64_t *exact;  /* the same in deployment, in steps of the grid: one of both is zero */
  uint64_t levels; /* m = 1 + ceil(log2 M): nodes that one user touches, and the most a prefix adds */
} tree;

static tree *tree_of(faro_release *r) { return (tree *)(void *)r; }

static faro_status init(faro_release *r, faro_error *error) {
  tree *t = tree_of(r);
  const faro_status status = faro_grid_init(r, error);
  if (status != FARO_OK) return status;
  t->levels = 1;
  while ((UINT64_C(1) << (t->levels - 1)) < r->batches) t->levels++;
  t->noise = faro_arena_alloc(&r->arena, (t->levels + 1) * r->contribution.length, sizeof *t->noise, error);
  t->exact = faro_arena_alloc(&r->arena, (t->levels + 1) * r->contribution.length, sizeof *t->exact, error);
  return t->noise && t->exact ? FARO_OK : FARO_MEMORY;
}

/* Shariff and Sheffet 2018, section 4.2: sigma^2 = 16 m (L^2 + R^2)^2 ln(4/delta)^2 / epsilon^2 for the
 * matrix (Z + Z')/sqrt(2), of which x x' and x y are parts; sigma M0 for returning users (000 Prop. E.7). */
static faro_status calibrate_paper(faro_release *r, faro_error *error) {
  (void)error;
  const faro_contribution *c = &r->contribution;
  const double epsilon = r->params.epsilon;
  const double delta = r->params.delta;
  const double m = (double)tree_of(r)->levels;
  const double reward = fmax(fabs(c->low), fabs(c->high));
  const double square = c->norm * c->norm + reward * reward;
  const double sigma = 4 * sqrt(m) * square * log(4 / delta) / epsilon * (double)r->repeats;
  faro_set_gaussian(r, sigma, sqrt(2), 1);
  faro_set_scale(r, sqrt(m));
  const double shift =
      faro_tree_factors(r->batches, r->repeats).sensitivity * faro_gaussian_shift(r, sigma, sqrt(2), 1);
  const double proven = faro_gaussian_epsilon(shift, delta);
  r->claim = faro_claim_make(
      epsilon, delta, FARO_TRUST_JOINT, proven <= epsilon,
      "tree noise of Shariff & Sheffet 2018%s; the exact Gaussian mechanism gives epsilon %.3g",
      r->repeats > 1 ? ", scaled for returning users by 000 Proposition E.7" : "", proven);
  return FARO_OK;
}

static faro_status calibrate_figure(faro_release *r, faro_error *error) {
  (void)error;
  const double log_t = log((double)r->params.horizon);
  const double sigma = sqrt(log_t) * log(2.5 / r->params.delta) / r->params.epsilon;
  faro_set_gaussian(r, sigma, 1, sqrt(0.5)); /* (N + N')/2 of independent entries */
  faro_set_scale(r, sqrt((double)tree_of(r)->levels));
  r->gamma = sigma * sqrt(log_t * (double)r->contribution.dimension);
  r->claim = faro_claim_make(r->params.epsilon, r->params.delta, FARO_TRUST_JOINT, false,
                             "constants of the published figures, which no theorem backs");
  return FARO_OK;
}

/* The nodes that a user touches are one Gaussian mechanism, however often the user returns. */
static faro_status calibrate_tight(faro_release *r, faro_error *error) {
  (void)error;
  const faro_continual factors = faro_tree_factors(r->batches, r->repeats);
  const double shift = r->contribution.sensitivity * factors.sensitivity;
  r->mu = faro_gaussian_mu(r->params.epsilon, r->params.delta);
  faro_set_gaussian(r, shift / r->mu, 1, 1);
  faro_set_scale(r, factors.prefix);
  r->claim =
      faro_claim_make(r->params.epsilon, r->params.delta, FARO_TRUST_JOINT, true,
                      "exact Gaussian mechanism (Balle & Wang 2018) over the tree's nodes, which a user "
                      "moves by %.4g contributions",
                      factors.sensitivity);
  return FARO_OK;
}

/* A user is in M0 nodes of each level at most. */
static faro_status vouch(const faro_release *r, faro_error *error) {
  const double nodes = (double)((const tree *)(const void *)r)->levels * (double)r->repeats;
  const faro_grid_basis basis = {.mu = r->mu,
                                 .epsilon = r->params.epsilon,
                                 .delta = r->params.delta,
                                 .draws = nodes * (double)r->contribution.length};
  return faro_grid_vouch(r, basis, error);
}

static size_t prefix_of(const faro_release *r) {
  return (size_t)__builtin_popcountll(r->ledger.charged) * r->contribution.length;
}

/* In deployment the new node's noise is drawn here, in whole numbers, and nothing is added by publish. */
static void thicken_secure(faro_release *r, faro_rng *rng) {
  const tree *t = tree_of(r);
  const size_t length = r->contribution.length;
  int64_t *exact = t->exact + prefix_of(r);
  const int64_t *above = exact - length;
  for (size_t i = 0; i < length; i++)
    exact[i] = above[i] + faro_exact_discrete_gaussian(rng, t->grid.variance[i], 1);
}

/* What came on the grid, and its noise; a node whose noise is a simulation's has none there. */
static void publish_whole(faro_release *r, bool simulated) {
  const tree *t = tree_of(r);
  const size_t length = r->contribution.length;
  int64_t *exact = t->exact + prefix_of(r);
  const int64_t *above = exact - length;
  for (size_t i = 0; i < length; i++) {
    if (simulated) exact[i] = above[i];
    r->sum[i] += t->grid.unit * (double)(t->grid.whole[i] + exact[i]);
  }
}

/* sum = raw + noise(prefix). The raw sum of everything stays in `open` and `whole`: it never leaves. */
static void publish(faro_release *r, faro_sim_rng *sim) {
  const tree *t = tree_of(r);
  const size_t length = r->contribution.length;
  double *noise = t->noise + prefix_of(r);
  const double *above = noise - length;
  for (size_t i = 0; i < length; i++) {
    noise[i] = above[i] + (sim ? t->grid.real.sd[i] * faro_sim_normal(sim) : 0);
    r->sum[i] = t->grid.real.open[i] + noise[i];
  }
  if (t->grid.counted) publish_whole(r, sim != NULL);
}

static bool span_of(const faro_release *r, size_t index, faro_span *span) {
  const tree *t = (const tree *)(const void *)r;
  const size_t length = r->contribution.length;
  const uint64_t most = UINT64_C(1) << 61;
  if (index == 0) *span = (faro_span){.real = t->grid.real.open, .count = length};
  if (index == 1) *span = (faro_span){.real = t->noise, .count = (t->levels + 1) * length};
  if (index == 2) *span = (faro_span){.whole = t->grid.whole, .count = length, .most = most};
  if (index == 3) *span = (faro_span){.whole = t->exact, .count = (t->levels + 1) * length, .most = most};
  return index < 4;
}

static void resume(faro_release *r) { tree_of(r)->grid.counted = true; }

const faro_release_kind faro_release_central_tree = {
    .name = "central-tree",
    .summary = "Gaussian noise at the nodes of a binary tree; the server is trusted",
    .trust = FARO_TRUST_JOINT,
    .least_batch = 1,
    .exact = true,
    .splits = true,
    .calibrate = {calibrate_paper, calibrate_figure, calibrate_tight},
    .size = sizeof(tree),
    .init = init,
    .finish = faro_grid_finish,
    .absorb = faro_real_absorb,
    .absorb_secure = faro_grid_absorb,
    .thicken_secure = thicken_secure,
    .vouch = vouch,
    .randomize = faro_grid_plain,
    .sound = faro_grid_sound,
    .range = faro_grid_range,
    .collect = faro_grid_collect,
    .publish = publish,
    .influence = faro_grid_influence,
    .saves = true,
    .span = span_of,
    .resume = resume,
};
