/* reload: what a role does on SIGHUP: it reads its certificate and its clients' tokens again. A file
 * that cannot be used is logged, and what was read before stays. Connections are not touched. */
#ifndef FARO_SERVICE_ROLE_RELOAD_H
#define FARO_SERVICE_ROLE_RELOAD_H

#include "service/http/server.h"
#include "service/role/intake.h"

/* intake NULL: the role has no clients, and `tokens` is not read. */
void faro_role_reload(faro_http *http, faro_intake *intake, const char *tokens);

#endif
