/* private: estimates from a log, released under a claim. Proof: docs/privacy.md, Evaluation.
 *
 *   l, h, c    rewards r are clipped to [l, h]; c is the middle and H = h - l the width
 *   W          weights w = q / p are cut to it
 *   M          most rows of a person; missing rows count as zeros
 *   m, V       the model's predictions of the arm and of the policy, clipped to [l, h]
 *   D          V + w (r - m), with r - m clipped to [-b, b]
 *   B          the most that |D - c| can be: H / 2 + W b
 *
 * Each person contributes one vector, the mean over M rows of
 *
 *   WEIGHT, PRODUCT, SPREAD   w / (sqrt(2) W), w (r - c) / (W H), w (r - c)^2 / (W H^2)
 *   REWARD, REWARD2           (r - c) / (4 H), ((r - c) / H)^2 / 2
 *   COUNT                     1/2, only if M > 1
 *   ROBUST, ROBUST2           (D - c) / (2 B), ((D - c) / B)^2 / 2, only with a model
 *
 * Each line is in a ball, of radius 13/24, 1/8, 1/4 and 1/2. The centres are subtracted, so that
 * one ball around 0 holds all of them. The release clips to it again, adds its noise and publishes
 * the sum. Everything else is computed from that.
 *
 * Intervals need the spread of terms. Where w is squared, one factor is bounded by W:
 *
 *   E[w^2 (r - t)^2] <= W E[w (r - t)^2] <= W E[w] (t - l)(h - t)   for t = E[w r] / E[w]
 *
 * The middle is released, but for noise; the last has less noise (a variable in [l, h] of mean t
 * has at most this variance: Bhatia & Davis 2000), and is the same for rewards of 0 and 1. The
 * smaller one is used. Rows of a person may depend on each other; the square of a sum of M terms is
 * at most M times the sum of the squares. */
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "evaluate/people.h"
#include "evaluate/ratio.h"
#include "evaluate/row.h"

enum { WEIGHT, PRODUCT, SPREAD, REWARD, REWARD2, COUNT, ROBUST, ROBUST2, ENTRIES };

/* Factors of the entries: what WEIGHT and REWARD have less of, others pay less noise for. */
static const double BY_WEIGHT = 0.70710678118654752440; /* 1 / sqrt 2 */
static const double BY_REWARD = 0.25;
static const double BY_COUNT = 0.5;
static const double BY_SQUARE = 0.5;
/* The ball of WEIGHT, PRODUCT and SPREAD. */
static const double RADIUS = 13.0 / 24;
/* Deviations of noise that a divisor must be away from 0, and that bounds on the spread allow
 * for. */
static const double CLEAR = 5;
static const double ALLOWED = 2;

struct faro_private_evaluator {
  faro_private_evaluator_params params;
  faro_contribution contribution;
  faro_source source;
  faro_release *release; /* rows are people: from the start; else made at the end */
  faro_people people;    /* ENTRIES sums, then the number of rows */
  size_t place[ENTRIES]; /* of an entry in the vector; ENTRIES: it is not in it */
  double middle[ENTRIES];
  double unit[ENTRIES]; /* what 1 in the released sum stands for */
  double M, W, H, c, b, B;
  uint64_t absorbed;
  bool finished;
};

const faro_release_kind *faro_evaluate_kind(faro_trust trust) {
  switch (trust) {
  case FARO_TRUST_JOINT: return &faro_release_central_bits;
  case FARO_TRUST_SHUFFLE: return &faro_release_shuffle_bits;
  case FARO_TRUST_LOCAL: return &faro_release_local;
  default: return NULL;
  }
}

/* ---- creation */

