/* sender: see the header. */
#include "service/http/sender.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

struct faro_sender {
  CURL *curl;
  struct curl_slist *headers;
  faro_sender_params params;
  char *bytes;
  size_t length, capacity;
  bool over;    /* the answer is longer than the limit */
  bool refused; /* the connection was refused: no process listens there */
  char problem[CURL_ERROR_SIZE];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void begin(void) { curl_global_init(CURL_GLOBAL_DEFAULT); }

static size_t on_bytes(const char *bytes, size_t size, size_t count, void *context) {
  faro_sender *s = context;
  const size_t length = size * count;
  if (length > s->params.limit - s->length) {
    s->over = true;
    return 0;
  }
  if (s->length + length + 1 > s->capacity) {
    const size_t capacity = 2 * (s->length + length + 1);
    char *larger = realloc(s->bytes, capacity);
    if (!larger) return 0;
    s->bytes = larger;
    s->capacity = capacity;
  }
  memcpy(s->bytes + s->length, bytes, length);
  s->length += length;
  return length;
}

static int on_progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
  (void)a, (void)b, (void)c, (void)d;
  const faro_sender *s = context;
  return s->params.stopping && s->params.stopping();
}

static void set_up(faro_sender *s) {
  CURL *curl = s->curl;
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, s->problem);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2); /* or newer */
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* the environment must not decide where reports go */
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, s->headers);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, s);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, s);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)(s->params.connect * 1000));
  if (!s->params.authority) return;
  curl_easy_setopt(curl, CURLOPT_CAINFO, s->params.authority);
  curl_easy_setopt(curl, CURLOPT_CAPATH, NULL); /* or the system's folder would be trusted too */
}

/* Looks at the first certificate: between its two lines is base64 of a DER sequence. */
static bool holds_certificate(const char *text, size_t length) {
  static const char first[] = "-----BEGIN CERTIFICATE-----", last[] = "-----END CERTIFICATE-----";
  const char *start = memmem(text, length, first, sizeof first - 1);
  if (!start) return false;
  start += sizeof first - 1;
  const char *end = memmem(start, length - (size_t)(start - text), last, sizeof last - 1);
  const size_t most = end ? (size_t)(end - start) : 0;
  unsigned char *bytes = most > 0 ? malloc(most) : NULL;
  size_t got = 0;
  const bool good = bytes &&
                    sodium_base642bin(bytes, most, start, most, " \t\r\n", &got, NULL,
                                      sodium_base64_VARIANT_ORIGINAL) == 0 &&
                    got > 1 && bytes[0] == 0x30;
  free(bytes);
  return good;
}

faro_status faro_authority_check(const char *path, faro_error *error) {
  enum { MOST = 16 << 20 };
  char *text = NULL;
  size_t length = 0;
  faro_error inner = {0};
  const faro_status status = faro_read_file(path, MOST, &text, &length, &inner);
  if (status != FARO_OK) return faro_fail(error, status, "authority %.300s", inner.message);
  const bool good = holds_certificate(text, length);
  free(text);
  return good ? FARO_OK
              : faro_fail(error, FARO_INVALID, "authority %s must contain certificates in PEM",
                          faro_path_end(path));
}

faro_status faro_sender_create(faro_sender **sender, const faro_sender_params *params, faro_error *error) {
  const faro_status status = params->authority ? faro_authority_check(params->authority, error) : FARO_OK;
  if (status != FARO_OK) return status;
  pthread_once(&once, begin);
  faro_sender *s = calloc(1, sizeof *s);
  if (s) s->curl = curl_easy_init();
  if (s) s->headers = curl_slist_append(NULL, "Content-Type: application/octet-stream");
  struct curl_slist *more = s && s->headers ? curl_slist_append(s->headers, "Expect:") : NULL;
  if (more && params->header) more = curl_slist_append(s->headers, params->header);
  if (!s || !s->curl || !more) {
    faro_sender_destroy(s);
    return faro_fail(error, FARO_MEMORY, "cannot allocate a sender");
  }
  s->params = *params;
  if (s->params.timeout <= 0) s->params.timeout = 40;
  if (s->params.connect <= 0) s->params.connect = 5;
  if (s->params.limit == 0) s->params.limit = (1 << 20) + 4096;
  set_up(s);
  *sender = s;
  return FARO_OK;
}

