/* linearised moments, and rewards alone: their bounds by search, their sums against the gradient
 * and Hessian of the loss, and what an agent makes of them.
 *
 * Bugs that were planted and found: the slope of another point, a sensitivity of 1.9, a Gram matrix
 * without people. */
#include <math.h>
#include <string.h>

#include <faro/agent.h>

#include "agent/public.h"
#include "support/support.h"

enum { D = 3, PACKED = D * (D + 1) / 2, LENGTH = PACKED + D };

static const faro_link links[] = {FARO_LINK_LOGISTIC, FARO_LINK_PROBIT};

/* x of length 1 whose score at (reach, 0, 0) is `score`, turned by `turn` about the first axis. */
static void point(double reach, double score, double turn, double x[D]) {
  x[0] = score / reach;
  x[1] = sqrt(1 - x[0] * x[0]) * cos(turn);
  x[2] = sqrt(1 - x[0] * x[0]) * sin(turn);
}

static double distance(const double *a, const double *b) {
  double square = 0;
  for (int i = 0; i < LENGTH; i++) square += (a[i] - b[i]) * (a[i] - b[i]);
  return sqrt(square);
}

/* A far point, so that two people may have any two scores and nearly any angle. */
static void test_linearised__no_pair_is_farther_apart_than_the_sensitivity(void **state) {
  (void)state;
  const double reach = 100;
  const double at[D] = {reach, 0, 0};
  const double nothing[LENGTH] = {0};
  for (int l = 0; l < 2; l++) {
    faro_contribution c;
    assert_ok(faro_contribution_linearised(&c, D, 1, links[l], reach, error));
    c.at = at;
    double most = 0;
    double longest = 0;
    for (double s = -12; s <= 12; s += 0.5)
      for (double t = s; t <= 12; t += 0.5)
        for (double turn = 0; turn <= 3.2; turn += 0.1)
          for (int y = 0; y < 4; y++) {
            double x[D], z[LENGTH], v[LENGTH];
            point(reach, s, 0, x);
            faro_contribution_make(&c, x, y & 1, z);
            point(reach, t, turn, x);
            faro_contribution_make(&c, x, y >> 1, v);
            most = fmax(most, distance(z, v));
            longest = fmax(longest, distance(z, nothing));
          }
    assert_true(most <= c.sensitivity && most > 0.98 * c.sensitivity);
    for (double s = 0; s <= 3; s += 0.001) {
      double x[D], z[LENGTH];
      point(reach, s, 0, x);
      faro_contribution_make(&c, x, 0, z);
      longest = fmax(longest, distance(z, nothing));
    }
    assert_true(longest <= c.radius && longest > 0.9999 * c.radius);
  }
}

/* Whatever people send: entries, and a bad reward or feature. */
static void test_linearised__clips_first(void **state) {
  (void)state;
  const double at[D] = {1, -2, 0.5};
  const double wild[] = {0, 1, -1e9, 1e9, (double)NAN, (double)INFINITY};
  faro_contribution c;
  assert_ok(faro_contribution_linearised(&c, D, 2, FARO_LINK_LOGISTIC, 3, error));
  c.at = at;
  for (int i = 0; i < 6 * 6 * 6; i++) {
    const double x[D] = {wild[i % 6], wild[i / 6 % 6], 0.3};
    double z[LENGTH];
    faro_contribution_make(&c, x, wild[i / 36], z);
    double square = 0;
    for (int k = 0; k < LENGTH; k++) {
      assert_true(fabs(z[k]) <= c.entry * (1 + 1e-12));
      square += z[k] * z[k];
    }
    assert_true(sqrt(square) <= c.radius);
  }
}

