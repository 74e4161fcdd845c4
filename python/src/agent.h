/* agent: the object behind faro._faro.Agent, for agent.c and contexts.c. */
#ifndef FARO_PYTHON_AGENT_H
#define FARO_PYTHON_AGENT_H

#include "module.h"

/* How a context becomes the features of every arm: one block per arm, and all others are zero. */
typedef struct blocks {
  size_t count;    /* arms; 0: features are given arm by arm */
  size_t width;    /* numbers per block */
  bool constant;   /* the last number of a block is 1 */
  double radius;   /* longer contexts are scaled back to it; 0: they stay */
  double *feature; /* count rows of count * width numbers; one more row for the arm that is learned */
} blocks;

typedef struct agent_object {
  PyObject_HEAD faro_agent *agent;
  void *settings; /* the learner's own */
  size_t dimension;
  double centre;
  bool deployed;
  blocks blocks;
  PyObject *arguments; /* a dictionary, from which the agent can be made again */
} agent_object;

/* From the arguments; false with an exception. */
bool contexts_init(agent_object *a, size_t count, bool constant, double radius);

PyObject *contexts_choose(PyObject *self, PyObject *context);
PyObject *contexts_choose_many(PyObject *self, PyObject *contexts);
PyObject *contexts_learn(PyObject *self, PyObject *const *arguments, Py_ssize_t count);
PyObject *contexts_learn_many(PyObject *self, PyObject *const *arguments, Py_ssize_t count);
PyObject *contexts_expect(PyObject *self, PyObject *contexts);

/* Tells the agent of one person. 1: a batch was published; 0: not; -1: an exception. */
int agent_tell(agent_object *a, const double *x, double reward);

#endif
