/* What an adder adds: each share once, one set of clients for each batch, nothing that is not a
 * share, and the same answer after a restart. And what an analyzer does with sums that cannot
 * be. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "service/adder/adder_state.h"
#include "service/analyzer/applier.h"
#include "support/support.h"
#include "support/scratch.h"

enum { BATCH = 20, DIMENSION = 2 };

typedef struct scene {
  char folder[32], path[64];
  faro_sign_key shuffler;
  faro_applier_keys analyzer;
  faro_adder_keys keys;
  faro_campaign campaign;
  faro_adder_state *state;
  unsigned char *boxes;
} scene;

static void open_state(scene *s, bool known) {
  assert_ok(faro_adder_state_open(&s->state, s->path, &s->campaign, 0, &s->keys, known, error));
}

static void reopen(scene *s) {
  faro_adder_state_close(s->state);
  open_state(s, true);
}

static void found(scene *s) {
  faro_campaign c = {.id = "split",
                     .release = faro_release_kind_find("shuffle-bits"),
                     .arms = 5,
                     .learner = "linucb",
                     .failure = 0.1,
                     .shufflers = 1,
                     .adders = 1};
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_contribution_init(&c.contribution, DIMENSION, 1, -1, 1, error));
  c.params = (faro_release_params){.epsilon = 4,
                                   .delta = 1e-3,
                                   .horizon = 10 * BATCH,
                                   .batch = BATCH,
                                   .level = FARO_LEVEL_USER,
                                   .contributions = 1,
                                   .honest = 0.9,
                                   .calibration = FARO_CALIBRATION_TIGHT};
  memcpy(c.seal, s->analyzer.seal.public_key, FARO_KEY_BYTES);
  snprintf(c.analyzer, sizeof c.analyzer, "http://127.0.0.1:8001");
  snprintf(c.shuffler[0].url, sizeof c.shuffler[0].url, "http://127.0.0.1:8002");
  memcpy(c.shuffler[0].key, s->shuffler.public_key, FARO_KEY_BYTES);
  memcpy(c.adder[0].key, s->keys.sign.public_key, FARO_KEY_BYTES);
  memcpy(c.adder[0].seal, s->keys.seal.public_key, FARO_KEY_BYTES);
  assert_ok(faro_campaign_write(&c, &s->analyzer.sign, &text, &length, error));
  free(text);
  s->campaign = c;
}

static void scene_open(scene *s) {
  *s = (scene){0};
  SCRATCH(s->folder, "adder");
  assert_non_null(mkdtemp(s->folder));
  snprintf(s->path, sizeof s->path, "%s/adder.db", s->folder);
  assert_ok(faro_sign_key_make(&s->analyzer.sign, error));
  assert_ok(faro_seal_key_make(&s->analyzer.seal, error));
  assert_ok(faro_sign_key_make(&s->shuffler, error));
  assert_ok(faro_sign_key_make(&s->keys.sign, error));
  assert_ok(faro_seal_key_make(&s->keys.seal, error));
  found(s);
  s->boxes = malloc((size_t)3 * BATCH * FARO_BOX_BYTES);
  open_state(s, false);
}

static void scene_close(scene *s) {
  static const char *const ends[] = {"", "-wal", "-shm", ".lock"};
  char path[80];
  faro_adder_state_close(s->state);
  free(s->boxes);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    snprintf(path, sizeof path, "%s%s", s->path, ends[i]);
    (void)unlink(path);
  }
  assert_int_equal(rmdir(s->folder), 0);
}

/* Clients send: their boxes go to `boxes`, and their masked shares are added to `totals`. Each has
 * `count` in each entry. */
static void send_reports(const scene *s, uint64_t count, unsigned char *boxes, unsigned char *totals) {
  unsigned char *body = malloc(faro_split_body(&s->campaign)), seed[FARO_SEED_BYTES];
  uint64_t *counts = malloc(s->campaign.entries * sizeof *counts);
  for (size_t i = 0; i < s->campaign.entries; i++) counts[i] = count;
  for (size_t who = 0; who < BATCH; who++) {
    randombytes_buf(seed, sizeof seed);
    assert_ok(faro_split_write(&s->campaign, 0, counts, seed, body, error));
    memcpy(boxes + who * FARO_BOX_BYTES, body + faro_split_packed(&s->campaign), FARO_BOX_BYTES);
    if (totals) faro_split_add(&s->campaign, body, totals);
  }
  free(counts);
  free(body);
}

