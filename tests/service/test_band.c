/* The band of the page: privacy noise in the mean reward, against campaigns whose rewards are
 * known. The noise of clients has a fixed seed; an analyzer's own comes from the system and cannot
 * be seeded. False-alarm rate of each check: 1e-9. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice/choice.h"
#include "service/analyzer/learning.h"

enum { D = 2, BATCH = 24, BATCHES = 6, RUNS = 300, LEAST = 257 };
static const double CONSTANT = 0.6;

static void found(faro_campaign *c, const char *kind, const char *learner) {
  faro_sign_key sign, shuffler;
  faro_seal_key seal;
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_sign_key_make(&sign, error));
  assert_ok(faro_sign_key_make(&shuffler, error));
  assert_ok(faro_seal_key_make(&seal, error));
  *c = (faro_campaign){.id = "band",
                       .release = faro_release_kind_find(kind),
                       .params = {.epsilon = 2,
                                  .delta = 1e-6,
                                  .horizon = BATCH * BATCHES,
                                  .batch = BATCH,
                                  .growth = 1,
                                  .honest = 0.9,
                                  .contributions = 1,
                                  .calibration = FARO_CALIBRATION_TIGHT},
                       .centre = 0.5,
                       .arms = 3,
                       .failure = 0.1,
                       .analyzer = "http://127.0.0.1:1",
                       .shufflers = strncmp(kind, "shuffle", 7) == 0,
                       .shuffler = {{.url = "http://127.0.0.1:2"}}};
  snprintf(c->learner, sizeof c->learner, "%s", learner);
  memcpy(c->seal, seal.public_key, sizeof c->seal);
  memcpy(c->shuffler[0].key, shuffler.public_key, FARO_KEY_BYTES);
  assert_ok(faro_contribution_init(&c->contribution, D, 1, -0.5, 0.5, error));
  assert_ok(faro_campaign_write(c, &sign, &text, &length, error));
  free(text);
}

/* Applies a batch and returns the sum of its rewards. */
static double apply(const faro_campaign *c, faro_learning *learning, faro_release *client, faro_sim_rng *sim,
                    uint64_t number) {
  uint64_t messages[BATCH * 16];
  const size_t entries = c->entries;
  double sum = 0;
  assert_true(entries <= 16);
  faro_release_seek(client, number);
  for (size_t u = 0; u < BATCH; u++) {
    const double x[D] = {0.8 * (2 * faro_sim_uniform(sim) - 1), CONSTANT};
    const double reward = faro_sim_uniform(sim) < 0.7 ? 0.9 : 0.2;
    sum += reward;
    assert_ok(faro_release_randomize(client, x, reward - c->centre, messages + u * entries, error));
  }
  const size_t count = faro_release_mix(client, messages);
  assert_ok(faro_learning_apply(learning, messages, count, error));
  return sum;
}

/* What one campaign shows after each batch: its error, in standard deviations. */
static void run_once(const faro_campaign *c, faro_release *client, faro_sim_rng *sim, double z[BATCHES]) {
  faro_learning *learning = NULL;
  double sum = 0;
  assert_ok(faro_learning_create(&learning, c, NULL, 0, error));
  for (uint64_t b = 0; b < BATCHES; b++) {
    sum += apply(c, learning, client, sim, b);
    const faro_learning_view view = faro_learning_snapshot(learning);
    assert_int_equal(view.users, (b + 1) * BATCH);
    assert_true(view.noise > 0);
    z[b] = (c->centre + view.last / CONSTANT - sum / (double)view.users) / (view.noise / CONSTANT);
  }
  faro_learning_destroy(learning);
}

/* Each point covers the mean without noise 95 % of the time: at least 257 of 300 by the binomial
 * distribution. Its standard deviation is right: the sum of 300 squares by chi squared, which also
 * finds a band that is too wide. */
static void check_point(const char *kind, int batch, int covered, double squares) {
  if (covered < LEAST || squares < 0.57 * RUNS || squares > 1.6 * RUNS)
    fail_msg("%s, batch %d: %d of %d are covered, mean square %g", kind, batch, covered, (int)RUNS,
             squares / RUNS);
}

static void test_band__covers_the_mean_without_noise(void **state) {
  (void)state;
  static const char *const kinds[] = {"shuffle-bits", "central-tree", "local-gaussian", "local-response"};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    faro_campaign c;
    faro_release *client = NULL;
    faro_sim_rng sim;
    int covered[BATCHES] = {0};
    double squares[BATCHES] = {0}, z[BATCHES];
    found(&c, kinds[k], "linucb");
    faro_sim_open(&sim, 7, k, FARO_ROLE_USER);
    assert_ok(faro_release_create(&client, c.release, &c.contribution, &c.params, faro_source_simulated(&sim),
                                  error));
    for (int run = 0; run < RUNS; run++) {
      run_once(&c, client, &sim, z);
      for (int b = 0; b < BATCHES; b++) covered[b] += fabs(z[b]) <= 1.96, squares[b] += z[b] * z[b];
    }
    for (int b = 0; b < BATCHES; b++) check_point(kinds[k], b, covered[b], squares[b]);
    faro_release_destroy(client);
  }
}

/* The yardstick of the page, the first batch: its policy prefers no direction, so it chooses by the
 * contexts and by luck alone. That is not play at random: linucb takes the longest context, or the
 * first of several. */
static void test_band__the_first_policy_has_seen_no_reward(void **state) {
  (void)state;
  static const char *const learners[] = {"linucb", "lints", "posterior"};
  const double contexts[4][D] = {{0.1, 0.6}, {-0.8, 0.6}, {0.3, 0.6}, {0.8, 0.6}};
  const double none[D] = {0};
  for (size_t l = 0; l < sizeof learners / sizeof *learners; l++) {
    faro_campaign c;
    faro_learning *learning = NULL;
    faro_sign_key sign;
    faro_policy_document document = {0};
    char *text = NULL;
    size_t length = 0;
    found(&c, "shuffle-bits", learners[l]);
    assert_ok(faro_sign_key_make(&sign, error));
    assert_ok(faro_learning_create(&learning, &c, NULL, 0, error));
    assert_ok(faro_learning_document(learning, &sign, &text, &length, error));
    assert_ok(faro_policy_document_open(&document, text, length, sign.public_key, error));
    const faro_policy *policy = &document.policy;
    assert_int_equal(policy->version, 1);
    for (size_t i = 0; i < D; i++) assert_true(policy->theta[i] == 0);
    assert_true(policy->w[0] > 0 && policy->w[1] == 0 && policy->w[2] == policy->w[0]);
    if (policy->rule == FARO_RULE_WIDTH)
      assert_int_equal(faro_choice_best(policy, none, &contexts[0][0], 4), 1);
    else assert_true(l > 0);
    faro_policy_document_clear(&document);
    faro_learning_destroy(learning);
    free(text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_band__covers_the_mean_without_noise),
      cmocka_unit_test(test_band__the_first_policy_has_seen_no_reward),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
