/* rounds: a batched learner whose people are elsewhere. What a round publishes, and where the next
 * one is measured, against a naive second implementation; parties that share only messages; what a
 * person's rounds cost together; and that it learns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <faro/rounds.h>
#include <faro/study.h>

#include "explore/explore.h"
#include "support/glm.h"

enum { D = GLM_DIMENSION, PACKED = GLM_PACKED, LENGTH = PACKED + D, ARMS = 12, PEOPLE_MAX = 20000 };

#define BOUND 2.0
static const double truth[D] = {1.2, -0.8, 0.5};

static faro_rounds_params setting(const char *release, uint64_t horizon, uint64_t fits) {
  return (faro_rounds_params){.learner = "glm-batched",
                              .release = release,
                              .dimension = D,
                              .arms = ARMS,
                              .horizon = horizon,
                              .link = FARO_LINK_LOGISTIC,
                              .bound = BOUND,
                              .fits = fits,
                              .epsilon = 2,
                              .delta = 1e-6,
                              .level = fits > 0 ? FARO_LEVEL_USER : FARO_LEVEL_EVENT,
                              .contributions = fits + 1};
}

static faro_rounds *make(const faro_rounds_params *params, faro_source source) {
  faro_rounds *rounds = NULL;
  assert_ok(faro_rounds_create(&rounds, params, source, error));
  return rounds;
}

/* People, and what they keep. */
typedef struct crowd {
  glm_world world;
  faro_explorer *explorer;
  size_t count;
  double x[PEOPLE_MAX * D], y[PEOPLE_MAX];
  double regret, uniform;
} crowd;

static crowd *gather(uint64_t seed) {
  crowd *c = aligned_alloc(_Alignof(crowd), sizeof *c); /* calloc would not align the arms */
  assert_non_null(c);
  memset(c, 0, sizeof *c);
  glm_open(&c->world, ARMS, seed);
  memcpy(c->world.theta, truth, sizeof truth);
  assert_ok(faro_explorer_create(&c->explorer, D, ARMS, error));
  return c;
}

static void part(crowd *c) {
  faro_explorer_destroy(c->explorer);
  free(c);
}

static size_t choose(crowd *c, const faro_policy *policy) {
  double features[ARMS * D];
  for (size_t a = 0; a < ARMS; a++) glm_arm(&c->world, a, features + a * D);
  const faro_outlook outlook = {.link = FARO_LINK_LOGISTIC,
                                .bound = BOUND,
                                .theta = policy->theta,
                                .w = policy->w,
                                .quantile = policy->beta};
  if (policy->rule == FARO_RULE_DESIGN)
    return faro_explorer_pick_rows(c->explorer, &outlook, features, ARMS, faro_sim_uniform(&c->world.luck));
  size_t best = 0;
  for (size_t a = 1; a < ARMS; a++)
    if (glm_dot(policy->theta, features + a * D) > glm_dot(policy->theta, features + best * D)) best = a;
  return best;
}

/* A person who comes for the first time. */
static void play(crowd *c, const faro_policy *policy, double *x, double *y) {
  glm_offer(&c->world);
  const size_t arm = choose(c, policy);
  double best = 0;
  double sum = 0;
  for (size_t a = 0; a < ARMS; a++) {
    glm_arm(&c->world, a, x);
    const double mean = glm_mean(FARO_LINK_LOGISTIC, glm_dot(truth, x));
    best = fmax(best, mean);
    sum += mean;
  }
  glm_arm(&c->world, arm, x);
  const double mean = glm_mean(FARO_LINK_LOGISTIC, glm_dot(truth, x));
  c->regret += best - mean;
  c->uniform += best - sum / ARMS;
  *y = faro_sim_uniform(&c->world.reward) < mean;
}

/* The data of everybody in the open round: kept from the first round of the term, or new. */
static void meet(crowd *c, const faro_rounds *rounds) {
  const faro_round now = faro_rounds_now(rounds);
  assert_in_range(now.people, 1, PEOPLE_MAX);
  if (now.fit == 0)
    for (c->count = 0; c->count < now.people; c->count++)
      play(c, faro_rounds_policy(rounds), c->x + c->count * D, c->y + c->count);
  assert_int_equal(c->count, now.people);
}

