/* adapt: see the header.
 *
 * Users of an open batch are not seen yet. If they are like those of the batch before, that is no
 * loss, and larger batches have less noise, because there are fewer of them. If they are not,
 * smaller batches see it earlier. So a batch is compared with what the one before made expect:
 *
 *   x  how far they are apart, per entry, in standard deviations of a batch's noise
 *   t  the same of the noise of the running sum and of the two batches
 *
 *   x < t/4: twice the size;  x > t/2: less by sqrt(t / 2x), because a steady drift adds up with
 *   the square of the size;  else the same. As long as x is below t, waiting costs less than the
 *   noise. */
#include "release/adapt.h"

#include <math.h>

enum { BELOW = 8, ABOVE = 8 }; /* least and largest batch, relative to the best of one size */

void faro_adapt_range(uint64_t uniform, faro_release_params *params) {
  params->batch = uniform / BELOW;
  params->largest = uniform * ABOVE;
}

static double apart(const faro_release *r, double ratio) {
  double square = 0;
  for (size_t i = 0; i < r->contribution.length; i++) {
    const double step = (r->block[i] - ratio * r->before[i]) / r->alone[i];
    square += step * step;
  }
  return sqrt(square / (double)r->contribution.length);
}

/* The largest class of at most `size` users, or the smallest. */
static size_t class_within(const faro_schedule *s, double size) {
  size_t c = 0;
  while (c + 1 < s->classes && (double)s->size[c + 1] <= size) c++;
  return c;
}

size_t faro_adapt_class(const faro_release *r) {
  const faro_schedule *s = &r->schedule;
  const uint64_t k = r->ledger.charged;
  if (k < 2) return k == 0 ? 0 : faro_schedule_class(s, 0);
  const double size = (double)faro_schedule_size(s, k - 1);
  const double ratio = size / (double)faro_schedule_size(s, k - 2);
  const double x = apart(r, ratio);
  const double t = sqrt(r->variance / r->fresh + 1 + ratio * ratio);
  if (x < t / 4) return class_within(s, 2 * size);
  return x > t / 2 ? class_within(s, size * sqrt(t / (2 * x))) : faro_schedule_class(s, k - 1);
}
