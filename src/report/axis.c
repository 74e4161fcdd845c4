/* axis: see the header. */
#include "report/axis.h"

#include <math.h>

void faro_axis_cover(faro_axis *axis, double value) {
  axis->low = fmin(axis->low, value);
  axis->high = fmax(axis->high, value);
}

/* Distance between ticks: 1, 2 or 5 times a power of ten, about `count` of them. */
static double tick_step(double span, double count) {
  const double power = pow(10, floor(log10(span / count)));
  const double rest = span / count / power;
  return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

/* The next of 1, 2, 5, 10, 20, ... at or above a value, or with `down` at or below it. */
static double round_step(double value, bool down) {
  static const double digit[] = {1, 2, 5, 10};
  const double power = pow(10, floor(log10(value)));
  size_t i = 0;
  while (i < 3 && (down ? digit[i + 1] * power <= value : digit[i] * power < value)) i++;
  return digit[i] * power;
}

void faro_axis_round(faro_axis *axis) {
  if (axis->log) {
    axis->low = round_step(axis->low, true);
    axis->high = round_step(axis->high * (1 - 1e-9), false);
    if (!(axis->high > axis->low)) axis->high = 10 * axis->low;
  } else {
    const double step = tick_step(axis->high, 5);
    axis->high = ceil(axis->high / step - 1e-9) * step;
  }
}

double faro_axis_share(const faro_axis *a, double value) {
  const double inside = fmin(fmax(value, a->low), a->high);
  if (a->log) return log(inside / a->low) / log(a->high / a->low);
  return (inside - a->low) / (a->high - a->low);
}

static size_t even_ticks(const faro_axis *a, double count, faro_tick out[static FARO_TICKS_MAX]) {
  const double step = tick_step(a->high - a->low, count);
  const double last = floor(a->high / step + 1e-9);
  size_t n = 0;
  for (double k = ceil(a->low / step - 1e-9); k <= last && n < FARO_TICKS_MAX; k++)
    out[n++] = (faro_tick){k * step + 0.0, true}; /* never -0 */
  return n;
}

static bool is_inside(const faro_axis *a, double value) {
  return value >= a->low * (1 - 1e-9) && value <= a->high * (1 + 1e-9);
}

/* Powers of ten are labelled, or every k-th of them if there are many; 2 and 5 times them too if
 * the axis spans few. */
static size_t log_ticks(const faro_axis *a, double count, faro_tick out[static FARO_TICKS_MAX]) {
  const double span = log10(a->high / a->low);
  const int every = (int)fmax(ceil((span - 0.5) / (count + 1)), 1);
  const bool fine = 3 * span <= 1.6 * count;
  const int last = (int)floor(log10(a->high) + 1e-9);
  size_t n = 0;
  for (int decade = (int)floor(log10(a->low) + 1e-9); decade <= last; decade++)
    for (int digit = 1; digit <= 9; digit++) {
      const double value = digit * pow(10, decade);
      if (!is_inside(a, value) || n == FARO_TICKS_MAX || (digit > 1 && span > 6)) continue;
      out[n++] = (faro_tick){value, digit == 1 ? decade % every == 0 : fine && (digit == 2 || digit == 5)};
    }
  return n;
}

size_t faro_axis_ticks(const faro_axis *axis, double count, faro_tick out[static FARO_TICKS_MAX]) {
  if (!axis->log) return even_ticks(axis, count, out);
  const size_t n = log_ticks(axis, count, out);
  size_t labelled = 0;
  for (size_t i = 0; i < n; i++) labelled += out[i].labelled;
  return labelled >= 3 ? n : even_ticks(axis, count, out);
}
