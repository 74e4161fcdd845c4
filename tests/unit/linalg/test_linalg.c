/* linalg: both implementations of every operation against naive ones, d from 1 to 1000. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/dense.h"
#include "linalg/kernels.h"
#include "linalg/rank.h"
#include "support/support.h"

static faro_sim_rng sim;

static int open_stream(void **state) {
  (void)state;
  faro_sim_open(&sim, 11, 0, FARO_ROLE_USER);
  return 0;
}

static double *vector(size_t n) {
  double *v = calloc(n + 1, sizeof *v);
  assert_non_null(v);
  return v;
}

static double *aligned(size_t n) {
  double *v = aligned_alloc(64, (n + 8) / 8 * 64);
  assert_non_null(v);
  memset(v, 0, n * sizeof *v);
  return v;
}

/* Packed A = sum of d + 3 outer products + ridge I. */
static double *random_spd(size_t d, double ridge) {
  double *a = vector(faro_packed(d));
  double *x = vector(d);
  for (size_t k = 0; k < d + 3; k++) {
    for (size_t i = 0; i < d; i++) x[i] = faro_sim_normal(&sim);
    for (size_t i = 0; i < d; i++)
      for (size_t j = 0; j <= i; j++) a[faro_packed(i) + j] += x[i] * x[j];
  }
  for (size_t i = 0; i < d; i++) a[faro_diagonal(i)] += ridge;
  free(x);
  return a;
}

static double entry(const double *a, size_t i, size_t j) {
  return i >= j ? a[faro_packed(i) + j] : a[faro_packed(j) + i];
}

/* (L L')_ij for lower-triangular packed L. */
static double product(const double *l, size_t i, size_t j) {
  double sum = 0;
  for (size_t k = 0; k <= (i < j ? i : j); k++) sum += l[faro_packed(i) + k] * l[faro_packed(j) + k];
  return sum;
}

static void check_factor(size_t d, const double *a, const double *l) {
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++)
      assert_close(product(l, i, j), entry(a, i, j),
                   1e-12 * (double)d * sqrt(entry(a, i, i) * entry(a, j, j)));
}

static void test_factor__all_ways_give_A_back(void **state) {
  (void)state;
  const size_t dimension[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 20, 31, 48, 49, 100, 300};
  for (size_t n = 0; n < sizeof dimension / sizeof *dimension; n++) {
    const size_t d = dimension[n];
    double *a = random_spd(d, 0.5);
    double *l = vector(faro_packed(d));
    double *full = vector(d * d);
    double *scratch = aligned(faro_factor_scratch(d));
    assert_true(faro_plain_factor(d, a, l));
    check_factor(d, a, l);
    assert_true(faro_large_factor(d, a, l, full));
    check_factor(d, a, l);
    double *by[FARO_LANES_AVX512 + 1] = {NULL};
    for (int k = 0; k <= (int)faro_lanes_here(); k++) {
      by[k] = vector(faro_packed(d));
      assert_true(faro_factor_by((faro_lanes)k, d, a, by[k], scratch));
      check_factor(d, a, by[k]);
    }
    if (by[2]) assert_memory_equal(by[1], by[2], faro_packed(d) * sizeof *l);
    for (int k = 0; k < 3; k++) free(by[k]);
    free(scratch);
    free(a);
    free(l);
    free(full);
  }
}

static void test_factor__refuses_what_is_not_positive_definite(void **state) {
  (void)state;
  const size_t dimension[] = {1, 2, 7, 60, 61};
  for (size_t n = 0; n < 5; n++) {
    const size_t d = dimension[n];
    const double spoil[] = {-1, 0, (double)NAN, (double)INFINITY};
    for (size_t s = 0; s < 4; s++) {
      double *a = random_spd(d, 1);
      double *l = vector(faro_packed(d));
      double *full = vector(d * d);
      a[faro_diagonal(d - 1)] = spoil[s];
      double *rest = vector(faro_packed(d));
      double *scratch = aligned(faro_factor_scratch(d));
      assert_false(faro_plain_factor(d, a, l));
      assert_false(faro_plain_whiten(d, a, l, rest, full));
      for (int k = 0; k <= (int)faro_lanes_here(); k++) {
        assert_false(faro_factor_by((faro_lanes)k, d, a, l, scratch));
        assert_false(faro_whiten_by((faro_lanes)k, d, a, l, scratch));
      }
      free(scratch);
      assert_false(faro_large_factor(d, a, l, full));
      assert_false(faro_large_whiten(d, a, l, full));
      free(rest);
      free(a);
      free(l);
      free(full);
    }
  }
}

