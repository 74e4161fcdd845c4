/* phases: releases of a single batch, as elimination makes them: a user's rounds in several of them
 * keep within the budget; exact noise; Laplace noise behind a shuffler. */
#include <math.h>
#include <string.h>

#include "release/bits.h"
#include "support/support.h"

enum { M0 = 3, PHASES = 5 };

static const uint64_t users_of[PHASES] = {2, 7, 40, 300, 5000};

static faro_release_params phase(uint64_t users, uint64_t contributions) {
  return (faro_release_params){.epsilon = 1,
                               .delta = 0.01,
                               .horizon = users,
                               .batch = users,
                               .crowd = users,
                               .level = contributions > 1 ? FARO_LEVEL_USER : FARO_LEVEL_EVENT,
                               .contributions = contributions,
                               .anytime = true,
                               .calibration = FARO_CALIBRATION_TIGHT};
}

static faro_release *make(const char *name, const faro_release_params *p) {
  faro_contribution c;
  faro_release *r = NULL;
  assert_ok(faro_contribution_values(&c, 1, false, error));
  assert_ok(faro_release_create(&r, faro_release_kind_find(name), &c, p, faro_source_none(), error));
  assert_true(faro_release_claim(r)->proven);
  assert_int_equal(faro_release_claim(r)->contributions, p->contributions);
  return r;
}

/* What one round in phase i costs: mu^2 and slack of Gaussian-backed noise, or epsilon of Laplace
 * noise. A release states what M0 rounds cost. */
static void cost_of(const char *name, uint64_t users, double *cost, double *slack) {
  const faro_release_params p = phase(users, M0);
  faro_release *r = make(name, &p);
  double mu = 0;
  const bool gaussian = faro_release_gaussian(r, 1, &mu, slack);
  const double b = faro_release_noise(r).laplace;
  const double sigma = faro_release_noise(r).scale[0] / sqrt((double)users); /* of a user: local-gaussian */
  assert_true(!gaussian || b == 0);
  *cost = gaussian ? mu * mu / M0 : b > 0 ? 1 / b : 1 / (sigma * sigma);
  *slack = gaussian ? *slack / M0 : 0;
  faro_release_destroy(r);
}

/* All ways in which a user is in at most M0 of five phases. The dearest costs the whole budget, and
 * not more. */
static void test_phases__every_placement_of_a_users_rounds_is_within_the_budget(void **state) {
  (void)state;
  static const char *const kinds[] = {"central",    "central-bits",    "shuffle-bits", "local-gaussian",
                                      "local-bits", "central-laplace", "local-laplace"};
  for (size_t k = 0; k < 7; k++) {
    double cost[PHASES];
    double slack[PHASES];
    double dearest = 0;
    for (size_t i = 0; i < PHASES; i++) cost_of(kinds[k], users_of[i], &cost[i], &slack[i]);
    for (unsigned in = 0; in < 1U << PHASES; in++) {
      double total = 0;
      double slacks = 0;
      int rounds = 0;
      for (size_t i = 0; i < PHASES; i++) {
        if (!(in >> i & 1)) continue;
        total += cost[i];
        slacks += slack[i];
        rounds++;
      }
      if (rounds > M0) continue;
      const double spent = k < 5 ? faro_gaussian_delta(sqrt(total), 1) + slacks : 0.01 * total;
      assert_true(spent <= 0.01 * (1 + 1e-9));
      dearest = fmax(dearest, spent);
    }
    assert_true(dearest > 0.0095);
  }
}

/* ---- two binomial counts, exactly */

enum { STEPS = 20, REACH = 1000 }; /* grid steps of a reward; counts this far from the mean are listed */

static double law[2 * REACH + 1]; /* P(mean + i - REACH ones) */

static double chance(int i) { return i >= 0 && i <= 2 * REACH ? law[i] : 0; }

static double draw_law(uint64_t contributions) {
  faro_release_params p = phase(100, contributions);
  p.grid = STEPS;
  faro_release *r = make("central-bits", &p);
  const double n = (double)faro_bits_in(r)->level[0].noise[0].noise;
  assert_true(n > 4 * REACH && REACH > 7 * sqrt(n) / 2);
  for (int i = 0; i <= 2 * REACH; i++) {
    const double k = floor(n / 2) + i - REACH;
    law[i] = exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2));
  }
  faro_release_destroy(r);
  return n;
}

/* sum_k max(0, a P(k) - e P(k - shift)) */
static double excess(double a, double e, int shift) {
  double sum = 0;
  for (int k = 0; k <= 2 * REACH; k++) sum += fmax(0, a * law[k] - e * chance(k - shift));
  return sum;
}

/* delta(epsilon) of two phases, in both of which a user's reward changes from one end to the
 * other, up or down: the direction in the second may depend on what the first published, as its
 * arms do. */
