/* eliminator: the loop for learners that eliminate arms.
 *
 *   plan --(pulls, or clients)--> rewards --a release for this phase--> private sums --> drop arms
 *
 * Users of different phases, and of different arms, are different people, so each release has the
 * whole budget (docs/privacy.md, Phases). Clients are sampled without replacement over the whole
 * run. When the population runs out, nobody is asked any more, and the arm that looks best is
 * played to the end. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/loop.h"

typedef struct table {
  const faro_cell *cell;
  faro_env *env;
  faro_eliminator *learner;
  faro_arena arena;
  faro_heard *heard; /* one per arm of the plan */
  double *value;     /* a client's report */
  uint64_t *left;    /* pulls of each arm that are not assigned yet */
  faro_sim_rng noise, order;
  faro_play_record *record;
  uint64_t rounds, horizon; /* rounds played, and all rounds */
  uint64_t mark[FARO_CURVE_POINTS];
  size_t marks, marked;
  double regret, low, sent, posted; /* sent: bits, by all users; posted: messages to a shuffler */
  uint64_t users, asked;            /* users who contributed; clients ever sampled */
} table;

/* Plays an arm `times` times, as far as the horizon allows, and records the curve on the way. */
static void advance(table *s, size_t arm, uint64_t times) {
  const double gap = faro_env_gap(s->env, arm);
  if (times > s->horizon - s->rounds) times = s->horizon - s->rounds;
  while (times > 0) {
    const uint64_t next = s->marked < s->marks ? s->mark[s->marked] - s->rounds : times;
    const uint64_t step = times < next ? times : next;
    s->regret += gap * (double)step;
    s->rounds += step;
    times -= step;
    while (s->marked < s->marks && s->mark[s->marked] == s->rounds) s->record->curve[s->marked++] = s->regret;
  }
}

static bool keeps_secret(const faro_cell *cell) {
  const faro_eliminator_settings *own = cell->learner_own;
  return own->assignment == FARO_ASSIGNMENT_SECRET && !faro_eliminator_kind_asks_clients(cell->learner);
}

/* Makes the release of one phase: `count` numbers from each of `users` users, mixed with those of
 * `crowd` users in total. */
static faro_status make_release(table *s, size_t count, uint64_t users, uint64_t crowd,
                                faro_release **release, faro_error *error) {
  faro_contribution contribution;
  faro_release_params params = faro_cell_release(s->cell);
  params.horizon = params.batch = users;
  params.crowd = crowd;
  params.secret = keeps_secret(s->cell);
  faro_status status = faro_contribution_values(&contribution, count, false, error);
  if (status == FARO_OK)
    status = faro_release_create(release, s->cell->release, &contribution, &params,
                                 faro_source_simulated(&s->noise), error);
  if (status != FARO_OK || !s->cell->claim.proven || faro_release_claim(*release)->proven) return status;
  (void)faro_fail(error, FARO_INVALID, "the claim of a phase of %llu users is not proven: %s",
                  (unsigned long long)users, faro_release_claim(*release)->by);
  faro_release_destroy(*release);
  return FARO_INVALID;
}

static double to_unit(const table *s, double reward) { return (reward - s->low) / (1 - s->low) - 0.5; }

/* Converts entry `i` of the released sums, over `count` users, back to rewards. */
static faro_heard hear(const table *s, const faro_release *release, size_t i, double count) {
  const double wide = 1 - s->low;
  const faro_noise noise = faro_release_noise(release);
  const double sum = faro_release_statistics(release).sum[i];
  return (faro_heard){.sum = wide * (sum + count / 2) + s->low * count,
                      .count = count,
                      .scale = noise.laplace > 0 ? 0 : wide * faro_release_scale(release, i),
                      .laplace = wide * noise.laplace,
                      .summands = noise.summands};
}

static void count_cost(table *s, const faro_release *release, uint64_t users) {
  s->sent += (double)users * faro_release_cost(release).bits;
  s->posted += (double)users * faro_release_cost(release).messages;
  s->users += users;
}

