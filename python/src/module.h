/* module: what the files of the extension module faro._faro share.
 *
 * The module uses the limited API of Python 3.11, so that one binary serves 3.11 and later, and
 * arrays through the buffer protocol, so that it needs no numpy. It includes public headers of faro
 * only. What reads better in Python is in the package around it (python/faro).
 *
 *   module.c   the module, and lists        errors.c     exceptions
 *   views.c    arrays                       keywords.c   keyword arguments by tables of settings
 *   agent.c    faro._faro.Agent             contexts.c   its features as one block per arm
 *   world.c    faro._faro.World             account.c    accountants, faro._faro.Loss
 *   plan.c     plan                         experiment.c faro._faro.Experiment
 *   report.c   faro._faro.Report            shards.c     its runs in several processes
 *   watch.c    signals and progress during long work
 *
 * The interpreter's lock is held while an object is used, except where experiments run, so objects
 * may be shared by threads. */
#ifndef FARO_PYTHON_MODULE_H
#define FARO_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <faro/faro.h>

#define FASTCALL(function) ((PyCFunction)(void (*)(void))(function))

/* ---- errors.c */

extern PyObject *faro_py_error;   /* faro.Error */
extern PyObject *faro_py_invalid; /* faro.InvalidError, which is a ValueError */

bool errors_add(PyObject *module);
/* Sets the exception of a failure, and returns NULL. */
void *errors_raise(faro_status status, const faro_error *error);
/* The same for FARO_INVALID with a message of our own. */
void *errors_invalid(const char *format, ...);

/* ---- views.c */

/* Numbers that somebody else owns, or that were copied out of a list. Clear it after use. */
typedef struct view {
  Py_buffer buffer; /* buffer.obj NULL: none is held */
  const double *x;
  size_t rows, columns; /* a vector has one row */
  double *copy;
} view;

/* `object` as `columns` finite numbers per row, at least one row; as `length` finite numbers.
 * False, with an exception and nothing to clear, if it is anything else. `name` is for messages. */
bool view_rows(view *v, PyObject *object, const char *name, size_t columns);
bool view_vector(view *v, PyObject *object, const char *name, size_t length);
void view_clear(view *v);
/* A new memoryview of doubles, 2-dimensional if rows > 0, that owns a copy of them. */
PyObject *view_new(const double *x, size_t rows, size_t columns);

/* ---- keywords.c */

/* Settings and the struct that they fill. */
typedef struct keyword_table {
  const faro_setting *table; /* ended by an empty row; NULL: none */
  void *values;
} keyword_table;

/* Fills the structs from a dictionary, which must live as long as they do: texts are not copied.
 * `skip` are names that the caller reads itself, ended by NULL. False with an exception if a name
 * is in no table, or a value is not allowed. `who` is for messages. */
bool keywords_read(PyObject *dict, const char *const *skip, const keyword_table *tables, size_t count,
                   const char *who);
/* Whether the value is a number within what the row allows, or one of its words. */
bool keywords_put(const faro_setting *row, void *values, PyObject *value);
/* The text under a name; NULL without an exception if it is absent or None. The dictionary owns
 * it. */
const char *keywords_text(PyObject *dict, const char *name);
/* A copy of the kind's settings with their defaults, for free(); NULL with an exception, or if it
 * has none. */
bool keywords_preset(const faro_setting *table, size_t size, void **values);
/* A finite number, or an exception. */
bool keywords_number(PyObject *value, const char *name, double *number);
/* A whole number below `limit`, or an exception. */
bool keywords_index(PyObject *value, const char *name, size_t limit, size_t *index);

/* ---- watch.c */

/* Watches long work that runs without the interpreter's lock. `progress` is called with the lock;
 * an exception in it, or a signal, asks the work to stop. */
typedef struct watch {
  PyObject *progress; /* NULL: nobody asked */
  PyThreadState *thread;
  int stop;
} watch;

bool watch_begin(watch *w, PyObject *progress); /* releases the lock */
void watch_end(watch *w);                       /* takes it again */
bool watch_stopped(void *context);              /* from any thread */
void watch_run(void *context, size_t done, size_t total, double share);
void watch_plan(void *context, size_t done, size_t total);

/* ---- the rest: each adds its types and functions */

bool agent_add(PyObject *module);
bool world_add(PyObject *module);
bool account_add(PyObject *module);
bool plan_add(PyObject *module);
bool experiment_add(PyObject *module);
bool report_add(PyObject *module);

/* A report that the new object destroys, also if there is no memory for the object. */
PyObject *report_new(faro_report *report);
/* A claim as a dictionary; `assumes` is what its caller assumes of the data, or NULL. */
PyObject *claim_dict(const faro_claim *claim, const char *assumes);
/* The same as one line, from the members of such a dictionary. */
PyObject *claim_line(PyObject *module, PyObject *given);
/* A string of the library, which is freed; NULL is out of memory. */
PyObject *text_take(char *text);
/* Creates a heap type and adds it to the module. NULL with an exception. */
PyTypeObject *type_add(PyObject *module, PyType_Spec *spec, const char *name);
/* Sets dict[key] = value and releases the value. A NULL value, or a failure, sets *ok to false. */
void dict_take(PyObject *dict, const char *key, PyObject *value, bool *ok);

#endif
