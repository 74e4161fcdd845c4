/* learner: the registry of learners, and what the protocols share. */
#include <stdarg.h>
#include <string.h>

#include "learner/kind.h"

#define LEARNER(protocol, id) extern const faro_##protocol##_kind faro_##protocol##_##id;
#include "learner/learners.def"
#undef LEARNER

static const faro_learner_kind *const kinds[] = {
#define LEARNER(protocol, id) &faro_##protocol##_##id.about,
#include "learner/learners.def"
#undef LEARNER
};

size_t faro_learner_count(void) { return sizeof kinds / sizeof *kinds; }
const faro_learner_kind *faro_learner_at(size_t index) {
  return index < faro_learner_count() ? kinds[index] : NULL;
}

const faro_learner_kind *faro_learner_find(const char *name) {
  for (size_t i = 0; i < faro_learner_count(); i++)
    if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
  return NULL;
}

static const char *protocol_name(faro_protocol protocol) {
  static const char *const name[] = {
#define X(id, text) text,
      FARO_PROTOCOL_LIST(X)
#undef X
  };
  return name[protocol];
}

faro_status faro_learner_check(const faro_learner_kind *kind, faro_protocol protocol,
                               faro_calibration calibration, faro_error *error) {
  if (!kind) return faro_fail(error, FARO_INVALID, "learner is missing");
  if (kind->protocol != protocol)
    return faro_fail(error, FARO_INVALID, "learner %s must have the protocol %s (got %s)", kind->name,
                     protocol_name(protocol), protocol_name(kind->protocol));
  if ((unsigned)calibration >= FARO_CALIBRATION_COUNT)
    return faro_fail(error, FARO_INVALID, "calibration must be paper, figure or tight (got number %d)",
                     (int)calibration);
  if (kind->refuses & (1U << calibration))
    return faro_fail(error, FARO_INVALID, "calibration %s is not offered by learner %s",
                     faro_calibration_name(calibration), kind->name);
  return FARO_OK;
}

faro_status faro_learner_check_failure(double failure, faro_error *error) {
  if (failure >= 1e-100 && failure < 1) return FARO_OK; /* shares of it are numbers, and their inverses */
  return faro_fail(error, FARO_INVALID, "failure must be above 0 and below 1, and at least 1e-100 (got %g)",
                   failure);
}

faro_status faro_learner_check_dimension(size_t dimension, faro_error *error) {
  if (dimension >= 1 && dimension <= FARO_DIMENSION_MAX) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "dimension must be 1 .. %d (got %zu)", FARO_DIMENSION_MAX, dimension);
}

static faro_status check_setting(const faro_setting *s, const void *values, faro_error *error) {
  const double value = faro_setting_get(s, values);
  const bool open = s->type == FARO_SETTING_REAL_OPEN;
  if (value >= s->least && value <= s->most && !(open && (value == s->least || value == s->most)))
    return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s must be %g .. %g%s (got %g)", s->name, s->least, s->most,
                   open ? ", without the ends" : "", value);
}

faro_status faro_host_settings(faro_host *host, const faro_learner_kind *kind, const void **settings,
                               faro_error *error) {
  if (!kind->settings) return FARO_OK;
  void *own = faro_arena_alloc(&host->arena, 1, kind->settings_size, error);
  if (!own) return FARO_MEMORY;
  if (*settings) memcpy(own, *settings, kind->settings_size);
  else faro_settings_preset(kind->settings, own);
  *settings = own;
  faro_status status = FARO_OK;
  for (const faro_setting *s = kind->settings; status == FARO_OK && s->name; s++)
    status = check_setting(s, own, error);
  return status;
}

faro_status faro_host_vectors(faro_host *host, faro_error *error, ...) {
  va_list list;
  va_start(list, error);
  faro_status status = FARO_OK;
  for (double **to = va_arg(list, double **); status == FARO_OK && to; to = va_arg(list, double **)) {
    const size_t length = va_arg(list, size_t);
    *to = faro_arena_alloc(&host->arena, length, sizeof **to, error);
    if (!*to) status = FARO_MEMORY;
  }
  va_end(list);
  return status;
}
