/* memo: remembers the last results, and forgets the oldest first. */
#include "privacy/memo.h"
#include "support/support.h"

static void test_memo__finds_what_was_added_and_nothing_else(void **state) {
  (void)state;
  static faro_memo memo;
  const double key[FARO_MEMO_KEYS] = {1, 2};
  const double other[FARO_MEMO_KEYS] = {1, 2, 0, 0, 0, 3};
  const double empty[FARO_MEMO_KEYS] = {0};
  assert_null(faro_memo_find(&memo, key));
  assert_null(faro_memo_find(&memo, empty)); /* a slot that was never used matches nothing */
  *faro_memo_add(&memo, key) = 7;
  assert_true(*faro_memo_find(&memo, key) == 7);
  assert_null(faro_memo_find(&memo, other));
}

static void test_memo__forgets_the_oldest(void **state) {
  (void)state;
  static faro_memo memo;
  for (int i = 0; i <= FARO_MEMO_SLOTS; i++) {
    const double key[FARO_MEMO_KEYS] = {i};
    *faro_memo_add(&memo, key) = 10.0 * i;
  }
  for (int i = 0; i <= FARO_MEMO_SLOTS; i++) {
    const double key[FARO_MEMO_KEYS] = {i};
    const double *value = faro_memo_find(&memo, key);
    assert_int_equal(value == NULL, i == 0);
    if (value) assert_true(*value == 10.0 * i);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_memo__finds_what_was_added_and_nothing_else),
      cmocka_unit_test(test_memo__forgets_the_oldest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
