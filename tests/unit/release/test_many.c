/* many: users of a stream of bits, many at a time, against the same users one after another. */
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "release/many.h"
#include "support/support.h"

enum { N = 6000 };

static uint64_t bits[N / 64 + 1];

static void draw_bits(uint64_t seed) {
  faro_sim_rng sim;
  faro_sim_open(&sim, seed, 0, FARO_ROLE_CONTEXT);
  for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) bits[i] = faro_rng_next(&sim.rng);
}

typedef struct pair {
  faro_release *one, *many;
  faro_sim_rng noise[2];
  uint64_t at; /* users that both have */
} pair;

static bool make_pair(pair *p, const faro_release_kind *kind, const faro_release_params *params,
                      bool binary) {
  faro_contribution contribution;
  assert_ok(faro_contribution_values(&contribution, 1, binary, error));
  *p = (pair){0};
  faro_release **const release[] = {&p->one, &p->many};
  for (size_t i = 0; i < 2; i++) {
    faro_sim_open(&p->noise[i], 3, 1, FARO_ROLE_USER);
    const faro_source source = faro_source_simulated(&p->noise[i]);
    if (faro_release_create(release[i], kind, &contribution, params, source, NULL) != FARO_OK) return false;
  }
  return true;
}

static void absorb_one(pair *p) {
  const double x = faro_bit(bits, p->at++) ? 0.5 : -0.5;
  (void)faro_release_absorb(p->one, &x, 0);
}

static void compare(const pair *p) {
  const faro_statistics one = faro_release_statistics(p->one);
  const faro_statistics many = faro_release_statistics(p->many);
  assert_true(one.sum[0] == many.sum[0]);
  assert_true(one.users == many.users && one.releases == many.releases);
  assert_int_equal(faro_release_missing(p->one), faro_release_missing(p->many));
  assert_true(faro_release_scale(p->one, 0) == faro_release_scale(p->many, 0));
  assert_true((one.block == NULL) == (many.block == NULL) && (!one.block || *one.block == *many.block));
}

/* The next batches that end within `users`, and then what is left of them. */
static void absorb_some(pair *p, uint64_t users) {
  double sum[N];
  const uint64_t end = p->at + users;
  const uint64_t from = p->at;
  const uint64_t open = faro_release_statistics(p->many).releases;
  uint64_t batches = 0;
  for (uint64_t size = faro_release_missing(p->many); size > 0 && p->at + size <= end;
       size = faro_release_batch_size(p->many, open + ++batches)) {
    for (uint64_t u = 0; u < size; u++) absorb_one(p);
    sum[batches] = faro_release_statistics(p->one).sum[0];
  }
  double got[N];
  faro_release_absorb_batches(p->many, bits, from, batches, got);
  for (uint64_t k = 0; k < batches; k++) assert_true(got[k] == sum[k]);
  compare(p);
  faro_release_absorb_bits(p->many, bits, p->at, end - p->at);
  while (p->at < end) absorb_one(p);
  compare(p);
}

static void play(const faro_release_kind *kind, const faro_release_params *params) {
  pair p;
  if (make_pair(&p, kind, params, true)) {
    while (p.at < N) absorb_some(&p, p.at * 7 % 1300 + 1 < N - p.at ? p.at * 7 % 1300 + 1 : N - p.at);
    assert_true(faro_rng_next(&p.noise[0].rng) == faro_rng_next(&p.noise[1].rng));
  }
  faro_release_destroy(p.one);
  faro_release_destroy(p.many);
}

/* Of every kind, on every tree, in pieces that begin and end anywhere. */
static void test_many__bits_give_the_sums_of_single_users(void **state) {
  (void)state;
  draw_bits(1);
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (int c = 0; c < FARO_CALIBRATION_COUNT; c++)
      for (uint64_t shufflers = 0; shufflers < 4; shufflers++)
        for (uint64_t batch = 0; batch < 4; batch += 3) {
          const faro_release_kind *kind = faro_release_kind_at(k);
          if (!faro_release_kind_calibrates(kind, (faro_calibration)c)) continue;
          if (shufflers > 0 && strcmp(kind->name, "concurrent-bits") != 0) continue;
          const faro_release_params params = {.epsilon = 1,
                                              .delta = 1e-4,
                                              .horizon = N - 100, /* some come after the last batch */
                                              .batch = batch,
                                              .shufflers = shufflers,
                                              .calibration = (faro_calibration)c};
          play(kind, &params);
        }
}

/* Numbers that are not said to be bits: rounding takes words, as many as one user after another. */
static void test_many__ends_take_the_words_of_single_users(void **state) {
  (void)state;
  draw_bits(2);
  for (size_t k = 0; k < faro_release_kinds(); k++)
    for (uint64_t users = 2; users < 3000; users = 3 * users + 1) {
      const faro_release_kind *kind = faro_release_kind_at(k);
      const faro_release_params params = {.epsilon = 1,
                                          .delta = 1e-4,
                                          .horizon = users,
                                          .batch = users,
                                          .calibration = FARO_CALIBRATION_TIGHT};
      pair p;
      if (make_pair(&p, kind, &params, false) && faro_release_adds(p.one)) {
        const uint64_t ones = faro_ones(bits, 0, users);
        for (uint64_t u = 0; u < users; u++) absorb_one(&p);
        faro_release_absorb_ends(p.many, ones, users - ones);
        compare(&p);
        assert_true(faro_rng_next(&p.noise[0].rng) == faro_rng_next(&p.noise[1].rng));
      }
      faro_release_destroy(p.one);
      faro_release_destroy(p.many);
    }
}

/* Words that are passed over are those that would have been drawn. */
static void test_skip__passes_over_as_many_words(void **state) {
  (void)state;
  for (uint64_t begin = 0; begin < 70; begin++)
    for (uint64_t n = 0; n < 400; n += 1 + n / 40) {
      faro_sim_rng one;
      faro_sim_open(&one, 5, 1, FARO_ROLE_USER);
      for (uint64_t i = 0; i < begin; i++) (void)faro_rng_next(&one.rng);
      faro_sim_rng other = one;
      for (uint64_t i = 0; i < n; i++) (void)faro_rng_next(&one.rng);
      faro_sim_skip(&other, n);
      for (int i = 0; i < 70; i++) assert_true(faro_rng_next(&one.rng) == faro_rng_next(&other.rng));
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_many__bits_give_the_sums_of_single_users),
      cmocka_unit_test(test_many__ends_take_the_words_of_single_users),
      cmocka_unit_test(test_skip__passes_over_as_many_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
