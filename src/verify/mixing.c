/* mixing: messages of local randomizers, shuffled and composed (docs/privacy.md, Amplification by
 * shuffling, Responses, Returning users).
 *
 * By Feldman, McMillan & Talwar 2021, Theorem 3.1, n shuffled messages of a randomizer that is
 * epsilon0-private for the inputs of any two users, not only of two neighbours, are as private as
 * the pair
 *
 *   P = (A + D, C - A + 1 - D),   Q = (A + 1 - D, C - A + D),
 *   C ~ Bin(n-1, e^-epsilon0),  A ~ Bin(C, 1/2),  D ~ Bernoulli(q),  q = 1 / (1 + e^-epsilon0).
 *
 * Given C = c, x = t is the first value of the first entry for which P(x) > e^epsilon Q(x), so that
 *
 *   delta(c) = up T(t-1) - down T(t),   T(t) = P(Bin(c, 1/2) >= t),
 *   up = q - e^epsilon (1-q),  down = e^epsilon q - (1-q),
 *   t = ceil(tau (c+1)),  tau = down / (up + down).
 *
 * Responses that have m of K codes as the truth: Lemma R. delta is v times that of the pair, with
 * C ~ Bin(n-1, 2 w s), v = w (e^epsilon0 + 1) s, w = m / K, s = 1 / (1 + w (e^epsilon0 - 1)).
 *
 * The sum over c goes from one c to the next by the recurrences of the binomial coefficients: no
 * term is left out, except beyond 15 standard deviations, where all of the mass is counted. */
#include <math.h>
#include <stdlib.h>

#include "verify/inner.h"

static const double MIXED_MAX = 1e9;

typedef struct pair {
  arb_t up, down, growth; /* growth: e^epsilon */
  double tau;
  double c, t;
  arb_t here, tail; /* b(t-1) of Bin(c, 1/2), and T(t) */
  arb_t u, v;       /* scratch */
} pair;

static void pair_init(pair *p) {
  arb_init(p->up), arb_init(p->down), arb_init(p->growth);
  arb_init(p->here), arb_init(p->tail), arb_init(p->u), arb_init(p->v);
}

static void pair_clear(pair *p) {
  arb_clear(p->up), arb_clear(p->down), arb_clear(p->growth);
  arb_clear(p->here), arb_clear(p->tail), arb_clear(p->u), arb_clear(p->v);
}

/* up and down, both over q: 1 - e^(epsilon - epsilon0) and e^epsilon - e^-epsilon0, times q. */
static void set_pair(pair *p, const arb_t epsilon0, const arb_t epsilon) {
  arb_exp(p->growth, epsilon, BITS);
  arb_neg(p->u, epsilon0);
  arb_exp(p->u, p->u, BITS); /* e^-epsilon0 = (1-q) / q */
  arb_mul(p->up, p->growth, p->u, BITS);
  arb_sub_ui(p->up, p->up, 1, BITS);
  arb_neg(p->up, p->up);
  arb_sub(p->down, p->growth, p->u, BITS);
  arb_add_ui(p->u, p->u, 1, BITS); /* 1 / q */
  arb_div(p->up, p->up, p->u, BITS);
  arb_div(p->down, p->down, p->u, BITS);
  arb_add(p->v, p->up, p->down, BITS);
  arb_div(p->v, p->down, p->v, BITS);
  p->tau = arf_get_d(arb_midref(p->v), ARF_RND_NEAR);
}

/* T(t) for the first c, term by term; what is left is bounded by a geometric series. */
static void start_tail(pair *p) {
  arb_t term;
  arb_init(term);
  arb_zero(p->tail);
  arb_set(term, p->here);
  for (double x = p->t; x <= p->c; x++) {
    arb_mul_si(term, term, (slong)(p->c - x + 1), BITS);
    arb_div_si(term, term, (slong)x, BITS);
    arb_add(p->tail, p->tail, term, BITS);
    const double ratio = (p->c - x) / (x + 1) * (1 + 1e-12);
    if (ball_upper(term) > 1e-60 || ratio > 1 - 1e-6) continue;
    arb_set_d(p->u, ball_upper(term) * ratio / (1 - ratio) * (1 + 1e-9));
    arb_add_error(p->tail, p->u);
    break;
  }
  arb_clear(term);
}

