/* health: see the header. */
#include "service/role/health.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "service/role/log.h"

static const double START = 5; /* seconds */

static const char *const label[FARO_ILLS] = {
#define X(name, label, serves) label,
    FARO_ILL_LIST(X)
#undef X
};
static const bool serves[FARO_ILLS] = {
#define X(name, label, serves) serves,
    FARO_ILL_LIST(X)
#undef X
};

void faro_health_init(faro_health *h, faro_metrics *metrics) {
  static const char *const labels[FARO_ILLS] = {
#define X(name, label, serves) "reason=\"" label "\"",
      FARO_ILL_LIST(X)
#undef X
  };
  memset(h, 0, sizeof *h);
  h->start = faro_clock();
  pthread_mutex_init(&h->mutex, NULL);
  pthread_mutex_init(&h->change, NULL);
  for (size_t i = 0; i < FARO_ILLS; i++)
    h->gauge[i] = faro_metrics_gauge(metrics, "faro_unwell", labels[i],
                                     "1 while this is a reason why the role is unwell, 0 otherwise.");
}

void faro_health_clear(faro_health *h) {
  pthread_mutex_destroy(&h->mutex);
  pthread_mutex_destroy(&h->change);
}

const char *faro_health_words(const faro_error *error) {
  const bool server = strncmp(error->message, "PostgreSQL:", 11) == 0;
  return server ? "the database cannot be used; see the log" : error->message;
}

/* Before the text is changed: who sees it sees the gauge and the log, too. */
static void tell_change(faro_health *h, faro_ill ill, const char *now) {
  const bool is = *now != '\0';
  const bool starting = ill == FARO_ILL_NO_CAMPAIGN && faro_clock() < h->start + START;
  faro_metric_set(h->gauge[ill], is);
  if (h->logged[ill] == is || (is && starting)) return;
  h->logged[ill] = is;
  if (!is) faro_log(FARO_LOG_INFO, "well-again", "ss", "reason", label[ill]);
  else faro_log(FARO_LOG_ERROR, "unwell", "ss ss", "reason", label[ill], "text", now);
}

void faro_health_set(faro_health *h, faro_ill ill, const char *text) {
  const char *now = text ? text : "";
  pthread_mutex_lock(&h->change); /* a log that is not read keeps nobody from the texts */
  tell_change(h, ill, now);
  pthread_mutex_lock(&h->mutex);
  snprintf(h->text[ill], FARO_ILL_TEXT, "%s", now);
  pthread_mutex_unlock(&h->mutex);
  pthread_mutex_unlock(&h->change);
}

const char *faro_ill_label(faro_ill ill) { return label[ill]; }

bool faro_health_get(faro_health *h, faro_ill ill, char text[static FARO_ILL_TEXT]) {
  pthread_mutex_lock(&h->mutex);
  memcpy(text, h->text[ill], FARO_ILL_TEXT);
  pthread_mutex_unlock(&h->mutex);
  return *text != '\0';
}

bool faro_health_write(faro_health *h, bool ready, faro_text *reasons) {
  char text[FARO_ILL_TEXT];
  bool well = true;
  for (size_t i = 0; i < FARO_ILLS; i++) {
    if ((ready && serves[i]) || !faro_health_get(h, (faro_ill)i, text)) continue;
    well = false;
    if (reasons) faro_text_add(reasons, "%s: %s\n", label[i], text);
  }
  return well;
}
