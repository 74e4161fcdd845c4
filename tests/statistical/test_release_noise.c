/* release noise: it is unbiased, has the variance of its formula, is the same by messages as by
 * whole batches, and for bit sums the same as a protocol that handles every bit. False-alarm rate
 * of each check: 1e-6. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "privacy/continual.h"
#include "release/bits.h"
#include "release/real.h"
#include "release/answer.h"
#include "release/response.h"
#include "release/shares.h"
#include "release/shuffler.h"
#include "support/support.h"

enum { D = 2, GRAM = 3, LENGTH = 5, BATCH = 6, BATCHES = 7 };

/* One batch of users with fixed data, the same for every repetition. */
static double users[BATCH][LENGTH]; /* their contributions */
static double feature[BATCH][LENGTH], reward[BATCH];

/* The contributions: moments of D features, or the LENGTH numbers themselves. */
static bool values;
static faro_contribution shape;

static void set_shape(bool plain) {
  values = plain;
  if (plain) assert_ok(faro_contribution_values(&shape, LENGTH, false, error));
  else assert_ok(faro_contribution_init(&shape, D, 1, 0, 1, error));
  for (int u = 0; u < BATCH; u++) faro_contribution_make(&shape, feature[u], reward[u], users[u]);
}

static int draw_users(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 3, 0, FARO_ROLE_CONTEXT);
  for (int u = 0; u < BATCH; u++) {
    for (int i = 0; i < LENGTH; i++) feature[u][i] = faro_sim_uniform(&sim) - 0.5;
    reward[u] = faro_sim_uniform(&sim);
  }
  set_shape(false);
  return 0;
}

static uint64_t repeats = 1; /* M0: rounds per user that the noise is made for */

static faro_sim_rng stream;

static faro_release *make(const char *name, double epsilon, faro_calibration calibration) {
  faro_release *r = NULL;
  const faro_release_params p = {.epsilon = epsilon,
                                 .delta = 0.1,
                                 .horizon = BATCH * BATCHES,
                                 .batch = BATCH,
                                 .level = repeats > 1 ? FARO_LEVEL_USER : FARO_LEVEL_EVENT,
                                 .contributions = repeats,
                                 .calibration = calibration};
  assert_ok(faro_release_create(&r, faro_release_kind_find(name), &shape, &p, faro_source_simulated(&stream),
                                error));
  return r;
}

static void absorb_batch(faro_release *r) {
  for (int u = 0; u < BATCH; u++) (void)faro_release_absorb(r, feature[u], reward[u]);
}

/* With several shufflers: each counts separately, and its counts outlive the batch. */
static void concurrent_batch(faro_release *r) {
  enum { MOST = 8 };
  static uint64_t total[MOST][LENGTH];
  static uint64_t waits[MOST]; /* users to come; 0: not active */
  const size_t k = faro_release_shufflers(r);
  uint64_t message[MOST][LENGTH];
  size_t full = 0;
  assert_true(k <= MOST);
  for (size_t i = 0; i < k; i++) {
    faro_shuffler_task task;
    if (r->ledger.charged == 0) waits[i] = 0; /* left over from another release */
    if (!faro_release_task(r, i, &task)) continue;
    memset(total[i], 0, sizeof total[i]);
    waits[i] = task.size;
  }
  for (int u = 0; u < BATCH; u++) {
    assert_ok(faro_release_randomize(r, feature[u], reward[u], message, error));
    for (size_t i = 0; i < k; i++) {
      int64_t least = 0;
      int64_t most = 0;
      if (waits[i] == 0) continue;
      faro_release_range(r, i, &least, &most);
      for (int e = 0; e < LENGTH; e++)
        total[i][e] = faro_shuffler_count(total[i][e], message[i][e], (uint64_t)least, (uint64_t)most);
      if (--waits[i] == 0) full++;
    }
  }
  assert_int_equal(full, faro_release_expected(r));
  assert_ok(faro_release_analyze(r, total, full, error));
}