/* The sums are the Hessian and minus the gradient of the loss at the point. */
static void test_linearised__sums_are_the_derivatives_of_the_loss(void **state) {
  (void)state;
  enum { ROWS = 50 };
  double x[ROWS * D], y[ROWS], gradient[D], hessian[PACKED];
  const double at[D] = {0.5, -1, 2};
  faro_sim_rng sim;
  faro_sim_open(&sim, 1, 0, FARO_ROLE_USER);
  for (int i = 0; i < ROWS * D; i++) x[i] = faro_sim_uniform(&sim) - 0.5;
  for (int i = 0; i < ROWS; i++) y[i] = faro_sim_uniform(&sim) < 0.4;
  const faro_rows rows = {.dimension = D, .count = ROWS, .x = x, .y = y};
  for (int l = 0; l < 2; l++) {
    faro_contribution c;
    double weight[LENGTH], sum[LENGTH] = {0}, z[LENGTH];
    assert_ok(faro_contribution_linearised(&c, D, 1, links[l], 3, error));
    c.at = at;
    faro_contribution_weights(&c, weight);
    for (int i = 0; i < ROWS; i++) {
      faro_contribution_make(&c, x + i * D, y[i], z);
      for (int k = 0; k < LENGTH; k++) sum[k] += z[k] / weight[k];
    }
    faro_glm_gradient(links[l], &rows, 0, at, gradient);
    faro_glm_hessian(links[l], &rows, 0, at, hessian);
    for (int k = 0; k < PACKED; k++) assert_close(sum[k], hessian[k], 1e-12);
    for (int k = 0; k < D; k++) assert_close(sum[PACKED + k], -gradient[k], 1e-12);
  }
}

static void test_linearised__refuses_other_links_and_calibrations(void **state) {
  (void)state;
  faro_contribution c;
  faro_error refusal = {0};
  assert_int_equal(faro_contribution_linearised(&c, D, 1, FARO_LINK_LINEAR, 1, &refusal), FARO_INVALID);
  assert_int_equal(faro_contribution_linearised(&c, D, 1, FARO_LINK_POISSON, 1, &refusal), FARO_INVALID);
  assert_int_equal(faro_contribution_linearised(&c, D, 1, FARO_LINK_PROBIT, 0, &refusal), FARO_INVALID);
  assert_ok(faro_contribution_linearised(&c, D, 1, FARO_LINK_PROBIT, 2, error));
  const faro_release_params p = {
      .epsilon = 1, .delta = 1e-6, .horizon = 100, .batch = 10, .calibration = FARO_CALIBRATION_PAPER};
  faro_release *r = NULL;
  refusal = (faro_error){0};
  assert_int_equal(faro_release_create(&r, &faro_release_central_tree, &c, &p, faro_source_none(), &refusal),
                   FARO_INVALID);
  assert_non_null(strstr(refusal.message, "must be tight"));
}

/* The point is scaled back to the bound, and moves between batches only. */
static void test_release__is_linearised_between_batches(void **state) {
  (void)state;
  faro_contribution c;
  faro_release *r = NULL;
  faro_sim_rng sim;
  faro_sim_open(&sim, 1, 0, FARO_ROLE_USER);
  const faro_release_params p = {
      .epsilon = 1, .delta = 1e-6, .horizon = 100, .batch = 2, .calibration = FARO_CALIBRATION_TIGHT};
  assert_ok(faro_contribution_linearised(&c, D, 1, FARO_LINK_LOGISTIC, 2, error));
  assert_ok(faro_release_create(&r, &faro_release_none, &c, &p, faro_source_simulated(&sim), error));
  const double x[D] = {1, 0, 0};
  const double far[D] = {3, 4, 0};
  const double other[D] = {0, 0, 1};
  assert_false(faro_release_absorb(r, x, 1));
  faro_release_linearise(r, far); /* in the middle of a batch: ignored */
  assert_true(faro_release_absorb(r, x, 1));
  assert_close(faro_release_statistics(r).sum[PACKED], 1, 1e-12); /* 2 (1 - 1/2) */
  faro_release_linearise(r, far);
  const double *at = faro_release_statistics(r).at;
  assert_close(at[0], 1.2, 1e-12);
  assert_close(at[1], 1.6, 1e-12);
  faro_release_linearise(r, other);
  assert_close(at[2], 1, 1e-12);
  faro_release_destroy(r);
}

