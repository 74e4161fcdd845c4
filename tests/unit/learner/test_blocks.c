/* blocks: a learner of features in blocks is as many learners, each on its own part of the
 * sums. */
#include <math.h>
#include <string.h>

#include "choice/choice.h"
#include "support/support.h"

enum { BLOCKS = 3, P = 4, D = BLOCKS * P, PART = P * (P + 1) / 2 + P, LENGTH = BLOCKS * PART };

static const double R = 0.5;

static faro_updater_params params_of(const faro_noise *noise) {
  return (faro_updater_params){.dimension = D,
                               .blocks = BLOCKS,
                               .horizon = 1000,
                               .ends = true,
                               .releases = 4,
                               .norm = 1,
                               .failure = 0.1,
                               .reward = R,
                               .calibration = FARO_CALIBRATION_TIGHT,
                               .noise = *noise};
}

/* Sums of random people, of whom each uses one block, and noise of standard deviation `scale`. */
static void add_people(faro_sim_rng *sim, size_t people, double scale, double *sum) {
  faro_contribution c;
  double z[LENGTH];
  assert_ok(faro_contribution_init(&c, D, 1, -0.5, 0.5, error));
  assert_ok(faro_contribution_split(&c, BLOCKS, error));
  assert_int_equal(c.length, LENGTH);
  for (size_t n = 0; n < people; n++) {
    double x[D] = {0};
    const size_t block = (size_t)(BLOCKS * faro_sim_uniform(sim));
    for (size_t i = 0; i < P; i++) x[block * P + i] = 0.4 * faro_sim_normal(sim);
    faro_contribution_make(&c, x, faro_sim_uniform(sim) - 0.5 * (double)(block % 2), z);
    for (size_t i = 0; i < LENGTH; i++) sum[i] += z[i];
  }
  for (size_t i = 0; i < LENGTH; i++) sum[i] += scale * faro_sim_normal(sim);
}

/* The learner of one block, created and fed by hand. */
static faro_updater *create_part(const char *learner, const faro_updater_params *all) {
  faro_updater_params own = *all;
  own.dimension = P;
  own.blocks = 0;
  own.failure = all->failure / BLOCKS;
  faro_updater *made = NULL;
  assert_ok(faro_updater_create(&made, faro_learner_find(learner), &own, error));
  return made;
}

/* What the policies say of an arm's features, mean and squared width, or covariance. */
static void compare(const faro_policy *whole, const faro_policy *part, size_t block) {
  for (size_t i = 0; i < P; i++) {
    assert_close(whole->theta[block * P + i], part->theta[i], 1e-12);
    for (size_t j = 0; j <= i; j++) {
      const double w = whole->w[faro_packed(block * P + i) + block * P + j];
      assert_close(whole->beta * w, part->beta * part->w[faro_packed(i) + j], 1e-12);
    }
    for (size_t j = 0; j < block * P; j++)
      assert_true(whole->w[faro_packed(block * P + i) + j] == 0); /* outside the blocks */
  }
  assert_int_equal(whole->rule, part->rule);
}

static void play(const char *learner, double scale, bool batches) {
  double scales[LENGTH];
  for (size_t i = 0; i < LENGTH; i++) scales[i] = scale;
  const faro_noise noise = {.scale = scale > 0 ? scales : NULL, .gaussian = true};
  const faro_updater_params params = params_of(&noise);
  faro_updater *whole = NULL;
  faro_updater *part[BLOCKS];
  assert_ok(faro_updater_create(&whole, faro_learner_find(learner), &params, error));
  for (size_t b = 0; b < BLOCKS; b++) part[b] = create_part(learner, &params);
  faro_sim_rng sim;
  faro_sim_open(&sim, 5, 0, FARO_ROLE_USER);
  double sum[LENGTH] = {0};
  for (uint64_t release = 1; release <= 3; release++) {
    double batch[LENGTH] = {0};
    add_people(&sim, 200, scale, batch);
    for (size_t i = 0; i < LENGTH; i++) sum[i] += batch[i];
    const faro_statistics all = {.sum = sum,
                                 .users = 200 * release,
                                 .releases = release,
                                 .noise = noise,
                                 .block = batches ? batch : NULL,
                                 .block_users = 200,
                                 .block_noise = noise};
    faro_updater_update(whole, &all);
    for (size_t b = 0; b < BLOCKS; b++) {
      double own_sum[PART];
      double own_batch[PART];
      memcpy(own_sum, sum + b * PART, sizeof own_sum);
      memcpy(own_batch, batch + b * PART, sizeof own_batch);
      faro_statistics own = all;
      own.sum = own_sum;
      if (batches) own.block = own_batch;
      faro_updater_update(part[b], &own);
      compare(faro_updater_policy(whole), faro_updater_policy(part[b]), b);
    }
  }
  for (size_t b = 0; b < BLOCKS; b++) faro_updater_destroy(part[b]);
  faro_updater_destroy(whole);
}

static void test_blocks__are_separate_learners_on_their_own_sums(void **state) {
  (void)state;
  static const char *const learners[] = {"posterior", "linucb", "lints", "greedy"};
  for (size_t l = 0; l < sizeof learners / sizeof *learners; l++) {
    play(learners[l], 0, false);
    play(learners[l], 3, false);
    play(learners[l], 3, true);
  }
}

static void test_blocks__must_divide_the_dimension(void **state) {
  (void)state;
  faro_updater_params params = params_of(&(faro_noise){0});
  faro_updater *made = NULL;
  faro_error error = {0};
  params.blocks = 5;
  assert_int_equal(faro_updater_create(&made, faro_learner_find("posterior"), &params, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, "blocks must divide the dimension 12"));
}

