/* asker: the loop for generalised linear learners that ask studies.
 *
 *   arms --pick--> arm, part --env--> reward --study--> sums --see--> learner
 *   learner --ask--> study --fit--> answer --> learner
 *
 * Every term of the learner is a study of different people, so each study has the whole budget. */
#include <stdio.h>
#include <string.h>

#include "base/abort.h"
#include "sim/loop.h"

typedef struct table {
  const faro_cell *cell;
  faro_env *env;
  faro_asker *learner;
  faro_study *study; /* the study of this term; NULL: no more people are asked */
  faro_arena arena;
  double *x, *theta;
  faro_sim_rng noise, luck;
  faro_play_record *record;
  uint64_t horizon;
  uint64_t left; /* people of the term who are still to come */
  double people; /* number of people in the term */
  uint64_t explored;
  bool estimated; /* the parameter has been re-estimated: a question about part 1 was answered */
} table;

static bool is_batched(const faro_cell *cell) {
  return faro_asker_kind_studies(cell->learner) == FARO_STUDIES_BATCHES;
}

static faro_study_params study_params(const faro_cell *cell, uint64_t people) {
  const faro_settings *s = &cell->settings;
  const double bound = faro_cell_facts(cell).bound;
  return (faro_study_params){.link = cell->env->link,
                             .dimension = (size_t)s->dimension,
                             .norm = bound,
                             .reward = 1,
                             .steepest = faro_link_steepest(cell->env->link, bound),
                             .people = people,
                             .batch = is_batched(cell) || s->batch > people ? people : s->batch,
                             .horizon = s->horizon,
                             .failure = s->failure,
                             .epsilon = s->epsilon,
                             .delta = s->delta,
                             .calibration = s->calibration};
}

/* Opens the study of the learner's next term, of at most `most` people, with as many fits as the
 * learner wants. If the learner asks nothing more there is no study, and the rest of the horizon is
 * played with the last estimates. */
static faro_status open_study(const faro_cell *cell, faro_asker *learner, uint64_t most, faro_sim_rng *sim,
                              faro_study **study, uint64_t *people, faro_error *error) {
  const uint64_t wanted = faro_asker_term(learner);
  *people = wanted == 0 || wanted > most ? most : wanted;
  if (wanted == 0) return FARO_OK;
  const faro_study_params params = study_params(cell, *people);
  const faro_status status = faro_study_create(study, cell->release, &params, sim, error);
  if (status != FARO_OK) return status;
  const faro_noise noise[FARO_PARTS] = {faro_study_noise(*study, 0), faro_study_noise(*study, 1)};
  uint64_t fits[FARO_PARTS] = {0};
  faro_asker_begin(learner, noise, fits);
  return faro_study_allow(*study, fits, error);
}

/* The people of different terms are different, so the weakest claim of a term is the claim of
 * all. */
static faro_status check_claim(const table *s, faro_error *error) {
  const faro_claim *said = &s->cell->claim;
  const faro_claim all = faro_claim_parallel(said, faro_study_claim(s->study));
  if (all.proven == said->proven && !(all.epsilon > said->epsilon) && !(all.delta > said->delta))
    return FARO_OK;
  return faro_fail(error, FARO_INVALID, "a term of %llu people has a weaker claim than the first term: %s",
                   (unsigned long long)s->left, faro_study_claim(s->study)->by);
}

/* Ends the term and adds its cost, fits included. */
static void end_term(table *s) {
  if (!s->study) return;
  const faro_cost cost = faro_study_cost(s->study);
  s->record->sent += s->people * cost.bits;
  s->record->posted += s->people * cost.messages;
  faro_study_destroy(s->study);
  s->study = NULL;
}

static faro_status begin_term(table *s, uint64_t rounds, faro_error *error) {
  end_term(s);
  faro_status status = open_study(s->cell, s->learner, rounds, &s->noise, &s->study, &s->left, error);
  if (status == FARO_OK && s->study) status = check_claim(s, error);
  if (status != FARO_OK || !s->study) return status;
  s->record->users += (double)s->left;
  s->people = (double)s->left;
  return FARO_OK;
}

