/* contribution: clipping comes first, whatever a user's data look like. */
#include <math.h>
#include <string.h>

#include <faro/release.h>

#include "release/columns.h"
#include "support/support.h"

static void test_make__is_vech_of_outer_product_then_moment(void **state) {
  (void)state;
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, 3, 1, 0, 1, error));
  assert_int_equal(c.gram, 6);
  assert_int_equal(c.length, 9);
  const double x[3] = {0.1, -0.5, 0.3};
  const double y = 0.25;
  const double expected[9] = {0.01, -0.05, 0.25, 0.03, -0.15, 0.09, 0.1 * 0.25, -0.5 * 0.25, 0.3 * 0.25};
  double z[9];
  faro_contribution_make(&c, x, y, z);
  for (int i = 0; i < 9; i++) assert_close(z[i], expected[i], 1e-15);
}

/* Whatever comes in, z is that of some x with ||x|| <= norm and some y in [low, high]. */
static void test_make__clips_everything_before_anything_else(void **state) {
  (void)state;
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, 2, 1.5, -0.5, 2, error));
  const double wild[] = {0, 1, -3, 1e200, -1e200, (double)INFINITY, -(double)INFINITY, (double)NAN, 5e-324};
  enum { N = sizeof wild / sizeof *wild };
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int k = 0; k < N; k++) {
        const double x[2] = {wild[i], wild[j]};
        double z[5];
        faro_contribution_make(&c, x, wild[k], z);
        assert_true(z[0] >= 0 && z[2] >= 0);
        assert_true(z[0] + z[2] <= 1.5 * 1.5 * (1 + 1e-12)); /* trace of x x' */
        assert_true(z[3] * z[3] + z[4] * z[4] <= 9 * (1 + 1e-12));
        for (int e = 0; e < 5; e++) assert_true(fabs(z[e]) <= c.entry * (1 + 1e-12));
      }
}

/* Broken once: the reward not clipped. */
static void test_reward__gives_the_bytes_of_make(void **state) {
  (void)state;
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, 2, 1.5, -0.5, 2, error));
  c.vector = 0.75;
  const double wild[] = {0, 1, -3, 0.3, 1e200, (double)INFINITY, -(double)INFINITY, (double)NAN, 5e-324};
  enum { N = sizeof wild / sizeof *wild };
  for (int i = 0; i < N * N; i++) {
    const double x[2] = {wild[i / N], wild[i % N]};
    double z[5], fresh[5], clipped[2];
    faro_contribution_make(&c, x, 0.9, z);
    (void)faro_contribution_clip(&c, x, 0.9, clipped);
    for (int k = 0; k < N; k++) {
      faro_contribution_reward(&c, clipped, wild[k], z);
      faro_contribution_make(&c, x, wild[k], fresh);
      assert_memory_equal(z, fresh, sizeof z);
    }
  }
}

static void test_make__long_features_keep_their_direction(void **state) {
  (void)state;
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, 2, 1, 0, 1, error));
  const double x[2] = {30, 40};
  double z[5];
  faro_contribution_make(&c, x, 7, z);
  const double expected[5] = {0.36, 0.48, 0.64, 0.6, 0.8};
  for (int i = 0; i < 5; i++) assert_close(z[i], expected[i], 1e-14);
}

/* Blocks one after the other, each as if it stood alone, even where a user fills several. */
static void test_split__leaves_products_of_different_blocks_out(void **state) {
  (void)state;
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, 4, 1, 0, 1, error));
  const double sensitivity = c.sensitivity;
  assert_ok(faro_contribution_split(&c, 2, error));
  assert_int_equal(c.gram, 6);
  assert_int_equal(c.length, 10);
  assert_true(c.sensitivity == sensitivity);
  const double x[4] = {0.1, -0.5, 0.3, 0.2};
  const double expected[10] = {0.01, -0.05, 0.25, 0.05, -0.25, 0.09, 0.06, 0.04, 0.15, 0.1};
  double z[10];
  faro_contribution_make(&c, x, 0.5, z);
  for (int i = 0; i < 10; i++) assert_close(z[i], expected[i], 1e-15);
  const faro_contribution weighed = faro_contribution_weigh(&c);
  double weight[10];
  faro_contribution_weights(&weighed, weight);
  const double root = sqrt(2);
  const double weights[10] = {1, root, 1, 1, 1, 1, root, 1, 1, 1};
  for (int i = 0; i < 10; i++) assert_close(weight[i], weights[i], 1e-15);
}

static void test_split__refuses_what_does_not_divide(void **state) {
  (void)state;
  faro_contribution c;
  faro_error refusal = {0};
  assert_ok(faro_contribution_init(&c, 4, 1, 0, 1, error));
  assert_int_equal(faro_contribution_split(&c, 3, &refusal), FARO_INVALID);
  assert_int_equal(faro_contribution_split(&c, 0, &refusal), FARO_INVALID);
  assert_int_equal(c.blocks, 1);
  assert_ok(faro_contribution_gram(&c, 4, 1, error));
  assert_int_equal(faro_contribution_split(&c, 2, &refusal), FARO_INVALID);
}

