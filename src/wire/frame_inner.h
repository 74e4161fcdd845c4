/* frame_inner: what frame.c and split.c share: the heads of frames. */
#ifndef FARO_WIRE_FRAME_INNER_H
#define FARO_WIRE_FRAME_INNER_H

#include "wire/wire.h"

/* Bytes of a head: its kind, and the first bytes of a digest. */
enum { FARO_MAGIC = 4, FARO_TAG = 16 };

/* The head of a batch, or of a frame with the same layout: FARO_BATCH_HEAD bytes. */
void faro_batch_head_write(const faro_campaign *campaign, const char magic[static FARO_MAGIC],
                           const faro_batch *batch, unsigned char *out);
/* Checks it as that of a batch of a shuffler of the campaign; `what` is for the message. The caller
 * sets the body. */
faro_status faro_batch_head_read(const faro_campaign *campaign, const char magic[static FARO_MAGIC],
                                 const char *what, const unsigned char *bytes, faro_batch *batch,
                                 faro_error *error) FARO_WARN_UNUSED;

#endif
