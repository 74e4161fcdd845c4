/* lemmas: how far one user moves a contribution (docs/privacy.md, Clipping and sensitivity, Lemmas
 * 1, 1a, 1b and 1c, Rewards only), from the bounds on features and rewards. */
#include <math.h>

#include "verify/inner.h"

enum { MOMENTS, GRAM, REWARDS, VALUES, BALL };
enum { LINEAR, LOGISTIC, PROBIT };

shape read_shape(reader *r, const json_t *grounds) {
  static const char *const forms[] = {"moments", "gram", "rewards", "values", "ball", NULL};
  static const char *const links[] = {"linear", "logistic", "probit", NULL};
  const json_t *c = read_object(r, grounds, "contribution");
  const shape s = {.form = read_word(r, c, "form", forms),
                   .link = read_word(r, c, "link", links),
                   .weighed = read_flag(r, c, "weighed"),
                   .dimension = read_whole(r, c, "dimension", 1, 1e6),
                   .blocks = json_object_get(c, "blocks") ? read_whole(r, c, "blocks", 1, 1e6) : 1,
                   .norm = read_number(r, c, "norm", 1e-9, 1e9),
                   .low = read_number(r, c, "low", -1e9, 1e9),
                   .high = read_number(r, c, "high", -1e9, 1e9),
                   .middle = json_object_get(c, "middle") ? read_number(r, c, "middle", -1e9, 1e9) : 0};
  if ((s.form == MOMENTS || s.form == REWARDS) && !(s.low < s.high))
    read_fail(r, "high", json_object_get(c, "high"), "above low");
  if (s.middle != 0 && fabs(s.middle - (s.low + s.high) / 2) > 1e-12 * fmax(fabs(s.low), fabs(s.high)))
    read_fail(r, "middle", json_object_get(c, "middle"), "halfway between low and high");
  if (fmod(s.dimension, s.blocks) != 0 || (s.blocks > 1 && (s.form != MOMENTS || s.link != LINEAR)))
    read_fail(r, "blocks", json_object_get(c, "blocks"), "a divisor of the dimension, for linear moments");
  return s;
}

shape shape_of_any_users(const shape *s) {
  shape any = *s;
  any.any_users = true;
  return any;
}

/* Lemma 1c: products of different blocks are left out. */
double shape_length(const shape *s) {
  const double packed = s->dimension * (s->dimension / s->blocks + 1) / 2;
  return s->form == MOMENTS ? packed + s->dimension : s->form == GRAM ? packed : s->dimension;
}

/* The greatest value over |c| <= L^2 of 2 L^4 + L^2 (y^2 + w^2) - 2 c^2 - 2 c y w: inside the
 * interval at c = -y w / 2, else at its end. square: L^2. */
static void over_angles(arb_t result, const arb_t square, const arb_t y, const arb_t w) {
  arb_t product, sum, t;
  arb_init(product), arb_init(sum), arb_init(t);
  arb_mul(product, y, w, BITS);
  arb_mul(sum, y, y, BITS);
  arb_addmul(sum, w, w, BITS);
  arb_mul(sum, sum, square, BITS);
  arb_abs(t, product);
  arb_mul_2exp_si(t, t, -1);
  const bool beyond = arb_gt(t, square);
  if (beyond) { /* L^2 (|y| + |w|)^2 */
    arb_mul_2exp_si(t, t, 2);
    arb_mul(t, t, square, BITS);
  } else { /* 2 L^4 + (y w)^2 / 2 */
    arb_mul(t, product, product, BITS);
    arb_mul_2exp_si(t, t, -2);
    arb_addmul(t, square, square, BITS);
    arb_mul_2exp_si(t, t, 1);
  }
  arb_add(result, sum, t, BITS);
  arb_clear(product), arb_clear(sum), arb_clear(t);
}

