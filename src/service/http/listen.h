/* listen: where a server listens, with which certificate; plain HTTP on loopback only, unless told otherwise. */
#ifndef FARO_SERVICE_HTTP_LISTEN_H
#define FARO_SERVICE_HTTP_LISTEN_H

#include <sys/socket.h>

#include "service/http/server.h"

typedef struct faro_listen {
  struct sockaddr_storage address;
  char *certificate, *private_key; /* texts; NULL: no TLS */
} faro_listen;

/* Reads what the settings name; a certificate and a key that do not belong together are refused. */
faro_status faro_listen_read(faro_listen *listen, const faro_http_settings *settings,
                             faro_error *error) FARO_WARN_UNUSED;
bool faro_listen_local(const faro_listen *listen); /* on loopback */
/* Takes the address: a socket that is listened to, so that whoever comes waits until there is somebody to answer. */
faro_status faro_listen_bind(const faro_listen *place, const faro_http_settings *settings, int *socket_fd,
                             faro_error *error) FARO_WARN_UNUSED;
void faro_listen_clear(faro_listen *listen);

/* Whether a URL may be used: it names a host, and is https, or http to this machine (127.0.0.1, ::1, localhost) or where `insecure`. */
faro_status faro_url_check(const char *name, const char *url, bool insecure,
                           faro_error *error) FARO_WARN_UNUSED;

#endif
