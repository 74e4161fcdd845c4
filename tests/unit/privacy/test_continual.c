/* continual sums: both factorisations against explicit matrices. */
#include <math.h>

#include "privacy/continual.h"
#include "support/support.h"

enum { T = 40 };

/* Nodes of the binary tree over T leaves that have ended by leaf T, as sets of leaves [first,
 * last]. */
static size_t tree_nodes(int first[static 2 * T], int last[static 2 * T]) {
  size_t count = 0;
  for (int size = 1; size <= T; size *= 2)
    for (int start = 0; start + size <= T; start += size) {
      first[count] = start;
      last[count++] = start + size - 1;
    }
  return count;
}

static double tree_square(const bool *in) {
  int first[2 * T];
  int last[2 * T];
  const size_t nodes = tree_nodes(first, last);
  double square = 0;
  for (size_t n = 0; n < nodes; n++) {
    double count = 0;
    for (int t = first[n]; t <= last[n]; t++) count += in[t];
    square += count * count;
  }
  return square;
}

static void draw_set(faro_sim_rng *sim, int size, bool neighbours, bool *in) {
  const int start = (int)(faro_sim_uniform(sim) * (T - size + 1));
  for (int t = 0; t < T; t++) in[t] = neighbours && t >= start && t < start + size;
  for (int placed = neighbours ? size : 0; placed < size;) {
    const int t = (int)(faro_sim_uniform(sim) * T);
    placed += !in[t];
    in[t] = true;
  }
}

static void test_tree__no_user_moves_the_nodes_by_more(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 61, 0, FARO_ROLE_USER);
  for (int size = 1; size <= 16; size++) {
    const double bound = faro_tree_factors(T, (uint64_t)size).sensitivity;
    double worst = 0;
    for (int trial = 0; trial < 400; trial++) {
      bool in[T];
      draw_set(&sim, size, trial % 2 == 0, in);
      worst = fmax(worst, sqrt(tree_square(in)));
    }
    assert_true(worst <= bound * (1 + 1e-12));
    assert_true(worst > bound * 0.85); /* the bound is near: here one level is never complete */
  }
  for (uint64_t steps = 1; steps < 3000;
       steps = steps * 3 / 2 + 1) { /* the worst prefix: most ones in its digits */
    double most = 0;
    for (uint64_t t = 1; t <= steps; t++) most = fmax(most, (double)__builtin_popcountll(t));
    assert_close(faro_tree_factors(steps, 1).prefix, sqrt(most), 1e-12);
  }
}

/* L as the filter makes it, and R from L R = prefix sums by forward substitution. */
static void factors_of(int steps, double L[T][T], double R[T][T]) {
  double weight[FARO_FACTORED_TERMS];
  double base[FARO_FACTORED_TERMS];
  faro_factored_terms((uint64_t)steps, weight, base);
  for (int t = 0; t < steps; t++)
    for (int s = 0; s < steps; s++) {
      L[t][s] = t == s;
      for (int j = 0; s < t && j < FARO_FACTORED_TERMS; j++) L[t][s] += weight[j] * pow(base[j], t - s);
    }
  for (int s = 0; s < steps; s++)
    for (int t = 0; t < steps; t++) {
      double sum = t >= s;
      for (int k = 0; k < t; k++) sum -= L[t][k] * R[k][s];
      R[t][s] = sum / L[t][t];
    }
}

static void test_factored__norms_are_those_of_the_matrices(void **state) {
  (void)state;
  static double L[T][T];
  static double R[T][T];
  factors_of(T, L, R);
  double row = 0;
  double column = 0;
  for (int t = 0; t < T; t++) {
    row += L[T - 1][t] * L[T - 1][t];
    column += R[t][0] * R[t][0];
  }
  const faro_continual ours = faro_factored_factors(T, 1);
  assert_close(ours.prefix, sqrt(row), 1e-9);
  assert_close(ours.sensitivity, sqrt(column), 1e-8);
  assert_true(ours.sensitivity >= sqrt(column));
}

static void test_factored__no_user_moves_it_by_more(void **state) {
  (void)state;
  static double L[T][T];
  static double R[T][T];
  factors_of(T, L, R);
  faro_sim_rng sim;
  faro_sim_open(&sim, 62, 0, FARO_ROLE_USER);
  for (int size = 1; size <= 12; size++) {
    const double bound = faro_factored_factors(T, (uint64_t)size).sensitivity;
    double worst = 0;
    for (int trial = 0; trial < 300; trial++) {
      bool in[T];
      draw_set(&sim, size, trial % 2 == 0, in);
      double square = 0;
      for (int t = 0; t < T; t++) {
        double value = 0;
        for (int s = 0; s < T; s++) value += in[s] ? R[t][s] : 0;
        square += value * value;
      }
      worst = fmax(worst, sqrt(square));
    }
    assert_true(worst <= bound * (1 + 1e-9));
    assert_true(worst > bound * 0.95);
  }
}

