/* message: R, S and A, one message at a time. See the header. */
#include <faro/message.h>

#include <math.h>
#include <string.h>

#include "release/release.h"

/* The range of messages without a bound: sums of 2^40 of these still fit. */
static const faro_range unbounded = {.least = -(INT64_C(1) << 22), .most = INT64_C(1) << 22, .users = 1};

/* Whether messages are whole numbers; if not, they are doubles. */
static bool sends_whole(const faro_release *r) { return r->kind->mechanism->exact || r->deployed; }

size_t faro_release_message_size(const faro_release *release) { return release->message_size; }

size_t faro_release_numbers(const faro_release *release, const void *message, double *numbers) {
  const faro_mechanism *mechanism = release->kind->mechanism;
  const size_t count =
      mechanism->decode ? release->contribution.length : release->message_size / sizeof *numbers;
  const int64_t *whole = message;
  if (!message) return count;
  if (mechanism->decode) mechanism->decode(release, message, numbers);
  else if (!sends_whole(release)) memcpy(numbers, message, release->message_size);
  else
    for (size_t i = 0; i < count; i++) numbers[i] = (double)whole[i];
  return count;
}

static const faro_range *range_of(const faro_release *r, size_t level) {
  const size_t parts = r->shufflers > 0 ? r->shufflers : 1;
  const size_t first = r->ranges > 1 ? parts * faro_schedule_class(&r->schedule, r->open) : 0;
  return r->range && level < parts ? &r->range[first + level] : &unbounded;
}

void faro_release_range(const faro_release *release, size_t level, int64_t *least, int64_t *most) {
  *least = range_of(release, level)->least;
  *most = range_of(release, level)->most;
}

double faro_release_influence(const faro_release *release) { return release->influence; }

/* Shufflers. */

bool faro_release_kind_counts(const faro_release_kind *kind) { return kind->mechanism->counting != NULL; }
size_t faro_release_shufflers(const faro_release *release) { return release->shufflers; }

/* The functions for shufflers that count; NULL if this release has none. */
static const faro_counting *counting_of(const faro_release *r) {
  return r->shufflers > 0 ? r->kind->mechanism->counting : NULL;
}

bool faro_release_task(const faro_release *release, size_t level, faro_shuffler_task *task) {
  const faro_counting *counting = counting_of(release);
  return counting && level < release->shufflers && counting->task(release, level, task);
}

const uint64_t *faro_release_report(const faro_release *release, size_t level) {
  const faro_counting *counting = counting_of(release);
  return counting && level < release->shufflers ? counting->report(release, level) : NULL;
}

size_t faro_release_expected(const faro_release *release) {
  const faro_counting *counting = counting_of(release);
  if (faro_release_spent(release)) return 0;
  return counting ? counting->expected(release) : release->size;
}

/* R, S and A. */

/* Refuses releases without a source, and answers: their analyzer would need x beside them. */
static faro_status refuse_messages(const faro_release *r, faro_error *error) {
  if (!r->rng)
    return faro_fail(error, FARO_INVALID, "this %s was created without a source: it only answers questions",
                     r->kind->name);
  if (r->answer > 0)
    return faro_fail(error, FARO_INVALID, "%s of rewards alone has no messages: it is for simulation",
                     r->kind->name);
  return FARO_OK;
}

faro_status faro_release_randomize(faro_release *release, const double *x, double y, void *message,
                                   faro_error *error) {
  const faro_status status = refuse_messages(release, error);
  if (status != FARO_OK) return status;
  faro_contribution_make(&release->contribution, x, y, release->z);
  release->kind->mechanism->encode(release, release->z, message);
  memset(release->z, 0, release->contribution.length * sizeof *release->z); /* wipes the user's data */
  return FARO_OK;
}

/* Zero is the middle of the range of an entry, for counts too. */
void faro_release_blank(const faro_release *release, void *message) {
  const faro_mechanism *mechanism = release->kind->mechanism;
  int64_t *whole = message;
  if (release->answer > 0) {
    memset(message, 0, release->message_size); /* there are no messages, and nobody takes this one */
    return;
  }
  if (mechanism->blank) {
    mechanism->blank(release, message);
    return;
  }
  const size_t parts = release->shufflers > 0 ? release->shufflers : 1;
  const size_t entries = release->message_size / sizeof *whole / parts;
  for (size_t i = 0; i < parts * entries; i++) {
    const faro_range *range = range_of(release, i / entries);
    whole[i] = range->least + (range->most - range->least) / 2;
  }
}

void faro_release_seek(faro_release *release, uint64_t k) {
  if (release->source.use == FARO_USE_CLIENT) faro_release_open(release, k);
}

size_t faro_release_mix(const faro_release *release, void *batch) {
  if (!release->rng || release->shufflers > 1) return 0;
  if (release->shufflers == 1) release->kind->mechanism->mix(release, batch);
  return counting_of(release) ? 1 : release->size;
}

/* Whether R and S could have made this message or report. */
static bool is_valid(const faro_release *r, size_t index, const void *message) {
  const faro_range *range = range_of(r, counting_of(r) ? index : 0);
  const int64_t users = (int64_t)range->users;
  const double *real = message;
  const int64_t *whole = message;
  const bool exact = sends_whole(r);
  for (size_t i = 0; i < r->report_size / sizeof *whole; i++)
    if (exact ? whole[i] < users * range->least || whole[i] > users * range->most : !isfinite(real[i]))
      return false;
  return true;
}

static faro_status check_batch(const faro_release *r, const unsigned char *batch, size_t count,
                               faro_error *error) {
  const faro_status status = refuse_messages(r, error);
  if (status != FARO_OK) return status;
  if (r->source.use == FARO_USE_CLIENT)
    return faro_fail(error, FARO_INVALID, "this %s was created for a client, which does not analyze batches",
                     r->kind->name);
  if (r->waiting != 0)
    return faro_fail(error, FARO_INVALID, "a batch is open, with %llu users absorbed",
                     (unsigned long long)r->waiting);
  if (faro_release_spent(r)) return FARO_OK; /* the ledger refuses it */
  if (count != faro_release_expected(r))
    return faro_fail(error, FARO_INVALID, "a shuffled batch of %s has %zu messages (got %zu)", r->kind->name,
                     faro_release_expected(r), count);
  for (size_t i = 0; i < count; i++)
    if (!is_valid(r, i, batch + i * r->report_size))
      return faro_fail(error, FARO_INVALID, "message %zu of the batch is out of range", i + 1);
  return FARO_OK;
}

faro_status faro_release_analyze(faro_release *release, const void *batch, size_t count, faro_error *error) {
  const faro_mechanism *mechanism = release->kind->mechanism;
  faro_status status = check_batch(release, batch, count, error);
  if (status == FARO_OK) status = faro_ledger_charge(&release->ledger, error);
  if (status != FARO_OK) return status;
  for (size_t i = 0; i < count; i++)
    mechanism->collect(release, i, (const unsigned char *)batch + i * release->report_size);
  release->waiting = release->size;
  if (faro_server_adds_noise(release)) mechanism->add_noise(release);
  faro_release_publish(release);
  return FARO_OK;
}
