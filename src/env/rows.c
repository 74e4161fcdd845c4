/* rows: people and rewards from a file (faro/rows.h), one row a round, in an order drawn by seed
 * and instance.
 *
 *   phi     a person's features, ||phi|| <= 1, p of them (data/features.h)
 *   x_a     features of arm a. block: phi in block a of `arms` blocks. shared: P_a phi, clipped,
 *           with a matrix P_a of d x p independent N(0, 1/d); or, if columns describe the arms, phi
 *           of the person's columns and the arm's own (data/offers.h)
 *   r_a     reward of arm a, scaled to [0, 1]: 1 for the right class; the column of the arm;
 *           logged: of the logged action alone
 *   theta   the linear policy fitted to the whole file: ridge regression with lambda = 1 on
 *           (x_a, r_a) of all rows and arms. It is a reference, never seen by a learner.
 *
 * Logged rows are replayed by rejection (Li et al. 2011, Theorem 1, for logs that were not
 * uniform): a row counts if the learner picks the logged action and a coin of probability
 * q / propensity says so, q being the least propensity of the file. Whatever the learner picks, a
 * row then counts with probability q, and those that count are distributed as if the learner had
 * been there. */
#include <math.h>
#include <string.h>

#include <faro/privacy.h>

#include "base/text.h"
#include "data/features.h"
#include "data/offers.h"
#include "data/table.h"
#include "env/kind.h"

typedef struct world {
  faro_env env;
  const faro_table *table;
  faro_layout layout;
  faro_features *features;
  faro_offers *offers;       /* shared: what columns say of each arm; NULL: nothing */
  faro_cursor *order, *file; /* what is played; all rows as they stand, for the fit */
  const faro_row *row;
  size_t p;
  double *phi;
  double *project; /* shared: P_a, one after the other */
  faro_spd *spd;
  double *gram;   /* packed; of phi (block) or of x (shared) */
  double *moment; /* sums of x_a r_a */
  double *got;    /* sums of r_a over the rows that were played */
  double played, linear;
  uint64_t counted, seen; /* rows that were played; and those that were offered */
} world;

static world *world_of(faro_env *env) { return (world *)(void *)env; }
static const faro_env_settings *own_of(const faro_env_params *p) { return p->settings; }
static bool is_logged(const faro_table *t) { return t->facts->form == FARO_ROWS_LOGGED; }

/* Components that fit, if each arm has a block. */
static size_t most_of(const faro_env_params *p) {
  const size_t fits = FARO_DIMENSION_MAX / p->table->facts->arms;
  return own_of(p)->layout != FARO_LAYOUT_BLOCK ? 0 : fits > 2 ? fits - 1 : 1;
}

static faro_features_params features_of(const faro_env_params *p, const faro_offers *offers) {
  const faro_env_settings *own = own_of(p);
  return (faro_features_params){.facts = offers ? &offers->facts : p->table->facts,
                                .scaling = (faro_scaling)own->scaling,
                                .ranges = own->ranges,
                                .components = (size_t)own->components,
                                .most = most_of(p)};
}

/* ---- settings */

#define X(id, text) text,
static const char *const formats[] = {FARO_ROWS_FORMAT_LIST(X) NULL};
static const char *const layouts[] = {FARO_LAYOUT_LIST(X) NULL};
static const char *const scalings[] = {FARO_SCALING_LIST(X) NULL};
#undef X
static const char *const automatic[] = {"auto", NULL};

