/* server: a small HTTP server over libmicrohttpd. Handlers are listed in a table; /healthz,
 * /readyz and /metrics are there unless the table has its own. A service may have others behind it,
 * each with a table of its own (`find`).
 *
 * A handler does one of three things:
 *   reply   The answer goes out at once.
 *   wait    For long polls. The handler is called again after faro_http_wake. It is called with
 *           faro_http_expired true when its time is up or the server stops; then it must reply.
 *   park    For group commits. Another thread will call faro_http_reply, once, whenever it is done.
 * Waiting costs a connection but no thread.
 *
 * Limits:
 *   - A body has at most FARO_HTTP_BODY bytes, or what its route allows (413). Its length must be
 *     announced (411).
 *   - All bodies together have a limit (503). Memory is counted when bytes arrive, not when they
 *     are announced. Small bodies are not counted, so they get through when large ones fill the
 *     room (faro_http_spare).
 *   - The number of connections is limited. One more ends the one that has waited longest for a
 *     request. One address may have a quarter of them, unless the server is on loopback.
 *   - One address may make `rate` requests a second, unless the server is on loopback (429).
 *   - At most half of the connections may wait. One more is called again at once as expired; its
 *     answer says Retry-After and closes the connection.
 *   - A request must arrive within twice the timeout, plus a second for each MB of its body (408);
 *     the first byte of a connection within three seconds.
 * HEAD is GET without the body. OPTIONS is answered for paths that are shared with pages of other
 * origins, if the settings allow any (origins.h). */
#ifndef FARO_SERVICE_HTTP_SERVER_H
#define FARO_SERVICE_HTTP_SERVER_H

#include <faro/base.h>

#include "service/http/metrics.h"

enum { FARO_HTTP_BODY = 1 << 20, FARO_LISTEN_MAX = 79, FARO_FILE_MAX = 1023, FARO_ORIGINS_MAX = 1023 };

typedef struct faro_http faro_http;

typedef struct faro_http_request faro_http_request;

typedef struct faro_http_route {
  const char *method, *path;
  void (*handle)(void *context, faro_http_request *request);
  size_t limit; /* bytes of a body; 0: FARO_HTTP_BODY */
  /* Called from any thread when the headers have arrived, before the body. If it fails, the request
   * is refused at once (401, with the error's message). NULL: everybody may send. */
  faro_status (*admit)(void *context, const faro_http_request *request, faro_error *error);
} faro_http_route;

typedef struct faro_http_settings {
  char listen[FARO_LISTEN_MAX + 1];    /* 127.0.0.1:8400, [::1]:8400; port 0: any free port */
  char certificate[FARO_FILE_MAX + 1]; /* PEM files, both or neither */
  char private_key[FARO_FILE_MAX + 1];
  bool insecure;        /* allows plain HTTP beyond loopback */
  uint64_t threads;     /* 0: 2; at least one per 100 connections */
  uint64_t connections; /* 0: 1024 */
  double timeout;       /* seconds; 0: 10 */
  double rate;          /* requests per second of one address; 0: any number */
  /* A second server for operators (admin.h), and whether the first one shows what is theirs. */
  char admin_listen[FARO_LISTEN_MAX + 1]; /* empty: none */
  char admin_tokens[FARO_FILE_MAX + 1];
  bool public_status;
  /* Pages that may ask for what a service shares with pages (origins.h); empty: none. */
  char origins[FARO_ORIGINS_MAX + 1];
} faro_http_settings;

/* Fields of the faro_http_settings that is the member `http` of the struct `holder`, or a member
 * with another name. */
#define FARO_HTTP_FIELDS(holder) FARO_HTTP_FIELDS_IN(holder, http)
#define FARO_HTTP_FIELDS_IN(holder, member)                                                                  \
  {"listen", FARO_FIELD_TEXT, FARO_AT(holder, member.listen), .required = true,                              \
   .help = "address and port, like 127.0.0.1:8400"},                                                         \
      {"certificate", FARO_FIELD_TEXT, FARO_AT(holder, member.certificate)},                                 \
      {"private-key", FARO_FIELD_TEXT, FARO_AT(holder, member.private_key)},                                 \
      {"insecure", FARO_FIELD_FLAG, FARO_AT(holder, member.insecure)},                                       \
      {"threads", FARO_FIELD_COUNT, FARO_AT(holder, member.threads), .least = 1, .most = 64},                \
      {"connections", FARO_FIELD_COUNT, FARO_AT(holder, member.connections), .least = 1, .most = 10000},     \
      {"admin-listen", FARO_FIELD_TEXT, FARO_AT(holder, member.admin_listen)},                               \
      {"admin-tokens", FARO_FIELD_TEXT, FARO_AT(holder, member.admin_tokens)},                               \
      {"public-status", FARO_FIELD_FLAG, FARO_AT(holder, member.public_status)},                             \
      {"origins", FARO_FIELD_TEXT, FARO_AT(holder, member.origins)},                                         \
      {"timeout", FARO_FIELD_REAL, FARO_AT(holder, member.timeout), .least = 1, .most = 600}, {              \
    "rate", FARO_FIELD_REAL, FARO_AT(holder, member.rate), .least = 0, .most = 1e6                           \
  }

