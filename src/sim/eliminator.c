/* eliminator: the loop for learners that eliminate arms.
 *
 *   plan --(pulls, or clients)--> rewards --a release for this phase--> private sums --> drop arms
 *
 * At event level the users of different phases, and of different arms, are different people, so
 * each release has the whole budget; at user level a user's releases share it, and a gate keeps
 * count (docs/privacy.md, Phases). Clients of a population are sampled without replacement over the
 * whole run. When the population runs out, nobody is asked any more, and the arm that looks best is
 * played to the end. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <faro/gate.h>

#include "privacy/claim.h"
#include "release/many.h"

#include "sim/loop.h"

typedef struct table {
  const faro_cell *cell;
  faro_env *env;
  faro_eliminator *learner;
  faro_arena arena;
  faro_heard *heard; /* one per arm of the plan */
  double *value;     /* a client's report */
  uint64_t *left;    /* pulls of each arm that are not assigned yet */
  faro_gate *gate;   /* NULL: everybody may contribute */
  uint64_t sums;     /* batches so far, for the gate */
  faro_sim_rng noise, order, visitor;
  faro_play_record *record;
  uint64_t rounds, horizon; /* rounds played, and all rounds */
  uint64_t mark[FARO_CURVE_POINTS];
  size_t marks, marked;
  double regret, low;
  double bytes, sent, posted; /* sent: bits, by all users; posted: messages to a shuffler */
  uint64_t users, asked;      /* users who contributed; clients ever sampled */
  uint64_t refused;           /* rounds of users whose data may not be used */
} table;

static bool samples(const faro_cell *cell) { return cell->env->traits & FARO_ENV_POPULATION; }

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

/* The parameters of a release of one batch, mixed with `crowd` users in total. A user's rounds may
 * be in several such releases, as with anytime. */
static faro_release_params batch_params(const faro_cell *cell, uint64_t users, uint64_t crowd) {
  faro_release_params params = faro_cell_release(cell);
  params.horizon = params.batch = users;
  params.crowd = crowd;
  params.anytime = params.contributions > 1;
  params.secret = keeps_secret(cell);
  return params;
}

/* A release of one batch: `count` numbers from each of `users` users. */
static faro_status make_batch(const faro_cell *cell, size_t count, uint64_t users, uint64_t crowd,
                              faro_source source, faro_release **release, faro_error *error) {
  faro_contribution contribution;
  const faro_release_params params = batch_params(cell, users, crowd);
  const faro_status status = faro_contribution_values(&contribution, count, false, error);
  return status == FARO_OK
             ? faro_release_create(release, cell->release, &contribution, &params, source, error)
             : status;
}

/* The release of one phase, or of one of its arms. */
static faro_status make_release(table *s, size_t count, uint64_t users, uint64_t crowd,
                                faro_release **release, faro_error *error) {
  const faro_status status =
      make_batch(s->cell, count, users, crowd, faro_source_simulated(&s->noise), release, error);
  if (status != FARO_OK || !s->cell->claim.proven || faro_release_claim(*release)->proven) return status;
  (void)faro_fail(error, FARO_INVALID, "the claim of a phase of %llu users is not proven: %s",
                  (unsigned long long)users, faro_release_claim(*release)->by);
  faro_release_destroy(*release);
  return FARO_INVALID;
}

static double to_unit(const table *s, double reward) { return (reward - s->low) / (1 - s->low) - 0.5; }

/* What is public about entry `i` of the sums over `count` users: their noise, in units of
 * rewards. */
static faro_heard noise_of(double wide, const faro_release *release, size_t i, double count) {
  const faro_noise noise = faro_release_noise(release);
  const double scale = noise.scale ? noise.scale[i] : 0;
  return (faro_heard){.count = count,
                      .scale = noise.laplace > 0 ? 0 : wide * scale,
                      .laplace = wide * noise.laplace,
                      .summands = noise.summands};
}

/* Converts entry `i` of the released sums, over `count` users, back to rewards. */
static faro_heard hear(const table *s, const faro_release *release, size_t i, double count) {
  const double wide = 1 - s->low;
  faro_heard heard = noise_of(wide, release, i, count);
  heard.scale = heard.laplace > 0 ? 0 : wide * faro_release_scale(release, i);
  heard.sum = wide * (faro_release_statistics(release).sum[i] + count / 2) + s->low * count;
  return heard;
}

static uint64_t total_of(const faro_plan *plan) {
  uint64_t total = 0;
  for (size_t i = 0; i < plan->support; i++) total += plan->pulls[i];
  return total;
}

/* All arms get the noise of one with the mean number of pulls: close enough to choose a plan by,
 * and one release to calibrate instead of many. */
