/* concurrent: trees of bit sums, their shufflers, their composition, and exact noise. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "release/bits.h"
#include "support/support.h"

static faro_release_params tight(uint64_t horizon, uint64_t batch, uint64_t shufflers) {
  return (faro_release_params){.epsilon = 1,
                               .delta = 1e-6,
                               .horizon = horizon,
                               .batch = batch,
                               .shufflers = shufflers,
                               .calibration = FARO_CALIBRATION_TIGHT};
}

static faro_release *make_from(const char *kind, size_t columns, bool binary, const faro_release_params *p,
                               faro_source source) {
  faro_contribution c;
  faro_release *r = NULL;
  assert_ok(faro_contribution_values(&c, columns, binary, error));
  assert_ok(faro_release_create(&r, faro_release_kind_find(kind), &c, p, source, error));
  return r;
}

static faro_sim_rng stream;

static faro_release *make(const char *kind, size_t columns, bool binary, const faro_release_params *p) {
  return make_from(kind, columns, binary, p, faro_source_simulated(&stream));
}

/* Contributions. */

static void test_values__are_clipped_entry_by_entry(void **state) {
  (void)state;
  faro_contribution c;
  double z[3];
  assert_ok(faro_contribution_values(&c, 3, false, error));
  faro_contribution_make(&c, (const double[]){-7, 0.25, (double)NAN}, 9, z);
  assert_true(z[0] == -0.5 && z[1] == 0.25 && z[2] == -0.5);
  assert_close(c.sensitivity, sqrt(3), 1e-12);
  assert_ok(faro_contribution_values(&c, 3, true, error));
  faro_contribution_make(&c, (const double[]){0.4, -0.01, (double)INFINITY}, 0, z);
  assert_true(z[0] == 0.5 && z[1] == -0.5 && z[2] == 0.5);
  faro_error refusal = {0};
  assert_int_equal(faro_contribution_values(&c, 0, false, &refusal), FARO_INVALID);
}

/* The tree: with the noise removed, the published sum is the sum of everyone in complete lowest
 * nodes, whatever the horizon, the batch and the number of levels. The noise is removed by setting
 * its bits to zero. */
static void silence(faro_release *r) {
  faro_bits *s = faro_bits_of(r);
  for (size_t i = 0; i < s->levels; i++) {
    s->level[i].noise->noise = 0;
    faro_binomial_plan(&s->level[i].noise->plan, 0, 0.5);
  }
}

static void test_tree__counts_every_user_exactly_once(void **state) {
  (void)state;
  for (uint64_t k = 0; k <= 5; k++)
    for (uint64_t horizon = 40; horizon < 400; horizon += 37) {
      const faro_release_params p = tight(horizon, k == 5 ? 2 : 0, k);
      faro_release *r = make("concurrent-bits", 1, true, &p);
      faro_sim_open(&stream, k, horizon, FARO_ROLE_USER);
      silence(r);
      const uint64_t batch = faro_release_batch(r);
      double truth = 0;
      for (uint64_t t = 1; t <= horizon + 5; t++) {
        const double x = faro_sim_bernoulli(&stream, 0.5) ? 0.5 : -0.5;
        truth += x;
        const bool out = faro_release_absorb(r, &x, 0);
        assert_int_equal(out, t % batch == 0 && t <= horizon);
        if (!out) continue;
        assert_close(faro_release_statistics(r).sum[0], truth, 1e-9);
        assert_int_equal(faro_release_statistics(r).users, t);
      }
      assert_true(faro_release_spent(r));
      faro_release_destroy(r);
    }
}

/* V*_t by walking over a tree that is stored whole: the highest complete nodes, from the left. */
static uint64_t count_highest(const faro_bits *s, uint64_t batches, uint64_t total, uint64_t *nodes) {
  uint64_t at = 0;
  uint64_t all = 0;
  memset(nodes, 0, s->levels * sizeof *nodes);
  while (at < batches) {
    size_t level = 0;
    while (level + 1 < s->levels && at % s->level[level + 1].unit == 0 &&
           at + s->level[level + 1].unit <= batches && at + s->level[level + 1].unit <= total)
      level++;
    nodes[level]++;
    all++;
    at += s->level[level].unit;
  }
  return all;
}