static void message_batch(faro_release *r) {
  if (faro_release_shufflers(r) > 1) {
    concurrent_batch(r);
    return;
  }
  uint64_t batch[BATCH * LENGTH];
  const size_t size = faro_release_message_size(r) / sizeof *batch;
  assert_true(size == LENGTH || r->kind->mechanism == &faro_mechanism_response);
  for (size_t u = 0; u < BATCH; u++)
    assert_ok(faro_release_randomize(r, feature[u], reward[u], batch + u * size, error));
  const size_t count = faro_release_mix(r, batch);
  assert_ok(faro_release_analyze(r, batch, count, error));
}

/* The largest mu of a Gaussian mechanism that is (epsilon, delta)-private, by bisection on the
 * textbook formula. */
static double naive_mu(double epsilon, double delta) {
  double low = 0.001;
  double high = 100;
  for (int i = 0; i < 100; i++) {
    const double mu = (low + high) / 2;
    const double got = normal_cdf(mu / 2 - epsilon / mu) - exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu);
    if (got <= delta) low = mu;
    else high = mu;
  }
  return low;
}

/* The sum of m batches on a tree with two nodes per parent: the nodes that m's digits stand for.
 * Each node has its own noise `raw`, and under `fuse` its estimate is combined with its
 * children's. */
static double tree_variance(const faro_bits *s, int m, bool fuse) {
  double node[8];
  double variance = 0;
  for (size_t i = 0; i < s->levels; i++) {
    const double raw = (double)s->level[i].noise->noise * (s->fair ? 0.25 : 3.0 / 16);
    node[i] = fuse && i > 0 ? 1 / (1 / raw + 1 / (2 * node[i - 1])) : raw;
  }
  for (size_t i = s->levels; i-- > 0; m %= 1 << i) variance += (m >> i) * node[i];
  return variance;
}

/* Rounding of the users' entries, weighed if the release weighs them, in steps. */
static double rounding_variance(const faro_bits *s, int m, int i) {
  double variance = 0;
  for (int u = 0; u < BATCH; u++) {
    double z[LENGTH];
    faro_contribution_make(&s->release.contribution, feature[u], reward[u], z);
    const double fraction = fmod((z[i] + shape.entry) / s->step, 1);
    variance += m * fraction * (1 - fraction);
  }
  return variance;
}

static bool is(const char *name, const char *other) { return strcmp(name, other) == 0; }

/* L2 sensitivity: sqrt(4.5) for features of norm 1 and rewards in [0, 1]; numbers in intervals of
 * width 1. */
static double sensitivity(void) { return values ? sqrt(LENGTH) : sqrt(4.5); }

/* The number of Laplace variables in the sum of m batches; 0: other noise. */
static double laplace_count(const char *name, int m) {
  if (is(name, "central-laplace")) return m;
  return is(name, "local-laplace") || is(name, "shuffle-laplace") ? m * BATCH : 0;
}

/* Scale L1 / epsilon, and a user's rounds add up. A batch of six is not amplified by the closed
 * form. By the accountant it is: with delta = 0.1 even one message may have a larger epsilon0. */
static double laplace_variance(const char *name, double epsilon, const faro_release *r, bool tight, int m) {
  double epsilon0 = epsilon / (double)repeats;
  const faro_budget each = faro_composed_share(r);
  if (tight && is(name, "shuffle-laplace"))
    epsilon0 = fmax(epsilon0, faro_shuffle_local_epsilon(each.epsilon, each.delta, BATCH, 0));
  const double b = sqrt(LENGTH) * sensitivity() / epsilon0;
  return laplace_count(name, m) * 2 * b * b;
}

/* Responses. With u = z / radius, the estimate of a user is C g for any code, and for a true one C
 * T along u, T one of the m greatest of k |N_i|. So its covariance is C^2 (I + gamma (E T^2 - 1) u
 * u') - z z'. */
static bool responds(const faro_release *r) { return r->kind->mechanism == &faro_mechanism_response; }

