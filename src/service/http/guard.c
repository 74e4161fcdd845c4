/* guard: see the header. A connection is in one of three rings, each ordered by time:
 *
 *   waiting   for a request; its first bytes may have arrived
 *   sending   the head of a request has arrived, its body has not
 *   busy      its request is being answered; or it was ended, and the server is about to close it
 *
 * Only the server closes sockets. The guard shuts them down, which the server notices. */
#include "service/http/guard.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum { KINDRED = 1024, LINGER_BYTES = 4 << 20 };
static const double LINGER = 2; /* seconds */

typedef struct guarded {
  int socket;
  uint64_t address;
  double since; /* since when it waits for a request */
  double more;  /* extra seconds that this request may take */
  bool fresh;   /* it may be silent since it came */
  bool ended;   /* shut down by the guard */
  bool lingers; /* to be read for a while after its answer */
  struct guarded *next, *previous;
  struct guarded *kin; /* the next with the same hash of the address */
} guarded;

typedef struct lingering {
  int socket;
  double until;
  size_t left; /* bytes */
} lingering;

struct faro_guard {
  faro_guard_params params;
  pthread_t thread;
  atomic_bool stop;
  faro_metric *connections, *evicted, *crowded, *late;
  unsigned char key[crypto_shorthash_KEYBYTES];
  pthread_mutex_t mutex; /* guards everything below */
  guarded waiting, sending, busy;
  guarded *kindred[KINDRED];
  size_t count; /* connections that were not ended */
  lingering linger[FARO_GUARD_LINGER];
  size_t lingers;
};

/* Rings. */

static void leave(guarded *c) {
  c->next->previous = c->previous;
  c->previous->next = c->next;
}

static void join(guarded *c, guarded *ring) {
  c->next = ring;
  c->previous = ring->previous;
  c->next->previous = c->previous->next = c;
}

static void move(guarded *c, guarded *ring) {
  leave(c);
  join(c, ring);
}

/* Ends a connection. Call it under the mutex. */
static void end(faro_guard *guard, guarded *c, faro_metric *why) {
  move(c, &guard->busy);
  c->ended = true;
  guard->count--;
  shutdown(c->socket, SHUT_RDWR);
  faro_metric_add(why, 1);
  faro_metric_set(guard->connections, (double)guard->count);
}

/* Connections that take too long. */

