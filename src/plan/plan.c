/* plan: see the header. Ways are listed (ways.c), played thinned on a few instances (crew.c), and
 * those that may be best on more of them. All of them play the same instances, so they are compared
 * in pairs. What is printed of the best comes from fresh instances: on those that chose them they
 * were lucky too. */
#include <faro/plan.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/crew.h"
#include "sim/interval.h"

enum {
  FIRST = 4,     /* instances on which every way is played, or a quarter of all */
  LEAST = 8,     /* instances of the ways that may be best, */
  MOST = 64,     /* as many as time allows */
  FINALISTS = 3, /* of a trust model, and the cheapest that is as good */
  SCHEDULES = 7, /* tried beside the one that a release chooses */
  STEPS = 14,    /* numbers of users tried at most, to learn half */
  FRESH = 1000,  /* number of the first fresh instance */
  SIMULATED = 8, /* instances of a full simulation */
  GROUPS = FARO_TRUST_CONCURRENT + 1
};

/* Typical error of a prediction, as a factor, beside chance; with few users, and where users add
 * the noise, more. docs/plan.md. */
static const double ERROR_USUAL = 1.08;
static const double ERROR_ROUGH = 1.25;
static const double USERS_FEW = 1e4;
/* Ways that may be best: those within this factor of the best so far. */
static const double NEAR = 1.25;
static const double USERS_MOST = 1e9;

typedef struct planner {
  const faro_problem *problem;
  const faro_advice_options *options;
  plan_list *list;
  plan_crew crew;
  size_t planned; /* progress at the end of this stage */
  double uniform;
} planner;

/* The problem. */

static faro_status check_count(const char *name, double value, double least, double most, faro_error *error) {
  if (value >= least && value <= most) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "%s must be %.0f .. %.0f (got %.0f)", name, least, most, value);
}

static faro_status check_budget(const faro_problem *p, faro_error *error) {
  if (!(p->epsilon >= 1e-4 && p->epsilon <= 1000))
    return faro_fail(error, FARO_INVALID, "epsilon must be 0.0001 .. 1000 (got %g)", p->epsilon);
  if (!(p->delta >= 1e-15 && p->delta < 1))
    return faro_fail(error, FARO_INVALID, "delta must be at least 1e-15 and below 1 (got %g)", p->delta);
  if (!(p->honest >= 0 && p->honest <= 1))
    return faro_fail(error, FARO_INVALID, "honest must be 0 (0.9) .. 1 (got %g)", p->honest);
  return FARO_OK;
}

static faro_status check_kind(const faro_problem *p, faro_error *error) {
  if (p->contexts != FARO_CONTEXTS_FRESH && p->contexts != FARO_CONTEXTS_FIXED &&
      p->contexts != FARO_CONTEXTS_ADVERSARIAL)
    return faro_fail(error, FARO_INVALID, "contexts must be fresh, fixed or adversarial");
  if (p->rewards != FARO_LINK_LINEAR && p->rewards != FARO_LINK_LOGISTIC && p->rewards != FARO_LINK_PROBIT)
    return faro_fail(error, FARO_INVALID, "rewards must be linear, logistic or probit");
  if (p->trusts & ~((1U << GROUPS) - 2))
    return faro_fail(error, FARO_INVALID, "trusts must be a sum of trust models, without none (got %u)",
                     p->trusts);
  return FARO_OK;
}

static faro_status check(const faro_problem *p, faro_error *error) {
  faro_status status = check_count("users", (double)p->users, 100, USERS_MOST, error);
  if (status == FARO_OK) status = check_count("dimension", (double)p->dimension, 2, 200, error);
  if (status == FARO_OK) status = check_count("arms", (double)p->arms, 2, 100000, error);
  if (status == FARO_OK) status = check_count("contributions", (double)p->contributions, 0, 1000, error);
  if (status == FARO_OK) status = check_count("shufflers", (double)p->shufflers, 0, 20, error);
  if (status == FARO_OK)
    status = check_count("arms x dimension", (double)p->arms * (double)p->dimension, 4, 1e6, error);
  if (status == FARO_OK) status = check_budget(p, error);
  return status == FARO_OK ? check_kind(p, error) : status;
}

