/* relay: see the header. A poll loop over pairs of sockets. What one side sends is written to the
 * other before more is read, so nothing is queued. Blocking writes could stall the loop if a party
 * never reads; loopback buffers and the parties' own timeouts limit that. */
#include "trial/relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PAIRS = 256, CHUNK = 1 << 16, LINES = 1 << 16 };

typedef struct line { /* what a client sent on one connection */
  unsigned char *data;
  size_t length, capacity;
} line;

typedef struct pair {
  int side[2];      /* [0]: the client's */
  bool finished[2]; /* this side has sent all it will send */
  size_t line;
} pair;

struct faro_relay {
  int listener, before, wake[2]; /* before: the address that it had; -1: it had none */
  uint16_t port, target;
  pthread_t thread;
  bool running;
  atomic_uint trouble;
  atomic_ullong cuts;
  uint64_t luck;
  size_t keep, kept;
  bool overflowed;
  pair pair[PAIRS];
  size_t pairs;
  line *lines;
  size_t line_count;
  unsigned char chunk[CHUNK];
};

static struct sockaddr_in loopback(uint16_t port) {
  return (struct sockaddr_in){
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int listen_on(uint16_t port, uint16_t *got) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = loopback(port);
  socklen_t size = sizeof address;
  if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && listen(fd, PAIRS) == 0 &&
      getsockname(fd, (struct sockaddr *)&address, &size) == 0) {
    *got = ntohs(address.sin_port);
    return fd;
  }
  if (fd >= 0) close(fd);
  return -1;
}

/* Binds a name that only one process of the machine can hold. */
static int hold_name(uint16_t port) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  const int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "faro-trial-port-%u", port);
  const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && bind(fd, (const struct sockaddr *)&name, size) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

faro_status faro_port_hold(uint16_t *port, int *hold, faro_error *error) {
  enum { FIRST = 10000, COUNT = 10000, TRIES = 1000 }; /* Linux gives out ports from 32768 on */
  for (int i = 0; i < TRIES; i++) {
    *port = (uint16_t)(FIRST + randombytes_uniform(COUNT));
    *hold = hold_name(*port);
    if (*hold < 0) continue;
    const int fd = listen_on(*port, port);
    if (fd >= 0) {
      close(fd);
      return FARO_OK;
    }
    close(*hold);
  }
  *hold = -1;
  return faro_fail(error, FARO_SYSTEM, "no free port on loopback between %d and %d: %s", FIRST,
                   FIRST + COUNT - 1, strerror(errno));
}

