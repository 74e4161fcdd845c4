/* A shuffler as a real process, with a fake analyzer: what it accepts and refuses, what survives a
 * restart, and what it sends. */
#define _GNU_SOURCE /* memmem, prlimit */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <poll.h>
#include <arpa/inet.h>
#include <unistd.h>

#include "support/stage.h"
#include "support/support.h"

#include "service/state/spool.h"

enum { B = 20 };

static const stage_plan bits = {.release = "shuffle-bits",
                                .epsilon = 1,
                                .batch = B,
                                .horizon = 2000,
                                .contributions = 3,
                                .dimension = 2,
                                .clients = 100};
static const stage_plan sealed = {.release = "shuffle-gaussian",
                                  .epsilon = 1,
                                  .batch = B,
                                  .horizon = 2000,
                                  .contributions = 3,
                                  .dimension = 2,
                                  .clients = 100};

/* Sends one report; returns its verdict, or the status if the whole post was refused. */
static long send_one(stage *s, size_t client, uint64_t version, uint64_t sequence, uint64_t mark) {
  unsigned char frame[4096];
  faro_sent sent;
  stage_report(s, 0, client, version, sequence, mark, frame);
  const long status = stage_post(s, 0, frame, s->frame, &sent);
  if (status != 200) return status;
  assert_int_equal(sent.length, 1);
  return (unsigned char)sent.bytes[0];
}

/* Reports of clients first .. first + count - 1 in one post; all must be accepted. */
static void send_many(stage *s, size_t first, size_t count, uint64_t version, uint64_t sequence) {
  unsigned char *frames = calloc(count, s->frame);
  faro_sent sent;
  for (size_t i = 0; i < count; i++)
    stage_report(s, 0, first + i, version, sequence, sequence * 1000 + first + i, frames + i * s->frame);
  assert_int_equal(stage_post(s, 0, frames, count * s->frame, &sent), 200);
  assert_int_equal(sent.length, count);
  for (size_t i = 0; i < count; i++) assert_int_equal(sent.bytes[i], FARO_VERDICT_ACCEPTED);
  free(frames);
}

static void test_shuffler__every_refusal_has_its_byte_and_status(void **state) {
  (void)state;
  static stage s;
  stage_open(&s, &bits);
  stage_start(&s, 0, NULL);
  unsigned char frames[16 * 512];
  unsigned char *at = frames;
  stage_report(&s, 0, 0, 1, 5, 1, at), at += s.frame;                           /* 0 accepted */
  stage_report(&s, 0, 0, 1, 5, 1, at), at += s.frame;                           /* 1 known */
  stage_report(&s, 0, 1, 1, 1, 1, at), at[10] ^= 1, at += s.frame;              /* 2 campaign */
  stage_report(&s, 0, 1, 1, 1, 1, at), at[0] = 'X', at += s.frame;              /* 3 malformed: magic */
  stage_report(&s, 0, 1, 1, 1, 1, at), faro_store32(at + 36, 1), at += s.frame; /* 3: for another shuffler */
  stage_report(&s, 0, 1, 1, 1, 1, at), faro_store32(at + 72, UINT32_MAX),
      at += s.frame;                                               /* 3: too many ones */
  stage_report(&s, 0, 1, 1, 0, 1, at), at += s.frame;              /* 3: no sequence number */
  stage_report(&s, 0, 1, 1, UINT64_MAX, 1, at), at += s.frame;     /* 3: sequence number too large */
  stage_report(&s, 0, 1, 1, 1, 1, at), at[50] ^= 1, at += s.frame; /* 4 token */
  stage_report(&s, 0, 0, 1, 6, 1, at), at += s.frame;              /* 5 twice */
  stage_report(&s, 0, 1, 2, 1, 1, at), at += s.frame;              /* 7 stale: a future policy */
  stage_report(&s, 0, 0, 1, 4, 1, at), at += s.frame;              /* 8 replay */
  static const unsigned char expected[] = {0, 1, 2, 3, 3, 3, 3, 3, 4, 5, 7, 8};
  faro_sent sent;
  assert_int_equal(stage_post(&s, 0, frames, (size_t)(at - frames), &sent), 200);
  assert_int_equal(sent.length, sizeof expected);
  assert_memory_equal(sent.bytes, expected, sizeof expected);
  static const long status[] = {200, 200, 409, 400, 400, 400, 400, 400, 401, 409, 409, 409};
  for (size_t i = 1; i < sizeof expected; i++) { /* by itself: a status with the reason */
    assert_int_equal(stage_post(&s, 0, frames + i * s.frame, s.frame, &sent), status[i]);
    if (status[i] != 200) assert_non_null(strstr(sent.bytes, "{\"error\": \""));
  }
  assert_int_equal(stage_post(&s, 0, frames, s.frame - 1, &sent), 400);
  assert_int_equal(stage_post(&s, 0, frames, 0, &sent), 400);
  assert_int_equal(stage_get(&s, 0, "/v1/reports", &sent), 405);
  assert_int_equal(stage_get(&s, 0, "/etc/passwd", &sent), 404);
  assert_int_equal(stage_get(&s, 0, "/healthz", &sent), 200);
  /* Accepted reports are counted when the batch closes. */
  assert_true(stage_metric(&s, 0, "faro_reports_total{result=\"accepted\"}") == 0);
  assert_true(stage_metric(&s, 0, "faro_reports_total{result=\"token\"}") == 2);
  assert_int_equal(stage_stop(&s, 0), 0);
  stage_close(&s);
}

