/* client_send: see the header. */
#include "service/client/client_send.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "wire/verdict.h"
#include "wire/wire.h"

enum { URL = FARO_URL_MAX + 64, SHOWN = 120 };
static const double BUSY_PATIENCE = 60; /* seconds, while the analyzer asks to come back later */
static const double DOWN_PATIENCE = 5;  /* seconds, while connections are refused */

/* Joins an address and a path, whether or not the address ends with a slash. */
static const char *join(const char *address, const char *path, char url[static URL]) {
  const size_t length = strlen(address);
  snprintf(url, URL, "%.*s%s", (int)(length > 0 && address[length - 1] == '/' ? length - 1 : length), address,
           path);
  return url;
}

/* Makes a message printable: the server chose some of its bytes. */
static faro_status plain(faro_status status, faro_error *error) {
  if (error && status != FARO_OK) (void)faro_printable(error->message, error->message, sizeof error->message);
  return status;
}

/* Asks again as long as the analyzer says so, and for some seconds if connections are refused. */
static faro_status get_patiently(faro_sender *sender, const char *url, faro_sent *sent, faro_error *error) {
  const double start = faro_clock();
  faro_backoff backoff = {0};
  for (;;) {
    faro_error inner = {0};
    const faro_status status = faro_send_get(sender, url, sent, &inner);
    const bool down = status != FARO_OK && faro_sender_refused(sender);
    const double later = status == FARO_OK ? faro_sent_later(sent) : down ? faro_backoff_next(&backoff) : 0;
    if (later == 0 || faro_clock() + later > start + (down ? DOWN_PATIENCE : BUSY_PATIENCE))
      return status == FARO_OK ? status : faro_fail(error, status, "%s", inner.message);
    faro_sleep(later);
  }
}

static faro_status get(faro_sender *sender, const char *url, faro_sent *sent, faro_error *error) {
  const faro_status status = get_patiently(sender, url, sent, error);
  if (status != FARO_OK || sent->status == 200 || sent->status == 304 || sent->status == 204) return status;
  return faro_fail(error, FARO_SYSTEM, "%s answered %ld: %.*s", url, sent->status, SHOWN, sent->bytes);
}

faro_status faro_client_fetch_campaign(faro_client *client, faro_sender *sender, const char *analyzer,
                                       faro_sent *document, faro_error *error) {
  char url[URL];
  faro_status status = get(sender, join(analyzer, "/v1/campaign", url), document, error);
  if (status == FARO_OK) status = faro_client_campaign(client, document->bytes, document->length, error);
  return plain(status, error);
}

faro_status faro_client_fetch_move(faro_client *client, faro_sender *sender, const char *analyzer,
                                   bool patient, faro_sent *document, faro_error *error) {
  char url[URL];
  join(analyzer, "/v1/move", url);
  faro_status status =
      patient ? get_patiently(sender, url, document, error) : faro_send_get(sender, url, document, error);
  if (status == FARO_OK && document->status == 200)
    status = faro_client_move(client, document->bytes, document->length, error);
  else document->length = 0;
  return plain(status, error);
}

faro_status faro_client_fetch_policy(faro_client *client, faro_sender *sender, const char *analyzer,
                                     uint64_t after, bool wait, bool *fresh, faro_error *error) {
  char path[48], url[URL];
  *fresh = false;
  if (wait) snprintf(path, sizeof path, "/v1/policy?after=%" PRIu64, after);
  faro_sent sent;
  faro_status status = get(sender, join(analyzer, wait ? path : "/v1/policy", url), &sent, error);
  if (status != FARO_OK || sent.status != 200) return plain(status, error);
  status = faro_client_policy(client, sent.bytes, sent.length, error);
  *fresh = status == FARO_OK && faro_client_version(client) > after;
  return plain(status, error);
}

faro_status faro_client_fetch_collectors(faro_client *client, faro_sender *sender, size_t shuffler,
                                         bool *some, faro_error *error) {
  char url[URL];
  faro_sent sent;
  const char *address = faro_client_shuffler_url(client, shuffler);
  *some = false;
  if (!address) return FARO_OK;
  join(address, "/v1/collectors", url);
  faro_status status = faro_send_get(sender, url, &sent, error);
  if (status == FARO_OK && sent.status != 200 && sent.status != 404)
    status = faro_fail(error, FARO_SYSTEM, "%s answered %ld: %.*s", url, sent.status, SHOWN, sent.bytes);
  *some = status == FARO_OK && sent.status == 200;
  if (*some) status = faro_client_collectors(client, shuffler, sent.bytes, sent.length, error);
  return plain(status, error);
}

static faro_status post(faro_sender *sender, const char *target, const void *parts, size_t count, size_t size,
                        unsigned char *answers, double *wait, faro_error *error) {
  faro_sent sent;
  if (wait) *wait = 0;
  const faro_status status = faro_send_post(sender, target, parts, count * size, &sent, error);
  if (status != FARO_OK) return status;
  if (wait) *wait = sent.retry_after;
  if (sent.status == 200 && sent.length == count) {
    memcpy(answers, sent.bytes, count);
    return FARO_OK;
  }
  faro_reply all; /* one reason for all of them */
  faro_client_replies(sent.status == 200 ? 0 : sent.status, sent.bytes, sent.length, sent.retry_after, &all,
                      1);
  if (all.refusal == FARO_REFUSAL_NONE)
    return faro_fail(error, FARO_SYSTEM, "%s answered %ld: %.*s", target, sent.status, SHOWN,
                     sent.status == 200 ? "there must be one byte per report" : sent.bytes);
  memset(answers, (int)all.refusal, count);
  return FARO_OK;
}

faro_status faro_client_send_many(faro_sender *sender, const char *target, const void *parts, size_t count,
                                  size_t size, unsigned char *answers, double *wait, faro_error *error) {
  return plain(post(sender, target, parts, count, size, answers, wait, error), error);
}

faro_status faro_client_send(faro_sender *sender, const char *target, const void *part, size_t size,
                             double *wait, faro_error *error) {
  unsigned char answer = 0;
  const faro_status status = faro_client_send_many(sender, target, part, 1, size, &answer, wait, error);
  if (status != FARO_OK || answer == FARO_VERDICT_ACCEPTED || answer == FARO_VERDICT_KNOWN) return status;
  if (answer == FARO_VERDICT_CLOSED || answer == FARO_VERDICT_LIMITED || answer == FARO_VERDICT_ELSEWHERE ||
      answer == FARO_VERDICT_TWICE)
    return faro_fail(error, FARO_SYSTEM, "refused for now: %s", faro_refusal_text((faro_refusal)answer));
  return faro_fail(error, FARO_INVALID, "refused: %s", faro_refusal_text((faro_refusal)answer));
}