/* W A W' = I. */
static void check_whitened(size_t d, const double *a, const double *w) {
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++) {
      double sum = 0;
      for (size_t k = 0; k <= i; k++)
        for (size_t m = 0; m <= j; m++) sum += w[faro_packed(i) + k] * entry(a, k, m) * w[faro_packed(j) + m];
      assert_close(sum, i == j, 1e-9);
    }
}

static void test_whiten__all_ways_turn_A_into_the_identity(void **state) {
  (void)state;
  const size_t dimension[] = {1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 15, 16, 17, 20, 33, 70, 101};
  for (size_t n = 0; n < sizeof dimension / sizeof *dimension; n++) {
    const size_t d = dimension[n];
    enum { WAYS = FARO_LANES_AVX512 + 4 };
    double *a = random_spd(d, 1);
    double *w[WAYS];
    for (int k = 0; k < WAYS; k++) w[k] = vector(faro_packed(d));
    double *rest = vector(faro_packed(d));
    double *full = vector(d * d);
    double *scratch = aligned(faro_factor_scratch(d));
    const int ways = (int)faro_lanes_here() + 4;
    faro_spd *spd = NULL;
    assert_ok(faro_spd_create(&spd, d, error));
    assert_true(faro_plain_whiten(d, a, w[0], rest, full));
    assert_true(faro_large_whiten(d, a, w[1], full));
    assert_true(faro_spd_whiten(spd, a, w[2]));
    for (int k = 3; k < ways; k++) assert_true(faro_whiten_by((faro_lanes)(k - 3), d, a, w[k], scratch));
    for (int k = 0; k < ways; k++) check_whitened(d, a, w[k]);
    if (ways > 5) assert_memory_equal(w[4], w[5], faro_packed(d) * sizeof **w);
    faro_spd_destroy(spd);
    free(a);
    for (int k = 0; k < WAYS; k++) free(w[k]);
    free(rest);
    free(full);
    free(scratch);
  }
}

/* A x = b has a small residual, with the kernels that the object chooses, up to the largest d. */
static void test_solve__residual_is_small_up_to_d_1000(void **state) {
  (void)state;
  const size_t dimension[] = {1, 2, 5, 48, 49, 200, 1000};
  for (size_t n = 0; n < 7; n++) {
    const size_t d = dimension[n];
    faro_spd *spd = NULL;
    assert_ok(faro_spd_create(&spd, d, error));
    double *a = random_spd(d, (double)d);
    double *b = vector(d);
    double *x = vector(d);
    for (size_t i = 0; i < d; i++) b[i] = faro_sim_normal(&sim);
    assert_true(faro_spd_factor(spd, a));
    faro_spd_solve(spd, b, x);
    for (size_t i = 0; i < d; i++) {
      double sum = 0;
      for (size_t j = 0; j < d; j++) sum += entry(a, i, j) * x[j];
      assert_close(sum, b[i], 1e-9);
    }
    faro_spd_solve(spd, b, b); /* in place */
    assert_memory_equal(b, x, d * sizeof *b);
    faro_spd_destroy(spd);
    free(a);
    free(b);
    free(x);
  }
}

/* A grows by five outer products: the updated factor solves with the new matrix. */
static void test_update__solves_with_the_grown_matrix(void **state) {
  (void)state;
  const size_t dimension[] = {1, 2, 6, 30, 90};
  for (size_t n = 0; n < 5; n++) {
    const size_t d = dimension[n];
    faro_spd *spd = NULL;
    assert_ok(faro_spd_create(&spd, d, error));
    double *a = random_spd(d, 1);
    double *x = vector(d);
    double *b = vector(d);
    assert_true(faro_spd_factor(spd, a));
    for (int step = 0; step < 5; step++) {
      for (size_t i = 0; i < d; i++) x[i] = faro_sim_normal(&sim);
      for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) a[faro_packed(i) + j] += x[i] * x[j];
      faro_spd_update(spd, x);
    }
    for (size_t i = 0; i < d; i++) b[i] = faro_sim_normal(&sim);
    faro_spd_solve(spd, b, x);
    for (size_t i = 0; i < d; i++) {
      double sum = 0;
      for (size_t j = 0; j < d; j++) sum += entry(a, i, j) * x[j];
      assert_close(sum, b[i], 1e-8);
    }
    faro_spd_destroy(spd);
    free(a);
    free(x);
    free(b);
  }
}

/* The greatest distance between a row of w and that of `other`, relative to the latter's length. */
static double row_distance(size_t d, const double *w, const double *other) {
  double most = 0;
  for (size_t i = 0; i < d; i++) {
    double square = 0;
    double difference = 0;
    for (size_t j = faro_packed(i); j <= faro_diagonal(i); j++) {
      square += other[j] * other[j];
      difference += (w[j] - other[j]) * (w[j] - other[j]);
    }
    most = fmax(most, sqrt(difference / square));
  }
  return most;
}