static void test_tree__adds_the_highest_complete_nodes(void **state) {
  (void)state;
  for (uint64_t k = 1; k <= 4; k++) {
    const faro_release_params p = tight(1000, 3, k);
    faro_release *r = make("concurrent-bits", 1, true, &p);
    const faro_bits *s = faro_bits_in(r);
    faro_sim_open(&stream, 3, k, FARO_ROLE_USER);
    const double x = 0.5;
    double worst = 0;
    while (!faro_release_spent(r)) {
      if (!faro_release_absorb(r, &x, 0)) continue;
      uint64_t nodes[8];
      (void)count_highest(s, r->ledger.charged, r->batches, nodes);
      double variance = 0;
      for (size_t i = 0; i < s->levels; i++) {
        assert_true(nodes[i] > 0 || s->level[i].base[0] == 0);
        variance += (double)nodes[i] * s->level[i].fused;
      }
      assert_close(faro_release_scale(r, 0), sqrt(variance), 1e-9 * sqrt(variance));
      worst = fmax(worst, variance);
    }
    assert_close(faro_release_noise(r).scale[0], sqrt(worst), 1e-9 * sqrt(worst));
    faro_release_destroy(r);
  }
}

/* Alg. 1: the server activates a shuffler when its node begins, and leaves it inactive if the node
 * cannot fill up. */
static void test_tree__activates_only_what_can_fill_up(void **state) {
  (void)state;
  const faro_release_params p = tight(100, 4, 3);
  faro_release *r = make("concurrent-bits", 1, true, &p);
  const faro_bits *s = faro_bits_in(r);
  uint64_t until[3] = {0};
  for (uint64_t batch = 0; batch < r->batches; batch++) {
    r->ledger.charged = batch;
    faro_release_open(r, batch);
    for (size_t i = 0; i < 3; i++) {
      faro_shuffler_task task;
      const uint64_t unit = s->level[i].unit;
      const bool expected = batch >= until[i] && batch + unit <= 25;
      assert_int_equal(faro_release_task(r, i, &task), expected);
      if (!expected) continue;
      assert_int_equal(task.size, unit * 4);
      assert_int_equal(task.bits, s->level[i].noise->bits);
      until[i] = batch + unit;
    }
  }
  faro_shuffler_task task;
  assert_false(faro_release_task(r, 3, &task));
  faro_release_destroy(r);
}

static void test_tree__degrees_are_the_theorems_under_paper(void **state) {
  (void)state;
  faro_release_params p = tight(10000000, 0, 2);
  p.calibration = FARO_CALIBRATION_PAPER;
  faro_release *r = make("concurrent-bits", 1, true, &p);
  assert_int_equal(faro_release_batch(r), 25);           /* 10^(7/5) = 25.1 */
  assert_int_equal(faro_bits_in(r)->level[1].unit, 631); /* 10^(14/5) = 630.96 */
  faro_release_destroy(r);
  p.shufflers = 0;
  p.horizon = 1 << 20;
  r = make("concurrent-bits", 1, true, &p);
  assert_int_equal(faro_release_shufflers(r), 19); /* log2 n - 1 */
  assert_int_equal(faro_release_batch(r), 2);
  assert_int_equal(faro_bits_in(r)->level[18].unit, 1 << 18);
  faro_release_destroy(r);
}

static void test_tree__refuses_more_shufflers_than_fit(void **state) {
  (void)state;
  faro_contribution c;
  faro_release *r = NULL;
  faro_error refusal = {0};
  assert_ok(faro_contribution_values(&c, 1, true, error));
  const faro_release_params p = tight(100, 0, 9);
  assert_int_equal(faro_release_create(&r, faro_release_kind_find("concurrent-bits"), &c, &p,
                                       faro_source_simulated(&stream), &refusal),
                   FARO_INVALID);
  assert_non_null(strstr(refusal.message, "shufflers must be"));
  assert_null(r);
}