/* P(T > t): the mean over j <= m of P(at least j of k are above t). */
static double nearest_tail(double t, double k, double m) {
  const double above = erfc(t / sqrt(2));
  double sum = 0; /* E min(m, number above t) */
  for (double j = 1; j <= k; j++) {
    const double ways = exp(lgamma(k + 1) - lgamma(j + 1) - lgamma(k - j + 1));
    sum += fmin(j, m) * ways * pow(above, j) * pow(1 - above, k - j);
  }
  return sum / m;
}

static double response_covariance(const faro_release *r, double epsilon, int batches, int i, int j) {
  const double radius = values ? sqrt(LENGTH) / 2 : sqrt(2);
  const faro_budget each = faro_composed_share(r);
  const double k = (double)((r->range[0].most + 1) >> 46);
  const double m = 2 * k * faro_answer_share(r);
  const double epsilon0 =
      r->kind == &faro_release_shuffle_response
          ? faro_shuffle_response_local_epsilon(each.epsilon, each.delta, BATCH, faro_answer_share(r))
          : fmax(each.epsilon, epsilon / (double)repeats);
  const double gamma = m * expm1(epsilon0) / (m * expm1(epsilon0) + 2 * k);
  double mean = 0; /* of T, and of its square, by the midpoint rule */
  double square = 0;
  for (double t = 0.005; t < 12; t += 0.01) {
    mean += nearest_tail(t, k, m) * 0.01;
    square += 2 * t * nearest_tail(t, k, m) * 0.01;
  }
  const double C = radius / (mean * gamma);
  const double along = gamma * (square - 1) * C * C / (radius * radius);
  double sum = 0;
  for (int u = 0; u < BATCH; u++) {
    double z[LENGTH];
    faro_contribution_make(&r->contribution, feature[u], reward[u], z);
    sum += batches * ((i == j ? C * C : 0) + (along - 1) * z[i] * z[j]);
  }
  return sum;
}

/* Nodes of 1, 2 and 4 batches: their estimates, combined with those of their children, have
 * variances of 1, 2/3 and 4/7 of a node's noise. */
static double fused_tree(int m) { return (m & 1) + (m >> 1 & 1) * 2 / 3.0 + (m >> 2 & 1) * 4 / 7.0; }

/* Under `tight`, in weighed units. Gaussian noise is not amplified in a batch of six. */
static double tight_variance(double epsilon, const faro_release *r, int m, int i) {
  const faro_release_kind *kind = r->kind;
  const double sigma = sensitivity() / naive_mu(epsilon, 0.1);
  const double n = m * BATCH;
  const double m0 = (double)repeats;
  if (responds(r)) return response_covariance(r, epsilon, m, i, i);
  if (kind == &faro_release_central) return m * sigma * sigma * m0;
  if (kind->mechanism == &faro_mechanism_grid) return n * sigma * sigma * m0;
  if (kind == &faro_release_central_tree)
    return fused_tree(m) * m0 * (1 + fmin(2, m0) + fmin(4, m0)) * sigma * sigma;
  if (kind == &faro_release_central_factored) {
    double weight[FARO_FACTORED_TERMS];
    double base[FARO_FACTORED_TERMS];
    faro_factored_terms(BATCHES, weight, base);
    double square = 1;
    for (int k = 1; k < m; k++) {
      double f = 0;
      for (int j = 0; j < FARO_FACTORED_TERMS; j++) f += weight[j] * pow(base[j], k);
      square += f * f;
    }
    return square * pow(sigma * faro_factored_factors(BATCHES, repeats).sensitivity, 2);
  }
  const faro_bits *s = faro_bits_in(r);
  /* users who each add the noise that a node needs */
  const double whole = kind == &faro_release_local_bits ? BATCH : 1;
  for (size_t k = 0; k < s->levels;
       k++) { /* all levels together: mu^2 adds; a user is in a node of 2^k batches this often */
    const double node = (double)s->level[k].noise->noise / 4 * s->step * s->step / whole;
    const double needed = (double)s->levels * sigma * sigma * m0 * fmin(m0, 1 << k);
    assert_true(node >= needed && node < 1.1 * needed);
  }
  return (tree_variance(s, m, true) + rounding_variance(s, m, i)) * s->step * s->step;
}

