/* account: the accountants (faro/privacy.h). faro/account.py asks the questions; here are the
 * functions, each with the range of every argument. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "module.h"

typedef struct range {
  const char *name;
  double least, most;
  bool whole;
} range;

static const range MU = {"mu", 1e-15, 1e15, false};
static const range RATIO = {"ratio", 1e-15, 1e15, false};
static const range EPSILON = {"epsilon", 1e-4, 1000, false};
static const range EPSILON_OR_0 = {"epsilon", 0, 1000, false};
static const range DELTA = {"delta", 1e-15, 0.999, false};
static const range DELTA_OR_0 = {"delta", 0, 0.999, false};
static const range LOCAL_EPSILON = {"local_epsilon", 1e-4, 1000, false};
static const range LOCAL_50 = {"local_epsilon", 1e-4, 50, false};
static const range EPSILON_50 = {"epsilon", 1e-4, 50, false};
static const range LOCAL_DELTA = {"local_delta", 0, 0.999, false};
static const range NOISE = {"noise", 1e-6, 1e9, false};
static const range SHIFT = {"sensitivity", 1, 1e6, true};
static const range RHO = {"rho", 1e-12, 1e4, false};
static const range USERS = {"users", 1, 1e9, true};
static const range TIMES = {"times", 1, 1e6, true};
static const range BITS = {"bits", 1, 1e9, true};
static const range BIAS = {"bias", 0.25, 0.5, false};

enum { ARGUMENTS_MAX = 4 };

typedef struct solver {
  const char *name;
  double (*solve)(const double *v);
  const range *argument[ARGUMENTS_MAX + 1]; /* ended by NULL */
} solver;

#define TWO(name)                                                                                            \
  static double solve_##name(const double *v) { return faro_##name(v[0], v[1]); }
#define WHOLE_IN_THE_MIDDLE(name)                                                                            \
  static double solve_##name(const double *v) { return faro_##name(v[0], (uint64_t)v[1], v[2]); }
#define WHOLE_FIRST(name)                                                                                    \
  static double solve_##name(const double *v) { return faro_##name((uint64_t)v[0], v[1], v[2]); }
#define FOUR(name)                                                                                           \
  static double solve_##name(const double *v) { return faro_##name(v[0], v[1], v[2], v[3]); }

TWO(gaussian_delta)
TWO(gaussian_epsilon)
TWO(gaussian_mu)
TWO(laplace_delta)
TWO(laplace_epsilon)
TWO(laplace_ratio)
TWO(response_delta)
TWO(response_epsilon)
TWO(zcdp_epsilon)
TWO(zcdp_rho)
WHOLE_IN_THE_MIDDLE(discrete_laplace_delta)
WHOLE_IN_THE_MIDDLE(discrete_laplace_epsilon)
WHOLE_FIRST(discrete_laplace_scale)
WHOLE_IN_THE_MIDDLE(discrete_gaussian_delta)
WHOLE_IN_THE_MIDDLE(discrete_gaussian_epsilon)
WHOLE_FIRST(discrete_gaussian_sigma)
FOUR(shuffle_delta)
FOUR(shuffle_epsilon)
FOUR(shuffle_local_epsilon)
static double solve_advanced_epsilon(const double *v) { return faro_advanced_epsilon(v[0], v[1], v[2]); }
static double solve_bits_delta(const double *v) {
  return faro_bits_delta((uint64_t)v[0], v[1], (uint64_t)v[2], v[3]);
}

#define SOLVER(name, ...)                                                                                    \
  {                                                                                                          \
#name, solve_##name, { __VA_ARGS__, NULL }                                                               \
  }

