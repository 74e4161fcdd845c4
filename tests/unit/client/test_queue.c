/* queue: what a client keeps over restarts. Every test closes the queue and opens it again between
 * steps, as a crash would: what was saved is all that counts. */
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <faro/queue.h>

#include "client/queue_inner.h"
#include "support/support.h"
#include "wire/wire.h"

static faro_sign_key analyzer, shuffler;
static faro_seal_key seal;
static const unsigned char token[FARO_TOKEN_BYTES] = "a token of thirty-two bytes, yes";
static char folder[] = "/tmp/faro-queue-XXXXXX", path[64], lock_path[72];
static const double x[2] = {0.6, -0.8};

static int make_folder(void **state) {
  (void)state;
  assert_ok(faro_sign_key_make(&analyzer, error));
  assert_ok(faro_sign_key_make(&shuffler, error));
  assert_ok(faro_seal_key_make(&seal, error));
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/state", folder);
  snprintf(lock_path, sizeof lock_path, "%s.lock", path);
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  unlink(path);
  unlink(lock_path);
  return rmdir(folder);
}

/* A device: campaign, client and queue. */
typedef struct device {
  faro_campaign c;
  char *document;
  size_t length, most;
  faro_client *client;
  faro_queue *queue;
} device;

static void give_policy(device *v, uint64_t version) {
  double zero[5] = {0};
  const faro_policy policy = {.version = version, .dimension = 2, .beta = 1, .theta = zero, .w = zero + 2};
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_policy_document_write(&policy, v->c.digest, &analyzer, &text, &length, error));
  assert_ok(faro_client_policy(v->client, text, length, error));
  free(text);
}

/* Opens queue and client, from the file. */
static void start(device *v) {
  const faro_queue_params params = {.path = path, .most = v->most};
  faro_client_params settings = {.signer = analyzer.public_key,
                                 .token = token,
                                 .epsilon = 100,
                                 .delta = 1e-3,
                                 .trust = "joint",
                                 .honest = 1};
  assert_ok(faro_queue_open(&v->queue, &params, error));
  faro_queue_restore(v->queue, &settings);
  assert_ok(faro_client_open(&v->client, &settings, error));
  assert_ok(faro_client_campaign(v->client, v->document, v->length, error));
}

static void stop(device *v) {
  faro_client_close(v->client);
  faro_queue_close(v->queue);
}

static void restart(device *v, uint64_t version) {
  stop(v);
  start(v);
  give_policy(v, version);
}

/* A new device, with policy 1. */
static device begin(const char *kind, size_t shufflers, faro_level level, uint64_t contributions,
                    uint64_t wait) {
  device v = {.c = {.id = "test",
                    .release = faro_release_kind_find(kind),
                    .arms = 4,
                    .learner = "linucb",
                    .failure = 0.1,
                    .wait = wait,
                    .shufflers = shufflers}};
  faro_campaign *c = &v.c;
  unlink(path);
  assert_ok(faro_contribution_init(&c->contribution, 2, 1, -1, 1, error));
  c->params = (faro_release_params){.epsilon = 4,
                                    .delta = 1e-3,
                                    .horizon = 1000,
                                    .batch = 20,
                                    .shufflers = shufflers > 1 ? shufflers : 0,
                                    .level = level,
                                    .contributions = contributions,
                                    .calibration = FARO_CALIBRATION_TIGHT};
  memcpy(c->seal, seal.public_key, sizeof c->seal);
  snprintf(c->analyzer, sizeof c->analyzer, "http://127.0.0.1:8000");
  for (size_t i = 0; i < shufflers; i++) {
    snprintf(c->shuffler[i].url, sizeof c->shuffler[i].url, "http://127.0.0.1:%zu", 8001 + i);
    memcpy(c->shuffler[i].key, shuffler.public_key, FARO_KEY_BYTES);
  }
  assert_ok(faro_campaign_write(c, &analyzer, &v.document, &v.length, error));
  start(&v);
  give_policy(&v, 1);
  return v;
}

static void end(device *v) {
  stop(v);
  free(v->document);
}

static faro_queue_counts count(const device *v) { return faro_queue_count(v->queue); }

/* What is handed out; its version and number, or 0 if there is nothing. */
static faro_wire_report next(device *v, faro_queue_post *post) {
  faro_queue_post own;
  assert_ok(faro_queue_next(v->queue, v->client, post ? post : &own, error));
  if (!(post ? post : &own)->url) return (faro_wire_report){0};
  faro_wire_report report;
  assert_ok(faro_wire_report_read(&v->c, (post ? post : &own)->bytes, (post ? post : &own)->length, &report,
                                  error));
  return report;
}

static faro_reply answer(device *v, long status, const char *body) {
  faro_reply reply;
  assert_ok(faro_queue_answer(v->queue, v->client, status, body,
                              body ? (status == 200 ? 1 : strlen(body)) : 0, 0, &reply, error));
  return reply;
}

