/* finite: checks that numbers from outside are finite. */
#ifndef FARO_BASE_FINITE_H
#define FARO_BASE_FINITE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* True if no value is NaN or infinite. */
static inline bool faro_all_finite(const double *values, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return false;
  return true;
}

#endif
