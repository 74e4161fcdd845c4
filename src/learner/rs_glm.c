/* rs-glm: the same without privacy: RS-GLinCB of Sawarni, Das, Barman and Sinha 2024. */
#include "learner/rarely.h"

static faro_status init(faro_learner *learner, faro_error *error) {
  ((faro_rarely *)(void *)learner)->exact = true;
  return faro_rarely_init(learner, error);
}

const faro_learner_kind faro_learner_rs_glm = {
    .name = "rs-glm",
    .summary = "generalised linear rewards, seldom renewed exact estimates (RS-GLinCB)",
    .init = init,
    FARO_RARELY_KIND,
};
