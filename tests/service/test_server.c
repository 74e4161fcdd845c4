/* The parts under the roles: waiting and parked requests, settings, metrics. */
#define _GNU_SOURCE /* unshare */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "service/http/guard.h"
#include "service/http/limiter.h"
#include "service/http/listen.h"
#include "service/http/origins.h"
#include "service/http/sender.h"
#include "service/http/server.h"
#include "service/role/json_text.h"
#include "support/support.h"
#include "wire/wire.h"

/* A server with a number that grows, a handler that waits for it, and one that another thread
 * answers. */
typedef struct world {
  faro_http *http;
  faro_metrics *metrics;
  pthread_mutex_t mutex;
  int version, asked;
  double patience; /* seconds that requests wait */
  faro_http_request *parked;
  char url[64];
} world;

static void on_version(void *context, faro_http_request *request) {
  world *w = context;
  char text[16];
  const char *after = faro_http_query(request, "after");
  pthread_mutex_lock(&w->mutex);
  const int version = w->version;
  w->asked++;
  pthread_mutex_unlock(&w->mutex);
  if (after && version <= atoi(after) && !faro_http_expired(request)) {
    faro_http_wait(request, w->patience);
    return;
  }
  snprintf(text, sizeof text, "%d", version);
  const faro_http_answer answer = {.status = faro_http_expired(request) ? 304 : 200,
                                   .bytes = text,
                                   .length = strlen(text),
                                   .etag = "\"x\""};
  faro_http_reply(request, &answer);
}

static void on_parked(void *context, faro_http_request *request) {
  world *w = context;
  faro_http_park(request);
  pthread_mutex_lock(&w->mutex);
  w->parked = request;
  pthread_mutex_unlock(&w->mutex);
}

static void on_large(void *context, faro_http_request *request) {
  (void)context;
  const faro_http_answer answer = {.status = 200, .bytes = "all", .length = 3};
  faro_http_reply(request, &answer);
}

static void on_slow(void *context, faro_http_request *request) {
  nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
  on_large(context, request);
}

static void on_length(void *context, faro_http_request *request) {
  (void)context;
  char text[16];
  snprintf(text, sizeof text, "%zu", faro_http_length(request));
  const faro_http_answer answer = {.status = 200, .bytes = text, .length = strlen(text)};
  faro_http_reply(request, &answer);
}

/* Admits requests with the right word in their headers. */
static faro_status admit(void *context, const faro_http_request *request, faro_error *error) {
  (void)context;
  const char *word = faro_http_header(request, "Word");
  return word && strcmp(word, "swordfish") == 0 ? FARO_OK
                                                : faro_fail(error, FARO_INVALID, "a word must be said");
}

static size_t room = 64 << 10; /* bytes for bodies */

static void begin_with(world *w, const faro_http_settings *settings) {
  static const faro_http_route routes[] = {
      {"GET", "/version", on_version, 0, NULL}, {"POST", "/parked", on_parked, 10, NULL},
      {"POST", "/length", on_length, 0, NULL},  {"POST", "/guarded", on_length, 0, admit},
      {"GET", "/slow", on_slow, 0, NULL},       {"POST", "/large", on_large, 4000000, NULL}};
  static const char *const shared[] = {"/version", "/parked", "/length", NULL};
  *w = (world){.version = 1, .patience = 0.4};
  pthread_mutex_init(&w->mutex, NULL);
  assert_ok(faro_metrics_create(&w->metrics, error));
  const faro_http_service service = {
      .routes = routes, .count = 6, .context = w, .metrics = w->metrics, .room = room, .shared = shared};
  assert_ok(faro_http_start(&w->http, settings, &service, error));
  snprintf(w->url, sizeof w->url, "http%s://127.0.0.1:%u", *settings->certificate ? "s" : "",
           faro_http_port(w->http));
}

static void begin(world *w) {
  const faro_http_settings settings = {.listen = "127.0.0.1:0"};
  begin_with(w, &settings);
}

static void end(world *w) {
  faro_http_stop(w->http);
  faro_metrics_destroy(w->metrics);
}

typedef struct asking {
  pthread_t thread;
  char url[96];
  const char *body;
  long status;
  char answer[64];
  double took;
} asking;

static void *ask(void *context) {
  asking *a = context;
  faro_sender *sender = NULL;
  faro_sent sent = {0};
  faro_error error = {0};
  const faro_sender_params settings = {.timeout = 120};
  const double began = faro_clock();
  if (faro_sender_create(&sender, &settings, &error) != FARO_OK) return NULL;
  const faro_status status = a->body ? faro_send_post(sender, a->url, a->body, strlen(a->body), &sent, &error)
                                     : faro_send_get(sender, a->url, &sent, &error);
  if (status == FARO_OK) {
    a->status = sent.status;
    snprintf(a->answer, sizeof a->answer, "%s", sent.bytes);
  }
  a->took = faro_clock() - began;
  faro_sender_destroy(sender);
  return NULL;
}

static void start_asking(asking *a, const world *w, const char *path, const char *body) {
  *a = (asking){.body = body};
  snprintf(a->url, sizeof a->url, "%s%s", w->url, path);
  pthread_create(&a->thread, NULL, ask, a);
}

static void await_asked(world *w, int count) {
  for (int asked = 0; asked < count; usleep(1000)) {
    pthread_mutex_lock(&w->mutex);
    asked = w->asked;
    pthread_mutex_unlock(&w->mutex);
  }
}

static void test_http__those_who_wait_hear_news_at_once(void **state) {
  (void)state;
  world w;
  begin(&w);
  w.patience = 600; /* far longer than the clients wait for an answer */
  asking a[30];
  for (size_t i = 0; i < 30; i++) start_asking(&a[i], &w, "/version?after=1", NULL);
  await_asked(&w, 30); /* all wait, without a thread each */
  pthread_mutex_lock(&w.mutex);
  w.version = 2;
  pthread_mutex_unlock(&w.mutex);
  faro_http_wake(w.http);
  for (size_t i = 0; i < 30; i++) {
    pthread_join(a[i].thread, NULL);
    assert_int_equal(a[i].status, 200);
    assert_string_equal(a[i].answer, "2");
  }
  end(&w);
}

static void test_http__waiting_ends_in_time_and_with_the_server(void **state) {
  (void)state;
  world w;
  begin(&w);
  asking a;
  start_asking(&a, &w, "/version?after=1", NULL);
  pthread_join(a.thread, NULL);
  assert_int_equal(a.status, 304);
  assert_true(a.took > 0.35);
  w.patience = 600;
  start_asking(&a, &w, "/version?after=1", NULL);
  await_asked(&w, 3); /* the first handler was called again when its time was up */
  end(&w);
  pthread_join(a.thread, NULL);
  assert_int_equal(a.status, 304);
}

static void test_http__another_thread_answers(void **state) {
  (void)state;
  world w;
  begin(&w);
  asking a;
  for (int i = 0; i < 20; i++) {
    start_asking(&a, &w, "/parked", "hello");
    faro_http_request *request = NULL;
    while (!request) {
      pthread_mutex_lock(&w.mutex);
      request = w.parked;
      w.parked = NULL;
      pthread_mutex_unlock(&w.mutex);
    }
    const faro_http_answer answer = {
        .status = 200, .bytes = faro_http_body(request), .length = faro_http_length(request)};
    faro_http_reply(request, &answer);
    pthread_join(a.thread, NULL);
    assert_int_equal(a.status, 200);
    assert_string_equal(a.answer, "hello");
  }
  start_asking(&a, &w, "/parked", "more than ten");
  pthread_join(a.thread, NULL);
  assert_int_equal(a.status, 413);
  end(&w);
}

/* Requests written by hand, on their own sockets. */
static int connect_to(const world *w) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(faro_http_port(w->http))};
  const struct timeval most = {60, 0};
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  const int to = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  assert_int_equal(connect(to, (const struct sockaddr *)&address, sizeof address), 0);
  return to;
}

