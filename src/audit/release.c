/* release: a release as a mechanism to attack. What is seen follows from the trust model (see
 * audit.h).
 *
 * Users of a local or shuffled release store nothing from one message to the next, so one object
 * serves all runs. A trusted server stores noise and sums, so there every run creates a release of
 * its own. */
#include <faro/audit.h>
#include <faro/message.h>

#include <string.h>

#include "base/arena.h"

/* Above this many bits a batch is summed as in simulations, with one draw for all users, and the
 * view is the published sum instead of the totals. Both have the same distribution (tested in
 * test_release_noise.c) and the same information. */
static const double MESSAGE_BITS_MAX = 0x1p20;

enum {
  EVERY = 16, /* the first releases are all seen; later ones at powers of two */
  LEVELS_MAX = 64
};

typedef struct target {
  const faro_release_kind *kind;
  const faro_contribution *contribution;
  faro_release_params params;
  faro_sim_rng stream;   /* random numbers of the current run */
  faro_release *release; /* makes messages, from `stream` */
  faro_arena arena;
  uint64_t batch, releases; /* `releases`: number of batches played */
  uint64_t visits, place;   /* the victim comes as user `place`, then a batch later each time */
  size_t size, numbers;     /* size of a message, and how many numbers are seen in it */
  unsigned char *messages;
  double *nobody; /* features of all users but the victim: zero */
} target;

static faro_status see_messages(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                                faro_error *error) {
  target *t = context;
  faro_status status = FARO_OK;
  t->stream = *sim;
  for (uint64_t visit = 0; status == FARO_OK && visit < t->visits; visit++) {
    status = faro_release_randomize(t->release, x, y, t->messages, error);
    view += faro_release_numbers(t->release, t->messages, view);
  }
  return status;
}

/* Plays one shuffled batch with the victim in it. `view` moves past the numbers that are seen. */
static faro_status see_batch(target *t, const double *x, double y, double **view, faro_error *error) {
  faro_status status = FARO_OK;
  for (uint64_t user = 0; status == FARO_OK && user < t->batch; user++) {
    const bool victim = user == 0;
    status = faro_release_randomize(t->release, victim ? x : t->nobody, victim ? y : t->contribution->low,
                                    t->messages + user * t->size, error);
  }
  if (status != FARO_OK) return status;
  const size_t count = faro_release_mix(t->release, t->messages);
  for (size_t i = 0; i < count; i++)
    *view += faro_release_numbers(t->release, t->messages + i * t->size, *view);
  return FARO_OK;
}

static faro_status see_batches(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                               faro_error *error) {
  target *t = context;
  faro_status status = FARO_OK;
  t->stream = *sim;
  for (uint64_t visit = 0; status == FARO_OK && visit < t->visits; visit++)
    status = see_batch(t, x, y, &view, error);
  return status;
}

static bool is_victim(const target *t, uint64_t user) {
  return user >= t->place && (user - t->place) % t->batch == 0 && (user - t->place) / t->batch < t->visits;
}

/* True if this user's data made the release publish. */
static bool play_user(const target *t, faro_release *release, uint64_t user, const double *x, double y) {
  const bool victim = is_victim(t, user);
  return faro_release_absorb(release, victim ? x : t->nobody, victim ? y : t->contribution->low);
}

/* Creates a release for one run. */
static faro_status create(const target *t, faro_sim_rng *sim, faro_release **release, faro_error *error) {
  return faro_release_create(release, t->kind, t->contribution, &t->params, faro_source_simulated(sim),
                             error);
}

static bool is_seen(const target *t, uint64_t release) {
  return release <= EVERY || (release & (release - 1)) == 0 || release == t->releases;
}

static faro_status see_sums(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                            faro_error *error) {
  const target *t = context;
  faro_release *release = NULL;
  const faro_status status = create(t, sim, &release, error);
  if (status != FARO_OK) return status;
  for (uint64_t user = 0; user < t->releases * t->batch; user++) {
    if (!play_user(t, release, user, x, y)) continue;
    const faro_statistics published = faro_release_statistics(release);
    if (!is_seen(t, published.releases)) continue;
    memcpy(view, published.sum, t->contribution->length * sizeof *view);
    view += t->contribution->length;
  }
  faro_release_destroy(release);
  return FARO_OK;
}

/* The view of a trusted server's sums, or of the totals of batches, over `releases`. */
static faro_audit_mechanism sums(target *t, uint64_t releases) {
  t->releases = releases;
  size_t seen = 0;
  for (uint64_t i = 1; i <= releases; i++) seen += is_seen(t, i);
  return (faro_audit_mechanism){
      .messages = 1, .width = seen * t->contribution->length, .context = t, .run = see_sums};
}

/* The reports of a shuffler that are seen: those that contain the victim, if nothing is wrong, and
 * one on either side. Other reports do not depend on the victim. The window is empty for a shuffler
 * that never starts. */
typedef struct window {
  uint64_t first, end;
} window;

static window window_of(const target *t, size_t level) {
  faro_shuffler_task task;
  if (!faro_release_task(t->release, level, &task)) return (window){0, 0};
  const uint64_t all = t->releases * t->batch / task.size;
  const uint64_t from = t->place / task.size;
  const uint64_t to = (t->place + (t->visits - 1) * t->batch) / task.size;
  return (window){.first = from > 0 ? from - 1 : 0, .end = to + 2 < all ? to + 2 : all};
}

