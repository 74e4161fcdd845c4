/* release: the registry, validation, and the two ways through a batch. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/abort.h"
#include "release/kind.h"

#define RELEASE(id) extern const faro_release_kind faro_release_##id;
#include "release/releases.def"
#undef RELEASE

static const faro_release_kind *const kinds[] = {
#define RELEASE(id) &faro_release_##id,
#include "release/releases.def"
#undef RELEASE
};

size_t faro_release_kinds(void) { return sizeof kinds / sizeof *kinds; }
const faro_release_kind *faro_release_kind_at(size_t index) { return kinds[index]; }
const char *faro_release_kind_name(const faro_release_kind *kind) { return kind->name; }
const char *faro_release_kind_summary(const faro_release_kind *kind) { return kind->summary; }
bool faro_release_kind_takes(const faro_release_kind *kind, bool phased) { return !phased || kind->phases; }
bool faro_release_kind_assigns(const faro_release_kind *kind) { return kind->assigns; }
bool faro_release_kind_counts(const faro_release_kind *kind) { return kind->task != NULL; }
faro_trust faro_release_kind_trust(const faro_release_kind *kind) { return kind->trust; }

bool faro_release_kind_calibrates(const faro_release_kind *kind, faro_calibration calibration) {
  return kind->calibrate[calibration] != NULL;
}

const faro_release_kind *faro_release_kind_find(const char *name) {
  for (size_t i = 0; i < faro_release_kinds(); i++)
    if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
  return NULL;
}

static faro_status no_calibration(const faro_release_kind *kind, faro_calibration got, faro_error *error) {
  char offered[64] = "";
  size_t used = 0;
  for (int c = 0; c < FARO_CALIBRATION_COUNT; c++)
    if (kind->calibrate[c])
      used += (size_t)snprintf(offered + used, sizeof offered - used, "%s%s", used ? ", " : "",
                               faro_calibration_name((faro_calibration)c));
  return faro_fail(error, FARO_INVALID, "calibration must be one that %s offers: %s (got %s)", kind->name,
                   offered, faro_calibration_name(got));
}

static faro_status validate_honest(const faro_release_kind *kind, const faro_release_params *params,
                                   faro_error *error) {
  if (!(params->honest >= 0 && params->honest <= 1))
    return faro_fail(error, FARO_INVALID, "honest must be above 0 and at most 1 (got %g)", params->honest);
  const bool crowd = kind->trust == FARO_TRUST_SHUFFLE || kind->trust == FARO_TRUST_CONCURRENT;
  if (crowd && params->honest > 0 && params->honest < 1 && params->calibration != FARO_CALIBRATION_TIGHT)
    return faro_fail(error, FARO_INVALID,
                     "honest must be 1 under calibration %s (got %g): its theorems count on every user",
                     faro_calibration_name(params->calibration), params->honest);
  return FARO_OK;
}

/* Who is protected keeps to the protocol, so there is one at least. */
double faro_honest(const faro_release *r, uint64_t batches, double users) {
  return fmax(1, (double)batches * floor(r->params.honest * users));
}

