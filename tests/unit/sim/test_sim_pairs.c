/* pairs: which learner can be combined with which environment and release, for all registries. */
#include <stdio.h>
#include <string.h>

#include "sim/experiment.h"
#include "support/support.h"

/* Which learners suit which environments, written down a second time. */
static bool goes_with(const faro_learner_kind *learner, const faro_env_kind *env) {
  const bool stays = env->traits & FARO_ENV_STAYS;
  if (env->traits & FARO_ENV_STREAM) return learner->protocol == FARO_PROTOCOL_ESTIMATOR;
  if (strcmp(learner->name, "uniform") == 0) return true;
  if (env->traits & FARO_ENV_POPULATION) return learner->protocol == FARO_PROTOCOL_ELIMINATOR;
  switch (learner->protocol) {
  case FARO_PROTOCOL_UPDATER: return true;
  case FARO_PROTOCOL_ESTIMATOR: return false;
  case FARO_PROTOCOL_ELIMINATOR: return stays && strcmp(learner->name, "dpe") != 0;
  case FARO_PROTOCOL_ASKER:
  case FARO_PROTOCOL_WATCHER: return !(env->traits & FARO_ENV_ROWS);
  }
  return false;
}

/* The reason that a message gives, from ", because " to `end`: a clause of a few words. */
static void assert_reason(const char *message, const char *end) {
  const char *why = strstr(message, ", because ");
  assert_non_null(why);
  why += strlen(", because ");
  const char *until = strstr(why, end);
  assert_non_null(until);
  size_t words = 1;
  for (const char *c = why; c < until; c++) words += *c == ' ';
  assert_true(words >= 6 && until - why < 110);
}

/* Every learner accepts the environments of its own sort and no others; the message says why, and
 * lists what is possible. */
static void assert_pair(const faro_learner_kind *learner, const faro_env_kind *env) {
  const bool sums = learner->protocol == FARO_PROTOCOL_ESTIMATOR;
  const bool own = goes_with(learner, env);
  const bool rows = env->traits & FARO_ENV_ROWS;
  char text[300];
  snprintf(text, sizeof text,
           "environment: {name: %s, %s}\nhorizon: 10\nalgorithms:\n  - release: none\n    "
           "learner: %s\n",
           env->name, rows ? "file: tests/data/people.csv, label: class, words: city" : "draw: sphere",
           learner->name);
  faro_experiment *e = NULL;
  faro_error error = {0};
  const faro_status status = faro_experiment_parse(&e, "p.yaml", text, strlen(text), NULL, &error);
  const bool updates = learner->protocol == FARO_PROTOCOL_UPDATER && strcmp(learner->name, "uniform") != 0;
  if (own && updates && env->link != FARO_LINK_LINEAR && !learner->generalised) {
    assert_non_null(strstr(error.message, "surrogate must be true for learner"));
    return;
  }
  if (own && updates && env->link == FARO_LINK_POISSON) {
    assert_non_null(strstr(error.message, "link must be logistic or probit (got poisson)"));
    return;
  }
  if (own && env->link != FARO_LINK_LOGISTIC && strcmp(learner->name, "ecolog") == 0) {
    assert_non_null(strstr(error.message, "environment must be glm-logistic for learner ecolog"));
    return;
  }
  if (own) {
    assert_int_equal(status, FARO_OK);
    assert_int_equal(e->measure, sums   ? FARO_MEASURE_ERROR
                                 : rows ? FARO_MEASURE_ERROR_RATE
                                        : FARO_MEASURE_REGRET);
    faro_experiment_destroy(e);
    return;
  }
  assert_int_equal(status, FARO_INVALID);
  char want[300];
  snprintf(want, sizeof want, "p.yaml:5: learner %s needs ", learner->name);
  assert_memory_equal(error.message, want, strlen(want));
  if (sums) assert_non_null(strstr(error.message, " needs a stream of numbers ("));
  size_t used = (size_t)snprintf(want, sizeof want, "; for %s use ", env->name);
  const char *use = strstr(error.message, want);
  assert_non_null(use);
  assert_reason(error.message, want);
  for (size_t l = 0, listed = 0; l < faro_learner_count(); l++)
    if (goes_with(faro_learner_at(l), env) && strcmp(faro_learner_at(l)->name, "uniform") != 0)
      used += (size_t)snprintf(want + used, sizeof want - used, "%s%s", listed++ ? ", " : "",
                               faro_learner_at(l)->name);
  snprintf(want + used, sizeof want - used, " [algorithm %s/none]", learner->name);
  assert_string_equal(use, want);
}