/* Entries off the diagonal count sqrt(2) times, those on it and rewards in [0, 1] once. */
static double weight_of(const faro_release *r, int i) {
  return r->kind->weighs && !values && i == 1 ? sqrt(2) : 1;
}

/* The expected variance of a released sum of `m` batches in entry i, written down from the papers'
 * formulas. */
static double expected_variance(const char *name, double epsilon, faro_calibration calibration,
                                const faro_release *r, int m, int i) {
  const double m0 = (double)repeats;
  const bool tight = calibration == FARO_CALIBRATION_TIGHT;
  if (laplace_count(name, m) > 0) return laplace_variance(name, epsilon, r, tight, m);
  const bool shared = repeats > 1 && !is(name, "central-tree");
  if (shared && calibration == FARO_CALIBRATION_PAPER)
    epsilon /= 2 * sqrt(2 * m0 * log(2 / 0.1)); /* Chowdhury & Zhou 2022, Theorem E.2 */
  const double delta = shared ? 0.1 / (2 * m0) : 0.1;
  const bool figure = calibration == FARO_CALIBRATION_FIGURE;
  const bool diagonal = !values && (i == 0 || i == 2);
  const double n = m * BATCH;
  const double half = figure && i == 1 ? 0.5 : 1; /* symmetrised */
  if (strcmp(name, "none") == 0) return 0;
  if (tight) return tight_variance(epsilon, r, m, i) / pow(weight_of(r, i), 2);
  const double classical = pow(sensitivity() / epsilon, 2) * 2 * log(1.25 / delta);
  if (is(name, "central")) return m * classical;
  const bool local = is(name, "local") || is(name, "local-gaussian");
  if (local && values) return n * classical;
  if (local) return n * half * (figure ? log(2.5 / delta) : 32 * log(2.5 / delta)) / (epsilon * epsilon);
  if (is(name, "shuffle-amplified") || is(name, "shuffle-gaussian"))
    return n * half * (figure ? log(2.5 * BATCH / delta) : 32 * log(2.5 * BATCH / delta) * log(2 / delta)) /
           (epsilon * epsilon * BATCH);
  if (strcmp(name, "central-tree") == 0) {
    const double nodes = __builtin_popcount((unsigned)m);
    const double log_t = log(BATCH * BATCHES);
    const double levels = 4; /* 1 + ceil(log2 7) */
    if (figure) return nodes * half * log_t * pow(log(2.5 / delta) / epsilon, 2);
    const double square = values ? LENGTH / 4.0 + 0.25 : 2; /* L^2 + R^2 */
    return nodes * (diagonal ? 2 : 1) * 16 * levels * square * square * pow(log(4 / delta) / epsilon, 2) *
           m0 * m0;
  }
  const faro_bits *s = faro_bits_in(r);
  const double d = values ? LENGTH : D;
  if (strcmp(name, "concurrent-bits") == 0) { /* two levels, each with half of epsilon and delta */
    const double g = ceil(2 * sqrt(2 * BATCH));
    const double root = (values ? sqrt(LENGTH) : 1) * g * log(4 * (d * d + 1) * 2 / delta) / (epsilon / 2);
    assert_true(s->levels == 2 && s->step == 2 * shape.entry / g);
    for (int k = 0; k < 2; k++)
      assert_true((double)s->level[k].noise->bits == ceil(24e4 * root * root / (BATCH << k)));
    return (tree_variance(s, m, false) + rounding_variance(s, m, i)) * s->step * s->step;
  }
  if (values) { /* Li, Zhou & Ji 2022, Alg. 2: g = 10 for a batch of six; 5 steps make that 5 sqrt(5) */
    const double hat = epsilon / (18 * sqrt(log(2 / delta)));
    const double b = ceil(180 * 125 * log(4 * LENGTH / delta) / (hat * hat * BATCH));
    assert_true((double)s->level[0].noise->bits == b && s->step == 0.2 && s->fair);
    return (n * b / 4 + rounding_variance(s, m, i)) * s->step * s->step;
  }
  const double g = figure ? fmax(2 * sqrt(BATCH), 4) : ceil(fmax(2 * sqrt(BATCH), 4));
  const double step = figure ? 1 / g : 2 / g;
  const double root = g * log((figure ? D : 4 * (D * D + 1)) / delta) / epsilon;
  const double factor = repeats > 1 ? 1e7 / 8 : 24e4; /* Theorem E.5 rounds 8 x 24e4 up to 10^7 */
  const double b =
      figure ? round((epsilon < 0.5 ? 1 : 10) * root * root / BATCH) : ceil(factor * root * root / BATCH);
  assert_true((double)s->level[0].noise->bits == b && s->step == step);
  return (n * b * 3 / 16 + rounding_variance(s, m, i)) * step * step;
}

