/* request: the life of a request, through libmicrohttpd's callbacks:
 *
 *   begin (headers have arrived; a sender without permission is refused) -> take (pieces of the
 *   body) -> dispatch -> queue
 *
 * A suspended connection (wait, park) comes back to dispatch when it is resumed. */
#include <jansson.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "service/http/origins.h"
#include "service/http/server_inner.h"

static const char PREFLIGHT_AGE[] = "7200"; /* seconds that a browser need not ask again */

enum {
  FIRST_BODY = 4096, /* bytes allocated at first */
  CROWDED_RETRY = 5, /* seconds, for a request that could not wait */
  LIMITED_RETRY = 10 /* seconds, for one that comes too often */
};

/* Answers. */

/* What a browser must read before it gives an answer to a page of another origin. */
static void share(const faro_http_request *r, struct MHD_Response *response) {
  const bool preflight = strcmp(r->method, "OPTIONS") == 0;
  if (faro_origins_vary(r->http->settings.origins)) MHD_add_response_header(response, "Vary", "Origin");
  if (!r->origin) return;
  MHD_add_response_header(response, "Access-Control-Allow-Origin", r->origin);
  if (!preflight) MHD_add_response_header(response, "Access-Control-Expose-Headers", "ETag, Retry-After");
  if (!preflight) return;
  MHD_add_response_header(response, "Access-Control-Allow-Methods", r->allowed);
  MHD_add_response_header(response, "Access-Control-Allow-Headers", "Content-Type, If-None-Match");
  MHD_add_response_header(response, "Access-Control-Max-Age", PREFLIGHT_AGE);
}

static void set_answer(faro_http_request *r, const faro_http_answer *answer) {
  struct MHD_Response *response =
      MHD_create_response_from_buffer(answer->length, (void *)answer->bytes, MHD_RESPMEM_MUST_COPY);
  if (!response) return; /* out of memory: the connection is closed without an answer */
  char seconds[16];
  snprintf(seconds, sizeof seconds, "%u", answer->retry_after ? answer->retry_after : CROWDED_RETRY);
  MHD_add_response_header(response, "Content-Type",
                          answer->type ? answer->type : "text/plain; charset=utf-8");
  MHD_add_response_header(response, "Cache-Control", answer->cache ? answer->cache : "no-store");
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  if (answer->policy) MHD_add_response_header(response, "Content-Security-Policy", answer->policy);
  if (answer->etag) MHD_add_response_header(response, "ETag", answer->etag);
  if (answer->status == 405 && r->allowed) MHD_add_response_header(response, "Allow", r->allowed);
  if (answer->status == 401 && r->http->service.enter)
    MHD_add_response_header(response, "WWW-Authenticate", "Basic realm=\"faro\", charset=\"UTF-8\"");
  if (r->shared) share(r, response);
  if (answer->retry_after || r->crowded) MHD_add_response_header(response, "Retry-After", seconds);
  r->response = response;
  r->status = answer->status;
}

/* Whether the sender has what this tag names (RFC 9110, 13.1.2). The header is a list of tags; a
 * cache may have marked them as weak. No tag of ours is part of another, because of its quotes. */
static bool has_already(const faro_http_request *r, const char *etag) {
  const char *known = etag && !r->suspended ? faro_http_header(r, "If-None-Match") : NULL;
  return known && (strcmp(known, "*") == 0 || strstr(known, etag));
}

void faro_http_reply(faro_http_request *request, const faro_http_answer *answer) {
  faro_http_answer short_answer = *answer;
  short_answer.status = 304;
  short_answer.length = 0;
  const bool known = answer->status == 200 && has_already(request, answer->etag);
  set_answer(request, known ? &short_answer : answer);
  if (request->suspended) MHD_resume_connection(request->connection); /* the request is no longer ours */
}

void faro_http_refuse(faro_http_request *request, unsigned status, const char *reason) {
  json_t *object = json_pack("{ss}", "error", reason);
  char *text = object ? json_dumps(object, 0) : NULL;
  const faro_http_answer answer = {.status = status,
                                   .type = "application/json",
                                   .bytes = text ? text : "{}",
                                   .length = text ? strlen(text) : 2,
                                   .retry_after = status == 503   ? 1
                                                  : status == 429 ? LIMITED_RETRY
                                                                  : 0};
  faro_http_reply(request, &answer);
  free(text);
  json_decref(object);
}

/* Memory of the body. It grows as bytes arrive, so an announced length alone costs nothing. */

/* Counts `capacity` bytes for this request instead of what was counted before; false if there is no
 * room. */
