/* table: tests the alias table's probabilities against exact ones, and its draws against them. */
#include <math.h>

#include "random/samplers.h"
#include "random/table.h"
#include "support/support.h"

typedef unsigned __int128 wide;

/* The probability of an outcome in the table, in units of 2^-128. */
static long double mass(const faro_table *t, uint64_t outcome) {
  const wide full = (wide)1 << (128 - t->columns);
  long double parts = 0;
  for (uint64_t i = 0; i < UINT64_C(1) << t->columns; i++) {
    if (t->first + i == outcome) parts += (long double)t->column[i].own;
    if (t->column[i].own < full && t->first + t->column[i].other == outcome)
      parts += (long double)(full - t->column[i].own);
  }
  return parts / 0x1p128L;
}

/* Small n: every probability is a whole number over 2^n or 4^n, which long double holds exactly. */
static void test_table__holds_the_binomial_probabilities(void **state) {
  (void)state;
  for (int quarter = 0; quarter < 2; quarter++)
    for (uint64_t n = 1; n <= (quarter ? 30 : 60); n++) {
      faro_arena arena = {0};
      faro_table t;
      assert_ok(faro_table_init(&t, &arena, n, quarter ? 0.25 : 0.5, 0, error));
      long double sum = 0;
      long double ways = 1; /* n over k */
      for (uint64_t k = 0; k <= n; k++) {
        long double exact = ways * powl(0.5L, quarter ? 2 * (long double)n : (long double)n);
        if (quarter) exact *= powl(3, (long double)(n - k));
        const long double got = mass(&t, k);
        assert_true(fabsl(got - exact) <= FARO_TABLE_ERROR * exact);
        sum += got;
        ways = ways * (long double)(n - k) / (long double)(k + 1);
      }
      assert_true(fabsl(sum - 1) < 1e-18L);
      faro_arena_free(&arena);
    }
}

/* Large n: against the saddle-point formula, which is accurate to about 1e-13 near the mode. */
static void test_table__holds_for_many_bits(void **state) {
  (void)state;
  const uint64_t n = 50000000;
  faro_arena arena = {0};
  faro_table t;
  assert_ok(faro_table_init(&t, &arena, n, 0.5, 0, error));
  for (int z = -7; z <= 7; z++) {
    const double k = round((double)n / 2 + z * sqrt((double)n) / 2);
    const double exact = exp(faro_binomial_log((double)n, 0.5, k));
    assert_close((double)mass(&t, (uint64_t)k) / exact, 1, 1e-9);
  }
  faro_arena_free(&arena);
}

/* Outcomes that a neighbour's shifted table never gives must have almost no mass, however large the
 * shift. */
static void test_table__shifted_tables_overlap(void **state) {
  (void)state;
  for (uint64_t shift = 1; shift <= 20000; shift *= 3) {
    const uint64_t n = 1000000; /* standard deviation 500 */
    faro_arena arena = {0};
    faro_table t;
    assert_ok(faro_table_init(&t, &arena, n, 0.5, shift, error));
    long double alone = 0;
    for (uint64_t i = 0; i < UINT64_C(1) << t.columns && i < shift; i++) {
      const double log_mass = faro_binomial_log((double)n, 0.5, (double)(t.first + i));
      alone += expl((long double)log_mass);
    }
    assert_true(alone <= (long double)FARO_TABLE_MISSING);
    faro_arena_free(&arena);
  }
}

static void test_draw__fits_the_distribution(void **state) {
  (void)state;
  enum { N = 3000000, BITS = 40 };
  faro_arena arena = {0};
  faro_table t;
  double seen[BITS + 1] = {0};
  double expected[BITS + 1];
  faro_sim_rng sim;
  faro_sim_open(&sim, 1, 0, FARO_ROLE_USER);
  assert_ok(faro_table_init(&t, &arena, BITS, 0.25, 0, error));
  for (int i = 0; i < N; i++) {
    const uint64_t k = faro_table_draw(&t, &sim.rng);
    assert_true(k <= BITS);
    seen[k]++;
  }
  for (int k = 0; k <= BITS; k++) expected[k] = N * exp(faro_binomial_log(BITS, 0.25, k));
  assert_chi_square(seen, expected, BITS + 1);
  faro_arena_free(&arena);
}

/* A table and counted bits have the same distribution, at a size that a release uses. */
static void test_draw__has_the_distribution_of_counted_bits(void **state) {
  (void)state;
  enum { N = 400000, BITS = 5000, CELLS = 41 };
  faro_arena arena = {0};
  faro_table t;
  double seen[2][CELLS] = {{0}};
  faro_sim_rng sim;
  faro_sim_open(&sim, 2, 0, FARO_ROLE_USER);
  assert_ok(faro_table_init(&t, &arena, BITS, 0.5, 0, error));
  for (int i = 0; i < N; i++)
    for (int way = 0; way < 2; way++) {
      const double k =
          (double)(way ? faro_table_draw(&t, &sim.rng) : faro_exact_binomial_half(&sim.rng, BITS));
      const double cell = floor((k - BITS / 2.0) / 8 + CELLS / 2.0);
      seen[way][(int)fmin(CELLS - 1, fmax(0, cell))]++;
    }
  assert_same_counts(seen[0], seen[1], CELLS);
  faro_arena_free(&arena);
}

static void test_table__refuses_too_large_ones_and_survives_exhausted_memory(void **state) {
  (void)state;
  faro_arena arena = {0};
  faro_table t;
  faro_error error = {0};
  assert_int_equal(faro_table_init(&t, &arena, UINT64_C(1) << 50, 0.5, 0, &error), FARO_INVALID);
  for (size_t n = 1; n <= 4; n++) {
    alloc_fail_at(n);
    assert_int_equal(faro_table_init(&t, &arena, 100, 0.5, 0, &error), FARO_MEMORY);
    alloc_reset();
    faro_arena_free(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_table__holds_the_binomial_probabilities),
      cmocka_unit_test(test_table__holds_for_many_bits),
      cmocka_unit_test(test_table__shifted_tables_overlap),
      cmocka_unit_test(test_draw__fits_the_distribution),
      cmocka_unit_test(test_draw__has_the_distribution_of_counted_bits),
      cmocka_unit_test(test_table__refuses_too_large_ones_and_survives_exhausted_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