static faro_status check(const faro_private_evaluator_params *p, faro_source source, faro_error *error) {
  if (!p->kind) return faro_fail(error, FARO_INVALID, "kind of release must be given");
  if (!(p->clip > 0 && p->clip <= 1e9))
    return faro_fail(
        error, FARO_INVALID,
        "clip must be above 0 and at most 1e9: the noise depends on the greatest weight (got %g)", p->clip);
  if (!(p->residual >= 0 && p->residual <= p->high - p->low))
    return faro_fail(error, FARO_INVALID,
                     "residual must be above 0 and at most the width of the range, %g, or 0: that (got %g)",
                     p->high - p->low, p->residual);
  if (p->contributions > 1000000)
    return faro_fail(error, FARO_INVALID, "contributions must be at most 1000000 (got %llu)",
                     (unsigned long long)p->contributions);
  if (p->contributions == 0 && p->people == 0)
    return faro_fail(error, FARO_INVALID, "people must be given where rows are people: it is public");
  if (source.use != FARO_USE_SIMULATED && source.use != FARO_USE_ALL_PARTIES)
    return faro_fail(error, FARO_INVALID, "the source must be simulated, or play all parties");
  faro_status status = faro_evaluate_check_range(p->low, p->high, error);
  if (status == FARO_OK) status = faro_evaluate_check_confidence(p->confidence, error);
  return status;
}

/* Where the entries stand, and what they are worth. */
static void lay_out(faro_private_evaluator *e) {
  const faro_private_evaluator_params *p = &e->params;
  const bool has[ENTRIES] = {true, true, true, true, true, p->contributions > 1, p->model, p->model};
  size_t next = 0;
  for (size_t i = 0; i < ENTRIES; i++) e->place[i] = has[i] ? next++ : ENTRIES;
  e->M = p->contributions > 1 ? (double)p->contributions : 1;
  e->W = p->clip;
  e->H = p->high - p->low;
  e->c = p->low + e->H / 2;
  e->b = p->residual > 0 ? p->residual : e->H;
  e->B = e->H / 2 + e->W * e->b;
  e->middle[WEIGHT] = BY_WEIGHT * 13 / 18;
  e->middle[SPREAD] = 13.0 / 72;
  e->middle[REWARD2] = 0.125;
  e->middle[COUNT] = BY_COUNT / 2;
  e->middle[ROBUST2] = BY_SQUARE;
  e->unit[WEIGHT] = e->M * e->W / BY_WEIGHT;
  e->unit[PRODUCT] = e->M * e->W * e->H;
  e->unit[SPREAD] = e->M * e->W * e->H * e->H;
  e->unit[REWARD] = e->M * e->H / BY_REWARD;
  e->unit[REWARD2] = e->M * e->H * e->H / BY_SQUARE;
  e->unit[COUNT] = e->M / BY_COUNT;
  e->unit[ROBUST] = e->M * 2 * e->B;
  e->unit[ROBUST2] = e->M * e->B * e->B / BY_SQUARE;
}

/* One ball for all discs; its radius is rounded up. */
static faro_status make_ball(faro_private_evaluator *e, faro_error *error) {
  double square = RADIUS * RADIUS + BY_REWARD * BY_REWARD / 4;
  size_t entries = REWARD2 + 1;
  if (e->params.contributions > 1) {
    square += BY_COUNT * BY_COUNT / 4;
    entries++;
  }
  if (e->params.model) {
    square += 0.25;
    entries += 2;
  }
  return faro_contribution_ball(&e->contribution, entries, sqrt(square) * (1 + 1e-12), error);
}

/* One batch of all people. */
static faro_status make_release(const faro_private_evaluator *e, uint64_t people, faro_source source,
                                faro_release **release, faro_error *error) {
  const faro_release_params params = {.epsilon = e->params.epsilon,
                                      .delta = e->params.delta,
                                      .horizon = people,
                                      .batch = people,
                                      .calibration = FARO_CALIBRATION_TIGHT};
  return faro_release_create(release, e->params.kind, &e->contribution, &params, source, error);
}

/* Rows that are people need the release at once. For persons, whose number is not known yet, it is
 * tried out, so that wrong parameters are refused before anything is read. */
static faro_status begin(faro_private_evaluator *e, faro_error *error) {
  enum { TRIAL = 1000 };
  if (e->params.contributions == 0) return make_release(e, e->params.people, e->source, &e->release, error);
  faro_release *trial = NULL;
  const faro_status status = make_release(e, TRIAL, faro_source_none(), &trial, error);
  faro_release_destroy(trial);
  return status;
}

