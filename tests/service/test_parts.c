/* A shuffler in n parts without processes, and once with them: what its collectors hand over is,
 * when it is joined, what one shuffler would have sent; nothing leaves before; nothing counts
 * twice. */
#define _GNU_SOURCE
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "service/http/sender.h"
#include "service/state/spool.h"
#include "support/support.h"
#include "support/scratch.h"
#include "trial/crowd.h"

enum { CLIENTS = 400, BATCHES = 40 };

typedef struct world {
  char folder[64], hashes[96];
  faro_campaign campaign;
  unsigned char *tokens;
  size_t collectors, body;
  faro_sign_key joiner, key[FARO_COLLECTORS_MAX];
  faro_collector_key public_key[FARO_COLLECTORS_MAX];
  faro_spool *whole, *joins, *collects[FARO_COLLECTORS_MAX];
} world;

static const char *path_of(const world *w, const char *name, size_t i, char out[static 128]) {
  snprintf(out, 128, "%s/%s-%zu", w->folder, name, i);
  return out;
}

static faro_spool *open_spool(const world *w, const char *name, size_t i, faro_spool_part part) {
  char path[128];
  faro_spool *spool = NULL;
  const faro_spool_params params = {
      .path = path_of(w, name, i, path), .tokens = w->hashes, .campaign = &w->campaign, .part = part};
  assert_ok(faro_spool_open(&spool, &params, error));
  return spool;
}

static faro_spool_part part_of(const world *w, size_t i) {
  return (faro_spool_part){.collectors = w->collectors, .collector = i};
}

static faro_spool_part joiner_of(const world *w) {
  return (faro_spool_part){.collectors = w->collectors, .joins = true};
}

/* A campaign that is filled in directly: no test here depends on its noise. */
static void begin(world *w, const char *release, uint64_t batch, size_t collectors) {
  char path[128];
  size_t count = 0;
  *w = (world){.collectors = collectors};
  SCRATCH(w->folder, "parts");
  assert_non_null(mkdtemp(w->folder));
  snprintf(w->hashes, sizeof w->hashes, "%s/hashes", w->folder);
  assert_ok(faro_tokens_make(path_of(w, "tokens", 0, path), w->hashes, CLIENTS, error));
  assert_ok(faro_tokens_load(path, &w->tokens, &count, error));
  faro_campaign *c = &w->campaign;
  strcpy(c->id, "parts");
  memset(c->digest, 7, sizeof c->digest);
  c->release = faro_release_kind_find(release);
  assert_ok(faro_contribution_init(&c->contribution, 1, 1, 0, 1, error));
  c->params.batch = batch;
  c->batches = BATCHES;
  c->shufflers = 1;
  c->entries = c->contribution.length;
  c->encodings = 1;
  c->encoding[0].size = batch;
  c->encoding[0].most = UINT32_MAX;
  w->body = faro_wire_report_size(c) - FARO_REPORT_HEAD;
  assert_ok(faro_sign_key_make(&w->joiner, error));
  for (size_t i = 0; i < collectors; i++) {
    assert_ok(faro_sign_key_make(&w->key[i], error));
    memcpy(w->public_key[i], w->key[i].public_key, FARO_KEY_BYTES);
  }
}

static void open_all(world *w) {
  w->whole = open_spool(w, "whole", 0, (faro_spool_part){0});
  w->joins = open_spool(w, "joiner", 0, joiner_of(w));
  for (size_t i = 0; i < w->collectors; i++) w->collects[i] = open_spool(w, "collector", i, part_of(w, i));
}

static void end(world *w) {
  char command[128];
  faro_spool_close(w->whole);
  faro_spool_close(w->joins);
  for (size_t i = 0; i < w->collectors; i++) faro_spool_close(w->collects[i]);
  free(w->tokens);
  snprintf(command, sizeof command, "rm -rf %s", w->folder);
  assert_int_equal(system(command), 0);
}

static size_t collector_of(const world *w, size_t client) {
  unsigned char hash[FARO_HASH_BYTES];
  faro_token_hash(w->tokens + client * FARO_TOKEN_BYTES, hash);
  return faro_collector_of(hash, w->collectors);
}

