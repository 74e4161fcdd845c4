/* grid: Gaussian noise in whole numbers. A deployed release never adds a floating-point number to a
 * contribution.
 *
 *   z --nearest multiple of u--> steps --plus a discrete Gaussian--> message --add up--> u total
 *
 *   u    a power of two; the noise has 2^26 to 2^27 steps per standard deviation in the batches
 *        where it is greatest, unless the sums of all users would not fit into 62 bits
 *   s^2  variance of the noise in steps, a whole number: (sigma / u)^2, and a little more
 *
 * sigma is the noise in real numbers that the accountant asks for; simulations add it to whole
 * batches. The little more pays for the differences (docs/privacy.md, Exact noise, Lemmas 6 and 7):
 * rounding raises the sensitivity S by at most u sqrt(length), and a discrete Gaussian is a rounded
 * one up to factors of 1 + O(1 / s^2), which MARGIN covers. A release that is created for
 * deployment checks that this is enough.
 *
 * A message is cut to the range of its entries plus REACH standard deviations. An honest user never
 * reaches that (2e-33 per entry), and a dishonest one cannot exceed it. */
#include "release/grid.h"

#include <math.h>

#include "random/noise.h"
#include "release/grounds.h"
#include "release/plant.h"
#include "release/shares.h"

static const double MARGIN = 0x1p-20;
static const double COARSE = 1.01; /* the most that rounding may add to the noise */
static const double TOTAL_MAX = 0x1p61;
enum { STEPS = 26, REACH = 12 };

/* Classes of batches with noise of their own. */
static size_t classes_of(const faro_release *r) { return r->factor ? r->schedule.classes : 1; }

faro_status faro_grid_init(faro_release *r, faro_error *error) {
  faro_grid *g = faro_grid_of(r);
  const size_t classes = r->schedule.classes;
  const faro_status status = faro_real_init(r, error);
  if (status != FARO_OK) return status;
  g->variance = faro_arena_alloc(&r->arena, classes * r->contribution.length, sizeof *g->variance, error);
  g->basis = faro_arena_alloc(&r->arena, classes, sizeof *g->basis, error);
  g->whole = faro_arena_alloc(&r->arena, r->contribution.length, sizeof *g->whole, error);
  r->range = faro_arena_alloc(&r->arena, 1, sizeof *r->range, error);
  return g->variance && g->basis && g->whole && r->range ? FARO_OK : FARO_MEMORY;
}

static double greatest_unit(const faro_release *r) {
  double most = 0;
  for (size_t i = 0; i < r->contribution.length; i++) most = fmax(most, r->unit[i]);
  return most;
}

/* Users whose messages are added up: the totals of a trusted server are over all batches. */
static uint64_t users_of(const faro_release *r) {
  uint64_t most = 0;
  for (size_t c = 0; c < r->schedule.classes; c++)
    if (r->schedule.size[c] > most) most = r->schedule.size[c];
  return faro_server_adds_noise(r) ? r->params.horizon : most;
}

static double choose_unit(const faro_release *r, double sd) {
  const double total = (double)users_of(r) * (r->contribution.entry + REACH * sd);
  const double fine = ldexp(1, ilogb(sd) - STEPS); /* the greatest factor is 1 */
  return fmax(fine, ldexp(1, ilogb(total / TOTAL_MAX) + 1));
}

void faro_grid_choose(faro_release *r) {
  faro_grid *g = faro_grid_of(r);
  const faro_contribution *c = &r->contribution;
  const double sd = greatest_unit(r);
  g->unit = choose_unit(r, sd);
  g->spread = 1 + g->unit * (sqrt((double)c->length) + g->blur) / c->sensitivity;
  const double more = fmin(g->spread, COARSE) * (1 + MARGIN);
  for (size_t k = 0; k < classes_of(r); k++)
    for (size_t i = 0; i < c->length; i++) {
      const double steps = (r->factor ? r->factor[k] : 1) * r->unit[i] / g->unit * more FARO_PLANT_NOISE;
      g->variance[k * c->length + i] = (uint64_t)fmax(1, ceil(steps * steps));
    }
  const double noise = faro_server_adds_noise(r) ? 0 : REACH * sd * more;
  g->most = (uint64_t)ceil((c->entry + noise) / g->unit);
}

