/* learning: see the header. */
#include "service/analyzer/learning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faro/asker.h>

#include "base/abort.h"
#include "field/field.h"
#include "service/analyzer/learning_inner.h"

static const learning_kind *const kinds[] = {&faro_learning_updater, &faro_learning_phases,
                                             &faro_learning_rounds};

struct faro_learning {
  const learning_kind *kind;
  void *own;
};

enum { OWN_MAX = 256 }; /* bytes of a learner's own settings */

/* Askers whose sums are published all the time need everybody's data at one place. */
static const learning_kind *kind_of(const faro_learner_kind *learner) {
  if (learner->protocol == FARO_PROTOCOL_ASKER && faro_asker_kind_studies(learner) != FARO_STUDIES_BATCHES)
    return NULL;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (kinds[i]->protocol == learner->protocol) return kinds[i];
  return NULL;
}

const char *faro_learning_kind(size_t index) {
  for (size_t i = 0; i < faro_learner_count(); i++) {
    const faro_learner_kind *kind = faro_learner_at(i);
    if (kind_of(kind) && index-- == 0) return kind->name;
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

/* Values are numbers; that of a choice is the place of its word, from 0. */
static faro_status set_one(const faro_setting *setting, double value, void *own, faro_error *error) {
  if (setting->type == FARO_SETTING_CHOICE) {
    if (value < setting->least || value > setting->most || value != floor(value))
      return faro_fail(error, FARO_INVALID, "settings: %s must be a whole number, %g .. %g (got %g)",
                       setting->name, setting->least, setting->most, value);
    faro_setting_put(setting, own, value);
    return FARO_OK;
  }
  const faro_field field = faro_setting_field(setting);
  const faro_node node = {.type = FARO_NODE_NUMBER, .number = value};
  if (faro_field_read(&field, &node, (char *)own + setting->offset)) return FARO_OK;
  return faro_field_refuse(&field, "settings: ", setting->name, &node, error);
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
    const faro_status status = set_one(setting, given->value, own, error);
    if (status != FARO_OK) return status;
  }
  return FARO_OK;
}

faro_status faro_learning_complete(faro_campaign *c, faro_error *error) {
  const faro_learner_kind *kind = NULL;
  _Alignas(8) unsigned char own[OWN_MAX] = {0};
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
  const faro_campaign_rounds *r = &c->rounds;
  if (kind->protocol != FARO_PROTOCOL_ASKER && (faro_campaign_in_rounds(c) || r->bound > 0 || r->fits > 0))
    return faro_fail(
        error, FARO_INVALID,
        "campaign.link, bound and fits are for learners that work in rounds, such as glm-batched; "
        "%s does not",
        kind->name);
  return kind_of(kind)->complete(c, kind, own, error);
}

faro_status faro_learning_create(faro_learning **learning, const faro_campaign *campaign, const void *state,
                                 size_t length, faro_error *error) {
  _Alignas(8) unsigned char own[OWN_MAX] = {0};
  learning_params params = {.campaign = campaign, .settings = own, .state = state, .length = length};
  faro_status status = find_learner(campaign->learner, &params.learner, error);
  if (status == FARO_OK) status = set_own(params.learner, campaign, own, error);
  if (status != FARO_OK) return status;
  faro_learning *made = calloc(1, sizeof *made);
  if (!made) return faro_fail(error, FARO_MEMORY, "cannot allocate the learner");
  made->kind = kind_of(params.learner);
  status = made->kind->create(&made->own, &params, error);
  if (status == FARO_OK) *learning = made;
  else faro_learning_destroy(made);
  return status;
}

void faro_learning_destroy(faro_learning *learning) {
  if (!learning) return;
  learning->kind->destroy(learning->own);
  free(learning);
}

faro_status faro_learning_save(const faro_learning *learning, unsigned char **state, size_t *length,
                               faro_error *error) {
  return learning->kind->save(learning->own, state, length, error);
}

faro_status faro_learning_apply(faro_learning *learning, const void *messages, size_t count,
                                faro_error *error) {
  return learning->kind->apply(learning->own, messages, count, error);
}

const faro_release *faro_learning_release(const faro_learning *learning) {
  return learning->kind->release(learning->own);
}

uint64_t faro_learning_batches(const faro_learning *learning) {
  return learning->kind->batches(learning->own);
}

bool faro_learning_done(const faro_learning *learning) { return learning->kind->done(learning->own); }

faro_status faro_learning_document(const faro_learning *learning, const faro_sign_key *key, char **text,
                                   size_t *length, faro_error *error) {
  return learning->kind->document(learning->own, key, text, length, error);
}

const faro_plan_document *faro_learning_plan(const faro_learning *learning, const faro_plan_row **row) {
  return learning->kind->plan ? learning->kind->plan(learning->own, row) : NULL;
}

faro_learning_view faro_learning_snapshot(const faro_learning *learning) {
  return learning->kind->snapshot(learning->own);
}
