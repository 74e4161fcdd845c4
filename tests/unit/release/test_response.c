/* response: the distribution of messages, enumerated from the numbers that encode compares with:
 * every message is private by itself, and batches are as private as amplification says. */
#include <math.h>
#include <string.h>

#include "release/release.h"
#include "release/response.h"
#include "release/shares.h"
#include "support/support.h"

enum { D = 2, LENGTH = 5, SEED_BITS = 45 };

static faro_sim_rng stream;

static faro_release *make(const char *name, const faro_release_params *p) {
  faro_contribution c;
  faro_release *r = NULL;
  assert_ok(faro_contribution_init(&c, D, 1, -0.5, 0.5, error));
  assert_ok(
      faro_release_create(&r, faro_release_kind_find(name), &c, p, faro_source_simulated(&stream), error));
  return r;
}

static faro_release_params tight(double epsilon, double delta, uint64_t horizon, uint64_t batch) {
  return (faro_release_params){.epsilon = epsilon,
                               .delta = delta,
                               .horizon = horizon,
                               .batch = batch,
                               .calibration = FARO_CALIBRATION_TIGHT};
}

/* ---- one message */

/* Probability of a true code, and of each other one, in units of 2^-64 / (codes m). */
static void odds_of(const faro_response_rule *rule, long double *truth, long double *other) {
  const long double all = 0x1p64L;
  const long double codes = 2 * (long double)rule->directions;
  *other = (long double)rule->nearest * (all - (long double)rule->threshold);
  *truth = codes * (long double)rule->threshold + *other;
}

/* Whatever z is, the odds of a code change by at most e^epsilon0; and by that, almost. Broken once:
 * gamma (1 + 1e-12) in place of gamma (1 - 1e-12). */
static void test_rule__odds_are_within_epsilon0(void **state) {
  (void)state;
  for (double epsilon0 = 1e-4; epsilon0 < 1000; epsilon0 *= 1.05) {
    const faro_response_rule rule = faro_response_choose(epsilon0, sqrt(2));
    long double truth = 0;
    long double other = 0;
    odds_of(&rule, &truth, &other);
    assert_true(rule.epsilon0 == epsilon0 && (rule.directions & (rule.directions - 1)) == 0);
    assert_true(rule.nearest >= 1 && rule.nearest <= rule.directions && rule.threshold % rule.nearest == 0);
    assert_true(truth <= expl((long double)epsilon0) * other);
    if (epsilon0 < 12) assert_true(logl(truth / other) > (long double)epsilon0 * (1 - 1e-8L) - 1e-9L);
  }
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a;
  const double y = *(const double *)b;
  return (x < y) - (x > y);
}

/* Means of the m greatest of k |N_i|, by chance. */
static void find_means(faro_sim_rng *sim, size_t k, double *c) {
  enum { DRAWS = 2000 };
  memset(c, 0, k * sizeof *c);
  for (int n = 0; n < DRAWS; n++) {
    double along[128];
    double sum = 0;
    for (size_t i = 0; i < k; i++) along[i] = fabs(faro_sim_normal(sim));
    qsort(along, k, sizeof *along, by_size);
    for (size_t i = 0; i < k; i++) c[i] += (sum += along[i]) / ((double)i + 1) / DRAWS;
  }
}

/* No number of directions, among the powers of two, and of true codes has much less noise. */
static void test_rule__has_the_least_noise(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 51, 0, FARO_ROLE_USER);
  for (size_t k = 1; k <= 128; k *= 2) {
    double c[128];
    find_means(&sim, k, c);
    for (double epsilon0 = 0.1; epsilon0 < 10; epsilon0 *= 1.3) {
      const faro_response_rule rule = faro_response_choose(epsilon0, sqrt(2));
      for (size_t m = 1; m <= k; m++) {
        const double odds = (double)m * expm1(epsilon0);
        const double gamma = odds / (odds + 2 * (double)k);
        assert_true(rule.length <= sqrt(2) / (c[m - 1] * gamma) * (k == 1 ? 1.08 : 1.05));
        if (k != rule.directions || m != rule.nearest) continue;
        assert_close(rule.c, c[m - 1], 0.08 * rule.c);
        assert_close(rule.length, sqrt(2) / (rule.c * gamma), 1e-9 * rule.length);
      }
    }
  }
}

