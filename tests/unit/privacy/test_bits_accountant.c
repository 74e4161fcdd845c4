/* bit sums: one entry against exhaustive enumeration, vectors against every shift that a search can
 * find. */
#include <math.h>
#include <quadmath.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

/* All probabilities of Bin(n, p), by the recurrence of Pascal's triangle. */
static void pascal(unsigned n, long double p, long double *out) {
  memset(out, 0, (n + 1) * sizeof *out);
  out[0] = 1;
  for (unsigned i = 1; i <= n; i++)
    for (unsigned k = i + 1; k-- > 0;) out[k] = (k < i ? out[k] * (1 - p) : 0) + (k > 0 ? out[k - 1] * p : 0);
}

/* Sum over k of max(0, P(k) - e^epsilon P(k - s)), and in the other direction. */
static long double naive_delta(unsigned n, const long double *p, unsigned s, double epsilon) {
  long double up = 0;
  long double down = 0;
  for (unsigned k = 0; k <= n + s; k++) {
    const long double here = k <= n ? p[k] : 0;
    const long double there = k >= s ? p[k - s] : 0;
    up += fmaxl(0, here - expl((long double)epsilon) * there);
    down += fmaxl(0, there - expl((long double)epsilon) * here);
  }
  return fmaxl(up, down);
}

static void test_scalar__exact_against_enumeration_up_to_200_bits(void **state) {
  (void)state;
  const double bias[] = {0.5, 0.25, 0.1};
  const unsigned shift[] = {1, 2, 3, 7, 20};
  const double epsilon[] = {0.01, 0.1, 0.5, 1, 3, 10};
  long double p[201];
  for (int b = 0; b < 3; b++)
    for (unsigned n = 1; n <= 200; n++) {
      pascal(n, (long double)bias[b], p);
      for (int s = 0; s < 5; s++)
        for (int e = 0; e < 6; e++) {
          const double exact = (double)naive_delta(n, p, shift[s], epsilon[e]);
          const double ours = faro_bits_delta(n, bias[b], shift[s], epsilon[e]);
          assert_true(ours >= exact * (1 - 1e-13));
          assert_close(ours, exact, exact * 2e-9 + 1e-300);
        }
    }
  assert_true(faro_bits_delta(10, 0.5, 0, 1) == 0);
  assert_true(faro_bits_delta(10, 0.5, 11, 1) == 1);
}

/* epsilon = 1, delta = 1e-6, a scalar of width 1 on 63 steps, 1000 users: 2.835e5 bits by exact
 * computation. */
static void test_scalar__matches_the_reference_point_and_is_near_the_gaussian(void **state) {
  (void)state;
  uint64_t exact = 200000;
  while (faro_bits_delta(exact, 0.5, 63, 1) > 1e-6) exact += 50;
  print_message("exact: %llu bits\n", (unsigned long long)exact);
  assert_true(exact > 282000 && exact < 285000);
  faro_bits_plan plan = {.users = 1000, .dimension = 1, .sensitivity = 1, .grid = 63};
  assert_ok(faro_bits_calibrate(&plan, 1, 1e-6, error));
  assert_close(plan.bits * plan.users / (double)exact, 1, 0.005);
  const double epsilon[] = {0.1, 1, 10};
  for (int e = 0; e < 3; e++)
    for (double users = 1000; users <= 1e6; users *= 10) {
      faro_bits_plan fit = {.users = users, .dimension = 1, .sensitivity = 1};
      assert_ok(faro_bits_calibrate(&fit, epsilon[e], 1e-6, error));
      const double ratio = fit.noise_sd * faro_gaussian_mu(epsilon[e], 1e-6);
      print_message("1 entry, %g users, epsilon %g: grid %g, %g bits, noise %.4f of the Gaussian's\n", users,
                    epsilon[e], fit.grid, fit.bits, ratio);
      assert_true(ratio >= 1 && ratio < 1.01);
    }
}

