/* plan: which release, learner and schedule suit a problem (faro/plan.h). */
#include <stddef.h>

#include "module.h"

typedef struct arguments {
  faro_problem problem;
  uint64_t seed, instances, jobs, trusts;
  bool simulate;
} arguments;

static const char *const contexts_words[] = {
#define X(name, text) text,
    FARO_CONTEXTS_LIST(X)
#undef X
        NULL};
static const char *const link_words[] = {
#define X(name, text) text,
    FARO_LINK_LIST(X)
#undef X
        NULL};

#define AT(member) offsetof(arguments, problem.member)
#define OWN(member) offsetof(arguments, member)

static const faro_setting table[] = {
    {"users", FARO_SETTING_COUNT, AT(users), 1, 1e10, 0, NULL, "number of people"},
    {"dimension", FARO_SETTING_COUNT, AT(dimension), 1, FARO_DIMENSION_MAX, 0, NULL, "features per arm"},
    {"arms", FARO_SETTING_COUNT, AT(arms), 1, 1e6, 0, NULL, "arms per choice"},
    {"epsilon", FARO_SETTING_REAL, AT(epsilon), 0, 1e6, 0, NULL, "the guarantee to reach"},
    {"delta", FARO_SETTING_REAL, AT(delta), 0, 1, 0, NULL, "the guarantee to reach"},
    {"contexts", FARO_SETTING_CHOICE, AT(contexts), 0, 0, 0, contexts_words, "where arms come from"},
    {"rewards", FARO_SETTING_CHOICE, AT(rewards), 0, 0, 0, link_words, "mean reward"},
    {"contributions", FARO_SETTING_COUNT, AT(contributions), 0, 1e9, 0, NULL, "rounds of one person"},
    {"honest", FARO_SETTING_REAL, AT(honest), 0, 1, 0, NULL, "share of a batch that does not collude"},
    {"shufflers", FARO_SETTING_COUNT, AT(shufflers), 0, 1e6, 0, NULL, "the most shufflers"},
    {"trusts", FARO_SETTING_COUNT, OWN(trusts), 0, 4294967295.0, 0, NULL, "bits of trust models"},
    {"seed", FARO_SETTING_COUNT, OWN(seed), 0, 9e15, 0, NULL, "of the predictions"},
    {"instances", FARO_SETTING_COUNT, OWN(instances), 0, 1e6, 0, NULL, "played per way"},
    {"jobs", FARO_SETTING_COUNT, OWN(jobs), 0, 1024, 0, NULL, "threads"},
    {"simulate", FARO_SETTING_SWITCH, OWN(simulate), 0, 1, 0, NULL, "everybody, instead of predicting"},
    {0}};

static PyObject *way_dict(const faro_way *way) {
  PyObject *dict = Py_BuildValue(
      "{s:s,s:s,s:s,s:K,s:K,s:K,s:d,s:N,s:N,s:K,s:d,s:d,s:d,s:d,s:N,s:d,s:d,s:d,s:K,s:N,s:s}", "learner",
      way->learner, "release", way->release, "trust", faro_trust_name(way->trust), "shufflers",
      (unsigned long long)way->shufflers, "batch", (unsigned long long)way->batch, "largest",
      (unsigned long long)way->largest, "growth", way->growth, "automatic", PyBool_FromLong(way->automatic),
      "surrogate", PyBool_FromLong(way->surrogate), "updates", (unsigned long long)way->updates, "regret",
      way->regret.mean, "low", way->regret.low, "high", way->regret.high, "error", way->error, "chosen",
      PyBool_FromLong(way->chosen), "learnt", way->learnt, "bytes", way->bytes, "noise", way->noise, "needed",
      (unsigned long long)way->needed, "claim", claim_dict(&way->claim, NULL), "experiment",
      way->experiment ? way->experiment : "");
  return dict;
}

static PyObject *advice_dict(const faro_advice *advice) {
  PyObject *ways = PyList_New(0);
  for (size_t i = 0; ways && i < advice->count; i++) {
    PyObject *way = way_dict(&advice->way[i]);
    if (!way || PyList_Append(ways, way) != 0) Py_CLEAR(ways);
    Py_XDECREF(way);
  }
  if (!ways) return NULL;
  return Py_BuildValue("{s:N,s:d,s:d,s:K,s:n,s:s}", "ways", ways, "uniform", advice->uniform, "error",
                       advice->error, "rounds", (unsigned long long)advice->rounds, "refused",
                       (Py_ssize_t)advice->refused, "refusal", advice->refusal);
}

static PyObject *plan(PyObject *module, PyObject *positional, PyObject *given) {
  static const char *const skip[] = {"progress", NULL};
  arguments r = {.problem = {.users = 0}};
  const keyword_table tables[] = {{table, &r}};
  (void)module;
  if (PyTuple_Size(positional) > 0) {
    PyErr_SetString(PyExc_TypeError, "plan takes keyword arguments only");
    return NULL;
  }
  if (!keywords_read(given, skip, tables, 1, "plan")) return NULL;
  r.problem.trusts = (unsigned)r.trusts;
  PyObject *progress = given ? PyDict_GetItemString(given, "progress") : NULL;
  watch w;
  faro_advice *advice = NULL;
  faro_error error = {0};
  if (!watch_begin(&w, progress ? progress : Py_None)) return NULL;
  const faro_advice_options options = {.simulate = r.simulate,
                                       .seed = r.seed,
                                       .instances = r.instances,
                                       .jobs = r.jobs,
                                       .stopped = watch_stopped,
                                       .progress = watch_plan,
                                       .context = &w};
  const faro_status status = faro_advise(&advice, &r.problem, &options, &error);
  watch_end(&w);
  PyObject *made = NULL;
  if (!PyErr_Occurred()) made = status == FARO_OK ? advice_dict(advice) : errors_raise(status, &error);
  faro_advice_destroy(advice);
  return made;
}

static PyMethodDef functions[] = {
    {"plan", FASTCALL(plan), METH_VARARGS | METH_KEYWORDS,
     "plan(**problem)\n--\n\nThe ways to learn under each trust model, as dictionaries; see faro.plan."},
    {0}};

bool plan_add(PyObject *module) { return PyModule_AddFunctions(module, functions) == 0; }