static faro_status add(const scene *s, uint64_t number, const unsigned char *boxes,
                       faro_adder_answer *answer) {
  const faro_batch batch = {.number = number, .count = BATCH, .body = boxes};
  return faro_adder_add(s->state, &batch, answer, NULL);
}

/* Differencing: the shuffler asks for the same batch with one client exchanged, to compare. */
static void test_adder__a_batch_has_one_set_of_clients(void **state) {
  (void)state;
  scene s;
  faro_adder_answer answer;
  scene_open(&s);
  const size_t size = faro_sum_size(&s.campaign);
  unsigned char *first = malloc(size);
  send_reports(&s, 10, s.boxes, NULL);
  send_reports(&s, 10, s.boxes + BATCH * FARO_BOX_BYTES, NULL);
  assert_int_equal(add(&s, 1, s.boxes, &answer), FARO_INVALID); /* not the next one */
  assert_int_equal(add(&s, 0, s.boxes, &answer), FARO_OK);
  assert_false(answer.known);
  memcpy(first, answer.sum, size);
  for (int again = 0; again < 2; again++) {
    assert_int_equal(add(&s, 0, s.boxes, &answer), FARO_OK); /* the same set, the same bytes */
    assert_true(answer.known);
    assert_memory_equal(answer.sum, first, size);
    assert_int_equal(add(&s, 0, s.boxes + FARO_BOX_BYTES, &answer), FARO_INVALID); /* one exchanged */
    reopen(&s);
  }
  assert_int_equal(faro_adder_state_next(s.state), 1);
  free(first);
  scene_close(&s);
}

/* Nor may a client be in two batches, or twice in one: a copy adds nothing, and the sum says so. */
static void test_adder__adds_each_share_once(void **state) {
  (void)state;
  scene s;
  faro_adder_answer answer;
  scene_open(&s);
  unsigned char *second = s.boxes + BATCH * FARO_BOX_BYTES;
  send_reports(&s, 10, s.boxes, NULL);
  send_reports(&s, 10, second, NULL);
  memcpy(s.boxes, s.boxes + FARO_BOX_BYTES, FARO_BOX_BYTES);
  assert_int_equal(add(&s, 0, s.boxes, &answer), FARO_OK);
  assert_int_equal(answer.left_out, 1);
  reopen(&s);
  memcpy(second, s.boxes, 5 * FARO_BOX_BYTES); /* four different ones */
  second[7 * FARO_BOX_BYTES + 60] ^= 1;
  assert_int_equal(add(&s, 1, second, &answer), FARO_OK);
  assert_int_equal(answer.left_out, 6);
  scene_close(&s);
}

/* A smaller set is refused before a box of it is opened. */
static void test_adder__opens_whole_batches_only(void **state) {
  (void)state;
  scene s;
  scene_open(&s);
  const size_t size = faro_shares_size(BATCH);
  unsigned char *frame = malloc(size);
  faro_error error = {0};
  faro_batch batch = {.count = BATCH - 1, .body = s.boxes};
  send_reports(&s, 10, s.boxes, NULL);
  faro_shares_write(&s.campaign, &batch, &s.shuffler, frame);
  assert_int_equal(faro_shares_read(&s.campaign, frame, faro_shares_size(BATCH - 1), &batch, &error),
                   FARO_INVALID);
  assert_non_null(strstr(error.message, "must have 20 reports (got 19)"));
  free(frame);
  scene_close(&s);
}

