/* adapt: sizes of batches that follow from what was published. */
#include <math.h>
#include <string.h>

#include "release/bits.h"
#include "support/support.h"

enum { HORIZON = 20000, LEAST = 20, LARGEST = 1300 };

static faro_release_params params(void) {
  return (faro_release_params){.epsilon = 1,
                               .delta = 1e-4,
                               .horizon = HORIZON,
                               .batch = LEAST,
                               .largest = LARGEST,
                               .adaptive = true,
                               .calibration = FARO_CALIBRATION_TIGHT};
}

static faro_sim_rng noise;

static faro_release *make(const faro_release_params *p, faro_source source) {
  faro_contribution c;
  faro_release *r = NULL;
  assert_ok(faro_contribution_values(&c, 1, true, error));
  assert_ok(faro_release_create(&r, &faro_release_shuffle_bits, &c, p, source, error));
  return r;
}

/* A number less 1/2 with a rate that drifts up, jumps down and stays. */
static double draw(faro_sim_rng *data, uint64_t t) {
  const double rate = t < HORIZON / 2 ? 0.9 * (double)t / (HORIZON / 2.0) : 0.01;
  return faro_sim_uniform(data) < rate ? 0.5 : -0.5;
}

/* What a reader of the published statistics expects of the next size, written down again. */
typedef struct reader {
  double sum, block; /* as last published */
  uint64_t users, size, releases;
} reader;

static double expect(reader *seen, const faro_statistics *s) {
  const double block = s->sum[0] - seen->sum;
  const double size = (double)(s->users - seen->users);
  const double ratio = seen->size > 0 ? size / (double)seen->size : 0;
  const double one = s->block_noise.scale[0];
  const double x = fabs(block - ratio * seen->block) / one;
  const double t = sqrt(pow(s->noise.scale[0] / one, 2) + 1 + ratio * ratio);
  double next = x < t / 4 ? 2 * size : x > t / 2 ? size * sqrt(t / (2 * x)) : size;
  if (seen->releases == 0) next = LEAST;
  const uint64_t left = HORIZON - s->users;
  *seen = (reader){s->sum[0], block, s->users, (uint64_t)size, seen->releases + 1};
  double ladder = LEAST;
  while (2 * ladder <= next && 2 * ladder <= LARGEST) ladder *= 2;
  while (ladder > (double)left && ladder > LEAST) ladder /= 2;
  return ladder <= (double)left ? ladder : 0;
}

static void test_sizes__follow_from_what_was_published(void **state) {
  (void)state;
  const faro_release_params p = params();
  uint64_t least = HORIZON;
  uint64_t most = 0;
  for (uint64_t instance = 0; instance < 20; instance++) {
    faro_release *r = make(&p, faro_source_simulated(&noise));
    faro_sim_rng data;
    faro_sim_open(&data, 5, instance, FARO_ROLE_CONTEXT);
    faro_sim_open(&noise, 5, instance, FARO_ROLE_USER);
    reader seen = {0};
    double expected = LEAST;
    for (uint64_t t = 0; t < HORIZON; t++) {
      const double value = draw(&data, t);
      if (!faro_release_absorb(r, &value, 0)) continue;
      const faro_statistics s = faro_release_statistics(r);
      assert_int_equal(s.users - seen.users, (uint64_t)expected);
      if (s.users - seen.users < least) least = s.users - seen.users;
      if (s.users - seen.users > most) most = s.users - seen.users;
      expected = expect(&seen, &s);
      assert_int_equal(faro_release_spent(r), expected == 0);
    }
    assert_true(faro_release_spent(r) && HORIZON - seen.users < LEAST);
    faro_release_destroy(r);
  }
  assert_true(least == LEAST && most == 1280);
}

/* Each size has as many noise bits as a release whose batches all have this size. */
static void test_noise__of_every_size_is_that_of_its_own_release(void **state) {
  (void)state;
  faro_release_params p = params();
  faro_release *r = make(&p, faro_source_none());
  const faro_bits *bits = faro_bits_in(r);
  assert_int_equal(r->schedule.classes, 7);
  for (size_t c = 0; c < r->schedule.classes; c++) {
    faro_release_params alone = p;
    alone.adaptive = false;
    alone.batch = r->schedule.size[c];
    alone.largest = 0;
    alone.grid = bits->grid;
    faro_release *one = make(&alone, faro_source_none());
    assert_int_equal(bits->level[0].noise[c].bits, faro_bits_in(one)->level[0].noise[0].bits);
    faro_release_destroy(one);
  }
  double mu = 0;
  double slack = 0;
  assert_true(faro_release_gaussian(r, 1, &mu, &slack));
  assert_true(faro_gaussian_delta(mu, p.epsilon) + slack <= p.delta);
  assert_true(faro_release_claim(r)->proven);
  faro_release_destroy(r);
}

