/* experiment: faro._faro.Experiment, an experiment file that was read, and its run (faro/sim.h). */
#include "experiment.h"

#include <stdio.h>
#include <stdlib.h>

PyTypeObject *experiment_type;

/* The overrides of a list of (key, value) pairs of strings. The list must stay. NULL with an
 * exception. */
static faro_override *read_overrides(PyObject *list, size_t *count) {
  *count = (size_t)PyTuple_Size(list);
  faro_override *made = calloc(*count + 1, sizeof *made);
  if (!made) PyErr_NoMemory();
  for (size_t i = 0; made && i < *count; i++) {
    PyObject *pair = PyTuple_GetItem(list, (Py_ssize_t)i);
    if (PyTuple_Check(pair) && PyArg_ParseTuple(pair, "ss", &made[i].key, &made[i].value)) continue;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "overrides must be pairs of strings");
    free(made);
    made = NULL;
  }
  return made;
}

/* Experiment(text, file, name, overrides, quick, command) */
static PyObject *new (PyTypeObject *type, PyObject *positional, PyObject *keywords) {
  const char *text = NULL;
  const char *file = NULL;
  const char *name = NULL;
  const char *command = NULL;
  Py_ssize_t length = 0;
  PyObject *list = NULL;
  int quick = 0;
  (void)keywords;
  if (!PyArg_ParseTuple(positional, "s#szO!pz:Experiment", &text, &length, &file, &name, &PyTuple_Type, &list,
                        &quick, &command))
    return NULL;
  size_t count = 0;
  faro_override *overrides = read_overrides(list, &count);
  experiment_object *e =
      overrides ? (experiment_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0) : NULL;
  const faro_experiment_options options = {
      .overrides = overrides, .override_count = count, .quick = quick, .name = name, .command = command};
  faro_error error = {0};
  faro_status status = FARO_OK;
  if (e) {
    Py_BEGIN_ALLOW_THREADS /* calibrating may take seconds */
        status = faro_experiment_parse(&e->experiment, file, text, (size_t)length, &options, &error);
    Py_END_ALLOW_THREADS
  }
  free(overrides);
  if (e && status != FARO_OK) {
    Py_DECREF((PyObject *)e);
    return errors_raise(status, &error);
  }
  return (PyObject *)e;
}

static void dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  faro_experiment_destroy(((experiment_object *)self)->experiment);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF((PyObject *)type);
}

/* The journal may go when the report is written. */
static faro_status make_report(const faro_experiment *experiment, const faro_results *results,
                               const char *folder, const char *journal, faro_report **report,
                               faro_error *error) {
  faro_status status = faro_report_make(report, experiment, results, error);
  if (status == FARO_OK && folder) status = faro_report_write(*report, folder, error);
  if (status == FARO_OK && journal) (void)remove(journal);
  return status;
}

/* run(jobs, folder, journal, fresh, progress) -> Report */
static PyObject *run(PyObject *self, PyObject *positional) {
  experiment_object *e = (experiment_object *)self;
  Py_ssize_t jobs = 0;
  const char *folder = NULL;
  const char *journal = NULL;
  int fresh = 0;
  PyObject *progress = NULL;
  if (!PyArg_ParseTuple(positional, "nzzpO:run", &jobs, &folder, &journal, &fresh, &progress)) return NULL;
  if (jobs < 0 || jobs > 1024) return errors_invalid("jobs must be 0 .. 1024 (got %zd)", jobs);
  watch w;
  if (!watch_begin(&w, progress)) return NULL;
  const faro_run_options options = {.jobs = (size_t)jobs,
                                    .journal = journal,
                                    .fresh = fresh,
                                    .stopped = watch_stopped,
                                    .progress = watch_run,
                                    .context = &w};
  faro_results *results = NULL;
  faro_report *report = NULL;
  faro_error error = {0};
  faro_status status = faro_run(e->experiment, &options, &results, &error);
  if (status == FARO_OK && !watch_stopped(&w))
    status = make_report(e->experiment, results, folder, journal, &report, &error);
  faro_results_destroy(results);
  watch_end(&w);
  if (PyErr_Occurred()) {
    faro_report_destroy(report);
    return NULL;
  }
  return status == FARO_OK ? report_new(report) : errors_raise(status, &error);
}

static PyObject *claims(PyObject *self, PyObject *unused) {
  (void)unused;
  return text_take(faro_report_claims(((experiment_object *)self)->experiment));
}

static PyObject *estimate(PyObject *self, PyObject *seconds) {
  faro_estimate found;
  faro_error error = {0};
  double number = 0;
  faro_status status = FARO_OK;
  if (!keywords_number(seconds, "seconds", &number)) return NULL;
  if (number <= 0 || number > 3600)
    return errors_invalid("seconds must be above 0, to 3600 (got %R)", seconds);
  Py_BEGIN_ALLOW_THREADS status =
      faro_run_estimate(((experiment_object *)self)->experiment, number, &found, &error);
  Py_END_ALLOW_THREADS if (status != FARO_OK) return errors_raise(status, &error);
  return Py_BuildValue("{s:n,s:n,s:d,s:d}", "cells", (Py_ssize_t)found.cells, "instances",
                       (Py_ssize_t)found.instances, "rounds", found.rounds, "seconds", found.seconds);
}

static PyObject *name(PyObject *self, void *unused) {
  (void)unused;
  return PyUnicode_FromString(faro_experiment_name(((experiment_object *)self)->experiment));
}

static PyObject *title(PyObject *self, void *unused) {
  (void)unused;
  return PyUnicode_FromString(faro_experiment_title(((experiment_object *)self)->experiment));
}

static PyObject *identity(PyObject *self, void *unused) {
  (void)unused;
  return PyUnicode_FromString(faro_experiment_identity(((experiment_object *)self)->experiment));
}

static PyMethodDef methods[] = {
    {"run", run, METH_VARARGS,
     "run(jobs, folder, journal, fresh, progress)\n--\n\nPlays every algorithm and returns a Report."},
    {"run_shard", shards_run, METH_VARARGS,
     "run_shard(shard, jobs, folder, fresh, progress)\n--\n\nPlays part I/N into a journal of its own."},
    {"merge", shards_merge, METH_O,
     "merge(folder)\n--\n\nMakes a Report of the journals that shards have written."},
    {"claims", claims, METH_NOARGS, "claims()\n--\n\nThe claims, in the form of run.json, without results."},
    {"estimate", estimate, METH_O, "estimate(seconds)\n--\n\nWhat a run would take, from a rehearsal."},
    {0}};

static PyGetSetDef members[] = {{"name", name, NULL, "The experiment's name.", NULL},
                                {"title", title, NULL, "Its title.", NULL},
                                {"identity", identity, NULL, "Digits that name its settings.", NULL},
                                {0}};

static PyMethodDef functions[] = {
    {"recall", shards_recall, METH_O, "recall(folder)\n--\n\nThe Experiment whose shards are in a folder."},
    {0}};

bool experiment_add(PyObject *module) {
  static PyType_Slot slots[] = {{Py_tp_new, new},
                                {Py_tp_dealloc, dealloc},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, members},
                                {Py_tp_doc, "An experiment that was read and checked; see faro.run."},
                                {0, NULL}};
  static PyType_Spec spec = {.name = "faro._faro.Experiment",
                             .basicsize = sizeof(experiment_object),
                             .flags = Py_TPFLAGS_DEFAULT,
                             .slots = slots};
  experiment_type = type_add(module, &spec, "Experiment");
  return experiment_type && PyModule_AddFunctions(module, functions) == 0;
}
