/* contexts: features made from a context, one block per arm.
 *
 *   context c, arm a of K:   x_a = (0, ..., 0, c, 1, 0, ..., 0)   block a; the 1 only if asked for
 *
 * So every arm has a parameter of its own, as in the libraries that take (decision, reward,
 * context). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"

bool contexts_init(agent_object *a, size_t count, bool constant, double radius) {
  if (count == 0) return true;
  if (a->dimension % count != 0 || a->dimension / count <= constant) {
    errors_invalid(
        "dimension must be a multiple of blocks, %zu, with at least one number per block (got %zu)", count,
        a->dimension);
    return false;
  }
  a->blocks = (blocks){.count = count,
                       .width = a->dimension / count,
                       .constant = constant,
                       .radius = radius,
                       .feature = calloc((count + 1) * a->dimension, sizeof(double))};
  if (!a->blocks.feature) PyErr_NoMemory();
  return a->blocks.feature != NULL;
}

static size_t length(const agent_object *a) { return a->blocks.width - a->blocks.constant; }

static bool has_blocks(const agent_object *a) {
  if (a->blocks.count > 0) return true;
  errors_invalid("blocks must be given for an agent that takes contexts");
  return false;
}

/* Writes the block of one arm. */
static void put(const agent_object *a, const double *context, double *block) {
  const size_t n = length(a);
  double square = 0;
  for (size_t i = 0; i < n; i++) square += context[i] * context[i];
  const double norm = sqrt(square);
  const bool longer = a->blocks.radius > 0 && norm > a->blocks.radius;
  if (longer && !isfinite(norm)) memset(block, 0, n * sizeof *block);
  else
    for (size_t i = 0; i < n; i++) block[i] = longer ? context[i] * (a->blocks.radius / norm) : context[i];
  if (a->blocks.constant) block[n] = 1;
}

/* The features of every arm; zeros stay zeros from call to call. */
static const double *spread(const agent_object *a, const double *context) {
  for (size_t k = 0; k < a->blocks.count; k++)
    put(a, context, a->blocks.feature + k * a->dimension + k * a->blocks.width);
  return a->blocks.feature;
}

PyObject *contexts_choose(PyObject *self, PyObject *context) {
  agent_object *a = (agent_object *)self;
  view v;
  if (!has_blocks(a) || !view_vector(&v, context, "context", length(a))) return NULL;
  const size_t arm = faro_agent_choose(a->agent, spread(a, v.x), a->blocks.count);
  view_clear(&v);
  return PyLong_FromSize_t(arm);
}

/* Whether a context is scaled back. */
static bool is_longer(const agent_object *a, const double *context) {
  double square = 0;
  for (size_t i = 0; i < length(a); i++) square += context[i] * context[i];
  return a->blocks.radius > 0 && sqrt(square) > a->blocks.radius * (1 + 1e-9);
}

static int tell(agent_object *a, size_t arm, double reward, const double *context, PyObject *person) {
  if (is_longer(a, context) && agent_warn_longer(a) != 0) return -1;
  double *row = a->blocks.feature + a->blocks.count * a->dimension;
  double *block = row + arm * a->blocks.width;
  put(a, context, block);
  const int published = agent_tell(a, row, reward, person);
  memset(block, 0, a->blocks.width * sizeof *block);
  return published;
}

static bool has_three(Py_ssize_t count, const char *what) {
  if (count != 3) PyErr_Format(PyExc_TypeError, "%s (got %zd arguments)", what, count);
  return count == 3;
}

PyObject *contexts_learn(PyObject *self, PyObject *const *given, Py_ssize_t count, PyObject *names) {
  agent_object *a = (agent_object *)self;
  PyObject *person = NULL;
  double reward = 0;
  size_t arm = 0;
  view v;
  if (!has_three(count, "learn_context takes arm, reward and context") || !has_blocks(a) ||
      !agent_keyword(given, count, names, "person", &person) ||
      !keywords_index(given[0], "arm", a->blocks.count, &arm) ||
      !keywords_number(given[1], "reward", &reward) || !view_vector(&v, given[2], "context", length(a)))
    return NULL;
  const int published = tell(a, arm, reward, v.x, person);
  view_clear(&v);
  return published < 0 ? NULL : PyBool_FromLong(published);
}

