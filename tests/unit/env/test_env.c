/* env: what every environment must guarantee, and what is special about each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "env/kind.h"
#include "support/support.h"
#include "support/world.h"

static const faro_env_settings own = {.actions = 3, .samples = 200, .spread = 0.2, .norm = 3};

static faro_env *make(const char *name, size_t d, size_t arms, uint64_t horizon, faro_draw draw) {
  const faro_env_params p = {
      .dimension = d, .arms = arms, .horizon = horizon, .draw = draw, .settings = &own};
  faro_env *env = NULL;
  assert_ok(faro_env_create(&env, faro_env_find(name), &p, error));
  return env;
}

static bool is_stream(const faro_env_kind *kind) { return kind->traits & FARO_ENV_STREAM; }
static bool is_rows(const faro_env_kind *kind) { return kind->traits & FARO_ENV_ROWS; } /* test_rows_env.c */

static double norm_of(const faro_arms *arms, size_t a) {
  double square = 0;
  for (size_t i = 0; i < arms->dimension; i++)
    square += arms->x[i * arms->stride + a] * arms->x[i * arms->stride + a];
  return sqrt(square);
}

static void test_arms__norms_means_and_gaps_are_within_bounds(void **state) {
  (void)state;
  for (size_t k = 0; k < faro_env_count(); k++)
    for (int draw = 0; draw <= FARO_DRAW_AXES && !is_stream(faro_env_at(k)); draw++)
      for (size_t d = 2; d <= 7; d++) {
        const faro_env_kind *kind = faro_env_at(k);
        const size_t offered = draw == FARO_DRAW_AXES ? d : 9;
        const faro_env_params p = {
            .dimension = d, .arms = offered, .draw = (faro_draw)draw, .settings = &own};
        const faro_env_facts facts = faro_env_describe(kind, &p);
        const double low = facts.low;
        if (faro_env_check(kind, &p, NULL) != FARO_OK) continue;
        faro_env *env = make(kind->name, d, offered, 50, (faro_draw)draw);
        double x[7];
        faro_env_begin(env, 1, d);
        double theta = 0;
        for (size_t i = 0; i < d; i++) theta += env->theta[i] * env->theta[i];
        assert_true(sqrt(theta) <= facts.bound + 1e-12);
        for (int t = 0; t < 50; t++) {
          const faro_arms *arms = faro_env_arms(env);
          double least = INFINITY;
          assert_true(arms->count >= 2 && arms->count <= 9);
          for (size_t a = 0; a < arms->count; a++) {
            assert_true(norm_of(arms, a) <= facts.norm + 1e-12);
            const double mean = env->best - faro_env_gap(env, a);
            assert_true(mean >= low - 1e-12 && mean <= facts.high + 1e-12);
            assert_true(faro_env_gap(env, a) >= 0);
            least = fmin(least, faro_env_gap(env, a));
          }
          /* if arms were estimated, the best policy need not be one of them */
          assert_true(least == 0 || faro_env_error(env) > 0);
          for (size_t a = arms->count; a < arms->stride; a++) assert_true(norm_of(arms, a) == 0);
          const double reward = faro_env_play(env, (size_t)t % arms->count, x);
          assert_true(reward == low || reward == 1 || facts.high > 1);
        }
        faro_env_destroy(env);
      }
}

static void test_arms__are_the_same_on_the_same_instance(void **state) {
  (void)state;
  for (size_t k = 0; k < faro_env_count(); k++) {
    const faro_env_kind *kind = faro_env_at(k);
    if (is_stream(kind) || is_rows(kind)) continue;
    double seen[2][40];
    const faro_env_params appended = {.dimension = 4, .arms = 5, .horizon = 40, .settings = &own};
    const bool appends = faro_env_check(kind, &appended, NULL) == FARO_OK;
    faro_env *env = make(kind->name, 4, 5, 40, appends ? FARO_DRAW_APPENDED : FARO_DRAW_SPHERE);
    double x[4];
    for (int run = 0; run < 2; run++) {
      faro_env_begin(env, 9, 3);
      for (int t = 0; t < 40; t++) {
        seen[run][t] = faro_env_gap(env, 1) + faro_env_arms(env)->x[2];
        seen[run][t] += 10 * faro_env_play(env, 1, x);
      }
      faro_env_begin(env, 9, 4); /* something else in between */
    }
    assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
    faro_env_destroy(env);
  }
}

/* Algorithms share the luck: one that plays the better arm gets at least the reward of the
 * other. */
static void test_rewards__are_paired_between_rivals(void **state) {
  (void)state;
  faro_env *env[2];
  double x[3];
  for (int i = 0; i < 2; i++) {
    env[i] = make("linear-iid", 3, 2, 500, FARO_DRAW_APPENDED);
    faro_env_begin(env[i], 2, 2);
  }
  for (int t = 0; t < 500; t++) {
    assert_memory_equal(faro_env_arms(env[0])->x, faro_env_arms(env[1])->x, 3 * 16 * sizeof(double));
    const bool first_better = faro_env_gap(env[0], 0) <= faro_env_gap(env[0], 1);
    const double r0 = faro_env_play(env[0], 0, x);
    const double r1 = faro_env_play(env[1], 1, x);
    assert_true(first_better ? r0 >= r1 : r1 >= r0);
  }
  for (int i = 0; i < 2; i++) faro_env_destroy(env[i]);
}