static double first_winning(const pair *p) { return fmin(p->c + 1, ceil(p->tau * (p->c + 1))); }

static void start(pair *p, double c) {
  p->c = c;
  p->t = first_winning(p);
  ball_fair(p->here, c, p->t - 1);
  start_tail(p);
}

/* b(t) from b(t-1), and T(t+1) from T(t). */
static void raise_threshold(pair *p) {
  arb_mul_si(p->here, p->here, (slong)(p->c - p->t + 1), BITS);
  arb_div_si(p->here, p->here, (slong)p->t, BITS);
  arb_sub(p->tail, p->tail, p->here, BITS);
  p->t++;
}

/* From Bin(c, 1/2) to Bin(c+1, 1/2). */
static void next(pair *p) {
  arb_mul_2exp_si(p->u, p->here, -1);
  arb_add(p->tail, p->tail, p->u, BITS);
  arb_mul_si(p->here, p->u, (slong)(p->c + 1), BITS);
  arb_div_si(p->here, p->here, (slong)(p->c + 2 - p->t), BITS);
  p->c++;
  while (p->t < first_winning(p)) raise_threshold(p);
}

/* The gain at x, P(x) - e^epsilon Q(x) = up b(x-1) - down b(x). */
static void gain_at(const pair *p, double x, arb_t gain) {
  arb_t at;
  arb_init(at);
  arb_zero(gain);
  if (x >= 1 && x <= p->c + 1) ball_fair(gain, p->c, x - 1);
  if (x <= p->c) ball_fair(at, p->c, x);
  arb_mul(gain, gain, p->up, BITS);
  arb_submul(gain, at, p->down, BITS);
  arb_clear(at);
}

/* Rounding may have put t one too high or too low: adds a gain that is missing, and takes back a
 * loss. */
static void mend_threshold(const pair *p, arb_t delta) {
  arb_t gain;
  arb_init(gain);
  gain_at(p, p->t - 1, gain);
  arb_set_d(gain, fmax(0, ball_upper(gain)));
  arb_add(delta, delta, gain, BITS);
  gain_at(p, p->t, gain);
  arb_set_d(gain, fmax(0, -ball_lower(gain)));
  arb_add(delta, delta, gain, BITS);
  arb_clear(gain);
}

static void delta_given(pair *p, arb_t delta) {
  const double place = p->tau * (p->c + 1);
  arb_add(p->u, p->tail, p->here, BITS);
  arb_mul(delta, p->u, p->up, BITS);
  arb_submul(delta, p->down, p->tail, BITS);
  if (fabs(place - round(place)) < 1e-13 * p->c + 1e-9) mend_threshold(p, delta);
}

/* An upper bound on the mass beyond one end, whose probability is `last` and falls by `ratio`. */
static void add_beyond(arb_t result, const arb_t last, double ratio) {
  arb_t t;
  arb_init(t);
  arb_set_d(t, ratio < 1 ? ratio * (1 + 1e-12) / (1 - ratio * (1 + 1e-12)) : (double)INFINITY);
  arb_mul(t, t, last, BITS);
  arb_add(result, result, t, BITS);
  arb_clear(t);
}

/* w s, where w is the share of true codes. */
static void set_blanket(const local *l, arb_t result) {
  arb_t t;
  arb_init(t);
  arb_expm1(t, l->epsilon0, BITS);
  arb_set_d(result, l->codes);
  arb_div_si(result, result, (slong)l->truths, BITS);
  arb_add(t, t, result, BITS); /* 1 / w + e^epsilon0 - 1 */
  arb_inv(result, t, BITS);
  arb_clear(t);
}

/* The probability of a clone. */
static void set_chance(const local *l, arb_t chance) {
  if (l->codes > 0) {
    set_blanket(l, chance);
    arb_mul_2exp_si(chance, chance, 1);
  } else {
    arb_neg(chance, l->epsilon0);
    arb_exp(chance, chance, BITS);
  }
}

