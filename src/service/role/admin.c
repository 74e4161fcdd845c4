/* admin: see the header. Its server has no routes: all paths belong to the service behind it. */
#include "service/role/admin.h"

#include <jansson.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "service/role/log.h"
#include "service/role/reload.h"
#include "wire/wire.h"

enum { CONNECTIONS = 64, CREDENTIALS = 256 };

struct faro_admin {
  faro_http_settings settings;
  faro_http *http;
  faro_metrics *metrics; /* counts what operators ask; shown nowhere */
  pthread_rwlock_t lock; /* guards the hashes */
  unsigned char *hashes;
  size_t count;
  const faro_http_service *service;
  faro_metric *refused;
};

/* Who may enter. */

/* The token after "name:" in a text in base64. */
static bool basic_token(const char *text, unsigned char token[static FARO_TOKEN_BYTES]) {
  char plain[CREDENTIALS];
  size_t length = 0;
  const bool whole = sodium_base642bin((unsigned char *)plain, sizeof plain, text, strlen(text), NULL,
                                       &length, NULL, sodium_base64_VARIANT_ORIGINAL) == 0;
  const char *colon = whole ? memchr(plain, ':', length) : NULL;
  const size_t digits = colon ? length - (size_t)(colon + 1 - plain) : 0;
  const bool read =
      digits == (size_t)2 * FARO_TOKEN_BYTES && faro_hex_read(colon + 1, digits, token, FARO_TOKEN_BYTES);
  sodium_memzero(plain, sizeof plain);
  return read;
}

/* Schemes are written in any case (RFC 9110, 11.1). */
static bool read_token(const char *authorization, bool post, unsigned char token[static FARO_TOKEN_BYTES]) {
  if (!authorization) return false;
  if (strncasecmp(authorization, "Bearer ", 7) == 0) {
    const char *digits = authorization + 7;
    return strlen(digits) == (size_t)2 * FARO_TOKEN_BYTES &&
           faro_hex_read(digits, strlen(digits), token, FARO_TOKEN_BYTES);
  }
  return !post && strncasecmp(authorization, "Basic ", 6) == 0 && basic_token(authorization + 6, token);
}

bool faro_admin_allows(const char *authorization, bool post, const unsigned char *hashes, size_t count) {
  unsigned char token[FARO_TOKEN_BYTES];
  unsigned char hash[FARO_HASH_BYTES];
  if (!read_token(authorization, post, token)) return false;
  faro_token_hash(token, hash);
  sodium_memzero(token, sizeof token);
  unsigned found = 0;
  for (size_t i = 0; i < count; i++) /* all of them, so that the time says nothing */
    found |= sodium_memcmp(hash, hashes + i * FARO_HASH_BYTES, FARO_HASH_BYTES) == 0;
  return found != 0;
}

void faro_admin_operator(const faro_http_request *request, char name[static FARO_OPERATOR]) {
  unsigned char token[FARO_TOKEN_BYTES];
  unsigned char hash[FARO_HASH_BYTES];
  *name = '\0';
  if (!read_token(faro_http_header(request, "Authorization"), faro_http_posted(request), token)) return;
  faro_token_hash(token, hash);
  sodium_memzero(token, sizeof token);
  (void)faro_hex_write(hash, (FARO_OPERATOR - 1) / 2, name);
}

/* Without any token it may be a browser, which asks for a password only then: that has no line. */
static void tell_refused(const faro_admin *a, const faro_http_request *request, bool has_token) {
  char from[FARO_ADDRESS];
  faro_metric_add(a->refused, 1);
  if (has_token)
    faro_log(FARO_LOG_WARNING, "operator-refused", "ss ss", "reason", "not an operator's token", "address",
             faro_http_sender(request, from));
}

static faro_status enter(void *context, const faro_http_request *request, faro_error *error) {
  faro_admin *a = context;
  const char *authorization = faro_http_header(request, "Authorization");
  const bool post = faro_http_posted(request);
  pthread_rwlock_rdlock(&a->lock);
  const bool allowed = faro_admin_allows(authorization, post, a->hashes, a->count);
  pthread_rwlock_unlock(&a->lock);
  if (allowed) return FARO_OK;
  tell_refused(a, request, authorization != NULL);
  return faro_fail(error, FARO_INVALID,
                   post ? "an operator's token is required: Authorization: Bearer TOKEN"
                        : "an operator's token is required, as a Bearer token or as the password");
}

static const faro_http_service *behind(void *context, const char *path, const char **within) {
  const faro_http_service *service = ((const faro_admin *)context)->service;
  const faro_http_service *found = service->find ? service->find(service->context, path, within) : NULL;
  return found ? found : service;
}

/* The server. */

