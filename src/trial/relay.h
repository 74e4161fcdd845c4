/* relay: stands between two parties of a trial on loopback and records what passes.
 *
 *   client --> relay --> server        every byte is passed on unchanged
 *
 * The demo uses it to see what a network would see; the fault tests use it to cut connections. It
 * is not part of a deployment. Each relay has one thread, for few connections. */
#ifndef FARO_TRIAL_RELAY_H
#define FARO_TRIAL_RELAY_H

#include <faro/base.h>

typedef struct faro_relay faro_relay;

/* Listens on a free port of loopback and forwards to `port`. Records at most `keep` bytes of what
 * clients send. */
faro_status faro_relay_open(faro_relay **relay, uint16_t port, size_t keep,
                            faro_error *error) FARO_WARN_UNUSED;
void faro_relay_close(faro_relay *relay);
uint16_t faro_relay_port(const faro_relay *relay);

/* From now on about this many of a thousand chunks, in either direction, end their connection after
 * a part of the chunk was passed on. 0: none. */
void faro_relay_trouble(faro_relay *relay, unsigned thousandths);
uint64_t faro_relay_cuts(const faro_relay *relay);

/* Listens on another port, too. Settings name the new one from now on. */
faro_status faro_relay_move(faro_relay *relay, faro_error *error) FARO_WARN_UNUSED;
/* Leaves the port that it had before it moved. */
faro_status faro_relay_leave(faro_relay *relay, faro_error *error) FARO_WARN_UNUSED;

/* What clients sent on one connection; NULL if there are no more. Only after faro_relay_stop. */
void faro_relay_stop(faro_relay *relay);
const unsigned char *faro_relay_heard(const faro_relay *relay, size_t connection, size_t *length);
/* Whether more was sent than was recorded. */
bool faro_relay_overflowed(const faro_relay *relay);

/* Finds a free port of loopback for a role, and holds it until `hold` is closed: no other trial
 * gets it, and the system gives it to no connection, also while the role is down. */
faro_status faro_port_hold(uint16_t *port, int *hold, faro_error *error) FARO_WARN_UNUSED;

#endif