static faro_status validate(const faro_release_kind *kind, const faro_release_params *params,
                            faro_error *error) {
  if (params->horizon < 1 || params->horizon > UINT64_C(1) << 40)
    return faro_fail(error, FARO_INVALID, "horizon must be 1 .. 2^40 (got %llu)",
                     (unsigned long long)params->horizon);
  if (params->crowd > 0 && params->crowd < params->batch)
    return faro_fail(error, FARO_INVALID, "crowd must be at least the batch, %llu (got %llu)",
                     (unsigned long long)params->batch, (unsigned long long)params->crowd);
  const bool company = params->crowd >= kind->least_batch; /* others of the phase, in releases of their own */
  if (!company && params->horizon < kind->least_batch)
    return faro_fail(error, FARO_INVALID, "horizon must be at least %llu for %s (got %llu)",
                     (unsigned long long)kind->least_batch, kind->name, (unsigned long long)params->horizon);
  if (params->batch > params->horizon)
    return faro_fail(error, FARO_INVALID, "batch must be at most the horizon, %llu (got %llu)",
                     (unsigned long long)params->horizon, (unsigned long long)params->batch);
  if (!company && params->batch > 0 && params->batch < kind->least_batch)
    return faro_fail(error, FARO_INVALID,
                     "batch must be at least %llu for %s (got %llu): a shuffler hides a user among others",
                     (unsigned long long)kind->least_batch, kind->name, (unsigned long long)params->batch);
  if (params->level == FARO_LEVEL_EVENT && params->contributions > 1)
    return faro_fail(error, FARO_INVALID, "contributions must be 1 under level event (got %llu)",
                     (unsigned long long)params->contributions);
  if (params->anytime && params->contributions > 1 && !kind->splits)
    return faro_fail(error, FARO_INVALID, "anytime must be false for %s where contributions is above 1",
                     kind->name);
  if (!kind->calibrate[params->calibration]) return no_calibration(kind, params->calibration, error);
  if (params->level == FARO_LEVEL_USER && params->calibration == FARO_CALIBRATION_FIGURE)
    return faro_fail(error, FARO_INVALID,
                     "level must be event under calibration figure (got user): nothing was published for it");
  const faro_status status = validate_honest(kind, params, error);
  if (status != FARO_OK || kind->trust == FARO_TRUST_NONE) return status;
  if (!(params->epsilon >= 1e-4 && params->epsilon <= 1000))
    return faro_fail(error, FARO_INVALID, "epsilon must be 0.0001 .. 1000 (got %g)", params->epsilon);
  if (!(params->delta >= 1e-15 && params->delta < 1))
    return faro_fail(error, FARO_INVALID, "delta must be at least 1e-15 and below 1 (got %g)", params->delta);
  return FARO_OK;
}

static uint64_t choose_batch(const faro_release *r) {
  uint64_t batch = r->kind->choose_batch ? r->kind->choose_batch(r) : 1;
  if (batch < r->kind->least_batch) batch = r->kind->least_batch;
  return batch < r->params.horizon ? batch : r->params.horizon;
}

static faro_status build(faro_release *r, faro_error *error) {
  const size_t length = r->contribution.length;
  r->z = faro_arena_alloc(&r->arena, length, sizeof *r->z, error);
  r->sum = faro_arena_alloc(&r->arena, length, sizeof *r->sum, error);
  r->scale = faro_arena_alloc(&r->arena, length, sizeof *r->scale, error);
  if (!r->z || !r->sum || !r->scale) return FARO_MEMORY;
  if (r->params.honest == 0) r->params.honest = 1;
  if (r->params.batch == 0) r->params.batch = choose_batch(r);
  r->batches = r->params.horizon / r->params.batch;
  r->ledger = (faro_ledger){.allowed = r->batches};
  r->repeats = r->params.contributions > 0 ? r->params.contributions : 1;
  if (!r->params.anytime && r->repeats > r->batches) r->repeats = r->batches;
  r->shufflers = r->kind->trust == FARO_TRUST_SHUFFLE ? 1 : 0;
  faro_status status = r->kind->init(r, error);
  if (r->report_size == 0) r->report_size = r->message_size;
  if (status == FARO_OK) status = r->kind->calibrate[r->params.calibration](r, error);
  if (status == FARO_OK && r->kind->finish) r->kind->finish(r);
  r->claim.level = r->params.level;
  r->claim.contributions = r->params.contributions > 0 ? r->params.contributions : 1;
  return status;
}

faro_status faro_release_create(faro_release **release, const faro_release_kind *kind,
                                const faro_contribution *contribution, const faro_release_params *params,
                                faro_error *error) {
  faro_status status = validate(kind, params, error);
  if (status != FARO_OK) return status;
  faro_arena arena = {0};
  faro_release *r = faro_arena_alloc(&arena, 1, kind->size, error);
  if (!r) return FARO_MEMORY;
  *r = (faro_release){.kind = kind, .arena = arena, .contribution = *contribution, .params = *params};
  r->asked = *params;
  r->asked_contribution = *contribution;
  status = build(r, error);
  if (status == FARO_OK) *release = r;
  else faro_release_destroy(r);
  return status;
}