/* Rewards alone: by search over a fixed x, with the middle of the rewards taken off. */
static void test_rewards__move_by_the_sensitivity(void **state) {
  (void)state;
  faro_contribution c;
  assert_ok(faro_contribution_rewards(&c, D, 2, -0.5, 1, error));
  double most = 0;
  for (double turn = 0; turn < 6.3; turn += 0.1)
    for (double y = -1; y <= 2; y += 0.25)
      for (double w = -1; w <= 2; w += 0.25) {
        const double x[D] = {2 * cos(turn), 2 * sin(turn), 0};
        double a[D], b[D];
        double square = 0;
        faro_contribution_make(&c, x, y, a);
        faro_contribution_make(&c, x, w, b);
        for (int i = 0; i < D; i++) square += (a[i] - b[i]) * (a[i] - b[i]);
        most = fmax(most, sqrt(square));
      }
  assert_true(most <= c.sensitivity && most > 0.999 * c.sensitivity);
  const double x[D] = {0, -2, 0};
  double z[D];
  faro_contribution_make(&c, x, 0.25, z);
  assert_close(z[1], 0, 1e-15);
  faro_contribution_make(&c, x, 0.625, z);
  assert_close(z[1], -0.5, 1e-12);
}

/* The scale of Laplace noise that learners see is in original units, like all scales. */
static void test_rewards__laplace_noise_is_in_original_units(void **state) {
  (void)state;
  faro_contribution c;
  faro_release *r = NULL;
  const faro_release_params p = {
      .epsilon = 1, .delta = 1e-6, .horizon = 100, .batch = 100, .calibration = FARO_CALIBRATION_TIGHT};
  assert_ok(faro_contribution_rewards(&c, D, 2, -10, 10, error));
  assert_ok(faro_release_create(&r, &faro_release_central_laplace, &c, &p, faro_source_none(), error));
  const faro_noise noise = faro_release_noise(r);
  assert_close(noise.scale[0] / (sqrt(2 * noise.summands) * noise.laplace), 1, 1e-9);
  faro_release_destroy(r);
}

/* Nobody trusted: each user adds +-h / gamma times x / L, h = 0.75, gamma = (e - 1) / (e + 1), with
 * the mean of x (y - 0.25), and nothing beside x. Features too long are scaled back. The share of
 * either sign is within five standard deviations: a false alarm once in a million. */
static void test_rewards__answers_are_signs_along_x(void **state) {
  (void)state;
  enum { USERS = 200000 };
  const double x[D] = {2, 0, -1.5}; /* length 2.5, scaled back to 2 */
  const double gamma = expm1(1) / (exp(1) + 1);
  faro_contribution c;
  faro_release *r = NULL;
  faro_sim_rng sim;
  const faro_release_params p = {
      .epsilon = 1, .delta = 1e-6, .horizon = USERS, .batch = 1, .calibration = FARO_CALIBRATION_TIGHT};
  faro_sim_open(&sim, 5, 0, FARO_ROLE_USER);
  assert_ok(faro_contribution_rewards(&c, D, 2, -0.5, 1, error));
  assert_ok(faro_release_create(&r, &faro_release_local, &c, &p, faro_source_simulated(&sim), error));
  assert_true(faro_release_claim(r)->proven && faro_release_claim(r)->delta == 0);
  const faro_noise noise = faro_release_noise(r);
  assert_null(noise.scale);
  assert_close(noise.answer, 0.75 / gamma, 1e-9);
  double last[D] = {0};
  double positive = 0;
  for (int i = 0; i < USERS; i++) {
    assert_true(faro_release_absorb(r, x, 0.4375));
    const double *sum = faro_release_statistics(r).sum;
    const double answer = (sum[0] - last[0]) / 1.6;
    assert_close(fabs(answer), 0.75 / gamma, 1e-6);
    assert_close(sum[1], 0, 1e-9);
    assert_close(sum[2] - last[2], -1.2 * answer, 1e-6);
    positive += answer > 0;
    memcpy(last, sum, sizeof last);
  }
  const double share = (1 + 0.25 * gamma) / 2;
  assert_true(fabs(positive - share * USERS) < 5 * sqrt(share * (1 - share) * USERS));
  faro_release_destroy(r);
}

