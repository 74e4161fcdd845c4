/* coins: the distribution is binomial, and fast decisions agree with those by long numbers. */
#include <math.h>
#include <stdlib.h>

#include "random/coins.h"
#include "random/samplers.h"
#include "support/support.h"

static double log_binomial(uint64_t n, uint64_t k) {
  return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) - (double)n * log(2);
}

static void check_distribution(uint64_t n, bool refine, size_t draws) {
  faro_arena arena = {0};
  faro_coins coins;
  faro_sim_rng sim;
  assert_ok(faro_coins_init(&coins, &arena, n, error));
  coins.refine = refine;
  faro_sim_open(&sim, n, 0, FARO_ROLE_LUCK);
  double *observed = calloc(n + 1, sizeof *observed);
  double *expected = calloc(n + 1, sizeof *expected);
  for (size_t i = 0; i < draws; i++) {
    const uint64_t k = faro_coins_draw(&coins, &sim.rng);
    assert_true(k <= n);
    observed[k]++;
  }
  for (uint64_t k = 0; k <= n; k++) expected[k] = (double)draws * exp(log_binomial(n, k));
  assert_chi_square(observed, expected, n + 1);
  free(observed);
  free(expected);
  faro_arena_free(&arena);
}

static void test_coins__are_binomial(void **state) {
  (void)state;
  static const uint64_t n[] = {0, 1, 2, 100, 511, 512, 513, 1000, 4097, 47451};
  for (size_t i = 0; i < sizeof n / sizeof *n; i++) check_distribution(n[i], false, 300000);
  check_distribution(600, true, 20000);
}

/* The same stream, once by 127 bits and once by long numbers. */
static void test_coins__are_decided_as_by_long_numbers(void **state) {
  (void)state;
  static const uint64_t n[] = {512, 777, 5000};
  for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
    faro_arena arena = {0};
    faro_coins coins;
    assert_ok(faro_coins_init(&coins, &arena, n[i], error));
    assert_true(coins.kept > 0);
    faro_coins slow = coins;
    slow.refine = true;
    faro_sim_rng a, b;
    faro_sim_open(&a, 7, i, FARO_ROLE_LUCK);
    faro_sim_open(&b, 7, i, FARO_ROLE_LUCK);
    for (int draw = 0; draw < 3000; draw++)
      assert_int_equal(faro_coins_draw(&coins, &a.rng), faro_coins_draw(&slow, &b.rng));
    faro_arena_free(&arena);
  }
}

/* A stream that returns the given words. */
static void tell(faro_sim_rng *sim, const uint64_t *words, size_t count) {
  faro_sim_open(sim, 1, 1, FARO_ROLE_LUCK);
  for (size_t i = 0; i < count; i++) sim->rng.word[count - 1 - i] = words[i];
  sim->rng.left = (uint32_t)count;
}

/* Words at the border: block 0, k = 1, and U in the one interval of 2^-64 that contains the border
 * q_1 = m / (m + 1). The next words decide, by comparison with the border's next bits. */
static void test_coins__at_the_border_use_more_bits(void **state) {
  (void)state;
  enum { N = 600, M = N / 2 };
  faro_arena arena = {0};
  faro_coins coins;
  assert_ok(faro_coins_init(&coins, &arena, N, error));
  const unsigned __int128 first = ((unsigned __int128)M << 64) / (M + 1); /* 64 bits of q_1 */
  const unsigned __int128 rest = ((unsigned __int128)M << 64) % (M + 1);
  const uint64_t second = (uint64_t)((rest << 64) / (M + 1)); /* and the next 64 */
  const uint64_t place = UINT64_MAX / coins.step + 2;         /* faro_exact_below gives 1 */
  const uint64_t head = UINT64_C(1) << 62;                    /* sign +, block 0 */
  faro_sim_rng sim;
  const uint64_t yes[] = {head, place, (uint64_t)first, second - 1};
  tell(&sim, yes, 4);
  assert_int_equal(faro_coins_draw(&coins, &sim.rng), M + 1);
  assert_int_equal(sim.rng.left, 0);
  const uint64_t no[] = {head,      place, (uint64_t)first, second + 1, head,
                         place / 2, 0}; /* then k = 0, accepted at once */
  tell(&sim, no, 7);
  assert_int_equal(faro_coins_draw(&coins, &sim.rng), M);
  assert_int_equal(sim.rng.left, 0);
  faro_arena_free(&arena);
}

static void test_coins__too_many_are_tossed_one_by_one(void **state) {
  (void)state;
  faro_arena arena = {0};
  faro_coins coins;
  assert_ok(faro_coins_init(&coins, &arena, UINT64_C(1) << 40, error));
  assert_int_equal(coins.kept, 0);
  faro_arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_coins__are_binomial),
      cmocka_unit_test(test_coins__are_decided_as_by_long_numbers),
      cmocka_unit_test(test_coins__at_the_border_use_more_bits),
      cmocka_unit_test(test_coins__too_many_are_tossed_one_by_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
