/* pairs: which learner can be combined with which environment and release, from the table of
 * loops. */
#include "sim/loop.h"

const char *faro_loop_needs_glm(const faro_learner_kind *learner) {
  (void)learner;
  return "arms";
}

bool faro_loop_suits_glm(const faro_learner_kind *learner, const faro_env_kind *env) {
  (void)learner;
  return !(env->traits & (FARO_ENV_STREAM | FARO_ENV_POPULATION | FARO_ENV_ROWS));
}

const char *faro_loop_misfit_arms(const faro_env_kind *env) {
  if (env->traits & FARO_ENV_STREAM) return "a stream of numbers has no arms to choose from";
  return NULL;
}

const char *faro_loop_misfit_glm(const faro_learner_kind *learner, const faro_env_kind *env) {
  (void)learner;
  const char *arms = faro_loop_misfit_arms(env);
  if (arms) return arms;
  if (env->traits & FARO_ENV_ROWS) return "rewards of people from a file follow no generalised linear model";
  return "clients report averages over a phase, and it learns from single rounds";
}

static bool suits(const faro_learner_kind *learner, const faro_env_kind *env) {
  return faro_loop_of(learner)->suits(learner, env);
}

bool faro_pair_takes(const faro_learner_kind *learner, const faro_release_kind *release) {
  const faro_loop *loop = faro_loop_of(learner);
  return !loop->takes || loop->takes(learner, release);
}

bool faro_pair_calibrates(const faro_learner_kind *learner, const faro_release_kind *release,
                          faro_calibration calibration) {
  const faro_loop *loop = faro_loop_of(learner);
  return faro_pair_takes(learner, release) && !(learner->refuses & (1U << calibration)) &&
         (loop->calibrates ? loop->calibrates : faro_release_kind_calibrates)(release, calibration);
}

/* Names, and "a, b" of them. */
typedef struct list {
  const char *name[FARO_WORDS_MAX];
  size_t count;
  char text[FARO_ALLOWED];
} list;

static void add(list *l, const char *name) {
  if (l->count < FARO_WORDS_MAX) l->name[l->count++] = name;
}

static const char *join(list *l) { return faro_words_join(l->name, l->count, l->text, sizeof l->text); }

static faro_status check_environment(const faro_cell *cell, faro_error *error) {
  if (suits(cell->learner, cell->env)) return FARO_OK;
  list learners = {0};
  list environments = {0};
  for (size_t i = 0; i < faro_learner_count(); i++)
    if (suits(faro_learner_at(i), cell->env) && !faro_learner_at(i)->blind)
      add(&learners, faro_learner_at(i)->name);
  for (size_t i = 0; i < faro_env_count(); i++)
    if (suits(cell->learner, faro_env_at(i))) add(&environments, faro_env_at(i)->name);
  return faro_fail(error, FARO_INVALID, "learner %s needs %s (%s), because %s; for %s use %s",
                   cell->learner->name, cell->loop->needs(cell->learner), join(&environments),
                   cell->loop->misfit(cell->learner, cell->env), cell->env->name, join(&learners));
}

static faro_status check_release(const faro_cell *cell, faro_error *error) {
  if (faro_pair_takes(cell->learner, cell->release)) return FARO_OK;
  list releases = {0};
  for (size_t i = 0; i < faro_release_kinds(); i++)
    if (faro_pair_takes(cell->learner, faro_release_kind_at(i)))
      add(&releases, faro_release_kind_at(i)->name);
  return faro_fail(error, FARO_INVALID, "release %s cannot be used with learner %s, because %s (allowed: %s)",
                   cell->release->name, cell->learner->name,
                   cell->loop->refusal(cell->learner, cell->release), join(&releases));
}

static const char *why_not(faro_calibration calibration) {
  return calibration == FARO_CALIBRATION_FIGURE ? "no figure or program was published for this pair"
                                                : "no published theorem covers this pair";
}

/* Phases and studies choose the sizes of their batches themselves. */
static faro_status check_adaptive(const faro_cell *cell, faro_error *error) {
  const faro_protocol protocol = cell->learner->protocol;
  if (!cell->settings.adaptive || protocol == FARO_PROTOCOL_ESTIMATOR || protocol == FARO_PROTOCOL_UPDATER)
    return FARO_OK;
  return faro_fail(error, FARO_INVALID,
                   "adaptive must be false for learner %s, which chooses its batches by itself",
                   cell->learner->name);
}

static faro_status check_calibration(const faro_cell *cell, faro_error *error) {
  const faro_calibration calibration = cell->settings.calibration;
  if (faro_pair_calibrates(cell->learner, cell->release, calibration)) return FARO_OK;
  list offered = {0};
  for (int c = 0; c < FARO_CALIBRATION_COUNT; c++)
    if (faro_pair_calibrates(cell->learner, cell->release, (faro_calibration)c))
      add(&offered, faro_calibration_name((faro_calibration)c));
  return faro_fail(error, FARO_INVALID, "calibration of %s with %s must be %s (got %s): %s",
                   cell->learner->name, cell->release->name, join(&offered),
                   faro_calibration_name(calibration), why_not(calibration));
}

faro_status faro_pair_check(const faro_cell *cell, faro_error *error) {
  faro_status status = check_environment(cell, error);
  if (status == FARO_OK) status = check_release(cell, error);
  if (status == FARO_OK) status = check_adaptive(cell, error);
  return status == FARO_OK ? check_calibration(cell, error) : status;
}
