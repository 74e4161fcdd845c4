/* learner: what every registered learner must do, whatever it learns. A new learner is tested here
 * automatically. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { D = 3, ARMS = 8, STRIDE = 16, ROUNDS = 200 };

static const faro_calibration calibrations[] = {FARO_CALIBRATION_PAPER, FARO_CALIBRATION_FIGURE,
                                                FARO_CALIBRATION_TIGHT};

/* One learner of any protocol. */
typedef struct any {
  faro_protocol protocol;
  faro_updater *updater;
  faro_estimator *estimator;
  faro_eliminator *eliminator;
  faro_asker *asker;
  faro_watcher *watcher;
} any;

static _Alignas(64) double features[D * STRIDE];
static faro_arms arms = {.dimension = D, .count = ARMS, .stride = STRIDE, .x = features, .version = 1};
static double scale[D * (D + 3) / 2];

static int make_arms(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 5, 0, FARO_ROLE_CONTEXT);
  for (size_t a = 0; a < ARMS; a++) {
    double square = 0;
    for (size_t i = 0; i < D; i++) {
      features[i * STRIDE + a] = faro_sim_normal(&sim);
      square += features[i * STRIDE + a] * features[i * STRIDE + a];
    }
    for (size_t i = 0; i < D; i++) features[i * STRIDE + a] *= 0.9 / sqrt(square);
  }
  for (size_t i = 0; i < sizeof scale / sizeof *scale; i++) scale[i] = 2;
  return 0;
}

typedef struct wish {
  size_t dimension;
  double failure;
  faro_calibration calibration;
  const void *settings;
} wish;

static faro_status create(any *a, faro_protocol protocol, const faro_learner_kind *kind, const wish *w,
                          faro_error *error) {
  const faro_noise noise = {.scale = scale, .gaussian = true};
  const faro_updater_params updater = {.dimension = w->dimension,
                                       .horizon = 1000,
                                       .releases = 100,
                                       .norm = 1,
                                       .failure = w->failure,
                                       .reward = 0.5,
                                       .calibration = w->calibration,
                                       .noise = noise,
                                       .settings = w->settings};
  faro_arms own = arms;
  own.dimension = w->dimension;
  const faro_eliminator_params eliminator = {.arms = w->dimension == D ? &arms : &own,
                                             .horizon = 1000,
                                             .failure = w->failure,
                                             .reward = 0.5,
                                             .spread = 0.1,
                                             .calibration = w->calibration,
                                             .settings = w->settings};
  const faro_asker_params asker = {.dimension = w->dimension,
                                   .horizon = 1000,
                                   .failure = w->failure,
                                   .link = FARO_LINK_LOGISTIC,
                                   .bound = 2,
                                   .kappa = 1 / faro_link_flattest(FARO_LINK_LOGISTIC, 2),
                                   .offers = ARMS,
                                   .calibration = w->calibration,
                                   .settings = w->settings};
  *a = (any){.protocol = protocol};
  switch (protocol) {
  case FARO_PROTOCOL_UPDATER: return faro_updater_create(&a->updater, kind, &updater, error);
  case FARO_PROTOCOL_ESTIMATOR: return faro_estimator_create(&a->estimator, kind, w->calibration, error);
  case FARO_PROTOCOL_ELIMINATOR: return faro_eliminator_create(&a->eliminator, kind, &eliminator, error);
  case FARO_PROTOCOL_ASKER: return faro_asker_create(&a->asker, kind, &asker, error);
  case FARO_PROTOCOL_WATCHER: return faro_watcher_create(&a->watcher, kind, &asker, error);
  }
  return FARO_INVALID;
}

static void destroy(any *a) {
  faro_updater_destroy(a->updater);
  faro_estimator_destroy(a->estimator);
  faro_eliminator_destroy(a->eliminator);
  faro_asker_destroy(a->asker);
  faro_watcher_destroy(a->watcher);
}

static wish usual(faro_calibration calibration) {
  return (wish){.dimension = D, .failure = 0.1, .calibration = calibration};
}

static bool offers(const faro_learner_kind *kind, faro_calibration calibration) {
  return !(kind->refuses & (1U << calibration));
}

