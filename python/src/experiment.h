/* experiment: the object behind faro._faro.Experiment, for experiment.c and shards.c. */
#ifndef FARO_PYTHON_EXPERIMENT_H
#define FARO_PYTHON_EXPERIMENT_H

#include "module.h"

typedef struct experiment_object {
  PyObject_HEAD faro_experiment *experiment;
} experiment_object;

extern PyTypeObject *experiment_type;

PyObject *shards_run(PyObject *self, PyObject *positional);
PyObject *shards_merge(PyObject *self, PyObject *folder);
PyObject *shards_recall(PyObject *module, PyObject *folder);

#endif
