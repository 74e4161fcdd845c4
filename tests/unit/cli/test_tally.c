/* tally: private sums of a stream whose length nobody knows. Every value is in exactly one stage,
 * noise is as stated, and a server that may see everything has no more of it than shufflers.
 * Statistical checks have fixed seeds and a false-alarm rate of 1e-6 each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sum/tally.h"
#include "support/support.h"

enum { TRUSTS = 3 };

static sum_plan plan_of(size_t trust, double epsilon, uint64_t batch, uint64_t horizon, bool once) {
  return (sum_plan){.trust = trust,
                    .once = once,
                    .params = {.epsilon = epsilon,
                               .delta = 1e-6,
                               .horizon = horizon,
                               .batch = batch,
                               .shufflers = 3,
                               .calibration = FARO_CALIBRATION_TIGHT}};
}

static void open_tally(sum_tally *t, const sum_plan *plan, faro_sim_rng *sim, bool binary) {
  faro_contribution c;
  assert_ok(faro_contribution_values(&c, 1, binary, error));
  assert_ok(sum_tally_open(t, plan, &c, faro_source_simulated(sim), error));
}

/* Adds n values, which are -1/4 except for value `other`, which is 1/2, and ends the input. Returns
 * the number of releases; their sums are in `sum` if it is not NULL. */
static size_t feed(sum_tally *t, uint64_t n, uint64_t other, double *sum) {
  size_t releases = 0;
  bool released = false;
  for (uint64_t i = 0; i <= n; i++) {
    const double x = i == other ? 0.5 : -0.25;
    if (i < n) assert_ok(sum_tally_add(t, &x, &released, error));
    else assert_ok(sum_tally_end(t, &released, error));
    if (released && sum) sum[releases] = t->sum[0];
    releases += released;
  }
  return releases;
}

static void test_tally__covers_every_value(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 1, 1, FARO_ROLE_USER);
  for (size_t trust = 0; trust < TRUSTS; trust++)
    for (uint64_t n = 1; n <= 45; n += n < 22 ? 1 : 11)
      for (int kind = 0; kind < 3; kind++) { /* running; with a horizon that ends in mid-batch; once */
        const sum_plan plan = plan_of(trust, 1000, kind < 2 ? 10 : 0, kind == 1 ? 45 : 0, kind == 2);
        sum_tally t;
        open_tally(&t, &plan, &sim, false);
        assert_int_equal(feed(&t, n, n, NULL), kind == 2 ? 1 : (n + 9) / 10);
        assert_int_equal(t.users, n);
        assert_int_equal(t.waiting, 0);
        assert_true(t.claim.proven);
        assert_true(fabs(t.sum[0] + 0.25 * (double)n) < 3); /* ten standard deviations and more */
        sum_tally_close(&t);
      }
}

/* With the same seed, a value changes the sums of its own stage and of no other: what makes the
 * claim of one stage that of all. */
static void test_tally__stages_have_different_users(void **state) {
  (void)state;
  enum { N = 3130, LAST = 31 };
  static const uint64_t others[] = {5, 1500, 3050, 3129};
  for (size_t trust = 0; trust < TRUSTS; trust++) {
    double plain[LAST + 1], changed[LAST + 1];
    const sum_plan plan = plan_of(trust, 1, 100, 0, false);
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
      faro_sim_rng sim;
      sum_tally t;
      for (int round = 0; round < 2; round++) {
        faro_sim_open(&sim, 1, 2, FARO_ROLE_USER);
        open_tally(&t, &plan, &sim, true); /* binary: nothing is rounded at random */
        assert_int_equal(feed(&t, N, round == 0 ? N : others[k], round == 0 ? plain : changed), LAST + 1);
        sum_tally_close(&t);
      }
      for (size_t i = 0; i <= LAST; i++) {
        const bool covered = i == LAST || others[k] < 100 * (i + 1);
        assert_true(fabs(changed[i] - plain[i] - covered) < 1e-9);
      }
    }
  }
}

/* Errors of n values over many runs: mean 0 and the stated variance, which is that of the noise
 * and, for bits, bounds it closely. */
static void check_noise(const sum_plan *plan, uint64_t n) {
  enum { RUNS = 400 };
  double mean = 0, square = 0, scale = 0;
  faro_sim_rng sim;
  faro_sim_open(&sim, 1, 3, FARO_ROLE_USER);
  for (int run = 0; run < RUNS; run++) {
    sum_tally t;
    open_tally(&t, plan, &sim, false);
    (void)feed(&t, n, n, NULL);
    const double error = t.sum[0] + 0.25 * (double)n;
    mean += error / RUNS;
    square += error * error / RUNS;
    scale = t.scale[0];
    sum_tally_close(&t);
  }
  assert_mean(mean, 0, scale, RUNS);
  assert_variance(fmax(square, 0.97 * scale * scale), scale * scale, 3, RUNS);
  assert_true(square > 0.8 * scale * scale);
}

static void test_tally__what_is_left_at_the_end_has_the_stated_noise(void **state) {
  (void)state;
  for (size_t trust = 0; trust < TRUSTS; trust++) {
    const sum_plan running = plan_of(trust, 1, 4, 10, false);
    check_noise(&running, 9); /* two batches, and one value by itself */
    const sum_plan open = plan_of(trust, 1, 4, 12, false);
    check_noise(&open, 9); /* the same in a batch that could still be filled */
    const sum_plan once = plan_of(trust, 1, 0, 10, true);
    check_noise(&once, 9);
  }
}

