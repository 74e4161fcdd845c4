/* bits_tight: how many noise bits the accountant proves sufficient, and which tree is best. See
 * bits.c for the mechanism, and docs/privacy.md, Bit sums, Trees of bit sums and Returning users,
 * for the proofs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/abort.h"
#include "release/bits.h"
#include "release/plant.h"
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

static faro_bits_plan plan_of(const faro_release *r, size_t level, size_t class_index, double grid) {
  const faro_bits *s = faro_bits_in(r);
  const double levels = (double)s->levels;
  const bool one = faro_server_adds_noise(r) || alone(r);
  const uint64_t unit = s->level[level].unit;
  const double batch = (double)r->schedule.size[class_index];
  const double users = one ? 1 : (double)faro_bits_users(r, level, class_index);
  return (faro_bits_plan){.users = users,
                          .honest = one ? 1 : faro_honest(r, unit, batch),
                          .dimension = (double)r->contribution.length,
                          .sensitivity = r->contribution.sensitivity / (2 * s->entry),
                          .grid = grid,
                          .load = FARO_PLANT_LEVELS(levels) * load_at(unit, r->repeats),
                          .repeat = (double)(unit < r->repeats ? unit : r->repeats),
                          .touched = levels * (double)r->repeats};
}

/* The class of the largest batches. */
static size_t largest_class(const faro_release *r) {
  size_t most = 0;
  for (size_t c = 1; c < faro_bits_classes(r); c++)
    if (r->schedule.size[c] > r->schedule.size[most]) most = c;
  return most;
}

/* One grid for all levels and batches: fine enough for the node with the most users, and so fine
 * that rounding adds at most one per cent to the variance of the last sum. */
static faro_status choose_grid(const faro_release *r, double *grid, faro_error *error) {
  const faro_bits *s = faro_bits_in(r);
  *grid = (double)r->params.grid;
  if (*grid > 0) return FARO_OK;
  faro_bits_plan top = plan_of(r, s->levels - 1, largest_class(r), 0);
  const faro_status status = faro_bits_calibrate(&top, r->params.epsilon, r->params.delta, error);
  if (status != FARO_OK) return status;
  const uint64_t nodes = r->batches / s->level[s->levels - 1].unit;
  const double users = (double)faro_schedule_users(&r->schedule, r->batches);
  const double noise = top.noise_sd * top.noise_sd * (alone(r) ? users : (double)nodes);
  const double needed = r->contribution.binary ? 1 : sqrt(users / (0.04 * noise));
  *grid = fmin(fmax(top.grid, ceil(needed)), 1e6);
  return FARO_OK;
}

/* Adds a level. A user's nodes there may be of any classes: the worst of them bounds all. */
static faro_status calibrate_level(faro_release *r, size_t level, double grid, double *square, double *slack,
                                   faro_error *error) {
  const faro_bits *s = faro_bits_in(r);
  double mu = 0;
  double most = 0;
  for (size_t c = 0; c < faro_bits_classes(r); c++) {
    faro_bits_plan plan = plan_of(r, level, c, grid);
    faro_status status = faro_bits_calibrate(&plan, r->params.epsilon, r->params.delta, error);
    if (status == FARO_OK) status = faro_bits_set_noise(r, level, c, plan.bits, error);
    if (status != FARO_OK) return status;
    mu = fmax(mu, plan.mu * plan.mu * plan.load / (double)s->levels);
    most = fmax(most, plan.slack * (double)r->repeats);
  }
  *square += mu;
  *slack += most;
  return FARO_OK;
}

