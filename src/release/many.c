/* many: see the header. Where the numbers of a batch are added up exactly, users are absorbed by
 * how many ones they have. The last batch of a call is published in the ordinary way, so that all
 * that is known of the newest one is; the sums before it may come from a shorter way of the
 * mechanism. */
#include "release/many.h"

#include "base/abort.h"
#include "base/bits.h"
#include "release/release.h"

static const double ONE = 0.5;
static const double ZERO = -0.5;

bool faro_release_adds(const faro_release *release) { return release->kind->mechanism->adds; }

static void absorb_alike(faro_release *r, const double *x, uint64_t users) {
  const uint64_t missing = faro_release_missing(r);
  if (users == 0 || missing == 0) return;
  if (faro_release_adds(r) && !r->deployed) (void)faro_release_absorb_alike(r, x, 0, users);
  else
    for (uint64_t u = 0; u < users && u < missing; u++) (void)faro_release_absorb(r, x, 0);
}

void faro_release_absorb_ends(faro_release *release, uint64_t high, uint64_t low) {
  const bool last = high < faro_release_missing(release);
  absorb_alike(release, &ONE, high);
  if (last) absorb_alike(release, &ZERO, low);
}

void faro_release_absorb_bits(faro_release *release, const uint64_t *bits, uint64_t from, uint64_t users) {
  if (faro_release_adds(release)) {
    const uint64_t ones = faro_ones(bits, from, users);
    faro_release_absorb_ends(release, ones, users - ones);
    return;
  }
  for (uint64_t i = from; i < from + users; i++)
    (void)faro_release_absorb(release, faro_bit(bits, i) ? &ONE : &ZERO, 0);
}

/* All batches but the last by the mechanism's shorter way, if it has one. Returns how many. */
static uint64_t absorb_shortly(faro_release *r, const uint64_t *bits, uint64_t from, uint64_t batches,
                               double *sum) {
  const faro_mechanism *mechanism = r->kind->mechanism;
  FARO_INVARIANT(r->ledger.charged + batches <= r->ledger.allowed);
  const bool alike = r->schedule.classes == 1 && !r->params.adaptive;
  const bool plain =
      r->contribution.length == 1 && r->contribution.binary && r->published == r->sum && !r->deployed;
  if (!mechanism->many || !alike || !plain || batches < 2) return 0;
  mechanism->many(r, bits, from, batches - 1, sum);
  r->sum[0] = sum[batches - 2];
  r->ledger.charged += batches - 1;
  r->users = faro_schedule_users(&r->schedule, r->ledger.charged);
  r->waiting = 0;
  faro_release_open(r, r->ledger.charged);
  return batches - 1;
}

void faro_release_absorb_batches(faro_release *release, const uint64_t *bits, uint64_t from, uint64_t batches,
                                 double *sum) {
  const uint64_t first = faro_release_missing(release);
  const uint64_t done = batches > 0 ? absorb_shortly(release, bits, from, batches, sum) : 0;
  if (done > 0) from += first + (done - 1) * release->size;
  for (uint64_t k = done; k < batches; k++) {
    const uint64_t users = faro_release_missing(release);
    faro_release_absorb_bits(release, bits, from, users);
    from += users;
    sum[k] = release->published[0];
  }
}
