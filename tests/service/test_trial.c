/* The tools of the demo and of the fault tests: the search for patterns, the parser of recorded
 * requests, the relay. They are tested because a check that cannot fail proves
 * nothing. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "service/client/client_send.h"
#include "service/client/client_settings.h"
#include "service/http/server.h"
#include "support/support.h"
#include "trial/capture.h"
#include "trial/child.h"
#include "trial/crowd.h"
#include "trial/patterns.h"
#include "trial/relay.h"

static void test_capture__needles_are_found_in_every_form(void **state) {
  (void)state;
  faro_patterns *patterns = NULL;
  assert_ok(faro_patterns_create(&patterns, 100, error));
  const double secret = 0.12345678912345678;
  faro_patterns_add_real(patterns, secret);
  faro_patterns_add(patterns, "\x01\x02\x03\x04\x05\x06\x07\x08");
  unsigned char turned[8], bytes[64] = {0};
  memcpy(bytes + 3, &secret, 8);
  assert_int_equal(faro_patterns_find(patterns, bytes, sizeof bytes), 1);
  assert_int_equal(faro_patterns_find(patterns, bytes, 10), 0); /* its last byte is missing */
  for (int i = 0; i < 8; i++) turned[i] = ((const unsigned char *)&secret)[7 - i];
  assert_int_equal(faro_patterns_find(patterns, turned, 8), 1);
  static const char text[] = "reward=0.1234567", hex[] = "xx0102030405060708xx",
                    capitals[] = "01020304050607080";
  assert_int_equal(faro_patterns_find(patterns, (const unsigned char *)text, sizeof text - 1), 1);
  assert_int_equal(faro_patterns_find(patterns, (const unsigned char *)hex, sizeof hex - 1), 1);
  assert_int_equal(faro_patterns_find(patterns, (const unsigned char *)capitals, 15), 0);
  faro_patterns_destroy(patterns);
}

static void test_capture__needles_that_chance_would_find_are_left_out(void **state) {
  (void)state;
  faro_patterns *patterns = NULL;
  assert_ok(faro_patterns_create(&patterns, 3, error));
  faro_patterns_add(patterns, "\x01\x02\x03\0\0\0\0\0");
  assert_int_equal(faro_patterns_count(patterns), 0);
  for (char c = 'a'; c < 'h'; c++) {
    const char bytes[8] = {c, c, c, c, c, c, c, c};
    faro_patterns_add(patterns, bytes);
    faro_patterns_add(patterns, bytes);
  }
  assert_int_equal(faro_patterns_count(patterns), 3); /* each once, and only as many as there is room for */
  faro_patterns_destroy(patterns);
}

static void test_capture__a_needle_across_chunks_of_a_file_is_found(void **state) {
  (void)state;
  char path[] = "/tmp/faro-needle-XXXXXX";
  const int fd = mkstemp(path);
  faro_patterns *patterns = NULL;
  size_t found = 0;
  assert_ok(faro_patterns_create(&patterns, 3, error));
  faro_patterns_add(patterns, "needle!!");
  static const char zeros[65536 - 3];
  assert_int_equal(write(fd, zeros, sizeof zeros), sizeof zeros);
  assert_int_equal(write(fd, "needle!!", 8), 8);
  close(fd);
  assert_ok(faro_patterns_find_file(patterns, path, &found, error));
  assert_int_equal(found, 1);
  unlink(path);
  assert_ok(faro_patterns_find_file(patterns, path, &found, error));
  assert_int_equal(found, 0);
  faro_patterns_destroy(patterns);
}

static void test_capture__whole_requests_are_read_and_cut_ones_are_not(void **state) {
  (void)state;
  static const char line[] = "POST /v1/reports HTTP/1.1\r\nHost: x\r\ncontent-length: 5\r\n\r\nhello"
                             "GET /v1/policy HTTP/1.1\r\n\r\n"
                             "POST /v1/batches HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf";
  size_t place = 0;
  faro_request request;
  assert_true(faro_capture_next((const unsigned char *)line, sizeof line - 1, &place, &request));
  assert_true(faro_request_is(&request, "/v1/reports"));
  assert_false(faro_request_is(&request, "/v1/report"));
  assert_int_equal(request.length, 5);
  assert_memory_equal(request.body, "hello", 5);
  assert_true(faro_capture_next((const unsigned char *)line, sizeof line - 1, &place, &request));
  assert_int_equal(request.length, 0);
  assert_false(faro_capture_next((const unsigned char *)line, sizeof line - 1, &place, &request));
}