static void test_queue__a_report_is_the_same_bytes_until_it_is_answered(void **state) {
  (void)state;
  device v = begin("shuffle-bits", 1, FARO_LEVEL_USER, 50, 0);
  faro_queue_post post;
  unsigned char first[4096];
  assert_ok(faro_queue_keep(v.queue, v.client, "a", x, error));
  assert_int_equal(next(&v, NULL).sequence, 0); /* no reward yet */
  restart(&v, 9);
  assert_int_equal(count(&v).open, 1);
  assert_ok(faro_queue_reward(v.queue, v.client, "a", 0.5, error));
  restart(&v, 12);
  assert_int_equal(count(&v).waiting, 1);
  const faro_wire_report made = next(&v, &post);
  assert_int_equal(made.version, 12); /* under the newest policy */
  assert_int_equal(made.sequence, 1);
  assert_string_equal(post.url, "http://127.0.0.1:8001/v1/reports");
  assert_true(post.length <= sizeof first);
  memcpy(first, post.bytes, post.length);
  restart(&v, 13); /* before the answer: nobody knows whether it arrived */
  assert_int_equal(faro_client_sequence(v.client), 1);
  (void)next(&v, &post);
  assert_memory_equal(post.bytes, first, post.length);
  assert_int_equal(answer(&v, 0, NULL).kind, FARO_REPLY_AGAIN);
  assert_int_equal(next(&v, &post).sequence, 0); /* asked already */
  faro_queue_again(v.queue);
  (void)next(&v, &post);
  assert_memory_equal(post.bytes, first, post.length);
  assert_int_equal(answer(&v, 200, "\0").kind, FARO_REPLY_DONE);
  restart(&v, 14);
  assert_int_equal(next(&v, NULL).sequence, 0);
  assert_int_equal(count(&v).delivered, 1);
  assert_int_equal(count(&v).waiting, 0);
  faro_error e = {0};
  assert_int_equal(faro_queue_answer(v.queue, v.client, 200, "\0", 1, 0, NULL, &e), FARO_INVALID);
  assert_string_equal(e.message, "no part waits for an answer");
  end(&v);
}

/* A client is in a batch at most once: ten rewards of one day are ten batches. */
/* What a client needs to judge a successor is in the file. */
static void test_queue__keeps_how_and_under_which_keys_it_was_spent(void **state) {
  (void)state;
  for (int user = 0; user < 2; user++) {
    device v = begin("shuffle-bits", 1, user ? FARO_LEVEL_USER : FARO_LEVEL_EVENT, user ? 50 : 1, 0);
    faro_client_params params = {0};
    unsigned char signers[2 * FARO_KEY_BYTES];
    assert_ok(faro_queue_save(v.queue, v.client, error));
    memcpy(signers, faro_client_signers(v.client), sizeof signers);
    assert_int_equal(faro_client_spent_singly(v.client), !user);
    restart(&v, 1);
    faro_queue_restore(v.queue, &params);
    assert_int_equal(params.spent_singly, !user);
    assert_true(params.spent_epsilon == v.c.claim.epsilon && params.spent_delta == v.c.claim.delta);
    assert_memory_equal(params.signers, signers, sizeof signers);
    assert_int_equal(faro_client_spent_singly(v.client), !user); /* for ever */
    end(&v);
  }
}

static void test_queue__one_report_for_each_policy(void **state) {
  (void)state;
  device v = begin("shuffle-bits", 1, FARO_LEVEL_USER, 50, 0);
  for (int i = 0; i < 5; i++) assert_ok(faro_queue_add(v.queue, v.client, 1, x, 0.1 * i, error));
  for (uint64_t version = 1; version <= 5; version++) {
    restart(&v, version);
    const faro_wire_report made = next(&v, NULL);
    assert_int_equal(made.version, version);
    assert_int_equal(made.sequence, version);
    (void)answer(&v, 200, "\0");
    assert_int_equal(next(&v, NULL).sequence, 0);
    assert_int_equal(count(&v).waiting, 5 - version);
  }
  assert_int_equal(count(&v).delivered, 5);
  end(&v);
}

static const char stale[] = "{\"error\": \"the policy of the report is not one of the open batch\"}";
static const char elsewhere[] =
    "{\"error\": \"the token belongs to another collector of this shuffler: to collector 1 of 2, from 0\"}";
static const char twice[] = "{\"error\": \"this client is in the open batch already\"}";
static const char whole[] = "{\"error\": \"the body must be one or more whole reports of this campaign\"}";
static const char replay[] = "{\"error\": \"the sequence number was used before\"}";

/* Reports a choice that is refused as stale three times, with a newer policy after each.
 * Returns the number of messages that were made. */
