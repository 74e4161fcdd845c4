/* agent, selector, lints: a learner behind a release, choosing and learning, against naive second
 * implementations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { D = 4, ARMS = 37 };

static faro_agent_params usual(const char *learner, const char *release) {
  return (faro_agent_params){.learner = learner,
                             .release = release,
                             .dimension = D,
                             .arms = ARMS,
                             .horizon = 600,
                             .epsilon = 1,
                             .delta = 1e-6,
                             .batch = 20,
                             .seed = 3};
}

static faro_agent *make(const faro_agent_params *params) {
  faro_agent *agent = NULL;
  assert_ok(faro_agent_create(&agent, params, error));
  return agent;
}

static void draw_rows(faro_sim_rng *sim, double *rows, size_t count) {
  for (size_t a = 0; a < count; a++) {
    double square = 0;
    for (size_t i = 0; i < D; i++) {
      rows[a * D + i] = faro_sim_normal(sim);
      square += rows[a * D + i] * rows[a * D + i];
    }
    for (size_t i = 0; i < D; i++) rows[a * D + i] /= sqrt(square);
  }
}

/* The index of an arm by its definition (policy.h). */
static double naive_index(const faro_policy *p, const double *x, const double *xi) {
  double mean = 0;
  double square = 0;
  double along = 0;
  for (size_t i = 0; i < D; i++) {
    double row = 0;
    for (size_t j = 0; j <= i; j++) row += p->w[i * (i + 1) / 2 + j] * x[j];
    square += row * row;
    along += xi ? xi[i] * row : 0;
    mean += p->theta[i] * x[i];
  }
  if (p->rule == FARO_RULE_WIDTH) return mean + p->beta * sqrt(square);
  return mean + (p->rule == FARO_RULE_SAMPLE ? p->beta * along : fmax(0, p->beta * along));
}

static size_t naive_best(const faro_policy *p, const double *rows, size_t count, const double *xi) {
  size_t best = 0;
  for (size_t a = 1; a < count; a++)
    if (naive_index(p, rows + a * D, xi) > naive_index(p, rows + best * D, xi)) best = a;
  return best;
}

/* Rows and columns, aligned or not, with fewer and many more arms than there is room for, give the
 * same answer. */
static void test_selector__every_rule_equals_its_definition(void **state) {
  (void)state;
  enum { MOST = 200 };
  static double rows[MOST * D + 1];
  faro_sim_rng sim;
  faro_sim_open(&sim, 7, 0, FARO_ROLE_CONTEXT);
  double theta[D];
  double w[D * (D + 1) / 2];
  faro_selector *selector = NULL;
  assert_ok(faro_selector_create(&selector, D, ARMS, error));
  for (int round = 0; round < 300; round++) {
    const size_t count = 1 + (size_t)(faro_sim_uniform(&sim) * (round % 3 == 0 ? MOST : ARMS));
    double *shifted = rows + round % 2;
    draw_rows(&sim, shifted, count);
    for (size_t i = 0; i < D; i++) theta[i] = faro_sim_normal(&sim) / 3;
    for (size_t i = 0; i < sizeof w / sizeof *w; i++) w[i] = faro_sim_normal(&sim);
    faro_policy p = {.rule = (faro_rule)(round % 3),
                     .dimension = D,
                     .theta = theta,
                     .w = w,
                     .beta = 0.5,
                     .version = (uint64_t)round + 1};
    faro_sim_rng luck;
    faro_sim_open(&luck, 8, (uint64_t)round, FARO_ROLE_LUCK);
    faro_sim_rng twin = luck;
    double xi[D];
    for (size_t i = 0; i < D; i++) xi[i] = faro_draw_normal(&twin.rng);
    const size_t best = naive_best(&p, shifted, count, xi);
    faro_sim_rng again = luck;
    assert_int_equal(faro_select_rows(selector, &p, shifted, count, &luck.rng), best);
    const size_t stride = faro_arm_stride(count);
    double *columns = aligned_alloc(64, (D * stride + 8) * sizeof *columns);
    assert_non_null(columns);
    double *x = columns + (round % 4 == 0); /* any alignment */
    memset(columns, 0, (D * stride + 8) * sizeof *columns);
    for (size_t a = 0; a < count; a++)
      for (size_t i = 0; i < D; i++) x[i * stride + a] = shifted[a * D + i];
    const faro_arms arms = {.dimension = D, .count = count, .stride = stride, .x = x, .version = 1};
    assert_int_equal(faro_select(selector, &p, &arms, &again.rng), best);
    assert_int_equal(faro_select(selector, &p, &arms, NULL),
                     naive_best(&p, shifted, count, (double[D]){0})); /* nothing is drawn */
    free(columns);
  }
  faro_selector_destroy(selector);
  faro_selector_destroy(NULL);
}

