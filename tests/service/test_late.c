/* Late rewards, with a real analyzer and a real shuffler: choices are reported 0 to 50 batches
 * after they were made, over restarts of clients and roles. Every report is accepted, every
 * released total is the sum of what was reported, and the claim is that of the first day
 * (docs/privacy.md, "Late rewards"). */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faro/queue.h>

#include "base/text.h"
#include "service/client/client_send.h"
#include "support/support.h"
#include "trial/record.h"
#include "trial/trial.h"

enum { CLIENTS = 5, BATCH = 4, BATCHES = 54, WAIT = 50, D = 2, ENTRIES = D * (D + 3) / 2 };
/* The last client makes a report, and posts it when its batch has closed long ago. */
enum { SLOW = 4, MADE = 40, POSTED = 45 };

static faro_trial trial;
static faro_sender *sender;
static char directory[] = "/tmp/faro-late-XXXXXX";
static uint64_t ones[BATCHES][ENTRIES]; /* of the reports that were acknowledged, by their batch */
static uint64_t delays[WAIT + 1];       /* how many were acknowledged after each delay */

/* A person's device, as it is between two restarts. */
typedef struct device {
  faro_queue *queue;
  faro_client *client;
} device;

static void start_device(device *v, size_t who) {
  char path[64];
  snprintf(path, sizeof path, "%s/state-%zu", directory, who);
  faro_client_params params = {.signer = trial.sign.public_key,
                               .token = trial.tokens + who * FARO_TOKEN_BYTES,
                               .epsilon = 100,
                               .delta = 1e-3,
                               .trust = "shuffle",
                               .user_level = true};
  assert_ok(faro_queue_open(&v->queue, &(faro_queue_params){.path = path}, error));
  faro_queue_restore(v->queue, &params);
  assert_ok(faro_client_open(&v->client, &params, error));
  assert_ok(faro_client_campaign(v->client, trial.document, trial.document_length, error));
}

static void stop_device(device *v) {
  faro_client_close(v->client);
  faro_queue_close(v->queue);
}

/* Waits until the analyzer has published this version. */
static void load_policy(device *v, uint64_t version) {
  char url[FARO_URL_MAX + 1];
  bool fresh = false;
  faro_trial_url(&trial, 0, "", url);
  while (faro_client_version(v->client) < version || !fresh)
    assert_ok(faro_client_fetch_policy(v->client, sender, url, version - 1, true, &fresh, error));
  assert_int_equal(faro_client_version(v->client), version);
}

/* Posts a part; returns the status, and the answer in *sent. */
static void post(const faro_queue_post *part, faro_sent *sent) {
  assert_ok(faro_send_post(sender, part->url, part->bytes, part->length, sent, error));
}

static void count_ones(const faro_queue_post *part) {
  faro_wire_report report;
  assert_ok(faro_wire_report_read(&trial.campaign, part->bytes, part->length, &report, error));
  for (size_t i = 0; i < ENTRIES; i++) ones[report.version - 1][i] += faro_load32(report.body + 4 * i);
}

/* Delivers the one report that this device can make now. Its answer may get lost, and then the
 * device is restarted and sends the same bytes. */
static void deliver(device *v, size_t who, uint64_t version, bool lost) {
  faro_queue_post part;
  faro_sent sent;
  faro_reply reply;
  assert_ok(faro_queue_next(v->queue, v->client, &part, error));
  assert_non_null(part.url);
  post(&part, &sent);
  if (lost) {
    stop_device(v);
    start_device(v, who);
    assert_ok(faro_queue_next(v->queue, v->client, &part, error)); /* with no policy at hand */
    post(&part, &sent);
    assert_int_equal(sent.bytes[0], FARO_VERDICT_KNOWN);
  }
  assert_int_equal(faro_wire_report_head(part.bytes).version, version);
  count_ones(&part);
  assert_ok(faro_queue_answer(v->queue, v->client, sent.status, sent.bytes, sent.length, 0, &reply, error));
  assert_int_equal(reply.kind, FARO_REPLY_DONE);
  assert_ok(faro_queue_next(v->queue, v->client, &part, error));
  assert_null(part.url); /* once a batch */
}