static void test_rewards__have_the_arm_s_mean(void **state) {
  (void)state;
  for (int kind = 0; kind < 2; kind++) {
    const faro_env_params p = {.dimension = 3, .arms = 4, .horizon = 200000, .reward = (faro_reward)kind};
    faro_env *env = NULL;
    assert_ok(faro_env_create(&env, faro_env_find("linear-fixed"), &p, error));
    faro_env_begin(env, 5, 0);
    double sum = 0;
    double x[3];
    const double mean = env->mean[2];
    for (int t = 0; t < 200000; t++) {
      const double reward = faro_env_play(env, 2, x);
      assert_true(reward >= 0 && reward <= 1);
      sum += reward;
    }
    const double sd =
        kind == FARO_REWARD_BERNOULLI ? sqrt(mean * (1 - mean)) : fmin(mean, 1 - mean) / sqrt(3);
    assert_mean(sum / 200000, mean, sd, 200000);
    for (size_t i = 0; i < 3; i++) assert_true(x[i] == env->arms.x[i * env->arms.stride + 2]);
    faro_env_destroy(env);
  }
}

static void test_fixed__arms_keep_their_version_and_iid_ones_do_not(void **state) {
  (void)state;
  double x[3];
  faro_env *fixed = make("linear-fixed", 3, 4, 10, FARO_DRAW_APPENDED);
  faro_env *iid = make("linear-iid", 3, 4, 10, FARO_DRAW_APPENDED);
  faro_env_begin(fixed, 1, 0);
  faro_env_begin(iid, 1, 0);
  const uint64_t version = faro_env_arms(fixed)->version;
  uint64_t last = faro_env_arms(iid)->version;
  for (int t = 0; t < 9; t++) {
    (void)faro_env_play(fixed, 0, x);
    (void)faro_env_play(iid, 0, x);
    assert_true(faro_env_arms(fixed)->version == version);
    assert_true(faro_env_arms(iid)->version != last);
    last = faro_env_arms(iid)->version;
  }
  faro_env_begin(fixed, 1, 1);
  assert_true(faro_env_arms(fixed)->version != version);
  faro_env_destroy(fixed);
  faro_env_destroy(iid);
}

static void test_published__features_are_unscaled_with_axes_first(void **state) {
  (void)state;
  const size_t d = 4;
  faro_env *env = make("linear-fixed", d, 10, 10, FARO_DRAW_PUBLISHED);
  faro_env_begin(env, 1, 0);
  const faro_arms *arms = faro_env_arms(env);
  for (size_t a = 0; a < 10; a++) {
    assert_true(arms->x[(d - 1) * arms->stride + a] == 1);
    assert_close(norm_of(arms, a), a == d - 1 ? 1 : sqrt(2), 1e-12);
  }
  for (size_t a = 0; a + 1 < d; a++)
    for (size_t i = 0; i + 1 < d; i++) assert_true(arms->x[i * arms->stride + a] == (i == a));
  assert_close(env->theta[d - 1], 0.5, 0);
  faro_env_destroy(env);
}

/* Differences between arms of one phase are orthogonal to those of any other phase. */
static void test_adversary__old_differences_tell_nothing_new(void **state) {
  (void)state;
  enum { D = 7, K = 5, T = 30 }; /* n = 6: three planes, ten rounds each */
  faro_env *env = make("linear-adversarial", D, K, T, FARO_DRAW_APPENDED);
  double difference[T][D];
  double x[D];
  faro_env_begin(env, 4, 0);
  for (int t = 0; t < T; t++) {
    const faro_arms *arms = faro_env_arms(env);
    for (size_t i = 0; i < D; i++)
      difference[t][i] = arms->x[i * arms->stride + 1] - arms->x[i * arms->stride];
    (void)faro_env_play(env, 0, x);
  }
  for (int a = 0; a < T; a++)
    for (int b = 0; b < a; b++) {
      double inner = 0;
      for (int i = 0; i < D; i++) inner += difference[a][i] * difference[b][i];
      if (a / 10 != b / 10) assert_close(inner, 0, 1e-12);
      else assert_true(difference[a][0] != difference[b][0]); /* turned */
    }
  faro_env_destroy(env);
}

