/* coins: bit sums (docs/privacy.md, Bit sums, Lemmas 2 to 5). An entry of a node is a sum of N
 * bits, each 1 with probability p, and of what the users send. With F the distribution function of
 * Bin(N, p), q = Phi^-1(F) and sigma^2 = N p (1-p), the mechanism is dominated by a Gaussian one if
 *
 *   q(k) - q(k-1) <= (1 + eta) / sigma     for all k within reach of the mean.
 *
 * Fair bits and N <= WALK_MAX: by a walk over all k, with q(k) enclosed by Newton's method. Else,
 * for y = (k-1)/N below the mean (above it the mirror image), by the bound of Zubkov & Serov 2013
 * on F and Stirling's on the probabilities,
 *
 *   q(k) - q(k-1) <= p (1-y) / (y (1-p)) / sqrt(N x (1-x)),    x = k/N. */
#include <math.h>
#include <string.h>

#include "verify/inner.h"

enum { LEVELS_MAX = 64, NODES_MAX = 100000 };
static const double WALK_MAX = 1e8;

/* The walk. */

/* A double near Phi^-1(mass), mass <= 1/2, from a start nearby. */
static double quantile_near(double start, double mass) {
  double q = start;
  for (int i = 0; i < 5; i++)
    q += (mass - erfc(-q / sqrt(2)) / 2) / (exp(-q * q / 2) / sqrt(2 * 3.14159265358979323846));
  return q;
}

/* Encloses Phi^-1(mass) by one interval Newton step around `start`. False if that does not show
 * anything. */
static bool enclose_quantile(arb_t q, const arb_t mass, double start) {
  arb_t m, wide, slope;
  arb_init(m), arb_init(wide), arb_init(slope);
  arb_set_d(m, start);
  arb_set(wide, m);
  mag_set_d(arb_radref(wide), 1e-8);
  ball_density(slope, wide, 30);
  ball_normal(q, m, 64);
  arb_sub(q, q, mass, BITS);
  arb_div(q, q, slope, BITS);
  arb_sub(q, m, q, BITS);
  const bool inside = arb_contains(wide, q);
  arb_clear(m), arb_clear(wide), arb_clear(slope);
  return inside;
}

/* A lower bound on F(k), from the terms that matter; k below the mean. */
static void lower_mass(arb_t mass, double n, double k, const arb_t top) {
  arb_t term;
  arb_init(term);
  arb_set(term, top);
  arb_set(mass, top);
  const double enough = ball_lower(top) * 1e-14;
  for (double j = k; j >= 1 && ball_upper(term) > enough; j--) {
    arb_mul_si(term, term, (slong)j, BITS);
    arb_div_si(term, term, (slong)(n - j + 1), BITS);
    arb_add(mass, mass, term, BITS);
  }
  arb_set_d(mass, ball_lower(mass));
  arb_clear(term);
}

/* The greatest q(k) - q(k-1) for first <= k <= n/2; the right half is the mirror image. A lower
 * bound in place of F(first - 1) makes all steps larger, because Phi^-1 is steeper there. */
static bool widest_step(arb_t widest, double n, double first) {
  arb_t chance, mass, q, before;
  arb_init(chance), arb_init(mass), arb_init(q), arb_init(before);
  ball_fair(chance, n, first - 1);
  lower_mass(mass, n, first - 1, chance);
  double guess = -sqrt(-2 * log(2 * ball_upper(mass)));
  for (int i = 0; i < 20; i++) guess = quantile_near(guess, ball_upper(mass));
  bool shown = enclose_quantile(before, mass, guess);
  arb_zero(widest);
  for (double k = first; shown && k <= n / 2; k++) {
    arb_mul_si(chance, chance, (slong)(n - k + 1), BITS);
    arb_div_si(chance, chance, (slong)k, BITS);
    arb_add(mass, mass, chance, BITS);
    guess = quantile_near(guess + 2 / sqrt(n), arf_get_d(arb_midref(mass), ARF_RND_NEAR));
    shown = enclose_quantile(q, mass, guess);
    arb_sub(before, q, before, BITS);
    arb_max(widest, widest, before, BITS);
    arb_set(before, q);
  }
  arb_clear(chance), arb_clear(mass), arb_clear(q), arb_clear(before);
  return shown;
}

static bool walk(arb_t factor, double n, double reach) {
  const double first = floor(n / 2 - reach * sqrt(n) / 2);
  if (first < 1 || !widest_step(factor, n, first)) return false;
  arb_t sigma;
  arb_init(sigma);
  arb_set_d(sigma, n);
  arb_sqrt(sigma, sigma, BITS);
  arb_mul_2exp_si(sigma, sigma, -1);
  arb_mul(factor, factor, sigma, BITS);
  arb_clear(sigma);
  return true;
}

/* The inequality at the lower end: p (1-y) / (y (1-p)) sqrt(p (1-p) / (x (1-x))), with x the end or
 * the mean, whichever gives more. */