static void test_selector__explores_as_often_as_the_policy_says(void **state) {
  (void)state;
  enum { N = 20000, COUNT = 5 };
  double rows[COUNT * D] = {0};
  double theta[D] = {1};
  const double w[D * (D + 1) / 2] = {0};
  for (size_t a = 0; a < COUNT; a++) rows[a * D] = (double)a;
  const faro_policy p = {.dimension = D, .theta = theta, .w = (double *)w, .explore = 0.3, .version = 1};
  faro_selector *selector = NULL;
  assert_ok(faro_selector_create(&selector, D, COUNT, error));
  faro_sim_rng luck;
  faro_sim_open(&luck, 9, 0, FARO_ROLE_LUCK);
  double seen[COUNT] = {0};
  double expected[COUNT];
  for (size_t a = 0; a < COUNT; a++) expected[a] = N * (0.3 / COUNT + (a == COUNT - 1 ? 0.7 : 0));
  for (size_t i = 0; i < N; i++) seen[faro_select_rows(selector, &p, rows, COUNT, &luck.rng)]++;
  assert_chi_square(seen, expected, COUNT);
  faro_selector_destroy(selector);
}

/* The agent by hand: the same release and learner, fed with the same data. */
static void test_agent__is_its_learner_behind_its_release(void **state) {
  (void)state;
  const char *const releases[] = {"none", "central-tree", "shuffle-bits", "local"};
  for (size_t k = 0; k < sizeof releases / sizeof *releases; k++) {
    faro_agent_params params = usual("linucb", releases[k]);
    params.centre = 0.5;
    faro_agent *agent = make(&params);
    faro_contribution contribution;
    assert_ok(faro_contribution_init(&contribution, D, 1, -0.5, 0.5, error));
    const faro_release_params release_params = {
        .epsilon = 1, .delta = 1e-6, .horizon = 600, .batch = 20, .calibration = FARO_CALIBRATION_TIGHT};
    faro_sim_rng noise;
    faro_sim_open(&noise, 3, 0, FARO_ROLE_USER);
    faro_release *release = NULL;
    assert_ok(faro_release_create(&release, faro_release_kind_find(releases[k]), &contribution,
                                  &release_params, faro_source_simulated(&noise), error));
    const faro_updater_params learner = {.dimension = D,
                                         .horizon = 600,
                                         .releases = 30,
                                         .norm = 1,
                                         .failure = 0.1,
                                         .reward = 0.5,
                                         .calibration = FARO_CALIBRATION_TIGHT,
                                         .noise = faro_release_noise(release)};
    faro_updater *updater = NULL;
    assert_ok(faro_updater_create(&updater, faro_learner_find("linucb"), &learner, error));
    faro_sim_rng sim;
    faro_sim_open(&sim, 4, 0, FARO_ROLE_CONTEXT);
    double rows[ARMS * D];
    for (uint64_t t = 0; t < 620; t++) {
      draw_rows(&sim, rows, ARMS);
      const size_t arm = faro_agent_choose(agent, rows, ARMS);
      const faro_policy *policy = faro_updater_policy(updater); /* at first all arms look equal */
      assert_true(naive_index(policy, rows + arm * D, NULL) >=
                  naive_index(policy, rows + naive_best(policy, rows, ARMS, NULL) * D, NULL) - 1e-9);
      const double reward = faro_sim_uniform(&sim);
      assert_ok(faro_agent_learn(agent, rows + arm * D, reward, error));
      if (faro_release_absorb(release, rows + arm * D, reward - 0.5)) {
        const faro_statistics statistics = faro_release_statistics(release);
        faro_updater_update(updater, &statistics);
      }
      assert_int_equal(faro_agent_policy(agent)->version, policy->version);
      assert_memory_equal(faro_agent_policy(agent)->theta, policy->theta, D * sizeof(double));
    }
    assert_int_equal(faro_agent_batches(agent), 30);
    assert_true(faro_agent_done(agent));
    assert_true(faro_agent_claim(agent)->proven == faro_release_claim(release)->proven);
    faro_updater_destroy(updater);
    faro_release_destroy(release);
    faro_agent_destroy(agent);
  }
  faro_agent_destroy(NULL);
}

