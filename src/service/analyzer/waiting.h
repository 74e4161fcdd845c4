/* waiting: an analyzer that waits for a database in a server which another one holds (store.h).
 *
 * It keeps ready what it needs to go on at any moment: its keys of batches, a copy of the campaign
 * and the number of batches that were applied; and where clients report to the analyzer itself, it
 * is a keeper of the intake too. It serves nobody. When nobody holds the database any more, it is
 * closed, and the analyzer is started in its place. Use it from one thread but for the services. */
#ifndef FARO_SERVICE_ANALYZER_WAITING_H
#define FARO_SERVICE_ANALYZER_WAITING_H

#include "service/analyzer/analyzer_settings.h"

typedef struct faro_waiting faro_waiting;

/* Reads the keys. The settings must outlive it. */
faro_status faro_waiting_create(faro_waiting **waiting, const faro_analyzer_settings *settings,
                                faro_error *error) FARO_WARN_UNUSED;
void faro_waiting_destroy(faro_waiting *waiting); /* NULL is allowed */

const faro_http_service *faro_waiting_service(const faro_waiting *waiting);
const faro_http_service *faro_waiting_admin(const faro_waiting *waiting);

/* Call it every second or so. *due: nobody holds the database, and what was open here is closed, so
 * that the analyzer can be started. */
faro_status faro_waiting_look(faro_waiting *waiting, bool *due, faro_error *error) FARO_WARN_UNUSED;

#endif