faro_status faro_cell_preview(const void *context, const faro_plan *plan, faro_heard *heard,
                              faro_error *error) {
  const faro_cell *cell = context;
  const bool clients = plan->clients > 0;
  const uint64_t total = clients ? plan->clients : total_of(plan);
  const uint64_t users = clients ? total : (total + plan->support - 1) / plan->support;
  faro_release *release = NULL;
  const faro_status status =
      make_batch(cell, clients ? plan->support : 1, users, total, faro_source_none(), &release, error);
  if (status != FARO_OK) return status;
  const double wide = 1 - faro_cell_facts(cell).low;
  for (size_t i = 0; i < plan->support; i++)
    heard[i] = noise_of(wide, release, 0, (double)(clients ? total : plan->pulls[i]));
  faro_release_destroy(release);
  return FARO_OK;
}

static void count_cost(table *s, const faro_release *release, uint64_t users) {
  s->bytes += (double)users * faro_release_cost(release).bytes;
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

/* Rewards of two values are the ends of the interval, and are only counted if their order does not
 * matter. */
static void pull(table *s, faro_release *release, size_t arm, uint64_t times) {
  if (faro_env_counts_pulls(s->env) && faro_release_adds(release)) {
    const faro_env_rewards rewards = faro_env_pull_times(s->env, arm, times);
    faro_release_absorb_ends(release, rewards.high, rewards.low);
    return;
  }
  for (uint64_t u = 0; u < times; u++) {
    const double unit = to_unit(s, faro_env_pull(s->env, arm));
    (void)faro_release_absorb(release, &unit, 0);
  }
}

/* Every pull is a user: one private sum per arm. */
static faro_status ask_users(table *s, const faro_plan *plan, uint64_t total, faro_error *error) {
  for (size_t i = 0; i < plan->support; i++) {
    faro_release *release = NULL;
    const faro_status status = make_release(s, 1, plan->pulls[i], total, &release, error);
    if (status != FARO_OK) return status;
    pull(s, release, plan->arm[i], plan->pulls[i]);
    s->heard[i] = hear(s, release, 0, (double)plan->pulls[i]);
    count_cost(s, release, plan->pulls[i]);
    faro_release_destroy(release);
  }
  return FARO_OK;
}

/* Who comes next may contribute, once to each batch, and as often as the claim allows. A refused
 * user plays the arm that looks best. The batch is that of the arm, or of the whole phase if the
 * shuffler assigns the actions. False if the rounds have run out first. */
static bool admit(table *s, uint64_t batch) {
  const double population = (double)s->cell->settings.population;
  while (s->gate && s->rounds < s->horizon) {
    const uint64_t user = (uint64_t)(population * faro_sim_uniform(&s->visitor));
    if (faro_gate_admit(s->gate, user, batch, NULL) == FARO_OK) return true;
    s->refused++;
    advance(s, faro_eliminator_best(s->learner), 1);
  }
  return s->rounds < s->horizon;
}

/* A shuffler that assigns the actions (Hanna et al. 2022, Alg. 3) draws a uniform order and does
 * not reveal it: the next arm is drawn in proportion to the pulls that each arm has left. */
static void play_assigned(table *s, const faro_plan *plan, uint64_t total) {
  for (size_t i = 0; i < plan->support; i++) s->left[i] = plan->pulls[i];
  for (; total > 0 && admit(s, s->sums); total--) {
    double place = faro_sim_uniform(&s->order) * (double)total;
    size_t i = 0;
    while (i + 1 < plan->support && place >= (double)s->left[i]) place -= (double)s->left[i++];
    while (s->left[i] == 0) i--; /* rounding error at the upper end */
    s->left[i]--;
    advance(s, plan->arm[i], 1);
  }
  s->sums++;
}

/* One arm after another. */
static void play_in_turn(table *s, const faro_plan *plan) {
  for (size_t i = 0; i < plan->support; i++, s->sums++) {
    if (!s->gate) advance(s, plan->arm[i], plan->pulls[i]);
    else
      for (uint64_t u = 0; u < plan->pulls[i] && admit(s, s->sums); u++) advance(s, plan->arm[i], 1);
  }
}

static void play_users(table *s, const faro_plan *plan) {
  if (s->cell->release->assigns) play_assigned(s, plan, total_of(plan));
  else play_in_turn(s, plan);
}

/* New clients of the population that the plan asks. */
static uint64_t needed(const table *s, const faro_plan *plan) {
  if (plan->clients > 0) return plan->clients;
  return samples(s->cell) && !plan->last ? total_of(plan) : 0;
}

/* Without a known horizon: doubles it until the phase fits, and, after a last plan, once more when
 * its rounds have been played. */
static faro_status extend(table *s, const faro_plan *plan, faro_error *error) {
  faro_status status = FARO_OK;
  const uint64_t pulls = plan->last ? 1 : total_of(plan);
  while (status == FARO_OK && s->cell->settings.anytime &&
         s->rounds + pulls > faro_eliminator_horizon(s->learner))
    status = faro_eliminator_extend(s->learner, error);
  return status;
}

/* The arm that looks best, up to the horizon that the learner knows. */
static faro_status play_last(table *s, const faro_plan *plan, faro_error *error) {
  const uint64_t known = faro_eliminator_horizon(s->learner);
  if (known > s->rounds) advance(s, plan->arm[0], known - s->rounds); /* refused users may have been more */
  return extend(s, plan, error);
}

/* A phase that the rounds are enough for. */
static faro_status learn(table *s, const faro_plan *plan, faro_error *error) {
  const uint64_t before = s->rounds;
  const uint64_t refused = s->refused;
  const uint64_t total = total_of(plan);
  faro_status status = extend(s, plan, error);
  if (status == FARO_OK && plan->clients > 0) status = ask_clients(s, plan, error);
  if (status != FARO_OK || plan->clients > 0)
    return status == FARO_OK ? faro_eliminator_hear(s->learner, s->heard, error) : status;
  play_users(s, plan);
  if (s->rounds - before - (s->refused - refused) < total) return FARO_OK; /* the horizon came first */
  if (samples(s->cell)) s->asked += total;
  status = ask_users(s, plan, total, error);
  return status == FARO_OK ? faro_eliminator_hear(s->learner, s->heard, error) : status;
}

/* Plays one phase; sets `over` if there is nothing more to learn. */
static faro_status play_phase(table *s, bool *over, faro_error *error) {
  const faro_plan *plan = NULL;
  const faro_status status = faro_eliminator_plan(s->learner, &plan, error);
  if (status != FARO_OK) return status;
  const uint64_t population = s->cell->settings.population;
  const bool exhausted = population > 0 && needed(s, plan) > population - s->asked;
  if (exhausted) {
    s->record->exhausted = (double)s->rounds + 1;
    advance(s, faro_eliminator_best(s->learner), s->horizon);
  } else if (plan->last) return play_last(s, plan, error);
  else if (total_of(plan) <= s->horizon - s->rounds) return learn(s, plan, error);
  else if (plan->clients > 0) play_in_turn(s, plan);
  else play_users(s, plan); /* the last phase ends with the horizon, and nothing is learned from it */
  *over = true;
  return FARO_OK;
}

/* Under a user-level claim, returning users pass the gate. Nobody returns to a sampled
 * population. */
static faro_status make_gate(table *s, faro_error *error) {
  const faro_settings *set = &s->cell->settings;
  if (!faro_cell_limits(s->cell) || samples(s->cell)) return FARO_OK;
  return faro_gate_create(&s->gate, set->population, set->contributions, error);
}

static faro_status init(table *s, const faro_turn *turn, uint64_t clients, faro_error *error) {
  const faro_env_params env = faro_cell_env(s->cell);
  faro_status status = faro_env_create(&s->env, s->cell->env, &env, error);
  if (status != FARO_OK) return status;
  faro_turn_begin(turn, s->env);
  faro_sim_open(&s->noise, turn->seed, turn->instance, FARO_ROLE_USER);
  faro_sim_open(&s->order, turn->seed, turn->instance, FARO_ROLE_ORDER);
  faro_sim_open(&s->visitor, turn->seed, turn->instance, FARO_ROLE_VISITOR);
  s->low = faro_cell_facts(s->cell).low;
  s->horizon = env.horizon;
  s->marks = faro_curve_rounds(env.horizon, s->mark);
  faro_eliminator_params params = faro_cell_eliminator(s->cell, faro_env_arms(s->env));
  params.clients = clients;
  status = faro_eliminator_create(&s->learner, s->cell->learner, &params, error);
  if (status == FARO_OK) status = make_gate(s, error);
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
  s->record->bytes = s->bytes;
  s->record->sent = s->sent;
  s->record->posted = s->posted;
  s->record->users = (double)s->users;
  s->record->refused = (double)s->refused / (double)s->horizon;
  s->record->blur = faro_env_error(s->env);
  s->record->lost = !faro_eliminator_holds(s->learner, faro_env_best(s->env));
}

/* Plays the instance with `clients` clients in each phase, or with a growing number if it is 0. */
static faro_status play_with(const faro_turn *turn, uint64_t clients, faro_play_record *record,
                             faro_error *error) {
  table s = {.cell = turn->cell, .record = record};
  faro_status status = init(&s, turn, clients, error);
  for (bool over = false; status == FARO_OK && !over;) {
    faro_turn_played(turn, s.rounds);
    status = faro_turn_stopped(turn) ? FARO_INTERRUPTED : play_phase(&s, &over, error);
    if (s.rounds == s.horizon) over = true;
  }
  if (status == FARO_OK) finish(&s);
  faro_eliminator_destroy(s.learner);
  faro_gate_destroy(s.gate);
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
  const size_t count = faro_eliminator_kind_asks_clients(cell->learner) ? 2 : 1;
  return make_batch(cell, count, users, users, faro_source_none(), release, error);
}

static faro_status check(const faro_cell *cell, faro_error *error) {
  const faro_settings *s = &cell->settings;
  const char *name = cell->learner->name;
  if (samples(cell) && s->contributions > 1)
    return faro_fail(error, FARO_INVALID,
                     "contributions must be 1 for learner %s in %s, whose clients are asked once (got %llu)",
                     name, cell->env->name, (unsigned long long)s->contributions);
  if (s->dimension == 2 && (s->draw == FARO_DRAW_APPENDED || s->draw == FARO_DRAW_PUBLISHED))
    return faro_fail(error, FARO_INVALID,
                     "draw must be sphere, ball or axes for learner %s in dimension 2, where the others have "
                     "only two arms",
                     name);
  return FARO_OK;
}

/* The more users a phase has, the less Laplace noise their messages need, so the largest phase
 * bounds all of them. Not so for bits, which are rounded up, and for releases that choose between
 * kinds of noise or numbers of directions. */
static void imply_local(faro_cell *cell, const faro_release *largest) {
  const faro_claim *claim = faro_release_claim(largest);
  const bool bounds = faro_release_noise(largest).laplace > 0 && !cell->settings.anytime;
  cell->claim.local_epsilon = bounds ? claim->local_epsilon : 0;
  cell->claim.local_delta = bounds ? claim->local_delta : 0;
}

/* The largest phase must be possible too. The numbers in the claim's text are those of a phase of
 * 1000 users. */
static faro_status rehearse(faro_cell *cell, faro_error *error) {
  faro_release *largest = NULL;
  faro_release *release = NULL;
  faro_status status = check(cell, error);
  if (status == FARO_OK) status = sample(cell, cell->settings.horizon, &largest, error);
  if (status == FARO_OK) status = sample(cell, 1000, &release, error);
  if (status != FARO_OK) {
    faro_release_destroy(largest);
    return status;
  }
  faro_cell_ground(cell, faro_release_grounds(largest));
  cell->claim = *faro_release_claim(release);
  imply_local(cell, largest);
  faro_release_destroy(largest);
  cell->cost = faro_release_cost(release);
  if (fixes_clients(cell) && cell->claim.trust != FARO_TRUST_NONE)
    cell->claim = faro_claim_make(cell->claim.epsilon, cell->claim.delta, cell->claim.trust, false,
                                  "the number of clients was taken from the data");
  faro_cell_ground(cell, faro_release_grounds(release));
  if (!fixes_clients(cell)) faro_claim_say(&cell->claim, " (a phase of 1000 users)");
  faro_release_destroy(release);
  return FARO_OK;
}

static const char *needs(const faro_learner_kind *learner) {
  return faro_eliminator_kind_asks_clients(learner) ? "a population of clients"
                                                    : "linear rewards and arms that stay";
}

static bool suits(const faro_learner_kind *learner, const faro_env_kind *env) {
  return (env->traits & FARO_ENV_STAYS) &&
         (!faro_eliminator_kind_asks_clients(learner) || (env->traits & FARO_ENV_POPULATION));
}

static const char *misfit(const faro_learner_kind *learner, const faro_env_kind *env) {
  const char *arms = faro_loop_misfit_arms(env);
  if (arms) return arms;
  if (env->link != FARO_LINK_LINEAR) return "it estimates arms by least squares, which is biased here";
  return faro_eliminator_kind_asks_clients(learner)
             ? "its clients report averages over a whole phase, and here a user plays one round"
             : "every phase estimates the same arms again, and here they change";
}

static bool takes(const faro_learner_kind *learner, const faro_release_kind *release) {
  (void)learner;
  return release->phases;
}

static const char *refusal(const faro_learner_kind *learner, const faro_release_kind *release) {
  (void)learner;
  (void)release;
  return "its noise is for running sums, and every phase is a batch by itself";
}

const faro_loop faro_loop_eliminator = {
    .protocol = FARO_PROTOCOL_ELIMINATOR,
    .needs = needs,
    .suits = suits,
    .misfit = misfit,
    .takes = takes,
    .refusal = refusal,
    .rehearse = rehearse,
    .play = play,
};