static void test_vector__within_three_per_cent_of_the_gaussian(void **state) {
  (void)state;
  const double dimension[] = {20, 230};
  const double epsilon[] = {0.1, 0.3, 1, 3, 10};
  for (int d = 0; d < 2; d++)
    for (int e = 0; e < 5; e++)
      for (double users = 1000; users <= 1e5; users *= 10) {
        faro_bits_plan plan = {.users = users, .dimension = dimension[d], .sensitivity = 1};
        assert_ok(faro_bits_calibrate(&plan, epsilon[e], 1e-6, error));
        const double ratio = plan.noise_sd * faro_gaussian_mu(epsilon[e], 1e-6);
        if (users == 1000)
          print_message("%g entries, epsilon %g: noise %.4f of the Gaussian's\n", dimension[d], epsilon[e],
                        ratio);
        assert_true(ratio >= 1 && ratio < 1.03);
      }
}

/* Hockey-stick divergence of a product of two entries with shifts s1, s2, by enumeration. */
static long double naive_pair(unsigned n, const long double *p, unsigned s1, unsigned s2, double epsilon) {
  long double sum = 0;
  for (unsigned i = 0; i <= n; i++)
    for (unsigned j = 0; j <= n; j++)
      sum += fmaxl(0, p[i] * p[j] -
                          expl((long double)epsilon) * (i >= s1 ? p[i - s1] : 0) * (j >= s2 ? p[j - s2] : 0));
  return sum;
}

/* The bound holds where everything can be enumerated: two entries, all shifts that the plan
 * allows. */
static void test_vector__no_shift_of_two_entries_beats_the_bound(void **state) {
  (void)state;
  long double p[1200];
  int checked = 0;
  for (double epsilon = 0.5; epsilon <= 4; epsilon *= 2)
    for (double delta = 1e-2; delta >= 1e-4; delta /= 10) {
      faro_bits_plan plan = {.users = 10, .dimension = 2, .sensitivity = 1, .grid = 3};
      assert_ok(faro_bits_calibrate(&plan, epsilon, delta, error));
      const unsigned n = (unsigned)(plan.bits * plan.users);
      if (n >= 1200) continue;
      pascal(n, 0.5L, p);
      for (unsigned s1 = 0; s1 <= 3; s1++)
        for (unsigned s2 = 0; s2 <= 3; s2++)
          if (sqrt(s1 * s1 + s2 * s2) <= 3 + sqrt(2)) {
            assert_true(naive_pair(n, p, s1, s2, epsilon) <= (long double)delta);
            checked++;
          }
    }
  assert_true(checked > 60);
}

/* Larger ones: the loss of a random shift vector, drawn many times, is an unbiased estimate of
 * delta. It is never above. */
static double sampled_delta(unsigned n, const unsigned *s, size_t d, double epsilon, faro_sim_rng *sim) {
  enum { DRAWS = 4000 };
  double sum = 0;
  for (int i = 0; i < DRAWS; i++) {
    double loss = 0; /* ln P(k) / P(k - s), summed over entries; P(k)/P(k-1) = (n - k + 1) / k */
    for (size_t e = 0; e < d; e++) {
      double k = 0;
      for (unsigned left = n; left > 0; left -= left < 64 ? left : 64) {
        uint64_t word = faro_rng_next(&sim->rng);
        if (left < 64) word &= (UINT64_C(1) << left) - 1;
        k += (double)__builtin_popcountll(word);
      }
      for (unsigned j = 0; j < s[e]; j++) loss += log((n - (k - j) + 1) / fmax(k - j, 1e-300));
    }
    if (loss > epsilon) sum += -expm1(epsilon - loss);
  }
  return sum / DRAWS;
}

static void test_vector__a_random_search_finds_no_worse_shift(void **state) {
  (void)state;
  slow_test();
  faro_sim_rng sim;
  faro_sim_open(&sim, 51, 0, FARO_ROLE_USER);
  const double delta = 0.02; /* large enough to be seen in 4000 draws */
  double worst = 0;
  for (int trial = 0; trial < 60; trial++) {
    enum { D = 20 };
    faro_bits_plan plan = {.users = 50, .dimension = D, .sensitivity = 1, .grid = 12};
    assert_ok(faro_bits_calibrate(&plan, 1, delta, error));
    double direction[D];
    double square = 0;
    for (int e = 0; e < D; e++) {
      direction[e] = faro_sim_bernoulli(&sim, trial % 3 == 0 ? 0.1 : 0.8) ? faro_sim_normal(&sim) : 0;
      square += direction[e] * direction[e];
    }
    unsigned s[D]; /* every entry rounded up: the worst case of the dither */
    for (int e = 0; e < D; e++)
      s[e] = square > 0 ? (unsigned)fmin(12, ceil(12 * fabs(direction[e]) / sqrt(square))) : 1;
    const double found = sampled_delta((unsigned)(plan.bits * plan.users), s, D, 1, &sim);
    worst = fmax(worst, found);
  }
  print_message("worst of 60 shift vectors: %g of %g\n", worst, delta);
  assert_true(worst < delta + 5 * sqrt(delta / 4000));
  assert_true(worst > delta / 4); /* the bound is not loose */
}