static void inequality_at(arb_t factor, const arb_t p, const arb_t away, const arb_t more) {
  arb_t odds, here, t;
  arb_init(odds), arb_init(here), arb_init(t);
  arb_sub_ui(t, p, 1, BITS);
  arb_neg(t, t);
  arb_div(odds, p, t, BITS); /* p / (1-p) */
  arb_mul(here, p, t, BITS); /* p (1-p) */
  arb_sub(t, p, more, BITS); /* y */
  arb_div(odds, odds, t, BITS);
  arb_sub_ui(t, t, 1, BITS);
  arb_mul(odds, odds, t, BITS);
  arb_neg(odds, odds);
  arb_sub(t, p, away, BITS); /* x */
  arb_submul(t, t, t, BITS); /* x (1-x) */
  arb_min(t, t, here, BITS);
  arb_div(t, here, t, BITS);
  arb_sqrt(t, t, BITS);
  arb_mul(odds, odds, t, BITS);
  arb_max(factor, factor, odds, BITS);
  arb_clear(odds), arb_clear(here), arb_clear(t);
}

static bool inequality(arb_t factor, double n, double bias, double reach) {
  if (!((reach + 3) / (2 * sqrt(n)) < 0.9 * fmin(bias, 1 - bias))) return false;
  arb_t p, away, more, t;
  arb_init(p), arb_init(away), arb_init(more), arb_init(t);
  arb_set_d(p, bias);
  arb_set_d(t, n);
  arb_sqrt(away, t, BITS);
  arb_inv(away, away, BITS);
  arb_inv(more, t, BITS);
  arb_set_d(t, reach / 2);
  arb_mul(away, away, t, BITS);    /* of x from p */
  arb_add(away, away, more, BITS); /* to a whole number */
  arb_add(more, away, more, BITS); /* of y from p */
  arb_zero(factor);
  inequality_at(factor, p, away, more);
  arb_sub_ui(p, p, 1, BITS);
  arb_neg(p, p);
  inequality_at(factor, p, away, more);
  arb_clear(p), arb_clear(away), arb_clear(more), arb_clear(t);
  return true;
}

/* 1 + eta, remembered, because nodes repeat. */
static bool inflation(arb_t factor, double n, double p, double reach) {
  enum { KEPT = 64 };
  static _Thread_local struct { double n, p, reach, factor; } kept[KEPT];
  static _Thread_local size_t turn;
  for (size_t i = 0; i < KEPT; i++)
    if (kept[i].n == n && kept[i].p == p && kept[i].reach >= reach && kept[i].reach <= reach + 0.25) {
      arb_set_d(factor, kept[i].factor);
      return true;
    }
  if (!(p == 0.5 && n <= WALK_MAX ? walk(factor, n, reach) : inequality(factor, n, p, reach))) return false;
  const double most = ball_upper(factor);
  kept[turn].n = n, kept[turn].p = p, kept[turn].reach = reach, kept[turn].factor = most;
  turn = (turn + 1) % KEPT;
  arb_set_d(factor, most);
  return true;
}

/* Nodes. */

typedef struct sums {
  shape shape;
  double repeats, bias, grid, step, levels;
  double rare;    /* 1e-9 if part of delta is reserved, else 0 */
  bool alone;     /* one user's messages by themselves */
  double further; /* deviations that the walk goes beyond what is needed */
  double delta;   /* slacks of all nodes that a user is in add up to 1/2000 of this */
} sums;

/* How far the rounded numbers of two users differ, in steps (Lemma 2): at most S / step + sqrt(D),
 * or the whole grid in every entry; a single number by a whole number. One that exceeds a whole
 * number by `rare` is rounded up with that probability only, and the view is a mixture: what it
 * adds to delta is that share of it, far below what is reserved. */
static void shift_norm(reader *r, const sums *s, arb_t norm) {
  arb_t t, box;
  arb_init(t), arb_init(box);
  shape_square(r, norm, &s->shape);
  arb_sqrt(norm, norm, BITS);
  arb_set_d(t, s->step * (1 - 1e-15));
  arb_div(norm, norm, t, BITS);
  arb_set_d(t, shape_length(&s->shape));
  arb_sqrt(t, t, BITS);
  arb_set_d(box, s->grid);
  arb_mul(box, box, t, BITS);
  if (shape_length(&s->shape) == 1) arb_set_d(norm, ceil(ball_upper(norm) - s->rare));
  else arb_add(norm, norm, t, BITS);
  arb_min(norm, norm, box, BITS);
  arb_clear(t), arb_clear(box);
}

/* What it costs that the noise of a message is cut at a distance r from its mean, of which the
 * neighbour's is as much as the whole grid away: 2 e^(-2 r^2 / b) + 2 e^(-2 (r - G)^2 / b) per
 * entry. */