static void add_outer(size_t d, double s, const double *x, double *a) {
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++) a[faro_packed(i) + j] += s * x[i] * x[j];
}

/* One change of a random matrix by s x x': w, the gain and t, against the definitions. */
static void check_grow(size_t d, double s) {
  faro_spd *spd = NULL;
  assert_ok(faro_spd_create(&spd, d, error));
  double *a = random_spd(d, 1);
  double *v[] = {vector(faro_packed(d)), vector(faro_packed(d)), vector(d), vector(d), vector(d),
                 vector(2 * d),          vector(faro_packed(d))};
  double *w = v[0];
  double *x = v[2];
  double *gain = v[3];
  double *expected = v[4];
  for (size_t i = 0; i < d; i++) x[i] = faro_sim_normal(&sim);
  assert_true(faro_spd_whiten(spd, a, w));
  assert_true(faro_spd_whiten(spd, a, v[1]));
  assert_true(faro_spd_factor(spd, a));
  faro_spd_solve(spd, x, expected);
  double along = 0;
  for (size_t i = 0; i < d; i++) along += x[i] * expected[i];
  s = s < 0 ? s / along : s; /* -1 would make A singular */
  memcpy(v[6], w, faro_packed(d) * sizeof *w);
  assert_close(faro_update_by(FARO_LANES_PORTABLE, d, s, x, v[1], gain, v[5]), 1 + s * along,
               1e-11 * (1 + along));
  assert_close(faro_spd_grow(spd, s, x, w, gain), 1 + s * along, 1e-11 * (1 + along));
  for (size_t i = 0; i < d; i++) assert_close(gain[i], expected[i], 1e-10);
  assert_true(row_distance(d, w, v[1]) < 1e-12);
  if (faro_lanes_here() >= FARO_LANES_AVX2) { /* the same bytes as with any other vectors */
    (void)faro_update_by(FARO_LANES_AVX2, d, s, x, v[6], gain, v[5]);
    assert_memory_equal(v[6], w, faro_packed(d) * sizeof *w);
  }
  add_outer(d, s, x, a);
  assert_true(faro_spd_whiten(spd, a, v[1]));
  assert_true(row_distance(d, w, v[1]) < 1e-10);
  for (size_t i = 0; i < sizeof v / sizeof *v; i++) free(v[i]);
  free(a);
  faro_spd_destroy(spd);
}

static void test_grow__equals_whitening_afresh(void **state) {
  (void)state;
  const size_t dimension[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 20, 31, 33, 100, 257};
  for (size_t n = 0; n < sizeof dimension / sizeof *dimension; n++) {
    check_grow(dimension[n], 1);
    check_grow(dimension[n], 0.01);
    check_grow(dimension[n], -0.5);
  }
}

/* Taking away as much as there is, or more, changes nothing. */
static void test_grow__leaves_w_where_nothing_would_be_left(void **state) {
  (void)state;
  enum { D = 11 };
  faro_spd *spd = NULL;
  assert_ok(faro_spd_create(&spd, D, error));
  double w[D * (D + 1) / 2] = {0};
  double before[D * (D + 1) / 2];
  double x[D] = {0};
  double gain[D];
  for (size_t i = 0; i < D; i++) w[faro_diagonal(i)] = 0.5; /* A = 4 I */
  memcpy(before, w, sizeof w);
  x[D - 1] = 2;
  const double s[] = {-1, -1.5, (double)NAN, (double)INFINITY};
  for (size_t k = 0; k < 4; k++) {
    const double t = faro_spd_grow(spd, s[k], x, w, gain);
    assert_false(t > 0 && t < INFINITY);
    assert_memory_equal(w, before, sizeof w);
  }
  faro_spd_destroy(spd);
}

/* V = lambda I + sum x x' over many users: w stays that of V. Directions as users draw them, or
 * nearly always the same few, so that V's eigenvalues are 10^6 apart. */
