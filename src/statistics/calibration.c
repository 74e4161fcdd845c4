/* calibration: the names of the calibrations. */
#include <faro/statistics.h>

#include "base/names.h"

const char *faro_calibration_name(faro_calibration calibration) {
  static const char *const name[] = FARO_NAMES(FARO_CALIBRATION_LIST);
  return name[calibration];
}

FARO_FIND(faro_calibration, FARO_CALIBRATION_LIST)
