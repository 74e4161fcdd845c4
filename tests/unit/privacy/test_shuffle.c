/* shuffle: amplification by shuffling, against the pair of distributions written out, against real
 * shuffled randomizers, and its own monotonicity. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/support.h"

enum { SMALL = 40 }; /* users, if everything is enumerated */

/* 1e-9 of outward rounding, and the mass cut off where C almost never is. */
static const double SLACK = 2e-9;
static const double CUT = 1e-27;
/* Rounding error of P - e^epsilon Q in long double. */
static const double NOISE = 1e-18;
/* Two sums over blocks may differ by this. */
static const double BLOCKS = 2e-4;

/* log k!, filled once up to the largest value needed. */
enum { TABLE = 1000001 };
static long double *log_factorial;

static int fill_table(void **state) {
  (void)state;
  log_factorial = malloc(TABLE * sizeof *log_factorial);
  if (log_factorial == NULL) return -1;
  log_factorial[0] = 0;
  for (int k = 1; k < TABLE; k++) log_factorial[k] = log_factorial[k - 1] + logl(k);
  return 0;
}

static int free_table(void **state) {
  (void)state;
  free(log_factorial);
  return 0;
}

static long double binomial(int n, int k, long double p) {
  if (k < 0 || k > n) return 0;
  return expl(log_factorial[n] - log_factorial[k] - log_factorial[n - k] + (long double)k * logl(p) +
              (long double)(n - k) * log1pl(-p));
}

/* Given C = c: sum_x (P(x) - e^epsilon Q(x))_+, or with P and Q exchanged, directly from the
 * definition. x far from the middle, where nothing is left, is skipped. */
static long double naive_given(int c, long double epsilon0, long double epsilon, bool reverse) {
  const long double truth = 1 / (1 + expl(-epsilon0));
  const long double lie = 1 / (1 + expl(epsilon0));
  const long double p = reverse ? lie : truth;
  const long double q = reverse ? truth : lie;
  const long double e = expl(epsilon);
  const int reach = 10 + (int)(8 * sqrt(c));
  int x = c / 2 - reach > 0 ? c / 2 - reach : 0;
  long double sum = 0;
  long double before = binomial(c, x - 1, 0.5L);
  long double at = binomial(c, x, 0.5L);
  for (; x <= c + 1 && x <= c / 2 + reach; x++) {
    sum += fmaxl(0, p * before + q * at - e * (q * before + p * at));
    before = at;
    at *= (long double)(c - x) / (long double)(x + 1);
  }
  return sum;
}

static long double naive_delta(int n, double epsilon0, double epsilon, bool reverse) {
  const long double p = expl(-(long double)epsilon0);
  const double mean = (double)(n - 1) * (double)p;
  const double reach = 10 + 10 * sqrt(mean);
  long double sum = 0;
  for (int c = 0; c < n; c++) {
    if (n > SMALL && fabs(c - mean) > reach) continue;
    sum += binomial(n - 1, c, p) * naive_given(c, epsilon0, epsilon, reverse);
  }
  return sum;
}

static void test_delta__is_that_of_the_pair_written_out(void **state) {
  (void)state;
  for (int n = 1; n <= SMALL; n++)
    for (double epsilon0 = 1e-4; epsilon0 < 50; epsilon0 *= 2.3)
      for (int i = 0; i <= 12; i++) {
        const double epsilon = epsilon0 * i / 12;
        const double exact = (double)naive_delta(n, epsilon0, epsilon, false);
        const double ours = faro_shuffle_delta(epsilon0, 0, n, epsilon);
        if (!(ours >= exact - NOISE && ours <= exact * (1 + SLACK) + NOISE))
          fail_msg("n %d epsilon0 %g epsilon %g: %.17g is not %.17g", n, epsilon0, epsilon, ours, exact);
        const double reverse = (double)naive_delta(n, epsilon0, epsilon, true);
        assert_close(reverse, exact, 1e-15 * exact + NOISE);
      }
}

