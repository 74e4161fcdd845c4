/* Privacy-loss distributions: against closed forms, enumeration and an integral that shares nothing
 * with the code.
 *
 * The integral: with K(z) = ln E_P e^(zL), for any c > 0,
 *
 *   delta(epsilon) = 1/(2 pi i) integral over Re z = c of e^(K(z) - z epsilon) / (z (z + 1)) dz,
 *
 * because (1 - e^-y)_+ has the transform 1 / (z (z + 1)). The trapezoidal rule is exact to e^(-2 pi
 * c / step). */
#include "support/support.h"

#include <complex.h>
#include <math.h>
#include <string.h>

static double uniform(void) {
  static uint64_t state = 20240607;
  state = state * 6364136223846793005U + 1442695040888963407U;
  return (double)(state >> 11) * 0x1p-53;
}
static double between(double low, double high) { return low * pow(high / low, uniform()); }
static uint64_t whole(double low, double high) { return (uint64_t)between(low, high + 1); }

/* At least the truth, and at most a relative `slack` above it. */
static void assert_above(double got, long double truth, double slack) {
  if (!(got >= truth * (1 - 1e-13L) && got <= truth * (1 + slack) + 2e-300L))
    fail_msg("%.17g is not within %g above %.17Lg", got, slack, truth);
}

static faro_pld *make(char kind, double parameter, uint64_t times) {
  faro_pld *pld = NULL;
  if (kind == 'g') assert_ok(faro_pld_gaussian(&pld, parameter, error));
  else if (kind == 'l') assert_ok(faro_pld_laplace(&pld, parameter, error));
  else assert_ok(faro_pld_response(&pld, parameter, error));
  assert_ok(faro_pld_repeat(pld, times, error));
  return pld;
}

static void add(faro_pld *pld, faro_pld *other) {
  assert_ok(faro_pld_compose(pld, other, error));
  faro_pld_destroy(other);
}

/* A list of mechanisms, and the integral over it. */
typedef struct list {
  size_t count;
  char kind[8];
  double parameter[8];
  double times[8];
} list;

static faro_pld *make_list(const list *l) {
  faro_pld *pld = make(l->kind[0], l->parameter[0], (uint64_t)l->times[0]);
  for (size_t i = 1; i < l->count; i++) add(pld, make(l->kind[i], l->parameter[i], (uint64_t)l->times[i]));
  return pld;
}

static long double complex log_moment(const list *l, long double complex z) {
  long double complex sum = 0;
  for (size_t i = 0; i < l->count; i++) {
    const long double r = l->parameter[i];
    const long double complex s = 2 * z + 1;
    if (l->kind[i] == 'g') sum += l->times[i] * r * r * z * (1 + z) / 2;
    else if (l->kind[i] == 'l')
      sum += l->times[i] * (z * r + clogl((1 + cexpl(-r * s) + (1 - cexpl(-r * s)) / s) / 2));
    else sum += l->times[i] * (z * r + clogl((1 + cexpl(-r * s)) / (1 + expl(-r))));
  }
  return sum;
}

static long double log_integrand(const list *l, long double epsilon, long double c) {
  return creall(log_moment(l, c)) - c * epsilon - logl(c * (c + 1));
}

static long double integral(const list *l, long double epsilon) {
  long double low = logl(1e-4L);
  long double high = logl(1e5L);
  for (int i = 0; i < 200; i++) { /* where the integrand is least on the real line */
    const long double a = low + (high - low) / 3;
    const long double b = high - (high - low) / 3;
    if (log_integrand(l, epsilon, expl(a)) < log_integrand(l, epsilon, expl(b))) high = b;
    else low = a;
  }
  const long double c = expl(low);
  const long double scale = log_integrand(l, epsilon, c);
  const long double step = c / 12;
  long double period = 400 * step; /* responses repeat every pi / r */
  for (size_t i = 0; i < l->count; i++) period = fmaxl(period, 2 * acosl(-1) / l->parameter[i]);
  long double sum = 0.5L;
  int small = 0;
  for (int j = 1; small * step < period; j++) {
    const long double complex z = c + I * (step * j);
    const long double complex value = cexpl(log_moment(l, z) - z * epsilon - clogl(z * (z + 1)) - scale);
    sum += creall(value);
    small = cabsl(value) < 1e-21L ? small + 1 : 0;
    assert_true(j < 10000000);
  }
  return sum * step / acosl(-1) * expl(scale);
}

