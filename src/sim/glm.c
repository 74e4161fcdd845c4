/* glm: the loop of learners of generalised linear rewards.
 *
 *   arms --pick--> arm, part --env--> reward --study--> sums --see--> learner --ask--> fit --answer--> learner
 *
 * Every term of the learner is a study of other people, so that each has the whole budget. Learners that see raw data
 * (observe) have no study. */
#include <stdio.h>
#include <string.h>

#include "base/abort.h"
#include "sim/play.h"

typedef struct desk {
  const faro_cell *cell;
  faro_env *env;
  faro_learner *learner;
  faro_study *study; /* of this term; NULL: nobody is asked any more */
  faro_arena arena;
  double *x, *theta;
  faro_sim_rng noise, luck;
  faro_play_record *record;
  uint64_t horizon, left; /* left: people of the term who are still to come */
  double people;          /* of the term */
  uint64_t explored;
  bool estimated; /* the parameter was estimated anew: a question of part 1 was answered */
} desk;

static faro_learner_params learner_params(const faro_cell *cell) {
  const double *value = cell->settings.value;
  const faro_link link = faro_env_kind_link(faro_cell_env_kind(cell));
  const faro_calibration calibration = (faro_calibration)value[FARO_KEY_CALIBRATION];
  return (faro_learner_params){.dimension = (size_t)value[FARO_KEY_DIMENSION],
                               .horizon = (uint64_t)value[FARO_KEY_HORIZON],
                               .norm = 1,
                               .failure = value[FARO_KEY_FAILURE],
                               .reward = 1,
                               .optimism =
                                   calibration == FARO_CALIBRATION_TIGHT ? value[FARO_KEY_OPTIMISM] : 1,
                               .figure = calibration == FARO_CALIBRATION_FIGURE,
                               .paper = calibration == FARO_CALIBRATION_PAPER,
                               .link = link,
                               .bound = value[FARO_KEY_NORM],
                               .kappa = 1 / faro_link_flattest(link, value[FARO_KEY_NORM]),
                               .offers = (size_t)value[FARO_KEY_ARMS]};
}

static bool is_batched(const faro_cell *cell) {
  return faro_learner_kind_studies(cell->learner) == FARO_STUDIES_BATCHES;
}

static faro_study_params study_params(const faro_cell *cell, uint64_t people) {
  const double *value = cell->settings.value;
  const uint64_t batch = (uint64_t)value[FARO_KEY_BATCH]; /* the last term may be shorter */
  const faro_link link = faro_env_kind_link(faro_cell_env_kind(cell));
  return (faro_study_params){.link = link,
                             .dimension = (size_t)value[FARO_KEY_DIMENSION],
                             .norm = value[FARO_KEY_NORM],
                             .reward = 1,
                             .steepest = faro_link_steepest(link, value[FARO_KEY_NORM]),
                             .people = people,
                             .batch = is_batched(cell) || batch > people ? people : batch,
                             .horizon = (uint64_t)value[FARO_KEY_HORIZON],
                             .failure = value[FARO_KEY_FAILURE],
                             .epsilon = value[FARO_KEY_EPSILON],
                             .delta = value[FARO_KEY_DELTA],
                             .calibration = (faro_calibration)value[FARO_KEY_CALIBRATION]};
}

/* The study of the learner's next term, of at most `most` people, with as many fits as the learner wants. Where the
 * learner wants to know nothing more there is none, and the rest is played as it is. */
static faro_status open_study(const faro_cell *cell, faro_learner *learner, uint64_t most, faro_sim_rng *sim,
                              faro_study **study, uint64_t *people, faro_error *error) {
  const uint64_t wanted = faro_learner_term(learner);
  *people = wanted == 0 || wanted > most ? most : wanted;
  if (wanted == 0) return FARO_OK;
  const faro_study_params params = study_params(cell, *people);
  const faro_status status = faro_study_create(study, cell->release, &params, sim, error);
  if (status != FARO_OK) return status;
  const faro_noise noise[FARO_PARTS] = {faro_study_noise(*study, 0), faro_study_noise(*study, 1)};
  uint64_t fits[FARO_PARTS] = {0};
  faro_learner_begin(learner, noise, fits);
  return faro_study_allow(*study, fits, error);
}