static void check_growth(size_t d, size_t users, double lambda, bool few) {
  faro_spd *spd = NULL;
  assert_ok(faro_spd_create(&spd, d, error));
  double *a = vector(faro_packed(d));
  double *w = vector(faro_packed(d));
  double *fresh = vector(faro_packed(d));
  double *x = vector(d);
  double *gain = vector(d);
  for (size_t i = 0; i < d; i++) a[faro_diagonal(i)] = lambda;
  assert_true(faro_spd_whiten(spd, a, w));
  for (size_t n = 0; n < users; n++) {
    double square = 0;
    for (size_t i = 0; i < d; i++) {
      x[i] = few ? (double)(i == n % 3 % d) + 1e-3 * faro_sim_normal(&sim) : faro_sim_normal(&sim);
      square += x[i] * x[i];
    }
    for (size_t i = 0; i < d; i++) x[i] /= sqrt(square);
    add_outer(d, 1, x, a);
    assert_true(faro_spd_grow(spd, 1, x, w, gain) >= 1);
  }
  assert_true(faro_spd_whiten(spd, a, fresh));
  assert_true(row_distance(d, w, fresh) < 1e-11);
  free(a);
  free(w);
  free(fresh);
  free(x);
  free(gain);
  faro_spd_destroy(spd);
}

static void test_grow__rounding_hardly_adds_up(void **state) {
  (void)state;
  check_growth(1, 1000, 1, false);
  check_growth(5, 10000, 1e-4, false);
  check_growth(5, 10000, 1, true);
  check_growth(20, 2000, 1, true);
}

static void test_grow__rounding_hardly_adds_up_in_100_000_updates(void **state) {
  (void)state;
  check_test();
  check_growth(5, 100000, 1e-4, false);
  check_growth(5, 100000, 1, true);
  check_growth(20, 100000, 1e-4, false);
  check_growth(20, 100000, 1, true);
}

/* Eigenvalues chosen, eigenvectors by random reflections: A = H D H. */
static void test_extremes__find_the_chosen_eigenvalues(void **state) {
  (void)state;
  const size_t dimension[] = {1, 2, 3, 8, 16, 17, 60};
  for (size_t n = 0; n < 7; n++) {
    const size_t d = dimension[n];
    double *value = vector(d);
    double *h = vector(d);
    double *a = vector(faro_packed(d));
    double square = 0;
    double low = INFINITY;
    double high = -INFINITY;
    for (size_t i = 0; i < d; i++) {
      value[i] = 10 * faro_sim_normal(&sim);
      low = fmin(low, value[i]);
      high = fmax(high, value[i]);
      h[i] = faro_sim_normal(&sim);
      square += h[i] * h[i];
    }
    for (size_t i = 0; i < d; i++)
      for (size_t j = 0; j <= i; j++) {
        double sum = 0; /* sum_k H_ik value_k H_kj, H = I - 2 h h' / |h|^2 */
        for (size_t k = 0; k < d; k++)
          sum += ((i == k) - 2 * h[i] * h[k] / square) * value[k] * ((k == j) - 2 * h[k] * h[j] / square);
        a[faro_packed(i) + j] = sum;
      }
    double least = 0;
    double greatest = 0;
    faro_spd *spd = NULL;
    assert_ok(faro_spd_create(&spd, d, error));
    faro_spd_extremes(spd, a, &least, &greatest);
    assert_close(least, low, 1e-10);
    assert_close(greatest, high, 1e-10);
    faro_spd_destroy(spd);
    free(value);
    free(h);
    free(a);
  }
}

static faro_arms random_arms(size_t d, size_t count) {
  const size_t stride = faro_arm_stride(count);
  faro_arms arms = {.dimension = d, .count = count, .stride = stride, .x = aligned(d * stride), .version = 1};
  for (size_t i = 0; i < d * stride; i++) arms.x[i] = i % stride < count ? faro_sim_normal(&sim) : 0;
  return arms;
}

static double *random_vector(size_t n) {
  double *v = vector(n);
  for (size_t i = 0; i < n; i++) v[i] = faro_sim_normal(&sim);
  return v;
}

/* Mean and ||w x||^2 of one arm. */
static void define(const faro_arms *arms, size_t a, const double *theta, const double *w, long double *mean,
                   long double *square) {
  *mean = 0;
  *square = 0;
  for (size_t i = 0; i < arms->dimension; i++) {
    long double t = 0;
    for (size_t j = 0; j <= i; j++)
      t += (long double)w[faro_packed(i) + j] * (long double)arms->x[j * arms->stride + a];
    *square += t * t;
    *mean += (long double)theta[i] * (long double)arms->x[i * arms->stride + a];
  }
}

