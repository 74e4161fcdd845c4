/* release: the registry of releases, creation, and whole batches. message.c has the steps by
 * messages. */
#include "release/release.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "release/plant.h"
#include "base/abort.h"
#include "release/adapt.h"
#include "release/columns.h"

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
  const bool alone = r->kind->mechanism->alone;
  if (r->deployed && alone && source.use != FARO_USE_ALL_PARTIES)
    return faro_fail(
        error, FARO_INVALID,
        "%s can be deployed only where one process plays all parties: only there is its noise exact",
        r->kind->name);
  if (r->deployed && !r->kind->mechanism->exact && !alone)
    return faro_fail(error, FARO_INVALID, "%s adds %s, so it is for simulation only", r->kind->name,
                     r->kind->trust == FARO_TRUST_NONE ? "no noise" : "floating-point noise");
  if (r->deployed && r->params.adaptive)
    return faro_fail(
        error, FARO_INVALID,
        "adaptive must be false in a deployment: clients know the sizes of all batches in advance");
  if (r->deployed) r->rng = faro_secure_face(source.secure);
  else if (source.sim) r->rng = &source.sim->rng;
  return FARO_OK;
}

static faro_schedule_rule rule_of(const faro_release *r) {
  const faro_release_params *p = &r->params;
  return (faro_schedule_rule){.horizon = p->horizon,
                              .batch = p->batch,
                              .largest = p->largest,
                              .least = r->kind->least_batch,
                              .growth = p->growth,
                              .adaptive = p->adaptive};
}

/* The schedule of the kind, except for what was given. */
static void choose_once(faro_release *r, const faro_release_params *given) {
  faro_release_params *p = &r->params;
  *p = *given;
  p->batch = 1;
  if (r->kind->choose_schedule) r->kind->choose_schedule(r, p);
  if (p->batch < r->kind->least_batch) p->batch = r->kind->least_batch;
  if (p->batch > p->horizon) p->batch = p->horizon;
  if (given->growth > 0) p->growth = given->growth;
  if (given->largest > 0) p->largest = given->largest;
}

/* A user cannot be in more batches than there are, and how many there are depends on the choice. So
 * it is made again until M0 counts no more batches than it gives. M0 enters as a small power, and a
 * few steps suffice. */
static void choose_schedule(faro_release *r) {
  enum { STEPS = 20 };
  const faro_release_params given = r->params;
  const uint64_t most = r->repeats;
  for (int step = 0; step < STEPS; step++) {
    choose_once(r, &given);
    const faro_schedule_rule rule = rule_of(r);
    const uint64_t batches = faro_schedule_count(&rule);
    const uint64_t repeats = batches < most ? batches : most;
    if (given.anytime || repeats == r->repeats) break;
    r->repeats = repeats;
  }
  r->repeats = most;
}

/* Replaces zeros in the parameters by what they stand for. */
static faro_status resolve(faro_release *r, faro_error *error) {
  faro_release_params *p = &r->params;
  if (p->honest == 0) p->honest = 1;
  r->repeats = FARO_PLANT_VISITS(p->contributions > 0 ? p->contributions : 1);
  if (p->batch == 0) choose_schedule(r);
  if (p->growth == 0) p->growth = 1;
  if (p->adaptive && p->largest == 0) p->largest = p->horizon;
  const faro_schedule_rule rule = rule_of(r);
  const faro_status status = faro_schedule_init(&r->schedule, &rule, &r->arena, error);
  if (status != FARO_OK) return status;
  r->batches = r->schedule.count;
  r->size = p->batch;
  r->ledger = (faro_ledger){.allowed = r->batches};
  if (!p->anytime && r->repeats > r->batches) r->repeats = r->batches;
  r->shufflers = r->kind->trust == FARO_TRUST_SHUFFLE ? 1 : 0;
  r->influence = INFINITY;
  return FARO_OK;
}

/* x x' and x y, of features that are not in blocks and rewards that are linear. */
static bool has_plain_moments(const faro_release *r) {
  const faro_contribution *c = &r->contribution;
  return c->form == FARO_FORM_MOMENTS && c->blocks == 1 && c->link == FARO_LINK_LINEAR;
}

/* Whether what a batch added can be seen in the difference of two sums, and be one direction. */
static bool adds_directions(const faro_release *r) {
  return r->kind->trust == FARO_TRUST_NONE && has_plain_moments(r);
}

/* Nothing more is kept of a real person than the last contribution, in z. */
static bool keeps_last(const faro_release *r) {
  return r->source.use == FARO_USE_SIMULATED && has_plain_moments(r);
}

