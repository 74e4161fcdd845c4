/* samplers: tests every sampler against its distribution. False-alarm rate of each check: 1e-6
 * (support.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random/samplers.h"
#include "support/support.h"

static faro_sim_rng open_stream(uint64_t seed) {
  faro_sim_rng sim;
  faro_sim_open(&sim, seed, 0, FARO_ROLE_USER);
  return sim;
}

/* The probability by plain multiplication, for small n. */
static double naive_binomial(unsigned n, double p, unsigned k) {
  double value = 1;
  for (unsigned i = 0; i < k; i++) value *= (double)(n - i) / (double)(k - i) * p;
  return value * pow(1 - p, n - k);
}

static double unit_cdf(double x) { return x; }

static void test_uniform__fits_the_unit_interval(void **state) {
  (void)state;
  enum { N = 200000 };
  static double draw[N];
  faro_sim_rng sim = open_stream(1);
  for (size_t i = 0; i < N; i++) {
    draw[i] = faro_sim_uniform(&sim);
    assert_true(draw[i] >= 0 && draw[i] < 1);
  }
  assert_ks(draw, N, unit_cdf);
}

static void test_normal__fits_the_distribution(void **state) {
  (void)state;
  enum { N = 2000000 };
  double *draw = malloc(N * sizeof *draw);
  assert_non_null(draw);
  faro_sim_rng sim = open_stream(2);
  double sum = 0;
  double square = 0;
  for (size_t i = 0; i < N; i++) {
    draw[i] = faro_sim_normal(&sim);
    sum += draw[i];
    square += draw[i] * draw[i];
  }
  assert_mean(sum / N, 0, 1, N);
  assert_variance(square / N, 1, 3, N);
  assert_ks(draw, N, normal_cdf);
  free(draw);
}

/* The ziggurat draws beyond its last layer in another way: 20 million draws reach it often
 * enough. */
static void test_normal__fits_beyond_the_last_layer_on_both_sides(void **state) {
  (void)state;
  enum { N = 20000000, CELLS = 6 };
  const double edge[CELLS] = {3.5, 3.6541528853610088, 3.7, 3.8, 4, 4.3};
  double seen[2 * CELLS] = {0};
  double expected[2 * CELLS];
  faro_sim_rng sim = open_stream(20);
  for (int i = 0; i < N; i++) {
    const double x = faro_sim_normal(&sim);
    if (x > -edge[0] && x < edge[0]) continue;
    size_t cell = 0;
    while (cell + 1 < CELLS && fabs(x) >= edge[cell + 1]) cell++;
    seen[x < 0 ? cell : CELLS + cell]++;
  }
  for (size_t c = 0; c < CELLS; c++) {
    const double above = c + 1 < CELLS ? 0.5 * erfc(edge[c + 1] / sqrt(2)) : 0;
    expected[c] = expected[CELLS + c] = N * (0.5 * erfc(edge[c] / sqrt(2)) - above);
  }
  double total = 0;
  double should = 0;
  for (size_t c = 0; c < 2 * CELLS; c++) {
    total += seen[c];
    should += expected[c];
  }
  assert_mean(total / N, should / N, sqrt(should / N), N);
  assert_chi_square(seen, expected, 2 * CELLS);
}

static void test_bernoulli__has_its_probability(void **state) {
  (void)state;
  faro_sim_rng sim = open_stream(3);
  for (double p = 0; p <= 1; p += 0.125) {
    double hits = 0;
    for (int i = 0; i < 100000; i++) hits += faro_sim_bernoulli(&sim, p);
    if (p == 0 || p == 1) assert_true(hits == 100000 * p);
    else assert_mean(hits / 100000, p, sqrt(p * (1 - p)), 100000);
  }
}

/* Lanes give the numbers of the plain loop and leave the stream where it leaves it, wherever they
 * begin in the buffer; a stream of this length has hundreds of candidates that are refused and some
 * in the tails. */
