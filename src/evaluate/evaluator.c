/* evaluator: estimates from a log, without privacy.
 *
 *   a, r, p   the arm of a row, its reward, its propensity
 *   q, w      the target policy's probability of a, and the weight q / p, cut to `clip`
 *   m, V      the model's mean reward of a, and of the target policy
 *   D         V + w (r - m)
 *
 *   logged   sum r / n
 *   uniform  sum r/p / sum 1/p
 *   replay   sum r / n over the rows that are accepted, with probability w / accept
 *   direct   sum V / n
 *   ips      sum w r / n        Horvitz & Thompson 1952
 *   snips    sum w r / sum w    Swaminathan & Joachims 2015
 *   dr       sum D / n          Dudik, Langford & Li 2011; m as in Chernozhukov et al. 2018
 *   gain     sum (D - r) / n    row by row, so that luck in both counts once
 *
 * replay is Li et al. 2011 where propensities are equal and the target policy is deterministic;
 * else rejection makes accepted rows a sample of the target policy.
 *
 * Each method is a ratio of two sums over rows (ratio.h). If rows belong to people, the sums of
 * each person are kept and form one pair at the end: rows of one person may depend on each
 * other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "evaluate/people.h"
#include "evaluate/ratio.h"
#include "evaluate/row.h"

/* The sums of one person, or of one row. */
enum {
  SUM_ROWS,
  SUM_REWARD,
  SUM_INVERSE, /* 1 / (K p) */
  SUM_UNIFORM, /* r / (K p) */
  SUM_ACCEPTED,
  SUM_REPLAY,
  SUM_DIRECT,
  SUM_WEIGHT,
  SUM_WEIGHTED,
  SUM_ROBUST,
  SUM_GAIN,
  SUM_UNCUT, /* weights before cutting */
  SUMS
};

/* Numerator and denominator of each method. */
static const struct {
  unsigned char above, below;
} parts[FARO_METHODS] = {
    [FARO_METHOD_LOGGED] = {SUM_REWARD, SUM_ROWS},     [FARO_METHOD_UNIFORM] = {SUM_UNIFORM, SUM_INVERSE},
    [FARO_METHOD_REPLAY] = {SUM_REPLAY, SUM_ACCEPTED}, [FARO_METHOD_DIRECT] = {SUM_DIRECT, SUM_ROWS},
    [FARO_METHOD_IPS] = {SUM_WEIGHTED, SUM_ROWS},      [FARO_METHOD_SNIPS] = {SUM_WEIGHTED, SUM_WEIGHT},
    [FARO_METHOD_DR] = {SUM_ROBUST, SUM_ROWS},         [FARO_METHOD_GAIN] = {SUM_GAIN, SUM_ROWS},
};

/* All pairs so far: one ratio per method, and those that are checked. */
typedef struct totals {
  faro_ratio method[FARO_METHODS];
  faro_ratio mean, inverse; /* of weights before cutting, and of 1 / (K p) */
} totals;

struct faro_evaluator {
  faro_evaluator_params params;
  faro_arena arena;
  faro_sim_rng luck;
  totals totals; /* of rows that are people; else made at the end */
  faro_people people;
  uint64_t rows, accepted, matched;
  double greatest, weight, cut; /* sums of weights before cutting, and of what was cut */
  uint64_t *played;             /* by arm: rows of the log ... */
  double *wanted;               /* ... and the sum of the target policy's probabilities, where known */
};