static void add_cut(reader *r, const json_t *node, double bits, const sums *s, arb_t slack) {
  const double reach = read_number(r, node, "cut", 0, 0x1p50);
  if (reach >= bits / 2) return; /* all that there are */
  const double ends[] = {reach, fmax(0, reach - s->grid)};
  arb_t t;
  arb_init(t);
  for (int i = 0; i < 2; i++) {
    arb_set_d(t, -2 * ends[i] * ends[i] / bits * (1 - 1e-12));
    arb_exp(t, t, BITS);
    arb_mul_si(t, t, 2 * (slong)shape_length(&s->shape), BITS);
    arb_mul_si(t, t, (slong)s->repeats, BITS);
    arb_add(slack, slack, t, BITS);
  }
  arb_clear(t);
}

/* mu^2 of all nodes of a level that a user is in, and their slack (Lemmas 4 and 5). */
static void node_curve(reader *r, const json_t *node, const sums *s, double unit, const arb_t norm,
                       arb_t square, arb_t slack) {
  const double honest = s->alone ? 1 : read_whole(r, node, "honest", 1, 0x1p40);
  const double bits = read_whole(r, node, "bits", 1, 0x1p50);
  const double all = honest * bits;
  const double n = all > 0x1p52 ? nextafter(all, 0) : all; /* fewer bits than there are are less noise */
  if (!read_ok(r)) return;
  const double times = s->alone ? 1 : fmin(unit, s->repeats); /* messages in the node */
  const double length = shape_length(&s->shape);
  const double t = sqrt(2 * log(4000 * length * s->levels * s->repeats / s->delta));
  const double most = fmin(s->grid, ball_upper(norm)) * times;              /* of one entry, in steps */
  const double reach = (t + 2 * most / sqrt(n) + s->further) * (1 + 1e-12); /* in units of sqrt(N) / 2 */
  arb_t u;
  arb_init(u);
  if (!inflation(square, n, s->bias, reach))
    r->unknown = "too few noise bits for the domination by a Gaussian";
  arb_mul(square, square, norm, BITS);
  arb_mul(square, square, square, BITS);
  arb_set_d(u, n);
  arb_div(square, square, u, BITS);
  arb_set_d(u, s->bias * (1 - s->bias));
  arb_div(square, square, u, BITS);
  arb_set_d(u, s->repeats * times);
  arb_mul(square, square, u, BITS);
  arb_set_d(u, -t * t / 2 * (1 - 1e-12));
  arb_exp(u, u, BITS);
  arb_set_d(slack, 2 * length * s->repeats); /* Hoeffding: 2 e^(-t^2 / 2) per entry */
  arb_mul(slack, slack, u, BITS);
  if (s->alone) add_cut(r, node, bits, s, slack);
  arb_clear(u);
}

/* Adds a level: the worst of its nodes. */
static void add_level(reader *r, const json_t *level, const sums *s, const arb_t norm, curve *c) {
  const json_t *list = read_list(r, level, "nodes", NODES_MAX);
  const double unit = read_whole(r, level, "unit", 1, 0x1p40);
  arb_t square, slack, one, two;
  arb_init(square), arb_init(slack), arb_init(one), arb_init(two);
  for (size_t i = 0; read_ok(r) && i < json_array_size(list); i++) {
    node_curve(r, json_array_get(list, i), s, unit, norm, one, two);
    arb_max(square, square, one, BITS);
    arb_max(slack, slack, two, BITS);
  }
  arb_add(c->square, c->square, square, BITS);
  arb_add(c->slack, c->slack, slack, BITS);
  arb_clear(square), arb_clear(slack), arb_clear(one), arb_clear(two);
}

static void dominate(reader *r, const json_t *grounds, double delta, const claim *alone, curve *c) {
  const json_t *levels = read_list(r, grounds, "levels", LEVELS_MAX);
  const sums s = {.shape = read_shape(r, grounds),
                  .repeats = read_whole(r, grounds, "repeats", 1, 1e9),
                  .bias = read_number(r, grounds, "bias", 0.25, 0.5),
                  .grid = read_whole(r, grounds, "grid", 1, 0x1p30),
                  .step = read_number(r, grounds, "step", 1e-300, 1e300),
                  .levels = (double)json_array_size(levels),
                  .rare = read_number(r, grounds, "reserved", 0, 0.5) >= 1e-4 ? 1e-9 : 0,
                  .alone = alone != NULL,
                  .further = alone && alone->loosely ? 1 : 0,
                  .delta = delta};
  arb_t norm;
  arb_init(norm);
  if (read_ok(r)) shift_norm(r, &s, norm);
  for (size_t i = 0; read_ok(r) && i < json_array_size(levels); i++)
    add_level(r, json_array_get(levels, i), &s, norm, c);
  arb_clear(norm);
}

static void bits_dominate(reader *r, const json_t *grounds, double delta, curve *c) {
  dominate(r, grounds, delta, NULL, c);
}

static void bits_local(reader *r, const json_t *grounds, const claim *c, arb_t delta) {
  curve made;
  curve_init(&made);
  dominate(r, grounds, c->delta > 0 ? c->delta : 1e-15, c, &made);
  if (read_ok(r)) ball_gaussian_delta(delta, made.square, c->epsilon);
  arb_add(delta, delta, made.slack, BITS);
  curve_clear(&made);
}

const ground_kind ground_bits = {"bits", bits_dominate, NULL, bits_local};
