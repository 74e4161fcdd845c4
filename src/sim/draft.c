/* draft: what can be said of an experiment before it is resolved. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "sim/draft.h"

faro_status faro_draft_fail(const faro_draft *draft, faro_line line, const char *format, ...) {
  char message[600];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  if (line < 0) return faro_fail(draft->error, FARO_INVALID, "--set: %s", message);
  const char *file = faro_path_end(draft->file);
  if (line == 0) return faro_fail(draft->error, FARO_INVALID, "%s: %s", file, message);
  return faro_fail(draft->error, FARO_INVALID, "%s:%d: %s", file, line, message);
}

const faro_draft_sweep *faro_draft_sweep_of(const faro_draft *draft, faro_key key) {
  for (size_t i = 0; i < draft->sweeps; i++)
    if (draft->sweep[i].key == key) return &draft->sweep[i];
  return NULL;
}

faro_line faro_draft_written(const faro_draft *draft, const faro_draft_algorithm *algorithm, faro_key key) {
  if (algorithm->own[key].given) return algorithm->own[key].line;
  const faro_draft_sweep *sweep = faro_draft_sweep_of(draft, key);
  if (sweep) return sweep->line;
  return draft->top[key].given ? draft->top[key].line : algorithm->line;
}

bool faro_draft_has_rows(const faro_draft *draft) {
  const faro_draft_sweep *sweep = faro_draft_sweep_of(draft, FARO_KEY_ENVIRONMENT);
  const faro_entry *only = &draft->top[FARO_KEY_ENVIRONMENT];
  if (!sweep && !only->given) return false;
  return faro_env_at((size_t)(sweep ? sweep->value[0] : only->value))->traits & FARO_ENV_ROWS;
}

/* Quick. */

static void at_most(double *value, double most) {
  if (*value > most) *value = most;
}

/* ... and a sweep's values, without those that then come twice. */
static void sweep_at_most(faro_draft *draft, faro_key key, double most) {
  const faro_draft_sweep *found = faro_draft_sweep_of(draft, key);
  faro_draft_sweep *sweep = found ? &draft->sweep[found - draft->sweep] : NULL;
  size_t kept = 0;
  for (size_t i = 0; sweep && i < sweep->count; i++) {
    at_most(&sweep->value[i], most);
    bool twice = false;
    for (size_t j = 0; j < kept; j++) twice |= sweep->value[j] == sweep->value[i];
    if (!twice) sweep->value[kept++] = sweep->value[i];
  }
  if (sweep) sweep->count = kept;
}

/* Whether two algorithms are the same but for their labels. */
static bool are_alike(const faro_draft_algorithm *a, const faro_draft_algorithm *b) {
  for (faro_key k = 0; k < faro_key_count(); k++)
    if (a->own[k].given != b->own[k].given || (a->own[k].given && a->own[k].value != b->own[k].value))
      return false;
  return true;
}

/* Labels often name the batch of the file. Where another one is played, the label says so; of
 * algorithms that have become the same, the first stays. */
static void quicken_algorithms(faro_draft *draft, double batch) {
  size_t kept = 0;
  for (size_t i = 0; i < draft->algorithms; i++) {
    faro_draft_algorithm *here = &draft->algorithm[i];
    const bool cut = here->own[FARO_KEY_BATCH].given && here->own[FARO_KEY_BATCH].value > batch;
    at_most(&here->own[FARO_KEY_BATCH].value, batch);
    bool twice = false;
    for (size_t j = 0; cut && j < kept; j++) twice |= are_alike(&draft->algorithm[j], here);
    const size_t used = strlen(here->label);
    if (cut) snprintf(here->label + used, sizeof here->label - used, ", batch cut to %.0f", batch);
    if (!twice) draft->algorithm[kept++] = *here;
  }
  draft->algorithms = kept;
}

void faro_draft_quicken(faro_draft *draft) {
  const double horizon = 2000;
  at_most(&draft->top[FARO_KEY_HORIZON].value, horizon);
  if (!draft->top[FARO_KEY_INSTANCES].given) draft->top[FARO_KEY_INSTANCES].value = 10;
  draft->top[FARO_KEY_INSTANCES].given = true;
  at_most(&draft->top[FARO_KEY_INSTANCES].value, 4);
  at_most(&draft->top[FARO_KEY_BATCH].value, horizon / 10);
  sweep_at_most(draft, FARO_KEY_HORIZON, horizon);
  sweep_at_most(draft, FARO_KEY_BATCH, horizon / 10);
  quicken_algorithms(draft, horizon / 10);
}