static void test_users__come_uniformly_and_change_nothing_else(void **state) {
  (void)state;
  enum { POPULATION = 50, T = 20000 };
  faro_env_params p = {.dimension = 3, .arms = 4, .horizon = T, .population = POPULATION};
  faro_env *many = NULL;
  assert_ok(faro_env_create(&many, faro_env_find("linear-iid"), &p, error));
  faro_env *fresh = make("linear-iid", 3, 4, T, FARO_DRAW_APPENDED);
  faro_env_begin(many, 3, 1);
  faro_env_begin(fresh, 3, 1);
  double seen[POPULATION] = {0};
  double pairs[POPULATION] = {0}; /* by the distance to the user before */
  double expected[POPULATION];
  double x[3];
  uint64_t last = 0;
  for (uint64_t t = 0; t < T; t++) {
    const uint64_t user = faro_env_user(many);
    assert_true(user < POPULATION);
    assert_true(faro_env_user(fresh) == t); /* nobody comes back */
    seen[user]++;
    pairs[(user + POPULATION - last) % POPULATION]++;
    last = user;
    assert_true(faro_env_gap(many, 1) == faro_env_gap(fresh, 1));
    assert_true(faro_env_play(many, 1, x) == faro_env_play(fresh, 1, x));
  }
  for (int u = 0; u < POPULATION; u++) expected[u] = (double)T / POPULATION;
  assert_chi_square(seen, expected, POPULATION);
  assert_chi_square(pairs, expected, POPULATION);
  faro_env_begin(many, 3, 1); /* the same people again */
  const uint64_t first = faro_env_user(many);
  faro_env_begin(many, 3, 1);
  assert_true(faro_env_user(many) == first);
  faro_env_destroy(many);
  faro_env_destroy(fresh);
  p.population = UINT64_MAX;
  faro_error error = {0};
  assert_int_equal(faro_env_check(faro_env_at(0), &p, &error), FARO_INVALID);
  assert_int_equal(strncmp(error.message, "population", 10), 0);
}

static void test_create__refuses_absurd_sizes_and_survives_exhaustion(void **state) {
  (void)state;
  const size_t bad[][2] = {{1, 5}, {0, 5}, {1001, 5}, {3, 1}, {3, 2000000}, {1000, 900000}};
  for (size_t i = 0; i < 6; i++) {
    const faro_env_params p = {.dimension = bad[i][0], .arms = bad[i][1], .horizon = 10};
    faro_env *env = NULL;
    faro_error error = {0};
    assert_int_equal(faro_env_create(&env, faro_env_at(0), &p, &error), FARO_INVALID);
    assert_null(env);
  }
  for (size_t k = 0; k < faro_env_count(); k++) {
    const faro_env_params p = {.dimension = 3, .arms = 5, .horizon = 10, .draw = FARO_DRAW_SPHERE};
    faro_env *env = NULL;
    if (is_rows(faro_env_at(k))) continue;
    assert_survives_exhaustion(faro_env_create(&env, faro_env_at(k), &p, error));
    faro_env_destroy(env);
  }
  faro_env_destroy(NULL);
  assert_null(faro_env_find("no such environment"));
}

/* Arms of the sphere and the ball. Uniform: the mean of an entry is 0, that of its square r2 / d,
 * where r2 is the mean squared length: 1 on the sphere, d / (d + 2) in the ball. In the ball, the
 * d-th power of the length is uniform. */
static void test_draws__sphere_and_ball_are_uniform(void **state) {
  (void)state;
  enum { N = 20000 };
  for (int ball = 0; ball < 2; ball++)
    for (size_t d = 2; d <= 4; d++) {
      faro_env *env = make("linear-fixed", d, N, 10, ball ? FARO_DRAW_BALL : FARO_DRAW_SPHERE);
      faro_env_begin(env, 6, d);
      const faro_arms *arms = faro_env_arms(env);
      double inside = 0;
      double theta = 0;
      for (size_t i = 0; i < d; i++) theta += env->theta[i] * env->theta[i];
      assert_close(theta, 1, 1e-12);
      for (size_t a = 0; a < N; a++) {
        if (!ball) assert_close(norm_of(arms, a), 1, 1e-12);
        assert_true(norm_of(arms, a) <= 1 + 1e-12);
        inside += pow(norm_of(arms, a), (double)d);
      }
      if (ball) assert_mean(inside / N, 0.5, sqrt(1 / 12.0), N);
      const double square = ball ? 1 / (double)(d + 2) : 1 / (double)d;
      for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
          double sum = 0;
          double product = 0;
          for (size_t a = 0; a < N; a++) {
            sum += arms->x[i * arms->stride + a];
            product += arms->x[i * arms->stride + a] * arms->x[j * arms->stride + a];
          }
          assert_mean(sum / N, 0, sqrt(square), N);
          assert_mean(product / N, i == j ? square : 0, 0.5, N); /* 1/2 exceeds the true value */
        }
      faro_env_destroy(env);
    }
}

/* pull and play, in [-1, 1]; the same luck, hence the same rewards. */
static void test_rewards__of_pulls_are_those_of_plays(void **state) {
  (void)state;
  enum { N = 100000 };
  for (int kind = 0; kind < 2; kind++) {
    const faro_env_params p = {
        .dimension = 3, .arms = 4, .horizon = N, .reward = (faro_reward)kind, .draw = FARO_DRAW_SPHERE};
    faro_env *pulled = NULL;
    faro_env *played = NULL;
    assert_ok(faro_env_create(&pulled, faro_env_find("linear-fixed"), &p, error));
    assert_ok(faro_env_create(&played, faro_env_find("linear-fixed"), &p, error));
    faro_env_begin(pulled, 5, 1);
    faro_env_begin(played, 5, 1);
    for (size_t arm = 0; arm < 4; arm++) {
      double sum = 0;
      double x[3];
      for (int t = 0; t < N / 4; t++) {
        const double reward = faro_env_pull(pulled, arm);
        assert_true(reward == faro_env_play(played, arm, x));
        assert_true(reward >= -1 && reward <= 1);
        if (kind == FARO_REWARD_BERNOULLI) assert_true(reward == -1 || reward == 1);
        sum += reward;
      }
      const double mean = pulled->mean[arm];
      const double sd = kind == FARO_REWARD_BERNOULLI ? sqrt(1 - mean * mean) : (1 - fabs(mean)) / sqrt(3);
      assert_mean(sum / (N / 4), mean, sd, N / 4);
      assert_close(faro_env_gap(pulled, arm), pulled->mean[faro_env_best(pulled)] - mean, 1e-15);
    }
    faro_env_destroy(pulled);
    faro_env_destroy(played);
  }
}

