/* rehearse: tries what the runner will create for a cell, so that what cannot run is refused before
 * anything runs, and keeps what that tells: claim, cost, batch. */
#include <stdlib.h>

#include "privacy/bisect.h"
#include "sim/loop.h"

/* Without contexts everybody plays what follows from the published policy, so that all actions may
 * be seen: plain privacy, which is more than joint privacy (docs/privacy.md, Definitions). */
static void show_actions(faro_cell *cell) {
  const bool plain = (cell->env->traits & FARO_ENV_STAYS) && !(cell->env->traits & FARO_ENV_CONTEXTS);
  if (plain && cell->claim.actions == FARO_ACTIONS_OTHERS) cell->claim.actions = FARO_ACTIONS_ALL;
}

static faro_status rehearse(faro_cell *cell, faro_error *error) {
  const faro_env_params env = faro_cell_env(cell);
  faro_status status = faro_env_check(cell->env, &env, error);
  if (status == FARO_OK) status = cell->loop->rehearse(cell, error);
  if (status == FARO_OK) show_actions(cell);
  return status;
}

/* A target for the messages of one user (local_epsilon): the largest epsilon whose noise meets it
 * is found by search. So the release is one that could have been asked for by that epsilon, with
 * all its proofs (docs/privacy.md, What a message gives by itself). */

static bool meets(double epsilon, const void *context) {
  faro_cell trial = *(const faro_cell *)context;
  trial.settings.epsilon = epsilon;
  trial.grounds = NULL;
  const bool met = rehearse(&trial, NULL) == FARO_OK && trial.claim.local_epsilon > 0 &&
                   trial.claim.local_epsilon <= trial.settings.local_epsilon;
  free(trial.grounds);
  return met;
}

static bool near(double low, double high) { return !(high > low * (1 + 1e-3)); }

static faro_status search(faro_cell *cell, faro_error *error) {
  const double target = cell->settings.local_epsilon;
  const double least = faro_key_setting(FARO_KEY_EPSILON)->least;
  const faro_bisection bisection = {.holds = meets, .context = cell, .near = near, .ratio = true};
  double good = target;
  while (good >= least && !meets(good, cell)) good /= 2;
  if (good < least)
    return faro_fail(error, FARO_INVALID,
                     "local_epsilon must be one that %s can meet (got %g): no epsilon from %g on does",
                     cell->release->name, target, least);
  cell->settings.epsilon = good == target ? good : faro_bisect(&bisection, good, 2 * good);
  return FARO_OK;
}

/* Why a cell cannot have a target; NULL if it can. */
static const char *refusal(const faro_cell *cell) {
  const faro_protocol protocol = cell->learner->protocol;
  if (cell->release->trust == FARO_TRUST_JOINT) return "its server sees raw data";
  if (protocol == FARO_PROTOCOL_ELIMINATOR)
    return "phases have different sizes, and each would need an epsilon of its own";
  if (protocol == FARO_PROTOCOL_ASKER) return "people answer several times";
  if (cell->settings.anytime) return "under anytime later messages may have less noise";
  if (cell->settings.calibration == FARO_CALIBRATION_FIGURE) return "nothing was published for it";
  return NULL;
}

static faro_status aim(faro_cell *cell, faro_error *error) {
  if (cell->release->trust == FARO_TRUST_NONE) return FARO_OK;
  if (refusal(cell))
    return faro_fail(error, FARO_INVALID, "local_epsilon must be none for %s with %s: %s",
                     cell->learner->name, cell->release->name, refusal(cell));
  if (cell->release->trust == FARO_TRUST_LOCAL) cell->settings.epsilon = cell->settings.local_epsilon;
  else if (cell->settings.calibration == FARO_CALIBRATION_TIGHT) return search(cell, error);
  return FARO_OK;
}

faro_status faro_cell_rehearse(faro_cell *cell, faro_error *error) {
  faro_status status = faro_pair_check(cell, error);
  if (status == FARO_OK && cell->settings.local_epsilon > 0) status = aim(cell, error);
  if (status == FARO_OK) status = rehearse(cell, error);
  if (status == FARO_OK && faro_cell_release(cell).local_epsilon > 0)
    cell->settings.epsilon = cell->claim.epsilon;
  return status;
}