static faro_verdict accept_one(const world *w, faro_spool *spool, size_t client, uint64_t number) {
  unsigned char body[512] = {0};
  assert_true(w->body <= sizeof body);
  for (size_t i = 0; i + 4 <= w->body; i += 4)
    faro_store32(body + i, (uint32_t)(client * 7919 + number * 104729 + i));
  faro_spool_entry entry = {.version = number + 1, .sequence = number + 1, .body = body};
  faro_token_hash(w->tokens + client * FARO_TOKEN_BYTES, entry.hash);
  assert_ok(faro_spool_begin(spool, error));
  assert_ok(faro_spool_accept(spool, &entry, error));
  assert_ok(faro_spool_commit(spool, error));
  return entry.verdict;
}

/* What the joiner makes of the oldest portion of a collector, over the wire. */
static faro_joined hand_over(const world *w, size_t i) {
  faro_batch batch = {0};
  faro_portion portion = {.collector = (uint32_t)i, .collectors = (uint32_t)w->collectors}, read;
  faro_joined joined = FARO_JOINED_OTHER;
  assert_ok(faro_spool_next(w->collects[i], &batch, error));
  assert_true(batch.count > 0);
  portion.batch = batch;
  const size_t size = faro_portion_bytes(&w->campaign, batch.count);
  unsigned char *frame = malloc(size);
  char notice[FARO_PORTION_DIGITS + 1];
  faro_portion_mark(&w->campaign, &portion, &w->key[i]);
  faro_portion_notice(&w->campaign, &portion, &w->key[i], notice);
  assert_ok(
      faro_portion_notice_read(&w->campaign, 0, w->public_key, w->collectors, notice, strlen(notice), error));
  assert_ok(faro_portion_write(&w->campaign, &portion, w->joiner.public_key, &w->key[i], frame, error));
  assert_ok(faro_portion_read(&w->campaign, 0, &w->joiner, w->public_key, w->collectors, frame, size, &read,
                              error));
  assert_ok(faro_spool_join(w->joins, &read, &joined, error));
  free(frame);
  faro_spool_wipe(w->collects[i], &batch);
  return joined;
}

/* The same reports for one shuffler and for its collectors: their portions fill. */
static void fill(const world *w, uint64_t number) {
  const uint64_t size = faro_campaign_size(&w->campaign, 0, number);
  uint64_t left[FARO_COLLECTORS_MAX], sum = 0;
  for (size_t i = 0; i < w->collectors; i++) sum += left[i] = faro_portion_size(size, i, w->collectors);
  assert_int_equal(sum, size);
  for (size_t client = 0; client < CLIENTS; client++) {
    const size_t i = collector_of(w, client);
    if (left[i] == 0) continue;
    left[i]--;
    assert_int_equal(accept_one(w, w->collects[i], client, number), FARO_VERDICT_ACCEPTED);
    assert_int_equal(accept_one(w, w->whole, client, number), FARO_VERDICT_ACCEPTED);
  }
}

static size_t body_size;
static int by_bytes(const void *a, const void *b) { return memcmp(a, b, body_size); }

/* Bodies are in a random order: compared as a set, each as often. */
static void assert_same(const world *w, const faro_batch *a, const faro_batch *b) {
  const bool bits = faro_campaign_form(&w->campaign) == FARO_WIRE_BITS;
  const size_t length = bits ? 8 * w->campaign.entries : a->count * w->body;
  assert_int_equal(a->number, b->number);
  assert_int_equal(a->count, b->count);
  unsigned char *left = malloc(length), *right = malloc(length);
  memcpy(left, a->body, length);
  memcpy(right, b->body, length);
  body_size = w->body;
  if (!bits) assert_memory_not_equal(left, right, length);
  if (!bits) qsort(left, a->count, w->body, by_bytes);
  if (!bits) qsort(right, b->count, w->body, by_bytes);
  assert_memory_equal(left, right, length);
  free(left);
  free(right);
}

