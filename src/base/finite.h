/* finite: whether numbers from outside can be computed with. */
#ifndef FARO_BASE_FINITE_H
#define FARO_BASE_FINITE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* No NaN and no infinity among them. */
static inline bool faro_all_finite(const double *values, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i])) return false;
  return true;
}

#endif
