/* noise: tests every exact noise sampler against its distribution. False-alarm rate of each check:
 * 1e-6 (support.h). */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random/noise.h"
#include "support/support.h"

static faro_sim_rng open_stream(uint64_t seed) {
  faro_sim_rng sim;
  faro_sim_open(&sim, seed, 0, FARO_ROLE_USER);
  return sim;
}

static void check_exp(faro_rng *rng, uint64_t p, uint64_t q) {
  enum { DRAWS = 200000 };
  const double chance = exp(-(double)p / (double)q);
  double hits = 0;
  for (int i = 0; i < DRAWS; i++) hits += faro_exact_bernoulli_exp(rng, p, q);
  assert_mean(hits / DRAWS, chance, sqrt(chance * (1 - chance)), DRAWS);
}

static void test_bernoulli_exp__has_its_probability(void **state) {
  (void)state;
  faro_sim_rng sim = open_stream(31);
  const uint64_t big = UINT64_C(1) << 63;
  const uint64_t fraction[][2] = {{1, 3},
                                  {1, 1},
                                  {3, 2},
                                  {2, 1},
                                  {7, 2},
                                  {1, 1000},
                                  {999, 1000},
                                  {big, big + big / 2},
                                  {UINT64_MAX, big},
                                  {UINT64_MAX - 1, UINT64_MAX}};
  for (size_t f = 0; f < sizeof fraction / sizeof *fraction; f++)
    check_exp(&sim.rng, fraction[f][0], fraction[f][1]);
  for (int i = 0; i < 1000; i++) {
    assert_true(faro_exact_bernoulli_exp(&sim.rng, 0, 1));
    assert_true(faro_exact_bernoulli_exp(&sim.rng, 0, UINT64_MAX));
    assert_false(faro_exact_bernoulli_exp(&sim.rng, UINT64_MAX, 1)); /* e^-1.8e19, in no time */
    assert_true(faro_exact_bernoulli_exp(&sim.rng, 1, UINT64_MAX));  /* 1 - 5e-20 */
  }
}

typedef int64_t sampler(faro_rng *rng, uint64_t num, uint64_t den);
typedef double weight(double k, double parameter); /* -ln P, up to a constant */

static double laplace_weight(double k, double scale) { return fabs(k) / scale; }
static double gaussian_weight(double k, double variance) { return k * k / (2 * variance); }

/* Cells -SIDE .. SIDE; the outer ones include everything beyond. */
static void check_integers(faro_rng *rng, sampler *draw, weight *of, uint64_t num, uint64_t den) {
  enum { SIDE = 60, CELLS = 2 * SIDE + 1, DRAWS = 200000, REACH = 4000 };
  double seen[CELLS] = {0};
  double expected[CELLS] = {0};
  double total = 0;
  for (int i = 0; i < DRAWS; i++) {
    const int64_t k = draw(rng, num, den);
    seen[k < -SIDE ? 0 : k > SIDE ? CELLS - 1 : k + SIDE]++;
  }
  const double parameter = (double)num / (double)den;
  for (int k = -REACH; k <= REACH; k++) {
    const double mass = exp(-of(k, parameter));
    expected[k < -SIDE ? 0 : k > SIDE ? CELLS - 1 : k + SIDE] += mass;
    total += mass;
  }
  for (size_t c = 0; c < CELLS; c++) expected[c] *= DRAWS / total;
  if (expected[SIDE] < DRAWS - 5) assert_chi_square(seen, expected, CELLS);
  else assert_true(seen[SIDE] > DRAWS - 40); /* nearly a point mass: at most 5 expected elsewhere */
}

static const uint64_t parameters[][2] = {{1, 3}, {1, 1},  {2, 1},  {7, 2},
                                         {9, 4}, {1, 20}, {20, 1}, {1000003, 314159}};
enum { PARAMETERS = sizeof parameters / sizeof *parameters };

static void test_discrete_laplace__fits_its_distribution(void **state) {
  (void)state;
  faro_sim_rng sim = open_stream(32);
  for (size_t i = 0; i < PARAMETERS; i++)
    check_integers(&sim.rng, faro_exact_discrete_laplace, laplace_weight, parameters[i][0], parameters[i][1]);
}

