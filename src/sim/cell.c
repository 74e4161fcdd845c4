/* cell: the settings of one algorithm at one sweep point, and the parameters that follow from
 * them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <faro/doubling.h>

#include "base/text.h"
#include "sim/experiment.h"

/* The row and the struct that hold a key in this cell; NULL if the cell has no such setting. */
static const faro_setting *find(const faro_cell *cell, faro_key key, void **values) {
  if (faro_key_general(key)) {
    *values = (void *)&cell->settings;
    return faro_key_setting(key);
  }
  const faro_setting *own = faro_key_own(cell->learner->settings, key);
  *values = cell->learner_own;
  if (own) return own;
  *values = cell->env_own;
  return faro_key_own(cell->env->settings, key);
}

double faro_cell_get(const faro_cell *cell, faro_key key) {
  void *values = NULL;
  const faro_setting *setting = find(cell, key, &values);
  return setting ? faro_setting_get(setting, values) : (double)NAN;
}

void faro_cell_put(faro_cell *cell, faro_key key, double value) {
  void *values = NULL;
  const faro_setting *setting = find(cell, key, &values);
  if (setting) faro_setting_put(setting, values, value);
}

const char *faro_cell_text(const faro_cell *cell, faro_key key) {
  void *values = NULL;
  const faro_setting *setting = find(cell, key, &values);
  return setting ? faro_setting_text(setting, values) : NULL;
}

void faro_cell_put_text(faro_cell *cell, faro_key key, const char *text) {
  void *values = NULL;
  const faro_setting *setting = find(cell, key, &values);
  if (setting) faro_setting_put_text(setting, values, text);
}

static bool streams(const faro_cell *cell) { return cell->env->traits & FARO_ENV_STREAM; }

faro_env_params faro_cell_env(const faro_cell *cell) {
  const faro_settings *s = &cell->settings;
  return (faro_env_params){.dimension = streams(cell) ? 1 : (size_t)s->dimension,
                           .arms = (size_t)s->arms,
                           .horizon = s->horizon,
                           .reward = s->reward,
                           .draw = s->draw,
                           .population = s->population,
                           .shufflers = s->shufflers,
                           .epsilon = s->epsilon,
                           .settings = cell->env_own,
                           .table = cell->table};
}

faro_env_facts faro_cell_facts(const faro_cell *cell) {
  const faro_env_params env = faro_cell_env(cell);
  return faro_env_describe(cell->env, &env);
}

bool faro_cell_limits(const faro_cell *cell) {
  return cell->settings.level == FARO_LEVEL_USER && cell->settings.population > 0 &&
         cell->release->trust != FARO_TRUST_NONE;
}

/* Rounds whose data may be used. People from a file who return give `contributions` each, and no
 * more: a release that expects everybody would have batches, and noise for them, that never come.
 * It follows from what is public. */
static uint64_t reach_of(const faro_cell *cell) {
  const faro_settings *s = &cell->settings;
  if (!cell->table || !faro_cell_limits(cell) || s->population >= s->horizon / s->contributions)
    return s->horizon;
  return s->population * s->contributions;
}

/* The link that the learner knows of. A blind one needs none. */
static faro_link link_of(const faro_cell *cell) {
  return cell->settings.surrogate || cell->learner->blind ? FARO_LINK_LINEAR : cell->env->link;
}

/* The constant that is subtracted from rewards. If rewards are in [0, 1], features end in a
 * constant, so subtracting a constant from rewards only changes the parameter. But rewards in
 * [-1/2, 1/2] have less sensitivity than rewards in [0, 1]. The published calibrations do not do
 * this. Linear surrogates of other rewards have no constant, and go through the mean at zero. */
static double centre_of(const faro_cell *cell, double low) {
  const faro_link link = cell->env->link;
  if (link_of(cell) != FARO_LINK_LINEAR || cell->settings.calibration != FARO_CALIBRATION_TIGHT || low != 0)
    return 0;
  return link == FARO_LINK_LINEAR ? 0.5 : faro_link_mean(link, 0);
}

/* Under paper a release aims at the target; under tight it is met by a search (rehearse.c). */
static double aim_of(const faro_cell *cell) {
  const bool shuffled = cell->release->trust == FARO_TRUST_SHUFFLE;
  return shuffled && cell->settings.calibration == FARO_CALIBRATION_PAPER ? cell->settings.local_epsilon : 0;
}