/* How long the reward waits that a client reports under `version`. */
static uint64_t delay_of(size_t who, uint64_t version) {
  const uint64_t wanted[] = {0, 17, WAIT, version * 7 % (WAIT + 1)};
  return wanted[who] < version ? wanted[who] : version - 1;
}

/* Makes all choices of this version, for the reports to come. */
static void choose(device *v, size_t who, uint64_t version) {
  for (uint64_t later = version; later <= BATCHES; later++) {
    char id[16];
    size_t arm = 0;
    const double angle = (double)(version + 7 * who);
    const double arms[2 * D] = {0.8 * cos(angle), 0.6, 0.8 * sin(angle), -0.6};
    if (later - delay_of(who, later) != version) continue;
    snprintf(id, sizeof id, "%" PRIu64, later);
    assert_ok(faro_client_choose(v->client, arms, 2, &arm, error));
    assert_ok(faro_queue_keep(v->queue, v->client, id, arms + arm * D, error));
  }
}

static void take_turn(size_t who, uint64_t version) {
  device v;
  char id[16];
  start_device(&v, who);
  load_policy(&v, version);
  choose(&v, who, version);
  if (who != 0 || version != POSTED) { /* then the slow one takes this place */
    snprintf(id, sizeof id, "%" PRIu64, version);
    assert_ok(faro_queue_reward(v.queue, v.client, id, (double)(version % 3) / 2, error));
    deliver(&v, who, version, (version + who) % 9 == 0);
    delays[delay_of(who, version)]++;
  }
  stop_device(&v);
}

/* The slow one's report is stale when it arrives. It is made again, with a new number. */
static void make_slow(void) {
  device v;
  faro_queue_post part;
  const double x[D] = {0.6, 0.8};
  start_device(&v, SLOW);
  load_policy(&v, MADE);
  assert_ok(faro_queue_add(v.queue, v.client, MADE, x, 1, error));
  assert_ok(faro_queue_next(v.queue, v.client, &part, error));
  assert_int_equal(faro_client_sequence(v.client), 1);
  stop_device(&v);
}

static void post_slow(void) {
  device v;
  faro_queue_post part;
  faro_sent sent;
  faro_reply reply;
  start_device(&v, SLOW);
  load_policy(&v, POSTED);
  assert_ok(faro_queue_next(v.queue, v.client, &part, error));
  assert_int_equal(faro_wire_report_head(part.bytes).version, MADE);
  post(&part, &sent);
  assert_ok(faro_queue_answer(v.queue, v.client, sent.status, sent.bytes, sent.length, 0, &reply, error));
  assert_int_equal(reply.refusal, FARO_REFUSAL_STALE);
  deliver(&v, SLOW, POSTED, false);
  assert_int_equal(faro_client_sequence(v.client), 2);
  delays[POSTED - MADE]++;
  stop_device(&v);
}

/* 51 batches are more than this campaign allows, and nothing is used up. */
static void check_too_late(void) {
  device v;
  faro_queue_post part;
  const double x[D] = {0.6, 0.8};
  start_device(&v, SLOW);
  load_policy(&v, WAIT + 2);
  const uint64_t before = faro_client_sequence(v.client);
  assert_ok(faro_queue_add(v.queue, v.client, 1, x, 1, error));
  assert_ok(faro_queue_next(v.queue, v.client, &part, error));
  assert_null(part.url);
  assert_int_equal(faro_queue_count(v.queue).late, 1);
  assert_int_equal(faro_client_sequence(v.client), before);
  stop_device(&v);
}

/* In the middle of a batch. */
static void restart_roles(int signal) {
  for (size_t role = 0; role < 2; role++) (void)faro_child_end(&trial.child[role], signal, 20);
  assert_ok(faro_trial_start_all(&trial, error));
}