/* The arms of all rows, before any of them is learned. NULL with an exception. */
static size_t *read_arms(PyObject *list, size_t count, size_t limit) {
  PyObject *items = PySequence_Tuple(list);
  if (!items) return NULL;
  size_t *arm = (size_t)PyTuple_Size(items) == count ? calloc(count, sizeof *arm) : NULL;
  bool ok = arm != NULL;
  if ((size_t)PyTuple_Size(items) != count)
    errors_invalid("arms must have one entry per context, %zu (got %zd)", count, PyTuple_Size(items));
  else if (!ok) PyErr_NoMemory();
  for (size_t i = 0; ok && i < count; i++)
    ok = keywords_index(PyTuple_GetItem(items, (Py_ssize_t)i), "arm", limit, &arm[i]);
  Py_DECREF(items);
  if (ok) return arm;
  free(arm);
  return NULL;
}

static PyObject *learn_rows(agent_object *a, const size_t *arm, const view *rewards, const view *contexts,
                            PyObject *people) {
  const uint64_t before = faro_agent_batches(a->agent);
  int published = 0;
  for (size_t i = 0; published >= 0 && i < contexts->rows; i++)
    published = tell(a, arm[i], rewards->x[i], contexts->x + i * contexts->columns,
                     people ? PyTuple_GetItem(people, (Py_ssize_t)i) : NULL);
  return published < 0 ? NULL : PyLong_FromUnsignedLongLong(faro_agent_batches(a->agent) - before);
}

PyObject *contexts_learn_many(PyObject *self, PyObject *const *given, Py_ssize_t count, PyObject *names) {
  agent_object *a = (agent_object *)self;
  PyObject *named = NULL;
  bool ok = false;
  view contexts;
  view rewards;
  if (!has_three(count, "learn_contexts takes arms, rewards and contexts") || !has_blocks(a) ||
      !agent_keyword(given, count, names, "people", &named) ||
      !view_rows(&contexts, given[2], "contexts", length(a)))
    return NULL;
  PyObject *result = NULL;
  size_t *arm = read_arms(given[0], contexts.rows, a->blocks.count);
  if (arm && view_vector(&rewards, given[1], "rewards", contexts.rows)) {
    PyObject *people = agent_people(named, contexts.rows, &ok);
    if (ok) result = learn_rows(a, arm, &rewards, &contexts, people);
    Py_XDECREF(people);
    view_clear(&rewards);
  }
  free(arm);
  view_clear(&contexts);
  return result;
}

/* ---- several contexts at once */

static PyObject *choose_row(agent_object *a, const double *context) {
  return PyLong_FromSize_t(faro_agent_choose(a->agent, spread(a, context), a->blocks.count));
}

static PyObject *expect_row(agent_object *a, const double *context) {
  const double *theta = faro_agent_policy(a->agent)->theta;
  double *block = a->blocks.feature; /* block 0 of arm 0 */
  put(a, context, block);
  PyObject *list = PyList_New((Py_ssize_t)a->blocks.count);
  for (size_t k = 0; list && k < a->blocks.count; k++) {
    double mean = a->centre;
    for (size_t i = 0; i < a->blocks.width; i++) mean += theta[k * a->blocks.width + i] * block[i];
    PyObject *number = PyFloat_FromDouble(mean);
    if (!number || PyList_SetItem(list, (Py_ssize_t)k, number) != 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject *for_each(PyObject *self, PyObject *contexts,
                          PyObject *(*row)(agent_object *, const double *)) {
  agent_object *a = (agent_object *)self;
  view v;
  if (!has_blocks(a) || !view_rows(&v, contexts, "contexts", length(a))) return NULL;
  PyObject *list = PyList_New((Py_ssize_t)v.rows);
  for (size_t i = 0; list && i < v.rows; i++) {
    PyObject *item = row(a, v.x + i * v.columns);
    if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) Py_CLEAR(list);
  }
  view_clear(&v);
  return list;
}

PyObject *contexts_choose_many(PyObject *self, PyObject *contexts) {
  return for_each(self, contexts, choose_row);
}

PyObject *contexts_expect(PyObject *self, PyObject *contexts) { return for_each(self, contexts, expect_row); }