static void say(int to, const char *text) {
  assert_int_equal(send(to, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

enum { LONG = 60000 }; /* milliseconds to wait for bytes that must arrive, on a busy machine */

/* Returns the bytes that arrive within `milliseconds`; "" if none do. */
static const char *hear(int from, int milliseconds, char answer[static 1024]) {
  struct pollfd waits = {.fd = from, .events = POLLIN};
  answer[0] = '\0';
  if (poll(&waits, 1, milliseconds) <= 0) return answer;
  const ssize_t got = recv(from, answer, 1023, 0);
  answer[got > 0 ? got : 0] = '\0';
  return answer;
}

/* When half of the connections wait, later waits are answered at once and their connections closed;
 * other requests work. */
static void test_http__those_who_wait_leave_room_for_others(void **state) {
  (void)state;
  enum { LIMIT = 16, IDLE = 60 };
  world w;
  const faro_http_settings settings = {.listen = "127.0.0.1:0", .threads = 1, .connections = LIMIT};
  begin_with(&w, &settings);
  w.patience = 600;
  int idle[IDLE];
  char answer[1024];
  for (size_t i = 0; i < IDLE; i++) {
    idle[i] = connect_to(&w);
    say(idle[i], "GET /version?after=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    await_asked(&w, (int)i + 1); /* with one thread, requests are handled one after another */
    if (i < LIMIT / 2) continue;
    hear(idle[i], LONG, answer);
    assert_memory_equal(answer, "HTTP/1.1 304 ", 13);
    assert_non_null(strstr(answer, "Retry-After: 5"));
    assert_non_null(strstr(answer, "Connection: close"));
  }
  for (size_t i = 0; i < LIMIT / 2; i++) assert_string_equal(hear(idle[i], 0, answer), "");
  asking a;
  for (int i = 0; i < 10; i++) {
    start_asking(&a, &w, "/healthz", NULL);
    pthread_join(a.thread, NULL);
    assert_int_equal(a.status, 200);
    start_asking(&a, &w, "/length", "abc");
    pthread_join(a.thread, NULL);
    assert_string_equal(a.answer, "3");
  }
  for (size_t i = 0; i < IDLE; i++) close(idle[i]);
  end(&w);
}

/* About as many requests at once as the library takes events: none is delayed until another one
 * arrives. */
static void test_http__a_crowd_that_asks_at_once_is_answered_at_once(void **state) {
  (void)state;
  enum { MANY = 130 };
  static const char ask_length[] = "POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx";
  world w;
  const faro_http_settings settings = {.listen = "127.0.0.1:0", .threads = 1};
  begin_with(&w, &settings);
  int to[MANY];
  char answer[1024];
  for (size_t i = 0; i < MANY; i++) {
    to[i] = connect_to(&w);
    say(to[i], ask_length);
    assert_memory_equal(hear(to[i], LONG, answer), "HTTP/1.1 200 ", 13);
  }
  for (size_t count = MANY - 5; count <= MANY; count++) {
    say(to[0], "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    usleep(100000); /* meanwhile a single thread could not answer the others */
    for (size_t i = 1; i < count; i++) say(to[i], ask_length);
    for (size_t i = 0; i < count; i++) assert_memory_equal(hear(to[i], LONG, answer), "HTTP/1.1 200 ", 13);
  }
  for (size_t i = 0; i < MANY; i++) close(to[i]);
  end(&w);
}

/* Waits until a metric has at least this value. */
static void await_metric(const world *w, const char *name, double value) {
  char line[96];
  const double until = faro_clock() + LONG / 1000.0;
  for (double seen = -1; seen < value; usleep(1000)) {
    if (faro_clock() > until) fail_msg("%s is %g instead of %g", name, seen, value);
    faro_text text = FARO_TEXT_INIT;
    faro_metrics_write(w->metrics, &text);
    snprintf(line, sizeof line, "\n%s ", name);
    const char *found = strstr(text.data, line);
    assert_non_null(found);
    seen = atof(found + strlen(line));
    faro_text_clear(&text);
  }
}

/* The end of an answer may still be there to be read. */
static size_t count_open(const int *to, size_t count) {
  size_t open = 0;
  char rest[1024];
  for (size_t i = 0; i < count; i++) {
    const ssize_t got = recv(to[i], rest, sizeof rest, MSG_DONTWAIT);
    open += got > 0 || (got < 0 && errno == EAGAIN);
  }
  return open;
}

/* Beyond loopback one address has a quarter of the connections. One more ends the one that has
 * waited longest. */
static void test_http__one_address_cannot_take_all_connections(void **state) {
  (void)state;
  world w;
  const faro_http_settings settings = {
      .listen = "0.0.0.0:0", .insecure = true, .connections = 16, .timeout = 600};
  begin_with(&w, &settings);
  static const char ask_health[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
  int to[8];
  char answer[1024];
  for (size_t i = 0; i < 8; i++) {
    to[i] = connect_to(&w);
    say(to[i], ask_health);
    assert_memory_equal(hear(to[i], LONG, answer), "HTTP/1.1 200 ", 13);
  }
  await_metric(&w, "faro_http_connections_ended_total{reason=\"address\"}", 4);
  /* Mostly the first four; but one whose answer has just been read may not count as idle yet. */
  for (int tries = 0; count_open(to, 8) > 4 && tries < LONG; tries++) usleep(1000);
  assert_int_equal(count_open(to, 8), 4);
  for (size_t i = 0; i < 8; i++) close(to[i]);
  end(&w);
}

/* A /64 of IPv6 is one address: a single user may have all of it. */
static void test_http__a_network_of_one_user_is_one_address(void **state) {
  (void)state;
  static const struct {
    const char *a, *b;
    bool same;
  } cases[] = {{"2001:db8:1:2::1", "2001:db8:1:2:ffff:1:2:3", true},
               {"2001:db8:1:2::1", "2001:db8:1:3::1", false},
               {"192.0.2.1", "192.0.2.1", true},
               {"192.0.2.1", "192.0.2.2", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint64_t prefix[2];
    for (size_t j = 0; j < 2; j++) {
      const char *text = j == 0 ? cases[i].a : cases[i].b;
      struct sockaddr_in four = {.sin_family = AF_INET};
      struct sockaddr_in6 six = {.sin6_family = AF_INET6};
      const bool is_six = strchr(text, ':') != NULL;
      assert_int_equal(inet_pton(is_six ? AF_INET6 : AF_INET, text,
                                 is_six ? (void *)&six.sin6_addr : (void *)&four.sin_addr),
                       1);
      prefix[j] = faro_guard_prefix(is_six ? (const struct sockaddr *)&six : (const struct sockaddr *)&four);
    }
    assert_int_equal(prefix[0] == prefix[1], cases[i].same);
  }
}

/* Many silent connections, which no timeout ends: the next request is answered. It is asked again
 * if it was ended, too: in a burst its first bytes may not have been read yet. */
static void test_http__silent_connections_keep_nobody_out(void **state) {
  (void)state;
  enum { SILENT = 60 };
  world w;
  const faro_http_settings settings = {.listen = "127.0.0.1:0", .connections = 16, .timeout = 600};
  begin_with(&w, &settings);
  int to[SILENT];
  for (size_t i = 0; i < SILENT; i++) {
    to[i] = connect_to(&w);
    say(to[i], i % 2 == 0 ? "G" : "POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n");
  }
  asking a = {0};
  const double until = faro_clock() + LONG / 1000.0;
  while (a.status != 200 && faro_clock() < until) {
    start_asking(&a, &w, "/version", NULL);
    pthread_join(a.thread, NULL);
  }
  assert_int_equal(a.status, 200);
  await_metric(&w, "faro_http_connections_ended_total{reason=\"room\"}", SILENT - 16);
  await_metric(&w, "faro_http_connections_limit", 16);
  await_metric(&w, "faro_http_connections_ended_total{reason=\"late\"}", 0);
  for (size_t i = 0; i < SILENT; i++) close(to[i]);
  end(&w);
}

/* A connection that says nothing is ended sooner than one that has begun to speak. */
static void test_http__the_first_byte_must_come_soon(void **state) {
  (void)state;
  world w;
  char answer[1024];
  const faro_http_settings settings = {.listen = "127.0.0.1:0", .timeout = 600};
  begin_with(&w, &settings);
  const int slow = connect_to(&w);
  say(slow, "G");
  const int silent = connect_to(&w);
  assert_memory_equal(hear(silent, LONG, answer), "HTTP/1.1 408 ", 13);
  say(slow, "ET /version HTTP/1.1\r\nHost: x\r\n\r\n");
  assert_memory_equal(hear(slow, LONG, answer), "HTTP/1.1 200 ", 13);
  close(silent);
  close(slow);
  end(&w);
}

/* Asks until the answer is not 200; returns its status, and in *count how many were. */
static long ask_until_refused(const world *w, size_t most, size_t *count, faro_sent *sent) {
  static faro_sender *sender;
  char url[96];
  const faro_sender_params how = {.timeout = 120};
  faro_sender_destroy(sender);
  sender = NULL;
  snprintf(url, sizeof url, "%s/version", w->url);
  assert_ok(faro_sender_create(&sender, &how, error));
  for (*count = 0; *count < most; ++*count) {
    assert_ok(faro_send_get(sender, url, sent, error));
    if (sent->status != 200) break;
  }
  const long status = sent->status;
  faro_sender_destroy(sender);
  sender = NULL;
  return status;
}

static void test_http__one_address_may_not_ask_too_often(void **state) {
  (void)state;
  world w;
  size_t count = 0;
  faro_sent sent = {0};
  faro_http_settings settings = {.listen = "0.0.0.0:0", .insecure = true, .rate = 1};
  begin_with(&w, &settings);
  assert_int_equal(ask_until_refused(&w, 100000, &count, &sent), 429);
  assert_true(count >= 10);
  assert_true(sent.retry_after > 0);
  assert_true(faro_sent_later(&sent) > 0);
  end(&w);
  strcpy(settings.listen, "127.0.0.1:0"); /* everybody may come through one proxy */
  begin_with(&w, &settings);
  assert_int_equal(ask_until_refused(&w, 100, &count, &sent), 200);
  end(&w);
}

static void test_limiter__counts_for_each_name_by_itself(void **state) {
  (void)state;
  faro_limiter *limiter = NULL;
  assert_ok(faro_limiter_create(&limiter, 1e-9, 3, error));
  for (uint64_t name = 0; name < 20; name++) {
    for (int i = 0; i < 3; i++) assert_false(faro_limiter_over(limiter, &name, sizeof name, 1));
    assert_true(faro_limiter_over(limiter, &name, sizeof name, 1));
    assert_true(faro_limiter_over(limiter, &name, sizeof name, 0));
  }
  uint64_t once = 99;
  for (int i = 0; i < 10; i++) assert_false(faro_limiter_over(limiter, &once, sizeof once, 0));
  /* A flood of names that do little does not push out those that do much. */
  for (uint64_t name = 1000; name < 100000; name++)
    assert_false(faro_limiter_over(limiter, &name, sizeof name, 1));
  size_t kept = 0;
  for (uint64_t name = 0; name < 20; name++) kept += faro_limiter_over(limiter, &name, sizeof name, 0);
  assert_true(kept >= 15);
  faro_limiter_destroy(limiter);
  assert_ok(
      faro_limiter_create(&limiter, 1e9, 3, error)); /* the level falls faster than anybody can raise it */
  for (int i = 0; i < 1000; i++) assert_false(faro_limiter_over(limiter, &once, sizeof once, 1));
  faro_limiter_destroy(limiter);
}

/* A sender that does not listen before it has sent everything still reads why it was refused. */
static void test_http__a_refusal_can_be_read_after_sending(void **state) {
  (void)state;
  static const struct {
    const char *path, *begins;
    size_t length;
  } cases[] = {{"/guarded", "HTTP/1.1 401 ", 1 << 20}, {"/length", "HTTP/1.1 413 ", 3 << 20}};
  world w;
  begin(&w);
  char *bytes = calloc(1, 3 << 20);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256], answer[1024];
    const int to = connect_to(&w);
    snprintf(text, sizeof text, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", cases[i].path,
             cases[i].length);
    say(to, text);
    for (size_t sent = 0; sent < cases[i].length;) {
      const ssize_t more = send(to, bytes + sent, cases[i].length - sent, MSG_NOSIGNAL);
      assert_true(more > 0);
      sent += (size_t)more;
    }
    assert_memory_equal(hear(to, LONG, answer), cases[i].begins, 13);
    close(to);
  }
  free(bytes);
  end(&w);
}

/* What the sender has already is not sent again; only what a handler allows may be kept. */
static void test_http__conditional_requests_are_answered_shortly(void **state) {
  (void)state;
  static const struct {
    const char *header, *begins;
  } cases[] = {{"", "HTTP/1.1 200 "},
               {"If-None-Match: \"y\"\r\n", "HTTP/1.1 200 "},
               {"If-None-Match: \"x\"\r\n", "HTTP/1.1 304 "},
               {"If-None-Match: \"y\", W/\"x\"\r\n", "HTTP/1.1 304 "},
               {"If-None-Match: *\r\n", "HTTP/1.1 304 "}};
  world w;
  begin(&w);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256], answer[1024];
    const int to = connect_to(&w);
    snprintf(text, sizeof text, "GET /version HTTP/1.1\r\nHost: x\r\n%s\r\n", cases[i].header);
    say(to, text);
    if (strncmp(hear(to, LONG, answer), cases[i].begins, 13) != 0) fail_msg("%s%s", cases[i].header, answer);
    assert_non_null(strstr(answer, "ETag: \"x\""));
    assert_non_null(strstr(answer, "Cache-Control: no-store"));
    close(to);
  }
  end(&w);
}

/* The target of a request: a whole URL is its path; %00 does not end it. */
static void test_http__targets_are_taken_whole(void **state) {
  (void)state;
  static const struct {
    const char *target, *begins;
  } cases[] = {{"/healthz", "HTTP/1.1 200 "},
               {"http://any.example/healthz", "HTTP/1.1 200 "},
               {"HTTPS://any.example:1/version?x=1", "HTTP/1.1 200 "},
               {"http://any.example", "HTTP/1.1 404 "},
               {"/healthz%00x", "HTTP/1.1 404 "},
               {"/healthz%00", "HTTP/1.1 404 "},
               {"/%68ealthz", "HTTP/1.1 200 "},
               {"/ftp://x/healthz", "HTTP/1.1 404 "}};
  world w;
  begin(&w);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256], answer[1024];
    const int to = connect_to(&w);
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", cases[i].target);
    say(to, text);
    if (strncmp(hear(to, LONG, answer), cases[i].begins, 13) != 0)
      fail_msg("%s: %s", cases[i].target, answer);
    close(to);
  }
  end(&w);
}

/* Posts `length` bytes while other posts are open; returns the status. */
static void ask_beside(const world *w, size_t length, asking *a) {
  static char bytes[70000];
  memset(bytes, 'x', sizeof bytes - 1);
  start_asking(a, w, "/length", bytes + sizeof bytes - 1 - length);
  pthread_join(a->thread, NULL);
}

/* Sends a body without its last byte, until a probe shows that it holds its room. A probe that
 * comes too early may take the room itself; then the body is sent again, and the probe waits
 * longer. */
static int fill_room(const world *w, const char *but_one, size_t length) {
  char head[128];
  snprintf(head, sizeof head, "POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", length);
  for (useconds_t wait = 100000; wait < 60000000; wait *= 2) {
    const int slow = connect_to(w);
    say(slow, head);
    say(slow, but_one);
    usleep(wait);
    asking a;
    ask_beside(w, (64 << 10) - length + 2, &a);
    if (a.status == 503) return slow;
    close(slow);
  }
  fail();
  return -1;
}

/* Bodies share 64 KiB here. A body that finds no room is refused, small bodies are always accepted,
 * and room is given back. */
static void test_http__bodies_share_a_room(void **state) {
  (void)state;
  static char bytes[50000];
  world w;
  begin(&w);
  memset(bytes, 'x', sizeof bytes - 1);
  const int announces = connect_to(&w);
  say(announces, "POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n");
  asking a;
  start_asking(&a, &w, "/length", bytes + 9999); /* 40000: a body that is only announced takes no room */
  pthread_join(a.thread, NULL);
  assert_string_equal(a.answer, "40000");
  close(announces);
  const int slow = fill_room(&w, bytes, 50000);
  start_asking(&a, &w, "/length", bytes + 9999);
  pthread_join(a.thread, NULL);
  assert_int_equal(a.status, 503);
  start_asking(&a, &w, "/length", bytes + sizeof bytes - 1 - 4096);
  pthread_join(a.thread, NULL);
  assert_string_equal(a.answer, "4096");
  say(slow, "x");
  char answer[1024];
  if (!strstr(hear(slow, LONG, answer), "50000")) fail_msg("%s", answer);
  start_asking(&a, &w, "/length", bytes + 9999);
  pthread_join(a.thread, NULL);
  assert_string_equal(a.answer, "40000");
  close(slow);
  end(&w);
}

/* The limit for small bodies may change while bodies arrive: as much room is given back as was
 * counted. */
static void test_http__small_bodies_take_no_room(void **state) {
  (void)state;
  static char bytes[60000];
  world w;
  begin(&w);
  memset(bytes, 'x', sizeof bytes - 1);
  for (int i = 0; i < 3; i++) {
    const int slow = fill_room(&w, bytes, 60000);
    asking a;
    ask_beside(&w, 10001, &a);
    assert_int_equal(a.status, 503);
    faro_http_spare(w.http, 10000);
    ask_beside(&w, 10000, &a);
    assert_string_equal(a.answer, "10000");
    ask_beside(&w, 10001, &a);
    assert_int_equal(a.status, 503);
    faro_http_spare(w.http, 1 << 20); /* capped at 64 KiB */
    ask_beside(&w, 65536, &a);
    assert_string_equal(a.answer, "65536");
    ask_beside(&w, 65537, &a);
    assert_int_equal(a.status, 503);
    say(slow, "x");
    char answer[1024];
    if (!strstr(hear(slow, LONG, answer), "60000")) fail_msg("%s", answer);
    close(slow);
    faro_http_spare(w.http, 0); /* 4096 */
  }
  end(&w);
}

/* A request is refused before its body, whatever length it announces; no byte is read. */
static void test_http__who_may_not_send_hears_it_at_once(void **state) {
  (void)state;
  static const char *const wrong[] = {"", "Word: sesame\r\n"};
  world w;
  begin(&w);
  for (size_t i = 0; i < 2; i++) {
    char text[256], answer[1024];
    const int to = connect_to(&w);
    snprintf(text, sizeof text, "POST /guarded HTTP/1.1\r\nHost: x\r\n%sContent-Length: 50000\r\n\r\n",
             wrong[i]);
    say(to, text);
    hear(to, LONG, answer);
    assert_memory_equal(answer, "HTTP/1.1 401 ", 13);
    assert_non_null(strstr(answer, "{\"error\": \"a word must be said\"}"));
    while (recv(to, answer, sizeof answer, 0) > 0) continue;
    close(to); /* the server has closed it without waiting for the body */
  }
  char answer[1024];
  const int to = connect_to(&w);
  say(to, "POST /guarded HTTP/1.1\r\nHost: x\r\nWord: swordfish\r\nContent-Length: 3\r\n\r\nabc");
  if (!strstr(hear(to, LONG, answer), "\r\n\r\n3")) fail_msg("%s", answer);
  close(to);
  end(&w);
}

/* Sends a body of `length` bytes in pieces, one every fifth of a second, within about `seconds`,
 * until it is answered. Returns the status. */
static int trickle(const world *w, size_t length, double seconds) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(faro_http_port(w->http))};
  char text[512] = "";
  char *bytes = calloc(1, length);
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  const int to = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(to, (const struct sockaddr *)&address, sizeof address), 0);
  snprintf(text, sizeof text, "POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", length);
  assert_int_equal(send(to, text, strlen(text), MSG_NOSIGNAL), strlen(text));
  const size_t pieces = (size_t)(5 * seconds);
  for (size_t i = 0, at = 0; i < pieces; i++) {
    const size_t end = (i + 1) * length / pieces;
    struct pollfd waits = {.fd = to, .events = POLLIN};
    if (poll(&waits, 1, 200) > 0) break; /* to send more now could destroy the answer */
    if (send(to, bytes + at, end - at, MSG_NOSIGNAL) < 0) break;
    at = end;
  }
  const ssize_t got = recv(to, text, sizeof text - 1, 0);
  close(to);
  free(bytes);
  return got > 12 ? atoi(text + 9) : 0;
}