static void test_discrete_gaussian__fits_its_distribution(void **state) {
  (void)state;
  faro_sim_rng sim = open_stream(33);
  for (size_t i = 0; i < PARAMETERS; i++)
    check_integers(&sim.rng, faro_exact_discrete_gaussian, gaussian_weight, parameters[i][0],
                   parameters[i][1]);
  check_integers(&sim.rng, faro_exact_discrete_gaussian, gaussian_weight, 400, 1);
  /* denominators beyond 64 bits */
  check_integers(&sim.rng, faro_exact_discrete_gaussian, gaussian_weight, (UINT64_C(1) << 51) + 12345,
                 UINT64_C(1) << 50);
}

enum { DRAWS = 100000 };
static double standardised[DRAWS];

static double laplace_cdf(double x) { /* of variance 1 */
  const double tail = exp(-sqrt(2) * fabs(x)) / 2;
  return x < 0 ? tail : 1 - tail;
}

static void check_wide(faro_rng *rng, sampler *draw, uint64_t num, uint64_t den, double sd, double kurtosis,
                       double (*cdf)(double)) {
  double sum = 0;
  double square = 0;
  for (size_t i = 0; i < DRAWS; i++) {
    standardised[i] = (double)draw(rng, num, den) / sd;
    sum += standardised[i];
    square += standardised[i] * standardised[i];
  }
  assert_mean(sum / DRAWS, 0, 1, DRAWS);
  assert_variance(square / DRAWS, 1, kurtosis, DRAWS);
  assert_ks(standardised, DRAWS, cdf);
}

static void test_wide_noise__fits_the_continuous_limit(void **state) {
  (void)state;
  faro_sim_rng sim = open_stream(34);
  const uint64_t scale[] = {10000, 10000000, UINT64_C(1) << 38};
  for (size_t i = 0; i < 3; i++) {
    const double s = (double)scale[i];
    check_wide(&sim.rng, faro_exact_discrete_laplace, scale[i], 1, sqrt(2) * s, 6, laplace_cdf);
    check_wide(&sim.rng, faro_exact_discrete_laplace, scale[i] * 7, 3, sqrt(2) * s * 7 / 3, 6, laplace_cdf);
  }
  check_wide(&sim.rng, faro_exact_discrete_gaussian, UINT64_C(100000000), 1, 1e4, 3, normal_cdf);
  check_wide(&sim.rng, faro_exact_discrete_gaussian, UINT64_C(300000000000007), 3, 1e7, 3, normal_cdf);
  check_wide(&sim.rng, faro_exact_discrete_gaussian, UINT64_C(100000000000000) * 300, 300, 1e7, 3,
             normal_cdf);
}

static void check_binomial(faro_rng *rng, unsigned n, uint64_t p, uint64_t q) {
  double seen[201] = {0};
  double expected[201];
  const double chance = (double)p / (double)q;
  for (int i = 0; i < 50000; i++) {
    const uint64_t k = faro_exact_binomial(rng, n, p, q);
    assert_true(k <= n);
    seen[k]++;
  }
  for (unsigned k = 0; k <= n; k++) {
    double value = 1;
    for (unsigned i = 0; i < k; i++) value *= (double)(n - i) / (double)(k - i) * chance;
    expected[k] = 50000 * value * pow(1 - chance, n - k);
  }
  assert_chi_square(seen, expected, n + 1);
}

static void test_binomial__fits_its_distribution(void **state) {
  (void)state;
  faro_sim_rng sim = open_stream(35);
  const uint64_t fraction[][2] = {{1, 3},
                                  {1, 2},
                                  {3, 4},
                                  {5, 7},
                                  {1, 50},
                                  {49, 50},
                                  {UINT64_MAX / 5, UINT64_MAX},
                                  {UINT64_MAX - UINT64_MAX / 3, UINT64_MAX}};
  const unsigned n[] = {1, 2, 20, 64, 65, 200};
  for (size_t f = 0; f < sizeof fraction / sizeof *fraction; f++)
    for (size_t i = 0; i < 6; i++) check_binomial(&sim.rng, n[i], fraction[f][0], fraction[f][1]);
}