/* A single release at the end spends the whole budget: the noise of the Gaussian mechanism. */
static void test_tally__a_total_has_the_noise_of_one_release(void **state) {
  (void)state;
  const double sigma = 1 / faro_gaussian_mu(1, 1e-6);
  for (size_t trust = SUM_TRUST_SHUFFLE; trust <= SUM_TRUST_CENTRAL; trust++) {
    const sum_plan plan = plan_of(trust, 1, 0, 0, true);
    faro_sim_rng sim;
    sum_tally t;
    faro_sim_open(&sim, 1, 4, FARO_ROLE_USER);
    open_tally(&t, &plan, &sim, false);
    assert_int_equal(feed(&t, 2000, 0, NULL), 1);
    assert_true(t.scale[0] >= sigma * 0.999 && t.scale[0] < sigma * 1.02);
    sum_tally_close(&t);
  }
}

/* The scale of every line, for zeros. */
static size_t scales(size_t trust, uint64_t batch, uint64_t horizon, uint64_t n, double *scale) {
  const sum_plan plan = plan_of(trust, 1, batch, horizon, false);
  const double zero = 0;
  faro_sim_rng sim;
  sum_tally t;
  size_t lines = 0;
  bool released = false;
  faro_sim_open(&sim, 1, 5, FARO_ROLE_USER);
  open_tally(&t, &plan, &sim, false);
  for (uint64_t i = 0; i <= n; i++) {
    if (i < n) assert_ok(sum_tally_add(&t, &zero, &released, error));
    else assert_ok(sum_tally_end(&t, &released, error));
    if (released) scale[lines++] = t.scale[0];
  }
  sum_tally_close(&t);
  return lines;
}

/* Over a whole run, in the worst line and on the average. A single line may be luckier behind
 * shufflers, when a large node of their tree has just been completed. */
static void test_tally__a_trusted_server_has_no_more_noise_than_shufflers(void **state) {
  (void)state;
  enum { N = 5000 };
  static double server[N], shuffled[N];
  static const struct {
    uint64_t batch, horizon;
  } cases[] = {{0, 0}, {0, N}, {10, N}, {100, N}, {1000, N}, {100, 0}, {N, N}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const size_t lines = scales(SUM_TRUST_SHUFFLE, cases[k].batch, cases[k].horizon, N, shuffled);
    assert_int_equal(scales(SUM_TRUST_CENTRAL, cases[k].batch, cases[k].horizon, N, server), lines);
    double most[2] = {0}, sum[2] = {0};
    for (size_t i = 0; i < lines; i++) {
      most[0] = fmax(most[0], server[i]);
      most[1] = fmax(most[1], shuffled[i]);
      sum[0] += server[i];
      sum[1] += shuffled[i];
    }
    assert_true(most[0] <= most[1] && sum[0] <= sum[1]);
    if (lines >= 50) assert_true(most[0] < 0.7 * most[1]);
  }
}

/* The number after "name": in the grounds. */
static double ground(const char *grounds, const char *name) {
  const char *at = strstr(grounds, name);
  assert_non_null(at);
  return strtod(strchr(at, ':') + 1, NULL);
}

/* The last batch by itself, of every size, against the exact privacy of its binomial noise. */
static void test_tally__small_last_batches_are_private_by_the_exact_binomial(void **state) {
  (void)state;
  for (uint64_t n = 1; n < 12; n++) {
    const sum_plan plan = plan_of(SUM_TRUST_SHUFFLE, 1, 12, 0, false);
    faro_sim_rng sim;
    sum_tally t;
    faro_sim_open(&sim, 1, 6, FARO_ROLE_USER);
    open_tally(&t, &plan, &sim, true);
    (void)feed(&t, 12 + n, 0, NULL);
    char *grounds = faro_release_grounds(t.stage);
    assert_non_null(grounds);
    const double users = ground(grounds, "\"users\"");
    const double bits = users * ground(grounds, "\"bits\":");
    assert_true(users == (n < 2 ? 2 : (double)n));
    assert_true(faro_bits_delta((uint64_t)bits, 0.5, (uint64_t)ground(grounds, "\"grid\""), 1) <= 1e-6);
    free(grounds);
    sum_tally_close(&t);
  }
}

static void test_tally__memory_may_run_out_anywhere(void **state) {
  (void)state;
  const sum_plan plan = plan_of(SUM_TRUST_CENTRAL, 1, 10, 0, false);
  faro_contribution c;
  faro_sim_rng sim;
  assert_ok(faro_contribution_values(&c, 1, false, error));
  faro_sim_open(&sim, 1, 7, FARO_ROLE_USER);
  bool failed = true;
  for (size_t at = 1; failed; at++) {
    const double x = 0.1;
    bool released = false;
    sum_tally t;
    alloc_fail_at(at);
    faro_status status = sum_tally_open(&t, &plan, &c, faro_source_simulated(&sim), NULL);
    for (int i = 0; i < 1035 && status == FARO_OK; i++) status = sum_tally_add(&t, &x, &released, NULL);
    if (status == FARO_OK) status = sum_tally_end(&t, &released, NULL);
    alloc_fail_at(0);
    failed = status != FARO_OK;
    if (failed) assert_int_equal(status, FARO_MEMORY);
    sum_tally_close(&t);
    assert_true(at < 1000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tally__covers_every_value),
      cmocka_unit_test(test_tally__stages_have_different_users),
      cmocka_unit_test(test_tally__what_is_left_at_the_end_has_the_stated_noise),
      cmocka_unit_test(test_tally__a_total_has_the_noise_of_one_release),
      cmocka_unit_test(test_tally__a_trusted_server_has_no_more_noise_than_shufflers),
      cmocka_unit_test(test_tally__small_last_batches_are_private_by_the_exact_binomial),
      cmocka_unit_test(test_tally__memory_may_run_out_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