/* A request is cut off after 2 s plus the time that its body takes at a megabyte per second. */
static void test_http__large_bodies_have_more_time(void **state) {
  (void)state;
  world w;
  const faro_http_settings settings = {.listen = "127.0.0.1:0", .timeout = 1};
  room = 8 << 20;
  begin_with(&w, &settings);
  room = 64 << 10;
  assert_int_equal(trickle(&w, 100, 10), 408);
  int status = 0; /* a busy machine may take too long for it; not every time */
  for (int i = 0; i < 20 && status != 200; i++) status = trickle(&w, 4000000, 3);
  assert_int_equal(status, 200);
  end(&w);
}

/* A server with a key pair that was made for these tests only and is trusted nowhere else. The key
 * is copied, because files in a checkout do not have mode 600. Other settings stay as they are. */
static void begin_with_tls(world *w, faro_http_settings *settings) {
  strcpy(settings->listen, "127.0.0.1:0");
  strcpy(settings->certificate, "tests/service/tls/certificate.pem");
  strcpy(settings->private_key, "/tmp/faro-tls-XXXXXX");
  const int copy = mkstemp(settings->private_key);
  char *key = NULL;
  size_t length = 0;
  faro_error open_to_all = {0};
  assert_ok(faro_read_file("tests/service/tls/key.pem", 4096, &key, &length, error));
  assert_true(copy >= 0 && write(copy, key, length) == (ssize_t)length);
  free(key);
  assert_int_equal(fchmod(copy, 0640), 0);
  assert_int_equal(faro_http_check(settings, &open_to_all), FARO_INVALID);
  assert_non_null(strstr(open_to_all.message, "chmod 600"));
  assert_int_equal(fchmod(copy, 0600), 0);
  close(copy);
  begin_with(w, settings);
  (void)unlink(settings->private_key);
}