faro_agent_params faro_cell_agent(const faro_cell *cell, size_t arms, uint64_t instance) {
  const faro_settings *s = &cell->settings;
  const faro_env_facts facts = faro_cell_facts(cell);
  const double centre = centre_of(cell, facts.low);
  return (faro_agent_params){.learner = cell->learner->name,
                             .release = cell->release->name,
                             .dimension = (size_t)s->dimension,
                             .blocks = facts.blocks,
                             .arms = arms,
                             .horizon = reach_of(cell),
                             .epsilon = s->epsilon,
                             .delta = s->delta,
                             .batch = s->batch,
                             .growth = s->growth,
                             .largest = s->largest,
                             .adversarial = facts.adversarial,
                             .shufflers = s->shufflers,
                             .honest = s->honest,
                             .level = s->level,
                             .contributions = s->contributions,
                             .anytime = s->anytime,
                             .adaptive = s->adaptive,
                             .local_epsilon = aim_of(cell),
                             .calibration = faro_calibration_name(s->calibration),
                             .norm = facts.norm,
                             .centre = centre,
                             .low = facts.low - centre,
                             .high = facts.high - centre,
                             .link = link_of(cell),
                             .bound = facts.bound,
                             .public_arms = s->protect == 1,
                             .failure = s->failure,
                             .settings = cell->learner_own,
                             .seed = s->seed,
                             .instance = instance};
}

faro_release_params faro_cell_release(const faro_cell *cell) {
  const faro_settings *s = &cell->settings;
  faro_release_params params = {.epsilon = s->epsilon,
                                .delta = s->delta,
                                .horizon = s->horizon,
                                .batch = s->batch,
                                .growth = s->growth,
                                .largest = s->largest,
                                .adversarial = faro_cell_facts(cell).adversarial,
                                .shufflers = s->shufflers,
                                .honest = s->honest,
                                .level = s->level,
                                .contributions = s->contributions,
                                .anytime = s->anytime,
                                .adaptive = s->adaptive,
                                .local_epsilon = aim_of(cell),
                                .calibration = s->calibration};
  if (s->anytime) params.horizon = faro_doubling_first(&params);
  return params;
}

/* Keeps the schedule that a release has chosen. Where the horizon doubles, each release chooses
 * again. */
void faro_cell_keep_schedule(faro_cell *cell, const faro_release *release) {
  if (cell->settings.anytime) return;
  const faro_release_params *chosen = faro_release_params_of(release);
  cell->settings.batch = chosen->batch;
  cell->settings.growth = chosen->growth;
  cell->settings.largest = chosen->largest;
}

/* {"mechanism":"parallel","parts":[...]}. If memory runs out nothing is recorded. */
void faro_cell_ground(faro_cell *cell, char *grounds) {
  static const char head[] = "{\"mechanism\":\"parallel\",\"parts\":[";
  faro_text out = FARO_TEXT_INIT;
  if (!grounds) return;
  if (cell->grounds) faro_text_add(&out, "%.*s,%s]}", (int)strlen(cell->grounds) - 2, cell->grounds, grounds);
  else faro_text_add(&out, "%s%s]}", head, grounds);
  free(grounds);
  free(cell->grounds);
  if (out.failed) faro_text_clear(&out);
  cell->grounds = out.data;
}

faro_eliminator_params faro_cell_eliminator(const faro_cell *cell, const faro_arms *arms) {
  const faro_settings *s = &cell->settings;
  const faro_env_facts facts = faro_cell_facts(cell);
  return (faro_eliminator_params){
      .arms = arms,
      .horizon = faro_cell_release(cell).horizon,
      .anytime = s->anytime,
      .failure = s->failure,
      .reward = faro_eliminator_kind_asks_clients(cell->learner) ? 1 : (1 - facts.low) / 2,
      .spread = facts.spread,
      .calibration = s->calibration,
      .settings = cell->learner_own,
      .preview = faro_cell_preview,
      .context = cell};
}

faro_asker_params faro_cell_asker(const faro_cell *cell) {
  const faro_settings *s = &cell->settings;
  const double bound = faro_cell_facts(cell).bound;
  return (faro_asker_params){.dimension = (size_t)s->dimension,
                             .horizon = s->horizon,
                             .failure = s->failure,
                             .link = cell->env->link,
                             .bound = bound,
                             .kappa = 1 / faro_link_flattest(cell->env->link, bound),
                             .offers = (size_t)s->arms,
                             .noise = {cell->fit_noise[0], cell->fit_noise[1]},
                             .calibration = s->calibration,
                             .settings = cell->learner_own};
}

size_t faro_curve_rounds(uint64_t horizon, uint64_t round[static FARO_CURVE_POINTS]) {
  const size_t points = horizon < FARO_CURVE_POINTS ? (size_t)horizon : FARO_CURVE_POINTS;
  for (size_t i = 0; i < points; i++) /* horizon <= 10^10, so the product fits */
    round[i] = (horizon * (i + 1) + points - 1) / points;
  return points;
}