static void test_normals__in_lanes_are_those_of_single_draws(void **state) {
  (void)state;
  enum { MOST = 200, REPEATS = 20 };
  faro_sim_rng one = open_stream(12);
  faro_sim_rng other = one;
  faro_sim_rng third = one;
  for (size_t n = 0; n < MOST * REPEATS; n++) {
    double single[MOST];
    double lanes[MOST];
    double plain[MOST];
    const size_t count = n % MOST;
    for (size_t i = 0; i < count; i++) single[i] = faro_sim_normal(&one);
    faro_sim_normals(&other, lanes, count);
    faro_plain_normals(&third, plain, count);
    assert_memory_equal(lanes, single, count * sizeof *single);
    assert_memory_equal(plain, single, count * sizeof *single);
    assert_int_equal(other.rng.left, one.rng.left);
  }
  const double sd[3] = {1, 2, 3};
  double sum[3] = {0.5, 0.25, 0};
  faro_sim_add_normals(&other, 4, sd, sum, 3);
  for (size_t i = 0; i < 3; i++) sum[i] -= 4 * sd[i] * faro_sim_normal(&one);
  assert_close(sum[0], 0.5, 1e-14);
  assert_close(sum[1], 0.25, 1e-14);
  assert_close(sum[2], 0, 1e-14);
  assert_true(faro_rng_next(&one.rng) == faro_rng_next(&other.rng));
}

/* Rows of any length, also those too long for lanes, and any number of them. */
static void test_rows__are_a_uniform_and_normals_each(void **state) {
  (void)state;
  enum { LONGEST = 70, MOST = 9, REPEATS = 5 };
  faro_sim_rng one = open_stream(13);
  faro_sim_rng other = one;
  for (size_t n = 0; n < LONGEST * REPEATS; n++)
    for (size_t rows = 0; rows < MOST; rows++) {
      double single[LONGEST * MOST];
      double drawn[LONGEST * MOST];
      const size_t row = n % LONGEST + 1;
      for (size_t i = 0; i < rows * row; i++)
        single[i] = i % row == 0 ? faro_sim_uniform(&one) : faro_sim_normal(&one);
      faro_sim_rows(&other, drawn, rows, row - 1);
      assert_memory_equal(drawn, single, rows * row * sizeof *single);
      assert_int_equal(other.rng.left, one.rng.left);
    }
  assert_true(faro_rng_next(&one.rng) == faro_rng_next(&other.rng));
}

/* Beyond a buffer too; of so many streams some are drawn again, and most are not. */
static void test_abreast__are_the_normals_of_each_stream(void **state) {
  (void)state;
  enum { LONGEST = 150 };
  for (size_t n = 0; n < LONGEST; n++) {
    double drawn[FARO_ABREAST * LONGEST];
    faro_sim_abreast(n + 5, 3 * n, FARO_ROLE_DIRECTION, n, drawn);
    for (size_t k = 0; k < FARO_ABREAST; k++) {
      faro_sim_rng one;
      faro_sim_open(&one, n + 5, 3 * n + k, FARO_ROLE_DIRECTION);
      for (size_t i = 0; i < n; i++) assert_true(drawn[FARO_ABREAST * i + k] == faro_sim_normal(&one));
    }
  }
}

/* The words of single draws, at any place of the buffer. The words next to the bound, which chance
 * never brings, are put there by hand. */
static void test_count__is_that_of_single_draws(void **state) {
  (void)state;
  static const double p[] = {0,           1e-300, 0x1p-53, 0.1,  0.5, 0.7310585786300049,
                             1 - 0x1p-53, 1,      1.5,     -0.5, NAN};
  faro_sim_rng one = open_stream(11);
  faro_sim_rng other = one;
  for (uint64_t n = 0; n < 300; n++)
    for (size_t k = 0; k < sizeof p / sizeof *p; k++) {
      const uint64_t bound = p[k] > 0 && p[k] < 1 ? (uint64_t)(p[k] * 0x1p53) : 0;
      for (uint64_t i = 0; i < 3 && i < one.rng.left; i++)
        one.rng.word[i] = other.rng.word[i] = (bound + i - (bound > 0)) << 11;
      uint64_t hits = 0;
      for (uint64_t i = 0; i < n; i++) hits += faro_sim_bernoulli(&one, p[k]);
      assert_int_equal(faro_sim_count(&other, n, p[k]), hits);
    }
  assert_true(faro_rng_next(&one.rng) == faro_rng_next(&other.rng));
}

