/* handover: where closed batches go: a shuffler's to the analyzer, a collector's portions to its
 * joiner. */
#ifndef FARO_SERVICE_SHUFFLER_HANDOVER_H
#define FARO_SERVICE_SHUFFLER_HANDOVER_H

#include "service/http/sender.h"
#include "service/shuffler/place.h"
#include "service/shuffler/shuffler_settings.h"

/* Everything must outlive it. */
typedef struct faro_handover {
  const faro_shuffler_settings *settings;
  const faro_campaign *campaign;
  const faro_sign_key *key;
  faro_place *place; /* where the analyzer is */
  faro_sender *sender;
} faro_handover;

/* Bytes of the frame of a batch, or portion, of this many reports. */
size_t faro_handover_bytes(const faro_handover *handover, uint64_t count);
/* Makes the frame, posts it once and wipes it. `frame` has room for faro_handover_bytes. The
 * results are those of faro_send_post. */
faro_status faro_handover_post(const faro_handover *handover, const faro_batch *batch, unsigned char *frame,
                               faro_sent *sent, faro_error *error) FARO_WARN_UNUSED;
/* Who takes them, for messages: "analyzer" or "joiner". */
const char *faro_handover_taker(const faro_handover *handover);

#endif