static void test_environments__that_do_not_suit_a_learner_are_refused(void **state) {
  (void)state;
  for (size_t l = 0; l < faro_learner_count(); l++)
    for (size_t v = 0; v < faro_env_count(); v++) assert_pair(faro_learner_at(l), faro_env_at(v));
}

/* Which learners accept which releases, written down a second time. */
static bool takes(const faro_learner_kind *learner, const faro_release_kind *release) {
  const char *name = release->name;
  if (strcmp(name, "none") == 0) return true;
  if (learner->protocol == FARO_PROTOCOL_UPDATER || learner->protocol == FARO_PROTOCOL_ESTIMATOR) return true;
  if (learner->protocol == FARO_PROTOCOL_ELIMINATOR) return release->phases;
  if (strcmp(learner->name, "glm-joint") == 0)
    return strcmp(name, "central-tree") == 0 || strcmp(name, "central-factored") == 0;
  return strcmp(learner->name, "glm-batched") == 0 && release->phases;
}

static const faro_env_kind *own_env(const faro_learner_kind *learner) {
  for (size_t v = 0; v < faro_env_count(); v++)
    if (goes_with(learner, faro_env_at(v))) return faro_env_at(v);
  fail_msg("no environment suits %s", learner->name);
  return NULL;
}

/* A release that the learner does not accept is refused, with a reason and a list of those that it
 * accepts. */
static void assert_release(const faro_learner_kind *learner, const faro_release_kind *release) {
  const char *name = release->name;
  assert_int_equal(faro_pair_takes(learner, release), takes(learner, release));
  if (takes(learner, release)) return;
  char text[300];
  snprintf(text, sizeof text,
           "environment: {name: %s, draw: sphere}\nhorizon: 10\nalgorithms:\n  - learner: %s\n    "
           "release: %s\n",
           own_env(learner)->name, learner->name, name);
  faro_experiment *e = NULL;
  faro_error error = {0};
  assert_int_equal(faro_experiment_parse(&e, "p.yaml", text, strlen(text), NULL, &error), FARO_INVALID);
  char want[400];
  snprintf(want, sizeof want, ": release %s cannot be used with learner %s, because ", name, learner->name);
  assert_non_null(strstr(error.message, want));
  assert_reason(error.message, " (allowed: ");
  size_t used = (size_t)snprintf(want, sizeof want, " (allowed: ");
  for (size_t r = 0, listed = 0; r < faro_release_kinds(); r++)
    if (takes(learner, faro_release_kind_at(r)))
      used += (size_t)snprintf(want + used, sizeof want - used, "%s%s", listed++ ? ", " : "",
                               faro_release_kind_at(r)->name);
  snprintf(want + used, sizeof want - used, ") [algorithm %s/%s]", learner->name, name);
  assert_string_equal(strstr(error.message, " (allowed: "), want);
}

static void test_releases__that_a_learner_does_not_take_are_refused(void **state) {
  (void)state;
  for (size_t l = 0; l < faro_learner_count(); l++)
    for (size_t r = 0; r < faro_release_kinds(); r++)
      assert_release(faro_learner_at(l), faro_release_kind_at(r));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_environments__that_do_not_suit_a_learner_are_refused),
      cmocka_unit_test(test_releases__that_a_learner_does_not_take_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
