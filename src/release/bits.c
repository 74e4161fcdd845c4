/* bits: every user turns each entry into bits, most of them noise; what is published are sums of bits. P_Vec, 000
 * Alg. 5-7 (after Cheu et al. 2021), on a tree of nodes: 001 Alg. 2 and 3.
 *
 *   entry z in [-D, D]  --shift, scale-->  0 .. G grid steps  --random rounding-->  k ones
 *   plus b noise bits, each one with p = 1/4 (1/2 under `tight`): k + Bin(b, p) ones among G + b bits
 *
 * Mixing the bits of one label leaves nothing but how many ones there are in all, so a shuffler hands on totals.
 *
 * The batches are the lowest nodes of a tree. A node of level i has `degree` nodes of level i - 1; every level has its
 * own noise, and a user sends to the shuffler of every level whose node can still fill up within the horizon:
 *
 *   level 1  |-----------node-----------|-----------node-----------|------ not started: cannot fill
 *   level 0  |--node--|--node--|--node--|--node--|--node--|--node--|--node--| users ...
 *
 * The sum at any time is that of the highest complete nodes, V*_t (001 Definition 3.1): `base` of each level. Nothing
 * older is kept: O(levels) sums. With `fuse` the estimate of a node is the best linear combination of its own report
 * and its children's estimates (Honaker 2015), whose noise is independent: free, as it looks at reports only.
 *
 * A user rounds once and sends the same rounded number, with other noise, to every level. So the counts of a node are
 * the sums of its children's, and rounding is shared: what a level adds to the privacy loss is its noise alone.
 *
 * Everything after the clip is integer: a value is put on a fixed-point grid of 2^-32 steps, and adding 32 random bits
 * before dropping the fraction rounds it up with exactly that probability.
 *
 * DEVIATION from 000 Alg. 5: it shifts into [0, 2D] but scales by D, so that the ones could exceed the bits; the grid
 * here spans [0, 2D] (as in 002 Alg. 2). Only the lower triangle is sent.
 *
 *   G  grid   b  bits   D  contribution.entry   B  batch */
#include "release/bits.h"

#include <math.h>
#include <string.h>

#include "base/abort.h"

static const double BITS_MAX = 0x1p50;  /* noise bits of a user and entry */
static const double TOTAL_MAX = 0x1p60; /* ones of a node: sums stay within 63 bits */

/* Kearns and Saul 1998: Bernoulli(p) is sub-Gaussian with (1-2p) / (2 ln((1-p)/p)); here p = 1/4. */
static const double QUARTER_PROXY = 0.22755980666;

static faro_bits *bits_of(faro_release *r) { return (faro_bits *)(void *)r; }
static const faro_bits *bits_in(const faro_release *r) { return (const faro_bits *)(const void *)r; }

static double bias_of(const faro_bits *s) { return s->fair ? 0.5 : 0.25; }
static bool of_server(const faro_release *r) { return r->kind->trust == FARO_TRUST_JOINT; }
static bool alone(const faro_release *r) { return r->kind->trust == FARO_TRUST_LOCAL; }
static uint64_t size_of(const faro_release *r, size_t level) {
  return bits_in(r)->level[level].unit * r->params.batch;
}

/* Levels. `batch` counts batches from 0. */

static bool active(const faro_release *r, size_t level, uint64_t batch) {
  const uint64_t unit = bits_in(r)->level[level].unit;
  return batch - batch % unit + unit <= r->batches;
}
static bool begins(const faro_release *r, size_t level, uint64_t batch) {
  return batch % bits_in(r)->level[level].unit == 0 && active(r, level, batch);
}
static bool ends(const faro_release *r, size_t level, uint64_t batch) {
  return (batch + 1) % bits_in(r)->level[level].unit == 0 && active(r, level, batch);
}

