/* watching: see the header. V is stored as it is and factored each round. For the few dimensions of
 * these models that costs no more than updating a factor, and rounding errors do not add up. */
#include "learner/watching.h"

#include "base/abort.h"
#include "glm/link.h"
#include "learner/optimism.h"

faro_status faro_watching_init(faro_watching *w, const faro_watcher_params *params, faro_host *host,
                               faro_policy *policy, double ridge, faro_error *error) {
  const size_t d = params->dimension;
  const size_t stride = faro_arm_stride(params->offers);
  w->params = *params;
  w->host = host;
  w->policy = policy;
  w->scale = faro_optimism_of(params->settings, params->calibration);
  faro_status status = faro_host_vectors(host, error, &w->V, faro_packed(d), &w->W, faro_packed(d), &w->mean,
                                         stride, &w->score, stride, &w->zero, d, &w->scratch,
                                         faro_score_scratch(d, stride) + 1, (double **)NULL);
  if (status == FARO_OK) status = faro_spd_create(&w->spd, d, error);
  if (status != FARO_OK) return status;
  for (size_t i = 0; i < d; i++) w->V[faro_diagonal(i)] = ridge;
  FARO_INVARIANT(faro_spd_whiten(w->spd, w->V, w->W));
  policy->w = w->W;
  return FARO_OK;
}

void faro_watching_destroy(void *state) { faro_spd_destroy(((faro_watching *)state)->spd); }

void faro_watching_add(faro_watching *w, double weight, const double *x) {
  double *entry = w->V;
  for (size_t i = 0; i < w->params.dimension; i++) {
    const double factor = weight * x[i];
    for (size_t j = 0; j <= i; j++) *entry++ += factor * x[j];
  }
  FARO_INVARIANT(faro_spd_whiten(w->spd, w->V, w->W));
}

size_t faro_watching_best(faro_watching *w, const faro_arms *arms, const double *theta, double beta) {
  (void)faro_score(arms, w->zero, w->W, beta, w->score, w->scratch);
  (void)faro_means(arms, theta, w->mean);
  faro_link_map(w->params.link, arms->count, w->mean, NULL, w->mean, NULL);
  for (size_t a = 0; a < arms->count; a++) w->score[a] += w->mean[a];
  return faro_greatest(w->score, arms->count);
}
