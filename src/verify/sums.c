/* sums: Gaussian noise on batches or messages, at the nodes of a tree, and factored; Laplace noise
 * (docs/privacy.md, The Gaussian mechanism, The Laplace mechanism, Returning users, Exact
 * noise). */
#include <math.h>

#include "verify/inner.h"

enum { CLASSES_MAX = 100000, TERMS_MAX = 24 };
static const double RELEASES_MAX = 1e6;
static const double REPEATS_MAX = 1e9;

static double read_repeats(reader *r, const json_t *grounds) {
  return read_whole(r, grounds, "repeats", 1, REPEATS_MAX);
}

/* Deployed noise: Lemma 7. mu^2 of the mechanism in whole numbers is that of real noise with steps
 * of u and variance s^2: ((S + u sqrt(D)) / (u s))^2. */
static void whole_numbers(reader *r, const json_t *noise, const shape *s, arb_t square, arb_t variance) {
  arb_t t;
  arb_init(t);
  const double step = read_number(r, noise, "step", 1e-300, 1e300);
  read_long(r, noise, "variance", variance);
  if (read_ok(r) && arb_contains_zero(variance))
    read_fail(r, "variance", json_object_get(noise, "variance"), "above 0");
  shape_square(r, square, s);
  arb_sqrt(square, square, BITS);
  arb_set_d(t, step);
  arb_div(square, square, t, BITS); /* S / u */
  arb_set_d(t, shape_length(s));
  arb_sqrt(t, t, BITS);
  arb_add(square, square, t, BITS);
  arb_mul(square, square, square, BITS);
  arb_div(square, square, variance, BITS);
  arb_clear(t);
}

/* How far one message moves, in units of its noise, squared. `variance` is 0 for real noise. */
static void message_square(reader *r, const json_t *noise, const shape *s, arb_t square, arb_t variance) {
  double sd[3];
  arb_zero(variance);
  if (json_object_get(noise, "variance")) {
    whole_numbers(r, noise, s, square, variance);
    return;
  }
  read_numbers(r, noise, "sd", 3, 1e-300, 1e300, sd);
  if (read_ok(r)) shape_shift(r, square, s, sd);
}

/* Lemma 7: delta <= e^a (delta_Gauss(epsilon - a - b; mu) + tail) for `draws` noisy entries,
 * a = draws / (23 s^2), b = a (12 + mu)^2, tail = 4e-33 draws; s >= 100. */
static void discrete_delta(reader *r, arb_t result, const arb_t square, const arb_t variance, double draws,
                           const arb_t epsilon) {
  arb_t a, b, least;
  arb_init(a), arb_init(b), arb_init(least);
  arb_set_ui(least, 10000);
  if (arb_lt(variance, least)) r->unknown = "Lemma 7 needs noise of 100 steps or more";
  arb_set_d(a, draws);
  arb_div(a, a, variance, BITS);
  arb_div_ui(a, a, 23, BITS);
  arb_sqrt(b, square, BITS);
  arb_add_ui(b, b, 12, BITS);
  arb_mul(b, b, b, BITS);
  arb_add_ui(b, b, 1, BITS);
  arb_mul(b, b, a, BITS); /* a + b */
  arb_sub(b, epsilon, b, BITS);
  if (!arb_is_positive(b)) r->unknown = "Lemma 7 uses up all of epsilon";
  ball_gaussian_delta(result, square, b);
  arb_set_d(b, 4e-33 * draws * (1 + 1e-9));
  arb_add(result, result, b, BITS);
  arb_exp(a, a, BITS);
  arb_mul(result, result, a, BITS);
  arb_clear(a), arb_clear(b), arb_clear(least);
}

/* Gaussian noise of mu^2 in real numbers, or in whole numbers if `variance` is not 0. */
static void noise_delta(reader *r, arb_t result, const arb_t square, const arb_t variance, double draws,
                        const arb_t epsilon) {
  if (arb_is_zero(variance)) ball_gaussian_delta(result, square, epsilon);
  else discrete_delta(r, result, square, variance, draws, epsilon);
}

/* Batches or messages. */

/* The Gaussian mechanism of a user's M0 batches of one class. */
static void gaussian_class(reader *r, const json_t *noise, const shape *s, double repeats, arb_t square,
                           arb_t variance) {
  arb_t times;
  arb_init(times);
  message_square(r, noise, s, square, variance);
  arb_set_d(times, repeats);
  arb_mul(square, square, times, BITS);
  arb_clear(times);
}

