/* rows: see the header. */
#include "release/rows.h"

#include "release/grid.h"
#include "release/real.h"
#include "release/release.h"

/* Whether the open batch is a sum of doubles to which contributions are added as they are. */
static bool adds_vectors(const faro_release *r) {
  const faro_mechanism *m = r->kind->mechanism;
  return r->source.use == FARO_USE_SIMULATED && r->contribution.form == FARO_FORM_BALL &&
         (m->absorb == faro_real_absorb || m->absorb == faro_grid_absorb);
}

/* The last user of a batch comes in the ordinary way, which publishes. */
bool faro_release_absorb_rows(faro_release *release, const double *x, uint64_t users) {
  const size_t d = release->contribution.dimension;
  const bool adds = adds_vectors(release);
  bool out = false;
  for (uint64_t i = 0; i < users;) {
    const uint64_t missing = faro_release_missing(release);
    const uint64_t many = missing < 2 || !adds ? 0 : missing - 1 < users - i ? missing - 1 : users - i;
    if (many > 0) {
      faro_contribution_total(&release->contribution, x + i * d, many, release->z);
      release->kind->mechanism->absorb(release, release->z, 1);
      release->waiting += many;
      i += many;
    } else out |= faro_release_absorb(release, x + i++ * d, 0);
  }
  return out;
}
