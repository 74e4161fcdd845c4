/* optimism: a setting that several learners have. */
#ifndef FARO_LEARNER_OPTIMISM_H
#define FARO_LEARNER_OPTIMISM_H

#include <faro/setting.h>
#include <faro/statistics.h>

typedef struct faro_optimism {
  double optimism; /* factor on widths under calibration tight; the theorems have 1 */
} faro_optimism;

extern const faro_setting faro_optimism_settings[];

/* The factor: 1 under the published calibrations. */
double faro_optimism_of(const void *settings, faro_calibration calibration);

#endif