/* Makes the next words that are drawn: first to last. */
static void script(uint64_t first, uint64_t second, uint64_t third) {
  stream.rng.word[2] = first;
  stream.rng.word[1] = second;
  stream.rng.word[0] = third;
  stream.rng.left = 3;
}

static uint64_t message_of(faro_release *r, const double *x, double y, uint64_t seed, uint64_t any,
                           uint64_t word) {
  uint64_t message = 0;
  script(seed << (64 - SEED_BITS), any, word);
  assert_ok(faro_release_randomize(r, x, y, &message, error));
  assert_int_equal(stream.rng.left, 0); /* nothing else is drawn */
  return message;
}

/* For every seed of a few: the code is the true one of rank word mod m if the last word is below
 * the threshold, else the second word, and the true ones depend on nothing else. As the threshold
 * is a multiple of m, each of m different true codes has the odds above. Broken once: <= in place
 * of < (a step too high); rank 0 for every word. */
static void test_message__is_the_truth_below_the_threshold_and_anything_above(void **state) {
  (void)state;
  slow_test();
  for (double epsilon = 0.5; epsilon < 20; epsilon *= 3) {
    const faro_release_params p = tight(epsilon, 1e-6, 100, 10);
    faro_release *r = make("local-response", &p);
    const faro_response_rule rule = faro_response_choose(epsilon, r->contribution.radius);
    const uint64_t codes = 2 * (uint64_t)rule.directions;
    const double x[2][D] = {{0.6, -0.7}, {-0.1, 0.3}};
    const double y[2] = {0.5, -0.3};
    size_t differ = 0;
    faro_sim_open(&stream, 52, 0, FARO_ROLE_USER);
    for (uint64_t seed = 0; seed < 10; seed++) {
      uint64_t truth[2][128];
      for (int side = 0; side < 2; side++) {
        bool seen[256] = {false};
        for (size_t rank = 0; rank < rule.nearest; rank++) {
          truth[side][rank] = message_of(r, x[side], y[side], seed, 0, rank);
          assert_int_equal(truth[side][rank] / codes, seed);
          assert_false(seen[truth[side][rank] % codes]);
          seen[truth[side][rank] % codes] = true;
        }
        const uint64_t last = truth[side][rule.nearest - 1];
        for (uint64_t any = 0; any < codes; any++) {
          assert_int_equal(message_of(r, x[side], y[side], seed, any, rule.threshold - 1), last);
          assert_int_equal(message_of(r, x[side], y[side], seed, any, 0), truth[side][0]);
          assert_int_equal(message_of(r, x[side], y[side], seed, any, rule.threshold), seed * codes + any);
          assert_int_equal(message_of(r, x[side], y[side], seed, any, UINT64_MAX), seed * codes + any);
        }
      }
      differ += truth[0][0] != truth[1][0];
    }
    assert_true(differ > 0);
    faro_release_destroy(r);
  }
}

/* The server's number for a message, averaged over seeds and codes with their true odds, is z: an
 * honest user's noise has mean zero. False-alarm rate 1e-6 for each entry. */
static void test_message__is_unbiased(void **state) {
  (void)state;
  enum { SEEDS = 20000 };
  const double x[D] = {0.6, -0.7};
  const double y = 0.4;
  const double z[LENGTH] = {0.36, -0.42, 0.49, 0.24, -0.28};
  for (double epsilon = 1; epsilon < 10; epsilon *= 4) {
    const faro_release_params p = tight(epsilon, 1e-6, SEEDS, SEEDS);
    faro_release *r = make("local-response", &p);
    faro_sim_open(&stream, 53, 0, FARO_ROLE_USER);
    static uint64_t batch[SEEDS];
    for (int n = 0; n < SEEDS; n++) assert_ok(faro_release_randomize(r, x, y, &batch[n], error));
    assert_ok(faro_release_analyze(r, batch, SEEDS, error));
    const faro_statistics s = faro_release_statistics(r);
    for (size_t i = 0; i < LENGTH; i++)
      assert_mean(s.sum[i] / SEEDS, z[i], s.noise.ratio * s.noise.scale[i] / sqrt(SEEDS), SEEDS);
    faro_release_destroy(r);
  }
}

