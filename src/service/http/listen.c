/* listen: see the header. */
#include "service/http/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "service/http/guard.h"
#include "wire/wire.h"

static bool on_loopback(const struct sockaddr_storage *address) {
  const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
  if (address->ss_family == AF_INET) return ntohl(four->sin_addr.s_addr) >> 24 == 127;
  return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

/* Splits "address:port" or "[address]:port", in place. */
static bool split(char *text, char **host, char **port) {
  char *colon = strrchr(text, ':');
  if (!colon) return false;
  *port = colon + 1;
  *colon = '\0';
  *host = text;
  if (*text != '[') return strchr(text, ':') == NULL && *text != '\0';
  if (colon[-1] != ']') return false;
  colon[-1] = '\0';
  *host = text + 1;
  return true;
}

/* Needed because getaddrinfo would cut 99999 to sixteen bits. */
static bool is_port(const char *text) {
  const size_t length = strlen(text);
  return length >= 1 && length <= 5 && strspn(text, "0123456789") == length &&
         strtol(text, NULL, 10) <= UINT16_MAX;
}

static bool read_address(const char *text, struct sockaddr_storage *address) {
  char copy[FARO_LISTEN_MAX + 1];
  char *host = NULL;
  char *port = NULL;
  snprintf(copy, sizeof copy, "%s", text);
  if (!split(copy, &host, &port) || !is_port(port)) return false;
  const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                 .ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  if (getaddrinfo(host, port, &hints, &found) != 0) return false;
  memcpy(address, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return true;
}

/* Reads a file as a terminated string. */
static faro_status read_pem(const char *path, char **text, faro_error *error) {
  char *bytes = NULL;
  size_t length = 0;
  const faro_status status = faro_read_file(path, 1 << 16, &bytes, &length, error);
  if (status != FARO_OK) return status;
  char *longer = realloc(bytes, length + 1);
  if (!longer) {
    free(bytes);
    return faro_fail(error, FARO_MEMORY, "cannot allocate %s", path);
  }
  longer[length] = '\0';
  *text = longer;
  return FARO_OK;
}

/* Like other secrets, it must be readable by its owner only. */
static faro_status read_secret(const char *path, char **text, faro_error *error) {
  struct stat info;
  if (stat(path, &info) == 0 && (info.st_mode & 077) != 0)
    return faro_fail(error, FARO_INVALID, "%s must not be readable by others: chmod 600 (mode is %03o)",
                     faro_path_end(path), (unsigned)(info.st_mode & 0777));
  return read_pem(path, text, error);
}

static faro_status make_tls(faro_listen *listen, const faro_http_settings *s, faro_error *error) {
  faro_error inner = {0};
  if (faro_tls_create(&listen->tls, listen->certificate, listen->private_key, &inner) == FARO_OK)
    return FARO_OK;
  return faro_fail(error, FARO_INVALID, /* NOLINT(clang-analyzer-unix.Malloc): `listen` holds the texts */
                   "certificate %s and private-key %s cannot be used together: both must be PEM, and the key "
                   "must be that of the first certificate (%.100s)",
                   faro_path_end(s->certificate), faro_path_end(s->private_key), inner.message);
}

static faro_status read_pair(faro_listen *listen, const faro_http_settings *s, faro_error *error) {
  faro_status status = read_pem(s->certificate, &listen->certificate, error);
  if (status == FARO_OK) status = read_secret(s->private_key, &listen->private_key, error);
  return status == FARO_OK ? make_tls(listen, s, error) : status;
}

faro_status faro_listen_read(faro_listen *listen, const faro_http_settings *s, faro_error *error) {
  const bool tls = *s->certificate != '\0';
  if (!read_address(s->listen, &listen->address))
    return faro_fail(
        error, FARO_INVALID,
        "listen must be an address and a port from 0 to 65535, like 127.0.0.1:8400 or [::1]:8400 (got %s)",
        s->listen);
  if (tls != (*s->private_key != '\0'))
    return faro_fail(error, FARO_INVALID, "certificate and private-key must be given together");
  if (!tls && !s->insecure && !on_loopback(&listen->address))
    return faro_fail(error, FARO_INVALID,
                     "listen must be on loopback without a certificate, unless insecure is true (got %s)",
                     s->listen);
  return tls ? read_pair(listen, s, error) : FARO_OK;
}

faro_status faro_listen_reload(faro_listen *listen, const faro_http_settings *s, bool *changed,
                               faro_error *error) {
  faro_listen fresh = {0};
  *changed = false;
  if (!listen->tls) return FARO_OK;
  faro_status status = read_pair(&fresh, s, error);
  if (status == FARO_OK)
    status = faro_tls_change(listen->tls, fresh.certificate, fresh.private_key, changed, error);
  faro_listen_clear(&fresh);
  return status;
}

faro_status faro_listen_bind(const faro_listen *place, const faro_http_settings *settings, int *socket_fd,
                             faro_error *error) {
  const struct sockaddr *address = (const struct sockaddr *)&place->address;
  const bool six = address->sa_family == AF_INET6;
  const socklen_t size = six ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
  const int yes = 1;
  const int made = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made >= 0 && setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
      (!six || setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes) == 0) &&
      bind(made, address, size) == 0 && listen(made, SOMAXCONN) == 0) {
    *socket_fd = made;
    return FARO_OK;
  }
  const int why = errno;
  if (made >= 0) close(made);
  return faro_fail(error, FARO_SYSTEM, "cannot listen on %s: %s", settings->listen, strerror(why));
}

