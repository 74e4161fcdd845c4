/* bench_service: how many reports per second one durable shuffler takes, on a real disk: a real
 * process, and a stand-in analyzer and a crowd of clients in this process, all on the same machine.
 * Reports are for d = 5, shuffle-bits, encoded in advance.
 *
 *     bench_service [SECONDS] [batched | single | tokens | all]
 *
 * batched: posts of 100 frames; single: posts of one; tokens: as batched, with a million tokens and
 * batches of 100 000. FARO_BENCH_FOLDER: folder for the state (/var/tmp). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "service/state/spool.h"
#include "support/stage.h"

enum { LATENCIES = 1 << 20, DIFFERENT = 50000, MAX_FRAMES = 100, MAX_CONNECTIONS = 512 };

static const double AFTER = 0.25; /* seconds after a batch closed that count as its closing */

typedef struct wire {
  int socket;
  double began;  /* start of the current post */
  double resume; /* earliest time of the next post, after a 503 */
  char answer[4096];
  size_t got;
} wire;

typedef struct load {
  stage *stage;
  size_t frames, connections, clients;
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

/* The reports of the next clients, under the policy of the open batch, as far as it is known
 * here. */
static void send_post(load *l, wire *w) {
  const size_t frame = l->stage->frame;
  const uint64_t version = l->accepted / l->batch + 1;
  char *at = (char *)l->post;
  at += sprintf(at, "POST /v1/reports HTTP/1.1\r\nHost: bench\r\nContent-Length: %zu\r\n\r\n",
                l->frames * frame);
  for (size_t i = 0; i < l->frames; i++, at += frame) {
    unsigned char *report = l->ready + l->cursor * frame;
    faro_wire_report_restamp(report, version, ++l->sequence[l->cursor],
                             l->stage->tokens + l->cursor * FARO_TOKEN_BYTES);
    memcpy(at, report, frame);
    l->cursor = (l->cursor + 1) % l->clients;
  }
  const size_t length = (size_t)(at - (char *)l->post);
  w->got = 0;
  w->began = faro_clock();
  w->resume = 0;
  if (send(w->socket, l->post, length, MSG_NOSIGNAL) != (ssize_t)length) fail("send");
}

/* Whether the answer is complete; counts it. */
static bool take(load *l, wire *w) {
  const ssize_t got = recv(w->socket, w->answer + w->got, sizeof w->answer - 1 - w->got, 0);
  if (got <= 0) fail("recv");
  w->got += (size_t)got;
  w->answer[w->got] = '\0';
  const char *end = strstr(w->answer, "\r\n\r\n");
  const char *told = strcasestr(w->answer, "content-length:");
  if (!end || !told) return false;
  const size_t length = strtoull(told + 15, NULL, 10);
  const size_t head = (size_t)(end + 4 - w->answer);
  if (w->got < head + length) return false;
  l->posts++;
  const int status = atoi(w->answer + 9);
  const double now = faro_clock();
  if (status == 200) {
    const uint64_t batches = l->accepted / l->batch;
    if (l->latencies < LATENCIES) l->latency[l->latencies++] = now - w->began;
    if (w->began < l->closed + AFTER && l->closings < LATENCIES) l->closing[l->closings++] = now - w->began;
    for (size_t i = 0; i < length; i++)
      (w->answer[head + i] <= FARO_VERDICT_KNOWN ? &l->accepted : &l->refused)[0]++;
    if (l->accepted / l->batch > batches) l->closed = now;
  } else if (status == 503) {
    l->busy++;
    w->resume = now + 0.01;
  } else l->refused += l->frames;
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

static void play(load *l, double seconds) {
  const int poll = epoll_create1(EPOLL_CLOEXEC);
  for (size_t i = 0; i < l->connections; i++) {
    l->wire[i] = (wire){.socket = connect_to(l->stage->port[0])};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &l->wire[i]};
    epoll_ctl(poll, EPOLL_CTL_ADD, l->wire[i].socket, &event);
    send_post(l, &l->wire[i]);
  }
  const double began = faro_clock();
  double told = began;
  size_t under_way = l->connections;
  for (double now = began; under_way > 0; now = faro_clock()) {
    struct epoll_event events[64];
    const bool over = now - began > seconds;
    const int count = epoll_wait(poll, events, 64, 5);
    for (int i = 0; i < count; i++) {
      wire *w = events[i].data.ptr;
      if (!take(l, w)) continue;
      if (over) under_way--;
      else if (w->resume == 0) send_post(l, w);
    }
    for (size_t i = 0; i < l->connections; i++)
      if (l->wire[i].resume > 0 && now > l->wire[i].resume) {
        if (!over) send_post(l, &l->wire[i]);
        else under_way--, l->wire[i].resume = 0;
      }
    if (now - told < seconds / 5 || over) continue;
    told = now;
    printf("  %5.0f s  %9llu reports  %6.1f MiB\n", now - began, (unsigned long long)l->accepted, memory(l));
  }
  for (size_t i = 0; i < l->connections; i++) close(l->wire[i].socket);
  close(poll);
}

static void run(load *l, const char *name, size_t frames, size_t connections, double seconds) {
  l->frames = frames;
  l->connections = connections;
  l->latencies = l->closings = 0;
  const uint64_t accepted = l->accepted;
  l->refused = l->busy = l->posts = 0;
  printf("%s: posts of %zu, %zu connections\n", name, frames, connections);
  const double began = faro_clock();
  const double used = cpu(l);
  play(l, seconds);
  const double took = faro_clock() - began;
  const double reports = (double)(l->accepted - accepted);
  printf(
      "%s: %.0f reports/s accepted (%.0f posts/s), %.0f per CPU second of the shuffler, %llu refused, %llu "
      "busy; acknowledged p50 %.1f ms, p99 %.1f ms, at closings p99 %.1f ms, max %.1f ms; %.1f MiB; %zu "
      "batches\n",
      name, reports / took, (double)l->posts / took, reports / (cpu(l) - used),
      (unsigned long long)l->refused, (unsigned long long)l->busy, quantile(l->latency, l->latencies, 0.5),
      quantile(l->latency, l->latencies, 0.99), quantile(l->closing, l->closings, 0.99),
      quantile(l->latency, l->latencies, 1), memory(l), l->stage->batches);
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
  for (size_t i = 0; i < clients; i++)
    if (i < DIFFERENT) stage_report(s, 0, i, 1, 1, i, l->ready + i * s->frame);
    else memcpy(l->ready + i * s->frame, l->ready + i % DIFFERENT * s->frame, s->frame);
}

static void end(load *l) {
  stage_close(l->stage);
  free(l->ready);
  free(l->sequence);
  free(l->latency);
  free(l->closing);
  free(l->post);
}

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 10;
  const char *mode = argc > 2 ? argv[2] : "all";
  const bool all = strcmp(mode, "all") == 0;
  static stage s;
  static load l;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (all || strcmp(mode, "tokens") != 0) {
    begin(&l, &s, 50000, 10000);
    if (all || strcmp(mode, "batched") == 0) run(&l, "batched", MAX_FRAMES, 16, seconds);
    if (all || strcmp(mode, "single") == 0) run(&l, "single", 1, 256, seconds);
    end(&l);
  }
  if (all || strcmp(mode, "tokens") == 0) {
    begin(&l, &s, 1000000, 100000);
    run(&l, "tokens", MAX_FRAMES, 16, seconds);
    end(&l);
  }
  return 0;
}
