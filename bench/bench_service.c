/* bench_service: how many reports one durable shuffler takes, on a real disk: a real process, and a
 * stand-in analyzer and a crowd of clients in this process, all on the same machine. Reports are
 * for d = 5, shuffle-bits, encoded in advance. The last lines are a table; rates are per second of
 * the shuffler's CPU, which other work on the machine changes least, and per second of the clock.
 *
 *     bench_service [SECONDS] [MODE ...]
 *
 * FARO_BENCH_FOLDER: folder for the state (/var/tmp). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "service/state/spool.h"
#include "support/stage.h"

enum { LATENCIES = 1 << 20, DIFFERENT = 50000, MAX_FRAMES = 100, MAX_CONNECTIONS = 512, ANSWER = 4096 };

static const double AFTER = 0.25;  /* seconds after a batch closed that count as its closing */
static const double LONGEST = 120; /* seconds to wait for a closing */

/* How reports come. */
typedef struct mode {
  const char *name, *what;
  size_t frames;      /* reports in a post */
  size_t connections; /* at once */
  bool each;          /* a connection for each post */
  const char *tls;    /* GnuTLS priorities; NULL: plain */
  bool resumed;       /* every connection but the first resumes the session of the one before */
  bool million;       /* a million tokens and batches of 100 000, not 50 000 and 10 000 */
  const char *before; /* per CPU second at commit 1e0188e, on this kind of machine */
} mode;

#define TLS(version) "NORMAL:-VERS-ALL:+VERS-TLS1." version
static const mode modes[] = {
    {"batched", "posts of 100", MAX_FRAMES, 16, .before = "170 000"},
    {"single", "posts of one", 1, 256, .before = "40 000"},
    {"each", "a connection for each", 1, 128, .each = true, .before = "13 000 to 16 000"},
    {"tls13", "the same, TLS 1.3", 1, 32, .each = true, .tls = TLS("3"), .before = "300 to 360"},
    {"tls13-resumed", "TLS 1.3, resumed", 1, 32, .each = true, .tls = TLS("3"), .resumed = true},
    {"tls12", "TLS 1.2", 1, 32, .each = true, .tls = TLS("2")},
    {"tls12-resumed", "TLS 1.2, resumed", 1, 32, .each = true, .tls = TLS("2"), .resumed = true},
    {"tokens", "posts of 100, 10^6 tokens", MAX_FRAMES, 16, .million = true, .before = "98 000"}};
enum { MODES = sizeof modes / sizeof *modes };

typedef struct result {
  bool played;
  double per_cpu, per_second;
  double p50, p99, most, closing; /* milliseconds; closing: p99 of posts at the closing of a batch */
} result;

typedef struct wire {
  int socket;
  double began;  /* start of the current post */
  double resume; /* earliest time of the next post, after a 503 */
  char answer[ANSWER];
  size_t got;
} wire;

typedef struct load {
  stage *stage;
  const mode *mode;
  bool secure; /* the shuffler speaks TLS */
  size_t clients;
  uint64_t batch;       /* reports in a batch */
  unsigned char *ready; /* reports of all clients */
  size_t cursor;
  uint64_t accepted, refused, busy, posts;
  uint64_t *sequence;
  double *latency;
  size_t latencies;
  double *closing; /* latencies of the posts that were sent just before or after a batch closed */
  size_t closings;
  double closed; /* when the last batch closed */
  wire wire[MAX_CONNECTIONS];
  unsigned char *post;
  pthread_mutex_t mutex; /* a connection for each: guards all of this */
  atomic_bool over;
  gnutls_certificate_credentials_t credentials;
} load;

static void fail(const char *what) {
  perror(what);
  exit(4);
}

static int connect_to(uint16_t port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  const int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (connect(to, (const struct sockaddr *)&address, sizeof address) != 0) fail("connect");
  setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return to;
}

/* The reports of the next clients, under the policy of the open batch, as far as it is known here.
 * Returns the length. */
static size_t write_post(load *l, unsigned char *post) {
  const size_t frame = l->stage->frame;
  const uint64_t version = l->accepted / l->batch + 1;
  char *at = (char *)post;
  at += sprintf(at, "POST /v1/reports HTTP/1.1\r\nHost: bench\r\nContent-Length: %zu\r\n\r\n",
                l->mode->frames * frame);
  for (size_t i = 0; i < l->mode->frames; i++, at += frame) {
    unsigned char *report = l->ready + l->cursor * frame;
    faro_wire_report_restamp(report, version, ++l->sequence[l->cursor],
                             l->stage->tokens + l->cursor * FARO_TOKEN_BYTES);
    memcpy(at, report, frame);
    l->cursor = (l->cursor + 1) % l->clients;
  }
  return (size_t)(at - (char *)post);
}