static void join_and_compare(const char *release, size_t collectors) {
  world w;
  begin(&w, release, 101, collectors); /* not a multiple of 2 or 4 */
  open_all(&w);
  for (uint64_t number = 0; number < 2; number++) {
    fill(&w, number);
    faro_batch joined = {0}, whole = {0};
    for (size_t i = collectors; i-- > 0;) { /* in any order; nothing leaves before the last one */
      assert_ok(faro_spool_next(w.joins, &joined, error));
      assert_int_equal(joined.count, 0);
      assert_int_equal(hand_over(&w, i), FARO_JOINED_KEPT);
      assert_int_equal(hand_over(&w, i), FARO_JOINED_KNOWN); /* its answer was lost */
      assert_ok(faro_spool_forget(w.collects[i], number, error));
    }
    assert_ok(faro_spool_next(w.joins, &joined, error));
    assert_ok(faro_spool_next(w.whole, &whole, error));
    assert_same(&w, &joined, &whole);
    faro_spool_wipe(w.joins, &joined);
    faro_spool_wipe(w.whole, &whole);
    assert_ok(faro_spool_forget(w.joins, number, error));
    assert_ok(faro_spool_forget(w.whole, number, error));
  }
  end(&w);
}

static void test_parts__a_joined_batch_is_that_of_one_shuffler(void **state) {
  (void)state;
  static const size_t counts[] = {1, 2, 4};
  for (size_t i = 0; i < 3; i++) {
    join_and_compare("shuffle-bits", counts[i]);
    join_and_compare("shuffle-gaussian", counts[i]);
  }
}

/* Portions of two reports each, always the same way: all 24 orders of the batch must be equally
 * likely, also those that mix the portions. */
static void test_parts__all_orders_of_a_joined_batch_are_equally_likely(void **state) {
  (void)state;
  enum { RUNS = 2400, ORDERS = 24 };
  world w;
  begin(&w, "shuffle-gaussian", 4, 2);
  w.campaign.batches = RUNS;
  w.joins = open_spool(&w, "joiner", 0, joiner_of(&w));
  double observed[ORDERS] = {0}, expected[ORDERS];
  unsigned char *bodies = calloc(4, w.body);
  for (uint64_t i = 0; i < 4; i++) faro_store64(bodies + i * w.body, i);
  for (uint64_t run = 0; run < RUNS; run++) {
    faro_batch batch = {0};
    faro_joined joined = FARO_JOINED_OTHER;
    for (uint32_t i = 0; i < 2; i++) {
      const faro_portion portion = {.collector = i,
                                    .collectors = 2,
                                    .batch = {.number = run, .count = 2, .body = bodies + 2 * i * w.body}};
      assert_ok(faro_spool_join(w.joins, &portion, &joined, error));
      assert_int_equal(joined, FARO_JOINED_KEPT);
    }
    assert_ok(faro_spool_next(w.joins, &batch, error));
    size_t order = 0; /* Lehmer code */
    for (size_t i = 0; i < 4; i++) {
      size_t smaller = 0;
      for (size_t j = i + 1; j < 4; j++)
        smaller += faro_load64(batch.body + j * w.body) < faro_load64(batch.body + i * w.body);
      order = order * (4 - i) + smaller;
    }
    observed[order]++;
    faro_spool_wipe(w.joins, &batch);
    assert_ok(faro_spool_forget(w.joins, run, error));
  }
  for (size_t i = 0; i < ORDERS; i++) expected[i] = (double)RUNS / ORDERS;
  unseeded(true);
  assert_chi_square(observed, expected, ORDERS);
  unseeded(false);
  free(bodies);
  end(&w);
}

/* Processes may end between any two steps. */
static void reopen(world *w, size_t i) {
  faro_spool_close(w->joins);
  faro_spool_close(w->collects[i]);
  w->joins = open_spool(w, "joiner", 0, joiner_of(w));
  w->collects[i] = open_spool(w, "collector", i, part_of(w, i));
}