/* Clients report averages over all rounds of the phase. */
static faro_status ask_clients(table *s, const faro_plan *plan, faro_error *error) {
  faro_release *release = NULL;
  const faro_status status = make_release(s, plan->support, plan->clients, plan->clients, &release, error);
  if (status != FARO_OK) return status;
  for (uint64_t u = 0; u < plan->clients; u++) {
    faro_env_client(s->env, plan->support, plan->arm, plan->pulls, s->value);
    for (size_t i = 0; i < plan->support; i++) s->value[i] = to_unit(s, s->value[i]);
    (void)faro_release_absorb(release, s->value, 0);
  }
  for (size_t i = 0; i < plan->support; i++) {
    s->heard[i] = hear(s, release, i, (double)plan->clients);
    advance(s, plan->arm[i], plan->pulls[i]);
  }
  s->asked += plan->clients;
  count_cost(s, release, plan->clients);
  faro_release_destroy(release);
  return FARO_OK;
}

/* Every pull is a user: one private sum per arm. */
static faro_status ask_users(table *s, const faro_plan *plan, uint64_t total, faro_error *error) {
  for (size_t i = 0; i < plan->support; i++) {
    faro_release *release = NULL;
    const faro_status status = make_release(s, 1, plan->pulls[i], total, &release, error);
    if (status != FARO_OK) return status;
    for (uint64_t u = 0; u < plan->pulls[i]; u++) {
      const double unit = to_unit(s, faro_env_pull(s->env, plan->arm[i]));
      (void)faro_release_absorb(release, &unit, 0);
    }
    s->heard[i] = hear(s, release, 0, (double)plan->pulls[i]);
    count_cost(s, release, plan->pulls[i]);
    faro_release_destroy(release);
  }
  return FARO_OK;
}

/* The order in which users play the arms. A shuffler that assigns the actions (Hanna et al. 2022,
 * Alg. 3) draws a uniform order and does not reveal it: the next arm is drawn in proportion to the
 * pulls that each arm has left. Otherwise one arm comes after another. */
static void play_assigned(table *s, const faro_plan *plan, uint64_t total) {
  for (size_t i = 0; i < plan->support; i++) s->left[i] = plan->pulls[i];
  for (; total > 0 && s->rounds < s->horizon; total--) {
    double place = faro_sim_uniform(&s->order) * (double)total;
    size_t i = 0;
    while (i + 1 < plan->support && place >= (double)s->left[i]) place -= (double)s->left[i++];
    while (s->left[i] == 0) i--; /* rounding error at the upper end */
    s->left[i]--;
    advance(s, plan->arm[i], 1);
  }
}

static void play_in_turn(table *s, const faro_plan *plan) {
  for (size_t i = 0; i < plan->support; i++) advance(s, plan->arm[i], plan->pulls[i]);
}

/* Plays one phase; sets `over` if there is nothing more to learn. */
static faro_status play_phase(table *s, bool *over, faro_error *error) {
  const faro_plan *plan = NULL;
  faro_status status = faro_eliminator_plan(s->learner, &plan, error);
  if (status != FARO_OK) return status;
  uint64_t total = 0;
  for (size_t i = 0; !plan->last && i < plan->support; i++) total += plan->pulls[i];
  const uint64_t population = s->cell->settings.population;
  const bool exhausted = population > 0 && plan->clients > population - s->asked;
  if (exhausted) s->record->exhausted = (double)s->rounds + 1;
  *over = plan->last || exhausted || total > s->horizon - s->rounds;
  if (*over) {
    if (exhausted || plan->last)
      advance(s, plan->last ? plan->arm[0] : faro_eliminator_best(s->learner), s->horizon);
    else if (s->cell->release->assigns && plan->clients == 0) play_assigned(s, plan, total);
    else play_in_turn(s, plan); /* the last phase ends with the horizon, and nothing is learned from it */
    return FARO_OK;
  }
  if (plan->clients > 0) status = ask_clients(s, plan, error);
  else {
    status = ask_users(s, plan, total, error);
    if (s->cell->release->assigns) play_assigned(s, plan, total);
    else play_in_turn(s, plan);
  }
  return status == FARO_OK ? faro_eliminator_hear(s->learner, s->heard, error) : status;
}