/* delta of the pair at 0 <= epsilon < epsilon0. */
static void clones_delta(arb_t result, const local *l, const arb_t epsilon) {
  pair p;
  arb_t chance, mass, odds, one;
  pair_init(&p);
  arb_init(chance), arb_init(mass), arb_init(odds), arb_init(one);
  set_pair(&p, l->epsilon0, epsilon);
  const double others = l->mixed - 1;
  set_chance(l, chance);
  const double near = arf_get_d(arb_midref(chance), ARF_RND_NEAR);
  const double mean = others * near;
  const double reach = 15 * sqrt(mean * (1 - near)) + 60;
  const double first = fmax(0, floor(mean - reach));
  const double last = fmin(others, ceil(mean + reach));
  arb_sub_ui(odds, chance, 1, BITS);
  arb_neg(odds, odds);
  arb_div(odds, chance, odds, BITS);
  ball_binomial(mass, others, first, chance);
  arb_zero(result);
  if (first > 0) add_beyond(result, mass, first * (1 - near) / ((others - first + 1) * near));
  start(&p, first);
  for (double c = first;; c++) {
    delta_given(&p, one);
    arb_addmul(result, one, mass, BITS);
    if (c == last) break;
    arb_mul(mass, mass, odds, BITS);
    arb_mul_si(mass, mass, (slong)(others - c), BITS);
    arb_div_si(mass, mass, (slong)(c + 1), BITS);
    next(&p);
  }
  if (last < others) add_beyond(result, mass, (others - last) / (last + 1) * near / (1 - near));
  arb_clear(chance), arb_clear(mass), arb_clear(odds), arb_clear(one);
  pair_clear(&p);
}

/* With delta0 > 0 (the approximate version, Theorem 3.8) there is one more term,
 * (e^epsilon + 1) (1 + e^-epsilon0 / 2) n delta0. */
static void amplified(arb_t result, const local *l, const arb_t epsilon) {
  arb_t extra, t;
  arb_init(extra), arb_init(t);
  clones_delta(result, l, epsilon);
  arb_exp(extra, epsilon, BITS);
  arb_add_ui(extra, extra, 1, BITS);
  arb_neg(t, l->epsilon0);
  arb_exp(t, t, BITS);
  arb_mul_2exp_si(t, t, -1);
  arb_add_ui(t, t, 1, BITS);
  arb_mul(extra, extra, t, BITS);
  arb_set_d(t, l->mixed);
  arb_mul(extra, extra, t, BITS);
  arb_set_d(t, l->delta0);
  arb_addmul(result, extra, t, BITS);
  arb_clear(extra), arb_clear(t);
}

/* Whatever holds at a smaller epsilon holds here, and the second term above is smaller there. The
 * total is convex in e^epsilon, so a ternary search finds where it is least; any point will do. */
static void best_amplified(arb_t result, const local *l, const arb_t epsilon) {
  double low = 0;
  double high = 1; /* shares of epsilon */
  arb_t at, left, right;
  arb_init(at), arb_init(left), arb_init(right);
  amplified(result, l, epsilon);
  for (int i = 0; l->delta0 > 0 && i < 24; i++) {
    const double third = (high - low) / 3;
    arb_set_d(at, low + third);
    arb_mul(at, at, epsilon, BITS);
    amplified(left, l, at);
    arb_set_d(at, high - third);
    arb_mul(at, at, epsilon, BITS);
    amplified(right, l, at);
    if (arb_lt(left, right)) high -= third;
    else low += third;
    arb_min(result, result, left, BITS);
    arb_min(result, result, right, BITS);
  }
  arb_clear(at), arb_clear(left), arb_clear(right);
}

/* Without a shuffler: (epsilon0, delta0) is no worse than revealing everything with probability
 * delta0, and randomized response otherwise (Kairouz, Oh & Viswanath 2015). */
static void alone(arb_t result, const local *l, const arb_t epsilon) {
  pair p;
  pair_init(&p);
  set_pair(&p, l->epsilon0, epsilon);
  arb_set_d(result, l->delta0);
  arb_set_d(p.u, 1 - l->delta0);
  if (!arb_le(l->epsilon0, epsilon)) arb_addmul(result, p.u, p.up, BITS);
  pair_clear(&p);
}

