/* sum: the running sum of a stream of numbers in [0, 1], from private sums of the numbers less 1/2.
 * Private summation under continual observation, Tenenbaum et al. 2023, section 3.
 *
 *   Z   released sum of (value - 1/2) over the first m users
 *
 * Adding 1/2 for each of the m users gives Z + m/2, the published estimate, which ignores later
 * users. Under `tight` each later user counts as 1/2: Z + t/2 after t users. That needs no data and
 * halves the greatest error that they can add. */
#include "learner/kind.h"

typedef struct sum {
  double base, each; /* the estimate after t users is base + each t */
} sum;

static void init(void *state, faro_calibration calibration) {
  sum *s = state;
  s->each = calibration == FARO_CALIBRATION_TIGHT ? 0.5 : 0;
}

static void update(void *state, const faro_statistics *statistics) {
  sum *s = state;
  s->base = statistics->sum[0] + (s->each > 0 ? 0 : (double)statistics->users / 2);
}

static faro_forecast forecast(const void *state) {
  const sum *s = state;
  return (faro_forecast){.base = s->base, .each = s->each};
}

const faro_estimator_kind faro_estimator_sum = {
    .about = {.name = "sum",
              .summary = "the running sum of a stream of numbers, from (private) sums; it chooses nothing",
              .cite = "Tenenbaum et al. 2023",
              .protocol = FARO_PROTOCOL_ESTIMATOR},
    .size = sizeof(sum),
    .init = init,
    .update = update,
    .forecast = forecast,
};