static void absorb(crowd *c, faro_rounds *rounds) {
  for (size_t i = 0; i < c->count; i++) assert_ok(faro_rounds_absorb(rounds, c->x + i * D, c->y[i], error));
}

/* Second implementations. */

static void derivatives(const crowd *c, const double *at, double gram[PACKED], double slope[D]) {
  memset(gram, 0, PACKED * sizeof *gram);
  memset(slope, 0, D * sizeof *slope);
  for (size_t i = 0; i < c->count; i++) {
    const double *x = c->x + i * D;
    const double z = glm_dot(at, x);
    glm_add(gram, x, glm_slope(FARO_LINK_LOGISTIC, z));
    for (size_t j = 0; j < D; j++) slope[j] += (glm_mean(FARO_LINK_LOGISTIC, z) - c->y[i]) * x[j];
  }
}

static void solve(const double gram[PACKED], double ridge, const double b[D], double x[D]) {
  glm_matrix a;
  glm_matrix inverse;
  glm_unpack(gram, ridge, a);
  glm_invert(a, inverse);
  for (size_t i = 0; i < D; i++) x[i] = glm_dot(inverse[i], b);
}

static void multiply(const double gram[PACKED], const double x[D], double out[D]) {
  glm_matrix a;
  glm_unpack(gram, 0, a);
  for (size_t i = 0; i < D; i++) out[i] = glm_dot(a[i], x);
}

static void shorten(double theta[D]) {
  const double norm = sqrt(glm_dot(theta, theta));
  for (size_t i = 0; norm > BOUND && i < D; i++) theta[i] *= BOUND / norm;
}

static void assert_near(const double *a, const double *b, size_t count, double tolerance) {
  for (size_t i = 0; i < count; i++) assert_close(a[i], b[i], tolerance * (1 + fabs(b[i])));
}

/* Without noise a round publishes the second and first derivatives of the loss at its point, the
 * next point of the first term minimises the quadratic model with the prior's ridge, averaged over
 * fits, and the term ends there. */
static void test_rounds__are_steps_of_newtons_method(void **state) {
  (void)state;
  enum { FITS = 3 };
  const faro_rounds_params params = setting("none", 3000, FITS);
  faro_sim_rng sim;
  faro_sim_open(&sim, 1, 0, FARO_ROLE_USER);
  faro_rounds *rounds = make(&params, faro_source_simulated(&sim));
  crowd *c = gather(3);
  const double prior = D / (BOUND * BOUND);
  double gram[PACKED] = {0};
  double point[D] = {0};
  double slope[D] = {0};
  for (size_t fit = 0; fit <= FITS; fit++) {
    double here[PACKED];
    double down[D];
    double at[D];
    meet(c, rounds);
    memcpy(at, faro_rounds_at(rounds), sizeof at);
    derivatives(c, at, here, down);
    absorb(c, rounds);
    assert_near(faro_rounds_sum(rounds), here, PACKED, 1e-9);
    for (size_t i = 0; i < D; i++)
      assert_close(faro_rounds_sum(rounds)[PACKED + i], -down[i], 1e-9 * (double)c->count);
    const double share = fit == 0 ? 1 : 1 / (double)fit;
    for (size_t i = 0; i < PACKED; i++) gram[i] += share * (here[i] - gram[i]);
    for (size_t i = 0; i < D; i++) {
      point[i] += share * (at[i] - point[i]);
      slope[i] += share * (down[i] - slope[i]);
    }
    double next[D];
    double wanted[D];
    multiply(gram, point, wanted);
    for (size_t i = 0; i < D; i++) wanted[i] -= slope[i];
    solve(gram, prior, wanted, next);
    if (fit == FITS) assert_near(faro_rounds_policy(rounds)->theta, next, D, 1e-9);
    shorten(next);
    assert_near(faro_rounds_at(rounds), next, D, 1e-9);
  }
  assert_int_equal(faro_rounds_now(rounds).term, 1);
  assert_int_equal(faro_rounds_now(rounds).number, FITS + 1);
  part(c);
  faro_rounds_destroy(rounds);
}

