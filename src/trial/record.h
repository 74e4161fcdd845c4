/* record: the batches that were sent to the analyzer of a trial, as its relay recorded them, and a
 * replay of them. */
#ifndef FARO_TRIAL_RECORD_H
#define FARO_TRIAL_RECORD_H

#include "service/analyzer/learning.h"
#include "trial/crowd.h"

typedef struct faro_record faro_record;

/* Reads the relay of the analyzer, which must have been stopped. FARO_INVALID if two different
 * batches have one number, a batch is malformed or has the wrong size, or a number is missing. */
faro_status faro_record_create(faro_record **record, const faro_trial *trial,
                               faro_error *error) FARO_WARN_UNUSED;
void faro_record_destroy(faro_record *record);

/* Batch `number` of a shuffler; NULL if it was not sent. */
const faro_batch *faro_record_batch(const faro_record *record, size_t shuffler, uint64_t number);
uint64_t faro_record_batches(const faro_record *record, size_t shuffler);
/* The number of reports in the smallest batch; UINT64_MAX if there was no batch. */
uint64_t faro_record_smallest(const faro_record *record);

/* BITS only: adds the totals of the batches from .. to - 1 of a shuffler to `ones`. */
void faro_record_totals(const faro_record *record, size_t shuffler, uint64_t from, uint64_t to,
                        uint64_t *ones);

/* Feeds the same messages to a release and a learner in this process. For DIRECT, where no batches
 * are sent, these are the messages that were acknowledged to the crowd. */
faro_status faro_record_replay(const faro_record *record, const faro_crowd *crowd, uint64_t batches,
                               faro_learning **learning, faro_error *error) FARO_WARN_UNUSED;

#endif
