/* bisect: finds where a guarantee begins to hold. All accountants use this one search, so that each
 * of them returns the end at which the guarantee holds. */
#ifndef FARO_PRIVACY_BISECT_H
#define FARO_PRIVACY_BISECT_H

#include <stdbool.h>

typedef struct faro_bisection {
  /* Required. Changes once between the two ends. */
  bool (*holds)(double value, const void *context);
  const void *context;
  /* Optional. True if the ends are close enough to stop; NULL: to the last bit. */
  bool (*near)(double low, double high);
  bool ratio; /* halves the ratio of the ends instead of their difference */
} faro_bisection;

/* Narrows the interval between `good`, where the guarantee holds, and `bad`, where it does not.
 * Either may be the lower end. Returns the last value at which it was seen to hold. */
double faro_bisect(const faro_bisection *bisection, double good, double bad);

#endif