/* Sums over all runs, for every release and entry. */
typedef struct tally {
  double sum[BATCHES][LENGTH], square[BATCHES][LENGTH], block[BATCHES][LENGTH];
  double told[BATCHES][LENGTH]; /* the variance that statistics state */
  double cross;                 /* between entries 1 and 3 of the last sum */
} tally;

static double square_of(double x) { return x * x; }

static void add_release(tally *t, const faro_release *r, int m) {
  const faro_statistics s = faro_release_statistics(r);
  double noise[LENGTH];
  for (int i = 0; i < LENGTH; i++) {
    double exact = 0; /* one batch */
    for (int u = 0; u < BATCH; u++) exact += users[u][i];
    noise[i] = s.sum[i] - (m + 1) * exact;
    t->sum[m][i] += noise[i];
    t->square[m][i] += noise[i] * noise[i];
    if (s.block) t->block[m][i] += square_of(s.block[i] - exact);
    if (s.noise.scale) t->told[m][i] = square_of((s.noise.ratio > 0 ? s.noise.ratio : 1) * s.noise.scale[i]);
  }
  if (m == BATCHES - 1) t->cross += noise[1] * noise[3];
}

static void check_moments(const char *name, double epsilon, faro_calibration calibration,
                          void (*batch)(faro_release *), uint64_t seed) {
  enum { RUNS = 10000 };
  tally t = {0};
  faro_release *probe = make(name, epsilon, calibration);
  for (uint64_t run = 0; run < RUNS; run++) {
    faro_release *r = make(name, epsilon, calibration);
    faro_sim_open(&stream, seed, run, FARO_ROLE_USER);
    for (int m = 0; m < BATCHES; m++) {
      batch(r);
      add_release(&t, r, m);
    }
    faro_release_destroy(r);
  }
  for (int m = 0; m < BATCHES; m++)
    for (int i = 0; i < LENGTH; i++) {
      const double variance = expected_variance(name, epsilon, calibration, probe, m + 1, i);
      if (variance == 0) assert_true(t.square[m][i] < 1e-20);
      if (variance == 0) continue;
      const double one = expected_variance(name, epsilon, calibration, probe, 1, i);
      const double laplaces = laplace_count(name, m + 1);
      assert_mean(t.sum[m][i] / RUNS, 0, sqrt(variance), RUNS);
      assert_variance(t.square[m][i] / RUNS, variance, laplaces > 0 ? 3 + 3 / laplaces : 3, RUNS);
      if (probe->kind->blocks) /* each batch has noise of its own */
        assert_variance(t.block[m][i] / RUNS, one, laplaces > 0 ? 3 + 3 / laplace_count(name, 1) : 3, RUNS);
      const double most = square_of(faro_release_noise(probe).scale[i]);
      assert_true(variance <= most * (1 + 1e-9));
      assert_true(t.told[m][i] <= most * (1 + 1e-9));
      if (responds(probe)) assert_close(t.told[m][i] / variance, 1, 0.3); /* without what z takes away */
      else assert_true(t.told[m][i] >= variance * (1 - 1e-9) && t.told[m][i] < 1.4 * variance);
    }
  const double scale = sqrt(expected_variance(name, epsilon, calibration, probe, BATCHES, 1) *
                            expected_variance(name, epsilon, calibration, probe, BATCHES, 3));
  const double covariance =
      responds(probe) ? response_covariance(probe, epsilon, BATCHES, 1, 3) / weight_of(probe, 1) : 0;
  if (scale > 0) assert_mean(t.cross / RUNS, covariance, sqrt(scale * scale + covariance * covariance), RUNS);
  faro_release_destroy(probe);
}

