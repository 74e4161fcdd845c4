/* agent: faro._faro.Agent, a learner behind a private release (faro/agent.h). */
#include "agent.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- arguments */

typedef struct arguments {
  faro_agent_params params;
  faro_calibration calibration;
  bool constant, deployed;
  double radius;
  const char *assumes;
} arguments;

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "sizes are read as counts");

static const char *const level_words[] = {
#define X(name, text) text,
    FARO_LEVEL_LIST(X)
#undef X
        NULL};
static const char *const link_words[] = {
#define X(name, text) text,
    FARO_LINK_LIST(X)
#undef X
        NULL};
static const char *const calibration_words[] = {
#define X(name, text) text,
    FARO_CALIBRATION_LIST(X)
#undef X
        NULL};
static const char *const automatic[] = {"auto", NULL};

#define AT(member) offsetof(arguments, params.member)
#define REAL(name, least, most, help)                                                                        \
  { #name, FARO_SETTING_REAL, AT(name), least, most, 0, NULL, help }
#define COUNT(name, least, most, help)                                                                       \
  { #name, FARO_SETTING_COUNT, AT(name), least, most, 0, NULL, help }
#define SWITCH(name, help)                                                                                   \
  { #name, FARO_SETTING_SWITCH, AT(name), 0, 1, 0, NULL, help }

/* Ranges that the library checks itself are wide here. */
static const faro_setting table[] = {
    COUNT(dimension, 1, FARO_DIMENSION_MAX, "features per arm"),
    COUNT(arms, 0, 1e6, "arms per choice for which scoring is fast; more are allowed"),
    COUNT(horizon, 0, 1e10, "number of people; 0: unknown"),
    REAL(epsilon, 0, 1e6, "the guarantee to reach"),
    REAL(delta, 0, 1, "the guarantee to reach"),
    {"batch", FARO_SETTING_COUNT, AT(batch), 0, 1e10, 0, automatic, "people before the first release"},
    REAL(growth, 0, 1e6, "factor between publications"),
    COUNT(largest, 0, 1e10, "the most people of a batch that has grown"),
    COUNT(shufflers, 0, 1e6, "concurrent-bits only: their number"),
    {"level", FARO_SETTING_CHOICE, AT(level), 0, 0, 0, level_words, "what is protected together"},
    COUNT(contributions, 0, 1e9, "level user only: the most rounds of one person"),
    REAL(honest, 0, 1, "share of a batch whose noise the claim counts on"),
    SWITCH(adaptive, "batches follow from what was published"),
    SWITCH(adversarial, "contexts may change at any time"),
    SWITCH(anytime, "the horizon is not known to the algorithm"),
    {"calibration", FARO_SETTING_CHOICE, offsetof(arguments, calibration), 0, 0, FARO_CALIBRATION_TIGHT,
     calibration_words, "how much noise: by proof, or as published"},
    REAL(norm, 0, 1e6, "features are scaled back to this norm"),
    REAL(centre, -1e6, 1e6, "subtracted from rewards first"),
    REAL(low, -1e6, 1e6, "rewards less the centre are clipped to low and high"),
    REAL(high, -1e6, 1e6, "rewards less the centre are clipped to low and high"),
    {"link", FARO_SETTING_CHOICE, AT(link), 0, 0, 0, link_words, "mean reward as a function of <x, theta>"},
    REAL(bound, 0, 1e6, "generalised linear rewards: bound on the parameter"),
    SWITCH(public_arms, "only rewards are protected; simulation only"),
    REAL(failure, 0, 1, "probability with which confidence regions may fail"),
    COUNT(seed, 0, 18446744073709549568.0, "simulation only: names all random streams"),
    COUNT(instance, 0, 18446744073709549568.0, "simulation only: names all random streams"),
    COUNT(blocks, 0, FARO_DIMENSION_MAX, "blocks of features, of which a person uses one: a block per arm"),
    {"constant", FARO_SETTING_SWITCH, offsetof(arguments, constant), 0, 1, 0, NULL, "blocks end in a 1"},
    {"radius", FARO_SETTING_REAL, offsetof(arguments, radius), 0, 1e6, 0, NULL,
     "contexts are scaled back to this norm"},
    {"assumes", FARO_SETTING_TEXT, offsetof(arguments, assumes), 0, 0, 0, NULL,
     "what the claim assumes about the data"},
    {"deployed", FARO_SETTING_SWITCH, offsetof(arguments, deployed), 0, 1, 0, NULL,
     "noise from the operating system"},
    {0}};

static bool is_given(PyObject *given, const char *name) {
  PyObject *value = PyDict_GetItemString(given, name);
  return value && value != Py_None;
}

/* A simulation has a seed, and a deployment has none: its noise must not be known to anybody. */
static bool check_seed(const arguments *r, PyObject *given) {
  const char *wrong = is_given(given, "seed") ? "seed" : is_given(given, "instance") ? "instance" : NULL;
  if (r->deployed && wrong)
    errors_invalid("%s is for simulation: a deployed agent takes its noise from the operating system", wrong);
  if (!r->deployed && !is_given(given, "seed"))
    errors_invalid("seed must be given for a simulation, or deployed=True for a deployment");
  return !PyErr_Occurred();
}

/* What is left out is named: a message about the number 0 would only puzzle. */
static bool check_given(PyObject *given, const char *learner, const char *release) {
  const faro_release_kind *kind = release ? faro_release_kind_find(release) : NULL;
  if (!learner) errors_invalid("learner must be given: a name of faro.learners()");
  else if (!release)
    errors_invalid("release must be given: a name of faro.releases(); \"none\" is no privacy");
  else if (kind && kind->trust != FARO_TRUST_NONE && !is_given(given, "epsilon"))
    errors_invalid("epsilon must be given for %s: the guarantee to reach, such as epsilon=1", kind->name);
  return !PyErr_Occurred();
}

static bool read_arguments(arguments *r, PyObject *keywords, agent_object *a) {
  static const char *const texts[] = {"learner", "release", NULL};
  faro_settings_preset(table, r);
  const char *learner = keywords_text(keywords, "learner");
  const char *release = PyErr_Occurred() ? NULL : keywords_text(keywords, "release");
  if (PyErr_Occurred()) return false;
  const faro_learner_kind *kind = learner ? faro_learner_find(learner) : NULL;
  if (!keywords_preset(kind ? kind->settings : NULL, kind ? kind->settings_size : 0, &a->settings))
    return false;
  const keyword_table tables[] = {{table, r}, {kind ? kind->settings : NULL, a->settings}};
  if (!keywords_read(keywords, texts, tables, 2, "Agent")) return false;
  if (!check_given(keywords, learner, release) || !check_seed(r, keywords)) return false;
  r->params.learner = learner;
  r->params.release = release;
  r->params.settings = a->settings;
  r->params.calibration = faro_calibration_name(r->calibration);
  r->params.use = r->deployed ? FARO_USE_ALL_PARTIES : FARO_USE_SIMULATED;
  return true;
}

/* ---- life */

static bool build(agent_object *a, PyObject *keywords) {
  arguments r = {.params = {.level = FARO_LEVEL_EVENT}};
  if (!read_arguments(&r, keywords, a)) return false;
  a->dimension = r.params.dimension;
  a->centre = r.params.centre;
  a->norm = r.params.norm > 0 ? r.params.norm : 1;
  a->horizon = r.params.horizon;
  a->deployed = r.deployed;
  a->assumes = r.assumes;
  a->contributions = r.params.contributions > 0 ? r.params.contributions : 1;
  a->arguments = PyDict_Copy(keywords);
  a->people = PyDict_New();
  if (!a->arguments || !a->people || !contexts_init(a, r.params.blocks, r.constant, r.radius)) return false;
  faro_error error = {0};
  faro_status status = FARO_OK;
  Py_BEGIN_ALLOW_THREADS /* the object is not known to anybody yet */
      status = faro_agent_create(&a->agent, &r.params, &error);
  Py_END_ALLOW_THREADS if (status != FARO_OK) return errors_raise(status, &error);
  a->user = r.params.level == FARO_LEVEL_USER && faro_agent_claim(a->agent)->trust != FARO_TRUST_NONE;
  return true;
}

static PyObject *new (PyTypeObject *type, PyObject *positional, PyObject *keywords) {
  if (PyTuple_Size(positional) > 0) {
    PyErr_SetString(PyExc_TypeError, "Agent takes keyword arguments only");
    return NULL;
  }
  PyObject *given = keywords ? PyDict_Copy(keywords) : PyDict_New();
  allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  agent_object *a = given ? (agent_object *)allocate(type, 0) : NULL;
  if (a && !build(a, given)) {
    Py_DECREF((PyObject *)a);
    a = NULL;
  }
  Py_XDECREF(given);
  return (PyObject *)a;
}

static void dealloc(PyObject *self) {
  agent_object *a = (agent_object *)self;
  PyTypeObject *type = Py_TYPE(self);
  faro_agent_destroy(a->agent);
  free(a->settings);
  free(a->blocks.feature);
  Py_XDECREF(a->arguments);
  Py_XDECREF(a->people);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF((PyObject *)type);
}

/* ---- choosing and learning */

static PyObject *choose(PyObject *self, PyObject *features) {
  agent_object *a = (agent_object *)self;
  view v;
  if (!view_rows(&v, features, "features", a->dimension)) return NULL;
  const size_t arm = faro_agent_choose(a->agent, v.x, v.rows);
  view_clear(&v);
  return PyLong_FromSize_t(arm);
}

bool agent_keyword(PyObject *const *given, Py_ssize_t count, PyObject *names, const char *allowed,
                   PyObject **value) {
  const Py_ssize_t extra = names ? PyTuple_Size(names) : 0;
  *value = NULL;
  for (Py_ssize_t i = 0; i < extra; i++) {
    const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), NULL);
    if (!name) return false;
    if (strcmp(name, allowed) != 0) {
      PyErr_Format(PyExc_TypeError, "the only keyword is %s (got %.100s)", allowed, name);
      return false;
    }
    if (given[count + i] != Py_None) *value = given[count + i];
  }
  return true;
}

/* A person is a string or a whole number: a new reference, or NULL with an exception. */
static PyObject *read_person(PyObject *person) {
  if (PyUnicode_Check(person)) return PyUnicode_FromObject(person);
  if (PyIndex_Check(person)) return PyNumber_Index(person);
  PyErr_Format(PyExc_TypeError, "a person must be a string or a whole number (got %R)", person);
  return NULL;
}

PyObject *agent_people(PyObject *people, size_t count, bool *ok) {
  PyObject *items = people ? PySequence_Tuple(people) : NULL;
  *ok = !people || items;
  if (items && (size_t)PyTuple_Size(items) != count) {
    errors_invalid("people must have one entry per row, %zu (got %zd)", count, PyTuple_Size(items));
    *ok = false;
  }
  for (size_t i = 0; items && *ok && i < count; i++) {
    PyObject *person = read_person(PyTuple_GetItem(items, (Py_ssize_t)i));
    *ok = person != NULL;
    Py_XDECREF(person);
  }
  if (!*ok) Py_CLEAR(items);
  return items;
}

/* Whether the person may contribute now, as faro_gate decides it; then it is counted. 1, 0, or -1
 * with an exception. People have names here, and their number is not known, so there is a
 * dictionary in the place of a gate. */
static int admit(agent_object *a, PyObject *person) {
  const unsigned long long batch = faro_agent_batches(a->agent);
  unsigned long long count = 0;
  unsigned long long last = 0;
  PyObject *key = read_person(person);
  if (!key) return -1;
  PyObject *visits = PyDict_GetItemWithError(a->people, key); /* borrowed */
  bool ok = visits ? PyArg_ParseTuple(visits, "KK", &count, &last) != 0 : !PyErr_Occurred();
  const bool may = ok && count < a->contributions && (count == 0 || batch > last);
  if (may) {
    PyObject *now = Py_BuildValue("(KK)", count + 1, batch);
    ok = now && PyDict_SetItem(a->people, key, now) == 0;
    Py_XDECREF(now);
  }
  Py_DECREF(key);
  if (!ok) return -1;
  if (!may) a->refused++;
  return may;
}

/* What goes wrong silently is said once: 0, or -1 if warnings are exceptions. */
static int warn_once(uint64_t *count, const char *text) {
  return (*count)++ == 0 ? PyErr_WarnEx(PyExc_UserWarning, text, 1) : 0;
}

int agent_warn_longer(agent_object *a) {
  return warn_once(
      &a->longer,
      "features or contexts are longer than norm, and are scaled back to it, which loses what their "
      "length says; scale them by ranges that are public, or give a larger norm (more noise). "
      "The attribute longer counts them");
}

static bool is_longer(const agent_object *a, const double *x) {
  double square = 0;
  for (size_t i = 0; i < a->dimension; i++) square += x[i] * x[i];
  return square > a->norm * a->norm * (1 + 1e-9);
}

/* 1: the person's data is learned; 0: it is left out; -1: an exception. */
static int may_learn(agent_object *a, PyObject *person) {
  if (a->saved) {
    errors_invalid(
        "this deployed agent was saved, so only the agent that loads its state may learn: two that "
        "continue from one state publish the same sums twice");
    return -1;
  }
  if (a->user && !person) {
    errors_invalid(
        "person must be given at level user: the claim holds for at most %llu rounds of a person, and "
        "one per batch",
        (unsigned long long)a->contributions);
    return -1;
  }
  if (!a->user && person && faro_agent_claim(a->agent)->trust != FARO_TRUST_NONE) {
    errors_invalid("person is for level user: this agent's claim is at event level");
    return -1;
  }
  if (!faro_agent_done(a->agent)) return a->user ? admit(a, person) : 1;
  if (a->told++ < a->horizon) return 0; /* they do not fill another batch */
  return warn_once(&a->late,
                   "the horizon is over: nothing more is learned from anybody (the attribute done says "
                   "so); give a horizon for all people who will come");
}

int agent_tell(agent_object *a, const double *x, double reward, PyObject *person) {
  const uint64_t before = faro_agent_batches(a->agent);
  const int may = may_learn(a, person);
  if (may <= 0) return may;
  a->told++;
  if (is_longer(a, x) && agent_warn_longer(a) != 0) return -1;
  faro_error error;
  error.status = FARO_OK;
  error.message[0] = '\0';
  const faro_status status = faro_agent_learn(a->agent, x, reward, &error);
  if (status != FARO_OK) {
    errors_raise(status, &error);
    return -1;
  }
  return faro_agent_batches(a->agent) != before;
}

/* learn(x, reward), or learn(features, reward, arm) for a row of the features; person=. */
static PyObject *learn(PyObject *self, PyObject *const *given, Py_ssize_t count, PyObject *names) {
  agent_object *a = (agent_object *)self;
  PyObject *person = NULL;
  double reward = 0;
  size_t arm = 0;
  view v;
  if (count != 2 && count != 3) {
    PyErr_Format(PyExc_TypeError, "learn takes x and reward, or features, reward and arm (got %zd arguments)",
                 count);
    return NULL;
  }
  if (!agent_keyword(given, count, names, "person", &person)) return NULL;
  if (!keywords_number(given[1], "reward", &reward)) return NULL;
  if (count == 3 && !keywords_index(given[2], "arm", PY_SSIZE_T_MAX, &arm)) return NULL;
  if (!(count == 3 ? view_rows(&v, given[0], "features", a->dimension)
                   : view_vector(&v, given[0], "x", a->dimension)))
    return NULL;
  int published = -1;
  if (arm < v.rows) published = agent_tell(a, v.x + arm * a->dimension, reward, person);
  else errors_invalid("arm must be below the number of arms, %zu (got %zu)", v.rows, arm);
  view_clear(&v);
  return published < 0 ? NULL : PyBool_FromLong(published);
}

static PyObject *learn_rows(agent_object *a, const view *x, const view *y, PyObject *people) {
  const uint64_t before = faro_agent_batches(a->agent);
  int published = 0;
  for (size_t i = 0; published >= 0 && i < x->rows; i++)
    published = agent_tell(a, x->x + i * a->dimension, y->x[i],
                           people ? PyTuple_GetItem(people, (Py_ssize_t)i) : NULL);
  return published < 0 ? NULL : PyLong_FromUnsignedLongLong(faro_agent_batches(a->agent) - before);
}

static PyObject *learn_many(PyObject *self, PyObject *const *given, Py_ssize_t count, PyObject *names) {
  agent_object *a = (agent_object *)self;
  PyObject *named = NULL;
  PyObject *result = NULL;
  bool ok = false;
  view x;
  view y;
  if (count != 2) {
    PyErr_Format(PyExc_TypeError, "learn_many takes features and rewards (got %zd arguments)", count);
    return NULL;
  }
  if (!agent_keyword(given, count, names, "people", &named)) return NULL;
  if (!view_rows(&x, given[0], "features", a->dimension)) return NULL;
  if (view_vector(&y, given[1], "rewards", x.rows)) {
    PyObject *people = agent_people(named, x.rows, &ok);
    if (ok) result = learn_rows(a, &x, &y, people);
    Py_XDECREF(people);
    view_clear(&y);
  }
  view_clear(&x);
  return result;
}

/* ---- questions */

static PyObject *claim(PyObject *self, void *unused) {
  (void)unused;
  const agent_object *a = (const agent_object *)self;
  return claim_dict(faro_agent_claim(a->agent), a->assumes);
}

static PyObject *policy(PyObject *self, void *unused) {
  static const char *const rules[] = {
#define X(name, text) text,
      FARO_RULE_LIST(X)
#undef X
  };
  (void)unused;
  const faro_policy *p = faro_agent_policy(((agent_object *)self)->agent);
  PyObject *dict = PyDict_New();
  bool ok = dict != NULL;
  dict_take(dict, "rule", PyUnicode_FromString(rules[p->rule]), &ok);
  dict_take(dict, "theta", view_new(p->theta, 0, p->dimension), &ok);
  dict_take(dict, "w", view_new(p->w, 0, faro_policy_w_length(p->dimension)), &ok);
  dict_take(dict, "beta", PyFloat_FromDouble(p->beta), &ok);
  dict_take(dict, "explore", PyFloat_FromDouble(p->explore), &ok);
  dict_take(dict, "version", PyLong_FromUnsignedLongLong(p->version), &ok);
  if (!ok) Py_CLEAR(dict);
  return dict;
}

static PyObject *cost(PyObject *self, void *unused) {
  (void)unused;
  const faro_cost c = faro_agent_cost(((agent_object *)self)->agent);
  return Py_BuildValue("{s:d,s:d,s:d}", "bytes", c.bytes, "bits", c.bits, "messages", c.messages);
}

static PyObject *batch(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromUnsignedLongLong(faro_agent_batch(((agent_object *)self)->agent));
}

static PyObject *batches(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromUnsignedLongLong(faro_agent_batches(((agent_object *)self)->agent));
}

static PyObject *missing(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromUnsignedLongLong(faro_release_missing(faro_agent_release(((agent_object *)self)->agent)));
}

static PyObject *done(PyObject *self, void *unused) {
  (void)unused;
  return PyBool_FromLong(faro_agent_done(((agent_object *)self)->agent));
}

static PyObject *dimension(PyObject *self, void *unused) {
  (void)unused;
  return PyLong_FromSize_t(((agent_object *)self)->dimension);
}

static PyObject *deployed(PyObject *self, void *unused) {
  (void)unused;
  return PyBool_FromLong(((agent_object *)self)->deployed);
}

static PyObject *count_at(PyObject *self, void *offset) {
  const uint64_t number = *(const uint64_t *)(const void *)((const char *)self + (size_t)offset);
  return PyLong_FromUnsignedLongLong(number);
}

static PyObject *people(PyObject *self, void *unused) {
  (void)unused;
  return PyDict_Copy(((agent_object *)self)->people);
}

static PyObject *given_arguments(PyObject *self, void *unused) {
  (void)unused;
  return PyDict_Copy(((agent_object *)self)->arguments);
}

static PyObject *gaussian(PyObject *self, PyObject *share) {
  double number = 0;
  double mu = 0;
  double slack = 0;
  if (!keywords_number(share, "share", &number)) return NULL;
  if (number <= 0 || number > 1) return errors_invalid("share must be above 0, to 1 (got %R)", share);
  if (!faro_release_gaussian(faro_agent_release(((agent_object *)self)->agent), number, &mu, &slack))
    Py_RETURN_NONE;
  return Py_BuildValue("(dd)", mu, slack);
}

static PyObject *grounds(PyObject *self, PyObject *unused) {
  (void)unused;
  char *text = faro_agent_grounds(((agent_object *)self)->agent);
  if (!text) Py_RETURN_NONE;
  return text_take(text);
}

/* ---- state */

/* A deployment that was saved learns nothing more: the one that loads the state continues. */
static PyObject *save(PyObject *self, PyObject *unused) {
  (void)unused;
  agent_object *a = (agent_object *)self;
  const size_t size = faro_agent_state_size(a->agent);
  faro_error error = {0};
  void *state = malloc(size + 1);
  if (!state) return PyErr_NoMemory();
  const faro_status status = faro_agent_save(a->agent, state, &error);
  PyObject *bytes =
      status == FARO_OK ? PyBytes_FromStringAndSize(state, (Py_ssize_t)size) : errors_raise(status, &error);
  free(state);
  if (bytes) a->saved = a->deployed;
  return bytes;
}

static bool copy_person(PyObject *to, PyObject *item) {
  unsigned long long count = 0;
  unsigned long long last = 0;
  PyObject *person = read_person(PyTuple_GetItem(item, 0));
  PyObject *visits = person ? PySequence_Tuple(PyTuple_GetItem(item, 1)) : NULL; /* JSON has lists */
  const bool ok =
      visits && PyArg_ParseTuple(visits, "KK", &count, &last) && PyDict_SetItem(to, person, visits) == 0;
  Py_XDECREF(person);
  Py_XDECREF(visits);
  return ok;
}

/* Who has contributed, as the attribute people said: a new dictionary, or NULL with an
 * exception. */
static PyObject *read_people(const agent_object *a, PyObject *given) {
  if (a->user && !given)
    return errors_invalid(
        "people must be given at level user: what the attribute people of the saved agent said");
  if (given && !PyDict_Check(given)) {
    PyErr_Format(PyExc_TypeError, "people must be a dictionary (got %R)", given);
    return NULL;
  }
  PyObject *items = given ? PyDict_Items(given) : PyList_New(0);
  PyObject *made = items ? PyDict_New() : NULL;
  for (Py_ssize_t i = 0; made && i < PyList_Size(items); i++)
    if (!copy_person(made, PyList_GetItem(items, i))) Py_CLEAR(made);
  Py_XDECREF(items);
  return made;
}

static faro_status load_bytes(agent_object *a, PyObject *state, faro_error *error) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(state, &buffer, PyBUF_SIMPLE) != 0) return FARO_INVALID;
  const size_t size = (size_t)buffer.len;
  void *copy = malloc(size + 1); /* aligned, and nobody else writes to it */
  if (copy) memcpy(copy, buffer.buf, size);
  PyBuffer_Release(&buffer);
  const faro_status status = copy ? faro_agent_load(a->agent, copy, size, error) : FARO_MEMORY;
  free(copy);
  return status;
}