/* Checks. */

/* A swept key must not be given elsewhere: which one would count? */
static faro_status check_sweeps(const faro_draft *draft) {
  for (size_t s = 0; s < draft->sweeps; s++) {
    const faro_key key = draft->sweep[s].key;
    if (draft->top[key].given)
      return faro_draft_fail(draft, draft->top[key].line, "%s is given here and swept too; leave one out",
                             faro_key_title(key));
    for (size_t i = 0; i < draft->algorithms; i++)
      if (draft->algorithm[i].own[key].given)
        return faro_draft_fail(draft, draft->algorithm[i].own[key].line,
                               "%s is given here and swept too; leave one out", faro_key_title(key));
  }
  return FARO_OK;
}

static faro_status check_complete(const faro_draft *draft) {
  if (draft->algorithms == 0)
    return faro_draft_fail(draft, 0, "algorithms is missing: a list of learner and release pairs");
  for (faro_key k = 0; k < faro_key_count(); k++) {
    if (!isnan(faro_key_setting(k)->preset) || faro_key_scope(k) == SCOPE_ALGORITHM || draft->top[k].given ||
        faro_draft_sweep_of(draft, k) || (k == FARO_KEY_HORIZON && faro_draft_has_rows(draft)))
      continue;
    char allowed[FARO_ALLOWED];
    return faro_draft_fail(draft, 0, "%s is missing: %s", faro_key_title(k), faro_key_allowed(k, allowed));
  }
  return FARO_OK;
}

static const faro_learner_kind *learner_of(const faro_draft_algorithm *algorithm) {
  return faro_learner_at((size_t)algorithm->own[FARO_KEY_LEARNER].value);
}

/* Whether one of the experiment's environments has the setting. */
static bool in_environments(const faro_draft *draft, faro_key key) {
  const faro_draft_sweep *sweep = faro_draft_sweep_of(draft, FARO_KEY_ENVIRONMENT);
  for (size_t i = 0; sweep && i < sweep->count; i++)
    if (faro_key_own(faro_env_at((size_t)sweep->value[i])->settings, key)) return true;
  const size_t only = (size_t)draft->top[FARO_KEY_ENVIRONMENT].value;
  return !sweep && faro_key_own(faro_env_at(only)->settings, key);
}

static bool in_learners(const faro_draft *draft, faro_key key) {
  for (size_t i = 0; i < draft->algorithms; i++)
    if (faro_key_own(learner_of(&draft->algorithm[i])->settings, key)) return true;
  return false;
}

/* The kinds that have the setting: "a, b". */
static const char *owners(faro_key key, char out[static FARO_ALLOWED]) {
  const char *names[FARO_WORDS_MAX];
  size_t count = 0;
  const bool env = faro_key_scope(key) == SCOPE_ENV;
  for (size_t i = 0; count < FARO_WORDS_MAX && i < (env ? faro_env_count() : faro_learner_count()); i++)
    if (faro_key_own(env ? faro_env_at(i)->settings : faro_learner_at(i)->settings, key))
      names[count++] = env ? faro_env_at(i)->name : faro_learner_at(i)->name;
  return faro_words_join(names, count, out, FARO_ALLOWED);
}

/* A setting that only some kinds have must belong to one that is here. */
static faro_status check_own(const faro_draft *draft, faro_key key) {
  const faro_draft_sweep *sweep = faro_draft_sweep_of(draft, key);
  char names[FARO_ALLOWED];
  if ((draft->top[key].given || sweep) && !in_environments(draft, key) && !in_learners(draft, key))
    return faro_draft_fail(draft, sweep ? sweep->line : draft->top[key].line,
                           "%s is a setting of %s, and nothing here has it", faro_key_name(key),
                           owners(key, names));
  for (size_t i = 0; i < draft->algorithms; i++) {
    const faro_draft_algorithm *a = &draft->algorithm[i];
    if (a->own[key].given && a->own[key].line >= 0 && !faro_key_own(learner_of(a)->settings, key))
      return faro_draft_fail(draft, a->own[key].line, "%s is a setting of %s, not of %s", faro_key_name(key),
                             owners(key, names), learner_of(a)->name);
  }
  return FARO_OK;
}

faro_status faro_draft_check(const faro_draft *draft) {
  faro_status status = check_complete(draft);
  if (status == FARO_OK) status = check_sweeps(draft);
  for (faro_key k = FARO_KEY_OWN; status == FARO_OK && k < faro_key_count(); k++)
    status = check_own(draft, k);
  return status;
}
