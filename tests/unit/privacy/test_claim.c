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

/* The fewer actions an adversary may see, the less is claimed. Broken once: without the check in
 * faro_claim_meets, a shuffled claim whose actions must stay hidden counted as joint privacy. */
static void test_actions__that_must_stay_hidden_give_no_joint_privacy(void **state) {
  (void)state;
  const faro_claim joint = claim(1, 1e-6, FARO_TRUST_JOINT, true);
  faro_claim shuffled = claim(1, 1e-6, FARO_TRUST_SHUFFLE, true);
  faro_claim hidden = shuffled;
  faro_claim central = joint;
  faro_error error = {0};
  hidden.actions = FARO_ACTIONS_HIDDEN;
  central.actions = FARO_ACTIONS_ALL;
  assert_int_equal(faro_claim_meets(&shuffled, "a", &joint, "b asks", &error), FARO_OK);
  assert_int_equal(faro_claim_meets(&central, "a", &joint, "b asks", &error), FARO_OK);
  assert_int_equal(faro_claim_meets(&hidden, "a", &joint, "b asks", &error), FARO_INVALID);
  assert_string_equal(error.message, "actions that an adversary of a may see are hidden, and b asks others");
  error = (faro_error){0};
  assert_int_equal(faro_claim_meets(&shuffled, "a", &central, "b asks", &error), FARO_INVALID);
  const faro_claim both = faro_claim_parallel(&joint, &hidden);
  assert_true(both.trust == FARO_TRUST_JOINT && both.actions == FARO_ACTIONS_HIDDEN);
  assert_int_equal(faro_claim_parallel(&central, &joint).actions, FARO_ACTIONS_OTHERS);
  assert_int_equal(faro_claim_parallel(&central, &central).actions, FARO_ACTIONS_ALL);
}

static void test_actions__are_part_of_what_is_printed(void **state) {
  (void)state;
  faro_claim joint = claim(1, 1e-6, FARO_TRUST_JOINT, true);
  faro_claim shuffled = claim(1, 1e-6, FARO_TRUST_SHUFFLE, true);
  const faro_claim none = faro_claim_none();
  char view[FARO_VIEW_SIZE];
  assert_string_equal(faro_claim_trust(&joint), "joint");
  assert_string_equal(faro_claim_view(&joint, view), faro_trust_view(FARO_TRUST_JOINT));
  assert_string_equal(faro_claim_view(&none, view), "everything");
  joint.actions = shuffled.actions = FARO_ACTIONS_ALL;
  assert_string_equal(faro_claim_trust(&joint), "central");
  assert_string_equal(faro_claim_view(&joint, view),
                      "everything that is published, and the actions of all users");
  assert_string_equal(faro_claim_trust(&shuffled), "shuffle");
  assert_string_equal(faro_claim_view(&shuffled, view),
                      "the shuffled messages of each batch, and the actions of all users");
  shuffled.actions = FARO_ACTIONS_HIDDEN;
  assert_non_null(strstr(faro_claim_view(&shuffled, view), "must stay hidden"));
}

static void test_text__is_rounded_up_and_says_what_is_assumed(void **state) {
  (void)state;
  char line[FARO_CLAIM_SIZE];
  faro_claim c = claim(1.2345642, 1.2345642e-6, FARO_TRUST_JOINT, true);
  assert_string_equal(faro_claim_text(&c, line), "(1.23457, 1.23457e-6), proven, trust joint, event level");
  assert_int_equal(faro_claim_assumed(c.by), 0);
  c.level = FARO_LEVEL_USER;
  c.contributions = 3;
  faro_claim_assume(&c, NULL);
  faro_claim_assume(&c, "ranges are public");
  assert_int_equal(faro_claim_assumed(c.by), strlen("assumes that ranges are public"));
  strcat(c.by, "; " FARO_REWARDS_ONLY); // NOLINT: it has room
  assert_string_equal(faro_claim_text(&c, line),
                      "(1.23457, 1.23457e-6), proven, trust joint, user level, 3 rounds, assumes that ranges "
                      "are public, rewards only: arms are public");
  faro_claim none = faro_claim_none();
  faro_claim_assume(&none, "ranges are public");
  assert_string_equal(faro_claim_text(&none, line), "no privacy");
  assert_int_equal(faro_claim_assumed(none.by), 0);
}

static void test_parallel__local_parts_stay_if_both_have_them(void **state) {
  (void)state;
  faro_claim a = claim(1, 1e-6, FARO_TRUST_SHUFFLE, true);
  faro_claim b = a;
  const faro_claim local = claim(3, 0, FARO_TRUST_LOCAL, true);
  const faro_claim joint = claim(1, 1e-6, FARO_TRUST_JOINT, true);
  a.local_epsilon = 2;
  a.local_delta = 1e-7;
  assert_true(faro_claim_parallel(&a, &b).local_epsilon == 0);
  b.local_epsilon = 5;
  assert_true(faro_claim_parallel(&a, &b).local_epsilon == 5);
  assert_true(faro_claim_parallel(&a, &b).local_delta == 1e-7);
  assert_true(faro_claim_parallel(&a, &local).local_epsilon == 3);
  assert_true(faro_claim_parallel(&a, &joint).local_epsilon == 0);
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
      cmocka_unit_test(test_actions__that_must_stay_hidden_give_no_joint_privacy),
      cmocka_unit_test(test_actions__are_part_of_what_is_printed),
      cmocka_unit_test(test_text__is_rounded_up_and_says_what_is_assumed),
      cmocka_unit_test(test_parallel__local_parts_stay_if_both_have_them),
      cmocka_unit_test(test_ledger__refuses_when_all_is_spent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