/* Playing. */

static double rounds_of(const faro_problem *p) {
  const double size = (double)p->arms * (double)p->dimension;
  return p->contexts == FARO_CONTEXTS_FIXED ? 4000 : fmin(4000, fmax(1200, 1e6 / size));
}

/* Whether all are played, since that takes hardly longer. */
static bool plays_all(const faro_problem *p) { return (double)plan_rounds(p) <= 2 * rounds_of(p); }

/* How many people are played in each batch; 0: all. Rounds are dear where arms are drawn for every
 * user. */
static uint64_t thin_of(const faro_problem *p, const faro_cell *cell) {
  if (plays_all(p)) return 0;
  return (uint64_t)fmax(8, rounds_of(p) / (double)(cell->batches > 0 ? cell->batches : 1));
}

/* Instances that take about a fifth of a second, by a rough count of operations: the clock would
 * give other advice on another machine. */
static size_t instances_of(const planner *r) {
  const faro_problem *p = r->problem;
  const double size = (double)p->arms * (double)p->dimension;
  const double d = (double)p->dimension;
  const double rounds = plays_all(p) ? (double)plan_rounds(p) : rounds_of(p);
  const double each = p->contexts == FARO_CONTEXTS_FIXED ? 1e-6 + 1e-9 * size : 1e-6 + 6e-9 * size;
  const double seconds = rounds * each + 30 * d * d * d * 2e-8;
  if (r->options->instances > 0) return r->options->instances;
  if (r->options->simulate) return SIMULATED;
  return (size_t)fmin(MOST, fmax(LEAST, 0.2 / seconds));
}

static void set_thin(const planner *r) {
  for (size_t i = 0; i < r->list->count; i++) {
    faro_cell *cell = plan_cell(&r->list->way[i]);
    cell->thin = r->options->simulate ? 0 : thin_of(r->problem, cell);
  }
}

static double mean_over(const plan_way *w, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += w->regret[i];
  return sum / (double)count;
}

static double mean_of(const plan_way *w) { return mean_over(w, w->played); }

/* Half of the 95 % interval of a way's mean, over the mean. */
static double spread_of(const plan_way *w) {
  const double n = (double)w->played;
  const double mean = mean_of(w);
  double square = 0;
  for (size_t i = 0; i < w->played; i++) square += pow(w->regret[i] - mean, 2);
  return w->played > 1 ? faro_student(n - 1) * sqrt(square / (n - 1) / n) / mean : 1;
}

/* The trust model under which a way is ranked: where there are several shufflers, one of them is a
 * choice too. */
static faro_trust group_of(const faro_problem *p, const faro_way *way) {
  const bool one = p->trusts && !(p->trusts >> FARO_TRUST_SHUFFLE & 1) && way->trust == FARO_TRUST_SHUFFLE;
  return one ? FARO_TRUST_CONCURRENT : way->trust;
}

/* Progress: a stage has `count` instances at most, and what it leaves out counts as done. */
static void begin_stage(planner *r, size_t count) {
  r->crew.done = r->planned;
  r->planned += count;
}

static size_t first_of(const planner *r) {
  const size_t quarter = instances_of(r) / 4;
  if (quarter > FIRST) return quarter;
  return instances_of(r) < FIRST ? instances_of(r) : FIRST;
}

static size_t groups_of(const planner *r) {
  unsigned seen = 0;
  size_t groups = 0;
  for (size_t i = 0; i < r->list->count; i++) seen |= 1U << group_of(r->problem, &r->list->way[i].way);
  for (; seen > 0; seen >>= 1) groups += seen & 1;
  return groups;
}

static size_t finalists_most(const planner *r) { return groups_of(r) * (FINALISTS + 1); }

static faro_status play_first(planner *r, faro_error *error) {
  plan_way *all[PLAN_WAYS];
  const size_t until = first_of(r);
  set_thin(r);
  for (size_t i = 0; i < r->list->count; i++) all[i] = &r->list->way[i];
  begin_stage(r, r->list->count * until);
  return plan_crew_play(&r->crew, all, r->list->count, until, error);
}