/* Memory does not grow with the horizon. */
static void test_tree__memory_does_not_grow_with_the_horizon(void **state) {
  (void)state;
  size_t allocations[2];
  for (int i = 0; i < 2; i++) {
    const faro_release_params p = tight(i ? 1000000000 : 10000, 0, 3);
    alloc_reset();
    faro_release *r = make("concurrent-bits", 1, false, &p);
    allocations[i] = alloc_count();
    faro_release_destroy(r);
  }
  assert_int_equal(allocations[0], allocations[1]);
}

/* Composition over the levels. */

static double hockey_stick(const double *p, const double *q, size_t n, double epsilon) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += fmax(0, p[i] - exp(epsilon) * q[i]);
  return sum;
}

/* P(Bin(n, 1/2) = k). */
static double chance(unsigned n, unsigned k) {
  return exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) - n * log(2));
}

/* The whole mechanism, enumerated: a user with one bit moves the count of each of two levels by G;
 * their noises are independent binomials. This is the largest noise that a test can enumerate. */
static void test_levels__two_are_as_private_as_claimed_exactly(void **state) {
  (void)state;
  enum { N1 = 1000, N2 = 1050, G = 12 };
  enum { CELLS = (N1 + G + 1) * (N2 + G + 1) };
  static double p[CELLS];
  static double q[CELLS];
  double one_bit[N1 + 1];
  double two_bit[N2 + 1];
  for (unsigned i = 0; i <= N1; i++) one_bit[i] = chance(N1, i);
  for (unsigned i = 0; i <= N2; i++) two_bit[i] = chance(N2, i);
  for (unsigned i = 0; i <= N1 + G; i++)
    for (unsigned j = 0; j <= N2 + G; j++) {
      const size_t at = (size_t)i * (N2 + G + 1) + j;
      p[at] = i <= N1 && j <= N2 ? one_bit[i] * two_bit[j] : 0;
      q[at] = i >= G && j >= G ? one_bit[i - G] * two_bit[j - G] : 0;
    }
  for (double delta = 1e-2; delta > 1e-9; delta /= 10) {
    faro_bits_plan one = {
        .users = N1, .dimension = 1, .sensitivity = 1, .grid = G, .load = 1, .touched = 2, .bits = 1};
    faro_bits_plan two = one;
    double unused = 0;
    two.users = N2;
    assert_ok(faro_bits_account(&one, delta, &unused, error));
    assert_ok(faro_bits_account(&two, delta, &unused, error));
    const double epsilon = faro_gaussian_epsilon(hypot(one.mu, two.mu), delta - one.slack - two.slack);
    assert_true(hockey_stick(p, q, CELLS, epsilon) <= delta && hockey_stick(q, p, CELLS, epsilon) <= delta);
    assert_true(hockey_stick(p, q, CELLS, 0.97 * epsilon) > delta); /* and not wasteful */
  }
}

/* At full size the levels' Gaussians compose to what the accountant of privacy-loss distributions
 * finds. */
static void test_levels__compose_as_their_loss_distributions_do(void **state) {
  (void)state;
  for (uint64_t k = 1; k <= 19; k += 6) {
    const faro_release_params p = tight(1 << 20, 0, k == 19 ? 0 : k);
    faro_release *r = make("concurrent-bits", 1, true, &p);
    const faro_bits *s = faro_bits_in(r);
    faro_pld *all = NULL;
    for (size_t i = 0; i < s->levels; i++) {
      const double mu = (double)s->grid / (sqrt((double)s->level[i].noise->noise) / 2);
      faro_pld *one = NULL;
      assert_ok(faro_pld_gaussian(&one, mu, error));
      if (!all) all = one;
      else {
        assert_ok(faro_pld_compose(all, one, error));
        faro_pld_destroy(one);
      }
    }
    const double epsilon = faro_pld_epsilon(all, 1e-6);
    assert_true(epsilon <= 1 + 1e-5 && epsilon > 0.98);
    faro_pld_destroy(all);
    faro_release_destroy(r);
  }
}