#define AT(member) offsetof(faro_env_settings, member)
static const faro_setting settings[] = {
    {"file", FARO_SETTING_TEXT, AT(rows.file), 0, 0, 0, NULL,
     "rows only: a CSV or libsvm file with a row per person"},
    {"format", FARO_SETTING_CHOICE, AT(rows.format), 0, 0, FARO_ROWS_AUTO, formats,
     "rows only: what the file is; auto: by the end of its name, .csv, .svm or .libsvm"},
    {"label", FARO_SETTING_TEXT, AT(rows.label), 0, 0, 0, NULL,
     "rows only: the column with the right class; the reward is 1 for it"},
    {"classes", FARO_SETTING_TEXT, AT(rows.classes), 0, 0, 0, NULL,
     "rows only: the classes, or the logged actions; by default those of the file"},
    {"rewards", FARO_SETTING_TEXT, AT(rows.rewards), 0, 0, 0, NULL,
     "rows only: the columns with the reward of each arm; a name may end in *"},
    {"action", FARO_SETTING_TEXT, AT(rows.action), 0, 0, 0, NULL,
     "rows only: logged data: the column with the action that was played"},
    {"logged_reward", FARO_SETTING_TEXT, AT(rows.reward), 0, 0, 0, NULL,
     "rows only: logged data: the column with its reward"},
    {"propensity", FARO_SETTING_TEXT, AT(rows.propensity), 0, 0, 0, NULL,
     "rows only: logged data: the column with the probability of playing that action then"},
    {"person", FARO_SETTING_TEXT, AT(rows.person), 0, 0, 0, NULL,
     "rows only: the column that says who a row is about; by default nobody has two rows"},
    {"words", FARO_SETTING_TEXT, AT(rows.words), 0, 0, 0, NULL,
     "rows only: feature columns whose values are words; a name may end in *"},
    {"features", FARO_SETTING_TEXT, AT(rows.features), 0, 0, 0, NULL,
     "rows only: feature columns whose values are numbers; by default all columns without a role"},
    {"ignore", FARO_SETTING_TEXT, AT(rows.ignore), 0, 0, 0, NULL, "rows only: columns that are not used"},
    {"reward_low", FARO_SETTING_REAL, AT(rows.low), -1e9, 1e9, 0, NULL,
     "rows only: the least reward that the file may have"},
    {"reward_high", FARO_SETTING_REAL, AT(rows.high), -1e9, 1e9, 1, NULL,
     "rows only: the greatest reward that the file may have"},
    {"layout", FARO_SETTING_CHOICE, AT(layout), 0, 0, FARO_LAYOUT_BLOCK, layouts,
     "rows only: each arm has a block of features of its own, or arms share `dimension` random features"},
    {"scaling", FARO_SETTING_CHOICE, AT(scaling), 0, 0, FARO_SCALING_NONE, scalings,
     "rows only: what is known of the numbers' ranges: nothing; what ranges says; or, public: their ranges "
     "in "
     "the file, as the claim then says"},
    {"ranges", FARO_SETTING_TEXT, AT(ranges), 0, 0, 0, NULL,
     "rows only: with scaling declared: least..most of each number, or once for all"},
    {"components", FARO_SETTING_COUNT, AT(components), 1, 999, 0, automatic,
     "rows only: numbers that describe a person, besides a constant; auto: by the numbers of rows and arms"},
    {"memory", FARO_SETTING_COUNT, AT(memory), 0, 1e6, 512, NULL,
     "rows only: MiB; a file whose rows take more is read again in each instance, shuffled in blocks"},
    {0}};

/* ---- the file */

/* Rows that count in a replay: all but four standard deviations of those expected. */
static uint64_t replayed(const faro_table *t) {
  const double n = (double)t->facts->rows;
  const double q = t->least_propensity;
  return (uint64_t)fmax(0, floor(n * q - 4 * sqrt(n * q * (1 - q))));
}

static faro_status check_horizon(const faro_table *t, const faro_env_params *p, faro_error *error) {
  const uint64_t most = replayed(t);
  if (is_logged(t) && p->horizon > most)
    return faro_fail(
        error, FARO_INVALID,
        "horizon must be at most %llu (got %llu): %llu logged rows with a least propensity of %g "
        "replay about as many",
        (unsigned long long)most, (unsigned long long)p->horizon, (unsigned long long)t->facts->rows,
        t->least_propensity);
  if (p->horizon < 2)
    return faro_fail(error, FARO_INVALID, "horizon must be at least 2 (got %llu): the file has too few rows",
                     (unsigned long long)p->horizon);
  return FARO_OK;
}