static uint64_t messages(const char *kind, size_t shufflers, faro_level level, uint64_t contributions) {
  device v = begin(kind, shufflers, level, contributions, 0);
  uint64_t last = 0;
  assert_ok(faro_queue_add(v.queue, v.client, 1, x, 0.5, error));
  for (uint64_t version = 1; version <= 4; version++) {
    restart(&v, version);
    const faro_wire_report made = next(&v, NULL);
    if (made.sequence == 0) break;
    assert_int_equal(made.version, version);
    assert_int_equal(made.sequence, last + 1); /* a number is used once */
    last = made.sequence;
    (void)answer(&v, version == 4 ? 200 : 409, version == 4 ? "\0" : stale);
    assert_int_equal(next(&v, NULL).sequence, 0); /* it needs a newer policy */
  }
  assert_int_equal(count(&v).waiting, 0);
  assert_int_equal(count(&v).delivered + count(&v).refused, 1);
  assert_int_equal(count(&v).delivered, last == 4);
  end(&v);
  return last;
}

/* Whether the campaign promises something even if shuffler and analyzer collude. */
static bool stands_alone(const char *kind, faro_level level, uint64_t contributions) {
  device v = begin(kind, 1, level, contributions, 0);
  const bool alone = v.c.claim.local_epsilon > 0;
  end(&v);
  return alone;
}

/* Where only what was accepted counts, a refused report is made again. Where every message counts
 * that left the device, only as many are made as the claim covers. */
static void test_queue__a_refused_report_is_made_again_where_that_is_private(void **state) {
  (void)state;
  assert_true(stands_alone("shuffle-bits", FARO_LEVEL_USER, 3));
  assert_true(stands_alone("shuffle-gaussian", FARO_LEVEL_EVENT, 1));
  assert_false(stands_alone("shuffle-bits", FARO_LEVEL_EVENT, 1)); /* too few bits in one report */
  assert_int_equal(messages("central-bits", 0, FARO_LEVEL_EVENT, 1), 4);
  assert_int_equal(messages("central-tree", 0, FARO_LEVEL_USER, 2), 4);
  assert_int_equal(messages("shuffle-bits", 1, FARO_LEVEL_USER, 9), 4);
  assert_int_equal(messages("shuffle-bits", 1, FARO_LEVEL_USER, 3), 3);
  assert_int_equal(messages("shuffle-bits", 1, FARO_LEVEL_EVENT, 1), 4);
  assert_int_equal(messages("shuffle-gaussian", 1, FARO_LEVEL_EVENT, 1), 1);
  assert_int_equal(messages("local-bits", 0, FARO_LEVEL_USER, 9), 4);
  assert_int_equal(messages("local-bits", 0, FARO_LEVEL_USER, 2), 2);
  assert_int_equal(messages("local-bits", 0, FARO_LEVEL_EVENT, 1), 1);
}

/* A shuffler that answers as docs/protocol.md says, to one client in batches of one policy each. */
typedef struct counter {
  uint64_t open, last, batch; /* the open batch, the last number, and its batch */
  double sum;                 /* how many were accepted */
} counter;

static const char *arrives(counter *c, const faro_wire_report *report) {
  if (report->sequence == c->last) return "\1";
  if (report->sequence < c->last) return replay;
  if (report->version + 1 < c->open || report->version > c->open) return stale;
  if (c->batch == c->open) return twice;
  c->last = report->sequence;
  c->batch = c->open;
  c->sum++;
  return "\0";
}

static faro_reply_kind reply_to(device *v, const char *what) {
  return answer(v, *what < 2 ? 200 : 409, what).kind;
}

/* The first copy of a report is late in the network, and the second one finds its client in the
 * open batch. Then the first one arrives, and counts. A new report of the same choice would count
 * it once more. */
static void test_queue__a_late_copy_counts_a_choice_once(void **state) {
  (void)state;
  for (int arrive = 0; arrive < 3; arrive++) { /* the late copy: in the next batch, the one after, never */
    device v = begin("shuffle-bits", 1, FARO_LEVEL_USER, 50, 0);
    counter c = {.open = 1};
    faro_queue_post post;
    unsigned char late[4096];
    assert_ok(faro_queue_add(v.queue, v.client, 1, x, 0.5, error));
    assert_ok(faro_queue_add(v.queue, v.client, 1, x, 0.7, error));
    faro_wire_report first = next(&v, NULL);
    c.open = 2; /* its batch closes on the way, and it is taken into the next one */
    assert_int_equal(reply_to(&v, arrives(&c, &first)), FARO_REPLY_DONE);
    restart(&v, 2);
    const faro_wire_report second = next(&v, &post);
    memcpy(late, post.bytes, post.length);
    assert_int_equal(second.sequence, 2);
    assert_int_equal(reply_to(&v, arrives(&c, &second)), FARO_REPLY_AGAIN);
    assert_int_equal(next(&v, NULL).sequence, 0); /* not before the next policy */
    faro_queue_again(v.queue);
    assert_int_equal(next(&v, NULL).sequence, 0);
    for (c.open = 3; c.open < 7; c.open++) {
      if ((uint64_t)arrive + 3 == c.open) (void)arrives(&c, &second);
      if (c.open % 2) restart(&v, c.open);
      else give_policy(&v, c.open);
      const faro_wire_report again = next(&v, &post);
      if (again.sequence == 0) continue;
      if (again.sequence == 2) assert_memory_equal(post.bytes, late, post.length);
      (void)reply_to(&v, arrives(&c, &again));
    }
    assert_true(c.sum == 2); /* each choice once */
    assert_int_equal(count(&v).delivered, 2);
    assert_int_equal(count(&v).waiting + count(&v).refused, 0);
    end(&v);
  }
}