/* Replaces a file, as a renewal does. */
static void put(const char *from, const char *to) {
  char *text = NULL;
  size_t length = 0;
  assert_ok(faro_read_file(from, 1 << 16, &text, &length, error));
  assert_ok(faro_write_file(to, text, length, 0600, error));
  free(text);
}

/* The status of a request by a sender that trusts this authority (NULL: the system's). */
static faro_status asked_by(const world *w, const char *authority) {
  char url[96];
  faro_sender *sender = NULL;
  faro_sent sent = {0};
  faro_error refused = {0};
  const faro_sender_params how = {.authority = authority, .timeout = 120};
  snprintf(url, sizeof url, "%s/version", w->url);
  assert_ok(faro_sender_create(&sender, &how, error));
  const faro_status status = faro_send_get(sender, url, &sent, &refused);
  if (status == FARO_OK) assert_string_equal(sent.bytes, "1");
  else assert_non_null(strstr(refused.message, "set authority)"));
  assert_false(faro_sender_refused(sender)); /* a process listens there */
  faro_sender_destroy(sender);
  return status;
}

static void test_http__speaks_tls_to_those_who_trust_its_certificate(void **state) {
  (void)state;
  world w;
  faro_http_settings settings = {0};
  begin_with_tls(&w, &settings);
  assert_int_equal(asked_by(&w, settings.certificate), FARO_OK);
  assert_int_equal(asked_by(&w, NULL), FARO_SYSTEM);
  assert_int_equal(asked_by(&w, "tests/service/tls/other.pem"),
                   FARO_SYSTEM); /* this authority has not signed it */
  end(&w);
}

/* A certificate is exchanged while the server runs. Connections of before go on, new ones see the
 * new certificate, and one that cannot be used changes nothing. */
static void test_http__takes_a_new_certificate(void **state) {
  (void)state;
  static const char first[] = "tests/service/tls/certificate.pem", second[] = "tests/service/tls/second.pem";
  char folder[] = "/tmp/faro-renew-XXXXXX", command[64], url[96];
  world w;
  faro_http_settings settings = {.listen = "127.0.0.1:0"};
  faro_sender *before = NULL;
  faro_sent sent = {0};
  faro_error refused = {0};
  bool changed = true;
  assert_non_null(mkdtemp(folder));
  snprintf(settings.certificate, sizeof settings.certificate, "%s/crt", folder);
  snprintf(settings.private_key, sizeof settings.private_key, "%s/key", folder);
  put(first, settings.certificate);
  put("tests/service/tls/key.pem", settings.private_key);
  begin_with(&w, &settings);
  snprintf(url, sizeof url, "%s/version", w.url);
  assert_ok(faro_sender_create(&before, &(faro_sender_params){.authority = first}, error));
  assert_ok(faro_send_get(before, url, &sent, error));

  assert_ok(faro_http_reload(w.http, &changed, error));
  assert_false(changed);
  put(second, settings.certificate); /* the key does not fit yet */
  assert_int_equal(faro_http_reload(w.http, &changed, &refused), FARO_INVALID);
  assert_non_null(strstr(refused.message, "cannot be used together"));
  assert_int_equal(asked_by(&w, first), FARO_OK);
  put("tests/service/tls/second-key.pem", settings.private_key);
  assert_ok(faro_http_reload(w.http, &changed, error));
  assert_true(changed);
  assert_int_equal(asked_by(&w, second), FARO_OK);
  assert_int_equal(asked_by(&w, first), FARO_SYSTEM);
  assert_ok(faro_send_get(before, url, &sent, error)); /* on its connection */
  faro_sender_destroy(before);
  end(&w);
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
}

/* One request of our own client over a connection of its own, with what a session before left in
 * *ticket. True if that session was resumed. */