static void play(void) {
  for (uint64_t version = 1; version <= BATCHES; version++) {
    if (version == MADE) make_slow();
    if (version == WAIT + 2) check_too_late();
    for (size_t who = 0; who < SLOW; who++) {
      take_turn(who, version);
      if (who == 1 && version % 18 == 0) restart_roles(version == 18 ? SIGKILL : SIGTERM);
    }
    if (version == POSTED) post_slow();
  }
}

/* Every total that the analyzer got is the sum of the reports for that batch, each counted once. */
static void check_totals(void) {
  faro_record *record = NULL;
  for (size_t role = 0; role < 2; role++) faro_relay_stop(trial.relay[role]);
  assert_false(faro_relay_overflowed(trial.relay[0]));
  assert_ok(faro_record_create(&record, &trial, error));
  assert_int_equal(faro_record_batches(record, 0), BATCHES);
  for (uint64_t b = 0; b < BATCHES; b++) {
    uint64_t total[ENTRIES] = {0};
    faro_record_totals(record, 0, b, b + 1, total);
    assert_memory_equal(total, ones[b], sizeof total);
    assert_int_equal(faro_record_batch(record, 0, b)->count, BATCH);
  }
  faro_record_destroy(record);
}

/* The claim of the first day, all batches charged, and no more spent than was promised. */
static void check_claim(const faro_claim *first) {
  char url[FARO_URL_MAX + 1], charged[64], spent[96], number[2][FARO_NUMBER_SIZE];
  faro_sent sent;
  device v;
  faro_client_terms terms;
  start_device(&v, 0); /* recomputes the claim */
  load_policy(&v, BATCHES + 1);
  assert_true(faro_client_over(v.client));
  assert_true(faro_client_terms_of(v.client, &terms));
  assert_true(terms.epsilon == first->epsilon && terms.delta == first->delta && terms.wait == WAIT);
  stop_device(&v);
  assert_ok(faro_send_get(sender, faro_trial_url(&trial, 0, "/v1/campaign", url), &sent, error));
  assert_int_equal(sent.length, trial.document_length);
  assert_memory_equal(sent.bytes, trial.document, sent.length);
  assert_ok(faro_send_get(sender, faro_trial_url(&trial, 0, "/v1/ledger", url), &sent, error));
  snprintf(charged, sizeof charged, "\"batches\":{\"charged\":%d,\"allowed\":%d}", BATCHES, BATCHES);
  snprintf(spent, sizeof spent, "\"spent\":{\"epsilon\":%s,\"delta\":%s",
           faro_short(first->epsilon, number[0]), faro_short(first->delta, number[1]));
  assert_non_null(strstr(sent.bytes, charged));
  assert_non_null(strstr(sent.bytes, spent));
}

static void test_late__rewards_after_up_to_50_batches_count_once_under_the_same_claim(void **state) {
  (void)state;
  const faro_trial_params params = {.command = FARO_COMMAND,
                                    .directory = directory,
                                    .release = "shuffle-bits",
                                    .dimension = D,
                                    .arms = 2,
                                    .clients = CLIENTS,
                                    .batch = BATCH,
                                    .batches = BATCHES,
                                    .contributions = BATCHES,
                                    .wait = WAIT,
                                    .epsilon = 8,
                                    .delta = 1e-3,
                                    .honest = 0.9,
                                    .norm = 1,
                                    .high = 1,
                                    .keep = (size_t)1 << 22};
  assert_non_null(mkdtemp(directory));
  assert_ok(faro_trial_create(&trial, &params, error));
  assert_ok(faro_trial_start_all(&trial, error));
  assert_ok(faro_sender_create(&sender, &(faro_sender_params){0}, error));
  const faro_claim first = trial.campaign.claim;
  play();
  check_claim(&first);
  uint64_t all = 0, different = 0;
  for (size_t i = 0; i <= WAIT; i++) all += delays[i], different += delays[i] > 0;
  assert_int_equal(all, BATCH * BATCHES);
  assert_true(delays[0] > 0 && delays[WAIT] > 0 && different > 40);
  check_totals();
  faro_sender_destroy(sender);
  faro_trial_destroy(&trial);
  faro_trial_remove(directory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_late__rewards_after_up_to_50_batches_count_once_under_the_same_claim),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