/* The analyzer of such messages would need x beside them. */
static void test_rewards__answers_are_not_sent(void **state) {
  (void)state;
  const double x[D] = {1, 0, 0};
  uint64_t message = 1;
  faro_contribution c;
  faro_release *r = NULL;
  faro_sim_rng sim;
  faro_error refusal = {0};
  const faro_release_params p = {
      .epsilon = 1, .delta = 1e-6, .horizon = 10, .batch = 1, .calibration = FARO_CALIBRATION_TIGHT};
  faro_sim_open(&sim, 5, 0, FARO_ROLE_USER);
  assert_ok(faro_contribution_rewards(&c, D, 1, -1, 1, error));
  assert_ok(
      faro_release_create(&r, &faro_release_local_response, &c, &p, faro_source_simulated(&sim), error));
  assert_int_equal(faro_release_randomize(r, x, 1, &message, &refusal), FARO_INVALID);
  assert_non_null(strstr(refusal.message, "no messages"));
  refusal = (faro_error){0};
  faro_release_blank(r, &message);
  assert_int_equal(message, 0);
  assert_int_equal(faro_release_analyze(r, &message, 1, &refusal), FARO_INVALID);
  assert_non_null(strstr(refusal.message, "no messages"));
  assert_int_equal(faro_release_statistics(r).users, 0);
  faro_release_destroy(r);
}

static faro_agent *make_agent(const char *release, bool public_arms, double centre) {
  const faro_agent_params p = {.learner = "posterior",
                               .release = release,
                               .dimension = D,
                               .horizon = 3000,
                               .batch = 50,
                               .growth = 1.5,
                               .epsilon = 1,
                               .delta = 1e-6,
                               .centre = centre,
                               .public_arms = public_arms,
                               .seed = 1};
  faro_agent *agent = NULL;
  assert_ok(faro_agent_create(&agent, &p, error));
  return agent;
}

static void teach(faro_agent *agent, uint64_t seed) {
  faro_sim_rng sim;
  faro_sim_open(&sim, seed, 0, FARO_ROLE_CONTEXT);
  for (int i = 0; i < 2000; i++) {
    double x[D];
    for (int k = 0; k < D; k++) x[k] = 1.4 * faro_sim_uniform(&sim) - 0.7; /* some are longer than 1 */
    assert_ok(faro_agent_learn(agent, x, faro_sim_uniform(&sim) < 0.5 + 0.4 * x[0], error));
  }
}

/* Without noise it makes no difference how the Gram matrix came about, nor whether rewards are
 * centred: the release takes off what is left of their middle, and it is put back. */
static void test_public_arms__without_noise_change_nothing(void **state) {
  (void)state;
  for (double centre = 0; centre <= 0.5; centre += 0.25) {
    faro_agent *whole = make_agent("none", false, centre);
    faro_agent *open = make_agent("none", true, centre);
    teach(whole, 7);
    teach(open, 7);
    const faro_policy *a = faro_agent_policy(whole);
    const faro_policy *b = faro_agent_policy(open);
    assert_int_equal(a->version, b->version);
    assert_true(a->version > 5);
    for (int i = 0; i < D; i++) assert_close(a->theta[i], b->theta[i], 1e-9);
    for (int i = 0; i < PACKED; i++) assert_close(a->w[i], b->w[i], 1e-9);
    faro_agent_destroy(whole);
    faro_agent_destroy(open);
  }
}