/* Where the body of an answer begins, and its length; false if the answer is not complete. */
static bool find_body(const char *answer, size_t got, size_t *head, size_t *length) {
  const char *end = strstr(answer, "\r\n\r\n");
  const char *told = strcasestr(answer, "content-length:");
  if (!end || !told) return false;
  *length = strtoull(told + 15, NULL, 10);
  *head = (size_t)(end + 4 - answer);
  return got >= *head + *length;
}

/* Counts an answer; true if the post has to come again later. */
static bool note(load *l, const char *answer, size_t head, size_t length, double began) {
  const int status = atoi(answer + 9);
  const double now = faro_clock();
  l->posts++;
  if (status == 200) {
    const uint64_t batches = l->accepted / l->batch;
    if (l->latencies < LATENCIES) l->latency[l->latencies++] = now - began;
    if (began < l->closed + AFTER && l->closings < LATENCIES) l->closing[l->closings++] = now - began;
    for (size_t i = 0; i < length; i++)
      (answer[head + i] <= FARO_VERDICT_KNOWN ? &l->accepted : &l->refused)[0]++;
    if (l->accepted / l->batch > batches) l->closed = now;
  } else if (status == 503) l->busy++;
  else l->refused += l->mode->frames;
  return status == 503;
}

/* Connections that are kept. */

static void send_post(load *l, wire *w) {
  const size_t length = write_post(l, l->post);
  w->got = 0;
  w->began = faro_clock();
  w->resume = 0;
  if (send(w->socket, l->post, length, MSG_NOSIGNAL) != (ssize_t)length) fail("send");
}

/* Whether the answer is complete; counts it. */
static bool take(load *l, wire *w) {
  size_t head = 0;
  size_t length = 0;
  const ssize_t got = recv(w->socket, w->answer + w->got, sizeof w->answer - 1 - w->got, 0);
  if (got <= 0) fail("recv");
  w->got += (size_t)got;
  w->answer[w->got] = '\0';
  if (!find_body(w->answer, w->got, &head, &length)) return false;
  if (note(l, w->answer, head, length, w->began)) w->resume = faro_clock() + 0.01;
  return true;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a;
  const double y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile(double *latency, size_t count, double share) {
  if (count == 0) return NAN;
  qsort(latency, count, sizeof *latency, by_size);
  return 1e3 * latency[(size_t)(share * (double)(count - 1))];
}

/* CPU seconds of the shuffler so far. */
static double cpu(const load *l) {
  char path[64], text[1024];
  unsigned long long user = 0;
  unsigned long long system = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)l->stage->pid[0]);
  FILE *file = fopen(path, "re");
  if (!file) fail(path);
  const size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = '\0';
  const char *rest = strrchr(text, ')'); /* fields 14 and 15 of proc(5); the third follows the name */
  if (!rest || sscanf(rest + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2)
    fail(path);
  return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double memory(const load *l) {
  return stage_metric(l->stage, 0, "process_resident_memory_bytes") / (1 << 20);
}

static void play_kept(load *l, double seconds) {
  const int poll = epoll_create1(EPOLL_CLOEXEC);
  for (size_t i = 0; i < l->mode->connections; i++) {
    l->wire[i] = (wire){.socket = connect_to(l->stage->port[0])};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &l->wire[i]};
    epoll_ctl(poll, EPOLL_CTL_ADD, l->wire[i].socket, &event);
    send_post(l, &l->wire[i]);
  }
  const double began = faro_clock();
  double told = began;
  size_t under_way = l->mode->connections;
  for (double now = began; under_way > 0; now = faro_clock()) {
    struct epoll_event events[64];
    const bool closing = !l->mode->million || l->closings > 0; /* a large batch may take a while */
    const bool over = now - began > (closing ? seconds : LONGEST);
    const int count = epoll_wait(poll, events, 64, 5);
    for (int i = 0; i < count; i++) {
      wire *w = events[i].data.ptr;
      if (!take(l, w)) continue;
      if (over) under_way--;
      else if (w->resume == 0) send_post(l, w);
    }
    for (size_t i = 0; i < l->mode->connections; i++)
      if (l->wire[i].resume > 0 && now > l->wire[i].resume) {
        if (!over) send_post(l, &l->wire[i]);
        else under_way--, l->wire[i].resume = 0;
      }
    if (now - told < seconds / 5 || over) continue;
    told = now;
    printf("  %5.0f s  %9llu reports  %6.1f MiB\n", now - began, (unsigned long long)l->accepted, memory(l));
  }
  for (size_t i = 0; i < l->mode->connections; i++) close(l->wire[i].socket);
  close(poll);
}

/* A connection for each report. */

typedef struct visitor {
  load *load;
  pthread_t thread;
  gnutls_datum_t ticket; /* from the connection before */
  unsigned char *post;
  char answer[ANSWER];
} visitor;

