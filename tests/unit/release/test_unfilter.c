/* unfilter: the inverse of the factored mechanism's filter in whole numbers, against the matrices
 * themselves; and the exact mechanism that is made of it. Deployed noise has no seed: a correct
 * program fails with probability 1e-6 per statistical check, on every run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <faro/doubling.h>

#include "release/grid.h"
#include "release/unfilter.h"
#include "support/support.h"

enum { STEPS = 300 };

typedef struct filter {
  double weight[FARO_FACTORED_TERMS], base[FARO_FACTORED_TERMS];
  long double row[STEPS]; /* L's coefficients, by powers */
} filter;

static void make_filter(filter *f) {
  faro_factored_terms(STEPS, f->weight, f->base);
  for (int k = 0; k < STEPS; k++) {
    f->row[k] = k == 0 ? 1 : 0;
    for (int j = 0; k > 0 && j < FARO_FACTORED_TERMS; j++)
      f->row[k] += (long double)f->weight[j] * powl((long double)f->base[j], (long double)k);
  }
}

static void invert(const filter *f, const int64_t *prefix, int64_t *y) {
  long double state[FARO_FACTORED_TERMS] = {0};
  for (int t = 0; t < STEPS; t++) y[t] = faro_unfilter(f->weight, f->base, state, prefix[t]);
}

/* Prefix sums of random batches of at most `most` in magnitude. */
static void draw_prefix(faro_sim_rng *sim, double most, int64_t *prefix) {
  int64_t sum = 0;
  for (int t = 0; t < STEPS; t++)
    prefix[t] = sum += llrint(most * (faro_sim_bernoulli(sim, 0.3) ? 1 : 2 * faro_sim_uniform(sim) - 1));
}

static void test_unfilter__is_the_inverse_of_the_filter_up_to_its_residual(void **state) {
  (void)state;
  filter f;
  faro_sim_rng sim;
  int64_t prefix[STEPS], y[STEPS];
  make_filter(&f);
  faro_sim_open(&sim, 1, 1, FARO_ROLE_USER);
  const double column = faro_factored_factors(STEPS, 1).sensitivity;
  for (double most = 10; most < 1e12; most *= 1e3) {
    const double residual = faro_unfilter_residual(f.weight, f.base, STEPS, most, column);
    assert_true(residual >= 0.5 && residual < 0.6);
    draw_prefix(&sim, most, prefix);
    invert(&f, prefix, y);
    for (int t = 0; t < STEPS; t++) {
      long double sum = 0;
      for (int s = 0; s <= t; s++) sum += f.row[t - s] * (long double)y[s];
      assert_true(fabsl(sum - (long double)prefix[t]) <= (long double)residual);
    }
  }
}

/* The most that one user, who moves the sums from one batch on by `shift`, moves y. */
static void test_unfilter__neighbours_are_as_far_apart_as_lemma_9_says(void **state) {
  (void)state;
  enum { TRIALS = 60, SHIFT = 1000 };
  filter f;
  faro_sim_rng sim;
  int64_t prefix[STEPS], one[STEPS], two[STEPS];
  make_filter(&f);
  faro_sim_open(&sim, 1, 2, FARO_ROLE_USER);
  const double column = faro_factored_factors(STEPS, 1).sensitivity;
  double furthest = 0;
  for (int trial = 0; trial < TRIALS; trial++) {
    draw_prefix(&sim, 1e6, prefix);
    invert(&f, prefix, one);
    const int first = trial % 3 == 0 ? 0 : (int)(faro_sim_uniform(&sim) * STEPS);
    for (int t = first; t < STEPS; t++) prefix[t] += trial % 2 ? SHIFT : -SHIFT;
    invert(&f, prefix, two);
    double square = 0;
    for (int t = 0; t < STEPS; t++) square += pow((double)(one[t] - two[t]), 2);
    furthest = fmax(furthest, sqrt(square));
  }
  const double residual = faro_unfilter_residual(f.weight, f.base, STEPS, 1e6 + SHIFT, column);
  assert_true(furthest <= column * SHIFT + 4 * residual * sqrt(STEPS));
  assert_true(furthest >= 0.999 * column * SHIFT); /* so little is rounded that the bound is close */
}

static void test_residual__is_infinite_where_whole_numbers_might_not_fit(void **state) {
  (void)state;
  filter f;
  make_filter(&f);
  assert_true(isinf(faro_unfilter_residual(f.weight, f.base, STEPS, 0x1p60, 2)));
}

/* ---- the exact mechanism */

static const faro_release_params params = {
    .epsilon = 1, .delta = 1e-6, .horizon = 36, .batch = 3, .calibration = FARO_CALIBRATION_TIGHT};

static faro_release *make(faro_source source, const faro_contribution *c) {
  faro_release *r = NULL;
  assert_ok(faro_release_create(&r, &faro_release_central_factored, c, &params, source, error));
  return r;
}

