/* doubling: one release after another, each with twice the horizon. The final sums of earlier
 * releases are added to every sum. See docs/privacy.md, Doubling. */
#include <faro/doubling.h>
#include <faro/message.h>

#include <math.h>

#include "base/arena.h"

/* The final sums and noise of earlier releases. */
typedef struct past {
  double *sum, *scale;
  double laplace, summands;
  uint64_t users;
} past;

struct faro_doubling {
  faro_arena arena;
  const faro_release_kind *kind;
  faro_contribution contribution;
  faro_release_params params; /* as given, with the horizon of the current release */
  faro_source source;
  faro_release *now;
  bool doubled;
  past past;
  double *sum, *scale; /* past and current together */
};

uint64_t faro_doubling_first(const faro_release_params *params) {
  const double batch = (double)params->batch;
  const double tree = ldexp(fmax(2, batch), (int)params->shufflers);
  const double first = fmax(fmax(1024, tree), 4 * batch);
  return (uint64_t)(params->horizon > 0 ? fmin((double)params->horizon, first) : first);
}

static faro_status create_release(const faro_doubling *d, uint64_t horizon, faro_release **release,
                                  faro_error *error) {
  faro_release_params params = d->params;
  params.horizon = horizon;
  return faro_release_create(release, d->kind, &d->contribution, &params, d->source, error);
}

/* A release that cannot double needs no memory for its past. */
static faro_status make_room(faro_doubling *d, faro_error *error) {
  double **const vector[] = {&d->past.sum, &d->past.scale, &d->sum, &d->scale};
  for (size_t i = 0; d->params.anytime && i < sizeof vector / sizeof *vector; i++)
    if (!(*vector[i] = faro_arena_alloc(&d->arena, d->contribution.length, sizeof **vector[i], error)))
      return FARO_MEMORY;
  return FARO_OK;
}

faro_status faro_doubling_create(faro_doubling **doubling, const faro_release_kind *kind,
                                 const faro_contribution *contribution, const faro_release_params *params,
                                 faro_source source, faro_error *error) {
  faro_arena arena = {0};
  faro_doubling *d = faro_arena_alloc(&arena, 1, sizeof *d, error);
  if (!d) return FARO_MEMORY;
  *d = (faro_doubling){
      .arena = arena, .kind = kind, .contribution = *contribution, .params = *params, .source = source};
  faro_status status = create_release(d, params->horizon, &d->now, error);
  if (status == FARO_OK) status = make_room(d, error);
  if (status == FARO_OK) *doubling = d;
  else faro_doubling_destroy(d);
  return status;
}

void faro_doubling_destroy(faro_doubling *doubling) {
  if (!doubling) return;
  faro_release_destroy(doubling->now);
  faro_arena arena = doubling->arena;
  faro_arena_free(&arena);
}

const faro_release *faro_doubling_release(const faro_doubling *doubling) { return doubling->now; }
uint64_t faro_doubling_horizon(const faro_doubling *doubling) { return doubling->params.horizon; }
bool faro_doubling_spent(const faro_doubling *doubling) { return faro_release_spent(doubling->now); }

static void add_past(faro_doubling *d) {
  if (!d->doubled) return;
  const double *sum = faro_release_statistics(d->now).sum;
  for (size_t i = 0; i < d->contribution.length; i++) d->sum[i] = d->past.sum[i] + sum[i];
}

bool faro_doubling_absorb(faro_doubling *doubling, const double *x, double y) {
  if (!faro_release_absorb(doubling->now, x, y)) return false;
  add_past(doubling);
  return true;
}

faro_status faro_doubling_analyze(faro_doubling *doubling, const void *batch, size_t count,
                                  faro_error *error) {
  const faro_status status = faro_release_analyze(doubling->now, batch, count, error);
  if (status == FARO_OK) add_past(doubling);
  return status;
}

/* Makes the current release part of the past. */
static void keep(faro_doubling *d) {
  const faro_statistics statistics = faro_doubling_statistics(d);
  const faro_noise noise = faro_doubling_noise(d);
  const past kept = {.sum = d->past.sum,
                     .scale = d->past.scale,
                     .laplace = noise.laplace,
                     .summands = noise.summands,
                     .users = statistics.users};
  for (size_t i = 0; i < d->contribution.length; i++) {
    const double scale = faro_doubling_scale(d, i);
    d->past.sum[i] = statistics.sum[i];
    d->past.scale[i] = scale;
  }
  d->past = kept;
}

/* The larger scale of Laplace noise bounds the tails of all; see faro_doubling_noise. */
static void replace(faro_doubling *d, faro_release *next) {
  keep(d);
  faro_release_destroy(d->now);
  d->now = next;
  d->doubled = true;
  d->params.horizon *= 2;
  const double *scale = faro_release_noise(next).scale;
  for (size_t i = 0; i < d->contribution.length; i++) d->scale[i] = hypot(d->past.scale[i], scale[i]);
  add_past(d);
}

faro_status faro_doubling_next(faro_doubling *doubling, faro_error *error) {
  faro_doubling *d = doubling;
  const uint64_t horizon = 2 * d->params.horizon;
  if (!d->params.anytime)
    return faro_fail(error, FARO_INVALID, "anytime must be set for a release that is to double its horizon");
  if (!faro_doubling_spent(d))
    return faro_fail(error, FARO_INVALID,
                     "a release doubles its horizon when it is spent: it has published %llu users of %llu",
                     (unsigned long long)faro_release_statistics(d->now).users,
                     (unsigned long long)d->params.horizon);
  faro_release *next = NULL;
  faro_status status = create_release(d, horizon, &next, error);
  if (status != FARO_OK) return status;
  const faro_claim *claim = faro_release_claim(next);
  if (faro_release_claim(d->now)->proven && !claim->proven) {
    status = faro_fail(error, FARO_INVALID, "horizon %llu: the claim would no longer be proven: %s",
                       (unsigned long long)horizon, claim->by);
    faro_release_destroy(next);
    return status;
  }
  replace(d, next);
  return FARO_OK;
}

faro_statistics faro_doubling_statistics(const faro_doubling *doubling) {
  faro_statistics statistics = faro_release_statistics(doubling->now);
  statistics.users += doubling->past.users;
  if (doubling->doubled) statistics.sum = doubling->sum;
  return statistics;
}

faro_noise faro_doubling_noise(const faro_doubling *doubling) {
  faro_noise noise = faro_release_noise(doubling->now);
  noise.laplace = fmax(doubling->past.laplace, noise.laplace);
  noise.summands += doubling->past.summands;
  if (doubling->doubled) noise.scale = doubling->scale;
  return noise;
}

double faro_doubling_scale(const faro_doubling *doubling, size_t entry) {
  const double own = faro_release_scale(doubling->now, entry);
  return doubling->doubled ? hypot(doubling->past.scale[entry], own) : own;
}

size_t faro_doubling_state_size(const faro_doubling *doubling) {
  return doubling->doubled ? 0 : faro_release_state_size(doubling->now);
}

faro_status faro_doubling_save(const faro_doubling *doubling, void *state, faro_error *error) {
  if (!doubling->doubled) return faro_release_save(doubling->now, state, error);
  return faro_fail(error, FARO_INVALID, "a release whose horizon was doubled cannot be saved");
}

faro_status faro_doubling_load(faro_doubling *doubling, const void *state, size_t size, faro_error *error) {
  return faro_release_load(doubling->now, state, size, error);
}