faro_status faro_bits_tight(faro_release *r, faro_error *error) {
  faro_bits *s = faro_bits_of(r);
  double grid = 0;
  double square = 0; /* mu^2 of all levels together */
  double slack = 0;
  faro_status status = choose_grid(r, &grid, error);
  for (size_t i = 0; status == FARO_OK && i < s->levels; i++)
    status = calibrate_level(r, i, grid, &square, &slack, error);
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
bool faro_bits_gaussian(const faro_release *r, double share, double *mu, double *slack) {
  const faro_bits *s = faro_bits_in(r);
  double square = 0;
  double total = 0;
  for (size_t i = 0; s->fuse && share > 0 && i < s->levels; i++) {
    double level = 0;
    double most = 0;
    for (size_t c = 0; c < faro_bits_classes(r); c++) {
      faro_bits_plan plan = plan_of(r, i, c, (double)s->grid);
      plan.sensitivity *= share;
      const faro_bits_noise *n = &s->level[i].noise[c];
      plan.bits = (double)(faro_server_adds_noise(r) ? n->noise : n->bits);
      double epsilon = INFINITY;
      if (faro_bits_account(&plan, r->params.delta, &epsilon, NULL) != FARO_OK || !isfinite(epsilon))
        return false;
      level = fmax(level, plan.mu * plan.mu * plan.load / (double)s->levels);
      most = fmax(most, plan.slack * (double)r->repeats);
    }
    square += level;
    total += most;
  }
  *mu = sqrt(square);
  *slack = total;
  return s->fuse; /* fair bits under `tight` */
}

/* What it costs that noise is cut, per entry of a message that `shift` steps move: the noise is
 * beyond the cut, or so near to it that the neighbour's message could not have this number of
 * ones. */
static double cut_cost(const faro_bits_noise *n, double shift) {
  if (n->low == 0) return 0; /* not cut */
  const double bits = (double)n->bits;
  const double reach = bits / 2 - (double)n->low;
  const double room = fmax(0, reach - shift);
  return 2 * exp(-2 * reach * reach / bits) + 2 * exp(-2 * room * room / bits);
}

/* Adds the messages of a level, one for each round of a user. False if nothing is known. */
static bool add_alone(const faro_release *r, size_t level, double *square, double *cost) {
  const faro_bits *s = faro_bits_in(r);
  const double rounds = (double)r->repeats;
  double mu = 0;
  double most = 0;
  for (size_t c = 0; c < faro_bits_classes(r); c++) {
    const faro_bits_noise *n = &s->level[level].noise[c];
    faro_bits_plan plan = plan_of(r, level, c, (double)s->grid);
    plan.users = 1;
    plan.honest = plan.load = plan.repeat = 0;
    plan.bits = (double)n->bits;
    double epsilon = INFINITY;
    if (faro_bits_account(&plan, r->params.delta, &epsilon, NULL) != FARO_OK || !isfinite(epsilon))
      return false;
    mu = fmax(mu, plan.mu);
    most = fmax(most, plan.slack + plan.dimension * cut_cost(n, (double)s->grid));
  }
  *square += rounds * mu * mu;
  *cost += rounds * most;
  return true;
}

/* Bits with p = 1/4 of users who come once: Lemma 8 with the bits of one user, for the least
 * epsilon whose bits these are (Chowdhury & Zhou 2022, Remark 3.7). */
static void imply_quarter(faro_release *r) {
  const faro_bits *s = faro_bits_in(r);
  const double d = (double)r->contribution.dimension;
  const double delta = r->params.delta;
  const double g = (double)s->grid;
  const double epsilon = sqrt(24e4 / (double)s->level->noise->bits) * g * log(4 * (d * d + 1) / delta);
  const bool moments = r->contribution.gram > 0 && r->params.calibration == FARO_CALIBRATION_PAPER;
  if (!moments || s->levels > 1 || r->repeats > 1 || delta >= 0.5) return;
  if (!(epsilon <= 15 && g >= fmax(d, 4))) {
    const size_t used = strlen(r->claim.by);
    snprintf(r->claim.by + used, sizeof r->claim.by - used, "; no bound for one user's bits by themselves");
    return;
  }
  r->claim.local_epsilon = 0.1 * epsilon;
  r->claim.local_delta = delta;
}

void faro_bits_imply_local(faro_release *r) {
  const faro_bits *s = faro_bits_in(r);
  if (!s->fair) imply_quarter(r);
  double square = 0;
  double cost = 0;
  bool known = s->fair;
  for (size_t i = 0; known && i < s->levels; i++) known = add_alone(r, i, &square, &cost);
  if (!known || !(cost < r->params.delta)) return;
  r->claim.local_epsilon = faro_gaussian_epsilon(sqrt(square), r->params.delta - cost);
  r->claim.local_delta = r->params.delta;
}
