/* weights: contributions that are weighed move by no more than they say, sums come back in original
 * units, and the noise of every batch is enough by itself, whatever its size. Bit sums are
 * accounted for by enumeration, without the accountant. */
#include <math.h>
#include <string.h>

#include "release/bits.h"
#include "release/grid.h"
#include "release/real.h"
#include "release/shares.h"
#include "support/support.h"

enum { D = 2, LENGTH = 5 };

/* ---- contributions */

static const struct bounds {
  double norm, low, high;
} bounds[] = {{1, 0, 1}, {1, -0.5, 0.5}, {2, -1, 0.3}, {0.5, -0.2, 3}, {3, 0.1, 0.2}};
enum { BOUNDS = sizeof bounds / sizeof *bounds };

static faro_contribution weighed(const struct bounds *b, size_t dimension, bool gram) {
  faro_contribution c;
  if (gram) assert_ok(faro_contribution_gram(&c, dimension, b->norm, error));
  else assert_ok(faro_contribution_init(&c, dimension, b->norm, b->low, b->high, error));
  return faro_contribution_weigh(&c);
}

static double distance(const double *a, const double *b, size_t length) {
  double square = 0;
  for (size_t i = 0; i < length; i++) square += (a[i] - b[i]) * (a[i] - b[i]);
  return sqrt(square);
}

/* All z of a grid: lengths up to the norm and beyond it, all directions in steps of three degrees,
 * rewards between and outside the ends. */
enum { TURNS = 120, LENGTHS = 4, REWARDS = 5, POINTS = TURNS * LENGTHS * REWARDS };

static void make_points(const faro_contribution *c, const struct bounds *b, double z[POINTS][LENGTH]) {
  const double length[LENGTHS] = {0.4, 0.8, 1, 50};
  const double share[REWARDS] = {0, 0.3, 0.7, 1, 9};
  size_t n = 0;
  for (int turn = 0; turn < TURNS; turn++)
    for (int l = 0; l < LENGTHS; l++)
      for (int r = 0; r < REWARDS; r++) {
        const double angle = 2 * acos(-1) * turn / TURNS;
        const double x[D] = {length[l] * b->norm * cos(angle), length[l] * b->norm * sin(angle)};
        faro_contribution_make(c, x, b->low + share[r] * (b->high - b->low), z[n++]);
      }
}

/* No pair is further apart than the sensitivity, no z longer than the radius, no entry greater than
 * `entry`; and the grid comes within one per cent of each. Broken once: sqrt(2) on the diagonal too
 * (sensitivity); rewards in units of the interval's width (radius). */
static void test_weigh__no_pair_moves_by_more_and_some_by_as_much(void **state) {
  (void)state;
  static double z[POINTS][LENGTH];
  const double nowhere[LENGTH] = {0};
  for (int b = 0; b < BOUNDS; b++)
    for (int gram = 0; gram < 2; gram++) {
      const faro_contribution c = weighed(&bounds[b], D, gram);
      double farthest = 0;
      double longest = 0;
      double greatest = 0;
      make_points(&c, &bounds[b], z);
      for (int i = 0; i < POINTS; i++) {
        longest = fmax(longest, distance(z[i], nowhere, c.length));
        for (size_t k = 0; k < c.length; k++) greatest = fmax(greatest, fabs(z[i][k]));
        for (int j = 0; j < i; j++) farthest = fmax(farthest, distance(z[i], z[j], c.length));
      }
      assert_true(farthest <= c.sensitivity && farthest > 0.99 * c.sensitivity);
      assert_true(longest <= c.radius * (1 + 1e-12) && longest > 0.99 * c.radius);
      assert_true(greatest <= c.entry * (1 + 1e-12) && greatest > 0.99 * c.entry);
    }
}

/* In three dimensions, by chance; users who replace someone else with nonsense are clipped too. */
static void test_weigh__no_pair_moves_by_more_in_three_dimensions(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 41, 0, FARO_ROLE_USER);
  const faro_contribution c = weighed(&bounds[1], 3, false);
  double farthest = 0;
  for (int n = 0; n < 300000; n++) {
    double z[2][9];
    for (int side = 0; side < 2; side++) {
      double x[3];
      for (int i = 0; i < 3; i++) x[i] = faro_sim_normal(&sim);
      if (n % 1000 == 0) x[side] = (double)(side ? NAN : INFINITY);
      faro_contribution_make(&c, x, n % 7 == 0 ? (double)NAN : faro_sim_normal(&sim), z[side]);
    }
    farthest = fmax(farthest, distance(z[0], z[1], c.length));
  }
  assert_true(farthest <= c.sensitivity && farthest > 0.99 * c.sensitivity);
}

