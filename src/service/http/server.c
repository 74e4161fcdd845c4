/* server: see the header. This file starts and stops the server and keeps the list of waiting
 * requests. request.c is the life of a request; guard.c ends connections that send too slowly. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "service/http/origins.h"
#include "service/http/server_inner.h"

/* Waiting. */

static void suspend(faro_http_request *r) {
  r->suspended = true;
  MHD_suspend_connection(r->connection);
}

void faro_http_park(faro_http_request *request) { suspend(request); }

void faro_http_wait(faro_http_request *request, double seconds) {
  faro_http *http = request->http;
  pthread_mutex_lock(&http->mutex);
  if (http->stopping) request->expired = true;
  request->again = request->expired || http->generation != request->generation;
  if (!request->again && http->waiters >= http->waiters_most)
    request->again = request->crowded = request->expired = true;
  if (!request->again) {
    suspend(request);
    http->waiters++;
    request->until = faro_clock() + seconds;
    request->next = http->waiting;
    http->waiting = request;
  }
  pthread_mutex_unlock(&http->mutex);
}

/* Resumes requests whose time is up, or all of them. Call it under the mutex. */
static void resume(faro_http *http, double now, bool all) {
  faro_http_request **place = &http->waiting;
  while (*place) {
    faro_http_request *r = *place;
    if (now >= r->until) r->expired = true;
    if (!all && !r->expired) {
      place = &r->next;
      continue;
    }
    *place = r->next;
    http->waiters--;
    MHD_resume_connection(r->connection);
  }
}

void faro_http_wake(faro_http *http) {
  pthread_mutex_lock(&http->mutex);
  http->generation++;
  resume(http, faro_clock(), true);
  pthread_mutex_unlock(&http->mutex);
}

static void tick(void *context) {
  faro_http *http = context;
  pthread_mutex_lock(&http->mutex);
  resume(http, faro_clock(), false);
  pthread_mutex_unlock(&http->mutex);
}

/* The server. */

static uint64_t connections_of(const faro_http_settings *s) { return s->connections ? s->connections : 1024; }

static void enter_metrics(faro_http *http) {
  static const char *const label[] = {"", "", "code=\"2xx\"", "code=\"3xx\"", "code=\"4xx\"", "code=\"5xx\""};
  for (size_t i = 2; i < 6; i++)
    http->answers[i] = faro_metrics_counter(
        http->service.metrics, "faro_http_answers_total", label[i],
        "Answers by the class of their status; for reports with a known token see faro_reports_total.");
  http->answers[0] = http->answers[1] = http->answers[2];
}

/* The library has room for some more connections than are allowed: the guard ends one when the next
 * has come, and that takes a moment. */
static uint64_t sockets_of(const faro_http_settings *s) {
  return connections_of(s) + connections_of(s) / 4 + 16;
}

static double timeout_of(const faro_http_settings *s) { return s->timeout > 0 ? s->timeout : 10; }

/* Limits per address do not apply on loopback: everybody has the same address there, or comes
 * through a proxy. */
static faro_status create_guards(faro_http *http, const faro_http_settings *s, faro_error *error) {
  const double silence = 3;
  const double timeout = timeout_of(s);
  const bool local = faro_listen_local(&http->listen);
  const faro_guard_params params = {.seconds = 2 * timeout,
                                    .first = silence < timeout ? silence : timeout,
                                    .plain = http->listen.certificate == NULL,
                                    .most = connections_of(s),
                                    .each = local ? 0 : (connections_of(s) + 3) / 4,
                                    .metrics = http->service.metrics,
                                    .tick = tick,
                                    .context = http};
  const faro_status status = faro_guard_create(&http->guard, &params, error);
  if (status != FARO_OK || local || s->rate <= 0) return status;
  return faro_limiter_create(&http->rate, s->rate, 10 * s->rate, error);
}

static void set_bounds(faro_http *http, uint64_t connections) {
  size_t largest = 0;
  for (size_t i = 0; i < http->service.count; i++)
    if (http->service.routes[i].limit > largest) largest = http->service.routes[i].limit;
  http->waiters_most = (size_t)connections / 2;
  if (http->service.room > 0) http->room = http->service.room;
  else faro_http_make_room(http, largest);
}

/* libmicrohttpd takes 128 events at once. When it got that many it waits for more before it handles
 * any of them: until the timeout, if all its connections wait for answers. So a thread gets fewer
 * connections than that. */
static unsigned threads_for(const faro_http_settings *s, uint64_t connections) {
  enum { MOST = 100 };
  const uint64_t needed = (connections + MOST - 1) / MOST;
  const uint64_t wanted = s->threads ? s->threads : 2;
  return (unsigned)(wanted > needed ? wanted : needed);
}

/* Decodes %XX in place. A text with %00 stays as it is: decoded, it would end there, and the rest
 * would be ignored. */
static size_t unescape(void *context, struct MHD_Connection *connection, char *text) {
  (void)context, (void)connection;
  return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **place,
                          enum MHD_ConnectionNotificationCode code) {
  faro_http *http = context;
  faro_guard_connection(http->guard, connection, place, code);
  if (http->listen.tls && code == MHD_CONNECTION_NOTIFY_STARTED) faro_tls_greet(http->listen.tls, connection);
}