/* P(fewer than m of k - 1 |N_i| are above t). */
static double among_nearest(const faro_response_rule *rule, double t) {
  const double above = erfc(t / sqrt(2));
  const double others = (double)rule->directions - 1;
  double sum = 0;
  for (double j = 0; j < (double)rule->nearest; j++) {
    const double ways = lgamma(others + 1) - lgamma(j + 1) - lgamma(others - j + 1);
    sum += exp(ways) * pow(above, j) * pow(1 - above, others - j);
  }
  return sum;
}

/* One user's noise is sub-Gaussian of scale `proxy` in every direction. Across u it is C N(0, 1).
 * Along u it is C T - r for a true code, T one of the m greatest of k |N_i|, and C N(0, 1) - r for
 * any. With E e^(s T) = e^(s^2/2) I(s), the claim is
 * gamma I(s) + 1 - gamma <= e^(s c gamma + s^2 c^2 / 8). Broken once: c^2 / 16. */
static void test_noise__is_sub_gaussian_of_its_scale(void **state) {
  (void)state;
  enum { STEPS = 1000 };
  for (double epsilon0 = 0.05; epsilon0 < 12; epsilon0 *= 1.6) {
    const faro_response_rule rule = faro_response_choose(epsilon0, 1);
    const double share = (double)rule.directions / (double)rule.nearest;
    const double gamma = ldexp((double)rule.threshold, -64);
    const double slack = pow(rule.proxy / rule.length, 2) - 1; /* c^2 / 4 */
    for (double s = -12; s <= 12; s += 0.5) {
      double I = 0; /* trapezoid rule */
      const double end = 12 + fmax(0, s);
      for (int i = 0; i <= STEPS; i++) {
        const double t = end * i / STEPS;
        const double normal = exp(-(t - s) * (t - s) / 2) / sqrt(2 * acos(-1));
        I += (i == 0 || i == STEPS ? 0.5 : 1) * 2 * share * among_nearest(&rule, t) * normal * end / STEPS;
      }
      assert_true(gamma * I + 1 - gamma <= exp(s * rule.c * gamma + s * s * slack / 2) * (1 + 1e-6));
    }
  }
}

/* Whatever a client sends, it moves no entry by more than the influence, and numbers beyond the
 * range are refused. */
static void test_messages__are_bounded_and_so_is_what_one_can_do(void **state) {
  (void)state;
  enum { BATCH = 4 };
  const faro_release_params p = tight(3, 1e-6, 400 * BATCH, BATCH);
  faro_release *r = make("local-response", &p);
  int64_t least = 0;
  int64_t most = 0;
  faro_release_range(r, 0, &least, &most);
  assert_int_equal(least, 0);
  double before[LENGTH] = {0};
  faro_sim_open(&stream, 54, 0, FARO_ROLE_USER);
  for (int n = 0; n < 400; n++) {
    uint64_t batch[BATCH];
    for (int u = 0; u < BATCH; u++)
      batch[u] = n == 0 ? (uint64_t)most : faro_rng_next(&stream.rng) % ((uint64_t)most + 1);
    assert_ok(faro_release_analyze(r, batch, BATCH, error));
    const double *sum = faro_release_statistics(r).sum;
    for (size_t i = 0; i < LENGTH; i++) {
      assert_true(fabs(sum[i] - before[i]) <= BATCH * faro_release_influence(r));
      before[i] = sum[i];
    }
  }
  faro_release_destroy(r);
  r = make("local-response", &p);
  uint64_t batch[BATCH] = {0};
  batch[2] = (uint64_t)most + 1;
  faro_error refusal = {0};
  assert_int_equal(faro_release_analyze(r, batch, BATCH, &refusal), FARO_INVALID);
  faro_release_destroy(r);
}

