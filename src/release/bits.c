/* bits: every user turns each entry into bits, most of them noise, and sums of bits are published.
 * P_Vec, Chowdhury & Zhou 2022, Alg. 5-7 (after Cheu et al. 2022), on a tree of nodes: Tenenbaum et
 * al. 2023, Alg. 2 and 3. The proofs are in docs/privacy.md, Bit sums (Lemmas 2 to 4) and Trees of
 * bit sums (Lemma 5).
 *
 *   entry z in [-D, D]  --shift, scale-->  0 .. G grid steps  --random rounding-->  k ones
 *   plus b noise bits, each 1 with p = 1/4 (1/2 under `tight`): k + Bin(b, p) ones among G + b bits
 *
 * Mixing the bits of one label reveals only their number of ones, so a shuffler passes on totals.
 *
 * The batches are the lowest nodes of a tree. A node of level i has `degree` nodes of level i - 1.
 * Every level has its own noise, and a user sends to the shuffler of every level whose node can
 * still fill up within the horizon:
 *
 *   level 1  |-----------node-----------|-----------node-----------|------ not started: cannot fill
 *   level 0  |--node--|--node--|--node--|--node--|--node--|--node--|--node--| users ...
 *
 * The sum at any time is that of the highest complete nodes, V*_t (Tenenbaum et al. 2023,
 * Definition 3.1): `base` of each level. Nothing older is stored: O(levels) sums. With `fuse` the
 * estimate of a node is the best linear combination of its own report and its children's estimates
 * (Honaker 2015), whose noise is independent. This costs no privacy, because it uses reports only.
 *
 * A user rounds once and sends the same rounded number, with different noise, to every level. So
 * the counts of a node are the sums of its children's counts, and rounding is shared: a level adds
 * only its noise to the privacy loss.
 *
 * Everything after clipping is integer. A value is put on a fixed-point grid of 2^-32 steps. Adding
 * 32 random bits before dropping the fraction rounds it up with exactly that probability.
 *
 * DEVIATION from Chowdhury & Zhou 2022, Alg. 5: it shifts into [0, 2D] but scales by D, so that the
 * ones could exceed the bits. The grid here spans [0, 2D] (as in Li, Zhou & Ji 2022, Alg. 2). Only
 * the lower triangle is sent.
 *
 *   G  grid   b  bits   D  entry   B  batch */
#include "release/bits.h"

#include <math.h>
#include <string.h>

#include "base/abort.h"
#include "base/bits.h"
#include "random/noise.h"
#include "release/grounds.h"
#include "release/plant.h"
#include "release/rounding.h"
#include "release/shares.h"
#include "release/shuffler.h"
#include "release/size.h"

static const double BITS_MAX = 0x1p50;  /* noise bits per user and entry */
static const double TOTAL_MAX = 0x1p60; /* ones per node: sums stay within 63 bits */

/* Kearns & Saul 1998: Bernoulli(p) is sub-Gaussian with (1-2p) / (2 ln((1-p)/p)); here p = 1/4. */
static const double QUARTER_PROXY = 0.22755980666;

static double bias_of(const faro_bits *s) { return s->fair ? 0.5 : 0.25; }

/* Levels. `batch` counts batches from 0. */

static bool active(const faro_release *r, size_t level, uint64_t batch) {
  const uint64_t unit = faro_bits_in(r)->level[level].unit;
  return batch - batch % unit + unit <= r->batches;
}
static bool begins(const faro_release *r, size_t level, uint64_t batch) {
  return batch % faro_bits_in(r)->level[level].unit == 0 && active(r, level, batch);
}
static bool ends(const faro_release *r, size_t level, uint64_t batch) {
  return (batch + 1) % faro_bits_in(r)->level[level].unit == 0 && active(r, level, batch);
}

/* The number of levels whose node ends with the batch. When a node ends, so do its last
 * descendants, so these are the lowest levels. */
static size_t count_ends(const faro_release *r, uint64_t batch) {
  size_t level = 0;
  while (level < faro_bits_in(r)->levels && ends(r, level, batch)) level++;
  return level;
}

