/* row: see the header. Also the names of this layer's lists. */
#include "evaluate/row.h"

#include <math.h>

#include "base/names.h"

const char *faro_method_name(faro_method method) {
  static const char *const names[] = FARO_NAMES(FARO_METHOD_LIST);
  return method < FARO_METHODS ? names[method] : NULL;
}

const char *faro_method_meaning(faro_method method) {
#define X(name, text, meaning) meaning,
  static const char *const meanings[] = {FARO_METHOD_LIST(X)};
#undef X
  return method < FARO_METHODS ? meanings[method] : NULL;
}

const char *faro_bounds_name(faro_bounds interval) {
  static const char *const names[] = FARO_NAMES(FARO_BOUNDS_LIST);
  return (size_t)interval < sizeof names / sizeof *names ? names[interval] : NULL;
}

const char *faro_silence_text(faro_silence silence) {
  static const char *const texts[] = FARO_NAMES(FARO_SILENCE_LIST);
  return (size_t)silence < sizeof texts / sizeof *texts ? texts[silence] : NULL;
}

static bool is_probability(double p) { return p >= 0 && p <= 1; }

/* Probabilities that were rounded when they were written may add up to a little more than 1. */
static faro_status check_targets(const faro_logged *row, size_t arms, faro_error *error) {
  double sum = 0;
  for (size_t a = 0; a < arms; a++) {
    if (!is_probability(row->targets[a]))
      return faro_fail(error, FARO_INVALID,
                       "the policy's probability of arm %zu must be from 0 to 1 (got %g)", a + 1,
                       row->targets[a]);
    sum += row->targets[a];
  }
  if (fabs(sum - 1) <= 1e-3) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "the policy's probabilities must add up to 1 (got %g)", sum);
}

faro_status faro_logged_check(const faro_logged *row, size_t arms, bool model, faro_error *error) {
  if (arms > 0 && row->arm >= arms)
    return faro_fail(error, FARO_INVALID, "arm must be from 1 to %zu (got %zu)", arms, row->arm + 1);
  if (!isfinite(row->reward))
    return faro_fail(error, FARO_INVALID, "reward must be a finite number (got %g)", row->reward);
  if (!(row->propensity > 0 && row->propensity <= 1))
    return faro_fail(error, FARO_INVALID, "propensity must be above 0 and at most 1 (got %g)",
                     row->propensity);
  if (!is_probability(row->target))
    return faro_fail(error, FARO_INVALID, "the policy's probability must be from 0 to 1 (got %g)",
                     row->target);
  if (model && !(isfinite(row->value) && isfinite(row->prediction)))
    return faro_fail(error, FARO_INVALID, "predictions must be finite (got %g and %g)", row->value,
                     row->prediction);
  return arms > 0 && row->targets ? check_targets(row, arms, error) : FARO_OK;
}

faro_status faro_evaluate_check_range(double low, double high, faro_error *error) {
  if (high - low > 0 && isfinite(high - low)) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "range must be LOW,HIGH with LOW < HIGH (got %g,%g)", low, high);
}

faro_status faro_evaluate_check_confidence(double confidence, faro_error *error) {
  if (confidence >= 0.5 && confidence < 1) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "confidence must be from 0.5 to below 1 (got %g)", confidence);
}