/* ---- batches: the multiset of messages, enumerated */

/* Messages are pairs of a seed, of which there are `seeds`, all alike, and a code. A shuffler
 * leaves how often each message occurs; codes that are equally likely for everyone count as one
 * type. With A, A' and B the true codes of z, of z' and of the others: A alone in B, A alone not in
 * B, A' alone in B, A' alone not in B, neither in B, neither, both (not in B). */
enum { CLASSES = 7, TYPES = 2 * CLASSES, HISTOGRAMS = 12000 };

typedef struct crowd {
  size_t seeds, codes, nearest, users;
  double gamma;
  size_t count[CLASSES]; /* codes */
} crowd;

/* Distribution of the type of a user's message, whose true codes are in the classes of `mask`. */
static void spread(const crowd *c, unsigned mask, double p[static TYPES]) {
  for (size_t i = 0; i < c->seeds * CLASSES; i++) {
    const bool true_code = mask >> (i % CLASSES) & 1U;
    const double each = (true_code ? c->gamma / (double)c->nearest : 0) + (1 - c->gamma) / (double)c->codes;
    p[i] = (double)c->count[i % CLASSES] * each / (double)c->seeds;
  }
}

/* Moves the types that occur to the front of all three. Returns their number. */
static size_t pack(const crowd *c, double *one, double *two, double *others) {
  size_t types = 0;
  for (size_t i = 0; i < c->seeds * CLASSES; i++) {
    if (c->count[i % CLASSES] == 0) continue;
    one[types] = one[i];
    two[types] = two[i];
    others[types++] = others[i];
  }
  return types;
}

/* How many histograms of n messages there are over t types. */
static size_t count_histograms(size_t n, size_t t) {
  double count = 1;
  for (size_t i = 1; i < t; i++) count *= (double)(n + i) / (double)i;
  return (size_t)(count + 0.5);
}

/* Sum over all histograms of n messages of max(0, P - e^epsilon Q): P if the first user has z, Q if
 * z', the others all have the same data. With multinomial M for the others, P(h) = sum_i p_i M(h -
 * e_i). */
typedef struct sum_over {
  size_t users, types;
  const double *one, *two, *others;
  double epsilon, delta;
  size_t h[TYPES];
} sum_over;

/* ln of n! / prod h_i! prod others_i^h_i, for n = users - 1 messages. */
static double log_multinomial(const sum_over *s, size_t without) {
  double sum = lgamma((double)s->users);
  for (size_t i = 0; i < s->types; i++) {
    const double h = (double)(s->h[i] - (i == without));
    sum += h * log(s->others[i]) - lgamma(h + 1);
  }
  return sum;
}

static void visit(sum_over *s, size_t type, size_t left) {
  if (type + 1 < s->types) {
    for (size_t h = 0; h <= left; h++) {
      s->h[type] = h;
      visit(s, type + 1, left - h);
    }
    return;
  }
  s->h[type] = left;
  double P = 0;
  double Q = 0;
  for (size_t i = 0; i < s->types; i++) {
    if (s->h[i] == 0) continue;
    const double rest = exp(log_multinomial(s, i));
    P += s->one[i] * rest;
    Q += s->two[i] * rest;
  }
  s->delta += fmax(0, P - exp(s->epsilon) * Q);
}

/* Negative if there are too many histograms. */
static double delta_of(const crowd *c, double epsilon) {
  double one[TYPES];
  double two[TYPES];
  double others[TYPES];
  spread(c, 0x43, one);
  spread(c, 0x4C, two);
  spread(c, 0x15, others);
  sum_over s = {.users = c->users, .one = one, .two = two, .others = others, .epsilon = epsilon};
  s.types = pack(c, one, two, others);
  if (count_histograms(c->users, s.types) > HISTOGRAMS) return -1;
  visit(&s, 0, c->users);
  return s.delta;
}