void mixing_delta(arb_t result, const local *l, const arb_t epsilon) {
  arb_t mixed;
  arb_init(mixed);
  alone(result, l, epsilon);
  if (l->mixed > 1 && arb_gt(l->epsilon0, epsilon)) {
    best_amplified(mixed, l, epsilon);
    arb_min(result, result, mixed, BITS);
  }
  if (l->codes > 0) { /* v */
    arb_exp(mixed, l->epsilon0, BITS);
    arb_add_ui(mixed, mixed, 1, BITS);
    arb_mul(result, result, mixed, BITS);
    set_blanket(l, mixed);
    arb_mul(result, result, mixed, BITS);
  }
  arb_clear(mixed);
}

/* `times` mechanisms that are (each, own)-private, together: 1 - (1 - own)^times (1 - delta') with
 * delta' = sum_i P(i) (1 - e^(epsilon - (times - 2i) each))_+ and P that of Bin(times, p),
 * p = 1 / (1 + e^each) (Kairouz, Oh & Viswanath 2015). */
static void composed(arb_t result, const arb_t each, const arb_t own, double times, const arb_t epsilon) {
  arb_t chance, odds, gain, sum;
  arb_init(chance), arb_init(odds), arb_init(gain), arb_init(sum);
  arb_neg(odds, each);
  arb_exp(odds, odds, BITS); /* p / (1-p) */
  arb_add_ui(chance, odds, 1, BITS);
  arb_inv(chance, chance, BITS);
  arb_pow_ui(chance, chance, (ulong)times, BITS); /* P(0) */
  for (double i = 0; i <= times; i++) {
    arb_mul_si(gain, each, (slong)(times - 2 * i), BITS);
    arb_sub(gain, epsilon, gain, BITS);
    if (arb_is_nonnegative(gain)) break;
    arb_expm1(gain, gain, BITS);
    arb_submul(sum, chance, gain, BITS);
    arb_mul(chance, chance, odds, BITS);
    arb_mul_si(chance, chance, (slong)(times - i), BITS);
    arb_div_si(chance, chance, (slong)(i + 1), BITS);
  }
  arb_sub_ui(gain, own, 1, BITS);
  arb_neg(gain, gain);
  arb_pow_ui(gain, gain, (ulong)times, BITS);
  arb_sub_ui(sum, sum, 1, BITS);
  arb_mul(sum, sum, gain, BITS);
  arb_add_ui(result, sum, 1, BITS);
  arb_clear(chance), arb_clear(odds), arb_clear(gain), arb_clear(sum);
}

/* The largest epsilon of a batch with which `times` batches keep the claim, if each has a tenth of
 * delta / times for itself. */
static void share_of(arb_t each, const arb_t own, double times, const claim *c) {
  const double epsilon = arf_get_d(arb_midref(c->epsilon), ARF_RND_DOWN);
  double low = epsilon / times;
  double high = epsilon;
  arb_t delta;
  arb_init(delta);
  for (int i = 0; i < 50; i++) {
    const double middle = (low + high) / 2;
    arb_set_d(each, middle);
    composed(delta, each, own, times, c->epsilon);
    if (ball_at_most(delta, c->delta)) low = middle;
    else high = middle;
  }
  arb_set_d(each, low);
  arb_clear(delta);
}

/* Pure privacy adds up. */
static bool adds_up(const local *l, size_t count, double repeats, const claim *c) {
  bool holds = true;
  arb_t sum;
  arb_init(sum);
  for (size_t i = 0; holds && i < count; i++) {
    arb_set_d(sum, repeats);
    arb_mul(sum, sum, l[i].epsilon0, BITS);
    holds = l[i].delta0 == 0 && arb_le(sum, c->epsilon);
  }
  arb_clear(sum);
  return holds;
}