static void play(faro_agent *agent, uint64_t seed, size_t rounds, size_t *arms) {
  faro_sim_rng sim;
  faro_sim_open(&sim, seed, 0, FARO_ROLE_CONTEXT);
  double rows[ARMS * D];
  for (size_t t = 0; t < rounds; t++) {
    draw_rows(&sim, rows, ARMS);
    arms[t] = faro_agent_choose(agent, rows, ARMS);
    assert_ok(faro_agent_learn(agent, rows + arms[t] * D, rows[arms[t] * D] / 2 + 0.5, error));
  }
}

static void test_agent__same_seed_same_choices_for_every_learner(void **state) {
  (void)state;
  for (size_t i = 0; i < faro_learner_count(); i++) {
    const faro_learner_kind *kind = faro_learner_at(i);
    if (kind->protocol != FARO_PROTOCOL_UPDATER) continue;
    size_t arms[3][600];
    for (int turn = 0; turn < 3; turn++) {
      faro_agent_params params = usual(kind->name, "shuffle-bits");
      params.seed = turn < 2 ? 3 : 4;
      faro_agent *agent = make(&params);
      alloc_reset();
      play(agent, 5, 600, arms[turn]);
      assert_int_equal(alloc_count(), 0);
      faro_agent_destroy(agent);
    }
    assert_memory_equal(arms[0], arms[1], sizeof arms[0]);
    assert_memory_not_equal(arms[0], arms[2], sizeof arms[0]);
  }
}

/* An agent saved between two batches and loaded into a new one continues with the policy that it
 * had. */
static void test_agent__continues_from_a_saved_state(void **state) {
  (void)state;
  const faro_agent_params params = usual("linucb", "shuffle-bits");
  faro_agent *agent = make(&params);
  size_t arms[600];
  play(agent, 5, 200, arms);
  const size_t size = faro_agent_state_size(agent);
  assert_true(size > 0);
  unsigned char *bytes = malloc(size);
  assert_non_null(bytes);
  assert_ok(faro_agent_save(agent, bytes, error));
  faro_agent *other = make(&params);
  assert_ok(faro_agent_load(other, bytes, size, error));
  assert_int_equal(faro_agent_batches(other), 10);
  assert_memory_equal(faro_agent_policy(other)->theta, faro_agent_policy(agent)->theta, D * sizeof(double));
  assert_true(faro_agent_policy(other)->beta == faro_agent_policy(agent)->beta);
  faro_error error = {0};
  assert_int_equal(faro_agent_load(other, bytes, size, &error), FARO_INVALID); /* it has already learned */
  free(bytes);
  faro_agent_destroy(agent);
  faro_agent_destroy(other);
}

static void test_agent__without_a_horizon_learns_on(void **state) {
  (void)state;
  faro_agent_params params = usual("linucb", "central-tree");
  params.horizon = 0;
  faro_agent *agent = make(&params);
  size_t *arms = malloc(6000 * sizeof *arms);
  assert_non_null(arms);
  play(agent, 5, 6000, arms);
  assert_true(faro_agent_batches(agent) > 250); /* the first epoch has 51 */
  assert_false(faro_agent_done(agent));
  assert_int_equal(faro_agent_statistics(agent).users % 20, 0);
  assert_true(faro_agent_statistics(agent).users > 5000);
  assert_true(faro_agent_claim(agent)->proven);
  free(arms);
  faro_agent_destroy(agent);
}

static void test_agent__deployed_is_exact_or_refused(void **state) {
  (void)state;
  faro_agent_params params = usual("linucb", "shuffle-bits");
  params.use = FARO_USE_SERVER;
  faro_agent *agent = make(&params);
  faro_agent_destroy(agent);
  params.release = "shuffle-laplace";
  faro_error error = {0};
  agent = NULL;
  assert_int_equal(faro_agent_create(&agent, &params, &error), FARO_INVALID);
  assert_null(agent);
  assert_non_null(strstr(error.message, "floating-point"));
}

