/* handover: see the header. */
#include "support/handover.h"

#include <stdlib.h>

#include "support/support.h"

/* The twin hears what was released, read as the applier reads it. */
static void tell_twin(const faro_handover *h, const faro_batch *batch) {
  const size_t n = h->campaign->entries;
  const bool bits = faro_campaign_form(h->campaign) == FARO_WIRE_BITS;
  const size_t rows = bits ? 1 : (size_t)batch->count;
  const size_t body = faro_wire_report_size(h->campaign) - FARO_REPORT_HEAD;
  int64_t *numbers = calloc(rows * n, sizeof *numbers);
  assert_non_null(numbers);
  for (size_t i = 0; bits && i < n; i++) numbers[i] = (int64_t)faro_load64(batch->body + 8 * i);
  for (size_t i = 0; !bits && i < rows; i++)
    assert_ok(faro_wire_report_unseal(h->campaign, h->seal, batch->number, batch->body + i * body,
                                      numbers + i * n, error));
  assert_ok(faro_learning_apply(h->twin, numbers, rows, error));
  free(numbers);
}

void hand_over_batch(const faro_handover *h) {
  faro_batch batch;
  faro_receipt receipt = FARO_RECEIPT_BAD;
  bool applied = false;
  assert_ok(faro_spool_next(h->spool, &batch, error));
  assert_true(batch.count > 0);
  tell_twin(h, &batch);
  if (h->campaign->shufflers > 0) {
    const size_t size = faro_batch_size(h->campaign, batch.count);
    unsigned char *frame = malloc(size);
    assert_non_null(frame);
    faro_batch_write(h->mixing, &batch, h->shuffler, frame);
    assert_ok(faro_applier_receive(h->applier, frame, size, &receipt, error));
    free(frame);
  } else assert_ok(faro_applier_take(h->applier, &batch, &receipt, error));
  assert_int_equal(receipt, FARO_RECEIPT_TAKEN);
  const uint64_t number = batch.number;
  faro_spool_wipe(h->spool, &batch);
  assert_ok(faro_spool_forget(h->spool, number, error));
  assert_ok(faro_applier_step(h->applier, &applied, error));
  assert_true(applied);
}
