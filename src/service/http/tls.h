/* tls: the certificate of a server, which may change while it runs, and session tickets.
 *
 * A client that comes back with a ticket needs no signature of the server, and over TLS 1.2 no key
 * exchange either. Tickets are for an hour; their key is in the memory of this process only. There
 * is no early data: a request cannot be replayed. */
#ifndef FARO_SERVICE_HTTP_TLS_H
#define FARO_SERVICE_HTTP_TLS_H

#include <faro/base.h>
#include <microhttpd.h>

typedef struct faro_tls faro_tls;

/* What a server offers, for GnuTLS: TLS 1.2 and 1.3; of the groups, the cheapest first. */
#define FARO_TLS_PRIORITIES                                                                                  \
  "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:"   \
  "%SERVER_PRECEDENCE"

/* Texts in PEM. They are refused if the key is not that of the first certificate; the caller knows
 * the names of the files. */
faro_status faro_tls_create(faro_tls **tls, const char *certificate, const char *private_key,
                            faro_error *error) FARO_WARN_UNUSED;
void faro_tls_destroy(faro_tls *tls); /* after the last connection */

/* New connections get this certificate from now on. *changed: it is another one than before. If it
 * is refused, nothing changes. May be called from any thread. */
faro_status faro_tls_change(faro_tls *tls, const char *certificate, const char *private_key, bool *changed,
                            faro_error *error) FARO_WARN_UNUSED;

/* Prepares a new connection, before its handshake. */
void faro_tls_greet(faro_tls *tls, struct MHD_Connection *connection);

#endif