static void test_shuffler__a_client_is_heard_m0_times_and_never_for_an_old_policy(void **state) {
  (void)state;
  static stage s;
  stage_open(&s, &bits);
  stage_start(&s, 0, NULL);
  for (uint64_t batch = 0; batch < 3; batch++) {
    if (batch > 0)
      assert_int_equal(send_one(&s, 50, batch - 1, 1, 1), batch == 1 ? 400 : 409); /* two policies ago */
    send_many(&s, 0, B, batch > 0 ? batch : 1, batch + 1); /* under the policy before, or the current one */
    assert_true(stage_await(&s, batch + 1, 120));
  }
  assert_int_equal(send_one(&s, 0, 4, 4, 1), 409); /* M0 = 3 */
  assert_int_equal(send_one(&s, 0, 4, 3, 1), FARO_VERDICT_KNOWN);
  assert_int_equal(send_one(&s, 0, 1, 3, 1),
                   FARO_VERDICT_KNOWN); /* still known, whatever has changed since */
  assert_int_equal(send_one(&s, 60, 4, 1, 1), FARO_VERDICT_ACCEPTED);
  assert_true(stage_metric(&s, 0, "faro_reports_total{result=\"spent\"}") == 0);
  send_many(&s, 61, B - 1, 4, 1);
  assert_true(stage_await(&s, 4, 120));
  assert_true(stage_metric(&s, 0, "faro_reports_total{result=\"spent\"}") ==
              1); /* shown because the batch is closed */
  stage_close(&s);
}

/* While another process holds the state, the writer can begin nothing. Strangers still hear that
 * their token is unknown, because the writer is not asked. */
