/* environments of generalised linear rewards: the distributions of the parameter and the arms, and
 * rewards through the link. */
#include <math.h>
#include <string.h>

#include "env/kind.h"
#include "support/support.h"

static faro_env *make(const char *name, size_t d, size_t arms, faro_draw draw, double norm) {
  const faro_env_params p = {.dimension = d,
                             .arms = arms,
                             .horizon = 1 << 30,
                             .draw = draw,
                             .settings = &(faro_env_settings){.norm = norm}};
  faro_env *env = NULL;
  assert_ok(faro_env_create(&env, faro_env_find(name), &p, error));
  return env;
}

/* A second implementation of the links. */
static double mean_of(const char *name, double z) {
  return strcmp(name, "glm-logistic") == 0 ? 1 / (1 + exp(-z)) : 0.5 * erfc(-z / sqrt(2));
}

static double product(const faro_env *env, size_t arm) {
  const faro_arms *arms = faro_env_arms(env);
  double z = 0;
  for (size_t i = 0; i < arms->dimension; i++) z += env->theta[i] * arms->x[i * arms->stride + arm];
  return z;
}

static double length_of(const faro_arms *arms, size_t a) {
  double square = 0;
  for (size_t i = 0; i < arms->dimension; i++) square += pow(arms->x[i * arms->stride + a], 2);
  return sqrt(square);
}

static const char *const names[] = {"glm-logistic", "glm-probit"};

static void test_glm__kinds_name_their_link(void **state) {
  (void)state;
  assert_int_equal(faro_env_find(names[0])->link, FARO_LINK_LOGISTIC);
  assert_int_equal(faro_env_find(names[1])->link, FARO_LINK_PROBIT);
  assert_int_equal(faro_env_find("linear-iid")->link, FARO_LINK_LINEAR);
  for (size_t k = 0; k < faro_env_count(); k++)
    assert_true((faro_env_at(k)->link != FARO_LINK_LINEAR) ==
                (strncmp(faro_env_at(k)->name, "glm-", 4) == 0));
}

/* Rewards are in [0, 1] although the draw is ball. */
static void test_glm__gaps_are_those_of_the_link(void **state) {
  (void)state;
  for (size_t k = 0; k < 2; k++) {
    faro_env *env = make(names[k], 4, 20, FARO_DRAW_BALL, 6);
    const faro_env_facts facts = faro_env_describe(faro_env_find(names[k]), &env->params);
    assert_true(facts.low == 0 && facts.bound == 6);
    faro_env_begin(env, 3, k);
    double x[4];
    for (int t = 0; t < 200; t++) {
      double best = 0;
      for (size_t a = 0; a < 20; a++) best = fmax(best, mean_of(names[k], product(env, a)));
      for (size_t a = 0; a < 20; a++)
        assert_close(faro_env_gap(env, a), best - mean_of(names[k], product(env, a)), 1e-14);
      assert_true(faro_env_gap(env, faro_env_best(env)) == 0);
      (void)faro_env_play(env, 7, x);
    }
    faro_env_destroy(env);
  }
}

/* Means differ from round to round: rewards less their means are centred, with the variances of
 * coins. */
static void test_glm__rewards_are_coins_with_the_link_s_mean(void **state) {
  (void)state;
  for (size_t k = 0; k < 2; k++) {
    enum { N = 200000 };
    faro_env *env = make(names[k], 3, 4, FARO_DRAW_BALL, 3);
    faro_env_begin(env, 5, k);
    double x[3];
    double sum = 0;
    double along = 0;
    double variance = 0;
    double weighed = 0;
    for (int t = 0; t < N; t++) {
      const double z = product(env, 2);
      const double mean = mean_of(names[k], z);
      const double y = faro_env_play(env, 2, x);
      assert_true(y == 0 || y == 1);
      sum += y - mean;
      along += z * (y - mean); /* a wrong slope would show here */
      variance += mean * (1 - mean);
      weighed += z * z * mean * (1 - mean);
    }
    assert_mean(sum / N, 0, sqrt(variance / N), N);
    assert_mean(along / N, 0, sqrt(weighed / N), N);
    faro_env_destroy(env);
  }
}

/* An algorithm that plays the better arm gets at least the reward of the other. */
static void test_glm__rivals_share_their_luck(void **state) {
  (void)state;
  faro_env *env[2];
  double x[3];
  for (int i = 0; i < 2; i++) {
    env[i] = make("glm-probit", 3, 2, FARO_DRAW_BALL, 2);
    faro_env_begin(env[i], 2, 2);
  }
  for (int t = 0; t < 500; t++) {
    assert_memory_equal(faro_env_arms(env[0])->x, faro_env_arms(env[1])->x, 3 * 16 * sizeof(double));
    const bool first = faro_env_gap(env[0], 0) <= faro_env_gap(env[0], 1);
    const double r0 = faro_env_play(env[0], 0, x);
    const double r1 = faro_env_play(env[1], 1, x);
    assert_true(first ? r0 >= r1 : r1 >= r0);
  }
  for (int i = 0; i < 2; i++) faro_env_destroy(env[i]);
}

