/* state: what a release must remember to continue after a restart, between two batches.
 *
 *   head     what the release was made from; must be the same in the release that loads
 *   charged  batches published
 *   sum      as published
 *   vectors  the mechanism's own: reals, counts or whole numbers (mechanism.h)
 *
 * All of it is 8-byte numbers in the byte order of the machine; a machine of another order does not
 * find the magic number. What follows from these (users, complete nodes) is computed again, so that
 * a state cannot contradict itself. A state is private if the trust is joint, because it has raw
 * sums. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "release/release.h"

static const char MAGIC[8] = {'f', 'a', 'r', 'o', 's', 't', 'a', 't'};

enum { VERSION = 3, WORD = 8 };

typedef struct head {
  char magic[8];
  uint64_t version, size;
  char kind[24];
  double epsilon, delta;
  uint64_t horizon, batch, shufflers, level, contributions, crowd, anytime, calibration;
  uint64_t form, binary, dimension;
  double norm, low, high, honest, growth;
  uint64_t largest;
  uint64_t grid, link, blocks, secret; /* since version 3 */
  double bound, local_epsilon;
} head;

_Static_assert(sizeof(head) % WORD == 0, "the head has no padding");

/* Servers that were begun with version 2 go on: its head ended earlier. */
static size_t head_size(uint64_t version) { return version == 2 ? offsetof(head, grid) : sizeof(head); }

static bool vector_at(const faro_release *r, size_t index, faro_state_vector *vector) {
  const faro_mechanism *mechanism = r->kind->mechanism;
  if (index == 0) *vector = (faro_state_vector){.real = r->sum, .count = r->contribution.length};
  return index == 0 || (mechanism->state && mechanism->state(r, index - 1, vector));
}

size_t faro_release_state_size(const faro_release *release) {
  if (!release->kind->mechanism->exact || release->params.adaptive) return 0;
  size_t words = sizeof(head) / WORD + 1;
  faro_state_vector vector;
  for (size_t i = 0; vector_at(release, i, &vector); i++) words += vector.count;
  return words * WORD;
}

static head head_of(const faro_release *r) {
  const faro_release_params *p = &r->params;
  const faro_contribution *c = &r->contribution;
  head h = {.version = VERSION,
            .size = faro_release_state_size(r),
            .epsilon = p->epsilon,
            .delta = p->delta,
            .horizon = p->horizon,
            .batch = p->batch,
            .shufflers = r->shufflers,
            .level = p->level,
            .contributions = r->repeats,
            .crowd = p->crowd,
            .anytime = p->anytime,
            .calibration = p->calibration,
            .form = c->form,
            .binary = c->binary,
            .dimension = c->dimension,
            .norm = c->norm,
            .low = c->low,
            .high = c->high,
            .honest = p->honest,
            .growth = p->growth,
            .largest = p->largest,
            .grid = p->grid,
            .link = c->link,
            .blocks = c->blocks,
            .secret = p->secret,
            .bound = c->bound,
            .local_epsilon = p->local_epsilon};
  memcpy(h.magic, MAGIC, sizeof h.magic);
  for (size_t i = 0; i + 1 < sizeof h.kind && r->kind->name[i]; i++) h.kind[i] = r->kind->name[i];
  return h;
}

static faro_status refuse_kind(const faro_release *r, faro_error *error) {
  faro_text names = FARO_TEXT_INIT;
  for (size_t i = 0; i < faro_release_kinds(); i++)
    if (faro_release_kind_at(i)->mechanism->exact)
      faro_text_add(&names, "%s%s", names.data ? ", " : "", faro_release_kind_at(i)->name);
  const faro_status status = faro_fail(error, FARO_INVALID, "%s cannot be saved; these can: %s",
                                       r->kind->name, names.data ? names.data : "none");
  faro_text_clear(&names);
  return status;
}

/* Whether a release can be saved or loaded now. */
static faro_status ready(const faro_release *r, faro_error *error) {
  if (!r->kind->mechanism->exact) return refuse_kind(r, error);
  if (r->params.adaptive)
    return faro_fail(error, FARO_INVALID, "%s cannot be saved if it is adaptive", r->kind->name);
  if (r->waiting > 0)
    return faro_fail(error, FARO_INVALID, "a batch is open, with %llu users absorbed",
                     (unsigned long long)r->waiting);
  return FARO_OK;
}

static void *data_of(const faro_state_vector *vector) {
  if (vector->real) return vector->real;
  return vector->ones ? (void *)vector->ones : (void *)vector->whole;
}

