/* reload: see the header. */
#include "service/role/reload.h"

#include <jansson.h>

#include "service/role/log.h"

void faro_role_reload(faro_http *http, faro_intake *intake, const char *tokens) {
  faro_error error = {0};
  bool changed = false;
  size_t count = 0;
  if (faro_http_reload(http, &changed, &error) != FARO_OK) faro_log_error("certificate-not-reloaded", &error);
  else if (changed) faro_log(FARO_LOG_INFO, "certificate-reloaded", NULL);
  error = (faro_error){0};
  if (!intake) return;
  if (faro_intake_reload(intake, tokens, &count, &error) != FARO_OK)
    faro_log_error("tokens-not-reloaded", &error);
  else faro_log(FARO_LOG_INFO, "tokens-reloaded", "sI", "tokens", (json_int_t)count);
}