/* Plays a learner through everything that its protocol allows, with inputs decided by `luck`;
 * collects all outputs. */

static double play_updater(faro_updater *u, faro_sim_rng *luck, double size) {
  double said = 0;
  double sum[D * (D + 3) / 2] = {0};
  for (uint64_t t = 1; t <= ROUNDS; t++) {
    for (size_t i = 0; i < sizeof sum / sizeof *sum; i++) sum[i] += size * faro_sim_normal(luck);
    const faro_statistics statistics = {.sum = sum, .users = 10 * t, .releases = t};
    faro_updater_update(u, &statistics);
    const faro_policy *p = faro_updater_policy(u);
    assert_int_equal(p->dimension, D);
    assert_int_equal(p->version, t + 1);
    for (size_t i = 0; i < D; i++) said += p->theta[i];
    for (size_t i = 0; i < D * (D + 1) / 2; i++) said += p->w[i];
    said += p->beta;
    assert_true(isfinite(said) && p->beta >= 0 && p->explore >= 0 && p->explore <= 1);
  }
  assert_int_equal(faro_updater_diagnose(u).updates, ROUNDS);
  return said;
}

static double play_estimator(faro_estimator *e, faro_sim_rng *luck, double size) {
  double said = 0;
  for (uint64_t t = 1; t <= ROUNDS; t++) {
    const double sum = size * faro_sim_normal(luck);
    const faro_statistics statistics = {.sum = &sum, .users = t, .releases = t};
    faro_estimator_update(e, &statistics);
    said += faro_estimator_at(e, t + 1);
  }
  assert_int_equal(faro_estimator_diagnose(e).updates, ROUNDS);
  return said;
}

static double play_eliminator(faro_eliminator *e, faro_sim_rng *luck, double size) {
  double said = 0;
  for (;;) {
    const faro_plan *plan = NULL;
    assert_ok(faro_eliminator_plan(e, &plan, error));
    assert_true(plan->support >= 1 && plan->support <= ARMS);
    if (plan->last || faro_eliminator_diagnose(e).updates > 12) break;
    faro_heard heard[ARMS];
    for (size_t i = 0; i < plan->support; i++) {
      assert_true(plan->arm[i] < ARMS && plan->pulls[i] >= 1);
      const double count = plan->clients > 0 ? (double)plan->clients : (double)plan->pulls[i];
      heard[i] = (faro_heard){.sum = size * faro_sim_normal(luck), .count = count, .scale = 1};
      said += (double)plan->arm[i] + (double)plan->pulls[i];
    }
    faro_error refusal = {0};
    assert_int_equal(faro_eliminator_plan(e, &plan, &refusal), FARO_INVALID); /* one at a time */
    assert_ok(faro_eliminator_hear(e, heard, error));
    assert_int_equal(faro_eliminator_hear(e, heard, &refusal), FARO_INVALID);
    assert_true(faro_eliminator_holds(e, faro_eliminator_best(e)));
  }
  return said + (double)faro_eliminator_left(e);
}

static double play_asker(faro_asker *a, bool batches, faro_sim_rng *luck, double size) {
  double said = 0;
  uint64_t people = faro_asker_term(a);
  double theta[D];
  double gram[FARO_PARTS][D * (D + 1) / 2] = {0};
  const faro_noise noise[FARO_PARTS] = {{.scale = scale, .gaussian = true},
                                        {.scale = scale, .gaussian = true}};
  uint64_t fits[FARO_PARTS] = {0};
  faro_asker_begin(a, noise, fits);
  for (uint64_t t = 1; t <= people; t++) {
    const faro_pick pick = faro_asker_pick(a, &arms, faro_sim_uniform(luck));
    assert_true(pick.arm < ARMS && pick.part < FARO_PARTS && pick.weight >= 0 && isfinite(pick.weight));
    said += (double)pick.arm + pick.weight;
    for (size_t i = 0, k = 0; i < D; i++)
      for (size_t j = 0; j <= i; j++, k++)
        gram[pick.part][k] +=
            size * pick.weight * features[i * STRIDE + pick.arm] * features[j * STRIDE + pick.arm];
    if (t != people && (batches || t % 50 != 0)) continue;
    const faro_statistics sum[FARO_PARTS] = {{.sum = gram[0], .users = t, .releases = t / 50},
                                             {.sum = gram[1], .users = t, .releases = t / 50}};
    faro_asker_see(a, sum);
    faro_question question;
    while (faro_asker_ask(a, &question)) {
      assert_true(question.part < FARO_PARTS && fits[question.part]-- > 0); /* no more than it announced */
      for (size_t i = 0; i < D; i++) theta[i] = faro_sim_normal(luck) / 10;
      faro_asker_answer(a, &(faro_answer){.theta = theta, .bound = 1, .noise = 1});
    }
  }
  return said;
}