/* How many ways of the same group are better. */
static size_t rank_of(const planner *r, const plan_way *w) {
  size_t better = 0;
  for (size_t i = 0; i < r->list->count; i++) {
    const plan_way *other = &r->list->way[i];
    const size_t common = other->played < w->played ? other->played : w->played;
    better += group_of(r->problem, &other->way) == group_of(r->problem, &w->way) &&
              mean_over(other, common) < mean_over(w, common);
  }
  return better;
}

/* The way of a group with the least mean, of those that were played most often. */
static plan_way *best_of(const planner *r, faro_trust group) {
  plan_way *best = NULL;
  for (size_t i = 0; i < r->list->count; i++) {
    plan_way *w = &r->list->way[i];
    if (group_of(r->problem, &w->way) != group) continue;
    if (!best || w->played > best->played || (w->played == best->played && mean_of(w) < mean_of(best)))
      best = w;
  }
  return best;
}

/* How much more a way regrets than another on the first n instances, which both played, and the
 * standard error. */
typedef struct loss {
  double mean, error;
} loss;

static loss loss_of(const plan_way *w, const plan_way *other, size_t n) {
  const double mean = mean_over(w, n) - mean_over(other, n);
  double square = 0;
  for (size_t i = 0; i < n; i++) square += pow(w->regret[i] - other->regret[i] - mean, 2);
  return (loss){mean, n > 2 ? sqrt(square / (double)((n - 1) * n)) : (double)INFINITY};
}

/* Whether a way shows no difference to the best: within a twentieth, or within a tenth where the
 * paired 95 % interval contains 0. */
static bool is_as_good(const plan_way *w, const plan_way *best) {
  const size_t n = w->played;
  const loss l = loss_of(w, best, n);
  const bool unseen = n > 2 && l.mean < faro_student((double)n - 1) * l.error;
  return l.mean < (unseen ? 0.1 : 0.05) * mean_over(best, n);
}

static bool is_cheaper(const faro_way *a, const faro_way *b) {
  return a->shufflers != b->shufflers ? a->shufflers < b->shufflers : a->bytes < b->bytes;
}

/* Of the ways of a group that are as good as the best: the one with the fewest shufflers, and then
 * the fewest bytes. */
static plan_way *choice_of(const planner *r, faro_trust group) {
  const plan_way *best = best_of(r, group);
  plan_way *choice = best_of(r, group);
  for (size_t i = 0; i < r->list->count; i++) {
    plan_way *w = &r->list->way[i];
    if (group_of(r->problem, &w->way) != group || w->played < best->played) continue;
    if (is_as_good(w, best) && is_cheaper(&w->way, &choice->way)) choice = w;
  }
  return choice;
}

/* The ways that may be best: FINALISTS of every group, and its cheapest that is as good. */
static size_t list_finalists(const planner *r, plan_way **some) {
  size_t count = 0;
  for (size_t i = 0; i < r->list->count; i++) {
    plan_way *w = &r->list->way[i];
    if (rank_of(r, w) < FINALISTS || w == choice_of(r, group_of(r->problem, &w->way))) some[count++] = w;
  }
  return count;
}

static faro_status play_finalists(planner *r, faro_error *error) {
  plan_way *some[PLAN_WAYS];
  const size_t listed = list_finalists(r, some);
  size_t count = 0;
  for (size_t i = 0; i < listed; i++)
    if (mean_of(some[i]) < NEAR * mean_of(best_of(r, group_of(r->problem, &some[i]->way))))
      some[count++] = some[i];
  begin_stage(r, finalists_most(r) * (instances_of(r) - first_of(r)));
  return plan_crew_play(&r->crew, some, count, instances_of(r), error);
}

/* Plays the finalists on fresh instances and forgets the others: on the instances that chose them
 * they were lucky, too. Of the rest is known how much worse they were than the best. */
static faro_status play_fresh(planner *r, faro_error *error) {
  plan_way *some[PLAN_WAYS];
  const size_t count = list_finalists(r, some);
  for (size_t i = 0; i < r->list->count; i++) {
    plan_way *w = &r->list->way[i];
    const plan_way *best = best_of(r, group_of(r->problem, &w->way));
    w->reference = best;
    w->ratio = mean_of(w) / mean_over(best, w->played);
    w->spread = spread_of(w);
  }
  for (size_t i = 0; i < r->list->count; i++) r->list->way[i].played = 0;
  r->crew.first = FRESH;
  begin_stage(r, finalists_most(r) * instances_of(r));
  return plan_crew_play(&r->crew, some, count, instances_of(r), error);
}

