/* send: HTTP requests to other roles, by libcurl; connections are kept. One sender is used by one thread. */
#ifndef FARO_SERVICE_HTTP_SENDER_H
#define FARO_SERVICE_HTTP_SENDER_H

#include <faro/base.h>

typedef struct faro_sender faro_sender;

typedef struct faro_sender_params {
  const char *authority;  /* a PEM file of certificates that are trusted; NULL: those of the system */
  bool (*stopping)(void); /* looked at while a request is under way; NULL: never */
  double timeout;         /* seconds for a request, and one more for each MB sent; 0: 40 */
  double connect;         /* seconds for a connection; 0: 5 */
  size_t limit;           /* of an answer's bytes; 0: 1 MiB and a little */
} faro_sender_params;

/* What came back; `bytes` has a zero byte behind it and lives until the sender is used again. */
typedef struct faro_sent {
  long status; /* of HTTP */
  char *bytes;
  size_t length;
  double retry_after; /* seconds; 0: not said */
} faro_sent;

faro_status faro_sender_create(faro_sender **sender, const faro_sender_params *params,
                               faro_error *error) FARO_WARN_UNUSED;
void faro_sender_destroy(faro_sender *sender);

/* FARO_SYSTEM: nothing came back (unreachable, cut off, too long); FARO_INTERRUPTED: stopping. Any status is an answer. */
faro_status faro_send_get(faro_sender *sender, const char *url, faro_sent *sent,
                          faro_error *error) FARO_WARN_UNUSED;
faro_status faro_send_post(faro_sender *sender, const char *url, const void *body, size_t length,
                           faro_sent *sent, faro_error *error) FARO_WARN_UNUSED;
/* With one header more, "Name: value". */
faro_status faro_send_post_with(faro_sender *sender, const char *url, const char *header, const void *body,
                                size_t length, faro_sent *sent, faro_error *error) FARO_WARN_UNUSED;

/* Seconds after which to ask again, where that was asked for (304 or 503 with Retry-After): as long as was said, at most 30. 0:
 * the answer is final. */
double faro_sent_later(const faro_sent *sent);

/* Whether the last request came to nothing because nobody listens there: who was just started may, soon. */
bool faro_sender_refused(const faro_sender *sender);

/* Whether a file can be the authority: certificates in PEM. A sender with another is not made. */
faro_status faro_authority_check(const char *path, faro_error *error) FARO_WARN_UNUSED;

/* Waits between attempts: from 0.05 s, doubling up to 5 s, each shortened at random by up to half, so that many who wait
 * do not come back at once. Starts at {0}. */
typedef struct faro_backoff {
  double next;
} faro_backoff;
double faro_backoff_next(faro_backoff *backoff); /* seconds to wait now */

#endif