static void test_queue__refused_for_good_is_said(void **state) {
  (void)state;
  device v = begin("shuffle-bits", 1, FARO_LEVEL_USER, 9, 0);
  assert_ok(faro_queue_add(v.queue, v.client, 1, x, 0.5, error));
  (void)next(&v, NULL);
  const faro_reply reply = answer(&v, 409, replay);
  assert_int_equal(reply.kind, FARO_REPLY_REFUSED);
  assert_int_equal(reply.refusal, FARO_REFUSAL_REPLAY);
  restart(&v, 2);
  assert_int_equal(next(&v, NULL).sequence, 0);
  assert_int_equal(count(&v).refused, 1);
  assert_int_equal(count(&v).last, FARO_REFUSAL_REPLAY);
  end(&v);
}

/* Shuffler 1 is down while 0 and 2 answer; then it comes back, after a restart. */
static void test_queue__parts_are_tracked_one_by_one(void **state) {
  (void)state;
  device v = begin("concurrent-bits", 3, FARO_LEVEL_USER, 9, 0);
  faro_queue_post post;
  unsigned char lost[4096];
  assert_ok(faro_queue_add(v.queue, v.client, 1, x, 0.5, error));
  for (uint32_t i = 0; i < 3; i++) {
    assert_int_equal(next(&v, &post).shuffler, i);
    if (i == 1) memcpy(lost, post.bytes, post.length);
    (void)answer(&v, i == 1 ? 503 : 200, "\0");
  }
  assert_int_equal(next(&v, &post).sequence, 0);
  restart(&v, 2);
  assert_int_equal(next(&v, &post).shuffler, 1);
  assert_memory_equal(post.bytes, lost, post.length);
  assert_string_equal(post.url, "http://127.0.0.1:8002/v1/reports");
  /* Its batch has closed. The others have their parts, so the report is not made again. */
  (void)answer(&v, 409, stale);
  assert_int_equal(next(&v, NULL).sequence, 0);
  assert_int_equal(count(&v).delivered, 1);
  assert_int_equal(count(&v).waiting, 0);
  end(&v);
}

static void test_queue__keeps_so_many_and_says_what_it_dropped(void **state) {
  (void)state;
  device v = begin("shuffle-bits", 1, FARO_LEVEL_USER, 50, 0);
  stop(&v);
  v.most = 3;
  start(&v);
  give_policy(&v, 1);
  assert_ok(faro_queue_add(v.queue, v.client, 1, x, 0.5, error));
  assert_int_equal(next(&v, NULL).sequence, 1); /* under way: it stays */
  static const char *const ids[] = {"a", "b", "c", "d"};
  for (size_t i = 0; i < 4; i++) assert_ok(faro_queue_keep(v.queue, v.client, ids[i], x, error));
  restart(&v, 2);
  assert_int_equal(count(&v).dropped, 2);
  assert_int_equal(count(&v).open, 2);
  assert_int_equal(count(&v).waiting, 1);
  faro_error e = {0};
  assert_int_equal(faro_queue_reward(v.queue, v.client, "b", 1, &e), FARO_INVALID);
  assert_string_equal(e.message, "no choice b waits for a reward");
  assert_ok(faro_queue_forget(v.queue, v.client, "c", error));
  assert_int_equal(faro_queue_forget(v.queue, v.client, "c", NULL), FARO_INVALID);
  assert_ok(faro_queue_reward(v.queue, v.client, "d", 1, error));
  assert_int_equal(faro_queue_reward(v.queue, v.client, "d", 1, NULL), FARO_INVALID); /* once */
  end(&v);
}