void mixing_compose(reader *r, arb_t result, const local *l, size_t count, double repeats, const claim *c) {
  arb_t each, own, worst;
  arb_zero(result);
  for (size_t i = 0; i < count; i++)
    if (l[i].mixed > MIXED_MAX) r->unknown = "more than 10^9 users are mixed";
  if (repeats > 1e5) r->unknown = "more than 10^5 batches of a user";
  if (r->unknown || adds_up(l, count, repeats, c)) return;
  arb_init(each), arb_init(own), arb_init(worst);
  arb_set(each, c->epsilon);
  arb_set_d(own, c->delta / (10 * repeats));
  if (repeats > 1) share_of(each, own, repeats, c);
  for (size_t i = 0; i < count; i++) {
    mixing_delta(worst, &l[i], each);
    arb_max(result, result, worst, BITS);
  }
  if (repeats > 1) {
    if (arb_lt(result, own)) arb_set(result, own);
    composed(result, each, result, repeats, c->epsilon);
  }
  arb_clear(each), arb_clear(own), arb_clear(worst);
}

void mixing_alone(reader *r, arb_t result, const local *l, size_t count, double repeats, const claim *c) {
  arb_t own, one;
  arb_zero(result);
  if (repeats > 1e5) r->unknown = "more than 10^5 batches of a user";
  if (r->unknown || adds_up(l, count, repeats, c)) return;
  arb_init(own), arb_init(one);
  for (size_t i = 0; i < count; i++) {
    composed(one, l[i].epsilon0, own, repeats, c->epsilon);
    arb_max(result, result, one, BITS);
  }
  arb_clear(own), arb_clear(one);
}

local *locals_create(reader *r, const json_t *list) {
  const size_t count = json_array_size(list);
  local *l = read_ok(r) ? calloc(count, sizeof *l) : NULL;
  if (read_ok(r) && !l) r->status = faro_fail(r->error, FARO_MEMORY, "cannot allocate %zu classes", count);
  for (size_t i = 0; l && i < count; i++) arb_init(l[i].epsilon0);
  return l;
}

void locals_destroy(local *l, const json_t *list) {
  for (size_t i = 0; l && i < json_array_size(list); i++) arb_clear(l[i].epsilon0);
  free(l);
}

/* Responses: a true code has the probability t / truths + (1 - t) / codes, any other (1 - t) /
 * codes, with t = threshold / 2^64; their ratio is e^epsilon0. */
static void read_response(reader *r, const json_t *rule, local *l) {
  arb_t t, rest;
  arb_init(t), arb_init(rest);
  l->codes = read_whole(r, rule, "codes", 2, 1e6);
  l->truths = read_whole(r, rule, "truths", 1, l->codes / 2);
  read_long(r, rule, "threshold", t);
  arb_mul_2exp_si(t, t, -64);
  arb_sub_ui(rest, t, 1, BITS);
  arb_neg(rest, rest);
  if (read_ok(r) && !arb_is_positive(rest))
    read_fail(r, "threshold", json_object_get(rule, "threshold"), "below 2^64");
  arb_div(t, t, rest, BITS);
  arb_mul_si(t, t, (slong)l->codes, BITS);
  arb_div_si(t, t, (slong)l->truths, BITS);
  arb_log1p(l->epsilon0, t, BITS);
  l->mixed = json_object_get(rule, "mixed") ? read_whole(r, rule, "mixed", 1, 1e12) : 1;
  arb_clear(t), arb_clear(rest);
}

static void responses(reader *r, const json_t *grounds, const claim *c, mixing_rule *rule, arb_t delta) {
  const json_t *list = read_list(r, grounds, "classes", 100000);
  const double repeats = read_whole(r, grounds, "repeats", 1, 1e9);
  local *l = locals_create(r, list);
  for (size_t i = 0; l && read_ok(r) && i < json_array_size(list); i++)
    read_response(r, json_array_get(list, i), &l[i]);
  if (l && read_ok(r)) rule(r, delta, l, json_array_size(list), repeats, c);
  locals_destroy(l, list);
}

static void response_delta(reader *r, const json_t *grounds, const claim *c, arb_t delta) {
  responses(r, grounds, c, mixing_compose, delta);
}

static void response_local(reader *r, const json_t *grounds, const claim *c, arb_t delta) {
  responses(r, grounds, c, mixing_alone, delta);
}

const ground_kind ground_response = {"response", NULL, response_delta, response_local};
