/* glm: links and passes against quadruple precision, naive sums and finite differences. */
#include <float.h>
#include <math.h>
#include <quadmath.h>
#include <stdlib.h>

#include "support/support.h"

#include "glm/link.h"
#include "glm/loss.h"

static faro_sim_rng sim;

static int open_stream(void **state) {
  (void)state;
  faro_sim_open(&sim, 71, 0, FARO_ROLE_USER);
  return 0;
}

static __float128 density_q(__float128 z) { return expq(-z * z / 2) / sqrtq(2 * M_PIq); }
static __float128 normal_q(__float128 z) { return erfcq(-z / sqrtq(2)) / 2; }
static __float128 logistic_q(__float128 z) { return 1 / (1 + expq(-z)); }

/* The k-th derivative of b, k = 0 .. 3, as in textbooks; 113 bits survive the cancellations of the
 * left tail. */
static __float128 truth(faro_link link, int k, __float128 z) {
  const __float128 m = logistic_q(z);
  const __float128 e = expq(z);
  switch (link) {
  case FARO_LINK_LOGISTIC:
    return (__float128[]){log1pq(e), m, m * logistic_q(-z), -m * logistic_q(-z) * tanhq(z / 2)}[k];
  case FARO_LINK_PROBIT:
    return (__float128[]){z * normal_q(z) + density_q(z), normal_q(z), density_q(z), -z * density_q(z)}[k];
  case FARO_LINK_LINEAR: return (__float128[]){z * z / 2, z, 1, 0}[k];
  default: return e;
  }
}

static double ours(faro_link link, int k, double z) {
  switch (k) {
  case 0: return faro_link_potential(link, z);
  case 1: return faro_link_mean(link, z);
  case 2: return faro_link_slope(link, z);
  default: return faro_link_bend(link, z);
  }
}

static void test_link__agrees_with_quadruple_precision_to_40(void **state) {
  (void)state;
  slow_test();
  for (faro_link link = 0; link < FARO_LINK_COUNT; link++)
    for (int k = 0; k < 4; k++)
      for (int step = -8000; step <= 8000; step++) {
        const double z =
            (step == 1 ? 1e-300 : step / 200.0 + (step == 8000 ? 0 : faro_sim_uniform(&sim) / 200));
        const __float128 exact = truth(link, k, z);
        const double value = ours(link, k, z);
        if (fabsq(exact) < 1e-307Q) { /* too small for a double, but a slope stays above 0 */
          assert_true(fabs(value) <= 1.01e-307 && (k != 2 || value > 0));
          continue;
        }
        const double error = (double)fabsq((value - exact) / exact);
        if (!(error < 4e-13))
          fail_msg("%s, derivative %d at %g: off by %g", faro_link_name(link), k, z, error);
      }
}

/* The continued fraction meets the other form at -4: the result is as accurate there as
 * elsewhere. */
static void test_link__probit_potential_has_no_seam(void **state) {
  (void)state;
  for (int step = -1000; step <= 1000; step++) {
    const double z = -4 + step * 1e-3;
    const __float128 exact = truth(FARO_LINK_PROBIT, 0, z);
    assert_true(fabsq((faro_link_potential(FARO_LINK_PROBIT, z) - exact) / exact) < 1e-13Q);
  }
}

static void test_link__each_is_the_derivative_of_the_one_before(void **state) {
  (void)state;
  const double h = 1e-4;
  for (faro_link link = 0; link < FARO_LINK_COUNT; link++)
    for (int k = 1; k < 4; k++)
      for (double z = -12; z <= 12; z += 0.0625) {
        const double difference = (8 * (ours(link, k - 1, z + h) - ours(link, k - 1, z - h)) -
                                   (ours(link, k - 1, z + 2 * h) - ours(link, k - 1, z - 2 * h))) /
                                  (12 * h);
        const double size = fmax(fabs(ours(link, k - 1, z)), fabs(ours(link, k, z)));
        assert_close(difference, ours(link, k, z), 1e-10 * size + 1e-13);
      }
}

static void test_link__is_symmetric_where_it_should_be(void **state) {
  (void)state;
  for (double z = 0; z <= 40; z += 0.03125)
    for (faro_link link = FARO_LINK_LOGISTIC; link <= FARO_LINK_PROBIT; link++) {
      assert_close(faro_link_mean(link, z) + faro_link_mean(link, -z), 1, 1e-15);
      assert_true(faro_link_slope(link, z) == faro_link_slope(link, -z));
      assert_true(faro_link_bend(link, z) == -faro_link_bend(link, -z));
      const double difference = faro_link_potential(link, z) - faro_link_potential(link, -z);
      assert_close(difference, z, 1e-14 * (1 + z)); /* the potential minus z / 2 is even */
    }
}

