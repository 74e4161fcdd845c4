/* views: arrays of doubles by the buffer protocol, and lists of numbers.
 *
 * Anything that exports doubles in C order will do: numpy arrays, array.array, memoryviews, ctypes
 * arrays. What is not aligned is copied. Lists and tuples are copied too, which is slower. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "module.h"

enum { NUMBERS_MAX = 1 << 28 }; /* most numbers of a list: 2 GiB */

void view_clear(view *v) {
  if (v->buffer.obj) PyBuffer_Release(&v->buffer);
  if (v->copy) free(v->copy);
}

/* Finite numbers do not have all bits of the exponent set, and adding one to it does not carry into
 * the sign. Four lanes, so that a loop over many numbers takes a fraction of the choice that
 * follows. */
#define LOOP_NOT_FINITE                                                                                      \
  uint64_t lane[4] = {0};                                                                                    \
  size_t i = 0;                                                                                              \
  for (; i + 4 <= n; i += 4)                                                                                 \
    for (size_t k = 0; k < 4; k++) lane[k] |= (bits[i + k] & EXPONENT) + LEAST;                              \
  for (; i < n; i++) lane[0] |= (bits[i] & EXPONENT) + LEAST;                                                \
  return ((lane[0] | lane[1]) | (lane[2] | lane[3])) >> 63;

typedef uint64_t __attribute__((may_alias)) bits_of_double;
static const uint64_t EXPONENT = 0x7ff0000000000000;
static const uint64_t LEAST = 0x0010000000000000;

#ifdef __x86_64__
__attribute__((target("avx2"))) static bool wide_not_finite(const bits_of_double *bits, size_t n) {
  LOOP_NOT_FINITE
}
static bool narrow_not_finite(const bits_of_double *bits, size_t n) { LOOP_NOT_FINITE }
static bool not_finite(const double *x, size_t n) {
  const bits_of_double *bits = (const bits_of_double *)(const void *)x;
  return n >= 64 && __builtin_cpu_supports("avx2") ? wide_not_finite(bits, n) : narrow_not_finite(bits, n);
}
#else
static bool narrow_not_finite(const bits_of_double *bits, size_t n) { LOOP_NOT_FINITE }
static bool not_finite(const double *x, size_t n) {
  return narrow_not_finite((const bits_of_double *)(const void *)x, n);
}
#endif

static bool refuse_not_finite(view *v, const char *name) {
  size_t i = 0;
  while (!not_finite(v->x + i, 1)) i++;
  PyObject *number = PyFloat_FromDouble(v->x[i]);
  if (number && v->rows > 1)
    errors_invalid("%s must be finite (got %R in row %zu, column %zu)", name, number, i / v->columns,
                   i % v->columns);
  else if (number) errors_invalid("%s must be finite (got %R at %zu)", name, number, i);
  Py_XDECREF(number);
  view_clear(v);
  return false;
}

static bool check_finite(view *v, const char *name) {
  return not_finite(v->x, v->rows * v->columns) ? refuse_not_finite(v, name) : true;
}

/* ---- buffers */

/* Native doubles: "d", or "<d" on a machine of that order. */
static bool is_double(const char *format) {
  if (!format) return false;
  if (format[0] == 'd' && format[1] == '\0') return true;
  const uint16_t one = 1;
  const bool little = *(const unsigned char *)&one == 1;
  const bool marked = format[0] == '@' || format[0] == '=' || format[0] == (little ? '<' : '>');
  return marked && format[1] == 'd' && format[2] == '\0';
}

/* ctypes gives no strides: such arrays are contiguous. */
static bool is_contiguous(const Py_buffer *b) {
  Py_ssize_t step = (Py_ssize_t)sizeof(double);
  for (int i = b->ndim; b->strides && i-- > 0; step *= b->shape[i])
    if (b->shape[i] != 1 && b->strides[i] != step) return false;
  return true;
}

static bool refuse_buffer(view *v, const char *name, int dimensions) {
  const Py_buffer *b = &v->buffer;
  if (!is_double(b->format) || b->itemsize != (Py_ssize_t)sizeof(double))
    PyErr_Format(PyExc_TypeError,
                 "%s must be an array of doubles (got format '%.20s'); with numpy: x.astype(float)", name,
                 b->format ? b->format : "B");
  else if (b->ndim != dimensions)
    errors_invalid("%s must have %d dimension%s (got %d)", name, dimensions, dimensions > 1 ? "s" : "",
                   b->ndim);
  else errors_invalid("%s must be contiguous, in C order; with numpy: numpy.ascontiguousarray(x)", name);
  PyBuffer_Release(&v->buffer);
  return false;
}

