/* metrics: see the header. */
#include "service/http/metrics.h"

#include <dirent.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

/* The labels of a line: those of its set, those of the metric, and `more`. */
static void write_name(const faro_metric *m, const char *end, const char *label, const char *more,
                       faro_text *out) {
  const char *part[] = {label, m->labels, more};
  const char *before = "{";
  faro_text_add(out, "%s%s", m->name, end);
  for (size_t i = 0; i < 3; i++)
    if (*part[i] != '\0') {
      faro_text_add(out, "%s%s", before, part[i]);
      before = ",";
    }
  faro_text_add(out, *before == ',' ? "} " : " ");
}

static void write_plain(const faro_metric *m, const char *label, faro_text *out) {
  write_name(m, "", label, "", out);
  if (m->kind == COUNTER) faro_text_add(out, "%llu\n", (unsigned long long)atomic_load(&m->count));
  else faro_text_add(out, "%.15g\n", atomic_load(&m->value));
}

static void write_histogram(const faro_metric *m, const char *label, faro_text *out) {
  uint64_t below = 0;
  for (size_t i = 0; i < FARO_BUCKETS; i++) {
    char le[32];
    below += atomic_load(&m->bucket[i]);
    snprintf(le, sizeof le, "le=\"%g\"", bound[i]);
    write_name(m, "_bucket", label, le, out);
    faro_text_add(out, "%llu\n", (unsigned long long)below);
  }
  const unsigned long long count = atomic_load(&m->count);
  write_name(m, "_bucket", label, "le=\"+Inf\"", out);
  faro_text_add(out, "%llu\n", count);
  write_name(m, "_sum", label, "", out);
  faro_text_add(out, "%.6f\n", (double)atomic_load(&m->micros) / 1e6);
  write_name(m, "_count", label, "", out);
  faro_text_add(out, "%llu\n", count);
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

static double open_files(void) {
  double count = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (folder && readdir(folder)) count++;
  if (folder) closedir(folder);
  return count;
}

static void write_gauge(faro_text *out, const char *name, const char *help, double value) {
  faro_text_add(out, "# HELP %s %s\n# TYPE %s gauge\n%s %.0f\n", name, help, name, name, value);
}

/* Memory and files move with single connections and reports, so both are rounded up. */
static void write_process(faro_text *out) {
  static const double memory = 16 << 20, files = 16;
  struct rlimit most = {0};
  (void)getrlimit(RLIMIT_NOFILE, &most);
  write_gauge(out, "process_resident_memory_bytes", "Memory of the process, rounded up to 16 MiB.",
              memory * ceil(resident() / memory));
  write_gauge(out, "process_open_fds", "Open files and connections, rounded up to 16.",
              files * ceil(open_files() / files));
  write_gauge(out, "process_max_fds", "Limit of open files.", (double)most.rlim_cur);
  faro_text_add(out,
                "# HELP faro_build_info The program; always 1.\n# TYPE faro_build_info gauge\n"
                "faro_build_info{version=\"%s\",commit=\"%s\"} 1\n",
                faro_version(), faro_commit());
}

static bool has_name(const faro_metrics *metrics, const char *name) {
  for (size_t i = 0; i < metrics->count; i++)
    if (strcmp(metrics->metric[i].name, name) == 0) return true;
  return false;
}

/* The lines of one name in all sets. */
static void write_family(const faro_metrics_set *sets, size_t count, const faro_metric *first,
                         faro_text *out) {
  static const char *const kind[] = {"counter", "gauge", "histogram"};
  faro_text_add(out, "# HELP %s %s\n# TYPE %s %s\n", first->name, first->help, first->name,
                kind[first->kind]);
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < sets[i].metrics->count; j++) {
      const faro_metric *m = &sets[i].metrics->metric[j];
      if (strcmp(m->name, first->name) != 0) continue;
      if (m->kind == HISTOGRAM) write_histogram(m, sets[i].label, out);
      else write_plain(m, sets[i].label, out);
    }
}

void faro_metrics_write_sets(const faro_metrics_set *sets, size_t count, faro_text *out) {
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < sets[i].metrics->count; j++) {
      const faro_metric *m = &sets[i].metrics->metric[j];
      bool written = j > 0 && strcmp(m->name, m[-1].name) == 0;
      for (size_t k = 0; !written && k < i; k++) written = has_name(sets[k].metrics, m->name);
      if (!written) write_family(sets + i, count - i, m, out);
    }
  write_process(out);
}

void faro_metrics_write(const faro_metrics *metrics, faro_text *out) {
  const faro_metrics_set one = {.metrics = metrics};
  faro_metrics_write_sets(&one, 1, out);
}
