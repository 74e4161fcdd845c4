/* terms: a campaign in rounds, with devices, spool and applier in one process. */
#include "support/handover.h"
#include "support/support.h"
#include "support/scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <faro/client.h>

#include "service/analyzer/applier.h"
#include "service/analyzer/campaign_ledger.h"
#include "service/state/spool.h"

static faro_error why;

#define assert_refused(call, word)                                                                           \
  do {                                                                                                       \
    why = (faro_error){0};                                                                                   \
    assert_int_equal(call, FARO_INVALID);                                                                    \
    if (!strstr(why.message, word)) fail_msg("no \"%s\" in: %s", word, why.message);                         \
  } while (0)

enum { D = 3, ARMS = 8, PEOPLE = 4000 };
static const double truth[D] = {1.2, -0.8, 0.5};

/* A device: its token's place, and what it keeps. */
typedef struct person {
  uint64_t sequence, chosen; /* reports so far; version under which it chose */
  double x[D], y;
} person;

typedef struct scene {
  char folder[64], database[96], state[96], hashes[96];
  faro_applier_keys keys;
  faro_sign_key shuffler;
  unsigned char *tokens;
  faro_campaign campaign;
  char *document;
  size_t length;
  faro_store *store;
  faro_applier *applier;
  faro_learning *twin;
  faro_spool *spool;
  faro_client *client;
  person person[PEOPLE];
  size_t next; /* who has not come yet */
  faro_sim_rng rng;
} scene;

static faro_campaign draft(const scene *s, const char *release, uint64_t fits) {
  faro_campaign c = {.id = "scene",
                     .learner = "glm-batched",
                     .release = faro_release_kind_find(release),
                     .params = {.epsilon = 4,
                                .delta = 1e-6,
                                .horizon = 10000,
                                .level = FARO_LEVEL_USER,
                                .contributions = fits + 1,
                                .calibration = FARO_CALIBRATION_TIGHT},
                     .centre = 0.5,
                     .arms = ARMS,
                     .failure = 0.1,
                     .analyzer = "http://127.0.0.1:1",
                     .shufflers = strncmp(release, "shuffle", 7) == 0,
                     .shuffler = {{.url = "http://127.0.0.1:2"}},
                     .rounds = {.link = FARO_LINK_LOGISTIC, .bound = 2, .fits = fits}};
  memcpy(c.seal, s->keys.seal.public_key, sizeof c.seal);
  memcpy(c.shuffler[0].key, s->shuffler.public_key, FARO_KEY_BYTES);
  assert_ok(faro_contribution_init(&c.contribution, D, 1, -0.5, 0.5, error));
  return c;
}

static void open_roles(scene *s) {
  const faro_spool_params spool = {.path = s->state, .tokens = s->hashes, .campaign = &s->campaign};
  assert_ok(faro_store_open(&s->store, s->database, FARO_READ_WRITE, error));
  assert_ok(faro_applier_create(&s->applier, s->store, &s->campaign, &s->keys, error));
  assert_ok(faro_spool_open(&s->spool, &spool, error));
}

static void close_roles(scene *s) {
  faro_spool_close(s->spool);
  faro_applier_destroy(s->applier);
  faro_store_close(s->store);
}

static void take_policy(scene *s) {
  const faro_applier_view view = faro_applier_snapshot(s->applier);
  assert_ok(faro_client_policy(s->client, view.policy, view.length, error));
}

static faro_client *open_client(const scene *s) {
  faro_client *client = NULL;
  const faro_client_params params = {.signer = s->keys.sign.public_key,
                                     .token = s->tokens,
                                     .epsilon = 4,
                                     .delta = 1e-6,
                                     .trust = "joint",
                                     .honest = 1};
  assert_ok(faro_client_open(&client, &params, error));
  assert_ok(faro_client_campaign(client, s->document, s->length, error));
  return client;
}

static scene *open_scene(const char *release, uint64_t fits) {
  char path[96];
  size_t count = 0;
  scene *s = calloc(1, sizeof *s);
  assert_non_null(s);
  SCRATCH(s->folder, "rounds");
  assert_non_null(mkdtemp(s->folder));
  snprintf(s->database, sizeof s->database, "%s/db", s->folder);
  snprintf(s->state, sizeof s->state, "%s/state", s->folder);
  snprintf(s->hashes, sizeof s->hashes, "%s/hashes", s->folder);
  snprintf(path, sizeof path, "%s/tokens", s->folder);
  assert_ok(faro_tokens_make(path, s->hashes, PEOPLE, error));
  assert_ok(faro_tokens_load(path, &s->tokens, &count, error));
  assert_ok(faro_sign_key_make(&s->keys.sign, error));
  assert_ok(faro_seal_key_make(&s->keys.seal, error));
  assert_ok(faro_sign_key_make(&s->shuffler, error));
  faro_sim_open(&s->rng, 1, 0, FARO_ROLE_USER);
  s->campaign = draft(s, release, fits);
  assert_ok(faro_learning_complete(&s->campaign, error));
  assert_ok(faro_campaign_write(&s->campaign, &s->keys.sign, &s->document, &s->length, error));
  faro_campaign read;
  assert_ok(faro_campaign_open(&read, s->document, s->length, s->keys.sign.public_key, error));
  assert_int_equal(read.batches, s->campaign.batches);
  open_roles(s);
  assert_ok(faro_learning_create(&s->twin, &s->campaign, NULL, 0, error));
  s->client = open_client(s);
  take_policy(s);
  return s;
}

