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
  double centre, norm;
  bool deployed, saved; /* saved: the state of a deployment was handed out, and another agent continues */
  blocks blocks;
  const char *assumes; /* what the claim assumes; the arguments own it */
  bool user;           /* level user, with privacy: `people` says who may still contribute */
  uint64_t contributions;
  PyObject *people;       /* person: (rounds so far, batch of the last one) */
  uint64_t horizon, told; /* people who were learned from, and after the last batch everybody */
  uint64_t refused, longer, late;
  PyObject *arguments; /* a dictionary, from which the agent can be made again */
} agent_object;

/* From the arguments; false with an exception. */
bool contexts_init(agent_object *a, size_t count, bool constant, double radius);

PyObject *contexts_choose(PyObject *self, PyObject *context);
PyObject *contexts_choose_many(PyObject *self, PyObject *contexts);
PyObject *contexts_learn(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names);
PyObject *contexts_learn_many(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names);
PyObject *contexts_expect(PyObject *self, PyObject *contexts);

/* Tells the agent of one person; `person` is NULL if nobody said who. 1: a batch was published; 0:
 * not, or the person may not contribute any more; -1: an exception. */
int agent_tell(agent_object *a, const double *x, double reward, PyObject *person);
/* Counts features or contexts that are scaled back, and warns of the first. 0, or -1 if warnings
 * are exceptions. */
int agent_warn_longer(agent_object *a);
/* Splits what a fast call got: the value of the one keyword that is allowed, or NULL. False with an
 * exception for any other keyword. */
bool agent_keyword(PyObject *const *given, Py_ssize_t count, PyObject *names, const char *allowed,
                   PyObject **value);
/* `people` as a tuple of `count` persons, a new reference; *ok is false with an exception. NULL and
 * *ok: nobody was named. */
PyObject *agent_people(PyObject *people, size_t count, bool *ok);

#endif