static gnutls_session_t shake_hands(const visitor *v, int to) {
  gnutls_session_t session = NULL;
  if (!v->load->mode->tls) return NULL;
  if (gnutls_init(&session, GNUTLS_CLIENT) != 0 ||
      gnutls_priority_set_direct(session, v->load->mode->tls, NULL) != 0 ||
      gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, v->load->credentials) != 0)
    fail("gnutls");
  if (v->ticket.data) (void)gnutls_session_set_data(session, v->ticket.data, v->ticket.size);
  gnutls_transport_set_int(session, to);
  int done = 0;
  do done = gnutls_handshake(session);
  while (done < 0 && !gnutls_error_is_fatal(done));
  if (done < 0) fail(gnutls_strerror(done));
  if (v->ticket.data && !gnutls_session_is_resumed(session)) fail("the session was not resumed");
  return session;
}

/* Keeps what the next connection needs, and ends this one. */
static void part(visitor *v, gnutls_session_t session, int to) {
  if (session) {
    gnutls_free(v->ticket.data);
    v->ticket = (gnutls_datum_t){0};
    if (v->load->mode->resumed && gnutls_session_get_data2(session, &v->ticket) != 0) fail("ticket");
    (void)gnutls_bye(session, GNUTLS_SHUT_WR);
    gnutls_deinit(session);
  }
  close(to);
}

static void receive(visitor *v, gnutls_session_t session, int from, size_t *head, size_t *length) {
  for (size_t have = 0; have + 1 < ANSWER;) {
    const size_t room = ANSWER - 1 - have;
    const ssize_t got =
        session ? gnutls_record_recv(session, v->answer + have, room) : recv(from, v->answer + have, room, 0);
    if (session && (got == GNUTLS_E_AGAIN || got == GNUTLS_E_INTERRUPTED)) continue; /* tickets */
    if (got <= 0) fail("receive");
    have += (size_t)got;
    v->answer[have] = '\0';
    if (find_body(v->answer, have, head, length)) return;
  }
  fail("a long answer");
}

static void visit(visitor *v) {
  load *l = v->load;
  size_t head = 0;
  size_t length = 0;
  pthread_mutex_lock(&l->mutex);
  const size_t size = write_post(l, v->post);
  pthread_mutex_unlock(&l->mutex);
  const double began = faro_clock();
  const int to = connect_to(l->stage->port[0]);
  gnutls_session_t session = shake_hands(v, to);
  const ssize_t sent =
      session ? gnutls_record_send(session, v->post, size) : send(to, v->post, size, MSG_NOSIGNAL);
  if (sent != (ssize_t)size) fail("send");
  receive(v, session, to, &head, &length);
  pthread_mutex_lock(&l->mutex);
  const bool again = note(l, v->answer, head, length, began);
  pthread_mutex_unlock(&l->mutex);
  part(v, session, to);
  if (again) faro_sleep(0.01);
}

static void *visit_often(void *context) {
  visitor *v = context;
  while (!atomic_load(&v->load->over)) visit(v);
  return NULL;
}

static void play_each(load *l, double seconds) {
  static visitor visitors[MAX_CONNECTIONS];
  atomic_store(&l->over, false);
  for (size_t i = 0; i < l->mode->connections; i++) {
    visitors[i] = (visitor){.load = l, .post = malloc(l->stage->frame + 1024)};
    if (pthread_create(&visitors[i].thread, NULL, visit_often, &visitors[i]) != 0) fail("thread");
  }
  faro_sleep(seconds);
  atomic_store(&l->over, true);
  for (size_t i = 0; i < l->mode->connections; i++) {
    pthread_join(visitors[i].thread, NULL);
    gnutls_free(visitors[i].ticket.data);
    free(visitors[i].post);
  }
}

/* Runs. */

static result run(load *l, double seconds) {
  const mode *m = l->mode;
  l->latencies = l->closings = 0;
  const uint64_t accepted = l->accepted;
  l->refused = l->busy = l->posts = 0;
  printf("%s: %s, %zu connections\n", m->name, m->what, m->connections);
  const double began = faro_clock();
  const double used = cpu(l);
  (m->each ? play_each : play_kept)(l, seconds);
  const double took = faro_clock() - began;
  const double reports = (double)(l->accepted - accepted);
  const result r = {.played = true,
                    .per_cpu = reports / (cpu(l) - used),
                    .per_second = reports / took,
                    .p50 = quantile(l->latency, l->latencies, 0.5),
                    .p99 = quantile(l->latency, l->latencies, 0.99),
                    .most = quantile(l->latency, l->latencies, 1),
                    .closing = quantile(l->closing, l->closings, 0.99)};
  printf("%s: %llu refused, %llu busy, %zu batches", m->name, (unsigned long long)l->refused,
         (unsigned long long)l->busy, l->stage->batches);
  if (!l->secure) printf(", %.0f MiB", memory(l));
  printf("\n");
  return r;
}

