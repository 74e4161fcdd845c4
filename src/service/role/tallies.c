/* tallies: see the header. */
#include "service/role/tallies.h"

#include <stdio.h>
#include <string.h>

static const double EVERY = 30; /* seconds */
enum { ALARM = 3 };             /* draws, each of which stands for a hundred refusals */

static const char *const text[FARO_VERDICT_COUNT] = {
#define X(name, label, text) text,
    FARO_VERDICT_LIST(X)
#undef X
};

void faro_tallies_init(faro_tallies *t, faro_metrics *metrics, double now) {
  static const char *const label[] = {
#define X(name, word, text) "result=\"" word "\"",
      FARO_VERDICT_LIST(X)
#undef X
  };
  *t = (faro_tallies){.look_at = now + EVERY};
  pthread_mutex_init(&t->mutex, NULL);
  for (size_t i = 0; i < FARO_VERDICT_COUNT; i++) {
    faro_thinned_init(&t->refused[i]);
    t->verdict[i] = faro_metrics_counter(metrics, "faro_reports_total", label[i],
                                         "Reports by verdict. With a known token: exact when a batch closes, "
                                         "until then refusals only, in hundreds.");
  }
  for (size_t i = 0; i < FARO_STATUS_CLASSES; i++) faro_thinned_init(&t->posts[i]);
  faro_thinned_init(&t->accepted);
  t->seconds = faro_metrics_seconds(metrics, "faro_acknowledgement_seconds", "",
                                    "Time from the arrival of a post until its reports are durable.");
}

void faro_tallies_clear(faro_tallies *t) { pthread_mutex_destroy(&t->mutex); }

static bool is_stranger(faro_verdict verdict) {
  return verdict == FARO_VERDICT_CAMPAIGN || verdict == FARO_VERDICT_MALFORMED ||
         verdict == FARO_VERDICT_TOKEN || verdict == FARO_VERDICT_ELSEWHERE;
}

bool faro_tallies_stranger(const faro_tallies *t, faro_verdict verdict) {
  if (is_stranger(verdict)) faro_metric_add(t->verdict[verdict], 1);
  return is_stranger(verdict);
}

/* Refusals that keep a campaign from learning, however many clients come. */
static bool is_wedge(faro_verdict verdict) {
  return verdict == FARO_VERDICT_STALE || verdict == FARO_VERDICT_SPENT || verdict == FARO_VERDICT_REPLAY;
}

static void take_heart(faro_tallies *t) {
  memset(t->drawn, 0, sizeof t->drawn);
  t->good = true;
}

void faro_tallies_add(faro_tallies *t, faro_verdict verdict, uint64_t count) {
  if (is_stranger(verdict)) faro_metric_add(t->verdict[verdict], count);
  else if (verdict == FARO_VERDICT_KNOWN) t->exact[verdict] += count;
  else if (verdict != FARO_VERDICT_ACCEPTED)
    t->drawn[verdict] += faro_thinned_add(&t->refused[verdict], count);
  else if (faro_thinned_add(&t->accepted, count) > 0) take_heart(t); /* the number comes with the batch */
}

void faro_tallies_answer(faro_tallies *t, faro_http_request *request, unsigned status) {
  faro_tallies_posts(t, status / 100, faro_http_uncounted(request, status), 1);
}

void faro_tallies_posts(faro_tallies *t, size_t class, faro_metric *answers, uint64_t count) {
  t->answers[class] = answers;
  (void)faro_thinned_add(&t->posts[class], count);
}

void faro_tallies_time(faro_tallies *t, double seconds) { faro_times_add(&t->times, seconds); }

void faro_tallies_settle(faro_tallies *t, uint64_t reports) {
  t->exact[FARO_VERDICT_ACCEPTED] += reports;
  for (size_t i = 0; i < FARO_VERDICT_COUNT; i++)
    faro_metric_add(t->verdict[i], t->exact[i] + faro_thinned_settle(&t->refused[i]));
  for (size_t i = 0; i < FARO_STATUS_CLASSES; i++)
    if (t->answers[i]) faro_metric_add(t->answers[i], faro_thinned_settle(&t->posts[i]));
  (void)faro_thinned_settle(&t->accepted);
  faro_metric_merge(t->seconds, &t->times);
  memset(t->exact, 0, sizeof t->exact);
  t->times = (faro_times){0};
  if (reports > 0) take_heart(t);
}

/* What the draws say. They are all that this may use: a count would show single reports. */
static void judge(faro_tallies *t) {
  char now[FARO_ILL_TEXT] = "";
  for (size_t i = 0; i < FARO_VERDICT_COUNT; i++)
    if (is_wedge((faro_verdict)i) && t->drawn[i] >= ALARM)
      snprintf(now, sizeof now,
               "about %llu reports were refused since anything was accepted: %s. Compare the shufflers with "
               "the analyzer, and what clients keep",
               (unsigned long long)(FARO_THINNED_STEP * t->drawn[i]), text[i]);
  pthread_mutex_lock(&t->mutex);
  if (*now || t->good) memcpy(t->refusing, now, sizeof now);
  pthread_mutex_unlock(&t->mutex);
  t->good = false;
}

void faro_tallies_look(faro_tallies *t, double now) {
  if (now < t->look_at) return;
  t->look_at = now + EVERY;
  for (size_t i = 0; i < FARO_VERDICT_COUNT; i++)
    faro_metric_add(t->verdict[i], faro_thinned_step(&t->refused[i]));
  for (size_t i = 4; i < FARO_STATUS_CLASSES; i++) /* 2xx would show how full the batch is */
    if (t->answers[i]) faro_metric_add(t->answers[i], faro_thinned_step(&t->posts[i]));
  judge(t);
}

void faro_tallies_refusing(faro_tallies *t, faro_health *health) {
  char now[FARO_ILL_TEXT];
  pthread_mutex_lock(&t->mutex);
  memcpy(now, t->refusing, sizeof now);
  pthread_mutex_unlock(&t->mutex);
  faro_health_set(health, FARO_ILL_REFUSALS, now);
}