/* Responses: numbers of messages in A, in A' and elsewhere, where the others' true codes are all
 * elsewhere, so that clones alone hide the victim. Sums over all of them; no party is told
 * anything. Never above ours, and, without an elsewhere for the victim (share 1/2), equal. */
static long double naive_responses(int n, double epsilon0, double share, double epsilon) {
  const long double e0 = expl((long double)epsilon0);
  const long double lo = share / (1 + share * (e0 - 1)); /* of all codes in A', together */
  const long double hi = lo * e0;
  const long double clone = 2 * lo;
  long double sum = 0;
  for (int a = 0; a <= n; a++)
    for (int b = 0; a + b <= n; b++) {
      long double P = 0;
      long double Q = 0;
      for (int victim = 0; victim < 3; victim++) { /* in A, in A', elsewhere */
        const int x = a - (victim == 0);
        const int y = b - (victim == 1);
        if (x < 0 || y < 0 || x + y > n - 1) continue;
        const long double others =
            (clone < 1 ? binomial(n - 1, x + y, clone) : x + y == n - 1) * binomial(x + y, x, 0.5L);
        P += others * (victim == 0 ? hi : victim == 1 ? lo : 1 - hi - lo);
        Q += others * (victim == 0 ? lo : victim == 1 ? hi : 1 - hi - lo);
      }
      sum += fmaxl(0, P - expl((long double)epsilon) * Q);
    }
  return sum;
}

/* Broken once: clones with probability 4 w (1 - gamma); v left out finds nothing but the last line.
 * */
static void test_response_delta__is_never_below_that_of_the_counts(void **state) {
  (void)state;
  for (int n = 1; n <= 40; n += n < 4 ? 1 : 12)
    for (double epsilon0 = 0.01; epsilon0 < 20; epsilon0 *= 2.3)
      for (double share = 0.5; share > 0.003; share /= 2.2)
        for (int i = 0; i < 6; i++) {
          const double epsilon = epsilon0 * i / 6;
          const double exact = (double)naive_responses(n, epsilon0, share, epsilon);
          const double ours = faro_shuffle_response_delta(epsilon0, share, n, epsilon);
          if (!(ours >= exact * (1 - 1e-12) - NOISE))
            fail_msg("n %d epsilon0 %g share %g", n, epsilon0, share);
          if (share == 0.5 || n == 1) assert_true(ours <= exact * (1 + SLACK) + NOISE);
        }
}

static void test_delta__given_the_clones_does_not_grow_with_them(void **state) {
  (void)state;
  for (double epsilon0 = 1e-3; epsilon0 < 50; epsilon0 *= 3)
    for (int i = 0; i < 20; i++) {
      const double epsilon = epsilon0 * i / 20;
      long double last = 1;
      for (int c = 0; c <= 300; c++) {
        const long double at = naive_given(c, epsilon0, epsilon, false);
        assert_true(at <= last * (1 + 1e-15L) + NOISE);
        last = at;
      }
    }
}

/* Medium sizes, where clones are gathered into blocks. */
static void test_delta__blocks_cost_little(void **state) {
  (void)state;
  check_test();
  const struct {
    int n;
    double epsilon0, delta;
  } at[] = {{1000, 0.5, 1e-3}, {3000, 2, 1e-6},    {20000, 0.1, 1e-5}, {100000, 4, 1e-6},
            {100000, 1, 1e-8}, {1000000, 5, 1e-6}, {1000000, 3, 1e-4}, {1000000, 8, 1e-9}};
  double worst = 0;
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    const double epsilon = faro_shuffle_epsilon(at[i].epsilon0, 0, at[i].n, at[i].delta);
    const double exact = (double)naive_delta(at[i].n, at[i].epsilon0, epsilon, false);
    const double ours = faro_shuffle_delta(at[i].epsilon0, 0, at[i].n, epsilon);
    if (!(ours >= exact * (1 - 1e-12) && ours <= exact * (1 + BLOCKS)))
      fail_msg("n %d epsilon0 %g epsilon %g: %.17g is not %.17g", at[i].n, at[i].epsilon0, epsilon, ours,
               exact);
    assert_true(ours <= at[i].delta);
    const double below = (double)naive_delta(at[i].n, at[i].epsilon0, epsilon * 0.999, false);
    assert_true(below > at[i].delta); /* an epsilon 0.1 % smaller is not enough */
    worst = fmax(worst, ours / exact - 1);
  }
  print_message("           delta at most %.2g over the pair's\n", worst);
}

