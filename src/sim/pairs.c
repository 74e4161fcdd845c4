/* pairs: which learner goes with which environment and which release. */
#include <stdio.h>

#include "sim/settings.h"

/* A learner of sums takes a stream of numbers, one that asks clients a population, one of generalised linear rewards
 * such rewards, one that eliminates arms that stay; every other learner takes any arms. */
static bool goes(const faro_learner_kind *learner, const faro_env_kind *env) {
  if (faro_learner_kind_sums(learner) || faro_env_kind_streams(env))
    return faro_learner_kind_sums(learner) == faro_env_kind_streams(env);
  if (faro_learner_kind_clients(learner) || faro_env_kind_population(env))
    return faro_learner_kind_clients(learner) == faro_env_kind_population(env);
  if (faro_learner_kind_glm(learner) || faro_env_kind_glm(env))
    return faro_learner_kind_glm(learner) == faro_env_kind_glm(env);
  return !faro_learner_kind_phased(learner) || faro_env_kind_fixed(env);
}

/* What goes with what, as "a, b": learners with this environment, or environments with this learner (the other NULL). */
static const char *list_pairs(const faro_learner_kind *learner, const faro_env_kind *env,
                              char out[static FARO_ALLOWED_SIZE]) {
  size_t used = 0;
  const size_t count = learner ? faro_env_kinds() : faro_learner_kinds();
  for (size_t i = 0; used < FARO_ALLOWED_SIZE && i < count; i++) {
    const faro_env_kind *e = learner ? faro_env_kind_at(i) : env;
    const faro_learner_kind *l = learner ? learner : faro_learner_kind_at(i);
    if (goes(l, e))
      used += (size_t)snprintf(out + used, FARO_ALLOWED_SIZE - used, "%s%s", used ? ", " : "",
                               learner ? faro_env_kind_name(e) : faro_learner_kind_name(l));
  }
  return out;
}

static faro_status check_environment(const faro_cell *cell, faro_error *error) {
  const faro_env_kind *env = faro_cell_env_kind(cell);
  if (goes(cell->learner, env)) return FARO_OK;
  const char *learner = faro_learner_kind_name(cell->learner);
  const char *environment = faro_env_kind_name(env);
  char learners[FARO_ALLOWED_SIZE];
  char environments[FARO_ALLOWED_SIZE];
  return faro_fail(error, FARO_INVALID,
                   "learner %s does not go with environment %s; %s goes with %s, and %s with %s", learner,
                   environment, learner, list_pairs(cell->learner, NULL, environments), environment,
                   list_pairs(NULL, env, learners));
}

/* Phased learners make a release for each phase, of one batch; releases that tie batches together are not for them, and
 * those of plain numbers alone not for the others. Learners of generalised linear rewards work through studies: of one
 * batch each likewise, or of sums that are published all the time; all of them do without privacy. */
bool faro_pair_takes(const faro_learner_kind *learner, const faro_release_kind *release) {
  if (!faro_learner_kind_glm(learner)) return !faro_learner_kind_phased(learner) || release->phases;
  if (release->trust == FARO_TRUST_NONE) return true;
  const faro_studies studies = faro_learner_kind_studies(learner);
  const bool batches = studies == FARO_STUDIES_BATCHES;
  return studies != FARO_STUDIES_NONE && faro_study_takes(release) && release->phases == batches;
}

bool faro_pair_calibrates(const faro_learner_kind *learner, const faro_release_kind *release,
                          faro_calibration calibration) {
  if (!faro_pair_takes(learner, release)) return false;
  if (faro_learner_kind_glm(learner)) return faro_study_calibrates(release, calibration);
  const bool published = calibration != FARO_CALIBRATION_FIGURE || !faro_learner_kind_phased(learner);
  return published && faro_release_kind_calibrates(release, calibration);
}

static faro_status check_release(const faro_cell *cell, faro_error *error) {
  if (faro_pair_takes(cell->learner, cell->release)) return FARO_OK;
  char names[FARO_ALLOWED_SIZE];
  size_t used = 0;
  for (size_t i = 0; used < FARO_ALLOWED_SIZE && i < faro_release_kinds(); i++)
    if (faro_pair_takes(cell->learner, faro_release_kind_at(i)))
      used += (size_t)snprintf(names + used, FARO_ALLOWED_SIZE - used, "%s%s", used ? ", " : "",
                               faro_release_kind_at(i)->name);
  return faro_fail(error, FARO_INVALID, "release %s does not go with learner %s, which takes %s",
                   cell->release->name, faro_learner_kind_name(cell->learner), names);
}

/* Phases and studies are for users who come once, within a known horizon. */
static faro_status check_users(const faro_cell *cell, faro_error *error) {
  const char *name = faro_learner_kind_name(cell->learner);
  if (!faro_learner_kind_phased(cell->learner) && !faro_learner_kind_glm(cell->learner)) return FARO_OK;
  if (cell->settings.value[FARO_KEY_LEVEL] != FARO_LEVEL_EVENT)
    return faro_fail(error, FARO_INVALID, "level must be event for learner %s: its users come once", name);
  if (cell->settings.value[FARO_KEY_ANYTIME] != 0)
    return faro_fail(error, FARO_INVALID, "anytime must be false for learner %s", name);
  const double horizon = cell->settings.value[FARO_KEY_HORIZON];
  if (faro_learner_kind_glm(cell->learner) && horizon > 1e9)
    return faro_fail(error, FARO_INVALID,
                     "horizon must be at most 10^9 for learner %s, which fits to everybody's data (got %g)",
                     name, horizon);
  return FARO_OK;
}

static faro_status check_phased(const faro_cell *cell, faro_error *error) {
  const char *name = faro_learner_kind_name(cell->learner);
  if (!faro_learner_kind_phased(cell->learner)) return FARO_OK;
  if (cell->settings.value[FARO_KEY_CALIBRATION] == FARO_CALIBRATION_FIGURE)
    return faro_fail(error, FARO_INVALID, "calibration must be tight or paper for learner %s", name);
  const bool appended = faro_cell_low(cell) == 0;
  if (appended && cell->settings.value[FARO_KEY_DIMENSION] == 2)
    return faro_fail(
        error, FARO_INVALID,
        "draw must be sphere or ball for learner %s in dimension 2: the others have two arms only", name);
  return FARO_OK;
}

faro_status faro_pair_check(const faro_cell *cell, faro_error *error) {
  faro_status status = check_environment(cell, error);
  if (status == FARO_OK) status = check_release(cell, error);
  if (status == FARO_OK) status = check_users(cell, error);
  return status == FARO_OK ? check_phased(cell, error) : status;
}