/* P(k draws of a response, j lies) (1 - e^(epsilon - loss))_+, summed. */
static long double response_truth(long double r, long double k, long double epsilon) {
  long double sum = 0;
  for (int j = 0; j <= (int)k && (k - 2.0L * j) * r > epsilon; j++) {
    const long double log_weight =
        lgammal(k + 1) - lgammal(j + 1) - lgammal(k - j + 1) - j * r - k * log1pl(expl(-r));
    sum += expl(log_weight) * -expm1l(epsilon - (k - 2.0L * j) * r);
  }
  return sum;
}

static long double laplace_truth(long double r, long double epsilon) {
  if (epsilon >= r) return 0;
  return epsilon <= -r ? -expm1l(epsilon) : -expm1l((epsilon - r) / 2);
}

/* Two Laplace: the loss of one is r - t, with 1/2 at t = 0, e^-r / 2 at 2r and density e^(-t/2) / 4
 * between. Simpson's rule between the kinks of the other's curve. */
static long double laplace_twice(long double r, long double epsilon) {
  const long double kinks[4] = {0, fmaxl(0, fminl(2 * r, -epsilon)), fmaxl(0, fminl(2 * r, 2 * r - epsilon)),
                                2 * r};
  long double sum = (laplace_truth(r, epsilon - r) + expl(-r) * laplace_truth(r, epsilon + r)) / 2;
  for (int piece = 0; piece < 3; piece++) {
    const long double h = (kinks[piece + 1] - kinks[piece]) / 2000;
    for (int j = 0; j <= 2000; j++) {
      const long double t = kinks[piece] + h * j;
      const long double weight = j == 0 || j == 2000 ? 1 : j % 2 ? 4 : 2;
      sum += weight * h / 3 * expl(-t / 2) / 4 * laplace_truth(r, epsilon - r + t);
    }
  }
  return sum;
}

static long double gaussian_truth(long double mu, long double epsilon) {
  const long double a = mu / 2 - epsilon / mu;
  const long double b = -mu / 2 - epsilon / mu;
  return (erfcl(-a / sqrtl(2)) - expl(epsilon) * erfcl(-b / sqrtl(2))) / 2;
}

static void test_pld__gaussians_are_exact(void **state) {
  (void)state;
  faro_pld *sum = make('g', 0.01, 1);
  faro_pld *one = make('g', 0.01, 1);
  for (int i = 1; i < 20000; i++) assert_ok(faro_pld_compose(sum, one, error));
  for (int i = 0; i < 100; i++) {
    const double at = between(0.01, 15);
    assert_above(faro_pld_delta(sum, at), gaussian_truth(0.01L * sqrtl(20000), at), 1e-6);
  }
  const double epsilon = faro_pld_epsilon(sum, 1e-9);
  assert_true(gaussian_truth(sqrtl(2), epsilon) <= 1e-9L);
  assert_true(gaussian_truth(sqrtl(2), epsilon * (1 - 1e-6)) > 1e-9L);
  faro_pld_destroy(sum);
  faro_pld_destroy(one);
}

/* G is needed on both sides of zero, even for the least mu. */
static void test_pld__a_small_gaussian_changes_little(void **state) {
  (void)state;
  for (int i = 0; i < 30; i++) {
    const double r = between(0.01, 10);
    const double epsilon = r * uniform() * 0.9;
    faro_pld *pld = make('l', r, 1);
    add(pld, make('g', 1e-6, 1));
    assert_above(faro_pld_delta(pld, epsilon), laplace_truth(r, epsilon), 1e-3);
    faro_pld_destroy(pld);
  }
}