/* Random cuts, by SplitMix64. Nothing here must be secret. */
static uint64_t draw(faro_relay *relay) {
  uint64_t z = relay->luck += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

static void keep(faro_relay *relay, size_t index, const unsigned char *bytes, size_t length) {
  line *l = &relay->lines[index];
  if (length == 0) return;
  if (relay->kept + length > relay->keep) relay->overflowed = true;
  if (relay->overflowed) return;
  if (l->length + length > l->capacity) {
    const size_t capacity = 2 * l->capacity + length + 1024;
    unsigned char *data = realloc(l->data, capacity);
    if (!data) {
      relay->overflowed = true;
      return;
    }
    l->data = data;
    l->capacity = capacity;
  }
  memcpy(l->data + l->length, bytes, length);
  l->length += length;
  relay->kept += length;
}

static bool send_all(int fd, const unsigned char *bytes, size_t length) {
  while (length > 0) {
    const ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    length -= (size_t)sent;
  }
  return true;
}

static void drop(faro_relay *relay, size_t index) {
  close(relay->pair[index].side[0]);
  close(relay->pair[index].side[1]);
  relay->pair[index] = relay->pair[--relay->pairs];
}

/* If the server is not up, the connection ends at once, as it would without the relay. */
static void welcome(faro_relay *relay, int listener) {
  const int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  if (client < 0) return;
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const struct sockaddr_in address = loopback(relay->target);
  if (server < 0 || relay->pairs == PAIRS || relay->line_count == LINES ||
      connect(server, (const struct sockaddr *)&address, sizeof address) != 0) {
    if (server >= 0) close(server);
    close(client);
    return;
  }
  const int on = 1;
  (void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  (void)setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  relay->pair[relay->pairs++] = (pair){.side = {client, server}, .line = relay->line_count++};
}

/* Passes on bytes from one side of a pair; false if the pair is closed. */
static bool pass(faro_relay *relay, size_t index, int from) {
  pair *p = &relay->pair[index];
  const ssize_t got = recv(p->side[from], relay->chunk, CHUNK, 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got == 0) {
    p->finished[from] = true;
    (void)shutdown(p->side[1 - from], SHUT_WR);
    return !p->finished[1 - from];
  }
  if (got < 0) return false;
  size_t length = (size_t)got;
  const bool cut = draw(relay) % 1000 < atomic_load(&relay->trouble);
  if (cut) length = draw(relay) % (length + 1);
  if (from == 0) keep(relay, p->line, relay->chunk, length);
  const bool written = send_all(p->side[1 - from], relay->chunk, length);
  if (cut) atomic_fetch_add(&relay->cuts, 1);
  return written && !cut;
}

static short wanted(const pair *p, int side) { return p->finished[side] ? 0 : POLLIN; }

static void *work(void *context) {
  faro_relay *relay = context;
  struct pollfd poll_on[3 + 2 * PAIRS];
  for (;;) {
    const size_t pairs = relay->pairs;
    poll_on[0] = (struct pollfd){.fd = relay->wake[0], .events = POLLIN};
    poll_on[1] = (struct pollfd){.fd = relay->listener, .events = POLLIN};
    poll_on[2] = (struct pollfd){.fd = relay->before, .events = POLLIN};
    for (size_t i = 0; i < 2 * pairs; i++)
      poll_on[3 + i] = (struct pollfd){
          .fd = wanted(&relay->pair[i / 2], i % 2) ? relay->pair[i / 2].side[i % 2] : -1, .events = POLLIN};
    if (poll(poll_on, 3 + 2 * pairs, -1) < 0 && errno != EINTR) return NULL;
    if (poll_on[0].revents) return NULL;
    /* Backwards: drop replaces a closed pair by the last one, which was handled already. */
    for (size_t i = pairs; i-- > 0;) {
      bool alive = true;
      if (poll_on[3 + 2 * i].revents) alive = pass(relay, i, 0);
      if (alive && poll_on[4 + 2 * i].revents) alive = pass(relay, i, 1);
      if (!alive) drop(relay, i);
    }
    if (poll_on[1].revents) welcome(relay, relay->listener);
    if (poll_on[2].revents) welcome(relay, relay->before);
  }
}

faro_status faro_relay_open(faro_relay **out, uint16_t port, size_t keep_most, faro_error *error) {
  faro_relay *relay = calloc(1, sizeof *relay);
  if (!relay) return faro_fail(error, FARO_MEMORY, "out of memory");
  relay->lines = calloc(LINES, sizeof *relay->lines);
  relay->target = port;
  relay->keep = keep_most;
  relay->luck = port;
  relay->listener = listen_on(0, &relay->port);
  relay->before = relay->wake[0] = relay->wake[1] = -1;
  if (!relay->lines || relay->listener < 0 || pipe2(relay->wake, O_CLOEXEC) != 0 ||
      pthread_create(&relay->thread, NULL, work, relay) != 0) {
    faro_relay_close(relay);
    return faro_fail(error, FARO_SYSTEM, "cannot open a relay on loopback: %s", strerror(errno));
  }
  relay->running = true;
  *out = relay;
  return FARO_OK;
}

void faro_relay_stop(faro_relay *relay) {
  if (!relay->running) return;
  (void)!write(relay->wake[1], "", 1);
  pthread_join(relay->thread, NULL);
  relay->running = false;
  while (relay->pairs > 0) drop(relay, 0);
}

/* Goes on with other listeners. Connections are cut. */
static faro_status change(faro_relay *relay, int listener, int before, faro_error *error) {
  char woken = 0;
  faro_relay_stop(relay);
  (void)!read(relay->wake[0], &woken, 1);
  if (relay->before >= 0) close(relay->before);
  relay->listener = listener;
  relay->before = before;
  relay->running = pthread_create(&relay->thread, NULL, work, relay) == 0;
  return relay->running ? FARO_OK : faro_fail(error, FARO_SYSTEM, "cannot start a thread");
}

faro_status faro_relay_move(faro_relay *relay, faro_error *error) {
  const int listener = listen_on(0, &relay->port);
  if (listener < 0) return faro_fail(error, FARO_SYSTEM, "no free port on loopback: %s", strerror(errno));
  return change(relay, listener, relay->listener, error);
}

faro_status faro_relay_leave(faro_relay *relay, faro_error *error) {
  return change(relay, relay->listener, -1, error);
}

void faro_relay_close(faro_relay *relay) {
  if (!relay) return;
  faro_relay_stop(relay);
  if (relay->listener >= 0) close(relay->listener);
  if (relay->before >= 0) close(relay->before);
  for (int i = 0; i < 2; i++)
    if (relay->wake[i] >= 0) close(relay->wake[i]);
  for (size_t i = 0; relay->lines && i < relay->line_count; i++) free(relay->lines[i].data);
  free(relay->lines);
  free(relay);
}

uint16_t faro_relay_port(const faro_relay *relay) { return relay->port; }
void faro_relay_trouble(faro_relay *relay, unsigned thousandths) {
  atomic_store(&relay->trouble, thousandths);
}
uint64_t faro_relay_cuts(const faro_relay *relay) { return atomic_load(&relay->cuts); }
bool faro_relay_overflowed(const faro_relay *relay) { return relay->overflowed; }

const unsigned char *faro_relay_heard(const faro_relay *relay, size_t connection, size_t *length) {
  if (connection >= relay->line_count) return NULL;
  *length = relay->lines[connection].length;
  return relay->lines[connection].data ? relay->lines[connection].data : (const unsigned char *)"";
}
