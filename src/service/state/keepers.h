/* keepers: the keys of a batch of all processes that may open it, in the table `keepers` of a
 * database (sealed.h). Each of them publishes its public keys there, and what waits for the batch
 * is sealed to all of them. */
#ifndef FARO_SERVICE_STATE_KEEPERS_H
#define FARO_SERVICE_STATE_KEEPERS_H

#include "service/state/batch_keys.h"
#include "service/state/postgres.h"

#define FARO_KEEPERS_TABLE "CREATE TABLE keepers(batch BIGINT, key BYTEA, PRIMARY KEY (batch, key));"

/* Publishes our key of a batch, which is there. One process too many must not stop the others. */
faro_status faro_keepers_publish(faro_postgres *link, const faro_batch_keys *keys, uint64_t batch,
                                 faro_error *error) FARO_WARN_UNUSED;
/* Seals to all keepers of a batch, us among them: we must be able to open it. The caller frees
 * *sealed. */
faro_status faro_keepers_seal(faro_postgres *link, const faro_batch_keys *keys, const faro_sealed_as *as,
                              const void *bytes, size_t length, unsigned char **sealed, size_t *size,
                              faro_error *error) FARO_WARN_UNUSED;

#endif