static faro_status open_table(faro_env_params *p, faro_error *error) {
  const faro_env_settings *own = own_of(p);
  if (p->table) return FARO_OK;
  if (!own || !own->rows.file)
    return faro_fail(error, FARO_INVALID, "file must be given for rows: a CSV or libsvm file");
  return faro_table_open(&p->table, &own->rows, own->memory << 20, error);
}

static faro_status read_offers(const faro_env_params *p, faro_offers **offers, faro_error *error) {
  return own_of(p)->layout == FARO_LAYOUT_SHARED ? faro_offers_create(offers, p->table->rows, error)
                                                 : FARO_OK;
}

/* The dimension that follows from the file, if one does. Refuses wrong ranges now, and not when the
 * first instance begins. */
static faro_status set_dimension(faro_env_params *p, faro_error *error) {
  faro_offers *offers = NULL;
  faro_features *features = NULL;
  faro_status status = read_offers(p, &offers, error);
  if (status != FARO_OK) return status;
  const faro_features_params params = features_of(p, offers);
  status = faro_features_create(&features, &params, error);
  if (own_of(p)->layout == FARO_LAYOUT_BLOCK) p->dimension = p->arms * faro_features_count(&params);
  else if (offers) p->dimension = faro_features_count(&params);
  if (status == FARO_OK) faro_features_destroy(features);
  faro_offers_destroy(offers);
  return status;
}

static faro_status read_file(faro_env_params *p, faro_error *error) {
  faro_status status = open_table(p, error);
  if (status != FARO_OK) return status;
  const faro_table *t = p->table;
  p->arms = t->facts->arms;
  status = set_dimension(p, error);
  if (status != FARO_OK) return status;
  if (p->dimension > FARO_DIMENSION_MAX)
    return faro_fail(
        error, FARO_INVALID,
        "components must be at most %zu for %zu arms with a block each (got %zu): the dimension may "
        "be %d",
        FARO_DIMENSION_MAX / p->arms - 1, p->arms, p->dimension / p->arms - 1, FARO_DIMENSION_MAX);
  if (p->horizon == 0) p->horizon = is_logged(t) ? replayed(t) : t->facts->rows;
  p->population = t->visits > 1 || p->horizon > t->facts->rows ? t->people : 0;
  return check_horizon(t, p, error);
}

static faro_status check(const faro_env_rules *rules, const faro_env_params *p, faro_error *error) {
  (void)rules;
  if (!p->table) return faro_fail(error, FARO_INVALID, "file must be read before (faro_env_read)");
  if (p->arms != p->table->facts->arms)
    return faro_fail(error, FARO_INVALID, "arms must be those of the file, %zu (got %zu)",
                     p->table->facts->arms, p->arms);
  return faro_env_check_arms(p, error);
}

/* One row decides whether a replay uses it, and so to which batches all later rows go. */
static unsigned assumptions(const faro_env_params *p) {
  const bool ranges = own_of(p) && own_of(p)->scaling == FARO_SCALING_PUBLIC;
  if (!p->table) return FARO_ASSUMES_NOTHING;
  return (ranges ? FARO_ASSUMES_RANGES : 0) | (is_logged(p->table) ? FARO_ASSUMES_REPLAY : 0);
}

static faro_status once(const faro_env_params *p, faro_error *error) {
  const faro_table *t = p->table;
  if (!t || p->population == 0) return FARO_OK;
  if (t->visits > 1)
    return faro_fail(
        error, FARO_INVALID,
        "level must be user: one person has %llu rows, and level event protects only one of them",
        (unsigned long long)t->visits);
  return faro_fail(
      error, FARO_INVALID,
      "level must be user: horizon is %llu and the file has %llu rows, so people come more than once, "
      "and level event protects only one round of a person",
      (unsigned long long)p->horizon, (unsigned long long)t->facts->rows);
}