/* The same people in a study, which has all their data, end at the same estimate. */
static void test_rounds__end_where_a_study_ends(void **state) {
  (void)state;
  enum { FITS = 15 };
  const faro_rounds_params params = setting("none", 20000, FITS);
  faro_sim_rng sim;
  faro_sim_open(&sim, 1, 0, FARO_ROLE_USER);
  faro_rounds *rounds = make(&params, faro_source_simulated(&sim));
  crowd *c = gather(5);
  while (faro_rounds_now(rounds).term == 0) {
    meet(c, rounds);
    absorb(c, rounds);
  }
  faro_study *study = NULL;
  const faro_study_params whole = {.link = FARO_LINK_LOGISTIC,
                                   .dimension = D,
                                   .norm = BOUND,
                                   .reward = 1,
                                   .steepest = 0.25,
                                   .people = c->count,
                                   .horizon = c->count,
                                   .failure = 0.1,
                                   .calibration = FARO_CALIBRATION_TIGHT};
  assert_ok(faro_study_create(&study, faro_release_kind_find("none"), &whole, &sim, error));
  assert_ok(faro_study_allow(study, (const uint64_t[FARO_PARTS]){0, 1}, error));
  for (size_t i = 0; i < c->count; i++) (void)faro_study_add(study, c->x + i * D, c->y[i], 1, 0.25);
  double theta[D];
  const double start[D] = {0};
  const faro_question question = {
      .part = 1, .ridge = D / (BOUND * BOUND), .region = {.radius = BOUND}, .start = start};
  faro_answer answer = {.theta = theta};
  assert_ok(faro_study_fit(study, &question, &answer, error));
  assert_true(sqrt(glm_dot(theta, theta)) < BOUND - 0.05); /* inside, where the region does not matter */
  assert_near(faro_rounds_policy(rounds)->theta, theta, D, 2e-3);
  faro_study_destroy(study);
  part(c);
  faro_rounds_destroy(rounds);
}

/* Parties. */

/* The people of the open round make messages, each on a release of its own making, and a shuffler
 * mixes them. */
static uint64_t *send(crowd *c, const faro_rounds *rounds, const faro_rounds_params *p,
                      faro_secure_rng *secure, size_t *count) {
  const faro_release_params budget = {.epsilon = p->epsilon,
                                      .delta = p->delta,
                                      .level = p->level,
                                      .contributions = p->contributions,
                                      .calibration = FARO_CALIBRATION_TIGHT};
  const faro_release_params params = faro_release_alone(&budget, faro_rounds_now(rounds).people);
  const faro_release_kind *kind = faro_release_kind_find(p->release);
  faro_contribution z;
  faro_release *device = NULL;
  faro_release *shuffler = NULL;
  assert_ok(faro_contribution_linearised(&z, D, 1, p->link, p->bound, error));
  assert_ok(faro_release_create(&device, kind, &z, &params, faro_source_client(secure), error));
  assert_ok(faro_release_create(&shuffler, kind, &z, &params, faro_source_server(secure), error));
  const size_t size = faro_release_message_size(device);
  unsigned char *batch = malloc(c->count * size);
  assert_non_null(batch);
  faro_release_linearise(device, faro_rounds_at(rounds));
  for (size_t i = 0; i < c->count; i++)
    assert_ok(faro_release_randomize(device, c->x + i * D, c->y[i], batch + i * size, error));
  *count = faro_release_mix(shuffler, batch);
  faro_release_destroy(device);
  faro_release_destroy(shuffler);
  return (uint64_t *)(void *)batch;
}

static void assert_same(const faro_rounds *a, const faro_rounds *b) {
  assert_memory_equal(faro_rounds_policy(a)->theta, faro_rounds_policy(b)->theta, D * sizeof(double));
  assert_memory_equal(faro_rounds_policy(a)->w, faro_rounds_policy(b)->w, PACKED * sizeof(double));
  assert_memory_equal(faro_rounds_at(a), faro_rounds_at(b), D * sizeof(double));
  assert_int_equal(faro_rounds_policy(a)->rule, faro_rounds_policy(b)->rule);
  assert_int_equal(faro_rounds_policy(a)->version, faro_rounds_policy(b)->version);
  assert_int_equal(faro_rounds_now(a).people, faro_rounds_now(b).people);
  assert_int_equal(faro_rounds_now(a).fit, faro_rounds_now(b).fit);
}

