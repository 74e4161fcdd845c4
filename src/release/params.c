/* params: checks the parameters of a release. Messages name the parameter, its value and what is
 * allowed. */
#include <stdio.h>

#include "release/release.h"

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
  if (faro_users_hide(kind) && params->honest > 0 && params->honest < 1 &&
      params->calibration != FARO_CALIBRATION_TIGHT)
    return faro_fail(error, FARO_INVALID,
                     "honest must be 1 under calibration %s (got %g): its theorems count on every user",
                     faro_calibration_name(params->calibration), params->honest);
  return FARO_OK;
}

static faro_status validate_batch(const faro_release_kind *kind, const faro_release_params *params,
                                  faro_error *error) {
  if (params->crowd > 0 && params->crowd < params->batch)
    return faro_fail(error, FARO_INVALID, "crowd must be at least the batch, %llu (got %llu)",
                     (unsigned long long)params->batch, (unsigned long long)params->crowd);
  const bool company = params->crowd >= kind->least_batch; /* other users of the phase */
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
  return FARO_OK;
}

/* Trees over batches need all of them alike where users add the noise, because it is that of a
 * node. */
static faro_status validate_growth(const faro_release_kind *kind, const faro_release_params *params,
                                   faro_error *error) {
  if (!(params->growth == 0 || (params->growth >= 1 && params->growth <= 1000)))
    return faro_fail(error, FARO_INVALID, "growth must be 1 .. 1000 (got %g)", params->growth);
  if (params->growth <= 1) return FARO_OK;
  if (params->calibration != FARO_CALIBRATION_TIGHT)
    return faro_fail(
        error, FARO_INVALID,
        "growth must be 1 under calibration %s (got %g): its theorems are for batches of one size",
        faro_calibration_name(params->calibration), params->growth);
  if (kind->trust == FARO_TRUST_CONCURRENT)
    return faro_fail(error, FARO_INVALID, "growth must be 1 for %s (got %g): its nodes are of one size",
                     kind->name, params->growth);
  return FARO_OK;
}

static faro_status validate_adaptive(const faro_release_kind *kind, const faro_release_params *params,
                                     faro_error *error) {
  if (!params->adaptive) return FARO_OK;
  if (!kind->adapts)
    return faro_fail(error, FARO_INVALID, "adaptive must be false for %s: only shuffle-bits adapts",
                     kind->name);
  if (params->calibration != FARO_CALIBRATION_TIGHT)
    return faro_fail(error, FARO_INVALID,
                     "calibration must be tight if batches are adaptive (got %s): no theorem was published",
                     faro_calibration_name(params->calibration));
  if (params->growth > 1 || params->anytime)
    return faro_fail(error, FARO_INVALID, "adaptive needs growth 1 and a horizon that is known (got %g, %s)",
                     params->growth, params->anytime ? "anytime" : "known");
  return FARO_OK;
}

/* Users who return. */
static faro_status validate_level(const faro_release_kind *kind, const faro_release_params *params,
                                  faro_error *error) {
  if (params->level == FARO_LEVEL_EVENT && params->contributions > 1)
    return faro_fail(error, FARO_INVALID, "contributions must be 1 under level event (got %llu)",
                     (unsigned long long)params->contributions);
  if (params->anytime && params->contributions > 1 && !kind->splits)
    return faro_fail(
        error, FARO_INVALID,
        "contributions must be 1 for %s under anytime and in phases (got %llu): it is not shown that "
        "a user's rounds in several releases keep within the budget",
        kind->name, (unsigned long long)params->contributions);
  if (!kind->calibrate[params->calibration]) return no_calibration(kind, params->calibration, error);
  if (params->level == FARO_LEVEL_USER && params->calibration == FARO_CALIBRATION_FIGURE)
    return faro_fail(error, FARO_INVALID,
                     "level must be event under calibration figure (got user): nothing was published for it");
  return FARO_OK;
}

/* Chowdhury & Zhou 2022, Corollaries B.3 and C.3. */
static faro_status validate_local(const faro_release_kind *kind, const faro_release_params *params,
                                  faro_error *error) {
  const bool known = kind == &faro_release_shuffle_bits || kind == &faro_release_shuffle_gaussian ||
                     kind == &faro_release_shuffle_amplified;
  if (params->local_epsilon == 0) return FARO_OK;
  if (!known || params->calibration != FARO_CALIBRATION_PAPER || params->level != FARO_LEVEL_EVENT)
    return faro_fail(error, FARO_INVALID,
                     "local_epsilon must be 0 for %s: there is a theorem for shuffle-bits and "
                     "shuffle-gaussian, under calibration paper and level event",
                     kind->name);
  if (params->anytime)
    return faro_fail(error, FARO_INVALID,
                     "local_epsilon must be 0 under anytime (got %g): the epsilon of a release follows from "
                     "its batches, and each release has others",
                     params->local_epsilon);
  if (!(params->local_epsilon >= 1e-4 && params->local_epsilon <= 1000))
    return faro_fail(error, FARO_INVALID, "local_epsilon must be 0.0001 .. 1000 (got %g)",
                     params->local_epsilon);
  return FARO_OK;
}

static faro_status validate_budget(const faro_release_kind *kind, const faro_release_params *params,
                                   faro_error *error) {
  const bool follows = params->local_epsilon > 0; /* epsilon, which is not read */
  if (kind->trust == FARO_TRUST_NONE) return FARO_OK;
  if (!follows && !(params->epsilon >= 1e-4 && params->epsilon <= 1000))
    return faro_fail(error, FARO_INVALID, "epsilon must be 0.0001 .. 1000 (got %g)", params->epsilon);
  if (!(params->delta >= 1e-15 && params->delta < 1))
    return faro_fail(error, FARO_INVALID, "delta must be at least 1e-15 and below 1 (got %g)", params->delta);
  return FARO_OK;
}

faro_status faro_release_validate(const faro_release_kind *kind, const faro_release_params *params,
                                  faro_error *error) {
  if (!kind) return faro_fail(error, FARO_INVALID, "release is missing");
  if ((unsigned)params->calibration >= FARO_CALIBRATION_COUNT)
    return faro_fail(error, FARO_INVALID, "calibration must be paper, figure or tight (got number %d)",
                     (int)params->calibration);
  if (params->horizon < 1 || params->horizon > UINT64_C(1) << 40)
    return faro_fail(error, FARO_INVALID, "horizon must be 1 .. 2^40 (got %llu)",
                     (unsigned long long)params->horizon);
  faro_status status = validate_batch(kind, params, error);
  if (status == FARO_OK) status = validate_growth(kind, params, error);
  if (status == FARO_OK) status = validate_adaptive(kind, params, error);
  if (status == FARO_OK) status = validate_level(kind, params, error);
  if (status == FARO_OK) status = validate_honest(kind, params, error);
  if (status == FARO_OK) status = validate_local(kind, params, error);
  if (status == FARO_OK) status = validate_budget(kind, params, error);
  return status;
}

faro_release_params faro_release_alone(const faro_release_params *params, uint64_t users) {
  faro_release_params alone = *params;
  alone.horizon = alone.batch = users;
  alone.growth = 0;
  alone.largest = 0;
  alone.anytime = params->contributions > 1;
  return alone;
}