static void describe(const faro_env_params *p, faro_env_facts *facts) {
  const bool block = own_of(p) && own_of(p)->layout == FARO_LAYOUT_BLOCK;
  facts->norm = 1;
  facts->low = 0;
  facts->high = 1;
  facts->bound = block ? sqrt((double)p->arms) : 1;
  facts->blocks = block ? p->arms : 1;
  facts->logged = p->table && is_logged(p->table);
  facts->assumes = assumptions(p);
}

/* ---- making it */

static faro_status make_fit(world *w, faro_error *error) {
  const size_t d = w->env.params.dimension;
  const size_t side = w->layout == FARO_LAYOUT_BLOCK ? w->p : d;
  if (is_logged(w->table)) return FARO_OK;
  w->gram = faro_arena_alloc(&w->env.arena, faro_packed(side), sizeof *w->gram, error);
  w->moment = faro_arena_alloc(&w->env.arena, d, sizeof *w->moment, error);
  if (!w->gram || !w->moment) return FARO_MEMORY;
  const faro_status status = faro_spd_create(&w->spd, side, error);
  return status == FARO_OK ? faro_cursor_create(&w->file, w->table, false, error) : status;
}

static faro_status init(faro_env *env, faro_error *error) {
  world *w = world_of(env);
  faro_status status = read_offers(&env->params, &w->offers, error);
  if (status != FARO_OK) return status;
  const faro_features_params features = features_of(&env->params, w->offers);
  const size_t arms = env->params.arms;
  const bool block = own_of(&env->params)->layout == FARO_LAYOUT_BLOCK;
  w->table = env->params.table;
  w->layout = own_of(&env->params)->layout;
  w->p = faro_features_count(&features);
  if (block && env->params.dimension != arms * w->p)
    return faro_fail(error, FARO_INVALID, "dimension must be arms x features, %zu x %zu (got %zu)", arms,
                     w->p, env->params.dimension);
  if (w->offers && env->params.dimension != w->p)
    return faro_fail(error, FARO_INVALID, "dimension must be that of the features, %zu (got %zu)", w->p,
                     env->params.dimension);
  status = faro_env_make_arms(env, arms, error);
  if (status == FARO_OK) status = faro_features_create(&w->features, &features, error);
  if (status == FARO_OK) status = faro_cursor_create(&w->order, w->table, true, error);
  if (status == FARO_OK) status = make_fit(w, error);
  if (status != FARO_OK) return status;
  w->phi = faro_arena_alloc(&env->arena, w->p, sizeof *w->phi, error);
  w->got = faro_arena_alloc(&env->arena, arms, sizeof *w->got, error);
  w->project = faro_arena_alloc(&env->arena, block ? 1 : arms * env->params.dimension * w->p,
                                sizeof *w->project, error);
  return w->phi && w->got && w->project ? FARO_OK : FARO_MEMORY;
}

static void destroy(faro_env *env) {
  world *w = world_of(env);
  faro_features_destroy(w->features);
  faro_offers_destroy(w->offers);
  faro_cursor_destroy(w->order);
  faro_cursor_destroy(w->file);
  faro_spd_destroy(w->spd);
}

/* ---- a row as a round */

static double scaled(const faro_table *t, double reward) {
  return (reward - t->facts->low) / (t->facts->high - t->facts->low);
}

/* r_a of all arms. */
static void set_rewards(world *w, const faro_row *row) {
  double *mean = w->env.mean;
  const size_t arms = w->env.arms.count;
  for (size_t a = 0; a < arms; a++) mean[a] = 0;
  if (w->table->facts->form == FARO_ROWS_CLASSES) mean[row->arm] = 1;
  else if (is_logged(w->table)) mean[row->arm] = scaled(w->table, *row->reward);
  else
    for (size_t a = 0; a < arms; a++) mean[a] = scaled(w->table, row->reward[a]);
}