void faro_release_destroy(faro_release *release) {
  if (!release) return;
  faro_arena arena = release->arena;
  faro_arena_free(&arena);
}

const faro_claim *faro_release_claim(const faro_release *release) { return &release->claim; }
faro_cost faro_release_cost(const faro_release *release) { return release->cost; }
uint64_t faro_release_batch(const faro_release *release) { return release->params.batch; }

faro_noise faro_release_noise(const faro_release *release) {
  return (faro_noise){.scale = release->carried ? release->total_scale : release->scale,
                      .gaussian = release->gaussian,
                      .laplace = fmax(release->carried_laplace, release->laplace),
                      .summands = release->carried_summands + release->summands,
                      .gamma = release->gamma};
}

static faro_status floating(const faro_release *r, faro_error *error) {
  return faro_fail(error, FARO_INVALID, "%s adds floating-point noise or none: it is for simulation only",
                   r->kind->name);
}

faro_statistics faro_release_statistics(const faro_release *release) {
  return (faro_statistics){.sum = release->carried ? release->total : release->sum,
                           .users = release->carried_users + release->users,
                           .releases = release->ledger.charged};
}

double faro_release_scale(const faro_release *release, size_t entry) {
  const double share = release->kind->share ? release->kind->share(release) : 1;
  const double own = share * release->scale[entry];
  return release->carried ? hypot(release->carried_scale[entry], own) : own;
}

bool faro_release_gaussian(const faro_release *release, double move, double *mu, double *slack) {
  if (release->kind->gaussian) return release->kind->gaussian(release, move, mu, slack);
  if (!(release->mu > 0)) return false;
  *mu = release->mu * move / release->contribution.sensitivity;
  *slack = 0;
  return true;
}

bool faro_release_spent(const faro_release *release) { return release->ledger.charged == release->batches; }

/* What the last release ended with goes into every sum of this one. */
static faro_status carry(faro_release *r, const faro_release *last, faro_error *error) {
  const size_t length = r->contribution.length;
  r->carried = faro_arena_alloc(&r->arena, length, sizeof *r->carried, error);
  r->carried_scale = faro_arena_alloc(&r->arena, length, sizeof *r->carried_scale, error);
  r->total = faro_arena_alloc(&r->arena, length, sizeof *r->total, error);
  r->total_scale = faro_arena_alloc(&r->arena, length, sizeof *r->total_scale, error);
  if (!r->carried || !r->carried_scale || !r->total || !r->total_scale) return FARO_MEMORY;
  const faro_statistics statistics = faro_release_statistics(last);
  const faro_noise noise = faro_release_noise(last);
  r->carried_users = statistics.users;
  r->carried_laplace = noise.laplace; /* the larger scale bounds the tails of all */
  r->carried_summands = noise.summands;
  for (size_t i = 0; i < length; i++) {
    r->carried[i] = r->total[i] = statistics.sum[i];
    r->carried_scale[i] = faro_release_scale(last, i);
    r->total_scale[i] = hypot(r->carried_scale[i], r->scale[i]);
  }
  return FARO_OK;
}

faro_status faro_release_double(faro_release **release, faro_error *error) {
  faro_release *last = *release;
  FARO_INVARIANT(faro_release_spent(last));
  if (!last->asked.anytime)
    return faro_fail(error, FARO_INVALID, "anytime must be set for a release that is to double its horizon");
  faro_release_params params = last->asked;
  params.horizon = 2 * last->params.horizon;
  faro_release *next = NULL;
  faro_status status = faro_release_create(&next, last->kind, &last->asked_contribution, &params, error);
  if (status == FARO_OK && last->claim.proven && !next->claim.proven)
    status = faro_fail(error, FARO_INVALID, "horizon %llu: the claim would no longer be proven: %s",
                       (unsigned long long)params.horizon, next->claim.by);
  if (status == FARO_OK) status = carry(next, last, error);
  if (status == FARO_OK && last->prepared) status = faro_release_prepare(next, error);
  if (status != FARO_OK) {
    faro_release_destroy(next);
    return status;
  }
  faro_release_destroy(last);
  *release = next;
  return FARO_OK;
}