/* ||R v|| for the tree over `steps` releases, whose nodes all fit, and v the sum of the releases in
 * `set`. */
static double tree_norm(int steps, unsigned set) {
  double square = 0;
  for (int size = 1; size <= steps; size *= 2)
    for (int start = 0; start + size <= steps; start += size) {
      const unsigned node = ((1u << size) - 1) << start;
      const double count = __builtin_popcount(set & node);
      square += count * count;
    }
  return sqrt(square);
}

static double factored_norm(int steps, double R[T][T], unsigned set) {
  double square = 0;
  for (int t = 0; t < steps; t++) {
    double value = 0;
    for (int s = 0; s < steps; s++) value += set >> s & 1 ? R[t][s] : 0;
    square += value * value;
  }
  return sqrt(square);
}

/* All ways to place M contributions in different releases. */
static void test_both__no_placement_moves_them_by_more(void **state) {
  (void)state;
  for (int steps = 1; steps <= 10; steps++) {
    static double L[T][T];
    static double R[T][T];
    factors_of(steps, L, R);
    for (int m = 1; m <= steps; m++) {
      double tree = 0;
      double factored = 0;
      for (unsigned set = 0; set < 1u << steps; set++) {
        if (__builtin_popcount(set) != m) continue;
        tree = fmax(tree, tree_norm(steps, set));
        factored = fmax(factored, factored_norm(steps, R, set));
      }
      const double tree_bound = faro_tree_factors((uint64_t)steps, (uint64_t)m).sensitivity;
      const double factored_bound = faro_factored_factors((uint64_t)steps, (uint64_t)m).sensitivity;
      assert_true(tree <= tree_bound * (1 + 1e-12));
      if ((m & (m - 1)) == 0) assert_close(tree / tree_bound, 1, 1e-12); /* the first M fill whole nodes */
      assert_true(factored <= factored_bound * (1 + 1e-12));
      assert_close(factored / factored_bound, 1, 1e-8); /* the first M are the worst */
    }
  }
}

/* The assumption, for every horizon: the weights of L do not exceed its diagonal. */
static void test_factored__weights_stay_below_the_diagonal(void **state) {
  (void)state;
  for (uint64_t steps = 1; steps <= UINT64_C(1) << 40; steps *= 2) {
    double weight[FARO_FACTORED_TERMS];
    double base[FARO_FACTORED_TERMS];
    faro_factored_terms(steps, weight, base);
    double sum = 0;
    for (int j = 0; j < FARO_FACTORED_TERMS; j++) sum += weight[j];
    assert_true(sum < 1);
  }
}

/* The product of both norms is within half a per cent of the square root's own, the sum of
 * f_k^2. */
static void test_factored__is_near_the_square_root(void **state) {
  (void)state;
  for (uint64_t steps = 10; steps <= 1000000; steps *= 10) {
    double f = 1;
    double best = 0;
    for (uint64_t k = 0; k < steps; k++) {
      best += f * f;
      f *= (2 * (double)k + 1) / (2 * (double)k + 2);
    }
    const faro_continual ours = faro_factored_factors(steps, 1);
    const faro_continual tree = faro_tree_factors(steps, 1);
    print_message("%llu releases: noise of the worst prefix %.3f, square root %.3f, tree %.3f\n",
                  (unsigned long long)steps, ours.sensitivity * ours.prefix, best,
                  tree.sensitivity * tree.prefix);
    assert_close(ours.sensitivity * ours.prefix / best, 1, 0.005);
    assert_true(ours.sensitivity * ours.prefix < tree.sensitivity * tree.prefix);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tree__no_user_moves_the_nodes_by_more),
      cmocka_unit_test(test_factored__norms_are_those_of_the_matrices),
      cmocka_unit_test(test_factored__no_user_moves_it_by_more),
      cmocka_unit_test(test_both__no_placement_moves_them_by_more),
      cmocka_unit_test(test_factored__weights_stay_below_the_diagonal),
      cmocka_unit_test(test_factored__is_near_the_square_root),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
