/* sum: the running sum of a stream of numbers in [0, 1], from private sums of the numbers less 1/2. It makes no
 * choices. Private summation under continual observation, 001 section 3.
 *
 *   Z       released sum of (value - 1/2), over the first m users
 *   theta   the estimate after t users is theta_0 + theta_1 t
 *
 * Adding 1/2 for each of the m users covered gives Z + m/2, which is 001's estimate: later users are not seen. With
 * `guess` they count as 1/2 each, which needs no data and halves the worst that they can add to the error:
 * Z + t/2. */
#include "learner/kind.h"

typedef struct sum {
  faro_learner learner;
  double theta[2];
} sum;

static void update(faro_learner *learner, const faro_statistics *statistics) {
  sum *s = (sum *)(void *)learner;
  s->theta[0] = statistics->sum[0] + (learner->params.guess ? 0 : (double)statistics->users / 2);
}

static faro_status init(faro_learner *learner, faro_error *error) {
  (void)error;
  sum *s = (sum *)(void *)learner;
  s->theta[1] = learner->params.guess ? 0.5 : 0;
  learner->policy = (faro_policy){.dimension = 2, .theta = s->theta, .version = 1};
  return FARO_OK;
}

const faro_learner_kind faro_learner_sum = {
    .name = "sum",
    .summary = "the running sum of a stream of numbers, from (private) sums; it chooses nothing",
    .sums = true,
    .size = sizeof(sum),
    .init = init,
    .update = update,
};
