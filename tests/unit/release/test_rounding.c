/* rounding: the lanes against the plain loop. That the plain loop is unbiased, and exact to 2^-32,
 * is tested with the releases (test_release_noise). */
#include <math.h>
#include <string.h>

#include "release/rounding.h"
#include "support/support.h"

enum { MOST = 40 };

static const faro_grid_of_steps grid = {.entry = 1.5, .step = 0.07, .steps = 43};

/* Entries on the grid, between, at both ends, beyond them, and none at all. */
static void fill(double *z, faro_sim_rng *sim) {
  for (size_t i = 0; i < MOST; i++) z[i] = 4 * faro_sim_uniform(sim) - 2;
  z[3] = (double)NAN;
  z[5] = INFINITY;
  z[8] = -INFINITY;
  z[9] = grid.entry;
  z[14] = -grid.entry;
  z[17] = 0.07 - grid.entry;
}

static void test_round__lanes_are_the_plain_loop(void **state) {
  (void)state;
  faro_sim_rng source;
  faro_sim_rng lanes;
  faro_sim_open(&source, 1, 0, FARO_ROLE_CONTEXT);
  faro_sim_open(&lanes, 1, 0, FARO_ROLE_USER);
  faro_sim_rng plain = lanes;
  for (size_t round = 0; round < 50; round++)
    for (size_t length = 0; length <= MOST; length++) {
      double z[MOST];
      uint64_t ones[2][MOST + 1];
      fill(z, &source);
      for (size_t i = 0; i <= MOST; i++) ones[0][i] = ones[1][i] = i;
      faro_plain_round(&plain.rng, &grid, z, ones[0], length);
      faro_sim_round(&lanes, &grid, z, ones[1], length);
      assert_memory_equal(ones[0], ones[1], sizeof ones[0]);
      assert_int_equal(plain.rng.left, lanes.rng.left);
    }
  assert_true(faro_rng_next(&plain.rng) == faro_rng_next(&lanes.rng));
}

static void test_round__stays_within_the_grid_and_a_step_of_the_number(void **state) {
  (void)state;
  faro_sim_rng source;
  faro_sim_open(&source, 2, 0, FARO_ROLE_CONTEXT);
  for (size_t round = 0; round < 500; round++) {
    double z[MOST];
    uint64_t ones[MOST] = {0};
    fill(z, &source);
    faro_sim_round(&source, &grid, z, ones, MOST);
    for (size_t i = 0; i < MOST; i++) {
      const double steps = fmin(fmax((z[i] + grid.entry) / grid.step, 0), (double)grid.steps); /* NaN: 0 */
      assert_true(ones[i] <= grid.steps);
      assert_true(fabs((double)ones[i] - steps) < 1 + 1e-9);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round__lanes_are_the_plain_loop),
      cmocka_unit_test(test_round__stays_within_the_grid_and_a_step_of_the_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