/* What is not aligned cannot be read in place. */
static bool align(view *v, size_t numbers) {
  v->copy = malloc(numbers * sizeof *v->copy);
  if (!v->copy) {
    PyErr_NoMemory();
    PyBuffer_Release(&v->buffer);
    return false;
  }
  memcpy(v->copy, v->buffer.buf, numbers * sizeof *v->copy);
  v->x = v->copy;
  return true;
}

static bool take_buffer(view *v, PyObject *object, const char *name, int dimensions) {
  if (PyObject_GetBuffer(object, &v->buffer, PyBUF_STRIDES | PyBUF_FORMAT) != 0) return false;
  const Py_buffer *b = &v->buffer;
  v->copy = NULL;
  if (b->ndim != dimensions || b->itemsize != (Py_ssize_t)sizeof(double) || !is_double(b->format) ||
      !b->shape || !is_contiguous(b))
    return refuse_buffer(v, name, dimensions);
  v->x = b->buf;
  v->rows = dimensions > 1 ? (size_t)b->shape[0] : 1;
  v->columns = (size_t)b->shape[dimensions - 1];
  return (uintptr_t)v->x % _Alignof(double) == 0 || align(v, v->rows * v->columns);
}

/* ---- lists */

static bool is_list(PyObject *object) { return PyList_Check(object) || PyTuple_Check(object); }

/* Copies `columns` numbers of a row. Tuples do not change while __float__ of an item runs. */
static bool copy_row(PyObject *row, const char *name, size_t columns, double *out) {
  PyObject *items = is_list(row) ? PySequence_Tuple(row) : NULL;
  if (!items) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "%s must be a list of lists of numbers", name);
    return false;
  }
  bool ok = (size_t)PyTuple_Size(items) == columns;
  if (!ok) errors_invalid("%s must have %zu numbers per row (got %zd)", name, columns, PyTuple_Size(items));
  for (size_t i = 0; ok && i < columns; i++) {
    out[i] = PyFloat_AsDouble(PyTuple_GetItem(items, (Py_ssize_t)i));
    ok = !(out[i] == -1 && PyErr_Occurred());
  }
  Py_DECREF(items);
  return ok;
}

static bool take_list(view *v, PyObject *object, const char *name, int dimensions, size_t columns) {
  PyObject *rows = dimensions > 1 ? PySequence_Tuple(object) : PyTuple_Pack(1, object);
  if (!rows) return false;
  v->rows = (size_t)PyTuple_Size(rows);
  v->columns = columns;
  bool ok = columns > 0 && v->rows <= NUMBERS_MAX / columns;
  if (!ok) errors_invalid("%s: too many numbers for a list; use an array", name);
  v->copy = ok ? malloc((v->rows * columns + 1) * sizeof *v->copy) : NULL;
  if (ok && !v->copy) PyErr_NoMemory();
  ok = ok && v->copy;
  for (size_t r = 0; ok && r < v->rows; r++)
    ok = copy_row(PyTuple_GetItem(rows, (Py_ssize_t)r), name, columns, v->copy + r * columns);
  Py_DECREF(rows);
  v->x = v->copy;
  if (!ok) view_clear(v);
  return ok;
}

static bool take(view *v, PyObject *object, const char *name, int dimensions, size_t columns) {
  if (!is_list(object)) return take_buffer(v, object, name, dimensions);
  v->buffer.obj = NULL;
  v->copy = NULL;
  return take_list(v, object, name, dimensions, columns);
}

bool view_rows(view *v, PyObject *object, const char *name, size_t columns) {
  if (!take(v, object, name, 2, columns)) return false;
  if (v->rows > 0 && v->columns == columns) return check_finite(v, name);
  errors_invalid("%s must have %zu columns and at least one row (got %zu x %zu)", name, columns, v->rows,
                 v->columns);
  view_clear(v);
  return false;
}

bool view_vector(view *v, PyObject *object, const char *name, size_t length) {
  if (!take(v, object, name, 1, length)) return false;
  if (v->columns == length) return check_finite(v, name);
  errors_invalid("%s must have %zu numbers (got %zu)", name, length, v->columns);
  view_clear(v);
  return false;
}

PyObject *view_new(const double *x, size_t rows, size_t columns) {
  const size_t numbers = (rows > 0 ? rows : 1) * columns;
  PyObject *bytes = PyBytes_FromStringAndSize((const char *)x, (Py_ssize_t)(numbers * sizeof *x));
  PyObject *flat = bytes ? PyMemoryView_FromObject(bytes) : NULL;
  PyObject *made = NULL;
  if (flat && rows > 0)
    made = PyObject_CallMethod(flat, "cast", "s(nn)", "d", (Py_ssize_t)rows, (Py_ssize_t)columns);
  else if (flat) made = PyObject_CallMethod(flat, "cast", "s", "d");
  Py_XDECREF(flat);
  Py_XDECREF(bytes);
  return made;
}