static const solver solvers[] = {
    SOLVER(gaussian_delta, &MU, &EPSILON),
    SOLVER(gaussian_epsilon, &MU, &DELTA),
    SOLVER(gaussian_mu, &EPSILON, &DELTA),
    SOLVER(laplace_delta, &RATIO, &EPSILON),
    SOLVER(laplace_epsilon, &RATIO, &DELTA),
    SOLVER(laplace_ratio, &EPSILON, &DELTA),
    SOLVER(discrete_laplace_delta, &NOISE, &SHIFT, &EPSILON),
    SOLVER(discrete_laplace_epsilon, &NOISE, &SHIFT, &DELTA),
    SOLVER(discrete_laplace_scale, &SHIFT, &EPSILON, &DELTA),
    SOLVER(discrete_gaussian_delta, &NOISE, &SHIFT, &EPSILON),
    SOLVER(discrete_gaussian_epsilon, &NOISE, &SHIFT, &DELTA),
    SOLVER(discrete_gaussian_sigma, &SHIFT, &EPSILON, &DELTA),
    SOLVER(response_delta, &LOCAL_EPSILON, &EPSILON),
    SOLVER(response_epsilon, &LOCAL_EPSILON, &DELTA),
    SOLVER(zcdp_epsilon, &RHO, &DELTA),
    SOLVER(zcdp_rho, &EPSILON, &DELTA),
    SOLVER(advanced_epsilon, &EPSILON, &TIMES, &DELTA),
    SOLVER(shuffle_delta, &LOCAL_50, &LOCAL_DELTA, &USERS, &EPSILON_50),
    SOLVER(shuffle_epsilon, &LOCAL_50, &LOCAL_DELTA, &USERS, &DELTA),
    SOLVER(shuffle_local_epsilon, &EPSILON_50, &DELTA, &USERS, &LOCAL_DELTA),
    SOLVER(bits_delta, &BITS, &BIAS, &SHIFT, &EPSILON_OR_0),
};

static bool read_one(PyObject *value, const range *r, double *number) {
  *number = PyFloat_AsDouble(value);
  if (*number == -1 && PyErr_Occurred()) return false;
  if (*number >= r->least && *number <= r->most && (!r->whole || *number == floor(*number))) return true;
  char allowed[80];
  snprintf(allowed, sizeof allowed, "%s%g .. %g", r->whole ? "a whole number, " : "", r->least, r->most);
  errors_invalid("%s must be %s (got %R)", r->name, allowed, value);
  return false;
}

/* Reads `count` values by their ranges. */
static bool read_all(PyObject *const *given, Py_ssize_t count, const range *const *argument, double *value) {
  Py_ssize_t wanted = 0;
  while (argument[wanted]) wanted++;
  if (count != wanted) {
    PyErr_Format(PyExc_TypeError, "expected %zd numbers (got %zd)", wanted, count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++)
    if (!read_one(given[i], argument[i], &value[i])) return false;
  return true;
}

static PyObject *solve(PyObject *module, PyObject *const *given, Py_ssize_t count) {
  (void)module;
  const char *name = count > 0 ? PyUnicode_AsUTF8AndSize(given[0], NULL) : NULL;
  double value[ARGUMENTS_MAX];
  if (!name) return PyErr_Occurred() ? NULL : errors_invalid("solve needs the name of an accountant");
  for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++) {
    if (strcmp(solvers[i].name, name) != 0) continue;
    if (!read_all(given + 1, count - 1, solvers[i].argument, value)) return NULL;
    double answer = 0;
    Py_BEGIN_ALLOW_THREADS answer = solvers[i].solve(value);
    Py_END_ALLOW_THREADS return PyFloat_FromDouble(answer);
  }
  return errors_invalid("no accountant %.100s", name);
}

static PyObject *closed_form(PyObject *module, PyObject *const *given, Py_ssize_t count) {
  static const range *const arguments[] = {&LOCAL_50, &LOCAL_DELTA, &USERS, &DELTA, NULL};
  double v[4];
  double epsilon = 0;
  double delta = 0;
  (void)module;
  if (!read_all(given, count, arguments, v)) return NULL;
  if (!faro_shuffle_closed_form(v[0], v[1], v[2], v[3], &epsilon, &delta)) Py_RETURN_NONE;
  return Py_BuildValue("(dd)", epsilon, delta);
}