/* Lemma 1; weighed, in units of the longest feature and the largest reward (Lemma 1a). */
static void moments(arb_t result, const shape *s) {
  arb_t square, value, end[2];
  arb_init(square), arb_init(value), arb_init(end[0]), arb_init(end[1]);
  arb_set_d(square, s->weighed ? 1 : s->norm);
  arb_mul(square, square, square, BITS);
  arb_set_d(end[0], s->low);
  arb_set_d(end[1], s->high);
  arb_set_d(value, fmax(fabs(s->low), fabs(s->high)));
  for (int i = 0; s->weighed && i < 2; i++) arb_div(end[i], end[i], value, BITS);
  arb_zero(result);
  for (int i = 0; i < 2; i++)
    for (int j = 0; j <= i; j++) { /* convex in y and in w, so both are at ends */
      over_angles(value, square, end[i], end[j]);
      arb_max(result, result, value, BITS);
    }
  arb_clear(square), arb_clear(value), arb_clear(end[0]), arb_clear(end[1]);
}

/* W^2 and m of Lemma 1b: logistic for m in a ball (x = m), probit for t in a ball (x = t). */
static void slope_and_mean(size_t link, const arb_t x, arb_t square, arb_t m) {
  if (link == LOGISTIC) { /* (4 m (1 - m))^2 */
    arb_set(m, x);
    arb_sub_ui(square, m, 1, BITS);
    arb_mul(square, square, m, BITS);
    arb_mul(square, square, square, BITS);
    arb_mul_2exp_si(square, square, 4);
    return;
  }
  ball_normal(m, x, BITS);
  arb_mul(square, x, x, BITS);
  arb_neg(square, square);
  arb_exp(square, square, BITS);
}

/* W^2 + 1.5 m^2 <= 2, and W^2 <= (1 - m) (3 + m), for x in a ball. Logistic: the second divided by
 * 1 - m, so that it holds at m = 1. */
static bool lemma_holds(size_t link, const arb_t x) {
  arb_t square, m, t, u;
  arb_init(square), arb_init(m), arb_init(t), arb_init(u);
  slope_and_mean(link, x, square, m);
  arb_mul(t, m, m, BITS);
  arb_mul_ui(t, t, 3, BITS);
  arb_mul_2exp_si(t, t, -1);
  arb_add(t, t, square, BITS);
  bool holds = ball_at_most(t, 2);
  arb_add_ui(t, m, 3, BITS);
  if (link == LOGISTIC) { /* 16 m^2 (1 - m) <= 3 + m */
    arb_sub_ui(u, m, 1, BITS);
    arb_mul(u, u, m, BITS);
    arb_mul(u, u, m, BITS);
    arb_mul_si(square, u, -16, BITS);
  } else {
    arb_neg(u, x);
    ball_normal(u, u, BITS);
    arb_mul(t, t, u, BITS);
  }
  holds = holds && arb_le(square, t);
  arb_clear(square), arb_clear(m), arb_clear(t), arb_clear(u);
  return holds;
}

/* Lemma 1b: all m of [1/2, 1], or all t of [0, 8], in small pieces. Beyond t = 8 exp(-t^2) is below
 * Phi(-t), because Phi(-t) > phi(t) t / (1 + t^2). */
static bool linearised_holds(size_t link) {
  enum { PIECES = 512 };
  const double from = link == LOGISTIC ? 0.5 : 0;
  const double width = (link == LOGISTIC ? 0.5 : 8) / PIECES;
  arb_t piece;
  arb_init(piece);
  bool holds = true;
  for (int i = 0; holds && i < PIECES; i++) {
    arb_set_d(piece, from + (i + 0.5) * width); /* exact: powers of two */
    mag_set_d(arb_radref(piece), width / 2);
    holds = lemma_holds(link, piece);
  }
  arb_clear(piece);
  return holds;
}

static void linearised(reader *r, arb_t result, size_t link) {
  static _Thread_local bool known[PROBIT + 1];
  if (!known[link]) known[link] = linearised_holds(link);
  if (!known[link]) r->unknown = "the inequalities of Lemma 1b could not be shown";
  arb_set_ui(result, 4);
}

/* Rewards only: z = x (y - middle) / (L a), a the greatest |y - middle|. Neighbours have the same
 * x, so z moves by (high - low) / a. Two users may have opposite x, and both the reward that is
 * farthest from the middle: 2. */
