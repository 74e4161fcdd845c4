/* asker: the loop for generalised linear learners that ask studies.
 *
 *   arms --pick--> arm, part --env--> reward --study--> sums --see--> learner
 *   learner --ask--> study --fit--> answer --> learner
 *
 * Every term of the learner is a study of different people, so each study has the whole budget.
 *
 * A learner that does not know the horizon (`anytime`) is made for 1024 rounds; then another one
 * for twice as many, and so on (Sarmasarkar 2026, Remark 1.1). Each of them is an epoch with people
 * of its own. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/abort.h"
#include "privacy/claim.h"
#include "sim/loop.h"

typedef struct table {
  const faro_cell *cell;
  faro_cell epoch; /* the cell with the horizon that the learner knows */
  faro_env *env;
  faro_asker *learner;
  faro_study *study; /* the study of this term; NULL: no more people are asked */
  faro_arena arena;
  double *x, *theta, *gradient;
  faro_sim_rng noise, luck;
  faro_play_record *record;
  double kappa;
  uint64_t horizon;
  uint64_t end;  /* of the epoch */
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
  const faro_env_facts facts = faro_cell_facts(cell);
  const double bound = facts.bound;
  return (faro_study_params){.link = cell->env->link,
                             .dimension = (size_t)s->dimension,
                             .norm = bound,
                             .low = facts.low,
                             .reward = facts.high,
                             .steepest = faro_link_steepest(cell->env->link, bound),
                             .people = people,
                             .batch = is_batched(cell) || s->batch > people ? people : s->batch,
                             .horizon = s->horizon,
                             .failure = s->failure,
                             .epsilon = s->epsilon,
                             .delta = s->delta,
                             .honest = s->honest,
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
  s->record->bytes += s->people * cost.bytes;
  s->record->sent += s->people * cost.bits;
  s->record->posted += s->people * cost.messages;
  faro_study_destroy(s->study);
  s->study = NULL;
}

/* People who would come after the last round cost nothing. */
static faro_status begin_term(table *s, uint64_t round, faro_error *error) {
  const uint64_t rounds_left = s->horizon - round;
  end_term(s);
  faro_status status =
      open_study(&s->epoch, s->learner, s->end - round, &s->noise, &s->study, &s->left, error);
  if (status == FARO_OK && s->study) status = check_claim(s, error);
  if (status != FARO_OK || !s->study) return status;
  s->people = (double)(s->left < rounds_left ? s->left : rounds_left);
  s->record->users += s->people;
  return FARO_OK;
}