static void test_link__stays_finite_far_out(void **state) {
  (void)state;
  for (double z = 1; z < 1e300; z *= 1e10)
    for (faro_link link = FARO_LINK_LOGISTIC; link <= FARO_LINK_LINEAR; link++)
      for (int k = 0; k < 4; k++) {
        if (link == FARO_LINK_LINEAR && k == 0 && z > 1e150) continue;
        assert_true(isfinite(ours(link, k, z)) && isfinite(ours(link, k, -z)));
        assert_true(k != 2 || ours(link, k, -z) >= DBL_MIN);
      }
}

/* Extremes over |z| <= reach against a search. */
static void test_link__extremes_are_those_of_a_grid(void **state) {
  (void)state;
  const double reaches[] = {0, 0.3, 0.99, 1, 1.2, 1.4, 2, 3.5, 8};
  enum { GRID = 20000 };
  for (faro_link link = 0; link < FARO_LINK_COUNT; link++)
    for (size_t r = 0; r < sizeof reaches / sizeof *reaches; r++) {
      double steepest = 0, flattest = INFINITY, sharpest = 0;
      for (int i = -GRID; i <= GRID; i++) {
        const double z = reaches[r] * i / GRID;
        steepest = fmax(steepest, faro_link_slope(link, z));
        flattest = fmin(flattest, faro_link_slope(link, z));
        sharpest = fmax(sharpest, fabs(faro_link_bend(link, z)));
      }
      assert_close(faro_link_steepest(link, reaches[r]), steepest, 1e-12 * steepest);
      assert_close(faro_link_flattest(link, reaches[r]), flattest, 1e-12 * flattest);
      assert_close(faro_link_sharpest(link, reaches[r]), sharpest, 1e-6 * sharpest);
      assert_true(faro_link_sharpest(link, reaches[r]) >= sharpest * (1 - 1e-15));
    }
  assert_true(faro_link_sharpest(FARO_LINK_LOGISTIC, INFINITY) == faro_link_sharpest(FARO_LINK_LOGISTIC, 9));
  assert_true(isinf(faro_link_sharpest(FARO_LINK_POISSON, INFINITY)));
}

static void test_link__names_are_those_of_the_list(void **state) {
  (void)state;
  assert_string_equal(faro_link_name(FARO_LINK_LOGISTIC), "logistic");
  assert_string_equal(faro_link_name(FARO_LINK_POISSON), "poisson");
}

/* Rows of length at most 1 and rewards in [0, 1]; some rows twice. */
static faro_rows random_rows(size_t d, size_t count, double *theta, double reach) {
  double *x = calloc(d * count + 1, sizeof *x);
  double *y = calloc(count + 1, sizeof *y);
  assert_true(x && y);
  for (size_t i = 0; i < count; i++) {
    const bool twice = i % 7 == 6;
    for (size_t j = 0; j < d; j++)
      x[i * d + j] = twice ? x[(i - 1) * d + j] : (2 * faro_sim_uniform(&sim) - 1) / sqrt((double)d);
    y[i] = faro_sim_uniform(&sim);
  }
  for (size_t j = 0; j < d; j++) theta[j] = reach * (2 * faro_sim_uniform(&sim) - 1);
  return (faro_rows){.dimension = d, .count = count, .x = x, .y = y};
}

static void free_rows(faro_rows rows) {
  free((void *)rows.x);
  free((void *)rows.y);
}

/* As the header writes it, in long double. */
static long double naive_loss(faro_link link, const faro_rows *rows, double ridge, const double *theta) {
  long double sum = 0;
  for (size_t j = 0; j < rows->dimension; j++) sum += 0.5L * ridge * theta[j] * theta[j];
  for (size_t i = 0; i < rows->count; i++) {
    long double z = 0;
    for (size_t j = 0; j < rows->dimension; j++)
      z += (long double)rows->x[i * rows->dimension + j] * theta[j];
    sum += (long double)truth(link, 0, z) - rows->y[i] * z;
  }
  return sum;
}

enum { D_MAX = 12 };

/* Row counts around the block size of a pass, and zero. */
static const struct {
  size_t d, count;
} shapes[] = {{1, 0}, {3, 0}, {1, 1}, {2, 127}, {3, 128}, {5, 129}, {10, 300}, {12, 5}};

