/* reload: see the header. */
#include "service/role/reload.h"

#include <jansson.h>

#include "service/role/log.h"

void faro_reload_certificate(faro_http *http) {
  faro_error error = {0};
  bool changed = false;
  if (faro_http_reload(http, &changed, &error) != FARO_OK) faro_log_error("certificate-not-reloaded", &error);
  else if (changed) faro_log(FARO_LOG_INFO, "certificate-reloaded", NULL);
}

void faro_reload_tokens(faro_intake *intake, const char *path) {
  faro_error error = {0};
  size_t count = 0;
  if (faro_intake_reload(intake, path, &count, &error) != FARO_OK)
    faro_log_error("tokens-not-reloaded", &error);
  else faro_log(FARO_LOG_INFO, "tokens-reloaded", "sI", "tokens", (json_int_t)count);
}
