/* claims: their algebra, and the ledger. */
#include <math.h>
#include <string.h>

#include "support/support.h"

static faro_claim claim(double epsilon, double delta, faro_trust trust, bool proven) {
  return faro_claim_make(epsilon, delta, trust, proven, "theorem %g", epsilon);
}

static void test_parallel__disjoint_users_keep_the_weaker_claim(void **state) {
  (void)state;
  const faro_claim a = claim(1, 1e-7, FARO_TRUST_LOCAL, true);
  const faro_claim b = claim(0.5, 1e-6, FARO_TRUST_LOCAL, true);
  const faro_claim both = faro_claim_parallel(&a, &b);
  assert_true(both.epsilon == 1 && both.delta == 1e-6 && both.trust == FARO_TRUST_LOCAL && both.proven);
}

/* Trust from the weakest to the strongest: a combination has the weaker of both. */
static void test_trust__is_ordered(void **state) {
  (void)state;
  const faro_trust order[] = {FARO_TRUST_JOINT, FARO_TRUST_CONCURRENT, FARO_TRUST_SHUFFLE, FARO_TRUST_LOCAL};
  for (size_t i = 0; i < 4; i++)
    for (size_t j = 0; j < 4; j++) {
      const faro_claim a = claim(1, 1e-6, order[i], true);
      const faro_claim b = claim(1, 1e-6, order[j], true);
      assert_int_equal(faro_claim_parallel(&a, &b).trust, order[i < j ? i : j]);
    }
}

/* A claim for c rounds of a user holds for fewer rounds, and for one round at event level. */
static void test_levels__the_fewer_rounds_stay(void **state) {
  (void)state;
  const faro_claim event = claim(1, 1e-6, FARO_TRUST_LOCAL, true);
  assert_true(event.level == FARO_LEVEL_EVENT && event.contributions == 1);
  faro_claim four = event;
  four.level = FARO_LEVEL_USER;
  four.contributions = 4;
  faro_claim twelve = four;
  twelve.contributions = 12;
  const faro_claim users = faro_claim_parallel(&twelve, &four);
  assert_true(users.level == FARO_LEVEL_USER && users.contributions == 4);
  const faro_claim mixed = faro_claim_parallel(&twelve, &event);
  assert_true(mixed.level == FARO_LEVEL_EVENT && mixed.contributions == 1);
  const faro_claim none = faro_claim_none();
  assert_int_equal(faro_claim_parallel(&event, &none).trust, FARO_TRUST_NONE);
  faro_claim doubtful = event;
  doubtful.proven = false;
  assert_false(faro_claim_parallel(&event, &doubtful).proven);
  for (int l = FARO_LEVEL_EVENT; l <= FARO_LEVEL_USER; l++)
    assert_true(*faro_level_name((faro_level)l) != '\0');
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
      cmocka_unit_test(test_parallel__disjoint_users_keep_the_weaker_claim),
      cmocka_unit_test(test_trust__is_ordered),
      cmocka_unit_test(test_levels__the_fewer_rounds_stay),
      cmocka_unit_test(test_ledger__refuses_when_all_is_spent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