static void test_adder__does_not_begin_again_without_its_state(void **state) {
  (void)state;
  scene s;
  faro_error error = {0};
  faro_adder_state *other = NULL;
  faro_campaign stranger;
  scene_open(&s);
  stranger = s.campaign;
  stranger.digest[3] ^= 1;
  faro_adder_state_close(s.state);
  s.state = NULL;
  assert_int_equal(faro_adder_state_open(&other, s.path, &stranger, 0, &s.keys, true, &error), FARO_INVALID);
  assert_non_null(strstr(error.message, "belongs to another campaign or adder"));
  assert_int_equal(unlink(s.path), 0);
  error = (faro_error){0};
  assert_int_equal(faro_adder_state_open(&other, s.path, &s.campaign, 0, &s.keys, true, &error),
                   FARO_INVALID);
  assert_non_null(strstr(error.message, "holds nothing"));
  open_state(&s, false);
  scene_close(&s);
}

/* The analyzer. */

typedef struct receiver {
  char path[80];
  faro_store *store;
  faro_applier *applier;
} receiver;

static void receive(const scene *s, receiver *r, uint64_t number, const unsigned char *boxes,
                    const unsigned char *totals) {
  faro_adder_answer answer;
  faro_receipt receipt = FARO_RECEIPT_BAD;
  bool applied = false;
  const size_t masked = 8 * s->campaign.entries, size = faro_batch_size(&s->campaign, BATCH);
  unsigned char *body = malloc(faro_batch_body(&s->campaign, BATCH)), *frame = malloc(size);
  assert_int_equal(add(s, number, boxes, &answer), FARO_OK);
  memcpy(body, totals, masked);
  memcpy(body + masked, answer.sum, faro_sum_size(&s->campaign));
  const faro_batch batch = {.number = number, .count = BATCH, .body = body};
  faro_batch_write(&s->campaign, &batch, &s->shuffler, frame);
  assert_ok(faro_applier_receive(r->applier, frame, size, &receipt, error));
  assert_int_equal(receipt, FARO_RECEIPT_TAKEN);
  assert_ok(faro_applier_step(r->applier, &applied, error));
  assert_true(applied);
  free(frame);
  free(body);
}

/* One client with nonsense makes the totals of its batch useless. The batch counts as zeros, the
 * budget is charged, and the campaign goes on. */
static void test_analyzer__a_spoiled_batch_counts_as_zeros(void **state) {
  (void)state;
  scene s;
  receiver r = {0};
  scene_open(&s);
  const faro_encoding *e = &s.campaign.encoding[0];
  const uint64_t middle = (uint64_t)(e->least + (e->most - e->least) / 2);
  unsigned char *totals = calloc(s.campaign.entries, 8);
  snprintf(r.path, sizeof r.path, "%s/analyzer.db", s.folder);
  assert_ok(faro_store_open(&r.store, r.path, FARO_READ_WRITE, error));
  assert_ok(faro_applier_create(&r.applier, r.store, &s.campaign, &s.analyzer, error));
  send_reports(&s, middle, s.boxes, totals);
  receive(&s, &r, 0, s.boxes, totals);
  assert_int_equal(faro_applier_snapshot(r.applier).spoiled, 0);
  memset(totals, 0, 8 * s.campaign.entries);
  send_reports(&s, (uint64_t)e->most, s.boxes, totals);
  totals[0]++; /* above what honest reports can have */
  receive(&s, &r, 1, s.boxes, totals);
  assert_int_equal(faro_applier_snapshot(r.applier).spoiled, BATCH);
  memset(totals, 0, 8 * s.campaign.entries);
  send_reports(&s, middle, s.boxes, totals);
  receive(&s, &r, 2, s.boxes, totals);
  assert_int_equal(faro_applier_snapshot(r.applier).spoiled, 0);
  assert_int_equal(faro_applier_snapshot(r.applier).batches, 3);
  faro_applier_destroy(r.applier);
  faro_store_close(r.store);
  char path[96];
  static const char *const ends[] = {"", "-wal", "-shm", ".lock"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    snprintf(path, sizeof path, "%s%s", r.path, ends[i]);
    (void)unlink(path);
  }
  free(totals);
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_adder__a_batch_has_one_set_of_clients),
      cmocka_unit_test(test_adder__adds_each_share_once),
      cmocka_unit_test(test_adder__opens_whole_batches_only),
      cmocka_unit_test(test_adder__does_not_begin_again_without_its_state),
      cmocka_unit_test(test_analyzer__a_spoiled_batch_counts_as_zeros),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
