/* guard: limits what connections take, beyond what libmicrohttpd can.
 *
 *   - A request that takes too long to arrive ends its connection, even if bytes keep coming; so
 *     does a new connection that stays silent.
 *   - When there are as many connections as allowed, the next one ends the one that has waited
 *     longest for a request. So silent connections keep nobody out.
 *   - One address (an IPv4 address, or the /64 of an IPv6 one) has a share of the connections. One
 *     more ends the longest waiting one of the same address.
 *   - A connection that was refused while its sender is still sending is read for a while after
 *     the answer. Closed at once, it would be reset, and its sender might never see the answer.
 * It also calls back at regular intervals. */
#ifndef FARO_SERVICE_HTTP_GUARD_H
#define FARO_SERVICE_HTTP_GUARD_H

#include <faro/base.h>
#include <microhttpd.h>
#include <sys/socket.h>

#include "service/http/metrics.h"

typedef struct faro_guard faro_guard;

typedef struct faro_guard_params {
  double seconds; /* for a request to arrive */
  double first;   /* for the first byte of a connection */
  bool plain;     /* the server has no TLS: a connection that is cut off gets 408 first */
  size_t most;    /* connections */
  size_t each;    /* connections of one address; 0: any number */
  faro_metrics *metrics;
  void (*tick)(void *context); /* called ten times a second */
  void *context;
} faro_guard_params;

faro_status faro_guard_create(faro_guard **guard, const faro_guard_params *params,
                              faro_error *error) FARO_WARN_UNUSED;
void faro_guard_destroy(faro_guard *guard);

enum { FARO_GUARD_LINGER = 64 }; /* refused connections that are read for a while, at most */

/* For MHD_OPTION_NOTIFY_CONNECTION. */
void faro_guard_connection(void *guard, struct MHD_Connection *connection, void **place,
                           enum MHD_ConnectionNotificationCode code);
/* A body of `length` bytes was announced: allow the time that it takes at FARO_GUARD_RATE bytes per
 * second. */
enum { FARO_GUARD_RATE = 1000000 };
void faro_guard_allow(faro_guard *guard, struct MHD_Connection *connection, size_t length);
/* A request has arrived; the connection waits for the next one. */
void faro_guard_received(faro_guard *guard, struct MHD_Connection *connection);
void faro_guard_expect(faro_guard *guard, struct MHD_Connection *connection);
/* The request was refused before its body: the connection ends with the answer. */
void faro_guard_linger(faro_guard *guard, struct MHD_Connection *connection);

/* An address as limits count it: an IPv4 address, or the first 64 bits of an IPv6 one, which a
 * single user may have to itself. */
uint64_t faro_guard_prefix(const struct sockaddr *address);
uint64_t faro_guard_address(struct MHD_Connection *connection); /* the other end's */

#endif
