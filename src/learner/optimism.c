/* optimism: see the header. */
#include "learner/optimism.h"

const faro_setting faro_optimism_settings[] = {
    {"optimism", FARO_SETTING_REAL, offsetof(faro_optimism, optimism), 0.001, 10, 0.2, NULL,
     "generalised linear learners except glm-batched, under tight: factor on the published widths"},
    {0}};

double faro_optimism_of(const void *settings, faro_calibration calibration) {
  return calibration == FARO_CALIBRATION_TIGHT ? ((const faro_optimism *)settings)->optimism : 1;
}
