/* calibration: names, as people write them. */
#include <faro/statistics.h>

const char *faro_calibration_name(faro_calibration calibration) {
  static const char *const name[] = {
#define X(id, text) text,
      FARO_CALIBRATION_LIST(X)
#undef X
  };
  return name[calibration];
}