static faro_status answer(table *s, const faro_question *question, faro_error *error) {
  faro_answer fit = {.theta = s->theta};
  if (faro_study_left(s->study, question->part) == 0)
    faro_abort("a learner asked for more fits than it had announced");
  const faro_status status = faro_study_fit(s->study, question, &fit, error);
  if (status == FARO_OK) faro_asker_answer(s->learner, &fit);
  return status;
}

/* Sums have been published: the learner sees them and asks its questions. */
static faro_status confer(table *s, double regret, faro_error *error) {
  const faro_statistics sum[FARO_PARTS] = {faro_study_sum(s->study, 0), faro_study_sum(s->study, 1)};
  faro_asker_see(s->learner, sum);
  faro_question question;
  while (faro_asker_ask(s->learner, &question)) {
    const faro_status status = answer(s, &question, error);
    if (status != FARO_OK) return status;
    if (question.part == 1 && !s->estimated) s->record->early = regret;
    s->estimated |= question.part == 1;
  }
  return FARO_OK;
}

/* The person of this round picks an arm and plays it. Returns the reward. */
static double play_arm(table *s, faro_pick *pick, double *regret) {
  *pick = faro_asker_pick(s->learner, faro_env_arms(s->env), faro_sim_uniform(&s->luck));
  *regret += faro_env_gap(s->env, pick->arm);
  return faro_env_play(s->env, pick->arm, s->x);
}

