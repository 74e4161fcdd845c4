/* learning: see the header. */
#include "service/analyzer/learning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <faro/linalg.h>

struct faro_learning {
  const faro_campaign *campaign;
  faro_release *release;
  faro_learner *learner;
};

/* Learners that turn released sums of moments into a policy. */
static bool is_deployable(const faro_learner_kind *kind) {
  return !faro_learner_kind_sums(kind) && !faro_learner_kind_phased(kind) && !faro_learner_kind_glm(kind);
}

static faro_status find_learner(const char *name, const faro_learner_kind **kind, faro_error *error) {
  *kind = faro_learner_kind_find(name);
  if (*kind && is_deployable(*kind)) return FARO_OK;
  char list[200] = "";
  for (size_t i = 0, used = 0; i < faro_learner_kinds() && used < sizeof list; i++)
    if (is_deployable(faro_learner_kind_at(i)))
      used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                               faro_learner_kind_name(faro_learner_kind_at(i)));
  return faro_fail(error, FARO_INVALID, "campaign.learner must be one of %s (got %.80s)", list, name);
}

/* As sim/play.c sets it up under calibration tight. */
static faro_status set_learner(faro_learning *l, faro_error *error) {
  const faro_campaign *c = l->campaign;
  const faro_learner_kind *kind = NULL;
  const faro_status status = find_learner(c->learner, &kind, error);
  if (status != FARO_OK) return status;
  const faro_learner_params params = {.dimension = c->contribution.dimension,
                                      .horizon = c->params.horizon,
                                      .releases = c->params.horizon / faro_release_batch(l->release),
                                      .norm = c->contribution.norm,
                                      .failure = c->failure,
                                      .reward = (c->contribution.high - c->contribution.low) / 2,
                                      .optimism = c->optimism,
                                      .guess = true,
                                      .noise = faro_release_noise(l->release)};
  return faro_learner_create(&l->learner, kind, &params, error);
}

static void learn(faro_learning *l) {
  const faro_statistics statistics = faro_release_statistics(l->release);
  faro_learner_update(l->learner, &statistics);
}

static faro_status build(faro_learning *l, const void *state, size_t length, faro_error *error) {
  const faro_campaign *c = l->campaign;
  faro_status status = faro_release_create(&l->release, c->release, &c->contribution, &c->params, error);
  if (status == FARO_OK) /* if the noise is not drawn here, no tables are needed */
    status = faro_release_kind_trust(c->release) == FARO_TRUST_JOINT ? faro_release_prepare(l->release, error)
                                                                     : faro_release_vouch(l->release, error);
  if (status == FARO_OK && state) status = faro_release_load(l->release, state, length, error);
  if (status == FARO_OK) status = set_learner(l, error);
  if (status == FARO_OK && faro_learning_batches(l) > 0) learn(l); /* the policy depends on the sums only */
  return status;
}

faro_status faro_learning_create(faro_learning **learning, const faro_campaign *campaign, const void *state,
                                 size_t length, faro_error *error) {
  faro_learning *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the learner");
  made->campaign = campaign;
  const faro_status status = build(made, state, length, error);
  if (status == FARO_OK) *learning = made;
  else faro_learning_destroy(made);
  return status;
}

void faro_learning_destroy(faro_learning *learning) {
  if (!learning) return;
  faro_learner_destroy(learning->learner);
  faro_release_destroy(learning->release);
  free(learning);
}

faro_status faro_learning_save(const faro_learning *learning, unsigned char **state, size_t *length,
                               faro_error *error) {
  const size_t size = faro_release_state_size(learning->release);
  unsigned char *bytes = malloc(size + 1);
  if (!bytes) return faro_fail(error, FARO_MEMORY, "cannot allocate the release's state");
  const faro_status status = faro_release_save(learning->release, bytes, error);
  if (status != FARO_OK) {
    free(bytes);
    return status;
  }
  *state = bytes;
  *length = size;
  return FARO_OK;
}

faro_status faro_learning_apply(faro_learning *learning, const void *messages, size_t count,
                                faro_secure_rng *secure, faro_error *error) {
  const faro_status status = faro_release_analyze_secure(learning->release, messages, count, secure, error);
  if (status == FARO_OK) learn(learning);
  return status;
}

const faro_release *faro_learning_release(const faro_learning *learning) { return learning->release; }
bool faro_learning_done(const faro_learning *learning) { return faro_release_spent(learning->release); }

uint64_t faro_learning_batches(const faro_learning *learning) {
  return faro_release_statistics(learning->release).releases;
}

faro_policy faro_learning_policy(const faro_learning *learning) {
  faro_policy policy = *faro_learner_policy(learning->learner);
  policy.version = faro_learning_batches(learning) + 1;
  return policy;
}

static double entry(const double *packed, size_t i, size_t j) {
  return i < j ? packed[faro_packed(j) + i] : packed[faro_packed(i) + j];
}

/* a' G b over the first n entries. */
static double form(const double *gram, const double *a, const double *b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) sum += a[i] * entry(gram, i, j) * b[j];
  return sum;
}

/* Noise may make a sum of squares negative. */
static double root_mean(double sum, double users) { return sqrt(fmax(0, sum) / users); }

faro_learning_view faro_learning_snapshot(const faro_learning *learning) {
  const faro_statistics s = faro_release_statistics(learning->release);
  if (s.users == 0) return (faro_learning_view){0};
  const faro_policy *policy = faro_learner_policy(learning->learner);
  const size_t d = policy->dimension;
  const double users = (double)s.users;
  double trace = 0; /* trace of V^-1 = W' W */
  for (size_t i = 0; i < faro_packed(d); i++) trace += policy->w[i] * policy->w[i];
  return (faro_learning_view){.users = s.users,
                              .last = s.sum[faro_packed(d) + d - 1] / users,
                              .predicted = root_mean(form(s.sum, policy->theta, policy->theta, d), users),
                              .width = policy->beta * learning->campaign->contribution.norm *
                                       sqrt(trace / (double)d)};
}