/* The weights are worth something: the noise of an entry off the diagonal falls by sqrt(2), that of
 * rewards becomes proportional to them, and nothing on the diagonal gets worse. */
static void test_weigh__costs_nothing_on_the_diagonal(void **state) {
  (void)state;
  for (int b = 0; b < BOUNDS; b++) {
    faro_contribution plain;
    assert_ok(faro_contribution_init(&plain, D, bounds[b].norm, bounds[b].low, bounds[b].high, error));
    const faro_contribution c = faro_contribution_weigh(&plain);
    const double h = fmax(fabs(bounds[b].low), fabs(bounds[b].high));
    assert_close(c.off, sqrt(2) * c.on, 1e-12 * c.off);
    assert_close(c.on * bounds[b].norm * bounds[b].norm, 1, 1e-12);
    assert_close(c.vector * bounds[b].norm * h, 1, 1e-12);
    assert_true(c.sensitivity <= 3 / sqrt(2) * (1 + 1e-9));
    if (bounds[b].norm == 1 && h == 1) assert_close(c.sensitivity, plain.sensitivity, 1e-9);
  }
}

/* ---- sums come back in original units */

/* Without noise the published sums, and each batch by itself, are those of vech(x x') and x y. */
static void test_sums__come_back_in_original_units(void **state) {
  (void)state;
  const char *const kinds[] = {"central", "central-tree", "central-factored", "local-gaussian",
                               "shuffle-gaussian"};
  const struct bounds b = {.norm = 2, .low = -0.25, .high = 0.75};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    const faro_release_params p = {.epsilon = 1,
                                   .delta = 1e-3,
                                   .horizon = 100,
                                   .batch = 5,
                                   .growth = 1.5,
                                   .calibration = FARO_CALIBRATION_TIGHT};
    faro_contribution c;
    faro_release *r = NULL;
    faro_sim_rng sim;
    faro_sim_open(&sim, 42, k, FARO_ROLE_USER);
    assert_ok(faro_contribution_init(&c, D, b.norm, b.low, b.high, error));
    assert_ok(faro_release_create(&r, faro_release_kind_find(kinds[k]), &c, &p, faro_source_simulated(&sim),
                                  error));
    for (size_t i = 0; i < LENGTH; i++) r->unit[i] = 0; /* only a test may do this */
    double all[LENGTH] = {0};
    double batch[LENGTH] = {0};
    uint64_t users = 0;
    while (!faro_release_spent(r)) {
      const double x[D] = {faro_sim_uniform(&sim), -faro_sim_uniform(&sim)};
      const double y = faro_sim_uniform(&sim) - 0.25;
      const double z[LENGTH] = {x[0] * x[0], x[1] * x[0], x[1] * x[1], x[0] * y, x[1] * y};
      for (size_t i = 0; i < LENGTH; i++) {
        all[i] += z[i];
        batch[i] += z[i];
      }
      users++;
      if (!faro_release_absorb(r, x, y)) continue;
      const faro_statistics s = faro_release_statistics(r);
      for (size_t i = 0; i < LENGTH; i++) assert_close(s.sum[i], all[i], 1e-9);
      assert_int_equal(s.block != NULL, faro_release_kind_of(r)->blocks);
      for (size_t i = 0; s.block && i < LENGTH; i++) assert_close(s.block[i], batch[i], 1e-9);
      if (s.block) assert_int_equal(s.block_users, users);
      memset(batch, 0, sizeof batch);
      users = 0;
    }
    faro_release_destroy(r);
  }
}

/* ---- privacy of sums of bits, by enumeration */

/* One count: its noise and where it is for two neighbours, in steps; the fraction is rounded at
 * random. */
typedef struct count {
  uint64_t noise;
  double at[2];
} count;

static double binomial(uint64_t n, int64_t k) {
  if (k < 0 || k > (int64_t)n) return 0;
  const double m = (double)n;
  const double j = (double)k;
  return exp(lgamma(m + 1) - lgamma(j + 1) - lgamma(m - j + 1) - m * log(2));
}

