/* log: one JSON object per line on stderr: time, level, role, pid, event, and the event's fields.
 *
 * A warning or error that repeats (the same event for the same reason) is written at once, and then
 * at most every ten seconds, with the number of repetitions since. So a full disk does not fill the
 * disk of the log too.
 *
 * Fields are counts, batch numbers and reasons. Never log an address, a token, a sequence number or
 * anything from a report. */
#ifndef FARO_SERVICE_ROLE_LOG_H
#define FARO_SERVICE_ROLE_LOG_H

#include <faro/base.h>

typedef enum faro_log_level { FARO_LOG_INFO, FARO_LOG_WARNING, FARO_LOG_ERROR } faro_log_level;

/* Names the role in all later lines; the text must last. Call it before any thread is created. */
void faro_log_role(const char *role);

/* Names the campaign in all later lines of this thread, if a process has several; NULL or "": none.
 * The text must last. */
void faro_log_campaign(const char *name);
const char *faro_log_campaign_now(void); /* for a thread that this one creates */

/* `fields` is NULL or a format of jansson's json_pack without braces:
 *
 *   faro_log(FARO_LOG_INFO, "batch-closed", "sI ss", "batch", (json_int_t)3, "form", "bits"); */
void faro_log(faro_log_level level, const char *event, const char *fields, ...);
/* Logs an error as an event, with its message as "reason". */
void faro_log_error(const char *event, const faro_error *error);
/* Writes what was held back, with its number. Call it at the end. */
void faro_log_flush(void);

#endif