static void close_scene(scene *s) {
  char command[128];
  close_roles(s);
  faro_client_close(s->client);
  faro_learning_destroy(s->twin);
  free(s->tokens);
  free(s->document);
  snprintf(command, sizeof command, "rm -r '%s'", s->folder);
  assert_int_equal(system(command), 0);
  free(s);
}

static double dot(const double *a, const double *b) {
  double sum = 0;
  for (size_t i = 0; i < D; i++) sum += a[i] * b[i];
  return sum;
}

/* Chooses and plays. Returns the regret. */
static double play(scene *s, person *p) {
  double features[ARMS * D], best = 0;
  size_t arm = 0;
  for (size_t i = 0; i < ARMS * D; i++) features[i] = (2 * faro_sim_uniform(&s->rng) - 1) / sqrt(D);
  assert_ok(faro_client_choose(s->client, features, ARMS, &arm, error));
  for (size_t a = 0; a < ARMS; a++)
    best = fmax(best, faro_link_mean(FARO_LINK_LOGISTIC, dot(truth, features + a * D)));
  memcpy(p->x, features + arm * D, sizeof p->x);
  const double mean = faro_link_mean(FARO_LINK_LOGISTIC, dot(truth, p->x));
  p->y = faro_sim_uniform(&s->rng) < mean;
  p->chosen = faro_client_version(s->client);
  return best - mean;
}

/* What the shuffler says to a person's report. */
static faro_verdict post(scene *s, size_t who, const unsigned char *frame) {
  faro_wire_report report;
  assert_ok(faro_wire_report_read(&s->campaign, frame, faro_wire_report_size(&s->campaign), &report, error));
  faro_spool_entry entry = {.version = report.version, .sequence = report.sequence, .body = report.body};
  faro_token_hash(s->tokens + who * FARO_TOKEN_BYTES, entry.hash);
  assert_ok(faro_spool_begin(s->spool, error));
  assert_ok(faro_spool_accept(s->spool, &entry, error));
  assert_ok(faro_spool_commit(s->spool, error));
  return entry.verdict;
}

static faro_verdict report(scene *s, size_t who) {
  unsigned char frame[1024];
  size_t parts = 0;
  person *p = &s->person[who];
  assert_true(faro_wire_report_size(&s->campaign) <= sizeof frame);
  assert_ok(faro_client_report_late(s->client, p->chosen, p->x, p->y, frame, &parts, error));
  assert_int_equal(parts, 1);
  faro_wire_report_restamp(frame, faro_client_version(s->client), ++p->sequence,
                           s->tokens + who * FARO_TOKEN_BYTES);
  return post(s, who, frame);
}

/* Everybody of the open round reports: in a fit, every other person of the term comes back, and new
 * people take the places of those who do not. */
static void fill_round(scene *s) {
  const uint64_t size = faro_campaign_size(&s->campaign, 0, faro_client_version(s->client) - 1);
  uint64_t came = 0;
  for (size_t who = 0; who < s->next && came < size; who += 2)
    if (faro_client_again(s->client, s->person[who].chosen)) {
      assert_int_equal(report(s, who), FARO_VERDICT_ACCEPTED);
      came++;
    }
  for (; came < size; came++) {
    assert_true(s->next < PEOPLE);
    (void)play(s, &s->person[s->next]);
    assert_int_equal(report(s, s->next++), FARO_VERDICT_ACCEPTED);
  }
}

/* The closed batch goes to the analyzer, which applies it. */
static void hand_over(scene *s) {
  hand_over_batch(&(faro_handover){.campaign = &s->campaign,
                                   .mixing = &s->campaign,
                                   .seal = &s->keys.seal,
                                   .shuffler = &s->shuffler,
                                   .spool = s->spool,
                                   .applier = s->applier,
                                   .twin = s->twin});
}