static double play_watcher(faro_watcher *w, faro_sim_rng *luck) {
  double said = 0;
  for (size_t t = 0; t < ROUNDS; t++) {
    const size_t arm = faro_watcher_pick(w, &arms);
    assert_true(arm < ARMS);
    double x[D];
    for (size_t i = 0; i < D; i++) x[i] = features[i * STRIDE + arm];
    faro_watcher_observe(w, x, faro_sim_uniform(luck) < 0.5);
    said += (double)arm + faro_watcher_policy(w)->beta;
  }
  assert_int_equal(faro_watcher_diagnose(w).updates, ROUNDS);
  return said;
}

static double play(any *a, const faro_learner_kind *kind, double size) {
  const bool batches = faro_asker_kind_studies(kind) == FARO_STUDIES_BATCHES;
  faro_sim_rng luck;
  faro_sim_open(&luck, 11, 0, FARO_ROLE_LUCK);
  switch (a->protocol) {
  case FARO_PROTOCOL_UPDATER: return play_updater(a->updater, &luck, size);
  case FARO_PROTOCOL_ESTIMATOR: return play_estimator(a->estimator, &luck, size);
  case FARO_PROTOCOL_ELIMINATOR: return play_eliminator(a->eliminator, &luck, size);
  case FARO_PROTOCOL_ASKER: return play_asker(a->asker, batches, &luck, size);
  case FARO_PROTOCOL_WATCHER: return play_watcher(a->watcher, &luck);
  }
  return 0;
}

/* For every learner and every calibration that it offers. */
#define FOR_EACH(kind, calibration)                                                                          \
  for (size_t k_ = 0; k_ < faro_learner_count(); k_++)                                                       \
    for (size_t c_ = 0; c_ < sizeof calibrations / sizeof *calibrations; c_++)                               \
      for (const faro_learner_kind *kind = faro_learner_at(k_); kind; kind = NULL)                           \
        for (faro_calibration calibration = calibrations[c_], *once_ = &calibration; once_; once_ = NULL)    \
          if (offers(kind, calibration))

static void test_learners__have_names_summaries_and_valid_settings(void **state) {
  (void)state;
  for (size_t i = 0; i < faro_learner_count(); i++) {
    const faro_learner_kind *kind = faro_learner_at(i);
    assert_true(kind->name && *kind->name && kind->summary && *kind->summary);
    assert_ptr_equal(faro_learner_find(kind->name), kind);
    assert_true(offers(kind, FARO_CALIBRATION_TIGHT));
    assert_true((kind->settings == NULL) == (kind->settings_size == 0));
    for (const faro_setting *s = kind->settings; s && s->name; s++) {
      assert_true(s->offset < kind->settings_size && s->help && *s->help);
      assert_true(s->preset >= s->least && s->preset <= s->most);
    }
  }
  assert_null(faro_learner_find("no such learner"));
}

static void test_learners__are_created_by_their_own_protocol_only(void **state) {
  (void)state;
  for (size_t i = 0; i < faro_learner_count(); i++)
    for (int p = FARO_PROTOCOL_UPDATER; p <= FARO_PROTOCOL_WATCHER; p++) {
      any a;
      faro_error error = {0};
      const wish w = usual(FARO_CALIBRATION_TIGHT);
      const faro_status status = create(&a, (faro_protocol)p, faro_learner_at(i), &w, &error);
      assert_int_equal(status, (int)faro_learner_at(i)->protocol == p ? FARO_OK : FARO_INVALID);
      if (status != FARO_OK) assert_non_null(strstr(error.message, faro_learner_at(i)->name));
      destroy(&a);
      error = (faro_error){0};
      assert_int_equal(create(&a, (faro_protocol)p, NULL, &w, &error), FARO_INVALID);
    }
}