static faro_status check(const faro_evaluator_params *p, faro_error *error) {
  enum { ARMS_MAX = 1000 };
  if (p->arms < 1 || p->arms > ARMS_MAX)
    return faro_fail(error, FARO_INVALID, "arms must be from 1 to %d (got %zu)", (int)ARMS_MAX, p->arms);
  if (!(p->clip >= 0 && isfinite(p->clip)))
    return faro_fail(error, FARO_INVALID, "clip must be above 0 and finite, or 0: none (got %g)", p->clip);
  if (!(p->accept >= 0 && isfinite(p->accept)))
    return faro_fail(error, FARO_INVALID, "accept must be above 0 and finite, or 0: no replay (got %g)",
                     p->accept);
  if (!faro_bounds_name(p->interval))
    return faro_fail(error, FARO_INVALID, "interval must be skew, normal or bernstein (got %d)",
                     (int)p->interval);
  if (p->interval == FARO_BOUNDS_BERNSTEIN && (p->clip == 0 || p->people))
    return faro_fail(error, FARO_INVALID,
                     "interval bernstein needs a bound on every term: clip weights, and let rows be people");
  faro_status status = faro_evaluate_check_range(p->low, p->high, error);
  if (status == FARO_OK) status = faro_evaluate_check_confidence(p->confidence, error);
  return status;
}

faro_status faro_evaluator_create(faro_evaluator **evaluator, const faro_evaluator_params *params,
                                  faro_error *error) {
  faro_evaluator_params p = *params;
  if (p.confidence == 0) p.confidence = 0.95;
  const faro_status status = check(&p, error);
  if (status != FARO_OK) return status;
  faro_arena arena = {0};
  faro_evaluator *e = faro_arena_alloc(&arena, 1, sizeof *e, error);
  uint64_t *played = e ? faro_arena_alloc(&arena, p.arms, sizeof *played, error) : NULL;
  double *wanted = played ? faro_arena_alloc(&arena, p.arms, sizeof *wanted, error) : NULL;
  if (!wanted) {
    faro_arena_free(&arena);
    return FARO_MEMORY;
  }
  *e = (faro_evaluator){.params = p, .arena = arena, .played = played, .wanted = wanted};
  for (size_t m = 0; m < FARO_METHODS; m++)
    e->totals.method[m].pivot = m == FARO_METHOD_GAIN ? 0 : p.low + (p.high - p.low) / 2;
  faro_people_init(&e->people, SUMS);
  faro_sim_open(&e->luck, p.seed, 0, FARO_ROLE_LUCK);
  *evaluator = e;
  return FARO_OK;
}

void faro_evaluator_destroy(faro_evaluator *e) {
  if (!e) return;
  faro_people_clear(&e->people);
  faro_arena arena = e->arena;
  faro_arena_free(&arena);
}

/* ---- rows */

/* One draw per row, whether it is needed or not: so a row's luck does not depend on the others. */
static bool accept(faro_evaluator *e, double weight) {
  return faro_sim_uniform(&e->luck) * e->params.accept < weight;
}

static void make_sums(faro_evaluator *e, const faro_logged *row, double sum[static SUMS]) {
  const faro_evaluator_params *p = &e->params;
  const double uncut = row->target / row->propensity;
  const double w = p->clip > 0 ? fmin(uncut, p->clip) : uncut;
  const double inverse = 1 / ((double)p->arms * row->propensity);
  const bool taken = p->accept > 0 && accept(e, uncut);
  sum[SUM_ROWS] += 1;
  sum[SUM_REWARD] += row->reward;
  sum[SUM_INVERSE] += inverse;
  sum[SUM_UNIFORM] += inverse * row->reward;
  sum[SUM_ACCEPTED] += taken;
  sum[SUM_REPLAY] += taken ? row->reward : 0;
  sum[SUM_WEIGHT] += w;
  sum[SUM_WEIGHTED] += w * row->reward;
  sum[SUM_UNCUT] += uncut;
  if (p->model) {
    const double D = row->value + w * (row->reward - row->prediction);
    sum[SUM_DIRECT] += row->value;
    sum[SUM_ROBUST] += D;
    sum[SUM_GAIN] += D - row->reward;
  }
  e->accepted += taken;
  e->weight += uncut;
  e->cut += uncut - w;
  e->greatest = fmax(e->greatest, uncut);
}

static void add_pair(totals *t, const double sum[static SUMS]) {
  for (size_t m = 0; m < FARO_METHODS; m++)
    faro_ratio_add(&t->method[m], sum[parts[m].above], sum[parts[m].below]);
  faro_ratio_add(&t->mean, sum[SUM_UNCUT], sum[SUM_ROWS]);
  faro_ratio_add(&t->inverse, sum[SUM_INVERSE], sum[SUM_ROWS]);
}