/* x_a = P_a phi, clipped. */
static void set_shared(world *w, size_t a) {
  const size_t d = w->env.arms.dimension;
  const size_t stride = w->env.arms.stride;
  const double *row = w->project + a * d * w->p;
  double square = 0;
  for (size_t i = 0; i < d; i++, row += w->p) {
    double x = 0;
    for (size_t j = 0; j < w->p; j++) x += row[j] * w->phi[j];
    w->env.arms.x[i * stride + a] = x;
    square += x * x;
  }
  for (size_t i = 0; square > 1 && i < d; i++) w->env.arms.x[i * stride + a] /= sqrt(square);
}

/* x_a = phi of the person's columns and the arm's. */
static void set_offer(world *w, const faro_row *row, size_t a) {
  faro_features_apply(w->features, faro_offers_row(w->offers, row->number, a), row->word, w->phi);
  for (size_t i = 0; i < w->p; i++) w->env.arms.x[i * w->env.arms.stride + a] = w->phi[i];
}

static void set_round(world *w, const faro_row *row) {
  const size_t arms = w->env.arms.count;
  const size_t stride = w->env.arms.stride;
  if (!w->offers) faro_features_apply(w->features, row->number, row->word, w->phi);
  for (size_t a = 0; a < arms; a++) {
    if (w->offers) set_offer(w, row, a);
    else if (w->layout == FARO_LAYOUT_SHARED) set_shared(w, a);
    else
      for (size_t i = 0; i < w->p; i++) w->env.arms.x[(a * w->p + i) * stride + a] = w->phi[i];
  }
  set_rewards(w, row);
  w->env.best = 1; /* the gap of an arm is what it lacks to the greatest reward */
  w->env.arms.version++;
}

static void next(faro_env *env) {
  world *w = world_of(env);
  w->row = faro_cursor_next(w->order, &env->context);
  env->user = w->row->person;
  w->seen++;
  set_round(w, w->row);
}

/* ---- the linear policy */

static void add_outer(double *gram, const double *x, size_t stride, size_t n) {
  for (size_t i = 0, k = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) gram[k++] += x[i * stride] * x[j * stride];
}

static void add_row(world *w) {
  const size_t arms = w->env.arms.count;
  const size_t stride = w->env.arms.stride;
  const size_t d = w->env.arms.dimension;
  if (w->layout == FARO_LAYOUT_BLOCK) add_outer(w->gram, w->phi, 1, w->p);
  for (size_t a = 0; a < arms; a++) {
    const double r = w->env.mean[a];
    if (w->layout == FARO_LAYOUT_SHARED) {
      add_outer(w->gram, w->env.arms.x + a, stride, d);
      for (size_t i = 0; i < d; i++) w->moment[i] += r * w->env.arms.x[i * stride + a];
    } else
      for (size_t i = 0; r != 0 && i < w->p; i++) w->moment[a * w->p + i] += r * w->phi[i];
  }
}

/* Rows between two questions whether to stop. */
enum { CHECKED = 1 << 14 };

static void fit(world *w) {
  const size_t d = w->env.arms.dimension;
  const size_t side = w->layout == FARO_LAYOUT_BLOCK ? w->p : d;
  if (is_logged(w->table)) return;
  memset(w->gram, 0, faro_packed(side) * sizeof *w->gram);
  memset(w->moment, 0, d * sizeof *w->moment);
  faro_cursor_begin(w->file, &w->env.context);
  for (uint64_t i = 0; i < w->table->facts->rows; i++) {
    if (i % CHECKED == 0 && w->env.params.stopped && w->env.params.stopped(w->env.params.context)) return;
    set_round(w, faro_cursor_next(w->file, &w->env.context));
    add_row(w);
  }
  for (size_t i = 0; i < side; i++) w->gram[faro_diagonal(i)] += 1;
  if (!faro_spd_factor(w->spd, w->gram)) return;
  for (size_t at = 0; at < d; at += side) faro_spd_solve(w->spd, w->moment + at, w->env.theta + at);
}

