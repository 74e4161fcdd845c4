/* log: one JSON object per line on stderr: time, level, event, and the event's fields.
 *
 * Fields are counts, batch numbers and reasons. Never log an address, a token, a sequence number or
 * anything from a report. */
#ifndef FARO_SERVICE_ROLE_LOG_H
#define FARO_SERVICE_ROLE_LOG_H

#include <faro/base.h>

typedef enum faro_log_level { FARO_LOG_INFO, FARO_LOG_WARNING, FARO_LOG_ERROR } faro_log_level;

/* `fields` is NULL or a format of jansson's json_pack without braces:
 *
 *   faro_log(FARO_LOG_INFO, "batch-closed", "sI ss", "batch", (json_int_t)3, "form", "bits"); */
void faro_log(faro_log_level level, const char *event, const char *fields, ...);
/* Logs an error as an event, with its message as "reason". */
void faro_log_error(const char *event, const faro_error *error);

#endif
