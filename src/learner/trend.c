/* trend: like `sum`, but users who are not in a released sum yet count like those of the newest
 * batch. Better than one half each where numbers change slowly, worse where they jump.
 *
 *   Z   released sum of (value - 1/2) over the first m users; after it t - m are not seen yet */
#include "learner/kind.h"

typedef struct trend {
  double base, each; /* the estimate after t users is base + each (t - users) */
  double sum;        /* the released sum before, and its users */
  uint64_t users;
} trend;

static void init(void *state, faro_calibration calibration) {
  trend *s = state;
  (void)calibration;
  s->each = 0.5;
}

static void update(void *state, const faro_statistics *statistics) {
  trend *s = state;
  if (statistics->users > s->users) {
    const double mean = (statistics->sum[0] - s->sum) / (double)(statistics->users - s->users) + 0.5;
    s->each = mean < 0 ? 0 : mean > 1 ? 1 : mean;
  }
  s->sum = statistics->sum[0];
  s->users = statistics->users;
  s->base = s->sum + (double)s->users / 2;
}

static faro_forecast forecast(const void *state) {
  const trend *s = state;
  return (faro_forecast){.base = s->base, .each = s->each, .from = s->users};
}

const faro_estimator_kind faro_estimator_trend = {
    .about = {.name = "trend",
              .summary = "like sum; users who are not released yet count like those of the newest batch",
              .protocol = FARO_PROTOCOL_ESTIMATOR},
    .size = sizeof(trend),
    .init = init,
    .update = update,
    .forecast = forecast,
};