static void test_parts__a_portion_counts_once_over_restarts(void **state) {
  (void)state;
  world w;
  begin(&w, "shuffle-bits", 40, 2);
  open_all(&w);
  for (uint64_t number = 0; number < 3; number++) {
    fill(&w, number);
    for (size_t i = 0; i < 2; i++) {
      reopen(&w, i);
      assert_int_equal(hand_over(&w, i), FARO_JOINED_KEPT);
      reopen(&w, i); /* before the collector has heard of it */
      assert_int_equal(hand_over(&w, i), FARO_JOINED_KNOWN);
      assert_ok(faro_spool_forget(w.collects[i], number, error));
      reopen(&w, i);
    }
    faro_batch joined = {0}, whole = {0};
    assert_ok(faro_spool_next(w.joins, &joined, error));
    assert_ok(faro_spool_next(w.whole, &whole, error));
    assert_same(&w, &joined, &whole);
    faro_spool_wipe(w.joins, &joined);
    faro_spool_wipe(w.whole, &whole);
    assert_ok(faro_spool_forget(w.joins, number, error));
    assert_ok(faro_spool_forget(w.whole, number, error));
  }
  uint64_t next[FARO_COLLECTORS_MAX];
  faro_spool_expected(w.joins, next);
  assert_int_equal(next[0], 3);
  assert_int_equal(next[1], 3);
  end(&w);
}

/* A portion that is made up, of any contents. */
static faro_joined offer(const world *w, uint32_t collector, uint64_t number, unsigned char mark) {
  unsigned char totals[64] = {0};
  faro_joined joined = FARO_JOINED_KEPT;
  assert_true(8 * w->campaign.entries <= sizeof totals);
  faro_portion portion = {.collector = collector,
                          .collectors = (uint32_t)w->collectors,
                          .batch = {.number = number, .count = 20, .body = totals},
                          .mark = {mark}};
  assert_ok(faro_spool_join(w->joins, &portion, &joined, error));
  return joined;
}

static void test_parts__portions_come_in_order_and_not_too_far_ahead(void **state) {
  (void)state;
  world w;
  begin(&w, "shuffle-bits", 40, 2);
  w.joins = open_spool(&w, "joiner", 0, joiner_of(&w));
  assert_int_equal(offer(&w, 0, 1, 1), FARO_JOINED_OTHER);
  assert_int_equal(offer(&w, 0, 0, 1), FARO_JOINED_KEPT);
  assert_int_equal(offer(&w, 0, 0, 2), FARO_JOINED_OTHER); /* the same number with other contents */
  assert_int_equal(offer(&w, 0, 1, 3), FARO_JOINED_KEPT);
  assert_int_equal(offer(&w, 0, 0, 1), FARO_JOINED_OTHER); /* long ago */
  assert_int_equal(offer(&w, 0, 2, 4), FARO_JOINED_LATER); /* the other collector is two behind */
  assert_int_equal(faro_spool_snapshot(w.joins).held, 20);
  assert_int_equal(offer(&w, 1, 0, 5), FARO_JOINED_KEPT);
  assert_int_equal(faro_spool_snapshot(w.joins).number, 1);
  assert_int_equal(faro_spool_snapshot(w.joins).held, 20); /* in the batch that is open now */
  assert_int_equal(offer(&w, 1, 0, 5), FARO_JOINED_KNOWN); /* joined meanwhile */
  assert_int_equal(offer(&w, 1, 0, 6), FARO_JOINED_OTHER);
  assert_int_equal(offer(&w, 1, 1, 7), FARO_JOINED_KEPT);
  assert_int_equal(offer(&w, 0, 2, 8), FARO_JOINED_LATER); /* two batches wait for the analyzer */
  assert_ok(faro_spool_forget(w.joins, 0, error));
  assert_int_equal(offer(&w, 0, 2, 8), FARO_JOINED_KEPT);
  end(&w);
}

/* One of two collectors has stopped, so no batch is joined and there is no new policy. The other
 * one must not refuse for good what is made under the newest policy that there is. */