static double probability(const count *c, int side, int64_t ones) {
  const int64_t whole = (int64_t)floor(c->at[side]);
  const double fraction = c->at[side] - (double)whole;
  return (1 - fraction) * binomial(c->noise, ones - whole) + fraction * binomial(c->noise, ones - whole - 1);
}

/* The range of ones that matters. */
static void span_of(const count *c, int64_t *from, int64_t *to) {
  const double sd = sqrt((double)c->noise) / 2;
  const double middle = (double)c->noise / 2;
  *from = (int64_t)fmax(0, floor(fmin(c->at[0], c->at[1]) + middle - 9 * sd - 2));
  *to = (int64_t)ceil(fmax(c->at[0], c->at[1]) + middle + 9 * sd + 2);
}

/* Probabilities of one count for both neighbours. */
enum { SPAN = 6000 };

typedef struct table {
  size_t count;
  double p[2][SPAN];
} table;

static void tabulate(const count *c, table *t) {
  int64_t from = 0;
  int64_t to = 0;
  span_of(c, &from, &to);
  t->count = (size_t)(to - from) + 1;
  assert_true(t->count <= SPAN);
  for (size_t i = 0; i < t->count; i++)
    for (int side = 0; side < 2; side++) t->p[side][i] = probability(c, side, from + (int64_t)i);
}

/* delta of two counts, exactly. */
static double exact_delta(const count c[2], double epsilon) {
  static table t[2];
  double delta = 0;
  for (int i = 0; i < 2; i++) tabulate(&c[i], &t[i]);
  for (size_t a = 0; a < t[0].count; a++) {
    const double p = t[0].p[0][a];
    const double q = exp(epsilon) * t[0].p[1][a];
    for (size_t b = 0; b < t[1].count; b++) delta += fmax(0, p * t[1].p[0][b] - q * t[1].p[1][b]);
  }
  return delta;
}

/* delta of any number of counts: the distribution of the privacy loss, on a grid of losses. Losses
 * are rounded to the nearest point, so the result is right to about a per mille. */
static const double WIDTH = 1e-3;
enum { CELLS = 60000 };

typedef struct losses {
  double p[CELLS]; /* loss WIDTH (i - CELLS / 2) */
  int from, to;    /* all others are zero */
  double beyond;   /* outcomes that are impossible for the neighbour */
} losses;

static void add_count(losses *l, const count *c) {
  static losses next;
  static table t;
  tabulate(c, &t);
  next = (losses){.from = CELLS, .beyond = l->beyond};
  for (size_t ones = 0; ones < t.count; ones++) {
    const double p = t.p[0][ones];
    const double q = t.p[1][ones];
    if (p < 1e-16) continue;
    if (q == 0) next.beyond += p;
    if (q == 0) continue;
    const int shift = (int)lround(log(p / q) / WIDTH);
    const int first = l->from + shift;
    const int last = l->to + shift;
    assert_true(first >= 0 && last < CELLS);
    for (int i = first; i <= last; i++) next.p[i] += p * l->p[i - shift];
    if (first < next.from) next.from = first;
    if (last > next.to) next.to = last;
  }
  while (next.p[next.from] < 1e-18) next.p[next.from++] = 0;
  while (next.p[next.to] < 1e-18) next.p[next.to--] = 0;
  *l = next;
}

static double sum_delta(const count *c, size_t counts, double epsilon) {
  static losses l;
  l = (losses){.from = CELLS / 2, .to = CELLS / 2};
  l.p[CELLS / 2] = 1;
  for (size_t i = 0; i < counts; i++) add_count(&l, &c[i]);
  double delta = l.beyond;
  for (int i = l.from; i <= l.to; i++) {
    const double loss = WIDTH * (i - CELLS / 2);
    if (loss > epsilon) delta += l.p[i] * -expm1(epsilon - loss);
  }
  return delta;
}

static faro_release *make_bits(const char *name, const faro_contribution *c, faro_release_params p) {
  faro_release *r = NULL;
  p.calibration = FARO_CALIBRATION_TIGHT;
  assert_ok(faro_release_create(&r, faro_release_kind_find(name), c, &p, faro_source_none(), error));
  return r;
}

