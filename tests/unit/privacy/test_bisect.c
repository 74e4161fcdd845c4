/* bisect: the returned value satisfies the guarantee, whichever end it is. */
#include <math.h>

#include "privacy/bisect.h"
#include "support/support.h"

static bool at_most(double value, const void *context) { return value <= *(const double *)context; }
static bool at_least(double value, const void *context) { return value >= *(const double *)context; }
static bool within_one_percent(double low, double high) { return high - low <= 0.01 * high; }

static void test_bisect__returns_the_last_value_that_holds(void **state) {
  (void)state;
  static const double edges[] = {1e-9, 0.3, 1, 7.25, 1e6};
  for (int i = 0; i < 5; i++)
    for (int ratio = 0; ratio < 2; ratio++) {
      const faro_bisection most = {.holds = at_most, .context = &edges[i], .ratio = ratio};
      const faro_bisection least = {.holds = at_least, .context = &edges[i], .ratio = ratio};
      const double below = faro_bisect(&most, 1e-12, 1e9);
      const double above = faro_bisect(&least, 1e9, 1e-12);
      assert_true(below <= edges[i] && below >= edges[i] * (1 - 1e-15));
      assert_true(above >= edges[i] && above <= edges[i] * (1 + 1e-15));
    }
}

static void test_bisect__stops_when_the_ends_are_near(void **state) {
  (void)state;
  const double edge = 3;
  const faro_bisection rough = {.holds = at_most, .context = &edge, .near = within_one_percent};
  const double found = faro_bisect(&rough, 1, 10);
  assert_true(found <= edge && found > 0.98 * edge && found < edge * (1 - 1e-6));
  assert_true(faro_bisect(&rough, 2.999, 3.001) == 2.999); /* near enough already: nothing is tried */
}

static void test_bisect__ends_where_no_double_lies_between(void **state) {
  (void)state;
  const double edge = 1;
  const faro_bisection search = {.holds = at_most, .context = &edge};
  assert_true(faro_bisect(&search, 1, nextafter(1, 2)) == 1);
  const double zero = 0;
  const faro_bisection tiny = {.holds = at_most, .context = &zero};
  assert_true(faro_bisect(&tiny, 0, 1) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bisect__returns_the_last_value_that_holds),
      cmocka_unit_test(test_bisect__stops_when_the_ends_are_near),
      cmocka_unit_test(test_bisect__ends_where_no_double_lies_between),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