static void test_shuffler__strangers_take_no_time_of_the_writer(void **state) {
  (void)state;
  static stage s;
  char path[96];
  sqlite3 *handle = NULL;
  unsigned char frames[2 * 512];
  faro_sent sent;
  stage_open(&s, &bits);
  stage_start(&s, 0, NULL);
  snprintf(path, sizeof path, "%s/state0", s.folder);
  assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
  assert_int_equal(sqlite3_exec(handle, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
  for (size_t i = 0; i < 2; i++) {
    stage_report(&s, 0, i, 1, 1, 1, frames + i * s.frame);
    frames[i * s.frame + 50] ^= 1; /* in the token */
  }
  assert_int_equal(stage_post(&s, 0, frames, 2 * s.frame, &sent), 401);
  assert_non_null(strstr(sent.bytes, "the token is not known here"));
  assert_true(stage_metric(&s, 0, "faro_reports_total{result=\"token\"}") == 2);
  assert_int_equal(send_one(&s, 0, 1, 1, 1), 503); /* the writer's answer */
  assert_int_equal(sqlite3_exec(handle, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(handle);
  assert_int_equal(send_one(&s, 0, 1, 1, 1), FARO_VERDICT_ACCEPTED);
  stage_close(&s);
}

/* A client that only sends what is refused hears so a hundred times, then that it must wait. Others
 * are not affected, nor is what it sends in one post with others. */
static void test_shuffler__a_client_is_refused_only_so_often(void **state) {
  (void)state;
  static stage s;
  unsigned char frames[2 * 512];
  faro_sent sent;
  long status = 409;
  size_t refused = 0;
  stage_open(&s, &bits);
  stage_start(&s, 0, NULL);
  stage_report(&s, 0, 0, 9, 1, 1, frames); /* a policy of the future */
  for (; status == 409 && refused < 100000; refused++) status = stage_post(&s, 0, frames, s.frame, &sent);
  assert_int_equal(status, 429);
  assert_true(refused > 100);
  assert_true(sent.retry_after > 0);
  assert_non_null(strstr(sent.bytes, "too many reports of this client were refused"));
  assert_true(stage_metric(&s, 0, "faro_reports_total{result=\"limited\"}") == 0); /* as other refusals */
  const double shown = stage_metric(&s, 0, "faro_http_answers_total{code=\"4xx\"}");
  assert_true(fmod(shown, 100) == 0); /* in hundreds, and this one is not counted at once */
  assert_int_equal(send_one(&s, 1, 9, 1, 1), 409);
  stage_report(&s, 0, 1, 1, 1, 1, frames + s.frame);
  assert_int_equal(stage_post(&s, 0, frames, 2 * s.frame, &sent), 200);
  assert_int_equal(sent.bytes[0], FARO_VERDICT_LIMITED);
  assert_int_equal(sent.bytes[1], FARO_VERDICT_ACCEPTED);
  stage_close(&s);
}

/* The metrics before and after a post do not show whether its report is in the open batch. */
static void test_shuffler__metrics_tell_of_closed_batches_alone(void **state) {
  (void)state;
  static stage s;
  stage_open(&s, &bits);
  stage_start(&s, 0, NULL);
  static const char *const names[] = {"faro_reports_total{result=\"accepted\"}",
                                      "faro_reports_total{result=\"known\"}",
                                      "faro_acknowledgement_seconds_count", "faro_batches_closed_total"};
  static const char *const quiet[] = {"faro_reports_total{result=\"twice\"}",
                                      "faro_reports_total{result=\"stale\"}",
                                      "faro_http_answers_total{code=\"4xx\"}"};
  const double answers = stage_metric(&s, 0, "faro_http_answers_total{code=\"2xx\"}");
  send_many(&s, 0, B - 1, 1, 1);
  assert_int_equal(send_one(&s, 0, 1, 1, 1000), FARO_VERDICT_KNOWN);
  assert_true(stage_metric(&s, 0, "faro_http_answers_total{code=\"2xx\"}") ==
              answers + 1); /* the request for metrics itself */
  for (size_t i = 0; i < 4; i++) assert_true(stage_metric(&s, 0, names[i]) == 0);
  assert_int_equal(send_one(&s, 0, 1, 2, 1), 409); /* twice */
  assert_int_equal(send_one(&s, 50, 2, 1, 1), 409);
  for (size_t i = 0; i < 3; i++) assert_true(stage_metric(&s, 0, quiet[i]) == 0);
  assert_int_equal(send_one(&s, B - 1, 1, 1, 1), 0);
  assert_true(stage_await(&s, 1, 120));
  assert_true(stage_metric(&s, 0, names[0]) == B);
  assert_true(stage_metric(&s, 0, names[1]) == 1);
  assert_true(stage_metric(&s, 0, names[2]) ==
              3); /* posts: send_many, the repeated one, the one that closed the batch */
  assert_true(stage_metric(&s, 0, names[3]) == 1);
  for (size_t i = 0; i < 2; i++) assert_true(stage_metric(&s, 0, quiet[i]) == 1);
  stage_close(&s);
}

/* Bits only: the sum of the marks in a batch. */
static uint64_t marks_in(const stage *s, size_t batch, size_t entry) {
  return faro_load64(s->batch[batch].body + 8 * entry) -
         s->batch[batch].count * (uint64_t)s->campaign.encoding[0].least;
}

static void test_shuffler__totals_are_the_sums_of_what_was_accepted(void **state) {
  (void)state;
  static stage s;
  stage_open(&s, &bits);
  stage_start(&s, 0, NULL);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < B; i++) {
    assert_int_equal(send_one(&s, i, 1, 1, 3 * i + 1), 0);
    assert_int_equal(send_one(&s, i, 1, 1, 3 * i + 1), 1);
    sum += 3 * i + 1;
  }
  assert_true(stage_await(&s, 1, 120));
  assert_int_equal(s.batch[0].count, B);
  assert_int_equal(s.batch[0].length, s.body * 2);
  for (size_t i = 0; i < s.body / 4; i++) assert_int_equal(marks_in(&s, 0, i), sum);
  stage_close(&s);
}

static void test_shuffler__a_batch_of_b_less_one_never_leaves(void **state) {
  (void)state;
  static stage s;
  stage_open(&s, &bits);
  stage_start(&s, 0, NULL);
  send_many(&s, 0, B - 1, 1, 1);
  assert_int_equal(stage_stop(&s, 0), 0); /* it sends no open batch when it ends */
  stage_start(&s, 0, NULL);               /* nor when it starts */
  assert_false(stage_await(&s, 1, 0.5));
  stage_kill(&s, 0);
  stage_start(&s, 0, NULL);
  assert_false(stage_await(&s, 1, 0.5));
  char path[128];
  uint64_t held = 0;
  snprintf(path, sizeof path, "%s/state0", s.folder);
  assert_ok(faro_spool_count_open(path, &held, error));
  assert_int_equal(held, B - 1);
  assert_int_equal(send_one(&s, B - 1, 1, 1, 1000 + B - 1), 0);
  assert_true(stage_await(&s, 1, 120));
  uint64_t sum = 0;
  for (uint64_t i = 0; i < B; i++) sum += 1000 + i;
  assert_int_equal(marks_in(&s, 0, 0), sum);
  stage_close(&s);
}

/* A sealed body is its mark, so the analyzer can identify each report. For bits it sees the sum of
 * the marks. */
static void assert_exactly_once(const stage *s, const bool *accepted, size_t marks) {
  const bool sums = faro_campaign_form(&s->campaign) == FARO_WIRE_BITS;
  unsigned *seen = calloc(marks, sizeof *seen);
  uint64_t sum = 0;
  uint64_t expected = 0;
  for (size_t b = 0; b < s->batches; b++)
    for (size_t i = 0; i < (sums ? 1 : s->batch[b].count); i++) {
      const uint64_t mark = sums ? marks_in(s, b, 0) : faro_load64(s->batch[b].body + i * s->body);
      sum += mark;
      if (sums) continue;
      assert_true(mark < marks);
      seen[mark]++;
    }
  for (size_t i = 0; i < marks; i++) {
    expected += accepted[i] ? i : 0;
    assert_true(sums || seen[i] == (accepted[i] ? 1 : 0));
  }
  assert_int_equal(sum, expected);
  free(seen);
}

/* Sends posts of 7 reports while the process is killed again and again. A post without an answer is
 * sent again, as clients do. The analyzer is down now and then, and answers are lost. */
static void survives(stage_plan plan) {
  static stage s;
  static bool accepted[4096];
  enum { CLIENTS = 7 * 40, ROUNDS = 3 };
  memset(accepted, 0, sizeof accepted);
  plan.clients = CLIENTS;
  plan.batch = 35;
  stage_open(&s, &plan);
  stage_start(&s, 0, NULL);
  unsigned char *frames = malloc(7 * s.frame);
  faro_sent sent;
  srand(1);
  for (uint64_t round = 0; round < ROUNDS; round++)
    for (size_t first = 0; first < CLIENTS; first += 7) {
      for (bool done = false; !done;) {
        const uint64_t batch = (round * CLIENTS + first) / plan.batch;
        for (size_t i = 0; i < 7; i++)
          stage_report(&s, 0, first + i, batch + 1, round + 1, round * CLIENTS + first + i,
                       frames + i * s.frame);
        if (rand() % 4 == 0) stage_present(&s, rand() % 2);
        const pid_t doomed = rand() % 8 == 0 ? s.pid[0] : 0;
        pid_t killer = 0;
        if (doomed && (killer = fork()) == 0) {
          usleep((useconds_t)(rand() % 3000));
          kill(doomed, SIGKILL);
          _exit(0);
        }
        const long status = stage_post(&s, 0, frames, 7 * s.frame, &sent);
        done = status == 200;
        for (size_t i = 0; done && i < 7; i++) assert_true(sent.bytes[i] <= FARO_VERDICT_KNOWN);
        if (status == 503 || status == 409) stage_present(&s, true), usleep(20000);
        else assert_true(status == 200 || status == 0);
        if (doomed) {
          waitpid(killer, NULL, 0);
          stage_kill(&s, 0);
          stage_start(&s, 0, NULL);
        }
      }
      for (size_t i = 0; i < 7; i++) accepted[round * CLIENTS + first + i] = true;
    }
  stage_present(&s, true);
  assert_true(stage_await(&s, ROUNDS * CLIENTS / plan.batch, 120));
  assert_exactly_once(&s, accepted, sizeof accepted);
  free(frames);
  stage_close(&s);
}

static void test_shuffler__nothing_is_lost_or_counted_twice_when_it_is_killed(void **state) {
  (void)state;
  survives(bits);
}

/* Whether a file contains these bytes. */
static bool file_has(const char *path, const void *bytes, size_t length) {
  const int file = open(path, O_RDONLY);
  if (file < 0) return false;
  const off_t size = lseek(file, 0, SEEK_END);
  char *all = malloc((size_t)size + 1);
  assert_int_equal(pread(file, all, (size_t)size, 0), size);
  close(file);
  const bool found = memmem(all, (size_t)size, bytes, length) != NULL;
  free(all);
  return found;
}

static bool state_has(const stage *s, const void *bytes, size_t length) {
  static const char *const end[] = {"", "-wal", "-shm", "-journal"};
  char path[128];
  bool found = false;
  for (size_t i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "%s/state0%s", s->folder, end[i]);
    found = found || file_has(path, bytes, length);
  }
  return found;
}

/* The files contain the bodies and totals of a batch while it waits, but not after it was released.
 * They never contain tokens. */
static void forgets(const stage_plan *plan) {
  static stage s;
  stage_open(&s, plan);
  stage_present(&s, false);
  stage_start(&s, 0, NULL);
  unsigned char frame[4096];
  unsigned char total[8];
  const bool sums = faro_campaign_form(&s.campaign) == FARO_WIRE_BITS;
  const uint64_t base = sums ? 0xABC : 0xABCDE;
  uint64_t sum = sums ? B * (uint64_t)s.campaign.encoding[0].least : 0;
  for (uint64_t i = 0; i < B; i++) {
    assert_int_equal(send_one(&s, i, 1, 1, base + i), 0);
    sum += base + i;
  }
  faro_store64(total, sum);
  stage_report(&s, 0, 3, 1, 1, base + 3, frame);
  const void *secret = sums ? total : frame + FARO_REPORT_HEAD;
  assert_true(state_has(&s, secret, 8));
  stage_present(&s, true);
  assert_true(stage_await(&s, 1, 120));
  for (int i = 0; i < 12000 && stage_metric(&s, 0, "faro_batches_waiting") > 0; i++) usleep(10000);
  for (uint64_t i = 0; i < B; i++) {
    unsigned char hash[FARO_HASH_BYTES];
    stage_report(&s, 0, i, 1, 1, base + i, frame);
    faro_token_hash(frame + 40, hash);
    assert_false(state_has(&s, frame + 40, FARO_TOKEN_BYTES));
    assert_true(state_has(&s, hash, FARO_HASH_BYTES)); /* the search works */
    if (!sums) assert_false(state_has(&s, frame + FARO_REPORT_HEAD, 8));
  }
  assert_false(state_has(&s, total, 8));
  stage_close(&s);
}
static void test_shuffler__files_hold_nothing_of_a_released_batch(void **state) {
  (void)state;
  forgets(&bits);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they have heaps of their own */
/* Within a short time: idle connections are closed first, and their buffers freed. */
static bool forgets_in_memory(const stage *s, const unsigned char *pieces, size_t length) {
  for (int i = 0; i < 600; i++, usleep(100000))
    if (stage_remembers(s->pid[0], pieces, B, length) == 0) return true;
  return false;
}

static void test_shuffler__memory_holds_nothing_of_a_released_batch(void **state) {
  (void)state;
  static stage s;
  stage_open(&s, &sealed);
  stage_start(&s, 0, "timeout: 1\n");
  unsigned char frame[4096];
  const uint64_t base = 0x1122334455667700;
  stage_report(&s, 0, 3, 1, 1, base + 3, frame);
  if (stage_remembers(s.pid[0], frame, 1, 8) < 0) {
    stage_close(&s);
    skip();
  }
  stage_present(&s, false);
  for (uint64_t i = 0; i < B; i++) assert_int_equal(send_one(&s, i, 1, 1, base + i), 0);
  /* The batch is in memory until it is sent. */
  assert_true(stage_remembers(s.pid[0], frame + FARO_REPORT_HEAD, 1, 8) > 0);
  stage_present(&s, true);
  assert_true(stage_await(&s, 1, 120));
  for (int i = 0; i < 12000 && stage_metric(&s, 0, "faro_batches_waiting") > 0; i++) usleep(10000);
  unsigned char bodies[B * 8], tokens[B * FARO_TOKEN_BYTES];
  for (uint64_t i = 0; i < B; i++) {
    stage_report(&s, 0, i, 1, 1, base + i, frame);
    memcpy(bodies + i * 8, frame + FARO_REPORT_HEAD, 8);
    memcpy(tokens + i * FARO_TOKEN_BYTES, frame + 40, FARO_TOKEN_BYTES);
  }
  assert_true(forgets_in_memory(&s, bodies, 8));
  assert_true(forgets_in_memory(&s, tokens, FARO_TOKEN_BYTES));
  stage_close(&s);
}
#endif

/* Connects without libcurl. */
static int connect_to(const stage *s) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(s->port[0])};
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  const int to = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(to, (const struct sockaddr *)&address, sizeof address), 0);
  return to;
}