/* Two mistakes about composition, both of which the checks above must see: no composition at all,
 * and one level forgotten. */
static void test_levels__one_level_less_noise_is_not_private(void **state) {
  (void)state;
  const faro_release_params p = tight(1 << 20, 0, 3);
  faro_release *r = make("concurrent-bits", 1, true, &p);
  const faro_bits *s = faro_bits_in(r);
  double square = 0;
  for (size_t i = 0; i < 3; i++) square += 4 * (double)(s->grid * s->grid) / (double)s->level[i].noise->noise;
  assert_true(faro_gaussian_delta(sqrt(square), 1) <= 1e-6);
  assert_true(faro_gaussian_delta(sqrt(square * 4 / 3), 1) > 1e-6);
  faro_release_destroy(r);
}

/* Users who return: M0 contributions, at most one per batch, cost most in as few nodes as possible.
 * By exhaustion over all placements in a small tree. */
static void test_levels__load_covers_every_placement_of_a_user(void **state) {
  (void)state;
  enum { BATCHES = 12 };
  for (uint64_t times = 1; times <= 6; times++) {
    faro_release_params p = tight(BATCHES * 2, 2, 3);
    p.level = FARO_LEVEL_USER;
    p.contributions = times;
    faro_release *r = make("concurrent-bits", 1, true, &p);
    const faro_bits *s = faro_bits_in(r);
    double worst = 0;
    for (unsigned set = 0; set < 1u << BATCHES; set++) {
      if ((uint64_t)__builtin_popcount(set) != times) continue;
      double square = 0;
      for (size_t i = 0; i < s->levels; i++)
        for (unsigned at = 0; at + s->level[i].unit <= BATCHES; at += (unsigned)s->level[i].unit) {
          const double in = __builtin_popcount(set >> at & ((1u << s->level[i].unit) - 1));
          square += in * in * 4 * (double)(s->grid * s->grid) / (double)s->level[i].noise->noise;
        }
      worst = fmax(worst, square);
    }
    assert_true(faro_gaussian_delta(sqrt(worst), 1) <= 1e-6);
    assert_true(faro_gaussian_delta(sqrt(worst * 2), 1) > 1e-6);
    assert_int_equal(faro_release_claim(r)->level, FARO_LEVEL_USER);
    assert_int_equal(faro_release_claim(r)->contributions, times);
    faro_release_destroy(r);
  }
}

/* M_bin is for one bit per user: vectors of bits are accounted as vectors. */
static void test_paper__vectors_of_bits_need_more_noise(void **state) {
  (void)state;
  faro_release_params p = tight(1000, 0, 1);
  p.calibration = FARO_CALIBRATION_PAPER;
  for (size_t columns = 1; columns <= 100; columns *= 10) {
    faro_release *r = make("concurrent-bits", columns, true, &p);
    const faro_bits *s = faro_bits_in(r);
    const double sigma = sqrt((double)s->level[0].noise->noise * (s->fair ? 0.25 : 3.0 / 16)) * s->step;
    assert_true(faro_release_claim(r)->proven);
    assert_true(faro_gaussian_epsilon(sqrt((double)columns) / sigma, 1e-6) <= 1.001); /* nearly Gaussian */
    faro_release_destroy(r);
  }
}

/* Exact noise. */