static void test_plan__account_inverts_calibrate_and_fewer_honest_users_cost_bits(void **state) {
  (void)state;
  slow_test();
  faro_sim_rng sim;
  faro_sim_open(&sim, 52, 0, FARO_ROLE_USER);
  for (int i = 0; i < 300; i++) {
    const double epsilon = 0.05 * pow(200, faro_sim_uniform(&sim));
    const double delta = 1e-12 * pow(1e10, faro_sim_uniform(&sim));
    const double users = floor(10 * pow(1000, faro_sim_uniform(&sim)));
    faro_bits_plan plan = {.users = users,
                           .honest = ceil(users * (0.5 + 0.5 * faro_sim_uniform(&sim))),
                           .dimension = 1 + floor(50 * faro_sim_uniform(&sim)),
                           .sensitivity = 0.2 + faro_sim_uniform(&sim)};
    assert_ok(faro_bits_calibrate(&plan, epsilon, delta, error));
    double back = 0;
    faro_bits_plan copy = plan;
    assert_ok(faro_bits_account(&copy, delta, &back, error));
    assert_true(back <= epsilon * (1 + 1e-9));
    copy.bits = floor(plan.bits * 0.97) - 2; /* visibly fewer bits are not enough */
    if (copy.bits >= 1) {
      assert_ok(faro_bits_account(&copy, delta, &back, error));
      assert_true(back > epsilon);
    }
    faro_bits_plan all = plan;
    all.honest = 0;
    assert_ok(faro_bits_calibrate(&all, epsilon, delta, error));
    assert_true(all.bits <= plan.bits);
  }
}

static void test_bits__are_monotone_at_ten_thousand_points(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 53, 0, FARO_ROLE_USER);
  for (int i = 0; i < 10000; i++) {
    const uint64_t bits = (uint64_t)(2 * pow(5000, faro_sim_uniform(&sim)));
    const uint64_t shift = 1 + (uint64_t)(faro_sim_uniform(&sim) * 8);
    const double epsilon = 1e-4 * pow(5e5, faro_sim_uniform(&sim));
    const double bias = faro_sim_bernoulli(&sim, 0.5) ? 0.5 : 0.25;
    const double delta = faro_bits_delta(bits, bias, shift, epsilon);
    assert_true(delta >= 0 && delta <= 1);
    assert_true(faro_bits_delta(bits, bias, shift, epsilon * 1.1) <= delta * (1 + 1e-9) + 1e-300);
    assert_true(faro_bits_delta(bits, bias, shift + 1, epsilon) >= delta * (1 - 1e-9));
    /* more noise */
    assert_true(faro_bits_delta(bits + 1, bias, shift, epsilon) <= delta * (1 + 1e-9) + 1e-300);
  }
}

/* Many bits, against the sum of all terms below the threshold in quadruple precision. Broken once:
 * rounding by 1e-11. */
static void test_scalar__is_never_below_for_a_billion_bits(void **state) {
  (void)state;
  const uint64_t N = 1000000000;
  const double epsilon[] = {1e-5, 5e-5, 1e-4, 2e-4, 3e-4};
  for (int e = 0; e < 5; e++) {
    const __float128 n = (__float128)N;
    const __float128 gamma = expq((__float128)epsilon[e]);
    /* P(k) > gamma P(k - 1) for k < (n + 1) / (1 + gamma) */
    const __float128 top = floorq((n + 1) / (1 + gamma));
    __float128 here = expq(lgammaq(n + 1) - lgammaq(top + 1) - lgammaq(n - top + 1) - n * logq(2));
    __float128 sum = 0;
    for (__float128 k = top; k >= 0 && here > sum * 1e-30Q; k--) {
      const __float128 there = here * k / (n - k + 1);
      const __float128 gain = here - gamma * there;
      if (gain > 0) sum += gain;
      here = there;
    }
    const double ours = faro_bits_delta(N, 0.5, 1, epsilon[e]);
    assert_true((__float128)ours >= sum);
    assert_true((double)(((__float128)ours - sum) / sum) < 3e-9);
  }
}

