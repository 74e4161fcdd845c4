/* estimator: learners that estimate the running sum of a stream of numbers from private sums of the
 * numbers. */
#ifndef FARO_ESTIMATOR_H
#define FARO_ESTIMATOR_H

#include <faro/learner.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct faro_estimator faro_estimator;

/* FARO_INVALID if the kind is not an estimator. */
FARO_API faro_status faro_estimator_create(faro_estimator **estimator, const faro_learner_kind *kind,
                                           faro_calibration calibration, faro_error *error) FARO_WARN_UNUSED;
FARO_API void faro_estimator_destroy(faro_estimator *estimator); /* NULL is allowed */

/* `statistics` are sums of the numbers less 1/2. */
FARO_API void faro_estimator_update(faro_estimator *estimator, const faro_statistics *statistics);
/* Until the next update estimates are on a line: base + each (count - from), for `from` numbers or
 * more. */
typedef struct faro_forecast {
  double base, each;
  uint64_t from;
} faro_forecast;
FARO_API faro_forecast faro_estimator_forecast(const faro_estimator *estimator);
/* The estimate of the sum of the first `count` numbers, as of the last update. */
FARO_API double faro_estimator_at(const faro_estimator *estimator, uint64_t count);
FARO_API faro_diagnostics faro_estimator_diagnose(const faro_estimator *estimator);

#ifdef __cplusplus
}
#endif

#endif