/* A server for one connection that echoes what it receives. */
static void *echo(void *context) {
  const int listener = *(const int *)context, fd = accept(listener, NULL, NULL);
  char bytes[4096];
  ssize_t got;
  while ((got = recv(fd, bytes, sizeof bytes, 0)) > 0)
    if (send(fd, bytes, (size_t)got, MSG_NOSIGNAL) != got) break;
  close(fd);
  return NULL;
}

static int connect_to(uint16_t port) {
  const struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
  return fd;
}

/* Sends `length` bytes through a relay and returns how many come back. */
static size_t through(unsigned trouble, size_t length, size_t *heard, uint64_t *cuts) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
  assert_int_equal(listen(listener, 1), 0);
  assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, echo, &listener), 0);
  faro_relay *relay = NULL;
  assert_ok(faro_relay_open(&relay, ntohs(address.sin_port), 1 << 20, error));
  faro_relay_trouble(relay, trouble);
  const int fd = connect_to(faro_relay_port(relay));
  char bytes[1000];
  size_t back = 0;
  for (size_t sent = 0; sent < length; sent += sizeof bytes) {
    memset(bytes, (int)('a' + sent / sizeof bytes), sizeof bytes);
    if (send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) != sizeof bytes) break;
    for (size_t here = 0; here < sizeof bytes;) {
      const ssize_t got = recv(fd, bytes, sizeof bytes, 0);
      if (got <= 0) goto ended;
      here += (size_t)got;
      back += (size_t)got;
    }
  }
ended:
  close(fd);
  pthread_join(thread, NULL);
  faro_relay_stop(relay);
  assert_non_null(faro_relay_heard(relay, 0, heard));
  *cuts = faro_relay_cuts(relay);
  faro_relay_close(relay);
  close(listener);
  return back;
}

static void test_relay__hands_on_every_byte_and_remembers_it(void **state) {
  (void)state;
  size_t heard = 0;
  uint64_t cuts = 0;
  assert_int_equal(through(0, 20000, &heard, &cuts), 20000);
  assert_int_equal(heard, 20000);
  assert_int_equal(cuts, 0);
}

static void test_relay__in_trouble_it_cuts(void **state) {
  (void)state;
  size_t heard = 0;
  uint64_t cuts = 0;
  assert_true(through(1000, 20000, &heard, &cuts) < 1000);
  assert_true(heard <= 1000);
  assert_int_equal(cuts, 1);
}

/* A server that answers one connection after another with the given texts, up to NULL. */
typedef struct answerer {
  int listener;
  const char *answer[4];
  size_t answered;
  pthread_t thread;
} answerer;

static void *answer_all(void *context) {
  answerer *a = context;
  for (; a->answer[a->answered]; a->answered++) {
    const char *answer = a->answer[a->answered];
    const int fd = accept(a->listener, NULL, NULL);
    char bytes[4096];
    if (fd < 0) break;
    assert_true(recv(fd, bytes, sizeof bytes, 0) > 0);
    assert_true(send(fd, answer, strlen(answer), MSG_NOSIGNAL) > 0);
    close(fd);
  }
  return NULL;
}

/* Its address, and a sender for requests to it. */
static faro_sender *start_answering(answerer *a, char url[static 64]) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  faro_sender *sender = NULL;
  a->listener = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(a->listener, (const struct sockaddr *)&address, sizeof address), 0);
  assert_int_equal(listen(a->listener, 4), 0);
  assert_int_equal(getsockname(a->listener, (struct sockaddr *)&address, &size), 0);
  snprintf(url, 64, "http://127.0.0.1:%d", (int)ntohs(address.sin_port));
  assert_int_equal(pthread_create(&a->thread, NULL, answer_all, a), 0);
  assert_ok(faro_sender_create(&sender, &(faro_sender_params){.timeout = 120}, error));
  return sender;
}

static void stop_answering(answerer *a, faro_sender *sender) {
  shutdown(a->listener, SHUT_RDWR); /* ends the wait for connections that did not come */
  pthread_join(a->thread, NULL);
  faro_sender_destroy(sender);
  close(a->listener);
}

