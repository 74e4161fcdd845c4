/* asker: the handle of learners that ask a study. */
#include "learner/kind.h"

struct faro_asker {
  const faro_asker_kind *kind;
  faro_host host;
  void *state;
};

static const faro_asker_kind *kind_of(const faro_learner_kind *kind) {
  return (const faro_asker_kind *)(const void *)kind; /* its first member */
}

faro_status faro_learner_check_glm(const faro_asker_params *p, faro_error *error) {
  faro_status status = faro_learner_check_dimension(p->dimension, error);
  if (status == FARO_OK) status = faro_learner_check_failure(p->failure, error);
  if (status != FARO_OK) return status;
  if (p->horizon < 1) return faro_fail(error, FARO_INVALID, "horizon must be at least 1 (got 0)");
  if (p->offers < 1) return faro_fail(error, FARO_INVALID, "arms must be at least 1 (got 0)");
  if (!(p->bound > 0 && p->bound < 1e6))
    return faro_fail(error, FARO_INVALID, "bound must be above 0 and below 1e6 (got %g)", p->bound);
  if (!(p->kappa > 0 && p->kappa < 1e300))
    return faro_fail(error, FARO_INVALID, "norm must be smaller: at %g the link is flat (slope %g)", p->bound,
                     1 / p->kappa);
  return FARO_OK;
}

static faro_status build(faro_asker *a, faro_asker_params params, faro_error *error) {
  const faro_status status = faro_host_settings(&a->host, &a->kind->about, &params.settings, error);
  if (status != FARO_OK) return status;
  a->state = faro_arena_alloc(&a->host.arena, 1, a->kind->size, error);
  return a->state ? a->kind->init(a->state, &params, &a->host, error) : FARO_MEMORY;
}

faro_status faro_asker_create(faro_asker **asker, const faro_learner_kind *kind,
                              const faro_asker_params *params, faro_error *error) {
  faro_status status = faro_learner_check(kind, FARO_PROTOCOL_ASKER, params->calibration, error);
  if (status == FARO_OK) status = faro_learner_check_glm(params, error);
  if (status != FARO_OK) return status;
  faro_arena arena = {0};
  faro_asker *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  if (!made) return FARO_MEMORY;
  *made = (faro_asker){.kind = kind_of(kind), .host = {.arena = arena}};
  status = build(made, *params, error);
  if (status == FARO_OK) *asker = made;
  else faro_asker_destroy(made);
  return status;
}

void faro_asker_destroy(faro_asker *asker) {
  if (!asker) return;
  if (asker->state && asker->kind->destroy) asker->kind->destroy(asker->state);
  faro_arena arena = asker->host.arena;
  faro_arena_free(&arena);
}

faro_studies faro_asker_kind_studies(const faro_learner_kind *kind) {
  return kind->protocol == FARO_PROTOCOL_ASKER ? kind_of(kind)->studies : FARO_STUDIES_NONE;
}

uint64_t faro_asker_term(faro_asker *asker) { return asker->kind->term(asker->state); }

void faro_asker_begin(faro_asker *asker, const faro_noise noise[FARO_PARTS], uint64_t fits[FARO_PARTS]) {
  asker->kind->begin(asker->state, noise, fits);
}

faro_pick faro_asker_pick(faro_asker *asker, const faro_arms *arms, double luck) {
  return asker->kind->pick(asker->state, arms, luck);
}

void faro_asker_see(faro_asker *asker, const faro_statistics sum[FARO_PARTS]) {
  asker->kind->see(asker->state, sum);
}

bool faro_asker_ask(faro_asker *asker, faro_question *question) {
  return asker->kind->ask(asker->state, question);
}

void faro_asker_answer(faro_asker *asker, const faro_answer *answer) {
  asker->kind->answer(asker->state, answer);
  asker->host.diagnostics.updates++;
}

bool faro_asker_publish(const faro_asker *asker, faro_policy *policy) {
  return asker->kind->publish && asker->kind->publish(asker->state, policy);
}

bool faro_asker_guess(const faro_asker *asker, const faro_answer *answer, double *theta) {
  return asker->kind->guess && asker->kind->guess(asker->state, answer, theta);
}

faro_diagnostics faro_asker_diagnose(const faro_asker *asker) { return asker->host.diagnostics; }