static bool wanted(const faro_http_settings *settings) { return *settings->admin_listen != '\0'; }

/* The same certificate at another address, with few connections. */
static faro_http_settings place_of(const faro_http_settings *settings) {
  faro_http_settings own = *settings;
  snprintf(own.listen, sizeof own.listen, "%s", settings->admin_listen);
  own.connections = CONNECTIONS;
  own.threads = 0;
  own.origins[0] = '\0'; /* no page of others has business here */
  return own;
}

static faro_status explain(faro_status status, const faro_error *inner, faro_error *error) {
  return status == FARO_OK ? FARO_OK : faro_fail(error, status, "admin-listen: %.300s", inner->message);
}

faro_status faro_admin_check(const faro_http_settings *settings, faro_error *error) {
  faro_error inner = {0};
  unsigned char *hashes = NULL;
  size_t count = 0;
  if (wanted(settings) != (*settings->admin_tokens != '\0'))
    return faro_fail(error, FARO_INVALID, "admin-listen and admin-tokens must be given together");
  if (!wanted(settings)) return FARO_OK;
  const faro_status status = faro_hashes_load(settings->admin_tokens, &hashes, &count, error);
  free(hashes);
  if (status != FARO_OK) return status;
  const faro_http_settings own = place_of(settings);
  return explain(faro_http_check(&own, &inner), &inner, error);
}

faro_status faro_admin_bind(faro_admin **admin, const faro_http_settings *settings, faro_error *error) {
  faro_error inner = {0};
  if (!wanted(settings)) return FARO_OK;
  faro_admin *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the server for operators");
  made->settings = place_of(settings);
  pthread_rwlock_init(&made->lock, NULL);
  faro_status status = faro_hashes_load(settings->admin_tokens, &made->hashes, &made->count, error);
  if (status == FARO_OK) status = faro_metrics_create(&made->metrics, error);
  if (status == FARO_OK)
    status = explain(faro_http_bind(&made->http, &made->settings, &inner), &inner, error);
  if (status == FARO_OK) *admin = made;
  else faro_admin_stop(made);
  return status;
}

faro_status faro_admin_serve(faro_admin *admin, const faro_http_service *service, faro_error *error) {
  if (!admin) return FARO_OK;
  admin->service = service;
  admin->refused = faro_metrics_counter(service->metrics, "faro_admin_refused_total", "",
                                        "Requests to the admin port without an operator's token.");
  const faro_http_service own = {
      .context = admin, .metrics = admin->metrics, .bare = true, .find = behind, .enter = enter};
  return faro_http_serve(admin->http, &own, error);
}

void faro_admin_reload(faro_admin *admin) {
  faro_error error = {0};
  unsigned char *hashes = NULL;
  size_t count = 0;
  if (!admin) return;
  faro_reload_certificate(admin->http);
  if (faro_hashes_load(admin->settings.admin_tokens, &hashes, &count, &error) != FARO_OK) {
    faro_log_error("admin-tokens-not-reloaded", &error);
    return;
  }
  pthread_rwlock_wrlock(&admin->lock);
  unsigned char *before = admin->hashes;
  admin->hashes = hashes;
  admin->count = count;
  pthread_rwlock_unlock(&admin->lock);
  free(before);
  faro_log(FARO_LOG_INFO, "admin-tokens-reloaded", "sI", "tokens", (json_int_t)count);
}

void faro_admin_make_room(faro_admin *admin, size_t largest) {
  if (admin) faro_http_make_room(admin->http, largest);
}

faro_status faro_admin_header(const char *path, char header[static FARO_ADMIN_HEADER], faro_error *error) {
  unsigned char *tokens = NULL;
  char digits[2 * FARO_TOKEN_BYTES + 1];
  size_t count = 0;
  faro_status status = faro_tokens_load(path, &tokens, &count, error);
  if (status != FARO_OK) return status;
  if (count == 1)
    snprintf(header, FARO_ADMIN_HEADER, "Authorization: Bearer %s",
             sodium_bin2hex(digits, sizeof digits, tokens, FARO_TOKEN_BYTES));
  else status = faro_fail(error, FARO_INVALID, "%s must contain one token (it contains %zu)", path, count);
  sodium_memzero(digits, sizeof digits);
  sodium_memzero(tokens, count * FARO_TOKEN_BYTES);
  free(tokens);
  return status;
}

uint16_t faro_admin_port(const faro_admin *admin) { return admin ? faro_http_port(admin->http) : 0; }

void faro_admin_stop(faro_admin *admin) {
  if (!admin) return;
  faro_http_stop(admin->http);
  faro_metrics_destroy(admin->metrics);
  free(admin->hashes);
  pthread_rwlock_destroy(&admin->lock);
  free(admin);
}