/* The B users of the open batch are in: new statistics. Never for fewer than B; the ledger was charged before. */
static void publish(faro_release *r, faro_sim_rng *sim) {
  FARO_INVARIANT(r->waiting == r->params.batch);
  r->kind->publish(r, sim);
  for (size_t i = 0; r->carried && i < r->contribution.length; i++) r->total[i] = r->carried[i] + r->sum[i];
  r->users += r->waiting;
  r->waiting = 0;
}

typedef void absorber(faro_release *, const double *z, faro_rng *);

/* Adds one user; true when the batch is whole, and charged. */
static bool take(faro_release *r, const double *x, double y, absorber *absorb, faro_rng *rng) {
  if (faro_release_spent(r)) return false; /* the last, incomplete batch stays unseen */
  faro_contribution_make(&r->contribution, x, y, r->z);
  absorb(r, r->z, rng);
  if (++r->waiting < r->params.batch) return false;
  FARO_INVARIANT(faro_ledger_charge(&r->ledger, NULL) == FARO_OK);
  return true;
}

bool faro_release_absorb(faro_release *release, const double *x, double y, faro_sim_rng *sim) {
  if (!take(release, x, y, release->kind->absorb, &sim->rng)) return false;
  if (release->kind->thicken) release->kind->thicken(release, sim);
  publish(release, sim);
  return true;
}

bool faro_release_kind_exact(const faro_release_kind *kind) { return kind->exact; }

/* Whether what is deployed has the claim. */
faro_status faro_release_vouch(faro_release *r, faro_error *error) {
  if (!r->kind->exact) return floating(r, error);
  if (r->vouched) return FARO_OK;
  const faro_status status = r->kind->vouch ? r->kind->vouch(r, error) : FARO_OK;
  r->vouched = status == FARO_OK;
  return status;
}

faro_status faro_release_prepare(faro_release *release, faro_error *error) {
  faro_status status = faro_release_vouch(release, error);
  if (status != FARO_OK || release->prepared) return status;
  if (release->kind->prepare) status = release->kind->prepare(release, error);
  release->prepared = status == FARO_OK;
  return status;
}

bool faro_release_absorb_secure(faro_release *release, const double *x, double y, faro_secure_rng *secure) {
  FARO_INVARIANT(release->prepared);
  faro_rng *rng = faro_secure_face(secure);
  const faro_release_kind *kind = release->kind;
  if (!take(release, x, y, kind->absorb_secure ? kind->absorb_secure : kind->absorb, rng)) return false;
  release->kind->thicken_secure(release, rng);
  publish(release, NULL);
  return true;
}

double faro_release_influence(const faro_release *release) {
  return release->kind->influence ? release->kind->influence(release) : INFINITY;
}

size_t faro_release_message_size(const faro_release *release) { return release->message_size; }

void faro_release_numbers(const faro_release *release, const void *message, double *numbers) {
  const size_t count = release->message_size / sizeof *numbers;
  const int64_t *whole = message;
  if (!release->kind->exact) memcpy(numbers, message, release->message_size);
  else
    for (size_t i = 0; i < count; i++) numbers[i] = (double)whole[i];
}

faro_status faro_release_randomize(faro_release *release, const double *x, double y, faro_secure_rng *secure,
                                   void *message, faro_error *error) {
  const faro_status status = faro_release_vouch(release, error);
  if (status != FARO_OK) return status;
  faro_contribution_make(&release->contribution, x, y, release->z);
  release->kind->randomize(release, release->z, faro_secure_face(secure), message);
  memset(release->z, 0,
         release->contribution.length * sizeof *release->z); /* the user's own: nobody needs it now */
  return FARO_OK;
}

void faro_release_rehearse(faro_release *release, const double *x, double y, faro_sim_rng *sim,
                           void *message) {
  faro_contribution_make(&release->contribution, x, y, release->z);
  release->kind->randomize(release, release->z, &sim->rng, message);
}