static faro_status answer(table *s, const faro_question *question, faro_error *error) {
  faro_answer fit = {.theta = s->theta, .gradient = s->gradient};
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

/* The noise of a fit over `people`. */
static faro_status predict(const faro_cell *cell, uint64_t people, double *noise, faro_error *error) {
  const faro_study_params params = study_params(cell, people);
  faro_study *study = NULL;
  faro_status status = faro_study_create(&study, cell->release, &params, NULL, error);
  if (status == FARO_OK) status = faro_study_allow(study, (const uint64_t[FARO_PARTS]){0, 1}, error);
  if (status == FARO_OK) status = faro_study_predict(study, 1, noise, error);
  faro_study_destroy(study);
  return status;
}

/* For learners that plan their terms. */
static faro_status predict_fits(faro_cell *cell, faro_error *error) {
  const uint64_t horizon = cell->settings.horizon;
  if (!is_batched(cell)) return FARO_OK;
  const faro_status status = predict(cell, (uint64_t)ceil(sqrt((double)horizon)), &cell->fit_noise[0], error);
  return status == FARO_OK ? predict(cell, horizon, &cell->fit_noise[1], error) : status;
}

enum { FIRST = 1024 };

/* The cell of the epoch that begins at this round: the whole cell, unless the horizon is not
 * known. */
static faro_cell epoch_of(const faro_cell *cell, uint64_t begin) {
  faro_cell epoch = *cell;
  if (!cell->settings.anytime) return epoch;
  const uint64_t number = begin / FIRST + 1; /* 1, 2, 4, 8, ...: epochs begin at 1024 (number - 1) */
  const double j = log2((double)number) + 1;
  const uint64_t length = FIRST * number;
  epoch.settings.horizon = length;
  epoch.settings.failure /= j * (j + 1);
  if (epoch.settings.batch > length) epoch.settings.batch = length;
  return epoch;
}

static void count_updates(table *s) {
  const faro_diagnostics diagnostics = faro_asker_diagnose(s->learner);
  s->record->updates += (double)diagnostics.updates;
  s->record->shifted += (double)diagnostics.shifted;
}

/* Makes the learner of the next epoch. */
static faro_status begin_epoch(table *s, faro_error *error) {
  end_term(s);
  if (s->learner) count_updates(s);
  faro_asker_destroy(s->learner);
  s->learner = NULL;
  s->epoch = epoch_of(s->cell, s->end);
  s->end += s->epoch.settings.horizon;
  const faro_status status = s->cell->settings.anytime ? predict_fits(&s->epoch, error) : FARO_OK;
  faro_asker_params learner = faro_cell_asker(&s->epoch);
  learner.offers = faro_env_arms(s->env)->count; /* those of a net, too */
  learner.kappa = s->kappa;
  return status == FARO_OK ? faro_asker_create(&s->learner, s->cell->learner, &learner, error) : status;
}

/* Allocates only when an epoch or a term begins and for a fit. Asks nothing after the last
 * round. */
static faro_status study_rounds(void *state, uint64_t from, uint64_t until, double *regret,
                                faro_error *error) {
  table *s = state;
  for (uint64_t round = from; round < until; round++) {
    faro_status status = round == s->end ? begin_epoch(s, error) : FARO_OK;
    if (status == FARO_OK && s->left == 0) status = begin_term(s, round, error);
    if (status != FARO_OK) return status;
    faro_pick pick;
    const double y = play_arm(s, &pick, regret);
    s->explored += pick.part == 0;
    s->left--;
    if (!s->study) continue;
    const bool out = faro_study_add(s->study, s->x, y, pick.part, pick.weight);
    if ((out || s->left == 0) && round + 1 < s->end) status = confer(s, *regret, error);
    if (status != FARO_OK) return status;
  }
  return FARO_OK;
}

static faro_status init(table *s, const faro_turn *turn, faro_error *error) {
  const faro_env_params env = faro_cell_env(s->cell);
  const faro_status status = faro_env_create(&s->env, s->cell->env, &env, error);
  if (status != FARO_OK) return status;
  s->horizon = env.horizon;
  s->x = faro_arena_alloc(&s->arena, env.dimension, sizeof *s->x, error);
  s->theta = faro_arena_alloc(&s->arena, env.dimension, sizeof *s->theta, error);
  faro_sim_open(&s->noise, turn->seed, turn->instance, FARO_ROLE_USER);
  faro_sim_open(&s->luck, turn->seed, turn->instance, FARO_ROLE_LUCK);
  s->kappa = faro_turn_kappa(turn, s->env);
  faro_turn_begin(turn, s->env);
  s->gradient = faro_arena_alloc(&s->arena, env.dimension, sizeof *s->gradient, error);
  return s->x && s->theta && s->gradient ? FARO_OK : FARO_MEMORY;
}

static void finish(table *s) {
  count_updates(s);
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
  if (faro_cell_facts(cell).high > 1 && s->calibration != FARO_CALIBRATION_TIGHT)
    return faro_fail(error, FARO_INVALID,
                     "calibration must be tight for %s: the published constants are for rewards up to 1",
                     cell->env->name);
  if (faro_cell_facts(cell).norm > 1)
    return faro_fail(error, FARO_INVALID,
                     "draw must not be sphere-published for learner %s, whose features have length 1", name);
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
static void keep_first(faro_cell *cell, const faro_cell *epoch, const faro_study *study, uint64_t people) {
  memcpy(cell->fit_noise, epoch->fit_noise, sizeof cell->fit_noise);
  cell->claim = *faro_study_claim(study);
  cell->cost = faro_study_cost(study);
  if (!is_batched(cell) && !cell->settings.anytime) cell->settings.batch = faro_study_batch(study);
  if (is_batched(cell)) faro_claim_say(&cell->claim, " (a term of %llu people)", (unsigned long long)people);
}

/* Tries every term of an epoch, so that whatever a study refuses is refused before anything
 * runs. */
static faro_status try_terms(faro_cell *cell, const faro_cell *epoch, bool first, faro_error *error) {
  faro_asker *learner = NULL;
  const faro_asker_params params = faro_cell_asker(epoch);
  faro_status status = faro_asker_create(&learner, cell->learner, &params, error);
  uint64_t left = epoch->settings.horizon;
  for (size_t term = 0; status == FARO_OK && left > 0; term++) {
    faro_study *study = NULL;
    uint64_t people = 0;
    status = open_study(epoch, learner, left, NULL, &study, &people, error);
    if (status == FARO_OK && !study && term == 0)
      status = faro_fail(error, FARO_INVALID,
                         "horizon must be longer for learner %s, which could ask nobody (got %llu)",
                         cell->learner->name, (unsigned long long)left);
    if (status == FARO_OK && term == 0 && first) keep_first(cell, epoch, study, people);
    if (status == FARO_OK && study) faro_cell_ground(cell, faro_study_grounds(study));
    faro_study_destroy(study);
    left -= people;
  }
  faro_asker_destroy(learner);
  return status;
}

static faro_status rehearse(faro_cell *cell, faro_error *error) {
  faro_status status = check(cell, error);
  const uint64_t horizon = cell->settings.horizon;
  for (uint64_t begin = 0; status == FARO_OK && begin < horizon;) {
    faro_cell epoch = epoch_of(cell, begin);
    status = predict_fits(&epoch, error);
    if (status == FARO_OK) status = try_terms(cell, &epoch, begin == 0, error);
    begin += epoch.settings.horizon;
  }
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
