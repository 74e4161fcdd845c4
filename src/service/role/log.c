/* log: see the header. A line is written by one call, so that lines of several threads do not
 * mix. */
#include "service/role/log.h"

#include <jansson.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

enum { KINDS = 32 };            /* different lines that are told apart */
static const double PAUSE = 10; /* seconds between lines of one kind */

/* A line that may repeat. */
typedef struct kind {
  faro_log_level level;
  char event[40], reason[sizeof(faro_error)];
  double at;     /* when it was written last; meaningless if `event` is empty */
  uint64_t held; /* how often it came since */
} kind;

static struct {
  const char *role;
  pthread_mutex_t mutex; /* guards the rest */
  kind kind[KINDS];
  uint64_t crowded; /* lines of other kinds, when KINDS of them came within PAUSE */
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local const char *campaign;

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

/* Writes a line; `more` is NULL or an object of further members. */
static void write_line(faro_log_level level, const char *event, json_t *more) {
  static const char *const name[] = {"info", "warning", "error"};
  char time[40];
  now(time);
  json_t *line = json_pack("{ss ss}", "time", time, "level", name[level]);
  if (line && all.role) (void)json_object_set_new(line, "role", json_string(all.role));
  if (line) (void)json_object_set_new(line, "pid", json_integer(getpid()));
  if (line && campaign && *campaign) (void)json_object_set_new(line, "campaign", json_string(campaign));
  if (line) (void)json_object_set_new(line, "event", json_string(event));
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

/* Lines that repeat. */

static void write_held(const kind *k) {
  json_t *more = json_pack("{ss sI}", "reason", k->reason, "repeated", (json_int_t)k->held);
  write_line(k->level, k->event, more);
}

/* Writes the number of lines that were held back, if their pause is over at `time`. */
static void write_due(double time) {
  kind due[KINDS];
  size_t count = 0;
  pthread_mutex_lock(&all.mutex);
  for (size_t i = 0; i < KINDS; i++)
    if (all.kind[i].held > 0 && time >= all.kind[i].at + PAUSE) {
      due[count++] = all.kind[i];
      all.kind[i].held = 0;
      all.kind[i].at = time;
    }
  const uint64_t crowded = count > 0 || time >= 1e300 ? all.crowded : 0;
  all.crowded -= crowded;
  pthread_mutex_unlock(&all.mutex);
  for (size_t i = 0; i < count; i++) write_held(&due[i]);
  if (crowded > 0)
    write_line(FARO_LOG_WARNING, "lines-left-out", json_pack("{sI}", "count", (json_int_t)crowded));
}

void faro_log_flush(void) { write_due(1e300); }

/* The place of a kind: its own, or one that may be taken; NULL: there is none. Call it under the
 * mutex. */
static kind *place_of(const char *event, const char *reason, double time) {
  kind *free_one = NULL;
  for (size_t i = 0; i < KINDS; i++) {
    kind *k = &all.kind[i];
    if (strcmp(k->event, event) == 0 && strcmp(k->reason, reason) == 0) return k;
    if (*k->event == '\0' || (k->held == 0 && time >= k->at + PAUSE)) free_one = k;
  }
  if (free_one) *free_one = (kind){.at = time - PAUSE};
  return free_one;
}

/* Whether a line may be written now; if not, it is counted. */
static bool is_due(faro_log_level level, const char *event, const char *reason, double time) {
  char word[sizeof all.kind->event], text[sizeof all.kind->reason];
  snprintf(word, sizeof word, "%s", event);
  snprintf(text, sizeof text, "%s", reason);
  pthread_mutex_lock(&all.mutex);
  kind *k = place_of(word, text, time);
  const bool due = k && time >= k->at + PAUSE;
  if (due) {
    *k = (kind){.level = level, .at = time};
    memcpy(k->event, word, sizeof word);
    memcpy(k->reason, text, sizeof text);
  } else if (k) k->held++;
  else all.crowded++;
  pthread_mutex_unlock(&all.mutex);
  return due;
}

void faro_log_role(const char *role) { all.role = role; }

void faro_log_campaign(const char *name) { campaign = name; }
const char *faro_log_campaign_now(void) { return campaign; }

void faro_log(faro_log_level level, const char *event, const char *fields, ...) {
  va_list args;
  va_start(args, fields);
  json_t *more = pack(fields, args);
  va_end(args);
  const double time = faro_clock();
  const char *reason = json_string_value(json_object_get(more, "reason"));
  if (!reason) reason = json_string_value(json_object_get(more, "answer"));
  write_due(time);
  if (level == FARO_LOG_INFO || is_due(level, event, reason ? reason : "", time))
    write_line(level, event, more);
  else json_decref(more);
}

void faro_log_error(const char *event, const faro_error *error) {
  char reason[sizeof error->message]; /* it may quote bytes of others, and JSON needs UTF-8 */
  faro_log(FARO_LOG_ERROR, event, "ss", "reason", faro_printable(error->message, reason, sizeof reason));
}