/* The bound of Bernstein needs predictions that are within the interval of rewards, but for
 * rounding, which range_of allows for. */
static const double ROUNDING = 1e-9;

static faro_status check_predictions(const faro_evaluator_params *p, const faro_logged *row,
                                     faro_error *error) {
  const double slack = ROUNDING * (p->high - p->low);
  const double least = fmin(row->value, row->prediction);
  const double most = fmax(row->value, row->prediction);
  if (!p->model || p->interval != FARO_BOUNDS_BERNSTEIN) return FARO_OK;
  if (least >= p->low - slack && most <= p->high + slack) return FARO_OK;
  return faro_fail(
      error, FARO_INVALID,
      "with interval bernstein, predictions must be from %g to %g, as rewards are (got %g and %g)", p->low,
      p->high, row->value, row->prediction);
}

faro_status faro_evaluator_add(faro_evaluator *e, const faro_logged *row, faro_error *error) {
  const faro_evaluator_params *p = &e->params;
  faro_status status = faro_logged_check(row, p->arms, p->model, error);
  if (status == FARO_OK) status = check_predictions(p, row, error);
  if (status != FARO_OK) return status;
  if (row->reward < p->low || row->reward > p->high)
    return faro_fail(error, FARO_INVALID, "reward must be from %g to %g (got %g)", p->low, p->high,
                     row->reward);
  double own[SUMS] = {0};
  double *sum = p->people ? faro_people_find(&e->people, row->person, error) : own;
  if (!sum) return FARO_MEMORY;
  make_sums(e, row, sum);
  if (!p->people) add_pair(&e->totals, sum);
  e->rows++;
  e->matched += row->target > 0;
  e->played[row->arm]++;
  for (size_t a = 0; row->targets && a < p->arms; a++) e->wanted[a] += row->targets[a];
  return FARO_OK;
}

/* ---- the result */

/* (sum w)^2 / sum w^2, over people. */
static double effective(const faro_ratio *r) {
  const double sum = r->n * r->v;
  return r->v2 > 0 ? sum * sum / r->v2 : 0;
}

/* The effective size that a method rests on: that of its weights. */
static double effective_of(const totals *t, faro_method method) {
  const bool weighted = method == FARO_METHOD_IPS || method == FARO_METHOD_DR || method == FARO_METHOD_GAIN;
  return effective(&t->method[weighted ? FARO_METHOD_SNIPS : method]);
}

/* The length of an interval that has all terms of a method in it. */
static double range_of(const faro_evaluator_params *p, faro_method method) {
  const double width = p->high - p->low;
  if (method == FARO_METHOD_IPS) return p->clip * (fmax(p->high, 0) - fmin(p->low, 0));
  const double slack = 1 + 2 * ROUNDING;
  if (method == FARO_METHOD_DR) return slack * width * (1 + 2 * p->clip);
  if (method == FARO_METHOD_GAIN) return slack * width * (2 + 2 * p->clip);
  return width;
}

static faro_silence silence_of(const faro_evaluator *e, const totals *t, faro_method method, double missing) {
  const bool target = method != FARO_METHOD_LOGGED && method != FARO_METHOD_UNIFORM;
  const bool ratio =
      method == FARO_METHOD_UNIFORM || method == FARO_METHOD_REPLAY || method == FARO_METHOD_SNIPS;
  if (method == FARO_METHOD_DIRECT) return FARO_SILENCE_MODEL;
  if (target && missing > 0) return FARO_SILENCE_NEVER;
  if (e->params.interval == FARO_BOUNDS_BERNSTEIN)
    return ratio ? FARO_SILENCE_RATIO : t->method[method].n > 1 ? FARO_SILENCE_NOTHING : FARO_SILENCE_FEW;
  if (effective_of(t, method) < FARO_EFFECTIVE_LEAST) return FARO_SILENCE_FEW;
  return faro_ratio_error(&t->method[method]) > 0 ? FARO_SILENCE_NOTHING : FARO_SILENCE_SAME;
}

