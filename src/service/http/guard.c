/* guard: see the header. libmicrohttpd only has a timeout for silence; this one is for whole
 * requests. */
#include "service/http/guard.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"

typedef struct guarded {
  int socket;
  double since; /* since when it waits for a request; negative: a request is being answered */
  double more;  /* extra seconds that this request may take */
  struct guarded *next, *previous;
} guarded;

struct faro_guard {
  double seconds;
  bool plain;
  void (*tick)(void *context);
  void *context;
  pthread_t thread;
  atomic_bool stop;
  pthread_mutex_t mutex;
  guarded list; /* a ring with this as its head */
};

static void cut_off(const faro_guard *guard, const guarded *connection) {
  static const char late[] = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
  if (guard->plain) (void)send(connection->socket, late, sizeof late - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  shutdown(connection->socket, SHUT_RDWR); /* the server notices and closes it */
}

static void look(faro_guard *guard) {
  const double now = faro_clock();
  pthread_mutex_lock(&guard->mutex);
  for (guarded *c = guard->list.next; c != &guard->list; c = c->next)
    if (c->since >= 0 && now - c->since > guard->seconds + c->more) {
      cut_off(guard, c);
      c->since = -1;
    }
  pthread_mutex_unlock(&guard->mutex);
}

static void *watch(void *context) {
  faro_guard *guard = context;
  while (!atomic_load(&guard->stop)) {
    faro_sleep(0.1);
    look(guard);
    guard->tick(guard->context);
  }
  return NULL;
}

faro_status faro_guard_create(faro_guard **guard, double seconds, bool plain, void (*tick)(void *context),
                              void *context, faro_error *error) {
  faro_guard *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate a guard");
  made->seconds = seconds;
  made->plain = plain;
  made->tick = tick;
  made->context = context;
  made->list.next = made->list.previous = &made->list;
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
  pthread_mutex_destroy(&guard->mutex);
  free(guard);
}

static void enter(faro_guard *guard, struct MHD_Connection *connection, void **place) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  guarded *c = info ? calloc(1, sizeof *c) : NULL;
  *place = c; /* out of memory: it is not watched, but the timeout for silence still applies */
  if (!c) return;
  c->socket = info->connect_fd;
  c->since = faro_clock();
  pthread_mutex_lock(&guard->mutex);
  c->next = guard->list.next;
  c->previous = &guard->list;
  c->next->previous = c->previous->next = c;
  pthread_mutex_unlock(&guard->mutex);
}

void faro_guard_connection(void *guard, struct MHD_Connection *connection, void **place,
                           enum MHD_ConnectionNotificationCode code) {
  faro_guard *g = guard;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    enter(g, connection, place);
    return;
  }
  guarded *c = *place;
  if (!c) return;
  pthread_mutex_lock(&g->mutex); /* the socket is closed later, so its number is not reused yet */
  c->next->previous = c->previous;
  c->previous->next = c->next;
  pthread_mutex_unlock(&g->mutex);
  free(c);
  *place = NULL;
}

static guarded *of(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

static void mark(faro_guard *guard, struct MHD_Connection *connection, double since) {
  guarded *c = of(connection);
  if (!c) return;
  pthread_mutex_lock(&guard->mutex);
  c->since = since;
  c->more = 0;
  pthread_mutex_unlock(&guard->mutex);
}

void faro_guard_allow(faro_guard *guard, struct MHD_Connection *connection, size_t length) {
  guarded *c = of(connection);
  if (!c) return;
  pthread_mutex_lock(&guard->mutex);
  c->more = (double)length / FARO_GUARD_RATE;
  pthread_mutex_unlock(&guard->mutex);
}

void faro_guard_received(faro_guard *guard, struct MHD_Connection *connection) {
  mark(guard, connection, -1);
}
void faro_guard_expect(faro_guard *guard, struct MHD_Connection *connection) {
  mark(guard, connection, faro_clock());
}