static faro_status see_reports(void *context, const double *x, double y, faro_sim_rng *sim, double *view,
                               faro_error *error) {
  const target *t = context;
  faro_release *release = NULL;
  uint64_t count[LEVELS_MAX] = {0};
  const faro_status status = create(t, sim, &release, error);
  if (status != FARO_OK) return status;
  for (uint64_t user = 0; user < t->releases * t->batch; user++) {
    if (!play_user(t, release, user, x, y)) continue;
    const uint64_t *ones = NULL;
    for (size_t level = 0; (ones = faro_release_report(release, level)); level++) {
      const window seen = window_of(t, level);
      const uint64_t report = count[level]++;
      for (size_t i = 0; report >= seen.first && report < seen.end && i < t->contribution->length; i++)
        *view++ = (double)ones[i];
    }
  }
  faro_release_destroy(release);
  return FARO_OK;
}

static faro_status open_reports(target *t, uint64_t batches, faro_audit_mechanism *mechanism,
                                faro_error *error) {
  const size_t levels = faro_release_shufflers(t->release);
  t->releases = batches;
  if (levels > LEVELS_MAX)
    return faro_fail(error, FARO_INVALID, "shufflers must be at most %d for an audit (got %zu)", LEVELS_MAX,
                     levels);
  uint64_t reports = 0;
  for (size_t level = 0; level < levels; level++) {
    const window seen = window_of(t, level);
    reports += seen.end > seen.first ? seen.end - seen.first : 0;
  }
  *mechanism = (faro_audit_mechanism){
      .messages = 1, .width = reports * t->contribution->length, .context = t, .run = see_reports};
  return FARO_OK;
}

static faro_status open_messages(target *t, faro_audit_mechanism *mechanism, faro_error *error) {
  const bool shuffled = t->kind->trust == FARO_TRUST_SHUFFLE;
  t->size = faro_release_message_size(t->release);
  t->numbers = faro_release_numbers(t->release, NULL, NULL);
  t->messages = faro_arena_alloc(&t->arena, shuffled ? t->batch : 1, t->size, error);
  if (!t->messages) return FARO_MEMORY;
  *mechanism = (faro_audit_mechanism){
      .messages = 1, .width = t->numbers, .batches = t->visits, .context = t, .run = see_messages};
  const double users = shuffled ? (double)t->batch : 1;
  const bool by_bits = faro_release_kind_exact(t->kind) && !faro_release_noise(t->release).gaussian;
  const bool many = by_bits && users * faro_release_cost(t->release).bits > MESSAGE_BITS_MAX;
  if (!shuffled && many) t->batch = t->params.batch = 1; /* the sum of one user is the message */
  if (many) *mechanism = sums(t, t->visits);
  if (!shuffled || many) return FARO_OK;
  mechanism->messages = faro_release_kind_counts(t->kind) ? 1 : t->batch;
  mechanism->run = see_batches;
  return FARO_OK;
}

static faro_status open_target(target *t, faro_audit_mechanism *mechanism, faro_error *error) {
  if (t->params.growth > 1)
    return faro_fail(error, FARO_INVALID, "growth must be 1 for an audit (got %g)", t->params.growth);
  t->params.growth = 1;
  const faro_status status = create(t, &t->stream, &t->release, error);
  if (status != FARO_OK) return status;
  t->batch = faro_release_batch(t->release);
  const uint64_t batches = t->params.horizon / t->batch;
  const uint64_t users = batches * t->batch;
  if (t->place >= users)
    return faro_fail(error, FARO_INVALID, "place must be below %llu, the users of all batches (got %llu)",
                     (unsigned long long)users, (unsigned long long)t->place);
  if (t->visits == 0) t->visits = faro_release_claim(t->release)->contributions;
  if (t->visits > batches - t->place / t->batch) t->visits = batches - t->place / t->batch;
  t->nobody = faro_arena_alloc(&t->arena, t->contribution->dimension, sizeof *t->nobody, error);
  if (!t->nobody) return FARO_MEMORY;
  const faro_trust trust = t->kind->trust;
  if (trust == FARO_TRUST_CONCURRENT) return open_reports(t, batches, mechanism, error);
  if (trust != FARO_TRUST_JOINT) return open_messages(t, mechanism, error);
  *mechanism = sums(t, batches);
  return FARO_OK;
}

faro_status faro_audit_release(const faro_release_kind *kind, const faro_contribution *contribution,
                               const faro_release_params *params, const faro_audit_plan *plan,
                               faro_audit_result *result, faro_error *error) {
  target t = {.kind = kind,
              .contribution = contribution,
              .params = *params,
              .visits = plan->visits,
              .place = plan->place};
  faro_audit_mechanism mechanism = {0};
  faro_audit_plan claimed = *plan;
  faro_status status = open_target(&t, &mechanism, error);
  if (status == FARO_OK) {
    const faro_claim *claim = faro_release_claim(t.release);
    claimed.epsilon = claim->epsilon;
    claimed.delta = claim->delta;
    status = faro_audit(&mechanism, contribution, &claimed, result, error);
    if (status == FARO_OK) result->proven = claim->proven;
  }
  faro_release_destroy(t.release);
  faro_arena_free(&t.arena);
  return status;
}