static bool take_room(faro_http_request *r, size_t capacity) {
  faro_http *http = r->http;
  pthread_mutex_lock(&http->mutex);
  const size_t counted = capacity > http->spare ? capacity : 0;
  const size_t bodies = http->bodies - r->counted + counted;
  const bool room = counted <= r->counted || bodies <= http->room;
  if (room) {
    http->bodies = bodies;
    r->counted = counted;
  }
  pthread_mutex_unlock(&http->mutex);
  return room;
}

static void drop_body(faro_http_request *r) {
  if (r->body) sodium_memzero(r->body, r->capacity);
  free(r->body);
  (void)take_room(r, 0);
  r->body = NULL;
  r->length = r->capacity = 0;
}

/* Makes room for `length` bytes; false if there is no room. */
static bool grow(faro_http_request *r, size_t length) {
  if (length <= r->capacity) return true;
  size_t capacity = r->capacity ? r->capacity : FIRST_BODY;
  while (capacity < length) capacity *= 2;
  if (capacity > r->announced) capacity = r->announced;
  if (!take_room(r, capacity)) return false;
  unsigned char *larger = malloc(capacity);
  if (!larger) {
    (void)take_room(r, r->capacity);
    return false;
  }
  if (r->length > 0) {
    memcpy(larger, r->body, r->length);
    sodium_memzero(r->body, r->length);
  }
  free(r->body);
  r->body = larger;
  r->capacity = capacity;
  return true;
}

faro_metric *faro_http_uncounted(faro_http_request *request, unsigned status) {
  request->uncounted = true;
  return request->http->answers[status / 100];
}

static enum MHD_Result queue(faro_http_request *r) {
  if (!r->response) return MHD_NO;
  drop_body(r); /* before the answer is out, so that its receiver finds the room free */
  if (r->status < 600 && !r->uncounted) faro_metric_add(r->http->answers[r->status / 100], 1);
  pthread_mutex_lock(&r->http->mutex);
  if (r->http->stopping || r->crowded || r->refuse == 400)
    MHD_add_response_header(r->response, "Connection", "close");
  pthread_mutex_unlock(&r->http->mutex);
  const enum MHD_Result result = MHD_queue_response(r->connection, r->status, r->response);
  MHD_destroy_response(r->response);
  r->response = NULL;
  return result;
}

/* Requests. */

static void answer_health(void *context, faro_http_request *request, bool ready) {
  const faro_http_service *service = request->service;
  faro_text reasons = FARO_TEXT_INIT;
  faro_text_add(&reasons, "unwell\n");
  const bool well = !service->healthy || service->healthy(context, ready, &reasons);
  const bool said = !reasons.failed;
  const faro_http_answer answer = {.status = well ? 200 : 503,
                                   .bytes = well   ? "ok\n"
                                            : said ? reasons.data
                                                   : "unwell\n",
                                   .length = well   ? 3
                                             : said ? reasons.length
                                                    : 7};
  faro_http_reply(request, &answer);
  faro_text_clear(&reasons);
}

static void handle_healthz(void *context, faro_http_request *request) {
  answer_health(context, request, false);
}
static void handle_readyz(void *context, faro_http_request *request) {
  answer_health(context, request, true);
}

static void handle_metrics(void *context, faro_http_request *request) {
  const faro_http_service *service = request->service;
  faro_text text = FARO_TEXT_INIT;
  if (service->healthy) (void)service->healthy(context, false, NULL);
  faro_metrics_write(service->metrics, &text);
  const faro_http_answer answer = {.status = text.failed ? 503 : 200,
                                   .type = "text/plain; version=0.0.4; charset=utf-8",
                                   .bytes = text.data,
                                   .length = text.failed ? 0 : text.length};
  faro_http_reply(request, &answer);
  faro_text_clear(&text);
}

/* A browser asks whether a page may send what it wants to send. The answer is not counted: a page
 * asks just before it reports, and how many report is not shown before the batch closes. */
static void handle_preflight(void *context, faro_http_request *request) {
  (void)context;
  request->uncounted = true;
  faro_http_reply(request, &(faro_http_answer){.status = 204, .bytes = ""});
}

static bool is_shared(const faro_http_request *r, const faro_http_service *service, const char *path) {
  if (*r->http->settings.origins == '\0') return false;
  for (const char *const *shared = service->shared; shared && *shared; shared++)
    if (strcmp(*shared, path) == 0) return true;
  return false;
}