/* What makes room, or is forgotten, is gone when that is on the disk, and not before. */
static void test_queue__a_choice_leaves_only_if_that_is_saved(void **state) {
  (void)state;
  device v = begin("shuffle-bits", 1, FARO_LEVEL_USER, 50, 0);
  char away[80];
  assert_ok(faro_queue_keep(v.queue, v.client, "a", x, error));
  assert_ok(faro_queue_add(v.queue, v.client, 1, x, 0.5, error));
  assert_int_equal(next(&v, NULL).sequence, 1); /* the second is under way */
  static const char *const ids[] = {"b", "c", "d"};
  for (size_t i = 0; i < 3; i++) assert_ok(faro_queue_keep(v.queue, v.client, ids[i], x, error));
  stop(&v);
  v.most = 3; /* fewer than there are: three leave for the next one */
  start(&v);
  give_policy(&v, 2);
  snprintf(away, sizeof away, "%s-away", folder);
  assert_int_equal(rename(folder, away), 0);
  assert_int_equal(faro_queue_keep(v.queue, v.client, "e", x, NULL), FARO_SYSTEM);
  assert_int_equal(faro_queue_forget(v.queue, v.client, "b", NULL), FARO_SYSTEM);
  assert_int_equal(rename(away, folder), 0);
  assert_true(count(&v).open == 4 && count(&v).dropped == 0);
  assert_ok(faro_queue_forget(v.queue, v.client, "b", error));
  assert_ok(faro_queue_keep(v.queue, v.client, "e", x, error)); /* "a" and "c" leave */
  restart(&v, 3);
  assert_true(count(&v).open == 2 && count(&v).dropped == 2 && count(&v).waiting == 1);
  assert_int_equal(next(&v, NULL).sequence, 1);
  assert_ok(faro_queue_forget(v.queue, v.client, "d", error));
  assert_ok(faro_queue_forget(v.queue, v.client, "e", error));
  end(&v);
}

static void test_queue__late_choices_and_those_of_a_campaign_that_is_over(void **state) {
  (void)state;
  device v = begin("shuffle-bits", 1, FARO_LEVEL_USER, 50, 3);
  assert_ok(faro_queue_keep(v.queue, v.client, "early", x, error));
  assert_ok(faro_queue_keep(v.queue, v.client, "late", x, error));
  restart(&v, 4);
  assert_ok(faro_queue_reward(v.queue, v.client, "early", 1, error));
  assert_int_equal(next(&v, NULL).sequence, 1); /* three batches later */
  (void)answer(&v, 200, "\1");
  restart(&v, 5);
  assert_ok(faro_queue_reward(v.queue, v.client, "late", 1, error));
  assert_int_equal(next(&v, NULL).sequence, 0);        /* four */
  assert_int_equal(faro_client_sequence(v.client), 1); /* nothing is used up */
  assert_int_equal(count(&v).late, 1);
  restart(&v, v.c.batches + 1);
  assert_ok(faro_queue_add(v.queue, v.client, v.c.batches + 1, x, 1, error));
  assert_int_equal(next(&v, NULL).sequence, 0);
  assert_int_equal(count(&v).refused, 1);
  assert_int_equal(count(&v).last, FARO_REFUSAL_CLOSED);
  assert_int_equal(count(&v).waiting, 0);
  end(&v);
}

/* A report that could not be saved is not handed out, and its number is passed over. */
static void test_queue__nothing_is_sent_that_is_not_on_the_disk(void **state) {
  (void)state;
  device v = begin("shuffle-bits", 1, FARO_LEVEL_USER, 50, 0);
  char away[80];
  faro_queue_post post = {.url = "x"};
  assert_ok(faro_queue_add(v.queue, v.client, 1, x, 0.5, error));
  snprintf(away, sizeof away, "%s-away", folder);
  assert_int_equal(rename(folder, away), 0);
  assert_int_equal(faro_queue_next(v.queue, v.client, &post, NULL), FARO_SYSTEM);
  assert_null(post.url);
  assert_int_equal(faro_queue_keep(v.queue, v.client, "a", x, NULL), FARO_SYSTEM);
  assert_int_equal(faro_queue_next(v.queue, v.client, &post, NULL), FARO_SYSTEM);
  assert_int_equal(rename(away, folder), 0);
  assert_int_equal(count(&v).open, 0);
  assert_int_equal(next(&v, NULL).sequence, 3);
  restart(&v, 2);
  assert_int_equal(faro_client_sequence(v.client), 3);
  assert_int_equal(next(&v, NULL).sequence, 3);
  end(&v);
}