static bool resumes(const world *w, const char *versions, gnutls_certificate_credentials_t with,
                    gnutls_datum_t *ticket) {
  static const char ask_version[] = "GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  char answer[1024];
  gnutls_session_t session;
  const int to = connect_to(w);
  assert_int_equal(gnutls_init(&session, GNUTLS_CLIENT), 0);
  assert_int_equal(gnutls_priority_set_direct(session, versions, NULL), 0);
  assert_int_equal(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, with), 0);
  if (ticket->data) assert_int_equal(gnutls_session_set_data(session, ticket->data, ticket->size), 0);
  gnutls_transport_set_int(session, to);
  int result = 0;
  do result = gnutls_handshake(session);
  while (result < 0 && !gnutls_error_is_fatal(result));
  assert_int_equal(result, 0);
  assert_int_equal(gnutls_record_send(session, ask_version, sizeof ask_version - 1), sizeof ask_version - 1);
  ssize_t got = 0;
  do got = gnutls_record_recv(session, answer, sizeof answer); /* TLS 1.3: the tickets come before it */
  while (got == GNUTLS_E_AGAIN || got == GNUTLS_E_INTERRUPTED);
  assert_true(got > 13);
  assert_memory_equal(answer, "HTTP/1.1 200 ", 13);
  const bool resumed = gnutls_session_is_resumed(session) != 0;
  gnutls_free(ticket->data);
  *ticket = (gnutls_datum_t){0};
  assert_int_equal(gnutls_session_get_data2(session, ticket), 0);
  gnutls_deinit(session);
  close(to);
  return resumed;
}

static void test_http__resumes_sessions_of_tls(void **state) {
  (void)state;
  static const char *const versions[] = {"NORMAL:-VERS-ALL:+VERS-TLS1.3", "NORMAL:-VERS-ALL:+VERS-TLS1.2"};
  world w, other;
  faro_http_settings settings = {0};
  gnutls_certificate_credentials_t any;
  assert_int_equal(gnutls_certificate_allocate_credentials(&any), 0);
  begin_with_tls(&w, &settings);
  begin_with_tls(&other, &settings);
  for (size_t i = 0; i < 2; i++) {
    gnutls_datum_t ticket = {0};
    assert_false(resumes(&w, versions[i], any, &ticket));
    assert_true(resumes(&w, versions[i], any, &ticket));
    assert_true(resumes(&w, versions[i], any, &ticket));
    assert_false(resumes(&other, versions[i], any, &ticket)); /* it has a key of its own */
    gnutls_free(ticket.data);
  }
  gnutls_certificate_free_credentials(any);
  end(&other);
  end(&w);
}

static ssize_t hear_nothing(gnutls_transport_ptr_t on, void *bytes, size_t length) {
  (void)on, (void)bytes, (void)length;
  errno = EAGAIN;
  return -1;
}

/* Sends the greeting of a handshake, and does not go on with it, whatever the server answers. */
static void shake_half(int on, gnutls_certificate_credentials_t with) {
  gnutls_session_t session;
  assert_int_equal(gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NONBLOCK), 0);
  assert_int_equal(gnutls_set_default_priority(session), 0);
  assert_int_equal(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, with), 0);
  gnutls_transport_set_int(session, on);
  gnutls_transport_set_pull_function(session, hear_nothing);
  assert_int_equal(gnutls_handshake(session), GNUTLS_E_AGAIN);
  gnutls_deinit(session);
}

/* As without TLS: connections without a handshake, with the first bytes of one, and with half of
 * one. No timeout ends them. The next request is answered; it is asked again if it was ended. */
static void test_http__silent_connections_over_tls_keep_nobody_out(void **state) {
  (void)state;
  enum { SILENT = 60 };
  world w;
  char url[96];
  int to[SILENT];
  faro_sender *sender = NULL;
  faro_sent sent = {0};
  faro_http_settings settings = {.connections = 16, .timeout = 600};
  gnutls_certificate_credentials_t any;
  assert_int_equal(gnutls_certificate_allocate_credentials(&any), 0);
  begin_with_tls(&w, &settings);
  for (size_t i = 0; i < SILENT; i++) {
    to[i] = connect_to(&w);
    if (i % 3 == 1) say(to[i], "\x16\x03\x01");
    if (i % 3 == 2) shake_half(to[i], any);
  }
  snprintf(url, sizeof url, "%s/version", w.url);
  const faro_sender_params how = {.authority = settings.certificate, .timeout = 20};
  assert_ok(faro_sender_create(&sender, &how, error));
  faro_error ended = {0};
  faro_status status = FARO_SYSTEM;
  for (int tries = 0; status != FARO_OK && tries < 15; tries++)
    status = faro_send_get(sender, url, &sent, &ended);
  assert_int_equal(status, FARO_OK);
  assert_int_equal(sent.status, 200);
  await_metric(&w, "faro_http_connections_ended_total{reason=\"room\"}", SILENT - 16);
  for (size_t i = 0; i < SILENT; i++) close(to[i]);
  faro_sender_destroy(sender);
  gnutls_certificate_free_credentials(any);
  end(&w);
}

