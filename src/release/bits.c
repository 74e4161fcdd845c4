/* shuffle-bits: every user turns each entry into bits, most of them noise; a shuffler mixes the bits
 * of a batch. P_Vec, 000 Alg. 5-7 (after Cheu et al. 2021).
 *
 *   entry z in [-D, D]  --shift, scale-->  0 .. G grid steps  --random rounding-->  k ones
 *   plus b noise bits, each one with p = 1/4 (1/2 under `tight`): k + Bin(b, p) ones among G + b bits
 *
 * A message holds, for each entry, the number of ones. Mixing the bits of one label leaves nothing
 * but how many ones there are in all, so the shuffler hands on the totals.
 *
 * Everything after the clip is integer: a value is put on a fixed-point grid of 2^-32 steps, and
 * adding 32 random bits before dropping the fraction rounds it up with exactly that probability.
 *
 * DEVIATION from 000 Alg. 5: it shifts into [0, 2D] but scales by D, so that the ones could exceed the
 * bits; the grid here spans [0, 2D] (as in 002 Alg. 2). Only the lower triangle is sent.
 *
 *   G  grid   b  bits   D  contribution.entry   B  batch */
#include <math.h>
#include <string.h>

#include "base/abort.h"
#include "release/bits.h"

static const double BITS_MAX = 0x1p40;  /* noise bits of a user and entry */
static const double TOTAL_MAX = 0x1p60; /* ones of a batch: sums stay within 63 bits */

/* Kearns and Saul 1998: Bernoulli(p) is sub-Gaussian with (1-2p) / (2 ln((1-p)/p)); here p = 1/4. */
static const double QUARTER_PROXY = 0.22755980666;

static faro_bits *bits_of(faro_release *r) { return (faro_bits *)(void *)r; }
static const faro_bits *bits_in(const faro_release *r) { return (const faro_bits *)(const void *)r; }

static double bias_of(const faro_bits *s) { return s->fair ? 0.5 : 0.25; }

static faro_status init(faro_release *r, faro_error *error) {
  r->message_size = r->contribution.length * sizeof(uint64_t);
  bits_of(r)->count = faro_arena_alloc(&r->arena, r->contribution.length, sizeof(int64_t), error);
  return bits_of(r)->count ? FARO_OK : FARO_MEMORY;
}

static faro_status set_bits(faro_release *r, double step, double bits, faro_error *error) {
  if (!(bits <= BITS_MAX && bits * (double)r->params.batch <= TOTAL_MAX))
    return faro_fail(error, FARO_INVALID,
                     "shuffle-bits would need %.3g noise bits per user and entry (at most %.3g, and "
                     "%.3g in a batch): raise epsilon or delta, or change batch",
                     bits, BITS_MAX, TOTAL_MAX);
  faro_bits *s = bits_of(r);
  s->step = step;
  s->bits = (uint64_t)bits;
  s->grid = (uint64_t)ceil(2 * r->contribution.entry / step - 1e-9);
  FARO_INVARIANT(s->grid < UINT64_C(1) << 30);
  faro_binomial_plan(&s->plan, r->params.batch * s->bits, bias_of(s));
  const double users = (double)(r->batches * r->params.batch);
  const double scale =
      step * sqrt(users * ((s->fair ? 0.25 : QUARTER_PROXY) * (double)s->bits + 0.25)); /* rounding: 1/4 */
  for (size_t i = 0; i < r->contribution.length; i++) r->scale[i] = scale;
  r->cost.messages = (double)r->contribution.length * (double)(s->grid + s->bits);
  r->cost.bits = r->cost.messages;
  return FARO_OK;
}

/* 000 Theorem C.1. */
static faro_status calibrate_paper(faro_release *r, faro_error *error) {
  const double epsilon = r->params.epsilon;
  const double delta = r->params.delta;
  const double d = (double)r->contribution.dimension;
  const double batch = (double)r->params.batch;
  const double g = ceil(fmax(2 * sqrt(batch), fmax(d, 4)));
  const bool inside = epsilon <= 15 && delta < 0.5;
  r->claim = faro_claim_make(epsilon, delta, FARO_TRUST_SHUFFLE, inside, "000 Theorem C.1%s",
                             inside ? "" : ", outside its range (epsilon <= 15, delta < 1/2)");
  const double root = g * log(4 * (d * d + 1) / delta) / epsilon;
  return set_bits(r, 2 * r->contribution.entry / g, ceil(24e4 * root * root / batch), error);
}