/* The published numerical bound of the paper gives 0.1698; the closed form gives 0.535. */
static void test_epsilon__matches_the_reference_point(void **state) {
  (void)state;
  const double epsilon = faro_shuffle_epsilon(4, 0, 100000, 1e-6);
  assert_close(epsilon, 0.1698, 5e-5);
  double closed = 0;
  double delta = 0;
  assert_true(faro_shuffle_closed_form(4, 0, 100000, 1e-6, &closed, &delta));
  assert_true(epsilon < closed / 3);
  print_message("           epsilon(4, n = 1e5, delta = 1e-6) = %.6f\n", epsilon);
}

/* Real randomizers: row x holds the probabilities of the messages of a user whose data is x. */
enum { DATA = 3, MESSAGES = 4, CELLS = 9 * 9 * 9 * 9 };
typedef struct randomizer {
  int data, messages;
  double p[DATA][MESSAGES];
} randomizer;

/* The distribution of the histogram of messages, cell sum_y count_y base^y. */
static void histogram(const randomizer *r, const int *x, int n, double *cells) {
  static double next[CELLS];
  int base[MESSAGES] = {1};
  for (int y = 1; y < r->messages; y++) base[y] = base[y - 1] * (n + 1);
  const int size = base[r->messages - 1] * (n + 1);
  for (int i = 0; i < size; i++) cells[i] = i == 0;
  for (int u = 0; u < n; u++) {
    for (int i = 0; i < size; i++) next[i] = 0;
    for (int i = 0; i < size; i++)
      for (int y = 0; cells[i] > 0 && y < r->messages; y++) next[i + base[y]] += cells[i] * r->p[x[u]][y];
    for (int i = 0; i < size; i++) cells[i] = next[i];
  }
}

/* Every neighbouring pair of inputs: user 0 changes from one value to another, the others have any
 * values. */
static double worst_delta(const randomizer *r, int n, double epsilon) {
  static double one[CELLS];
  static double two[CELLS];
  double worst = 0;
  int inputs = 1;
  for (int u = 0; u < n; u++) inputs *= r->data;
  for (int code = 0; code < inputs; code++) {
    int x[8] = {0};
    bool sorted = true; /* the others are shuffled: one order is enough */
    for (int u = 0, rest = code; u < n; u++, rest /= r->data) {
      x[u] = rest % r->data;
      if (u > 1 && x[u] < x[u - 1]) sorted = false;
    }
    if (!sorted) continue;
    histogram(r, x, n, one);
    const int mine = x[0];
    for (x[0] = 0; x[0] < r->data; x[0]++) {
      if (x[0] == mine) continue;
      histogram(r, x, n, two);
      int size = 1;
      for (int y = 0; y < r->messages; y++) size *= n + 1;
      double sum = 0;
      for (int i = 0; i < size; i++) sum += fmax(0, one[i] - exp(epsilon) * two[i]);
      worst = fmax(worst, sum);
    }
  }
  return worst;
}

static void check_sound(const randomizer *r, int n, double epsilon0, double delta0) {
  for (int i = 0; i <= 10; i++) {
    const double epsilon = epsilon0 * i / 10;
    const double real = worst_delta(r, n, epsilon);
    const double ours = faro_shuffle_delta(epsilon0, delta0, n, epsilon);
    if (!(ours >= real - 1e-14))
      fail_msg("%d messages, n %d epsilon0 %g delta0 %g epsilon %g: %.17g is below the real %.17g",
               r->messages, n, epsilon0, delta0, epsilon, ours, real);
  }
}