/* Rounds that are played together leave everything as single ones do: rewards, people, the next
 * round. */
static void test_rewards__drawn_at_once_are_those_of_single_rounds(void **state) {
  (void)state;
  static const char *const kinds[] = {"linear-fixed", "linear-population", "linear-known"};
  static const uint64_t times[] = {1, 3, 64, 0, 200, 1000, 63, 2};
  for (size_t k = 0; k < 3; k++)
    for (int reward = 0; reward < 2; reward++) {
      const faro_env_params p = {.dimension = 3,
                                 .arms = 4,
                                 .horizon = 10000,
                                 .reward = (faro_reward)reward,
                                 .draw = FARO_DRAW_SPHERE,
                                 .population = reward == 0 ? 0 : 100};
      faro_env *single = NULL;
      faro_env *together = NULL;
      assert_ok(faro_env_create(&single, faro_env_find(kinds[k]), &p, error));
      assert_ok(faro_env_create(&together, faro_env_find(kinds[k]), &p, error));
      faro_env_begin(single, 5, 1);
      faro_env_begin(together, 5, 1);
      assert_true(faro_env_stays(together));
      for (size_t i = 0; i < 16; i++) {
        const size_t arm = i % faro_env_arms(single)->count;
        const uint64_t n = times[i / 2];
        const bool pulls = i % 2;
        double x[2][3] = {{0}};
        double sum = 0;
        uint64_t high = 0;
        uint64_t low = 0;
        for (uint64_t t = 0; t < n; t++) {
          const double one = pulls ? faro_env_pull(single, arm) : faro_env_play(single, arm, x[0]);
          sum += one;
          high += one == 1;
          low += one == -1;
        }
        const faro_env_rewards got =
            pulls ? faro_env_pull_times(together, arm, n) : faro_env_play_times(together, arm, n, x[1]);
        assert_true(got.sum == sum);
        if (got.high + got.low > 0) assert_true(got.high == high && got.low == low);
        assert_int_equal(got.high + got.low, reward == 0 && !(pulls && k > 0) ? n : 0);
        if (n > 0) assert_memory_equal(x[0], x[1], sizeof x[0]);
        assert_true(faro_env_user(single) == faro_env_user(together));
        assert_true(single->round == together->round);
      }
      faro_env_destroy(single);
      faro_env_destroy(together);
    }
}

static void test_stays__is_said_of_arms_that_stay(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool stays;
  } kinds[] = {{"linear-fixed", true},      {"linear-iid", false},   {"linear-adversarial", false},
               {"linear-population", true}, {"glm-logistic", false}, {"bits-random", false}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    const bool glm = strncmp(kinds[k].name, "glm", 3) == 0;
    faro_env *env = make(kinds[k].name, 3, 4, 100, glm ? FARO_DRAW_BALL : FARO_DRAW_APPENDED);
    assert_true(faro_env_stays(env) == kinds[k].stays);
    faro_env_destroy(env);
  }
}

/* An average is normal: the arm's mean, with variance spread^2 |x|^2 + 1/pulls. A client's arms x
 * and y share its parameter, which gives a covariance of spread^2 <x, y>. */
static void test_population__clients_have_the_means_and_variances_they_should(void **state) {
  (void)state;
  enum { N = 50000 };
  const faro_env_params p = {.dimension = 3,
                             .arms = 5,
                             .horizon = 10,
                             .draw = FARO_DRAW_BALL,
                             .settings = &(faro_env_settings){.spread = 0.7}};
  faro_env *env = NULL;
  assert_ok(faro_env_create(&env, faro_env_find("linear-population"), &p, error));
  faro_env_begin(env, 7, 0);
  const size_t arm[2] = {3, 1};
  const uint64_t pulls[2] = {1, 25};
  double sum[2] = {0};
  double square[2] = {0};
  double both = 0;
  for (int n = 0; n < N; n++) {
    double average[2];
    faro_env_client(env, 2, arm, pulls, average);
    for (int i = 0; i < 2; i++) {
      average[i] -= env->mean[arm[i]];
      sum[i] += average[i];
      square[i] += average[i] * average[i];
    }
    both += average[0] * average[1];
  }
  double inner = 0;
  double variance[2];
  for (size_t i = 0; i < 3; i++)
    inner += env->arms.x[i * env->arms.stride + 3] * env->arms.x[i * env->arms.stride + 1];
  for (int i = 0; i < 2; i++) {
    variance[i] = pow(0.7 * norm_of(&env->arms, arm[i]), 2) + 1 / (double)pulls[i];
    assert_mean(sum[i] / N, 0, sqrt(variance[i]), N);
    assert_variance(square[i] / N, variance[i], 3, N);
  }
  const double covariance = 0.49 * inner;
  assert_true(fabs(covariance) > 0.01);
  assert_mean(both / N, covariance, sqrt(variance[0] * variance[1] + covariance * covariance), N);
  faro_env_destroy(env);
}