static faro_status start_daemon(faro_http *http, const faro_http_settings *s, faro_error *error) {
  const bool tls = http->listen.certificate != NULL;
  const unsigned flags = (unsigned)MHD_USE_EPOLL_INTERNAL_THREAD | (unsigned)MHD_ALLOW_SUSPEND_RESUME |
                         (tls ? (unsigned)MHD_USE_TLS : 0) |
                         (http->listen.address.ss_family == AF_INET6 ? (unsigned)MHD_USE_IPv6 : 0);
  struct MHD_OptionItem secure[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, http->listen.certificate},
                                    {MHD_OPTION_HTTPS_MEM_KEY, 0, http->listen.private_key},
                                    {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)FARO_TLS_PRIORITIES},
                                    {MHD_OPTION_END, 0, NULL}};
  if (!tls) secure[0] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
  set_bounds(http, connections_of(s));
  http->daemon = MHD_start_daemon(
      flags, 0, NULL, NULL, faro_http_on_request, http, MHD_OPTION_LISTEN_SOCKET, (MHD_socket)http->socket,
      MHD_OPTION_THREAD_POOL_SIZE, threads_for(s, sockets_of(s)), MHD_OPTION_CONNECTION_LIMIT,
      (unsigned)sockets_of(s), MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)timeout_of(s),
      MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_NOTIFY_COMPLETED, faro_http_on_end, http,
      MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_ARRAY, secure, MHD_OPTION_END);
  if (!http->daemon) return faro_fail(error, FARO_SYSTEM, "cannot start the server on %s", s->listen);
  return FARO_OK;
}

faro_status faro_http_files(const faro_http_settings *settings, uint64_t more, faro_error *error) {
  return faro_listen_files(connections_of(settings), sockets_of(settings) + more, error);
}

faro_status faro_http_bind(faro_http **http, const faro_http_settings *settings, faro_error *error) {
  faro_http *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the server");
  pthread_mutex_init(&made->mutex, NULL);
  pthread_cond_init(&made->idle, NULL);
  made->settings = *settings;
  made->socket = -1;
  made->spare = FARO_HTTP_SPARE;
  faro_status status = faro_listen_read(&made->listen, settings, error);
  if (status == FARO_OK) status = faro_origins_check(settings->origins, error);
  if (status == FARO_OK) status = faro_http_files(settings, 0, error);
  if (status == FARO_OK && http) status = faro_listen_bind(&made->listen, settings, &made->socket, error);
  if (status == FARO_OK && http) *http = made;
  else faro_http_stop(made);
  return status;
}

faro_status faro_http_serve(faro_http *http, const faro_http_service *service, faro_error *error) {
  http->service = *service;
  enter_metrics(http);
  const faro_status status = create_guards(http, &http->settings, error);
  return status == FARO_OK ? start_daemon(http, &http->settings, error) : status;
}

faro_status faro_http_start(faro_http **http, const faro_http_settings *settings,
                            const faro_http_service *service, faro_error *error) {
  faro_http *made = NULL;
  faro_status status = faro_http_bind(&made, settings, error);
  if (status == FARO_OK && made) status = faro_http_serve(made, service, error);
  if (status == FARO_OK) *http = made;
  else faro_http_stop(made);
  return status;
}

faro_status faro_http_check(const faro_http_settings *settings, faro_error *error) {
  return faro_http_bind(NULL, settings, error);
}

faro_status faro_http_reload(faro_http *http, bool *changed, faro_error *error) {
  return faro_listen_reload(&http->listen, &http->settings, changed, error);
}

uint16_t faro_http_port(const faro_http *http) {
  union {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
  } address = {.six = {0}};
  socklen_t size = sizeof address;
  if (getsockname(http->socket, &address.any, &size) != 0) return 0;
  return ntohs(address.any.sa_family == AF_INET6 ? address.six.sin6_port : address.four.sin_port);
}

static void set_spare(faro_http *http, size_t bytes, bool lower) {
  const size_t spare = bytes < FARO_HTTP_SPARE        ? FARO_HTTP_SPARE
                       : bytes > FARO_HTTP_SPARE_MOST ? FARO_HTTP_SPARE_MOST
                                                      : bytes;
  pthread_mutex_lock(&http->mutex);
  if (lower || http->spare < spare) http->spare = spare;
  pthread_mutex_unlock(&http->mutex);
}

void faro_http_spare(faro_http *http, size_t bytes) { set_spare(http, bytes, true); }
void faro_http_spare_also(faro_http *http, size_t bytes) { set_spare(http, bytes, false); }

void faro_http_make_room(faro_http *http, size_t largest) {
  const size_t room = ((size_t)64 << 20) + (largest > FARO_HTTP_BODY ? 2 * largest : 0);
  pthread_mutex_lock(&http->mutex);
  if (http->room < room) http->room = room;
  pthread_mutex_unlock(&http->mutex);
}

void faro_http_stop(faro_http *http) {
  if (!http) return;
  if (http->daemon) {
    const struct timespec until = faro_clock_after(30);
    pthread_mutex_lock(&http->mutex);
    http->stopping = true;
    http->generation++;
    resume(http, 1e300, true);
    while (http->active > 0 &&
           pthread_cond_clockwait(&http->idle, &http->mutex, CLOCK_MONOTONIC, &until) == 0)
      continue;
    pthread_mutex_unlock(&http->mutex);
    MHD_stop_daemon(http->daemon); /* closes the socket */
    http->socket = -1;
  }
  if (http->socket >= 0) close(http->socket);
  faro_guard_destroy(http->guard);
  faro_limiter_destroy(http->rate);
  faro_listen_clear(&http->listen);
  pthread_cond_destroy(&http->idle);
  pthread_mutex_destroy(&http->mutex);
  free(http);
}
