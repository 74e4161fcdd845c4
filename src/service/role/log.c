/* log: see the header. A line is written by one call, so that lines of several threads do not
 * mix. */
#include "service/role/log.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

static void now(char out[static 40]) {
  struct timespec time;
  struct tm parts;
  clock_gettime(CLOCK_REALTIME, &time);
  gmtime_r(&time.tv_sec, &parts);
  const size_t used = strftime(out, 40, "%Y-%m-%dT%H:%M:%S", &parts);
  snprintf(out + used, 40 - used, ".%03ldZ", time.tv_nsec / 1000000);
}

static json_t *pack(const char *fields, va_list args) {
  char format[128];
  if (!fields || snprintf(format, sizeof format, "{%s}", fields) >= (int)sizeof format) return NULL;
  return json_vpack_ex(NULL, 0, format, args);
}

void faro_log(faro_log_level level, const char *event, const char *fields, ...) {
  static const char *const name[] = {"info", "warning", "error"};
  char time[40];
  now(time);
  va_list args;
  va_start(args, fields);
  json_t *more = pack(fields, args);
  va_end(args);
  json_t *line = json_pack("{ss ss ss}", "time", time, "level", name[level], "event", event);
  if (line && more) json_object_update(line, more);
  char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
  faro_text whole = FARO_TEXT_INIT;
  if (text) faro_text_add(&whole, "%s\n", text);
  if (whole.data && !whole.failed) (void)faro_write_all(STDERR_FILENO, whole.data, whole.length);
  faro_text_clear(&whole);
  free(text);
  json_decref(line);
  json_decref(more);
}

void faro_log_error(const char *event, const faro_error *error) {
  char reason[sizeof error->message]; /* it may quote bytes of others, and JSON needs UTF-8 */
  faro_log(FARO_LOG_ERROR, event, "ss", "reason", faro_printable(error->message, reason, sizeof reason));
}
