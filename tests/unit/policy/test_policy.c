/* policy: the score on a device, and linalg's scores of many arms, which follow the same
 * contract. */
#include <math.h>
#include <stdlib.h>

#include "support/support.h"

/* By hand: theta = (2, -1), W = [1 0; 3 4], x = (1, 1): 2 - 1 + 0.5 sqrt(1 + 49). */
static void test_policy__score_is_the_estimate_plus_the_width(void **state) {
  (void)state;
  double theta[] = {2, -1}, w[] = {1, 3, 4}, x[] = {1, 1};
  const faro_policy policy = {.dimension = 2, .theta = theta, .w = w, .beta = 0.5};
  assert_int_equal(faro_policy_w_length(2), 3);
  assert_close(faro_policy_score(&policy, x), 1 + 0.5 * sqrt(50), 1e-15);
}

static void fill(faro_sim_rng *sim, double *numbers, size_t count) {
  for (size_t i = 0; i < count; i++) numbers[i] = faro_sim_normal(sim);
}

/* Small dimensions and those that use BLAS, with whole vectors of arms and odd numbers. */
static void test_policy__linalg_scores_follow_the_same_contract(void **state) {
  (void)state;
  static const size_t dimension[] = {1, 2, 5, 17, 64, 100}, count[] = {1, 3, 16, 50};
  faro_sim_rng sim;
  faro_sim_open(&sim, 1, 0, FARO_ROLE_CONTEXT);
  for (size_t i = 0; i < 6; i++)
    for (size_t k = 0; k < 4; k++) {
      const size_t d = dimension[i], n = count[k], stride = faro_arm_stride(n);
      double *numbers = calloc(d + faro_policy_w_length(d) + n * d, sizeof *numbers);
      double *columns = aligned_alloc(64, d * stride * sizeof *columns);
      double *score = aligned_alloc(64, stride * sizeof *score);
      double *scratch = aligned_alloc(64, (faro_score_scratch(d, stride) + 8) / 8 * 64);
      double *theta = numbers, *w = theta + d, *rows = w + faro_policy_w_length(d);
      fill(&sim, numbers, d + faro_policy_w_length(d) + n * d);
      for (size_t a = 0; a < stride; a++)
        for (size_t j = 0; j < d; j++) columns[j * stride + a] = a < n ? rows[a * d + j] : 0;
      const faro_policy policy = {.dimension = d, .theta = theta, .w = w, .beta = 0.7};
      const faro_arms arms = {.dimension = d, .count = n, .stride = stride, .x = columns};
      const size_t best = faro_score(&arms, theta, w, policy.beta, score, scratch);
      for (size_t a = 0; a < n; a++) {
        const double alone = faro_policy_score(&policy, rows + a * d);
        assert_close(score[a], alone, 1e-12 * (1 + fabs(alone)) * (double)d);
        assert_true(score[a] <= score[best]);
      }
      free(numbers);
      free(columns);
      free(score);
      free(scratch);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_policy__score_is_the_estimate_plus_the_width),
      cmocka_unit_test(test_policy__linalg_scores_follow_the_same_contract),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
