/* shards: one experiment played by several processes, and their journals merged (faro/shard.h). */
#include <stdio.h>

#include "experiment.h"

enum { PATH_MAX_HERE = 4096 };

/* run_shard(shard, jobs, folder, fresh, progress) -> instances finished */
PyObject *shards_run(PyObject *self, PyObject *positional) {
  const faro_experiment *experiment = ((experiment_object *)self)->experiment;
  const char *part = NULL;
  const char *folder = NULL;
  char journal[PATH_MAX_HERE];
  Py_ssize_t jobs = 0;
  int fresh = 0;
  PyObject *progress = NULL;
  size_t shard = 0;
  size_t shards = 0;
  faro_error error = {0};
  watch w;
  if (!PyArg_ParseTuple(positional, "snspO:run_shard", &part, &jobs, &folder, &fresh, &progress)) return NULL;
  if (jobs < 0 || jobs > 1024) return errors_invalid("jobs must be 0 .. 1024 (got %zd)", jobs);
  faro_status status = faro_shard_read(part, &shard, &shards, &error);
  if (status != FARO_OK) return errors_raise(status, &error);
  if (faro_shard_journal(folder, shard, shards, journal, sizeof journal) >= PATH_MAX_HERE)
    return errors_invalid("out must be a path of at most %d bytes", PATH_MAX_HERE - 64);
  if (!watch_begin(&w, progress)) return NULL;
  const faro_run_options options = {.jobs = (size_t)jobs,
                                    .journal = journal,
                                    .fresh = fresh,
                                    .stopped = watch_stopped,
                                    .progress = watch_run,
                                    .context = &w,
                                    .shard = shard,
                                    .shards = shards};
  faro_results *results = NULL;
  status = faro_shard_keep(experiment, folder, &error);
  if (status == FARO_OK) status = faro_run(experiment, &options, &results, &error);
  const size_t total = results ? results->total : 0;
  faro_results_destroy(results);
  watch_end(&w);
  if (PyErr_Occurred()) return NULL;
  return status == FARO_OK ? PyLong_FromSize_t(total) : errors_raise(status, &error);
}

static void ignore_missing(void *context, size_t cell, size_t instance) {
  (void)context;
  (void)cell;
  (void)instance;
}

static void remove_all(const faro_shard_list *list, const char *folder) {
  char path[PATH_MAX_HERE];
  for (size_t i = 0; i < list->count; i++) (void)remove(list->path[i]);
  if (snprintf(path, sizeof path, "%s/shards.json", folder) < PATH_MAX_HERE) (void)remove(path);
}

/* merge(folder) -> Report. The journals are removed when the report is written. */
PyObject *shards_merge(PyObject *self, PyObject *folder) {
  const faro_experiment *experiment = ((experiment_object *)self)->experiment;
  const char *path = PyUnicode_AsUTF8AndSize(folder, NULL);
  faro_shard_list list = {0};
  faro_results *results = NULL;
  faro_report *report = NULL;
  faro_error error = {0};
  if (!path) return NULL;
  faro_status status = FARO_OK;
  Py_BEGIN_ALLOW_THREADS status = faro_shard_find(&list, path, &error);
  const faro_run_options options = {
      .journals = list.path, .journal_count = list.count, .missing = ignore_missing};
  if (status == FARO_OK) status = faro_run(experiment, &options, &results, &error);
  if (status == FARO_OK) status = faro_report_make(&report, experiment, results, &error);
  if (status == FARO_OK) status = faro_report_write(report, path, &error);
  if (status == FARO_OK) remove_all(&list, path);
  faro_results_destroy(results);
  faro_shard_clear(&list);
  Py_END_ALLOW_THREADS if (status == FARO_OK) return report_new(report);
  faro_report_destroy(report);
  return errors_raise(status, &error);
}

PyObject *shards_recall(PyObject *module, PyObject *folder) {
  const char *path = PyUnicode_AsUTF8AndSize(folder, NULL);
  faro_error error = {0};
  (void)module;
  if (!path) return NULL;
  experiment_object *e =
      (experiment_object *)((allocfunc)PyType_GetSlot(experiment_type, Py_tp_alloc))(experiment_type, 0);
  if (!e) return NULL;
  const faro_status status = faro_shard_recall(&e->experiment, path, NULL, &error);
  if (status == FARO_OK) return (PyObject *)e;
  Py_DECREF((PyObject *)e);
  return errors_raise(status, &error);
}