static void gaussian_dominate(reader *r, const json_t *grounds, double delta, curve *c) {
  const json_t *list = read_list(r, grounds, "classes", CLASSES_MAX);
  const shape s = read_shape(r, grounds);
  const double repeats = read_repeats(r, grounds);
  arb_t square, variance;
  arb_init(square), arb_init(variance);
  (void)delta;
  for (size_t i = 0; read_ok(r) && i < json_array_size(list); i++) {
    gaussian_class(r, json_array_get(list, i), &s, repeats, square, variance);
    if (!arb_is_zero(variance)) r->unknown = "noise in whole numbers is not composed with other noise";
    arb_max(c->square, c->square, square, BITS);
  }
  arb_clear(square), arb_clear(variance);
}

/* A message that is (epsilon0, delta0)-private by its own noise, whichever two users it is from:
 * checks that it is. */
static void read_local(reader *r, const json_t *noise, const shape *s, local *l) {
  const shape any = shape_of_any_users(s);
  arb_t square, variance, own;
  arb_init(square), arb_init(variance), arb_init(own);
  l->mixed = read_whole(r, noise, "mixed", 1, 1e12);
  l->delta0 = read_number(r, noise, "delta0", 1e-300, 1);
  arb_set_d(l->epsilon0, read_number(r, noise, "epsilon0", 0, 1000));
  message_square(r, noise, &any, square, variance);
  if (read_ok(r)) noise_delta(r, own, square, variance, shape_length(s), l->epsilon0);
  if (read_ok(r) && !ball_at_most(own, l->delta0)) l->delta0 = 1; /* not even this: the bound is trivial */
  arb_clear(square), arb_clear(variance), arb_clear(own);
}

/* Without amplification: the worst class. */
static void plain_delta(reader *r, const json_t *list, const shape *s, double repeats, const claim *c,
                        arb_t delta) {
  arb_t square, variance, one;
  arb_init(square), arb_init(variance), arb_init(one);
  for (size_t i = 0; read_ok(r) && i < json_array_size(list); i++) {
    gaussian_class(r, json_array_get(list, i), s, repeats, square, variance);
    if (read_ok(r)) noise_delta(r, one, square, variance, repeats * shape_length(s), c->epsilon);
    arb_max(delta, delta, one, BITS);
  }
  arb_clear(square), arb_clear(variance), arb_clear(one);
}

/* One class of batches, by amplification or without. */
static void either_delta(reader *r, const json_t *noise, const shape *s, const claim *c, arb_t delta) {
  local l = {.mixed = 1};
  arb_t square, variance;
  arb_init(l.epsilon0), arb_init(square), arb_init(variance);
  gaussian_class(r, noise, s, 1, square, variance);
  if (read_ok(r)) noise_delta(r, delta, square, variance, shape_length(s), c->epsilon);
  if (read_ok(r) && json_object_get(noise, "epsilon0") && !ball_at_most(delta, c->delta)) {
    read_local(r, noise, s, &l);
    if (read_ok(r)) mixing_delta(square, &l, c->epsilon);
    if (read_ok(r)) arb_min(delta, delta, square, BITS);
  }
  arb_clear(l.epsilon0), arb_clear(square), arb_clear(variance);
}

/* Users who return: amplified batches compose as (epsilon_b, delta_b)-private mechanisms. */
static void amplified_delta(reader *r, const json_t *list, const shape *s, double repeats, const claim *c,
                            arb_t delta) {
  local *l = locals_create(r, list);
  for (size_t i = 0; l && read_ok(r) && i < json_array_size(list); i++)
    read_local(r, json_array_get(list, i), s, &l[i]);
  if (l && read_ok(r)) mixing_compose(r, delta, l, json_array_size(list), repeats, c);
  locals_destroy(l, list);
}

static void gaussian_delta(reader *r, const json_t *grounds, const claim *c, arb_t delta) {
  const json_t *list = read_list(r, grounds, "classes", CLASSES_MAX);
  const shape s = read_shape(r, grounds);
  const double repeats = read_repeats(r, grounds);
  if (!read_ok(r)) return;
  arb_t one;
  arb_init(one);
  plain_delta(r, list, &s, repeats, c, delta);
  const bool enough = !read_ok(r) || ball_at_most(delta, c->delta);
  const bool mixes = json_object_get(json_array_get(list, 0), "epsilon0") != NULL;
  if (!enough && repeats == 1) {
    arb_zero(delta);
    for (size_t i = 0; read_ok(r) && i < json_array_size(list); i++) {
      either_delta(r, json_array_get(list, i), &s, c, one);
      arb_max(delta, delta, one, BITS);
    }
  } else if (!enough && mixes) amplified_delta(r, list, &s, repeats, c, delta);
  arb_clear(one);
}

