/* guard: ends connections whose request takes too long to arrive, even if bytes keep coming. It
 * also calls back at regular intervals. */
#ifndef FARO_SERVICE_HTTP_GUARD_H
#define FARO_SERVICE_HTTP_GUARD_H

#include <faro/base.h>
#include <microhttpd.h>

typedef struct faro_guard faro_guard;

/* Calls `tick` ten times a second. `plain`: the server has no TLS, so a connection that is cut off
 * gets 408 first. */
faro_status faro_guard_create(faro_guard **guard, double seconds, bool plain, void (*tick)(void *context),
                              void *context, faro_error *error) FARO_WARN_UNUSED;
void faro_guard_destroy(faro_guard *guard);

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

#endif
