/* roster: the clients that may send, by the hashes of their tokens. Any thread may look, and the
 * roster may be exchanged for that of another file at any time.
 *
 * It is a sorted array, 16 bytes per client. A look takes at most log2 of the count steps, whatever
 * a sender makes up, so there are no collisions to build. */
#ifndef FARO_SERVICE_STATE_ROSTER_H
#define FARO_SERVICE_STATE_ROSTER_H

#include "wire/portion.h"

typedef struct faro_roster faro_roster;

/* `path` is a file of token hashes. With `collectors` above 0 only the clients of one of them are
 * taken (wire/portion.h). */
faro_status faro_roster_open(faro_roster **roster, const char *path, size_t collectors, size_t collector,
                             faro_error *error) FARO_WARN_UNUSED;
void faro_roster_close(faro_roster *roster);

/* Takes the clients of this file instead. If it cannot be read, the roster stays as it is. */
faro_status faro_roster_reload(faro_roster *roster, const char *path, faro_error *error) FARO_WARN_UNUSED;

bool faro_roster_holds(faro_roster *roster, const unsigned char hash[static FARO_HASH_BYTES]);
size_t faro_roster_count(faro_roster *roster);

#endif