void faro_sender_destroy(faro_sender *sender) {
  if (!sender) return;
  if (sender->curl) curl_easy_cleanup(sender->curl);
  curl_slist_free_all(sender->headers);
  free(sender->bytes);
  free(sender);
}

/* Reports why there is no answer. */
static faro_status explain(faro_sender *s, const char *url, CURLcode code, faro_error *error) {
  long reason = 0;
  curl_easy_getinfo(s->curl, CURLINFO_OS_ERRNO, &reason);
  s->refused = code == CURLE_COULDNT_CONNECT && reason == ECONNREFUSED;
  const bool untrusted = code == CURLE_PEER_FAILED_VERIFICATION;
  return faro_fail(error, FARO_SYSTEM, "%s: %.200s%s", url,
                   *s->problem ? s->problem : curl_easy_strerror(code),
                   untrusted ? " (for a private certificate authority, set authority)" : "");
}

/* `sends` is the size of the body: a large batch gets more time. */
static faro_status perform(faro_sender *s, const char *url, size_t sends, faro_sent *sent,
                           faro_error *error) {
  s->length = 0;
  s->over = s->refused = false;
  *s->problem = '\0';
  curl_easy_setopt(s->curl, CURLOPT_URL, url);
  curl_easy_setopt(s->curl, CURLOPT_TIMEOUT_MS, (long)(s->params.timeout * 1000 + (double)sends / 1000));
  const CURLcode code = curl_easy_perform(s->curl);
  if (code == CURLE_ABORTED_BY_CALLBACK)
    return faro_fail(error, FARO_INTERRUPTED, "stopped during a request to %s", url);
  if (s->over)
    return faro_fail(error, FARO_SYSTEM, "%s: the answer is longer than %zu bytes", url, s->params.limit);
  if (code != CURLE_OK) return explain(s, url, code, error);
  if (s->length == 0) (void)on_bytes("", 1, 0, s); /* room for the zero byte */
  curl_off_t wait = 0;
  *sent = (faro_sent){.length = s->length};
  curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &sent->status);
  if (curl_easy_getinfo(s->curl, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK) sent->retry_after = (double)wait;
  if (!s->bytes) return faro_fail(error, FARO_MEMORY, "cannot allocate an answer");
  s->bytes[s->length] = '\0';
  sent->bytes = s->bytes;
  return FARO_OK;
}

faro_status faro_send_get(faro_sender *sender, const char *url, faro_sent *sent, faro_error *error) {
  curl_easy_setopt(sender->curl, CURLOPT_HTTPGET, 1L);
  return perform(sender, url, 0, sent, error);
}

faro_status faro_send_post(faro_sender *sender, const char *url, const void *body, size_t length,
                           faro_sent *sent, faro_error *error) {
  curl_easy_setopt(sender->curl, CURLOPT_POST, 1L);
  curl_easy_setopt(sender->curl, CURLOPT_POSTFIELDS, body);
  curl_easy_setopt(sender->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
  return perform(sender, url, length, sent, error);
}

bool faro_sender_refused(const faro_sender *sender) { return sender->refused; }

double faro_sent_later(const faro_sent *sent) {
  enum { MOST = 30 };
  const bool later = sent->status == 304 || sent->status == 429 || sent->status == 503;
  if (!later || sent->retry_after <= 0) return 0;
  return sent->retry_after < MOST ? sent->retry_after : MOST;
}

faro_status faro_send_post_with(faro_sender *sender, const char *url, const char *header, const void *body,
                                size_t length, faro_sent *sent, faro_error *error) {
  struct curl_slist *more = curl_slist_append(NULL, header);
  if (!more) return faro_fail(error, FARO_MEMORY, "cannot allocate a header");
  more->next = sender->headers;
  curl_easy_setopt(sender->curl, CURLOPT_HTTPHEADER, more);
  const faro_status status = faro_send_post(sender, url, body, length, sent, error);
  curl_easy_setopt(sender->curl, CURLOPT_HTTPHEADER, sender->headers);
  more->next = NULL;
  curl_slist_free_all(more);
  return status;
}

double faro_backoff_next(faro_backoff *backoff) {
  if (backoff->next <= 0) backoff->next = 0.05;
  const double wait = backoff->next * (1 - 0.5 * (double)randombytes_uniform(1 << 20) / (1 << 20));
  backoff->next = backoff->next * 2 < 5 ? backoff->next * 2 : 5;
  return wait;
}