static void test_queue__refuses_the_wrong_client_and_wrong_numbers(void **state) {
  (void)state;
  device v = begin("shuffle-bits", 1, FARO_LEVEL_USER, 50, 0);
  faro_queue_post post;
  assert_int_equal(faro_queue_keep(v.queue, v.client, "", x, NULL), FARO_INVALID);
  char longer[FARO_QUEUE_ID_MAX + 2];
  memset(longer, 'i', sizeof longer);
  longer[sizeof longer - 1] = '\0';
  assert_int_equal(faro_queue_keep(v.queue, v.client, longer, x, NULL), FARO_INVALID);
  assert_ok(faro_queue_keep(v.queue, v.client, longer + 1, x, error));
  assert_int_equal(faro_queue_keep(v.queue, v.client, longer + 1, x, NULL), FARO_INVALID);
  assert_int_equal(faro_queue_keep(v.queue, v.client, "n", (const double[2]){NAN, 0}, NULL), FARO_INVALID);
  assert_int_equal(faro_queue_reward(v.queue, v.client, longer + 1, INFINITY, NULL), FARO_INVALID);
  assert_int_equal(faro_queue_add(v.queue, v.client, 0, x, 1, NULL), FARO_INVALID);
  assert_int_equal(faro_queue_add(v.queue, v.client, 2, x, 1, NULL), FARO_INVALID);
  assert_ok(faro_queue_add(v.queue, v.client, 1, x, 1, error));
  assert_int_equal(next(&v, NULL).sequence, 1);

  faro_client *other = NULL; /* it does not know what was spent */
  const faro_client_params settings = {.signer = analyzer.public_key,
                                       .token = token,
                                       .epsilon = 100,
                                       .delta = 1e-3,
                                       .trust = "joint",
                                       .honest = 1};
  assert_ok(faro_client_open(&other, &settings, error));
  assert_int_equal(faro_queue_save(v.queue, other, NULL), FARO_INVALID); /* no campaign */
  assert_ok(faro_client_campaign(other, v.document, v.length, error));
  assert_int_equal(faro_queue_save(v.queue, other, NULL), FARO_FOREIGN);
  assert_int_equal(faro_queue_next(v.queue, other, &post, NULL), FARO_FOREIGN);
  faro_client_close(other);

  faro_queue *looking = NULL; /* beside the other, which has the lock */
  assert_ok(faro_queue_open(&looking, &(faro_queue_params){.path = path, .reading = true}, error));
  assert_int_equal(faro_queue_count(looking).waiting, 1);
  assert_int_equal(faro_queue_save(looking, v.client, NULL), FARO_INVALID);
  faro_queue_close(looking);
  faro_queue_close(NULL);
  assert_int_equal(faro_queue_open(&looking, &(faro_queue_params){.path = path, .most = 1}, NULL),
                   FARO_INVALID);
  assert_int_equal(faro_queue_open(&looking, &(faro_queue_params){.most = 2}, NULL), FARO_INVALID);
  end(&v);
}

static void write_file(const void *bytes, size_t length, mode_t mode) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, length, file), length);
  fclose(file);
  assert_int_equal(chmod(path, mode), 0);
}

static faro_status opened(faro_queue **queue, faro_error *e) {
  return faro_queue_open(queue, &(faro_queue_params){.path = path}, e);
}

/* Any other byte, and any end that is missing, is noticed: a wrong sequence number would be used
 * twice. */
static void test_queue__a_damaged_file_is_refused(void **state) {
  (void)state;
  device v = begin("shuffle-bits", 1, FARO_LEVEL_USER, 50, 0);
  assert_ok(faro_queue_keep(v.queue, v.client, "open", x, error));
  assert_ok(faro_queue_add(v.queue, v.client, 1, x, 0.5, error));
  assert_int_equal(next(&v, NULL).sequence, 1);
  end(&v);
  struct stat about;
  assert_int_equal(stat(path, &about), 0);
  assert_int_equal(about.st_mode & 07777, 0600);
  unsigned char bytes[4096];
  FILE *file = fopen(path, "rb");
  const size_t length = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  assert_true(length > 300 && length < sizeof bytes);
  faro_queue *queue = NULL;
  for (size_t i = 0; i < length; i++) {
    bool memory = false;
    queue = calloc(1, sizeof *queue);
    bytes[i] ^= 0x10;
    assert_false(faro_queue_read(queue, bytes, length, &memory));
    faro_queue_clear(queue);
    bytes[i] ^= 0x10;
    assert_false(faro_queue_read(queue, bytes, i, &memory));
    faro_queue_clear(queue);
    free(queue);
  }
  faro_error e = {0};
  write_file(bytes, length - 1, 0600);
  assert_int_equal(opened(&queue, &e), FARO_INVALID);
  assert_non_null(strstr(e.message, "state is not the state of a client, or is damaged"));
  write_file(bytes, length, 0640); /* it holds the token */
  e = (faro_error){0};
  assert_int_equal(opened(&queue, &e), FARO_INVALID);
  assert_non_null(strstr(e.message, "must not be readable by others (its mode is 640; use 600)"));
  write_file(bytes, length, 0600);
  assert_ok(opened(&queue, error));
  faro_queue_close(queue);
  bool good = false; /* every failed allocation is said */
  for (size_t n = 1; !good; n++) {
    alloc_fail_at(n);
    const faro_status status = opened(&queue, NULL);
    alloc_fail_at(0);
    good = status == FARO_OK;
    if (!good) assert_int_equal(status, FARO_MEMORY);
  }
  faro_queue_close(queue);
}

