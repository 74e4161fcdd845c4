/* columns: see the header. */
#include "release/columns.h"

#include "base/abort.h"
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
bool faro_release_absorb_columns(faro_release *release, const double *x, size_t stride, size_t users) {
  const bool adds = adds_vectors(release);
  FARO_INVARIANT(release->contribution.dimension <= FARO_DIMENSION_MAX);
  bool out = false;
  for (size_t i = 0; i < users;) {
    const uint64_t missing = faro_release_missing(release);
    const size_t many = missing < 2 || !adds ? 0 : missing - 1 < users - i ? (size_t)missing - 1 : users - i;
    if (many > 0) {
      faro_contribution_total(&release->contribution, x + i, stride, many, release->z);
      release->kind->mechanism->absorb(release, release->z, 1);
      release->waiting += many;
      i += many;
      continue;
    }
    double row[FARO_DIMENSION_MAX];
    for (size_t j = 0; j < release->contribution.dimension; j++) row[j] = x[j * stride + i];
    out |= faro_release_absorb(release, row, 0);
    i++;
  }
  return out;
}