/* Arms are the net's points; the best of the sphere, or ball, is theta itself. */
static void test_net__points_are_the_arms_and_the_best_mean_is_one(void **state) {
  (void)state;
  for (int ball = 0; ball < 2; ball++) {
    const faro_env_params p = {.dimension = 3,
                               .horizon = 10,
                               .draw = ball ? FARO_DRAW_BALL : FARO_DRAW_SPHERE,
                               .settings = &(faro_env_settings){.zeta = 0.2}};
    faro_env *env = NULL;
    faro_points *net = NULL;
    assert_ok(faro_env_create(&env, faro_env_find("linear-fixed"), &p, error));
    assert_ok(faro_points_net(&net, ball ? FARO_BALL : FARO_SPHERE, 3, 0.2, error));
    for (uint64_t instance = 0; instance < 3; instance++) {
      faro_env_begin(env, 1, instance);
      const faro_arms *arms = faro_env_arms(env);
      assert_int_equal(arms->count, faro_points_arms(net)->count);
      assert_memory_equal(arms->x, faro_points_arms(net)->x, 3 * arms->stride * sizeof *arms->x);
      const size_t best = faro_env_best(env);
      for (size_t a = 0; a < arms->count; a++) {
        assert_close(faro_env_gap(env, a), 1 - env->mean[a], 1e-15);
        assert_true(env->mean[a] <= env->mean[best]);
      }
      assert_true(faro_env_gap(env, best) <= 0.2 && faro_env_gap(env, best) >= -1e-12);
    }
    faro_env_destroy(env);
    faro_points_destroy(net);
  }
}

/* g_j, estimated again from other contexts; and the rewards of pulls. */
static void test_known__arms_are_mean_best_responses(void **state) {
  (void)state;
  enum { N = 40000, ACTIONS = 4, ARMS = 5 };
  const faro_env_params p = {.dimension = 3,
                             .arms = ARMS,
                             .horizon = 10,
                             .draw = FARO_DRAW_SPHERE,
                             .settings = &(faro_env_settings){.actions = ACTIONS, .samples = N}};
  faro_env *env = NULL;
  assert_ok(faro_env_create(&env, faro_env_find("linear-known"), &p, error));
  faro_env_begin(env, 8, 0);
  assert_true(faro_env_error(env) > 0 && faro_env_error(env) <= 1 / sqrt(N)); /* features have length 1 */
  assert_int_equal(faro_env_arms(env)->count, ARMS);
  faro_sim_rng sim;
  double theta[3];
  double direction[ARMS][3]; /* the parameter of each arm: drawn right after theta */
  faro_sim_open(&sim, 8, 0, FARO_ROLE_INSTANCE);
  faro_linear_unit(&sim, 3, theta, 1);
  assert_memory_equal(theta, env->theta, sizeof theta);
  for (size_t j = 0; j < ARMS; j++) faro_linear_unit(&sim, 3, direction[j], 1);
  double g[ARMS][3] = {{0}};
  faro_sim_open(&sim, 99, 0, FARO_ROLE_CONTEXT);
  for (int n = 0; n < N; n++) {
    double phi[ACTIONS][3];
    for (size_t a = 0; a < ACTIONS; a++) faro_linear_unit(&sim, 3, phi[a], 1);
    for (size_t j = 0; j < ARMS; j++) {
      size_t best = 0;
      double value[ACTIONS] = {0};
      for (size_t a = 0; a < ACTIONS; a++)
        for (size_t i = 0; i < 3; i++) value[a] += phi[a][i] * direction[j][i];
      for (size_t a = 1; a < ACTIONS; a++)
        if (value[a] > value[best]) best = a;
      for (size_t i = 0; i < 3; i++) g[j][i] += phi[best][i] / N;
    }
  }
  for (size_t j = 0; j < ARMS; j++) {
    double mean = 0;
    double sum = 0;
    for (size_t i = 0; i < 3; i++) { /* both estimates have this error */
      assert_true(normal_two_sided((g[j][i] - env->arms.x[i * env->arms.stride + j]) /
                                   (sqrt(2) * faro_env_error(env))) > FALSE_ALARM);
      mean += env->theta[i] * env->arms.x[i * env->arms.stride + j];
    }
    assert_close(env->mean[j], mean, 1e-12);
    for (int n = 0; n < N; n++) sum += faro_env_pull(env, j);
    assert_mean(sum / N, mean, sqrt(1 + N * pow(faro_env_error(env), 2)), N); /* rewards lie in [-1, 1] */
  }
  faro_env_destroy(env);
}