static void say(int to, const char *text) {
  assert_int_equal(send(to, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void expect(int to, const char *begin) {
  char answer[512] = "";
  const struct timeval most = {60, 0};
  setsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  assert_true(recv(to, answer, sizeof answer - 1, 0) > 0);
  if (strncmp(answer, begin, strlen(begin)) != 0) fail_msg("%s", answer);
}

static void test_shuffler__slow_and_oversized_senders_block_nobody(void **state) {
  (void)state;
  static stage s;
  stage_open(&s, &bits);
  stage_start(&s, 0, "timeout: 600\n");
  int slow[50];
  for (size_t i = 0; i < 50; i++) {
    slow[i] = connect_to(&s);
    say(slow[i], "POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
  }
  const int large = connect_to(&s);
  say(large, "POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n");
  expect(large, "HTTP/1.1 413 ");
  close(large);
  const int endless = connect_to(&s);
  say(endless, "POST /v1/reports HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  expect(endless, "HTTP/1.1 411 ");
  close(endless);
  for (int i = 0; i < 24; i++) {
    (void)send(slow[0], "x", 1, MSG_NOSIGNAL);
    assert_int_equal(send_one(&s, (size_t)i % B, 1, 1, 1),
                     i < B ? FARO_VERDICT_ACCEPTED : FARO_VERDICT_KNOWN);
  }
  char byte;
  for (size_t i = 0; i < 50; i++) { /* none was cut off: they did not delay the others */
    assert_true(recv(slow[i], &byte, 1, MSG_DONTWAIT) < 0);
    close(slow[i]);
  }
  faro_sent sent;
  assert_int_equal(stage_get(&s, 0, "/healthz", &sent), 200);
  stage_close(&s);
}

/* A request must arrive within twice the timeout, even if bytes keep coming. */
static void test_shuffler__who_trickles_is_cut_off(void **state) {
  (void)state;
  static stage s;
  stage_open(&s, &bits);
  stage_start(&s, 0, "timeout: 1\n");
  const int slow = connect_to(&s);
  say(slow, "POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
  struct pollfd waits = {.fd = slow, .events = POLLIN};
  while (poll(&waits, 1, 100) == 0) (void)send(slow, "x", 1, MSG_NOSIGNAL);
  expect(slow, "HTTP/1.1 408 ");
  close(slow);
  stage_close(&s);
}

/* An announced length costs nothing until the bytes arrive. */
static void test_shuffler__announced_bodies_take_no_memory(void **state) {
  (void)state;
  static stage s;
  stage_open(&s, &bits);
  stage_start(&s, 0, NULL);
  int idle[200];
  for (size_t i = 0; i < 200; i++) idle[i] = connect_to(&s);
  const double before = stage_metric(&s, 0, "process_resident_memory_bytes");
  for (size_t i = 0; i < 200; i++)
    say(idle[i], "POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n");
  usleep(300000);
  assert_int_equal(send_one(&s, 0, 1, 1, 1), 0); /* others are served */
  const double after = stage_metric(&s, 0, "process_resident_memory_bytes");
  /* buffers, in steps of 16 MiB, and larger ones under a sanitizer; bodies would be 200 MB */
  assert_true(after - before < 120e6);
  for (size_t i = 0; i < 200; i++) close(idle[i]);
  stage_close(&s);
}

/* When unfinished posts take all the room, a client can still send a single report of any size. */
static void test_shuffler__a_report_by_itself_finds_room(void **state) {
  (void)state;
  enum { POSTS = 70, MOST = 100, LENGTH = 1 << 20 };
  static stage s;
  stage_plan plan = sealed;
  plan.dimension = 31;
  stage_open(&s, &plan);
  assert_true(s.frame > 4096);
  stage_start(&s, 0, "timeout: 600\n"); /* none of the slow posts is cut off meanwhile */
  char *most = calloc(1, LENGTH);
  int slow[MOST];
  size_t count = POSTS;
  for (size_t i = 0; i < POSTS; i++) {
    slow[i] = connect_to(&s);
    say(slow[i], "POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n");
    assert_int_equal(send(slow[i], most, LENGTH - 1, MSG_NOSIGNAL), LENGTH - 1);
  }
  unsigned char frames[2 * 8192];
  faro_sent sent;
  long status = 0;
  for (size_t i = 0; i < 2; i++) stage_report(&s, 0, i, 1, 1, 1, frames + i * s.frame);
  /* Until all of it has arrived. Of two posts that come at the same time and need the last room,
   * both may be refused: then one more takes it. */
  for (int i = 1; status != 503 && i < 1200; i++, usleep(100000)) {
    status = stage_post(&s, 0, frames, 2 * s.frame, &sent);
    if (status == 503 || i % 20 != 0 || count == MOST) continue;
    slow[count] = connect_to(&s);
    say(slow[count], "POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n");
    (void)send(slow[count++], most, LENGTH - 1, MSG_NOSIGNAL);
  }
  assert_int_equal(status, 503); /* no room is left */
  assert_int_equal(stage_post(&s, 0, frames, s.frame, &sent), 200);
  for (size_t i = 0; i < count; i++) close(slow[i]);
  free(most);
  stage_close(&s);
}

/* Files cannot grow for a while, as if the disk were full. */
static void test_shuffler__a_full_disk_is_told_and_loses_nothing(void **state) {
  (void)state;
  static stage s;
  static bool accepted[2048];
  stage_plan plan = bits;
  plan.clients = 1000;
  plan.batch = 1000;
  plan.epsilon = 0.1; /* counts are large enough for all marks */
  stage_open(&s, &plan);
  stage_start(&s, 0, NULL);
  send_many(&s, 0, 10, 1, 1);
  struct rlimit before;
  assert_int_equal(prlimit(s.pid[0], RLIMIT_FSIZE, NULL, &before), 0);
  const struct rlimit little = {256 << 10, before.rlim_max};
  assert_int_equal(prlimit(s.pid[0], RLIMIT_FSIZE, &little, NULL), 0);
  size_t next = 10;
  long verdict = 0;
  while (next < 1000 && (verdict = send_one(&s, next, 1, 1, 1000 + next)) == 0) next++;
  assert_int_equal(verdict, 503);
  assert_true(next < 1000);
  faro_sent sent;
  assert_int_equal(stage_get(&s, 0, "/healthz", &sent), 503);
  assert_int_equal(prlimit(s.pid[0], RLIMIT_FSIZE, &before, NULL), 0);
  assert_int_equal(send_one(&s, 5, 1, 1, 1005), FARO_VERDICT_KNOWN);
  while (next < 1000) {
    const size_t count = 1000 - next < 90 ? 1000 - next : 90;
    send_many(&s, next, count, 1, 1);
    next += count;
  }
  assert_int_equal(stage_get(&s, 0, "/healthz", &sent), 200);
  assert_true(stage_await(&s, 1, 120));
  for (size_t i = 0; i < 1000; i++) accepted[1000 + i] = true;
  assert_exactly_once(&s, accepted, 2048);
  stage_close(&s);
}

/* A load balancer sends nothing to a role that is not well: it must notice by itself that there is
 * room again. */
static void test_shuffler__is_well_again_without_a_report(void **state) {
  (void)state;
  static stage s;
  stage_plan plan = bits;
  plan.clients = plan.batch = 1000;
  stage_open(&s, &plan);
  stage_start(&s, 0, NULL);
  struct rlimit before;
  assert_int_equal(prlimit(s.pid[0], RLIMIT_FSIZE, NULL, &before), 0);
  const struct rlimit little = {256 << 10, before.rlim_max};
  assert_int_equal(prlimit(s.pid[0], RLIMIT_FSIZE, &little, NULL), 0);
  size_t next = 0;
  while (next < 1000 && send_one(&s, next, 1, 1, 1) == 0) next++;
  assert_true(next < 1000);
  faro_sent sent;
  for (int i = 0; i < 15; i++, usleep(100000)) /* a probe finds no room either */
    assert_int_equal(stage_get(&s, 0, "/healthz", &sent), 503);
  assert_int_equal(prlimit(s.pid[0], RLIMIT_FSIZE, &before, NULL), 0);
  long health = 503;
  for (int i = 0; i < 1200 && health == 503; i++, usleep(50000)) health = stage_get(&s, 0, "/healthz", &sent);
  assert_int_equal(health, 200);
  assert_int_equal(send_one(&s, next, 1, 1, 1), 0);
  stage_close(&s);
}

/* No reports are collected now. A report that is refused for good does not hide that the others may
 * be sent again. */
static void refuses_each_for_its_own_reason(stage *s) {
  unsigned char frames[3 * 512];
  static const unsigned char expected[] = {FARO_VERDICT_MALFORMED, FARO_VERDICT_CLOSED, FARO_VERDICT_CLOSED};
  faro_sent sent;
  for (size_t i = 0; i < 3; i++) stage_report(s, 0, 2 * B + i, 2, 1, 1, frames + i * s->frame);
  assert_int_equal(stage_post(s, 0, frames, 3 * s->frame, &sent), 503);
  frames[0] = 'X';
  assert_int_equal(stage_post(s, 0, frames, 3 * s->frame, &sent), 200);
  assert_int_equal(sent.length, 3);
  assert_memory_equal(sent.bytes, expected, 3);
}

/* At most two closed batches wait; then nothing is accepted, and the answer says so. */
static void test_shuffler__waits_two_batches_ahead_of_the_analyzer(void **state) {
  (void)state;
  static stage s;
  stage_open(&s, &bits);
  stage_present(&s, false);
  stage_start(&s, 0, NULL);
  send_many(&s, 0, B, 1, 1);
  send_many(&s, B, B, 1, 1);
  assert_int_equal(send_one(&s, 2 * B, 2, 1, 1), 503);
  refuses_each_for_its_own_reason(&s);
  assert_true(stage_metric(&s, 0, "faro_batches_waiting") == 2);
  stage_kill(&s, 0);
  stage_start(&s, 0, NULL);
  assert_int_equal(send_one(&s, 2 * B, 2, 1, 1), 503);
  stage_present(&s, true);
  assert_true(stage_await(&s, 2, 120));
  long verdict = 503;
  for (int i = 0; i < 6000 && verdict == 503; i++, usleep(20000)) verdict = send_one(&s, 2 * B, 2, 1, 1);
  assert_int_equal(verdict, 0);
  stage_close(&s);
}

static void test_shuffler__each_level_waits_for_its_own_crowd(void **state) {
  (void)state;
  static stage s;
  const stage_plan plan = {.release = "concurrent-bits",
                           .epsilon = 2,
                           .batch = 10,
                           .horizon = 400,
                           .shufflers = 2,
                           .contributions = 4,
                           .dimension = 2,
                           .clients = 400};
  stage_open(&s, &plan);
  const uint64_t unit = s.campaign.encoding[1].size / 10;
  assert_true(unit >= 2);
  stage_start(&s, 0, NULL);
  stage_start(&s, 1, NULL);
  unsigned char frame[4096];
  faro_sent sent;
  for (uint64_t user = 0; user < unit * 10; user++) {
    const uint64_t client = user % 10 + (user / 10 % 2) * 10; /* each comes back in every other batch */
    for (size_t level = 0; level < 2; level++) {
      stage_report(&s, level, client, user / 10 + 1, user + 1, 1, frame);
      long status = 503; /* two closed batches wait */
      for (int i = 0; i < 12000 && status == 503; i++, usleep(status == 503 ? 10000 : 0))
        status = stage_post(&s, level, frame, s.frame, &sent);
      if (user / 20 < 4) assert_int_equal(status, 200);
      else assert_int_equal(status, 409); /* M0 */
      if (user / 20 < 4) assert_int_equal(sent.bytes[0], 0);
    }
  }
  if (unit <= 8) {
    assert_true(stage_await(&s, unit + 1, 120));
    size_t upper = 0;
    for (size_t i = 0; i < s.batches; i++) {
      assert_int_equal(s.batch[i].count, s.batch[i].shuffler ? unit * 10 : 10);
      upper += s.batch[i].shuffler;
    }
    assert_int_equal(upper, 1);
  }
  stage_close(&s);
}

/* Batches of 20, 20, 40 and 80 reports. The process is killed in the middle of each, and after
 * each. */
static void grows(const char *release) {
  static stage s;
  const stage_plan plan = {.release = release,
                           .epsilon = 1,
                           .batch = B,
                           .growth = 2,
                           .horizon = 8 * B,
                           .contributions = 4,
                           .dimension = 2,
                           .clients = 100};
  stage_open(&s, &plan);
  assert_int_equal(s.campaign.batches, 4);
  for (uint64_t b = 0; b < 4; b++) {
    const size_t size = faro_campaign_size(&s.campaign, 0, b);
    stage_start(&s, 0, NULL);
    if (b >= 2) /* under the policy before, with the noise of a smaller batch */
      assert_int_equal(send_one(&s, 99, b, 1, 1), 409);
    send_many(&s, 0, size / 2, b + 1, b + 1);
    stage_kill(&s, 0);
    stage_start(&s, 0, NULL);
    send_many(&s, size / 2, size - size / 2, b + 1, b + 1);
    assert_true(stage_await(&s, b + 1, 120));
    assert_int_equal(s.batch[b].count, size);
    assert_int_equal(s.batch[b].number, b);
    stage_kill(&s, 0);
  }
  stage_start(&s, 0, NULL);
  assert_int_equal(send_one(&s, 99, 4, 1, 1), 409); /* it is over */
  stage_close(&s);
}

static void test_shuffler__batches_of_different_sizes_over_restarts(void **state) {
  (void)state;
  grows("shuffle-bits");
  grows("shuffle-response");
}

static int shell(const char *format, const char *a, const char *b) {
  char command[512];
  snprintf(command, sizeof command, format, FARO_COMMAND, a, b);
  return WEXITSTATUS(system(command));
}

static void test_shuffler__settings_are_checked_and_a_second_process_is_refused(void **state) {
  (void)state;
  static stage s;
  stage_open(&s, &bits);
  stage_start(&s, 0, NULL);
  assert_int_equal(shell("%s shuffler --config %s/config0 --check-config >/dev/null%s", s.folder, ""), 0);
  assert_int_equal(
      shell("sed -i s/:[0-9]*$/:0/ %2$s/config0; %1$s shuffler --config %2$s/config0 2>%2$s/out%3$s",
            s.folder, ""),
      4);
  assert_int_equal(shell("true %s; grep -q 'another process' %s/out%s", s.folder, ""), 0);
  assert_int_equal(shell("true %s; echo 'lisen: x' >>%s/config0%s", s.folder, ""), 0);
  assert_int_equal(shell("%1$s shuffler --config %2$s/config0 --check-config 2>%2$s/out%3$s", s.folder, ""),
                   3);
  assert_int_equal(
      shell("true %s; grep -q 'config0:7: unknown key \"lisen\" (did you mean listen?)' %s/out%s", s.folder,
            ""),
      0);
  stage_close(&s);
}

/* It is ready when it listens; its status says what it waits for. */
static void test_shuffler__tells_systemd_what_it_waits_for(void **state) {
  (void)state;
  static stage s;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  stage_open(&s, &bits);
  snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", s.folder);
  assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
  setenv("NOTIFY_SOCKET", address.sun_path, 1);
  stage_start(&s, 0, NULL);
  unsetenv("NOTIFY_SOCKET");
  assert_int_equal(stage_stop(&s, 0), 0);
  static const char *const told[] = {"READY=1\nSTATUS=waiting for the campaign", "STATUS=collecting",
                                     "STOPPING=1"};
  for (size_t i = 0; i < 3; i++) {
    char text[128] = "";
    assert_true(recv(fd, text, sizeof text - 1, 0) > 0);
    assert_string_equal(text, told[i]);
  }
  close(fd);
  stage_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_shuffler__every_refusal_has_its_byte_and_status),
    cmocka_unit_test(test_shuffler__a_client_is_heard_m0_times_and_never_for_an_old_policy),
    cmocka_unit_test(test_shuffler__strangers_take_no_time_of_the_writer),
    cmocka_unit_test(test_shuffler__a_client_is_refused_only_so_often),
    cmocka_unit_test(test_shuffler__metrics_tell_of_closed_batches_alone),
    cmocka_unit_test(test_shuffler__totals_are_the_sums_of_what_was_accepted),
    cmocka_unit_test(test_shuffler__a_batch_of_b_less_one_never_leaves),
    cmocka_unit_test(test_shuffler__nothing_is_lost_or_counted_twice_when_it_is_killed),
    cmocka_unit_test(test_shuffler__files_hold_nothing_of_a_released_batch),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    cmocka_unit_test(test_shuffler__memory_holds_nothing_of_a_released_batch),
#endif
    cmocka_unit_test(test_shuffler__slow_and_oversized_senders_block_nobody),
    cmocka_unit_test(test_shuffler__who_trickles_is_cut_off),
    cmocka_unit_test(test_shuffler__announced_bodies_take_no_memory),
    cmocka_unit_test(test_shuffler__a_report_by_itself_finds_room),
    cmocka_unit_test(test_shuffler__a_full_disk_is_told_and_loses_nothing),
    cmocka_unit_test(test_shuffler__is_well_again_without_a_report),
    cmocka_unit_test(test_shuffler__waits_two_batches_ahead_of_the_analyzer),
    cmocka_unit_test(test_shuffler__each_level_waits_for_its_own_crowd),
    cmocka_unit_test(test_shuffler__batches_of_different_sizes_over_restarts),
    cmocka_unit_test(test_shuffler__tells_systemd_what_it_waits_for),
    cmocka_unit_test(test_shuffler__settings_are_checked_and_a_second_process_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
