/* tally: see the header. */
#include "cli/sum/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* If the horizon is not known, it starts at FIRST_HORIZON and doubles. */
enum { FIRST_HORIZON = 1024 };
static const uint64_t HORIZON_MAX = UINT64_C(1) << 40;

/* ---- stages */

/* The releases for a trust model, the one with the least noise first. All draw in whole numbers. */
static const faro_release_kind *const kinds[][4] = {
    [SUM_TRUST_SHUFFLE] = {&faro_release_concurrent_bits},
    [SUM_TRUST_CENTRAL] = {&faro_release_central_factored, &faro_release_central_tree,
                           &faro_release_central_bits},
    [SUM_TRUST_LOCAL] = {&faro_release_local_bits},
};

/* The smallest horizon for k shufflers: the largest node of their tree must fit into it. */
static uint64_t least_horizon(const faro_release_params *p) {
  uint64_t least = p->batch > 2 ? p->batch : 2;
  for (uint64_t k = 1; k < p->shufflers && least < HORIZON_MAX; k++) least *= 2;
  return least;
}

/* The batch of every trust model is the one that suits shufflers: the trust models can be compared
 * line by line. */
static faro_status choose_batch(const sum_tally *t, faro_release_params *p, faro_error *error) {
  if (p->batch > 0 || t->plan.trust == SUM_TRUST_SHUFFLE) return FARO_OK;
  faro_release_params shuffled = *p;
  shuffled.calibration = FARO_CALIBRATION_TIGHT;
  faro_release *release = NULL;
  const faro_status status = faro_release_create(&release, &faro_release_concurrent_bits, &t->contribution,
                                                 &shuffled, faro_source_none(), error);
  if (status == FARO_OK) p->batch = faro_release_batch(release);
  faro_release_destroy(release);
  return status;
}

/* The first release of the list that is possible; the message is that of the last one. */
static faro_status make(const sum_tally *t, const faro_release_params *p, faro_release **release,
                        faro_error *error) {
  faro_status status = FARO_INVALID;
  for (const faro_release_kind *const *kind = kinds[t->plan.trust]; *kind && status == FARO_INVALID; kind++) {
    if (error) *error = (faro_error){0};
    status = faro_release_create(release, *kind, &t->contribution, p, t->source, error);
  }
  return status;
}

/* Every stage promises what the first one does, and to a user's own messages as well. */
static faro_status check_claim(const sum_tally *t, const faro_claim *claim, faro_error *error) {
  if (t->claim.proven && !claim->proven)
    return faro_fail(error, FARO_INVALID, "the claim would no longer be proven: %s", claim->by);
  const bool alone = t->claim.local_epsilon > 0;
  if (claim->epsilon <= t->claim.epsilon && claim->delta <= t->claim.delta &&
      claim->trust == t->claim.trust &&
      (!alone || (claim->local_epsilon > 0 && claim->local_epsilon <= t->claim.local_epsilon &&
                  claim->local_delta <= t->claim.local_delta)))
    return FARO_OK;
  return faro_fail(error, FARO_INVALID, "less would be claimed than before: %s", claim->by);
}

/* Replaces the stage by another one. On failure the old one stays. */
static faro_status begin(sum_tally *t, const faro_release_params *p, faro_error *error) {
  faro_release *next = NULL;
  faro_status status = make(t, p, &next, error);
  if (status == FARO_OK && t->begun) status = check_claim(t, faro_release_claim(next), error);
  if (status != FARO_OK) {
    faro_release_destroy(next);
    return status;
  }
  if (!t->begun) t->claim = *faro_release_claim(next);
  t->begun = true;
  const size_t bytes = t->contribution.length * sizeof *t->sum;
  memcpy(t->past_sum, t->sum, bytes);
  memcpy(t->past_scale, t->scale, bytes);
  t->past_users = t->users;
  faro_release_destroy(t->stage);
  t->stage = next;
  return FARO_OK;
}

/* A stage of many batches. */
static faro_status begin_running(sum_tally *t, uint64_t horizon, faro_error *error) {
  faro_release_params p = t->plan.params;
  p.anytime = p.horizon == 0;
  p.horizon = horizon;
  while (!t->plan.shufflers_given && p.shufflers > 1 && least_horizon(&p) > horizon) p.shufflers--;
  faro_status status = choose_batch(t, &p, error);
  if (status == FARO_OK) status = begin(t, &p, error);
  if (status == FARO_OK) t->horizon = horizon;
  return status;
}

/* A stage of one batch for `users` users. A user cannot hide alone: there are at least two places,
 * and the claim does not depend on what is in the other. */
static faro_status begin_last(sum_tally *t, uint64_t users, faro_error *error) {
  faro_release_params p = t->plan.params;
  const bool hides = t->plan.trust == SUM_TRUST_SHUFFLE;
  p.horizon = p.batch = hides && users < 2 ? 2 : users;
  p.shufflers = 1;
  return begin(t, &p, error);
}

