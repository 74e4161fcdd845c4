/* reload: what a role does on SIGHUP: it reads its certificate and the tokens of its clients again.
 * A file that cannot be used is logged, and what was read before stays. Connections are not
 * touched. */
#ifndef FARO_SERVICE_ROLE_RELOAD_H
#define FARO_SERVICE_ROLE_RELOAD_H

#include "service/http/server.h"
#include "service/role/intake.h"

void faro_reload_certificate(faro_http *http);
void faro_reload_tokens(faro_intake *intake, const char *path);

#endif