static void gaussian_local(reader *r, const json_t *grounds, const claim *c, arb_t delta) {
  const json_t *list = read_list(r, grounds, "classes", CLASSES_MAX);
  const shape s = read_shape(r, grounds);
  const double repeats = read_repeats(r, grounds);
  if (read_ok(r)) plain_delta(r, list, &s, repeats, c, delta);
}

/* The tree. */

/* Nodes of 1, 2, 4, ... releases as long as one fits; on each level the squares of how often a user
 * is in a node add up to at most M0 min(2^l, M0). */
static double tree_load(double releases, double repeats, double *levels) {
  double load = 0;
  *levels = 0;
  for (double size = 1; size <= releases; size *= 2, ++*levels) load += repeats * fmin(size, repeats);
  return load;
}

static void tree_square(reader *r, const json_t *grounds, arb_t square, arb_t variance, double *draws) {
  const shape s = read_shape(r, grounds);
  const double repeats = read_repeats(r, grounds);
  const double releases = read_whole(r, grounds, "releases", 1, 0x1p40);
  double levels = 0;
  const double load = tree_load(releases, repeats, &levels);
  if (read_ok(r)) gaussian_class(r, grounds, &s, load, square, variance);
  *draws = levels * repeats * shape_length(&s);
}

static void tree_dominate(reader *r, const json_t *grounds, double delta, curve *c) {
  double draws = 0;
  arb_t variance;
  arb_init(variance);
  (void)delta;
  tree_square(r, grounds, c->square, variance, &draws);
  if (!arb_is_zero(variance)) r->unknown = "noise in whole numbers is not composed with other noise";
  arb_clear(variance);
}

static void tree_delta(reader *r, const json_t *grounds, const claim *c, arb_t delta) {
  double draws = 0;
  arb_t square, variance;
  arb_init(square), arb_init(variance);
  tree_square(r, grounds, square, variance, &draws);
  if (read_ok(r)) noise_delta(r, delta, square, variance, draws, c->epsilon);
  arb_clear(square), arb_clear(variance);
}

/* Factored sums. L has ones on its diagonal and L_k = sum_j w_j x_j^k below; the sensitivity is the
 * norm of r with L r = (1, 2, ..., M0, M0, ...). An approximate r~ is made in doubles. With the
 * residual e = L r~ - (1, 2, ...), computed in balls, r = r~ - L^-1 e, and as the coefficients of
 * L^-1 are 1 and then numbers that are not positive and add up to at least -1 (Kaluza 1928, where
 * w_j > 0, 0 < x_j < 1 and sum w_j <= 1), |L^-1 e| <= 2 |e|. */
typedef struct filter {
  double weight[TERMS_MAX], base[TERMS_MAX];
  double state[TERMS_MAX];     /* of r~, approximate */
  arb_struct exact[TERMS_MAX]; /* of r~, enclosed */
} filter;

/* Adds the squares of r~_t and e_t. */
static void filter_step(filter *f, double input, arb_t norm, arb_t error) {
  double past = 0;
  arb_t e, t, u;
  arb_init(e), arb_init(t), arb_init(u);
  arb_set_d(e, -input);
  for (size_t j = 0; j < TERMS_MAX; j++) {
    past += f->weight[j] * f->base[j] * f->state[j];
    arb_set_d(t, f->base[j]);
    arb_mul(&f->exact[j], &f->exact[j], t, BITS); /* x_j times the state before */
    arb_set_d(t, f->weight[j]);
    arb_addmul(e, &f->exact[j], t, BITS);
  }
  const double value = input - past;
  arb_set_d(u, value);
  arb_add(e, e, u, BITS);
  for (size_t j = 0; j < TERMS_MAX; j++) {
    f->state[j] = f->base[j] * f->state[j] + value;
    arb_add(&f->exact[j], &f->exact[j], u, BITS);
  }
  arb_addmul(norm, u, u, BITS);
  arb_addmul(error, e, e, BITS);
  arb_clear(e), arb_clear(t), arb_clear(u);
}

