/* observer: see observer.h. V is kept as it is and factored anew each round: for the few dimensions of these models
 * that costs no more than updating a factor, and rounding does not pile up. */
#include "learner/observer.h"

#include "base/abort.h"
#include "glm/link.h"

faro_status faro_observer_init(faro_observer *o, double ridge, const double *theta, faro_error *error) {
  const faro_learner_params *p = &o->learner.params;
  faro_status status = faro_learner_check_glm(p, error);
  if (status != FARO_OK) return status;
  const size_t d = p->dimension;
  const size_t stride = faro_arm_stride(p->offers);
  faro_arena *arena = &o->learner.arena;
  o->V = faro_arena_alloc(arena, faro_packed(d), sizeof *o->V, error);
  o->W = faro_arena_alloc(arena, faro_packed(d), sizeof *o->W, error);
  o->mean = faro_arena_alloc(arena, stride, sizeof *o->mean, error);
  o->score = faro_arena_alloc(arena, stride, sizeof *o->score, error);
  o->zero = faro_arena_alloc(arena, d, sizeof *o->zero, error);
  o->scratch = faro_arena_alloc(arena, faro_score_scratch(d, stride) + 1, sizeof *o->scratch, error);
  if (!o->V || !o->W || !o->mean || !o->score || !o->zero || !o->scratch) return FARO_MEMORY;
  status = faro_spd_create(&o->spd, d, error);
  if (status != FARO_OK) return status;
  for (size_t i = 0; i < d; i++) o->V[faro_diagonal(i)] = ridge;
  FARO_INVARIANT(faro_spd_whiten(o->spd, o->V, o->W));
  o->scale = p->figure || p->paper ? 1 : p->optimism;
  o->learner.policy = (faro_policy){.dimension = d, .theta = theta, .w = o->W, .version = 1};
  return FARO_OK;
}

void faro_observer_release(faro_learner *learner) {
  faro_spd_destroy(((faro_observer *)(void *)learner)->spd);
}

void faro_observer_add(faro_observer *o, double weight, const double *x) {
  double *entry = o->V;
  for (size_t i = 0; i < o->learner.params.dimension; i++) {
    const double factor = weight * x[i];
    for (size_t j = 0; j <= i; j++) *entry++ += factor * x[j];
  }
  FARO_INVARIANT(faro_spd_whiten(o->spd, o->V, o->W));
}

void faro_observer_solve(const faro_observer *o, const double *u, double *to) {
  const size_t d = o->learner.params.dimension;
  for (size_t i = 0; i < d; i++) to[i] = 0;
  for (size_t i = 0; i < d; i++) { /* W' (W u) */
    const double *row = o->W + faro_packed(i);
    const double t = faro_dot(i + 1, row, u);
    for (size_t j = 0; j <= i; j++) to[j] += row[j] * t;
  }
}

size_t faro_observer_best(faro_observer *o, const faro_arms *arms, const double *theta, double beta) {
  (void)faro_score(arms, o->zero, o->W, beta, o->score, o->scratch);
  (void)faro_means(arms, theta, o->mean);
  faro_link_map(o->learner.params.link, arms->count, o->mean, NULL, o->mean, NULL);
  for (size_t a = 0; a < arms->count; a++) o->score[a] += o->mean[a];
  return faro_greatest(o->score, arms->count);
}

void faro_observer_changed(faro_observer *o, double beta) {
  o->learner.policy.beta = beta;
  o->learner.policy.version++;
  o->learner.diagnostics.updates++;
}
