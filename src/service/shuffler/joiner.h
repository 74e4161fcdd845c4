/* joiner: the process of a shuffler with collectors that has the shuffler's key.
 *
 *   GET  /v1/collectors   where clients find them, signed (wire/portion.h)
 *   POST /v1/portions     a collector hands over its portion of a batch
 *   GET, POST /v1/state   what is expected of each collector; a collector greets (watch.h)
 *
 * Portions go into the spool (faro_spool_join). When all of a batch are there, it is a batch like
 * any other shuffler's, and nothing of it has left before. */
#ifndef FARO_SERVICE_SHUFFLER_JOINER_H
#define FARO_SERVICE_SHUFFLER_JOINER_H

#include <stdatomic.h>

#include "service/role/intake.h"
#include "service/shuffler/shuffler_settings.h"

typedef struct faro_joiner faro_joiner;

/* Everything must outlive the joiner. */
typedef struct faro_joiner_params {
  const faro_shuffler_settings *settings;
  const faro_campaign *campaign;
  const faro_sign_key *key;
  size_t shuffler;
  faro_intake *intake;
  faro_metrics *metrics;
  const atomic_bool *ended; /* the campaign has ended */
} faro_joiner_params;

faro_status faro_joiner_create(faro_joiner **joiner, const faro_joiner_params *params,
                               faro_error *error) FARO_WARN_UNUSED;
void faro_joiner_destroy(faro_joiner *joiner); /* NULL is allowed */

/* Bytes of the largest portion that any campaign can have. */
size_t faro_joiner_limit(const faro_shuffler_settings *settings);
/* A request, or the headers of one with a portion. */
faro_status faro_joiner_admit(const faro_joiner *joiner, const faro_http_request *request,
                              faro_error *error) FARO_WARN_UNUSED;
void faro_joiner_take(faro_joiner *joiner, faro_http_request *request);
void faro_joiner_list(const faro_joiner *joiner, faro_http_request *request);
void faro_joiner_greeting(faro_joiner *joiner, faro_http_request *request);
void faro_joiner_state(faro_joiner *joiner, faro_http_request *request);

/* Sets or clears the reasons for being unwell that lie with the collectors. */
void faro_joiner_check(faro_joiner *joiner, faro_health *health);

#endif
