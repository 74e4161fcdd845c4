/* metrics: counters, gauges and histograms of seconds, as Prometheus reads them. Nothing is kept or told per client. */
#ifndef FARO_SERVICE_HTTP_METRICS_H
#define FARO_SERVICE_HTTP_METRICS_H

#include <faro/base.h>

#include "base/text.h"

typedef struct faro_metrics faro_metrics;
typedef struct faro_metric faro_metric;

faro_status faro_metrics_create(faro_metrics **metrics, faro_error *error) FARO_WARN_UNUSED;
void faro_metrics_destroy(faro_metrics *metrics);

/* At start only, one after another; those of one name stand together. `labels` is "" or like result="accepted". Names
 * live as long as the program. There is room for FARO_METRICS_MAX; more are a bug. */
enum { FARO_METRICS_MAX = 64 };
faro_metric *faro_metrics_counter(faro_metrics *metrics, const char *name, const char *labels,
                                  const char *help);
faro_metric *faro_metrics_gauge(faro_metrics *metrics, const char *name, const char *labels,
                                const char *help);
faro_metric *faro_metrics_seconds(faro_metrics *metrics, const char *name, const char *labels,
                                  const char *help);

/* From any thread. */
void faro_metric_add(faro_metric *counter, uint64_t count);
void faro_metric_set(faro_metric *gauge, double value);
void faro_metric_observe(faro_metric *histogram, double seconds);
/* From now on what is counted is shown at the next faro_metrics_show only. For numbers that would tell, one request after
 * another, who is in an open batch. */
void faro_metric_later(faro_metric *metric);
void faro_metrics_show(faro_metrics *metrics);

/* All of them as text (exposition format 0.0.4), and the process's memory with them. */
void faro_metrics_write(const faro_metrics *metrics, faro_text *out);

#endif