/* Over others whose true codes are in A, in A' or in neither, where z and z' share some or none. */
static double worst_delta(const crowd *c, double epsilon) {
  const size_t m = c->nearest;
  double worst = -1;
  for (size_t both = 0; both < m; both += (m + 1) / 2)
    for (size_t in_A = 0; in_A <= m - both; in_A += (m + 1) / 2)
      for (size_t in_moved = 0; in_A + in_moved <= m && in_moved <= m - both; in_moved += (m + 1) / 2) {
        const size_t rest = m - in_A - in_moved;
        const size_t neither = c->codes - 2 * m + both;
        if (rest > neither) continue;
        crowd made = *c;
        const size_t count[CLASSES] = {in_A, m - both - in_A, in_moved, m - both - in_moved,
                                       rest, neither - rest,  both};
        memcpy(made.count, count, sizeof count);
        worst = fmax(worst, delta_of(&made, epsilon));
      }
  return worst;
}

/* The threshold of a class of batches and the number of true codes, found by asking the randomizer.
 * The opposite of the nearest direction is never true. */
static crowd ask(faro_release *r, size_t class_index) {
  const double x[D] = {0.8, -0.2};
  crowd c = {.codes = (uint64_t)(r->range[class_index].most + 1) >> SEED_BITS,
             .users = r->schedule.size[class_index]};
  uint64_t k = 0;
  while (faro_schedule_class(&r->schedule, k) != class_index) k++;
  faro_release_open(r, k);
  const uint64_t nearest = message_of(r, x, 0.5, 7, 0, 0);
  do c.nearest++;
  while (message_of(r, x, 0.5, 7, 0, c.nearest) != nearest);
  const uint64_t never = nearest ^ 1U;
  uint64_t low = 0; /* a true code */
  uint64_t high = UINT64_MAX;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    if (message_of(r, x, 0.5, 7, never % c.codes, middle) != never) low = middle;
    else high = middle;
  }
  c.gamma = ldexp((double)high, -64);
  return c;
}

/* A batch of every size keeps its claim; so does every class of batches that grow. Broken once: a
 * crowd four times as large as the batch; the rule of the largest batch for all. */
static bool check_batch(faro_release *r, size_t class_index, size_t seeds) {
  const faro_budget each = faro_composed_share(r);
  crowd c = ask(r, class_index);
  c.seeds = seeds;
  const double epsilon0 = log1p((double)c.codes / (double)c.nearest * c.gamma / (1 - c.gamma));
  const double share = (double)c.nearest / (double)c.codes;
  const double amplified =
      faro_shuffle_response_local_epsilon(each.epsilon, each.delta, (double)c.users, share);
  assert_close(epsilon0, amplified, 1e-6 * epsilon0);
  const double delta = worst_delta(&c, each.epsilon);
  if (delta < 0) return false;
  print_message("  %zu users, %zu seeds, %zu of %zu codes, epsilon0 %.3f: delta %.3g of %.3g\n", c.users,
                seeds, c.nearest, c.codes, epsilon0, delta, each.delta);
  assert_true(delta <= each.delta * (1 + 1e-9));
  return true;
}

static void test_batches__enumerated_keep_the_claim(void **state) {
  (void)state;
  const double delta[] = {0.01, 0.1};
  const double epsilon[] = {0.3, 1, 2};
  int enumerated = 0;
  for (int i = 0; i < 6; i++)
    for (uint64_t batch = 2; batch <= 2000; batch *= batch < 40 ? 3 : 10) {
      const faro_release_params p = tight(epsilon[i / 2], delta[i % 2], 4 * batch, batch);
      faro_release *r = make("shuffle-response", &p);
      for (size_t seeds = 1; seeds <= 2; seeds++) enumerated += check_batch(r, 0, seeds);
      faro_release_destroy(r);
    }
  assert_true(enumerated > 20);
}