/* The counts of a node with this noise, for two neighbours. */
static void place(const faro_release *r, uint64_t noise, const double *z, const double *v, count *to) {
  const faro_bits *s = faro_bits_in(r);
  for (size_t i = 0; i < r->contribution.length; i++)
    to[i] = (count){.noise = noise, .at = {(z[i] + s->entry) / s->step, (v[i] + s->entry) / s->step}};
}

/* x and y in one dimension: z has two entries, so that everything can be enumerated. */
static void test_bits__enumeration_keeps_the_claim(void **state) {
  (void)state;
  check_test();
  const double x[] = {-1, -0.6, 0.3, 1};
  const double y[] = {0, 1};
  for (double epsilon = 0.5; epsilon < 5; epsilon *= 3)
    for (uint64_t grid = 2; grid <= 18; grid *= 3) {
      faro_contribution c;
      assert_ok(faro_contribution_init(&c, 1, 1, 0, 1, error));
      const faro_release_params p = {
          .epsilon = epsilon, .delta = 1e-3, .horizon = 40, .batch = 4, .grid = grid};
      faro_release *r = make_bits("shuffle-bits", &c, p);
      double worst = 0;
      for (int i = 0; i < 8 * 8; i++) {
        double z[2][2];
        count pair[2];
        faro_contribution_make(&r->contribution, &x[i % 4], y[i / 4 % 2], z[0]);
        faro_contribution_make(&r->contribution, &x[i / 8 % 4], y[i / 32], z[1]);
        place(r, faro_bits_in(r)->level[0].noise->noise, z[0], z[1], pair);
        const double delta = exact_delta(pair, epsilon);
        if (i % 5 == 1) /* for the tests below */
          assert_close(sum_delta(pair, 2, epsilon), delta, 0.01 * delta + 1e-9);
        worst = fmax(worst, delta);
      }
      print_message("  epsilon %g, %d steps: delta %.3g of 0.001\n", epsilon, (int)grid, worst);
      assert_true(worst <= p.delta);
      faro_release_destroy(r);
    }
}

/* Two neighbours as far apart as the sensitivity says. */
static void farthest_pair(const faro_contribution *c, double z[2][LENGTH]) {
  const double half = acos(-0.5) / 2; /* <x, v> = -y w / 2 */
  const double x[2][D] = {{cos(half), sin(half)}, {cos(half), -sin(half)}};
  for (int side = 0; side < 2; side++) faro_contribution_make(c, x[side], 1, z[side]);
  assert_close(distance(z[0], z[1], LENGTH), c->sensitivity, 1e-9);
}

static faro_release_params growing(uint64_t contributions, uint64_t grid) {
  return (faro_release_params){.epsilon = 1,
                               .delta = 1e-3,
                               .horizon = 60,
                               .batch = 4,
                               .growth = 2,
                               .level = FARO_LEVEL_USER,
                               .contributions = contributions,
                               .grid = grid};
}

/* The noise that protects a user of a class: the batch's, or the user's own. */
static uint64_t noise_for(const faro_release *r, size_t c) {
  const faro_bits_noise *noise = faro_bits_in(r)->level[0].noise;
  return r->kind->trust == FARO_TRUST_LOCAL ? noise[c].bits : noise[c].noise;
}

/* Users who come once: every class of batches keeps the claim by itself. Users who come M0 times:
 * whichever M0 classes they are in. Broken once: the noise per user of the largest batch for all
 * classes (caught at the smallest). */
static void check_growing_bits(const char *name, uint64_t contributions, uint64_t grid) {
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  faro_release *r = make_bits(name, &c, growing(contributions, grid));
  const size_t classes = r->schedule.classes;
  double z[2][LENGTH];
  double worst = 0;
  assert_int_equal(classes, 3); /* 4, 4, 8, 16 */
  farthest_pair(&r->contribution, z);
  size_t combinations = 1;
  for (uint64_t i = 0; i < contributions; i++) combinations *= classes;
  for (size_t n = 0; n < combinations; n++) {
    count all[3 * LENGTH];
    size_t rest = n;
    bool sorted = true; /* their order does not matter */
    for (uint64_t i = 0; i < contributions; i++, rest /= classes) {
      place(r, noise_for(r, rest % classes), z[0], z[1], all + i * LENGTH);
      sorted = sorted && (i + 1 == contributions || rest % classes <= rest / classes % classes);
    }
    if (!sorted) continue;
    const double delta = sum_delta(all, contributions * LENGTH, 1);
    assert_true(delta <= 1e-3 * 1.002); /* the grid of losses */
    worst = fmax(worst, delta);
  }
  print_message("  %s, %llu times: delta %.3g of 0.001\n", name, (unsigned long long)contributions, worst);
  if (grid > 20) assert_true(worst > 0.5e-3); /* a coarse grid wastes most of it */
  faro_release_destroy(r);
}