/* Looks for a path among the routes of a service. Sets the route, or the refusal: 404 or 405. */
static void find_in(faro_http_request *r, const faro_http_service *service, const char *path) {
  static const faro_http_route own[] = {{"GET", "/healthz", handle_healthz, 0, NULL},
                                        {"GET", "/readyz", handle_readyz, 0, NULL},
                                        {"GET", "/metrics", handle_metrics, 0, NULL}};
  const size_t owned = sizeof own / sizeof *own - (service->bare ? 1 : 0);
  static const faro_http_route preflight = {"OPTIONS", "", handle_preflight, 0, NULL};
  const bool head = strcmp(r->method, "HEAD") == 0; /* libmicrohttpd leaves out the body */
  const char *method = head ? "GET" : r->method;
  r->service = service;
  r->refuse = 404;
  for (size_t i = 0; i < service->count + owned; i++) {
    const faro_http_route *route = i < service->count ? &service->routes[i] : &own[i - service->count];
    if (strcmp(route->path, path) != 0) continue;
    r->refuse = 405;
    r->allowed = strcmp(route->method, "GET") == 0 ? "GET, HEAD" : route->method;
    r->shared = is_shared(r, service, path);
    const bool asks = r->shared && strcmp(method, "OPTIONS") == 0;
    if (!asks && strcmp(route->method, method) != 0) continue;
    r->route = asks ? &preflight : route;
    r->refuse = 0;
    return;
  }
}

static void find_route(faro_http_request *r) {
  const faro_http_service *service = &r->http->service;
  const char *within = r->path;
  const faro_http_service *behind = service->find ? service->find(service->context, r->path, &within) : NULL;
  find_in(r, behind ? behind : service, within);
}

/* Whether the sender may ask for this at all, and send this body. */
static faro_status admit(const faro_http_request *r, faro_error *error) {
  const faro_http_service *front = &r->http->service;
  faro_status status = FARO_OK;
  if (front->enter &&
      !(r->route && (r->route->handle == handle_healthz || r->route->handle == handle_readyz)))
    status = front->enter(front->context, r, error);
  if (status == FARO_OK && r->route && r->route->admit)
    status = r->route->admit(r->service->context, r, error);
  return status;
}

static enum MHD_Result count_length(void *context, enum MHD_ValueKind kind, const char *name,
                                    const char *value) {
  (void)kind, (void)value;
  *(unsigned *)context += strcasecmp(name, "Content-Length") == 0;
  return MHD_YES;
}

/* The length of a body must be announced, so that one that is too long is refused before it
 * arrives. Two lengths are refused, even if they agree: a proxy that takes the other one would find
 * the next request at another place (RFC 9112, 6.3). */
static void check_length(faro_http_request *r) {
  unsigned lengths = 0;
  const char *announced = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Content-Length");
  const bool chunked =
      MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Transfer-Encoding") != NULL;
  const unsigned long long length = announced ? strtoull(announced, NULL, 10) : 0;
  const bool post = strcmp(r->method, "POST") == 0; /* no other method needs a body */
  const size_t most = !post ? 0 : r->route->limit ? r->route->limit : FARO_HTTP_BODY;
  MHD_get_connection_values(r->connection, MHD_HEADER_KIND, count_length, &lengths);
  faro_guard_allow(r->http->guard, r->connection, length);
  if (lengths > 1) r->refuse = 400;
  else if (chunked || (!announced && post)) r->refuse = 411;
  else if (length > most) r->refuse = 413;
  if (!r->refuse) r->announced = (size_t)length;
}

static const char *reason_of(unsigned status) {
  switch (status) {
  case 400: return "Content-Length must be given once";
  case 404: return "not found";
  case 405: return "method not allowed";
  case 411: return "Content-Length is required";
  case 413: return "the body is too large";
  case 429: return "too many requests from this address";
  default: return "try again later: the server is stopping or out of room";
  }
}

/* A target may be a whole URL, as for a proxy (RFC 9112, 3.2.2); its host does not matter here. */
static const char *path_in(const char *target) {
  if (strncasecmp(target, "http://", 7) != 0 && strncasecmp(target, "https://", 8) != 0) return target;
  const char *path = strchr(strchr(target, ':') + 3, '/');
  return path ? path : "/";
}

static bool brings_body(struct MHD_Connection *connection) {
  return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length") ||
         MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding");
}

static bool comes_too_often(faro_http *http, struct MHD_Connection *connection) {
  if (!http->rate) return false;
  const uint64_t address = faro_guard_address(connection);
  return faro_limiter_over(http->rate, &address, sizeof address, 1);
}

