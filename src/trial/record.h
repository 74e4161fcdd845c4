/* record: the batches that a trial's analyzer was sent, as its relay heard them; and what follows from them. */
#ifndef FARO_TRIAL_RECORD_H
#define FARO_TRIAL_RECORD_H

#include "service/analyzer/learning.h"
#include "trial/crowd.h"

typedef struct faro_record faro_record;

/* Reads the analyzer's line, which must have been stopped. FARO_INVALID, and why: two different batches under one number, a
 * batch that is not well made or has not the campaign's size, a gap in the numbers. */
faro_status faro_record_create(faro_record **record, const faro_trial *trial,
                               faro_error *error) FARO_WARN_UNUSED;
void faro_record_destroy(faro_record *record);

/* Batch `number` of a shuffler; NULL: there was none. */
const faro_batch *faro_record_batch(const faro_record *record, size_t shuffler, uint64_t number);
uint64_t faro_record_batches(const faro_record *record, size_t shuffler);
uint64_t faro_record_smallest(
    const faro_record *record); /* reports of the smallest batch; UINT64_MAX: there was none */

/* The totals of all batches of a shuffler that lie in [from, to), added up. Of BITS. */
void faro_record_totals(const faro_record *record, size_t shuffler, uint64_t from, uint64_t to,
                        uint64_t *ones);

/* The same messages once more, into a release and a learner in this process. Of DIRECT, where no batches travel, the messages
 * are those that the crowd had acknowledged. */
faro_status faro_record_replay(const faro_record *record, const faro_crowd *crowd, uint64_t batches,
                               faro_learning **learning, faro_error *error) FARO_WARN_UNUSED;

#endif
