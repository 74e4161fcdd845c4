/* learner: the registry and what all learners share. */
#include <string.h>

#include "learner/kind.h"

#define LEARNER(id) extern const faro_learner_kind faro_learner_##id;
#include "learner/learners.def"
#undef LEARNER

static const faro_learner_kind *const kinds[] = {
#define LEARNER(id) &faro_learner_##id,
#include "learner/learners.def"
#undef LEARNER
};

size_t faro_learner_kinds(void) { return sizeof kinds / sizeof *kinds; }
const faro_learner_kind *faro_learner_kind_at(size_t index) { return kinds[index]; }
const char *faro_learner_kind_name(const faro_learner_kind *kind) { return kind->name; }
const char *faro_learner_kind_summary(const faro_learner_kind *kind) { return kind->summary; }
bool faro_learner_kind_sums(const faro_learner_kind *kind) { return kind->sums; }

const faro_learner_kind *faro_learner_kind_find(const char *name) {
  for (size_t i = 0; i < faro_learner_kinds(); i++)
    if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
  return NULL;
}

static faro_status validate(const faro_learner_params *params, faro_error *error) {
  if (params->dimension < 1 || params->dimension > FARO_DIMENSION_MAX)
    return faro_fail(error, FARO_INVALID, "dimension must be 1 .. %d (got %zu)", FARO_DIMENSION_MAX,
                     params->dimension);
  if (!(params->failure > 0 && params->failure < 1))
    return faro_fail(error, FARO_INVALID, "failure must be above 0 and below 1 (got %g)", params->failure);
  return FARO_OK;
}

faro_status faro_learner_check_glm(const faro_learner_params *p, faro_error *error) {
  if (p->horizon < 1) return faro_fail(error, FARO_INVALID, "horizon must be at least 1 (got 0)");
  if (p->offers < 1) return faro_fail(error, FARO_INVALID, "arms must be at least 1 (got 0)");
  if (!(p->bound > 0 && p->bound < 1e6))
    return faro_fail(error, FARO_INVALID, "bound must be above 0 and below 1e6 (got %g)", p->bound);
  if (!(p->kappa > 0 && p->kappa < 1e300))
    return faro_fail(error, FARO_INVALID, "norm must be smaller: at %g the link is flat, its slope %g",
                     p->bound, 1 / p->kappa);
  if (!(p->optimism > 0 && p->optimism < 1e300))
    return faro_fail(error, FARO_INVALID, "optimism must be above 0 and finite (got %g)", p->optimism);
  return FARO_OK;
}

faro_status faro_learner_create(faro_learner **learner, const faro_learner_kind *kind,
                                const faro_learner_params *params, faro_error *error) {
  faro_status status = validate(params, error);
  if (status != FARO_OK) return status;
  faro_arena arena = {0};
  faro_learner *made = faro_arena_alloc(&arena, 1, kind->size, error);
  if (!made) return FARO_MEMORY;
  made->kind = kind;
  made->arena = arena;
  made->params = *params;
  status = kind->init(made, error);
  if (status == FARO_OK) *learner = made;
  else faro_learner_destroy(made);
  return status;
}

void faro_learner_destroy(faro_learner *learner) {
  if (!learner) return;
  if (learner->kind->release) learner->kind->release(learner);
  faro_arena arena = learner->arena;
  faro_arena_free(&arena);
}

void faro_learner_update(faro_learner *learner, const faro_statistics *statistics) {
  learner->kind->update(learner, statistics);
  learner->policy.version++;
  learner->diagnostics.updates++;
}

bool faro_learner_kind_phased(const faro_learner_kind *kind) { return kind->rules != NULL; }
const faro_policy *faro_learner_policy(const faro_learner *learner) { return &learner->policy; }
faro_learner_diagnostics faro_learner_diagnose(const faro_learner *learner) { return learner->diagnostics; }

bool faro_learner_kind_glm(const faro_learner_kind *kind) { return kind->pick != NULL; }
faro_studies faro_learner_kind_studies(const faro_learner_kind *kind) { return kind->studies; }
bool faro_learner_kind_observes(const faro_learner_kind *kind) { return kind->observe != NULL; }
uint64_t faro_learner_term(faro_learner *learner) { return learner->kind->term(learner); }

void faro_learner_begin(faro_learner *learner, const faro_noise noise[static FARO_LEARNER_PARTS],
                        uint64_t fits[static FARO_LEARNER_PARTS]) {
  learner->kind->begin(learner, noise, fits);
}

faro_pick faro_learner_pick(faro_learner *learner, const faro_arms *arms, double luck) {
  return learner->kind->pick(learner, arms, luck);
}

void faro_learner_observe(faro_learner *learner, const double *x, double y) {
  learner->kind->observe(learner, x, y);
}

void faro_learner_see(faro_learner *learner, const faro_statistics sum[static FARO_LEARNER_PARTS]) {
  learner->kind->see(learner, sum);
}

bool faro_learner_ask(faro_learner *learner, faro_question *question) {
  return learner->kind->ask(learner, question);
}

void faro_learner_answer(faro_learner *learner, const faro_reply *reply) {
  learner->kind->answer(learner, reply);
  learner->policy.version++;
  learner->diagnostics.updates++;
}