static void test_check__refuses_nets_and_draws_that_do_not_fit(void **state) {
  (void)state;
  const struct {
    size_t dimension;
    double zeta;
    faro_draw draw;
  } bad[] = {{3, 0.5, FARO_DRAW_APPENDED},
             {6, 0.001, FARO_DRAW_SPHERE},
             {6, 0.001, FARO_DRAW_BALL},
             {900, 0.9, FARO_DRAW_BALL}};
  for (size_t i = 0; i < 4; i++) {
    const faro_env_params p = {.dimension = bad[i].dimension,
                               .arms = 5,
                               .horizon = 10,
                               .draw = bad[i].draw,
                               .settings = &(faro_env_settings){.zeta = bad[i].zeta}};
    faro_error error = {0};
    assert_int_equal(faro_env_check(faro_env_find("linear-fixed"), &p, &error), FARO_INVALID);
    assert_int_equal(strncmp(error.message, "zeta ", 5), 0);
  }
  for (int draw = 0; draw < 4; draw++) {
    const faro_env_params p = {.dimension = 3, .arms = 5, .draw = (faro_draw)draw, .settings = &own};
    assert_true((faro_env_check(faro_env_find("linear-known"), &p, NULL) == FARO_OK) ==
                (draw == FARO_DRAW_SPHERE));
  }
}

/* Streams of numbers. */

static faro_env *make_stream(const char *name, uint64_t horizon, uint64_t shufflers, double epsilon) {
  const faro_env_params p = {.horizon = horizon, .shufflers = shufflers, .epsilon = epsilon};
  faro_env *env = NULL;
  assert_ok(faro_env_create(&env, faro_env_find(name), &p, error));
  return env;
}

static void test_streams__are_the_same_on_the_same_instance(void **state) {
  (void)state;
  enum { N = 300 };
  for (size_t k = 0; k < faro_env_count(); k++) {
    if (!is_stream(faro_env_at(k))) continue;
    faro_env *env = make_stream(faro_env_at(k)->name, N, 1, 1);
    double seen[3][N];
    const uint64_t instance[3] = {3, 4, 3};
    for (int run = 0; run < 3; run++) {
      faro_env_begin(env, 9, instance[run]);
      for (int t = 0; t < N; t++) seen[run][t] = faro_env_value(env);
      for (int t = 0; t < N; t++) assert_true(seen[run][t] >= 0 && seen[run][t] <= 1);
      (void)faro_env_value(env); /* begin must discard what is left */
    }
    assert_memory_equal(seen[0], seen[2], sizeof seen[0]);
    assert_memory_not_equal(seen[0], seen[1], sizeof seen[0]);
    faro_env_destroy(env);
  }
}

/* Four consecutive bits: all sixteen patterns are equally likely. */
static void test_random__bits_are_fair_and_independent(void **state) {
  (void)state;
  enum { RUNS = 50000 };
  double observed[16] = {0};
  double expected[16];
  for (int i = 0; i < 16; i++) expected[i] = RUNS / 16.0;
  faro_env *env = make_stream("bits-random", 4 * RUNS, 0, 1);
  faro_env_begin(env, 8, 0);
  for (int run = 0; run < RUNS; run++) {
    int word = 0;
    for (int i = 0; i < 4; i++) word = 2 * word + (faro_env_value(env) == 1);
    observed[word]++;
  }
  assert_chi_square(observed, expected, 16);
  faro_env_destroy(env);
}

/* Tenenbaum et al. 2023, section 4, written down naively, over the fair bits that bits-random has
 * on the same instance. */
