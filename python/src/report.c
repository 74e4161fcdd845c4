/* report: faro._faro.Report, the results of a run (faro/report.h). */
#include <string.h>

#include "module.h"

typedef struct report_object {
  PyObject_HEAD faro_report *report;
} report_object;

static PyTypeObject *report_type;

PyObject *report_new(faro_report *report) {
  report_object *r = (report_object *)((allocfunc)PyType_GetSlot(report_type, Py_tp_alloc))(report_type, 0);
  if (r) r->report = report;
  else faro_report_destroy(report);
  return (PyObject *)r;
}

static void dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  faro_report_destroy(((report_object *)self)->report);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF((PyObject *)type);
}

static PyObject *table(PyObject *self, PyObject *positional) {
  Py_ssize_t width = 0;
  int colour = 0;
  if (!PyArg_ParseTuple(positional, "np:table", &width, &colour)) return NULL;
  if (width < 0 || width > 100000) return errors_invalid("width must be 0 .. 100000 (got %zd)", width);
  const faro_table_style style = {.width = (size_t)width, .colour = colour};
  return text_take(faro_report_table(((report_object *)self)->report, style));
}

#define TEXT(name)                                                                                           \
  static PyObject *name(PyObject *self, PyObject *unused) {                                                  \
    (void)unused;                                                                                            \
    return text_take(faro_report_##name(((report_object *)self)->report));                                   \
  }
TEXT(json)
TEXT(summary_csv)
TEXT(curves_csv)
TEXT(instances_csv)
TEXT(latex)
TEXT(html)
TEXT(caption)

static PyObject *figure(PyObject *self, PyObject *size) {
  static const char *const names[] = {
#define X(id, name) name,
      FARO_FIGURE_LIST(X)
#undef X
  };
  const char *wanted = PyUnicode_AsUTF8AndSize(size, NULL);
  if (!wanted) return NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], wanted) == 0)
      return text_take(faro_report_figure(((report_object *)self)->report, (faro_figure_size)i));
  return errors_invalid("size must be screen, one-column or two-column (got %R)", size);
}

static PyObject *write_files(PyObject *self, PyObject *folder) {
  const char *path = PyUnicode_AsUTF8AndSize(folder, NULL);
  faro_error error = {0};
  if (!path) return NULL;
  const faro_status status = faro_report_write(((report_object *)self)->report, path, &error);
  if (status != FARO_OK) return errors_raise(status, &error);
  Py_RETURN_NONE;
}

static PyObject *load(PyObject *module, PyObject *folder) {
  const char *path = PyUnicode_AsUTF8AndSize(folder, NULL);
  faro_report *report = NULL;
  faro_error error = {0};
  (void)module;
  if (!path) return NULL;
  const faro_status status = faro_report_load(&report, path, &error);
  return status == FARO_OK ? report_new(report) : errors_raise(status, &error);
}

static PyMethodDef methods[] = {
    {"table", table, METH_VARARGS, "table(width, colour)\n--\n\nThe table, as the command prints it."},
    {"json", json, METH_NOARGS, "json()\n--\n\nThe results as JSON, without curves."},
    {"summary_csv", summary_csv, METH_NOARGS, "summary_csv()\n--\n\nA row per algorithm and sweep point."},
    {"curves_csv", curves_csv, METH_NOARGS, "curves_csv()\n--\n\nA row per point of every curve."},
    {"instances_csv", instances_csv, METH_NOARGS, "instances_csv()\n--\n\nA row per instance."},
    {"latex", latex, METH_NOARGS, "latex()\n--\n\nThe table for a paper, with booktabs."},
    {"html", html, METH_NOARGS, "html()\n--\n\nThe page report.html."},
    {"caption", caption, METH_NOARGS, "caption()\n--\n\nWhat bands and dashes of the figure mean."},
    {"figure", figure, METH_O, "figure(size)\n--\n\nThe figure as SVG: screen, one-column or two-column."},
    {"write", write_files, METH_O,
     "write(folder)\n--\n\nWrites run.json, CSV files, a figure and report.html."},
    {0}};

static PyMethodDef functions[] = {
    {"load_report", load, METH_O, "load_report(folder)\n--\n\nReads a stored run as a Report."}, {0}};

bool report_add(PyObject *module) {
  static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, "The results of a run; see faro.Results."},
                                {0, NULL}};
  static PyType_Spec spec = {.name = "faro._faro.Report",
                             .basicsize = sizeof(report_object),
                             .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             .slots = slots};
  report_type = type_add(module, &spec, "Report");
  return report_type && PyModule_AddFunctions(module, functions) == 0;
}