static void test_parts__a_collector_that_is_ahead_refuses_nothing_for_good(void **state) {
  (void)state;
  world w;
  begin(&w, "shuffle-bits", 40, 2);
  open_all(&w);
  size_t late = CLIENTS;
  for (uint64_t number = 0; number < 2; number++) {
    uint64_t left = faro_portion_size(40, 0, 2);
    for (size_t client = 0; client < CLIENTS; client++) {
      if (collector_of(&w, client) != 0) continue;
      if (left == 0) late = client;
      else if (accept_one(&w, w.collects[0], client, number) == FARO_VERDICT_ACCEPTED) left--;
    }
    assert_int_equal(hand_over(&w, 0), FARO_JOINED_KEPT);
    assert_ok(faro_spool_forget(w.collects[0], number, error));
  }
  assert_true(late < CLIENTS);
  const faro_spool_state joiner = faro_spool_snapshot(w.joins);
  assert_int_equal(joiner.first, 0);
  faro_spool_heard(w.collects[0], joiner.first);
  assert_int_equal(faro_spool_snapshot(w.collects[0]).number, 2);
  assert_int_equal(faro_spool_snapshot(w.collects[0]).waiting, 0);
  assert_int_equal(accept_one(&w, w.collects[0], late, 0), FARO_VERDICT_CLOSED); /* under policy 1 */
  faro_spool_heard(w.collects[0], 1); /* now there is policy 2, and then 3 */
  assert_int_equal(accept_one(&w, w.collects[0], late, 0), FARO_VERDICT_STALE);
  faro_spool_heard(w.collects[0], 2);
  assert_int_equal(accept_one(&w, w.collects[0], late, 0), FARO_VERDICT_STALE);
  assert_int_equal(accept_one(&w, w.collects[0], late, 2), FARO_VERDICT_ACCEPTED);
  end(&w);
}

/* What was collected belongs to a number of collectors. */
static void test_parts__the_number_of_collectors_cannot_change(void **state) {
  (void)state;
  world w;
  begin(&w, "shuffle-bits", 40, 2);
  faro_spool_close(open_spool(&w, "state", 0, part_of(&w, 0)));
  static const faro_spool_part others[] = {
      {0}, {.collectors = 4}, {.collectors = 2, .collector = 1}, {.collectors = 2, .joins = true}};
  for (size_t i = 0; i < 4; i++) {
    char path[128];
    faro_spool *spool = NULL;
    faro_error error = {0};
    const faro_spool_params params = {.path = path_of(&w, "state", 0, path),
                                      .tokens = w.hashes,
                                      .campaign = &w.campaign,
                                      .part = others[i]};
    assert_int_equal(faro_spool_open(&spool, &params, &error), FARO_INVALID);
    assert_non_null(strstr(error.message, "is the state of collector 0 of 2"));
    assert_int_equal(faro_spool_check(path, &w.campaign, 0, &others[i], &error), FARO_INVALID);
  }
  const faro_spool_part same = part_of(&w, 0);
  char path[128];
  assert_ok(faro_spool_check(path_of(&w, "state", 0, path), &w.campaign, 0, &same, error));
  end(&w);
}

/* A collector has only its own clients in its roster. */
static void test_parts__each_client_has_one_collector(void **state) {
  (void)state;
  world w;
  begin(&w, "shuffle-bits", 40, 4);
  open_all(&w);
  size_t clients = 0;
  for (size_t i = 0; i < 4; i++) clients += faro_spool_clients(w.collects[i]);
  assert_int_equal(clients, CLIENTS);
  for (size_t client = 0; client < CLIENTS; client++) {
    unsigned char hash[FARO_HASH_BYTES];
    size_t takes = 0, collector = 0, collectors = 0;
    faro_token_hash(w.tokens + client * FARO_TOKEN_BYTES, hash);
    for (size_t i = 0; i < 4; i++) {
      const bool here = faro_spool_collects(w.collects[i], hash, &collector, &collectors);
      faro_spool_entry entry = {.verdict = FARO_VERDICT_ACCEPTED};
      memcpy(entry.hash, hash, sizeof hash);
      faro_spool_admit(w.collects[i], &entry, 1);
      assert_int_equal(here, entry.verdict == FARO_VERDICT_ACCEPTED);
      assert_int_equal(here, collector == i);
      takes += here;
    }
    assert_int_equal(takes, 1);
    assert_false(faro_spool_collects(w.joins, hash, &collector, &collectors));
    assert_int_equal(collectors, 4);
  }
  end(&w);
}

