/* rs-glm: RS-GLinCB of Sawarni et al. 2024: the same as glm-joint, without privacy. */
#include "learner/optimism.h"
#include "learner/rarely.h"

static faro_status init(void *state, const faro_asker_params *params, faro_host *host, faro_error *error) {
  ((faro_rarely *)state)->exact = true;
  return faro_rarely_init(state, params, host, error);
}

const faro_asker_kind faro_asker_rs_glm = {
    .about = {.name = "rs-glm",
              .summary = "generalised linear rewards, rarely updated exact estimates (RS-GLinCB)",
              .cite = "Sawarni et al. 2024",
              .protocol = FARO_PROTOCOL_ASKER,
              .settings = faro_optimism_settings,
              .settings_size = sizeof(faro_optimism)},
    .size = sizeof(faro_rarely),
    .init = init,
    .term = faro_rarely_term,
    .begin = faro_rarely_begin,
    .pick = faro_rarely_pick,
    .see = faro_rarely_see,
    .ask = faro_rarely_ask,
    .answer = faro_rarely_answer,
    .destroy = faro_rarely_destroy,
};