/* The noise of the node of a level that batch k is in. */
static const faro_bits_noise *noise_at(const faro_release *r, size_t level, uint64_t k) {
  const size_t c = faro_bits_classes(r) > 1 ? faro_schedule_class(&r->schedule, k) : 0;
  return &faro_bits_in(r)->level[level].noise[c];
}

static size_t expected(const faro_release *r) { return count_ends(r, r->ledger.charged); }

static bool task(const faro_release *r, size_t level, faro_shuffler_task *out) {
  const faro_bits *s = faro_bits_in(r);
  if (faro_release_spent(r) || !begins(r, level, r->ledger.charged)) return false;
  *out = (faro_shuffler_task){
      .size = s->level[level].unit * r->size, .grid = s->grid, .bits = noise_at(r, level, r->open)->bits};
  return true;
}

/* Setting up. */

static faro_status init_level(faro_release *r, faro_bits_level *level, faro_error *error) {
  const size_t length = r->contribution.length;
  level->node = faro_arena_alloc(&r->arena, length, sizeof *level->node, error);
  level->base = faro_arena_alloc(&r->arena, length, sizeof *level->base, error);
  level->total = faro_arena_alloc(&r->arena, length, sizeof *level->total, error);
  level->noise = faro_arena_alloc(&r->arena, faro_bits_classes(r), sizeof *level->noise, error);
  return level->node && level->base && level->total && level->noise ? FARO_OK : FARO_MEMORY;
}

/* The tree: nodes of `batch` users, then of `degree` nodes each, on `levels` levels. The root is
 * not used. */
static faro_status init(faro_release *r, faro_error *error) {
  faro_bits *s = faro_bits_of(r);
  uint64_t degree = 1;
  s->levels = 1;
  faro_status status = r->kind->shape ? r->kind->shape(r, &s->levels, &degree, error) : FARO_OK;
  if (status != FARO_OK) return status;
  r->shufflers = faro_users_hide(r->kind) ? s->levels : 0;
  const size_t parts = r->shufflers > 0 ? r->shufflers : 1;
  r->report_size = r->contribution.length * sizeof(uint64_t);
  r->message_size = parts * r->report_size;
  s->entry = r->contribution.entry;
  s->count = faro_arena_alloc(&r->arena, r->contribution.length, sizeof *s->count, error);
  s->level = faro_arena_alloc(&r->arena, s->levels, sizeof *s->level, error);
  r->ranges = faro_bits_classes(r);
  r->range = faro_arena_alloc(&r->arena, parts * r->ranges, sizeof *r->range, error);
  for (size_t i = 0; i < r->contribution.length; i++) r->unit[i] = 1;
  if (!s->count || !s->level || !r->range) return FARO_MEMORY;
  uint64_t unit = 1;
  for (size_t i = 0; status == FARO_OK && i < s->levels; i++, unit *= degree) {
    FARO_INVARIANT(unit <= r->batches);
    s->level[i].unit = unit;
    status = init_level(r, &s->level[i], error);
  }
  return status;
}

faro_status faro_bits_set_noise(faro_release *r, size_t level, size_t class_index, double bits,
                                faro_error *error) {
  const bool server = faro_server_adds_noise(r);
  const double users = server ? 1 : (double)faro_bits_users(r, level, class_index);
  if (!(bits <= BITS_MAX && bits * users <= TOTAL_MAX))
    return faro_fail(error, FARO_INVALID,
                     "%s would need %.3g noise bits per user and entry (at most %.3g, and %.3g in a batch): "
                     "raise epsilon or delta, or change batch",
                     r->kind->name, bits, BITS_MAX, TOTAL_MAX);
  faro_bits_noise *n = &faro_bits_of(r)->level[level].noise[class_index];
  const uint64_t whole = (uint64_t)(bits FARO_PLANT_NOISE FARO_PLANT_NOISE);
  n->bits = server ? 0 : whole;
  n->noise = server ? whole : n->bits * faro_bits_users(r, level, class_index);
  return FARO_OK;
}