static void test_below__is_uniform_also_where_modulo_is_not(void **state) {
  (void)state;
  faro_sim_rng sim = open_stream(4);
  for (uint64_t n = 1; n <= 40; n += 3) {
    double seen[40] = {0};
    double expected[40];
    for (int i = 0; i < 20000; i++) seen[faro_exact_below(&sim.rng, n)]++;
    for (size_t k = 0; k < n; k++) expected[k] = 20000.0 / (double)n;
    if (n > 1) assert_chi_square(seen, expected, n);
  }
  /* n = 3 * 2^62: without rejection, the high half of word * n would be a multiple of 3 with
   * probability 1/2, not 1/3. */
  const uint64_t n = UINT64_C(3) << 62;
  double threes = 0;
  for (int i = 0; i < 30000; i++) {
    const uint64_t value = faro_exact_below(&sim.rng, n);
    assert_true(value < n);
    threes += value % 3 == 0;
  }
  assert_mean(threes / 30000, 1.0 / 3, sqrt(2.0) / 3, 30000);
}

static void test_exact_bernoulli__has_its_rational_probability(void **state) {
  (void)state;
  faro_sim_rng sim = open_stream(5);
  const uint64_t fraction[][2] = {{1, 3}, {5, 7}, {1, 1000}, {UINT64_C(1) << 62, UINT64_C(3) << 61}};
  for (size_t f = 0; f < 4; f++) {
    const double p = (double)fraction[f][0] / (double)fraction[f][1];
    double hits = 0;
    for (int i = 0; i < 200000; i++) hits += faro_exact_bernoulli(&sim.rng, fraction[f][0], fraction[f][1]);
    assert_mean(hits / 200000, p, sqrt(p * (1 - p)), 200000);
  }
  assert_true(faro_exact_bernoulli(&sim.rng, 5, 5));
  assert_false(faro_exact_bernoulli(&sim.rng, 0, 5));
}

static void check_small(uint64_t (*draw)(void *, uint64_t), void *context, unsigned n, double p) {
  double seen[65] = {0};
  double expected[65];
  for (int i = 0; i < 50000; i++) {
    const uint64_t k = draw(context, n);
    assert_true(k <= n);
    seen[k]++;
  }
  for (unsigned k = 0; k <= n; k++) expected[k] = 50000 * naive_binomial(n, p, k);
  assert_chi_square(seen, expected, n + 1);
}

static uint64_t draw_half(void *sim, uint64_t n) {
  return faro_exact_binomial_half(&((faro_sim_rng *)sim)->rng, n);
}
static uint64_t draw_quarter(void *sim, uint64_t n) {
  return faro_exact_binomial_quarter(&((faro_sim_rng *)sim)->rng, n);
}

static void test_counted_bits__are_binomial(void **state) {
  (void)state;
  faro_sim_rng sim = open_stream(6);
  const unsigned sizes[] = {1, 2, 7, 31, 63, 64};
  for (size_t i = 0; i < 6; i++) {
    check_small(draw_half, &sim, sizes[i], 0.5);
    check_small(draw_quarter, &sim, sizes[i], 0.25);
  }
  assert_int_equal(faro_exact_binomial_half(&sim.rng, 0), 0);
  double sum[2] = {0, 0};
  for (int i = 0; i < 2000; i++) { /* more than one word, and a part of one */
    sum[0] += (double)faro_exact_binomial_half(&sim.rng, 1000);
    sum[1] += (double)faro_exact_binomial_quarter(&sim.rng, 1000);
  }
  assert_mean(sum[0] / 2000, 500, sqrt(250), 2000);
  assert_mean(sum[1] / 2000, 250, sqrt(187.5), 2000);
}

static uint64_t draw_fast(void *context, uint64_t n) {
  struct {
    faro_sim_rng sim;
    double p;
  } *c = context;
  faro_binomial plan;
  faro_binomial_plan(&plan, n, c->p);
  return faro_sim_binomial(&plan, &c->sim);
}

