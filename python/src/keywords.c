/* keywords: keyword arguments as settings (faro/setting.h): one row per argument, and the messages
 * follow from it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "module.h"

/* "one of a, b", "auto, or 1 .. 10", "above 0 and below 1" */
static void allowed(const faro_setting *row, char *out, size_t size) {
  const bool choice = row->type == FARO_SETTING_CHOICE;
  size_t used = (size_t)snprintf(out, size, "%s", choice ? "one of " : "");
  for (size_t i = 0; row->words && row->words[i] && (choice || i == 0) && used < size; i++)
    used += (size_t)snprintf(out + used, size - used, "%s%s", row->words[i],
                             !choice             ? ", or "
                             : row->words[i + 1] ? ", "
                                                 : "");
  if (choice || used >= size) return;
  const char *format = row->type == FARO_SETTING_SWITCH      ? "True or False"
                       : row->type == FARO_SETTING_REAL_OPEN ? "above %g and below %g"
                                                             : "%g .. %g";
  snprintf(out + used, size - used, format, row->least, row->most);
}

static bool refuse(const faro_setting *row, PyObject *value) {
  char text[400] = "";
  allowed(row, text, sizeof text);
  errors_invalid("%s must be %s (got %R)", row->name, text, value);
  return false;
}

static bool put_word(const faro_setting *row, void *values, PyObject *value) {
  const char *text = PyUnicode_AsUTF8AndSize(value, NULL);
  if (!text) return false;
  for (size_t i = 0; row->words && row->words[i]; i++)
    if (strcmp(row->words[i], text) == 0) {
      faro_setting_put(row, values, (double)i);
      return row->type == FARO_SETTING_CHOICE || i == 0 || refuse(row, value);
    }
  return refuse(row, value);
}

/* Whole numbers pass by an integer: above 2^53 a double would lose digits. */
static bool put_count(const faro_setting *row, void *values, PyObject *value) {
  PyObject *whole = PyNumber_Index(value);
  if (!whole) return false;
  const unsigned long long count = PyLong_AsUnsignedLongLong(whole);
  Py_DECREF(whole);
  if (PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
    PyErr_Clear();
    return refuse(row, value);
  }
  if ((double)count < row->least || (double)count > row->most) return refuse(row, value);
  *(uint64_t *)(void *)((char *)values + row->offset) = count;
  return true;
}

static bool put_real(const faro_setting *row, void *values, PyObject *value) {
  const double number = PyFloat_AsDouble(value);
  if (number == -1 && PyErr_Occurred()) return false;
  const bool open = row->type == FARO_SETTING_REAL_OPEN;
  const bool inside =
      open ? number > row->least && number < row->most : number >= row->least && number <= row->most;
  if (!inside) return refuse(row, value);
  faro_setting_put(row, values, number);
  return true;
}

/* The pointer is kept: the caller keeps the object. */
static bool put_text(const faro_setting *row, void *values, PyObject *value) {
  const char *text = PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, NULL) : NULL;
  if (text && strlen(text) <= FARO_SETTING_TEXT_MAX) faro_setting_put_text(row, values, text);
  else if (!PyErr_Occurred())
    PyErr_Format(PyExc_TypeError, "%s must be a text of at most %d bytes (got %R)", row->name,
                 FARO_SETTING_TEXT_MAX, value);
  return !PyErr_Occurred();
}

bool keywords_put(const faro_setting *row, void *values, PyObject *value) {
  if (row->type == FARO_SETTING_TEXT) return put_text(row, values, value);
  if (PyUnicode_Check(value)) return put_word(row, values, value);
  switch (row->type) {
  case FARO_SETTING_REAL:
  case FARO_SETTING_REAL_OPEN: return put_real(row, values, value);
  case FARO_SETTING_COUNT: return put_count(row, values, value);
  case FARO_SETTING_SWITCH: {
    const int truth = PyObject_IsTrue(value);
    if (truth >= 0) faro_setting_put(row, values, truth);
    return truth >= 0;
  }
  default: return refuse(row, value);
  }
}

static const faro_setting *find(const keyword_table *tables, size_t count, const char *name, void **values) {
  for (size_t t = 0; t < count; t++)
    for (const faro_setting *row = tables[t].table; row && row->name; row++)
      if (strcmp(row->name, name) == 0) {
        *values = tables[t].values;
        return row;
      }
  return NULL;
}

static bool is_skipped(const char *const *skip, const char *name) {
  for (; *skip; skip++)
    if (strcmp(*skip, name) == 0) return true;
  return false;
}

static bool refuse_name(const char *const *skip, const keyword_table *tables, size_t count, const char *who,
                        const char *name) {
  char names[1500] = "";
  size_t used = 0;
  for (; *skip && used < sizeof names; skip++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s, ", *skip);
  for (size_t t = 0; t < count; t++)
    for (const faro_setting *row = tables[t].table; row && row->name && used < sizeof names; row++)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s, ", row->name);
  if (used > 2 && used < sizeof names) names[used - 2] = '\0';
  PyErr_Format(PyExc_TypeError, "%s has no argument %.100s; it takes %s", who, name, names);
  return false;
}

bool keywords_read(PyObject *dict, const char *const *skip, const keyword_table *tables, size_t count,
                   const char *who) {
  PyObject *items = dict ? PyDict_Items(dict) : PyList_New(0); /* a copy: reading a number may run code */
  bool ok = items != NULL;
  for (Py_ssize_t i = 0; ok && i < PyList_Size(items); i++) {
    PyObject *item = PyList_GetItem(items, i);
    PyObject *value = PyTuple_GetItem(item, 1);
    const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(item, 0), NULL);
    void *values = NULL;
    ok = name != NULL;
    if (!ok || is_skipped(skip, name)) continue;
    const faro_setting *row = find(tables, count, name, &values);
    if (!row) ok = refuse_name(skip, tables, count, who, name);
    else if (value != Py_None) ok = keywords_put(row, values, value);
  }
  Py_XDECREF(items);
  return ok;
}

const char *keywords_text(PyObject *dict, const char *name) {
  PyObject *value = dict ? PyDict_GetItemString(dict, name) : NULL;
  if (!value || value == Py_None) return NULL;
  if (PyUnicode_Check(value)) return PyUnicode_AsUTF8AndSize(value, NULL);
  PyErr_Format(PyExc_TypeError, "%s must be a string (got %R)", name, value);
  return NULL;
}

bool keywords_preset(const faro_setting *table, size_t size, void **values) {
  *values = NULL;
  if (!table || size == 0) return true;
  *values = calloc(1, size);
  if (*values) faro_settings_preset(table, *values);
  else PyErr_NoMemory();
  return *values != NULL;
}

bool keywords_number(PyObject *value, const char *name, double *number) {
  *number = PyFloat_AsDouble(value);
  if (*number == -1 && PyErr_Occurred()) return false;
  if (isfinite(*number)) return true;
  errors_invalid("%s must be finite (got %R)", name, value);
  return false;
}

bool keywords_index(PyObject *value, const char *name, size_t limit, size_t *index) {
  const Py_ssize_t at = PyNumber_AsSsize_t(value, NULL);
  if (at == -1 && PyErr_Occurred()) return false;
  if (at >= 0 && (size_t)at < limit) {
    *index = (size_t)at;
    return true;
  }
  errors_invalid("%s must be below %zu (got %R)", name, limit, value);
  return false;
}