static void test_all__unbiased_with_the_stated_variance(void **state) {
  (void)state;
  uint64_t seed = 100;
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (int c = 0; c < FARO_CALIBRATION_COUNT; c++) {
      const char *name = faro_release_kind_at(k)->name;
      if (!faro_release_kind_calibrates(faro_release_kind_at(k), (faro_calibration)c)) continue;
      check_moments(name, 1, (faro_calibration)c, absorb_batch, seed++);
      const bool many_bits = strstr(name, "-bits") && c == FARO_CALIBRATION_PAPER;
      if (!many_bits) check_moments(name, 2, (faro_calibration)c, message_batch, seed++);
    }
}

/* The same for plain numbers; the published figures are for moments. */
static void test_all__values_have_the_stated_variance(void **state) {
  (void)state;
  uint64_t seed = 130;
  set_shape(true);
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (int c = 0; c < FARO_CALIBRATION_COUNT; c++) {
      const char *name = faro_release_kind_at(k)->name;
      if (c == FARO_CALIBRATION_FIGURE || is(name, "none") ||
          !faro_release_kind_calibrates(faro_release_kind_at(k), (faro_calibration)c))
        continue;
      check_moments(name, 1, (faro_calibration)c, absorb_batch, seed++);
      if (!strstr(name, "-bits") && c == FARO_CALIBRATION_PAPER)
        check_moments(name, 2, (faro_calibration)c, message_batch, seed++);
    }
  set_shape(false);
}

/* The same for noise made for four rounds of a user, for which two papers have no theorem. */
static void test_all__returning_users_have_the_stated_variance(void **state) {
  (void)state;
  uint64_t seed = 150;
  repeats = 4;
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (int c = 0; c < FARO_CALIBRATION_COUNT; c++) {
      const char *name = faro_release_kind_at(k)->name;
      if (!faro_release_kind_calibrates(faro_release_kind_at(k), (faro_calibration)c)) continue;
      if (c == FARO_CALIBRATION_FIGURE ||
          (c == FARO_CALIBRATION_PAPER && (is(name, "concurrent-bits") || is(name, "shuffle-laplace"))))
        continue;
      check_moments(name, 1, (faro_calibration)c, absorb_batch, seed++);
    }
  repeats = 1;
}

static double unit_normal_of(faro_release *r, int i) {
  double exact = 0;
  for (int u = 0; u < BATCH; u++) exact += users[u][i];
  return (faro_release_statistics(r).sum[i] - exact) / (r->unit[i] * sqrt(BATCH));
}

/* The sum of the users' Gaussians has the same distribution as one draw: both standardise to N(0,
 * 1). */
static void test_gaussian__batch_noise_is_the_sum_of_users_noise(void **state) {
  (void)state;
  enum { RUNS = 40000 };
  static double draws[2][RUNS];
  for (int way = 0; way < 2; way++)
    for (uint64_t run = 0; run < RUNS; run++) {
      faro_release *r = make("shuffle-amplified", 1, FARO_CALIBRATION_FIGURE);
      faro_sim_open(&stream, 200 + (uint64_t)way, run, FARO_ROLE_USER);
      (way ? message_batch : absorb_batch)(r);
      draws[way][run] = unit_normal_of(r, 1);
      faro_release_destroy(r);
    }
  assert_ks(draws[0], RUNS, normal_cdf);
  assert_ks(draws[1], RUNS, normal_cdf);
}