static void test_client__what_a_server_says_is_cut_and_printable(void **state) {
  (void)state;
  char answer[1024], url[64];
  snprintf(answer, sizeof answer,
           "HTTP/1.1 500 no\r\nConnection: close\r\n\r\n\x1b]0;owned\a\x9b\xc2\x9b%0500d", 7);
  answerer a = {.answer = {answer}};
  faro_sender *sender = start_answering(&a, url);
  faro_error bad = {0};
  assert_int_equal(faro_client_send(sender, url, "part", 4, NULL, &bad), FARO_SYSTEM);
  assert_non_null(strstr(bad.message, "answered 500: ?]0;owned????0000"));
  assert_true(strlen(bad.message) < 200);
  for (const char *c = bad.message; *c; c++) assert_true(*c >= ' ' && *c <= '~');
  stop_answering(&a, sender);
}

#define ANSWER(code, more) "HTTP/1.1 " code " x\r\nConnection: close\r\n" more "\r\n"

static void test_client__asks_again_when_it_was_told_to_and_not_before(void **state) {
  (void)state;
  static const struct {
    const char *answer[4];
    double seconds;
    size_t asked;
    faro_status status;
  } cases[] = {
      {{ANSWER("304", "Retry-After: 1\r\n"), ANSWER("304", "")}, 1, 2, FARO_OK},
      {{ANSWER("503", "Retry-After: 1\r\n"), ANSWER("304", "")}, 1, 2, FARO_OK},
      {{ANSWER("304", "")}, 0, 1, FARO_OK},
      {{ANSWER("503", "")}, 0, 1, FARO_SYSTEM},
      {{ANSWER("500", "Retry-After: 1\r\n")}, 0, 1, FARO_SYSTEM},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char url[64];
    bool fresh = true;
    faro_error why = {0};
    answerer a = {0};
    memcpy(a.answer, cases[i].answer, sizeof a.answer);
    faro_sender *sender = start_answering(&a, url);
    const double start = faro_clock();
    assert_int_equal(faro_client_fetch_policy(NULL, sender, url, 7, true, &fresh, &why), cases[i].status);
    assert_true(faro_clock() - start >= cases[i].seconds);
    assert_false(fresh);
    stop_answering(&a, sender);
    assert_int_equal(a.answered, cases[i].asked);
  }
}

static void test_client__waits_no_longer_than_half_a_minute_at_once(void **state) {
  (void)state;
  assert_true(faro_sent_later(&(faro_sent){.status = 503, .retry_after = 5}) == 5);
  assert_true(faro_sent_later(&(faro_sent){.status = 304, .retry_after = 86400}) == 30);
  assert_true(faro_sent_later(&(faro_sent){.status = 503, .retry_after = 0}) == 0);
  assert_true(faro_sent_later(&(faro_sent){.status = 200, .retry_after = 5}) == 0);
}

/* A scripted shuffler. It refuses the first report of the first post and accepts the third; it
 * accepts nothing of the next posts for now, and then everything. */
typedef struct script {
  faro_http *http;
  faro_metrics *metrics;
  size_t frame;
  size_t reports[8]; /* number of reports in each post */
  size_t posts;
} script;

static void on_reports(void *context, faro_http_request *request) {
  script *s = context;
  unsigned char bytes[8] = {0};
  const size_t reports = faro_http_length(request) / s->frame;
  assert_true(s->posts < 8 && reports <= sizeof bytes);
  s->reports[s->posts++] = reports;
  if (s->posts == 2) {
    faro_http_refuse(request, 503, "no reports are collected now");
    return;
  }
  static const unsigned char mixed[] = {FARO_VERDICT_TWICE, FARO_VERDICT_CLOSED, FARO_VERDICT_ACCEPTED,
                                        FARO_VERDICT_CLOSED, FARO_VERDICT_CLOSED};
  if (s->posts == 1) memcpy(bytes, mixed, sizeof mixed);
  const faro_http_answer answer = {.status = 200, .bytes = bytes, .length = reports};
  if (s->posts == 4) faro_http_refuse(request, 409, "no reports are collected now"); /* for good */
  else faro_http_reply(request, &answer);
}