/* docs/privacy.md, Lemma 7, with numbers:
 *
 *   delta(epsilon) <= e^a (delta_Gauss(epsilon - a - b; mu') + tail)
 *   a = draws / (23 s^2),  b = a (REACH + mu')^2,  tail = draws 4e-33 > draws 2 Phi(-REACH) */
static bool carries_over(const faro_release *r, size_t k, const faro_grid_basis *basis) {
  const faro_grid *g = faro_grid_in(r);
  const uint64_t variance = g->variance[k * r->contribution.length];
  const double square = (double)variance;
  const double sigma = (r->factor ? r->factor[k] : 1) * r->unit[0];
  const double mu = basis->mu * g->spread * sigma / (g->unit * sqrt(square));
  const double a = basis->draws / (23 * square);
  const double b = a * (REACH + mu) * (REACH + mu);
  const double tail = basis->draws * 4e-33;
  if (!(square >= 1e4 && variance <= FARO_EXACT_VARIANCE_MAX && a + b < basis->epsilon / 2)) return false;
  return exp(a) * (faro_gaussian_delta(mu, basis->epsilon - a - b) + tail) <= basis->delta;
}

static faro_status prove_exact(const faro_release *r, faro_error *error) {
  const faro_calibration calibration = r->params.calibration;
  if (calibration != FARO_CALIBRATION_TIGHT)
    return faro_fail(
        error, FARO_INVALID,
        "calibration must be tight for %s to be deployed (got %s): the proofs of the others are for "
        "noise in real numbers",
        r->kind->name, faro_calibration_name(calibration));
  bool carries = faro_grid_in(r)->spread <= COARSE;
  for (size_t k = 0; k < classes_of(r); k++)
    carries = carries && carries_over(r, k, &faro_grid_in(r)->basis[k]);
  if (!carries)
    return faro_fail(
        error, FARO_INVALID,
        "%s cannot be deployed with epsilon %g, delta %g and %llu users: whole numbers of 62 bits "
        "are too coarse for its noise",
        r->kind->name, r->params.epsilon, r->params.delta, (unsigned long long)users_of(r));
  return FARO_OK;
}

/* The same for what the messages of a user give by themselves. If it does not carry over, nothing
 * is said. */
static void prove_local(faro_release *r) {
  faro_claim *claim = &r->claim;
  const double rounds = (double)r->repeats;
  bool carries = true;
  for (size_t k = 0; k < classes_of(r); k++) {
    const double sigma = (r->factor ? r->factor[k] : 1) * r->unit[0];
    const faro_grid_basis basis = {.mu = sqrt(rounds) * r->contribution.sensitivity / sigma,
                                   .epsilon = claim->local_epsilon,
                                   .delta = claim->local_delta,
                                   .draws = rounds * (double)r->contribution.length};
    carries = carries && carries_over(r, k, &basis);
  }
  if (!carries) claim->local_epsilon = claim->local_delta = 0;
}

faro_status faro_grid_settle(faro_release *r, faro_error *error) {
  const faro_grid *g = faro_grid_in(r);
  faro_grid_choose(r);
  *r->range = (faro_range){.least = -(int64_t)g->most, .most = (int64_t)g->most, .users = 1};
  r->influence = g->unit * (double)g->most;
  if (r->deployed && r->claim.local_epsilon > 0) prove_local(r);
  return r->deployed ? prove_exact(r, error) : FARO_OK;
}

/* z is finite and clipped; dividing by a power of two is exact. */
static inline int64_t round_entry(const faro_grid *g, double z) { return llrint(z / g->unit); }

static inline int64_t cut(const faro_grid *g, int64_t steps) {
  const int64_t most = (int64_t)g->most;
  return steps > most ? most : steps < -most ? -most : steps;
}

void faro_grid_round(const faro_release *r, const double *z, void *message) {
  const faro_grid *g = faro_grid_in(r);
  int64_t *steps = message;
  for (size_t i = 0; i < r->contribution.length; i++) steps[i] = cut(g, round_entry(g, z[i]));
}

