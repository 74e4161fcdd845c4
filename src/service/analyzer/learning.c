/* learning: see the header. */
#include "service/analyzer/learning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faro/linalg.h>

#include "base/abort.h"
#include "field/field.h"

struct faro_learning {
  const faro_campaign *campaign;
  faro_agent *agent;
};

enum { OWN_MAX = 256 }; /* bytes of a learner's own settings */

/* Those that turn released sums of moments into a policy. */
const char *faro_learning_kind(size_t index) {
  for (size_t i = 0; i < faro_learner_count(); i++) {
    const faro_learner_kind *kind = faro_learner_at(i);
    if (kind->protocol == FARO_PROTOCOL_UPDATER && index-- == 0) return kind->name;
  }
  return NULL;
}

static faro_status find_learner(const char *name, const faro_learner_kind **kind, faro_error *error) {
  static const faro_field field = {.name = "campaign.learner",
                                   .type = FARO_FIELD_CHOICE,
                                   .size = sizeof(size_t),
                                   .words = faro_learning_kind};
  const faro_node node = {.type = FARO_NODE_TEXT, .text = name};
  size_t index = 0;
  *kind = faro_learner_find(name);
  if (faro_field_read(&field, &node, &index)) return FARO_OK;
  return faro_field_refuse(&field, "", field.name, &node, error);
}

static const faro_setting *find_setting(const faro_learner_kind *kind, const char *name) {
  for (const faro_setting *s = kind->settings; s && s->name; s++)
    if (strcmp(s->name, name) == 0) return s;
  return NULL;
}

/* Reads the campaign's settings into those of the learner. */
static faro_status set_own(const faro_learner_kind *kind, const faro_campaign *c, void *own,
                           faro_error *error) {
  FARO_INVARIANT(kind->settings_size <= OWN_MAX);
  faro_settings_preset(kind->settings, own);
  for (size_t i = 0; i < c->settings; i++) {
    const faro_campaign_setting *given = &c->setting[i];
    const faro_setting *setting = find_setting(kind, given->name);
    if (!setting)
      return faro_fail(error, FARO_INVALID, "settings: %s has no setting %.64s", kind->name, given->name);
    const faro_field field = faro_setting_field(setting);
    const faro_node node = {.type = FARO_NODE_NUMBER, .number = given->value};
    if (!faro_field_read(&field, &node, (char *)own + setting->offset))
      return faro_field_refuse(&field, "settings: ", setting->name, &node, error);
  }
  return FARO_OK;
}

faro_status faro_learning_complete(faro_campaign *c, faro_error *error) {
  const faro_learner_kind *kind = NULL;
  _Alignas(8) unsigned char own[OWN_MAX];
  faro_status status = find_learner(c->learner, &kind, error);
  if (status == FARO_OK) status = set_own(kind, c, own, error);
  if (status != FARO_OK) return status;
  c->settings = 0;
  for (const faro_setting *s = kind->settings; s && s->name; s++) {
    FARO_INVARIANT(c->settings < FARO_LEARNER_SETTINGS_MAX);
    faro_campaign_setting *stated = &c->setting[c->settings++];
    *stated = (faro_campaign_setting){.value = faro_setting_get(s, own)};
    snprintf(stated->name, sizeof stated->name, "%s", s->name);
  }
  if (c->params.batch == 0 && c->params.growth == 0 && kind->steady) c->params.growth = 1;
  return FARO_OK;
}

static faro_status build(faro_learning *l, const void *state, size_t length, faro_error *error) {
  const faro_campaign *c = l->campaign;
  const faro_learner_kind *kind = NULL;
  _Alignas(8) unsigned char own[OWN_MAX];
  faro_status status = find_learner(c->learner, &kind, error);
  if (status != FARO_OK) return status;
  status = set_own(kind, c, own, error);
  if (status != FARO_OK) return status;
  const faro_agent_params params = {.learner = kind->name,
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
                                    .settings = own,
                                    .use = FARO_USE_SERVER};
  status = faro_agent_create(&l->agent, &params, error);
  return status == FARO_OK && state ? faro_agent_load(l->agent, state, length, error) : status;
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
  faro_agent_destroy(learning->agent);
  free(learning);
}

faro_status faro_learning_save(const faro_learning *learning, unsigned char **state, size_t *length,
                               faro_error *error) {
  const size_t size = faro_agent_state_size(learning->agent);
  unsigned char *bytes = malloc(size + 1);
  if (!bytes) return faro_fail(error, FARO_MEMORY, "cannot allocate the release's state");
  const faro_status status = faro_agent_save(learning->agent, bytes, error);
  if (status != FARO_OK) {
    free(bytes);
    return status;
  }
  *state = bytes;
  *length = size;
  return FARO_OK;
}

faro_status faro_learning_apply(faro_learning *learning, const void *messages, size_t count,
                                faro_error *error) {
  return faro_agent_analyze(learning->agent, messages, count, error);
}

const faro_release *faro_learning_release(const faro_learning *learning) {
  return faro_agent_release(learning->agent);
}

bool faro_learning_done(const faro_learning *learning) { return faro_agent_done(learning->agent); }
uint64_t faro_learning_batches(const faro_learning *learning) { return faro_agent_batches(learning->agent); }

faro_policy faro_learning_policy(const faro_learning *learning) {
  faro_policy policy = *faro_agent_policy(learning->agent);
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
  const faro_statistics s = faro_agent_statistics(learning->agent);
  if (s.users == 0) return (faro_learning_view){0};
  const faro_policy *policy = faro_agent_policy(learning->agent);
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