/* Noise that is drawn once for many is for simulation; nothing is dropped without a word. */
static void test_agent__deployed_takes_people_one_by_one(void **state) {
  (void)state;
  const double x[D] = {0.5};
  faro_agent_params params = usual("linucb", "local");
  params.use = FARO_USE_ALL_PARTIES;
  faro_agent *agent = make(&params);
  faro_error refusal = {0};
  const uint64_t missing = faro_release_missing(faro_agent_release(agent));
  assert_int_equal(faro_agent_learn_alike(agent, x, 1, 2, &refusal), FARO_INVALID);
  assert_non_null(strstr(refusal.message, "people must be 0 or 1 in a deployment (got 2)"));
  assert_int_equal(faro_release_missing(faro_agent_release(agent)), missing);
  for (uint64_t i = 0; i < missing; i++) assert_ok(faro_agent_learn_alike(agent, x, 1, 1, error));
  assert_int_equal(faro_agent_batches(agent), 1);
  faro_agent_destroy(agent);
}

static void test_agent__refuses_what_it_does_not_know(void **state) {
  (void)state;
  const struct {
    const char *learner, *release, *calibration, *word;
  } bad[] = {{NULL, "none", NULL, "learner"},           {"nobody", "none", NULL, "learner"},
             {"pe", "none", NULL, "learner"},           {"linucb", NULL, NULL, "release"},
             {"linucb", "nowhere", NULL, "release"},    {"linucb", "none", "loose", "calibration"},
             {"lints", "none", "figure", "calibration"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    faro_agent_params params = usual(bad[i].learner, bad[i].release);
    params.calibration = bad[i].calibration;
    faro_agent *agent = NULL;
    faro_error error = {0};
    assert_int_equal(faro_agent_create(&agent, &params, &error), FARO_INVALID);
    assert_non_null(strstr(error.message, bad[i].word));
    assert_null(agent);
  }
}

static void test_agent__survives_exhaustion(void **state) {
  (void)state;
  const faro_agent_params params = usual("lints", "concurrent-bits");
  faro_status status = FARO_MEMORY;
  faro_agent *agent = NULL;
  for (size_t n = 1; status == FARO_MEMORY && n < 300; n++) {
    faro_error error = {0};
    alloc_fail_at(n);
    status = faro_agent_create(&agent, &params, &error);
    alloc_fail_at(0);
  }
  assert_int_equal(status, FARO_OK);
  faro_agent_destroy(agent);
}

/* lints by its formulas: theta = V^-1 u, and w' w = R^2 V^-1 + s^2 V^-2 (naive inverses). */
static void invert(double m[D][D], double inverse[D][D]) {
  double work[D][D];
  memcpy(work, m, sizeof work);
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j < D; j++) inverse[i][j] = i == j;
  for (size_t c = 0; c < D; c++) {
    const double pivot = work[c][c];
    for (size_t j = 0; j < D; j++) {
      work[c][j] /= pivot;
      inverse[c][j] /= pivot;
    }
    for (size_t r = 0; r < D; r++) {
      const double factor = r == c ? 0 : work[r][c];
      for (size_t j = 0; j < D; j++) {
        work[r][j] -= factor * work[c][j];
        inverse[r][j] -= factor * inverse[c][j];
      }
    }
  }
}

