/* journal: finished instances on disk, so that an interrupted run can continue.
 *
 *   header  "farojnl1"  digest of the experiment (32 bytes)  record size (8 bytes)
 *   record  cell, instance (4 bytes each)  values (8 bytes each)  checksum (8 bytes)
 *   ...
 *
 * Numbers are in the byte order of the machine: a journal is not portable. Records are appended
 * whole. A torn last record fails its checksum and is cut off when the journal is opened again. One
 * process at a time holds the file's lock. */
#ifndef FARO_SIM_JOURNAL_H
#define FARO_SIM_JOURNAL_H

#include <faro/base.h>

typedef struct faro_journal faro_journal;

/* Opens or creates the journal and passes every valid record to `each`, which returns false if the
 * record is implausible. The journal of another experiment is refused; `fresh` empties it instead,
 * once it is locked. */
faro_status faro_journal_open(faro_journal **journal, const char *path, const unsigned char digest[static 32],
                              size_t values, bool fresh,
                              bool (*each)(void *, uint32_t cell, uint32_t instance, const double *),
                              void *context, faro_error *error) FARO_WARN_UNUSED;
/* Whether there is no journal at the path, or an empty one, or one of this experiment. */
bool faro_journal_suits(const char *path, const unsigned char digest[static 32]);
faro_status faro_journal_add(faro_journal *journal, uint32_t cell, uint32_t instance, const double *values,
                             faro_error *error) FARO_WARN_UNUSED;
void faro_journal_close(faro_journal *journal);

/* Whether there is a journal of this experiment, made by this program. */
bool faro_journal_fits(const char *path, const unsigned char digest[static 32]);

#endif