static void test_fast_binomial__fits_for_small_n(void **state) {
  (void)state;
  struct {
    faro_sim_rng sim;
    double p;
  } c = {open_stream(7), 0};
  const double p[] = {0.02, 0.25, 0.5, 0.7, 0.98};
  const unsigned n[] = {1, 5, 20, 41, 64}; /* both methods, and the mirrored case */
  for (size_t i = 0; i < 5; i++)
    for (size_t j = 0; j < 5; j++) {
      c.p = p[i];
      check_small(draw_fast, &c, n[j], p[i]);
    }
}

static void test_fast_binomial__fits_for_medium_n(void **state) {
  (void)state;
  enum { N = 12240, DRAWS = 400000, CELLS = 601 };
  static double seen[CELLS];
  static double expected[CELLS];
  const double p = 0.25;
  faro_sim_rng sim = open_stream(8);
  faro_binomial plan;
  faro_binomial_plan(&plan, N, p);
  const uint64_t low = (uint64_t)(N * p) - CELLS / 2;
  for (int i = 0; i < DRAWS; i++) {
    const uint64_t k = faro_sim_binomial(&plan, &sim);
    assert_true(k >= low && k < low + CELLS); /* never more than 6 standard deviations out */
    seen[k - low]++;
  }
  for (size_t i = 0; i < CELLS; i++) { /* probabilities by lgamma, a second method */
    const double k = (double)(low + i);
    expected[i] =
        DRAWS * exp(lgamma(N + 1.0) - lgamma(k + 1) - lgamma(N - k + 1) + k * log(p) + (N - k) * log(1 - p));
  }
  assert_chi_square(seen, expected, CELLS);
}

/* The bound that decides most draws holds for the form that decides the others: so the same words
 * give the same numbers with it and without it. */
static void test_fast_binomial__is_the_same_without_its_bound(void **state) {
  (void)state;
  const double p[] = {1e-3, 0.02, 0.25, 0.3, 0.5, 0.7};
  faro_sim_rng one = open_stream(14);
  faro_sim_rng other = one;
  size_t decided = 0;
  for (uint64_t n = 15; n < UINT64_C(1) << 60; n += n / 2 + n / 7)
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) {
      faro_binomial plan;
      faro_binomial_plan(&plan, n, p[i]);
      if (plan.first > 0) continue;
      faro_binomial plain = plan;
      plain.reach = -1;
      const double sd = sqrt(plan.mean[0] * (1 - plan.p));
      for (int j = -60; j <= 60; j++) {
        const double k = floor(plan.mean[0] + sd * j / 8);
        double ratio = 0;
        double error = 0;
        assert_false(faro_binomial_near(&plain, k, &ratio, &error));
        if (!faro_binomial_near(&plan, k, &ratio, &error)) continue;
        const double exact = faro_binomial_log((double)n, plan.p, k) - plan.mode_log;
        assert_true(fabs(ratio - exact) <= error);
        decided += error < 1e-3;
      }
      for (int j = 0; j < 2000; j++)
        assert_int_equal(faro_sim_binomial(&plan, &one), faro_sim_binomial(&plain, &other));
    }
  assert_true(decided > 30000);
  assert_true(faro_rng_next(&one.rng) == faro_rng_next(&other.rng));
}

static double standardised[200000];

static void test_fast_binomial__fits_the_normal_limit_for_huge_n(void **state) {
  (void)state;
  const uint64_t n[] = {UINT64_C(1000000000), UINT64_C(4000000000000), UINT64_C(1) << 60};
  for (size_t s = 0; s < 3; s++) {
    faro_sim_rng sim = open_stream(9 + s);
    faro_binomial plan;
    faro_binomial_plan(&plan, n[s], 0.25);
    const double mean = 0.25 * (double)n[s];
    const double sd = sqrt(mean * 0.75);
    double sum = 0;
    double square = 0;
    for (size_t i = 0; i < 200000; i++) {
      standardised[i] = ((double)faro_sim_binomial(&plan, &sim) - mean) / sd;
      sum += standardised[i];
      square += standardised[i] * standardised[i];
    }
    assert_mean(sum / 200000, 0, 1, 200000);
    assert_variance(square / 200000, 1, 3, 200000);
    assert_ks(standardised, 200000, normal_cdf);
  }
}