static void rewards(arb_t result, const shape *s) {
  arb_t low, high;
  arb_init(low), arb_init(high);
  arb_set_d(result, s->middle);
  arb_set_d(low, s->low);
  arb_set_d(high, s->high);
  arb_sub(low, low, result, BITS);
  arb_sub(high, high, result, BITS);
  arb_sub(result, high, low, BITS);
  arb_abs(low, low);
  arb_abs(high, high);
  arb_max(low, low, high, BITS); /* a */
  arb_div(result, result, low, BITS);
  if (s->any_users) arb_set_ui(result, 2);
  arb_mul(result, result, result, BITS);
  arb_clear(low), arb_clear(high);
}

/* Where x is not public, any user's data may replace another's: neighbours are as far apart as any
 * two users. */
void shape_square(reader *r, arb_t result, const shape *s) {
  arb_t t;
  arb_init(t);
  arb_set_d(t, s->norm);
  arb_mul(result, t, t, BITS);
  switch (s->form) {
  case MOMENTS:
    if (s->link == LINEAR) moments(result, s);
    else linearised(r, result, s->link);
    break;
  case GRAM: /* 2 L^4 */
    arb_mul(result, result, result, BITS);
    if (s->weighed) arb_one(result);
    arb_mul_2exp_si(result, result, 1);
    break;
  case REWARDS: rewards(result, s); break;
  case VALUES: arb_set_d(result, s->dimension); break; /* every entry moves by 1 */
  default: arb_mul_2exp_si(result, result, 2); break;  /* ball: (2 radius)^2 */
  }
  arb_clear(t);
}

/* Plain vectors exactly, others by the Cauchy-Schwarz inequality. */
void shape_absolute(reader *r, arb_t result, const shape *s) {
  arb_t length;
  arb_init(length);
  shape_square(r, result, s);
  arb_set_d(length, shape_length(s));
  arb_mul(result, result, length, BITS);
  arb_sqrt(result, result, BITS);
  arb_clear(length);
}

/* Noise that is not the same in all entries, on x x' - v v' and x y - v w without weights:
 * max(1 / on^2, 1 / (2 off^2)) 2 L^4 + (2 L max|y|)^2 / rest^2. */
static void uneven(arb_t result, const shape *s, const double sd[static 3]) {
  arb_t square, a, b;
  arb_init(square), arb_init(a), arb_init(b);
  arb_set_d(square, s->norm);
  arb_mul(square, square, square, BITS);
  arb_set_d(a, sd[0]);
  arb_mul(a, a, a, BITS);
  arb_set_d(b, sd[1]);
  arb_mul(b, b, b, BITS);
  arb_mul_2exp_si(b, b, 1);
  arb_min(a, a, b, BITS);
  arb_mul(b, square, square, BITS);
  arb_mul_2exp_si(b, b, 1);
  arb_div(result, b, a, BITS);
  arb_set_d(a, 2 * fmax(fabs(s->low), fabs(s->high)));
  arb_set_d(b, sd[2]);
  arb_div(a, a, b, BITS);
  arb_mul(a, a, a, BITS);
  if (s->form == MOMENTS) arb_addmul(result, a, square, BITS);
  arb_clear(square), arb_clear(a), arb_clear(b);
}

void shape_shift(reader *r, arb_t result, const shape *s, const double sd[static 3]) {
  if (sd[0] != sd[1] || sd[0] != sd[2]) {
    if (s->form != MOMENTS && s->form != GRAM)
      read_fail(r, "sd", NULL, "three equal numbers for plain vectors");
    else if (s->weighed || s->link != LINEAR)
      r->unknown = "noise that differs between entries is only checked without weights";
    else uneven(result, s, sd);
    return;
  }
  arb_t sigma;
  arb_init(sigma);
  arb_set_d(sigma, sd[0]);
  arb_mul(sigma, sigma, sigma, BITS);
  shape_square(r, result, s);
  arb_div(result, result, sigma, BITS);
  arb_clear(sigma);
}