static faro_evaluated estimate(const faro_evaluator *e, const totals *t, faro_method method, double missing) {
  const faro_evaluator_params *p = &e->params;
  const faro_ratio *r = &t->method[method];
  const bool needs_model =
      method == FARO_METHOD_DIRECT || method == FARO_METHOD_DR || method == FARO_METHOD_GAIN;
  faro_evaluated out = {.made = (!needs_model || p->model) && (method != FARO_METHOD_REPLAY || p->accept > 0),
                        .value = faro_ratio_value(r),
                        .error = (double)NAN,
                        .low = (double)NAN,
                        .high = (double)NAN,
                        .silence = silence_of(e, t, method, missing)};
  if (out.silence != FARO_SILENCE_NOTHING) return out;
  const faro_ratio_query query = {p->interval, p->confidence, effective_of(t, method), range_of(p, method)};
  out.error = faro_ratio_error(r);
  faro_ratio_interval(r, &query, &out.low, &out.high);
  return out;
}

/* The share of the target policy's plays that fall on arms without a row. */
static void find_missing(const faro_evaluator *e, faro_evaluation *out) {
  for (size_t a = e->params.arms; a-- > 0;) {
    if (e->played[a] > 0 || !(e->wanted[a] > 0)) continue;
    out->missing += e->wanted[a] / (double)e->rows;
    out->missing_arm = a;
  }
}

/* Beyond four standard errors a mean is not what it should be. With a spread of 0 any difference
 * beyond rounding counts. */
static bool is_off(double mean, double error) { return fabs(mean - 1) > 4 * error + 1e-9; }

static unsigned doubts_of(const faro_evaluator *e, const faro_evaluation *v) {
  unsigned doubts = 0;
  if (v->effective < FARO_EFFECTIVE_LEAST) doubts |= 1U << FARO_DOUBT_FEW;
  /* Cochran 1977, section 2.15: the normal interval holds if n > 25 g^2 */
  if ((double)v->people < 25 * v->skewness * v->skewness) doubts |= 1U << FARO_DOUBT_SKEWED;
  if (v->missing > 0) doubts |= 1U << FARO_DOUBT_NEVER;
  if (is_off(v->mean, v->mean_error)) doubts |= 1U << FARO_DOUBT_WEIGHTS;
  if (is_off(v->inverse, v->inverse_error)) doubts |= 1U << FARO_DOUBT_PROPENSITIES;
  if (e->cut > 0) doubts |= 1U << FARO_DOUBT_CLIPPED;
  return e->rows > 0 ? doubts : 0;
}

void faro_evaluator_result(const faro_evaluator *e, faro_evaluation *out) {
  totals t = e->totals;
  for (size_t i = 0; i < e->people.count; i++) add_pair(&t, e->people.number + i * SUMS);
  const double rows = (double)e->rows;
  *out = (faro_evaluation){.rows = e->rows,
                           .people = e->params.people ? e->people.count : e->rows,
                           .accepted = e->accepted,
                           .effective = effective(&t.method[FARO_METHOD_SNIPS]),
                           .matched = rows > 0 ? (double)e->matched / rows : 0,
                           .greatest = e->greatest,
                           .mean = faro_ratio_value(&t.mean),
                           .mean_error = faro_ratio_error(&t.mean),
                           .inverse = faro_ratio_value(&t.inverse),
                           .inverse_error = faro_ratio_error(&t.inverse),
                           .cut = e->weight > 0 ? e->cut / e->weight : 0,
                           .skewness = faro_ratio_skewness(&t.method[FARO_METHOD_IPS])};
  find_missing(e, out);
  for (size_t m = 0; m < FARO_METHODS; m++) out->of[m] = estimate(e, &t, (faro_method)m, out->missing);
  out->doubts = doubts_of(e, out);
}