static void test_fast_binomial__edge_cases_are_exact(void **state) {
  (void)state;
  faro_sim_rng sim = open_stream(12);
  faro_binomial plan;
  faro_binomial_plan(&plan, 0, 0.3);
  assert_int_equal(faro_sim_binomial(&plan, &sim), 0);
  faro_binomial_plan(&plan, 9, 0);
  assert_int_equal(faro_sim_binomial(&plan, &sim), 0);
  faro_binomial_plan(&plan, 9, 1);
  assert_int_equal(faro_sim_binomial(&plan, &sim), 9);
}

static double shape; /* for gamma_cdf */
static double gamma_cdf(double x) { return 1 - chi_square_tail(2 * x, 2 * shape); }
static double laplace_cdf(double x) { return x < 0 ? 0.5 * exp(x) : 1 - 0.5 * exp(-x); }

static void test_gamma__fits_its_distribution(void **state) {
  (void)state;
  enum { N = 200000 };
  const double shapes[] = {1, 2, 3, 7, 50, 1000};
  faro_sim_rng sim = open_stream(30);
  for (size_t s = 0; s < 6; s++) {
    shape = shapes[s];
    for (size_t i = 0; i < N; i++) standardised[i] = faro_sim_gamma(&sim, shape);
    assert_ks(standardised, N, gamma_cdf);
  }
}

/* Far out on both sides, where a slightly wrong rejection would show: Gamma(3), mean 3. */
static void test_gamma__fits_in_the_tails(void **state) {
  (void)state;
  enum { N = 5000000, CELLS = 9 };
  const double edge[CELLS + 1] = {0, 0.05, 0.1, 0.2, 0.3, 10, 12, 14, 16, (double)INFINITY};
  double seen[CELLS] = {0};
  double expected[CELLS];
  faro_sim_rng sim = open_stream(31);
  for (int i = 0; i < N; i++) {
    const double x = faro_sim_gamma(&sim, 3);
    size_t cell = 0;
    while (x >= edge[cell + 1]) cell++;
    seen[cell]++;
  }
  for (size_t c = 0; c < CELLS; c++) {
    const double above = c + 1 < CELLS ? chi_square_tail(2 * edge[c + 1], 6) : 0;
    expected[c] = N * (chi_square_tail(2 * edge[c], 6) - above);
  }
  assert_chi_square(seen, expected, CELLS);
}

/* One draw for n variables has the same distribution as the sum of n draws. */
static void test_laplace_sum__is_the_sum_of_laplaces(void **state) {
  (void)state;
  enum { N = 200000, CELLS = 60 };
  faro_sim_rng sim = open_stream(32);
  for (size_t i = 0; i < N; i++) standardised[i] = faro_sim_laplace_sum(&sim, 1);
  assert_ks(standardised, N, laplace_cdf);
  for (int n = 2; n <= 9; n += 7) {
    double seen[2][CELLS] = {{0}};
    for (size_t i = 0; i < N; i++)
      for (int way = 0; way < 2; way++) {
        double x = way ? faro_sim_laplace_sum(&sim, n) : 0;
        for (int k = 0; !way && k < n; k++) {
          const double u = faro_sim_uniform(&sim) - 0.5; /* by inversion */
          x += u > -0.5 ? copysign(log1p(-2 * fabs(u)), u) : 0;
        }
        const double cell = floor(CELLS / 2.0 + x / sqrt(2.0 * n) * 8);
        seen[way][(size_t)fmax(0, fmin(CELLS - 1, cell))]++;
      }
    assert_same_counts(seen[0], seen[1], CELLS);
  }
}

static void test_laplace_sum__of_very_many_is_normal(void **state) {
  (void)state;
  enum { N = 200000 };
  faro_sim_rng sim = open_stream(33);
  for (double n = 1e8; n <= 1e12; n *= 1e4) {
    double square = 0;
    for (size_t i = 0; i < N; i++) {
      standardised[i] = faro_sim_laplace_sum(&sim, n) / sqrt(2 * n);
      square += standardised[i] * standardised[i];
    }
    assert_variance(square / N, 1, 3, N);
    assert_ks(standardised, N, normal_cdf);
  }
}

