/* metrics: see the header. */
#include "service/http/metrics.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/abort.h"

static const double bound[FARO_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                           0.1,   0.25,   0.5,   1,    2.5,   10};

typedef enum metric_kind { COUNTER, GAUGE, HISTOGRAM } metric_kind;

struct faro_metric {
  const char *name, *labels, *help;
  metric_kind kind;
  _Atomic double value;                      /* gauges only */
  atomic_uint_fast64_t count;                /* counters; histograms: all observations */
  atomic_uint_fast64_t micros;               /* histograms only: see faro_times */
  atomic_uint_fast64_t bucket[FARO_BUCKETS]; /* histograms only */
};

struct faro_metrics {
  faro_metric metric[FARO_METRICS_MAX];
  atomic_size_t count;
};

faro_status faro_metrics_create(faro_metrics **metrics, faro_error *error) {
  faro_metrics *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the metrics");
  *metrics = made;
  return FARO_OK;
}

void faro_metrics_destroy(faro_metrics *metrics) { free(metrics); }

static faro_metric *enter(faro_metrics *metrics, const char *name, const char *labels, const char *help,
                          metric_kind kind) {
  const size_t place = atomic_load(&metrics->count);
  FARO_INVARIANT(place < FARO_METRICS_MAX);
  faro_metric *metric = &metrics->metric[place];
  metric->name = name;
  metric->labels = labels;
  metric->help = help;
  metric->kind = kind;
  atomic_store(&metrics->count, place + 1); /* it may be written from now on */
  return metric;
}

faro_metric *faro_metrics_counter(faro_metrics *metrics, const char *name, const char *labels,
                                  const char *help) {
  return enter(metrics, name, labels, help, COUNTER);
}
faro_metric *faro_metrics_gauge(faro_metrics *metrics, const char *name, const char *labels,
                                const char *help) {
  return enter(metrics, name, labels, help, GAUGE);
}
faro_metric *faro_metrics_seconds(faro_metrics *metrics, const char *name, const char *labels,
                                  const char *help) {
  return enter(metrics, name, labels, help, HISTOGRAM);
}

void faro_metric_add(faro_metric *counter, uint64_t count) { atomic_fetch_add(&counter->count, count); }
void faro_metric_set(faro_metric *gauge, double value) { atomic_store(&gauge->value, value); }

void faro_times_add(faro_times *times, double seconds) {
  size_t i = 0;
  while (i < FARO_BUCKETS && seconds > bound[i]) i++;
  if (i < FARO_BUCKETS) times->bucket[i]++;
  times->micros += (uint64_t)(seconds * 1e6);
  times->count++;
}

void faro_metric_merge(faro_metric *histogram, const faro_times *times) {
  for (size_t i = 0; i < FARO_BUCKETS; i++)
    if (times->bucket[i] > 0) atomic_fetch_add(&histogram->bucket[i], times->bucket[i]);
  atomic_fetch_add(&histogram->micros, times->micros);
  atomic_fetch_add(&histogram->count, times->count);
}

void faro_metric_observe(faro_metric *histogram, double seconds) {
  faro_times one = {0};
  faro_times_add(&one, seconds);
  faro_metric_merge(histogram, &one);
}

static void write_plain(const faro_metric *m, faro_text *out) {
  const char *open = *m->labels ? "{" : "";
  const char *close = *m->labels ? "}" : "";
  if (m->kind == COUNTER)
    faro_text_add(out, "%s%s%s%s %llu\n", m->name, open, m->labels, close,
                  (unsigned long long)atomic_load(&m->count));
  else faro_text_add(out, "%s%s%s%s %.10g\n", m->name, open, m->labels, close, atomic_load(&m->value));
}

static void write_histogram(const faro_metric *m, faro_text *out) {
  const char *comma = *m->labels ? "," : "";
  uint64_t below = 0;
  for (size_t i = 0; i < FARO_BUCKETS; i++) {
    below += atomic_load(&m->bucket[i]);
    faro_text_add(out, "%s_bucket{%s%sle=\"%g\"} %llu\n", m->name, m->labels, comma, bound[i],
                  (unsigned long long)below);
  }
  const unsigned long long count = atomic_load(&m->count);
  const char *open = *m->labels ? "{" : "";
  const char *close = *m->labels ? "}" : "";
  faro_text_add(out, "%s_bucket{%s%sle=\"+Inf\"} %llu\n", m->name, m->labels, comma, count);
  faro_text_add(out, "%s_sum%s%s%s %.6f\n", m->name, open, m->labels, close,
                (double)atomic_load(&m->micros) / 1e6);
  faro_text_add(out, "%s_count%s%s%s %llu\n", m->name, open, m->labels, close, count);
}

/* The second number of statm is the number of pages in memory. */
static double resident(void) {
  char line[128] = "";
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return 0;
  const char *read = fgets(line, sizeof line, file);
  fclose(file);
  const char *second = read ? strchr(line, ' ') : NULL;
  return second ? strtod(second, NULL) * (double)sysconf(_SC_PAGESIZE) : 0;
}

void faro_metrics_write(const faro_metrics *metrics, faro_text *out) {
  static const char *const name[] = {"counter", "gauge", "histogram"};
  const size_t count = atomic_load(&metrics->count);
  for (size_t i = 0; i < count; i++) {
    const faro_metric *m = &metrics->metric[i];
    if (i == 0 || strcmp(m->name, m[-1].name) != 0)
      faro_text_add(out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, name[m->kind]);
    if (m->kind == HISTOGRAM) write_histogram(m, out);
    else write_plain(m, out);
  }
  faro_text_add(out,
                "# HELP process_resident_memory_bytes Memory of the process.\n"
                "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %.0f\n",
                resident());
}
