/* relay: stands between two parties of a trial on loopback, and remembers what went by.
 *
 *   client --> relay --> server        every byte is handed on as it is
 *
 * The demo listens with it to what a network would see, and the tests of faults cut lines with it. It is no part of a
 * deployment: nothing here is started by the services. One thread for each relay; connections are few. */
#ifndef FARO_TRIAL_RELAY_H
#define FARO_TRIAL_RELAY_H

#include <faro/base.h>

typedef struct faro_relay faro_relay;

/* Listens on a free port of loopback and hands on to `port` of it. Keeps at most `keep` bytes of what clients send. */
faro_status faro_relay_open(faro_relay **relay, uint16_t port, size_t keep,
                            faro_error *error) FARO_WARN_UNUSED;
void faro_relay_close(faro_relay *relay);
uint16_t faro_relay_port(const faro_relay *relay);

/* From now on: of a thousand chunks that come by, in either direction, about so many end their connection, after a part of
 * them went through. 0: a good line. */
void faro_relay_trouble(faro_relay *relay, unsigned thousandths);
uint64_t faro_relay_cuts(const faro_relay *relay);

/* What clients sent, connection by connection; NULL when there are no more. Only after faro_relay_stop. */
void faro_relay_stop(faro_relay *relay);
const unsigned char *faro_relay_heard(const faro_relay *relay, size_t connection, size_t *length);
/* More came by than was kept. */
bool faro_relay_overflowed(const faro_relay *relay);

/* A port of loopback that is free now. */
faro_status faro_free_port(uint16_t *port, faro_error *error) FARO_WARN_UNUSED;

#endif