static uint64_t first_horizon(const faro_release_params *p) {
  uint64_t horizon = FIRST_HORIZON;
  while (horizon < least_horizon(p) && horizon < HORIZON_MAX) horizon *= 2;
  return p->horizon > 0 ? p->horizon : horizon;
}

/* ---- the stream */

static faro_status make_room(sum_tally *t, faro_error *error) {
  double **const vector[] = {&t->past_sum, &t->past_scale, &t->sum, &t->scale};
  for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
    if (!(*vector[i] = calloc(t->contribution.length, sizeof **vector[i])))
      return faro_fail(error, FARO_MEMORY, "out of memory");
  return FARO_OK;
}

faro_status sum_tally_open(sum_tally *t, const sum_plan *plan, const faro_contribution *contribution,
                           faro_source source, faro_error *error) {
  *t = (sum_tally){.plan = *plan, .contribution = *contribution, .source = source};
  faro_status status = make_room(t, error);
  const uint64_t horizon = first_horizon(&plan->params);
  if (status == FARO_OK)
    status = plan->once ? begin_last(t, horizon, error) : begin_running(t, horizon, error);
  if (status != FARO_OK || !plan->once) return status;
  faro_release_destroy(t->stage); /* only a trial: its claim is for another number of users */
  t->stage = NULL;
  t->begun = false;
  return FARO_OK;
}

void sum_tally_close(sum_tally *t) {
  faro_release_destroy(t->stage);
  free(t->past_sum);
  free(t->past_scale);
  free(t->sum);
  free(t->scale);
  free(t->open);
  *t = (sum_tally){0};
}

/* Keeps a vector of the open batch. */
static faro_status keep(sum_tally *t, const double *vector, faro_error *error) {
  enum { FIRST_ROOM = 64 };
  const size_t length = t->contribution.length;
  if (t->waiting == t->room) {
    const uint64_t room = t->room > 0 ? 2 * t->room : FIRST_ROOM;
    double *open =
        room < SIZE_MAX / sizeof *open / length ? realloc(t->open, room * length * sizeof *open) : NULL;
    if (!open)
      return faro_fail(error, FARO_MEMORY, "out of memory: %llu values wait for a release",
                       (unsigned long long)t->waiting);
    t->open = open;
    t->room = room;
  }
  memcpy(t->open + t->waiting++ * length, vector, length * sizeof *vector);
  return FARO_OK;
}

/* The newest sums of the stage, added to those of the stages before it. */
static void add_up(sum_tally *t, uint64_t users) {
  const double *sum = faro_release_statistics(t->stage).sum;
  for (size_t i = 0; i < t->contribution.length; i++) {
    t->sum[i] = t->past_sum[i] + sum[i];
    t->scale[i] = hypot(t->past_scale[i], faro_release_scale(t->stage, i));
  }
  t->users = t->past_users + users;
}

faro_status sum_tally_add(sum_tally *t, const double *vector, bool *released, faro_error *error) {
  *released = false;
  faro_status status = FARO_OK;
  if (t->stage && faro_release_spent(t->stage) && t->plan.params.horizon == 0)
    status = begin_running(t, 2 * t->horizon, error);
  if (status == FARO_OK) status = keep(t, vector, error);
  if (status != FARO_OK || !t->stage || !faro_release_absorb(t->stage, vector, 0)) return status;
  add_up(t, faro_release_statistics(t->stage).users);
  t->waiting = 0;
  *released = true;
  return FARO_OK;
}

/* Fills the open batch with zeros. Returns how much that takes away from every sum: binary values
 * are -1/2 or 1/2, so a filler among them counts as -1/2. */
static double fill_batch(sum_tally *t) {
  const double fillers = (double)faro_release_missing(t->stage);
  memset(t->open, 0, t->contribution.length * sizeof *t->open);
  while (!faro_release_absorb(t->stage, t->open, 0)) continue;
  return t->contribution.binary ? fillers / 2 : 0;
}

/* Whether to fill the open batch of the stage: it takes a moment only, and it is not the first one,
 * for which a stage pays most. */
static bool can_fill(const sum_tally *t) {
  const uint64_t most = 100000000 / t->contribution.length;
  return t->plan.trust == SUM_TRUST_CENTRAL && t->stage && !faro_release_spent(t->stage) &&
         faro_release_statistics(t->stage).releases > 0 && faro_release_batch(t->stage) <= most;
}

faro_status sum_tally_end(sum_tally *t, bool *released, faro_error *error) {
  const size_t length = t->contribution.length;
  uint64_t users = t->waiting;
  double taken = 0;
  *released = false;
  if (users == 0) return FARO_OK;
  if (can_fill(t)) {
    users += faro_release_statistics(t->stage).users;
    taken = fill_batch(t);
  } else {
    const faro_status status = begin_last(t, users, error);
    if (status != FARO_OK) return status;
    bool full = false;
    for (uint64_t i = 0; i < users; i++) full = faro_release_absorb(t->stage, t->open + i * length, 0);
    if (!full) taken = fill_batch(t);
  }
  add_up(t, users);
  for (size_t i = 0; i < length; i++) t->sum[i] += taken;
  t->waiting = 0;
  *released = true;
  return FARO_OK;
}