/* The variances of the estimates, from the lowest level up. */
static void set_variances(faro_release *r) {
  faro_bits *s = faro_bits_of(r);
  const double proxy = (s->fair ? 0.25 : QUARTER_PROXY) * s->step * s->step;
  for (size_t i = 0; i < s->levels; i++) {
    faro_bits_level *l = &s->level[i];
    for (size_t c = 0; c < faro_bits_classes(r); c++) l->noise[c].raw = proxy * (double)l->noise[c].noise;
    const double raw = l->noise[0].raw;
    l->fused = raw;
    if (!s->fuse || i == 0) continue;
    const uint64_t children = l->unit / s->level[i - 1].unit;
    const double below = (double)children * s->level[i - 1].fused;
    l->fused = raw * below / (raw + below);
  }
}

/* Variance of the sum over the first `batches` batches, whose digits count the nodes of each
 * level. */
static double variance_at(const faro_bits *s, uint64_t batches) {
  double variance = 0;
  for (size_t i = s->levels; i-- > 0; batches %= s->level[i].unit) {
    const uint64_t nodes = batches / s->level[i].unit;
    variance += (double)nodes * s->level[i].fused;
  }
  return variance;
}

/* The prefix with the greatest variance is M itself, or M with one digit reduced by one and all
 * lower digits as large as possible. */
static double worst_variance(const faro_bits *s, uint64_t batches) {
  double worst = variance_at(s, batches);
  for (size_t i = 1; i < s->levels; i++)
    if (batches >= s->level[i].unit)
      worst = fmax(worst, variance_at(s, batches - batches % s->level[i].unit - 1));
  return worst;
}

/* A user's noise is within sqrt(b L / 2) of its mean except with probability 2 e^-L (Hoeffding). L
 * is chosen so that cutting it there, over all draws of all users, costs a billionth of delta
 * (docs/privacy.md, Where counts end). So nobody can lie by more than that. */
static void set_cut(const faro_release *r, faro_bits_noise *l, bool fair) {
  const double draws = (double)r->params.horizon * (double)(r->contribution.length * faro_bits_in(r)->levels);
  const double often = log(2 * draws) + r->params.epsilon + log(2e9 / r->params.delta);
  const uint64_t reach = (uint64_t)ceil(sqrt((double)l->bits * often / 2));
  const uint64_t half = l->bits / 2;
  l->low = fair && reach < half ? half - reach : 0;
  l->high = fair && reach < half ? l->bits - l->low : l->bits;
}

/* The mean cost of a message over all users. A report goes to each shuffler that can still fill its
 * batch, or one to the server. */
static faro_status set_cost(faro_release *r, faro_error *error) {
  const faro_bits *s = faro_bits_in(r);
  const double all = (double)faro_schedule_users(&r->schedule, r->batches);
  const double report = faro_report_bytes(r->shufflers > 0, r->contribution.length);
  r->cost.bytes = r->shufflers > 0 ? 0 : report;
  for (size_t i = 0; i < s->levels; i++) {
    const uint64_t full = r->batches - r->batches % s->level[i].unit;
    if (r->shufflers > 0) r->cost.bytes += report * (double)faro_schedule_users(&r->schedule, full) / all;
    for (size_t c = 0; c < faro_bits_classes(r); c++) {
      const double bits = (double)(s->grid + s->level[i].noise[c].bits);
      const double users = (double)faro_bits_users(r, i, c);
      const double members = (double)faro_schedule_members(&r->schedule, c);
      const double share = faro_bits_classes(r) == 1 ? 1 : members * (double)r->schedule.size[c] / all;
      r->cost.bits += share * (double)r->contribution.length * bits;
      if (users * bits > 0x1p62)
        return faro_fail(error, FARO_INVALID,
                         "%s would count beyond 2^62 ones in a node of %.0f users: change batch or shufflers",
                         r->kind->name, users);
    }
  }
  r->cost.messages = r->shufflers > 0 ? r->cost.bits : 0;
  return FARO_OK;
}

/* The greatest variance of a sum, without rounding. */
static double greatest_variance(const faro_release *r) {
  const faro_bits *s = faro_bits_in(r);
  double total = 0;
  if (faro_bits_classes(r) == 1) return worst_variance(s, r->batches);
  for (size_t c = 0; c < faro_bits_classes(r); c++)
    total += (double)faro_schedule_members(&r->schedule, c) * s->level[0].noise[c].raw;
  return total;
}

