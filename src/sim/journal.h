/* journal: finished instances on disk, so that an interrupted run can continue, and so that several
 * processes can share the work.
 *
 *   header  "farojnl2"  record size (8 bytes)  digest of the experiment (32)
 *           hash of the program (32)  what else decides the bytes, as text (112): see machine.h
 *   record  cell, instance (4 bytes each)  values (8 bytes each)  checksum (8 bytes)
 *   ...
 *
 * Numbers are in the byte order of the machine. Records are appended whole. A torn last record
 * fails its checksum and is cut off when the journal is opened again. A journal whose head says
 * something else is refused: its records may differ in their last digits.
 *
 * One process at a time holds the file's lock. Where the file system has no locks, a second writer
 * is noticed because the file grows under the first one's hands; both then stop. */
#ifndef FARO_SIM_JOURNAL_H
#define FARO_SIM_JOURNAL_H

#include <faro/base.h>

typedef struct faro_journal faro_journal;

/* What a reader makes of a record. */
typedef enum faro_record_verdict {
  FARO_RECORD_TAKEN,     /* it is new, or equal to one that was read before */
  FARO_RECORD_SENSELESS, /* no such instance: reading ends as at a torn record */
  FARO_RECORD_CONTRARY   /* it contradicts another; `error` says which */
} faro_record_verdict;

typedef faro_record_verdict faro_journal_each(void *context, uint32_t cell, uint32_t instance,
                                              const double *values, faro_error *error);

/* Opens or creates the journal and passes every valid record to `each`. The journal of another
 * experiment, program or kind of machine is refused, and so is one with contrary records; `fresh`
 * empties it instead, once it is locked. */
faro_status faro_journal_open(faro_journal **journal, const char *path, const unsigned char digest[static 32],
                              size_t values, bool fresh, faro_journal_each *each, void *context,
                              faro_error *error) FARO_WARN_UNUSED;
faro_status faro_journal_add(faro_journal *journal, uint32_t cell, uint32_t instance, const double *values,
                             faro_error *error) FARO_WARN_UNUSED;
void faro_journal_close(faro_journal *journal);

/* Only reads a journal, which another process may be writing, up to the first torn record. */
faro_status faro_journal_read(const char *path, const unsigned char digest[static 32], size_t values,
                              faro_journal_each *each, void *context, faro_error *error) FARO_WARN_UNUSED;

/* Whether there is no journal at the path, or an empty one, or one that can be continued here. */
bool faro_journal_suits(const char *path, const unsigned char digest[static 32]);
/* Whether there is a journal that can be continued here. */
bool faro_journal_fits(const char *path, const unsigned char digest[static 32]);

#endif