static void test_parts__batches_must_be_large_enough_for_the_collectors(void **state) {
  (void)state;
  world w;
  faro_error refused = {0};
  begin(&w, "shuffle-bits", 4 * FARO_PORTION_LEAST, 1);
  assert_ok(faro_portions_check(&w.campaign, 0, 4, error));
  assert_int_equal(faro_portions_check(&w.campaign, 0, 5, &refused), FARO_INVALID);
  assert_non_null(strstr(refused.message, "use at most 4 collectors"));
  w.campaign.phases.numbers = 1;
  refused = (faro_error){0};
  assert_int_equal(faro_portions_check(&w.campaign, 0, 2, &refused), FARO_INVALID);
  assert_non_null(strstr(refused.message, "in phases"));
  end(&w);
}

/* With processes. */

static long post(faro_sender *sender, const faro_trial *trial, size_t role, const unsigned char *frame,
                 faro_sent *sent) {
  char url[FARO_URL_MAX + 1];
  assert_ok(faro_send_post(sender, faro_trial_url(trial, role, "/v1/reports", url), frame,
                           faro_wire_report_size(&trial->campaign), sent, error));
  return sent->status;
}

/* A report of the last client, which the crowd does not use, for the third batch. */
static void make_report(const faro_trial *trial, unsigned char *frame) {
  uint64_t *numbers = calloc(trial->campaign.entries, sizeof *numbers);
  faro_wire_report report = {.version = 3, .sequence = 1};
  for (size_t i = 0; i < trial->campaign.entries; i++)
    numbers[i] = (uint64_t)faro_campaign_encoding(&trial->campaign, 0, 2)->least;
  memcpy(report.token, trial->tokens + trial->params.clients * FARO_TOKEN_BYTES, FARO_TOKEN_BYTES);
  assert_ok(faro_wire_report_write(&trial->campaign, &report, numbers, frame, error));
  free(numbers);
}

static void play_batch(const faro_trial *trial, faro_crowd *crowd, faro_sender *sender, uint64_t version) {
  char url[FARO_URL_MAX + 32], path[48];
  faro_sent sent = {0};
  const double end = faro_clock() + 600;
  snprintf(path, sizeof path, "/v1/policy?after=%d", (int)version - 1);
  faro_trial_url(trial, 0, path, url);
  while (faro_send_get(sender, url, &sent, NULL) != FARO_OK || sent.status != 200)
    assert_true(faro_clock() < end);
  assert_ok(faro_crowd_policy(crowd, sent.bytes, sent.length, version, error));
  faro_crowd_allow(crowd, faro_campaign_size(&trial->campaign, 0, version - 1));
  assert_true(faro_crowd_settled(crowd, 600));
}

/* The right collector takes a report, the others name it, and so does the joiner. */
static void check_addresses(const faro_trial *trial, faro_sender *sender) {
  unsigned char frame[4096];
  char named[64];
  faro_sent sent;
  size_t first = 0;
  make_report(trial, frame);
  const size_t count = faro_trial_receivers(trial, 0, &first);
  const size_t right = faro_trial_receiver(trial, 0, faro_wire_report_head(frame).token);
  snprintf(named, sizeof named, "to collector %zu of %zu", right - first, count);
  for (size_t role = 1; role < trial->roles; role++) {
    if (role == right) continue;
    assert_int_equal(post(sender, trial, role, frame, &sent), 421);
    assert_non_null(strstr(sent.bytes, named));
    faro_reply reply;
    faro_client_replies(sent.status, sent.bytes, sent.length, 0, &reply, 1);
    assert_int_equal(reply.kind, FARO_REPLY_AGAIN);
    assert_int_equal(reply.refusal, FARO_REFUSAL_ELSEWHERE);
  }
  assert_int_equal(post(sender, trial, right, frame, &sent), 200);
  assert_int_equal(sent.bytes[0], FARO_VERDICT_ACCEPTED);
}