/* Other schedules. */

static faro_status add_schedule(planner *r, faro_way way, double batch, double growth, double largest,
                                faro_error *error) {
  const double n = (double)plan_rounds(r->problem);
  way.automatic = false;
  way.growth = growth;
  way.largest = growth > 1 ? (uint64_t)largest : 0;
  way.batch = (uint64_t)fmax(2, fmin(batch, n / 3));
  return plan_list_add(r->list, r->problem, &way, error);
}

/* Schedules beside the one that the release chooses, for the best way of a group. */
static faro_status add_schedules(planner *r, const faro_way *best, faro_error *error) {
  static const double times[] = {0.25, 4};
  static const double batches[] = {5, 20, 60};
  const double n = (double)plan_rounds(r->problem);
  const bool grows = best->growth > 1;
  faro_status status = FARO_OK;
  for (size_t i = 0; status == FARO_OK && i < 2; i++)
    status =
        add_schedule(r, *best, times[i] * (double)best->batch, best->growth, (double)best->largest, error);
  for (size_t i = 0; status == FARO_OK && grows && i < 3; i++)
    status = add_schedule(r, *best, (double)best->batch, best->growth, n / batches[i], error);
  for (size_t i = 0; status == FARO_OK && !grows && i < 3; i++)
    status = add_schedule(r, *best, n / batches[i], 1, 0, error);
  if (status == FARO_OK && grows) status = add_schedule(r, *best, (double)best->batch, 1.2, n / 20, error);
  if (status == FARO_OK) status = add_schedule(r, *best, n / 200, 1, 0, error);
  return status;
}

/* Whether a way is better than another by a twentieth, and by more than chance explains. */
static bool beats(const plan_way *w, const plan_way *other) {
  const size_t n = w->played;
  const loss l = loss_of(other, w, n);
  return l.mean > 0.05 * mean_over(other, n) && l.mean > 2.5 * l.error;
}

static void swap(plan_way *a, plan_way *b) {
  const plan_way kept = *a;
  *a = *b;
  *b = kept;
}

/* Tries other schedules for the best way of each group, and keeps one that is clearly better. What
 * a release chooses by itself is preferred, so that it need not be written down. */
static faro_status refine(planner *r, faro_trust group, faro_error *error) {
  plan_way *some[PLAN_WAYS];
  plan_way *best = choice_of(r, group);
  const size_t before = r->list->count;
  if (!best) return FARO_OK;
  begin_stage(r, SCHEDULES * instances_of(r));
  const faro_way chosen = best->way;
  faro_status status = add_schedules(r, &chosen, error);
  set_thin(r);
  size_t count = 0;
  for (size_t i = before; i < r->list->count; i++) some[count++] = &r->list->way[i];
  const size_t few = first_of(r);
  if (status == FARO_OK) status = plan_crew_play(&r->crew, some, count, few, error);
  size_t promising = 0;
  for (size_t i = 0; i < count; i++)
    if (mean_over(some[i], few) < 0.96 * mean_over(best, few)) some[promising++] = some[i];
  if (status == FARO_OK) status = plan_crew_play(&r->crew, some, promising, best->played, error);
  for (size_t i = 0; status == FARO_OK && i < promising; i++)
    if (beats(some[i], best)) swap(some[i], best);
  while (r->list->count > before) plan_list_drop(r->list);
  return status;
}

/* Yardsticks. */

/* Regret of uniform play on the instances of a way. */
static faro_status find_uniform(planner *r, const plan_way *w, double *regret, faro_error *error) {
  const faro_env_params params = faro_cell_env(plan_cell(w));
  faro_env *env = NULL;
  const faro_status status = faro_env_create(&env, plan_cell(w)->env, &params, error);
  if (status != FARO_OK) return status;
  double sum = 0;
  for (size_t i = 0; i < w->played; i++)
    sum += faro_env_begin_measured(env, r->options->seed, r->crew.first + i).uniform;
  faro_env_destroy(env);
  *regret = sum / (double)w->played;
  return FARO_OK;
}