static faro_status init(table *s, const faro_turn *turn, uint64_t clients, faro_error *error) {
  const faro_env_params env = faro_cell_env(s->cell);
  faro_status status = faro_env_create(&s->env, s->cell->env, &env, error);
  if (status != FARO_OK) return status;
  faro_env_begin(s->env, turn->seed, turn->instance);
  faro_sim_open(&s->noise, turn->seed, turn->instance, FARO_ROLE_USER);
  faro_sim_open(&s->order, turn->seed, turn->instance, FARO_ROLE_ORDER);
  s->low = faro_cell_facts(s->cell).low;
  s->horizon = env.horizon;
  s->marks = faro_curve_rounds(env.horizon, s->mark);
  faro_eliminator_params params = faro_cell_eliminator(s->cell, faro_env_arms(s->env));
  params.clients = clients;
  status = faro_eliminator_create(&s->learner, s->cell->learner, &params, error);
  const size_t arms = faro_env_arms(s->env)->count;
  s->heard = faro_arena_alloc(&s->arena, arms, sizeof *s->heard, error);
  s->value = faro_arena_alloc(&s->arena, arms, sizeof *s->value, error);
  s->left = faro_arena_alloc(&s->arena, arms, sizeof *s->left, error);
  if (status == FARO_OK && !(s->heard && s->value && s->left)) status = FARO_MEMORY;
  return status;
}

static void finish(table *s) {
  s->record->regret = s->regret;
  s->record->updates = (double)faro_eliminator_diagnose(s->learner).updates;
  s->record->sent = s->sent;
  s->record->posted = s->posted;
  s->record->users = (double)s->users;
  s->record->blur = faro_env_error(s->env);
  s->record->lost = !faro_eliminator_holds(s->learner, faro_env_best(s->env));
}

/* Plays the instance with `clients` clients in each phase, or with a growing number if it is 0. */
static faro_status play_with(const faro_turn *turn, uint64_t clients, faro_play_record *record,
                             faro_error *error) {
  table s = {.cell = turn->cell, .record = record};
  faro_status status = init(&s, turn, clients, error);
  for (bool over = false; status == FARO_OK && !over;) {
    status = faro_turn_stopped(turn) ? FARO_INTERRUPTED : play_phase(&s, &over, error);
    if (s.rounds == s.horizon) over = true;
  }
  if (status == FARO_OK) finish(&s);
  faro_eliminator_destroy(s.learner);
  faro_env_destroy(s.env);
  faro_arena_free(&s.arena);
  return status;
}

/* DPE-FixedU (Li, Zhou & Ji 2022, section 7) uses as much communication as growing clients do. The
 * growing run is played first, on the same instance, and the number of clients is corrected until
 * the fixed run sends as much, within five per cent (or comes nearest to it). This is for
 * experiments only: the number depends on the growing run, so no claim is proven. */
static faro_status play_fixed(const faro_turn *turn, faro_error *error) {
  faro_play_record growing = {0};
  faro_status status = play_with(turn, 0, &growing, error);
  double clients = ceil(growing.users / fmax(1, growing.updates));
  double nearest = INFINITY;
  for (int turns = 0; status == FARO_OK && nearest >= 0.05 && turns < 8; turns++) {
    faro_play_record fixed = {0};
    status = play_with(turn, (uint64_t)fmax(2, clients), &fixed, error);
    const double ratio = fixed.sent > 0 ? growing.sent / fixed.sent : 1;
    if (fabs(log(ratio)) < nearest) *turn->record = fixed;
    nearest = fmin(nearest, fabs(log(ratio)));
    clients = fmax(2, round(clients * ratio));
  }
  return status;
}

static bool fixes_clients(const faro_cell *cell) {
  const faro_eliminator_settings *own = cell->learner_own;
  return own->clients == FARO_CLIENTS_FIXED && faro_eliminator_kind_asks_clients(cell->learner);
}

static faro_status play(const faro_turn *turn, faro_error *error) {
  return fixes_clients(turn->cell) ? play_fixed(turn, error) : play_with(turn, 0, turn->record, error);
}

/* Before the first instance. */