static PyObject *load(PyObject *self, PyObject *const *given, Py_ssize_t count, PyObject *names) {
  agent_object *a = (agent_object *)self;
  PyObject *named = NULL;
  faro_error error = {0};
  if (count != 1) {
    PyErr_Format(PyExc_TypeError, "load takes a state (got %zd arguments)", count);
    return NULL;
  }
  if (!agent_keyword(given, count, names, "people", &named)) return NULL;
  PyObject *told = read_people(a, named);
  if (!told) return NULL;
  const faro_status status = load_bytes(a, given[0], &error);
  if (status != FARO_OK) {
    Py_DECREF(told);
    return PyErr_Occurred() ? NULL : errors_raise(status, &error);
  }
  Py_DECREF(a->people);
  a->people = told;
  a->saved = false;
  a->told = faro_agent_statistics(a->agent).users;
  Py_RETURN_NONE;
}

/* ---- the type */

static PyMethodDef methods[] = {
    {"choose", choose, METH_O,
     "choose(features)\n--\n\nReturns the arm to play, for a matrix with the features of one arm per row."},
    {"learn", FASTCALL(learn), METH_FASTCALL | METH_KEYWORDS,
     "learn(x, reward, arm=None, *, person=None)\n--\n\nRecords one person's reward for the features of the "
     "arm played, or "
     "for row `arm` of a matrix.\nReturns True if this person completed a batch, so that the policy has "
     "changed.\nAt level user `person`, a string or a whole number, is required; a round beyond what the "
     "claim "
     "covers is\nleft out and counted in `refused`."},
    {"learn_many", FASTCALL(learn_many), METH_FASTCALL | METH_KEYWORDS,
     "learn_many(features, rewards, *, people=None)\n--\n\nRecords one person per row. Returns how many "
     "batches that "
     "completed."},
    {"choose_context", contexts_choose, METH_O,
     "choose_context(context)\n--\n\nReturns the arm to play for a context, where each arm has a block of "
     "the "
     "features (blocks=)."},
    {"learn_context", FASTCALL(contexts_learn), METH_FASTCALL | METH_KEYWORDS,
     "learn_context(arm, reward, context, *, person=None)\n--\n\nRecords one person's reward for the arm "
     "played in a "
     "context. Returns True if that completed a batch."},
    {"learn_contexts", FASTCALL(contexts_learn_many), METH_FASTCALL | METH_KEYWORDS,
     "learn_contexts(arms, rewards, contexts, *, people=None)\n--\n\nRecords one person per row. Returns how "
     "many batches "
     "that completed."},
    {"choose_contexts", contexts_choose_many, METH_O,
     "choose_contexts(contexts)\n--\n\nReturns a list with the arm to play for every row."},
    {"expect", contexts_expect, METH_O,
     "expect(contexts)\n--\n\nReturns, for every row, a list with the estimated mean reward of every arm."},
    {"gaussian", gaussian, METH_O,
     "gaussian(share)\n--\n\nReturns (mu, extra delta) of the Gaussian mechanism that dominates what one "
     "person's data does,\nif it moves by at most `share` of its range; None if none is known."},
    {"grounds", grounds, METH_NOARGS, "grounds()\n--\n\nReturns what the claim rests on, as JSON, or None."},
    {"save", save, METH_NOARGS,
     "save()\n--\n\nReturns what the next batch needs from the past, as bytes; between two batches, for "
     "releases in whole numbers.\nA deployed agent learns nothing more after it: the agent that loads the "
     "state "
     "continues, once."},
    {"load", FASTCALL(load), METH_FASTCALL | METH_KEYWORDS,
     "load(state, *, people=None)\n--\n\nContinues from a saved state of an agent with the same arguments. "
     "Load a "
     "state once.\nAt level user `people` is what that agent's attribute people said."},
    {0}};

