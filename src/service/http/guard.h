/* guard: ends connections whose request takes too long to arrive, however busily they trickle, and ticks. */
#ifndef FARO_SERVICE_HTTP_GUARD_H
#define FARO_SERVICE_HTTP_GUARD_H

#include <faro/base.h>
#include <microhttpd.h>

typedef struct faro_guard faro_guard;

/* Ten times a second `tick` is called. `plain`: a connection that is cut off is told 408 first (TLS cannot be). */
faro_status faro_guard_create(faro_guard **guard, double seconds, bool plain, void (*tick)(void *context),
                              void *context, faro_error *error) FARO_WARN_UNUSED;
void faro_guard_destroy(faro_guard *guard);

/* For MHD_OPTION_NOTIFY_CONNECTION. */
void faro_guard_connection(void *guard, struct MHD_Connection *connection, void **place,
                           enum MHD_ConnectionNotificationCode code);
/* A body of so many bytes was announced: it has the time that FARO_GUARD_RATE bytes a second take on top. */
enum { FARO_GUARD_RATE = 1000000 };
void faro_guard_allow(faro_guard *guard, struct MHD_Connection *connection, size_t length);
/* A request is whole; the next one is waited for. */
void faro_guard_received(faro_guard *guard, struct MHD_Connection *connection);
void faro_guard_expect(faro_guard *guard, struct MHD_Connection *connection);

#endif
