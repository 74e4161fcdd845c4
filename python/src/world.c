/* world: faro._faro.World, a simulated environment stepped from Python (faro/env.h). */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "module.h"

typedef struct world_object {
  PyObject_HEAD faro_env *env;
  const faro_env_kind *kind;
  faro_env_params params;
  void *settings; /* the environment's own */
  double *x;      /* features of the arm played */
  uint64_t seed, instance, round;
  bool logged;         /* only the logged arm of a round can be played */
  size_t taken;        /* 1 + the arm that this round takes; 0: not asked, or another one */
  PyObject *arms;      /* arms of this round; NULL: not asked for yet */
  PyObject *arguments; /* has the texts of the settings */
  uint64_t version;
} world_object;

typedef struct arguments {
  faro_env_params params;
  uint64_t seed, instance;
} arguments;

static const char *const reward_words[] = {
#define X(name, text) text,
    FARO_REWARD_LIST(X)
#undef X
        NULL};
static const char *const draw_words[] = {
#define X(name, text) text,
    FARO_DRAW_LIST(X)
#undef X
        NULL};

#define AT(member) offsetof(arguments, params.member)

static const faro_setting table[] = {
    {"dimension", FARO_SETTING_COUNT, AT(dimension), 2, FARO_DIMENSION_MAX, 5, NULL, "features per arm"},
    {"arms", FARO_SETTING_COUNT, AT(arms), 2, 1e6, 100, NULL, "number of arms"},
    {"horizon", FARO_SETTING_COUNT, AT(horizon), 2, 1e10, 10000, NULL, "rounds"},
    {"reward", FARO_SETTING_CHOICE, AT(reward), 0, 0, 0, reward_words, "how rewards are drawn"},
    {"draw", FARO_SETTING_CHOICE, AT(draw), 0, 0, 0, draw_words, "how features and the parameter are drawn"},
    {"population", FARO_SETTING_COUNT, AT(population), 0, 1e9, 0, NULL, "number of users; 0: nobody returns"},
    {"shufflers", FARO_SETTING_COUNT, AT(shufflers), 0, 1e6, 0, NULL, "bits-hard only"},
    {"epsilon", FARO_SETTING_REAL, AT(epsilon), 0, 1e6, 0, NULL, "bits-hard only"},
    {"seed", FARO_SETTING_COUNT, offsetof(arguments, seed), 0, 18446744073709549568.0, 1, NULL,
     "names all random streams"},
    {"instance", FARO_SETTING_COUNT, offsetof(arguments, instance), 0, 18446744073709549568.0, 0, NULL,
     "names all random streams"},
    {0}};

/* ---- life */

static bool read_arguments(world_object *w, const char *name, PyObject *given) {
  static const char *const none[] = {NULL};
  arguments r = {.seed = 1};
  faro_settings_preset(table, &r);
  w->kind = faro_env_find(name);
  if (!w->kind) {
    errors_invalid("name must be one that faro.environments() lists (got %.100s)", name);
    return false;
  }
  if (w->kind->link != FARO_LINK_LINEAR) r.params.draw = FARO_DRAW_BALL;
  if (w->kind->traits & FARO_ENV_ROWS) r.params.dimension = r.params.arms = r.params.horizon = 0;
  if (!keywords_preset(w->kind->settings, w->kind->settings_size, &w->settings)) return false;
  const keyword_table tables[] = {{table, &r}, {w->kind->settings, w->settings}};
  if (!keywords_read(given, none, tables, 2, "World")) return false;
  w->params = r.params;
  if (w->kind->traits & FARO_ENV_STREAM) w->params.dimension = 1;
  w->params.settings = w->settings;
  w->seed = r.seed;
  w->instance = r.instance;
  return true;
}

/* A file that was cut or changed while it is played is an exception, not rows that repeat. */
static bool is_read(const world_object *w) {
  faro_error error = {0};
  const faro_status status = faro_env_status(w->env, &error);
  if (status != FARO_OK) errors_raise(status, &error);
  return status == FARO_OK;
}

static bool build(world_object *w, const char *name, PyObject *given) {
  if (!read_arguments(w, name, given)) return false;
  faro_error error = {0};
  faro_status status = faro_env_read(w->kind, &w->params, &error);
  if (status == FARO_OK) status = faro_env_check(w->kind, &w->params, &error);
  if (status == FARO_OK) status = faro_env_create(&w->env, w->kind, &w->params, &error);
  if (status != FARO_OK) return errors_raise(status, &error);
  w->x = calloc(w->params.dimension, sizeof *w->x);
  w->logged = faro_env_describe(w->kind, &w->params).logged;
  if (!w->x) PyErr_NoMemory();
  else faro_env_begin(w->env, w->seed, w->instance);
  return w->x != NULL && is_read(w);
}