/* A strange collector may not hand over anything, and says nothing. */
static void check_strangers(const faro_trial *trial, faro_sender *sender) {
  char url[FARO_URL_MAX + 1];
  unsigned char greeting[FARO_GREETING_MAX];
  faro_sent sent;
  faro_sign_key stranger;
  assert_ok(faro_sign_key_make(&stranger, error));
  faro_greeting_write(&trial->campaign, &(faro_greeting){0}, &stranger, greeting);
  assert_ok(faro_send_post(sender, faro_trial_url(trial, 1, "/v1/state", url), greeting, FARO_GREETING_BYTES,
                           &sent, error));
  assert_int_equal(sent.status, 401);
  assert_ok(faro_send_post(sender, faro_trial_url(trial, 1, "/v1/portions", url), greeting,
                           FARO_GREETING_BYTES, &sent, error));
  assert_int_equal(sent.status, 401);
  assert_ok(faro_send_get(sender, faro_trial_url(trial, 2, "/v1/collectors", url), &sent, error));
  assert_int_equal(sent.status, 404); /* a collector has no list */
}

static void test_parts__processes_collect_join_and_say_where_a_client_belongs(void **state) {
  (void)state;
  char folder[] = "/tmp/faro-parts-XXXXXX", url[FARO_URL_MAX + 1];
  static faro_trial trial;
  faro_crowd *crowd = NULL;
  faro_sender *sender = NULL;
  faro_sent sent;
  assert_non_null(mkdtemp(folder));
  const faro_trial_params params = {.command = FARO_COMMAND,
                                    .directory = folder,
                                    .release = "shuffle-bits",
                                    .dimension = 2,
                                    .arms = 2,
                                    .clients = 120,
                                    .batch = 33,
                                    .batches = 4,
                                    .growth = 1,
                                    .collectors = 2,
                                    .epsilon = 8,
                                    .delta = 1e-3,
                                    .honest = 1,
                                    .norm = 1,
                                    .high = 1,
                                    .keep = (size_t)1 << 24};
  const faro_crowd_params people = {
      .threads = 2, .group = 3, .world = "linear-iid", .seed = 1, .patience = 600, .listen = 16};
  assert_ok(faro_trial_create(&trial, &params, error));
  assert_ok(faro_trial_start_all(&trial, error));
  assert_ok(faro_sender_create(&sender, &(faro_sender_params){0}, error));
  assert_ok(faro_crowd_create(&crowd, &trial, &people, error));
  play_batch(&trial, crowd, sender, 1);
  check_strangers(&trial, sender);
  (void)faro_child_end(&trial.child[3], SIGKILL, 5); /* what it holds is on the disk */
  assert_ok(faro_trial_start(&trial, 3, error));
  play_batch(&trial, crowd, sender, 2);
  const double end = faro_clock() + 600; /* the second batch is applied */
  do assert_ok(faro_send_get(sender, faro_trial_url(&trial, 0, "/v1/policy?after=2", url), &sent, error));
  while (sent.status != 200 && faro_clock() < end);
  assert_int_equal(sent.status, 200);
  assert_ok(faro_send_get(sender, faro_trial_url(&trial, 1, "/healthz", url), &sent, error));
  assert_int_equal(sent.status, 200);
  check_addresses(&trial, sender);
  faro_crowd_destroy(crowd);
  faro_sender_destroy(sender);
  faro_trial_destroy(&trial);
  faro_trial_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parts__a_joined_batch_is_that_of_one_shuffler),
      cmocka_unit_test(test_parts__all_orders_of_a_joined_batch_are_equally_likely),
      cmocka_unit_test(test_parts__a_portion_counts_once_over_restarts),
      cmocka_unit_test(test_parts__portions_come_in_order_and_not_too_far_ahead),
      cmocka_unit_test(test_parts__a_collector_that_is_ahead_refuses_nothing_for_good),
      cmocka_unit_test(test_parts__the_number_of_collectors_cannot_change),
      cmocka_unit_test(test_parts__each_client_has_one_collector),
      cmocka_unit_test(test_parts__batches_must_be_large_enough_for_the_collectors),
      cmocka_unit_test(test_parts__processes_collect_join_and_say_where_a_client_belongs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