static bool filter_falls(const filter *f) {
  arb_t sum, t;
  arb_init(sum), arb_init(t);
  for (size_t j = 0; j < TERMS_MAX; j++) {
    arb_set_d(t, f->weight[j]);
    arb_add(sum, sum, t, BITS);
  }
  const bool falls = ball_at_most(sum, 1);
  arb_clear(sum), arb_clear(t);
  return falls;
}

/* The squared norm of r. */
static void column_norm(filter *f, double releases, double repeats, arb_t norm) {
  arb_t error;
  arb_init(error);
  for (size_t j = 0; j < TERMS_MAX; j++) arb_init(&f->exact[j]);
  arb_zero(norm);
  for (double k = 0; k < releases; k++) filter_step(f, fmin(k + 1, repeats), norm, error);
  arb_sqrt(norm, norm, BITS);
  arb_sqrt(error, error, BITS);
  arb_mul_2exp_si(error, error, 1);
  arb_add_error(norm, error);
  arb_mul(norm, norm, norm, BITS);
  for (size_t j = 0; j < TERMS_MAX; j++) arb_clear(&f->exact[j]);
  arb_clear(error);
}

static void factored_dominate(reader *r, const json_t *grounds, double delta, curve *c) {
  filter f = {.weight = {0}};
  arb_t norm, variance;
  const shape s = read_shape(r, grounds);
  const double repeats = read_repeats(r, grounds);
  const double releases = read_whole(r, grounds, "releases", 1, 1e8);
  (void)delta;
  read_numbers(r, grounds, "weight", TERMS_MAX, 1e-300, 1, f.weight);
  read_numbers(r, grounds, "base", TERMS_MAX, 1e-300, 1 - 0x1p-53, f.base);
  if (releases > RELEASES_MAX) r->unknown = "more than 10^6 releases";
  if (read_ok(r) && !filter_falls(&f))
    r->unknown = "the weights add up to more than 1, so Kaluza's theorem says nothing";
  if (!read_ok(r)) return;
  arb_init(norm), arb_init(variance);
  column_norm(&f, releases, repeats, norm);
  gaussian_class(r, grounds, &s, 1, c->square, variance);
  arb_mul(c->square, c->square, norm, BITS);
  arb_clear(norm), arb_clear(variance);
}

/* Laplace noise: (L1 sensitivity / b, 0)-private in every message or batch. */
static void read_laplace(reader *r, const json_t *noise, const shape *s, local *l) {
  const shape any = shape_of_any_users(s);
  arb_t scale;
  arb_init(scale);
  arb_set_d(scale, read_number(r, noise, "scale", 1e-300, 1e300));
  l->mixed = json_object_get(noise, "mixed") ? read_whole(r, noise, "mixed", 1, 1e12) : 1;
  shape_absolute(r, l->epsilon0, l->mixed > 1 ? &any : s);
  arb_div(l->epsilon0, l->epsilon0, scale, BITS);
  arb_clear(scale);
}

static void laplaces(reader *r, const json_t *grounds, const claim *c, mixing_rule *rule, arb_t delta) {
  const json_t *list = read_list(r, grounds, "classes", CLASSES_MAX);
  const shape s = read_shape(r, grounds);
  const double repeats = read_repeats(r, grounds);
  local *l = locals_create(r, list);
  for (size_t i = 0; l && read_ok(r) && i < json_array_size(list); i++)
    read_laplace(r, json_array_get(list, i), &s, &l[i]);
  if (l && read_ok(r)) rule(r, delta, l, json_array_size(list), repeats, c);
  locals_destroy(l, list);
}

static void laplace_delta(reader *r, const json_t *grounds, const claim *c, arb_t delta) {
  laplaces(r, grounds, c, mixing_compose, delta);
}

static void laplace_local(reader *r, const json_t *grounds, const claim *c, arb_t delta) {
  laplaces(r, grounds, c, mixing_alone, delta);
}

const ground_kind ground_gaussian = {"gaussian", gaussian_dominate, gaussian_delta, gaussian_local};
const ground_kind ground_tree = {"tree", tree_dominate, tree_delta, NULL};
const ground_kind ground_factored = {"factored", factored_dominate, NULL, NULL};
const ground_kind ground_laplace = {"laplace", NULL, laplace_delta, laplace_local};
