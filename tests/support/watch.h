/* watch: intercepts the releases that a study makes and feeds. For every release it records the
 * parameters, the true sum of contributions and, after a batch, the noise in what was published.
 * Include it in one file of a program that is linked with --wrap (tests/CMakeLists.txt). */
#ifndef FARO_TESTS_WATCH_H
#define FARO_TESTS_WATCH_H

#include <math.h>
#include <string.h>

#include "release/release.h"
#include "support/support.h"

enum { WATCHED = 64, WATCH_LENGTH = 32 };

typedef struct watched {
  faro_release *release;
  const faro_release_kind *kind;
  faro_contribution contribution;
  faro_release_params params;
  uint64_t users, batches;
  double longest;              /* length of the longest x */
  double truth[WATCH_LENGTH];  /* sum of the clipped contributions */
  double before[WATCH_LENGTH]; /* published sum less the truth, one batch ago */
} watched;

static watched watch[WATCHED];
static size_t watches;
/* If set, called once for every release before its first person; may plant a bug. */
static void (*watch_open)(const watched *w);
/* If set, called after every batch: the error of the whole sum, and that of this batch. */
static void (*watch_noise)(const watched *w, const double *prefix, const double *batch);

static void watch_reset(void) { watches = 0; }

faro_status __real_faro_release_create(faro_release **, const faro_release_kind *, const faro_contribution *,
                                       const faro_release_params *, faro_source, faro_error *);
bool __real_faro_release_absorb(faro_release *, const double *, double);
faro_status __wrap_faro_release_create(faro_release **, const faro_release_kind *, const faro_contribution *,
                                       const faro_release_params *, faro_source, faro_error *);
bool __wrap_faro_release_absorb(faro_release *, const double *, double);
bool __wrap_faro_release_absorb_alike(faro_release *, const double *, double, uint64_t);
bool __wrap_faro_release_absorb_columns(faro_release *, const double *, size_t, size_t);

faro_status __wrap_faro_release_create(faro_release **release, const faro_release_kind *kind,
                                       const faro_contribution *contribution,
                                       const faro_release_params *params, faro_source source,
                                       faro_error *error) {
  const faro_status status = __real_faro_release_create(release, kind, contribution, params, source, error);
  if (status == FARO_OK && watches < WATCHED && contribution->length <= WATCH_LENGTH)
    watch[watches++] =
        (watched){.release = *release, .kind = kind, .contribution = *contribution, .params = *params};
  return status;
}

static watched *watch_of(const faro_release *release) { /* the latest: memory is reused */
  for (size_t i = watches; i-- > 0;)
    if (watch[i].release == release) return &watch[i];
  return NULL;
}

bool __wrap_faro_release_absorb(faro_release *release, const double *x, double y) {
  watched *w = watch_of(release);
  double z[WATCH_LENGTH];
  if (watch_open && w && w->users == 0) watch_open(w);
  const bool out = __real_faro_release_absorb(release, x, y);
  if (!w) return out;
  double square = 0;
  for (size_t i = 0; i < w->contribution.dimension; i++) square += x[i] * x[i];
  w->longest = fmax(w->longest, sqrt(square));
  w->users++;
  faro_contribution_make(&w->contribution, x, y, z);
  for (size_t i = 0; i < w->contribution.length; i++) w->truth[i] += z[i];
  if (!out) return false;
  w->batches++;
  double prefix[WATCH_LENGTH];
  double batch[WATCH_LENGTH];
  const double *sum = faro_release_statistics(release).sum;
  for (size_t i = 0; i < w->contribution.length; i++) {
    prefix[i] = sum[i] - w->truth[i];
    batch[i] = prefix[i] - w->before[i];
    w->before[i] = prefix[i];
  }
  if (watch_noise) watch_noise(w, prefix, batch);
  return true;
}

/* Many at a time come one by one. */
bool __wrap_faro_release_absorb_alike(faro_release *release, const double *x, double y, uint64_t users) {
  bool out = false;
  for (uint64_t i = 0; i < users; i++) out = __wrap_faro_release_absorb(release, x, y);
  return out;
}

bool __wrap_faro_release_absorb_columns(faro_release *release, const double *x, size_t stride, size_t users) {
  double row[WATCH_LENGTH];
  bool out = false;
  for (size_t i = 0; i < users; i++) {
    for (size_t j = 0; j < release->contribution.dimension; j++) row[j] = x[j * stride + i];
    out |= __wrap_faro_release_absorb(release, row, 0);
  }
  return out;
}

#endif