/* docs/privacy.md, Lemma 8, in one entry: bits with p = 1/4 as Theorem C.1 of Chowdhury & Zhou 2022
 * has them, moved by all of ||s||. */
static void test_paper__quarter_bits_have_room(void **state) {
  (void)state;
  const double g = 4;
  const double epsilon[] = {5, 15};
  const double delta[] = {1e-6, 0.49};
  for (int e = 0; e < 2; e++)
    for (int d = 0; d < 2; d++) {
      const double root = g * log(8 / delta[d]) / epsilon[e];
      const uint64_t bits = (uint64_t)ceil(24e4 * root * root);
      assert_true(faro_bits_delta(bits, 0.25, 10, 0.1 * epsilon[e]) <= 0.4 * delta[d]);
    }
}

static void test_plan__refuses_by_name(void **state) {
  (void)state;
  const faro_bits_plan good = {.users = 100, .dimension = 2, .sensitivity = 1, .grid = 10, .bits = 10};
  const char *const names[] = {"users", "honest", "dimension", "sensitivity", "grid"};
  for (int i = 0; i < 5; i++) {
    faro_bits_plan bad = good;
    *(i == 0   ? &bad.users
      : i == 1 ? &bad.honest
      : i == 2 ? &bad.dimension
      : i == 3 ? &bad.sensitivity
               : &bad.grid) = -1;
    faro_error error = {0};
    double epsilon = 0;
    assert_int_equal(faro_bits_calibrate(&bad, 1, 1e-6, &error), FARO_INVALID);
    assert_int_equal(strncmp(error.message, names[i], strlen(names[i])), 0);
    assert_int_equal(faro_bits_account(&bad, 1e-6, &epsilon, &error), FARO_INVALID);
  }
  const double shares[] = {0.5, 1.5, 101}; /* a whole number of users, and not of more than there are */
  for (int i = 0; i < 3; i++) {
    faro_bits_plan bad = good;
    faro_error error = {0};
    bad.honest = shares[i];
    assert_int_equal(faro_bits_calibrate(&bad, 1, 1e-6, &error), FARO_INVALID);
    assert_int_equal(strncmp(error.message, "honest", 6), 0);
  }
  faro_bits_plan bad = good;
  faro_error error = {0};
  double epsilon = 0;
  bad.grid = 0;
  assert_int_equal(faro_bits_account(&bad, 1e-6, &epsilon, &error), FARO_INVALID);
  bad = good;
  bad.bits = -1;
  assert_int_equal(faro_bits_account(&bad, 1e-6, &epsilon, &error), FARO_INVALID);
  bad.bits = 0; /* no noise, no claim */
  error = (faro_error){0};
  assert_int_equal(faro_bits_account(&bad, 1e-6, &epsilon, &error), FARO_OK);
  assert_true(isinf(epsilon));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scalar__exact_against_enumeration_up_to_200_bits),
      cmocka_unit_test(test_scalar__matches_the_reference_point_and_is_near_the_gaussian),
      cmocka_unit_test(test_vector__within_three_per_cent_of_the_gaussian),
      cmocka_unit_test(test_vector__no_shift_of_two_entries_beats_the_bound),
      cmocka_unit_test(test_vector__a_random_search_finds_no_worse_shift),
      cmocka_unit_test(test_plan__account_inverts_calibrate_and_fewer_honest_users_cost_bits),
      cmocka_unit_test(test_bits__are_monotone_at_ten_thousand_points),
      cmocka_unit_test(test_scalar__is_never_below_for_a_billion_bits),
      cmocka_unit_test(test_paper__quarter_bits_have_room),
      cmocka_unit_test(test_plan__refuses_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