faro_status faro_release_save(const faro_release *release, void *state, faro_error *error) {
  const faro_status status = ready(release, error);
  if (status != FARO_OK) return status;
  const head h = head_of(release);
  unsigned char *at = state;
  memcpy(at, &h, sizeof h);
  at += sizeof h;
  memcpy(at, &release->ledger.charged, WORD);
  at += WORD;
  faro_state_vector vector;
  for (size_t i = 0; vector_at(release, i, &vector); i++, at += vector.count * WORD)
    memcpy(at, data_of(&vector), vector.count * WORD);
  return FARO_OK;
}

/* Compares the heads. The message names the first part that differs. */
static faro_status compare(head *own, const head *got, size_t size, faro_error *error) {
  if (memcmp(own->magic, got->magic, sizeof own->magic) != 0)
    return faro_fail(error, FARO_INVALID, "this is not the state of a release");
  if (got->version == 2) {
    own->version = 2;
    own->size -= sizeof *own - head_size(2);
  }
  if (own->version != got->version)
    return faro_fail(error, FARO_INVALID, "the state's version must be %llu (got %llu)",
                     (unsigned long long)own->version, (unsigned long long)got->version);
  if (memcmp(own->kind, got->kind, sizeof own->kind) != 0)
    return faro_fail(error, FARO_INVALID, "this is the state of another release, not of %s", own->kind);
  if (own->size != size || got->size != size)
    return faro_fail(error, FARO_INVALID, "the state of this release has %llu bytes (got %zu)",
                     (unsigned long long)own->size, size);
  const unsigned char *const bytes = (const unsigned char *)own; /* it has no padding */
  const unsigned char *const others = (const unsigned char *)got;
  if (memcmp(bytes, others, head_size(own->version)) != 0)
    return faro_fail(error, FARO_INVALID, "this is the state of %s with other parameters", own->kind);
  return FARO_OK;
}

static bool is_valid(const faro_state_vector *vector, const unsigned char *at) {
  for (size_t i = 0; i < vector->count; i++) {
    double real = 0;
    uint64_t ones = 0;
    int64_t whole = 0;
    memcpy(&real, at + i * WORD, WORD);
    memcpy(&ones, at + i * WORD, WORD);
    memcpy(&whole, at + i * WORD, WORD);
    if (vector->real && !isfinite(real)) return false;
    if (vector->ones && ones > vector->most) return false;
    if (vector->whole && (whole < -(int64_t)vector->most || whole > (int64_t)vector->most)) return false;
  }
  return true;
}

/* Checks the whole state before anything is changed, and writes where its head ends. */
static faro_status check(const faro_release *r, const unsigned char *state, size_t size, size_t *end,
                         faro_error *error) {
  head own = head_of(r);
  head got = {0};
  if (size > 0) memcpy(&got, state, size < sizeof got ? size : sizeof got);
  const faro_status status = compare(&own, &got, size, error);
  if (status != FARO_OK) return status;
  uint64_t charged = 0;
  *end = head_size(got.version);
  memcpy(&charged, state + *end, WORD);
  if (charged > r->ledger.allowed)
    return faro_fail(error, FARO_INVALID, "the state has %llu releases; at most %llu are allowed",
                     (unsigned long long)charged, (unsigned long long)r->ledger.allowed);
  const unsigned char *at = state + *end + WORD;
  faro_state_vector vector;
  for (size_t i = 0; vector_at(r, i, &vector); i++, at += vector.count * WORD)
    if (!is_valid(&vector, at))
      return faro_fail(error, FARO_INVALID, "the state has a number that no release of this kind can have");
  return FARO_OK;
}

static void measure_again(faro_release *r) {
  const uint64_t charged = r->ledger.charged;
  for (uint64_t k = 1; k <= charged; k++) {
    r->ledger.charged = k;
    r->kind->mechanism->measure(r);
  }
}

faro_status faro_release_load(faro_release *release, const void *state, size_t size, faro_error *error) {
  faro_status status = ready(release, error);
  if (status == FARO_OK && release->ledger.charged > 0)
    status = faro_fail(error, FARO_INVALID,
                       "a state can be loaded only into a release that has published nothing");
  size_t end = 0;
  if (status == FARO_OK) status = check(release, state, size, &end, error);
  if (status != FARO_OK) return status;
  const unsigned char *at = (const unsigned char *)state + end;
  memcpy(&release->ledger.charged, at, WORD);
  release->users = faro_schedule_users(&release->schedule, release->ledger.charged);
  faro_release_open(release, release->ledger.charged);
  at += WORD;
  faro_state_vector vector;
  for (size_t i = 0; vector_at(release, i, &vector); i++, at += vector.count * WORD)
    memcpy(data_of(&vector), at, vector.count * WORD);
  if (release->kind->mechanism->resume) release->kind->mechanism->resume(release);
  measure_again(release);
  faro_release_show(release);
  return FARO_OK;
}
