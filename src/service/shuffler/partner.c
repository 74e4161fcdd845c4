/* partner: see the header. */
#include "service/shuffler/partner.h"

#include <inttypes.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "service/role/log.h"
#include "service/role/process.h"

static const double PERIOD = 5, PATIENCE = 20; /* seconds */

struct faro_partner {
  faro_partner_params params;
  faro_sender *sender;   /* for shares: waits as long as adding takes */
  faro_sender *looker;   /* for looks */
  double answered, look; /* when it answered last, or the start; when to look next */
};

faro_status faro_partner_create(faro_partner **partner, const faro_partner_params *params,
                                faro_error *error) {
  enum { PATIENT = 600 }; /* seconds: a million boxes take a minute or two */
  const faro_sender_params shares = {
      .authority = params->authority, .stopping = faro_process_ending, .timeout = PATIENT};
  const faro_sender_params looks = {.authority = params->authority,
                                    .stopping = faro_process_ending,
                                    .timeout = PERIOD,
                                    .connect = PERIOD,
                                    .limit = FARO_DOCUMENT_MAX};
  faro_partner *p = calloc(1, sizeof *p);
  if (!p) return faro_fail(error, FARO_MEMORY, "cannot allocate the adder's partner");
  p->params = *params;
  p->answered = faro_clock();
  faro_status status = faro_sender_create(&p->sender, &shares, error);
  if (status == FARO_OK) status = faro_sender_create(&p->looker, &looks, error);
  if (status == FARO_OK) *partner = p;
  else faro_partner_destroy(p);
  return status;
}

void faro_partner_destroy(faro_partner *partner) {
  if (!partner) return;
  faro_sender_destroy(partner->sender);
  faro_sender_destroy(partner->looker);
  free(partner);
}

/* Completing batches. */

static faro_status check_answer(const faro_partner *p, const faro_batch *batch, const faro_sent *sent,
                                faro_error *error) {
  const size_t size = faro_sum_size(p->params.campaign);
  char answer[FARO_SHOWN];
  if (sent->status != 200)
    return faro_fail(error, FARO_INVALID, "the adder refuses batch %" PRIu64 " with status %ld: %.200s",
                     batch->number, sent->status, faro_printable(sent->bytes, answer, sizeof answer));
  if (sent->length != size)
    return faro_fail(error, FARO_INVALID, "the adder's sum must have %zu bytes (got %zu)", size,
                     sent->length);
  return faro_sum_check(p->params.campaign, batch, (const unsigned char *)sent->bytes, error);
}

static faro_status ask(faro_partner *p, const faro_batch *batch, unsigned char *frame, faro_sent *sent,
                       faro_error *error) {
  const faro_partner_params *q = &p->params;
  char url[FARO_URL_MAX + 32], header[32 + FARO_NOTICE_DIGITS], notice[FARO_NOTICE_DIGITS + 1];
  faro_batch boxes = *batch;
  boxes.body = batch->body + 8 * q->campaign->entries;
  faro_shares_write(q->campaign, &boxes, q->key, frame);
  faro_notice_write(q->campaign, batch, q->key, notice);
  snprintf(url, sizeof url, "%s/v1/shares", q->url);
  snprintf(header, sizeof header, "Faro-Batch: %s", notice);
  const faro_status status =
      faro_send_post_with(p->sender, url, header, frame, faro_shares_size(batch->count), sent, error);
  return status == FARO_OK ? check_answer(p, batch, sent, error) : status;
}

faro_status faro_partner_complete(faro_partner *partner, const faro_batch *batch, unsigned char *body,
                                  faro_error *error) {
  const faro_campaign *c = partner->params.campaign;
  const size_t size = faro_shares_size(batch->count);
  unsigned char *frame = malloc(size);
  faro_sent sent = {0};
  if (!frame) return faro_fail(error, FARO_MEMORY, "cannot allocate the shares of a batch");
  const faro_status status = ask(partner, batch, frame, &sent, error);
  sodium_memzero(frame, size);
  free(frame);
  if (status != FARO_OK) return status;
  memcpy(body, batch->body, 8 * c->entries);
  memcpy(body + 8 * c->entries, sent.bytes, sent.length);
  partner->answered = faro_clock();
  return FARO_OK;
}

/* Health. */

static void compare(const faro_partner *p, const faro_sent *sent, uint64_t first, char *text, size_t room) {
  unsigned char digest[FARO_DIGEST_BYTES];
  const char *campaign = "";
  json_int_t next = -1;
  json_t *json = json_loadb(sent->bytes, sent->length, JSON_REJECT_DUPLICATES, NULL);
  const bool read =
      json && json_unpack(json, "{ss sI}", "campaign", &campaign, "next", &next) == 0 && next >= 0;
  if (!read || !faro_hex_read(campaign, strlen(campaign), digest, sizeof digest))
    snprintf(text, room, "the adder at %.200s does not say where it is", p->params.url);
  else if (memcmp(digest, p->params.campaign->digest, sizeof digest) != 0)
    snprintf(text, room, "the adder at %.200s holds another campaign", p->params.url);
  else if ((uint64_t)next != first && (uint64_t)next != first + 1)
    snprintf(text, room,
             "the adder expects batch %lld, but this shuffler has handed over all batches before %" PRIu64
             ": an old copy of the state of one of them was restored. Put the newest state back, or end the "
             "campaign",
             (long long)next, first);
  json_decref(json);
}

void faro_partner_look(faro_partner *p, uint64_t first) {
  char url[FARO_URL_MAX + 32], text[FARO_ILL_TEXT] = "";
  faro_sent sent = {0};
  const double now = faro_clock();
  if (now < p->look) return;
  p->look = now + PERIOD;
  snprintf(url, sizeof url, "%s/v1/state", p->params.url);
  const bool answered = faro_send_get(p->looker, url, &sent, NULL) == FARO_OK && sent.status == 200;
  faro_metric_set(p->params.reachable, answered);
  if (answered) p->answered = now;
  if (answered) compare(p, &sent, first, text, sizeof text);
  else if (now - p->answered > PATIENCE)
    snprintf(text, sizeof text,
             "the adder at %.200s does not answer, for %.0f s now; closed batches wait, and then no reports "
             "are accepted",
             p->params.url, now - p->answered);
  else return;
  faro_health_set(p->params.health, FARO_ILL_ADDER, text);
}