/* One that never begins a handshake is ended soon; one that has begun may take its time. */
static void test_http__a_handshake_must_begin_soon(void **state) {
  (void)state;
  world w;
  char byte = 0;
  faro_http_settings settings = {.timeout = 600};
  begin_with_tls(&w, &settings);
  const int slow = connect_to(&w);
  say(slow, "\x16\x03\x01");
  const int silent = connect_to(&w);
  struct pollfd waits = {.fd = silent, .events = POLLIN};
  assert_int_equal(poll(&waits, 1, LONG), 1);
  assert_true(recv(silent, &byte, 1, 0) <= 0);
  assert_true(recv(slow, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
  await_metric(&w, "faro_http_connections_ended_total{reason=\"late\"}", 1);
  close(silent);
  close(slow);
  end(&w);
}

/* Old versions of TLS, by a client and a server of our own that speak them. */

static bool shakes_hands(int on, unsigned side, const char *versions, gnutls_certificate_credentials_t with) {
  gnutls_session_t session;
  assert_int_equal(gnutls_init(&session, side), 0);
  assert_int_equal(gnutls_priority_set_direct(session, versions, NULL), 0);
  assert_int_equal(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, with), 0);
  gnutls_transport_set_int(session, on);
  int result = 0;
  do result = gnutls_handshake(session);
  while (result < 0 && !gnutls_error_is_fatal(result));
  gnutls_deinit(session);
  return result == 0;
}

static const char *const speaks[] = {"NORMAL:-VERS-ALL:+VERS-TLS1.3", "NORMAL:-VERS-ALL:+VERS-TLS1.2",
                                     "NORMAL:-VERS-ALL:+VERS-TLS1.1", "NORMAL:-VERS-ALL:+VERS-TLS1.0"};

static void test_http__serves_no_old_tls(void **state) {
  (void)state;
  world w;
  faro_http_settings settings = {0};
  gnutls_certificate_credentials_t any;
  assert_int_equal(gnutls_certificate_allocate_credentials(&any), 0);
  begin_with_tls(&w, &settings);
  for (size_t i = 0; i < 4; i++) {
    const int to = connect_to(&w);
    assert_int_equal(shakes_hands(to, GNUTLS_CLIENT, speaks[i], any), i < 2);
    close(to);
  }
  gnutls_certificate_free_credentials(any);
  end(&w);
}

typedef struct old_server {
  int socket;
  const char *versions;
  gnutls_certificate_credentials_t with;
  bool met;
} old_server;

static void *serve_once(void *context) {
  old_server *s = context;
  const int one = accept(s->socket, NULL, NULL);
  s->met = shakes_hands(one, GNUTLS_SERVER, s->versions, s->with);
  close(one);
  return NULL;
}

static void test_sender__sends_over_no_old_tls(void **state) {
  (void)state;
  old_server s = {.socket = socket(AF_INET, SOCK_STREAM, 0)};
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  assert_int_equal(bind(s.socket, (const struct sockaddr *)&at, sizeof at), 0);
  assert_int_equal(listen(s.socket, 4), 0);
  assert_int_equal(getsockname(s.socket, (struct sockaddr *)&at, &size), 0);
  assert_int_equal(gnutls_certificate_allocate_credentials(&s.with), 0);
  assert_int_equal(gnutls_certificate_set_x509_key_file(s.with, "tests/service/tls/certificate.pem",
                                                        "tests/service/tls/key.pem", GNUTLS_X509_FMT_PEM),
                   0);
  for (size_t i = 0; i < 4; i++) {
    char url[64];
    pthread_t thread;
    faro_sender *sender = NULL;
    faro_sent sent = {0};
    faro_error refused = {0};
    const faro_sender_params how = {.authority = "tests/service/tls/certificate.pem", .timeout = 60};
    s.versions = speaks[i];
    pthread_create(&thread, NULL, serve_once, &s);
    snprintf(url, sizeof url, "https://127.0.0.1:%u/", ntohs(at.sin_port));
    assert_ok(faro_sender_create(&sender, &how, error));
    assert_int_equal(faro_send_get(sender, url, &sent, &refused), FARO_SYSTEM); /* it hangs up in any case */
    pthread_join(thread, NULL);
    assert_int_equal(s.met, i < 2);
    faro_sender_destroy(sender);
  }
  gnutls_certificate_free_credentials(s.with);
  close(s.socket);
}

static void test_authority__must_hold_a_certificate(void **state) {
  (void)state;
  static const char *const bad[] = {
      "",
      "listen: 127.0.0.1:0\n",
      "-----BEGIN CERTIFICATE-----\nMIIB\n",
      "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
      "-----BEGIN CERTIFICATE-----\n%%%%\n-----END CERTIFICATE-----\n",
      "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n", /* hello */
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char path[] = "/tmp/faro-authority-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, bad[i], strlen(bad[i])), (ssize_t)strlen(bad[i]));
    close(file);
    faro_error refused = {0};
    faro_sender *sender = NULL;
    const faro_sender_params how = {.authority = path};
    assert_int_equal(faro_sender_create(&sender, &how, &refused), FARO_INVALID);
    assert_non_null(strstr(refused.message, "must contain certificates in PEM"));
    (void)unlink(path);
  }
  faro_error refused = {0};
  assert_ok(faro_authority_check("tests/service/tls/other.pem", error));
  assert_int_equal(faro_authority_check("tests/service/tls/key.pem", &refused), FARO_INVALID);
  refused = (faro_error){0};
  assert_int_equal(faro_authority_check("tests/service/tls/none.pem", &refused), FARO_INVALID);
  assert_non_null(strstr(refused.message, "No such file"));
}

/* Makes the system trust the server's certificate and nothing else; call it in a child process with
 * one thread. False if this is not permitted. */
static bool set_system(const char *certificate) {
  char *pem = NULL;
  size_t length = 0;
  assert_ok(faro_read_file(certificate, 4096, &pem, &length, error));
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return false;
  if (mount("none", "/etc/ssl/certs", "tmpfs", 0, NULL) != 0) return false;
  const int file = open("/etc/ssl/certs/ca-certificates.crt", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  const bool written = file >= 0 && write(file, pem, length) == (ssize_t)length;
  if (file >= 0) close(file);
  free(pem);
  return written;
}

static void test_http__an_authority_stands_instead_of_the_systems(void **state) {
  (void)state;
  enum { CANNOT = 77 };
  world w;
  faro_http_settings settings = {0};
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork(); /* before there are threads, one of which may hold a lock of malloc for ever */
  assert_true(child >= 0);
  if (child == 0) {
    close(ends[1]);
    if (read(ends[0], w.url, sizeof w.url) != (ssize_t)sizeof w.url) _exit(1);
    if (!set_system("tests/service/tls/certificate.pem") || asked_by(&w, NULL) != FARO_OK) _exit(CANNOT);
    _exit(asked_by(&w, "tests/service/tls/other.pem") == FARO_SYSTEM ? 0 : 1);
  }
  begin_with_tls(&w, &settings);
  assert_int_equal(write(ends[1], w.url, sizeof w.url), sizeof w.url);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  close(ends[0]);
  close(ends[1]);
  end(&w);
  if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) skip();
  assert_int_equal(status, 0);
}

/* Connects, sends a request, and returns the whole answer. */
static void exchange(const world *w, const char *request, char *answer, size_t size) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                .sin_port = htons(faro_http_port(w->http))};
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  size_t length = 0;
  assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
  assert_int_equal(send(fd, request, strlen(request), 0), (ssize_t)strlen(request));
  for (ssize_t got; (got = recv(fd, answer + length, size - 1 - length, 0)) > 0;) length += (size_t)got;
  answer[length] = '\0';
  close(fd);
}

static void test_http__says_what_is_allowed_and_answers_heads(void **state) {
  (void)state;
  static const struct {
    const char *request, *line, *header, *body;
  } cases[] = {
      {"GET /parked", " 405 ", "\r\nAllow: POST\r\n", "\r\n\r\n{\"error\""},
      {"DELETE /version", " 405 ", "\r\nAllow: GET, HEAD\r\n", "\r\n\r\n{\"error\""},
      {"DELETE /healthz", " 405 ", "\r\nAllow: GET, HEAD\r\n", NULL},
      {"HEAD /healthz", " 200 ", "\r\nContent-Length: 3\r\n", NULL},
      {"HEAD /version", " 200 ", "\r\nContent-Length: 1\r\n", NULL},
      {"HEAD /parked", " 405 ", "\r\nAllow: POST\r\n", NULL},
      {"HEAD /nothing", " 404 ", "\r\n", NULL},
  };
  world w;
  begin(&w);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char request[128], answer[2048];
    snprintf(request, sizeof request, "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
             cases[i].request);
    exchange(&w, request, answer, sizeof answer);
    assert_non_null(strstr(answer, cases[i].line));
    assert_non_null(strstr(answer, cases[i].header));
    if (cases[i].body) assert_non_null(strstr(answer, cases[i].body));
    if (strncmp(cases[i].request, "HEAD", 4) == 0)
      assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
  }
  end(&w);
}

static void test_origins__are_written_as_browsers_write_them(void **state) {
  (void)state;
  static const char *const good[] = {"",
                                     "*",
                                     "https://shop.example.org",
                                     "http://127.0.0.1:8080",
                                     "http://[::1]:80",
                                     "  https://a.example https://b.example:444\t"};
  static const char *const bad[] = {
      "shop.example.org",
      "https://",
      "https://a.example/",
      "https://A.example",
      "* https://a.example",
      "https://*.example",
      "ftp://a.example",
      "https://a.example,",
      "https://:80",
      "https://a.example:",
      "https://u@a.example",
      "https://a.example x",
      "null",
  };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_ok(faro_origins_check(good[i], error));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    faro_error refused = {0};
    assert_int_equal(faro_origins_check(bad[i], &refused), FARO_INVALID);
    assert_non_null(strstr(refused.message, "origins must be \"*\" or origins of pages like"));
  }
  static const char list[] = " https://a.example\thttps://b.example:444 ";
  static const char *const strangers[] = {"",
                                          "null",
                                          "https://a.exampl",
                                          "https://a.example.org",
                                          "https://b.example",
                                          "https://a.example https://b.example:444",
                                          "\thttps://b.example:444"};
  assert_string_equal(faro_origins_allow(list, "https://a.example"), "https://a.example");
  assert_string_equal(faro_origins_allow(list, "https://b.example:444"), "https://b.example:444");
  for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
    assert_null(faro_origins_allow(list, strangers[i]));
  assert_null(faro_origins_allow(list, NULL));
  assert_null(faro_origins_allow("", "https://a.example"));
  assert_string_equal(faro_origins_allow("*", "null"), "*");
}

/* Pages of other origins: only those that the settings name, only on shared paths. A browser
 * refuses an answer to a page unless it allows the page's origin; a cache must not give one page's
 * answer to another. */
