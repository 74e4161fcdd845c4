/* features: a row's features follow from the row, the seed and what is declared, never from other
 * rows; and they are no longer than 1. */
#include <math.h>
#include <string.h>

#include "data/features.h"
#include "data/standard.h"
#include "support/support.h"

enum { NUMBERS = 5, TWICE = 2 * NUMBERS, WORDS = 3, MOST = 100 };

static faro_features *create(faro_features_params params, uint64_t seed) {
  faro_features *made = NULL;
  faro_sim_rng sim;
  faro_sim_open(&sim, seed, 0, FARO_ROLE_USER);
  assert_ok(faro_features_create(&made, &params, error));
  faro_features_draw(made, &sim);
  return made;
}

typedef struct people {
  double number[NUMBERS];
  uint64_t word[WORDS];
} people;

static people draw(faro_sim_rng *sim) {
  people p;
  for (size_t i = 0; i < NUMBERS; i++)
    p.number[i] = pow(10, 6 * faro_sim_uniform(sim) - 2) * faro_sim_normal(sim);
  for (size_t i = 0; i < WORDS; i++) p.word[i] = 1000 * i + (uint64_t)(20 * faro_sim_uniform(sim));
  return p;
}

static void test_apply__is_at_most_one_long_and_near_it(void **state) {
  (void)state;
  const faro_rows_facts facts = {.rows = 1000, .arms = 4, .numbers = NUMBERS, .words = WORDS};
  const faro_features_params params = {.facts = &facts};
  const size_t p = faro_features_count(&params);
  const double wild[] = {0, 1, -1e300, 1e300, 5e-324, -0.0};
  faro_features *f = create(params, 1);
  faro_sim_rng sim;
  faro_sim_open(&sim, 2, 0, FARO_ROLE_USER);
  for (size_t n = 0; n < 2000; n++) {
    people who = draw(&sim);
    if (n % 4 == 0) who.number[n % NUMBERS] = wild[n / 4 % 6];
    double phi[MOST];
    double square = 0;
    faro_features_apply(f, who.number, who.word, phi);
    for (size_t j = 0; j < p; j++) square += phi[j] * phi[j];
    assert_true(square <= 1 && square > 0.2 - 1e-9);
    assert_true(phi[p - 1] > 0.3); /* the constant, scaled back with the rest */
  }
  faro_features_destroy(f);
}

/* The same row, after others, before others, from a map of its own, and with other facts about the
 * file's ranges. */
static void test_apply__does_not_depend_on_other_rows(void **state) {
  (void)state;
  double least[NUMBERS] = {0};
  double most[NUMBERS] = {1, 1, 1, 1, 1};
  faro_rows_facts facts = {
      .rows = 1000, .arms = 4, .numbers = NUMBERS, .words = WORDS, .least = least, .most = most};
  const faro_features_params params = {.facts = &facts};
  const size_t p = faro_features_count(&params);
  faro_features *busy = create(params, 7);
  double far[NUMBERS] = {9, 9, 9, 9, 1e9};
  facts.most = far;
  faro_features *fresh = create(params, 7);
  faro_features *other = create(params, 8);
  faro_sim_rng sim;
  faro_sim_open(&sim, 3, 0, FARO_ROLE_USER);
  size_t different = 0;
  for (size_t n = 0; n < 6000; n++) { /* more words than are kept */
    people who = draw(&sim);
    who.word[0] += 7919 * n;
    double a[MOST];
    double b[MOST];
    double c[MOST];
    faro_features_apply(busy, who.number, who.word, a);
    if (n % 100 != 0) continue;
    faro_features_apply(fresh, who.number, who.word, b);
    faro_features_apply(other, who.number, who.word, c);
    assert_memory_equal(a, b, p * sizeof *a);
    different += memcmp(a, c, p * sizeof *a) != 0;
  }
  assert_true(different == 60); /* another seed, another map */
  faro_features_destroy(busy);
  faro_features_destroy(fresh);
  faro_features_destroy(other);
}

/* Words alone: every feature is plus or minus its share, so no row is scaled back. */
static void test_words__are_signs_of_one_length(void **state) {
  (void)state;
  const faro_rows_facts facts = {.rows = 1000, .arms = 2, .words = WORDS};
  const faro_features_params params = {.facts = &facts, .components = 10};
  faro_features *f = create(params, 1);
  size_t plus = 0;
  for (uint64_t w = 1; w <= 500; w++) {
    const uint64_t word[WORDS] = {w, 1000 + w, 2000 + w};
    double phi[11];
    faro_features_apply(f, NULL, word, phi);
    for (size_t j = 0; j < 10; j++) {
      assert_close(fabs(phi[j]), sqrt(0.8 / 10), 1e-12);
      plus += phi[j] > 0;
    }
    assert_close(phi[10], sqrt(0.2), 1e-12);
  }
  assert_mean((double)plus / 5000, 0.5, 0.5, 5000);
  faro_features_destroy(f);
}

/* Every column has its share of the features: changing one number changes at least one of them. */
static void test_columns__are_all_seen(void **state) {
  (void)state;
  const faro_rows_facts facts = {.rows = 10000, .arms = 4, .numbers = NUMBERS};
  const faro_features_params params = {.facts = &facts, .components = TWICE};
  faro_features *f = create(params, 4);
  const double at[NUMBERS] = {1, 2, 3, 4, 5};
  double phi[MOST];
  faro_features_apply(f, at, NULL, phi);
  for (size_t i = 0; i < NUMBERS; i++) {
    double moved[NUMBERS];
    double other[MOST];
    size_t changed = 0;
    memcpy(moved, at, sizeof at);
    moved[i] += 0.3;
    faro_features_apply(f, moved, NULL, other);
    const double back = other[TWICE] / phi[TWICE]; /* both may be scaled back */
    for (size_t j = 0; j < TWICE; j++) changed += fabs(other[j] / back - phi[j]) > 1e-9;
    assert_int_equal(changed, 2);
  }
  faro_features_destroy(f);
}

static void test_count__follows_rows_and_arms(void **state) {
  (void)state;
  const struct {
    uint64_t rows;
    size_t arms, most, expected;
  } cases[] = {{1000, 1, 0, 16}, {8000, 2, 0, 32}, {10, 5, 0, 4}, {3600, 9, 0, 10}, {1000000, 100, 9, 9}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const faro_rows_facts facts = {.rows = cases[i].rows, .arms = cases[i].arms, .numbers = 1};
    const faro_features_params params = {.facts = &facts, .most = cases[i].most};
    assert_int_equal(faro_features_count(&params), cases[i].expected + 1);
  }
}

static void test_standard__hints_at_files_that_the_command_writes(void **state) {
  (void)state;
  char out[FARO_STANDARD_HINT];
  assert_string_equal(faro_standard_hint("data/star.csv", out), "; `faro data star` writes it");
  assert_string_equal(faro_standard_hint("/a/data/movielens.csv", out), "; `faro data movielens` writes it");
  assert_string_equal(faro_standard_hint("data/mine.csv", out), "");
  assert_string_equal(faro_standard_hint("star.csv", out), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_apply__is_at_most_one_long_and_near_it),
      cmocka_unit_test(test_apply__does_not_depend_on_other_rows),
      cmocka_unit_test(test_words__are_signs_of_one_length),
      cmocka_unit_test(test_columns__are_all_seen),
      cmocka_unit_test(test_count__follows_rows_and_arms),
      cmocka_unit_test(test_standard__hints_at_files_that_the_command_writes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
