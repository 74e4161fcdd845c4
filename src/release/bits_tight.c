/* bits_tight: how many noise bits the accountant proves sufficient, and which tree is best. See
 * bits.c for the mechanism, and docs/privacy.md, Bit sums, Trees of bit sums and Returning users,
 * for the proofs. */
#include <math.h>

#include "base/abort.h"
#include "release/bits.h"
#include "release/shares.h"

/* True if nobody is trusted: then every user's noise protects that user only. */
static bool alone(const faro_release *r) { return r->kind->trust == FARO_TRUST_LOCAL; }

/* The sum of squares, over the nodes of a level, of how often a user is in each. A user has M0
 * rounds, no two in one batch, so a node of `unit` batches has at most min(unit, M0) of them. This
 * is not the least bound, but one that divides fairly when the rounds are spread over several trees
 * (doubling): load / M0 grows with M0. */
static double load_at(uint64_t unit, uint64_t repeats) {
  return (double)repeats * (double)(unit < repeats ? unit : repeats);
}

static faro_bits_plan plan_of(const faro_release *r, size_t level, double grid) {
  const faro_bits *s = faro_bits_in(r);
  const double levels = (double)s->levels;
  const bool one = faro_server_adds_noise(r) || alone(r);
  const uint64_t unit = s->level[level].unit;
  const double users = one ? 1 : (double)faro_bits_users(r, level);
  return (faro_bits_plan){.users = users,
                          .honest = one ? 1 : faro_honest(r, unit, (double)r->params.batch) / users,
                          .dimension = (double)r->contribution.length,
                          .sensitivity = r->contribution.sensitivity / (2 * s->entry),
                          .grid = grid,
                          .load = levels * load_at(unit, r->repeats),
                          .repeat = (double)(unit < r->repeats ? unit : r->repeats),
                          .touched = levels * (double)r->repeats};
}

/* One grid for all levels: fine enough for the level with the most users per node, and so fine that
 * rounding adds at most one per cent to the variance of the last sum. */
static faro_status choose_grid(const faro_release *r, double *grid, faro_error *error) {
  const faro_bits *s = faro_bits_in(r);
  *grid = (double)r->params.grid;
  if (*grid > 0) return FARO_OK;
  faro_bits_plan top = plan_of(r, s->levels - 1, 0);
  const faro_status status = faro_bits_calibrate(&top, r->params.epsilon, r->params.delta, error);
  if (status != FARO_OK) return status;
  const uint64_t count = r->batches / s->level[s->levels - 1].unit;
  const double nodes = (double)count;
  const double users = (double)(r->batches * r->params.batch);
  const double noise = nodes * top.noise_sd * top.noise_sd * (alone(r) ? (double)r->params.batch : 1);
  const double needed = r->contribution.binary ? 1 : sqrt(users / (0.04 * noise));
  *grid = fmin(fmax(top.grid, ceil(needed)), 1e6);
  return FARO_OK;
}

faro_status faro_bits_tight(faro_release *r, faro_error *error) {
  faro_bits *s = faro_bits_of(r);
  double grid = 0;
  faro_status status = choose_grid(r, &grid, error);
  double square = 0; /* mu^2 of all levels together */
  double slack = 0;
  for (size_t i = 0; status == FARO_OK && i < s->levels; i++) {
    faro_bits_plan plan = plan_of(r, i, grid);
    status = faro_bits_calibrate(&plan, r->params.epsilon, r->params.delta, error);
    if (status == FARO_OK) status = faro_bits_set_noise(r, i, plan.bits, error);
    square += plan.mu * plan.mu * plan.load / (double)s->levels;
    slack += plan.slack * (double)r->repeats;
  }
  if (status != FARO_OK) return status;
  FARO_INVARIANT(faro_gaussian_delta(sqrt(square), r->params.epsilon) + slack <= r->params.delta);
  s->fair = s->fuse = true;
  r->claim = faro_claim_make(
      r->params.epsilon, r->params.delta, r->kind->trust, true,
      "fair bits on %zu level%s, dominated by a Gaussian of mu %.4g, rounding counted (docs/privacy.md)",
      s->levels, s->levels == 1 ? "" : "s", sqrt(square));
  return faro_bits_set_step(r, 2 * s->entry / grid, error);
}

/* The Gaussian mechanism for a user who moves less: the accountant again, from grid and bits. */
bool faro_bits_gaussian(const faro_release *r, double move, double *mu, double *slack) {
  const faro_bits *s = faro_bits_in(r);
  double square = 0;
  double total = 0;
  for (size_t i = 0; s->fuse && move > 0 && i < s->levels; i++) {
    faro_bits_plan plan = plan_of(r, i, (double)s->grid);
    plan.sensitivity = move / (2 * s->entry);
    plan.bits = (double)(faro_server_adds_noise(r) ? s->level[i].noise : s->level[i].bits);
    double epsilon = INFINITY;
    if (faro_bits_account(&plan, r->params.delta, &epsilon, NULL) != FARO_OK || !isfinite(epsilon))
      return false;
    square += plan.mu * plan.mu * plan.load / (double)s->levels;
    total += plan.slack * (double)r->repeats;
  }
  *mu = sqrt(square);
  *slack = total;
  return s->fuse; /* fair bits under `tight` */
}

/* Predicts noise by the accountant, and the effect of users whom the server does not see yet. The
 * sum of the highest level's nodes is a random walk, which usually stays within twice its last
 * standard deviation. The levels below start again under each parent, so their worst case is a
 * maximum over many. Sums: half of the users not seen, and the noise at its worst. Moments: the
 * regret of linucb grows with the square root of the noise (Chowdhury & Zhou 2022, Lemma A.4); the
 * two factors were fitted at d = 5, T = 10^6 (docs/experiments.md). */
double faro_bits_predict(const faro_release *r, size_t levels, double batch, double degree) {
  const double n = (double)r->params.horizon;
  const double d = (double)r->contribution.dimension;
  const double top = batch * pow(degree, (double)levels - 1);
  if (top > n) return INFINITY;
  const double sigma = r->contribution.sensitivity / faro_gaussian_mu(r->params.epsilon, r->params.delta) *
                       sqrt((double)levels);
  const double walk = sigma * sqrt(n / top);
  const double below = sigma * sqrt(((double)levels - 1) * (degree - 1));
  if (r->contribution.gram == 0)
    return (batch - 1) / 2 + hypot(2 * walk, below * sqrt(2 * log(2 * n / batch)));
  return 0.3 * d * batch + 0.66 * pow(d, 0.75) * sqrt(n * hypot(walk, below));
}

uint64_t faro_bits_least(const faro_release *r, double (*cost)(const faro_release *, double batch)) {
  double best = 2;
  double least = INFINITY;
  for (double batch = 2; batch <= (double)r->params.horizon; batch = ceil(batch * 1.05)) {
    const double here = cost(r, batch);
    if (here >= least) continue;
    least = here;
    best = batch;
  }
  return (uint64_t)best;
}
