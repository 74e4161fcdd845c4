/* server_inner: what server.c (the server, waiting) and request.c (the life of a request) share. */
#ifndef FARO_SERVICE_HTTP_SERVER_INNER_H
#define FARO_SERVICE_HTTP_SERVER_INNER_H

#include <microhttpd.h>
#include <pthread.h>

#include "service/http/guard.h"
#include "service/http/limiter.h"
#include "service/http/listen.h"
#include "service/http/server.h"

struct faro_http_request {
  faro_http *http;
  struct MHD_Connection *connection;
  const char *method, *path;
  const faro_http_service *service; /* whose route it is */
  const faro_http_route *route;
  const char *allowed; /* the methods that the path allows; NULL: the path is unknown */
  bool shared;         /* with pages of other origins (origins.h) */
  const char *origin;  /* shared only: whom the answer allows to read it; NULL: no page */
  unsigned refuse;     /* status for a request that no handler sees; 0: a handler sees it */
  unsigned char *body; /* `length` bytes so far, room for `capacity` */
  size_t length, capacity;
  size_t announced; /* Content-Length */
  size_t counted;   /* bytes of the common room that this body takes */
  struct MHD_Response *response;
  unsigned status;
  bool expired;            /* see faro_http_expired */
  bool suspended;          /* set and read by the connection's thread only */
  bool again;              /* the wake came before the wait: call the handler again */
  bool started;            /* is counted in `active` */
  bool uncounted;          /* somebody else counts the answer */
  bool crowded;            /* could not wait: too many others do */
  uint64_t generation;     /* number of wakes when the handler was called */
  double until;            /* when the wait expires */
  faro_http_request *next; /* in the list of waiting requests */
};

struct faro_http {
  struct MHD_Daemon *daemon;
  faro_http_service service;
  faro_http_settings settings;
  faro_listen listen;
  int socket; /* the listening socket; negative: none */
  faro_guard *guard;
  faro_limiter *rate;      /* requests by address; NULL: there is no limit */
  faro_metric *answers[6]; /* by the first digit of the status */

  pthread_mutex_t mutex; /* guards everything below */
  pthread_cond_t idle;
  faro_http_request *waiting;
  size_t waiters, waiters_most;
  size_t bodies, room; /* bytes of bodies that are counted, and their limit */
  size_t spare;        /* bodies up to this size are not counted */
  uint64_t generation; /* number of wakes */
  size_t active;       /* requests between dispatch and end */
  bool stopping;
};

enum { FARO_HTTP_SPARE = 4096, FARO_HTTP_SPARE_MOST = 64 << 10 };

/* Callbacks of libmicrohttpd. */
enum MHD_Result faro_http_on_request(void *http, struct MHD_Connection *connection, const char *url,
                                     const char *method, const char *version, const char *bytes,
                                     size_t *length, void **place);
void faro_http_on_end(void *http, struct MHD_Connection *connection, void **place,
                      enum MHD_RequestTerminationCode code);

#endif
