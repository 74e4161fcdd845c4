/* claims: their algebra, and the ledger. */
#include <math.h>
#include <string.h>

#include "support/support.h"

static faro_claim claim(double epsilon, double delta, faro_trust trust, bool proven) {
  return faro_claim_make(epsilon, delta, trust, proven, "theorem %g", epsilon);
}

static void test_sequential__budgets_add_and_trust_is_the_weaker(void **state) {
  (void)state;
  const faro_claim a = claim(1, 1e-6, FARO_TRUST_LOCAL, true);
  const faro_claim b = claim(0.5, 1e-7, FARO_TRUST_SHUFFLE, true);
  const faro_claim both = faro_claim_sequential(&a, &b);
  assert_close(both.epsilon, 1.5, 1e-15);
  assert_close(both.delta, 1.1e-6, 1e-18);
  assert_int_equal(both.trust, FARO_TRUST_SHUFFLE);
  assert_true(both.proven);
  assert_non_null(strstr(both.by, "theorem 0.5"));
  const faro_claim doubtful = claim(1, 0.6, FARO_TRUST_JOINT, false);
  const faro_claim worse = faro_claim_sequential(&doubtful, &doubtful);
  assert_false(worse.proven);
  assert_true(worse.delta == 1);
  const faro_claim none = faro_claim_none();
  assert_int_equal(faro_claim_sequential(&a, &none).trust, FARO_TRUST_NONE);
}

static void test_parallel__disjoint_users_keep_the_weaker_claim(void **state) {
  (void)state;
  const faro_claim a = claim(1, 1e-7, FARO_TRUST_LOCAL, true);
  const faro_claim b = claim(0.5, 1e-6, FARO_TRUST_LOCAL, true);
  const faro_claim both = faro_claim_parallel(&a, &b);
  assert_true(both.epsilon == 1 && both.delta == 1e-6 && both.trust == FARO_TRUST_LOCAL && both.proven);
}

/* k steps from neighbour to neighbour: P0 <= e^eps P1 + delta <= ... */
static void test_group__follows_the_chain_of_neighbours(void **state) {
  (void)state;
  const faro_claim one = claim(0.3, 1e-6, FARO_TRUST_JOINT, true);
  double chain = 0;
  for (uint64_t k = 1; k <= 10; k++) {
    chain = chain * exp(0.3) + 1e-6;
    const faro_claim group = faro_claim_group(&one, k);
    assert_close(group.epsilon, 0.3 * (double)k, 1e-12);
    assert_close(group.delta / chain, 1, 1e-9);
  }
  const faro_claim none = faro_claim_none();
  assert_int_equal(faro_claim_group(&none, 3).trust, FARO_TRUST_NONE);
}

/* Trust from the weakest to the strongest: a combination has the weaker of both. */
static void test_trust__is_ordered(void **state) {
  (void)state;
  const faro_trust order[] = {FARO_TRUST_JOINT, FARO_TRUST_CONCURRENT, FARO_TRUST_SHUFFLE, FARO_TRUST_LOCAL};
  for (size_t i = 0; i < 4; i++)
    for (size_t j = 0; j < 4; j++) {
      const faro_claim a = claim(1, 1e-6, order[i], true);
      const faro_claim b = claim(1, 1e-6, order[j], true);
      assert_int_equal(faro_claim_sequential(&a, &b).trust, order[i < j ? i : j]);
      assert_int_equal(faro_claim_parallel(&a, &b).trust, order[i < j ? i : j]);
      assert_int_equal(faro_claim_joint(&a).trust, FARO_TRUST_JOINT);
    }
}

/* A claim for c rounds of a user holds for fewer, and for one round at event level; a group
 * multiplies them. */
static void test_levels__the_fewer_rounds_stay_and_groups_multiply(void **state) {
  (void)state;
  const faro_claim event = claim(1, 1e-6, FARO_TRUST_LOCAL, true);
  assert_true(event.level == FARO_LEVEL_EVENT && event.contributions == 1);
  const faro_claim four = faro_claim_group(&event, 4);
  assert_true(four.level == FARO_LEVEL_USER && four.contributions == 4);
  const faro_claim twelve = faro_claim_group(&four, 3);
  assert_true(twelve.level == FARO_LEVEL_USER && twelve.contributions == 12);
  assert_close(twelve.epsilon, 12, 1e-12);
  const faro_claim users = faro_claim_sequential(&twelve, &four);
  assert_true(users.level == FARO_LEVEL_USER && users.contributions == 4);
  const faro_claim mixed = faro_claim_parallel(&twelve, &event);
  assert_true(mixed.level == FARO_LEVEL_EVENT && mixed.contributions == 1);
  assert_true(faro_claim_joint(&four).level == FARO_LEVEL_USER && faro_claim_joint(&four).contributions == 4);
  assert_true(faro_claim_group(&twelve, UINT64_MAX).contributions == UINT64_MAX);
  for (int l = FARO_LEVEL_EVENT; l <= FARO_LEVEL_USER; l++)
    assert_true(*faro_level_name((faro_level)l) != '\0');
}

static void test_joint__shuffle_implies_it(void **state) {
  (void)state;
  const faro_claim shuffle = claim(1, 1e-6, FARO_TRUST_SHUFFLE, true);
  const faro_claim joint = faro_claim_joint(&shuffle);
  assert_int_equal(joint.trust, FARO_TRUST_JOINT);
  assert_true(joint.epsilon == 1 && joint.proven);
  const faro_claim none = faro_claim_none();
  assert_int_equal(faro_claim_joint(&none).trust, FARO_TRUST_NONE);
}

static void test_ledger__refuses_when_all_is_spent(void **state) {
  (void)state;
  faro_ledger ledger = {.allowed = 2};
  faro_error error = {0};
  assert_int_equal(faro_ledger_charge(&ledger, &error), FARO_OK);
  assert_int_equal(faro_ledger_charge(&ledger, &error), FARO_OK);
  assert_int_equal(faro_ledger_charge(&ledger, &error), FARO_INVALID);
  assert_int_equal(ledger.charged, 2);
  assert_non_null(strstr(error.message, "budget is spent"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sequential__budgets_add_and_trust_is_the_weaker),
      cmocka_unit_test(test_parallel__disjoint_users_keep_the_weaker_claim),
      cmocka_unit_test(test_group__follows_the_chain_of_neighbours),
      cmocka_unit_test(test_trust__is_ordered),
      cmocka_unit_test(test_levels__the_fewer_rounds_stay_and_groups_multiply),
      cmocka_unit_test(test_joint__shuffle_implies_it),
      cmocka_unit_test(test_ledger__refuses_when_all_is_spent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
