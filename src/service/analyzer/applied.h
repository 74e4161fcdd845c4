/* applied: DATABASE.applied, one line with the number of batches that were applied. It is written
 * after each commit, so a database with fewer batches is an old copy. An old copy would publish
 * other policies under versions that clients have seen, and has no place for the shufflers' next
 * batches. */
#ifndef FARO_SERVICE_ANALYZER_APPLIED_H
#define FARO_SERVICE_ANALYZER_APPLIED_H

#include <faro/base.h>

faro_status faro_applied_keep(const char *database, uint64_t batches, faro_error *error) FARO_WARN_UNUSED;
/* FARO_INVALID if the database has fewer batches than the file says. No file: nothing is known. */
faro_status faro_applied_check(const char *database, uint64_t batches, faro_error *error) FARO_WARN_UNUSED;
/* Before a new campaign is founded. */
faro_status faro_applied_forget(const char *database, faro_error *error) FARO_WARN_UNUSED;

#endif
