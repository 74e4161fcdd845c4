/* tls: see the header. libmicrohttpd creates a session with the credentials of the start, and tells
 * of it before the handshake: then the session gets the present ones, and the key of tickets. */
#include "service/http/tls.h"

#include <gnutls/gnutls.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* Connections use the credentials that they began with, so those of before stay until the end. */
typedef struct generation {
  gnutls_certificate_credentials_t credentials;
  unsigned char digest[crypto_generichash_BYTES]; /* hash of both texts */
  struct generation *before;
} generation;

struct faro_tls {
  gnutls_datum_t ticket_key;
  pthread_mutex_t mutex;
  generation *now; /* under the mutex */
};

static gnutls_datum_t datum_of(const char *text) {
  return (gnutls_datum_t){.data = (unsigned char *)text, .size = (unsigned)strlen(text)};
}

static void digest_of(const char *certificate, const char *private_key,
                      unsigned char digest[static crypto_generichash_BYTES]) {
  crypto_generichash_state state;
  crypto_generichash_init(&state, NULL, 0, crypto_generichash_BYTES);
  crypto_generichash_update(&state, (const unsigned char *)certificate, strlen(certificate) + 1);
  crypto_generichash_update(&state, (const unsigned char *)private_key, strlen(private_key));
  crypto_generichash_final(&state, digest, crypto_generichash_BYTES);
  sodium_memzero(&state, sizeof state);
}

static faro_status make(generation **made, const char *certificate, const char *private_key,
                        faro_error *error) {
  const gnutls_datum_t chain = datum_of(certificate);
  const gnutls_datum_t key = datum_of(private_key);
  generation *g = calloc(1, sizeof *g);
  if (!g || gnutls_certificate_allocate_credentials(&g->credentials) != GNUTLS_E_SUCCESS) {
    free(g);
    return faro_fail(error, FARO_MEMORY, "cannot allocate a certificate");
  }
  const int result = gnutls_certificate_set_x509_key_mem(g->credentials, &chain, &key, GNUTLS_X509_FMT_PEM);
  if (result < 0) {
    gnutls_certificate_free_credentials(g->credentials);
    free(g);
    return faro_fail(error, FARO_INVALID, "%s", gnutls_strerror(result));
  }
  digest_of(certificate, private_key, g->digest);
  *made = g;
  return FARO_OK;
}

faro_status faro_tls_create(faro_tls **tls, const char *certificate, const char *private_key,
                            faro_error *error) {
  faro_tls *t = calloc(1, sizeof *t);
  if (!t) return faro_fail(error, FARO_MEMORY, "cannot allocate a certificate");
  pthread_mutex_init(&t->mutex, NULL);
  faro_status status = make(&t->now, certificate, private_key, error);
  if (status == FARO_OK && gnutls_session_ticket_key_generate(&t->ticket_key) != GNUTLS_E_SUCCESS)
    status = faro_fail(error, FARO_SYSTEM, "cannot make a key for tickets");
  if (status == FARO_OK) *tls = t;
  else faro_tls_destroy(t);
  return status;
}

void faro_tls_destroy(faro_tls *tls) {
  if (!tls) return;
  for (generation *g = tls->now, *before = NULL; g; g = before) {
    before = g->before;
    gnutls_certificate_free_credentials(g->credentials);
    free(g);
  }
  if (tls->ticket_key.data) sodium_memzero(tls->ticket_key.data, tls->ticket_key.size);
  gnutls_free(tls->ticket_key.data);
  pthread_mutex_destroy(&tls->mutex);
  free(tls);
}

faro_status faro_tls_change(faro_tls *tls, const char *certificate, const char *private_key, bool *changed,
                            faro_error *error) {
  generation *g = NULL;
  const faro_status status = make(&g, certificate, private_key, error);
  if (status != FARO_OK) return status;
  pthread_mutex_lock(&tls->mutex);
  *changed = memcmp(g->digest, tls->now->digest, sizeof g->digest) != 0;
  if (*changed) {
    g->before = tls->now;
    tls->now = g;
  }
  pthread_mutex_unlock(&tls->mutex);
  if (*changed) return FARO_OK;
  gnutls_certificate_free_credentials(g->credentials);
  free(g);
  return FARO_OK;
}

void faro_tls_greet(faro_tls *tls, struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  if (!info || !info->tls_session) return; /* it has the credentials of the start, and no tickets */
  gnutls_session_t session = info->tls_session;
  pthread_mutex_lock(&tls->mutex);
  (void)gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, tls->now->credentials);
  pthread_mutex_unlock(&tls->mutex);
  (void)gnutls_session_ticket_enable_server(session, &tls->ticket_key);
}