/* Two analyzers with the same messages agree to the bit, though one of them is started again before
 * every round. */
static void test_rounds__follow_from_messages_and_survive_restarts(void **state) {
  (void)state;
  const faro_rounds_params params = setting("shuffle-bits", 600, 1);
  faro_secure_rng *secure = NULL;
  assert_ok(faro_secure_open(&secure, error));
  faro_rounds *one = make(&params, faro_source_server(secure));
  faro_rounds *two = make(&params, faro_source_server(secure));
  crowd *c = gather(7);
  while (faro_rounds_now(one).people > 0) {
    size_t count = 0;
    meet(c, one);
    uint64_t *messages = send(c, one, &params, secure, &count);
    const size_t size = faro_rounds_state_size(two);
    unsigned char *kept = malloc(size);
    assert_non_null(kept);
    faro_rounds_save(two, kept);
    faro_rounds_destroy(two);
    two = make(&params, faro_source_server(secure));
    assert_ok(faro_rounds_load(two, kept, size, error));
    assert_same(one, two);
    assert_ok(faro_rounds_analyze(one, messages, count, error));
    assert_ok(faro_rounds_analyze(two, messages, count, error));
    assert_same(one, two);
    free(kept);
    free(messages);
  }
  assert_int_equal(faro_rounds_policy(one)->rule, FARO_RULE_WIDTH);
  assert_int_equal(faro_rounds_analyze(one, NULL, 0, NULL), FARO_INVALID);
  part(c);
  faro_rounds_destroy(one);
  faro_rounds_destroy(two);
  faro_secure_close(secure);
}

static void test_rounds__refuse_a_state_that_is_not_theirs(void **state) {
  (void)state;
  const faro_rounds_params params = setting("none", 600, 1);
  faro_sim_rng sim;
  faro_sim_open(&sim, 1, 0, FARO_ROLE_USER);
  faro_rounds *rounds = make(&params, faro_source_simulated(&sim));
  crowd *c = gather(9);
  meet(c, rounds);
  absorb(c, rounds);
  const size_t size = faro_rounds_state_size(rounds);
  assert_int_equal(size, 16 + LENGTH * sizeof(double));
  unsigned char kept[16 + LENGTH * sizeof(double)];
  faro_rounds_save(rounds, kept);
  assert_int_equal(faro_rounds_load(rounds, kept, size, NULL), FARO_INVALID); /* it has begun */
  faro_rounds_destroy(rounds);
  rounds = make(&params, faro_source_simulated(&sim));
  assert_int_equal(faro_rounds_load(rounds, kept, size - 1, NULL), FARO_INVALID);
  assert_int_equal(faro_rounds_load(rounds, kept, 3, NULL), FARO_INVALID);
  const double nothing = NAN;
  unsigned char bad[sizeof kept];
  memcpy(bad, kept, sizeof kept);
  memcpy(bad + 16, &nothing, sizeof nothing);
  assert_int_equal(faro_rounds_load(rounds, bad, size, NULL), FARO_INVALID);
  bad[0] = 2;
  assert_int_equal(faro_rounds_load(rounds, bad, size, NULL), FARO_INVALID);
  assert_ok(faro_rounds_load(rounds, kept, size, error));
  assert_int_equal(faro_rounds_now(rounds).fit, 1);
  part(c);
  faro_rounds_destroy(rounds);
}

/* Privacy. */

/* A person's contribution moves by at most 2 (docs/privacy.md, Lemma 1b) against the noise of the
 * round, so mu of a round is 2 / scale. All rounds of a person together are within the budget, for
 * every size of a round, and one more would not be. */