static double uniform_cdf(double u) { return fmin(1, fmax(0, u)); }
/* One entry of a point on the sphere in three dimensions is uniform (Archimedes). */
static double band_cdf(double h) { return fmin(1, fmax(0, (h + 1) / 2)); }

/* In the ball ||x||^d is uniform, and the direction is uniform on the sphere. Both draws have the
 * same distribution of directions. */
static void test_glm__arms_are_uniform_in_the_ball_or_on_the_sphere(void **state) {
  (void)state;
  enum { ROUNDS = 1000, ARMS = 20, N = ROUNDS * ARMS };
  static double radius[N];
  static double height[N];
  static double plane[N];
  for (size_t d = 3; d <= 5; d += 2)
    for (int ball = 0; ball < 2; ball++) {
      faro_env *env = make("glm-logistic", d, ARMS, ball ? FARO_DRAW_BALL : FARO_DRAW_SPHERE, 2);
      faro_env_begin(env, 7, d);
      double x[5];
      for (size_t n = 0; n < N; n++) {
        const faro_arms *arms = faro_env_arms(env);
        const size_t a = n % ARMS;
        const double length = length_of(arms, a);
        if (!ball) assert_close(length, 1, 1e-14);
        radius[n] = pow(length, (double)d);
        height[n] = arms->x[(d - 1) * arms->stride + a] / length;
        plane[n] = atan2(arms->x[arms->stride + a], arms->x[a]) / (2 * M_PI) + 0.5;
        if (a + 1 == ARMS) (void)faro_env_play(env, 0, x);
      }
      if (ball) assert_ks(radius, N, uniform_cdf);
      if (d == 3) assert_ks(height, N, band_cdf);
      assert_ks(plane, N, uniform_cdf);
      faro_env_destroy(env);
    }
}

/* theta / S = u / ||u|| with u in the square: the greatest entry's side is one of four, and the
 * ratio of the lesser to the greater entry is uniform (given the greater, the lesser is uniform up
 * to it). On the circle it would not be. */
static void test_glm__parameter_has_its_length_and_the_cube_s_law(void **state) {
  (void)state;
  enum { N = 20000 };
  static double ratio[N];
  double sign[4] = {0};
  const double each[4] = {N / 4.0, N / 4.0, N / 4.0, N / 4.0};
  faro_env *env = make("glm-logistic", 2, 2, FARO_DRAW_BALL, 3.5);
  for (size_t n = 0; n < N; n++) {
    faro_env_begin(env, 11, n);
    const double *theta = env->theta;
    assert_close(hypot(theta[0], theta[1]), 3.5, 1e-13);
    const double a = fabs(theta[0]);
    const double b = fabs(theta[1]);
    ratio[n] = fmin(a, b) / fmax(a, b);
    sign[(theta[0] > 0) + 2 * (theta[1] > 0)]++;
  }
  assert_ks(ratio, N, uniform_cdf);
  assert_chi_square(sign, each, 4);
  faro_env_destroy(env);
}

static void assert_refused(const faro_env_kind *kind, const faro_env_params *p, const char *words) {
  faro_error error = {0};
  assert_int_equal(faro_env_check(kind, p, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, words));
}

static void test_glm__refuses_other_draws_and_norms_out_of_range(void **state) {
  (void)state;
  const faro_env_params good = {.dimension = 3, .arms = 5, .horizon = 10, .draw = FARO_DRAW_BALL};
  const double bad[] = {0, -1, 41, NAN};
  for (size_t k = 0; k < 2; k++) {
    const faro_env_kind *kind = faro_env_find(names[k]);
    assert_ok(faro_env_check(kind, &good, error));
    faro_env_params p = good;
    p.draw = FARO_DRAW_APPENDED;
    assert_refused(kind, &p, "draw must be ball or sphere for glm-");
    p.draw = FARO_DRAW_PUBLISHED;
    assert_refused(kind, &p, "draw must be ball or sphere for glm-");
    for (size_t i = 0; i < 4; i++) {
      const faro_env_settings own = {.norm = bad[i]};
      p = good;
      p.settings = &own;
      assert_refused(kind, &p, "norm must be above 0 and at most 40");
    }
  }
}