static void test_delta__is_never_below_that_of_real_randomizers(void **state) {
  (void)state;
  const double levels[] = {0.05, 0.5, 1, 2, 4, 7};
  for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
    const double e = exp(levels[l]);
    const randomizer two = {2, 2, {{e / (e + 1), 1 / (e + 1)}, {1 / (e + 1), e / (e + 1)}}};
    const randomizer three = {3,
                              3,
                              {{e / (e + 2), 1 / (e + 2), 1 / (e + 2)},
                               {1 / (e + 2), e / (e + 2), 1 / (e + 2)},
                               {1 / (e + 2), 1 / (e + 2), e / (e + 2)}}};
    for (int n = 1; n <= 8; n++) check_sound(&two, n, levels[l], 0);
    for (int n = 1; n <= 5; n++) check_sound(&three, n, levels[l], 0);
    for (double d = 1e-3; d < 0.2; d *= 10) { /* tells the truth with probability d */
      const double s = 1 - d;
      const randomizer leaky = {
          2, 4, {{s * e / (e + 1), s / (e + 1), d, 0}, {s / (e + 1), s * e / (e + 1), 0, d}}};
      for (int n = 1; n <= 5; n++) check_sound(&leaky, n, levels[l], d);
    }
  }
}

static double draw_log(faro_sim_rng *sim, double low, double high) {
  return low * pow(high / low, faro_sim_uniform(sim));
}

/* Random points of the whole range: forward and back, and a step in every argument. */
static void test_random__points_are_monotone_and_least(void **state) {
  (void)state;
  slow_test();
  faro_sim_rng sim;
  faro_sim_open(&sim, 31, 0, FARO_ROLE_USER);
  int amplified = 0;
  for (int i = 0; i < 10000; i++) {
    const double epsilon0 = draw_log(&sim, 1e-4, 50);
    const double n = floor(draw_log(&sim, 1, 1e9));
    double at = epsilon0 * draw_log(&sim, 1e-6, 1.1);
    if (i % 4 == 0) {
      const double delta = draw_log(&sim, 1e-15, 0.5);
      const double epsilon = faro_shuffle_epsilon(epsilon0, 0, n, delta);
      assert_true(epsilon >= 0 && epsilon <= epsilon0);
      assert_true(faro_shuffle_delta(epsilon0, 0, n, epsilon) <= delta);
      if (epsilon > 0)
        assert_true(faro_shuffle_delta(epsilon0, 0, n, epsilon * 0.999) > delta * (1 - BLOCKS));
      at = epsilon;
      amplified += epsilon > 0 && epsilon < epsilon0 / 2;
    }
    const double here = faro_shuffle_delta(epsilon0, 0, n, at);
    assert_true(here >= 0 && here <= 1);
    const double step = 1 + draw_log(&sim, 1e-3, 1);
    assert_true(faro_shuffle_delta(epsilon0, 0, n, at * step) <= here * (1 + BLOCKS) + CUT);
    assert_true(faro_shuffle_delta(epsilon0, 0, n * step, at) <= here * (1 + BLOCKS) + CUT);
    assert_true(faro_shuffle_delta(epsilon0 * step, 0, n, at) >= here * (1 - BLOCKS) - CUT);
  }
  print_message("           %d of 2500 epsilon with half of epsilon0 or less\n", amplified);
  assert_true(amplified > 800);
}

static void test_random__local_epsilon_is_the_inverse(void **state) {
  (void)state;
  slow_test();
  faro_sim_rng sim;
  faro_sim_open(&sim, 32, 0, FARO_ROLE_USER);
  for (int i = 0; i < 200; i++) {
    const double epsilon = draw_log(&sim, 1e-4, 10);
    const double n = floor(draw_log(&sim, 1, 1e9));
    const double delta = draw_log(&sim, 1e-15, 0.5);
    const double delta0 = i % 2 ? 0 : delta / n * draw_log(&sim, 1e-4, 1);
    const double local = faro_shuffle_local_epsilon(epsilon, delta, n, delta0);
    assert_true(local >= epsilon);
    assert_true(local == epsilon || faro_shuffle_delta(local, delta0, n, epsilon) <= delta);
    assert_true(faro_shuffle_delta(local * 1.0001 + 1e-6, delta0, n, epsilon) > delta * (1 - BLOCKS));
    /* a little more delta, because with delta0 the two may touch in one point only */
    const double back = faro_shuffle_epsilon(local, delta0, n, delta * (1 + BLOCKS));
    if (!(back <= epsilon * (1 + 1e-3)))
      fail_msg("epsilon %g delta %g n %g delta0 %g: local %g, back %g", epsilon, delta, n, delta0, local,
               back);
  }
  assert_true(faro_shuffle_local_epsilon(1, 1e-9, 100, 1e-6) == 0);
}