static void test_rounds__cost_a_person_no_more_than_the_claim(void **state) {
  (void)state;
  for (uint64_t fits = 0; fits <= 3; fits++) {
    const faro_rounds_params params = setting("shuffle-bits", 2000, fits);
    const double most = faro_gaussian_mu(params.epsilon, params.delta);
    faro_sim_rng sim;
    faro_sim_open(&sim, 1, 0, FARO_ROLE_USER);
    faro_rounds *rounds = make(&params, faro_source_simulated(&sim));
    assert_true(faro_rounds_claim(rounds)->proven);
    assert_true(faro_rounds_claim(rounds)->epsilon <= params.epsilon);
    assert_int_equal(faro_rounds_claim(rounds)->contributions, fits + 1);
    crowd *c = gather(11);
    while (faro_rounds_now(rounds).people > 0) {
      const double mu = 2 / faro_release_noise(faro_rounds_release(rounds)).scale[PACKED];
      assert_true((double)(fits + 1) * mu * mu <= most * most);
      assert_true((double)(fits + 2) * mu * mu > most * most);
      meet(c, rounds);
      absorb(c, rounds);
    }
    part(c);
    faro_rounds_destroy(rounds);
  }
}

static void assert_refused(faro_rounds_params params, const char *word) {
  faro_rounds *rounds = NULL;
  faro_error refusal = {0};
  assert_int_equal(faro_rounds_create(&rounds, &params, faro_source_none(), &refusal), FARO_INVALID);
  if (!strstr(refusal.message, word)) fail_msg("no \"%s\" in: %s", word, refusal.message);
}

static void test_rounds__refuse_what_they_cannot_do(void **state) {
  (void)state;
  const faro_rounds_params good = setting("shuffle-bits", 2000, 1);
  faro_rounds_params p = good;
  p.learner = "linucb";
  assert_refused(p, "learner");
  p.learner = "glm-joint"; /* its sums are published all the time */
  assert_refused(p, "learner");
  p = good;
  p.release = "shuffle-amplified"; /* of two kinds, which do not compose */
  assert_refused(p, "release");
  p.release = "central-tree";
  assert_refused(p, "release");
  p = good;
  p.contributions = 1;
  assert_refused(p, "contributions");
  p = good;
  p.fits = 16;
  p.contributions = 17;
  assert_refused(p, "fits");
  p = good;
  p.link = FARO_LINK_POISSON;
  assert_refused(p, "link");
  p = good;
  p.horizon = 0;
  assert_refused(p, "horizon");
  p = good;
  p.bound = 0;
  assert_refused(p, "bound");
  p = good;
  p.level = FARO_LEVEL_EVENT;
  assert_refused(p, "contributions");
}

/* Devices. */

/* A device with the published policy picks what the learner itself would have the person pick. */
static void test_policy__is_the_learners_pick(void **state) {
  (void)state;
  const faro_asker_params params = {.dimension = D,
                                    .horizon = 100000,
                                    .failure = 0.1,
                                    .link = FARO_LINK_PROBIT,
                                    .bound = BOUND,
                                    .kappa = 20,
                                    .offers = ARMS,
                                    .calibration = FARO_CALIBRATION_TIGHT};
  faro_asker *learner = NULL;
  assert_ok(faro_asker_create(&learner, faro_learner_find("glm-batched"), &params, error));
  crowd *c = gather(13);
  double gram[PACKED] = {40, 3, 30, -2, 5, 60};
  double theta[D] = {0.9, -0.5, 0.3};
  size_t arms[2] = {0};
  for (int term = 0; term < 2; term++) {
    static const double quiet[PACKED] = {0};
    uint64_t fits[FARO_PARTS];
    faro_asker_begin(learner, (const faro_noise[]){{.scale = quiet}, {.scale = quiet}}, fits);
    faro_policy policy;
    assert_true(faro_asker_publish(learner, &policy));
    assert_int_equal(policy.rule, FARO_RULE_DESIGN);
    const faro_outlook outlook = {
        .link = params.link, .bound = BOUND, .theta = policy.theta, .w = policy.w, .quantile = policy.beta};
    for (int i = 0; i < 300; i++) {
      double features[ARMS * D];
      const double luck = faro_sim_uniform(&c->world.luck);
      glm_offer(&c->world);
      for (size_t a = 0; a < ARMS; a++) glm_arm(&c->world, a, features + a * D);
      const size_t arm = faro_explorer_pick_rows(c->explorer, &outlook, features, ARMS, luck);
      assert_int_equal(arm, faro_asker_pick(learner, &c->world.arms, luck).arm);
      arms[term] += arm;
    }
    faro_asker_see(learner, (const faro_statistics[]){{.sum = quiet}, {.sum = gram}});
    faro_question question;
    assert_true(faro_asker_ask(learner, &question));
    const faro_answer answer = {.theta = theta};
    double guess[D];
    assert_true(faro_asker_guess(learner, &answer, guess));
    faro_asker_answer(learner, &answer);
    assert_true(faro_asker_publish(learner, &policy));
    assert_memory_equal(guess, policy.theta, sizeof guess);
    assert_int_equal(policy.rule, FARO_RULE_WIDTH); /* as long as no other term has begun */
  }
  assert_int_not_equal(arms[0], arms[1]);
  faro_asker_destroy(learner);
  part(c);
}