static void test_pld__responses_agree_with_binomial_sums(void **state) {
  (void)state;
  for (int i = 0; i < 1500; i++) {
    const double r = between(1e-3, 5);
    const double k = (double)whole(1, i % 10 ? 40 : 20000);
    faro_pld *pld = make('r', r, (uint64_t)k);
    const double sd = fmin(1, r) * sqrt(k);
    const double epsilon = fmin(k * r * uniform(), fmax(0, k * r * tanh(r / 2) + (8 * uniform() - 1) * sd));
    assert_above(faro_pld_delta(pld, epsilon), response_truth(r, k, epsilon), 1e-7);
    assert_true(faro_pld_delta(pld, k * r * (1 + 1e-15)) <= 0);
    faro_pld_destroy(pld);
  }
}

static void test_pld__one_and_two_laplace_agree_with_integration(void **state) {
  (void)state;
  slow_test();
  for (int i = 0; i < 200; i++) {
    const double r = between(1e-3, 20);
    const double epsilon = r * uniform() * 0.999;
    faro_pld *pld = make('l', r, 1);
    assert_above(faro_pld_delta(pld, epsilon), laplace_truth(r, epsilon), 1e-4);
    const double delta = between(1e-15, 0.1 * fmin(1, r));
    const double truth = r + 2 * log1p(-delta);
    assert_above(faro_pld_epsilon(pld, delta), truth, 1e-6);
    assert_ok(faro_pld_repeat(pld, 2, error));
    if (r < 8) assert_above(faro_pld_delta(pld, 2 * epsilon), laplace_twice(r, 2 * epsilon), 1e-4);
    faro_pld_destroy(pld);
  }
}

static void test_pld__many_laplace_agree_with_the_integral(void **state) {
  (void)state;
  slow_test();
  const double deltas[] = {1e-3, 1e-6, 1e-10, 1e-15};
  for (int i = 0; i < 12; i++) {
    const list l = {1, "l", {between(0.1, 10)}, {1000}};
    faro_pld *pld = make_list(&l);
    for (size_t j = 0; j < sizeof deltas / sizeof *deltas; j++) {
      const double epsilon = faro_pld_epsilon(pld, deltas[j]);
      assert_true(integral(&l, epsilon) <= deltas[j]);
      assert_true(integral(&l, epsilon * (1 - 1e-4)) > deltas[j]);
      assert_true(faro_pld_delta(pld, epsilon) >= integral(&l, epsilon));
    }
    faro_pld_destroy(pld);
  }
}

static list random_list(void) {
  list l = {.count = (size_t)whole(2, 6), .kind = "g", .parameter = {between(0.02, 2)}, .times = {1}};
  for (size_t i = 1; i < l.count; i++) {
    l.kind[i] = uniform() < 0.5 ? 'l' : 'r';
    l.times[i] = (double)whole(1, 1000);
    l.parameter[i] = between(0.01, 10) / sqrt(l.times[i]);
  }
  return l;
}

static void test_pld__mixed_lists_agree_with_the_integral(void **state) {
  (void)state;
  slow_test();
  for (int i = 0; i < 25; i++) {
    const list l = random_list();
    faro_pld *pld = make_list(&l);
    const double delta = between(1e-15, 1e-2);
    const double epsilon = faro_pld_epsilon(pld, delta);
    assert_true(integral(&l, epsilon) <= delta);
    if (epsilon > 0) assert_true(integral(&l, epsilon * (1 - 1e-3)) > delta);
    assert_true(faro_pld_delta(pld, epsilon) >= integral(&l, epsilon));
    faro_pld_destroy(pld);
  }
}