/* Without a bound of the kind's own: sums of 2^40 such numbers still fit. */
void faro_release_range(const faro_release *release, size_t level, int64_t *least, int64_t *most) {
  *least = -(INT64_C(1) << 22);
  *most = INT64_C(1) << 22;
  if (release->kind->range) release->kind->range(release, level, least, most);
}

size_t faro_release_shufflers(const faro_release *release) { return release->shufflers; }

bool faro_release_task(const faro_release *release, size_t level, faro_shuffler_task *task) {
  return level < release->shufflers && release->kind->task && release->kind->task(release, level, task);
}

const uint64_t *faro_release_report(const faro_release *release, size_t level) {
  return level < release->shufflers && release->kind->report ? release->kind->report(release, level) : NULL;
}

size_t faro_release_due(const faro_release *release) {
  if (faro_release_spent(release)) return 0;
  return release->kind->due ? release->kind->due(release) : release->params.batch;
}

/* What one shuffler makes of a batch. */
static size_t shuffled_count(const faro_release *r) { return r->kind->due ? 1 : r->params.batch; }

size_t faro_release_shuffle(const faro_release *release, void *batch, faro_secure_rng *secure) {
  if (release->shufflers > 1) return 0;
  if (release->kind->mix) release->kind->mix(release, batch, faro_secure_face(secure));
  return shuffled_count(release);
}

size_t faro_release_rehearse_shuffle(const faro_release *release, void *batch, faro_sim_rng *sim) {
  if (release->shufflers > 1) return 0;
  if (release->kind->mix) release->kind->mix(release, batch, &sim->rng);
  return shuffled_count(release);
}

/* One of `sim` and `secure`, for noise that the server adds. */
static faro_status analyze(faro_release *release, const void *batch, size_t count, faro_sim_rng *sim,
                           faro_secure_rng *secure, faro_error *error) {
  const unsigned char *message = batch;
  if (release->waiting != 0)
    return faro_fail(error, FARO_INVALID, "a batch is open: %llu users of it were absorbed",
                     (unsigned long long)release->waiting);
  if (!faro_release_spent(release) && count != faro_release_due(release))
    return faro_fail(error, FARO_INVALID, "a shuffled batch of %s has %zu messages (got %zu)",
                     release->kind->name, faro_release_due(release), count);
  for (size_t i = 0; !faro_release_spent(release) && i < count; i++)
    if (!release->kind->sound(release, i, message + i * release->report_size))
      return faro_fail(error, FARO_INVALID, "message %zu of the batch is out of range", i + 1);
  const faro_status status = faro_ledger_charge(&release->ledger, error);
  if (status != FARO_OK) return status;
  for (size_t i = 0; i < count; i++) release->kind->collect(release, i, message + i * release->report_size);
  release->waiting = release->params.batch;
  if (release->kind->trust == FARO_TRUST_JOINT && secure)
    release->kind->thicken_secure(release, faro_secure_face(secure));
  else if (release->kind->trust == FARO_TRUST_JOINT && release->kind->thicken)
    release->kind->thicken(release, sim);
  publish(release, sim);
  return FARO_OK;
}

faro_status faro_release_analyze(faro_release *release, const void *batch, size_t count, faro_sim_rng *sim,
                                 faro_error *error) {
  if (!sim && release->kind->trust == FARO_TRUST_JOINT)
    return faro_fail(error, FARO_INVALID, "%s adds noise at the server, and needs a stream for it",
                     release->kind->name);
  return analyze(release, batch, count, sim, NULL, error);
}

faro_status faro_release_analyze_secure(faro_release *release, const void *batch, size_t count,
                                        faro_secure_rng *secure, faro_error *error) {
  if (!(release->kind->trust == FARO_TRUST_JOINT ? release->prepared : release->vouched))
    return faro_fail(error, FARO_INVALID, "%s is not prepared for deployment", release->kind->name);
  return analyze(release, batch, count, NULL, secure, error);
}