/* The file of version 3 is that of now without the numbers of phases and rounds. */
static void test_queue__a_report_of_version_3_is_sent_by_this_one(void **state) {
  (void)state;
  enum { CHECK = 32, BEFORE = 212, NOW = 232 };
  device v = begin("shuffle-bits", 1, FARO_LEVEL_USER, 50, 0);
  unsigned char bytes[4096], first[4096];
  faro_queue_post post;
  assert_ok(faro_queue_keep(v.queue, v.client, "open", x, error));
  assert_ok(faro_queue_add(v.queue, v.client, 1, x, 0.5, error));
  assert_int_equal(next(&v, &post).sequence, 1);
  memcpy(first, post.bytes, post.length);
  stop(&v);
  FILE *file = fopen(path, "rb");
  const size_t length = fread(bytes, 1, sizeof bytes, file) - (NOW - BEFORE);
  fclose(file);
  memcpy(bytes, "faro-client-state-3", 19);
  memmove(bytes + BEFORE, bytes + NOW, length - BEFORE);
  for (int stage = 2; stage <= 3; stage++) { /* 3 is of no version before 4 */
    bytes[BEFORE + 2 + 4 + 16 + 8 * 2] = (unsigned char)stage;
    crypto_generichash(bytes + length - CHECK, CHECK, bytes, length - CHECK, NULL, 0);
    write_file(bytes, length, 0600);
    faro_queue *queue = NULL;
    assert_int_equal(opened(&queue, NULL), stage == 2 ? FARO_OK : FARO_INVALID);
    if (stage == 2) faro_queue_close(queue);
  }
  bytes[BEFORE + 2 + 4 + 16 + 8 * 2] = 2;
  crypto_generichash(bytes + length - CHECK, CHECK, bytes, length - CHECK, NULL, 0);
  write_file(bytes, length, 0600);
  start(&v);
  give_policy(&v, 2);
  assert_int_equal(next(&v, &post).sequence, 1);
  assert_memory_equal(post.bytes, first, post.length);
  assert_true(count(&v).open == 1 && count(&v).again == 0 && count(&v).ended == 0);
  end(&v);
}

/* The file of the first version: one line, without choices. */
static void test_queue__the_state_of_an_earlier_version_is_read(void **state) {
  (void)state;
#define AB "abababababababababababababababababababababababababababababababab"
  static const char line[] = "faro-client-state-1 " AB " 18446744073709551615 3\n";
  static const char *const wrong[] = {"faro-client-state-1 " AB " 1 2",
                                      "faro-client-state-1 " AB " 01 2\n",
                                      "faro-client-state-1 " AB " 1\n",
                                      "faro-client-state-1 " AB " -1 2\n",
                                      "faro-client-state-1 " AB " 1 99999999999999999999999\n",
                                      "",
                                      "faro-client-state-1 ab 1 2\n",
                                      "faro-client-state-2",
                                      "faro-client-state-1"};
  faro_queue *queue = NULL;
  faro_client_params params = {0};
  unlink(path);
  assert_ok(opened(&queue, error)); /* a new client */
  faro_queue_restore(queue, &params);
  assert_null(params.campaign);
  faro_queue_close(queue);
  write_file(line, sizeof line - 1, 0600);
  assert_ok(opened(&queue, error));
  faro_queue_restore(queue, &params);
  assert_true(params.sequence == UINT64_MAX && params.version == 3 && params.campaign[31] == 0xab);
  faro_queue_close(queue);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    write_file(wrong[i], strlen(wrong[i]), 0600);
    assert_int_equal(opened(&queue, NULL), FARO_INVALID);
  }
}

/* Also after a save, which replaces the file. */
static void test_queue__is_used_by_one_at_a_time(void **state) {
  (void)state;
  device v = begin("shuffle-bits", 1, FARO_LEVEL_USER, 50, 0);
  char expected[128];
  faro_queue *second = NULL;
  snprintf(expected, sizeof expected, "state %s is in use", path);
  for (int i = 0; i < 2; i++) {
    faro_error e = {0};
    assert_int_equal(opened(&second, &e), FARO_SYSTEM);
    assert_string_equal(e.message, expected);
    assert_ok(faro_queue_save(v.queue, v.client, error));
  }
  end(&v);
  assert_ok(opened(&second, error));
  faro_queue_close(second);
  unlink(lock_path);
  assert_int_equal(symlink(path, lock_path), 0); /* the link must not be followed */
  assert_int_equal(opened(&second, NULL), FARO_SYSTEM);
  unlink(lock_path);
}

