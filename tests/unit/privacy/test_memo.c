/* memo: remembers the last results, forgets the oldest first, and gives no thread a wrong one. */
#include <pthread.h>

#include "privacy/memo.h"
#include "support/support.h"

static void test_memo__finds_what_was_kept_and_nothing_else(void **state) {
  (void)state;
  static faro_memo memo;
  const double key[FARO_MEMO_KEYS] = {1, 2};
  const double other[FARO_MEMO_KEYS] = {1, 2, 0, 0, 0, 3};
  const double empty[FARO_MEMO_KEYS] = {0};
  const double kept[FARO_MEMO_VALUES] = {7, 8, 9};
  double value[FARO_MEMO_VALUES] = {-1, -1, -1};
  assert_false(faro_memo_find(&memo, key, value));
  assert_false(faro_memo_find(&memo, empty, value)); /* a slot that was never used matches nothing */
  assert_true(value[0] == -1);
  faro_memo_keep(&memo, key, kept);
  assert_true(faro_memo_find(&memo, key, value));
  assert_memory_equal(value, kept, sizeof value);
  assert_false(faro_memo_find(&memo, other, value));
}

static void test_memo__forgets_the_oldest(void **state) {
  (void)state;
  static faro_memo memo;
  double value[FARO_MEMO_VALUES] = {0};
  for (int i = 0; i <= FARO_MEMO_SLOTS; i++) {
    const double key[FARO_MEMO_KEYS] = {i};
    *value = 10.0 * i;
    for (int k = 0; k < 3; k++) faro_memo_keep(&memo, key, value); /* takes one slot */
  }
  for (int i = 0; i <= FARO_MEMO_SLOTS; i++) {
    const double key[FARO_MEMO_KEYS] = {i};
    assert_int_equal(faro_memo_find(&memo, key, value), i > 0);
    if (i > 0) assert_true(*value == 10.0 * i);
  }
}

/* Threads look for more numbers than there are slots, and keep what they do not find: v, 2 v, 3 v
 * under v. */
static faro_memo shared;

static void *look(void *found) {
  for (unsigned i = 0; i < 30000; i++) {
    const double v = 1 + (i * 2654435761U >> 16) % 3000;
    const double key[FARO_MEMO_KEYS] = {v, -v};
    const double kept[FARO_MEMO_VALUES] = {v, 2 * v, 3 * v};
    double value[FARO_MEMO_VALUES] = {0};
    if (!faro_memo_find(&shared, key, value)) faro_memo_keep(&shared, key, kept);
    else if (value[0] == v && value[1] == 2 * v && value[2] == 3 * v) ++*(long *)found;
    else *(long *)found = -100000;
  }
  return NULL;
}

/* Broken once: nothing taken. */
static void test_memo__gives_no_thread_the_values_of_another_key(void **state) {
  (void)state;
  enum { THREADS = 4 };
  pthread_t thread[THREADS];
  long found[THREADS] = {0};
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, look, &found[i]), 0);
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
  for (int i = 0; i < THREADS; i++) assert_true(found[i] >= 0);
  assert_false(atomic_load(&shared.taken));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_memo__finds_what_was_kept_and_nothing_else),
      cmocka_unit_test(test_memo__forgets_the_oldest),
      cmocka_unit_test(test_memo__gives_no_thread_the_values_of_another_key),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