static void test_learners__refuse_calibrations_that_they_have_no_rule_for(void **state) {
  (void)state;
  for (size_t i = 0; i < faro_learner_count(); i++)
    for (size_t c = 0; c < sizeof calibrations / sizeof *calibrations; c++) {
      const faro_learner_kind *kind = faro_learner_at(i);
      any a;
      faro_error error = {0};
      const wish w = usual(calibrations[c]);
      const faro_status status = create(&a, kind->protocol, kind, &w, &error);
      assert_int_equal(status, offers(kind, calibrations[c]) ? FARO_OK : FARO_INVALID);
      destroy(&a);
    }
  assert_int_not_equal(faro_learner_find("lints")->refuses, 0);
}

static void test_learners__refuse_bad_parameters(void **state) {
  (void)state;
  const wish bad[] = {{.dimension = 0, .failure = 0.1},
                      {.dimension = 1001, .failure = 0.1},
                      {.dimension = D, .failure = 0},
                      {.dimension = D, .failure = 1},
                      {.dimension = D, .failure = (double)NAN}};
  for (size_t i = 0; i < faro_learner_count(); i++) {
    const faro_learner_kind *kind = faro_learner_at(i);
    for (size_t b = 0; b < sizeof bad / sizeof *bad && kind->protocol != FARO_PROTOCOL_ESTIMATOR; b++) {
      if (kind->protocol == FARO_PROTOCOL_ELIMINATOR && bad[b].dimension != D)
        continue; /* given by the arms */
      any a;
      faro_error error = {0};
      wish w = bad[b];
      w.calibration = FARO_CALIBRATION_TIGHT;
      assert_int_equal(create(&a, kind->protocol, kind, &w, &error), FARO_INVALID);
      assert_true(*error.message != '\0');
    }
  }
}

static void test_learners__refuse_settings_out_of_range(void **state) {
  (void)state;
  for (size_t i = 0; i < faro_learner_count(); i++) {
    const faro_learner_kind *kind = faro_learner_at(i);
    for (const faro_setting *s = kind->settings; s && s->name; s++) {
      if (s->type != FARO_SETTING_REAL && s->type != FARO_SETTING_REAL_OPEN) continue;
      _Alignas(8) unsigned char own[256];
      assert_true(kind->settings_size <= sizeof own);
      memset(own, 0, sizeof own);
      faro_settings_preset(kind->settings, own);
      any a;
      wish w = usual(FARO_CALIBRATION_TIGHT);
      w.settings = own;
      assert_ok(create(&a, kind->protocol, kind, &w, error));
      destroy(&a);
      const double bad[] = {s->least - 1, s->most + 1, (double)NAN};
      for (size_t b = 0; b < 3; b++) {
        faro_error error = {0};
        faro_setting_put(s, own, bad[b]);
        assert_int_equal(create(&a, kind->protocol, kind, &w, &error), FARO_INVALID);
        assert_non_null(strstr(error.message, s->name));
      }
    }
  }
}

static void test_learners__are_deterministic_and_allocate_nothing_while_they_learn(void **state) {
  (void)state;
  FOR_EACH(kind, calibration) {
    double said[2];
    for (int turn = 0; turn < 2; turn++) {
      any a;
      const wish w = usual(calibration);
      assert_ok(create(&a, kind->protocol, kind, &w, error));
      alloc_reset();
      said[turn] = play(&a, kind, 1);
      assert_int_equal(alloc_count(), 0);
      destroy(&a);
    }
    assert_true(said[0] == said[1]);
  }
}

/* No data at all, and sums that no data could have. */
static void test_learners__survive_degenerate_sums(void **state) {
  (void)state;
  const double sizes[] = {0, 1e-200, 1e9};
  FOR_EACH(kind, calibration) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      any a;
      const wish w = usual(calibration);
      assert_ok(create(&a, kind->protocol, kind, &w, error));
      assert_true(isfinite(play(&a, kind, sizes[i])));
      destroy(&a);
    }
  }
}