/* A failed allocation anywhere leaves nothing behind. */
static void test_blocks__survive_failed_allocations(void **state) {
  (void)state;
  const faro_updater_params params = params_of(&(faro_noise){0});
  bool made_it = false;
  for (size_t n = 1; n < 200 && !made_it; n++) {
    faro_updater *made = NULL;
    faro_error error = {0};
    alloc_fail_at(n);
    made_it = faro_updater_create(&made, faro_learner_find("posterior"), &params, &error) == FARO_OK;
    alloc_fail_at(0);
    if (made_it) faro_updater_destroy(made);
  }
  assert_true(made_it);
}

/* What is known to be zero is skipped, and nothing else. */
static void test_draw__skips_only_zeros(void **state) {
  (void)state;
  double theta[D] = {0};
  double w[D * (D + 1) / 2] = {0};
  double plain[D];
  double skipping[D];
  faro_sim_rng sim;
  faro_sim_open(&sim, 4, 0, FARO_ROLE_USER);
  for (size_t i = 0; i < D; i++)
    for (size_t j = i - i % P; j <= i; j++) w[faro_packed(i) + j] = faro_sim_normal(&sim);
  faro_policy policy = {.rule = FARO_RULE_SAMPLE, .dimension = D, .theta = theta, .w = w, .beta = 2};
  faro_sim_open(&sim, 11, 0, FARO_ROLE_USER);
  faro_choice_draw(&policy, &sim.rng, plain);
  faro_sim_open(&sim, 11, 0, FARO_ROLE_USER);
  policy.blocks = BLOCKS;
  faro_choice_draw(&policy, &sim.rng, skipping);
  assert_memory_equal(plain, skipping, sizeof plain);
}

static faro_agent *create_agent(const char *release, size_t blocks) {
  const faro_agent_params params = {.learner = "posterior",
                                    .release = release,
                                    .dimension = D,
                                    .blocks = blocks,
                                    .horizon = 2000,
                                    .batch = 100,
                                    .growth = 1,
                                    .epsilon = 1,
                                    .delta = 1e-6,
                                    .centre = 0.5,
                                    .seed = 3};
  faro_agent *agent = NULL;
  assert_ok(faro_agent_create(&agent, &params, error));
  return agent;
}

static void step(faro_agent *agent, faro_sim_rng *sim) {
  double features[BLOCKS * D] = {0};
  for (size_t i = 0; i < P; i++) features[i] = 0.4 * faro_sim_normal(sim);
  for (size_t b = 1; b < BLOCKS; b++) memcpy(features + b * D + b * P, features, P * sizeof *features);
  const size_t arm = faro_agent_choose(agent, features, BLOCKS);
  assert_ok(faro_agent_learn(agent, features + arm * D, features[0] > 0 ? arm == 0 : arm == 2, error));
}

/* The claim is that without blocks, and so is the noise of every entry that is left: only the
 * entries are fewer. */
static void test_agent__claims_the_same_with_fewer_sums(void **state) {
  (void)state;
  static const char *const releases[] = {"central-factored", "shuffle-bits", "local-gaussian"};
  for (size_t i = 0; i < sizeof releases / sizeof *releases; i++) {
    faro_agent *one = create_agent(releases[i], 1);
    faro_agent *split = create_agent(releases[i], BLOCKS);
    assert_close(faro_agent_claim(split)->epsilon, faro_agent_claim(one)->epsilon, 1e-12);
    assert_true(faro_agent_claim(split)->proven);
    assert_true(faro_agent_cost(split).bits < faro_agent_cost(one).bits);
    const double a = faro_release_noise(faro_agent_release(one)).scale[0];
    const double b = faro_release_noise(faro_agent_release(split)).scale[0];
    assert_true(b <= a * (1 + 1e-9) && b > 0.95 * a);
    faro_agent_destroy(one);
    faro_agent_destroy(split);
  }
}

/* Saved between two batches and loaded into a new agent, it goes on as if nothing had happened. */
static void test_agent__is_carried_over_by_its_state(void **state) {
  (void)state;
  faro_agent *agent = create_agent("shuffle-bits", BLOCKS);
  faro_agent *other = create_agent("shuffle-bits", BLOCKS);
  faro_sim_rng sim;
  faro_sim_open(&sim, 9, 0, FARO_ROLE_USER);
  for (size_t n = 0; n < 500; n++) step(agent, &sim);
  const size_t size = faro_agent_state_size(agent);
  void *saved = malloc(size);
  assert_ok(faro_agent_save(agent, saved, error));
  assert_ok(faro_agent_load(other, saved, size, error));
  const faro_policy *a = faro_agent_policy(agent);
  const faro_policy *b = faro_agent_policy(other);
  assert_memory_equal(a->theta, b->theta, D * sizeof *a->theta);
  assert_memory_equal(a->w, b->w, faro_packed(D) * sizeof *a->w);
  assert_true(a->beta == b->beta);
  free(saved);
  faro_agent_destroy(agent);
  faro_agent_destroy(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_blocks__are_separate_learners_on_their_own_sums),
      cmocka_unit_test(test_blocks__must_divide_the_dimension),
      cmocka_unit_test(test_blocks__survive_failed_allocations),
      cmocka_unit_test(test_draw__skips_only_zeros),
      cmocka_unit_test(test_agent__claims_the_same_with_fewer_sums),
      cmocka_unit_test(test_agent__is_carried_over_by_its_state),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
