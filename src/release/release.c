/* release: the registry of releases, creation, and whole batches. message.c has the steps by
 * messages. */
#include "release/release.h"

#include <math.h>
#include <string.h>

#include "base/abort.h"

static const faro_release_kind *const kinds[] = {
#define RELEASE(id) &faro_release_##id,
#include <faro/releases.def>
#undef RELEASE
};

_Static_assert(sizeof kinds / sizeof *kinds <= FARO_RELEASES_MAX, "room for all names");

size_t faro_release_kinds(void) { return sizeof kinds / sizeof *kinds; }
const faro_release_kind *faro_release_kind_at(size_t index) {
  return index < faro_release_kinds() ? kinds[index] : NULL;
}

const faro_release_kind *faro_release_kind_find(const char *name) {
  for (size_t i = 0; i < faro_release_kinds(); i++)
    if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
  return NULL;
}

bool faro_release_kind_calibrates(const faro_release_kind *kind, faro_calibration calibration) {
  return (unsigned)calibration < FARO_CALIBRATION_COUNT && kind->calibrate[calibration] != NULL;
}

bool faro_release_kind_exact(const faro_release_kind *kind) { return kind->mechanism->exact; }

size_t faro_release_deployable(const char *names[FARO_RELEASES_MAX]) {
  size_t count = 0;
  for (size_t i = 0; i < faro_release_kinds(); i++)
    if (faro_release_kind_exact(kinds[i])) names[count++] = kinds[i]->name;
  return count;
}

/* Creation. */

static faro_status bind_source(faro_release *r, faro_source source, faro_error *error) {
  r->source = source;
  r->deployed = source.use != FARO_USE_NONE && source.use != FARO_USE_SIMULATED;
  if (r->deployed ? !source.secure : source.use == FARO_USE_SIMULATED && !source.sim)
    return faro_fail(error, FARO_INVALID, "a source that draws needs a stream (got NULL)");
  if (r->deployed && !r->kind->mechanism->exact)
    return faro_fail(error, FARO_INVALID,
                     "%s adds floating-point noise or no noise, so it is for simulation only", r->kind->name);
  if (r->deployed) r->rng = faro_secure_face(source.secure);
  else if (source.sim) r->rng = &source.sim->rng;
  return FARO_OK;
}

static uint64_t choose_batch(const faro_release *r) {
  uint64_t batch = r->kind->choose_batch ? r->kind->choose_batch(r) : 1;
  if (batch < r->kind->least_batch) batch = r->kind->least_batch;
  return batch < r->params.horizon ? batch : r->params.horizon;
}

/* Replaces zeros in the parameters by what they stand for. */
static void resolve(faro_release *r) {
  if (r->params.honest == 0) r->params.honest = 1;
  if (r->params.batch == 0) r->params.batch = choose_batch(r);
  r->batches = r->params.horizon / r->params.batch;
  r->ledger = (faro_ledger){.allowed = r->batches};
  r->repeats = r->params.contributions > 0 ? r->params.contributions : 1;
  if (!r->params.anytime && r->repeats > r->batches) r->repeats = r->batches;
  r->shufflers = r->kind->trust == FARO_TRUST_SHUFFLE ? 1 : 0;
  r->influence = INFINITY;
}

static faro_status build(faro_release *r, faro_error *error) {
  const faro_mechanism *mechanism = r->kind->mechanism;
  const size_t length = r->contribution.length;
  r->z = faro_arena_alloc(&r->arena, length, sizeof *r->z, error);
  r->sum = faro_arena_alloc(&r->arena, length, sizeof *r->sum, error);
  r->scale = faro_arena_alloc(&r->arena, length, sizeof *r->scale, error);
  if (!r->z || !r->sum || !r->scale) return FARO_MEMORY;
  resolve(r);
  faro_status status = mechanism->init(r, error);
  if (r->report_size == 0) r->report_size = r->message_size;
  if (status == FARO_OK) status = r->kind->calibrate[r->params.calibration](r, error);
  if (status == FARO_OK && mechanism->settle) status = mechanism->settle(r, error);
  r->claim.level = r->params.level;
  r->claim.contributions = r->params.contributions > 0 ? r->params.contributions : 1;
  return status;
}

faro_status faro_release_create(faro_release **release, const faro_release_kind *kind,
                                const faro_contribution *contribution, const faro_release_params *params,
                                faro_source source, faro_error *error) {
  faro_status status = faro_release_validate(kind, params, error);
  if (status != FARO_OK) return status;
  if (contribution->length == 0)
    return faro_fail(error, FARO_INVALID, "contribution must have one entry or more (got none)");
  faro_arena arena = {0};
  faro_release *r = faro_arena_alloc(&arena, 1, kind->mechanism->size, error);
  if (!r) return FARO_MEMORY;
  *r = (faro_release){.kind = kind, .arena = arena, .contribution = *contribution, .params = *params};
  status = bind_source(r, source, error);
  if (status == FARO_OK) status = build(r, error);
  if (status == FARO_OK) *release = r;
  else faro_release_destroy(r);
  return status;
}

void faro_release_destroy(faro_release *release) {
  if (!release) return;
  faro_arena arena = release->arena;
  faro_arena_free(&arena);
}

/* Whole batches. */

static bool plays_all_parties(const faro_release *r) {
  return r->source.use == FARO_USE_SIMULATED || r->source.use == FARO_USE_ALL_PARTIES;
}

bool faro_release_absorb(faro_release *release, const double *x, double y) {
  const faro_mechanism *mechanism = release->kind->mechanism;
  if (!plays_all_parties(release) || faro_release_spent(release)) return false;
  faro_contribution_make(&release->contribution, x, y, release->z);
  mechanism->absorb(release, release->z);
  if (++release->waiting < release->params.batch) return false;
  FARO_MUST(faro_ledger_charge(&release->ledger, NULL));
  mechanism->add_noise(release);
  faro_release_publish(release);
  return true;
}

/* Never called for fewer than B users. */
void faro_release_publish(faro_release *r) {
  FARO_INVARIANT(r->waiting == r->params.batch);
  r->kind->mechanism->publish(r);
  r->users += r->waiting;
  r->waiting = 0;
}

faro_statistics faro_release_statistics(const faro_release *release) {
  return (faro_statistics){.sum = release->sum, .users = release->users, .releases = release->ledger.charged};
}

bool faro_release_spent(const faro_release *release) { return release->ledger.charged == release->batches; }

/* Questions. */

const faro_claim *faro_release_claim(const faro_release *release) { return &release->claim; }
faro_cost faro_release_cost(const faro_release *release) { return release->cost; }
uint64_t faro_release_batch(const faro_release *release) { return release->params.batch; }

faro_noise faro_release_noise(const faro_release *release) {
  return (faro_noise){.scale = release->scale,
                      .gaussian = release->gaussian,
                      .laplace = release->laplace,
                      .summands = release->summands,
                      .gamma = release->gamma};
}

double faro_release_scale(const faro_release *release, size_t entry) {
  const faro_counting *counting = release->kind->mechanism->counting;
  return (counting ? counting->share(release) : 1) * release->scale[entry];
}

bool faro_release_gaussian(const faro_release *release, double move, double *mu, double *slack) {
  const faro_counting *counting = release->kind->mechanism->counting;
  if (counting) return counting->gaussian(release, move, mu, slack);
  if (!(release->mu > 0)) return false;
  *mu = release->mu * move / release->contribution.sensitivity;
  *slack = 0;
  return true;
}