static void test_growing__every_choice_of_batches_keeps_the_claim(void **state) {
  (void)state;
  const char *const kinds[] = {"shuffle-bits", "local-bits"};
  for (int k = 0; k < 2; k++) {
    check_growing_bits(kinds[k], 1, 30);
    check_growing_bits(kinds[k], 2, 12);
    check_growing_bits(kinds[k], 3, 6);
  }
}

/* A trusted server's tree of batches that grow: one node on each level has the user. */
static void test_growing__all_levels_together_keep_the_claim(void **state) {
  (void)state;
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  faro_release *r = make_bits("central-bits", &c, growing(1, 12));
  const faro_bits *s = faro_bits_in(r);
  count all[8 * LENGTH];
  double z[2][LENGTH];
  farthest_pair(&r->contribution, z);
  assert_true(s->levels > 1 && s->levels <= 8);
  for (size_t i = 0; i < s->levels; i++) place(r, s->level[i].noise->noise, z[0], z[1], all + i * LENGTH);
  const double delta = sum_delta(all, s->levels * LENGTH, 1);
  print_message("  %zu levels: delta %.3g of 0.001\n", s->levels, delta);
  assert_true(delta <= 1e-3 && delta > 1e-4);
  faro_release_destroy(r);
}

/* A node's noise is that of all its users: bits per user times users, and enough in every class. */
static void test_growing__bits_fall_as_batches_grow(void **state) {
  (void)state;
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  faro_release_params p = growing(1, 0);
  p.horizon = 100000;
  p.batch = 20;
  faro_release *r = make_bits("shuffle-bits", &c, p);
  const faro_bits_noise *noise = faro_bits_in(r)->level[0].noise;
  for (size_t k = 0; k < r->schedule.classes; k++) {
    assert_int_equal(noise[k].noise, noise[k].bits * r->schedule.size[k]);
    if (k == 0) continue;
    assert_true(r->schedule.size[k] > r->schedule.size[k - 1] && noise[k].bits < noise[k - 1].bits);
    assert_true(noise[k].noise < 1.1 * (double)noise[0].noise); /* as much noise in each batch */
  }
  faro_release_destroy(r);
}

/* ---- privacy of amplified Gaussian and Laplace noise, per class */

static faro_release *make_growing(const char *name, uint64_t contributions) {
  const faro_release_params p = {.epsilon = 1,
                                 .delta = 1e-4,
                                 .horizon = 60000,
                                 .batch = 30,
                                 .growth = 2,
                                 .largest = 20000,
                                 .level = FARO_LEVEL_USER,
                                 .contributions = contributions,
                                 .calibration = FARO_CALIBRATION_TIGHT};
  faro_contribution c;
  faro_release *r = NULL;
  assert_ok(faro_contribution_init(&c, D, 1, 0, 1, error));
  assert_ok(faro_release_create(&r, faro_release_kind_find(name), &c, &p, faro_source_none(), error));
  return r;
}

/* What one message spends by itself is within (epsilon0, delta0) for some delta0, and shuffled with
 * the others of its batch within the share of a batch. */
static bool amplified_holds(double mu, double users, faro_budget each) {
  for (double delta0 = each.delta / users; delta0 > each.delta / (1e6 * users); delta0 /= 2) {
    const double epsilon0 = faro_gaussian_epsilon(mu, delta0);
    if (faro_shuffle_epsilon(epsilon0, delta0, users, each.delta) <= each.epsilon * (1 + 1e-6)) return true;
  }
  return false;
}

/* Gaussian: M0 batches compose by shares of the budget, or mu^2 adds up. One rule for all batches
 * of a user: half a budget by each would not compose. Broken once: the lesser noise of both rules
 * for users who return; the noise of the largest batch for all. */
