/* interval: see the header. Student's quantile for few degrees of freedom is a table (Abramowitz &
 * Stegun 1972, 26.7.3 and 26.7.4), for many an expansion about the normal one (26.7.5). */
#include "sim/interval.h"

#include <math.h>

enum { MANY = 20 }; /* from here the expansion is exact to seven digits */

static const double few[MANY] = {0,           12.706204736, 4.302652730, 3.182446305, 2.776445105,
                                 2.570581836, 2.446911851,  2.364624252, 2.306004135, 2.262157163,
                                 2.228138852, 2.200985160,  2.178812830, 2.160368656, 2.144786688,
                                 2.131449546, 2.119905299,  2.109815578, 2.100922040, 2.093024054};

double faro_student(double freedom) {
  if (!(freedom >= 1)) return NAN;
  if (freedom < MANY) return few[(int)freedom];
  const double z = 1.959963984540054; /* the normal quantile */
  const double z2 = z * z;
  const double g1 = z * (z2 + 1) / 4;
  const double g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
  const double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  const double g4 = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
  return z + (g1 + (g2 + (g3 + g4 / freedom) / freedom) / freedom) / freedom;
}

faro_interval faro_interval_plain(double mean, double se, double freedom) {
  const double reach = faro_student(freedom) * se;
  return (faro_interval){.low = mean - reach, .high = mean + reach};
}

faro_interval faro_interval_positive(double mean, double se, double freedom) {
  if (!(freedom >= 2)) return (faro_interval){.low = NAN, .high = NAN};
  if (!(mean > 0)) return faro_interval_plain(mean, se, freedom);
  const double reach = faro_student(freedom) * se / mean;
  const double ratio = reach > 1 ? exp(1) * reach : exp(reach); /* goes on along the tangent */
  return (faro_interval){.low = mean / ratio, .high = mean * ratio};
}

/* With r = x/y + s the mean of a - r b is -s y, and its variance follows from that of
 * c = a - (x/y) b, whose mean is 0: the ends are the roots of a polynomial in s, without
 * cancellation where a and b are nearly the same. */
faro_interval faro_interval_ratio(const double *a, const double *b, size_t n) {
  const faro_interval nothing = {.low = 0, .high = INFINITY};
  const double count = (double)n;
  const double scale = pow(faro_student(count - 1), 2) / (count - 1) / count;
  double x = 0;
  double y = 0;
  for (size_t i = 0; i < n; i++) {
    x += a[i] / count;
    y += b[i] / count;
  }
  double square = y * y;
  double half = 0;
  double rest = 0;
  for (size_t i = 0; i < n; i++) {
    const double c = a[i] - x / y * b[i];
    square -= scale * (b[i] - y) * (b[i] - y);
    half += scale * c * (b[i] - y);
    rest += scale * c * c;
  }
  if (!(y > 0 && square > 0)) return nothing; /* NaN: one instance */
  const double reach = sqrt(half * half + square * rest);
  return (faro_interval){.low = fmax(0, x / y - (half + reach) / square),
                         .high = x / y + (reach - half) / square};
}