/* The published script: s = 1 at epsilon = 0.2 and 10 at epsilon = 1 and 10 ("tuned"); between them
 * faro changes over at 0.5. Entries in [-L, L] on steps of L / g. */
static faro_status calibrate_figure(faro_release *r, faro_error *error) {
  const double epsilon = r->params.epsilon;
  const double d = (double)r->contribution.dimension;
  const double batch = (double)r->params.batch;
  const double g = fmax(2 * sqrt(batch), fmax(d, 4));
  const double root = g * log(d / r->params.delta) / epsilon;
  r->contribution.entry = r->contribution.norm;
  r->gamma = 0.25 * log(d / r->params.delta) / (epsilon * sqrt(batch)) * sqrt((double)r->params.horizon * d);
  r->claim = faro_claim_make(epsilon, r->params.delta, FARO_TRUST_SHUFFLE, false,
                             "constants of the published figures, which no theorem backs");
  return set_bits(r, r->contribution.norm / g, fmax(1, round((epsilon < 0.5 ? 1 : 10) * root * root / batch)),
                  error);
}

/* Fair bits, on a grid so fine that rounding costs little, as many as the accountant proves enough. Its unit is the
 * width of an entry's interval, 2 D. */
static faro_status calibrate_tight(faro_release *r, faro_error *error) {
  const double width = 2 * r->contribution.entry;
  faro_bits_plan plan = {.users = (double)r->params.batch,
                         .honest = 1,
                         .dimension = (double)r->contribution.length,
                         .sensitivity = r->contribution.sensitivity / width};
  const faro_status status = faro_bits_calibrate(&plan, r->params.epsilon, r->params.delta, error);
  if (status != FARO_OK) return status;
  bits_of(r)->fair = true;
  r->claim = faro_claim_make(
      r->params.epsilon, r->params.delta, FARO_TRUST_SHUFFLE, true,
      "fair bits dominated by a Gaussian of mu %.4g, rounding counted (docs/privacy.md)", plan.mu);
  return set_bits(r, width / plan.grid, plan.bits, error);
}

/* Grid steps of an entry in 2^-32 fixed point, clipped; NaN counts as the lower end. */
static inline uint64_t fixed_point(double z, double entry, double scale, double most) {
  const double steps = (z + entry) * scale;
  if (!(steps > 0)) return 0;
  return (uint64_t)(int64_t)(steps < most ? steps
                                          : most); /* most < 2^63: the signed conversion is one instruction */
}

/* Random rounding: up with exactly the probability of the fraction. */
static inline uint64_t round_up(uint64_t fixed, uint64_t random32) { return (fixed + random32) >> 32; }

static void absorb(faro_release *r, const double *z, faro_rng *rng) {
  const faro_bits *s = bits_of(r);
  const size_t length = r->contribution.length;
  const double entry = r->contribution.entry;
  const double scale = 0x1p32 / s->step;
  const double most = 0x1p32 * (double)s->grid;
  int64_t *count = s->count;
  for (size_t i = 0; i < length; i += 2) { /* one random word for two entries */
    const uint64_t word = faro_rng_next(rng);
    count[i] += (int64_t)round_up(fixed_point(z[i], entry, scale, most), word & UINT32_MAX);
    if (i + 1 < length)
      count[i + 1] += (int64_t)round_up(fixed_point(z[i + 1], entry, scale, most), word >> 32);
  }
}

/* B users' b bits each are B b bits: one binomial an entry. */
static void thicken(faro_release *r, faro_sim_rng *sim) {
  const faro_bits *s = bits_of(r);
  for (size_t i = 0; i < r->contribution.length; i++)
    s->count[i] += (int64_t)faro_sim_binomial(&s->plan, sim);
}

