/* roster: the clients that may send, by the hashes of their tokens. Any thread may look, and the
 * roster may be exchanged for that of another file at any time.
 *
 * It is a sorted array, 16 bytes per client, with an index of 2 to 4 bytes more. A look takes a few
 * steps, and at most log2 of the count, whatever a sender makes up: there are no collisions to
 * build. */
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

/* Between these two calls the roster stays as it is, for as many looks as needed. Those who look do
 * not wait for each other. */
void faro_roster_lock(faro_roster *roster);
void faro_roster_unlock(faro_roster *roster);
bool faro_roster_holds(const faro_roster *roster, const unsigned char hash[static FARO_HASH_BYTES]);

size_t faro_roster_count(faro_roster *roster);

#endif