/* Counts against the Poisson distribution, the tail together; one test at FALSE_ALARM. */
static void test_glm__counts_are_poisson(void **state) {
  (void)state;
  enum { DRAWS = 40000, BINS = 9 };
  faro_env *env = make("glm-poisson", 3, 4, FARO_DRAW_SPHERE, 1.2);
  const faro_env_facts facts = faro_env_describe(faro_env_find("glm-poisson"), &env->params);
  assert_true(facts.low == 0 && facts.high == ceil(exp(1.2) + 5 * exp(0.6) + 5));
  faro_env_begin(env, 7, 0);
  const size_t best = faro_env_best(env);
  const double mean = exp(product(env, best));
  double seen[BINS] = {0};
  double wanted[BINS] = {0};
  for (int i = 0; i < DRAWS; i++) {
    const double y = faro_env_pull(env, best);
    assert_true(y == floor(y) && y >= 0 && y <= facts.high);
    seen[(int)fmin(y, BINS - 1)]++;
  }
  wanted[BINS - 1] = DRAWS;
  for (int k = 0; k + 1 < BINS; k++) {
    wanted[k] = DRAWS * exp(k * log(mean) - mean - lgamma(k + 1));
    wanted[BINS - 1] -= wanted[k];
  }
  assert_chi_square(seen, wanted, BINS);
  faro_env_destroy(env);
  const faro_env_params p = {.dimension = 3,
                             .arms = 4,
                             .horizon = 10,
                             .draw = FARO_DRAW_BALL,
                             .settings = &(faro_env_settings){.norm = 3.5}};
  assert_refused(faro_env_find("glm-poisson"), &p, "norm must be at most 3 for glm-poisson");
}

static faro_env *make_contexts(faro_contexts contexts, size_t d, size_t arms, uint64_t horizon) {
  const faro_env_params p = {.dimension = d,
                             .arms = arms,
                             .horizon = horizon,
                             .draw = FARO_DRAW_BALL,
                             .settings = &(faro_env_settings){.norm = 3, .contexts = contexts}};
  faro_env *env = NULL;
  assert_ok(faro_env_create(&env, faro_env_find("glm-logistic"), &p, error));
  faro_env_begin(env, 1, 2);
  return env;
}

/* Arms of length 1 that span a plane, orthogonal to the plane of the other half of the horizon. */
static void test_glm__adversarial_arms_turn_in_planes(void **state) {
  (void)state;
  enum { D = 4, ARMS = 7, ROUNDS = 100 };
  faro_env *env = make_contexts(FARO_CONTEXTS_ADVERSARIAL, D, ARMS, ROUNDS);
  double first[D][ARMS];
  double x[D];
  for (int t = 0; t < ROUNDS; t++) {
    const faro_arms *arms = faro_env_arms(env);
    for (size_t a = 0; a < ARMS; a++) {
      assert_close(length_of(arms, a), 1, 1e-12);
      for (size_t b = 0; b < ARMS; b++) {
        double inner = 0;
        for (size_t i = 0; i < D; i++) {
          if (t == 0) first[i][a] = arms->x[i * arms->stride + a];
          inner += first[i][b] * arms->x[i * arms->stride + a];
        }
        if (t >= ROUNDS / 2) assert_close(inner, 0, 1e-12);
      }
    }
    (void)faro_env_play(env, 0, x);
  }
  faro_env_destroy(env);
}

/* The family behind the lower bound: every coordinate has a right and a wrong sign, and all are
 * worth the same. */
static void test_glm__coordinates_are_equally_hard(void **state) {
  (void)state;
  enum { D = 5 };
  faro_env *env = make_contexts(FARO_CONTEXTS_COORDINATES, D, 2 * D, 100);
  const double z = 3 / sqrt(D);
  for (size_t a = 0; a < D; a++) {
    const bool right = env->theta[a] > 0;
    assert_close(fabs(env->theta[a]), z, 1e-12);
    assert_close(faro_env_gap(env, right ? a : a + D), 0, 1e-12);
    assert_close(faro_env_gap(env, right ? a + D : a), 1 / (1 + exp(-z)) - 1 / (1 + exp(z)), 1e-12);
  }
  faro_env_destroy(env);
  const faro_env_params p = {.dimension = D,
                             .arms = 20,
                             .horizon = 10,
                             .draw = FARO_DRAW_BALL,
                             .settings =
                                 &(faro_env_settings){.norm = 3, .contexts = FARO_CONTEXTS_COORDINATES}};
  assert_refused(faro_env_find("glm-probit"), &p, "arms must be 2 x dimension, 10, for");
}

static void test_glm__rounds_allocate_nothing(void **state) {
  (void)state;
  faro_env *env = make("glm-probit", 5, 20, FARO_DRAW_BALL, 3);
  double x[5];
  alloc_reset();
  faro_env_begin(env, 1, 0);
  for (int t = 0; t < 100; t++) (void)faro_env_play(env, 3, x);
  assert_int_equal(alloc_count(), 0);
  faro_env_destroy(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_glm__kinds_name_their_link),
      cmocka_unit_test(test_glm__gaps_are_those_of_the_link),
      cmocka_unit_test(test_glm__rewards_are_coins_with_the_link_s_mean),
      cmocka_unit_test(test_glm__rivals_share_their_luck),
      cmocka_unit_test(test_glm__arms_are_uniform_in_the_ball_or_on_the_sphere),
      cmocka_unit_test(test_glm__parameter_has_its_length_and_the_cube_s_law),
      cmocka_unit_test(test_glm__refuses_other_draws_and_norms_out_of_range),
      cmocka_unit_test(test_glm__counts_are_poisson),
      cmocka_unit_test(test_glm__adversarial_arms_turn_in_planes),
      cmocka_unit_test(test_glm__coordinates_are_equally_hard),
      cmocka_unit_test(test_glm__rounds_allocate_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
