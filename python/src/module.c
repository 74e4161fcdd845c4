/* module: faro._faro. Its parts are in the other files; here are lists, and what they share. */
#include "module.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PyObject *text_take(char *text) {
  if (!text) return PyErr_NoMemory();
  PyObject *made = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  free(text);
  return made;
}

void dict_take(PyObject *dict, const char *key, PyObject *value, bool *ok) {
  *ok = *ok && value && PyDict_SetItemString(dict, key, value) == 0;
  Py_XDECREF(value);
}

PyTypeObject *type_add(PyObject *module, PyType_Spec *spec, const char *name) {
  PyObject *type = PyType_FromSpec(spec);
  if (type && PyModule_AddObjectRef(module, name, type) == 0) return (PyTypeObject *)type;
  Py_XDECREF(type);
  return NULL;
}

/* A number; None if it is not one: without privacy there is no epsilon. */
static PyObject *number_or_none(double value) {
  if (isnan(value)) Py_RETURN_NONE;
  return PyFloat_FromDouble(value);
}

PyObject *claim_dict(const faro_claim *claim, const char *assumes) {
  char seen[FARO_VIEW_SIZE];
  char assumed[FARO_ASSUMES_SIZE];
  const char *said = assumes ? assumes : faro_assumes_text(claim->assumes, assumed);
  PyObject *dict = PyDict_New();
  bool ok = dict != NULL;
  dict_take(dict, "epsilon", number_or_none(claim->epsilon), &ok);
  dict_take(dict, "delta", number_or_none(claim->delta), &ok);
  dict_take(dict, "trust", PyUnicode_FromString(faro_claim_trust(claim)), &ok);
  dict_take(dict, "level", PyUnicode_FromString(faro_level_name(claim->level)), &ok);
  dict_take(dict, "contributions", PyLong_FromUnsignedLongLong(claim->contributions), &ok);
  dict_take(dict, "proven", PyBool_FromLong(claim->proven), &ok);
  dict_take(dict, "standing", PyUnicode_FromString(faro_claim_standing(claim)), &ok);
  dict_take(dict, "by", PyUnicode_FromString(claim->by), &ok);
  dict_take(dict, "actions", PyUnicode_FromString(faro_actions_name(claim->actions)), &ok);
  dict_take(dict, "protects", PyUnicode_FromString(faro_protects_name(claim->protects)), &ok);
  dict_take(dict, "assumes", Py_BuildValue("z", claim->trust == FARO_TRUST_NONE ? NULL : said), &ok);
  dict_take(dict, "adversary_sees", PyUnicode_FromString(faro_claim_view(claim, seen)), &ok);
  dict_take(dict, "local_epsilon", PyFloat_FromDouble(claim->local_epsilon), &ok);
  dict_take(dict, "local_delta", PyFloat_FromDouble(claim->local_delta), &ok);
  if (!ok) Py_CLEAR(dict);
  return dict;
}

/* Trust as it is printed: central is joint, where all actions may be seen. */
static bool read_trust(faro_claim *claim, const char *trust) {
  if (strcmp(trust, "central") == 0) {
    claim->trust = FARO_TRUST_JOINT;
    claim->actions = FARO_ACTIONS_ALL;
    return true;
  }
  return faro_trust_find(trust, &claim->trust);
}

PyObject *claim_line(PyObject *module, PyObject *given) {
  const char *trust = NULL;
  const char *level = NULL;
  const char *actions = NULL;
  const char *protects = NULL;
  const char *assumes = NULL;
  unsigned long long contributions = 1;
  int proven = 0;
  char line[FARO_CLAIM_SIZE];
  faro_claim claim = {0};
  (void)module;
  if (!PyArg_ParseTuple(given, "ddssKpssz", &claim.epsilon, &claim.delta, &trust, &level, &contributions,
                        &proven, &actions, &protects, &assumes))
    return NULL;
  if (!faro_actions_find(actions, &claim.actions))
    return errors_invalid("actions must be one of hidden, others, all (got %.40s)", actions);
  if (!read_trust(&claim, trust)) return errors_invalid("trust must be a trust model (got %.40s)", trust);
  if (!faro_level_find(level, &claim.level))
    return errors_invalid("level must be one of event, user (got %.40s)", level);
  if (!faro_protects_find(protects, &claim.protects))
    return errors_invalid("protects must be one of all, rewards (got %.40s)", protects);
  claim.contributions = contributions;
  claim.proven = proven;
  faro_claim_text(&claim, line);
  return assumes ? PyUnicode_FromFormat("%s, assumes that %s", line, assumes) : PyUnicode_FromString(line);
}

/* ---- lists */

static bool append_take(PyObject *list, PyObject *item) {
  const bool ok = item && PyList_Append(list, item) == 0;
  Py_XDECREF(item);
  return ok;
}

static PyObject *learners(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < faro_learner_count(); i++) {
    const faro_learner_kind *kind = faro_learner_at(i);
    PyObject *row = Py_BuildValue("{s:s,s:s,s:N}", "name", kind->name, "summary", kind->summary, "steps",
                                  PyBool_FromLong(kind->protocol == FARO_PROTOCOL_UPDATER));
    if (!append_take(list, row)) Py_CLEAR(list);
  }
  return list;
}

static PyObject *releases(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < faro_release_kinds(); i++) {
    const faro_release_kind *kind = faro_release_kind_at(i);
    PyObject *row = Py_BuildValue("{s:s,s:s,s:s,s:N}", "name", kind->name, "summary", kind->summary, "trust",
                                  faro_trust_name(kind->trust), "deployable",
                                  PyBool_FromLong(faro_release_kind_exact(kind)));
    if (!append_take(list, row)) Py_CLEAR(list);
  }
  return list;
}

static PyObject *environments(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < faro_env_count(); i++) {
    const faro_env_kind *kind = faro_env_at(i);
    PyObject *row = Py_BuildValue("{s:s,s:s,s:N}", "name", kind->name, "summary", kind->summary, "stream",
                                  PyBool_FromLong(kind->traits & FARO_ENV_STREAM));
    if (!append_take(list, row)) Py_CLEAR(list);
  }
  return list;
}

static PyMethodDef functions[] = {
    {"learners", learners, METH_NOARGS, "learners()\n--\n\nThe learners, as dictionaries."},
    {"releases", releases, METH_NOARGS, "releases()\n--\n\nThe releases, as dictionaries."},
    {"claim_line", claim_line, METH_VARARGS,
     "claim_line(epsilon, delta, trust, level, contributions, proven, actions, protects, assumes)\n--\n\n"
     "A claim in one line."},
    {"environments", environments, METH_NOARGS, "environments()\n--\n\nThe environments, as dictionaries."},
    {0}};

PyMODINIT_FUNC PyInit__faro(void);

PyMODINIT_FUNC PyInit__faro(void) {
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "faro._faro",
                                   .m_doc = "The C part of faro; use the package faro.", .m_size = -1,
                                   .m_methods = functions};
  PyObject *module = PyModule_Create(&definition);
  if (module && errors_add(module) && agent_add(module) && world_add(module) && account_add(module) &&
      plan_add(module) && experiment_add(module) && report_add(module) &&
      PyModule_AddStringConstant(module, "version", faro_version()) == 0 &&
      PyModule_AddStringConstant(module, "commit", faro_commit()) == 0)
    return module;
  Py_XDECREF(module);
  return NULL;
}