static void test_binomial__fits_the_normal_limit(void **state) {
  (void)state;
  faro_sim_rng sim = open_stream(36);
  const uint64_t n = 1000000;
  const double sd = sqrt(1e6 * 2 / 9);
  enum { SUMS = 3000 };
  double sum = 0;
  double square = 0;
  for (size_t i = 0; i < SUMS; i++) {
    standardised[i] = ((double)faro_exact_binomial(&sim.rng, n, 1, 3) - 1e6 / 3) / sd;
    sum += standardised[i];
    square += standardised[i] * standardised[i];
  }
  assert_mean(sum / SUMS, 0, 1, SUMS);
  assert_variance(square / SUMS, 1, 3, SUMS);
  assert_ks(standardised, SUMS, normal_cdf);
}

static void test_binomial__edge_cases_are_exact(void **state) {
  (void)state;
  faro_sim_rng sim = open_stream(37);
  for (uint64_t n = 0; n < 200; n++) {
    assert_int_equal(faro_exact_binomial(&sim.rng, n, 0, 1), 0);
    assert_int_equal(faro_exact_binomial(&sim.rng, n, 0, UINT64_MAX), 0);
    assert_int_equal(faro_exact_binomial(&sim.rng, n, 5, 5), n);
    assert_int_equal(faro_exact_binomial(&sim.rng, n, UINT64_MAX, UINT64_MAX), n);
  }
  assert_int_equal(faro_exact_binomial(&sim.rng, 0, 1, 3), 0);
}

static void test_secure_stream__gives_the_same_noise(void **state) {
  (void)state;
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  faro_rng *rng = faro_secure_face(secure);
  unseeded(true);
  check_exp(rng, 3, 2);
  check_integers(rng, faro_exact_discrete_laplace, laplace_weight, 7, 2);
  check_integers(rng, faro_exact_discrete_gaussian, gaussian_weight, 9, 4);
  check_binomial(rng, 65, 1, 3);
  unseeded(false);
  faro_secure_close(secure);
}

/* A call outside the stated range stops the program. */
static void abort_by(int which, faro_rng *rng) {
  switch (which) {
  case 0: faro_exact_bernoulli_exp(rng, 1, 0); break;
  case 1: faro_exact_discrete_laplace(rng, 0, 1); break;
  case 2: faro_exact_discrete_laplace(rng, UINT64_C(1) << 40, 1); break;
  case 3: faro_exact_discrete_gaussian(rng, 1, 0); break;
  case 4: faro_exact_discrete_gaussian(rng, 0, 1); break;
  case 5: faro_exact_discrete_gaussian(rng, 1, (UINT64_C(1) << 55) + 1); break;
  case 6: faro_exact_discrete_gaussian(rng, UINT64_C(1) << 55, 1); break; /* t = sigma + 1 */
  case 7: faro_exact_binomial(rng, 10, 2, 1); break;
  case 8: faro_exact_binomial(rng, 10, 0, 0); break;
  default: break;
  }
}

static void test_noise__outside_its_range_aborts(void **state) {
  (void)state;
  faro_sim_rng sim = open_stream(38);
  for (int which = 0; which <= 9; which++) {
    const pid_t child = fork();
    if (child == 0) {
      if (freopen("/dev/null", "w", stderr) == NULL) _exit(1);
      signal(SIGABRT, SIG_DFL);
      abort_by(which, &sim.rng);
      _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, which < 9);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bernoulli_exp__has_its_probability),
      cmocka_unit_test(test_discrete_laplace__fits_its_distribution),
      cmocka_unit_test(test_discrete_gaussian__fits_its_distribution),
      cmocka_unit_test(test_wide_noise__fits_the_continuous_limit),
      cmocka_unit_test(test_binomial__fits_its_distribution),
      cmocka_unit_test(test_binomial__fits_the_normal_limit),
      cmocka_unit_test(test_binomial__edge_cases_are_exact),
      cmocka_unit_test(test_secure_stream__gives_the_same_noise),
      cmocka_unit_test(test_noise__outside_its_range_aborts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
