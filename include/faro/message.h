/* message: a release step by step, as separate parties run it.
 *
 *     client      faro_release_randomize(r, x, y, message, &error)
 *     shuffler    count = faro_release_mix(r, batch)
 *     server      faro_release_analyze(r, batch, count, &error)
 *
 * Each party creates the release from the same contribution and parameters, with a source of its
 * own (random.h):
 *
 *     faro_source source = faro_source_client(secure);
 *     faro_release_create(&r, kind, &contribution, &params, source, &error)
 *     uint64_t *message = malloc(faro_release_message_size(r));
 *
 * All messages of a release have one size. They are 8-byte numbers: whole ones where the release
 * can be deployed (counts of ones for bits, signed steps for a grid), doubles elsewhere. Buffers
 * are the caller's. Use a release in one thread at a time. Nothing is allocated. */
#ifndef FARO_MESSAGE_H
#define FARO_MESSAGE_H

#include <faro/release.h>

#ifdef __cplusplus
extern "C" {
#endif

FARO_API size_t faro_release_message_size(const faro_release *release);
/* Converts a message to numbers as the analyzer reads them, and returns how many there are:
 * message_size / 8, or the estimate of z where a message is a code. A message of NULL converts
 * nothing. */
FARO_API size_t faro_release_numbers(const faro_release *release, const void *message, double *numbers);
/* The range of an entry, in the part for shuffler `level` (0 if there is none), of a message that R
 * made. S cuts, or A refuses, anything outside. */
FARO_API void faro_release_range(const faro_release *release, size_t level, int64_t *least, int64_t *most);
/* The most by which one message, whatever a client puts into it, can move an entry of the published
 * sum away from its value with a message of zero. INFINITY if messages are not bounded. */
FARO_API double faro_release_influence(const faro_release *release);

/* Clients only: the batch that messages are for from now on; at first it is 0. Where batches grow,
 * so do the crowds to hide in, and a user's noise falls. */
FARO_API void faro_release_seek(faro_release *release, uint64_t k);
/* R. FARO_INVALID for a release without a source, and for answers of rewards alone, which are not
 * sent as messages. */
FARO_API faro_status faro_release_randomize(faro_release *release, const double *x, double y, void *message,
                                            faro_error *error) FARO_WARN_UNUSED;
/* A message for the open batch that counts as nothing, in place of one that cannot be used: zeros,
 * or a random answer where a message cannot say zero. For releases that can be deployed, with a
 * source. */
FARO_API void faro_release_blank(const faro_release *release, void *message);
/* S: turns the batch of B messages, stored one after another, into what the analyzer may see.
 * Returns the number of messages left. A message outside its range is cut to it. Does nothing and
 * returns 0 if there are several shufflers, each of which collects separately, or if the release
 * has no source. */
FARO_API size_t faro_release_mix(const faro_release *release, void *batch);
/* A: publishes new statistics from a shuffled batch. Changes nothing and returns FARO_INVALID if
 * the batch is incomplete or beyond the horizon, if a message is out of range, if the source is
 * none or a client's, or if only rewards are protected and nobody is trusted. */
FARO_API faro_status faro_release_analyze(faro_release *release, const void *batch, size_t count,
                                          faro_error *error) FARO_WARN_UNUSED;

/* Shufflers. For bits, mixing the bits of one label reveals only their number of ones. So a
 * shuffler adds up the ones of each entry, and reports once, when as many users have sent as its
 * task says. With k shufflers a message has a part for each, lowest first, zero for those that are
 * not active. The analyzer gets the reports of the shufflers that became full with the open batch,
 * lowest first. */
typedef struct faro_shuffler_task {
  uint64_t size;       /* users to wait for; at least two, because one alone is not hidden */
  uint64_t grid, bits; /* the encoder: an entry is up to `grid` ones and `bits` noise bits */
} faro_shuffler_task;

/* Whether its messages are counts, which shufflers add up. Other messages are passed on whole. */
FARO_API bool faro_release_kind_counts(const faro_release_kind *kind);
/* The number of shufflers; 0 if nothing is shuffled. */
FARO_API size_t faro_release_shufflers(const faro_release *release);
/* Whether shuffler `level` starts a new node with the open batch, and its task. */
FARO_API bool faro_release_task(const faro_release *release, size_t level, faro_shuffler_task *task);
/* How many reports (or messages, if they are not counted) faro_release_analyze expects for the open
 * batch. */
FARO_API size_t faro_release_expected(const faro_release *release);
/* The report of shuffler `level` at the end of the last batch: the ones of each entry; NULL if it
 * did not report. */
FARO_API const uint64_t *faro_release_report(const faro_release *release, size_t level);

#ifdef __cplusplus
}
#endif

#endif