/* Without a Gaussian: one response against the curve of all others, exactly. */
static void test_pld__unlike_responses_agree_with_enumeration(void **state) {
  (void)state;
  slow_test();
  for (int i = 0; i < 60; i++) {
    const double a = between(0.01, 3);
    const double b = between(0.01, 3);
    const double k = (double)whole(1, 30);
    faro_pld *pld = make('r', a, 1);
    add(pld, make('r', b, (uint64_t)k));
    const double epsilon = (a + k * b) * uniform() * 0.98;
    const long double truth =
        (response_truth(b, k, epsilon - a) + expl(-a) * response_truth(b, k, epsilon + a)) / (1 + expl(-a));
    assert_above(faro_pld_delta(pld, epsilon), truth, 0.05);
    const double least = faro_pld_epsilon(pld, (double)truth);
    assert_true(least >= epsilon * (1 - 1e-12) && least <= epsilon + 1e-3 * (a + k * b));
    faro_pld_destroy(pld);
  }
}

/* Kairouz, Oh, Viswanath 2015, Theorem 3.3: k-fold (epsilon, delta) is exactly
 * ((k - 2i) epsilon, 1 - (1 - delta)^k (1 - delta_i)). Every pattern of answers is enumerated. */
static void test_pld__pure_compose_optimally(void **state) {
  (void)state;
  for (int i = 0; i < 200; i++) {
    const double r = between(1e-3, 4);
    const double delta = i % 4 ? between(1e-12, 0.3) : 0;
    const unsigned k = (unsigned)whole(1, 10);
    const double epsilon = i % 2 ? k * r * uniform() : r * (double)(k % 2);
    faro_pld *pld = NULL;
    assert_ok(faro_pld_pure(&pld, r, delta, error));
    assert_true(faro_pld_epsilon(pld, delta) == r && faro_pld_delta(pld, r) == delta);
    assert_ok(faro_pld_repeat(pld, k, error));
    long double best = 0;
    for (unsigned lies = 0; lies < 1U << k; lies++) {
      const long double p =
          expl(-r * (long double)__builtin_popcount(lies)) * powl(1 + expl(-r), -(long double)k);
      const long double q = expl(-r * (long double)(k - (unsigned)__builtin_popcount(lies))) *
                            powl(1 + expl(-r), -(long double)k);
      best += fmaxl(0, p * (1 - 1e-16L) - expl(epsilon) * q);
    }
    const long double keep = expl(k * log1pl(-delta));
    assert_above(faro_pld_delta(pld, epsilon) + 1e-15, -expm1l(k * log1pl(-delta)) + keep * best + 1e-15L,
                 1e-7);
    faro_pld_destroy(pld);
  }
}

static void test_pld__infinite_losses_bound_epsilon(void **state) {
  (void)state;
  faro_pld *pld = NULL;
  assert_ok(faro_pld_pure(&pld, 1, 1e-6, error));
  assert_ok(faro_pld_repeat(pld, 10, error));
  assert_true(isinf(faro_pld_epsilon(pld, 9e-6)));
  assert_true(isinf(faro_pld_epsilon(pld, NAN)));
  assert_close(faro_pld_epsilon(pld, 1.0000001e-5), 10, 0.05);
  assert_true(faro_pld_epsilon(pld, 0.9999) <= 0 && faro_pld_epsilon(pld, 1) <= 0);
  add(pld, make('g', 1, 1));
  assert_true(isinf(faro_pld_epsilon(pld, 9e-6)));
  const double rest = 1e-3 - 1e-5;
  assert_true(faro_pld_epsilon(pld, 1e-3) > faro_gaussian_epsilon(1, rest));
  assert_true(faro_pld_delta(pld, 500) >= 9.99e-6 && faro_pld_delta(pld, 500) <= 1.0001e-5);
  faro_pld_destroy(pld);
  pld = make('g', 1, 1);
  assert_true(isinf(faro_pld_epsilon(pld, 0)));
  faro_pld_destroy(pld);
  pld = make('l', 0.3, 7);
  assert_close(faro_pld_epsilon(pld, 0), 2.1, 1e-15);
  faro_pld_destroy(pld);
}