/* The plain loops, and every width that this machine has; AVX2 and AVX-512 are the same bytes. */
static void check_score(size_t d, size_t count) {
  faro_arms arms = random_arms(d, count);
  double *theta = random_vector(d);
  double *w = random_vector(faro_packed(d));
  double *copy = aligned(faro_score_scratch(d, arms.stride));
  double *score[FARO_LANES_AVX512 + 2];
  double *square[FARO_LANES_AVX512 + 2];
  const size_t ways = (size_t)faro_lanes_here() + 2;
  for (size_t k = 0; k < ways; k++) {
    score[k] = aligned(arms.stride + FARO_ARM_TILE) + 1; /* results may be anywhere */
    square[k] = aligned(arms.stride);
    const faro_scoring task = {.arms = &arms,
                               .theta = theta,
                               .w = w,
                               .beta = 1.5,
                               .square = square[k],
                               .score = score[k],
                               .copy = copy};
    if (k == 0) faro_plain_score(&task);
    else faro_score_by((faro_lanes)(k - 1), &task);
  }
  size_t best = 0;
  for (size_t a = 0; a < count; a++) {
    long double mean = 0;
    long double width = 0;
    define(&arms, a, theta, w, &mean, &width);
    for (size_t k = 0; k < ways; k++) {
      assert_close(square[k][a], (double)width, 1e-13 * (double)(width + d));
      assert_close(score[k][a], (double)(mean + 1.5L * sqrtl(width)), 1e-10);
    }
    if (score[0][a] > score[0][best]) best = a;
  }
  if (ways > 3) assert_memory_equal(score[2], score[3], count * sizeof **score);
  if (ways > 3) assert_memory_equal(square[2], square[3], count * sizeof **square);
  assert_int_equal(faro_score(&arms, theta, w, 1.5, score[0], copy), best);
  assert_memory_equal(score[0], score[ways - 1], count * sizeof **score);
  for (size_t a = 0; a < arms.stride; a++) score[1][a] = 0; /* the bytes of these loops */
  for (size_t i = 0; i < d; i++)
    for (size_t a = 0; a < arms.stride; a++) score[1][a] += theta[i] * arms.x[i * arms.stride + a];
  const size_t top = faro_means(&arms, theta, score[0]);
  assert_memory_equal(score[0], score[1], arms.stride * sizeof **score);
  for (size_t a = 0; a < count; a++) assert_true(score[0][a] <= score[0][top]);
  for (int positive = 0; positive < 2; positive++) { /* w has d numbers or more */
    (void)faro_means(&arms, theta, score[0]);
    (void)faro_means(&arms, w, score[1]);
    for (size_t a = 0; a < count; a++) score[0][a] += positive ? fmax(0, score[1][a]) : score[1][a];
    const size_t first = faro_plain_greatest(score[0], count);
    assert_int_equal(faro_means_moved(&arms, theta, w, positive, score[1]), first);
    assert_memory_equal(score[0], score[1], count * sizeof **score);
  }
  for (size_t k = 0; k < ways; k++) free(score[k] - 1);
  for (size_t k = 0; k < ways; k++) free(square[k]);
  free(arms.x);
  free(theta);
  free(w);
  free(copy);
}

static void test_score__all_ways_equal_the_definition(void **state) {
  (void)state;
  const size_t dimension[] = {1, 2, 3, 4, 5, 6, 7, 8, 20, 63, 64, 65, 66, 67};
  const size_t count[] = {1, 15, 16, 17, 31, 33, 100};
  for (size_t n = 0; n < sizeof dimension / sizeof *dimension; n++)
    for (size_t m = 0; m < sizeof count / sizeof *count; m++) check_score(dimension[n], count[m]);
}

/* Whether two scores are the same, or nearly, or both NaN. */
static bool alike(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return a == b || fabs(a - b) <= 1e-12 * fabs(b) || (fabs(a) < 1e-300 && fabs(b) < 1e-300);
}

/* Zeros, the least and greatest numbers, infinities and NaN: as the plain loops have it, arm by
 * arm. */
static void test_score__treats_odd_numbers_as_plain_loops_do(void **state) {
  (void)state;
  enum { D = 5, K = 40 };
  const double odd[] = {0,
                        -0.0,
                        5e-324,
                        1e-310,
                        1e-200,
                        1e-160,
                        1e-150,
                        1e150,
                        1e153,
                        1e155,
                        1e200,
                        1e308,
                        -1e308,
                        (double)INFINITY,
                        (double)-INFINITY,
                        (double)NAN};
  faro_arms arms = random_arms(D, K);
  const double theta[D] = {1, -1, 0.5, 2, 1e-3};
  double w[D * (D + 1) / 2];
  double *score[2] = {aligned(arms.stride), aligned(arms.stride)};
  for (size_t i = 0; i < sizeof w / sizeof *w; i++) w[i] = faro_sim_normal(&sim);
  for (size_t place = 0; place < D; place++)
    for (size_t n = 0; n < sizeof odd / sizeof *odd; n++) {
      for (size_t a = 0; a < K; a++)
        for (size_t i = 0; i < D; i++)
          arms.x[i * arms.stride + a] = i == place ? odd[(n + a) % (sizeof odd / sizeof *odd)] : 0;
      for (int lanes = 0; lanes <= (int)faro_lanes_here(); lanes++) {
        faro_scoring task = {.arms = &arms, .theta = theta, .w = w, .beta = 1, .score = score[0]};
        faro_plain_score(&task);
        task.score = score[1];
        faro_score_by((faro_lanes)lanes, &task);
        for (size_t a = 0; a < K; a++) assert_true(alike(score[1][a], score[0][a]));
      }
    }
  free(arms.x);
  free(score[0]);
  free(score[1]);
}