/* A policy may have any finite numbers. Products with huge ones are not finite, and no comparison
 * holds then; the choice is one of those offered all the same. */
static void test_policy__with_huge_numbers_picks_an_arm_that_is_offered(void **state) {
  (void)state;
  static const double w[PACKED] = {1, 0, 1, 0, 0, 1};
  const double plain[D] = {0, 0, 1}, huge[D] = {1e308, -1e308, 1e308};
  double features[ARMS * D] = {0};
  faro_outlook outlook = {.link = FARO_LINK_LOGISTIC, .bound = BOUND, .w = w, .quantile = 0};
  faro_explorer *explorer = NULL;
  assert_ok(faro_explorer_create(&explorer, D, ARMS, error));
  for (int i = 0; i < 8; i++) {
    outlook.theta = plain; /* the last of many arms is the only one that stays */
    for (size_t a = 0; a < ARMS; a++) features[a * D + 2] = a == ARMS - 1;
    assert_int_equal(faro_explorer_pick_rows(explorer, &outlook, features, ARMS, 0.5), ARMS - 1);
    outlook.theta = huge;
    for (size_t j = 0; j < 2 * D; j++) features[j] = 10 * (i >> j % D & 1 ? 1 : -1);
    assert_true(faro_explorer_pick_rows(explorer, &outlook, features, 2, 0.99) < 2);
    memset(features, 0, sizeof features);
  }
  faro_explorer_destroy(explorer);
}

/* Learns nearly everything, whether all come back or nobody. */
static void test_rounds__learn(void **state) {
  (void)state;
  enum { REST = 1000 };
  for (uint64_t fits = 0; fits <= 1; fits++) {
    const faro_rounds_params params = setting("shuffle-bits", 20000, fits);
    faro_sim_rng sim;
    faro_sim_open(&sim, 2, 0, FARO_ROLE_USER);
    faro_rounds *rounds = make(&params, faro_source_simulated(&sim));
    crowd *c = gather(17);
    while (faro_rounds_now(rounds).people > 0) {
      meet(c, rounds);
      if (fits == 1 && faro_rounds_now(rounds).fit == 1) /* newcomers in the place of half of them */
        for (size_t i = 0; i < c->count; i += 2) play(c, faro_rounds_policy(rounds), c->x + i * D, c->y + i);
      absorb(c, rounds);
    }
    c->regret = c->uniform = 0;
    double x[D];
    double y;
    for (int i = 0; i < REST; i++) play(c, faro_rounds_policy(rounds), x, &y);
    assert_true(c->regret < 0.05 * c->uniform);
    part(c);
    faro_rounds_destroy(rounds);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rounds__are_steps_of_newtons_method),
      cmocka_unit_test(test_rounds__end_where_a_study_ends),
      cmocka_unit_test(test_rounds__follow_from_messages_and_survive_restarts),
      cmocka_unit_test(test_rounds__refuse_a_state_that_is_not_theirs),
      cmocka_unit_test(test_rounds__cost_a_person_no_more_than_the_claim),
      cmocka_unit_test(test_rounds__refuse_what_they_cannot_do),
      cmocka_unit_test(test_policy__is_the_learners_pick),
      cmocka_unit_test(test_policy__with_huge_numbers_picks_an_arm_that_is_offered),
      cmocka_unit_test(test_rounds__learn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
