/* uniform: plays an arm drawn uniformly in each round and learns nothing. The baseline that says
 * what a regret is worth. */
#include "learner/kind.h"

typedef struct uniform {
  char nothing;
} uniform;

static faro_status init(void *state, const faro_updater_params *params, faro_host *host, faro_policy *policy,
                        faro_error *error) {
  (void)state;
  (void)params;
  (void)host;
  (void)error;
  policy->explore = 1;
  return FARO_OK;
}

static void update(void *state, const faro_statistics *statistics, faro_policy *policy) {
  (void)state;
  (void)statistics;
  (void)policy;
}

const faro_updater_kind faro_updater_uniform = {
    .about = {.name = "uniform",
              .summary = "baseline: plays at random and learns nothing",
              .protocol = FARO_PROTOCOL_UPDATER,
              .steady = true,
              .blind = true},
    .size = sizeof(uniform),
    .init = init,
    .update = update,
};