/* ---- sums that grow by one direction, without noise */

static faro_updater *updater_of(const faro_learner_kind *kind, faro_calibration calibration) {
  const faro_updater_params params = {.dimension = D,
                                      .horizon = 5000,
                                      .releases = 5000,
                                      .norm = 1,
                                      .failure = 0.1,
                                      .reward = 0.5,
                                      .calibration = calibration};
  faro_updater *updater = NULL;
  assert_ok(faro_updater_create(&updater, kind, &params, error));
  return updater;
}

static void assert_same_policy(const faro_policy *a, const faro_policy *b) {
  double size = 0;
  for (size_t i = 0; i < faro_packed(D); i++) size = fmax(size, fabs(b->w[i]));
  assert_close(a->beta, b->beta, 1e-11 * (1 + b->beta));
  for (size_t i = 0; i < D; i++) assert_close(a->theta[i], b->theta[i], 1e-9);
  for (size_t i = 0; i < faro_packed(D); i++) assert_close(a->w[i], b->w[i], 1e-10 * size);
}

static double square_of(const faro_policy *policy, const double *x) {
  faro_policy width = *policy;
  double zero[D] = {0};
  width.theta = zero;
  width.beta = 1;
  return pow(faro_policy_score(&width, x), 2);
}

/* What the policy says of its step, for every arm. */
static void assert_step(const faro_policy *policy, const double *before) {
  const faro_policy_step *step = policy->step;
  for (size_t a = 0; a < ARMS; a++) {
    double x[D];
    double less = 0;
    for (size_t i = 0; i < D; i++) x[i] = features[i * STRIDE + a];
    const double square = square_of(policy, x);
    for (size_t k = 0; step && k < step->rank; k++) {
      double along = 0;
      for (size_t i = 0; i < D; i++) along += step->gain[k * D + i] * x[i];
      less += step->less[k] * along * along;
    }
    if (!step) continue;
    assert_close(square, before[a] - less, 1e-10 * before[a]);
    assert_true(square <= before[a] * step->widen * (1 + 1e-12));
  }
}

static bool is_one_of(const char *name, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(name, names[i]) == 0) return true;
  return false;
}

/* Two learners of one kind see the same sums; only one is told by which direction they grew. The
 * last arm and 20 people at once now and then. Broken once: the vector's error not divided by t;
 * the second gain's sign; log det H not followed. `other_digits` counts policies whose last digits
 * differ: what was followed, and not computed afresh, is rounded otherwise. */
static void follow(const faro_learner_kind *kind, faro_calibration calibration, uint64_t *steps,
                   uint64_t *other_digits) {
  faro_updater *told = updater_of(kind, calibration);
  faro_updater *other = updater_of(kind, calibration);
  faro_sim_rng sim;
  faro_sim_open(&sim, 9, 0, FARO_ROLE_CONTEXT);
  double sum[D * (D + 3) / 2] = {0};
  uint64_t users = 0;
  for (uint64_t t = 1; t <= 2500; t++) {
    const uint64_t people = t % 10 == 0 ? 20 : 1;
    const double root = sqrt((double)people);
    const size_t arm = t % 97 == 0 ? ARMS - 1 : (size_t)(faro_sim_uniform(&sim) * 3);
    const double y = root * (faro_sim_uniform(&sim) - 0.5);
    double x[D];
    double before[ARMS];
    for (size_t i = 0; i < D; i++) x[i] = root * features[i * STRIDE + arm];
    for (size_t i = 0, k = 0; i < D; i++)
      for (size_t j = 0; j <= i; j++) sum[k++] += x[i] * x[j];
    for (size_t i = 0; i < D; i++) sum[faro_packed(D) + i] += x[i] * y;
    for (size_t a = 0; a < ARMS; a++) {
      double here[D];
      for (size_t i = 0; i < D; i++) here[i] = features[i * STRIDE + a];
      before[a] = square_of(faro_updater_policy(told), here);
    }
    users += people;
    faro_statistics statistics = {.sum = sum, .users = users, .releases = t};
    faro_updater_update(other, &statistics);
    statistics.more = t % 500 == 0 ? NULL : x;
    statistics.more_y = y;
    statistics.more_users = people;
    faro_updater_update(told, &statistics);
    assert_same_policy(faro_updater_policy(told), faro_updater_policy(other));
    assert_step(faro_updater_policy(told), before);
    *steps += faro_updater_policy(told)->step != NULL;
    *other_digits += memcmp(faro_updater_policy(told)->w, faro_updater_policy(other)->w,
                            faro_packed(D) * sizeof(double)) != 0;
  }
  faro_updater_destroy(told);
  faro_updater_destroy(other);
}

