/* handover: see the header. */
#include "service/shuffler/handover.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>

static bool to_joiner(const faro_handover *h) { return faro_shuffler_is_collector(h->settings); }

const char *faro_handover_taker(const faro_handover *h) { return to_joiner(h) ? "joiner" : "analyzer"; }

size_t faro_handover_bytes(const faro_handover *h, uint64_t count) {
  return to_joiner(h) ? faro_portion_bytes(h->campaign, count) : faro_batch_size(h->campaign, count);
}

static faro_status post_batch(const faro_handover *h, const faro_batch *batch, unsigned char *frame,
                              faro_sent *sent, faro_error *error) {
  unsigned char proof[FARO_SIGNATURE_BYTES];
  char address[FARO_URL_MAX + 1], url[FARO_URL_MAX + 64], notice[FARO_NOTICE_DIGITS + 1],
      header[32 + FARO_NOTICE_DIGITS];
  faro_place_address(h->place, address);
  const uint64_t epoch = faro_place_epoch(h->place, proof);
  if (epoch > 0) snprintf(url, sizeof url, "%s/v1/batches?epoch=%" PRIu64, address, epoch);
  else snprintf(url, sizeof url, "%s/v1/batches", address);
  faro_batch_write(h->campaign, batch, h->key, frame);
  faro_notice_write(h->campaign, batch, h->key, notice);
  snprintf(header, sizeof header, "Faro-Batch: %s", notice);
  const faro_status status =
      faro_send_post_with(h->sender, url, header, frame, faro_handover_bytes(h, batch->count), sent, error);
  if (status == FARO_SYSTEM) faro_place_failed(h->place);
  return status;
}

static faro_status post_portion(const faro_handover *h, const faro_batch *batch, unsigned char *frame,
                                faro_sent *sent, faro_error *error) {
  char url[FARO_URL_MAX + 32], notice[FARO_PORTION_DIGITS + 1], header[32 + FARO_PORTION_DIGITS];
  faro_portion portion = {.collector = (uint32_t)h->settings->part.number,
                          .collectors = (uint32_t)h->settings->part.of,
                          .batch = *batch};
  faro_portion_mark(h->campaign, &portion, h->key);
  const faro_status status =
      faro_portion_write(h->campaign, &portion, h->settings->part.joiner_key, h->key, frame, error);
  if (status != FARO_OK) return status;
  faro_portion_notice(h->campaign, &portion, h->key, notice);
  snprintf(url, sizeof url, "%s/v1/portions", h->settings->part.joiner);
  snprintf(header, sizeof header, "Faro-Portion: %s", notice);
  return faro_send_post_with(h->sender, url, header, frame, faro_handover_bytes(h, batch->count), sent,
                             error);
}

faro_status faro_handover_post(const faro_handover *h, const faro_batch *batch, unsigned char *frame,
                               faro_sent *sent, faro_error *error) {
  const faro_status status =
      to_joiner(h) ? post_portion(h, batch, frame, sent, error) : post_batch(h, batch, frame, sent, error);
  sodium_memzero(frame, faro_handover_bytes(h, batch->count));
  return status;
}
