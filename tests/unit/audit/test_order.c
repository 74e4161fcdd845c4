/* order: a uniform order passes, and orders that are not are found. The shuffler passes through the
 * test's hands. */
#include <string.h>

#include "audit/bounds.h"
#include "audit/order.h"
#include "random/samplers.h"
#include "support/support.h"

enum { USERS = 20, WIDEST = 64 };

void __real_faro_shuffler_permute(faro_rng *rng, void *messages, size_t count, size_t size);
void __wrap_faro_shuffler_permute(faro_rng *rng, void *messages, size_t count, size_t size);

static enum { UNIFORM, NOTHING, ROTATION, ANY_SWAPS, SHORT, REVERSAL } way;

static void swap(unsigned char *m, size_t size, size_t i, size_t j) {
  unsigned char kept[WIDEST];
  memcpy(kept, m + i * size, size);
  memmove(m + i * size, m + j * size, size);
  memcpy(m + j * size, kept, size);
}

static void rotate(unsigned char *m, size_t count, size_t size, size_t by) {
  for (; by > 0; by--)
    for (size_t i = 0; i + 1 < count; i++) swap(m, size, i, i + 1);
}

void __wrap_faro_shuffler_permute(faro_rng *rng, void *messages, size_t count, size_t size) {
  unsigned char *m = messages;
  switch (way) {
  case UNIFORM: __real_faro_shuffler_permute(rng, messages, count, size); break;
  case NOTHING: break;
  case ROTATION: rotate(m, count, size, faro_rng_next(rng) % count); break;
  case ANY_SWAPS: /* the usual mistake: every place with any other */
    for (size_t i = 0; i < count; i++) swap(m, size, i, faro_rng_next(rng) % count);
    break;
  case SHORT: __real_faro_shuffler_permute(rng, messages, count - 1, size); break;
  case REVERSAL:
    for (size_t i = 0; faro_rng_next(rng) % 2 && i < count / 2; i++) swap(m, size, i, count - 1 - i);
    break;
  }
}

static faro_order audit(uint64_t users, uint64_t trials, double alpha, uint64_t seed) {
  const faro_release_params params = {
      .epsilon = 1, .delta = 0.1, .horizon = USERS, .batch = USERS, .calibration = FARO_CALIBRATION_TIGHT};
  faro_contribution number;
  faro_release *r = NULL;
  faro_sim_rng stream;
  faro_order order = {0};
  faro_sim_open(&stream, seed, 0, FARO_ROLE_USER);
  assert_ok(faro_contribution_values(&number, 1, false, error));
  assert_ok(faro_release_create(&r, faro_release_kind_find("shuffle-laplace"), &number, &params,
                                faro_source_simulated(&stream), error));
  assert_ok(faro_order_audit(r, &stream, users, trials, alpha, &order, error));
  faro_release_destroy(r);
  return order;
}

static void test_order__a_uniform_one_passes(void **state) {
  (void)state;
  way = UNIFORM;
  const uint64_t users[] = {2, 3, USERS, 63, 64, 65, 200};
  for (size_t i = 0; i < sizeof users / sizeof *users; i++)
    assert_true(audit(users[i], 1000, FALSE_ALARM, i).uniform);
}

/* At most a tenth of the audits may find something at a rate of a tenth. */
static void test_order__false_alarms_are_as_rare_as_stated(void **state) {
  (void)state;
  uint64_t alarms = 0;
  way = UNIFORM;
  for (uint64_t seed = 0; seed < 200; seed++) alarms += !audit(USERS, 200, 0.1, seed).uniform;
  print_message("  %llu of 200\n", (unsigned long long)alarms);
  assert_true(faro_proportion_low(alarms, 200, FALSE_ALARM) <= 0.1);
}

static void test_order__others_are_found(void **state) {
  (void)state;
  for (way = NOTHING; way <= REVERSAL; way++)
    for (int crowd = 0; crowd < 2; crowd++) {
      const bool few = way == ANY_SWAPS; /* a third too often at worst */
      const faro_order order = audit(crowd ? 50 : USERS, few ? 30000 : 1000, FALSE_ALARM, 1);
      print_message("  way %d: %s, power %.2f\n", (int)way, order.uniform ? "uniform" : "found", order.power);
      assert_false(order.uniform);
    }
}

/* A place is found if it is taken as often as the power says. */
static void test_order__power_falls_with_trials(void **state) {
  (void)state;
  way = UNIFORM;
  assert_true(audit(USERS, 1000, FALSE_ALARM, 1).power > audit(USERS, 10000, FALSE_ALARM, 1).power);
  assert_true(audit(USERS, 10000, FALSE_ALARM, 1).power > 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order__a_uniform_one_passes),
      cmocka_unit_test(test_order__false_alarms_are_as_rare_as_stated),
      cmocka_unit_test(test_order__others_are_found),
      cmocka_unit_test(test_order__power_falls_with_trials),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