static void test_learners__follow_one_direction_to_what_they_would_compute(void **state) {
  (void)state;
  for (size_t i = 0; i < faro_learner_count(); i++) {
    const faro_learner_kind *kind = faro_learner_at(i);
    if (kind->protocol != FARO_PROTOCOL_UPDATER) continue;
    for (size_t c = 0; c < sizeof calibrations / sizeof *calibrations; c++) {
      static const char *const followers[] = {"linucb", "lints", "greedy"};
      uint64_t steps = 0;
      uint64_t other_digits = 0;
      if (kind->refuses & 1U << calibrations[c]) continue;
      follow(kind, calibrations[c], &steps, &other_digits);
      if (strcmp(kind->name, "linucb") == 0) assert_true(steps > 2400);
      if (is_one_of(kind->name, followers, sizeof followers / sizeof *followers))
        assert_true(other_digits > 2000);
      else assert_int_equal(other_digits, 0);
    }
  }
}

static void test_learners__survive_exhaustion(void **state) {
  (void)state;
  FOR_EACH(kind, calibration) {
    const wish w = usual(calibration);
    any a = {0};
    faro_status status = FARO_MEMORY;
    for (size_t n = 1; status == FARO_MEMORY && n < 100; n++) {
      faro_error error = {0};
      alloc_fail_at(n);
      status = create(&a, kind->protocol, kind, &w, &error);
      alloc_fail_at(0);
    }
    assert_int_equal(status, FARO_OK);
    destroy(&a);
  }
}

/* After Z over m users, those who follow count as the mean of the newest batch, within [0, 1]. */
static void test_trend__continues_the_newest_batch(void **state) {
  (void)state;
  faro_estimator *e = NULL;
  assert_ok(faro_estimator_create(&e, faro_learner_find("trend"), FARO_CALIBRATION_TIGHT, error));
  assert_close(faro_estimator_at(e, 10), 5, 1e-12); /* nothing is known yet */
  const double sums[] = {-30, -42, 100};            /* over 100, 150 and 250 users */
  const double users[] = {100, 150, 250};
  const double mean[] = {0.2, 0.26, 1}; /* 1.92 in the last batch: noise */
  for (int i = 0; i < 3; i++) {
    const faro_statistics s = {.sum = &sums[i], .users = (uint64_t)users[i]};
    faro_estimator_update(e, &s);
    assert_close(faro_estimator_at(e, (uint64_t)users[i]), sums[i] + users[i] / 2, 1e-12);
    assert_close(faro_estimator_at(e, (uint64_t)users[i] + 40), sums[i] + users[i] / 2 + 40 * mean[i], 1e-9);
  }
  faro_estimator_destroy(e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_trend__continues_the_newest_batch),
      cmocka_unit_test(test_learners__have_names_summaries_and_valid_settings),
      cmocka_unit_test(test_learners__are_created_by_their_own_protocol_only),
      cmocka_unit_test(test_learners__refuse_calibrations_that_they_have_no_rule_for),
      cmocka_unit_test(test_learners__refuse_bad_parameters),
      cmocka_unit_test(test_learners__refuse_settings_out_of_range),
      cmocka_unit_test(test_learners__are_deterministic_and_allocate_nothing_while_they_learn),
      cmocka_unit_test(test_learners__survive_degenerate_sums),
      cmocka_unit_test(test_learners__follow_one_direction_to_what_they_would_compute),
      cmocka_unit_test(test_learners__survive_exhaustion),
  };
  return cmocka_run_group_tests(tests, make_arms, NULL);
}
