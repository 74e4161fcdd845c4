/* learning_updater: learners that turn running sums of moments into a policy, as the agent of
 * faro/agent.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <faro/agent.h>
#include <faro/linalg.h>

#include "service/analyzer/learning_inner.h"

typedef struct updater {
  const faro_campaign *campaign;
  faro_agent *agent;
} updater;

static faro_status complete(faro_campaign *c, const faro_learner_kind *learner, const void *settings,
                            faro_error *error) {
  (void)settings;
  if (c->features > 0 || c->phases.reports > 0)
    return faro_fail(error, FARO_INVALID,
                     "campaign.features and campaign.clients are for learners that work in phases; %s learns "
                     "from contexts",
                     learner->name);
  c->phases = (faro_phases){0};
  if (c->params.batch == 0 && c->params.growth == 0 && learner->steady) c->params.growth = 1;
  return FARO_OK;
}

static faro_status create(void **own, const learning_params *p, faro_error *error) {
  const faro_campaign *c = p->campaign;
  const faro_agent_params params = {.learner = p->learner->name,
                                    .release = c->release->name,
                                    .dimension = c->contribution.dimension,
                                    .arms = 1, /* clients choose */
                                    .horizon = c->params.horizon,
                                    .epsilon = c->params.epsilon,
                                    .delta = c->params.delta,
                                    .batch = c->params.batch,
                                    .growth = c->params.growth,
                                    .largest = c->params.largest,
                                    .shufflers = c->params.shufflers,
                                    .level = c->params.level,
                                    .contributions = c->params.contributions,
                                    .honest = c->params.honest,
                                    .norm = c->contribution.norm,
                                    .centre = c->centre,
                                    .low = c->contribution.low,
                                    .high = c->contribution.high,
                                    .failure = c->failure,
                                    .settings = p->settings,
                                    .use = FARO_USE_SERVER};
  updater *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the learner");
  *own = made;
  made->campaign = c;
  const faro_status status = faro_agent_create(&made->agent, &params, error);
  return status == FARO_OK && p->state ? faro_agent_load(made->agent, p->state, p->length, error) : status;
}

static void destroy(void *own) {
  updater *u = own;
  if (u) faro_agent_destroy(u->agent);
  free(u);
}

static faro_status save(const void *own, unsigned char **state, size_t *length, faro_error *error) {
  const updater *u = own;
  const size_t size = faro_agent_state_size(u->agent);
  unsigned char *bytes = malloc(size + 1);
  if (!bytes) return faro_fail(error, FARO_MEMORY, "cannot allocate the release's state");
  const faro_status status = faro_agent_save(u->agent, bytes, error);
  if (status != FARO_OK) {
    free(bytes);
    return status;
  }
  *state = bytes;
  *length = size;
  return FARO_OK;
}

static faro_status apply(void *own, const void *messages, size_t count, faro_error *error) {
  return faro_agent_analyze(((updater *)own)->agent, messages, count, error);
}

static const faro_release *release(const void *own) {
  return faro_agent_release(((const updater *)own)->agent);
}
static bool done(const void *own) { return faro_agent_done(((const updater *)own)->agent); }
static uint64_t batches(const void *own) { return faro_agent_batches(((const updater *)own)->agent); }

static faro_status document(const void *own, const faro_sign_key *key, char **text, size_t *length,
                            faro_error *error) {
  const updater *u = own;
  faro_policy policy = *faro_agent_policy(u->agent);
  policy.version = batches(own) + 1;
  return faro_policy_document_write(&policy, u->campaign->digest, key, text, length, error);
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

/* Standard deviation of the noise in one entry of the sums. */
static double noise_of(const faro_noise *noise, size_t entry) {
  if (!noise->scale) return 0;
  return noise->scale[entry] * (noise->ratio > 0 ? noise->ratio : 1);
}

static faro_learning_view snapshot(const void *own) {
  const updater *u = own;
  const faro_statistics s = faro_agent_statistics(u->agent);
  if (s.users == 0) return (faro_learning_view){0};
  const faro_policy *policy = faro_agent_policy(u->agent);
  const size_t d = policy->dimension;
  const double users = (double)s.users;
  double trace = 0; /* trace of V^-1 = W' W */
  for (size_t i = 0; i < faro_packed(d); i++) trace += policy->w[i] * policy->w[i];
  return (faro_learning_view){.users = s.users,
                              .last = s.sum[faro_packed(d) + d - 1] / users,
                              .predicted = root_mean(form(s.sum, policy->theta, policy->theta, d), users),
                              .noise = noise_of(&s.noise, faro_packed(d) + d - 1) / users,
                              .width =
                                  policy->beta * u->campaign->contribution.norm * sqrt(trace / (double)d)};
}

const learning_kind faro_learning_updater = {.protocol = FARO_PROTOCOL_UPDATER,
                                             .complete = complete,
                                             .create = create,
                                             .destroy = destroy,
                                             .save = save,
                                             .apply = apply,
                                             .release = release,
                                             .batches = batches,
                                             .done = done,
                                             .document = document,
                                             .snapshot = snapshot};