/* The applier's state and document are those of the twin. */
static void assert_twins(const scene *s) {
  const faro_applier_view view = faro_applier_snapshot(s->applier);
  unsigned char *bytes = NULL, *others = NULL;
  size_t length = 0, other = 0, written = 0;
  char *text = NULL;
  assert_ok(faro_learning_save(s->twin, &bytes, &length, error));
  assert_ok(faro_learning_save(faro_applier_learning(s->applier), &others, &other, error));
  assert_int_equal(length, other);
  assert_memory_equal(bytes, others, length);
  assert_ok(faro_learning_document(s->twin, &s->keys.sign, &text, &written, error));
  assert_int_equal(written, view.length);
  assert_memory_equal(text, view.policy, written);
  free(bytes);
  free(others);
  free(text);
}

/* A whole campaign, with roles that start again before every round. Returns whether people regret
 * less at its end. */
static bool play_campaign(const char *release, uint64_t fits) {
  scene *s = open_scene(release, fits);
  const bool twins = s->campaign.release->trust != FARO_TRUST_JOINT; /* else the analyzer draws the noise */
  double regret = 0, first = 0;
  enum { REST = 300 };
  person visitor;
  for (int i = 0; i < REST; i++) first += play(s, &visitor);
  for (uint64_t round = 0; round < s->campaign.batches; round++) {
    assert_false(faro_client_over(s->client));
    fill_round(s);
    hand_over(s);
    if (twins) assert_twins(s);
    close_roles(s);
    open_roles(s);
    if (twins) assert_twins(s);
    take_policy(s);
    assert_int_equal(faro_client_version(s->client), round + 2);
  }
  assert_true(faro_client_over(s->client));
  assert_true(faro_learning_done(faro_applier_learning(s->applier)));
  for (int i = 0; i < REST; i++) regret += play(s, &visitor);
  close_scene(s);
  return regret < 0.7 * first;
}

/* The noise is drawn by the operating system, anew in every run. In one campaign of a hundred it
 * may be so large that nothing is learnt: five in a row are a false alarm of 1e-10. The median of
 * what is left of the regret is 0.03; of 450 campaigns, none had more than 0.5. */
static void assert_learns(const char *release, uint64_t fits) {
  bool learnt = false;
  for (int i = 0; i < 5 && !learnt; i++) learnt = play_campaign(release, fits);
  assert_true(learnt);
}

static void test_rounds__learn_through_a_shuffler(void **state) {
  (void)state;
  assert_learns("shuffle-bits", 0);
  assert_learns("shuffle-bits", 1);
  (void)play_campaign("shuffle-response", 0);
}

static void test_rounds__learn_without_a_shuffler(void **state) {
  (void)state;
  assert_learns("central-bits", 2);
}

/* Who may report, and when. */
static void test_rounds__admit_each_person_as_often_as_the_claim_says(void **state) {
  (void)state;
  scene *s = open_scene("shuffle-bits", 1);
  assert_false(faro_client_again(s->client, 0));
  assert_false(faro_client_again(s->client, 1)); /* chosen under this very policy */
  (void)play(s, &s->person[0]);
  assert_int_equal(report(s, 0), FARO_VERDICT_ACCEPTED);
  assert_int_equal(report(s, 0), FARO_VERDICT_TWICE); /* in this round already */
  s->next = 1;
  const uint64_t size = faro_campaign_size(&s->campaign, 0, 0);
  unsigned char stale[1024];
  size_t parts = 0;
  assert_ok(faro_client_report(s->client, s->person[0].x, 1, stale, &parts, error));
  faro_wire_report_restamp(stale, 1, 9, s->tokens + (PEOPLE - 1) * FARO_TOKEN_BYTES);
  for (uint64_t i = 1; i < size; i++) {
    (void)play(s, &s->person[s->next]);
    assert_int_equal(report(s, s->next++), FARO_VERDICT_ACCEPTED);
  }
  hand_over(s);
  take_policy(s);
  assert_true(faro_client_again(s->client, 1)); /* the fit of the same term */
  assert_false(faro_client_again(s->client, 2));
  assert_int_equal(post(s, PEOPLE - 1, stale), FARO_VERDICT_STALE); /* linearised at another point */
  fill_round(s);
  hand_over(s);
  take_policy(s);
  assert_false(faro_client_again(s->client, 1));      /* another term */
  assert_int_equal(report(s, 0), FARO_VERDICT_SPENT); /* it was in both rounds of the first */
  close_scene(s);
}