/* The parts of a trial that a crowd needs, with the script for its shuffler. */
static void set_trial(faro_trial *t, script *s) {
  static const faro_http_route routes[] = {{"POST", "/v1/reports", on_reports, 0, NULL}};
  static const faro_http_settings settings = {.listen = "127.0.0.1:0", .threads = 1};
  assert_ok(faro_metrics_create(&s->metrics, error));
  const faro_http_service service = {.routes = routes, .count = 1, .context = s, .metrics = s->metrics};
  assert_ok(faro_http_start(&s->http, &settings, &service, error));
  *t = (faro_trial){.params = {.release = "shuffle-bits",
                               .dimension = 2,
                               .arms = 2,
                               .clients = 20,
                               .batch = 10,
                               .batches = 10,
                               .epsilon = 1,
                               .delta = 1e-6}};
  assert_ok(faro_sign_key_make(&t->sign, error));
  assert_ok(faro_seal_key_make(&t->seal, error));
  faro_sign_key shuffler;
  assert_ok(faro_sign_key_make(&shuffler, error));
  t->tokens = calloc(21, FARO_TOKEN_BYTES);
  faro_campaign *c = &t->campaign;
  *c = (faro_campaign){.id = "script",
                       .release = faro_release_kind_find("shuffle-bits"),
                       .arms = 2,
                       .centre = 0.5,
                       .learner = "linucb",
                       .failure = 0.1,
                       .analyzer = "http://127.0.0.1:1",
                       .shufflers = 1};
  c->params = (faro_release_params){
      .epsilon = 1, .delta = 1e-6, .horizon = 100, .batch = 10, .calibration = FARO_CALIBRATION_TIGHT};
  snprintf(c->shuffler[0].url, sizeof c->shuffler[0].url, "http://127.0.0.1:%u", faro_http_port(s->http));
  memcpy(c->seal, t->seal.public_key, FARO_KEY_BYTES);
  memcpy(c->shuffler[0].key, shuffler.public_key, FARO_KEY_BYTES);
  assert_ok(faro_contribution_init(&c->contribution, 2, 1, -0.5, 0.5, error));
  assert_ok(faro_campaign_write(c, &t->sign, &t->document, &t->document_length, error));
  s->frame = faro_wire_report_size(c);
}

/* Some reports of a post get "closed" and others do not: the closed ones are sent again by
 * themselves, until their answer is final. */
static void test_crowd__what_was_not_taken_for_now_is_sent_again_by_itself(void **state) {
  (void)state;
  faro_trial t;
  script s = {0};
  set_trial(&t, &s);
  const faro_crowd_params params = {
      .threads = 1, .group = 5, .world = "linear-fixed", .patience = 600, .listen = 1};
  double numbers[5] = {0};
  const faro_policy policy = {.version = 1, .dimension = 2, .theta = numbers, .w = numbers + 2};
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_policy_document_write(&policy, t.campaign.digest, &t.sign, &text, &length, error));
  faro_crowd *crowd = NULL;
  assert_ok(faro_crowd_create(&crowd, &t, &params, error));
  assert_ok(faro_crowd_policy(crowd, text, length, 1, error));
  faro_crowd_allow(crowd, 5);
  const bool settled = faro_crowd_settled(crowd, 600);
  if (!settled) fail_msg("%s", faro_crowd_broken(crowd));
  const faro_tally tally = faro_crowd_tally(crowd, 0);
  static const size_t posts[] = {5, 1, 1, 2}; /* all; the second, twice; the last two */
  assert_int_equal(s.posts, 4);
  assert_memory_equal(s.reports, posts, sizeof posts);
  assert_int_equal(tally.answers[FARO_VERDICT_TWICE], 1);
  assert_int_equal(tally.answers[FARO_VERDICT_ACCEPTED], 2);
  assert_int_equal(tally.answers[FARO_VERDICT_CLOSED], 2);
  assert_int_equal(tally.retries, 3);
  faro_crowd_destroy(crowd);
  faro_http_stop(s.http);
  faro_metrics_destroy(s.metrics);
  free(text);
  free(t.document);
  free(t.tokens);
}

int main(void) {
  assert_true(sodium_init() >= 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_capture__needles_are_found_in_every_form),
      cmocka_unit_test(test_capture__needles_that_chance_would_find_are_left_out),
      cmocka_unit_test(test_capture__a_needle_across_chunks_of_a_file_is_found),
      cmocka_unit_test(test_capture__whole_requests_are_read_and_cut_ones_are_not),
      cmocka_unit_test(test_relay__hands_on_every_byte_and_remembers_it),
      cmocka_unit_test(test_relay__in_trouble_it_cuts),
      cmocka_unit_test(test_client__what_a_server_says_is_cut_and_printable),
      cmocka_unit_test(test_client__asks_again_when_it_was_told_to_and_not_before),
      cmocka_unit_test(test_client__waits_no_longer_than_half_a_minute_at_once),
      cmocka_unit_test(test_crowd__what_was_not_taken_for_now_is_sent_again_by_itself),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