/* All sums, and those of a batch alone, of three people after two; the first is too long. */
static void test_public_arms__put_the_middle_back(void **state) {
  (void)state;
  const double x[3][D] = {{0, 4, 0}, {1, 0, -1}, {0.5, 0.5, 0}};
  const double y[3] = {0.5, 1, 0.75};
  faro_contribution c;
  faro_arena arena = {0};
  faro_public arms = {0};
  faro_statistics s = {0};
  double sum[D] = {0}, block[D], truth[D] = {0}, newest[D];
  assert_ok(faro_contribution_rewards(&c, D, 2, 0.5, 1, error));
  assert_ok(faro_public_init(&arms, &c, &arena, error));
  for (int batch = 0; batch < 2; batch++) {
    memset(block, 0, sizeof block);
    memset(newest, 0, sizeof newest);
    for (int i = batch; i < 2 + batch; i++) {
      double z[D];
      faro_public_add(&arms, x[i], 1);
      faro_contribution_make(&c, x[i], y[i], z);
      for (int k = 0; k < D; k++) block[k] += z[k] / c.vector;
      for (int k = 0; k < D; k++) newest[k] += y[i] * (i == 0 ? 0.5 : 1) * x[i][k];
    }
    for (int k = 0; k < D; k++) sum[k] += block[k];
    for (int k = 0; k < D; k++) truth[k] += newest[k];
    s = faro_public_extend(&arms, &(faro_statistics){.sum = sum, .block = block});
    for (int k = 0; k < D; k++) {
      assert_close(s.sum[PACKED + k], truth[k], 1e-12);
      assert_close(s.block[PACKED + k], newest[k], 1e-12);
    }
  }
  faro_arena_free(&arena);
}

/* The claim says what it does not cover, and there is less noise. */
static void test_public_arms__claim_rewards_only(void **state) {
  (void)state;
  static const char *const names[] = {"central", "central-factored", "shuffle-bits", "local"};
  for (int k = 0; k < 4; k++) {
    faro_agent *whole = make_agent(names[k], false, 0.5);
    faro_agent *open = make_agent(names[k], true, 0.5);
    assert_int_equal(faro_agent_claim(open)->protects, FARO_PROTECTS_REWARDS);
    assert_int_equal(faro_agent_claim(whole)->protects, FARO_PROTECTS_ALL);
    assert_true(faro_agent_claim(open)->proven && faro_agent_claim(open)->epsilon == 1);
    teach(whole, 8);
    teach(open, 8);
    assert_true(faro_release_scale(faro_agent_release(open), 0) <
                faro_release_scale(faro_agent_release(whole), PACKED));
    faro_agent_destroy(whole);
    faro_agent_destroy(open);
  }
}

/* Those beyond the end of a batch are in neither the sum nor the Gram matrix. */
static void test_public_arms__count_whom_the_release_counts(void **state) {
  (void)state;
  const double x[D] = {1, 0, 0};
  faro_agent *exact = make_agent("none", true, 0.5);
  faro_agent *more = make_agent("none", true, 0.5);
  const uint64_t missing = faro_release_missing(faro_agent_release(exact));
  assert_ok(faro_agent_learn_alike(exact, x, 1, missing, error));
  assert_ok(faro_agent_learn_alike(more, x, 1, 7 * missing, error));
  assert_int_equal(faro_agent_statistics(more).users, missing);
  for (int i = 0; i < D; i++)
    assert_close(faro_agent_policy(more)->theta[i], faro_agent_policy(exact)->theta[i], 1e-12);
  for (int i = 0; i < PACKED; i++)
    assert_close(faro_agent_policy(more)->w[i], faro_agent_policy(exact)->w[i], 1e-12);
  faro_agent_destroy(exact);
  faro_agent_destroy(more);
}

static void test_public_arms__are_for_simulation_and_linear_rewards(void **state) {
  (void)state;
  faro_agent_params p = {.learner = "posterior",
                         .release = "shuffle-bits",
                         .dimension = D,
                         .horizon = 3000,
                         .epsilon = 1,
                         .delta = 1e-6,
                         .public_arms = true};
  faro_agent *agent = NULL;
  faro_error error = {0};
  p.use = FARO_USE_ALL_PARTIES;
  assert_int_equal(faro_agent_create(&agent, &p, &error), FARO_INVALID);
  p.use = FARO_USE_NONE;
  p.link = FARO_LINK_LOGISTIC;
  p.bound = 1;
  assert_int_equal(faro_agent_create(&agent, &p, &error), FARO_INVALID);
  p.public_arms = false;
  p.learner = "linucb";
  error = (faro_error){0};
  assert_int_equal(faro_agent_create(&agent, &p, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, "needs linear rewards"));
}