/* Unbiased, and with the noise of the simulation: at every release, and between two of them. */
static void test_exact__sums_have_the_stated_noise(void **state) {
  (void)state;
  enum { RUNS = 400, RELEASES = 12 };
  static double off[RELEASES][RUNS];
  double scale[RELEASES];
  const double x[1] = {0.3};
  faro_secure_rng *secure = NULL;
  faro_contribution c;
  assert_ok(faro_secure_open(&secure, error));
  assert_ok(faro_contribution_values(&c, 1, false, error));
  for (int run = 0; run < RUNS; run++) {
    faro_release *r = make(faro_source_all_parties(secure), &c);
    for (int t = 0, user = 1; t < RELEASES; user++) {
      if (!faro_release_absorb(r, x, 0)) continue;
      off[t][run] = faro_release_statistics(r).sum[0] - 0.3 * user;
      scale[t++] = faro_release_scale(r, 0);
    }
    faro_release_destroy(r);
  }
  faro_secure_close(secure);
  unseeded(true);
  for (int t = 0; t < RELEASES; t++) {
    double mean = 0, square = 0;
    for (int run = 0; run < RUNS; run++) mean += off[t][run] / RUNS;
    for (int run = 0; run < RUNS; run++) square += off[t][run] * off[t][run] / RUNS;
    assert_mean(mean, 0, scale[t], RUNS);
    assert_variance(square, scale[t] * scale[t], 3, RUNS);
  }
  unseeded(false);
}

/* In whole steps. The sum is within eight standard deviations. */
static void test_exact__messages_are_whole_numbers(void **state) {
  (void)state;
  const double x[1] = {-0.5};
  int64_t batch[3], least, most;
  double number = 0;
  faro_secure_rng *secure = NULL;
  faro_contribution c;
  assert_ok(faro_secure_open(&secure, error));
  assert_ok(faro_contribution_values(&c, 1, false, error));
  faro_release *r = make(faro_source_all_parties(secure), &c);
  faro_release_range(r, 0, &least, &most);
  for (int i = 0; i < 3; i++) assert_ok(faro_release_randomize(r, x, 0, &batch[i], error));
  assert_int_equal(batch[0], least);
  assert_int_equal(faro_release_numbers(r, batch, &number), 1);
  assert_true(number == (double)least);
  const int64_t outside[] = {least - 1, most + 1, INT64_C(1) << 61};
  for (int i = 0; i < 3; i++) {
    faro_error refusal = {0};
    batch[1] = outside[i];
    assert_int_equal(faro_release_analyze(r, batch, 3, &refusal), FARO_INVALID);
    assert_non_null(strstr(refusal.message, "message 2 of the batch is out of range"));
  }
  batch[1] = least;
  assert_ok(faro_release_analyze(r, batch, 3, error));
  assert_true(fabs(faro_release_statistics(r).sum[0] + 1.5) < 8 * faro_release_scale(r, 0));
  faro_release_destroy(r);
  faro_secure_close(secure);
}

/* The noise of the simulation would not be what the claim rests on. */
static void test_exact__has_no_grounds(void **state) {
  (void)state;
  faro_secure_rng *secure = NULL;
  faro_contribution c;
  assert_ok(faro_secure_open(&secure, error));
  assert_ok(faro_contribution_values(&c, 1, false, error));
  for (int anytime = 0; anytime < 2; anytime++)
    for (int deployed = 0; deployed < 2; deployed++) {
      faro_doubling *d = NULL;
      faro_release_params p = params;
      p.anytime = anytime;
      assert_ok(faro_doubling_create(&d, &faro_release_central_factored, &c, &p,
                                     deployed ? faro_source_all_parties(secure) : faro_source_none(), error));
      char *grounds = faro_doubling_grounds(d, 100);
      assert_int_equal(grounds == NULL, deployed);
      free(grounds);
      faro_doubling_destroy(d);
    }
  faro_secure_close(secure);
}

static void test_exact__is_for_one_process_only(void **state) {
  (void)state;
  faro_secure_rng *secure = NULL;
  faro_contribution c;
  assert_ok(faro_secure_open(&secure, error));
  assert_ok(faro_contribution_values(&c, 1, false, error));
  faro_release *r = make(faro_source_all_parties(secure), &c);
  assert_true(faro_release_claim(r)->proven);
  assert_int_equal(faro_release_state_size(r), 0);
  /* what rounding adds to the sensitivity is paid for (Lemma 9, with a residual of 1/2) */
  const faro_grid *g = faro_grid_in(r);
  const double column = faro_factored_factors(12, 1).sensitivity;
  const double sigma = column / faro_gaussian_mu(1, 1e-6) / g->unit;
  const double least = sigma * (1 + g->unit * (1 + 2 * sqrt(12) / column));
  assert_true(sqrt((double)g->variance[0]) >= least && sqrt((double)g->variance[0]) < 1.00001 * least);
  faro_release_destroy(r);
  r = NULL;
  assert_int_equal(
      faro_release_create(&r, &faro_release_central_factored, &c, &params, faro_source_server(secure), NULL),
      FARO_INVALID);
  /* 2^40 users: whole numbers are too coarse */
  faro_release_params many = params;
  many.horizon = UINT64_C(1) << 40;
  many.batch = UINT64_C(1) << 30;
  assert_int_equal(faro_release_create(&r, &faro_release_central_factored, &c, &many,
                                       faro_source_all_parties(secure), NULL),
                   FARO_INVALID);
  faro_secure_close(secure);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unfilter__is_the_inverse_of_the_filter_up_to_its_residual),
      cmocka_unit_test(test_unfilter__neighbours_are_as_far_apart_as_lemma_9_says),
      cmocka_unit_test(test_residual__is_infinite_where_whole_numbers_might_not_fit),
      cmocka_unit_test(test_exact__sums_have_the_stated_noise),
      cmocka_unit_test(test_exact__messages_are_whole_numbers),
      cmocka_unit_test(test_exact__has_no_grounds),
      cmocka_unit_test(test_exact__is_for_one_process_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
