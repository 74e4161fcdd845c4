/* counts: what each client has sent, in memory, by the hash of its token: so that nobody has to ask
 * the file for each report (spool.h). Use it from one thread at a time.
 *
 * An open hash table, 33 bytes per slot, at most three quarters full. All of it is in memory from
 * the start, so the size of the process does not tell who came. What is freed is wiped. */
#ifndef FARO_SERVICE_STATE_COUNTS_H
#define FARO_SERVICE_STATE_COUNTS_H

#include "wire/wire.h"

typedef struct faro_counts faro_counts;

typedef struct faro_count {
  unsigned char hash[FARO_HASH_BYTES];
  uint64_t sequence; /* last sequence number */
  uint64_t used;     /* number of reports */
} faro_count;

/* With room for `clients`. It grows if there are more. */
faro_status faro_counts_create(faro_counts **counts, size_t clients, faro_error *error) FARO_WARN_UNUSED;
void faro_counts_destroy(faro_counts *counts); /* NULL is allowed */

/* The client's count, or NULL if it has none. The pointer is good until the next
 * faro_counts_enter. */
faro_count *faro_counts_find(const faro_counts *counts, const unsigned char hash[static FARO_HASH_BYTES]);
/* The same, but a client without a count gets one: zeros. Fails if there is no memory left. */
faro_status faro_counts_enter(faro_counts *counts, const unsigned char hash[static FARO_HASH_BYTES],
                              faro_count **count, faro_error *error) FARO_WARN_UNUSED;
void faro_counts_clear(faro_counts *counts); /* no client has a count afterwards */

#endif