/* Changes of A by s x x', one or two at a time: squares and scores follow those of the new
 * factor. */
static void check_rescore(size_t d, size_t count, size_t rank) {
  faro_arms arms = random_arms(d, count);
  double *a = random_spd(d, 1);
  double *v[] = {vector(faro_packed(d)), random_vector(d),
                 random_vector(d),       random_vector(d),
                 vector(2 * d),          aligned(arms.stride),
                 aligned(arms.stride),   aligned(arms.stride),
                 aligned(arms.stride),   aligned(faro_score_scratch(d, arms.stride))};
  double *w = v[0];
  faro_spd *spd = NULL;
  double share[2];
  assert_ok(faro_spd_create(&spd, d, error));
  assert_true(faro_spd_whiten(spd, a, w));
  for (int lanes = -1; lanes <= (int)faro_lanes_here(); lanes++) {
    (void)faro_score_keep(&arms, v[1], w, 2, v[5], v[6], v[9]);
    for (size_t k = 0; k < rank; k++) {
      const double s = k == 0 ? 1 : -1e-3;
      share[k] = s / faro_spd_grow(spd, s, v[2 + k], w, v[4] + k * d);
    }
    faro_rescoring task = {.arms = &arms,
                           .theta = v[1],
                           .rank = rank,
                           .gain = v[4],
                           .share = share,
                           .beta = 2,
                           .square = v[5],
                           .score = v[6]};
    if (lanes < 0) faro_plain_rescore(&task);
    else faro_rescore_by((faro_lanes)lanes, &task);
    const size_t best = faro_score_keep(&arms, v[1], w, 2, v[7], v[8], v[9]);
    for (size_t k = 0; k < count; k++) {
      assert_close(v[5][k], v[7][k], 1e-12 * (1 + v[7][k]));
      assert_close(v[6][k], v[8][k], 1e-6);
    }
    assert_close(v[6][faro_greatest(v[6], count)], v[8][best], 1e-6);
  }
  faro_spd_destroy(spd);
  free(a);
  free(arms.x);
  for (size_t i = 0; i < sizeof v / sizeof *v; i++) free(v[i]);
}

static void test_rescore__follows_the_changes(void **state) {
  (void)state;
  const size_t dimension[] = {1, 2, 5, 20, 70};
  const size_t count[] = {1, 16, 17, 100};
  for (size_t n = 0; n < sizeof dimension / sizeof *dimension; n++)
    for (size_t m = 0; m < sizeof count / sizeof *count; m++)
      for (size_t rank = 1; rank <= 2; rank++) check_rescore(dimension[n], count[m], rank);
}

/* Few different values, so that many are equal, some of them not numbers. */
static void test_greatest__is_the_first_one(void **state) {
  (void)state;
  for (size_t n = 0; n < 3000; n++) {
    const size_t count = 1 + n % 170;
    const double several[] = {-1, 0, 1, 2, (double)-INFINITY, n % 3 == 0 ? (double)NAN : 1, (double)INFINITY};
    const size_t kinds = n % 5 == 0 ? 7 : n % 5 == 1 ? 2 : 6;
    double *value = vector(count); /* no room beyond */
    for (size_t a = 0; a < count; a++) value[a] = several[(size_t)(faro_sim_uniform(&sim) * (double)kinds)];
    if (n % 7 == 0)
      for (size_t a = 0; a < count; a++) value[a] = n % 2 == 0 ? (double)NAN : (double)-INFINITY;
    const size_t expected = faro_plain_greatest(value, count);
    for (int lanes = 0; lanes <= (int)faro_lanes_here(); lanes++)
      assert_int_equal(faro_greatest_by((faro_lanes)lanes, value, count), expected);
    assert_int_equal(faro_greatest(value, count), expected);
    free(value);
  }
}

/* Some values are all different, some are drawn from a few. Broken once: the values of an eight
 * compared with those of the eights before it only. */