/* A search over pairs of users finds nothing beyond the stated sensitivity, and comes near it. */
static void test_sensitivity__bounds_every_pair_of_users(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 71, 0, FARO_ROLE_USER);
  const double interval[][2] = {{0, 1}, {-0.5, 0.5}, {-1, 2}, {0, 0.1}};
  for (int i = 0; i < 4; i++)
    for (double norm = 0.5; norm <= 2; norm *= 2) {
      faro_contribution c;
      assert_ok(faro_contribution_init(&c, 2, norm, interval[i][0], interval[i][1], error));
      double worst = 0;
      for (int trial = 0; trial < 40000; trial++) {
        double z[2][5];
        for (int user = 0; user < 2; user++) {
          const double angle = 6.283185307 * faro_sim_uniform(&sim);
          const double length = norm * (trial % 3 ? 1 : faro_sim_uniform(&sim));
          const double x[2] = {length * cos(angle), length * sin(angle)};
          const double u = faro_sim_uniform(&sim);
          const double y =
              trial % 2 ? interval[i][u < 0.5] : interval[i][0] + u * (interval[i][1] - interval[i][0]);
          faro_contribution_make(&c, x, y, z[user]);
        }
        double square = 0;
        for (int e = 0; e < 5; e++) square += (z[0][e] - z[1][e]) * (z[0][e] - z[1][e]);
        worst = fmax(worst, sqrt(square));
      }
      assert_true(worst <= c.sensitivity);
      assert_true(worst > 0.97 * c.sensitivity);
    }
  faro_contribution c;
  assert_ok(faro_contribution_init(&c, 5, 1, -0.5, 0.5, error));
  assert_close(c.sensitivity, sqrt(2.53125), 1e-9);
}

/* The gram form is vech(x x'), the ball is x itself; both clip their input. */
static void test_make__gram_and_ball_are_the_parts(void **state) {
  (void)state;
  faro_contribution gram;
  faro_contribution ball;
  assert_ok(faro_contribution_gram(&gram, 2, 1.5, error));
  assert_ok(faro_contribution_ball(&ball, 2, 1.5, error));
  assert_int_equal(gram.length, 3);
  assert_int_equal(gram.gram, 3);
  assert_int_equal(ball.length, 2);
  assert_int_equal(ball.gram, 0);
  const double wild[] = {0, 1, -3, 0.25, 1e200, (double)INFINITY, -(double)INFINITY, (double)NAN, 5e-324};
  enum { N = sizeof wild / sizeof *wild };
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      const double x[2] = {wild[i], wild[j]};
      double z[3];
      double v[2];
      faro_contribution_make(&gram, x, (double)NAN, z);
      faro_contribution_make(&ball, x, (double)NAN, v);
      assert_close(z[0], v[0] * v[0], 1e-14);
      assert_close(z[1], v[0] * v[1], 1e-14);
      assert_close(z[2], v[1] * v[1], 1e-14);
      assert_true(hypot(v[0], v[1]) <= 1.5 * (1 + 1e-12));
      if (hypot(x[0], x[1]) <= 1.5) assert_true(v[0] == x[0] && v[1] == x[1]);
      for (int e = 0; e < 3; e++) assert_true(fabs(z[e]) <= gram.entry * (1 + 1e-12));
    }
  const double far[2] = {30, 40};
  double v[2];
  faro_contribution_make(&ball, far, 0, v);
  assert_close(v[0], 0.9, 1e-14);
  assert_close(v[1], 1.2, 1e-14);
}

/* Pairs of random users, and the pair that attains the sensitivity: it is never exceeded and cannot
 * be less. */
static void test_sensitivity__of_gram_and_ball_is_exact(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 72, 0, FARO_ROLE_USER);
  for (double norm = 0.5; norm <= 2; norm *= 2) {
    faro_contribution form[2];
    assert_ok(faro_contribution_gram(&form[0], 3, norm, error));
    assert_ok(faro_contribution_ball(&form[1], 3, norm, error));
    double worst[2] = {0, 0};
    for (int trial = 0; trial < 100000; trial++) {
      double x[2][3];
      for (int user = 0; user < 2; user++)
        for (int i = 0; i < 3; i++) x[user][i] = 3 * norm * (faro_sim_uniform(&sim) - 0.5);
      for (int f = 0; f < 2; f++) {
        double z[2][6];
        double square = 0;
        for (int user = 0; user < 2; user++) faro_contribution_make(&form[f], x[user], 0, z[user]);
        for (size_t e = 0; e < form[f].length; e++) square += pow(z[0][e] - z[1][e], 2);
        worst[f] = fmax(worst[f], sqrt(square));
      }
    }
    for (int f = 0; f < 2; f++) {
      assert_true(worst[f] <= form[f].sensitivity);
      assert_true(worst[f] > 0.97 * form[f].sensitivity);
    }
    assert_close(form[0].sensitivity, sqrt(2) * norm * norm, 1e-9);
    assert_close(form[1].sensitivity, 2 * norm, 1e-9);
  }
}

