/* shuffle-bits: bit sums of each batch, one shuffler. P_Vec, Chowdhury & Zhou 2022, Alg. 5-7; see
 * bits.c. */
#include <math.h>

#include "release/adapt.h"
#include "release/bits.h"
#include "release/choose.h"
#include "release/shares.h"

static faro_status set(faro_release *r, double step, double bits, faro_error *error) {
  const faro_status status = faro_bits_set_noise(r, 0, 0, bits, error);
  return status == FARO_OK ? faro_bits_set_step(r, step, error) : status;
}

/* The noise bits of Li, Zhou & Ji 2022 for n users with s numbers each, in an interval of width w =
 * 2 B, per unit of 1 / g.
 *
 *   vectors  Alg. 2, Theorem A.2   epsilon^ = epsilon / (18 sqrt(ln(2/delta))), entries composed
 *   scalars  Alg. 4, Lemma C.5     epsilon^ = epsilon / 2 */
typedef struct vector_plan {
  double hat; /* epsilon^ */
  double log; /* ln(4 s / delta); scalars: ln(2/delta) */
  double g;   /* the least number of steps for 2 Delta_2 = w sqrt(s) */
  double end; /* upper end of the range of epsilon */
  const char *by, *beyond;
} vector_plan;

static vector_plan plan_values(const faro_release *r) {
  const double epsilon = r->params.epsilon;
  const double delta = r->params.delta;
  const double s = (double)r->contribution.length;
  const double n = (double)r->params.batch;
  if (r->contribution.length == 1)
    return (vector_plan){.hat = epsilon / 2,
                         .log = log(2 / delta),
                         .g = fmax(sqrt(n), 10),
                         .end = 30,
                         .by = "Li, Zhou & Ji 2022, Lemma C.5",
                         .beyond = ", outside its range (epsilon < 30, delta < 1/2)"};
  const double hat = epsilon / (18 * sqrt(log(2 / delta)));
  const double l = log(4 * s / delta);
  const double g = fmax(hat * sqrt(n) / (6 * sqrt(5 * l)), fmax(sqrt(s), 10));
  return (vector_plan){.hat = hat,
                       .log = l,
                       .g = g,
                       .end = 15,
                       .by = "Li, Zhou & Ji 2022, Theorem A.2",
                       .beyond = ", outside its range (epsilon < 15, delta < 1/2)"};
}

/* b = ceil(180 g^2 ln(..) / (epsilon^^2 n)) noise bits per user.
 *
 * DEVIATION: Li, Zhou & Ji 2022 give them the bias p = 90 g^2 ln(..) / (b epsilon^^2 n), which is
 * 1/2 before b is rounded up; here they are fair. Their lemma needs a least b n p and p <= 1/2, and
 * fair bits have more.
 *
 * DEVIATION: their Alg. 2 puts an entry, within [-B, B], on a grid over [-Delta_2, Delta_2]. The
 * same steps over [-B, B] leave noise and sensitivity unchanged, and a user sends fewer bits. The
 * number of steps is rounded up. */
static faro_status calibrate_values(faro_release *r, faro_error *error) {
  const faro_status status = faro_refuse_returning(r, " on plain vectors", "Li, Zhou & Ji 2022", error);
  if (status != FARO_OK) return status;
  const vector_plan p = plan_values(r);
  const double root = r->contribution.norm / r->contribution.entry; /* values: sqrt(s); a ball: 1 */
  const double steps = ceil(p.g / root);                            /* per entry */
  const double g = steps * root;
  const bool inside = r->params.epsilon < p.end && r->params.delta < 0.5;
  r->claim = faro_claim_make(r->params.epsilon, r->params.delta, FARO_TRUST_SHUFFLE, inside, "%s%s", p.by,
                             inside ? "" : p.beyond);
  faro_bits_of(r)->fair = true;
  return set(r, 2 * r->contribution.entry / steps,
             ceil(180 * g * g * p.log / (p.hat * p.hat * (double)r->params.batch)), error);
}

/* Plain vectors as above. Moments: Chowdhury & Zhou 2022, Theorem C.1; for users who return,
 * Theorem E.5, which has 10^7 ln(2/delta) M in place of 24e4 and splits delta. For messages that
 * are private by themselves, Corollary C.3: C.1 with epsilon0 / sqrt(B), and a grid as for one
 * user. */
