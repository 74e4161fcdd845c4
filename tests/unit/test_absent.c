/* absent: every public function of learners, agents, releases and studies with what may be left out
 * left out: settings, noise, streams, sources, errors; and with kinds that are missing or of
 * another protocol. The answer is FARO_INVALID or what the header says; nothing crashes (run it
 * under the address sanitizer, too). */
#include "support/support.h"

#include <faro/doubling.h>
#include <faro/gate.h>
#include <faro/message.h>
#include <faro/rounds.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D = 2, ARMS = 3, LENGTH = D * (D + 3) / 2 };

static _Alignas(64) double columns[D * 16] = {1, 0, 0.5, [16] = 0, 1, 0.5};
static const faro_arms arms = {.dimension = D, .count = ARMS, .stride = 16, .x = columns, .version = 1};
static const double x[D] = {0.6, 0.8};

#define REFUSED(call) assert_int_equal((call), FARO_INVALID)

/* Whether a call made its object. What is `good` must be made, and nothing else than refused. */
static bool made(faro_status status, const void *object, bool good) {
  assert_int_equal(status, good ? FARO_OK : FARO_INVALID);
  assert_int_equal(status == FARO_OK, object != NULL);
  return good;
}

/* ---- registries */

static void test_registries__know_where_they_end(void **state) {
  (void)state;
  assert_null(faro_learner_at(faro_learner_count()));
  assert_null(faro_learner_find("nobody"));
  assert_null(faro_learner_find(""));
  assert_null(faro_release_kind_at(faro_release_kinds()));
  assert_null(faro_release_kind_find("nothing"));
  const char *names[FARO_RELEASES_MAX];
  assert_true(faro_release_deployable(names) < faro_release_kinds());
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    const faro_release_kind *kind = faro_release_kind_at(k);
    assert_false(faro_release_kind_calibrates(kind, FARO_CALIBRATION_COUNT));
    assert_false(faro_study_calibrates(kind, FARO_CALIBRATION_COUNT));
    assert_true(!faro_release_kind_counts(kind) || faro_release_kind_exact(kind));
  }
  assert_false(faro_study_takes(NULL));
}

