/* glm-joint: generalised linear rewards for adversarial contexts under joint privacy. 004 Alg. 2. */
#include "learner/rarely.h"

const faro_learner_kind faro_learner_glm_joint = {
    .name = "glm-joint",
    .summary = "generalised linear rewards, seldom renewed private estimates (004 Alg. 2)",
    .studies = FARO_STUDIES_CONTINUAL,
    .init = faro_rarely_init,
    FARO_RARELY_KIND,
};