static void thicken_secure(faro_release *r, faro_rng *rng) {
  const faro_bits *s = bits_of(r);
  const uint64_t bits = r->params.batch * s->bits;
  for (size_t i = 0; i < r->contribution.length; i++)
    s->count[i] +=
        (int64_t)(s->fair ? faro_exact_binomial_half(rng, bits) : faro_exact_binomial_quarter(rng, bits));
}

static faro_status prepare(faro_release *r, faro_error *error) {
  (void)r;
  (void)error;
  return FARO_OK;
}

static void randomize(const faro_release *r, const double *z, faro_rng *rng, void *message) {
  const faro_bits *s = bits_in(r);
  const double scale = 0x1p32 / s->step;
  const double most = 0x1p32 * (double)s->grid;
  uint64_t *ones = message;
  for (size_t i = 0; i < r->contribution.length; i++)
    ones[i] =
        round_up(fixed_point(z[i], r->contribution.entry, scale, most), faro_rng_next(rng) & UINT32_MAX) +
        (s->fair ? faro_exact_binomial_half(rng, s->bits) : faro_exact_binomial_quarter(rng, s->bits));
}

/* Only the totals leave: the messages of the users are wiped. A message that claims more ones than it has bits is
 * cut to them, so no client moves a total by more. */
static void mix(const faro_release *r, void *batch, faro_rng *rng) {
  (void)rng;
  const size_t length = r->contribution.length;
  const uint64_t most = bits_in(r)->grid + bits_in(r)->bits;
  uint64_t *total = batch;
  for (size_t i = 0; i < length; i++) total[i] = total[i] < most ? total[i] : most;
  for (uint64_t user = 1; user < r->params.batch; user++) {
    uint64_t *ones = total + user * length;
    for (size_t i = 0; i < length; i++) total[i] += ones[i] < most ? ones[i] : most;
    memset(ones, 0, length * sizeof *ones);
  }
}

static bool sound(const faro_release *r, const void *message) {
  const uint64_t most = r->params.batch * (bits_in(r)->grid + bits_in(r)->bits);
  const uint64_t *total = message;
  for (size_t i = 0; i < r->contribution.length; i++)
    if (total[i] > most) return false;
  return true;
}

static void collect(faro_release *r, const void *message) {
  const uint64_t *total = message;
  for (size_t i = 0; i < r->contribution.length; i++) bits_of(r)->count[i] += (int64_t)total[i];
}

/* 000 Alg. 7: take off the expected noise and the shift. */
static void publish(faro_release *r, faro_sim_rng *sim) {
  (void)sim;
  const faro_bits *s = bits_of(r);
  const double noise = bias_of(s) * (double)r->params.batch * (double)s->bits;
  const double shift = (double)r->params.batch * r->contribution.entry;
  for (size_t i = 0; i < r->contribution.length; i++) {
    r->sum[i] += ((double)s->count[i] - noise) * s->step - shift;
    s->count[i] = 0;
  }
}

/* 000 Cor. C.2, without its unknown constant. */
static uint64_t choose_batch(const faro_release *r) {
  const double t = (double)r->params.horizon;
  const double d = (double)r->contribution.dimension;
  const double logs = log(d * d / r->params.delta);
  return (uint64_t)ceil(pow(d * r->params.epsilon * r->params.epsilon / (logs * logs), -0.2) * pow(t, 0.6));
}

const faro_release_kind faro_release_shuffle_bits = {
    .name = "shuffle-bits",
    .summary = "randomly rounded bits and binomial noise, mixed by a shuffler",
    .trust = FARO_TRUST_SHUFFLE,
    .least_batch = 2,
    .exact = true,
    .totals = true,
    .size = sizeof(faro_bits),
    .init = init,
    .choose_batch = choose_batch,
    .calibrate = {calibrate_paper, calibrate_figure, calibrate_tight},
    .absorb = absorb,
    .thicken = thicken,
    .thicken_secure = thicken_secure,
    .prepare = prepare,
    .randomize = randomize,
    .mix = mix,
    .sound = sound,
    .collect = collect,
    .publish = publish,
};
