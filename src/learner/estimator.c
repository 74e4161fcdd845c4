/* estimator: the handle of learners that estimate a running sum. */
#include "learner/kind.h"

struct faro_estimator {
  const faro_estimator_kind *kind;
  faro_host host;
  void *state;
};

faro_status faro_estimator_create(faro_estimator **estimator, const faro_learner_kind *kind,
                                  faro_calibration calibration, faro_error *error) {
  const faro_status status = faro_learner_check(kind, FARO_PROTOCOL_ESTIMATOR, calibration, error);
  if (status != FARO_OK) return status;
  const faro_estimator_kind *own = (const faro_estimator_kind *)(const void *)kind; /* its first member */
  faro_arena arena = {0};
  faro_estimator *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  void *state = made ? faro_arena_alloc(&arena, 1, own->size, error) : NULL;
  if (!state) {
    faro_arena_free(&arena);
    return FARO_MEMORY;
  }
  *made = (faro_estimator){.kind = own, .host = {.arena = arena}, .state = state};
  own->init(state, calibration);
  *estimator = made;
  return FARO_OK;
}

void faro_estimator_destroy(faro_estimator *estimator) {
  if (!estimator) return;
  faro_arena arena = estimator->host.arena;
  faro_arena_free(&arena);
}

void faro_estimator_update(faro_estimator *estimator, const faro_statistics *statistics) {
  estimator->kind->update(estimator->state, statistics);
  estimator->host.diagnostics.updates++;
}

faro_forecast faro_estimator_forecast(const faro_estimator *estimator) {
  return estimator->kind->forecast(estimator->state);
}

double faro_estimator_at(const faro_estimator *estimator, uint64_t count) {
  const faro_forecast line = faro_estimator_forecast(estimator);
  return line.base + line.each * (double)(count - line.from);
}

faro_diagnostics faro_estimator_diagnose(const faro_estimator *estimator) {
  return estimator->host.diagnostics;
}
