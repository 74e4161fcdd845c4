/* selector: when scores are reused, and failed allocations. */
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

/* The same policy and arms are scored once; a new version of either is scored again. */
static void test_selector__scores_again_only_when_something_changed(void **state) {
  (void)state;
  double *x = aligned_alloc(64, 16 * sizeof *x);
  assert_non_null(x);
  memset(x, 0, 16 * sizeof *x);
  x[0] = 1;
  x[1] = 2;
  faro_arms arms = {.dimension = 1, .count = 2, .stride = 16, .x = x, .version = 1};
  double theta[1] = {1};
  double w[1] = {0};
  faro_policy policy = {.dimension = 1, .theta = theta, .w = w, .beta = 1, .version = 1};
  faro_selector *selector = NULL;
  assert_ok(faro_selector_create(&selector, 1, 2, error));
  assert_int_equal(faro_select(selector, &policy, &arms, NULL), 1);
  x[1] = 0;
  assert_int_equal(faro_select(selector, &policy, &arms, NULL), 1); /* not scored again */
  arms.version = 2;
  assert_int_equal(faro_select(selector, &policy, &arms, NULL), 0);
  theta[0] = -1;
  assert_int_equal(faro_select(selector, &policy, &arms, NULL), 0);
  policy.version = 2;
  assert_int_equal(faro_select(selector, &policy, &arms, NULL), 1);
  double other[1] = {5};
  const faro_policy rival = {
      .dimension = 1, .theta = other, .w = w, .beta = 1, .version = 2}; /* the same versions */
  assert_int_equal(faro_select(selector, &rival, &arms, NULL), 0);
  faro_selector_destroy(selector);
  free(x);
}

static void test_selector__survives_exhaustion(void **state) {
  (void)state;
  faro_selector *selector = NULL;
  assert_survives_exhaustion(faro_selector_create(&selector, 100, 2, error));
  faro_selector_destroy(selector);
  faro_selector_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_selector__scores_again_only_when_something_changed),
      cmocka_unit_test(test_selector__survives_exhaustion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