static void test_binomial_log__sums_to_one_and_matches_products(void **state) {
  (void)state;
  for (unsigned n = 1; n <= 60; n += 7)
    for (double p = 0.05; p < 1; p += 0.15) {
      double total = 0;
      for (unsigned k = 0; k <= n; k++) {
        const double value = exp(faro_binomial_log(n, p, k));
        assert_close(value / naive_binomial(n, p, k), 1, 1e-11);
        total += value;
      }
      assert_close(total, 1, 1e-12);
    }
}

static void test_shuffle__all_orders_are_equally_likely(void **state) {
  (void)state;
  enum { DRAWS = 240000 };
  faro_sim_rng sim = open_stream(13);
  double seen[256] = {0};
  double count[24] = {0};
  double expected[24];
  for (int i = 0; i < DRAWS; i++) {
    unsigned char item[4] = {0, 1, 2, 3};
    faro_exact_shuffle(&sim.rng, item, 4, 1);
    seen[item[0] * 64 + item[1] * 16 + item[2] * 4 + item[3]]++;
  }
  size_t orders = 0;
  for (size_t i = 0; i < 256; i++)
    if (seen[i] > 0) {
      assert_true(orders < 24);
      count[orders++] = seen[i];
    }
  assert_int_equal(orders, 24);
  for (size_t i = 0; i < 24; i++) expected[i] = DRAWS / 24.0;
  assert_chi_square(count, expected, 24);
}

static void test_shuffle__keeps_large_items_whole(void **state) {
  (void)state;
  enum { COUNT = 50, SIZE = 700 };
  static unsigned char item[COUNT][SIZE];
  faro_sim_rng sim = open_stream(14);
  for (int i = 0; i < COUNT; i++) memset(item[i], i, SIZE);
  faro_exact_shuffle(&sim.rng, item, COUNT, SIZE);
  bool seen[COUNT] = {false};
  for (int i = 0; i < COUNT; i++) {
    for (int j = 1; j < SIZE; j++) assert_int_equal(item[i][j], item[i][0]);
    assert_false(seen[item[i][0]]);
    seen[item[i][0]] = true;
  }
}

static void test_secure__words_are_uniform(void **state) {
  (void)state;
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  double seen[256] = {0};
  double expected[256];
  for (int i = 0; i < 200000; i++) seen[faro_rng_next(faro_secure_face(secure)) >> 56]++;
  for (size_t i = 0; i < 256; i++) expected[i] = 200000 / 256.0;
  unseeded(true);
  assert_chi_square(seen, expected, 256);
  unseeded(false);
  faro_secure_close(secure);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_uniform__fits_the_unit_interval),
      cmocka_unit_test(test_normal__fits_the_distribution),
      cmocka_unit_test(test_normal__fits_beyond_the_last_layer_on_both_sides),
      cmocka_unit_test(test_bernoulli__has_its_probability),
      cmocka_unit_test(test_normals__in_lanes_are_those_of_single_draws),
      cmocka_unit_test(test_abreast__are_the_normals_of_each_stream),
      cmocka_unit_test(test_rows__are_a_uniform_and_normals_each),
      cmocka_unit_test(test_count__is_that_of_single_draws),
      cmocka_unit_test(test_below__is_uniform_also_where_modulo_is_not),
      cmocka_unit_test(test_exact_bernoulli__has_its_rational_probability),
      cmocka_unit_test(test_counted_bits__are_binomial),
      cmocka_unit_test(test_fast_binomial__fits_for_small_n),
      cmocka_unit_test(test_fast_binomial__fits_for_medium_n),
      cmocka_unit_test(test_fast_binomial__is_the_same_without_its_bound),
      cmocka_unit_test(test_fast_binomial__fits_the_normal_limit_for_huge_n),
      cmocka_unit_test(test_fast_binomial__edge_cases_are_exact),
      cmocka_unit_test(test_gamma__fits_its_distribution),
      cmocka_unit_test(test_gamma__fits_in_the_tails),
      cmocka_unit_test(test_laplace_sum__is_the_sum_of_laplaces),
      cmocka_unit_test(test_laplace_sum__of_very_many_is_normal),
      cmocka_unit_test(test_binomial_log__sums_to_one_and_matches_products),
      cmocka_unit_test(test_shuffle__all_orders_are_equally_likely),
      cmocka_unit_test(test_shuffle__keeps_large_items_whole),
      cmocka_unit_test(test_secure__words_are_uniform),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