static faro_shuffler_task task_of(const faro_release *r, size_t level) {
  return (faro_shuffler_task){
      .size = size_of(r, level), .grid = bits_in(r)->grid, .bits = bits_in(r)->level[level].bits};
}

/* A node that ends, ends all its last descendants: those that report are the lowest ones. */
size_t faro_bits_due(const faro_release *r) {
  size_t level = 0;
  while (level < bits_in(r)->levels && ends(r, level, r->ledger.charged)) level++;
  return level;
}

bool faro_bits_task(const faro_release *r, size_t level, faro_shuffler_task *task) {
  if (faro_release_spent(r) || !begins(r, level, r->ledger.charged)) return false;
  *task = task_of(r, level);
  return true;
}

/* Setting up. */

static faro_status init_level(faro_release *r, faro_bits_level *level, faro_error *error) {
  const size_t length = r->contribution.length;
  level->node = faro_arena_alloc(&r->arena, length, sizeof *level->node, error);
  level->base = faro_arena_alloc(&r->arena, length, sizeof *level->base, error);
  level->shuffler.total = faro_arena_alloc(&r->arena, length, sizeof *level->shuffler.total, error);
  level->shuffler.length = length;
  return level->node && level->base && level->shuffler.total ? FARO_OK : FARO_MEMORY;
}

faro_status faro_bits_init(faro_release *r, size_t levels, uint64_t degree, faro_error *error) {
  faro_bits *s = bits_of(r);
  r->report_size = r->contribution.length * sizeof(uint64_t);
  r->message_size = (r->shufflers > 1 ? r->shufflers : 1) * r->report_size;
  s->levels = levels;
  s->count = faro_arena_alloc(&r->arena, r->contribution.length, sizeof *s->count, error);
  s->level = faro_arena_alloc(&r->arena, levels, sizeof *s->level, error);
  if (!s->count || !s->level) return FARO_MEMORY;
  faro_status status = FARO_OK;
  uint64_t unit = 1;
  for (size_t i = 0; status == FARO_OK && i < levels; i++, unit *= degree) {
    FARO_INVARIANT(unit <= r->batches);
    s->level[i].unit = unit;
    status = init_level(r, &s->level[i], error);
  }
  return status;
}

faro_status faro_bits_set(faro_release *r, size_t level, double bits, faro_error *error) {
  const double users = of_server(r) ? 1 : (double)size_of(r, level);
  if (!(bits <= BITS_MAX && bits * users <= TOTAL_MAX))
    return faro_fail(error, FARO_INVALID,
                     "%s would need %.3g noise bits per user and entry (at most %.3g, and %.3g in a batch): "
                     "raise epsilon or delta, or change batch",
                     r->kind->name, bits, BITS_MAX, TOTAL_MAX);
  faro_bits_level *l = &bits_of(r)->level[level];
  l->bits = of_server(r) ? 0 : (uint64_t)bits;
  l->noise = of_server(r) ? (uint64_t)bits : l->bits * size_of(r, level);
  return FARO_OK;
}

/* The estimates' variances, from the lowest level up. */
static void set_variances(faro_release *r) {
  faro_bits *s = bits_of(r);
  const double proxy = (s->fair ? 0.25 : QUARTER_PROXY) * s->step * s->step;
  for (size_t i = 0; i < s->levels; i++) {
    faro_bits_level *l = &s->level[i];
    l->raw = l->fused = proxy * (double)l->noise;
    if (!s->fuse || i == 0) continue;
    const uint64_t children = l->unit / s->level[i - 1].unit;
    const double below = (double)children * s->level[i - 1].fused;
    l->fused = l->raw * below / (l->raw + below);
  }
}

/* Variance of the sum over the first `batches` batches: its digits count the nodes of each level. */
static double variance_at(const faro_bits *s, uint64_t batches) {
  double variance = 0;
  for (size_t i = s->levels; i-- > 0; batches %= s->level[i].unit) {
    const uint64_t nodes = batches / s->level[i].unit;
    variance += (double)nodes * s->level[i].fused;
  }
  return variance;
}