/* Instances for a number of users: the regret of each varies by a third or so, so that of 8 the
 * share that is learnt has an error of about 0.06 near a half. */
static size_t trials_of(const planner *r) {
  const size_t quarter = instances_of(r) / 4;
  if (r->options->instances > 0) return r->options->instances;
  return quarter > LEAST ? quarter : LEAST;
}

/* The share that a way would learn with more users. */
static faro_status learnt_with(planner *r, const faro_way *way, double users, double *learnt,
                               faro_error *error) {
  faro_problem larger = *r->problem;
  faro_way automatic = *way;
  larger.users = (uint64_t)users;
  automatic.automatic = true;
  plan_list *list = calloc(1, sizeof *list);
  if (!list) return faro_fail(error, FARO_MEMORY, "cannot allocate a list of ways");
  faro_status status = plan_list_add(list, &larger, &automatic, error);
  *learnt = 0;
  if (status == FARO_OK && list->count > 0) {
    plan_way *only = &list->way[0];
    double uniform = 0;
    plan_cell(only)->thin = thin_of(&larger, plan_cell(only));
    status = plan_crew_play(&r->crew, &only, 1, trials_of(r), error);
    if (status == FARO_OK) status = find_uniform(r, only, &uniform, error);
    if (status == FARO_OK) *learnt = 1 - mean_of(only) / uniform;
  }
  plan_list_clear(list);
  free(list);
  return status;
}

/* With how many users half of the possible would be learnt: steps of four, then halving twice, so
 * within a fifth. */
static faro_status find_needed(planner *r, faro_way *way, faro_error *error) {
  double low = (double)r->problem->users;
  double high = low;
  double learnt = 0;
  faro_status status = FARO_OK;
  while (status == FARO_OK && learnt < 0.5 && high * 4 <= USERS_MOST) {
    low = high;
    high *= 4;
    status = learnt_with(r, way, high, &learnt, error);
  }
  if (status != FARO_OK || learnt < 0.5) return status;
  for (int i = 0; status == FARO_OK && i < 2; i++) {
    const double middle = sqrt(low * high);
    status = learnt_with(r, way, middle, &learnt, error);
    *(learnt < 0.5 ? &low : &high) = middle;
  }
  way->needed = (uint64_t)high;
  return status;
}

/* The answer. */

static double error_of(const planner *r, const faro_way *way) {
  if (r->options->simulate || plays_all(r->problem)) return 1;
  const bool rough = way->trust == FARO_TRUST_LOCAL || (double)r->problem->users < USERS_FEW;
  return rough ? ERROR_ROUGH : ERROR_USUAL;
}

static void judge(const planner *r, plan_way *w) {
  const bool fresh = w->played > 0;
  w->way.error = error_of(r, &w->way);
  const double expected = fresh ? mean_of(w) : mean_of(w->reference) * w->ratio;
  const double chance = fresh ? spread_of(w) : w->spread;
  const double spread = hypot(chance, 1.96 * log(w->way.error));
  w->way.regret =
      (faro_expected){.mean = expected, .low = expected * exp(-spread), .high = expected * exp(spread)};
  w->way.learnt = 1 - expected / r->uniform;
}

static int place_of(faro_trust trust) {
  static const int place[] = {[FARO_TRUST_NONE] = 0,
                              [FARO_TRUST_JOINT] = 1,
                              [FARO_TRUST_SHUFFLE] = 2,
                              [FARO_TRUST_CONCURRENT] = 3,
                              [FARO_TRUST_LOCAL] = 4};
  return place[trust];
}

/* By group; within it the choice first, and then by regret. */
static bool comes_before(const planner *r, const faro_way *a, const faro_way *b) {
  const int one = place_of(group_of(r->problem, a));
  const int other = place_of(group_of(r->problem, b));
  if (one != other) return one < other;
  return a->chosen != b->chosen ? a->chosen : a->regret.mean < b->regret.mean;
}