static faro_status make_room(faro_release *r, faro_error *error) {
  double **const vector[] = {&r->z,     &r->sum,       &r->scale, &r->unit, &r->unweight,
                             &r->block, &r->published, &r->now,   &r->alone};
  for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
    if (!(*vector[i] = faro_arena_alloc(&r->arena, r->contribution.length, sizeof **vector[i], error)))
      return FARO_MEMORY;
  if (r->params.adaptive &&
      !(r->before = faro_arena_alloc(&r->arena, r->contribution.length, sizeof *r->before, error)))
    return FARO_MEMORY;
  if (adds_directions(r)) {
    r->same = faro_arena_alloc(&r->arena, 3 * r->contribution.dimension, sizeof *r->same, error);
    if (!r->same) return FARO_MEMORY;
    r->more = r->same + r->contribution.dimension;
  }
  if (keeps_last(r)) {
    r->last = faro_arena_alloc(&r->arena, r->contribution.length, sizeof *r->last, error);
    r->last_x = faro_arena_alloc(&r->arena, r->contribution.dimension, sizeof *r->last_x, error);
    r->clipped = faro_arena_alloc(&r->arena, r->contribution.dimension, sizeof *r->clipped, error);
    if (!r->last || !r->last_x || !r->clipped) return FARO_MEMORY;
    r->last_x[0] = NAN; /* features that give zeros, as `last` has */
  }
  if (r->contribution.link == FARO_LINK_LINEAR) return FARO_OK;
  r->at = faro_arena_alloc(&r->arena, r->contribution.dimension, sizeof *r->at, error);
  r->contribution.at = r->at;
  return r->at ? FARO_OK : FARO_MEMORY;
}

void faro_release_linearise(faro_release *release, const double *point) {
  double square = 0;
  if (!release->at || release->waiting > 0) return;
  for (size_t i = 0; i < release->contribution.dimension; i++) square += point[i] * point[i];
  const double bound = release->contribution.bound;
  const double factor = square > bound * bound ? bound / sqrt(square) : 1;
  for (size_t i = 0; i < release->contribution.dimension; i++) release->at[i] = factor * point[i];
}

/* Brings scale and influence back to original units. */
static void unweigh(faro_release *r) {
  bool weighed = false;
  double most = 0;
  faro_contribution_weights(&r->contribution, r->unweight);
  for (size_t i = 0; i < r->contribution.length; i++) {
    r->unweight[i] = 1 / r->unweight[i];
    r->scale[i] *= r->unweight[i];
    weighed |= r->unweight[i] != 1;
    most = fmax(most, r->unweight[i]);
  }
  r->influence *= most;
  r->widest = most;
  if (!weighed) r->published = r->sum;
}

static bool has_noise(const faro_release *r) { return r->kind->trust != FARO_TRUST_NONE; }

static faro_status build(faro_release *r, faro_error *error) {
  const faro_mechanism *mechanism = r->kind->mechanism;
  /* The interval of values is what noise needs. That of features and rewards is a learner's, too,
   * and that of real users is one that a campaign has declared. */
  r->contribution.unclipped = !has_noise(r) && r->source.use == FARO_USE_SIMULATED;
  if (r->kind->weighs && r->params.calibration == FARO_CALIBRATION_TIGHT)
    r->contribution = faro_contribution_weigh(&r->contribution);
  faro_status status = make_room(r, error);
  if (status == FARO_OK) status = resolve(r, error);
  if (status == FARO_OK) status = mechanism->init(r, error);
  if (r->report_size == 0) r->report_size = r->message_size;
  if (status == FARO_OK) status = r->kind->calibrate[r->params.calibration](r, error);
  if (status == FARO_OK && mechanism->settle) status = mechanism->settle(r, error);
  if (status != FARO_OK) return status;
  unweigh(r);
  if (r->contribution.form == FARO_FORM_REWARDS && has_noise(r)) r->claim.protects = FARO_PROTECTS_REWARDS;
  /* A later release of the same users may have larger batches, and messages with less noise. */
  if (r->params.anytime) r->claim.local_epsilon = r->claim.local_delta = 0;
  if (faro_actions_are_secret(r)) r->claim.actions = FARO_ACTIONS_HIDDEN;
  r->claim.level = r->params.level;
  r->claim.contributions = r->params.contributions > 0 ? r->params.contributions : 1;
  return FARO_OK;
}

/* The published calibrations have no constants for these. */
static bool must_be_tight(const faro_contribution *c) {
  return c->form == FARO_FORM_REWARDS || c->link != FARO_LINK_LINEAR;
}