/* Unbiased, with the stated variance: the last sum less the truth, in standard deviations. */
static void test_sums__are_unbiased_with_the_stated_noise(void **state) {
  (void)state;
  enum { RUNS = 400 };
  const faro_release_params p = params();
  double mean = 0;
  double square = 0;
  for (uint64_t instance = 0; instance < RUNS; instance++) {
    faro_release *r = make(&p, faro_source_simulated(&noise));
    faro_sim_rng data;
    faro_sim_open(&data, 6, instance, FARO_ROLE_CONTEXT);
    faro_sim_open(&noise, 6, instance, FARO_ROLE_USER);
    double truth = 0;
    double released = 0;
    for (uint64_t t = 0; t < HORIZON; t++) {
      const double value = draw(&data, t);
      truth += value;
      if (faro_release_absorb(r, &value, 0)) released = truth;
    }
    const double z = (faro_release_statistics(r).sum[0] - released) / faro_release_scale(r, 0);
    mean += z / RUNS;
    square += z * z / RUNS;
    faro_release_destroy(r);
  }
  assert_mean(mean, 0, 1, RUNS);
  assert_variance(square, 1, 3, RUNS);
}

static void refuse(const faro_release_kind *kind, faro_release_params p, faro_source source,
                   const char *words) {
  faro_contribution c;
  faro_release *r = NULL;
  faro_error refusal = {0};
  assert_ok(faro_contribution_values(&c, 1, true, error));
  assert_int_equal(faro_release_create(&r, kind, &c, &p, source, &refusal), FARO_INVALID);
  if (!strstr(refusal.message, words)) fail_msg("%s", refusal.message);
}

static void test_adaptive__is_refused_where_it_has_no_meaning(void **state) {
  (void)state;
  faro_release_params p = params();
  refuse(&faro_release_concurrent_bits, p, faro_source_none(),
         "adaptive must be false for concurrent-bits: only shuffle-bits adapts");
  p.growth = 2;
  refuse(&faro_release_shuffle_bits, p, faro_source_none(), "adaptive needs growth 1");
  p = params();
  p.calibration = FARO_CALIBRATION_PAPER;
  refuse(&faro_release_shuffle_bits, p, faro_source_none(),
         "calibration must be tight if batches are adaptive");
  p = params();
  p.horizon = UINT64_C(1) << 32;
  refuse(&faro_release_shuffle_bits, p, faro_source_none(), "batch must be at least 42950 if sizes adapt");
  p = params();
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  refuse(&faro_release_shuffle_bits, p, faro_source_all_parties(secure),
         "adaptive must be false in a deployment");
  faro_secure_close(secure);
  faro_release *r = make(&p, faro_source_none());
  assert_int_equal(faro_release_state_size(r), 0);
  faro_release_destroy(r);
}

/* auto: around the best batch of one size. */
static void test_adaptive__chooses_its_range(void **state) {
  (void)state;
  faro_release_params p = params();
  p.batch = p.largest = 0;
  faro_release *r = make(&p, faro_source_none());
  p.adaptive = false;
  faro_release *one = make(&p, faro_source_none());
  const uint64_t uniform = faro_release_batch(one);
  assert_true(uniform > 16 && faro_release_batch(r) == uniform / 8);
  assert_int_equal(faro_release_params_of(r)->largest, 8 * uniform);
  faro_release_destroy(one);
  faro_release_destroy(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes__follow_from_what_was_published),
      cmocka_unit_test(test_noise__of_every_size_is_that_of_its_own_release),
      cmocka_unit_test(test_sums__are_unbiased_with_the_stated_noise),
      cmocka_unit_test(test_adaptive__is_refused_where_it_has_no_meaning),
      cmocka_unit_test(test_adaptive__chooses_its_range),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