/* Solves A theta = b, A packed, by elimination. */
static void solve(const double *A, const double *b, double theta[D]) {
  double m[D][D + 1];
  for (int i = 0; i < D; i++) {
    for (int j = 0; j < D; j++) m[i][j] = i >= j ? A[i * (i + 1) / 2 + j] : A[j * (j + 1) / 2 + i];
    m[i][D] = b[i];
  }
  for (int k = 0; k < D; k++)
    for (int i = 0; i < D; i++) {
      if (i == k) continue;
      const double f = m[i][k] / m[k][k];
      for (int j = k; j <= D; j++) m[i][j] -= f * m[k][j];
    }
  for (int i = 0; i < D; i++) theta[i] = m[i][D] / m[i][i];
}

/* Without noise: theta = (P + sum A_k)^-1 sum (b_k + A_k theta_k), each batch at the policy before
 * it, pulled back into the ball. */
static void test_agent__follows_its_own_policy(void **state) {
  (void)state;
  enum { BATCH = 40, BATCHES = 12 };
  const double bound = 1.5;
  const faro_agent_params p = {.learner = "posterior",
                               .release = "none",
                               .dimension = D,
                               .horizon = BATCH * BATCHES,
                               .batch = BATCH,
                               .link = FARO_LINK_LOGISTIC,
                               .bound = bound,
                               .epsilon = 1,
                               .delta = 1e-6};
  faro_agent *agent = NULL;
  assert_ok(faro_agent_create(&agent, &p, error));
  faro_sim_rng sim;
  faro_sim_open(&sim, 3, 0, FARO_ROLE_CONTEXT);
  double A[PACKED] = {0}, u[D] = {0}, at[D] = {0};
  for (int i = 0; i < D; i++) A[i * (i + 3) / 2] = D / (bound * bound);
  for (int t = 0; t < BATCH * BATCHES; t++) {
    double x[D];
    double score = 0;
    for (int i = 0; i < D; i++) {
      x[i] = faro_sim_uniform(&sim) - 0.5;
      score += x[i] * at[i];
    }
    const double y = faro_sim_uniform(&sim) < 1 / (1 + exp(-8 * x[1]));
    const double mean = 1 / (1 + exp(-score));
    const double w = mean * (1 - mean);
    for (int i = 0; i < D; i++) {
      u[i] += x[i] * (y - mean) + w * x[i] * score; /* A at, one person */
      for (int j = 0; j <= i; j++) A[i * (i + 1) / 2 + j] += w * x[i] * x[j];
    }
    assert_ok(faro_agent_learn(agent, x, y, error));
    if ((t + 1) % BATCH > 0) continue;
    double theta[D];
    solve(A, u, theta);
    double square = 0;
    for (int i = 0; i < D; i++) {
      assert_close(faro_agent_policy(agent)->theta[i], theta[i], 1e-9);
      square += theta[i] * theta[i];
    }
    for (int i = 0; i < D; i++) at[i] = theta[i] * fmin(1, bound / sqrt(square));
  }
  double square = 0;
  for (int i = 0; i < D; i++) square += pow(faro_agent_policy(agent)->theta[i], 2);
  assert_true(square > bound * bound); /* so that pulling back was tested */
  faro_agent_destroy(agent);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linearised__no_pair_is_farther_apart_than_the_sensitivity),
      cmocka_unit_test(test_linearised__clips_first),
      cmocka_unit_test(test_linearised__sums_are_the_derivatives_of_the_loss),
      cmocka_unit_test(test_linearised__refuses_other_links_and_calibrations),
      cmocka_unit_test(test_release__is_linearised_between_batches),
      cmocka_unit_test(test_rewards__move_by_the_sensitivity),
      cmocka_unit_test(test_rewards__laplace_noise_is_in_original_units),
      cmocka_unit_test(test_rewards__answers_are_signs_along_x),
      cmocka_unit_test(test_rewards__answers_are_not_sent),
      cmocka_unit_test(test_public_arms__without_noise_change_nothing),
      cmocka_unit_test(test_public_arms__put_the_middle_back),
      cmocka_unit_test(test_public_arms__claim_rewards_only),
      cmocka_unit_test(test_public_arms__count_whom_the_release_counts),
      cmocka_unit_test(test_public_arms__are_for_simulation_and_linear_rewards),
      cmocka_unit_test(test_agent__follows_its_own_policy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