/* The protocol as the paper prints it: every user turns an entry into an array of G + b bits, the
 * shuffler permutes all bits of a label, the analyzer counts ones. */
static uint64_t bit_by_bit(const faro_release *r, int i, faro_sim_rng *sim) {
  const faro_bits *s = faro_bits_in(r);
  unsigned char bit[BATCH * 64];
  const size_t each = s->grid + s->level[0].noise->bits;
  assert_true(each <= 64);
  for (int u = 0; u < BATCH; u++) {
    const double steps = (users[u][i] + s->entry) / s->step;
    const double whole = floor(steps);
    const size_t ones = (size_t)whole + faro_sim_bernoulli(sim, steps - whole);
    unsigned char *mine = bit + (size_t)u * each;
    for (size_t k = 0; k < s->grid; k++) mine[k] = k < ones;
    for (size_t k = 0; k < s->level[0].noise->bits; k++)
      mine[s->grid + k] = faro_sim_uniform(sim) < (s->fair ? 0.5 : 0.25);
  }
  faro_exact_shuffle(&sim->rng, bit, BATCH * each, 1);
  uint64_t count = 0;
  for (size_t k = 0; k < BATCH * each; k++) count += bit[k];
  return count;
}

static uint64_t ones_of(const faro_release *r, int i) { /* undoes the analyzer's de-biasing */
  const faro_bits *s = faro_bits_in(r);
  const double noise = 0.25 * BATCH * (double)s->level[0].noise->bits;
  return (uint64_t)llround((r->sum[i] + BATCH * s->entry) / s->step + noise);
}

static void test_bits__three_ways_have_one_distribution(void **state) {
  (void)state;
  enum { RUNS = 100000, CELLS = BATCH * 64 };
  static double seen[3][CELLS];
  for (int i = 0; i < LENGTH; i++) {
    memset(seen, 0, sizeof seen);
    for (uint64_t run = 0; run < RUNS; run++)
      for (int way = 0; way < 3; way++) {
        faro_sim_open(&stream, 300 + (uint64_t)(3 * i + way), run, FARO_ROLE_USER);
        faro_release *r = make("shuffle-bits", 10, FARO_CALIBRATION_FIGURE);
        if (way < 2) (way ? message_batch : absorb_batch)(r);
        seen[way][way < 2 ? ones_of(r, i) : bit_by_bit(r, i, &stream)]++;
        faro_release_destroy(r);
      }
    assert_same_counts(seen[0], seen[1], CELLS);
    assert_same_counts(seen[0], seen[2], CELLS);
  }
}

/* People who contribute the same are rounded one by one, few or many together: their ones are a
 * binomial number above the whole steps. */
static void test_bits__people_alike_are_rounded_each_by_itself(void **state) {
  (void)state;
  enum { RUNS = 20000, MOST = 12000 };
  static const uint64_t people[] = {2, 20, 64, 300, 5000};
  static double seen[MOST];
  static double expected[MOST];
  const double x[D] = {0.6, -0.3};
  faro_contribution contribution;
  assert_ok(faro_contribution_init(&contribution, D, 1, -0.5, 0.5, error));
  for (size_t k = 0; k < sizeof people / sizeof *people; k++) {
    const uint64_t n = people[k];
    const faro_release_params p = {.epsilon = 1,
                                   .delta = 1e-5,
                                   .horizon = 6000,
                                   .batch = 6000,
                                   .shufflers = 1,
                                   .grid = 2,
                                   .calibration = FARO_CALIBRATION_TIGHT};
    faro_release *r = NULL;
    faro_sim_open(&stream, 310, k, FARO_ROLE_USER);
    assert_ok(faro_release_create(&r, &faro_release_shuffle_bits, &contribution, &p,
                                  faro_source_simulated(&stream), error));
    faro_bits *s = faro_bits_of(r);
    for (size_t i = 0; i < LENGTH; i++) {
      memset(seen, 0, sizeof seen);
      memset(expected, 0, sizeof expected);
      for (int run = 0; run < RUNS; run++) {
        s->count[i] = 0;
        r->waiting = 0;
        assert_false(faro_release_absorb_alike(r, x, 0.3, n));
        seen[s->count[i]]++;
      }
      const double steps = (r->last[i] + s->entry) / s->step;
      const double whole = floor(steps);
      for (uint64_t up = 0; up <= n && steps > whole; up++)
        expected[n * (uint64_t)whole + up] =
            RUNS * exp(faro_binomial_log((double)n, steps - whole, (double)up));
      if (steps == whole) expected[n * (uint64_t)whole] = RUNS;
      assert_chi_square(seen, expected, MOST);
    }
    faro_release_destroy(r);
  }
}