/* The worst of all prefixes is M itself, or M with one digit less and all lower digits as large as they get. */
static double worst_variance(const faro_bits *s, uint64_t batches) {
  double worst = variance_at(s, batches);
  for (size_t i = 1; i < s->levels; i++)
    if (batches >= s->level[i].unit)
      worst = fmax(worst, variance_at(s, batches - batches % s->level[i].unit - 1));
  return worst;
}

/* A user's noise is within sqrt(b L / 2) of its mean but for 2 e^-L of the cases (Hoeffding). L is such that over all
 * draws of all users cutting it there costs a billionth of delta (docs/privacy.md): nobody can lie by more than that. */
static void set_cut(const faro_release *r, faro_bits_level *l, bool fair) {
  const double draws = (double)r->params.horizon * (double)(r->contribution.length * bits_in(r)->levels);
  const double often = log(2 * draws) + r->params.epsilon + log(2e9 / r->params.delta);
  const uint64_t reach = (uint64_t)ceil(sqrt((double)l->bits * often / 2));
  const uint64_t half = l->bits / 2;
  l->low = fair && reach < half ? half - reach : 0;
  l->high = fair && reach < half ? l->bits - l->low : l->bits;
}

faro_status faro_bits_fix(faro_release *r, double step, faro_error *error) {
  faro_bits *s = bits_of(r);
  const double grid = ceil(2 * r->contribution.entry / step - 1e-9);
  if (!(grid < 0x1p30))
    return faro_fail(error, FARO_INVALID, "%s would need %.3g steps for an entry: change batch",
                     r->kind->name, grid);
  s->step = step;
  s->grid = (uint64_t)grid;
  s->rounding = r->contribution.binary ? 0 : step * step / 4;
  for (size_t i = 0; i < s->levels; i++) {
    set_cut(r, &s->level[i], s->fair);
    faro_binomial_plan(&s->level[i].plan, s->level[i].noise, bias_of(s));
    const faro_status status =
        faro_coins_init(&s->level[i].coins, &r->arena, s->fair ? s->level[i].bits : 0, error);
    if (status != FARO_OK) return status;
    r->cost.bits += (double)r->contribution.length * (double)(s->grid + s->level[i].bits);
  }
  for (size_t i = 0; i < s->levels; i++)
    if ((double)size_of(r, i) * (double)(s->grid + s->level[i].bits) > 0x1p62)
      return faro_fail(error, FARO_INVALID,
                       "%s would count beyond 2^62 ones in a node of %llu users: change batch or shufflers",
                       r->kind->name, (unsigned long long)size_of(r, i));
  r->cost.messages = r->shufflers > 0 ? r->cost.bits : 0;
  set_variances(r);
  s->worst = worst_variance(s, r->batches) + s->rounding * (double)(r->batches * r->params.batch);
  for (size_t i = 0; i < r->contribution.length; i++) r->scale[i] = sqrt(s->worst);
  return FARO_OK;
}

/* The sum of squares over the nodes of a level, of how often a user is in each: M0 rounds, no two in a batch, so a node
 * of `unit` batches has at most min(unit, M0) of them. Not the least bound, but one that is shared out fairly when the
 * rounds spread over several trees (doubling): load / M0 grows with M0. */
static double load_at(uint64_t unit, uint64_t repeats) {
  return (double)repeats * (double)(unit < repeats ? unit : repeats);
}

static faro_bits_plan plan_of(const faro_release *r, size_t level, double grid) {
  const faro_bits *s = bits_in(r);
  const double levels = (double)s->levels;
  const bool one = of_server(r) || alone(r);
  const uint64_t unit = s->level[level].unit;
  const double users = one ? 1 : (double)size_of(r, level);
  return (faro_bits_plan){.users = users,
                          .honest = one ? 1 : faro_honest(r, unit, (double)r->params.batch) / users,
                          .dimension = (double)r->contribution.length,
                          .sensitivity = r->contribution.sensitivity / (2 * r->contribution.entry),
                          .grid = grid,
                          .load = levels * load_at(unit, r->repeats),
                          .repeat = (double)(unit < r->repeats ? unit : r->repeats),
                          .touched = levels * (double)r->repeats};
}

