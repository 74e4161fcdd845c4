/* record: see the header. Frames stay in the memory of the relay. */
#include "trial/record.h"

#include <stdlib.h>
#include <string.h>

#include "trial/capture.h"
#include "wire/split.h"

typedef struct heard {
  faro_batch batch;
  const unsigned char *frame;
  size_t length;
} heard;

struct faro_record {
  const faro_trial *trial;
  size_t shufflers;
  uint64_t room; /* batches per shuffler */
  heard *heard;  /* by shuffler and number */
};

static heard *slot(const faro_record *record, size_t shuffler, uint64_t number) {
  return shuffler < record->shufflers && number < record->room
             ? &record->heard[shuffler * record->room + number]
             : NULL;
}

/* Reads a batch under any of the keys that its shuffler has had. */
static faro_status read_batch(const faro_trial *trial, const faro_request *request, faro_batch *batch,
                              faro_error *error) {
  faro_campaign campaign = trial->campaign;
  faro_error later = {0};
  faro_status status = faro_batch_read(&campaign, request->body, request->length, batch, error);
  for (size_t k = 0; k < FARO_TRIAL_KEYS && status != FARO_OK; k++) {
    for (size_t i = 0; i < campaign.shufflers; i++)
      if (k < trial->later_keys[1 + i])
        memcpy(campaign.shuffler[i].key, trial->later_key[1 + i][k], FARO_KEY_BYTES);
    status = faro_batch_read(&campaign, request->body, request->length, batch, &later);
  }
  return status;
}

static faro_status note(faro_record *record, const faro_request *request, faro_error *error) {
  const faro_campaign *campaign = &record->trial->campaign;
  faro_batch batch;
  const faro_status status = read_batch(record->trial, request, &batch, error);
  if (status != FARO_OK) return status;
  heard *h = slot(record, batch.shuffler, batch.number);
  if (!h || batch.count != faro_campaign_size(campaign, batch.shuffler, batch.number))
    return faro_fail(error, FARO_INVALID, "batch %llu of shuffler %u has the wrong size (%llu reports)",
                     (unsigned long long)batch.number, batch.shuffler, (unsigned long long)batch.count);
  /* but for the signature at the end, which may be made again with another key */
  if (h->frame && (h->length != request->length ||
                   memcmp(h->frame, request->body, h->length - FARO_SIGNATURE_BYTES) != 0))
    return faro_fail(error, FARO_INVALID, "two different batches have number %llu of shuffler %u",
                     (unsigned long long)batch.number, batch.shuffler);
  if (!h->frame) *h = (heard){.batch = batch, .frame = request->body, .length = request->length};
  return FARO_OK;
}

static faro_status read_line(faro_record *record, faro_error *error) {
  const faro_relay *line = record->trial->relay[0];
  if (faro_relay_overflowed(line))
    return faro_fail(error, FARO_INVALID, "more batches were sent than the relay keeps");
  size_t length = 0;
  const unsigned char *bytes;
  for (size_t c = 0; (bytes = faro_relay_heard(line, c, &length)); c++) {
    faro_request request;
    for (size_t place = 0; faro_capture_next(bytes, length, &place, &request);)
      if (faro_request_is(&request, "/v1/batches") && request.length > 0) {
        const faro_status status = note(record, &request, error);
        if (status != FARO_OK) return status;
      }
  }
  return FARO_OK;
}

static faro_status no_gaps(const faro_record *record, faro_error *error) {
  for (size_t s = 0; s < record->shufflers; s++)
    for (uint64_t n = 1; n < record->room; n++)
      if (slot(record, s, n)->frame && !slot(record, s, n - 1)->frame)
        return faro_fail(error, FARO_INVALID,
                         "batch %llu of shuffler %zu was never sent, but a later one was",
                         (unsigned long long)(n - 1), s);
  return FARO_OK;
}

faro_status faro_record_create(faro_record **out, const faro_trial *trial, faro_error *error) {
  faro_record *record = calloc(1, sizeof *record);
  if (!record) return faro_fail(error, FARO_MEMORY, "out of memory");
  record->trial = trial;
  record->shufflers = trial->campaign.shufflers;
  record->room = trial->campaign.batches + 1;
  record->heard = calloc(record->shufflers * record->room + 1, sizeof *record->heard);
  faro_status status = record->heard ? FARO_OK : faro_fail(error, FARO_MEMORY, "out of memory");
  if (status == FARO_OK) status = read_line(record, error);
  if (status == FARO_OK) status = no_gaps(record, error);
  if (status == FARO_OK) *out = record;
  else faro_record_destroy(record);
  return status;
}

void faro_record_destroy(faro_record *record) {
  if (!record) return;
  free(record->heard);
  free(record);
}

const faro_batch *faro_record_batch(const faro_record *record, size_t shuffler, uint64_t number) {
  const heard *h = slot(record, shuffler, number);
  return h && h->frame ? &h->batch : NULL;
}

uint64_t faro_record_batches(const faro_record *record, size_t shuffler) {
  uint64_t number = 0;
  while (faro_record_batch(record, shuffler, number)) number++;
  return number;
}

uint64_t faro_record_smallest(const faro_record *record) {
  uint64_t least = UINT64_MAX;
  for (size_t i = 0; i < record->shufflers * record->room; i++)
    if (record->heard[i].frame && record->heard[i].batch.count < least) least = record->heard[i].batch.count;
  return least;
}

