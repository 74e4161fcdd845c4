/* watcher: the handle of learners that watch raw rewards. */
#include "learner/kind.h"

struct faro_watcher {
  const faro_watcher_kind *kind;
  faro_host host;
  faro_policy policy;
  void *state;
};

static faro_status build(faro_watcher *w, faro_watcher_params params, faro_error *error) {
  w->policy = (faro_policy){.dimension = params.dimension, .version = 1};
  const faro_status status = faro_host_settings(&w->host, &w->kind->about, &params.settings, error);
  if (status != FARO_OK) return status;
  w->state = faro_arena_alloc(&w->host.arena, 1, w->kind->size, error);
  return w->state ? w->kind->init(w->state, &params, &w->host, &w->policy, error) : FARO_MEMORY;
}

faro_status faro_watcher_create(faro_watcher **watcher, const faro_learner_kind *kind,
                                const faro_watcher_params *params, faro_error *error) {
  faro_status status = faro_learner_check(kind, FARO_PROTOCOL_WATCHER, params->calibration, error);
  if (status == FARO_OK) status = faro_learner_check_glm(params, error);
  if (status != FARO_OK) return status;
  faro_arena arena = {0};
  faro_watcher *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  if (!made) return FARO_MEMORY;
  *made = (faro_watcher){.kind = (const faro_watcher_kind *)(const void *)kind, /* its first member */
                         .host = {.arena = arena}};
  status = build(made, *params, error);
  if (status == FARO_OK) *watcher = made;
  else faro_watcher_destroy(made);
  return status;
}

void faro_watcher_destroy(faro_watcher *watcher) {
  if (!watcher) return;
  if (watcher->state && watcher->kind->destroy) watcher->kind->destroy(watcher->state);
  faro_arena arena = watcher->host.arena;
  faro_arena_free(&arena);
}

size_t faro_watcher_pick(faro_watcher *watcher, const faro_arms *arms) {
  return watcher->kind->pick(watcher->state, arms);
}

void faro_watcher_observe(faro_watcher *watcher, const double *x, double y) {
  watcher->kind->observe(watcher->state, x, y);
  watcher->host.diagnostics.updates++;
  watcher->policy.version++;
}

const faro_policy *faro_watcher_policy(const faro_watcher *watcher) { return &watcher->policy; }
faro_diagnostics faro_watcher_diagnose(const faro_watcher *watcher) { return watcher->host.diagnostics; }