/* Variances of the noise in batch k. */
static const uint64_t *variance_of(const faro_release *r, uint64_t k) {
  const size_t index = r->factor ? faro_schedule_class(&r->schedule, k) : 0;
  return faro_grid_in(r)->variance + index * r->contribution.length;
}

static void encode(const faro_release *r, const double *z, void *message) {
  const faro_grid *g = faro_grid_in(r);
  const uint64_t *variance = variance_of(r, r->open);
  int64_t *steps = message;
  for (size_t i = 0; i < r->contribution.length; i++)
    steps[i] = cut(g, round_entry(g, z[i]) + faro_exact_discrete_gaussian(r->rng, variance[i], 1));
}

/* users * most < 2^62: no overflow. */
void faro_grid_collect(faro_release *r, size_t index, const void *message) {
  faro_grid *g = faro_grid_of(r);
  const int64_t *steps = message;
  (void)index;
  for (size_t i = 0; i < r->contribution.length; i++) g->whole[i] += steps[i];
  g->counted = true;
}

void faro_grid_absorb(faro_release *r, const double *z, uint64_t users) {
  faro_grid *g = faro_grid_of(r);
  if (!r->deployed) {
    faro_real_absorb(r, z, users);
    return;
  }
  for (size_t i = 0; i < r->contribution.length; i++) g->whole[i] += cut(g, round_entry(g, z[i]));
  g->counted = true;
}

/* In deployment, the noise of each user: one process plays all users. */
static void add_noise(faro_release *r) {
  const faro_grid *g = faro_grid_in(r);
  if (!r->deployed) {
    faro_real_add_noise(r);
    return;
  }
  const uint64_t *variance = variance_of(r, r->ledger.charged - 1);
  for (uint64_t user = 0; user < r->size; user++)
    for (size_t i = 0; i < r->contribution.length; i++)
      g->whole[i] += faro_exact_discrete_gaussian(r->rng, variance[i], 1);
}

static void publish(faro_release *r) {
  faro_grid *g = faro_grid_of(r);
  for (size_t i = 0; g->counted && i < r->contribution.length; i++) {
    g->real.open[i] += g->unit * (double)g->whole[i];
    g->whole[i] = 0;
  }
  g->counted = false;
  faro_real_publish(r);
}

void faro_grid_ground(const faro_release *r, size_t k, faro_text *out) {
  const faro_grid *g = faro_grid_in(r);
  faro_ground_sd(r, r->factor ? r->factor[k] : 1, out);
  if (!r->deployed) return;
  faro_ground_number(out, "step", g->unit);
  faro_text_add(out, ",\"variance\":\"%llu\"", (unsigned long long)g->variance[k * r->contribution.length]);
}

/* (epsilon0, delta0) of a message, where amplification starts from it. */
static void grounds(const faro_release *r, faro_text *out) {
  faro_ground_word(out, "mechanism", "gaussian");
  faro_text_add(out, ",\"classes\":[");
  for (size_t c = 0; c < classes_of(r); c++) {
    const faro_grid_basis *basis = &faro_grid_in(r)->basis[c];
    faro_text_add(out, "%s{\"users\":%llu", c ? "," : "", (unsigned long long)r->schedule.size[c]);
    faro_grid_ground(r, c, out);
    if (faro_users_hide(r->kind) && basis->delta > 0) {
      faro_ground_number(out, "mixed", faro_honest(r, 1, (double)r->schedule.size[c]));
      faro_ground_number(out, "epsilon0", basis->epsilon);
      faro_ground_number(out, "delta0", basis->delta);
    }
    faro_text_add(out, "}");
  }
  faro_text_add(out, "]");
}

const faro_mechanism faro_mechanism_grid = {
    .size = sizeof(faro_grid),
    .adds = true,
    .exact = true,
    .init = faro_grid_init,
    .settle = faro_grid_settle,
    .encode = encode,
    .mix = faro_real_mix,
    .collect = faro_grid_collect,
    .absorb = faro_grid_absorb,
    .add_noise = add_noise,
    .publish = publish,
    .measure = faro_real_measure,
    .grounds = grounds,
};