/* Every name leads to its value, and nothing else does. */
#define FINDS(type, list)                                                                                    \
  do {                                                                                                       \
    static const char *const names[] = {list(NAME)};                                                         \
    type value = (type)0;                                                                                    \
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {                                              \
      assert_true(type##_find(names[i], &value));                                                            \
      assert_int_equal(value, i);                                                                            \
    }                                                                                                        \
    assert_false(type##_find("", &value));                                                                   \
    assert_false(type##_find("nothing like it", &value));                                                    \
  } while (0)
#define NAME(id, text, ...) text,

static void test_names__lead_to_values(void **state) {
  (void)state;
  FINDS(faro_trust, FARO_TRUST_LIST);
  FINDS(faro_level, FARO_LEVEL_LIST);
  FINDS(faro_protects, FARO_PROTECTS_LIST);
  FINDS(faro_calibration, FARO_CALIBRATION_LIST);
  FINDS(faro_link, FARO_LINK_LIST);
  FINDS(faro_measure, FARO_MEASURE_LIST);
  FINDS(faro_figure_size, FARO_FIGURE_LIST);
  FINDS(faro_reward, FARO_REWARD_LIST);
  FINDS(faro_draw, FARO_DRAW_LIST);
  faro_actions actions = FARO_ACTIONS_OTHERS;
  assert_true(faro_actions_find("hidden", &actions) && actions == FARO_ACTIONS_HIDDEN);
  assert_true(faro_actions_find("all", &actions) && actions == FARO_ACTIONS_ALL);
  assert_false(faro_actions_find("none", &actions));
}

/* ---- learners: kinds of all protocols, no settings, no noise, no error */

static bool suits(const faro_learner_kind *kind, faro_protocol protocol, faro_calibration calibration) {
  return kind && kind->protocol == protocol && (unsigned)calibration < FARO_CALIBRATION_COUNT &&
         !(kind->refuses & (1U << calibration));
}

static void walk_updater(const faro_learner_kind *kind, faro_calibration calibration) {
  const faro_updater_params bare = {.calibration = calibration};
  const faro_updater_params least = {.dimension = D,
                                     .horizon = 100,
                                     .releases = 10,
                                     .norm = 1,
                                     .failure = 0.1,
                                     .reward = 1,
                                     .calibration = calibration};
  faro_updater *updater = NULL;
  REFUSED(faro_updater_create(&updater, kind, &bare, NULL));
  const faro_status status = faro_updater_create(&updater, kind, &least, NULL);
  if (!made(status, updater, suits(kind, FARO_PROTOCOL_UPDATER, calibration))) return;
  const double sum[LENGTH] = {0};
  const faro_statistics nobody = {.sum = sum};
  assert_int_equal(faro_updater_policy(updater)->version, 1);
  faro_updater_update(updater, &nobody);
  assert_true(isfinite(faro_updater_policy(updater)->beta));
  assert_int_equal(faro_updater_diagnose(updater).updates, 1);
  double *memory = NULL;
  const size_t count = faro_updater_memory(updater, &memory);
  for (size_t i = 0; i < count; i++) assert_true(memory[i] == 0);
  faro_updater_resume(updater, &nobody);
  assert_true(isfinite(faro_updater_policy(updater)->beta));
  faro_updater_destroy(updater);
}

static void walk_estimator(const faro_learner_kind *kind, faro_calibration calibration) {
  faro_estimator *estimator = NULL;
  const faro_status status = faro_estimator_create(&estimator, kind, calibration, NULL);
  if (!made(status, estimator, suits(kind, FARO_PROTOCOL_ESTIMATOR, calibration))) return;
  const double sum = 0;
  const faro_statistics nobody = {.sum = &sum};
  assert_true(isfinite(faro_estimator_at(estimator, 0)));
  assert_true(isfinite(faro_estimator_forecast(estimator).base));
  faro_estimator_update(estimator, &nobody);
  assert_true(isfinite(faro_estimator_at(estimator, 10)));
  assert_int_equal(faro_estimator_diagnose(estimator).updates, 1);
  faro_estimator_destroy(estimator);
}

static void walk_eliminator(const faro_learner_kind *kind, faro_calibration calibration) {
  const faro_eliminator_params bare = {.calibration = calibration};
  const faro_arms none = {.dimension = D};
  const faro_eliminator_params empty = {.arms = &none, .failure = 0.1, .calibration = calibration};
  const faro_eliminator_params least = {
      .arms = &arms, .horizon = 100, .failure = 0.1, .reward = 0.5, .calibration = calibration};
  faro_eliminator *eliminator = NULL;
  REFUSED(faro_eliminator_create(&eliminator, kind, &bare, NULL));
  REFUSED(faro_eliminator_create(&eliminator, kind, &empty, NULL));
  const faro_status status = faro_eliminator_create(&eliminator, kind, &least, NULL);
  if (!made(status, eliminator, suits(kind, FARO_PROTOCOL_ELIMINATOR, calibration))) return;
  const faro_heard silence[ARMS] = {{.count = 1}, {.count = 1}, {.count = 1}};
  const faro_plan *plan = NULL;
  REFUSED(faro_eliminator_hear(eliminator, silence, NULL));
  assert_ok(faro_eliminator_plan(eliminator, &plan, NULL));
  if (!plan->last) assert_ok(faro_eliminator_hear(eliminator, silence, NULL));
  REFUSED(faro_eliminator_extend(eliminator, NULL)); /* it knows its horizon */
  assert_int_equal(faro_eliminator_horizon(eliminator), least.horizon);
  assert_true(faro_eliminator_best(eliminator) < ARMS);
  assert_true(faro_eliminator_holds(eliminator, faro_eliminator_best(eliminator)));
  assert_false(faro_eliminator_holds(eliminator, ARMS));
  assert_true(faro_eliminator_left(eliminator) >= 1);
  assert_true(faro_eliminator_diagnose(eliminator).shifted == 0);
  faro_eliminator_destroy(eliminator);
}

static faro_asker_params glm_params(faro_calibration calibration) {
  return (faro_asker_params){.dimension = D,
                             .horizon = 40,
                             .failure = 0.1,
                             .link = FARO_LINK_LOGISTIC,
                             .bound = 1,
                             .kappa = 10,
                             .offers = ARMS,
                             .calibration = calibration};
}

static void ask_all(faro_asker *asker) {
  double theta[D] = {0};
  faro_question question;
  while (faro_asker_ask(asker, &question)) faro_asker_answer(asker, &(faro_answer){.theta = theta});
}

/* Both, or neither. */
static void walk_elsewhere(faro_asker *asker) {
  double theta[D] = {0};
  double guess[D];
  faro_policy policy;
  const faro_answer answer = {.theta = theta};
  assert_int_equal(faro_asker_publish(asker, &policy), faro_asker_guess(asker, &answer, guess));
}

static void walk_asker(const faro_learner_kind *kind, faro_calibration calibration) {
  const faro_asker_params bare = {.calibration = calibration};
  const faro_asker_params least = glm_params(calibration);
  faro_asker *asker = NULL;
  REFUSED(faro_asker_create(&asker, kind, &bare, NULL));
  const faro_status status = faro_asker_create(&asker, kind, &least, NULL);
  if (!made(status, asker, suits(kind, FARO_PROTOCOL_ASKER, calibration))) return;
  const faro_noise none[FARO_PARTS] = {{.scale = NULL}, {.scale = NULL}};
  const double gram[D * (D + 1) / 2] = {0};
  const faro_statistics nobody[FARO_PARTS] = {{.sum = gram}, {.sum = gram}};
  uint64_t fits[FARO_PARTS] = {0};
  const uint64_t people = faro_asker_term(asker);
  faro_asker_begin(asker, none, fits);
  for (uint64_t t = 0; t < people; t++) assert_true(faro_asker_pick(asker, &arms, 0).arm < ARMS);
  faro_asker_see(asker, nobody);
  walk_elsewhere(asker);
  ask_all(asker);
  (void)faro_asker_term(asker);
  (void)faro_asker_diagnose(asker);
  faro_asker_destroy(asker);
}

static void walk_watcher(const faro_learner_kind *kind, faro_calibration calibration) {
  const faro_watcher_params bare = {.calibration = calibration};
  const faro_watcher_params least = glm_params(calibration);
  faro_watcher *watcher = NULL;
  REFUSED(faro_watcher_create(&watcher, kind, &bare, NULL));
  const faro_status status = faro_watcher_create(&watcher, kind, &least, NULL);
  if (!made(status, watcher, suits(kind, FARO_PROTOCOL_WATCHER, calibration))) return;
  const double zero[D] = {0};
  assert_true(faro_watcher_pick(watcher, &arms) < ARMS);
  faro_watcher_observe(watcher, zero, 0);
  assert_true(faro_watcher_pick(watcher, &arms) < ARMS);
  assert_int_equal(faro_watcher_policy(watcher)->dimension, D);
  assert_int_equal(faro_watcher_diagnose(watcher).updates, 1);
  faro_watcher_destroy(watcher);
}

/* Every kind by every protocol: only its own makes a learner. */
static void test_learners__do_without_settings_noise_and_kind(void **state) {
  (void)state;
  for (size_t k = 0; k <= faro_learner_count(); k++) /* the last one: no kind at all */
    for (int c = 0; c <= FARO_CALIBRATION_COUNT; c++) {
      const faro_learner_kind *kind = faro_learner_at(k);
      walk_updater(kind, (faro_calibration)c);
      walk_estimator(kind, (faro_calibration)c);
      walk_eliminator(kind, (faro_calibration)c);
      walk_asker(kind, (faro_calibration)c);
      walk_watcher(kind, (faro_calibration)c);
    }
  for (size_t k = 0; k < faro_learner_count(); k++) {
    const faro_learner_kind *kind = faro_learner_at(k);
    assert_true(kind->protocol == FARO_PROTOCOL_ELIMINATOR || !faro_eliminator_kind_asks_clients(kind));
    assert_true(kind->protocol == FARO_PROTOCOL_ASKER || faro_asker_kind_studies(kind) == FARO_STUDIES_NONE);
  }
  faro_updater_destroy(NULL);
  faro_estimator_destroy(NULL);
  faro_eliminator_destroy(NULL);
  faro_asker_destroy(NULL);
  faro_watcher_destroy(NULL);
}

static void test_rounds__do_without_sources_and_errors(void **state) {
  (void)state;
  const faro_rounds_params bare = {0};
  const faro_rounds_params least = {.learner = "glm-batched",
                                    .release = "none",
                                    .dimension = D,
                                    .arms = ARMS,
                                    .horizon = 40,
                                    .link = FARO_LINK_LOGISTIC,
                                    .bound = 1};
  faro_rounds *rounds = NULL;
  REFUSED(faro_rounds_create(&rounds, &bare, faro_source_none(), NULL));
  assert_int_equal(faro_rounds_create(&rounds, &least, faro_source_none(), NULL), FARO_OK);
  const double zero[D] = {0};
  assert_true(faro_rounds_terms(rounds, NULL) > 0);
  assert_true(faro_rounds_now(rounds).people > 0);
  assert_int_equal(faro_rounds_policy(rounds)->rule, FARO_RULE_DESIGN);
  assert_true(faro_rounds_at(rounds)[0] == 0);
  assert_null(faro_rounds_sum(rounds));
  assert_non_null(faro_rounds_release(rounds));
  assert_int_equal(faro_rounds_claim(rounds)->trust, FARO_TRUST_NONE);
  assert_int_equal(faro_rounds_absorb(rounds, zero, 0, NULL), FARO_OK); /* nobody draws: nothing happens */
  REFUSED(faro_rounds_analyze(rounds, NULL, 0, NULL));
  unsigned char kept[64];
  assert_true(faro_rounds_state_size(rounds) <= sizeof kept);
  faro_rounds_save(rounds, kept);
  REFUSED(faro_rounds_load(rounds, kept, 0, NULL));
  assert_int_equal(faro_rounds_load(rounds, kept, faro_rounds_state_size(rounds), NULL), FARO_OK);
  faro_rounds_destroy(rounds);
  faro_rounds_destroy(NULL);
  const faro_release_params none = {0};
  assert_int_equal(faro_release_alone(&none, 7).batch, 7);
}

/* ---- selector: no stream, no arms, no policy worth the name */

static void test_selector__does_without_a_stream(void **state) {
  (void)state;
  faro_selector *selector = NULL;
  double theta[D] = {0.1, 0.9};
  double w[D * (D + 1) / 2] = {1, 0, 1};
  const double rows[ARMS * D] = {1, 0, 0, 1, 0.5, 0.5};
  const faro_arms none = {.dimension = D, .stride = 16, .x = columns};
  assert_ok(faro_selector_create(&selector, D, 0, NULL));
  for (int rule = FARO_RULE_WIDTH; rule <= FARO_RULE_OPTIMIST; rule++) {
    const faro_policy policy = {
        .rule = (faro_rule)rule, .dimension = D, .theta = theta, .w = w, .explore = 1};
    assert_int_equal(faro_select(selector, &policy, &arms, NULL), 1); /* and nothing is explored */
    assert_int_equal(faro_select_rows(selector, &policy, rows, ARMS, NULL), 1);
    assert_int_equal(faro_select_rows(selector, &policy, NULL, 0, NULL), 0);
    assert_int_equal(faro_select(selector, &policy, &none, NULL), 0);
  }
  faro_selector_destroy(selector);
  faro_selector_destroy(NULL);
}

/* ---- agent */

static const faro_agent_params usual = {
    .learner = "linucb", .release = "local", .dimension = D, .horizon = 100, .epsilon = 1, .delta = 1e-6};

static void walk_agent(const faro_agent_params *params, bool good) {
  faro_agent *agent = NULL;
  const double rows[ARMS * D] = {1, 0, 0, 1, 0.5, 0.5};
  const faro_status status = faro_agent_create(&agent, params, NULL);
  if (!made(status, agent, good)) return;
  assert_true(faro_agent_choose(agent, rows, ARMS) < ARMS);
  assert_true(faro_agent_choose_from(agent, &arms) < ARMS);
  REFUSED(faro_agent_analyze(agent, NULL, 0, NULL));
  REFUSED(faro_agent_load(agent, NULL, 0, NULL));
  const size_t size = faro_agent_state_size(agent);
  void *kept = malloc(size + 1);
  assert_int_equal(faro_agent_save(agent, kept, NULL) == FARO_OK, size > 0);
  free(kept);
  assert_ok(faro_agent_learn(agent, x, 1, NULL));
  assert_ok(faro_agent_learn_alike(agent, x, 1, 0, NULL));
  assert_non_null(faro_agent_policy(agent));
  assert_non_null(faro_agent_claim(agent));
  assert_true(faro_agent_cost(agent).bits >= 0);
  assert_non_null(faro_agent_statistics(agent).sum);
  assert_non_null(faro_agent_release(agent));
  free(faro_agent_grounds(agent));
  assert_true(faro_agent_batch(agent) >= 1 && faro_agent_batches(agent) <= 1);
  assert_false(faro_agent_done(agent));
  assert_true(faro_agent_diagnose(agent).updates <= 1);
  faro_agent_destroy(agent);
}

/* In whole numbers, for this use. Correlated noise is, where one process plays all parties. */
static bool is_exact(const faro_release_kind *kind, faro_use use) {
  return faro_release_kind_exact(kind) ||
         (kind == &faro_release_central_factored && use == FARO_USE_ALL_PARTIES);
}

static void test_agent__does_without_what_has_a_default(void **state) {
  (void)state;
  const faro_agent_params bare = {0};
  faro_agent *agent = NULL;
  REFUSED(faro_agent_create(&agent, &bare, NULL));
  faro_agent_params params = usual;
  params.learner = NULL;
  REFUSED(faro_agent_create(&agent, &params, NULL));
  params = usual;
  params.release = NULL;
  REFUSED(faro_agent_create(&agent, &params, NULL));
  params = usual;
  params.dimension = 0;
  REFUSED(faro_agent_create(&agent, &params, NULL));
  params = usual;
  params.calibration = "loose";
  REFUSED(faro_agent_create(&agent, &params, NULL));
  for (size_t l = 0; l < faro_learner_count(); l++)
    for (size_t r = 0; r < faro_release_kinds(); r++)
      for (int use = FARO_USE_NONE; use <= FARO_USE_ALL_PARTIES + 1; use++) {
        params = usual;
        params.learner = faro_learner_at(l)->name;
        params.release = faro_release_kind_at(r)->name;
        params.use = (faro_use)use;
        const bool simulated = use == FARO_USE_NONE || use == FARO_USE_SIMULATED;
        const bool deployed = use == FARO_USE_SERVER || use == FARO_USE_ALL_PARTIES;
        const bool good = faro_learner_at(l)->protocol == FARO_PROTOCOL_UPDATER &&
                          (simulated || (deployed && is_exact(faro_release_kind_at(r), params.use)));
        walk_agent(&params, good);
        params.horizon = 0; /* unknown */
        walk_agent(&params, good);
      }
  faro_agent_destroy(NULL);
}

/* ---- releases */

static const faro_release_params hundred = {
    .epsilon = 100, .delta = 0.1, .horizon = 100, .batch = 2, .calibration = FARO_CALIBRATION_TIGHT};

static bool can_be(const faro_release_kind *kind, faro_calibration calibration, faro_source source) {
  if (!kind || !faro_release_kind_calibrates(kind, calibration)) return false;
  if (source.use == FARO_USE_NONE || source.sim) return true;
  /* what is not bits is proven in whole numbers under tight only */
  return source.secure && is_exact(kind, source.use) &&
         (calibration == FARO_CALIBRATION_TIGHT || faro_release_kind_counts(kind));
}

/* What any release answers, whatever it is for. */
static void walk_questions(faro_release *release) {
  double mu = 0;
  double slack = 0;
  int64_t least = 0;
  int64_t most = 0;
  faro_shuffler_task task;
  assert_non_null(faro_release_claim(release));
  const faro_release_kind *kind = faro_release_kind_of(release);
  assert_int_equal(faro_release_noise(release).scale != NULL, kind->trust != FARO_TRUST_NONE);
  assert_int_equal(faro_release_params_of(release)->batch, 2);
  assert_int_equal(faro_release_batch_size(release, faro_release_batches(release)), 0);
  faro_release_seek(release, UINT64_MAX); /* there is no such batch */
  assert_true(faro_release_cost(release).bits >= 0);
  assert_int_equal(faro_release_batch(release), 2);
  assert_true(faro_release_scale(release, 0) >= 0);
  (void)faro_release_gaussian(release, 1, &mu, &slack);
  assert_non_null(faro_release_statistics(release).sum);
  assert_true(faro_release_influence(release) > 0);
  free(faro_release_grounds(release));
  faro_release_linearise(release, NULL); /* only linearised moments have a point */
  for (size_t level = 0; level <= 64; level++) {
    faro_release_range(release, level, &least, &most);
    assert_true(least <= most);
    assert_false(level >= faro_release_shufflers(release) && faro_release_task(release, level, &task));
    assert_null(faro_release_report(release, level));
  }
  assert_true(faro_release_expected(release) >= 1);
  assert_false(faro_release_spent(release));
}

/* R, S, A and whole batches, each as far as the source allows. */
static void walk_steps(faro_release *release, faro_use use) {
  const size_t size = faro_release_message_size(release);
  const size_t count = faro_release_numbers(release, NULL, NULL);
  const bool one = faro_release_shufflers(release) <= 1;
  unsigned char *batch = calloc(2, size);
  double *numbers = calloc(count, sizeof *numbers);
  assert_true(size > 0 && size % sizeof(double) == 0);
  for (size_t i = 0; i < 2; i++)
    assert_int_equal(faro_release_randomize(release, x, 1, batch + i * size, NULL) == FARO_OK,
                     use != FARO_USE_NONE);
  if (use != FARO_USE_NONE && faro_release_kind_exact(faro_release_kind_of(release)))
    faro_release_blank(release, batch);
  assert_int_equal(faro_release_numbers(release, batch, numbers), count);
  for (size_t i = 0; i < count; i++) assert_true(isfinite(numbers[i]));
  const size_t mixed = faro_release_mix(release, batch);
  assert_int_equal(mixed > 0, use != FARO_USE_NONE && one);
  REFUSED(faro_release_analyze(release, NULL, 0, NULL));
  const bool analyzes = mixed > 0 && use != FARO_USE_CLIENT;
  assert_int_equal(faro_release_analyze(release, batch, mixed, NULL) == FARO_OK, analyzes);
  const bool absorbs = use == FARO_USE_SIMULATED || use == FARO_USE_ALL_PARTIES;
  assert_false(faro_release_absorb_alike(release, x, 1, 0));
  (void)faro_release_alike_exactly(release);
  assert_true(faro_release_missing(release) <= 2);
  assert_false(faro_release_absorb(release, x, 1));
  assert_int_equal(faro_release_absorb(release, x, NAN), absorbs); /* the second of two */
  free(batch);
  free(numbers);
}

static void walk_state(faro_release *release) {
  const size_t size = faro_release_state_size(release);
  void *kept = calloc(1, size + 1);
  REFUSED(faro_release_load(release, NULL, 0, NULL));
  REFUSED(faro_release_load(release, kept, size, NULL));
  assert_int_equal(faro_release_save(release, kept, NULL) == FARO_OK, size > 0);
  free(kept);
}

static void walk_release(const faro_release_kind *kind, faro_calibration calibration, faro_source source) {
  faro_contribution moments;
  faro_release_params params = hundred;
  faro_release *release = NULL;
  params.calibration = calibration;
  assert_ok(faro_contribution_init(&moments, D, 1, 0, 1, NULL));
  const faro_status status = faro_release_create(&release, kind, &moments, &params, source, NULL);
  if (!made(status, release, can_be(kind, calibration, source))) return;
  walk_questions(release);
  walk_state(release);
  walk_steps(release, source.use);
  faro_release_destroy(release);
}

static void walk_doubling(const faro_release_kind *kind, bool anytime, faro_source source) {
  faro_contribution moments;
  faro_release_params params = hundred;
  faro_doubling *doubling = NULL;
  params.anytime = anytime;
  params.horizon = 8;
  assert_ok(faro_contribution_init(&moments, D, 1, 0, 1, NULL));
  const faro_status status = faro_doubling_create(&doubling, kind, &moments, &params, source, NULL);
  if (!made(status, doubling, can_be(kind, FARO_CALIBRATION_TIGHT, source))) return;
  const size_t size = faro_doubling_state_size(doubling);
  void *kept = calloc(1, size + 1);
  REFUSED(faro_doubling_next(doubling, NULL));
  REFUSED(faro_doubling_analyze(doubling, NULL, 0, NULL));
  REFUSED(faro_doubling_load(doubling, NULL, 0, NULL));
  assert_int_equal(faro_doubling_save(doubling, kept, NULL) == FARO_OK, size > 0);
  free(kept);
  assert_non_null(faro_doubling_release(doubling));
  assert_int_equal(faro_doubling_horizon(doubling), 8);
  free(faro_doubling_grounds(doubling, 8));
  assert_non_null(faro_doubling_statistics(doubling).sum);
  assert_int_equal(faro_doubling_noise(doubling).scale != NULL, kind->trust != FARO_TRUST_NONE);
  assert_true(faro_doubling_scale(doubling, 0) >= 0);
  const bool absorbs = source.use == FARO_USE_SIMULATED || source.use == FARO_USE_ALL_PARTIES;
  faro_doubling_linearise(doubling, NULL);
  for (int i = 0; i < 7; i++) (void)faro_doubling_absorb(doubling, x, 1);
  (void)faro_doubling_absorb_alike(doubling, x, 1, 1);
  assert_int_equal(faro_doubling_spent(doubling), absorbs);
  assert_int_equal(faro_doubling_next(doubling, NULL) == FARO_OK, absorbs && anytime);
  faro_doubling_destroy(doubling);
}

static void test_releases__do_without_streams_sources_and_kinds(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_secure_rng *secure = NULL;
  faro_sim_open(&sim, 1, 0, FARO_ROLE_USER);
  assert_ok(faro_secure_open(&secure, error));
  const faro_source sources[] = {faro_source_none(),
                                 faro_source_simulated(&sim),
                                 faro_source_client(secure),
                                 faro_source_server(secure),
                                 faro_source_all_parties(secure),
                                 faro_source_simulated(NULL),
                                 faro_source_client(NULL),
                                 faro_source_server(NULL),
                                 faro_source_all_parties(NULL),
                                 {.use = FARO_USE_ALL_PARTIES + 1}};
  for (size_t k = 0; k <= faro_release_kinds(); k++) /* the last one: no kind at all */
    for (size_t s = 0; s < sizeof sources / sizeof *sources; s++) {
      const faro_release_kind *kind = faro_release_kind_at(k);
      for (int c = 0; c <= FARO_CALIBRATION_COUNT; c++) walk_release(kind, (faro_calibration)c, sources[s]);
      walk_doubling(kind, false, sources[s]);
      walk_doubling(kind, true, sources[s]);
    }
  faro_secure_close(secure);
  faro_release_destroy(NULL);
  faro_doubling_destroy(NULL);
}

static void test_releases__refuse_to_be_made_of_nothing(void **state) {
  (void)state;
  const faro_contribution shapeless = {.dimension = 0};
  const faro_release_params bare = {.epsilon = 0};
  faro_contribution moments;
  faro_release *release = NULL;
  faro_doubling *doubling = NULL;
  assert_ok(faro_contribution_init(&moments, D, 1, 0, 1, NULL));
  for (size_t k = 0; k < faro_release_kinds(); k++) {
    const faro_release_kind *kind = faro_release_kind_at(k);
    REFUSED(faro_release_create(&release, kind, &moments, &bare, faro_source_none(), NULL));
    REFUSED(faro_release_create(&release, kind, &shapeless, &hundred, faro_source_none(), NULL));
    REFUSED(faro_doubling_create(&doubling, kind, &moments, &bare, faro_source_none(), NULL));
    REFUSED(faro_doubling_create(&doubling, kind, &shapeless, &hundred, faro_source_none(), NULL));
  }
  assert_true(faro_doubling_first(&bare) > 0);
}

/* ---- gate */

static void test_gate__does_without_an_error(void **state) {
  (void)state;
  faro_gate *gate = NULL;
  REFUSED(faro_gate_create(&gate, 0, 1, NULL));
  REFUSED(faro_gate_create(&gate, 1, 0, NULL));
  assert_ok(faro_gate_create(&gate, 1, 1, NULL));
  REFUSED(faro_gate_admit(gate, 1, 0, NULL));
  assert_ok(faro_gate_admit(gate, 0, 0, NULL));
  REFUSED(faro_gate_admit(gate, 0, 1, NULL));
  faro_gate_destroy(gate);
  faro_gate_destroy(NULL);
}

/* ---- rows: no file, no roles, no error */

static void test_rows__do_without_an_error(void **state) {
  (void)state;
  const faro_rows_params nothing = {0};
  const faro_rows_params bare = {.file = "tests/data/people.csv"};
  const faro_rows_params least = {.file = "tests/data/people.csv", .label = "class", .ignore = "city"};
  faro_rows *rows = NULL;
  faro_row_reader *reader = NULL;
  const faro_row *row = NULL;
  REFUSED(faro_rows_open(&rows, &nothing, NULL));
  REFUSED(faro_rows_open(&rows, &bare, NULL));
  faro_rows_close(NULL);
  faro_row_reader_destroy(NULL);
  assert_int_equal(faro_rows_open(&rows, &least, NULL), FARO_OK);
  assert_int_equal(faro_rows_facts_of(rows)->rows, 120);
  assert_int_equal(faro_row_reader_create(&reader, rows, NULL), FARO_OK);
  assert_int_equal(faro_row_seek(reader, 0), 1);
  assert_int_equal(faro_row_next(reader, &row, NULL), FARO_OK);
  assert_non_null(row);
  faro_row_reader_destroy(reader);
  faro_rows_close(rows);
}

/* ---- study */

static const faro_study_params ten = {.link = FARO_LINK_LOGISTIC,
                                      .dimension = D,
                                      .norm = 1,
                                      .reward = 1,
                                      .steepest = 1,
                                      .people = 10,
                                      .horizon = 10,
                                      .failure = 0.1,
                                      .epsilon = 1,
                                      .delta = 1e-6};

static void walk_study(const faro_release_kind *kind, faro_calibration calibration, faro_sim_rng *sim) {
  const faro_study_params bare = {.calibration = calibration};
  faro_study_params params = ten;
  faro_study *study = NULL;
  params.calibration = calibration;
  REFUSED(faro_study_create(&study, kind, &bare, sim, NULL));
  const faro_status status = faro_study_create(&study, kind, &params, sim, NULL);
  if (!made(status, study, faro_study_calibrates(kind, calibration))) return;
  double theta[D] = {0};
  const uint64_t none[FARO_PARTS] = {0};
  faro_answer answer = {.theta = theta};
  const faro_question plain = {.region = {.radius = 1}, .start = theta};
  REFUSED(faro_study_fit(study, &(faro_question){.part = FARO_PARTS}, &answer, NULL));
  REFUSED(faro_study_fit(study, &plain, &answer, NULL)); /* before anything is allowed */
  assert_false(faro_study_add(study, x, 1, 0, 1));
  assert_ok(faro_study_allow(study, none, NULL));
  REFUSED(faro_study_allow(study, none, NULL));
  assert_false(faro_study_add(study, x, 1, FARO_PARTS, 1));
  (void)faro_study_add(study, x, 1, 0, NAN);
  REFUSED(faro_study_fit(study, &plain, &answer, NULL)); /* none is left */
  for (unsigned part = 0; part <= FARO_PARTS; part++) {
    const bool there = part < FARO_PARTS;
    assert_int_equal(faro_study_left(study, part), 0);
    assert_int_equal(faro_study_sum(study, part).sum != NULL, there);
    assert_int_equal(faro_study_noise(study, part).scale != NULL, there && kind->trust != FARO_TRUST_NONE);
  }
  assert_non_null(faro_study_claim(study));
  free(faro_study_grounds(study));
  assert_true(faro_study_cost(study).bits >= 0);
  assert_true(faro_study_batch(study) >= 1);
  double noise = 1;
  REFUSED(faro_study_predict(study, 0, &noise, NULL)); /* no fit was allowed */
  faro_study_destroy(study);
}

static void test_studies__do_without_streams_kinds_and_fits(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 1, 0, FARO_ROLE_USER);
  for (size_t k = 0; k <= faro_release_kinds(); k++)
    for (int c = 0; c <= FARO_CALIBRATION_COUNT; c++) {
      walk_study(faro_release_kind_at(k), (faro_calibration)c, NULL);
      walk_study(faro_release_kind_at(k), (faro_calibration)c, &sim);
    }
  faro_study_destroy(NULL);
}

/* ---- evaluation: nothing but what is required, no error, no rows */

static void test_evaluators__do_without_rows_models_and_errors(void **state) {
  (void)state;
  const faro_evaluator_params bare = {0};
  const faro_evaluator_params least = {.arms = 1, .high = 1};
  const faro_logged nothing = {0};
  faro_evaluator *evaluator = NULL;
  REFUSED(faro_evaluator_create(&evaluator, &bare, NULL));
  assert_ok(faro_evaluator_create(&evaluator, &least, NULL));
  REFUSED(faro_evaluator_add(evaluator, &nothing, NULL)); /* a propensity of 0 */
  faro_evaluation result;
  faro_evaluator_result(evaluator, &result);
  assert_int_equal(result.rows, 0);
  char text[FARO_DOUBT_SIZE];
  assert_string_equal(faro_evaluation_doubt(&result, FARO_DOUBTS, text), "");
  faro_evaluator_destroy(evaluator);
  faro_evaluator_destroy(NULL);
  assert_null(faro_method_name(FARO_METHODS));
  assert_null(faro_method_meaning(FARO_METHODS));
  assert_null(faro_bounds_name((faro_bounds)99));
  assert_null(faro_silence_text((faro_silence)99));
}

static void test_models__do_without_features_and_rows(void **state) {
  (void)state;
  const faro_reward_model_params bare = {0};
  const faro_reward_model_params least = {.arms = 1, .high = 1};
  faro_reward_model *model = NULL;
  double mean = -1;
  REFUSED(faro_reward_model_create(&model, &bare, NULL));
  assert_ok(faro_reward_model_create(&model, &least, NULL));
  faro_reward_model_predict(model, 0, NULL, &mean); /* before it was fitted */
  assert_true(mean == 0);
  faro_reward_model_learn(model, 0, 0, NULL, 1);
  faro_reward_model_fit(model);
  faro_reward_model_predict(model, 0, NULL, &mean);
  assert_true(mean >= 0 && mean <= 1);
  faro_reward_model_destroy(model);
  faro_reward_model_destroy(NULL);
}

static void test_private_evaluators__do_without_rows_and_errors(void **state) {
  (void)state;
  faro_sim_rng sim;
  faro_sim_open(&sim, 1, 0, FARO_ROLE_USER);
  const faro_private_evaluator_params bare = {0};
  const faro_private_evaluator_params least = {.epsilon = 1,
                                               .delta = 1e-6,
                                               .kind = faro_evaluate_kind(FARO_TRUST_JOINT),
                                               .high = 1,
                                               .clip = 1,
                                               .contributions = 1};
  faro_private_evaluator *evaluator = NULL;
  faro_private_evaluation result = {0};
  const faro_logged nothing = {0};
  REFUSED(faro_private_evaluator_create(&evaluator, &bare, faro_source_simulated(&sim), NULL));
  assert_ok(faro_private_evaluator_create(&evaluator, &least, faro_source_simulated(&sim), NULL));
  REFUSED(faro_private_evaluator_finish(evaluator, &result, NULL)); /* nobody came */
  assert_null(faro_private_evaluator_grounds(evaluator));
  assert_ok(faro_private_evaluator_add(evaluator, &nothing, NULL)); /* its values are no reason to refuse */
  char text[FARO_DOUBT_SIZE];
  assert_string_equal(faro_private_evaluation_doubt(&result, FARO_DOUBTS, text), "");
  faro_private_evaluator_destroy(evaluator);
  faro_private_evaluator_destroy(NULL);
}

/* ---- several processes, and environments of a program's own: no error, no options, no folder */

static void test_shards__do_without_errors_and_folders(void **state) {
  (void)state;
  static const char text[] = "environment: {name: linear-fixed, dimension: 3, arms: 5}\nhorizon: 20\n"
                             "algorithms: [{learner: linucb, release: none}]\n";
  faro_experiment *experiment = NULL;
  faro_experiment *again = NULL;
  faro_shard_list list = {0};
  size_t shard = 0;
  size_t shards = 0;
  char path[8];
  assert_ok(faro_experiment_parse(&experiment, "a.yaml", text, sizeof text - 1, NULL, error));
  REFUSED(faro_shard_read("", &shard, &shards, NULL));
  assert_int_equal(faro_shard_keep(experiment, "/no/such/folder", NULL), FARO_SYSTEM);
  REFUSED(faro_shard_recall(&again, "/no/such/folder", NULL, NULL));
  REFUSED(faro_shard_find(&list, "/no/such/folder", NULL));
  faro_shard_clear(&list);
  assert_int_equal(faro_shard_journal("folder", 0, 0, path, sizeof path), 24);
  assert_string_equal(path, "folder/");
  REFUSED(faro_world_register(NULL, NULL));
  REFUSED(faro_world_register(&(faro_world){0}, NULL));
  faro_experiment_destroy(experiment);
}

/* ---- nothing is left out */

static char *read_whole(const char *path) {
  static char text[1 << 18];
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

/* Every function that these headers declare is called above. */
static void test_absent__walks_every_function(void **state) {
  (void)state;
  static const char *const headers[] = {
      "learner", "updater",  "estimator", "eliminator", "asker", "watcher", "agent", "selector", "release",
      "message", "doubling", "gate",      "study",      "rows",  "shard",   "world", "evaluate"};
  char *own = strdup(read_whole("tests/unit/test_absent.c"));
  size_t functions = 0;
  for (size_t h = 0; h < sizeof headers / sizeof *headers; h++) {
    char path[64];
    snprintf(path, sizeof path, "include/faro/%s.h", headers[h]);
    for (const char *at = read_whole(path); (at = strstr(at, "\nFARO_API ")); at++) {
      const char *end = at + strcspn(at, "(;");
      const char *start = end;
      while (start > at && (isalnum((unsigned char)start[-1]) || start[-1] == '_')) start--;
      char call[96];
      snprintf(call, sizeof call, "%.*s(", (int)(end - start), start);
      if (*end == '(' && !strstr(own, call)) fail_msg("%s of %s is not called here", call, path);
      functions++;
    }
  }
  free(own);
  assert_true(functions > 90);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_registries__know_where_they_end),
      cmocka_unit_test(test_names__lead_to_values),
      cmocka_unit_test(test_learners__do_without_settings_noise_and_kind),
      cmocka_unit_test(test_rounds__do_without_sources_and_errors),
      cmocka_unit_test(test_selector__does_without_a_stream),
      cmocka_unit_test(test_agent__does_without_what_has_a_default),
      cmocka_unit_test(test_releases__do_without_streams_sources_and_kinds),
      cmocka_unit_test(test_releases__refuse_to_be_made_of_nothing),
      cmocka_unit_test(test_gate__does_without_an_error),
      cmocka_unit_test(test_rows__do_without_an_error),
      cmocka_unit_test(test_studies__do_without_streams_kinds_and_fits),
      cmocka_unit_test(test_evaluators__do_without_rows_models_and_errors),
      cmocka_unit_test(test_models__do_without_features_and_rows),
      cmocka_unit_test(test_private_evaluators__do_without_rows_and_errors),
      cmocka_unit_test(test_shards__do_without_errors_and_folders),
      cmocka_unit_test(test_absent__walks_every_function),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