static void test_growing__amplified_gaussians_keep_the_claim(void **state) {
  (void)state;
  check_test();
  for (uint64_t contributions = 1; contributions <= 5; contributions += 2) {
    faro_release *r = make_growing("shuffle-gaussian", contributions);
    const faro_budget each = faro_composed_share(r);
    bool all_plain = true;
    bool all_amplified = true;
    for (size_t k = 0; k < r->schedule.classes; k++) {
      const double mu = r->contribution.sensitivity / (r->factor[k] * r->unit[0]);
      const double rounds = (double)contributions;
      const bool plain = faro_gaussian_delta(sqrt(rounds) * mu, 1) <= 1e-4 * (1 + 1e-9);
      const bool amplified = amplified_holds(mu, (double)r->schedule.size[k], each);
      assert_true(plain || amplified);
      all_plain = all_plain && plain;
      all_amplified = all_amplified && amplified;
    }
    assert_true(contributions == 1 || all_plain || all_amplified);
    faro_release_destroy(r);
  }
}

static void test_growing__amplified_laplace_keeps_the_claim(void **state) {
  (void)state;
  for (uint64_t contributions = 1; contributions <= 5; contributions += 2) {
    faro_release *r = make_growing("shuffle-laplace", contributions);
    const faro_budget each = faro_composed_share(r);
    bool all_plain = true;
    bool all_amplified = true;
    for (size_t k = 0; k < r->schedule.classes; k++) {
      const double epsilon0 = r->contribution.absolute / (r->factor[k] * r->laplace);
      const double users = (double)r->schedule.size[k];
      const bool plain = epsilon0 * (double)contributions <= 1 + 1e-9;
      const bool amplified =
          faro_shuffle_epsilon(epsilon0, 0, users, each.delta) <= each.epsilon * (1 + 1e-6);
      assert_true(plain || amplified);
      all_plain = all_plain && plain;
      all_amplified = all_amplified && amplified;
    }
    assert_true(contributions == 1 || all_plain || all_amplified);
    faro_release_destroy(r);
  }
}

/* Where noise does not depend on the batch, it is the Gaussian mechanism's, and M0 batches of a
 * user are one with sqrt(M0) times its mu. */
static void test_growing__plain_gaussians_keep_the_claim(void **state) {
  (void)state;
  const char *const kinds[] = {"central", "local-gaussian"};
  for (int k = 0; k < 2; k++)
    for (uint64_t contributions = 1; contributions <= 5; contributions += 2) {
      faro_release *r = make_growing(kinds[k], contributions);
      assert_null(r->factor);
      for (size_t i = 0; i < LENGTH; i++) assert_true(r->unit[i] == r->unit[0]);
      const double mu = sqrt((double)contributions) * r->contribution.sensitivity / r->unit[0];
      assert_close(faro_gaussian_delta(mu, 1), 1e-4, 1e-9);
      faro_release_destroy(r);
    }
}

/* Noise on a grid: the variance of every class covers what its users are told to add. */
static void test_growing__grids_cover_every_class(void **state) {
  (void)state;
  faro_release *r = make_growing("shuffle-gaussian", 1);
  const faro_grid *g = faro_grid_in(r);
  for (size_t k = 0; k < r->schedule.classes; k++)
    for (size_t i = 0; i < LENGTH; i++) {
      const double sd = g->unit * sqrt((double)g->variance[k * LENGTH + i]);
      assert_true(sd >= r->factor[k] * r->unit[i] * g->spread && sd <= r->factor[k] * r->unit[i] * 1.001);
    }
  faro_release_destroy(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_weigh__no_pair_moves_by_more_and_some_by_as_much),
      cmocka_unit_test(test_weigh__no_pair_moves_by_more_in_three_dimensions),
      cmocka_unit_test(test_weigh__costs_nothing_on_the_diagonal),
      cmocka_unit_test(test_sums__come_back_in_original_units),
      cmocka_unit_test(test_bits__enumeration_keeps_the_claim),
      cmocka_unit_test(test_growing__every_choice_of_batches_keeps_the_claim),
      cmocka_unit_test(test_growing__all_levels_together_keep_the_claim),
      cmocka_unit_test(test_growing__bits_fall_as_batches_grow),
      cmocka_unit_test(test_growing__amplified_gaussians_keep_the_claim),
      cmocka_unit_test(test_growing__amplified_laplace_keeps_the_claim),
      cmocka_unit_test(test_growing__plain_gaussians_keep_the_claim),
      cmocka_unit_test(test_growing__grids_cover_every_class),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
