/* gate: nobody contributes more often than the bound, or twice in a batch, whatever the stream
 * does. */
#include <string.h>

#include "support/support.h"

enum { USERS = 20, BOUND = 3, BATCH = 5 };

static faro_gate *make(uint64_t users, uint64_t contributions) {
  faro_gate *gate = NULL;
  assert_ok(faro_gate_create(&gate, users, contributions, error));
  return gate;
}

static void refused(faro_gate *gate, uint64_t user, uint64_t batch, const char *why) {
  faro_error error = {0};
  assert_int_equal(faro_gate_admit(gate, user, batch, &error), FARO_INVALID);
  if (!strstr(error.message, why)) fail_msg("\"%s\" does not say \"%s\"", error.message, why);
}

static void test_gate__says_why_it_refuses(void **state) {
  (void)state;
  faro_gate *gate = make(2, 2);
  assert_ok(faro_gate_admit(gate, 0, 0, error));
  refused(gate, 0, 0, "user 0 is already in batch 0");
  assert_ok(faro_gate_admit(gate, 1, 0, error)); /* another user */
  assert_ok(faro_gate_admit(gate, 0, 7, error)); /* a refusal does not count */
  refused(gate, 0, 8, "user 0 has contributed 2 times; at most 2 are allowed");
  refused(gate, 2, 8, "user must be below 2 (got 2)");
  faro_gate_destroy(gate);
  gate = make(1, 10);
  assert_ok(faro_gate_admit(gate, 0, 4, error));
  refused(gate, 0, 3,
          "user 0 is already in batch 4"); /* batches never go back: 3 may have had the user, too */
  faro_gate_destroy(gate);
}

/* A stream of random users, against a table of every admission. */
static void test_gate__keeps_both_bounds_on_any_stream(void **state) {
  (void)state;
  faro_gate *gate = make(USERS, BOUND);
  faro_sim_rng sim;
  faro_sim_open(&sim, 1, 0, FARO_ROLE_VISITOR);
  uint64_t count[USERS] = {0};
  bool inside[USERS] = {false};
  uint64_t waiting = 0;
  uint64_t batch = 0;
  for (int t = 0; t < 2000; t++) {
    const uint64_t user = (uint64_t)(USERS * faro_sim_uniform(&sim));
    const bool may = count[user] < BOUND && !inside[user];
    assert_int_equal(faro_gate_admit(gate, user, batch, NULL) == FARO_OK, may);
    if (!may) continue;
    count[user]++;
    inside[user] = true;
    if (++waiting < BATCH) continue;
    waiting = 0;
    batch++;
    memset(inside, 0, sizeof inside);
  }
  for (int u = 0; u < USERS; u++) assert_true(count[u] <= BOUND);
  /* everyone except those that the last batches could not take */
  assert_true(batch >= USERS * BOUND / BATCH - 2);
  faro_gate_destroy(gate);
}

static void test_gate__refuses_bad_sizes_and_survives_exhaustion(void **state) {
  (void)state;
  faro_gate *gate = NULL;
  faro_error error = {0};
  assert_int_equal(faro_gate_create(&gate, 0, 1, &error), FARO_INVALID);
  assert_int_equal(strncmp(error.message, "population", 10), 0);
  error = (faro_error){0};
  assert_int_equal(faro_gate_create(&gate, 1, 0, &error), FARO_INVALID);
  assert_int_equal(strncmp(error.message, "contributions", 13), 0);
  for (size_t n = 1; n <= 2; n++) {
    error = (faro_error){0};
    alloc_fail_at(n);
    assert_int_equal(faro_gate_create(&gate, 5, 1, &error), FARO_MEMORY);
    alloc_reset();
  }
  assert_null(gate);
  faro_gate_destroy(NULL);
  gate = make(5, 1);
  alloc_reset();
  assert_int_equal(faro_gate_admit(gate, 1, 0, NULL), FARO_OK);
  assert_int_equal(alloc_count(), 0);
  faro_gate_destroy(gate);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gate__says_why_it_refuses),
      cmocka_unit_test(test_gate__keeps_both_bounds_on_any_stream),
      cmocka_unit_test(test_gate__refuses_bad_sizes_and_survives_exhaustion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