static PyObject *new (PyTypeObject *type, PyObject *positional, PyObject *keywords) {
  const char *name = NULL;
  if (!PyArg_ParseTuple(positional, "s:World", &name)) return NULL;
  PyObject *given = keywords ? PyDict_Copy(keywords) : PyDict_New();
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  world_object *w = given ? (world_object *)allocate(type, 0) : NULL;
  if (!w) {
    Py_XDECREF(given);
    return NULL;
  }
  w->arguments = given;
  if (build(w, name, given)) return (PyObject *)w;
  Py_DECREF((PyObject *)w);
  return NULL;
}

static void dealloc(PyObject *self) {
  world_object *w = (world_object *)self;
  PyTypeObject *type = Py_TYPE(self);
  faro_env_destroy(w->env);
  faro_env_unread(&w->params);
  free(w->settings);
  free(w->x);
  Py_XDECREF(w->arms);
  Py_XDECREF(w->arguments);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF((PyObject *)type);
}

/* ---- rounds */

static bool streams(const world_object *w) { return w->kind->traits & FARO_ENV_STREAM; }

/* Whether a round can be played. */
static bool is_open(const world_object *w, bool stream) {
  if (streams(w) != stream)
    errors_invalid(stream ? "%s has arms: use arms, play and gap" : "%s is a stream of numbers: use value",
                   w->kind->name);
  else if (w->round >= w->params.horizon)
    errors_invalid("the horizon of %llu rounds is over; begin another instance",
                   (unsigned long long)w->params.horizon);
  return streams(w) == stream && w->round < w->params.horizon;
}

static PyObject *arms_as_rows(const faro_arms *arms) {
  const size_t d = arms->dimension;
  double *rows = calloc(arms->count * d + 1, sizeof *rows);
  if (!rows) return PyErr_NoMemory();
  for (size_t i = 0; i < d; i++)
    for (size_t a = 0; a < arms->count; a++) rows[a * d + i] = arms->x[i * arms->stride + a];
  PyObject *made = view_new(rows, arms->count, d);
  free(rows);
  return made;
}

static PyObject *arms(PyObject *self, void *unused) {
  (void)unused;
  world_object *w = (world_object *)self;
  if (!is_open(w, false)) return NULL;
  const faro_arms *now = faro_env_arms(w->env);
  if (!w->arms || w->version != now->version) {
    Py_CLEAR(w->arms);
    w->arms = arms_as_rows(now);
    w->version = now->version;
  }
  return Py_XNewRef(w->arms);
}

static bool read_arm(const world_object *w, PyObject *arm, size_t *index) {
  return is_open(w, false) && keywords_index(arm, "arm", faro_env_arms(w->env)->count, index);
}

static PyObject *play(PyObject *self, PyObject *arm) {
  world_object *w = (world_object *)self;
  size_t index = 0;
  if (!read_arm(w, arm, &index)) return NULL;
  if (w->logged && w->taken != index + 1)
    return errors_invalid("arm %zu cannot be played: rows are logged, so ask takes(arm) first, and play the "
                          "arm for which it is True",
                          index);
  if (!(w->kind->traits & FARO_ENV_STAYS)) Py_CLEAR(w->arms);
  w->round++;
  w->taken = 0;
  const double reward = faro_env_play(w->env, index, w->x);
  return is_read(w) ? PyFloat_FromDouble(reward) : NULL;
}

/* Where rows are logged, a choice that differs from the log passes the row over. */
static PyObject *takes(PyObject *self, PyObject *arm) {
  world_object *w = (world_object *)self;
  size_t index = 0;
  if (!read_arm(w, arm, &index)) return NULL;
  const bool taken = faro_env_takes(w->env, index);
  w->taken = taken ? index + 1 : 0;
  if (!taken) Py_CLEAR(w->arms);
  return is_read(w) ? PyBool_FromLong(taken) : NULL;
}

static PyObject *gap(PyObject *self, PyObject *arm) {
  world_object *w = (world_object *)self;
  size_t index = 0;
  if (!read_arm(w, arm, &index)) return NULL;
  return PyFloat_FromDouble(faro_env_gap(w->env, index));
}

static PyObject *value(PyObject *self, PyObject *unused) {
  (void)unused;
  world_object *w = (world_object *)self;
  if (!is_open(w, true)) return NULL;
  w->round++;
  return PyFloat_FromDouble(faro_env_value(w->env));
}

static PyObject *begin(PyObject *self, PyObject *const *given, Py_ssize_t count) {
  world_object *w = (world_object *)self;
  size_t seed = 0;
  size_t instance = 0;
  if (count < 1 || count > 2) {
    PyErr_Format(PyExc_TypeError, "begin takes seed and instance (got %zd arguments)", count);
    return NULL;
  }
  if (!keywords_index(given[0], "seed", PY_SSIZE_T_MAX, &seed)) return NULL;
  if (count > 1 && !keywords_index(given[1], "instance", PY_SSIZE_T_MAX, &instance)) return NULL;
  w->seed = seed;
  w->instance = instance;
  w->round = 0;
  w->taken = 0;
  Py_CLEAR(w->arms);
  faro_env_begin(w->env, seed, instance);
  if (!is_read(w)) return NULL;
  Py_RETURN_NONE;
}