/* The arm that the fitted policy plays in this round. */
static size_t fitted_arm(const world *w) {
  size_t best = 0;
  double most = -INFINITY;
  for (size_t a = 0; a < w->env.arms.count; a++) {
    double value = 0;
    if (w->layout == FARO_LAYOUT_BLOCK)
      for (size_t i = 0; i < w->p; i++) value += w->env.theta[a * w->p + i] * w->phi[i];
    else
      for (size_t i = 0; i < w->env.arms.dimension; i++)
        value += w->env.theta[i] * w->env.arms.x[i * w->env.arms.stride + a];
    if (value <= most) continue;
    most = value;
    best = a;
  }
  return best;
}

/* ---- playing */

static void begin(faro_env *env) {
  world *w = world_of(env);
  const double sd = 1 / sqrt((double)env->params.dimension);
  faro_features_draw(w->features, &env->instance);
  for (size_t i = 0;
       w->layout == FARO_LAYOUT_SHARED && !w->offers && i < env->arms.count * env->params.dimension * w->p;
       i++)
    w->project[i] = sd * faro_sim_normal(&env->instance);
  fit(w);
  memset(w->got, 0, env->arms.count * sizeof *w->got);
  w->played = w->linear = 0;
  w->counted = w->seen = 0;
  faro_cursor_begin(w->order, &env->context);
  next(env);
}

static bool is_exhausted(const world *w) { return is_logged(w->table) && w->seen > w->table->facts->rows; }

static bool takes(faro_env *env, size_t arm) {
  world *w = world_of(env);
  if (!is_logged(w->table) || is_exhausted(w)) return true;
  const bool kept = faro_sim_uniform(&env->reward) * w->row->propensity < w->table->least_propensity;
  if (kept && w->row->arm == arm) return true;
  next(env);
  return false;
}

static void note(faro_env *env, size_t arm) {
  world *w = world_of(env);
  w->counted++;
  w->played += env->mean[arm];
  for (size_t a = 0; a < env->arms.count; a++) w->got[a] += env->mean[a];
  if (!is_logged(w->table)) w->linear += env->mean[fitted_arm(w)];
}

static faro_env_tally tally(const faro_env *env) {
  const world *w = (const world *)(const void *)env;
  const bool logged = is_logged(w->table);
  const double n = (double)w->counted;
  double sum = 0;
  double most = 0;
  for (size_t a = 0; a < env->arms.count; a++) {
    sum += w->got[a];
    most = fmax(most, w->got[a]);
  }
  return (faro_env_tally){.played = w->played / n,
                          .uniform = logged ? scaled(w->table, w->table->facts->uniform_reward)
                                            : sum / n / (double)env->arms.count,
                          .fixed = logged ? (double)NAN : most / n,
                          .linear = logged ? (double)NAN : w->linear / n,
                          .passed = logged ? 1 - n / (double)w->seen : 0,
                          .logged = logged ? scaled(w->table, w->table->facts->logged_reward) : (double)NAN};
}

static faro_status status_of(const faro_env *env, faro_error *error) {
  const world *w = (const world *)(const void *)env;
  if (is_exhausted(w))
    return faro_fail(
        error, FARO_INVALID,
        "horizon must be smaller (got %llu): all %llu logged rows were used, and %llu of them counted",
        (unsigned long long)env->params.horizon, (unsigned long long)w->table->facts->rows,
        (unsigned long long)w->counted);
  const faro_status status = w->file ? faro_cursor_status(w->file, error) : FARO_OK;
  return status == FARO_OK ? faro_cursor_status(w->order, error) : status;
}

const faro_env_rules faro_env_rows = {
    .about = {.name = "rows",
              .summary = "people from a file, one row each: classes, rewards of all arms, or logged data",
              .traits = FARO_ENV_ROWS,
              .settings = settings,
              .settings_size = sizeof(faro_env_settings)},
    .size = sizeof(world),
    .check = check,
    .describe = describe,
    .once = once,
    .init = init,
    .begin = begin,
    .next = next,
    .read = read_file,
    .takes = takes,
    .note = note,
    .tally = tally,
    .status = status_of,
    .destroy = destroy,
};