static void test_lints__samples_from_the_covariance_of_rewards_and_noise(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 12, 0, FARO_ROLE_CONTEXT);
  double scale[D * (D + 3) / 2];
  for (size_t i = 0; i < sizeof scale / sizeof *scale; i++) scale[i] = i < D * (D + 1) / 2 ? 3 : 2;
  for (int noisy = 0; noisy < 2; noisy++) {
    const faro_updater_params params = {.dimension = D,
                                        .horizon = 100,
                                        .releases = 10,
                                        .norm = 1,
                                        .failure = 0.1,
                                        .reward = 0.5,
                                        .calibration = FARO_CALIBRATION_TIGHT,
                                        .noise = {.scale = noisy ? scale : NULL, .gaussian = true}};
    faro_updater *updater = NULL;
    assert_ok(faro_updater_create(&updater, faro_learner_find("lints"), &params, error));
    double sum[D * (D + 3) / 2] = {0};
    for (int t = 0; t < 60; t++) {
      double x[D];
      draw_rows(&sim, x, 1);
      double *z = sum;
      for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j <= i; j++) *z++ += x[i] * x[j];
      for (size_t i = 0; i < D; i++) *z++ += x[i] * faro_sim_uniform(&sim);
    }
    const faro_statistics statistics = {.sum = sum, .users = 60, .releases = 1, .noise = params.noise};
    faro_updater_update(updater, &statistics);
    const faro_policy *p = faro_updater_policy(updater);
    assert_int_equal(p->rule, FARO_RULE_SAMPLE);
    const double lambda = noisy ? 3 * sqrt(2 * (double)D) : 0.25;
    const double s2 = noisy ? 4 + 9 : 0;
    double V[D][D];
    double inverse[D][D];
    for (size_t i = 0; i < D; i++)
      for (size_t j = 0; j < D; j++)
        V[i][j] = sum[i >= j ? faro_packed(i) + j : faro_packed(j) + i] + (i == j ? lambda : 0);
    invert(V, inverse);
    for (size_t i = 0; i < D; i++) {
      double theta = 0;
      for (size_t j = 0; j < D; j++) theta += inverse[i][j] * sum[D * (D + 1) / 2 + j];
      assert_close(p->theta[i], theta, 1e-9);
      for (size_t j = 0; j < D; j++) {
        double square = 0;
        double ours = 0;
        for (size_t k = 0; k < D; k++) square += inverse[i][k] * inverse[k][j];
        for (size_t k = i > j ? i : j; k < D; k++)
          ours += p->w[faro_packed(k) + i] * p->w[faro_packed(k) + j];
        assert_close(ours, 0.25 * inverse[i][j] + s2 * square, 1e-9);
      }
    }
    faro_updater_destroy(updater);
  }
}

/* Fewer arms than dimensions, and features as long as a contribution may be: rounding makes the
 * least eigenvalue of their Gram matrix as large as it likes. */
static void test_agent__survives_features_of_any_length(void **state) {
  (void)state;
  enum { USERS = 600, FEW = 3 };
  static const double norms[] = {1e9, 3e8, 1e8, 1, 1e-9};
  for (size_t l = 0; l < faro_learner_count(); l++) {
    if (faro_learner_at(l)->protocol != FARO_PROTOCOL_UPDATER || faro_learner_at(l)->blind) continue;
    for (size_t n = 0; n < sizeof norms / sizeof *norms; n++) {
      faro_agent_params params = usual(faro_learner_at(l)->name, "none");
      params.norm = norms[n];
      params.batch = 1;
      faro_sim_rng sim;
      faro_sim_open(&sim, 5, n, FARO_ROLE_CONTEXT);
      double rows[FEW * D];
      for (size_t i = 0; i < FEW * D; i++) rows[i] = (faro_sim_uniform(&sim) - 0.5) * norms[n];
      faro_agent *agent = make(&params);
      for (int u = 0; u < USERS; u++) {
        const size_t arm = faro_agent_choose(agent, rows, FEW);
        assert_true(arm < FEW);
        assert_ok(faro_agent_learn(agent, rows + arm * D, faro_sim_uniform(&sim) < 0.5, error));
      }
      for (size_t i = 0; i < D; i++) assert_true(isfinite(faro_agent_policy(agent)->theta[i]));
      faro_agent_destroy(agent);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_selector__every_rule_equals_its_definition),
      cmocka_unit_test(test_selector__explores_as_often_as_the_policy_says),
      cmocka_unit_test(test_agent__is_its_learner_behind_its_release),
      cmocka_unit_test(test_agent__same_seed_same_choices_for_every_learner),
      cmocka_unit_test(test_agent__continues_from_a_saved_state),
      cmocka_unit_test(test_agent__without_a_horizon_learns_on),
      cmocka_unit_test(test_agent__deployed_is_exact_or_refused),
      cmocka_unit_test(test_agent__deployed_takes_people_one_by_one),
      cmocka_unit_test(test_agent__refuses_what_it_does_not_know),
      cmocka_unit_test(test_agent__survives_exhaustion),
      cmocka_unit_test(test_agent__survives_features_of_any_length),
      cmocka_unit_test(test_lints__samples_from_the_covariance_of_rewards_and_noise),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
