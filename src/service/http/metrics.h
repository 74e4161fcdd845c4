/* metrics: counters, gauges and histograms of seconds, as Prometheus reads them. Nothing in them is
 * per client. */
#ifndef FARO_SERVICE_HTTP_METRICS_H
#define FARO_SERVICE_HTTP_METRICS_H

#include <faro/base.h>

#include "base/text.h"

typedef struct faro_metrics faro_metrics;
typedef struct faro_metric faro_metric;

faro_status faro_metrics_create(faro_metrics **metrics, faro_error *error) FARO_WARN_UNUSED;
void faro_metrics_destroy(faro_metrics *metrics);

/* Call these at the start only, from one thread; metrics of one name must follow each other.
 * `labels` is "" or like result="accepted". Strings are not copied. More than FARO_METRICS_MAX
 * metrics are a bug. */
enum { FARO_METRICS_MAX = 128 };
faro_metric *faro_metrics_counter(faro_metrics *metrics, const char *name, const char *labels,
                                  const char *help);
faro_metric *faro_metrics_gauge(faro_metrics *metrics, const char *name, const char *labels,
                                const char *help);
faro_metric *faro_metrics_seconds(faro_metrics *metrics, const char *name, const char *labels,
                                  const char *help);

/* Call these from any thread. */
void faro_metric_add(faro_metric *counter, uint64_t count);
void faro_metric_set(faro_metric *gauge, double value);
void faro_metric_observe(faro_metric *histogram, double seconds);

/* Times that are not shown yet, of one thread. Start with {0}; faro_metric_merge adds them to a
 * histogram. */
enum { FARO_BUCKETS = 12 };
typedef struct faro_times {
  uint64_t count, micros;        /* how many, and their sum in microseconds */
  uint64_t bucket[FARO_BUCKETS]; /* how many are at most this bound and above the one before */
} faro_times;
void faro_times_add(faro_times *times, double seconds);
void faro_metric_merge(faro_metric *histogram, const faro_times *times);

/* All metrics, and memory, files and version of the process, as text (exposition format 0.0.4). */
void faro_metrics_write(const faro_metrics *metrics, faro_text *out);
/* The same for several sets, with a label in front of those that a metric has itself: the lines of
 * one name together, as the format wants. `label` is "" or like campaign="walk". */
typedef struct faro_metrics_set {
  const faro_metrics *metrics;
  char label[96];
} faro_metrics_set;
void faro_metrics_write_sets(const faro_metrics_set *sets, size_t count, faro_text *out);

#endif