static void test_rank__is_what_repeated_choice_finds(void **state) {
  (void)state;
  for (size_t n = 0; n < 4000; n++) {
    const size_t count = 1 + n % FARO_RANK_MOST;
    const size_t rank = (size_t)(faro_sim_uniform(&sim) * (double)count);
    const double kinds = n % 3 == 0 ? 1 + (double)(n % 20) : 1e9;
    double value[2][FARO_RANK_MOST];
    for (size_t i = 0; i < FARO_RANK_MOST; i++) value[0][i] = floor(faro_sim_uniform(&sim) * kinds);
    for (int lanes = 0; lanes <= (int)faro_lanes_here(); lanes++) {
      memcpy(value[1], value[0], sizeof value[1]);
      const size_t at = faro_rank_by((faro_lanes)lanes, count, value[1], rank);
      size_t before = 0;
      for (size_t i = 0; i < count; i++)
        before += value[0][i] > value[0][at] || (value[0][i] == value[0][at] && i < at);
      assert_true(at < count);
      assert_int_equal(before, rank);
      memcpy(value[1], value[0], sizeof value[1]);
      assert_int_equal(faro_rank(count, value[1], rank), at);
    }
  }
}

/* The library's threads end, and come back if they are asked for. */
static void test_dense__works_when_its_threads_have_ended(void **state) {
  (void)state;
  enum { D = 300 };
  double *a = random_spd(D, 1);
  faro_spd *spd = NULL;
  assert_ok(faro_spd_create(&spd, D, error));
  const int before = faro_dense_threads(1);
  double x[2][D];
  for (int k = 0; k < 2; k++) {
    for (size_t i = 0; i < D; i++) x[k][i] = (double)i;
    assert_true(faro_spd_factor(spd, a));
    faro_spd_solve(spd, x[k], x[k]);
    faro_dense_rest();
    assert_int_equal(faro_dense_threads(1), 1);
  }
  assert_memory_equal(x[0], x[1], sizeof x[0]);
  (void)faro_dense_threads(before);
  assert_true(faro_spd_factor(spd, a));
  faro_spd_destroy(spd);
  free(a);
}

/* An object with room for 8, used with dimension 3, behaves like one of dimension 3. */
static void test_resize__works_as_an_object_of_that_dimension(void **state) {
  (void)state;
  faro_spd *spd[2] = {NULL, NULL};
  assert_ok(faro_spd_create(&spd[0], 8, error));
  assert_ok(faro_spd_create(&spd[1], 3, error));
  faro_spd_resize(spd[0], 3);
  double *a = random_spd(3, 1);
  double x[2][3] = {{1, 2, 3}, {1, 2, 3}};
  for (int k = 0; k < 2; k++) {
    assert_true(faro_spd_factor(spd[k], a));
    faro_spd_solve(spd[k], x[k], x[k]);
    faro_spd_destroy(spd[k]);
  }
  assert_memory_equal(x[0], x[1], sizeof x[0]);
  free(a);
}

static void test_create__refuses_absurd_dimensions_and_survives_exhaustion(void **state) {
  (void)state;
  faro_spd *spd = NULL;
  const size_t absurd[] = {0, FARO_DIMENSION_MAX + 1, SIZE_MAX};
  for (size_t i = 0; i < 3; i++) {
    faro_error error = {0};
    assert_int_equal(faro_spd_create(&spd, absurd[i], &error), FARO_INVALID);
    assert_null(spd);
  }
  for (size_t n = 1; n <= 4; n++) {
    faro_error error = {0};
    alloc_fail_at(n);
    assert_int_equal(faro_spd_create(&spd, 3, &error), FARO_MEMORY);
    alloc_reset();
    assert_null(spd);
  }
  faro_spd_destroy(NULL);
}

/* LAPACK, and every width of our own: the same values, and AVX2 and AVX-512 the same bytes. */
static void check_all_eigen(size_t d, const double *a, double size) {
  double *value[4];
  double *full[4];
  double *work = vector(faro_dense_eigen_work(d) + d);
  int *whole = calloc(faro_dense_eigen_whole(d), sizeof *whole);
  assert_non_null(whole);
  const size_t ways = (size_t)faro_lanes_here() + 2;
  for (size_t k = 0; k < 4; k++) {
    value[k] = vector(d);
    full[k] = vector(d * d);
    for (size_t i = 0; i < d; i++)
      for (size_t j = 0; j <= i; j++) full[k][i * d + j] = a[faro_packed(i) + j];
    if (k == 0) faro_dense_eigen(d, full[k], value[k], work, whole);
    else if (k < ways) faro_tridiagonal_eigen((faro_lanes)(k - 1), d, full[k], value[k], work);
    for (size_t i = 0; k < ways && i < d; i++)
      assert_close(value[k][i], value[0][i], 1e-13 * (double)d * size);
  }
  if (ways == 4) assert_memory_equal(full[2], full[3], d * d * sizeof **full);
  for (size_t k = 0; k < 4; k++) {
    free(value[k]);
    free(full[k]);
  }
  free(work);
  free(whole);
}