faro_status faro_bits_set_step(faro_release *r, double step, faro_error *error) {
  faro_bits *s = faro_bits_of(r);
  const double grid = ceil(2 * s->entry / step - 1e-9);
  if (!(grid < 0x1p30))
    return faro_fail(error, FARO_INVALID, "%s would need %.3g steps for an entry: change batch",
                     r->kind->name, grid);
  s->step = step;
  s->grid = (uint64_t)grid;
  s->rounding = r->contribution.binary ? 0 : step * step / 4;
  for (size_t i = 0; i < s->levels; i++)
    for (size_t c = 0; c < faro_bits_classes(r); c++) {
      faro_bits_noise *n = &s->level[i].noise[c];
      set_cut(r, n, s->fair);
      faro_binomial_plan(&n->plan, n->noise, bias_of(s));
      const faro_status status = faro_coins_init(&n->coins, &r->arena, s->fair ? n->bits : 0, error);
      if (status != FARO_OK) return status;
    }
  const faro_status status = set_cost(r, error);
  if (status != FARO_OK) return status;
  set_variances(r);
  s->worst = greatest_variance(r) + s->rounding * (double)faro_schedule_users(&r->schedule, r->batches);
  for (size_t i = 0; i < r->contribution.length; i++) r->scale[i] = sqrt(s->worst);
  return FARO_OK;
}

/* How far a user can move an entry of a node. */
static uint64_t shift_of(const faro_release *r, size_t level) {
  const uint64_t unit = faro_bits_in(r)->level[level].unit;
  return faro_bits_in(r)->grid * (unit < r->repeats ? unit : r->repeats);
}

/* The table of a lower level with equally many noise bits, in whose nodes users are equally
 * often; NULL if there is none. */
static faro_table *find_table(const faro_release *r, size_t level, uint64_t noise) {
  const faro_bits *s = faro_bits_in(r);
  for (size_t i = 0; i < level; i++)
    if (s->level[i].noise[0].noise == noise && shift_of(r, i) == shift_of(r, level))
      return s->level[i].noise[0].table;
  return NULL;
}

static faro_status make_table(faro_release *r, size_t level, faro_bits_noise *n, faro_error *error) {
  n->table = find_table(r, level, n->noise);
  if (n->table) return FARO_OK;
  n->table = faro_arena_alloc(&r->arena, 1, sizeof *n->table, error);
  if (!n->table) return FARO_MEMORY;
  return faro_table_init(n->table, &r->arena, n->noise, bias_of(faro_bits_in(r)), shift_of(r, level), error);
}

/* What cuts may cost a user, as a share of delta: a billionth in each release that the user may be
 * in. */
static double cuts_cost(const faro_release *r) { return 1e-9 * (r->params.anytime ? (double)r->repeats : 1); }

static faro_status check_cuts(const faro_release *r, faro_error *error) {
  if (!faro_bits_in(r)->fair || cuts_cost(r) <= FARO_BITS_RESERVED / 2) return FARO_OK;
  return faro_fail(
      error, FARO_INVALID,
      "contributions must be at most 100000 for %s under anytime and in phases (got %llu): where "
      "noise ends costs a share of delta in each release",
      r->kind->name, (unsigned long long)r->repeats);
}

/* What tables and cuts may cost must fit into what the calibration left over (docs/privacy.md,
 * Exact noise). */
static faro_status check_tables(const faro_release *r, faro_error *error) {
  const faro_bits *s = faro_bits_in(r);
  const double draws = (double)r->contribution.length * (double)s->levels * (double)r->repeats;
  const double delta = r->params.delta;
  double wrong = 0;
  double mu = 0;
  double slack = 0;
  for (size_t i = 0; i < s->levels; i++)
    for (size_t c = 0; c < faro_bits_classes(r); c++)
      wrong = fmax(wrong, faro_table_error(s->level[i].noise[c].table));
  const double left = r->params.epsilon - 2 * wrong * draws;
  if (!s->fuse || !r->claim.proven) return FARO_OK; /* `paper`: see the documents */
  if (left > 0 && faro_bits_gaussian(r, 1, &mu, &slack) &&
      faro_gaussian_delta(mu, left) + slack + 2 * FARO_TABLE_MISSING * draws + cuts_cost(r) * delta <= delta)
    return FARO_OK;
  return faro_fail(
      error, FARO_INVALID,
      "epsilon %g and delta %g are too small for exact noise in %.0f draws per user: rounding in "
      "its tables might cost more than the claim leaves; use fewer entries or a larger epsilon",
      r->params.epsilon, delta, draws);
}