faro_status faro_private_evaluator_create(faro_private_evaluator **evaluator,
                                          const faro_private_evaluator_params *params, faro_source source,
                                          faro_error *error) {
  faro_private_evaluator_params p = *params;
  if (p.confidence == 0) p.confidence = 0.95;
  faro_status status = check(&p, source, error);
  if (status != FARO_OK) return status;
  faro_private_evaluator *e = calloc(1, sizeof *e);
  if (!e) return faro_fail(error, FARO_MEMORY, "out of memory");
  *e = (faro_private_evaluator){.params = p, .source = source};
  faro_people_init(&e->people, ENTRIES + 1);
  lay_out(e);
  status = make_ball(e, error);
  if (status == FARO_OK) status = begin(e, error);
  if (status == FARO_OK) *evaluator = e;
  else faro_private_evaluator_destroy(e);
  return status;
}

void faro_private_evaluator_destroy(faro_private_evaluator *e) {
  if (!e) return;
  faro_release_destroy(e->release);
  faro_people_clear(&e->people);
  free(e);
}

/* ---- rows */

static double clip(double value, double low, double high) { return fmin(fmax(value, low), high); }

/* Adds a row to a person's entries. One that cannot be used adds zeros, as a missing row does. */
static void add_row(const faro_private_evaluator *e, const faro_logged *row, double entry[static ENTRIES]) {
  const faro_private_evaluator_params *p = &e->params;
  if (faro_logged_check(row, p->arms, p->model, NULL) != FARO_OK) return;
  const double w = fmin(row->target / row->propensity, e->W);
  const double r = clip(row->reward, p->low, p->high) - e->c;
  entry[WEIGHT] += BY_WEIGHT * w / (e->W * e->M);
  entry[PRODUCT] += w * r / (e->W * e->H * e->M);
  entry[SPREAD] += w * (r / e->H) * (r / e->H) / (e->W * e->M);
  entry[REWARD] += BY_REWARD * r / (e->H * e->M);
  entry[REWARD2] += BY_SQUARE * (r / e->H) * (r / e->H) / e->M;
  entry[COUNT] += BY_COUNT / e->M;
  if (!p->model) return;
  const double m = clip(row->prediction, p->low, p->high) - e->c;
  const double D = clip(row->value, p->low, p->high) - e->c + w * clip(r - m, -e->b, e->b);
  entry[ROBUST] += D / (2 * e->B * e->M);
  entry[ROBUST2] += BY_SQUARE * (D / e->B) * (D / e->B) / e->M;
}

static void absorb(faro_private_evaluator *e, const double entry[static ENTRIES]) {
  double x[ENTRIES];
  for (size_t i = 0; i < ENTRIES; i++)
    if (e->place[i] < ENTRIES) x[e->place[i]] = entry[i] - e->middle[i];
  (void)faro_release_absorb(e->release, x, 0);
  e->absorbed++;
}

faro_status faro_private_evaluator_add(faro_private_evaluator *e, const faro_logged *row, faro_error *error) {
  if (e->finished) return faro_fail(error, FARO_INVALID, "the estimates have been released");
  if (e->params.contributions == 0) {
    if (e->absorbed == e->params.people)
      return faro_fail(error, FARO_INVALID, "more rows than the %llu that were announced",
                       (unsigned long long)e->params.people);
    double entry[ENTRIES] = {0};
    add_row(e, row, entry);
    absorb(e, entry);
    return FARO_OK;
  }
  double *entry = faro_people_find(&e->people, row->person, error);
  if (!entry) return FARO_MEMORY;
  if (entry[ENTRIES] >= (double)e->params.contributions) return FARO_OK;
  entry[ENTRIES] += 1;
  add_row(e, row, entry);
  return FARO_OK;
}

/* ---- estimates */

/* A released sum, in the units of the data, and the deviation of its noise. */
typedef struct released {
  double value, noise;
} released;

static released read_entry(const faro_private_evaluator *e, size_t entry) {
  const size_t at = e->place[entry];
  const faro_noise noise = faro_release_noise(e->release);
  const double ratio = noise.ratio > 0 ? noise.ratio : 1;
  const double sum = faro_release_statistics(e->release).sum[at] + (double)e->absorbed * e->middle[entry];
  return (released){sum * e->unit[entry], faro_release_scale(e->release, at) * ratio * e->unit[entry]};
}

static released rows_of(const faro_private_evaluator *e) {
  return e->place[COUNT] < ENTRIES ? read_entry(e, COUNT) : (released){(double)e->absorbed, 0};
}

/* offset + above / below, where the offset has no noise. */
typedef struct quotient {
  double value, noise;
  bool clear; /* the divisor is certainly above 0 */
} quotient;