static PyGetSetDef members[] = {
    {"_claim", claim, NULL, "The claim as a dictionary.", NULL},
    {"_policy", policy, NULL, "The policy as a dictionary.", NULL},
    {"_arguments", given_arguments, NULL, "The arguments it was made from.", NULL},
    {"cost", cost, NULL,
     "What taking part costs a person: bytes sent; and as the papers count, bits of information in them, "
     "and\n"
     "messages to the shuffler, of which each bit of a bit sum is one. What is sent is one report.",
     NULL},
    {"batch", batch, NULL, "People before the first release.", NULL},
    {"batches", batches, NULL, "Batches published so far.", NULL},
    {"missing", missing, NULL, "People that the open batch still waits for; 0: nothing more is published.",
     NULL},
    {"done", done, NULL, "Whether nothing more will be published.", NULL},
    {"dimension", dimension, NULL, "Features per arm.", NULL},
    {"refused", count_at, NULL,
     "Level user: rounds that were left out because the claim does not cover them.",
     (void *)offsetof(agent_object, refused)},
    {"longer", count_at, NULL,
     "Features and contexts learned that were longer than the norm, and scaled back.",
     (void *)offsetof(agent_object, longer)},
    {"late", count_at, NULL, "People who came after the horizon, of whom nothing was learned.",
     (void *)offsetof(agent_object, late)},
    {"people", people, NULL, "Level user: a dictionary with (rounds, batch of the last one) of each person.",
     NULL},
    {"deployed", deployed, NULL, "Whether the noise is the operating system's; False is a simulation.", NULL},
    {0}};

bool agent_add(PyObject *module) {
  static PyType_Slot slots[] = {{Py_tp_new, new},
                                {Py_tp_dealloc, dealloc},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, members},
                                {Py_tp_doc, "A learner behind a private release; see faro.Agent."},
                                {0, NULL}};
  static PyType_Spec spec = {.name = "faro._faro.Agent",
                             .basicsize = sizeof(agent_object),
                             .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                             .slots = slots};
  return type_add(module, &spec, "Agent") != NULL;
}
