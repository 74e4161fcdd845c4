/* campaign_file: see the header. */
#include "service/shuffler/campaign_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "service/role/log.h"
#include "service/role/process.h"

static const double PATIENCE = 5; /* seconds; roles may be started in any order */

faro_status faro_campaign_file_load(faro_campaign *campaign, const char *path,
                                    const unsigned char signer[static FARO_KEY_BYTES], faro_error *error) {
  char *text = NULL;
  size_t length = 0;
  faro_error inner = {0};
  faro_status status = faro_read_file(path, FARO_DOCUMENT_MAX, &text, &length, error);
  if (status != FARO_OK) return status;
  status = faro_campaign_open(campaign, text, length, signer, &inner);
  free(text);
  if (status != FARO_OK) faro_fail(error, status, "%s: %.300s", faro_path_end(path), inner.message);
  return status;
}

/* Asks once. *again: there was no answer yet, so ask again. A document that cannot be verified is
 * an error. */
static faro_status ask(faro_campaign *campaign, faro_place *place, faro_sender *sender, faro_sent *sent,
                       bool *again, faro_error *error) {
  char url[FARO_URL_MAX + 1], whole[FARO_URL_MAX + 32];
  unsigned char founder[FARO_KEY_BYTES];
  faro_place_look(place, sender);
  faro_place_founder(place, founder);
  faro_place_address(place, url);
  snprintf(whole, sizeof whole, "%s/v1/campaign", url);
  const faro_status status = faro_send_get(sender, whole, sent, error);
  const bool answered = status == FARO_OK && sent->status == 200;
  *again = status == FARO_SYSTEM || (status == FARO_OK && !answered);
  if (answered) return faro_campaign_open(campaign, sent->bytes, sent->length, founder, error);
  if (status != FARO_OK) return status;
  return faro_fail(error, FARO_SYSTEM, "%s: answered with status %ld", whole, sent->status);
}

static faro_status load_kept(faro_campaign *campaign, const char *path, faro_place *place,
                             faro_sender *sender, faro_error *error) {
  unsigned char founder[FARO_KEY_BYTES];
  faro_place_look(place, sender);
  faro_place_founder(place, founder);
  const faro_status status = faro_campaign_file_load(campaign, path, founder, error);
  return status == FARO_OK ? faro_place_apply(place, campaign, error) : status;
}

faro_status faro_campaign_file_obtain(faro_campaign *campaign, const char *path, faro_place *place,
                                      faro_sender *sender, faro_sent *fresh, faro_error *error) {
  *fresh = (faro_sent){0};
  if (access(path, F_OK) == 0) return load_kept(campaign, path, place, sender, error);
  faro_backoff backoff = {0};
  const double start = faro_clock();
  for (bool told = false;;) {
    faro_error inner = {0};
    bool again = false;
    const faro_status status = ask(campaign, place, sender, fresh, &again, &inner);
    if (!again) {
      if (status != FARO_OK) *error = inner;
      return status == FARO_OK ? faro_place_apply(place, campaign, error) : status;
    }
    faro_place_failed(place);
    const bool long_now = faro_clock() > start + PATIENCE;
    if (long_now && !told) faro_log_error("campaign-awaited", &inner);
    told = long_now;
    if (faro_process_wait((int)(faro_backoff_next(&backoff) * 1000)))
      return faro_fail(error, FARO_INTERRUPTED, "stopped before the campaign arrived");
  }
}

faro_status faro_campaign_file_keep(const char *path, const faro_sent *fresh, faro_error *error) {
  return fresh->bytes ? faro_write_file(path, fresh->bytes, fresh->length, 0644, error) : FARO_OK;
}
