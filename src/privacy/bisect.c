/* bisect: see the header. */
#include "privacy/bisect.h"

#include <math.h>

enum { TURNS = 300 }; /* far more steps than two doubles have bits between them, unless one is zero */

double faro_bisect(const faro_bisection *b, double good, double bad) {
  for (int turn = 0; turn < TURNS; turn++) {
    const double low = fmin(good, bad);
    const double high = fmax(good, bad);
    const double middle = b->ratio ? sqrt(low * high) : low + (high - low) / 2;
    if (!(middle > low && middle < high) || (b->near && b->near(low, high))) break;
    if (b->holds(middle, b->context)) good = middle;
    else bad = middle;
  }
  return good;
}