static faro_status calibrate_paper(faro_release *r, faro_error *error) {
  if (r->contribution.gram == 0) return calibrate_values(r, error);
  const double alone = r->params.local_epsilon;
  if (alone > 0) r->params.epsilon = alone / sqrt((double)r->params.batch);
  const double epsilon = r->params.epsilon;
  const double delta = r->params.delta;
  const double d = (double)r->contribution.dimension;
  const double batch = (double)r->params.batch;
  const double times = (double)r->repeats;
  const double g = ceil(fmax(alone > 0 ? 0 : 2 * sqrt(batch), fmax(d, 4)));
  /* The epsilon of a batch: E.5. */
  const double each = epsilon / (2 * sqrt(2 * times * log(2 / delta))) / sqrt(1e7 / (8 * 24e4));
  const bool composes = r->repeats == 1 || faro_advanced_epsilon(each, times, delta / 2) <= epsilon;
  const bool inside = fmax(epsilon, alone) <= 15 && delta < 0.5 && composes;
  const char *const beyond =
      inside ? " (docs/privacy.md, Lemma 8)" : ", outside its range (epsilon <= 15, delta < 1/2)";
  r->claim = faro_claim_make(epsilon, delta, FARO_TRUST_SHUFFLE, inside, "Chowdhury & Zhou 2022, %s%s",
                             alone > 0        ? "Corollary C.3"
                             : r->repeats > 1 ? "Theorem E.5"
                                              : "Theorem C.1",
                             beyond);
  const double factor = r->repeats > 1 ? 1e7 * log(2 / delta) * times : 24e4;
  const double split = r->repeats > 1 ? 2 * times : 1;
  const double root = g * log(4 * (d * d + 1) * split / delta) / epsilon;
  return set(r, 2 * r->contribution.entry / g, ceil(factor * root * root / batch), error);
}

/* The published script: s = 1 at epsilon = 0.2 and 10 at epsilon = 1 and 10 ("tuned"). faro
 * switches between them at 0.5. Entries in [-L, L] on steps of L / g. */
static faro_status calibrate_figure(faro_release *r, faro_error *error) {
  const double epsilon = r->params.epsilon;
  const double d = (double)r->contribution.dimension;
  const double batch = (double)r->params.batch;
  const double g = fmax(2 * sqrt(batch), fmax(d, 4));
  const double root = g * log(d / r->params.delta) / epsilon;
  faro_bits_of(r)->entry = r->contribution.norm;
  r->gamma = 0.25 * log(d / r->params.delta) / (epsilon * sqrt(batch)) * sqrt((double)r->params.horizon * d);
  r->claim = faro_figure_claim(r);
  return set(r, r->contribution.norm / g, fmax(1, round((epsilon < 0.5 ? 1 : 10) * root * root / batch)),
             error);
}

/* Chowdhury & Zhou 2022, Cor. C.2, without its unknown constant. For users who return, with what
 * each of their batches may spend: if they are in all of them, that is Cor. E.6, T^(2/3). */
static double theorem_batch(const faro_release *r) {
  const double t = (double)r->params.horizon;
  const double d = (double)r->contribution.dimension;
  const faro_budget each = faro_advanced_share(r);
  const double logs = log(d * d / each.delta);
  const double alone = r->params.local_epsilon; /* Cor. C.3 */
  if (alone > 0) return ceil(pow(t * t * t * logs * logs / (d * alone * alone), 0.25));
  return ceil(pow(d * each.epsilon * each.epsilon / (logs * logs), -0.2) * pow(t, 0.6));
}

/* Bits of a batch have about the noise of a Gaussian. */
static void choose(const faro_release *r, faro_release_params *params) {
  if (r->params.calibration != FARO_CALIBRATION_TIGHT) params->batch = (uint64_t)theorem_batch(r);
  else if (r->params.adaptive) faro_adapt_range(faro_choose_uniform(r), params);
  else if (!faro_choose_blocks(r, faro_gaussian_sigma(r), params)) params->batch = faro_choose_uniform(r);
}

const faro_release_kind faro_release_shuffle_bits = {
    .name = "shuffle-bits",
    .summary = "randomly rounded bits and binomial noise, mixed by a shuffler",
    .cite = "Chowdhury & Zhou 2022",
    .trust = FARO_TRUST_SHUFFLE,
    .least_batch = 2,
    .phases = true,
    .splits = true,
    .weighs = true,
    .blocks = true,
    .adapts = true,
    .mechanism = &faro_mechanism_bits,
    .calibrate = {calibrate_paper, calibrate_figure, faro_bits_tight},
    .choose_schedule = choose,
};
