/* curve, proof: lower bounds are exact for the distributions that attain a curve, and what an audit
 * asks of a message is what the releases give it. */
#include <math.h>

#include "audit/bounds.h"
#include "audit/proof.h"
#include "support/support.h"

static const faro_curve GAUSSIAN = {FARO_CURVE_GAUSSIAN, 0};
static const faro_curve LAPLACE = {FARO_CURVE_LAPLACE, 0};

static double laplace_above(double t) { return t > 0 ? exp(-t) / 2 : 1 - exp(t) / 2; }

/* The tests "above t" are the best ones for a shift, at every t. */
static void test_curve__is_attained_by_its_own_distributions(void **state) {
  (void)state;
  for (double shift = 0.1; shift < 5; shift += 0.35)
    for (double t = -3; t < 6; t += 0.25) {
      const double normal = faro_curve_least(GAUSSIAN, normal_cdf(shift - t), normal_cdf(-t));
      if (t < 5 && shift - t < 5) assert_close(normal, shift, 1e-6);
      assert_close(faro_curve_least(LAPLACE, laplace_above(t - shift), laplace_above(t)), shift, 1e-9);
    }
  /* randomized response, of which a share delta tells all */
  for (double epsilon = 0.2; epsilon < 4; epsilon += 0.4) {
    const faro_curve point = {FARO_CURVE_POINT, 0.05};
    const double lies = 0.95 / (1 + exp(epsilon));
    assert_close(faro_curve_least(point, 1 - lies, lies), epsilon, 1e-9);
  }
}

/* A test that refutes (epsilon, delta) refutes the Gaussian on which the claim rests: nothing is
 * lost by testing the curve. */
static void test_curve__is_stronger_than_its_point(void **state) {
  (void)state;
  const double epsilons[] = {0.2, 1, 4};
  const double deltas[] = {0.1, 1e-3, 1e-6};
  for (int e = 0; e < 3; e++)
    for (int d = 0; d < 3; d++) {
      const double slack = 1e-3 * deltas[d];
      const double mu = faro_gaussian_mu(epsilons[e], deltas[d] - slack);
      for (double f = 1e-7; f < 1; f *= 1.3) {
        const double h = exp(epsilons[e]) * f + deltas[d];
        if (h < 1 - 1e-9)
          assert_true(faro_curve_least((faro_curve){FARO_CURVE_GAUSSIAN, slack}, h, f) >= mu * (1 - 1e-6));
      }
    }
}

static void test_curve__shows_nothing_for_a_test_that_guesses(void **state) {
  (void)state;
  for (double rate = 0.01; rate < 1; rate += 0.07)
    for (int form = 0; form < 3; form++)
      assert_true(faro_curve_least((faro_curve){(faro_curve_form)form, 1e-3}, rate, rate) <= 1e-9);
}

/* Just above the power the expected counts refute the claim, just below they do not; and it falls
 * with the number of runs. */
static void test_power__is_where_expected_counts_refute(void **state) {
  (void)state;
  const double mu = 0.3;
  const double alpha = 1e-6;
  double last = INFINITY;
  for (uint64_t n = 1000; n <= 1000000; n *= 10) {
    const double power = faro_curve_power(GAUSSIAN, mu, n, alpha);
    for (int side = 0; side < 2; side++) {
      const double h = normal_cdf(power * (side ? 1.01 : 0.98) / 2);
      const double low = faro_proportion_low((uint64_t)llround((double)n * h), n, alpha);
      assert_int_equal(faro_curve_least(GAUSSIAN, low, 1 - low) > mu, side);
    }
    assert_true(power > mu && power < last);
    last = power;
  }
  assert_true(isinf(faro_curve_power((faro_curve){FARO_CURVE_POINT, 0.1}, 1, 5, 1e-9)));
}

/* `given`: mu or epsilon of one message, from the noise. */
static faro_proof proof_of(const char *kind, const faro_contribution *c, const faro_release_params *params,
                           double *given) {
  faro_release *r = NULL;
  faro_proof proof;
  static faro_claim claim;
  assert_ok(faro_release_create(&r, faro_release_kind_find(kind), c, params, faro_source_none(), error));
  assert_true(faro_proof_message(r, c, (double)params->batch, (double)params->contributions, &proof));
  const faro_noise noise = faro_release_noise(r);
  *given = noise.gaussian ? sqrt((double)params->horizon) / noise.scale[0] : 1 / noise.laplace;
  claim = *faro_release_claim(r);
  proof.claim = &claim;
  faro_release_destroy(r);
  return proof;
}

/* The audit computes forward, from a message to the claim, and the release backward. */
static void test_proof__asks_of_a_message_what_the_release_gives(void **state) {
  (void)state;
  faro_contribution number;
  assert_ok(faro_contribution_values(&number, 1, false, error));
  const double deltas[] = {0.1, 1e-6};
  for (int d = 0; d < 2; d++)
    for (uint64_t visits = 1; visits <= 4; visits += 3) {
      const faro_release_params params = {.epsilon = 1,
                                          .delta = deltas[d],
                                          .horizon = 2000,
                                          .batch = 500,
                                          .level = visits > 1 ? FARO_LEVEL_USER : FARO_LEVEL_EVENT,
                                          .contributions = visits,
                                          .calibration = FARO_CALIBRATION_TIGHT};
      for (int gaussian = 0; gaussian < 2; gaussian++) {
        double given;
        const faro_proof p =
            proof_of(gaussian ? "shuffle-gaussian" : "shuffle-laplace", &number, &params, &given);
        assert_true(p.target.curve.form == (gaussian ? FARO_CURVE_GAUSSIAN : FARO_CURVE_LAPLACE));
        print_message("  needs %.5f, has %.5f\n", p.target.claimed, given);
        assert_true(p.target.claimed >= given && p.target.claimed < 1.02 * given);
        assert_close(faro_proof_epsilon(&p, p.target.claimed), 1, 0.02);
        assert_true(faro_proof_epsilon(&p, 1.3 * p.target.claimed) > 1.05);
      }
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_curve__is_attained_by_its_own_distributions),
      cmocka_unit_test(test_curve__is_stronger_than_its_point),
      cmocka_unit_test(test_curve__shows_nothing_for_a_test_that_guesses),
      cmocka_unit_test(test_power__is_where_expected_counts_refute),
      cmocka_unit_test(test_proof__asks_of_a_message_what_the_release_gives),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