static void test_init__gram_and_ball_refuse_bounds_that_bound_nothing(void **state) {
  (void)state;
  const double bad[] = {0, -1, (double)NAN, (double)INFINITY};
  for (int i = 0; i < 4; i++) {
    faro_contribution c;
    faro_error error = {0};
    assert_int_equal(faro_contribution_gram(&c, 3, bad[i], &error), FARO_INVALID);
    assert_int_equal(faro_contribution_ball(&c, 3, bad[i], &error), FARO_INVALID);
  }
  faro_contribution c;
  faro_error error = {0};
  assert_int_equal(faro_contribution_gram(&c, 1001, 1, &error), FARO_INVALID);
  assert_int_equal(faro_contribution_ball(&c, 0, 1, &error), FARO_INVALID);
}

static void test_init__refuses_bounds_that_bound_nothing(void **state) {
  (void)state;
  const struct {
    size_t d;
    double norm, low, high;
  } bad[] = {{0, 1, 0, 1},
             {1001, 1, 0, 1},
             {3, 0, 0, 1},
             {3, (double)NAN, 0, 1},
             {3, (double)INFINITY, 0, 1},
             {3, 1, 1, 1},
             {3, 1, 2, 1},
             {3, 1, (double)NAN, 1},
             {3, 1, 0, (double)INFINITY}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    faro_contribution c;
    faro_error error = {0};
    assert_int_equal(faro_contribution_init(&c, bad[i].d, bad[i].norm, bad[i].low, bad[i].high, &error),
                     FARO_INVALID);
    assert_true(error.message[0] != '\0');
  }
}

/* Clipping is for noise: without it values beyond their interval count as they are, but what is not
 * a number does not. Features and rewards are clipped for the learner, too. */
static void test_none__leaves_values_as_they_are(void **state) {
  (void)state;
  const char *const kinds[] = {"none", "central"};
  const double x[3][2] = {{2, -0.7}, {0.25, (double)NAN}, {(double)INFINITY, -(double)INFINITY}};
  const double sums[2][2] = {{2 + 0.25 + 0.5, -0.7 - 0.5 - 0.5}, {0.5 + 0.25 + 0.5, -1.5}};
  for (int k = 0; k < 2; k++) {
    faro_sim_rng sim;
    faro_sim_open(&sim, 1, 0, FARO_ROLE_USER);
    faro_contribution c;
    assert_ok(faro_contribution_values(&c, 2, false, error));
    const faro_release_params params = {
        .epsilon = 1000, .delta = 0.1, .horizon = 3, .batch = 3, .calibration = FARO_CALIBRATION_TIGHT};
    faro_release *r = NULL;
    assert_ok(faro_release_create(&r, faro_release_kind_find(kinds[k]), &c, &params,
                                  faro_source_simulated(&sim), error));
    for (int i = 0; i < 3; i++) (void)faro_release_absorb(r, x[i], 0);
    const double *sum = faro_release_statistics(r).sum;
    for (int i = 0; i < 2; i++) assert_close(sum[i], sums[k][i], k == 0 ? 1e-12 : 0.3); /* sd 0.03 */
    faro_release_destroy(r);
    assert_ok(faro_contribution_init(&c, 2, 1, -1, 1, error));
    assert_ok(faro_release_create(&r, faro_release_kind_find(kinds[k]), &c, &params,
                                  faro_source_simulated(&sim), error));
    for (int i = 0; i < 3; i++) (void)faro_release_absorb(r, (const double[]){3, 4}, 7);
    const double want[5] = {3 * 0.36, 3 * 0.48, 3 * 0.64, 3 * 0.6, 3 * 0.8};
    for (int i = 0; i < 5; i++)
      assert_close(faro_release_statistics(r).sum[i], want[i], k == 0 ? 1e-12 : 0.5);
    faro_release_destroy(r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_make__is_vech_of_outer_product_then_moment),
      cmocka_unit_test(test_make__clips_everything_before_anything_else),
      cmocka_unit_test(test_reward__gives_the_bytes_of_make),
      cmocka_unit_test(test_make__long_features_keep_their_direction),
      cmocka_unit_test(test_split__leaves_products_of_different_blocks_out),
      cmocka_unit_test(test_split__refuses_what_does_not_divide),
      cmocka_unit_test(test_sensitivity__bounds_every_pair_of_users),
      cmocka_unit_test(test_make__gram_and_ball_are_the_parts),
      cmocka_unit_test(test_sensitivity__of_gram_and_ball_is_exact),
      cmocka_unit_test(test_init__gram_and_ball_refuse_bounds_that_bound_nothing),
      cmocka_unit_test(test_init__refuses_bounds_that_bound_nothing),
      cmocka_unit_test(test_none__leaves_values_as_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