static void test_batches__that_grow_keep_the_claim_in_every_class(void **state) {
  (void)state;
  for (uint64_t contributions = 1; contributions <= 3; contributions++) {
    faro_release_params p = tight(1, 0.05, 3000, 8);
    p.growth = 2;
    p.level = FARO_LEVEL_USER;
    p.contributions = contributions;
    faro_release *r = make("shuffle-response", &p);
    assert_true(r->schedule.classes > 5);
    for (size_t k = 0; k < r->schedule.classes; k++) (void)check_batch(r, k, 1);
    faro_release_destroy(r);
  }
}

/* M0 messages of a user: k mechanisms of epsilon0 each, exactly (Kairouz, Oh & Viswanath 2015,
 * Theorem 3.3, with delta 0). */
static double composed(double epsilon0, int times, double epsilon) {
  double sum = 0;
  for (int l = 0; l <= times; l++) {
    const double ways =
        lgamma(times + 1) - lgamma(l + 1) - lgamma(times - l + 1) - times * log1p(exp(epsilon0));
    sum += fmax(0, exp(ways + (times - l) * epsilon0) - exp(ways + epsilon + l * epsilon0));
  }
  return sum;
}

static void test_local__returning_users_keep_the_claim(void **state) {
  (void)state;
  for (int times = 1; times <= 64; times *= 4) {
    faro_release_params p = tight(2, 1e-6, 6400, 100);
    p.level = FARO_LEVEL_USER;
    p.contributions = (uint64_t)times;
    faro_release *r = make("local-response", &p);
    const double epsilon0 = fmax(faro_composed_share(r).epsilon, 2.0 / times);
    const faro_response_rule rule = faro_response_choose(epsilon0, r->contribution.radius);
    assert_close(r->unit[0], rule.proxy, 1e-12 * rule.proxy);
    assert_true(composed(epsilon0, times, 2) <= faro_release_claim(r)->delta);
    assert_true(faro_release_claim(r)->delta == (times == 1 ? 0 : 1e-6));
    faro_release_destroy(r);
  }
}

/* `local` and `shuffle-amplified` are the one of their two kinds with less noise in the last sum.
 */
static void test_choice__is_the_lesser_noise(void **state) {
  (void)state;
  const char *const names[][3] = {{"local", "local-gaussian", "local-response"},
                                  {"shuffle-amplified", "shuffle-gaussian", "shuffle-response"}};
  int chosen[2] = {0, 0};
  for (int i = 0; i < 2; i++)
    for (double epsilon = 0.1; epsilon < 30; epsilon *= 3)
      for (double delta = 1e-9; delta < 0.5; delta *= 20) {
        const faro_release_params p = tight(epsilon, delta, 8000, 2000);
        double deviation[2];
        for (int k = 0; k < 2; k++) {
          faro_release *r = make(names[i][1 + k], &p);
          const faro_noise noise = faro_release_noise(r);
          deviation[k] = noise.scale[0] * (noise.ratio > 0 ? noise.ratio : 1);
          faro_release_destroy(r);
        }
        faro_release *r = make(names[i][0], &p);
        const bool responds = deviation[1] < deviation[0];
        const char *const made = faro_release_kind_of(r)->name;
        assert_string_equal(made, responds                ? names[i][2]
                                  : names[i][1][0] == 'l' ? "local"
                                                          : "shuffle-amplified");
        chosen[responds]++;
        faro_release_destroy(r);
      }
  assert_true(chosen[0] > 3 && chosen[1] > 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rule__odds_are_within_epsilon0),
      cmocka_unit_test(test_rule__has_the_least_noise),
      cmocka_unit_test(test_message__is_the_truth_below_the_threshold_and_anything_above),
      cmocka_unit_test(test_message__is_unbiased),
      cmocka_unit_test(test_noise__is_sub_gaussian_of_its_scale),
      cmocka_unit_test(test_messages__are_bounded_and_so_is_what_one_can_do),
      cmocka_unit_test(test_batches__enumerated_keep_the_claim),
      cmocka_unit_test(test_batches__that_grow_keep_the_claim_in_every_class),
      cmocka_unit_test(test_local__returning_users_keep_the_claim),
      cmocka_unit_test(test_choice__is_the_lesser_noise),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