static faro_status make_tables(faro_release *r, faro_error *error) {
  const faro_bits *s = faro_bits_in(r);
  faro_status status = FARO_OK;
  for (size_t i = 0; i < s->levels; i++)
    for (size_t c = 0; status == FARO_OK && c < faro_bits_classes(r); c++)
      status = make_table(r, i, &s->level[i].noise[c], error);
  return status == FARO_OK ? check_tables(r, error) : status;
}

/* A part of a message counts as its ones less the expected noise and the shift. Estimates are
 * weighted means of the parts of the levels. */
static double influence_of(const faro_bits *s, const faro_bits_noise *n) {
  const double mean = bias_of(s) * (double)n->bits;
  const double up = ((double)(s->grid + n->high) - mean) * s->step - s->entry;
  return fmax(up, s->entry + (mean - (double)n->low) * s->step);
}

static faro_status settle(faro_release *r, faro_error *error) {
  const faro_bits *s = faro_bits_in(r);
  const faro_status status = check_cuts(r, error);
  if (status != FARO_OK) return status;
  const size_t parts = r->shufflers > 0 ? r->shufflers : 1;
  if (faro_users_hide(r->kind)) faro_bits_imply_local(r);
  r->influence = 0;
  for (size_t c = 0; c < faro_bits_classes(r); c++)
    for (size_t i = 0; i < s->levels; i++) {
      const faro_bits_noise *n = &s->level[i].noise[c];
      r->influence = fmax(r->influence, influence_of(s, n));
      if (i >= parts) continue;
      r->range[c * parts + i] = (faro_range){.least = (int64_t)n->low,
                                             .most = (int64_t)(s->grid + n->high),
                                             .users = r->shufflers > 0 ? faro_bits_users(r, i, c) : 1};
    }
  const bool draws_nodes = r->source.use == FARO_USE_ALL_PARTIES ||
                           (r->source.use == FARO_USE_SERVER && faro_server_adds_noise(r));
  return draws_nodes ? make_tables(r, error) : FARO_OK;
}

/* The user's side. */

static inline uint64_t cut(const faro_bits_noise *l, uint64_t noise) {
  return noise < l->low ? l->low : noise > l->high ? l->high : noise;
}

static faro_grid_of_steps grid_of(const faro_bits *s) {
  return (faro_grid_of_steps){.entry = s->entry, .step = s->step, .steps = s->grid};
}

/* Adds every entry, rounded; a binary one is already on the grid. */
static void round_all(const faro_release *r, const double *z, uint64_t *ones) {
  const faro_bits *s = faro_bits_in(r);
  const size_t length = r->contribution.length;
  const faro_grid_of_steps grid = grid_of(s);
  if (r->contribution.binary)
    for (size_t i = 0; i < length; i++) ones[i] += z[i] > 0 ? s->grid : 0;
  else if (r->deployed) faro_plain_round(r->rng, &grid, z, ones, length);
  else faro_sim_round(r->source.sim, &grid, z, ones, length);
}

/* How many of 1 to 64 users round up, a bit of each word for each: a user's random number is
 * compared with the fraction bit by bit, from the highest on, until none agrees with it any
 * more. */
static uint64_t count_few_ups(faro_rng *rng, uint64_t users, uint32_t fraction) {
  uint64_t equal = faro_low_bits(UINT64_MAX, users); /* users whose bits so far are those of the fraction */
  uint64_t below = 0;
  for (; fraction > 0 && equal > 0; fraction <<= 1) {
    const uint64_t word = faro_rng_next(rng);
    const bool bit = fraction >> 31;
    below |= bit ? equal & ~word : 0;
    equal &= bit ? word : ~word;
  }
  return (uint64_t)__builtin_popcountll(below);
}