static void test_delta0__costs_what_the_theorem_says(void **state) {
  (void)state;
  const double pure = faro_shuffle_delta(2, 0, 10000, 0.1);
  const double lost = (exp(0.1) + 1) * (1 + exp(-2) / 2) * 10000 * 1e-12;
  assert_close(faro_shuffle_delta(2, 1e-12, 10000, 0.1), pure + lost, 2e-9 * (pure + lost));
  assert_true(faro_shuffle_delta(2, 1e-12, 10000, 3) == 1e-12); /* the local guarantee itself */
  assert_true(faro_shuffle_delta(2, 0, 10000, 2) == 0);
  assert_true(isinf(faro_shuffle_epsilon(2, 1e-3, 10000, 1e-4)));
  assert_true(faro_shuffle_epsilon(2, 1e-5, 10000, 1e-4) <= 2); /* n delta0 exceeds delta */
  double last[2] = {0, 0};
  for (double delta0 = 1e-20; delta0 < 1; delta0 *= 3) {
    const double epsilon = faro_shuffle_epsilon(2, delta0, 10000, 1e-6);
    const double delta = faro_shuffle_delta(2, delta0, 10000, 0.2);
    assert_true(epsilon >= last[0] * (1 - 1e-3) && delta >= last[1] * (1 - BLOCKS) && delta <= 1);
    last[0] = epsilon;
    last[1] = delta;
  }
  for (double delta0 = 1e-12; delta0 < 1e-3; delta0 *= 10) { /* a larger epsilon never costs delta */
    double before = 1;
    for (double epsilon = 0; epsilon < 9; epsilon += 0.1) {
      const double delta = faro_shuffle_delta(8, delta0, 20000, epsilon);
      assert_true(delta <= before * (1 + 2e-3));
      before = delta;
    }
  }
}

static void test_epsilon__nothing_overflows(void **state) {
  (void)state;
  slow_test();
  for (double n = 100; n <= 1e9; n *= 10)
    for (double x = 1e-4; x <= 50; x = x < 10 ? x * 10 : x * 5)
      for (double delta = 1e-15; delta < 0.5; delta *= 1e4)
        for (int kind = 0; kind < 4; kind++) {
          const double delta0 = kind % 2 ? delta / n / 10 : 0;
          const double answer = kind < 2 ? faro_shuffle_epsilon(x, delta0, n, delta)
                                         : faro_shuffle_local_epsilon(x, delta, n, delta0);
          assert_true(kind < 2 ? answer >= 0 && answer <= x : answer >= x && answer < 1000);
        }
  assert_true(faro_shuffle_epsilon(1000, 0, 1e9, 1e-6) <= 1000);
  assert_true(faro_shuffle_delta(1000, 0, 1e9, 999) <= 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_delta__is_that_of_the_pair_written_out),
      cmocka_unit_test(test_response_delta__is_never_below_that_of_the_counts),
      cmocka_unit_test(test_delta__given_the_clones_does_not_grow_with_them),
      cmocka_unit_test(test_delta__blocks_cost_little),
      cmocka_unit_test(test_epsilon__matches_the_reference_point),
      cmocka_unit_test(test_delta__is_never_below_that_of_real_randomizers),
      cmocka_unit_test(test_random__points_are_monotone_and_least),
      cmocka_unit_test(test_random__local_epsilon_is_the_inverse),
      cmocka_unit_test(test_delta0__costs_what_the_theorem_says),
      cmocka_unit_test(test_epsilon__nothing_overflows),
  };
  return cmocka_run_group_tests(tests, fill_table, free_table);
}