/* Beside its connections a role has databases, their logs, a socket and an epoll set per thread,
 * connections of its own, and files that libraries open: fewer than 64. A thread serves 100
 * sockets at most (server.c) and has three files. The guard keeps some refused ones. */
faro_status faro_listen_files(uint64_t connections, uint64_t sockets, faro_error *error) {
  const rlim_t needed = sockets + 3 * (sockets / 100 + 2) + FARO_GUARD_LINGER + 64;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return faro_fail(error, FARO_SYSTEM, "cannot read the limit of open files: %s", strerror(errno));
  if (limit.rlim_cur >= needed) return FARO_OK;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max < needed ? limit.rlim_max : needed;
  if (limit.rlim_cur == needed && setrlimit(RLIMIT_NOFILE, &limit) == 0) return FARO_OK;
  return faro_fail(
      error, FARO_INVALID,
      "connections is %llu, which needs %llu open files, but this process may open %llu, and %llu "
      "at most: raise the limit (ulimit -n, or LimitNOFILE of the unit), or set fewer connections",
      (unsigned long long)connections, (unsigned long long)needed, (unsigned long long)before,
      (unsigned long long)limit.rlim_max);
}

bool faro_listen_local(const faro_listen *listen) { return on_loopback(&listen->address); }

bool faro_http_open(const faro_http_settings *settings) {
  struct sockaddr_storage address;
  if (*settings->admin_listen != '\0') return false;
  return settings->public_status || (read_address(settings->listen, &address) && on_loopback(&address));
}

void faro_listen_clear(faro_listen *listen) {
  if (listen->private_key) sodium_memzero(listen->private_key, strlen(listen->private_key));
  free(listen->private_key);
  free(listen->certificate);
  faro_tls_destroy(listen->tls);
  *listen = (faro_listen){0};
}

faro_status faro_url_check(const char *name, const char *url, bool insecure, faro_error *error) {
  const bool plain = strncmp(url, "http://", 7) == 0;
  if (!faro_url_whole(url))
    return faro_fail(error, FARO_INVALID, "%s must be https:// or http:// and a host (got %.100s)", name,
                     url);
  if (faro_url_local(url) || (plain && insecure)) return FARO_OK;
  return faro_fail(
      error, FARO_INVALID,
      "%s must begin with https://, or be on this machine, or insecure must be true (got %.100s)", name, url);
}
