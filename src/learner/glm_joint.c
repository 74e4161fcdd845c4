/* glm-joint: generalised linear rewards for adversarial contexts under joint privacy. Sarmasarkar
 * 2026, Alg. 2. */
#include "learner/optimism.h"
#include "learner/rarely.h"

const faro_asker_kind faro_asker_glm_joint = {
    .about = {.name = "glm-joint",
              .summary = "generalised linear rewards, rarely updated private estimates",
              .cite = "Sarmasarkar 2026, Alg. 2",
              .protocol = FARO_PROTOCOL_ASKER,
              .settings = faro_optimism_settings,
              .settings_size = sizeof(faro_optimism)},
    .size = sizeof(faro_rarely),
    .studies = FARO_STUDIES_CONTINUAL,
    .init = faro_rarely_init,
    .term = faro_rarely_term,
    .begin = faro_rarely_begin,
    .pick = faro_rarely_pick,
    .see = faro_rarely_see,
    .ask = faro_rarely_ask,
    .answer = faro_rarely_answer,
    .destroy = faro_rarely_destroy,
};
