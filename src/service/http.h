/* http: a small server over libmicrohttpd. Handlers stand in a table; /healthz and /metrics are always there.
 *
 * A handler answers at once, or waits, or parks:
 *   reply   the answer goes out.
 *   wait    the handler is called again when faro_http_wake was called, or with `expired` set after so many seconds or when
 *           the server stops; then it must reply. For long polls.
 *   park    another thread will call faro_http_reply, once, however long it takes. For group commits.
 * Waiting costs a connection and no thread. Bounds: a body of FARO_HTTP_BODY bytes, or as many as its route allows (413), with
 * its length told first (411); all bodies together (503 beyond; what is announced but not sent costs nothing, and small
 * ones are free, so that they pass when large ones fill the room: faro_http_spare); a number of connections, of one address at
 * most a quarter of them, unless the server listens on loopback; of those who wait at most half of them: who comes later is
 * called again at once with `expired` set, and the answer says Retry-After and closes the connection. A request that takes
 * longer than twice the timeout to arrive, and a second for each MB of its body, is cut off (408). HEAD is GET without the
 * body. */
#ifndef FARO_SERVICE_HTTP_H
#define FARO_SERVICE_HTTP_H

#include <faro/base.h>

#include "service/metrics.h"

enum { FARO_HTTP_BODY = 1 << 20, FARO_LISTEN_MAX = 79, FARO_FILE_MAX = 1023 };

typedef struct faro_http faro_http;

typedef struct faro_http_request {
  const char *method, *path;
  unsigned char *body; /* the handler may write into it, and must wipe what is secret */
  size_t length;
  bool expired; /* has waited long enough, or the server stops */
} faro_http_request;

typedef struct faro_http_route {
  const char *method, *path;
  void (*handle)(void *context, faro_http_request *request);
  size_t limit; /* of the body; 0: FARO_HTTP_BODY */
  /* When the headers are there, and nothing of the body: other than FARO_OK, the request is refused at once (401, with the
   * error's message). NULL: everybody may send. From any thread. */
  faro_status (*admit)(void *context, const faro_http_request *request, faro_error *error);
} faro_http_route;

typedef struct faro_http_settings {
  char listen[FARO_LISTEN_MAX + 1]; /* 127.0.0.1:8400, [::1]:8400; port 0: any that is free */
  char certificate[FARO_FILE_MAX + 1], private_key[FARO_FILE_MAX + 1]; /* PEM files; both or none */
  bool insecure;                                                       /* plain HTTP beyond loopback */
  uint64_t threads, connections; /* 0: 2, and one for each 100 connections at least; 1024 */
  double timeout;                /* seconds; 0: 10 */
} faro_http_settings;

/* Fields of the faro_http_settings that is the member `http` of the struct `holder`. */
#define FARO_HTTP_FIELDS(holder)                                                                             \
  {"listen", FARO_FIELD_TEXT, FARO_AT(holder, http.listen), .required = true,                                \
   .help = "address and port, like 127.0.0.1:8400"},                                                         \
      {"certificate", FARO_FIELD_TEXT, FARO_AT(holder, http.certificate)},                                   \
      {"private-key", FARO_FIELD_TEXT, FARO_AT(holder, http.private_key)},                                   \
      {"insecure", FARO_FIELD_FLAG, FARO_AT(holder, http.insecure)},                                         \
      {"threads", FARO_FIELD_COUNT, FARO_AT(holder, http.threads), .least = 1, .most = 64},                  \
      {"connections", FARO_FIELD_COUNT, FARO_AT(holder, http.connections), .least = 1, .most = 10000}, {     \
    "timeout", FARO_FIELD_REAL, FARO_AT(holder, http.timeout), .least = 1, .most = 600                       \
  }

/* Routes and context live as long as the server. `healthy`: what /healthz says (200 or 503); NULL: always well. */
typedef struct faro_http_service {
  const faro_http_route *routes;
  size_t count;
  void *context;
  bool (*healthy)(void *context);
  faro_metrics *metrics;
  size_t
      room; /* bytes of bodies at once; 0: 64 MiB, and twice the largest body that a route allows beyond 1 MiB */
} faro_http_service;

/* The settings are good: address, certificate and its key. Nothing is opened that others would see. */
faro_status faro_http_check(const faro_http_settings *settings, faro_error *error) FARO_WARN_UNUSED;
/* In two steps, so that what can fail has failed before anything is signed: the address is taken and the certificate read;
 * then requests are answered, also those that came in between. The settings last until then. */
faro_status faro_http_bind(faro_http **http, const faro_http_settings *settings,
                           faro_error *error) FARO_WARN_UNUSED;
faro_status faro_http_serve(faro_http *http, const faro_http_service *service,
                            faro_error *error) FARO_WARN_UNUSED;
/* Both at once. */
faro_status faro_http_start(faro_http **http, const faro_http_settings *settings,
                            const faro_http_service *service, faro_error *error) FARO_WARN_UNUSED;
uint16_t faro_http_port(const faro_http *http);
/* From now on bodies of so many bytes take none of the room: 4096 at first and at least, 65536 at most. At any time: a role
 * may listen before it knows how large what it waits for is. */
void faro_http_spare(faro_http *http, size_t bytes);
/* Takes no more connections, lets those who wait expire, answers what is under way, and ends. What parked requests wait
 * for must still run. */
void faro_http_stop(faro_http *http);

typedef struct faro_http_answer {
  unsigned status;
  const char *type; /* NULL: text/plain */
  const void *bytes;
  size_t length;
  const char *etag;     /* or NULL */
  const char *policy;   /* Content-Security-Policy, of pages; or NULL */
  unsigned retry_after; /* seconds; 0: not said */
} faro_http_answer;

void faro_http_reply(faro_http_request *request, const faro_http_answer *answer); /* bytes are copied */
void faro_http_refuse(faro_http_request *request, unsigned status,
                      const char *reason); /* {"error": reason} */
void faro_http_wait(faro_http_request *request, double seconds);
void faro_http_park(faro_http_request *request); /* before another thread hears of the request */
void faro_http_wake(faro_http *http);

/* A parameter after "?" or a header; NULL where there is none. In the handler only. */
const char *faro_http_query(const faro_http_request *request, const char *name);
const char *faro_http_header(const faro_http_request *request, const char *name);

#endif