static void test_http__shares_what_the_settings_allow_with_pages(void **state) {
  (void)state;
  static const char here[] = "Access-Control-Allow-Origin: https://a.example\r\n",
                    any[] = "Access-Control-Allow-Origin: *\r\n",
                    one[] = "https://a.example http://b.example:80", vary[] = "\r\nVary: Origin\r\n";
  static const char a[] = "Origin: https://a.example\r\n", c[] = "Origin: https://c.example\r\n";
  static const struct {
    const char *origins, *request, *origin, *line, *has, *also, *lacks;
  } cases[] = {
      {one, "GET /version", a, " 200 ", here, vary, "Access-Control-Max-Age"},
      {one, "GET /version", a, " 200 ", here, "Access-Control-Expose-Headers: ETag, Retry-After\r\n", any},
      {one, "GET /version?after=1", a, " 304 ", here, vary, any},
      {one, "GET /version", c, " 200 ", vary, vary, "Access-Control"},
      {one, "GET /version", "", " 200 ", vary, vary, "Access-Control"},
      {one, "POST /length", a, " 411 ", here, vary, any}, /* a page may read why it was refused */
      {one, "POST /version", a, " 405 ", here, vary, any},
      {one, "OPTIONS /length", a, " 204 ", here, "Access-Control-Allow-Methods: POST\r\n", "Expose"},
      {one, "OPTIONS /version", a, " 204 ", "Access-Control-Allow-Methods: GET, HEAD\r\n",
       "Access-Control-Allow-Headers: Content-Type, If-None-Match\r\n", "{"},
      {one, "OPTIONS /length", a, " 204 ", "Access-Control-Max-Age: 7200\r\n", vary, any},
      {one, "OPTIONS /length", c, " 204 ", vary, vary, "Access-Control"},
      {one, "OPTIONS /guarded", a, " 405 ", "Allow: POST\r\n", "Allow", "Access-Control"},
      {one, "GET /slow", a, " 200 ", "\r\n", "\r\n", "Access-Control"},
      {one, "GET /metrics", a, " 200 ", "\r\n", "\r\n", "Access-Control"},
      {one, "GET /healthz", a, " 200 ", "\r\n", "\r\n", "Access-Control"},
      {one, "OPTIONS /nothing", a, " 404 ", "\r\n", "\r\n", "Access-Control"},
      {"*", "GET /version", c, " 200 ", any, any, "Vary"},
      {"*", "OPTIONS /length", c, " 204 ", any, "Access-Control-Allow-Methods: POST\r\n", "Vary"},
      {"", "GET /version", a, " 200 ", "\r\n", "\r\n", "Access-Control"},
      {"", "GET /version", a, " 200 ", "\r\n", "\r\n", "Vary"},
      {"", "OPTIONS /length", a, " 405 ", "Allow: POST\r\n", "Allow", "Access-Control"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char request[160], answer[2048];
    world w;
    faro_http_settings settings = {.listen = "127.0.0.1:0"};
    snprintf(settings.origins, sizeof settings.origins, "%s", cases[i].origins);
    begin_with(&w, &settings);
    w.patience = 0;
    snprintf(request, sizeof request, "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n",
             cases[i].request, cases[i].origin);
    exchange(&w, request, answer, sizeof answer);
    assert_non_null(strstr(answer, cases[i].line));
    assert_non_null(strstr(answer, cases[i].has));
    assert_non_null(strstr(answer, cases[i].also));
    assert_null(strstr(answer, cases[i].lacks));
    end(&w);
  }
}

/* Another thread's answer allows the page too. What a page asks beforehand is not counted: it would
 * tell how many are about to report. */
static void test_http__answers_of_other_threads_are_shared_too(void **state) {
  (void)state;
  world w;
  char answer[1024];
  const faro_http_settings settings = {.listen = "127.0.0.1:0", .origins = "https://a.example"};
  begin_with(&w, &settings);
  const int to = connect_to(&w);
  say(to, "OPTIONS /parked HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\r\n\r\n");
  assert_memory_equal(hear(to, LONG, answer), "HTTP/1.1 204 ", 13);
  faro_text text = FARO_TEXT_INIT;
  faro_metrics_write(w.metrics, &text);
  assert_non_null(strstr(text.data, "faro_http_answers_total{code=\"2xx\"} 0\n"));
  faro_text_clear(&text);
  say(to, "POST /parked HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\r\nContent-Length: 1\r\n\r\nx");
  faro_http_request *request = NULL;
  while (!request) {
    pthread_mutex_lock(&w.mutex);
    request = w.parked;
    pthread_mutex_unlock(&w.mutex);
  }
  faro_http_reply(request, &(faro_http_answer){.status = 200, .bytes = "x", .length = 1});
  assert_memory_equal(hear(to, LONG, answer), "HTTP/1.1 200 ", 13);
  assert_non_null(strstr(answer, "Access-Control-Allow-Origin: https://a.example\r\n"));
  close(to);
  end(&w);
}

/* Otherwise bodies of GET requests would take the room of useful ones. */
static void test_http__what_asks_brings_no_body(void **state) {
  (void)state;
  static const char *const methods[] = {"GET", "HEAD"};
  world w;
  begin(&w);
  for (size_t i = 0; i < 2; i++) {
    char request[128], answer[2048];
    snprintf(request, sizeof request, "%s /version HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n",
             methods[i]);
    exchange(&w, request, answer, sizeof answer);
    assert_non_null(strstr(answer, " 413 "));
  }
  end(&w);
}

/* Two lengths: what follows must not be taken for another request. A single one in any spelling
 * works. */
static void test_http__two_lengths_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *headers, *line;
  } cases[] = {{"Content-Length: 3\r\nContent-Length: 51\r\n", " 400 "},
               {"Content-Length: 3\r\ncontent-length: 51\r\n", " 400 "},
               {"Content-Length: 51\r\nContent-Length: 3\r\n", " 400 "},
               {"Content-Length: 3\r\nContent-Length: 3\r\n", " 400 "},
               {"Content-Length: 0\r\nContent-Length: 3\r\n", " 400 "},
               {"CONTENT-LENGTH: 3\r\nConnection: close\r\n", " 200 "}};
  world w;
  begin(&w);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char request[256], answer[2048];
    const bool good = strcmp(cases[i].line, " 200 ") == 0;
    snprintf(request, sizeof request, "POST /length HTTP/1.1\r\nHost: x\r\n%s\r\nabc%s", cases[i].headers,
             good ? "" : "GET /version HTTP/1.1\r\nHost: x\r\n\r\n");
    exchange(&w, request, answer, sizeof answer); /* until the server closes */
    if (strncmp(answer, "HTTP/1.1", 8) != 0 || !strstr(answer, cases[i].line)) fail_msg("%s", answer);
    assert_null(strstr(answer + 8, "HTTP/1.1")); /* one answer */
    if (!good) assert_non_null(strstr(answer, "Content-Length must be given once"));
  }
  end(&w);
}

/* A key that belongs to no certificate. */
static const char OTHER_KEY[] = "-----BEGIN PRIVATE KEY-----\n"
                                "MC4CAQAwBQYDK2VwBCIEILCDAIbzXOrOq4Yh4cgUCqQ0Feg2AamkRX1aMVlatD+F\n"
                                "-----END PRIVATE KEY-----\n";

/* Each fault has its own message. */
static void test_http__what_cannot_be_served_is_told_apart(void **state) {
  (void)state;
  world w;
  begin(&w);
  faro_http_settings settings = {.listen = ""};
  faro_http *second = NULL;
  faro_error refused = {0};
  snprintf(settings.listen, sizeof settings.listen, "127.0.0.1:%u", faro_http_port(w.http));
  assert_int_equal(faro_http_bind(&second, &settings, &refused), FARO_SYSTEM);
  assert_non_null(strstr(refused.message, "cannot listen on 127.0.0.1:"));
  assert_non_null(strstr(refused.message, "in use"));
  refused = (faro_error){0};
  assert_int_equal(faro_http_check(&settings, &refused), FARO_OK); /* does not take the address */
  end(&w);
  snprintf(settings.certificate, sizeof settings.certificate, "tests/service/tls/certificate.pem");
  snprintf(settings.private_key, sizeof settings.private_key, "/tmp/faro-tls-XXXXXX");
  const int copy = mkstemp(settings.private_key); /* 600 */
  assert_true(copy >= 0 && write(copy, OTHER_KEY, strlen(OTHER_KEY)) == (ssize_t)strlen(OTHER_KEY));
  close(copy);
  assert_int_equal(faro_http_check(&settings, &refused), FARO_INVALID);
  assert_non_null(strstr(refused.message, "cannot be used together"));
  (void)unlink(settings.private_key);
}

/* In a child with this soft and hard limit of open files: the status of a check, and the limit
 * afterwards. */
typedef struct limited {
  faro_status status;
  rlim_t after;
  faro_error error;
} limited;

static limited check_with(rlim_t soft, rlim_t hard, uint64_t connections) {
  limited result = {0};
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    struct rlimit limit = {soft, hard};
    const faro_http_settings settings = {.listen = "127.0.0.1:0", .connections = connections};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(1);
    result.status = faro_http_check(&settings, &result.error);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(1);
    result.after = limit.rlim_cur;
    _exit(write(ends[1], &result, sizeof result) == (ssize_t)sizeof result ? 0 : 1);
  }
  close(ends[1]);
  assert_int_equal(read(ends[0], &result, sizeof result), sizeof result);
  close(ends[0]);
  assert_int_equal(waitpid(child, NULL, 0), child);
  return result;
}

/* Without files for its connections a server spins and answers late. */
static void test_http__connections_need_files(void **state) {
  (void)state;
  limited r = check_with(64, 1000, 1024);
  assert_int_equal(r.status, FARO_INVALID);
  assert_non_null(strstr(r.error.message, "connections is 1024, which needs 1466 open files"));
  assert_non_null(strstr(r.error.message, "may open 64, and 1000 at most"));
  r = check_with(64, 4096, 0); /* 1024: the soft limit is raised */
  assert_int_equal(r.status, FARO_OK);
  assert_int_equal(r.after, 1466);
  r = check_with(64, 64, 1);
  assert_int_equal(r.status, FARO_INVALID);
  r = check_with(300, 300, 100);
  assert_int_equal(r.status, FARO_OK);
  assert_int_equal(r.after, 300);
}

