/* watch: signals and progress while the library works on threads of its own. The thread that called
 * takes the lock about five times a second, looks for signals and calls `progress`. Other threads
 * only read a flag. */
#include "module.h"

bool watch_begin(watch *w, PyObject *progress) {
  *w = (watch){.progress = progress == Py_None ? NULL : progress};
  if (w->progress && !PyCallable_Check(w->progress)) {
    PyErr_Format(PyExc_TypeError, "progress must be a function (got %R)", progress);
    return false;
  }
  w->thread = PyEval_SaveThread();
  return true;
}

void watch_end(watch *w) { PyEval_RestoreThread(w->thread); }

bool watch_stopped(void *context) {
  watch *w = context;
  return __atomic_load_n(&w->stop, __ATOMIC_RELAXED);
}

/* The exception stays set in the thread until the work has stopped. */
static void tell(watch *w, const char *format, size_t done, size_t total, double share) {
  if (watch_stopped(w)) return;
  PyEval_RestoreThread(w->thread);
  bool ok = PyErr_CheckSignals() == 0;
  if (ok && w->progress) {
    PyObject *result = PyObject_CallFunction(w->progress, format, (Py_ssize_t)done, (Py_ssize_t)total, share);
    ok = result != NULL;
    Py_XDECREF(result);
  }
  if (!ok) __atomic_store_n(&w->stop, 1, __ATOMIC_RELAXED);
  w->thread = PyEval_SaveThread();
}

void watch_run(void *context, size_t done, size_t total, double share) {
  tell(context, "nnd", done, total, share);
}

void watch_plan(void *context, size_t done, size_t total) {
  tell(context, "nnd", done, total, total > 0 ? (double)done / (double)total : 1);
}
