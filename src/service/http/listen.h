/* listen: the address and certificate of a server. Plain HTTP is allowed on loopback only, unless
 * the settings say otherwise. */
#ifndef FARO_SERVICE_HTTP_LISTEN_H
#define FARO_SERVICE_HTTP_LISTEN_H

#include <sys/socket.h>

#include "service/http/server.h"
#include "service/http/tls.h"

typedef struct faro_listen {
  struct sockaddr_storage address;
  char *certificate, *private_key; /* PEM texts of the start; NULL: no TLS */
  faro_tls *tls;                   /* NULL: no TLS */
} faro_listen;

/* Reads the files that the settings name. A certificate and a key that do not belong together are
 * refused. */
faro_status faro_listen_read(faro_listen *listen, const faro_http_settings *settings,
                             faro_error *error) FARO_WARN_UNUSED;
/* Reads certificate and key again; new connections use them. *changed: they are others than before.
 * If they cannot be used, nothing changes. */
faro_status faro_listen_reload(faro_listen *listen, const faro_http_settings *settings, bool *changed,
                               faro_error *error) FARO_WARN_UNUSED;
bool faro_listen_local(const faro_listen *listen); /* whether the address is on loopback */
/* Takes the address. Connections that come now wait until a server accepts them. */
faro_status faro_listen_bind(const faro_listen *place, const faro_http_settings *settings, int *socket_fd,
                             faro_error *error) FARO_WARN_UNUSED;
void faro_listen_clear(faro_listen *listen);

/* Raises the soft limit of open files to the hard one if it is below what this many connections
 * need, as `sockets`, with the role's own files. If that does not suffice, the settings cannot be
 * served. */
faro_status faro_listen_files(uint64_t connections, uint64_t sockets, faro_error *error) FARO_WARN_UNUSED;

/* Whether a URL may be used: it must name a host and be https, or http to this machine (127.0.0.1,
 * ::1, localhost), or http with `insecure`. `name` is the setting's, for the message. */
faro_status faro_url_check(const char *name, const char *url, bool insecure,
                           faro_error *error) FARO_WARN_UNUSED;

#endif