/* One grid for all levels: fine enough for the most crowded one, and for rounding to add no more than one per cent to
 * the variance of the last sum. */
static faro_status choose_grid(const faro_release *r, double *grid, faro_error *error) {
  const faro_bits *s = bits_in(r);
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

faro_status faro_bits_tighten(faro_release *r, faro_error *error) {
  faro_bits *s = bits_of(r);
  double grid = 0;
  faro_status status = choose_grid(r, &grid, error);
  double square = 0; /* of the whole mu */
  double slack = 0;
  for (size_t i = 0; status == FARO_OK && i < s->levels; i++) {
    faro_bits_plan plan = plan_of(r, i, grid);
    status = faro_bits_calibrate(&plan, r->params.epsilon, r->params.delta, error);
    if (status == FARO_OK) status = faro_bits_set(r, i, plan.bits, error);
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
  return faro_bits_fix(r, 2 * r->contribution.entry / grid, error);
}

/* What the levels' noise amounts to for a user who moves less: the accountant again, from grid and bits. */
bool faro_bits_gaussian(const faro_release *r, double move, double *mu, double *slack) {
  const faro_bits *s = bits_in(r);
  double square = 0;
  double total = 0;
  for (size_t i = 0; s->fuse && move > 0 && i < s->levels; i++) {
    faro_bits_plan plan = plan_of(r, i, (double)s->grid);
    plan.sensitivity = move / (2 * r->contribution.entry);
    plan.bits = (double)(of_server(r) ? s->level[i].noise : s->level[i].bits);
    double epsilon = INFINITY;
    if (faro_bits_account(&plan, r->params.delta, &epsilon, NULL) != FARO_OK || !isfinite(epsilon))
      return false;
    square += plan.mu * plan.mu * plan.load / (double)s->levels;
    total += plan.slack * (double)r->repeats;
  }
  *mu = sqrt(square);
  *slack = total;
  return s->fuse; /* fair bits, of `tight` */
}

double faro_bits_stretch(const faro_release *r) {
  const faro_contribution *c = &r->contribution;
  return c->gram == 0 ? fmax(1, c->norm / c->entry) : 1;
}

/* Noise by the accountant, and users whom the server does not see yet. The sum of the highest level's nodes is a random
 * walk, which stays within twice its last standard deviation as a rule; the levels below start anew under each parent,
 * so that their worst is a maximum over many.
 * Sums: half of the users not seen, and the noise at its worst. Moments: the regret of linucb grows with the square root
 * of the noise (000 Lemma A.4); the two factors were fitted at d = 5, T = 10^6 (docs/experiments.md). */
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

/* The user's side. */

/* Grid steps of an entry in 2^-32 fixed point, clipped; NaN counts as the lower end. */
static inline uint64_t fixed_point(double z, double entry, double scale, double most) {
  const double steps = (z + entry) * scale;
  if (!(steps > 0)) return 0;
  return (uint64_t)(int64_t)(steps < most ? steps
                                          : most); /* most < 2^63: the signed conversion is one instruction */
}

/* Random rounding: up with exactly the probability of the fraction. */
static inline uint64_t round_up(uint64_t fixed, uint64_t random32) { return (fixed + random32) >> 32; }

static inline uint64_t cut(const faro_bits_level *l, uint64_t noise) {
  return noise < l->low ? l->low : noise > l->high ? l->high : noise;
}

/* add: to what is there, else in its place. One random word serves two entries; a binary entry is on the grid. */
static void round_all(const faro_release *r, const double *z, faro_rng *rng, uint64_t *ones, bool add) {
  const faro_bits *s = bits_in(r);
  const size_t length = r->contribution.length;
  const double entry = r->contribution.entry;
  const double scale = 0x1p32 / s->step;
  const double most = 0x1p32 * (double)s->grid;
  const bool exact = r->contribution.binary;
  for (size_t i = 0; i < length; i += 2) {
    const uint64_t word = exact ? 0 : faro_rng_next(rng);
    for (size_t j = i; j < i + 2 && j < length; j++) {
      const uint64_t k =
          exact ? (z[j] > 0 ? s->grid : 0)
                : round_up(fixed_point(z[j], entry, scale, most), j == i ? word & UINT32_MAX : word >> 32);
      ones[j] = add ? ones[j] + k : k;
    }
  }
}

void faro_bits_absorb(faro_release *r, const double *z, faro_rng *rng) {
  round_all(r, z, rng, bits_of(r)->count, true);
}

void faro_bits_randomize(const faro_release *r, const double *z, faro_rng *rng, void *message) {
  const faro_bits *s = bits_in(r);
  const size_t length = r->contribution.length;
  const size_t parts = r->message_size / r->report_size;
  uint64_t *ones = message;
  round_all(r, z, rng, ones, false);
  for (size_t level = parts;
       level-- > 0;) { /* the lowest part last: it holds the rounded numbers until then */
    const faro_bits_level *l = &s->level[level];
    for (size_t i = 0; i < length; i++) {
      const uint64_t noise =
          s->fair ? faro_coins_draw(&l->coins, rng) : faro_exact_binomial_quarter(rng, l->bits);
      ones[level * length + i] =
          faro_release_spent(r) || active(r, level, r->ledger.charged) ? ones[i] + cut(l, noise) : 0;
    }
  }
}

/* The shufflers' side, when they are all in one process: a whole batch comes in at once. */

static void add_noise_sim(const faro_release *r, faro_bits_level *l, faro_sim_rng *sim) {
  for (size_t i = 0; i < r->contribution.length; i++) l->node[i] += faro_sim_binomial(&l->plan, sim);
}

static void add_noise_secure(const faro_release *r, faro_bits_level *l, faro_rng *rng) {
  for (size_t i = 0; i < r->contribution.length; i++) l->node[i] += faro_table_draw(l->table, rng);
}

/* Gives the batch to every active level; a node that is complete reports, and gets its users' (or the server's) noise:
 * the bits of all of them are one binomial an entry. */
static void gather(faro_release *r, faro_sim_rng *sim, faro_rng *secure) {
  faro_bits *s = bits_of(r);
  const uint64_t batch = r->ledger.charged - 1;
  for (size_t i = 0; i < s->levels && active(r, i, batch); i++) {
    faro_bits_level *l = &s->level[i];
    const faro_shuffler_task task = task_of(r, i);
    if (begins(r, i, batch)) FARO_INVARIANT(faro_shuffler_activate(&l->shuffler, &task, NULL) == FARO_OK);
    FARO_INVARIANT(faro_shuffler_accept_sum(&l->shuffler, s->count, r->params.batch, NULL) == FARO_OK);
    if (l->shuffler.phase != FARO_SHUFFLER_FULL) continue;
    FARO_INVARIANT(faro_shuffler_report(&l->shuffler, l->node, NULL) == FARO_OK);
    if (sim) add_noise_sim(r, l, sim);
    else add_noise_secure(r, l, secure);
    s->full = i + 1;
  }
  memset(s->count, 0, r->contribution.length * sizeof *s->count);
}

void faro_bits_thicken(faro_release *r, faro_sim_rng *sim) { gather(r, sim, NULL); }
void faro_bits_thicken_secure(faro_release *r, faro_rng *rng) { gather(r, NULL, rng); }

/* How far a user can move an entry of a node. */
static uint64_t shift_of(const faro_release *r, size_t level) {
  const uint64_t unit = bits_in(r)->level[level].unit;
  return bits_in(r)->grid * (unit < r->repeats ? unit : r->repeats);
}

/* Levels with equally many noise bits, and users who are in a node as often, share a table. */
faro_status faro_bits_prepare(faro_release *r, faro_error *error) {
  const faro_bits *s = bits_of(r);
  for (size_t i = 0; i < s->levels; i++) {
    for (size_t j = 0; j < i && !s->level[i].table; j++)
      if (s->level[j].noise == s->level[i].noise && shift_of(r, j) == shift_of(r, i))
        s->level[i].table = s->level[j].table;
    if (s->level[i].table) continue;
    s->level[i].table = faro_arena_alloc(&r->arena, 1, sizeof *s->level[i].table, error);
    if (!s->level[i].table) return FARO_MEMORY;
    const faro_status status =
        faro_table_init(s->level[i].table, &r->arena, s->level[i].noise, bias_of(s), shift_of(r, i), error);
    if (status != FARO_OK) return status;
  }
  return FARO_OK;
}

/* Only the totals leave: the messages of the users are wiped. A message with more or fewer ones than an honest one can
 * have is cut to them, so no client moves a total by more. */
void faro_bits_mix(const faro_release *r, void *batch, faro_rng *rng) {
  (void)rng;
  const faro_bits *s = bits_in(r);
  const size_t length = r->contribution.length;
  const uint64_t least = s->level[0].low;
  const uint64_t most = s->grid + s->level[0].high;
  uint64_t *total = batch;
  for (uint64_t user = 0; user < r->params.batch; user++) {
    uint64_t *ones = total + user * length;
    for (size_t i = 0; i < length; i++) {
      const uint64_t counts = ones[i] < least ? least : ones[i] > most ? most : ones[i];
      if (user > 0) ones[i] = 0;
      total[i] = user > 0 ? total[i] + counts : counts;
    }
  }
}

/* The server's side. Messages are the levels' reports, or, of a user each, parts of one batch. */

bool faro_bits_sound(const faro_release *r, size_t index, const void *message) {
  const faro_bits *s = bits_in(r);
  const bool report = !alone(r) && !of_server(r);
  const uint64_t users = report ? size_of(r, index) : 1;
  const faro_bits_level *l = &s->level[report ? index : 0];
  const uint64_t *total = message;
  for (size_t i = 0; i < r->contribution.length; i++)
    if (total[i] < users * l->low || total[i] > users * (s->grid + l->high)) return false;
  return true;
}

void faro_bits_range(const faro_release *r, size_t level, int64_t *least, int64_t *most) {
  *least = (int64_t)bits_in(r)->level[level].low;
  *most = (int64_t)(bits_in(r)->grid + bits_in(r)->level[level].high);
}

void faro_bits_collect(faro_release *r, size_t index, const void *message) {
  faro_bits *s = bits_of(r);
  const uint64_t *ones = message;
  const size_t level = alone(r) ? 0 : index;
  uint64_t *into = of_server(r) ? s->count : s->level[level].node;
  const bool more = of_server(r) || (alone(r) && index > 0); /* of the same batch */
  for (size_t i = 0; i < r->contribution.length; i++) into[i] = (more ? into[i] : 0) + ones[i];
  if (!of_server(r)) s->full = level + 1;
}

const uint64_t *faro_bits_report(const faro_release *r, size_t level) {
  return level < bits_in(r)->reported ? bits_in(r)->level[level].node : NULL;
}

/* The estimate of a node that has just reported, added to its level: its ones without the expected noise and the shift
 * (000 Alg. 7), weighed against its children's by their variances. */
static void settle(faro_release *r, size_t level) {
  const faro_bits *s = bits_of(r);
  const faro_bits_level *l = &s->level[level];
  const faro_bits_level *below = level > 0 ? l - 1 : NULL;
  const double noise = bias_of(s) * (double)l->noise;
  const double shift = (double)size_of(r, level) * r->contribution.entry;
  const double weight = s->fuse && below ? l->fused / l->raw : 1;
  for (size_t i = 0; i < r->contribution.length; i++) {
    const double own = ((double)l->node[i] - noise) * s->step - shift;
    l->base[i] += below ? weight * own + (1 - weight) * below->base[i] : own;
  }
}

static void forget(faro_release *r, faro_bits_level *level) {
  memset(level->base, 0, r->contribution.length * sizeof *level->base);
  level->nodes = 0;
}

void faro_bits_publish(faro_release *r, faro_sim_rng *sim) {
  faro_bits *s = bits_of(r);
  (void)sim;
  for (size_t i = 0; i < s->full; i++) {
    settle(r, i);
    s->level[i].nodes++;
    if (i > 0) forget(r, &s->level[i - 1]); /* the parent stands for them from now on */
  }
  s->reported = s->full;
  s->full = 0;
  memset(r->sum, 0, r->contribution.length * sizeof *r->sum);
  for (size_t i = 0; i < s->levels; i++)
    for (size_t j = 0; j < r->contribution.length; j++) r->sum[j] += s->level[i].base[j];
}

double faro_bits_share(const faro_release *r) {
  const faro_bits *s = bits_in(r);
  const uint64_t users = r->ledger.charged * r->params.batch;
  return sqrt(fmin(1, (variance_at(s, r->ledger.charged) + s->rounding * (double)users) / s->worst));
}

/* A part of a message counts for its ones less the expected noise and the shift; estimates weigh the levels' parts, with
 * weights that add up to 1. */
double faro_bits_influence(const faro_release *r) {
  const faro_bits *s = bits_in(r);
  const double entry = r->contribution.entry;
  double most = 0;
  for (size_t i = 0; i < s->levels; i++) {
    const faro_bits_level *l = &s->level[i];
    const double mean = bias_of(s) * (double)l->bits;
    const double up = ((double)(s->grid + l->high) - mean) * s->step - entry;
    most = fmax(most, fmax(up, entry + (mean - (double)l->low) * s->step));
  }
  return most;
}

/* State: of each level its last report, its estimates, and what its shuffler holds, which is nothing where users send to
 * shufflers of their own. */

bool faro_bits_span(const faro_release *r, size_t index, faro_span *span) {
  const faro_bits *s = bits_in(r);
  if (index >= 3 * s->levels) return false;
  const faro_bits_level *l = &s->level[index / 3];
  const uint64_t users = size_of(r, index / 3);
  *span = (faro_span){.count = r->contribution.length, .most = users * s->grid + l->noise};
  if (index % 3 == 0) span->ones = l->node;
  else if (index % 3 == 1) span->real = l->base;
  else span->ones = l->shuffler.total;
  return true;
}

/* A node that is under way has all batches since its begin; its complete children are those of the batches after the last
 * complete one of its level. */
void faro_bits_resume(faro_release *r) {
  const faro_bits *s = bits_in(r);
  const uint64_t charged = r->ledger.charged;
  for (size_t i = 0; i < s->levels; i++) {
    const uint64_t open = i + 1 < s->levels ? charged % s->level[i + 1].unit : charged;
    s->level[i].nodes = open / s->level[i].unit;
    const uint64_t batches = charged % s->level[i].unit;
    if (batches == 0 || !active(r, i, charged)) continue;
    faro_shuffler *shuffler = &s->level[i].shuffler;
    shuffler->phase = FARO_SHUFFLER_ACTIVE;
    shuffler->task = task_of(r, i);
    shuffler->held = batches * r->params.batch;
  }
  bits_of(r)->reported = 0;
  while (charged > 0 && bits_in(r)->reported < s->levels && ends(r, bits_in(r)->reported, charged - 1))
    bits_of(r)->reported++;
}