static void test_secure__sums_are_near_the_truth(void **state) {
  (void)state;
  static const char *const names[] = {"concurrent-bits", "central-bits", "local-bits", "shuffle-bits"};
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  for (int k = 0; k < 4; k++)
    for (int binary = 0; binary < 2; binary++) {
      const faro_release_params p = tight(4000, k == 3 ? 40 : 0, 3);
      faro_release *r = make_from(names[k], 2, binary, &p, faro_source_all_parties(secure));
      alloc_reset();
      const double x[2] = {0.5, binary ? -0.5 : 0.125};
      uint64_t out = 0, noisy = 0;
      while (!faro_release_spent(r)) {
        if (!faro_release_absorb(r, x, 0)) continue;
        const faro_statistics now = faro_release_statistics(r);
        noisy += now.sum[0] != x[0] * (double)now.users;
        out++;
      }
      assert_int_equal(alloc_count(), 0);
      assert_true(out >= 20 && noisy > 0); /* one noise is zero in fewer than 1 of 5 cases: 1e-14 */
      assert_int_equal(out, r->batches);
      const faro_statistics s = faro_release_statistics(r);
      for (int i = 0; i < 2; i++) /* eight standard deviations: false alarm 1e-15 */
        assert_true(fabs(s.sum[i] - x[i] * (double)s.users) <= 8 * faro_release_scale(r, (size_t)i));
      faro_release_destroy(r);
    }
  faro_secure_close(secure);
}

/* Messages in deployment: one shuffler passes on the total, a trusted server adds noise from the
 * secure stream, and several shufflers collect separately. */
static void test_secure__messages_add_up_to_noisy_sums(void **state) {
  (void)state;
  enum { B = 10, RUNS = 30 };
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  const double x = 0.5;
  uint64_t batch[B];
  int noisy[2] = {0};
  for (int i = 0; i < 2 * RUNS; i++) {
    const int server = i % 2;
    const faro_release_params p = tight(B, B, 1);
    const char *const kind = server ? "central-bits" : "concurrent-bits";
    faro_release *client = make_from(kind, 1, true, &p, faro_source_client(secure));
    faro_release *r = make_from(kind, 1, true, &p, faro_source_server(secure));
    for (int u = 0; u < B; u++) assert_ok(faro_release_randomize(client, &x, 0, &batch[u], error));
    const size_t count = faro_release_mix(r, batch);
    assert_int_equal(count, server ? B : 1);
    for (int u = 1; !server && u < B; u++) assert_true(batch[u] == 0); /* nothing of the users is left */
    assert_ok(faro_release_analyze(r, batch, count, error));
    const double noise = faro_release_statistics(r).sum[0] - B * 0.5;
    assert_true(fabs(noise) <= 8 * faro_release_scale(r, 0)); /* false alarm 1e-15 */
    noisy[server] += noise != 0;
    faro_release_destroy(client);
    faro_release_destroy(r);
  }
  assert_true(noisy[0] > 0 && noisy[1] > 0); /* one noise is zero in fewer than 1 of 5 cases: 1e-21 */
  const faro_release_params several = tight(100, 2, 2);
  faro_release *r = make_from("concurrent-bits", 1, true, &several, faro_source_server(secure));
  uint64_t raw[4] = {1, 2, 3, 4};
  assert_int_equal(faro_release_mix(r, raw), 0);
  assert_true(raw[0] == 1 && raw[3] == 4);
  faro_release_destroy(r);
  faro_secure_close(secure);
}

/* Tables are for parties that draw the noise of whole nodes: a trusted server, or one process for
 * all. A client, and a server behind shufflers, need none. */
static void test_secure__tables_are_made_where_they_are_drawn_from(void **state) {
  (void)state;
  faro_secure_rng *secure = NULL;
  const faro_release_params p = tight(4000, 40, 1);
  assert_ok(faro_secure_open(&secure, error));
  for (int joint = 0; joint < 2; joint++) {
    const char *const kind = joint ? "central-bits" : "concurrent-bits";
    const faro_source source[] = {faro_source_client(secure), faro_source_server(secure),
                                  faro_source_all_parties(secure), faro_source_simulated(&stream)};
    for (int i = 0; i < 4; i++) {
      faro_release *r = make_from(kind, 1, true, &p, source[i]);
      assert_int_equal(faro_bits_in(r)->level[0].noise->table != NULL, i == 2 || (i == 1 && joint));
      faro_release_destroy(r);
    }
  }
  faro_secure_close(secure);
}