static PyObject *continual(PyObject *module, PyObject *const *given, Py_ssize_t count) {
  static const range tree = {"steps", 1, 1e9, true};
  static const range factored = {"steps", 1, 1e7, true}; /* its norms are summed step by step */
  static const range contributions = {"contributions", 1, 1e9, true};
  (void)module;
  const int kind = count == 3 ? PyObject_IsTrue(given[0]) : -1;
  if (kind < 0) return PyErr_Occurred() ? NULL : errors_invalid("expected is_tree, steps, contributions");
  const range *const arguments[] = {kind ? &tree : &factored, &contributions, NULL};
  double v[2];
  if (!read_all(given + 1, count - 1, arguments, v)) return NULL;
  if (v[1] > v[0])
    return errors_invalid("contributions must be at most steps, %R (got %R)", given[1], given[2]);
  faro_continual f = {0};
  Py_BEGIN_ALLOW_THREADS f = kind ? faro_tree_factors((uint64_t)v[0], (uint64_t)v[1])
                                  : faro_factored_factors((uint64_t)v[0], (uint64_t)v[1]);
  Py_END_ALLOW_THREADS return Py_BuildValue("(dd)", f.sensitivity, f.prefix);
}

/* bits(users, honest, dimension, sensitivity, grid, bits, epsilon, delta): calibrates where bits is
 * 0, else accounts. */
static PyObject *bits(PyObject *module, PyObject *const *given, Py_ssize_t count) {
  static const range honest = {"honest", 1, 1e9, true};
  static const range dimension = {"dimension", 1, 1e6, true};
  static const range sensitivity = {"sensitivity", 1e-12, 1e6, false};
  static const range grid = {"grid", 0, 1e6, true};
  static const range noise = {"noise_bits", 0, 1e15, true};
  static const range epsilon = {"epsilon", 0, 50, false};
  static const range *const arguments[] = {&USERS, &honest,  &dimension, &sensitivity, &grid,
                                           &noise, &epsilon, &DELTA,     NULL};
  double v[8];
  (void)module;
  if (!read_all(given, count, arguments, v)) return NULL;
  if (v[1] > v[0]) return errors_invalid("honest must be at most users, %R (got %R)", given[0], given[1]);
  if (v[5] == 0 && v[6] < 1e-4) return errors_invalid("epsilon must be 0.0001 .. 50 (got %R)", given[6]);
  if (v[5] > 0 && v[4] < 1) return errors_invalid("grid must be 1 .. 1e6 (got %R)", given[4]);
  faro_bits_plan plan = {
      .users = v[0], .honest = v[1], .dimension = v[2], .sensitivity = v[3], .grid = v[4], .bits = v[5]};
  faro_error error = {0};
  faro_status status = FARO_OK;
  double found = v[6];
  Py_BEGIN_ALLOW_THREADS status = v[5] > 0 ? faro_bits_account(&plan, v[7], &found, &error)
                                           : faro_bits_calibrate(&plan, v[6], v[7], &error);
  Py_END_ALLOW_THREADS if (status != FARO_OK) return errors_raise(status, &error);
  return Py_BuildValue("{s:d,s:d,s:d,s:d}", "grid", plan.grid, "bits", plan.bits, "noise_sd", plan.noise_sd,
                       "epsilon", found);
}

/* ---- privacy-loss distributions */

typedef struct loss_object {
  PyObject_HEAD faro_pld *pld;
} loss_object;

static PyTypeObject *loss_type;

/* Loss(kind, value, delta): gaussian (mu), laplace (ratio), response (local epsilon), pure
 * (epsilon). */
static PyObject *loss_new(PyTypeObject *type, PyObject *positional, PyObject *keywords) {
  const char *kind = NULL;
  PyObject *given[2] = {NULL, NULL};
  double value = 0;
  double delta = 0;
  (void)keywords;
  if (!PyArg_ParseTuple(positional, "sOO:Loss", &kind, &given[0], &given[1])) return NULL;
  const bool gaussian = strcmp(kind, "gaussian") == 0;
  const bool laplace = strcmp(kind, "laplace") == 0;
  const bool response = strcmp(kind, "response") == 0;
  if (!gaussian && !laplace && !response && strcmp(kind, "pure") != 0)
    return errors_invalid("mechanism must be gaussian, laplace, response or pure (got %.40s)", kind);
  const range *first = gaussian ? &MU : laplace ? &RATIO : response ? &LOCAL_EPSILON : &EPSILON_OR_0;
  if (!read_one(given[0], first, &value) || !read_one(given[1], &DELTA_OR_0, &delta)) return NULL;
  loss_object *l = (loss_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
  if (!l) return NULL;
  faro_error error = {0};
  const faro_status status = gaussian   ? faro_pld_gaussian(&l->pld, value, &error)
                             : laplace  ? faro_pld_laplace(&l->pld, value, &error)
                             : response ? faro_pld_response(&l->pld, value, &error)
                                        : faro_pld_pure(&l->pld, value, delta, &error);
  if (status == FARO_OK) return (PyObject *)l;
  Py_DECREF((PyObject *)l);
  return errors_raise(status, &error);
}

static void loss_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  faro_pld_destroy(((loss_object *)self)->pld);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF((PyObject *)type);
}

