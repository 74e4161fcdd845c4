/* thinned: see the header. */
#include "service/role/thinned.h"

#include <math.h>
#include <sodium.h>

/* How many are passed over before one is drawn: geometric, by inversion. */
static uint64_t draw(void) {
  uint64_t bits = 0;
  randombytes_buf(&bits, sizeof bits);
  const double u = ((double)(bits >> 11) + 1) * 0x1p-53; /* in (0, 1] */
  return (uint64_t)(log(u) / log1p(-1.0 / FARO_THINNED_STEP));
}

void faro_thinned_init(faro_thinned *t) { *t = (faro_thinned){.skip = draw()}; }

static uint64_t trials(uint64_t count) { return count > FARO_THINNED_FREE ? count - FARO_THINNED_FREE : 0; }

uint64_t faro_thinned_add(faro_thinned *t, uint64_t count) {
  uint64_t left = trials(t->count + count) - trials(t->count);
  uint64_t drawn = 0;
  t->count += count;
  for (; left > t->skip; drawn++) {
    left -= t->skip + 1;
    t->skip = draw();
  }
  t->skip -= left;
  t->drawn += drawn;
  return drawn;
}

uint64_t faro_thinned_step(faro_thinned *t) {
  const uint64_t more = FARO_THINNED_STEP * t->drawn - t->shown;
  t->shown += more;
  return more;
}

uint64_t faro_thinned_settle(faro_thinned *t) {
  const uint64_t shown = t->shown + t->ahead;
  const uint64_t more = t->count > shown ? t->count - shown : 0;
  *t = (faro_thinned){.skip = t->skip, .ahead = shown > t->count ? shown - t->count : 0};
  return more;
}