/* The totals of a batch, as the analyzer reads them. */
static faro_status read_totals(const faro_record *record, const faro_batch *batch, int64_t *totals,
                               faro_error *error) {
  const faro_campaign *c = &record->trial->campaign;
  if (faro_campaign_is_split(c)) return faro_split_join(c, batch, &record->trial->seal, totals, error);
  for (size_t i = 0; i < c->entries; i++) totals[i] = (int64_t)faro_load64(batch->body + 8 * i);
  return FARO_OK;
}

void faro_record_totals(const faro_record *record, size_t shuffler, uint64_t from, uint64_t to,
                        uint64_t *ones) {
  const size_t entries = faro_wire_report_entries(&record->trial->campaign);
  int64_t *totals = malloc(entries * sizeof *totals);
  for (uint64_t n = from; totals && n < to; n++) {
    const faro_batch *batch = faro_record_batch(record, shuffler, n);
    if (batch && read_totals(record, batch, totals, NULL) == FARO_OK)
      for (size_t i = 0; i < entries; i++) ones[i] += (uint64_t)totals[i];
  }
  free(totals);
}

/* Replaying. */

typedef struct player {
  const faro_record *record;
  const faro_crowd *crowd;
  faro_learning *learning;
  uint64_t *messages; /* room for a batch */
  size_t entries, taken;
  bool by_version; /* those of the crowd are taken by the version under which they were made */
} player;

/* Applies the totals of the shufflers that finished a batch, lowest first. */
static faro_status apply_totals(player *p, uint64_t batch, faro_error *error) {
  const faro_campaign *campaign = &p->record->trial->campaign;
  const size_t due = faro_release_expected(faro_learning_release(p->learning));
  for (size_t s = 0; s < due; s++) {
    const uint64_t unit = faro_campaign_unit(campaign, s);
    const faro_batch *b = faro_record_batch(p->record, s, batch / unit);
    if (!b)
      return faro_fail(error, FARO_INVALID, "batch %llu of shuffler %zu is missing",
                       (unsigned long long)(batch / unit), s);
    const faro_status status = read_totals(p->record, b, (int64_t *)p->messages + s * p->entries, error);
    if (status != FARO_OK) return status;
  }
  return faro_learning_apply(p->learning, p->messages, due, error);
}

/* The next report of a batch. Those that went to the analyzer itself are with the crowd, in the
 * order of their acknowledgements. In phases the order matters, and one whose acknowledgement was
 * lost may come after some of the next batch. */
static const unsigned char *next_body(player *p, const faro_batch *batch, uint64_t number, size_t index,
                                      size_t size) {
  if (batch) return batch->body + index * size;
  for (;;) {
    uint64_t version = 0;
    const unsigned char *body = faro_crowd_body(p->crowd, p->taken++, &version);
    if (!body || !p->by_version || version == number + 1) return body;
  }
}

static faro_status apply_bodies(player *p, uint64_t number, faro_error *error) {
  const faro_trial *trial = p->record->trial;
  const faro_campaign *campaign = &trial->campaign;
  const bool direct = faro_campaign_form(campaign) == FARO_WIRE_DIRECT;
  const faro_batch *batch = direct ? NULL : faro_record_batch(p->record, 0, number);
  if (!direct && !batch)
    return faro_fail(error, FARO_INVALID, "batch %llu is missing", (unsigned long long)number);
  const size_t size = faro_wire_report_size(campaign) - FARO_REPORT_HEAD,
               count = (size_t)faro_campaign_size(campaign, 0, number);
  p->by_version = faro_campaign_in_phases(campaign);
  if (p->by_version) p->taken = 0;
  for (size_t i = 0; i < count; i++) {
    const unsigned char *body = next_body(p, batch, number, i, size);
    if (!body) return faro_fail(error, FARO_INVALID, "fewer reports were acknowledged than were released");
    const faro_status status = faro_wire_report_unseal(
        campaign, &trial->seal, number, body, (int64_t *)(void *)(p->messages + i * p->entries), error);
    if (status != FARO_OK) return status;
  }
  return faro_learning_apply(p->learning, p->messages, count, error);
}

faro_status faro_record_replay(const faro_record *record, const faro_crowd *crowd, uint64_t batches,
                               faro_learning **learning, faro_error *error) {
  const faro_campaign *campaign = &record->trial->campaign;
  const bool bits = faro_campaign_form(campaign) == FARO_WIRE_BITS;
  player p = {.record = record, .crowd = crowd, .entries = faro_wire_report_entries(campaign)};
  p.messages =
      calloc((bits ? campaign->shufflers : faro_campaign_largest(campaign)) * p.entries, sizeof *p.messages);
  faro_status status = p.messages ? FARO_OK : faro_fail(error, FARO_MEMORY, "out of memory");
  if (status == FARO_OK) status = faro_learning_create(&p.learning, campaign, NULL, 0, error);
  for (uint64_t b = 0; b < batches && status == FARO_OK; b++)
    status = bits ? apply_totals(&p, b, error) : apply_bodies(&p, b, error);
  free(p.messages);
  if (status == FARO_OK) *learning = p.learning;
  else faro_learning_destroy(p.learning);
  return status;
}