/* A campaign of its own, with this many tokens. */
static void begin(load *l, stage *s, size_t clients, uint64_t batch) {
  const char *folder = getenv("FARO_BENCH_FOLDER");
  const stage_plan plan = {.release = "shuffle-bits",
                           .epsilon = 1,
                           .batch = batch,
                           .horizon = 1000000000,
                           .dimension = 5,
                           .clients = clients,
                           .memory = folder ? folder : "/var/tmp"};
  stage_open(s, &plan);
  s->forgetful = true;
  const double start = faro_clock();
  stage_start(s, 0, NULL);
  printf("%zu tokens: ready after %.2f s\n", clients, faro_clock() - start);
  *l = (load){.stage = s, .clients = clients, .batch = batch, .closed = -1};
  l->ready = malloc(clients * s->frame);
  l->sequence = calloc(clients, sizeof *l->sequence);
  l->latency = malloc(LATENCIES * sizeof *l->latency);
  l->closing = malloc(LATENCIES * sizeof *l->closing);
  l->post = malloc(MAX_FRAMES * s->frame + 1024);
  pthread_mutex_init(&l->mutex, NULL);
  if (gnutls_certificate_allocate_credentials(&l->credentials) != 0) fail("gnutls");
  for (size_t i = 0; i < clients; i++)
    if (i < DIFFERENT) stage_report(s, 0, i, 1, 1, i, l->ready + i * s->frame);
    else memcpy(l->ready + i * s->frame, l->ready + i % DIFFERENT * s->frame, s->frame);
}

/* Starts the shuffler again, with a certificate. */
static void secure(load *l) {
  char extra[512], command[512];
  stage *s = l->stage;
  snprintf(command, sizeof command, "install -m 600 %s/key.pem %s/tls.key", FARO_TLS_FOLDER, s->folder);
  if (system(command) != 0) fail(command);
  snprintf(extra, sizeof extra, "certificate: %s/certificate.pem\nprivate-key: %s/tls.key\n", FARO_TLS_FOLDER,
           s->folder);
  if (stage_stop(s, 0) != 0) fail("the shuffler did not stop");
  stage_start(s, 0, extra);
  l->secure = true;
}

static void end(load *l) {
  stage_close(l->stage);
  gnutls_certificate_free_credentials(l->credentials);
  pthread_mutex_destroy(&l->mutex);
  free(l->ready);
  free(l->sequence);
  free(l->latency);
  free(l->closing);
  free(l->post);
}

static bool wanted(const mode *m, int argc, char **argv) {
  bool found = argc < 3;
  for (int i = 2; i < argc; i++) found = found || strcmp(argv[i], m->name) == 0;
  return found;
}

/* Plays the wanted modes with or without a million tokens. Those with TLS come last. */
static void play_modes(result *results, bool million, double seconds, int argc, char **argv) {
  static stage s;
  static load l;
  bool begun = false;
  for (size_t i = 0; i < MODES; i++) {
    if (modes[i].million != million || !wanted(&modes[i], argc, argv)) continue;
    if (!begun) begin(&l, &s, million ? 1000000 : 50000, million ? 100000 : 10000);
    begun = true;
    if (modes[i].tls && !l.secure) secure(&l);
    l.mode = &modes[i];
    results[i] = run(&l, seconds);
  }
  if (begun) end(&l);
}

static void print_table(const result *results) {
  printf(
      "\n| | reports per CPU second of the shuffler | at 1e0188e | per second | p50 ms | p99 ms | most ms | "
      "p99 ms at closings |\n|---|---|---|---|---|---|---|---|\n");
  for (size_t i = 0; i < MODES; i++) {
    const mode *m = &modes[i];
    const result *r = &results[i];
    if (!r->played) continue;
    printf("| %s (`%s`) | %.0f | %s | %.0f | %.1f | %.1f | %.1f |", m->what, m->name, r->per_cpu,
           m->before ? m->before : "", r->per_second, r->p50, r->p99, r->most);
    printf(isnan(r->closing) ? " |\n" : " %.1f |\n", r->closing);
  }
}

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 10;
  result results[MODES] = {0};
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (seconds <= 0) {
    fprintf(stderr, "usage: bench_service [SECONDS] [MODE ...]; modes:\n");
    for (size_t i = 0; i < MODES; i++) fprintf(stderr, "  %-14s %s\n", modes[i].name, modes[i].what);
    return 2;
  }
  play_modes(results, false, seconds, argc, argv);
  play_modes(results, true, seconds, argc, argv);
  print_table(results);
  return 0;
}