/* Routes and context must outlive the server. */
typedef struct faro_http_service faro_http_service;
struct faro_http_service {
  const faro_http_route *routes;
  size_t count;
  void *context;
  /* Whether all is well (/healthz), or (`ready`) whether the role can serve its clients all the
   * same (/readyz): 200 or 503. Adds a line for each reason why not to `reasons`. Also called
   * before /metrics, with NULL, so that it can set gauges. NULL: always well. */
  bool (*healthy)(void *context, bool ready, faro_text *reasons);
  faro_metrics *metrics;
  bool bare; /* without /metrics */
  /* Paths that pages of the allowed origins may ask for, ended by NULL; NULL: none. */
  const char *const *shared;
  /* Optional. The service behind this one to which a path belongs that no route has, and the path
   * within it; NULL: none. It may be called from any thread. What it returns must outlive the
   * server. */
  const faro_http_service *(*find)(void *context, const char *path, const char **within);
  /* Optional. Whether the sender of a request may see anything but /healthz and
   * /readyz: called as a route's
   * `admit`. If it fails, the answer asks a browser for a password. */
  faro_status (*enter)(void *context, const faro_http_request *request, faro_error *error);
  /* Bytes of all bodies; 0: 64 MiB, plus twice the largest body if a route allows more than 1
   * MiB. */
  size_t room;
};

/* Checks address, certificate and private key. Opens nothing that others would see. */
faro_status faro_http_check(const faro_http_settings *settings, faro_error *error) FARO_WARN_UNUSED;
/* Whether the server may have as many open files as it needs, and `more` (listen.h). */
faro_status faro_http_files(const faro_http_settings *settings, uint64_t more,
                            faro_error *error) FARO_WARN_UNUSED;
/* Whether the page, the status and the metrics are on the public server: if there is no other one,
 * and it is on loopback, or the settings say so. */
bool faro_http_open(const faro_http_settings *settings);
/* Starts in two steps, so that everything that can fail has failed before a campaign is signed.
 * bind takes the address and reads the certificate; serve answers requests, including those that
 * came in between. */
faro_status faro_http_bind(faro_http **http, const faro_http_settings *settings,
                           faro_error *error) FARO_WARN_UNUSED;
faro_status faro_http_serve(faro_http *http, const faro_http_service *service,
                            faro_error *error) FARO_WARN_UNUSED;
/* Both at once. */
faro_status faro_http_start(faro_http **http, const faro_http_settings *settings,
                            const faro_http_service *service, faro_error *error) FARO_WARN_UNUSED;
/* Reads certificate and private key again, for connections that begin from now on. *changed: they
 * are others than before. If they cannot be used, those of before stay. */
faro_status faro_http_reload(faro_http *http, bool *changed, faro_error *error) FARO_WARN_UNUSED;
uint16_t faro_http_port(const faro_http *http);
/* Bodies of at most this many bytes are not counted from now on: 4096 at first, never less, and at
 * most 65536. May be called at any time: a role may listen before it knows how large its reports
 * are. `also` never lowers it, for one of several services. */
void faro_http_spare(faro_http *http, size_t bytes);
void faro_http_spare_also(faro_http *http, size_t bytes);
/* Makes room for two bodies of this size, as `room` of a service describes. May be called at any
 * time, for a service that is found later. */
void faro_http_make_room(faro_http *http, size_t largest);
/* Accepts no more connections, lets waiting requests expire, answers those under way, and ends. The
 * threads that answer parked requests must still run. */
void faro_http_stop(faro_http *http);

typedef struct faro_http_answer {
  unsigned status;
  const char *type; /* NULL: text/plain */
  const void *bytes;
  size_t length;
  const char *etag;     /* or NULL; a request that names it (If-None-Match) is answered 304 instead of 200 */
  const char *cache;    /* Cache-Control; NULL: no-store */
  const char *policy;   /* Content-Security-Policy for pages, or NULL */
  unsigned retry_after; /* seconds; 0: no such header */
} faro_http_answer;

void faro_http_reply(faro_http_request *request, const faro_http_answer *answer); /* bytes are copied */
/* Replies {"error": reason}. */
void faro_http_refuse(faro_http_request *request, unsigned status, const char *reason);
/* The answer with this status is not counted in faro_http_answers_total when it goes out: the
 * caller adds it to the counter that this returns, perhaps later. Call it before the reply. */
faro_metric *faro_http_uncounted(faro_http_request *request, unsigned status);
void faro_http_wait(faro_http_request *request, double seconds);
void faro_http_park(faro_http_request *request); /* call it before another thread can see the request */
void faro_http_wake(faro_http *http);

/* The body. A handler may write into it and must wipe what is secret. */
unsigned char *faro_http_body(faro_http_request *request);
size_t faro_http_length(const faro_http_request *request);
bool faro_http_expired(const faro_http_request *request); /* has waited long enough, or the server stops */
/* A parameter after "?", or a header; NULL if it is missing. Valid in the handler only. */
const char *faro_http_query(const faro_http_request *request, const char *name);
const char *faro_http_header(const faro_http_request *request, const char *name);
/* The address of the sender, or of the proxy in front. */
enum { FARO_ADDRESS = 48 };
const char *faro_http_sender(const faro_http_request *request, char text[static FARO_ADDRESS]);
bool faro_http_posted(const faro_http_request *request); /* the method is POST */

#endif