/* People of different terms are different people: the weakest claim of a term is that of all. */
static faro_status check_claim(const desk *s, faro_error *error) {
  const faro_claim *said = &s->cell->claim;
  const faro_claim all = faro_claim_parallel(said, faro_study_claim(s->study));
  if (all.proven == said->proven && !(all.epsilon > said->epsilon) && !(all.delta > said->delta))
    return FARO_OK;
  return faro_fail(error, FARO_INVALID, "a term of %llu people has a weaker claim than the first: %s",
                   (unsigned long long)s->left, faro_study_claim(s->study)->by);
}

/* The term is over: what it cost, fits included. */
static void end_term(desk *s) {
  if (!s->study) return;
  const faro_cost cost = faro_study_cost(s->study);
  s->record->sent += s->people * cost.bits;
  s->record->posted += s->people * cost.messages;
  faro_study_destroy(s->study);
  s->study = NULL;
}

static faro_status begin_term(desk *s, uint64_t rounds, faro_error *error) {
  end_term(s);
  faro_status status = open_study(s->cell, s->learner, rounds, &s->noise, &s->study, &s->left, error);
  if (status == FARO_OK && s->study) status = check_claim(s, error);
  if (status != FARO_OK || !s->study) return status;
  s->record->users += (double)s->left;
  s->people = (double)s->left;
  return FARO_OK;
}

static faro_status answer(desk *s, const faro_question *question, faro_error *error) {
  const faro_ask ask = {.part = question->part,
                        .ridge = question->ridge,
                        .region = question->region,
                        .curvature = question->curvature,
                        .start = question->start};
  faro_answer fit = {.theta = s->theta};
  if (faro_study_left(s->study, ask.part) == 0) faro_abort("a learner asks for more fits than it announced");
  const faro_status status = faro_study_fit(s->study, &ask, &fit, error);
  if (status != FARO_OK) return status;
  const faro_reply reply = {.theta = fit.theta, .bound = fit.bound, .noise = fit.noise};
  faro_learner_answer(s->learner, &reply);
  return FARO_OK;
}

/* Sums are out: the learner sees them, and asks what it wants to know. */
static faro_status confer(desk *s, double regret, faro_error *error) {
  const faro_statistics sum[FARO_PARTS] = {faro_study_sum(s->study, 0), faro_study_sum(s->study, 1)};
  faro_learner_see(s->learner, sum);
  faro_question question;
  while (faro_learner_ask(s->learner, &question)) {
    const faro_status status = answer(s, &question, error);
    if (status != FARO_OK) return status;
    if (question.part == 1 && !s->estimated) s->record->early = regret;
    s->estimated |= question.part == 1;
  }
  return FARO_OK;
}

/* The person of this round chooses an arm, plays it, and regrets; the reward comes back. */
static double play_arm(desk *s, faro_pick *pick, double *regret) {
  *pick = faro_learner_pick(s->learner, faro_env_arms(s->env), faro_sim_uniform(&s->luck));
  *regret += faro_env_gap(s->env, pick->arm);
  return faro_env_play(s->env, pick->arm, s->x);
}

/* Nothing is allocated but when a term begins and for a fit, and nothing is asked after the last round. */
static faro_status study_rounds(void *seat, uint64_t from, uint64_t until, double *regret,
                                faro_error *error) {
  desk *s = seat;
  for (uint64_t round = from; round < until; round++) {
    faro_status status = s->left == 0 ? begin_term(s, s->horizon - round, error) : FARO_OK;
    if (status != FARO_OK) return status;
    faro_pick pick;
    const double y = play_arm(s, &pick, regret);
    s->explored += pick.part == 0;
    s->left--;
    if (!s->study) continue;
    const bool out = faro_study_add(s->study, s->x, y, pick.part, pick.weight);
    if ((out || s->left == 0) && round + 1 < s->horizon) status = confer(s, *regret, error);
    if (status != FARO_OK) return status;
  }
  return FARO_OK;
}

static faro_status watch_rounds(void *seat, uint64_t from, uint64_t until, double *regret,
                                faro_error *error) {
  (void)error;
  desk *s = seat;
  for (uint64_t round = from; round < until; round++) {
    faro_pick pick;
    const double y = play_arm(s, &pick, regret);
    faro_learner_observe(s->learner, s->x, y);
  }
  return FARO_OK;
}