/* The tree's noise at release t and at t' share exactly the nodes that both prefixes use. */
static void test_tree__prefixes_share_nodes_and_nothing_is_frozen(void **state) {
  (void)state;
  enum { RUNS = 40000 };
  double cross[BATCHES][BATCHES] = {{0}};
  faro_release *probe = make("central-tree", 1, FARO_CALIBRATION_FIGURE);
  const double sd0 = probe->unit[0];
  const double node = sd0 * sd0;
  faro_release_destroy(probe);
  for (uint64_t run = 0; run < RUNS; run++) {
    faro_release *r = make("central-tree", 1, FARO_CALIBRATION_FIGURE);
    faro_sim_open(&stream, 400, run, FARO_ROLE_USER);
    double noise[BATCHES];
    for (int m = 0; m < BATCHES; m++) {
      absorb_batch(r);
      double exact = 0;
      for (int u = 0; u < BATCH; u++) exact += (m + 1) * users[u][0];
      noise[m] = faro_release_statistics(r).sum[0] - exact;
    }
    for (int a = 0; a < BATCHES; a++)
      for (int b = 0; b <= a; b++) cross[a][b] += noise[a] * noise[b] / RUNS;
    faro_release_destroy(r);
  }
  for (int a = 1; a <= BATCHES; a++)
    for (int b = 1; b <= a; b++) {
      int shared = 0; /* nodes in both prefixes: equal high digits, up to the first that differs */
      for (int bit = 4; bit >= 0; bit--)
        if (a >> bit & 1 && b >> bit & 1 && a >> (bit + 1) == b >> (bit + 1)) shared++;
      const double sd =
          node * sqrt((double)__builtin_popcount((unsigned)a) * __builtin_popcount((unsigned)b) +
                      (double)shared * shared);
      assert_mean(cross[a - 1][b - 1], shared * node, sd, RUNS);
    }
}

/* Two releases that differ only in the stream differ in every entry: no noise is reused. */
static void test_all__fresh_streams_give_fresh_noise(void **state) {
  (void)state;
  for (size_t k = 1; k < faro_release_kinds(); k++) {
    const char *name = faro_release_kind_at(k)->name;
    faro_release *r[2];
    for (uint64_t i = 0; i < 2; i++) {
      faro_sim_open(&stream, 500, i, FARO_ROLE_USER);
      r[i] = make(name, 1, FARO_CALIBRATION_TIGHT);
      absorb_batch(r[i]);
    }
    for (int e = 0; e < LENGTH; e++) assert_true(r[0]->sum[e] != r[1]->sum[e]);
    faro_release_destroy(r[0]);
    faro_release_destroy(r[1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all__unbiased_with_the_stated_variance),
      cmocka_unit_test(test_all__values_have_the_stated_variance),
      cmocka_unit_test(test_all__returning_users_have_the_stated_variance),
      cmocka_unit_test(test_gaussian__batch_noise_is_the_sum_of_users_noise),
      cmocka_unit_test(test_bits__three_ways_have_one_distribution),
      cmocka_unit_test(test_bits__people_alike_are_rounded_each_by_itself),
      cmocka_unit_test(test_tree__prefixes_share_nodes_and_nothing_is_frozen),
      cmocka_unit_test(test_all__fresh_streams_give_fresh_noise),
  };
  return cmocka_run_group_tests(tests, draw_users, NULL);
}