/* A q = value q for every pair, orthonormal vectors, descending values: both ways, for matrices
 * that are indefinite, of low rank, diagonal or zero. */
static void check_eigen(size_t d, const double *a) {
  faro_eigen *eigen = NULL;
  assert_ok(faro_eigen_create(&eigen, d, error));
  double *value = vector(d);
  double *q = vector(d * d);
  double size = 0;
  for (size_t i = 0; i < faro_packed(d); i++) size = fmax(size, fabs(a[i]));
  check_all_eigen(d, a, size);
  alloc_reset();
  faro_eigen_find(eigen, a, value, q);
  assert_int_equal(alloc_count(), 0);
  for (size_t k = 0; k < d; k++) {
    if (k > 0) assert_true(value[k] <= value[k - 1]);
    for (size_t i = 0; i < d; i++) {
      double image = 0;
      double dot = 0;
      for (size_t j = 0; j < d; j++) {
        image += entry(a, i, j) * q[k * d + j];
        dot += q[k * d + j] * q[i * d + j];
      }
      assert_close(image, value[k] * q[k * d + i], 1e-12 * (double)d * size);
      assert_close(dot, i == k, 1e-12 * (double)d);
    }
  }
  free(value);
  free(q);
  faro_eigen_destroy(eigen);
}

static void test_eigen__finds_values_and_vectors(void **state) {
  (void)state;
  const size_t dimension[] = {1, 2, 3, 4, 5, 6, 8, 12, 15, 20, 24, 25, 32, 65, 100, 101, 120};
  for (size_t n = 0; n < sizeof dimension / sizeof *dimension; n++) {
    const size_t d = dimension[n];
    double *a = random_spd(d, -5);
    check_eigen(d, a);
    memset(a, 0, faro_packed(d) * sizeof *a);
    check_eigen(d, a);
    for (size_t i = 0; i < d; i++) a[faro_diagonal(i)] = i % 3 == 0 ? 1e6 : -1;
    check_eigen(d, a);
    for (size_t i = 0; i < d; i++)
      for (size_t j = 0; j <= i; j++) a[faro_packed(i) + j] = 1; /* rank one */
    check_eigen(d, a);
    for (size_t i = 0; i < faro_packed(d); i++) a[i] = 1e-200 * faro_sim_normal(&sim); /* squares vanish */
    check_eigen(d, a);
    for (size_t i = 0; i < faro_packed(d); i++) a[i] = 1e300 * a[i] * 1e90; /* or overflow */
    check_eigen(d, a);
    free(a);
  }
  faro_eigen *eigen = NULL;
  assert_survives_exhaustion(faro_eigen_create(&eigen, 4, error));
  faro_eigen_destroy(eigen);
  faro_eigen_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_factor__all_ways_give_A_back),
      cmocka_unit_test(test_factor__refuses_what_is_not_positive_definite),
      cmocka_unit_test(test_whiten__all_ways_turn_A_into_the_identity),
      cmocka_unit_test(test_solve__residual_is_small_up_to_d_1000),
      cmocka_unit_test(test_update__solves_with_the_grown_matrix),
      cmocka_unit_test(test_grow__equals_whitening_afresh),
      cmocka_unit_test(test_grow__leaves_w_where_nothing_would_be_left),
      cmocka_unit_test(test_grow__rounding_hardly_adds_up),
      cmocka_unit_test(test_grow__rounding_hardly_adds_up_in_100_000_updates),
      cmocka_unit_test(test_extremes__find_the_chosen_eigenvalues),
      cmocka_unit_test(test_eigen__finds_values_and_vectors),
      cmocka_unit_test(test_score__all_ways_equal_the_definition),
      cmocka_unit_test(test_score__treats_odd_numbers_as_plain_loops_do),
      cmocka_unit_test(test_rescore__follows_the_changes),
      cmocka_unit_test(test_greatest__is_the_first_one),
      cmocka_unit_test(test_rank__is_what_repeated_choice_finds),
      cmocka_unit_test(test_dense__works_when_its_threads_have_ended),
      cmocka_unit_test(test_resize__works_as_an_object_of_that_dimension),
      cmocka_unit_test(test_create__refuses_absurd_dimensions_and_survives_exhaustion),
  };
  return cmocka_run_group_tests(tests, open_stream, NULL);
}