/* The release of a phase of `users` users, each of whom brings one number; a client brings
 * several. */
static faro_status sample(const faro_cell *cell, uint64_t users, faro_release **release, faro_error *error) {
  faro_contribution contribution;
  faro_release_params params = faro_cell_release(cell);
  params.horizon = params.batch = params.crowd = users;
  params.secret = keeps_secret(cell);
  const faro_status status = faro_contribution_values(
      &contribution, faro_eliminator_kind_asks_clients(cell->learner) ? 2 : 1, false, error);
  return status == FARO_OK
             ? faro_release_create(release, cell->release, &contribution, &params, faro_source_none(), error)
             : status;
}

/* Eliminators are for users who come once, within a known horizon. */
static faro_status check(const faro_cell *cell, faro_error *error) {
  const char *name = cell->learner->name;
  if (cell->settings.level != FARO_LEVEL_EVENT)
    return faro_fail(error, FARO_INVALID, "level must be event for learner %s, whose users come once", name);
  if (cell->settings.anytime)
    return faro_fail(error, FARO_INVALID, "anytime must be false for learner %s", name);
  if (faro_cell_facts(cell).low == 0 && cell->settings.dimension == 2)
    return faro_fail(
        error, FARO_INVALID,
        "draw must be sphere or ball for learner %s in dimension 2, where the other draws have only two arms",
        name);
  return FARO_OK;
}

/* The more users a phase has, the less noise their messages need, so the largest phase bounds all
 * of them. The bits of a user are rounded up, which is not quite monotone. */
static void imply_local(faro_cell *cell, const faro_claim *largest) {
  const bool bits = cell->release == &faro_release_shuffle_bits;
  cell->claim.local_epsilon = bits ? 0 : largest->local_epsilon;
  cell->claim.local_delta = bits ? 0 : largest->local_delta;
}

/* The largest phase must be possible too. The numbers in the claim's text are those of a phase of
 * 1000 users. */
static faro_status rehearse(faro_cell *cell, faro_error *error) {
  faro_release *release = NULL;
  faro_status status = check(cell, error);
  if (status == FARO_OK) status = sample(cell, cell->settings.horizon, &release, error);
  if (status != FARO_OK) return status;
  const faro_claim largest = *faro_release_claim(release);
  faro_cell_ground(cell, faro_release_grounds(release));
  faro_release_destroy(release);
  release = NULL;
  status = sample(cell, 1000, &release, error);
  if (status != FARO_OK) return status;
  cell->claim = *faro_release_claim(release);
  imply_local(cell, &largest);
  cell->cost = faro_release_cost(release);
  if (fixes_clients(cell) && cell->claim.trust != FARO_TRUST_NONE)
    cell->claim = faro_claim_make(cell->claim.epsilon, cell->claim.delta, cell->claim.trust, false,
                                  "the number of clients was taken from the data");
  faro_cell_ground(cell, faro_release_grounds(release));
  const size_t used = strlen(cell->claim.by);
  if (cell->claim.trust != FARO_TRUST_NONE && !fixes_clients(cell))
    snprintf(cell->claim.by + used, sizeof cell->claim.by - used, " (a phase of 1000 users)");
  faro_release_destroy(release);
  return FARO_OK;
}

static const char *needs(const faro_learner_kind *learner) {
  return faro_eliminator_kind_asks_clients(learner) ? "a population of clients"
                                                    : "linear rewards of users and arms that stay";
}

static bool suits(const faro_learner_kind *learner, const faro_env_kind *env) {
  return (env->traits & FARO_ENV_STAYS) &&
         faro_eliminator_kind_asks_clients(learner) == ((env->traits & FARO_ENV_POPULATION) != 0);
}

/* Every phase has a release of one batch, so releases that connect batches cannot be used. */
static bool takes(const faro_learner_kind *learner, const faro_release_kind *release) {
  (void)learner;
  return release->phases;
}

const faro_loop faro_loop_eliminator = {
    .protocol = FARO_PROTOCOL_ELIMINATOR,
    .needs = needs,
    .suits = suits,
    .takes = takes,
    .rehearse = rehearse,
    .play = play,
};
