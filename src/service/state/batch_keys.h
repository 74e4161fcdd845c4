/* batch_keys: the file in which a front-end of a shuffler keeps its keys of batches, apart from the
 * database that has what is sealed to them (sealed.h). A key is made when its batch is near, and
 * wiped when the batch was released. The file is SQLite's, with the care of database.h: a wiped key
 * leaves no traces in it. */
#ifndef FARO_SERVICE_STATE_BATCH_KEYS_H
#define FARO_SERVICE_STATE_BATCH_KEYS_H

#include "service/state/database.h"
#include "service/state/sealed.h"
#include "wire/wire.h"

typedef struct faro_batch_keys faro_batch_keys;

/* Opens or makes the file, which belongs to one shuffler of a campaign. The database is closed with
 * faro_database_close after the keys. */
faro_status faro_batch_keys_open(faro_batch_keys **keys, faro_database **database, const char *path,
                                 const faro_campaign *campaign, size_t shuffler,
                                 faro_error *error) FARO_WARN_UNUSED;
void faro_batch_keys_close(faro_batch_keys *keys); /* NULL is allowed */

/* The pair of a batch; NULL: there is none. */
const faro_box_pair *faro_batch_keys_find(const faro_batch_keys *keys, uint64_t batch);
/* Makes the pair of a batch, unless it is there. On the disk on return. */
faro_status faro_batch_keys_make(faro_batch_keys *keys, uint64_t batch, faro_error *error) FARO_WARN_UNUSED;
/* All batches before this one were wiped, also if their pairs were never here. */
uint64_t faro_batch_keys_wiped(const faro_batch_keys *keys);
/* Wipes the pairs of all batches before this one, from memory and from the file. */
faro_status faro_batch_keys_wipe(faro_batch_keys *keys, uint64_t before, faro_error *error) FARO_WARN_UNUSED;

#endif