static void test_pld__is_monotone_and_epsilon_inverts_delta(void **state) {
  (void)state;
  slow_test();
  for (int i = 0; i < 12; i++) {
    list l = random_list();
    if (i % 2) l.kind[0] = 'l';
    faro_pld *pld = make_list(&l);
    const double end = faro_pld_epsilon(pld, 1e-15);
    double last = 1;
    for (int j = 0; j <= 4; j++) {
      const double delta = faro_pld_delta(pld, end * j / 4);
      assert_true(delta <= last * (1 + 1e-8));
      last = delta;
      if (j > 0 && j < 4) assert_close(faro_pld_epsilon(pld, delta), end * j / 4, 1e-6 * end);
    }
    const double before = faro_pld_delta(pld, end / 2);
    add(pld, make('r', 1, 1));
    assert_true(faro_pld_delta(pld, end / 2) > before);
    faro_pld_destroy(pld);
  }
}

static void test_pld__order_and_grouping_do_not_matter(void **state) {
  (void)state;
  slow_test();
  faro_pld *a = make('l', 0.5, 6);
  add(a, make('g', 0.3, 6));
  add(a, make('r', 0.2, 12));
  faro_pld *b = make('r', 0.2, 2);
  add(b, make('l', 0.5, 1));
  add(b, make('g', 0.3, 1));
  assert_ok(faro_pld_repeat(b, 3, error));
  assert_ok(faro_pld_compose(b, b, error));
  assert_close(faro_pld_delta(a, 2), faro_pld_delta(b, 2), 1e-9 * faro_pld_delta(a, 2));
  assert_close(faro_pld_epsilon(a, 1e-8), faro_pld_epsilon(b, 1e-8), 1e-8);
  faro_pld_destroy(a);
  faro_pld_destroy(b);
  faro_pld_destroy(NULL);
}

/* Scales that differ by 1e8 do not affect each other's accuracy: only the smaller loss is added to
 * the larger. */
static void test_pld__scales_do_not_spoil_each_other(void **state) {
  (void)state;
  faro_pld *pld = make('r', 100, 1);
  add(pld, make('l', 1e-6, 1000000));
  const double epsilon = faro_pld_epsilon(pld, 1e-10);
  assert_true(epsilon >= 100 && epsilon <= 100.02);
  faro_pld_destroy(pld);
  pld = make('l', 1, 1000000);
  add(pld, make('r', 1e-6, 1));
  faro_pld *alone = make('l', 1, 1000000);
  const double truth = faro_pld_epsilon(alone, 1e-6);
  assert_close(faro_pld_epsilon(pld, 1e-6), truth, 1e-4 * truth);
  faro_pld_destroy(pld);
  faro_pld_destroy(alone);
}

/* Without memory a bound is still valid. */
static void test_pld__failing_allocations_leave_bounds(void **state) {
  (void)state;
  faro_pld *pld = make('l', 0.5, 20);
  add(pld, make('r', 0.4, 20));
  const double delta = faro_pld_delta(pld, 2);
  alloc_reset();
  assert_true(faro_pld_delta(pld, 2) == delta);
  const size_t number = alloc_count();
  assert_true(number > 10);
  for (size_t i = 1; i <= number; i++) {
    alloc_fail_at(i);
    assert_true(faro_pld_delta(pld, 2) == 1);
    alloc_fail_at(i);
    assert_close(faro_pld_epsilon(pld, 1e-6), 20 * 0.9, 1e-12);
  }
  alloc_reset();
  add(pld, make('g', 1, 1));
  alloc_fail_at(1);
  assert_true(isinf(faro_pld_epsilon(pld, 1e-6)));
  alloc_reset();
  faro_pld_destroy(pld);
}