/* The same for any number, each with exactly the probability fraction 2^-32: counted on whole words
 * or, for very many, as one binomial number. */
static uint64_t count_ups(const faro_release *r, uint64_t users, uint64_t fraction) {
  enum { COUNTED_MAX = 4096 };
  if (users <= 64) return count_few_ups(r->rng, users, (uint32_t)fraction);
  if (users <= COUNTED_MAX) return faro_exact_binomial(r->rng, users, fraction, UINT64_C(1) << 32);
  faro_binomial plan;
  faro_binomial_plan(&plan, users, (double)fraction * 0x1p-32);
  return faro_sim_binomial(&plan, r->source.sim);
}

/* Numbers that are ends of the grid are not rounded: the words are passed over that one user after
 * another would take. False if some are not. */
static bool absorb_ends(faro_release *r, const double *z, uint64_t users) {
  const faro_bits *s = faro_bits_in(r);
  const faro_grid_of_steps grid = grid_of(s);
  const size_t length = r->contribution.length;
  for (size_t i = 0; !r->contribution.binary && i < length; i++) {
    const uint64_t fixed = faro_fixed_point(&grid, z[i]);
    if (fixed != 0 && fixed != s->grid << 32) return false;
  }
  for (size_t i = 0; i < length; i++) s->count[i] += z[i] > 0 ? users * s->grid : 0;
  if (!r->contribution.binary) faro_sim_skip(r->source.sim, users * ((length + 1) / 2));
  return true;
}

static void absorb(faro_release *r, const double *z, uint64_t users) {
  const faro_bits *s = faro_bits_in(r);
  const faro_grid_of_steps grid = grid_of(s);
  if (users > 1 && absorb_ends(r, z, users)) return;
  if (users == 1 || r->contribution.form == FARO_FORM_VALUES) {
    for (uint64_t u = 0; u < users; u++) round_all(r, z, s->count);
    return;
  }
  for (size_t i = 0; i < r->contribution.length; i++) {
    const uint64_t fixed = faro_fixed_point(&grid, z[i]);
    s->count[i] += users * (fixed >> 32) + count_ups(r, users, fixed & UINT32_MAX);
  }
}

static void encode(const faro_release *r, const double *z, void *message) {
  const faro_bits *s = faro_bits_in(r);
  const size_t length = r->contribution.length;
  const size_t parts = r->message_size / r->report_size;
  uint64_t *ones = message;
  memset(ones, 0, length * sizeof *ones);
  round_all(r, z, ones);
  for (size_t level = parts;
       level-- > 0;) { /* the lowest part last: until then it holds the rounded numbers */
    const faro_bits_noise *l = noise_at(r, level, r->open);
    for (size_t i = 0; i < length; i++) {
      const uint64_t noise =
          s->fair ? faro_coins_draw(&l->coins, r->rng) : faro_exact_binomial_quarter(r->rng, l->bits);
      ones[level * length + i] =
          faro_release_spent(r) || active(r, level, r->open) ? ones[i] + cut(l, noise) : 0;
    }
  }
}

/* The shuffler's side. */

/* Only the totals leave, in place of the first message; the users' messages are wiped. */
static void mix(const faro_release *r, void *batch) {
  const size_t length = r->contribution.length;
  const faro_bits_noise *n = noise_at(r, 0, r->open);
  const uint64_t least = n->low;
  const uint64_t most = faro_bits_in(r)->grid + n->high;
  uint64_t *total = batch;
  for (size_t i = 0; i < length; i++) total[i] = faro_shuffler_count(0, total[i], least, most);
  for (uint64_t user = 1; user < r->size; user++) {
    uint64_t *ones = total + user * length;
    for (size_t i = 0; i < length; i++) total[i] = faro_shuffler_count(total[i], ones[i], least, most);
    memset(ones, 0, length * sizeof *ones);
  }
}

/* Noise of a whole node: the bits of all its users, or the server's, are one binomial per entry. */
static void draw_node(const faro_release *r, const faro_bits_level *l, const faro_bits_noise *n) {
  for (size_t i = 0; i < r->contribution.length; i++)
    l->node[i] +=
        r->deployed ? faro_table_draw(n->table, r->rng) : faro_sim_binomial(&n->plan, r->source.sim);
}