/* ---- questions */

static PyObject *best(PyObject *self, void *unused) {
  (void)unused;
  const world_object *w = (world_object *)self;
  return is_open(w, false) ? PyLong_FromSize_t(faro_env_best(w->env)) : NULL;
}

static PyObject *user(PyObject *self, void *unused) {
  (void)unused;
  const world_object *w = (world_object *)self;
  return is_open(w, false) ? PyLong_FromUnsignedLongLong(faro_env_user(w->env)) : NULL;
}

static PyObject *number_at(PyObject *self, void *offset) {
  const uint64_t number = *(const uint64_t *)(const void *)((const char *)self + (size_t)offset);
  return PyLong_FromUnsignedLongLong(number);
}

static PyObject *facts(PyObject *self, void *unused) {
  (void)unused;
  const world_object *w = (world_object *)self;
  const faro_env_facts f = faro_env_describe(w->kind, &w->params);
  char assumed[FARO_ASSUMES_SIZE];
  return Py_BuildValue("{s:d,s:d,s:d,s:d,s:d,s:N,s:s,s:d,s:n,s:N,s:z}", "norm", f.norm, "low", f.low, "high",
                       f.high, "bound", f.bound, "spread", f.spread, "adversarial",
                       PyBool_FromLong(f.adversarial), "link", faro_link_name(w->kind->link), "mean_at_zero",
                       faro_link_mean(w->kind->link, 0), "blocks", (Py_ssize_t)f.blocks, "logged",
                       PyBool_FromLong(f.logged), "assumes", faro_assumes_text(f.assumes, assumed));
}

static PyObject *check_once(PyObject *self, PyObject *unused) {
  (void)unused;
  const world_object *w = (world_object *)self;
  faro_error error = {0};
  const faro_status status = faro_env_once(w->kind, &w->params, &error);
  if (status != FARO_OK) return errors_raise(status, &error);
  Py_RETURN_NONE;
}

static PyObject *name(PyObject *self, void *unused) {
  (void)unused;
  return PyUnicode_FromString(((world_object *)self)->kind->name);
}

static PyMethodDef methods[] = {
    {"play", play, METH_O,
     "play(arm)\n--\n\nPlays an arm, returns its reward and makes the next round ready."},
    {"takes", takes, METH_O,
     "takes(arm)\n--\n\nWhether the arm can be played in this round: always, except where rows are logged "
     "and the "
     "log\nhas another arm. Then the row was passed over, and another round is ready."},
    {"gap", gap, METH_O,
     "gap(arm)\n--\n\nReturns the regret of an arm in this round: the best mean reward less its own."},
    {"_check_once", check_once, METH_NOARGS,
     "_check_once()\n--\n\nRaises if a person of a file comes more than once."},
    {"value", value, METH_NOARGS, "value()\n--\n\nReturns the next number of a stream, in [0, 1]."},
    {"begin", FASTCALL(begin), METH_FASTCALL,
     "begin(seed, instance=0)\n--\n\nBegins an instance again, or another one."},
    {0}};

#define NUMBER(member) ((void *)offsetof(world_object, member))

static PyGetSetDef members[] = {
    {"arms", arms, NULL, "Features of this round, one arm per row: a memoryview of doubles.", NULL},
    {"best", best, NULL, "The best arm of this round.", NULL},
    {"user", user, NULL, "Who plays this round.", NULL},
    {"facts", facts, NULL, "What a learner may know in advance.", NULL},
    {"name", name, NULL, "The environment's name.", NULL},
    {"dimension", number_at, NULL, "Features per arm.", NUMBER(params.dimension)},
    {"horizon", number_at, NULL, "Rounds.", NUMBER(params.horizon)},
    {"seed", number_at, NULL, "Names all random streams, with the instance.", NUMBER(seed)},
    {"instance", number_at, NULL, "Names all random streams, with the seed.", NUMBER(instance)},
    {"round", number_at, NULL, "Rounds played so far.", NUMBER(round)},
    {0}};

bool world_add(PyObject *module) {
  static PyType_Slot slots[] = {{Py_tp_new, new},
                                {Py_tp_dealloc, dealloc},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, members},
                                {Py_tp_doc, "A simulated environment; see faro.World."},
                                {0, NULL}};
  static PyType_Spec spec = {.name = "faro._faro.World",
                             .basicsize = sizeof(world_object),
                             .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             .slots = slots};
  return type_add(module, &spec, "World") != NULL;
}