static quotient divide(released above, released below, double offset) {
  const double ratio = above.value / below.value;
  return (quotient){offset + ratio, hypot(above.noise, ratio * below.noise) / fabs(below.value),
                    below.value > CLEAR * below.noise && below.value > 0};
}

/* The most and the least that a sum may be, within ALLOWED deviations of its noise; for the least,
 * its distance from 0. */
static double most(released sum) { return fmax(0, sum.value + ALLOWED * sum.noise); }
static double least(released sum) { return fmax(0, fabs(sum.value) - ALLOWED * sum.noise); }

/* (t - l)(h - t), the most within ALLOWED deviations. */
static double spread(const faro_private_evaluator *e, quotient q) {
  const double reach = least((released){q.value - e->c, q.noise});
  return fmax(0, e->H * e->H / 4 - reach * reach);
}

/* The most of sum (x - t)^2 / n, from n and the sums of x - c and (x - c)^2; t is their mean. */
static double variance(released n, released sum, released square) {
  const double reach = least(sum) / most(n);
  return fmax(0, most(square) / n.value - reach * reach);
}

static void set(const faro_private_evaluator *e, faro_private_evaluation *out, faro_method method, quotient q,
                double variance) {
  const double z = faro_normal_quantile(e->params.confidence);
  const bool weighted = method != FARO_METHOD_LOGGED;
  faro_evaluated *to = &out->of[method];
  *to = (faro_evaluated){true, q.value, (double)NAN, (double)NAN, (double)NAN, FARO_SILENCE_NOTHING};
  out->noise[method] = q.noise;
  if (!(q.clear && q.noise < e->H)) to->silence = FARO_SILENCE_NOISE;
  else if (weighted && out->effective < FARO_EFFECTIVE_LEAST) to->silence = FARO_SILENCE_FEW;
  if (to->silence != FARO_SILENCE_NOTHING) return;
  to->error = sqrt(q.noise * q.noise + variance);
  to->low = q.value - z * to->error;
  to->high = q.value + z * to->error;
}

/* A mean of rewards is in their interval, whatever the noise says. */
static void keep_within(const faro_private_evaluator *e, faro_evaluated *to) {
  const double low = e->params.low;
  const double high = e->params.high;
  to->value = clip(to->value, low, high);
  if (to->silence != FARO_SILENCE_NOTHING) return;
  to->low = clip(to->low, low, high);
  to->high = clip(to->high, low, high);
}

static void estimate_logged(const faro_private_evaluator *e, faro_private_evaluation *out) {
  const released n = rows_of(e);
  const released sum = read_entry(e, REWARD);
  const quotient q = divide(sum, n, e->c);
  const double each = fmin(spread(e, q), variance(n, sum, read_entry(e, REWARD2)));
  set(e, out, FARO_METHOD_LOGGED, q, e->M * each / n.value);
  keep_within(e, &out->of[FARO_METHOD_LOGGED]);
}

static void estimate_snips(const faro_private_evaluator *e, faro_private_evaluation *out) {
  const released w = read_entry(e, WEIGHT);
  const released sum = read_entry(e, PRODUCT);
  const quotient q = divide(sum, w, e->c);
  const double each = fmin(spread(e, q), variance(w, sum, read_entry(e, SPREAD)));
  set(e, out, FARO_METHOD_SNIPS, q, e->M * e->W * each / w.value);
  keep_within(e, &out->of[FARO_METHOD_SNIPS]);
}

/* E[w^2 r^2] <= W E[w r^2]; r^2 is (r - c)^2 + 2 c (r - c) + c^2, and at most (l + h) r - l h. */
static double square_of_ips(const faro_private_evaluator *e, released sum) {
  const double l = e->params.low;
  const double h = e->params.high;
  const released w = read_entry(e, WEIGHT);
  const released p = read_entry(e, PRODUCT);
  const released s = read_entry(e, SPREAD);
  const released exact = {s.value + 2 * e->c * p.value + e->c * e->c * w.value,
                          hypot(hypot(s.noise, 2 * e->c * p.noise), e->c * e->c * w.noise)};
  const released bound = {(l + h) * sum.value - l * h * w.value, hypot((l + h) * sum.noise, l * h * w.noise)};
  return e->W * fmin(most(exact), most(bound));
}