/* What the ledger says after m rounds of M0 is enough for mu^2 m / M0, and all of it at the end. */
static void test_ledger__charges_rounds_by_their_share(void **state) {
  (void)state;
  scene *s = open_scene("shuffle-bits", 3);
  faro_release *release = NULL;
  assert_ok(faro_campaign_example(&s->campaign, faro_source_none(), &release, error));
  const double mu = 2 / faro_release_noise(release).scale[D * (D + 1) / 2]; /* of one round */
  double last = 0;
  for (uint64_t m = 1; m <= 6; m++) {
    const faro_debit debit = faro_ledger_debit(&s->campaign, release, m - 1);
    const double rounds = m < 4 ? (double)m : 4;
    assert_true(debit.epsilon >= faro_gaussian_epsilon(mu * sqrt(rounds), 1e-6));
    assert_true(debit.epsilon >= last);
    assert_int_equal(debit.rounds, (uint64_t)rounds);
    last = debit.epsilon;
    if (m == 1) assert_true(debit.epsilon < 0.6 * s->campaign.claim.epsilon);
  }
  assert_true(last == s->campaign.claim.epsilon);
  faro_release_destroy(release);
  close_scene(s);
}

/* Campaigns and settings that are refused. */

static faro_status sign(const scene *s, faro_campaign c) {
  char *text = NULL;
  size_t length = 0;
  const faro_status status = faro_campaign_write(&c, &s->keys.sign, &text, &length, &why);
  free(text);
  return status;
}

static void test_campaigns__in_rounds_have_bounds(void **state) {
  (void)state;
  scene *s = open_scene("shuffle-bits", 1);
  faro_campaign c = s->campaign;
  c.params.contributions = 1;
  assert_refused(sign(s, c), "contributions");
  c = s->campaign;
  c.arms = 5000;
  assert_refused(sign(s, c), "arms");
  c = s->campaign;
  c.rounds.terms = 0;
  assert_refused(sign(s, c), "terms");
  c = s->campaign;
  c.release = faro_release_kind_find("shuffle-amplified");
  assert_refused(sign(s, c), "release");
  c = s->campaign;
  c.contribution.high = 2;
  assert_refused(sign(s, c), "bounds");
  c = s->campaign;
  c.rounds.term[0].size = 1;
  assert_refused(sign(s, c), "");
  c = s->campaign;
  assert_int_equal(sign(s, c), FARO_OK);
  close_scene(s);
}

static void test_settings__of_rounds_are_checked(void **state) {
  (void)state;
  scene *s = open_scene("shuffle-bits", 1);
  const faro_campaign good = draft(s, "shuffle-bits", 1);
  faro_campaign c = good;
  c.rounds.link = FARO_LINK_LINEAR;
  assert_refused(faro_learning_complete(&c, &why), "link");
  c = good;
  c.rounds.bound = 0;
  assert_refused(faro_learning_complete(&c, &why), "bound");
  c = good;
  c.params.batch = 100;
  assert_refused(faro_learning_complete(&c, &why), "batch");
  c = good;
  c.centre = 0;
  assert_refused(faro_learning_complete(&c, &why), "low");
  c = good;
  snprintf(c.learner, sizeof c.learner, "linucb");
  assert_refused(faro_learning_complete(&c, &why), "rounds");
  c = good;
  snprintf(c.learner, sizeof c.learner, "glm-joint"); /* needs everybody's data at one place */
  assert_refused(faro_learning_complete(&c, &why), "learner");
  close_scene(s);
}

/* A policy without a point is refused in rounds, and one of another campaign too. */
static void test_client__wants_policies_with_a_point(void **state) {
  (void)state;
  scene *s = open_scene("shuffle-bits", 0);
  double theta[D] = {0}, w[D * (D + 1) / 2] = {1, 0, 1, 0, 0, 1};
  const faro_policy policy = {.rule = FARO_RULE_WIDTH, .dimension = D, .theta = theta, .w = w, .version = 1};
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_policy_document_write(&policy, s->campaign.digest, &s->keys.sign, &text, &length, error));
  assert_refused(faro_client_policy(s->client, text, length, &why), "point");
  free(text);
  const faro_policy wrong = {.rule = FARO_RULE_SAMPLE, .dimension = D, .theta = theta, .w = w, .version = 1};
  assert_refused(
      faro_policy_document_write_at(&wrong, theta, s->campaign.digest, &s->keys.sign, &text, &length, &why),
      "rule");
  close_scene(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rounds__learn_through_a_shuffler),
      cmocka_unit_test(test_rounds__learn_without_a_shuffler),
      cmocka_unit_test(test_rounds__admit_each_person_as_often_as_the_claim_says),
      cmocka_unit_test(test_ledger__charges_rounds_by_their_share),
      cmocka_unit_test(test_campaigns__in_rounds_have_bounds),
      cmocka_unit_test(test_settings__of_rounds_are_checked),
      cmocka_unit_test(test_client__wants_policies_with_a_point),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
