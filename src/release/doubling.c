/* doubling: one release after another, each with twice the horizon. The final sums of earlier
 * releases are added to every sum. See docs/privacy.md, Doubling. */
#include <faro/doubling.h>
#include <faro/message.h>

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/text.h"
#include "release/many.h"
#include "release/release.h"

/* The final sums and noise of earlier releases. */
typedef struct past {
  double *sum, *scale;
  double laplace, summands, ratio;
  bool gaussian, dependent;
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
  double *sum, *scale, *now_scale; /* past and current together */
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
  double **const vector[] = {&d->past.sum, &d->past.scale, &d->sum, &d->scale, &d->now_scale};
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

void faro_doubling_linearise(faro_doubling *doubling, const double *point) {
  faro_release_linearise(doubling->now, point);
}

static void add_past(faro_doubling *d) {
  if (!d->doubled) return;
  const double *sum = faro_release_statistics(d->now).sum;
  for (size_t i = 0; i < d->contribution.length; i++) {
    d->sum[i] = d->past.sum[i] + sum[i];
    d->now_scale[i] = hypot(d->past.scale[i], faro_release_scale(d->now, i));
  }
}

bool faro_doubling_absorb(faro_doubling *doubling, const double *x, double y) {
  return faro_doubling_absorb_alike(doubling, x, y, 1);
}

bool faro_doubling_absorb_alike(faro_doubling *doubling, const double *x, double y, uint64_t users) {
  if (!faro_release_absorb_alike(doubling->now, x, y, users)) return false;
  add_past(doubling);
  return true;
}

void faro_doubling_absorb_bits(faro_doubling *doubling, const uint64_t *bits, uint64_t from, uint64_t users) {
  faro_release_absorb_bits(doubling->now, bits, from, users);
}

void faro_doubling_absorb_batches(faro_doubling *doubling, const uint64_t *bits, uint64_t from,
                                  uint64_t batches, double *sum) {
  faro_release_absorb_batches(doubling->now, bits, from, batches, sum);
  for (uint64_t k = 0; doubling->doubled && k < batches; k++) sum[k] += doubling->past.sum[0];
  add_past(doubling);
}

faro_status faro_doubling_analyze(faro_doubling *doubling, const void *batch, size_t count,
                                  faro_error *error) {
  const faro_status status = faro_release_analyze(doubling->now, batch, count, error);
  if (status == FARO_OK) add_past(doubling);
  return status;
}

/* Makes the current release part of the past. */
static void keep(faro_doubling *d) {
  const faro_statistics s = faro_doubling_statistics(d);
  for (size_t i = 0; i < d->contribution.length; i++) {
    d->past.sum[i] = s.sum[i];
    d->past.scale[i] = s.noise.scale ? s.noise.scale[i] : 0;
  }
  d->past.laplace = s.noise.laplace;
  d->past.summands = s.noise.summands;
  d->past.ratio = s.noise.ratio;
  d->past.gaussian = s.noise.gaussian;
  d->past.dependent = s.noise.dependent;
  d->past.users = s.users;
}

/* The larger scale of Laplace noise bounds the tails of all; see faro_doubling_noise. */
static void replace(faro_doubling *d, faro_release *next) {
  keep(d);
  faro_release_destroy(d->now);
  d->now = next;
  d->doubled = true;
  d->params.horizon *= 2;
  const double *scale = faro_release_noise(next).scale;
  for (size_t i = 0; i < d->contribution.length; i++)
    d->scale[i] = hypot(d->past.scale[i], scale ? scale[i] : 0);
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

/* The noise of a sum that includes the past, which may be another kind's (faro_release_kind_of).
 * The larger ratio of standard deviation and scale bounds both. */
static faro_noise add_noise(const faro_doubling *d, faro_noise noise, const double *scale) {
  const double before = d->past.ratio > 0 ? d->past.ratio : 1;
  const double now = noise.ratio > 0 ? noise.ratio : 1;
  noise.laplace = fmax(d->past.laplace, noise.laplace);
  noise.summands += d->past.summands;
  noise.ratio = fmax(before, now);
  noise.gaussian = noise.gaussian && d->past.gaussian;
  noise.dependent = noise.dependent || d->past.dependent;
  if (noise.scale) noise.scale = scale;
  return noise;
}

/* Each of them as it will be made, without a stream. */
char *faro_doubling_grounds(const faro_doubling *doubling, uint64_t users) {
  faro_doubling d = *doubling;
  faro_text out = FARO_TEXT_INIT;
  uint64_t covered = 0;
  char *now = faro_release_grounds(d.now);
  if (!d.params.anytime || !now) return now;
  free(now);
  d.source = faro_source_none();
  faro_text_add(&out, "{\"mechanism\":\"doubling\",\"parts\":[");
  for (uint64_t horizon = d.params.horizon; covered < users && !out.failed; horizon *= 2) {
    faro_release *release = NULL;
    if (create_release(&d, horizon, &release, NULL) != FARO_OK) break; /* nothing that could run this far */
    char *grounds = faro_release_grounds(release);
    faro_text_add(&out, "%s%s", covered > 0 ? "," : "", grounds ? grounds : "null");
    covered += faro_schedule_users(&release->schedule, release->batches);
    free(grounds);
    faro_release_destroy(release);
  }
  faro_text_add(&out, "]}");
  if (out.failed || covered < users) faro_text_clear(&out);
  return out.data;
}

faro_statistics faro_doubling_statistics(const faro_doubling *doubling) {
  faro_statistics statistics = faro_release_statistics(doubling->now);
  statistics.users += doubling->past.users;
  if (!doubling->doubled) return statistics;
  statistics.sum = doubling->sum;
  statistics.noise = add_noise(doubling, statistics.noise, doubling->now_scale);
  return statistics;
}

faro_noise faro_doubling_noise(const faro_doubling *doubling) {
  const faro_noise noise = faro_release_noise(doubling->now);
  return doubling->doubled ? add_noise(doubling, noise, doubling->scale) : noise;
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