static void test_pld__failing_allocations_are_reported(void **state) {
  (void)state;
  faro_pld *pld = NULL;
  for (size_t i = 1; i <= 2; i++) {
    faro_error error = {0};
    alloc_fail_at(i);
    assert_int_equal(faro_pld_laplace(&pld, 1, &error), FARO_MEMORY);
    assert_null(pld);
  }
  alloc_reset();
  pld = make('l', 1, 1);
  faro_pld *other = make('r', 2, 1);
  faro_error error = {0};
  alloc_fail_at(1);
  assert_int_equal(faro_pld_compose(pld, other, &error), FARO_MEMORY);
  alloc_reset();
  assert_close(faro_pld_epsilon(pld, 0), 1, 0);
  faro_pld_destroy(pld);
  faro_pld_destroy(other);
}

#define assert_refused(call, text)                                                                           \
  do {                                                                                                       \
    faro_error error_ = {0};                                                                                 \
    faro_error *error = &error_;                                                                             \
    assert_int_equal(call, FARO_INVALID);                                                                    \
    assert_string_equal(error->message, text);                                                               \
  } while (0)

static void test_pld__bad_input_is_named(void **state) {
  (void)state;
  faro_pld *pld = NULL;
  assert_refused(faro_pld_gaussian(&pld, 0, error), "mu must be 1e-06 .. 100 (got 0)");
  assert_refused(faro_pld_gaussian(&pld, NAN, error), "mu must be 1e-06 .. 100 (got nan)");
  assert_refused(faro_pld_laplace(&pld, 101, error), "ratio must be 1e-06 .. 100 (got 101)");
  assert_refused(faro_pld_response(&pld, -1, error), "epsilon0 must be 1e-06 .. 100 (got -1)");
  assert_refused(faro_pld_pure(&pld, 1e-7, 0, error), "epsilon must be 1e-06 .. 100 (got 1e-07)");
  assert_refused(faro_pld_pure(&pld, 1, 1, error), "delta must be at least 0 and below 1 (got 1)");
  assert_refused(faro_pld_pure(&pld, 1, -0.1, error), "delta must be at least 0 and below 1 (got -0.1)");
  assert_null(pld);
  pld = make('l', 1, 1000000);
  faro_pld *other = make('l', 1, 1000000);
  assert_refused(faro_pld_repeat(pld, 0, error), "times must be 1 .. 1e+06 (got 0)");
  assert_refused(faro_pld_repeat(pld, 1000001, error), "times must be 1 .. 1e+06 (got 1000001)");
  assert_refused(faro_pld_repeat(pld, 1000, error),
                 "times must come to at most 1e+08 for one mechanism in all (got 1e+09)");
  assert_ok(faro_pld_repeat(pld, 100, error));
  assert_refused(faro_pld_compose(pld, other, error),
                 "times must come to at most 1e+08 for one mechanism in all (got 1.01e+08)");
  assert_close(faro_pld_epsilon(pld, 0), 1e8, 0);
  faro_pld_destroy(pld);
  faro_pld_destroy(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pld__gaussians_are_exact),
      cmocka_unit_test(test_pld__a_small_gaussian_changes_little),
      cmocka_unit_test(test_pld__responses_agree_with_binomial_sums),
      cmocka_unit_test(test_pld__one_and_two_laplace_agree_with_integration),
      cmocka_unit_test(test_pld__many_laplace_agree_with_the_integral),
      cmocka_unit_test(test_pld__mixed_lists_agree_with_the_integral),
      cmocka_unit_test(test_pld__unlike_responses_agree_with_enumeration),
      cmocka_unit_test(test_pld__pure_compose_optimally),
      cmocka_unit_test(test_pld__infinite_losses_bound_epsilon),
      cmocka_unit_test(test_pld__is_monotone_and_epsilon_inverts_delta),
      cmocka_unit_test(test_pld__order_and_grouping_do_not_matter),
      cmocka_unit_test(test_pld__scales_do_not_spoil_each_other),
      cmocka_unit_test(test_pld__failing_allocations_leave_bounds),
      cmocka_unit_test(test_pld__failing_allocations_are_reported),
      cmocka_unit_test(test_pld__bad_input_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