static void estimate_ips(const faro_private_evaluator *e, faro_private_evaluation *out) {
  const released n = rows_of(e);
  const released w = read_entry(e, WEIGHT);
  const released p = read_entry(e, PRODUCT);
  const released sum = {p.value + e->c * w.value, hypot(p.noise, e->c * w.noise)};
  const double reach = least(sum) / most(n);
  const double each = fmax(0, square_of_ips(e, sum) / n.value - reach * reach);
  set(e, out, FARO_METHOD_IPS, divide(sum, n, 0), e->M * each / n.value);
}

/* D is not a product with a weight: its square is released as it is. */
static void estimate_dr(const faro_private_evaluator *e, faro_private_evaluation *out) {
  const released n = rows_of(e);
  const released sum = read_entry(e, ROBUST);
  const double each = variance(n, sum, read_entry(e, ROBUST2));
  set(e, out, FARO_METHOD_DR, divide(sum, n, e->c), e->M * each / n.value);
}

/* The mean weight is 1, or less if some were cut; so its variance is at most W - 1 where it is 1.
 * sum w^2 <= W sum w, so there are at least sum w / (M W) effective people; noise must not make it
 * more than n / (M W). */
static void check_weights(const faro_private_evaluator *e, faro_private_evaluation *out) {
  const released w = read_entry(e, WEIGHT);
  const released n = rows_of(e);
  const quotient mean = divide(w, n, 0);
  out->mean = mean.value;
  out->mean_error = sqrt(mean.noise * mean.noise + e->M * fmax(0, e->W - 1) / fmax(1, n.value));
  out->effective = fmax(0, fmin(n.value, w.value - ALLOWED * w.noise)) / (e->M * e->W);
  if (out->effective < FARO_EFFECTIVE_LEAST) out->doubts |= 1U << FARO_DOUBT_FEW;
  if (mean.clear && fabs(out->mean - 1) > 4 * out->mean_error + 1e-9) out->doubts |= 1U << FARO_DOUBT_WEIGHTS;
}

/* One person is one contribution: what holds for one contribution holds for all rows of a person.
 * With a trusted server it is plain differential privacy: actions are in the rows, and nobody acts
 * on what is published. */
static faro_claim claim_of(const faro_private_evaluator *e) {
  faro_claim claim = *faro_release_claim(e->release);
  if (claim.trust == FARO_TRUST_JOINT) claim.actions = FARO_ACTIONS_ALL;
  if (e->params.contributions > 0) {
    claim.level = FARO_LEVEL_USER;
    claim.contributions = e->params.contributions;
  }
  return claim;
}

static faro_status complete(faro_private_evaluator *e, faro_error *error) {
  const uint64_t people = e->people.count;
  if (e->params.contributions == 0) {
    if (e->absorbed == e->params.people) return FARO_OK;
    return faro_fail(error, FARO_INVALID, "fewer rows than the %llu that were announced (got %llu)",
                     (unsigned long long)e->params.people, (unsigned long long)e->absorbed);
  }
  if (people == 0) return faro_fail(error, FARO_INVALID, "no rows");
  const faro_status status = make_release(e, people, e->source, &e->release, error);
  for (uint64_t i = 0; status == FARO_OK && i < people; i++) absorb(e, e->people.number + i * (ENTRIES + 1));
  return status;
}

faro_status faro_private_evaluator_finish(faro_private_evaluator *e, faro_private_evaluation *result,
                                          faro_error *error) {
  if (e->finished) return faro_fail(error, FARO_INVALID, "the estimates have been released");
  const faro_status status = complete(e, error);
  if (status != FARO_OK) return status;
  e->finished = true;
  faro_private_evaluation out = {.people = (double)e->absorbed, .claim = claim_of(e)};
  out.rows = rows_of(e).value;
  out.release = faro_release_kind_of(e->release)->name;
  check_weights(e, &out);
  estimate_logged(e, &out);
  estimate_ips(e, &out);
  estimate_snips(e, &out);
  if (e->params.model) estimate_dr(e, &out);
  *result = out;
  return FARO_OK;
}

char *faro_private_evaluator_grounds(const faro_private_evaluator *e) {
  return e->finished ? faro_release_grounds(e->release) : NULL;
}