static PyObject *finish(faro_status status, const faro_error *error) {
  if (status != FARO_OK) return errors_raise(status, error);
  Py_RETURN_NONE;
}

static PyObject *loss_repeat(PyObject *self, PyObject *times) {
  double number = 0;
  faro_error error = {0};
  if (!read_one(times, &TIMES, &number)) return NULL;
  return finish(faro_pld_repeat(((loss_object *)self)->pld, (uint64_t)number, &error), &error);
}

static PyObject *loss_compose(PyObject *self, PyObject *other) {
  faro_error error = {0};
  if (!PyObject_TypeCheck(other, loss_type)) {
    PyErr_Format(PyExc_TypeError, "expected a Loss (got %R)", other);
    return NULL;
  }
  if (other == self) return errors_invalid("a Loss cannot be composed with itself; repeat it");
  return finish(faro_pld_compose(((loss_object *)self)->pld, ((loss_object *)other)->pld, &error), &error);
}

static PyObject *loss_epsilon(PyObject *self, PyObject *delta) {
  double number = 0;
  if (!read_one(delta, &DELTA_OR_0, &number)) return NULL;
  return PyFloat_FromDouble(faro_pld_epsilon(((loss_object *)self)->pld, number));
}

static PyObject *loss_delta(PyObject *self, PyObject *epsilon) {
  double number = 0;
  if (!read_one(epsilon, &EPSILON_OR_0, &number)) return NULL;
  return PyFloat_FromDouble(faro_pld_delta(((loss_object *)self)->pld, number));
}

static PyMethodDef loss_methods[] = {
    {"repeat", loss_repeat, METH_O, "repeat(times)\n--\n\nRepeats the mechanism, in place."},
    {"compose", loss_compose, METH_O, "compose(other)\n--\n\nAdds a mechanism on the same data, in place."},
    {"epsilon", loss_epsilon, METH_O, "epsilon(delta)\n--\n\nReturns the least epsilon at this delta."},
    {"delta", loss_delta, METH_O, "delta(epsilon)\n--\n\nReturns the least delta at this epsilon."},
    {0}};

static PyMethodDef functions[] = {
    {"solve", FASTCALL(solve), METH_FASTCALL,
     "solve(name, *numbers)\n--\n\nOne accountant of faro/privacy.h."},
    {"closed_form", FASTCALL(closed_form), METH_FASTCALL,
     "closed_form(local_epsilon, local_delta, users, slack)\n--\n\n(epsilon, delta) after shuffling, or "
     "None."},
    {"continual", FASTCALL(continual), METH_FASTCALL,
     "continual(is_tree, steps, contributions)\n--\n\nFactors of a running sum: (sensitivity, prefix)."},
    {"bits", FASTCALL(bits), METH_FASTCALL,
     "bits(users, honest, dimension, sensitivity, grid, bits, epsilon, delta)\n--\n\nA plan of noise bits."},
    {0}};

bool account_add(PyObject *module) {
  static PyType_Slot slots[] = {{Py_tp_new, loss_new},
                                {Py_tp_dealloc, loss_dealloc},
                                {Py_tp_methods, loss_methods},
                                {Py_tp_doc, "A privacy-loss distribution; see faro.account.PLD."},
                                {0, NULL}};
  static PyType_Spec spec = {.name = "faro._faro.Loss",
                             .basicsize = sizeof(loss_object),
                             .flags = Py_TPFLAGS_DEFAULT,
                             .slots = slots};
  loss_type = type_add(module, &spec, "Loss");
  return loss_type && PyModule_AddFunctions(module, functions) == 0;
}
