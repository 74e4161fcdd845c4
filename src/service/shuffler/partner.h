/* partner: the adder of split counts, as its shuffler sees it (wire/split.h).
 *
 *   closed batch -> POST /v1/shares, the boxes -> sum, signed and sealed -> part of the batch
 *
 * Use it from one thread. */
#ifndef FARO_SERVICE_SHUFFLER_PARTNER_H
#define FARO_SERVICE_SHUFFLER_PARTNER_H

#include "service/http/sender.h"
#include "service/role/health.h"
#include "wire/split.h"

typedef struct faro_partner faro_partner;

/* Everything must outlive the partner. */
typedef struct faro_partner_params {
  const char *url;
  const char *authority; /* NULL: the system's */
  const faro_campaign *campaign;
  const faro_sign_key *key;
  size_t shuffler;
  faro_health *health;
  faro_metric *reachable; /* whether the adder answered */
} faro_partner_params;

faro_status faro_partner_create(faro_partner **partner, const faro_partner_params *params,
                                faro_error *error) FARO_WARN_UNUSED;
void faro_partner_destroy(faro_partner *partner); /* NULL is allowed */

/* Asks once for the sum of a closed batch, whose body is that of the spool: totals, then boxes.
 * Writes the body of the batch for the analyzer: totals, then the sum; faro_batch_body bytes. The
 * adder gives the same bytes every time it is asked for the same batch. */
faro_status faro_partner_complete(faro_partner *partner, const faro_batch *batch, unsigned char *body,
                                  faro_error *error) FARO_WARN_UNUSED;

/* Asks at most every five seconds how the adder is, and says in the health if it does not answer,
 * has another campaign, or is not at batch `first`, the first that was not handed over, or the one
 * after it. */
void faro_partner_look(faro_partner *partner, uint64_t first);

#endif
