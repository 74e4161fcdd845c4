/* sender: HTTP requests to other roles, with libcurl. It keeps connections open. Use one sender per
 * thread. */
#ifndef FARO_SERVICE_HTTP_SENDER_H
#define FARO_SERVICE_HTTP_SENDER_H

#include <faro/base.h>

typedef struct faro_sender faro_sender;

typedef struct faro_sender_params {
  const char *authority;  /* PEM file of certificates to trust; NULL: the system's */
  const char *header;     /* "Name: value" with every request; NULL: none. It is copied */
  bool (*stopping)(void); /* polled during a request, to end it early; NULL: never */
  double timeout;         /* seconds for a request, plus one for each MB sent; 0: 40 */
  double connect;         /* seconds for connecting; 0: 5 */
  size_t limit;           /* bytes of an answer; 0: 1 MiB and 4 KiB */
} faro_sender_params;

/* An answer. `bytes` is terminated by a zero byte and valid until the sender is used again. */
typedef struct faro_sent {
  long status; /* HTTP status */
  char *bytes;
  size_t length;
  double retry_after; /* seconds; 0: no such header */
} faro_sent;

faro_status faro_sender_create(faro_sender **sender, const faro_sender_params *params,
                               faro_error *error) FARO_WARN_UNUSED;
void faro_sender_destroy(faro_sender *sender);

/* FARO_OK if there is an answer, whatever its status. FARO_SYSTEM: no answer (unreachable, cut off,
 * too long). FARO_INTERRUPTED: stopping. */
faro_status faro_send_get(faro_sender *sender, const char *url, faro_sent *sent,
                          faro_error *error) FARO_WARN_UNUSED;
faro_status faro_send_post(faro_sender *sender, const char *url, const void *body, size_t length,
                           faro_sent *sent, faro_error *error) FARO_WARN_UNUSED;
/* With one more header, "Name: value". */
faro_status faro_send_post_with(faro_sender *sender, const char *url, const char *header, const void *body,
                                size_t length, faro_sent *sent, faro_error *error) FARO_WARN_UNUSED;

/* Seconds to wait before asking again, if the answer says so (304, 429 or 503 with Retry-After): at
 * most 30. 0: the answer is final. */
double faro_sent_later(const faro_sent *sent);

/* Whether the last request failed because the connection was refused. A role that was just started
 * may listen soon. */
bool faro_sender_refused(const faro_sender *sender);

/* Whether a file contains certificates in PEM, as a sender needs. */
faro_status faro_authority_check(const char *path, faro_error *error) FARO_WARN_UNUSED;

/* Waits between attempts: from 0.05 s, doubling up to 5 s. Each is shortened at random by up to
 * half, so that many senders do not come back at once. Start with {0}. */
typedef struct faro_backoff {
  double next;
} faro_backoff;
double faro_backoff_next(faro_backoff *backoff); /* seconds to wait now */

#endif
