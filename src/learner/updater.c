/* updater: the handle of learners that turn sums into a policy. See updater.h. */
#include "learner/blocks.h"
#include "learner/kind.h"

struct faro_updater {
  const faro_updater_kind *kind;
  faro_host host;
  faro_policy policy;
  void *state;
};

static const faro_updater_kind *kind_of(const faro_learner_kind *kind) {
  return (const faro_updater_kind *)(const void *)kind; /* its first member */
}

static faro_status check(const faro_learner_kind *kind, const faro_updater_params *p, faro_error *error) {
  faro_status status = faro_learner_check(kind, FARO_PROTOCOL_UPDATER, p->calibration, error);
  if (status == FARO_OK) status = faro_learner_check_dimension(p->dimension, error);
  if (status == FARO_OK && p->link != FARO_LINK_LINEAR && !(kind->generalised && p->bound > 0))
    status = faro_fail(error, FARO_INVALID, "learner %s needs linear rewards (got %s, bound %g)", kind->name,
                       faro_link_name(p->link), p->bound);
  if (status == FARO_OK && p->blocks > 1 && (p->dimension % p->blocks != 0 || p->link != FARO_LINK_LINEAR))
    status =
        faro_fail(error, FARO_INVALID, "blocks must divide the dimension %zu, with linear rewards (got %zu)",
                  p->dimension, p->blocks);
  return status == FARO_OK ? faro_learner_check_failure(p->failure, error) : status;
}

static faro_status build(faro_updater *u, faro_updater_params params, faro_error *error) {
  const size_t d = params.dimension;
  u->policy = (faro_policy){.dimension = d, .version = 1};
  faro_status status =
      faro_host_vectors(&u->host, error, &u->policy.theta, d, &u->policy.w, faro_packed(d), (double **)NULL);
  if (status == FARO_OK) status = faro_host_settings(&u->host, &u->kind->about, &params.settings, error);
  if (status != FARO_OK) return status;
  const faro_learner_kind *kind = &u->kind->about;
  if (params.blocks > 1) u->kind = &faro_updater_blocks;
  u->state = faro_arena_alloc(&u->host.arena, 1, u->kind->size, error);
  if (!u->state) return FARO_MEMORY;
  if (params.blocks > 1) faro_blocks_of_kind(u->state, kind);
  return u->kind->init(u->state, &params, &u->host, &u->policy, error);
}

faro_status faro_updater_create(faro_updater **updater, const faro_learner_kind *kind,
                                const faro_updater_params *params, faro_error *error) {
  faro_status status = check(kind, params, error);
  if (status != FARO_OK) return status;
  faro_arena arena = {0};
  faro_updater *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  if (!made) return FARO_MEMORY;
  *made = (faro_updater){.kind = kind_of(kind), .host = {.arena = arena}};
  status = build(made, *params, error);
  if (status == FARO_OK) *updater = made;
  else faro_updater_destroy(made);
  return status;
}

void faro_updater_destroy(faro_updater *updater) {
  if (!updater) return;
  if (updater->state && updater->kind->destroy) updater->kind->destroy(updater->state);
  faro_arena arena = updater->host.arena;
  faro_arena_free(&arena);
}

void faro_updater_update(faro_updater *updater, const faro_statistics *statistics) {
  updater->policy.step = NULL;
  updater->kind->update(updater->state, statistics, &updater->policy);
  updater->policy.version++;
  updater->host.diagnostics.updates++;
}

size_t faro_updater_memory(const faro_updater *updater, double **memory) {
  return updater->kind->memory ? updater->kind->memory(updater->state, memory) : 0;
}

void faro_updater_resume(faro_updater *updater, const faro_statistics *statistics) {
  if (!updater->kind->resume) {
    faro_updater_update(updater, statistics);
    return;
  }
  updater->policy.step = NULL;
  updater->kind->resume(updater->state, statistics, &updater->policy);
  updater->policy.version = statistics->releases + 1;
}

const faro_policy *faro_updater_policy(const faro_updater *updater) { return &updater->policy; }
faro_diagnostics faro_updater_diagnose(const faro_updater *updater) { return updater->host.diagnostics; }