static double exact_delta(double epsilon) {
  double delta = 0;
  for (int j = 0; j <= 2 * REACH; j++) {
    if (law[j] < 1e-9) continue;
    const double e = exp(epsilon) * chance(j - STEPS);
    delta += fmax(excess(law[j], e, STEPS), excess(law[j], e, -STEPS));
  }
  return delta;
}

static void test_phases__two_exact_counts_of_a_user_are_private_together(void **state) {
  (void)state;
  const double enough = draw_law(2);
  const double good = exact_delta(1);
  const double few = draw_law(1);
  print_message("%g noise bits: delta %g; %g, as for a single phase: %g\n", enough, good, few,
                exact_delta(1));
  assert_true(good <= 0.01 && good > 0.005);
  assert_true(few < enough && exact_delta(1) > 0.02); /* noise for one phase does not cover two */
}

/* The only central noise of elimination that may be deployed. */
static void test_central_bits__of_one_batch_can_be_deployed(void **state) {
  (void)state;
  const faro_release_params p = phase(50, 1);
  faro_contribution c;
  faro_release *r = NULL;
  faro_secure_rng *secure = NULL;
  assert_true(faro_release_central_bits.phases && faro_release_kind_exact(&faro_release_central_bits));
  assert_ok(faro_contribution_values(&c, 1, false, error));
  assert_ok(faro_secure_open(&secure, error));
  assert_ok(
      faro_release_create(&r, &faro_release_central_bits, &c, &p, faro_source_all_parties(secure), error));
  const double half = 0.5;
  for (int u = 0; u < 50; u++) assert_int_equal(faro_release_absorb(r, &half, 0), u == 49);
  assert_true(fabs(faro_release_statistics(r).sum[0] - 25) < 8 * faro_release_scale(r, 0));
  /* about the noise of the Gaussian mechanism */
  assert_true(faro_release_scale(r, 0) < 1.02 / faro_gaussian_mu(1, 0.01));
  faro_release_destroy(r);
  faro_secure_close(secure);
}

/* Every release of a user cuts noise for a billionth of delta: what is reserved covers so many. */
static void test_cuts__are_counted_for_every_release_of_a_user(void **state) {
  (void)state;
  const faro_release_kind *const kinds[] = {&faro_release_central_bits, &faro_release_shuffle_bits};
  faro_contribution c;
  assert_ok(faro_contribution_values(&c, 1, false, error));
  for (int i = 0; i < 4; i++) {
    const uint64_t most = i < 2 ? 100000 : 100001;
    const faro_release_params p = {.epsilon = 1,
                                   .delta = 1e-6,
                                   .horizon = 50000,
                                   .batch = 50000,
                                   .level = FARO_LEVEL_USER,
                                   .contributions = most,
                                   .anytime = true,
                                   .calibration = FARO_CALIBRATION_TIGHT};
    faro_release *r = NULL;
    faro_error refusal = {0};
    const faro_status status = faro_release_create(&r, kinds[i % 2], &c, &p, faro_source_none(), &refusal);
    if (i < 2 && status != FARO_OK) fail_msg("%s", refusal.message);
    if (i >= 2) {
      assert_int_equal(status, FARO_INVALID);
      assert_non_null(strstr(refusal.message, "contributions must be at most 100000"));
    }
    faro_release_destroy(r);
  }
}

/* Hanna et al. 2022, Alg. 3 against Alg. 2 at the same epsilon: never more noise, whatever the
 * phase, and less in large ones. */
static void test_shuffle_laplace__never_has_more_noise_than_local(void **state) {
  (void)state;
  static const double epsilons[] = {0.01, 0.1, 1, 3, 10};
  size_t less = 0;
  for (size_t e = 0; e < 5; e++)
    for (size_t i = 0; i < PHASES; i++)
      for (uint64_t m = 1; m <= M0; m += 2)
        for (int c = 0; c < FARO_CALIBRATION_COUNT; c += 2) { /* paper and tight */
          faro_release_params p = phase(users_of[i], m);
          p.epsilon = epsilons[e];
          p.calibration = (faro_calibration)c;
          if (m > 1 && c == FARO_CALIBRATION_PAPER) continue; /* no theorem */
          faro_release *shuffled = make("shuffle-laplace", &p);
          faro_release *local = make("local-laplace", &p);
          const double one = faro_release_noise(shuffled).laplace;
          const double other = faro_release_noise(local).laplace;
          assert_true(one <= other * (1 + 1e-12));
          less += one < other / 2;
          faro_release_destroy(shuffled);
          faro_release_destroy(local);
        }
  assert_true(less > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_phases__every_placement_of_a_users_rounds_is_within_the_budget),
      cmocka_unit_test(test_phases__two_exact_counts_of_a_user_are_private_together),
      cmocka_unit_test(test_central_bits__of_one_batch_can_be_deployed),
      cmocka_unit_test(test_cuts__are_counted_for_every_release_of_a_user),
      cmocka_unit_test(test_shuffle_laplace__never_has_more_noise_than_local),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