/* For whole batches: passes the open batch to the shuffler of every active level. A complete node
 * reports, with noise. */
static void add_noise(faro_release *r) {
  faro_bits *s = faro_bits_of(r);
  const size_t size = r->contribution.length * sizeof *s->count;
  const uint64_t batch = r->ledger.charged - 1;
  const uint64_t most = r->size * s->grid;
  for (size_t level = 0; level < s->levels && active(r, level, batch); level++) {
    const faro_bits_level *l = &s->level[level];
    for (size_t i = 0; i < r->contribution.length; i++)
      l->total[i] = faro_shuffler_count(l->total[i], s->count[i], 0, most);
    if (!ends(r, level, batch)) continue;
    memcpy(l->node, l->total, size);
    memset(l->total, 0, size);
    draw_node(r, l, noise_at(r, level, batch));
    s->full = level + 1;
  }
  memset(s->count, 0, size);
}

/* The server's side. Messages are the levels' reports, or, with one from each user, parts of one
 * batch. */

static void collect(faro_release *r, size_t index, const void *message) {
  faro_bits *s = faro_bits_of(r);
  const uint64_t *ones = message;
  const bool server = faro_server_adds_noise(r);
  const size_t level = r->shufflers > 0 ? index : 0;
  uint64_t *into = server ? s->count : s->level[level].node;
  const bool more = server || (r->shufflers == 0 && index > 0); /* further messages of the same batch */
  for (size_t i = 0; i < r->contribution.length; i++) into[i] = (more ? into[i] : 0) + ones[i];
  if (!server) s->full = level + 1;
}

static const uint64_t *report(const faro_release *r, size_t level) {
  return level < faro_bits_in(r)->reported ? faro_bits_in(r)->level[level].node : NULL;
}

/* Adds the estimate of a node that has just reported to its level: its ones less the expected noise
 * and the shift (Chowdhury & Zhou 2022, Alg. 7), weighted against its children's estimates by their
 * variances. */
static void estimate(faro_release *r, size_t level) {
  const faro_bits *s = faro_bits_in(r);
  const faro_bits_level *l = &s->level[level];
  const faro_bits_level *below = level > 0 ? l - 1 : NULL;
  const uint64_t ended = r->ledger.charged;
  const faro_bits_noise *n = noise_at(r, level, ended - 1);
  const uint64_t users =
      faro_schedule_users(&r->schedule, ended) - faro_schedule_users(&r->schedule, ended - l->unit);
  const double noise = bias_of(s) * (double)n->noise;
  const double shift = (double)users * s->entry;
  const double weight = s->fuse && below ? l->fused / n->raw : 1;
  for (size_t i = 0; i < r->contribution.length; i++) {
    const double own = ((double)l->node[i] - noise) * s->step - shift;
    l->base[i] += below ? weight * own + (1 - weight) * below->base[i] : own;
  }
}

static void forget(faro_release *r, faro_bits_level *level) {
  memset(level->base, 0, r->contribution.length * sizeof *level->base);
}

/* Where sizes adapt, what users send is known afterwards: the mean so far. */
static void track_cost(faro_release *r, double newest, double users) {
  const double ones = (double)(faro_bits_in(r)->grid + noise_at(r, 0, r->ledger.charged - 1)->bits);
  r->cost.bits += ((double)r->contribution.length * ones - r->cost.bits) * newest / users;
  r->cost.messages = r->cost.bits;
}

static void measure(faro_release *r) {
  const faro_bits *s = faro_bits_in(r);
  const uint64_t ended = r->ledger.charged;
  const double users = (double)faro_schedule_users(&r->schedule, ended);
  const double newest = (double)faro_schedule_size(&r->schedule, ended - 1);
  r->fresh = noise_at(r, 0, ended - 1)->raw + s->rounding * newest;
  if (r->params.adaptive) track_cost(r, newest, users);
  r->variance =
      faro_bits_classes(r) > 1 ? r->variance + r->fresh : variance_at(s, ended) + s->rounding * users;
}