static void test_hard__is_the_stream_of_the_lower_bound(void **state) {
  (void)state;
  const struct {
    uint64_t n, shufflers;
    double epsilon, k;
  } cases[] = {{100000, 1, 1, 1}, {100000, 2, 0.5, 2}, {99999, 1, 0.01, 1},
               {5000, 0, 1, 11},  {2, 0, 1, 1},        {1000, 1, 1000, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const double n = (double)cases[i].n;
    const double k = cases[i].k;
    const double c = cases[i].epsilon < 100 ? exp(cases[i].epsilon) / (exp(2 * cases[i].epsilon) + 1) : 0;
    const double rep = fmax(1, round(0.5 * pow(n, 1 / (2 * k + 1)) * pow(c, 2 * k / (2 * k + 1))));
    if (i == 0) assert_true(rep == 11);
    faro_env *hard = make_stream("bits-hard", cases[i].n, cases[i].shufflers, cases[i].epsilon);
    faro_env *fair = make_stream("bits-random", cases[i].n, 0, 1);
    faro_env_begin(hard, 7, i);
    faro_env_begin(fair, 7, i);
    for (uint64_t t = 0; t < cases[i].n;) {
      const double single = faro_env_value(fair);
      assert_true(faro_env_value(hard) == single);
      t++;
      const double repeated = faro_env_value(fair);
      for (double copy = 0; copy < rep && t < cases[i].n; copy++, t++)
        assert_true(faro_env_value(hard) == repeated);
    }
    faro_env_destroy(hard);
    faro_env_destroy(fair);
  }
}

/* K arms without structure: unit vectors, whose means are independent and uniform. */
static void test_axes__arms_are_unit_vectors_with_means_of_their_own(void **state) {
  (void)state;
  enum { N = 4000, ARMS = 4 };
  double mean[ARMS] = {0};
  double product = 0;
  faro_env *env = make("linear-fixed", ARMS, ARMS, 10, FARO_DRAW_AXES);
  for (uint64_t n = 0; n < N; n++) {
    faro_env_begin(env, 3, n);
    const faro_arms *arms = faro_env_arms(env);
    for (size_t a = 0; a < ARMS; a++) {
      for (size_t i = 0; i < ARMS; i++) assert_true(arms->x[i * arms->stride + a] == (i == a));
      assert_true(env->mean[a] == env->theta[a]);
      mean[a] += env->mean[a] / N;
    }
    product += (env->mean[0] - 0.5) * (env->mean[1] - 0.5) / N;
  }
  for (size_t a = 0; a < ARMS; a++) assert_true(fabs(mean[a] - 0.5) < 6 * sqrt(1.0 / 12 / N)); /* 1e-8 */
  assert_true(fabs(product) < 6 / (12 * sqrt((double)N)));
  faro_env_destroy(env);
  const faro_env_params p = {.dimension = 4, .arms = 5, .draw = FARO_DRAW_AXES, .settings = &own};
  assert_int_equal(faro_env_check(faro_env_find("linear-fixed"), &p, NULL), FARO_INVALID);
  assert_int_equal(faro_env_check(faro_env_find("linear-adversarial"), &p, NULL), FARO_INVALID);
}

/* A client of a population who plays one round: the mean of the arm, with the client's own part cut
 * to the interval. */
static void test_population__a_round_of_a_client_has_the_mean_of_the_arm(void **state) {
  (void)state;
  enum { N = 40000 };
  faro_env *env = make("linear-population", 3, 5, 10, FARO_DRAW_SPHERE);
  faro_env_begin(env, 2, 1);
  for (size_t a = 0; a < 5; a++) {
    double sum = 0;
    for (int n = 0; n < N; n++) {
      const double y = faro_env_pull(env, a);
      assert_true(y == -1 || y == 1);
      sum += y;
    }
    if (fabs(env->mean[a]) < 0.3) assert_true(fabs(sum / N - env->mean[a]) < 6 / sqrt(N)); /* 2e-9 each */
  }
  faro_env_destroy(env);
}

/* Copies of its own, and the order of the bound without them. */
static void test_hard__copies_as_often_as_it_is_told(void **state) {
  (void)state;
  enum { USERS = 3000 };
  for (uint64_t copies = 1; copies <= 7; copies += 6) {
    const faro_env_settings own_copies = {.copies = copies};
    const faro_env_params p = {.horizon = USERS, .shufflers = 2, .epsilon = 1, .settings = &own_copies};
    faro_env *hard = NULL;
    assert_ok(faro_env_create(&hard, faro_env_find("bits-hard"), &p, error));
    faro_env *fair = make_stream("bits-random", USERS, 0, 1);
    faro_env_begin(hard, 3, 1);
    faro_env_begin(fair, 3, 1);
    for (uint64_t t = 0; t < USERS; t++) {
      static double bit;
      const uint64_t place = t % (copies + 1);
      if (place < 2) bit = faro_env_value(fair);
      assert_true(faro_env_value(hard) == bit);
    }
    assert_close(faro_env_least_error(hard), 0.5 * pow(USERS, 0.2) * pow(1 / (exp(1) + exp(-1)), 0.8), 1e-12);
    assert_true(faro_env_least_error(fair) == 0);
    faro_env_destroy(hard);
    faro_env_destroy(fair);
  }
}

/* Ones in each tenth of the horizon, against the rate added up naively; the phase is that of the
 * most likely one on a grid. With `abrupt` the rate is quiet or busy. */
static void check_events(bool abrupt) {
  enum { USERS = 200000, PARTS = 10, PHASES = 1000 };
  const faro_env_settings mine = {.quiet = 0.02, .busy = 0.4, .cycles = 1.5, .abrupt = abrupt};
  const faro_env_params p = {.horizon = USERS, .settings = &mine};
  faro_env *env = NULL;
  assert_ok(faro_env_create(&env, faro_env_find("bits-events"), &p, error));
  faro_env_begin(env, 9, 2);
  double seen[PARTS] = {0};
  for (uint64_t t = 0; t < USERS; t++) seen[t * PARTS / USERS] += faro_env_value(env);
  double best = INFINITY;
  for (int phase = 0; phase < PHASES; phase++) {
    double square = 0;
    for (int part = 0; part < PARTS; part++) {
      double mean = 0;
      double variance = 0;
      for (int i = 0; i < 500; i++) {
        const double place = (part + (i + 0.5) / 500) / PARTS * 1.5 + (double)phase / PHASES;
        const double c = pow(sin(M_PI * place), 2);
        const double rate = abrupt ? (c < 0.5 ? 0.02 : 0.4) : 0.02 * pow(20, c);
        mean += rate * USERS / PARTS / 500;
        variance += rate * (1 - rate) * USERS / PARTS / 500;
      }
      square += pow(seen[part] - mean, 2) / variance;
    }
    best = fmin(best, square);
  }
  assert_true(chi_square_tail(best, PARTS) > FALSE_ALARM);
  faro_env_destroy(env);
}

/* The rate of every user, computed for each of them. */
static void test_events__follow_from_the_rate_of_every_user(void **state) {
  (void)state;
  enum { USERS = 3000 };
  for (int abrupt = 0; abrupt < 2; abrupt++)
    for (int cycles = 0; cycles < 200; cycles = 5 * cycles + 1) {
      const faro_env_settings mine = {.quiet = 0.02, .busy = 0.4, .cycles = cycles, .abrupt = abrupt};
      const faro_env_params p = {.horizon = USERS, .settings = &mine};
      faro_sim_rng instance;
      faro_sim_rng context;
      faro_env *env = NULL;
      assert_ok(faro_env_create(&env, faro_env_find("bits-events"), &p, error));
      faro_env_begin(env, 9, 2);
      faro_sim_open(&instance, 9, 2, FARO_ROLE_INSTANCE);
      faro_sim_open(&context, 9, 2, FARO_ROLE_CONTEXT);
      const double phase = faro_sim_uniform(&instance);
      for (int t = 0; t < USERS; t++) {
        const double c = (1 - cos(2 * M_PI * (cycles * t / (double)USERS + phase))) / 2;
        const double rate = abrupt ? (c < 0.5 ? 0.02 : 0.4) : pow(0.02, 1 - c) * pow(0.4, c);
        assert_true(faro_env_value(env) == (faro_sim_uniform(&context) < rate));
      }
      faro_env_destroy(env);
    }
}

/* Bits in pieces of any length are the numbers of one user after another. */
static void test_streams__in_pieces_are_those_of_single_users(void **state) {
  (void)state;
  enum { USERS = 3000 };
  static const char *const names[] = {"bits-random", "bits-hard", "bits-events"};
  for (int k = 0; k < 3; k++)
    for (uint64_t copies = 1; copies < 300; copies = 6 * copies + 1) {
      const faro_env_settings mine = {.copies = copies, .quiet = 0.02, .busy = 0.4, .cycles = 3};
      const faro_env_params p = {.horizon = USERS, .settings = &mine};
      faro_env *env[2] = {NULL, NULL};
      for (int i = 0; i < 2; i++) {
        assert_ok(faro_env_create(&env[i], faro_env_find(names[k]), &p, error));
        faro_env_begin(env[i], 9, 2);
      }
      for (uint64_t t = 0, piece = 1; t < USERS; t += piece, piece = (5 * piece + 3) % 200 + 1) {
        uint64_t bits[4];
        faro_env_bits(env[0], piece, bits);
        for (uint64_t i = 0; i < piece; i++)
          assert_true(faro_env_value(env[1]) == (double)(bits[i / 64] >> (i % 64) & 1));
      }
      faro_env_destroy(env[0]);
      faro_env_destroy(env[1]);
    }
}

static void test_events__come_at_the_rate_of_their_time(void **state) {
  (void)state;
  check_events(false);
  check_events(true);
}

/* In the registry, every test that walks it meets them. */
#ifdef FARO_TEST_WORLDS
static void register_worlds(void) {
  assert_ok(faro_world_register(&world_fresh, error));
  assert_ok(faro_world_register(&world_stays, error));
}
#else
static void register_worlds(void) {}
#endif

int main(void) {
  register_worlds();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arms__norms_means_and_gaps_are_within_bounds),
      cmocka_unit_test(test_arms__are_the_same_on_the_same_instance),
      cmocka_unit_test(test_rewards__are_paired_between_rivals),
      cmocka_unit_test(test_rewards__have_the_arm_s_mean),
      cmocka_unit_test(test_fixed__arms_keep_their_version_and_iid_ones_do_not),
      cmocka_unit_test(test_published__features_are_unscaled_with_axes_first),
      cmocka_unit_test(test_adversary__old_differences_tell_nothing_new),
      cmocka_unit_test(test_streams__are_the_same_on_the_same_instance),
      cmocka_unit_test(test_random__bits_are_fair_and_independent),
      cmocka_unit_test(test_hard__is_the_stream_of_the_lower_bound),
      cmocka_unit_test(test_hard__copies_as_often_as_it_is_told),
      cmocka_unit_test(test_events__come_at_the_rate_of_their_time),
      cmocka_unit_test(test_events__follow_from_the_rate_of_every_user),
      cmocka_unit_test(test_streams__in_pieces_are_those_of_single_users),
      cmocka_unit_test(test_draws__sphere_and_ball_are_uniform),
      cmocka_unit_test(test_rewards__of_pulls_are_those_of_plays),
      cmocka_unit_test(test_rewards__drawn_at_once_are_those_of_single_rounds),
      cmocka_unit_test(test_stays__is_said_of_arms_that_stay),
      cmocka_unit_test(test_population__clients_have_the_means_and_variances_they_should),
      cmocka_unit_test(test_axes__arms_are_unit_vectors_with_means_of_their_own),
      cmocka_unit_test(test_population__a_round_of_a_client_has_the_mean_of_the_arm),
      cmocka_unit_test(test_net__points_are_the_arms_and_the_best_mean_is_one),
      cmocka_unit_test(test_known__arms_are_mean_best_responses),
      cmocka_unit_test(test_check__refuses_nets_and_draws_that_do_not_fit),
      cmocka_unit_test(test_users__come_uniformly_and_change_nothing_else),
      cmocka_unit_test(test_create__refuses_absurd_sizes_and_survives_exhaustion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