static enum MHD_Result begin(faro_http *http, struct MHD_Connection *connection, const char *url,
                             const char *method, void **place) {
  faro_http_request *r = calloc(1, sizeof *r);
  if (!r) return MHD_NO;
  *place = r;
  *r = (faro_http_request){.http = http, .connection = connection, .method = method, .path = path_in(url)};
  faro_error why = {0};
  find_route(r);
  if (r->shared) r->origin = faro_origins_allow(http->settings.origins, faro_http_header(r, "Origin"));
  if (!r->refuse) check_length(r);
  if (comes_too_often(http, connection)) r->refuse = 429;
  if ((!r->refuse || http->service.enter) && r->refuse != 429 && admit(r, &why) != FARO_OK) r->refuse = 401;
  const bool early =
      r->refuse == 400 || r->refuse == 401 || r->refuse == 411 || r->refuse == 413 || r->refuse == 429;
  if (!early) return MHD_YES;
  faro_guard_received(http->guard, connection);
  if (brings_body(connection)) faro_guard_linger(http->guard, connection);
  faro_http_refuse(r, r->refuse, r->refuse == 401 ? why.message : reason_of(r->refuse));
  return queue(r); /* before the body arrives: the connection ends with this answer */
}

static enum MHD_Result take(faro_http_request *r, const char *bytes, size_t *length) {
  if (!r->refuse && *length > r->announced - r->length) return MHD_NO;
  if (!r->refuse && !grow(r, r->length + *length)) {
    drop_body(r);
    r->refuse = 503; /* after the rest has arrived and was thrown away */
  }
  if (!r->refuse) {
    memcpy(r->body + r->length, bytes, *length);
    r->length += *length;
  }
  *length = 0;
  return MHD_YES;
}

static enum MHD_Result dispatch(faro_http_request *r) {
  faro_http *http = r->http;
  r->suspended = false;
  if (!r->started) {
    r->started = true;
    faro_guard_received(http->guard, r->connection);
    pthread_mutex_lock(&http->mutex);
    http->active++;
    if (http->stopping && !r->refuse) r->refuse = 503; /* or new requests could delay the end for ever */
    pthread_mutex_unlock(&http->mutex);
  }
  if (r->refuse && !r->response) faro_http_refuse(r, r->refuse, reason_of(r->refuse));
  while (!r->response) {
    pthread_mutex_lock(&http->mutex);
    r->generation = http->generation;
    if (http->stopping) r->expired = true;
    pthread_mutex_unlock(&http->mutex);
    r->again = false;
    r->route->handle(r->service->context, r);
    if (r->suspended) return MHD_YES;
    if (!r->again) break;
  }
  return queue(r);
}

enum MHD_Result faro_http_on_request(void *context, struct MHD_Connection *connection, const char *url,
                                     const char *method, const char *version, const char *bytes,
                                     size_t *length, void **place) {
  (void)version;
  faro_http_request *r = *place;
  if (!r) return begin(context, connection, url, method, place);
  return *length > 0 ? take(r, bytes, length) : dispatch(r);
}

void faro_http_on_end(void *context, struct MHD_Connection *connection, void **place,
                      enum MHD_RequestTerminationCode code) {
  (void)code;
  faro_http *http = context;
  faro_http_request *r = *place;
  faro_guard_expect(http->guard, connection);
  if (!r) return;
  if (r->started) {
    pthread_mutex_lock(&http->mutex);
    if (--http->active == 0) pthread_cond_broadcast(&http->idle);
    pthread_mutex_unlock(&http->mutex);
  }
  if (r->response) MHD_destroy_response(r->response);
  drop_body(r);
  free(r);
  *place = NULL;
}

unsigned char *faro_http_body(faro_http_request *request) { return request->body; }
size_t faro_http_length(const faro_http_request *request) { return request->length; }
bool faro_http_expired(const faro_http_request *request) { return request->expired; }

bool faro_http_posted(const faro_http_request *request) { return strcmp(request->method, "POST") == 0; }

const char *faro_http_query(const faro_http_request *request, const char *name) {
  return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *faro_http_header(const faro_http_request *request, const char *name) {
  return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *faro_http_sender(const faro_http_request *request, char text[static FARO_ADDRESS]) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  const struct sockaddr *from = info ? info->client_addr : NULL;
  const socklen_t size =
      from && from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
  if (!from || getnameinfo(from, size, text, FARO_ADDRESS, NULL, 0, NI_NUMERICHOST) != 0) *text = '\0';
  return text;
}