static faro_status create(faro_release **release, const faro_release_kind *kind,
                          const faro_contribution *contribution, const faro_release_params *params,
                          faro_source source, faro_error *error) {
  faro_status status = faro_release_validate(kind, params, error);
  if (status != FARO_OK) return status;
  if (contribution->length == 0)
    return faro_fail(error, FARO_INVALID, "contribution must have one entry or more (got none)");
  if (params->calibration != FARO_CALIBRATION_TIGHT && must_be_tight(contribution))
    return faro_fail(
        error, FARO_INVALID,
        "calibration must be tight for generalised linear rewards and for rewards alone (got %s)",
        faro_calibration_name(params->calibration));
  if (params->local_epsilon > 0 && contribution->gram == 0)
    return faro_fail(error, FARO_INVALID,
                     "local_epsilon must be 0 on plain vectors (got %g): its theorems are for moments",
                     params->local_epsilon);
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

/* The standard deviation of the last sum, over all entries. */
static double last_deviation(const faro_release *r) {
  double square = 0;
  for (size_t i = 0; i < r->contribution.length; i++) square += r->scale[i] * r->scale[i];
  return sqrt(square) * (r->ratio > 0 ? r->ratio : 1);
}

/* Replaces a kind by its alternative if that has less noise under these parameters. If only one of
 * them is possible, the kind stays. */
static faro_status choose_kind(const faro_release_kind **kind, const faro_contribution *contribution,
                               const faro_release_params *params, faro_error *error) {
  if (!*kind || !(*kind)->alternative || params->calibration != FARO_CALIBRATION_TIGHT) return FARO_OK;
  faro_release *one = NULL;
  faro_release *two = NULL;
  faro_error refusal = {0}; /* if one of them is refused, the other is used: no error */
  faro_status status = create(&one, *kind, contribution, params, faro_source_none(), &refusal);
  if (status == FARO_OK)
    status = create(&two, (*kind)->alternative, contribution, params, faro_source_none(), &refusal);
  if (one && two && last_deviation(two) < last_deviation(one)) *kind = (*kind)->alternative;
  faro_release_destroy(one);
  faro_release_destroy(two);
  return status == FARO_MEMORY ? faro_fail(error, FARO_MEMORY, "%s", refusal.message) : FARO_OK;
}

faro_status faro_release_create(faro_release **release, const faro_release_kind *kind,
                                const faro_contribution *contribution, const faro_release_params *params,
                                faro_source source, faro_error *error) {
  const faro_status status = choose_kind(&kind, contribution, params, error);
  return status == FARO_OK ? create(release, kind, contribution, params, source, error) : status;
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

uint64_t faro_release_missing(const faro_release *release) {
  return faro_release_spent(release) ? 0 : release->size - release->waiting;
}

bool faro_release_absorb(faro_release *release, const double *x, double y) {
  return faro_release_absorb_alike(release, x, y, 1);
}

/* Follows whether all users of the open batch have the same features. */
static void note(faro_release *r, const double *x, double y, uint64_t users) {
  const size_t d = r->contribution.dimension;
  const bool first = r->waiting == 0;
  double *to = first ? r->same : r->more + d;
  const double reward = faro_contribution_clip(&r->contribution, x, y, to);
  r->alike = first || (r->alike && memcmp(r->same, to, d * sizeof *to) == 0);
  r->same_y = (first ? 0 : r->same_y) + (double)users * reward;
}

static void show_more(faro_release *r) {
  const double root = sqrt((double)r->size);
  r->more_users = r->alike ? r->size : 0;
  r->more_y = r->same_y / root;
  for (size_t i = 0; i < r->contribution.dimension; i++) r->more[i] = root * r->same[i];
  r->alike = false;
}

/* What a person adds. People who follow one another often have the same features, because all of a
 * batch play one arm; then only the reward is new. */
static const double *contribute(faro_release *r, const double *x, double y) {
  double *z = r->last ? r->last : r->z;
  const size_t bytes = r->contribution.dimension * sizeof *x;
  if (r->last && memcmp(r->last_x, x, bytes) == 0) {
    if (!r->again) (void)faro_contribution_clip(&r->contribution, x, y, r->clipped);
    r->again = true;
    faro_contribution_reward(&r->contribution, r->clipped, y, z);
    return z;
  }
  faro_contribution_make(&r->contribution, x, y, z);
  if (r->last) memcpy(r->last_x, x, bytes);
  r->again = false;
  return z;
}

bool faro_release_absorb_alike(faro_release *release, const double *x, double y, uint64_t users) {
  const faro_mechanism *mechanism = release->kind->mechanism;
  if (!plays_all_parties(release) || faro_release_spent(release)) return false;
  if (users == 0 || (users > 1 && release->deployed)) return false;
  if (users > faro_release_missing(release)) users = faro_release_missing(release);
  const double *z = contribute(release, x, y);
  release->x = x;
  if (release->same) note(release, x, y, users);
  mechanism->absorb(release, z, users);
  release->waiting += users;
  if (release->waiting < release->size) return false;
  FARO_MUST(faro_ledger_charge(&release->ledger, NULL));
  mechanism->add_noise(release);
  faro_release_publish(release);
  return true;
}

bool faro_release_alike_exactly(const faro_release *release) { return !release->kind->mechanism->draws; }

void faro_release_open(faro_release *r, uint64_t k) {
  if (k >= r->batches) return;
  r->open = k;
  r->size = faro_schedule_size(&r->schedule, k);
}

void faro_release_show(faro_release *r) {
  const size_t length = r->contribution.length;
  const double sum = sqrt(r->variance);
  for (size_t i = 0; r->published != r->sum && i < length; i++) r->published[i] = r->unweight[i] * r->sum[i];
  for (size_t i = 0; has_noise(r) && i < length; i++) r->now[i] = sum * r->unweight[i] * r->unit[i];
}

/* The newest batch by itself. `block` holds the sum before. */
static void show_block(faro_release *r) {
  const double batch = sqrt(r->fresh);
  r->has_block = r->kind->blocks;
  for (size_t i = 0; r->has_block && i < r->contribution.length; i++) {
    r->block[i] = r->unweight[i] * (r->sum[i] - r->block[i]);
    r->alone[i] = batch * r->unweight[i] * r->unit[i];
  }
}

static void choose_next(faro_release *r) {
  if (!r->params.adaptive) return;
  faro_schedule_turn(&r->schedule, r->ledger.charged, faro_adapt_class(r), r->params.horizon);
  r->batches = r->schedule.count;
}

/* Never called for fewer users than the batch has. */
void faro_release_publish(faro_release *r) {
  FARO_INVARIANT(r->waiting == r->size);
  if (r->before) memcpy(r->before, r->block, r->contribution.length * sizeof *r->before);
  if (r->kind->blocks) memcpy(r->block, r->sum, r->contribution.length * sizeof *r->block);
  r->kind->mechanism->publish(r);
  r->kind->mechanism->measure(r);
  r->users += r->waiting;
  r->waiting = 0;
  if (r->same) show_more(r);
  faro_release_show(r);
  show_block(r);
  choose_next(r);
  faro_release_open(r, r->ledger.charged);
}

/* The noise of a sum with these scales. */
static faro_noise noise_of(const faro_release *r, const double *scale, double ratio, double summands) {
  return (faro_noise){.scale = has_noise(r) && r->answer == 0 ? scale : NULL,
                      .answer = r->answer * (r->contribution.high - r->contribution.low) / 2,
                      .ratio = ratio,
                      .dependent = r->dependent,
                      .gaussian = r->gaussian,
                      .laplace = r->laplace * r->widest,
                      .summands = summands,
                      .gamma = r->gamma};
}

faro_statistics faro_release_statistics(const faro_release *release) {
  const faro_release *r = release;
  const bool block = r->has_block;
  const uint64_t last = block ? faro_schedule_size(&r->schedule, r->ledger.charged - 1) : 0;
  return (faro_statistics){.sum = r->published,
                           .users = r->users,
                           .releases = r->ledger.charged,
                           .noise = noise_of(r, r->now, r->ratio, r->variance),
                           .block = block ? r->block : NULL,
                           .block_users = last,
                           .at = r->at,
                           .block_noise = noise_of(r, r->alone, r->fresh_ratio, r->fresh),
                           .more = r->more_users > 0 ? r->more : NULL,
                           .more_y = r->more_y,
                           .more_users = r->more_users};
}

bool faro_release_spent(const faro_release *release) { return release->ledger.charged == release->batches; }

/* Questions. */

const faro_claim *faro_release_claim(const faro_release *release) { return &release->claim; }
faro_cost faro_release_cost(const faro_release *release) { return release->cost; }
uint64_t faro_release_batch(const faro_release *release) { return release->params.batch; }
uint64_t faro_release_batches(const faro_release *release) { return release->batches; }
const faro_release_kind *faro_release_kind_of(const faro_release *release) { return release->kind; }
const faro_release_params *faro_release_params_of(const faro_release *release) { return &release->params; }

uint64_t faro_release_batch_size(const faro_release *release, uint64_t k) {
  return k < release->batches ? faro_schedule_size(&release->schedule, k) : 0;
}

faro_noise faro_release_noise(const faro_release *release) {
  return noise_of(release, release->scale, release->ratio, release->summands);
}

double faro_release_scale(const faro_release *release, size_t entry) {
  return has_noise(release) ? release->now[entry] : 0;
}

bool faro_release_gaussian(const faro_release *release, double share, double *mu, double *slack) {
  const faro_counting *counting = release->kind->mechanism->counting;
  if (counting) return counting->gaussian(release, share, mu, slack);
  if (!(release->mu > 0)) return false;
  *mu = release->mu * share;
  *slack = 0;
  return true;
}
