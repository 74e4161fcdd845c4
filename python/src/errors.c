/* errors: the exceptions of the module, and how a faro_error becomes one. */
#include <stdarg.h>
#include <string.h>

#include "module.h"

PyObject *faro_py_error;
PyObject *faro_py_invalid;
static PyObject *memory_error, *system_error;

static PyObject *add(PyObject *module, const char *name, const char *full, const char *doc, PyObject *base) {
  PyObject *bases = base ? PyTuple_Pack(2, faro_py_error, base) : NULL;
  if (base && !bases) return NULL;
  PyObject *type = PyErr_NewExceptionWithDoc(full, doc, bases, NULL);
  Py_XDECREF(bases);
  if (!type || PyModule_AddObjectRef(module, name, type) != 0) return NULL;
  return type;
}

bool errors_add(PyObject *module) {
  faro_py_error =
      add(module, "Error", "faro.Error", "What faro refuses, or cannot do. The message says why.", NULL);
  if (!faro_py_error) return false;
  faro_py_invalid =
      add(module, "InvalidError", "faro.InvalidError",
          "A value that is not allowed: the message names it and what is allowed.", PyExc_ValueError);
  memory_error = add(module, "OutOfMemoryError", "faro.OutOfMemoryError", "There is not enough memory.",
                     PyExc_MemoryError);
  system_error = add(module, "SystemFailure", "faro.SystemFailure",
                     "The system failed: a file, a thread, the kernel.", PyExc_OSError);
  return faro_py_invalid && memory_error && system_error;
}

void *errors_raise(faro_status status, const faro_error *error) {
  PyObject *type = status == FARO_MEMORY        ? memory_error
                   : status == FARO_SYSTEM      ? system_error
                   : status == FARO_INTERRUPTED ? PyExc_KeyboardInterrupt
                                                : faro_py_invalid;
  /* messages quote what people wrote, byte by byte */
  const char *message = error->message[0] ? error->message : "out of memory";
  PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
  if (text) PyErr_SetObject(type, text);
  Py_XDECREF(text);
  return NULL;
}

void *errors_invalid(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  PyErr_FormatV(faro_py_invalid, format, arguments);
  va_end(arguments);
  return NULL;
}
