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
      cmocka_unit_test(test_joint__shuffle_implies_it),
      cmocka_unit_test(test_ledger__refuses_when_all_is_spent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