static void test_http__listens_beyond_loopback_only_when_told(void **state) {
  (void)state;
  static const struct {
    const char *listen;
    bool insecure, good;
  } cases[] = {
      {"127.0.0.1:0", false, true},     {"[::1]:0", false, true},          {"0.0.0.0:0", false, false},
      {"0.0.0.0:0", true, true},        {"[::]:80", false, false},         {"localhost:80", false, false},
      {"127.0.0.1", false, false},      {"::1:80", false, false},          {"127.0.0.1:x", false, false},
      {"127.0.0.1:65535", false, true}, {"127.0.0.1:65536", false, false}, {"127.0.0.1:99999", false, false},
      {"127.0.0.1:-1", false, false},   {"127.0.0.1:", false, false},      {"127.0.0.1: 80", false, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    faro_http_settings settings = {.insecure = cases[i].insecure};
    faro_error refused = {0};
    snprintf(settings.listen, sizeof settings.listen, "%s", cases[i].listen);
    assert_int_equal(faro_http_check(&settings, &refused) == FARO_OK, cases[i].good);
  }
  faro_error refused = {0};
  assert_int_equal(faro_url_check("analyzer", "http://127.0.0.1:80", false, &refused), FARO_OK);
  assert_int_equal(faro_url_check("analyzer", "http://127.0.0.1.example.org", false, &refused), FARO_INVALID);
  assert_int_equal(faro_url_check("analyzer", "https://example.org", false, &refused), FARO_OK);
}

static void test_url__has_a_scheme_and_a_host(void **state) {
  (void)state;
  static const char *const bad[] = {"https://",  "https:///v1", "https://:8400", "http://?x",
                                    "https://#", "http://@x",   "ftp://x",       "example.org:8400"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    faro_error refused = {0};
    assert_int_equal(faro_url_check("analyzer", bad[i], true, &refused), FARO_INVALID);
    assert_non_null(strstr(refused.message, "analyzer must be https:// or http:// and a host (got "));
    assert_non_null(strstr(refused.message, bad[i]));
  }
  assert_true(faro_url_whole("http://[::1]:80/v1") && faro_url_whole("https://x"));
}

static void test_dump__numbers_are_short_and_read_back(void **state) {
  (void)state;
  json_t *json = json_pack("{s[f,f,f,i] s{} s[] sn sb ss}", "a", 0.1, 1e-6, 1.0 / 3, 7, "b", "c", "d", "e", 1,
                           "f\n", "\"\xc3\xa9");
  char *text = faro_json_to_text(json);
  assert_string_equal(text, "{\"a\":[0.1,1e-06,0.3333333333333333,7],\"b\":{},\"c\":[],\"d\":null,\"e\":true,"
                            "\"f\\n\":\"\\\"\\u00E9\"}");
  json_t *back = json_loads(text, 0, NULL);
  assert_true(json_equal(json, back));
  assert_null(faro_json_to_text(NULL));
  json_decref(back);
  json_decref(json);
  free(text);
}

static void test_metrics__are_as_prometheus_reads_them(void **state) {
  (void)state;
  faro_metrics *m = NULL;
  assert_ok(faro_metrics_create(&m, error));
  faro_metric *a = faro_metrics_counter(m, "things_total", "kind=\"a\"", "Things.");
  faro_metric *b = faro_metrics_counter(m, "things_total", "kind=\"b\"", "Things.");
  faro_metric *level = faro_metrics_gauge(m, "level", "", "A level.");
  faro_metric *seconds = faro_metrics_seconds(m, "wait_seconds", "", "Waits.");
  faro_metric_add(a, 2);
  faro_metric_add(b, 3);
  faro_metric_set(level, 0.25);
  faro_metric_observe(seconds, 0.002);
  faro_metric_observe(seconds, 100);
  faro_text text = FARO_TEXT_INIT;
  faro_metrics_write(m, &text);
  static const char begin_with[] =
      "# HELP things_total Things.\n# TYPE things_total counter\nthings_total{kind=\"a\"} 2\n"
      "things_total{kind=\"b\"} 3\n# HELP level A level.\n# TYPE level gauge\nlevel 0.25\n"
      "# HELP wait_seconds Waits.\n# TYPE wait_seconds histogram\n"
      "wait_seconds_bucket{le=\"0.001\"} 0\nwait_seconds_bucket{le=\"0.0025\"} 1\n";
  assert_memory_equal(text.data, begin_with, strlen(begin_with));
  assert_non_null(strstr(text.data, "wait_seconds_bucket{le=\"10\"} 1\nwait_seconds_bucket{le=\"+Inf\"} 2\n"
                                    "wait_seconds_sum 100.002000\nwait_seconds_count 2\n"));
  faro_text_clear(&text);
  faro_times times = {0}; /* kept by one thread until they are merged */
  faro_times_add(&times, 0.002);
  faro_times_add(&times, 0.004);
  faro_metric_merge(seconds, &times);
  faro_metrics_write(m, &text);
  assert_non_null(
      strstr(text.data, "wait_seconds_bucket{le=\"0.0025\"} 2\nwait_seconds_bucket{le=\"0.005\"} 3\n"));
  assert_non_null(strstr(text.data, "wait_seconds_sum 100.008000\nwait_seconds_count 4\n"));
  faro_text_clear(&text);
  faro_metrics_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_http__those_who_wait_hear_news_at_once),
      cmocka_unit_test(test_http__waiting_ends_in_time_and_with_the_server),
      cmocka_unit_test(test_http__another_thread_answers),
      cmocka_unit_test(test_http__large_bodies_have_more_time),
      cmocka_unit_test(test_http__those_who_wait_leave_room_for_others),
      cmocka_unit_test(test_http__a_crowd_that_asks_at_once_is_answered_at_once),
      cmocka_unit_test(test_http__one_address_cannot_take_all_connections),
      cmocka_unit_test(test_http__a_network_of_one_user_is_one_address),
      cmocka_unit_test(test_http__silent_connections_keep_nobody_out),
      cmocka_unit_test(test_http__the_first_byte_must_come_soon),
      cmocka_unit_test(test_http__one_address_may_not_ask_too_often),
      cmocka_unit_test(test_limiter__counts_for_each_name_by_itself),
      cmocka_unit_test(test_http__a_refusal_can_be_read_after_sending),
      cmocka_unit_test(test_http__targets_are_taken_whole),
      cmocka_unit_test(test_http__conditional_requests_are_answered_shortly),
      cmocka_unit_test(test_http__bodies_share_a_room),
      cmocka_unit_test(test_http__small_bodies_take_no_room),
      cmocka_unit_test(test_http__who_may_not_send_hears_it_at_once),
      cmocka_unit_test(test_http__speaks_tls_to_those_who_trust_its_certificate),
      cmocka_unit_test(test_http__an_authority_stands_instead_of_the_systems),
      cmocka_unit_test(test_http__takes_a_new_certificate),
      cmocka_unit_test(test_http__resumes_sessions_of_tls),
      cmocka_unit_test(test_http__silent_connections_over_tls_keep_nobody_out),
      cmocka_unit_test(test_http__a_handshake_must_begin_soon),
      cmocka_unit_test(test_http__serves_no_old_tls),
      cmocka_unit_test(test_sender__sends_over_no_old_tls),
      cmocka_unit_test(test_http__says_what_is_allowed_and_answers_heads),
      cmocka_unit_test(test_origins__are_written_as_browsers_write_them),
      cmocka_unit_test(test_http__shares_what_the_settings_allow_with_pages),
      cmocka_unit_test(test_http__answers_of_other_threads_are_shared_too),
      cmocka_unit_test(test_http__what_asks_brings_no_body),
      cmocka_unit_test(test_http__two_lengths_are_refused),
      cmocka_unit_test(test_http__what_cannot_be_served_is_told_apart),
      cmocka_unit_test(test_http__connections_need_files),
      cmocka_unit_test(test_http__listens_beyond_loopback_only_when_told),
      cmocka_unit_test(test_url__has_a_scheme_and_a_host),
      cmocka_unit_test(test_authority__must_hold_a_certificate),
      cmocka_unit_test(test_dump__numbers_are_short_and_read_back),
      cmocka_unit_test(test_metrics__are_as_prometheus_reads_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