static faro_status set_desk(desk *s, uint64_t seed, uint64_t instance, faro_error *error) {
  const faro_env_params env = faro_cell_env(s->cell);
  const faro_learner_params learner = learner_params(s->cell);
  faro_status status = faro_env_create(&s->env, faro_cell_env_kind(s->cell), &env, error);
  if (status == FARO_OK) status = faro_learner_create(&s->learner, s->cell->learner, &learner, error);
  if (status != FARO_OK) return status;
  s->horizon = env.horizon;
  s->x = faro_arena_alloc(&s->arena, env.dimension, sizeof *s->x, error);
  s->theta = faro_arena_alloc(&s->arena, env.dimension, sizeof *s->theta, error);
  faro_sim_open(&s->noise, seed, instance, FARO_ROLE_USER);
  faro_sim_open(&s->luck, seed, instance, FARO_ROLE_LUCK);
  faro_env_begin(s->env, seed, instance);
  return s->x && s->theta ? FARO_OK : FARO_MEMORY;
}

static void finish(const desk *s, bool observes) {
  const faro_learner_diagnostics diagnostics = faro_learner_diagnose(s->learner);
  s->record->updates = (double)diagnostics.updates;
  s->record->shifted = (double)diagnostics.shifted;
  s->record->explored = (double)s->explored / (double)s->horizon;
  if (!observes && !s->estimated) s->record->early = s->record->regret;
}

faro_status faro_play_glm(const faro_cell *cell, uint64_t seed, uint64_t instance, const atomic_int *stop,
                          faro_play_record *record, faro_error *error) {
  desk s = {.cell = cell, .record = record};
  const bool observes = faro_learner_kind_observes(cell->learner);
  faro_status status = set_desk(&s, seed, instance, error);
  if (status == FARO_OK)
    status = faro_play_curve(cell, observes ? watch_rounds : study_rounds, &s, stop, record, error);
  end_term(&s);
  if (status == FARO_OK) finish(&s, observes);
  faro_learner_destroy(s.learner);
  faro_env_destroy(s.env);
  faro_arena_free(&s.arena);
  return status;
}

static faro_status check_batch(const faro_cell *cell, faro_error *error) {
  const double batch = cell->settings.value[FARO_KEY_BATCH];
  const double horizon = cell->settings.value[FARO_KEY_HORIZON];
  if (is_batched(cell) && batch > 0)
    return faro_fail(error, FARO_INVALID,
                     "batch must be auto for learner %s, whose batches follow from the horizon (got %g)",
                     faro_learner_kind_name(cell->learner), batch);
  if (batch > horizon)
    return faro_fail(error, FARO_INVALID, "batch must be at most the horizon, %g (got %g)", horizon, batch);
  return FARO_OK;
}

/* What the first term tells stands for all; numbers in its text are its own. */
static void keep_first(faro_cell *cell, const faro_study *study, uint64_t people) {
  cell->claim = *faro_study_claim(study);
  cell->cost = faro_study_cost(study);
  if (!is_batched(cell)) cell->settings.value[FARO_KEY_BATCH] = (double)faro_study_batch(study);
  else if (cell->claim.trust != FARO_TRUST_NONE) {
    const size_t used = strlen(cell->claim.by);
    snprintf(cell->claim.by + used, sizeof cell->claim.by - used, " (a term of %llu people)",
             (unsigned long long)people);
  }
}

/* Every term: whatever a study refuses is refused before anything runs. */
static faro_status try_studies(faro_cell *cell, faro_learner *learner, faro_error *error) {
  uint64_t left = (uint64_t)cell->settings.value[FARO_KEY_HORIZON];
  faro_status status = check_batch(cell, error);
  for (size_t term = 0; status == FARO_OK && left > 0; term++) {
    faro_study *study = NULL;
    uint64_t people = 0;
    status = open_study(cell, learner, left, NULL, &study, &people, error);
    if (status == FARO_OK && !study && term == 0)
      status = faro_fail(error, FARO_INVALID,
                         "horizon must be longer for learner %s (got %llu): it could ask nobody",
                         faro_learner_kind_name(cell->learner), (unsigned long long)left);
    if (status == FARO_OK && term == 0) keep_first(cell, study, people);
    faro_study_destroy(study);
    left -= people;
  }
  return status;
}

faro_status faro_try_glm(faro_cell *cell, faro_error *error) {
  faro_learner *learner = NULL;
  const faro_learner_params params = learner_params(cell);
  faro_status status = faro_learner_create(&learner, cell->learner, &params, error);
  if (status == FARO_OK && faro_learner_kind_observes(cell->learner)) {
    cell->claim = faro_claim_none();
    cell->cost.bits = 64 * ((double)params.dimension + 1); /* x and y as they are */
    cell->settings.value[FARO_KEY_BATCH] = 1;
  } else if (status == FARO_OK) status = try_studies(cell, learner, error);
  faro_learner_destroy(learner);
  return status;
}