static void test_loss__is_the_sum_of_its_definition(void **state) {
  (void)state;
  for (faro_link link = 0; link < FARO_LINK_COUNT; link++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
      for (int far = 0; far < 2; far++) {
        double theta[D_MAX];
        const faro_rows rows = random_rows(shapes[s].d, shapes[s].count, theta, far ? 10 : 2);
        const double loss = faro_glm_loss(link, &rows, 0.7, theta);
        assert_close(loss, (double)naive_loss(link, &rows, 0.7, theta), 1e-12 * (1 + fabs(loss)));
        free_rows(rows);
      }
}

static void check_differences(faro_link link, const faro_rows *rows, const double *theta) {
  const size_t d = rows->dimension;
  const double h = 1e-5;
  double gradient[D_MAX], up[D_MAX], down[D_MAX], moved[D_MAX], hessian[D_MAX * (D_MAX + 1) / 2];
  faro_glm_gradient(link, rows, 0.3, theta, gradient);
  faro_glm_hessian(link, rows, 0.3, theta, hessian);
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < d; j++) moved[j] = theta[j];
    moved[i] = theta[i] + h;
    const long double above = naive_loss(link, rows, 0.3, moved);
    faro_glm_gradient(link, rows, 0.3, moved, up);
    moved[i] = theta[i] - h;
    const long double below = naive_loss(link, rows, 0.3, moved);
    faro_glm_gradient(link, rows, 0.3, moved, down);
    const double size = 1 + (double)rows->count + fabs(faro_glm_loss(link, rows, 0.3, theta));
    const double step = (theta[i] + h) - (theta[i] - h);
    assert_close((double)((above - below) / step), gradient[i], 1e-9 * size);
    for (size_t j = 0; j <= i; j++)
      assert_close((up[j] - down[j]) / step, hessian[faro_packed(i) + j], 1e-8 * size);
  }
}

static void test_gradient_and_hessian__are_the_differences_of_the_loss(void **state) {
  (void)state;
  for (faro_link link = 0; link < FARO_LINK_COUNT; link++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
      double theta[D_MAX];
      const faro_rows rows = random_rows(shapes[s].d, shapes[s].count, theta, 2);
      check_differences(link, &rows, theta);
      free_rows(rows);
    }
}

/* Each is the gradient of a sum of one row. Broken once: the second block read as the first. */
static void test_gradients__are_those_of_each_row(void **state) {
  (void)state;
  for (faro_link link = 0; link < FARO_LINK_COUNT; link++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
      const size_t d = shapes[s].d;
      double theta[D_MAX], columns[3 * FARO_GLM_BLOCK * D_MAX], each[FARO_GLM_BLOCK * D_MAX], expected[D_MAX];
      const faro_rows rows = random_rows(d, shapes[s].count, theta, 2);
      faro_glm_columns(&rows, columns);
      for (size_t i = 0; i < rows.count; i++) {
        const size_t at = i % FARO_GLM_BLOCK, first = i - at;
        if (at == 0)
          faro_glm_gradients(link, d, rows.count - i < FARO_GLM_BLOCK ? rows.count - i : FARO_GLM_BLOCK,
                             columns + first * d, rows.y + first, theta, each);
        const faro_rows row = {.dimension = d, .count = 1, .x = rows.x + i * d, .y = rows.y + i};
        faro_glm_gradient(link, &row, 0, theta, expected);
        for (size_t j = 0; j < d; j++) assert_close(each[j * FARO_GLM_BLOCK + at], expected[j], 1e-12);
      }
      free_rows(rows);
    }
}

/* Rows far on the right side for a reward of 1, or on the left for 0: their small loss must not be
 * lost to rounding. */
static void test_loss__keeps_its_digits_where_the_model_is_sure(void **state) {
  (void)state;
  for (faro_link link = FARO_LINK_LOGISTIC; link <= FARO_LINK_PROBIT; link++)
    for (int one = 0; one < 2; one++)
      for (double z = 1; z <= 36; z += 0.5) {
        const double x[] = {one ? 1 : -1}, y[] = {one};
        const faro_rows rows = {.dimension = 1, .count = 1, .x = x, .y = y};
        double gradient;
        const double loss = faro_glm_loss(link, &rows, 0, &z);
        faro_glm_gradient(link, &rows, 0, &z, &gradient);
        assert_close(loss / (double)truth(link, 0, -z), 1, 1e-12);
        assert_close(gradient / (double)-truth(link, 1, -z), 1, 1e-12);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_link__agrees_with_quadruple_precision_to_40),
      cmocka_unit_test(test_link__probit_potential_has_no_seam),
      cmocka_unit_test(test_link__each_is_the_derivative_of_the_one_before),
      cmocka_unit_test(test_link__is_symmetric_where_it_should_be),
      cmocka_unit_test(test_link__stays_finite_far_out),
      cmocka_unit_test(test_link__extremes_are_those_of_a_grid),
      cmocka_unit_test(test_link__names_are_those_of_the_list),
      cmocka_unit_test(test_loss__is_the_sum_of_its_definition),
      cmocka_unit_test(test_gradient_and_hessian__are_the_differences_of_the_loss),
      cmocka_unit_test(test_gradients__are_those_of_each_row),
      cmocka_unit_test(test_loss__keeps_its_digits_where_the_model_is_sure),
  };
  return cmocka_run_group_tests(tests, open_stream, NULL);
}