static void publish(faro_release *r) {
  faro_bits *s = faro_bits_of(r);
  for (size_t i = 0; i < s->full; i++) {
    estimate(r, i);
    if (i > 0) forget(r, &s->level[i - 1]); /* the parent replaces them from now on */
  }
  s->reported = s->full;
  s->full = 0;
  memset(r->sum, 0, r->contribution.length * sizeof *r->sum);
  for (size_t i = 0; i < s->levels; i++)
    for (size_t j = 0; j < r->contribution.length; j++) r->sum[j] += s->level[i].base[j];
}

/* State: each level's last report, its estimates, and the counts of its shuffler, which are zero if
 * users send to separate shufflers. */

static bool state(const faro_release *r, size_t index, faro_state_vector *vector) {
  const faro_bits *s = faro_bits_in(r);
  if (index >= 3 * s->levels) return false;
  const faro_bits_level *l = &s->level[index / 3];
  uint64_t most = 0; /* ones of a node */
  for (size_t c = 0; c < r->schedule.classes; c++) {
    const uint64_t noise = l->noise[faro_bits_classes(r) > 1 ? c : 0].noise;
    const uint64_t ones = faro_bits_users(r, index / 3, c) * s->grid + noise;
    if (ones > most) most = ones;
  }
  *vector = (faro_state_vector){.count = r->contribution.length, .most = most};
  if (index % 3 == 0) vector->ones = l->node;
  else if (index % 3 == 1) vector->real = l->base;
  else vector->ones = l->total;
  return true;
}

static void resume(faro_release *r) {
  faro_bits *s = faro_bits_of(r);
  const uint64_t charged = r->ledger.charged;
  s->reported = charged > 0 ? count_ends(r, charged - 1) : 0;
}

static const faro_counting counting = {
    .task = task, .expected = expected, .report = report, .gaussian = faro_bits_gaussian};

/* `bits` for each of the `honest` users of a node that the claim counts on. What a user adds is cut
 * where it is `cut` from its mean: half of the bits if it is not. */
static void ground_node(const faro_release *r, size_t level, size_t c, faro_text *out) {
  const faro_bits_level *l = &faro_bits_in(r)->level[level];
  const bool server = faro_server_adds_noise(r);
  const bool hides = faro_users_hide(r->kind);
  faro_text_add(out, "%s{\"users\":%llu", c ? "," : "", (unsigned long long)faro_bits_users(r, level, c));
  faro_ground_number(out, "honest", hides ? faro_honest(r, l->unit, (double)r->schedule.size[c]) : 1);
  faro_ground_number(out, "bits", (double)(server ? l->noise[c].noise : l->noise[c].bits));
  if (hides) faro_ground_number(out, "cut", (double)l->noise[c].bits / 2 - (double)l->noise[c].low);
  faro_text_add(out, "}");
}

static void grounds(const faro_release *r, faro_text *out) {
  const faro_bits *s = faro_bits_in(r);
  faro_ground_word(out, "mechanism", "bits");
  faro_ground_number(out, "bias", bias_of(s));
  faro_ground_number(out, "step", s->step);
  faro_ground_number(out, "grid", (double)s->grid);
  faro_ground_number(out, "reserved", s->fuse ? FARO_BITS_RESERVED : 0);
  faro_text_add(out, ",\"levels\":[");
  for (size_t i = 0; i < s->levels; i++) {
    faro_text_add(out, "%s{\"unit\":%llu,\"nodes\":[", i ? "," : "", (unsigned long long)s->level[i].unit);
    for (size_t c = 0; c < faro_bits_classes(r); c++) ground_node(r, i, c, out);
    faro_text_add(out, "]}");
  }
  faro_text_add(out, "]");
}

const faro_mechanism faro_mechanism_bits = {
    .size = sizeof(faro_bits),
    .draws = true,
    .adds = true,
    .many = faro_bits_many,
    .grounds = grounds,
    .exact = true,
    .init = init,
    .settle = settle,
    .encode = encode,
    .mix = mix,
    .collect = collect,
    .absorb = absorb,
    .add_noise = add_noise,
    .publish = publish,
    .measure = measure,
    .state = state,
    .resume = resume,
    .counting = &counting,
};