static faro_status make_advice(planner *r, faro_advice **advice, faro_error *error) {
  const size_t count = r->list->count;
  faro_advice *made = calloc(1, sizeof *made);
  faro_way *way = calloc(count, sizeof *way);
  if (!made || !way) {
    free(made);
    free(way);
    return faro_fail(error, FARO_MEMORY, "cannot allocate the advice");
  }
  *made = (faro_advice){.way = way,
                        .count = count,
                        .uniform = r->uniform,
                        .rounds = plan_rounds(r->problem),
                        .refused = r->list->refused};
  memcpy(made->refusal, r->list->refusal, sizeof made->refusal);
  for (size_t i = 0; i < count; i++) {
    size_t at = i;
    while (at > 0 && comes_before(r, &r->list->way[i].way, &way[at - 1])) at--;
    made->error = fmax(made->error, r->list->way[i].way.error);
    memmove(way + at + 1, way + at, (i - at) * sizeof *way);
    way[at] = r->list->way[i].way;
    r->list->way[i].way.experiment = NULL; /* the advice owns it now */
  }
  *advice = made;
  return FARO_OK;
}

static faro_status find_yardsticks(planner *r, faro_error *error) {
  faro_status status = FARO_OK;
  const plan_way *most = &r->list->way[0];
  begin_stage(r, groups_of(r) * STEPS * trials_of(r));
  for (size_t i = 0; i < r->list->count; i++)
    if (r->list->way[i].played > most->played) most = &r->list->way[i];
  status = find_uniform(r, most, &r->uniform, error);
  for (size_t i = 0; status == FARO_OK && i < r->list->count; i++) judge(r, &r->list->way[i]);
  for (int g = 0; status == FARO_OK && g < GROUPS; g++) {
    plan_way *choice = choice_of(r, (faro_trust)g);
    if (!choice) continue;
    choice->way.chosen = true;
    if (choice->way.learnt < 0.5) status = find_needed(r, &choice->way, error);
  }
  return status;
}

/* Instances that all stages play at most. */
static size_t plays_most(const planner *r) {
  const size_t few = first_of(r);
  const size_t schedules = r->options->simulate ? 0 : groups_of(r) * SCHEDULES * instances_of(r);
  return r->list->count * few + finalists_most(r) * (2 * instances_of(r) - few) + schedules +
         groups_of(r) * STEPS * trials_of(r);
}

static faro_status advise(planner *r, faro_advice **advice, faro_error *error) {
  faro_status status = plan_list_fill(r->list, r->problem, error);
  if (status == FARO_OK && r->list->count == 0)
    return faro_fail(error, FARO_INVALID, "no release reaches this guarantee: %s", r->list->refusal);
  r->crew.total = plays_most(r);
  if (status == FARO_OK) status = play_first(r, error);
  if (status == FARO_OK) status = play_finalists(r, error);
  for (int g = 0; status == FARO_OK && !r->options->simulate && g < GROUPS; g++)
    status = refine(r, (faro_trust)g, error);
  if (status == FARO_OK) status = play_fresh(r, error);
  if (status == FARO_OK) status = find_yardsticks(r, error);
  return status == FARO_OK ? make_advice(r, advice, error) : status;
}

faro_status faro_advise(faro_advice **advice, const faro_problem *problem, const faro_advice_options *options,
                        faro_error *error) {
  faro_advice_options filled = options ? *options : (faro_advice_options){0};
  if (filled.seed == 0) filled.seed = 1;
  if (filled.instances > PLAN_INSTANCES)
    return faro_fail(error, FARO_INVALID, "instances must be at most %d (got %zu)", PLAN_INSTANCES,
                     filled.instances);
  faro_status status = check(problem, error);
  if (status != FARO_OK) return status;
  plan_list *list = calloc(1, sizeof *list);
  if (!list) return faro_fail(error, FARO_MEMORY, "cannot allocate a list of ways");
  planner r = {.problem = problem, .options = &filled, .list = list, .crew = {.options = &filled}};
  status = advise(&r, advice, error);
  plan_list_clear(list);
  free(list);
  return status;
}

void faro_advice_destroy(faro_advice *advice) {
  if (!advice) return;
  for (size_t i = 0; i < advice->count; i++) free(advice->way[i].experiment);
  free(advice->way);
  free(advice);
}