/* Every allowed combination either runs or is refused with a reason. */
static void test_extremes__run_or_are_refused(void **state) {
  (void)state;
  slow_test();
  static const double epsilons[] = {1e-4, 1, 1000};
  static const double deltas[] = {1e-15, 0.9};
  static const uint64_t horizons[] = {2, 100, UINT64_C(1) << 40};
  static const uint64_t shufflers[] = {0, 1, 7, 50};
  size_t made = 0;
  for (int i = 0; i < 3 * 2 * 3 * 4 * 2 * 2; i++) {
    int rest = i;
    faro_release_params p = {.epsilon = epsilons[rest % 3]};
    p.delta = deltas[(rest /= 3) % 2];
    p.horizon = horizons[(rest /= 2) % 3];
    p.shufflers = shufflers[(rest /= 3) % 4];
    const bool binary = (rest /= 4) % 2;
    p.calibration = (rest / 2) % 2 ? FARO_CALIBRATION_PAPER : FARO_CALIBRATION_TIGHT;
    faro_contribution c;
    faro_release *r = NULL;
    faro_error refusal = {0};
    assert_ok(faro_contribution_values(&c, 1, binary, error));
    const faro_status status = faro_release_create(&r, faro_release_kind_find("concurrent-bits"), &c, &p,
                                                   faro_source_simulated(&stream), &refusal);
    if (status != FARO_OK) {
      assert_int_equal(status, FARO_INVALID);
      assert_true(*refusal.message != '\0');
      continue;
    }
    made++;
    faro_sim_open(&stream, 1, (uint64_t)i, FARO_ROLE_USER);
    const double x = 0.5;
    for (int t = 0; t < 1000; t++) (void)faro_release_absorb(r, &x, 0);
    assert_true(isfinite(faro_release_statistics(r).sum[0]) && isfinite(faro_release_scale(r, 0)));
    faro_release_destroy(r);
  }
  assert_true(made > 100);
}

static void test_secure__refuses_tables_that_are_too_large(void **state) {
  (void)state;
  faro_release_params p = tight(1000000, 0, 1);
  p.calibration = FARO_CALIBRATION_PAPER;
  p.epsilon = 0.01;
  faro_contribution c;
  faro_secure_rng *secure = NULL;
  faro_release *r = NULL;
  faro_error refusal = {0};
  assert_ok(faro_contribution_values(&c, 1, false, error));
  assert_ok(faro_secure_open(&secure, error));
  assert_int_equal(faro_release_create(&r, &faro_release_concurrent_bits, &c, &p,
                                       faro_source_all_parties(secure), &refusal),
                   FARO_INVALID);
  assert_non_null(strstr(refusal.message, "table"));
  assert_null(r);
  faro_secure_close(secure);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values__are_clipped_entry_by_entry),
      cmocka_unit_test(test_tree__counts_every_user_exactly_once),
      cmocka_unit_test(test_tree__adds_the_highest_complete_nodes),
      cmocka_unit_test(test_tree__activates_only_what_can_fill_up),
      cmocka_unit_test(test_tree__degrees_are_the_theorems_under_paper),
      cmocka_unit_test(test_tree__refuses_more_shufflers_than_fit),
      cmocka_unit_test(test_tree__memory_does_not_grow_with_the_horizon),
      cmocka_unit_test(test_levels__two_are_as_private_as_claimed_exactly),
      cmocka_unit_test(test_levels__compose_as_their_loss_distributions_do),
      cmocka_unit_test(test_levels__one_level_less_noise_is_not_private),
      cmocka_unit_test(test_levels__load_covers_every_placement_of_a_user),
      cmocka_unit_test(test_paper__vectors_of_bits_need_more_noise),
      cmocka_unit_test(test_secure__sums_are_near_the_truth),
      cmocka_unit_test(test_secure__messages_add_up_to_noisy_sums),
      cmocka_unit_test(test_secure__tables_are_made_where_they_are_drawn_from),
      cmocka_unit_test(test_extremes__run_or_are_refused),
      cmocka_unit_test(test_secure__refuses_tables_that_are_too_large),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
