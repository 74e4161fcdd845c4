/* http_inner: what http.c (the server, and waiting) and http_request.c (a request's life) share. */
#ifndef FARO_SERVICE_HTTP_SERVER_INNER_H
#define FARO_SERVICE_HTTP_SERVER_INNER_H

#include <microhttpd.h>
#include <pthread.h>

#include "service/http/guard.h"
#include "service/http/listen.h"
#include "service/http/server.h"

typedef struct http_request {
  faro_http_request face; /* first: a handler's pointer is this one */
  faro_http *http;
  struct MHD_Connection *connection;
  const faro_http_route *route;
  const char *allowed;   /* methods of a path that was asked by another one; NULL: the path is not known */
  unsigned refuse;       /* status for a request that no handler sees; 0: none */
  size_t told, capacity; /* of the body: as announced, and as there is memory for */
  size_t counted;        /* of the room that bodies share */
  struct MHD_Response *response;
  unsigned status;
  bool suspended;      /* set and read by the connection's thread alone */
  bool again, started; /* the wake came before the wait; is counted in `active` */
  bool parked;         /* another thread answered */
  bool crowded;        /* could not wait: too many do */
  uint64_t generation; /* of wakes, when the handler was called */
  double until;
  struct http_request *next; /* of those who wait */
} http_request;

struct faro_http {
  struct MHD_Daemon *daemon;
  faro_http_service service;
  const faro_http_settings *settings;
  faro_listen listen;
  int socket; /* that is listened to; below 0: none */
  faro_guard *guard;
  faro_metric *answers[6]; /* by the first digit of the status */
  pthread_mutex_t mutex;   /* of what follows */
  pthread_cond_t idle;
  http_request *waiting;
  size_t waiters, waiters_most;
  size_t bodies, room; /* bytes of bodies that are counted, and as many as there may be */
  size_t spare;        /* of a body that is not counted */
  uint64_t generation;
  size_t active; /* requests from their dispatch to their end */
  bool stopping;
};

enum { FARO_HTTP_SPARE = 4096, FARO_HTTP_SPARE_MOST = 64 << 10 };

static inline http_request *http_of(faro_http_request *request) { return (http_request *)(void *)request; }

/* libmicrohttpd's calls. */
enum MHD_Result faro_http_on_request(void *http, struct MHD_Connection *connection, const char *url,
                                     const char *method, const char *version, const char *bytes,
                                     size_t *length, void **place);
void faro_http_on_end(void *http, struct MHD_Connection *connection, void **place,
                      enum MHD_RequestTerminationCode code);

#endif