static void test_reply__every_answer_has_a_meaning(void **state) {
  (void)state;
  static const struct {
    long status;
    const char *body;
    size_t length, parts;
    faro_reply_kind kind[3];
    faro_refusal refusal[3];
  } cases[] = {
      {200, "\0\1\x9", 3, 3, {FARO_REPLY_DONE, FARO_REPLY_DONE, FARO_REPLY_AGAIN}, {0}},
      {200,
       "\7\5\x63",
       3,
       3,
       {FARO_REPLY_REFUSED, FARO_REPLY_AGAIN, FARO_REPLY_REFUSED},
       {FARO_REFUSAL_STALE, FARO_REFUSAL_TWICE, FARO_REFUSAL_OTHER}},
      {200, "<html>", 6, 1, {FARO_REPLY_AGAIN}, {0}}, /* a portal's page */
      {200, "\n", 1, 1, {FARO_REPLY_AGAIN}, {0}},     /* limited for now */
      {429, "too many reports of this client were refused", 44, 1, {FARO_REPLY_AGAIN}, {0}},
      {200, "", 0, 1, {FARO_REPLY_AGAIN}, {0}},
      {0, NULL, 0, 1, {FARO_REPLY_AGAIN}, {0}},
      {409,
       stale,
       sizeof stale - 1,
       2,
       {FARO_REPLY_REFUSED, FARO_REPLY_REFUSED},
       {FARO_REFUSAL_STALE, FARO_REFUSAL_STALE}},
      {409, twice, sizeof twice - 1, 1, {FARO_REPLY_AGAIN}, {FARO_REFUSAL_TWICE}},
      {409, stale, 30, 1, {FARO_REPLY_AGAIN}, {0}}, /* cut off */
      {409, "no reports are collected now", 28, 1, {FARO_REPLY_REFUSED}, {FARO_REFUSAL_CLOSED}},
      {503, "no reports are collected now", 28, 1, {FARO_REPLY_AGAIN}, {0}},
      {400, "what is this", 12, 1, {FARO_REPLY_AGAIN}, {0}}, /* a proxy's own reason */
      {400, whole, sizeof whole - 1, 1, {FARO_REPLY_REFUSED}, {FARO_REFUSAL_MALFORMED}},
      {401, "the token is not known here", 27, 1, {FARO_REPLY_REFUSED}, {FARO_REFUSAL_TOKEN}},
      {401, "log in first", 12, 1, {FARO_REPLY_AGAIN}, {0}},
      {404, "", 0, 1, {FARO_REPLY_AGAIN}, {0}},
      {408, "", 0, 1, {FARO_REPLY_AGAIN}, {0}},
      {429, "", 0, 1, {FARO_REPLY_AGAIN}, {0}},
      {302, "", 0, 1, {FARO_REPLY_AGAIN}, {0}},
      /* another collector's client: the same bytes, to another address */
      {200, "\13", 1, 1, {FARO_REPLY_AGAIN}, {FARO_REFUSAL_ELSEWHERE}},
      {421, elsewhere, sizeof elsewhere - 1, 1, {FARO_REPLY_AGAIN}, {FARO_REFUSAL_ELSEWHERE}},
      {421, "", 0, 1, {FARO_REPLY_AGAIN}, {0}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    faro_reply replies[3];
    faro_client_replies(cases[i].status, cases[i].body, cases[i].length, 7, replies, cases[i].parts);
    for (size_t p = 0; p < cases[i].parts; p++) {
      assert_int_equal(replies[p].kind, cases[i].kind[p]);
      assert_int_equal(replies[p].refusal, cases[i].refusal[p]);
      assert_true(replies[p].after == (replies[p].kind == FARO_REPLY_AGAIN ? 7 : 0));
    }
  }
  faro_reply reply;
  faro_client_replies(503, "", 0, 1e12, &reply, 1);
  assert_true(reply.after == 86400);
  faro_client_replies(503, "", 0, NAN, &reply, 1);
  assert_true(reply.after == 0);
  assert_string_equal(faro_refusal_text(FARO_REFUSAL_TWICE), "this client is in the open batch already");
  assert_string_equal(faro_refusal_text(FARO_REFUSAL_OTHER), "unknown answer");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_queue__a_report_is_the_same_bytes_until_it_is_answered),
      cmocka_unit_test(test_queue__keeps_how_and_under_which_keys_it_was_spent),
      cmocka_unit_test(test_queue__one_report_for_each_policy),
      cmocka_unit_test(test_queue__a_refused_report_is_made_again_where_that_is_private),
      cmocka_unit_test(test_queue__a_late_copy_counts_a_choice_once),
      cmocka_unit_test(test_queue__refused_for_good_is_said),
      cmocka_unit_test(test_queue__parts_are_tracked_one_by_one),
      cmocka_unit_test(test_queue__keeps_so_many_and_says_what_it_dropped),
      cmocka_unit_test(test_queue__a_choice_leaves_only_if_that_is_saved),
      cmocka_unit_test(test_queue__late_choices_and_those_of_a_campaign_that_is_over),
      cmocka_unit_test(test_queue__nothing_is_sent_that_is_not_on_the_disk),
      cmocka_unit_test(test_queue__refuses_the_wrong_client_and_wrong_numbers),
      cmocka_unit_test(test_queue__a_damaged_file_is_refused),
      cmocka_unit_test(test_queue__a_report_of_version_3_is_sent_by_this_one),
      cmocka_unit_test(test_queue__the_state_of_an_earlier_version_is_read),
      cmocka_unit_test(test_queue__is_used_by_one_at_a_time),
      cmocka_unit_test(test_reply__every_answer_has_a_meaning),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