static void cut_off(faro_guard *guard, guarded *c) {
  static const char late[] = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
  if (guard->params.plain) (void)send(c->socket, late, sizeof late - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  end(guard, c, guard->late);
}

/* Whether a connection has not brought a byte. Asks the kernel, once: the server tells of whole
 * heads only. */
static bool is_silent(guarded *c) {
  struct tcp_info info = {0};
  socklen_t size = sizeof info;
  if (!c->fresh) return false;
  c->fresh = false;
  return getsockopt(c->socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         size > offsetof(struct tcp_info, tcpi_bytes_received) && info.tcpi_bytes_received == 0;
}

static void look(faro_guard *guard, guarded *ring) {
  const faro_guard_params *p = &guard->params;
  const double now = faro_clock();
  guarded *next = NULL;
  for (guarded *c = ring->next; c != ring; c = next) {
    next = c->next;
    const double waited = now - c->since;
    if (waited > p->seconds + c->more || (waited > p->first && is_silent(c))) cut_off(guard, c);
  }
}

/* Refused connections whose sender may still send. */

/* Reads what has arrived; false when it is time to close. */
static bool drain(lingering *l, double now) {
  char bytes[16384];
  ssize_t got = 1;
  while (l->left > 0 && (got = recv(l->socket, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
    l->left -= (size_t)got < l->left ? (size_t)got : l->left;
  return got != 0 && l->left > 0 && now < l->until;
}

static void drain_all(faro_guard *guard, double now) {
  for (size_t i = 0; i < guard->lingers;) {
    if (drain(&guard->linger[i], now)) {
      i++;
      continue;
    }
    close(guard->linger[i].socket);
    guard->linger[i] = guard->linger[--guard->lingers];
  }
}

/* The server closes its socket next; a copy of it stays open. */
static void begin_linger(faro_guard *guard, const guarded *c) {
  if (guard->lingers == FARO_GUARD_LINGER) return;
  const int copy = fcntl(c->socket, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return;
  shutdown(copy, SHUT_WR);
  guard->linger[guard->lingers++] =
      (lingering){.socket = copy, .until = faro_clock() + LINGER, .left = LINGER_BYTES};
}

static void *watch(void *context) {
  faro_guard *guard = context;
  while (!atomic_load(&guard->stop)) {
    faro_sleep(0.1);
    pthread_mutex_lock(&guard->mutex);
    look(guard, &guard->waiting);
    look(guard, &guard->sending);
    drain_all(guard, faro_clock());
    pthread_mutex_unlock(&guard->mutex);
    guard->params.tick(guard->params.context);
  }
  return NULL;
}

static void enter_metrics(faro_guard *guard) {
  static const char name[] = "faro_http_connections_ended_total";
  static const char help[] =
      "Connections that the server ended: to make room for others, because one address "
      "had too many, or because a request did not arrive in time.";
  faro_metrics *m = guard->params.metrics;
  guard->connections = faro_metrics_gauge(m, "faro_http_connections", "", "Connections in use.");
  faro_metric_set(faro_metrics_gauge(m, "faro_http_connections_limit", "", "Connections that are allowed."),
                  (double)guard->params.most);
  guard->evicted = faro_metrics_counter(m, name, "reason=\"room\"", help);
  guard->crowded = faro_metrics_counter(m, name, "reason=\"address\"", help);
  guard->late = faro_metrics_counter(m, name, "reason=\"late\"", help);
}

faro_status faro_guard_create(faro_guard **guard, const faro_guard_params *params, faro_error *error) {
  faro_guard *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate a guard");
  made->params = *params;
  made->waiting.next = made->waiting.previous = &made->waiting;
  made->sending.next = made->sending.previous = &made->sending;
  made->busy.next = made->busy.previous = &made->busy;
  crypto_shorthash_keygen(made->key);
  enter_metrics(made);
  pthread_mutex_init(&made->mutex, NULL);
  if (pthread_create(&made->thread, NULL, watch, made) != 0) {
    pthread_mutex_destroy(&made->mutex);
    free(made);
    return faro_fail(error, FARO_SYSTEM, "cannot start a thread");
  }
  *guard = made;
  return FARO_OK;
}

void faro_guard_destroy(faro_guard *guard) {
  if (!guard) return;
  atomic_store(&guard->stop, true);
  pthread_join(guard->thread, NULL);
  for (size_t i = 0; i < guard->lingers; i++) close(guard->linger[i].socket);
  pthread_mutex_destroy(&guard->mutex);
  free(guard);
}

/* Connections come and go. */

uint64_t faro_guard_prefix(const struct sockaddr *address) {
  unsigned char bytes[16] = {0};
  uint64_t prefix = 0;
  if (address->sa_family == AF_INET)
    memcpy(bytes + 4, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
  if (address->sa_family == AF_INET6)
    memcpy(bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
  memcpy(&prefix, bytes, sizeof prefix);
  return prefix;
}

uint64_t faro_guard_address(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  return info && info->client_addr ? faro_guard_prefix(info->client_addr) : 0;
}

static guarded **kindred(faro_guard *guard, uint64_t address) {
  uint64_t hash = 0;
  crypto_shorthash((unsigned char *)&hash, (const unsigned char *)&address, sizeof address, guard->key);
  return &guard->kindred[hash % KINDRED];
}

static bool is_idle(const guarded *c) { return c->since >= 0 && !c->ended; }

/* If the address of a new connection has too many: ends the one that waits longest, or the new one
 * if all others are being answered. Call it under the mutex. */
static void limit_address(faro_guard *guard, guarded *fresh) {
  guarded *longest = fresh;
  size_t count = 0;
  if (guard->params.each == 0) return;
  for (guarded *c = *kindred(guard, fresh->address); c; c = c->kin) {
    if (c->address != fresh->address || c->ended) continue;
    count++;
    if (is_idle(c) && c->since < longest->since) longest = c;
  }
  if (count > guard->params.each) end(guard, longest, guard->crowded);
}

/* The same if there are too many in all: those that wait for a request first, then those whose
 * body has not arrived. */
static void limit_all(faro_guard *guard, guarded *fresh) {
  if (guard->count <= guard->params.most) return;
  guarded *longest = guard->waiting.next;
  if (longest == fresh && guard->sending.next != &guard->sending) longest = guard->sending.next;
  end(guard, longest, guard->evicted);
}

static void enter(faro_guard *guard, struct MHD_Connection *connection, void **place) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  guarded *c = info ? calloc(1, sizeof *c) : NULL;
  *place = c; /* out of memory: it is not watched, but the timeout for silence still applies */
  if (!c) return;
  c->socket = info->connect_fd;
  c->address = faro_guard_address(connection);
  c->fresh = true;
  pthread_mutex_lock(&guard->mutex);
  c->since = faro_clock(); /* under the mutex: the ring is ordered */
  join(c, &guard->waiting);
  guarded **head = kindred(guard, c->address);
  c->kin = *head;
  *head = c;
  guard->count++;
  limit_address(guard, c);
  if (!c->ended) limit_all(guard, c);
  faro_metric_set(guard->connections, (double)guard->count);
  pthread_mutex_unlock(&guard->mutex);
}

static void depart(faro_guard *guard, guarded *c) {
  pthread_mutex_lock(&guard->mutex); /* the socket is closed later, so its number is not reused yet */
  leave(c);
  guarded **place = kindred(guard, c->address);
  while (*place != c) place = &(*place)->kin;
  *place = c->kin;
  if (!c->ended) guard->count--;
  if (c->lingers && !c->ended) begin_linger(guard, c);
  faro_metric_set(guard->connections, (double)guard->count);
  pthread_mutex_unlock(&guard->mutex);
  free(c);
}

void faro_guard_connection(void *guard, struct MHD_Connection *connection, void **place,
                           enum MHD_ConnectionNotificationCode code) {
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    enter(guard, connection, place);
    return;
  }
  if (*place) depart(guard, *place);
  *place = NULL;
}

/* Requests. */

static guarded *of(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

void faro_guard_allow(faro_guard *guard, struct MHD_Connection *connection, size_t length) {
  guarded *c = of(connection);
  if (!c) return;
  pthread_mutex_lock(&guard->mutex);
  c->more = (double)length / FARO_GUARD_RATE;
  c->fresh = false;
  if (!c->ended) move(c, &guard->sending);
  pthread_mutex_unlock(&guard->mutex);
}

void faro_guard_received(faro_guard *guard, struct MHD_Connection *connection) {
  guarded *c = of(connection);
  if (!c) return;
  pthread_mutex_lock(&guard->mutex);
  c->since = -1;
  c->fresh = false;
  if (!c->ended) move(c, &guard->busy);
  pthread_mutex_unlock(&guard->mutex);
}

void faro_guard_expect(faro_guard *guard, struct MHD_Connection *connection) {
  guarded *c = of(connection);
  if (!c) return;
  pthread_mutex_lock(&guard->mutex);
  c->since = faro_clock();
  c->more = 0;
  if (!c->ended) move(c, &guard->waiting);
  pthread_mutex_unlock(&guard->mutex);
}

void faro_guard_linger(faro_guard *guard, struct MHD_Connection *connection) {
  guarded *c = of(connection);
  if (!c) return;
  pthread_mutex_lock(&guard->mutex);
  c->lingers = true;
  pthread_mutex_unlock(&guard->mutex);
}
