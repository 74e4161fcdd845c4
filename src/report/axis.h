/* axis: the scale of an axis and its ticks. */
#ifndef FARO_REPORT_AXIS_H
#define FARO_REPORT_AXIS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct faro_axis {
  double low, high;
  bool log;
} faro_axis;

typedef struct faro_tick {
  double value;
  bool labelled; /* else a minor tick */
} faro_tick;

enum { FARO_TICKS_MAX = 128 };

void faro_axis_cover(faro_axis *axis, double value);
/* Moves the ends outwards to round numbers. A linear axis must start at 0. */
void faro_axis_round(faro_axis *axis);
/* The position of a value: 0 is the low end, 1 the high end. Values outside are moved there. */
double faro_axis_share(const faro_axis *axis, double value);
/* The ticks in ascending order, about `count` of them labelled; returns how many. A logarithmic
 * axis has minor ticks too. */
size_t faro_axis_ticks(const faro_axis *axis, double count, faro_tick out[static FARO_TICKS_MAX]);

#endif
