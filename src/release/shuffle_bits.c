/* shuffle-bits: bit sums of each batch, one shuffler. P_Vec, 000 Alg. 5-7; see bits.c. */
#include <math.h>

#include "release/bits.h"

static faro_status init(faro_release *r, faro_error *error) { return faro_bits_init(r, 1, 1, error); }

static faro_status set(faro_release *r, double step, double bits, faro_error *error) {
  const faro_status status = faro_bits_set(r, 0, bits, error);
  return status == FARO_OK ? faro_bits_fix(r, step, error) : status;
}

/* 000 Theorem C.1; for users who return Theorem E.5, which has 10^7 ln(2/delta) M in place of 24e4 and splits delta. */
static faro_status calibrate_paper(faro_release *r, faro_error *error) {
  const double epsilon = r->params.epsilon;
  const double delta = r->params.delta;
  const double d = (double)r->contribution.dimension;
  const double batch = (double)r->params.batch;
  const double times = (double)r->repeats;
  const double g = ceil(fmax(2 * sqrt(batch), fmax(d, 4)));
  const double each =
      epsilon / (2 * sqrt(2 * times * log(2 / delta))) / sqrt(1e7 / (8 * 24e4)); /* of a batch, E.5 */
  const bool composes = r->repeats == 1 || faro_advanced_epsilon(each, times, delta / 2) <= epsilon;
  const bool inside = epsilon <= 15 && delta < 0.5 && composes;
  const char *const beyond = inside ? "" : ", outside its range (epsilon <= 15, delta < 1/2)";
  r->claim = faro_claim_make(epsilon, delta, FARO_TRUST_SHUFFLE, inside, "000 Theorem %s%s",
                             r->repeats > 1 ? "E.5" : "C.1", beyond);
  const double factor = r->repeats > 1 ? 1e7 * log(2 / delta) * times : 24e4;
  const double split = r->repeats > 1 ? 2 * times : 1;
  const double root = faro_bits_stretch(r) * g * log(4 * (d * d + 1) * split / delta) / epsilon;
  return set(r, 2 * r->contribution.entry / g, ceil(factor * root * root / batch), error);
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
  return set(r, r->contribution.norm / g, fmax(1, round((epsilon < 0.5 ? 1 : 10) * root * root / batch)),
             error);
}

static double tight_cost(const faro_release *r, double batch) { return faro_bits_predict(r, 1, batch, 1); }

/* 000 Cor. C.2, without its unknown constant. */
static uint64_t choose_batch(const faro_release *r) {
  if (r->params.calibration == FARO_CALIBRATION_TIGHT) return faro_bits_least(r, tight_cost);
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
    .init = init,
    .choose_batch = choose_batch,
    .calibrate = {calibrate_paper, calibrate_figure, faro_bits_tighten},
    .mix = faro_bits_mix,
    .task = faro_bits_task,
    .due = faro_bits_due,
    FARO_BITS_KIND,
};