/* Allocates only when a term begins and for a fit. Asks nothing after the last round. */
static faro_status study_rounds(void *state, uint64_t from, uint64_t until, double *regret,
                                faro_error *error) {
  table *s = state;
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

static faro_status init(table *s, const faro_turn *turn, faro_error *error) {
  const faro_env_params env = faro_cell_env(s->cell);
  const faro_asker_params learner = faro_cell_asker(s->cell);
  faro_status status = faro_env_create(&s->env, s->cell->env, &env, error);
  if (status == FARO_OK) status = faro_asker_create(&s->learner, s->cell->learner, &learner, error);
  if (status != FARO_OK) return status;
  s->horizon = env.horizon;
  s->x = faro_arena_alloc(&s->arena, env.dimension, sizeof *s->x, error);
  s->theta = faro_arena_alloc(&s->arena, env.dimension, sizeof *s->theta, error);
  faro_sim_open(&s->noise, turn->seed, turn->instance, FARO_ROLE_USER);
  faro_sim_open(&s->luck, turn->seed, turn->instance, FARO_ROLE_LUCK);
  faro_env_begin(s->env, turn->seed, turn->instance);
  return s->x && s->theta ? FARO_OK : FARO_MEMORY;
}

static void finish(const table *s) {
  const faro_diagnostics diagnostics = faro_asker_diagnose(s->learner);
  s->record->updates = (double)diagnostics.updates;
  s->record->shifted = (double)diagnostics.shifted;
  s->record->explored = (double)s->explored / (double)s->horizon;
  if (!s->estimated) s->record->early = s->record->regret;
}

static faro_status play(const faro_turn *turn, faro_error *error) {
  table s = {.cell = turn->cell, .record = turn->record};
  faro_status status = init(&s, turn, error);
  if (status == FARO_OK) status = faro_play_curve(turn, study_rounds, &s, error);
  end_term(&s);
  if (status == FARO_OK) finish(&s);
  faro_asker_destroy(s.learner);
  faro_env_destroy(s.env);
  faro_arena_free(&s.arena);
  return status;
}

/* Before the first instance. */

static faro_status check(const faro_cell *cell, faro_error *error) {
  const char *name = cell->learner->name;
  const faro_settings *s = &cell->settings;
  if (s->level != FARO_LEVEL_EVENT)
    return faro_fail(error, FARO_INVALID, "level must be event for learner %s, whose users come once", name);
  if (s->anytime) return faro_fail(error, FARO_INVALID, "anytime must be false for learner %s", name);
  if (s->horizon > 1000000000)
    return faro_fail(
        error, FARO_INVALID,
        "horizon must be at most 10^9 for learner %s, which fits the data of all users (got %llu)", name,
        (unsigned long long)s->horizon);
  if (is_batched(cell) && s->batch > 0)
    return faro_fail(error, FARO_INVALID,
                     "batch must be auto for learner %s, whose batches follow from the horizon (got %llu)",
                     name, (unsigned long long)s->batch);
  if (s->batch > s->horizon)
    return faro_fail(error, FARO_INVALID, "batch must be at most the horizon, %llu (got %llu)",
                     (unsigned long long)s->horizon, (unsigned long long)s->batch);
  return FARO_OK;
}

/* The claim and cost of the first term stand for all; the numbers in the text are those of the
 * first term. */
static void keep_first(faro_cell *cell, const faro_study *study, uint64_t people) {
  cell->claim = *faro_study_claim(study);
  cell->cost = faro_study_cost(study);
  if (!is_batched(cell)) cell->settings.batch = faro_study_batch(study);
  else if (cell->claim.trust != FARO_TRUST_NONE) {
    const size_t used = strlen(cell->claim.by);
    snprintf(cell->claim.by + used, sizeof cell->claim.by - used, " (a term of %llu people)",
             (unsigned long long)people);
  }
}

/* Tries every term, so that whatever a study refuses is refused before anything runs. */
static faro_status try_terms(faro_cell *cell, faro_asker *learner, faro_error *error) {
  uint64_t left = cell->settings.horizon;
  faro_status status = FARO_OK;
  for (size_t term = 0; status == FARO_OK && left > 0; term++) {
    faro_study *study = NULL;
    uint64_t people = 0;
    status = open_study(cell, learner, left, NULL, &study, &people, error);
    if (status == FARO_OK && !study && term == 0)
      status = faro_fail(error, FARO_INVALID,
                         "horizon must be longer for learner %s, which could ask nobody (got %llu)",
                         cell->learner->name, (unsigned long long)left);
    if (status == FARO_OK && term == 0) keep_first(cell, study, people);
    if (status == FARO_OK && study) faro_cell_ground(cell, faro_study_grounds(study));
    faro_study_destroy(study);
    left -= people;
  }
  return status;
}

static faro_status rehearse(faro_cell *cell, faro_error *error) {
  faro_asker *learner = NULL;
  const faro_asker_params params = faro_cell_asker(cell);
  faro_status status = check(cell, error);
  if (status == FARO_OK) status = faro_asker_create(&learner, cell->learner, &params, error);
  if (status == FARO_OK) status = try_terms(cell, learner, error);
  faro_asker_destroy(learner);
  return status;
}

/* Without privacy everything can be asked. Otherwise the sums are those of one batch, or are
 * published all the time. */
static bool takes(const faro_learner_kind *learner, const faro_release_kind *release) {
  if (release->trust == FARO_TRUST_NONE) return true;
  const faro_studies studies = faro_asker_kind_studies(learner);
  const bool batches = studies == FARO_STUDIES_BATCHES;
  return studies != FARO_STUDIES_NONE && faro_study_takes(release) && release->phases == batches;
}

static const char *refusal(const faro_learner_kind *learner, const faro_release_kind *release) {
  const faro_studies studies = faro_asker_kind_studies(learner);
  if (studies == FARO_STUDIES_NONE)
    return "it fits raw data after every batch, which no noise on sums can hide";
  if (studies == FARO_STUDIES_BATCHES)
    return release->phases ? "its fits have no rule for this noise"
                           : "every batch is summed by itself, and this noise is for running sums";
  return release->trust == FARO_TRUST_JOINT
             ? "it needs running sums, and fits composed with them under one claim"
             : "its fits use the data of all users so far again, which only a trusted server has";
}

const faro_loop faro_loop_asker = {
    .protocol = FARO_PROTOCOL_ASKER,
    .needs = faro_loop_needs_glm,
    .suits = faro_loop_suits_glm,
    .misfit = faro_loop_misfit_glm,
    .takes = takes,
    .refusal = refusal,
    .calibrates = faro_study_calibrates,
    .rehearse = rehearse,
    .play = play,
};
