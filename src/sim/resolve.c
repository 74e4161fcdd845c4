/* resolve: a draft into an experiment: defaults, the product of sweeps and algorithms, and a trial of
 * every release and environment, so that what cannot run is refused before anything runs. */
#include <math.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "sim/draft.h"
#include "sim/play.h"

enum { CELLS_MAX = 10000, RUNS_MAX = 1000000, FILE_MAX = 1 << 20 };

static bool is_stream(double environment) {
  return faro_env_kind_streams(faro_env_kind_at((size_t)environment));
}

const faro_env_kind *faro_cell_env_kind(const faro_cell *cell) {
  return faro_env_kind_at((size_t)cell->settings.value[FARO_KEY_ENVIRONMENT]);
}

bool faro_cell_streams(const faro_cell *cell) { return faro_env_kind_streams(faro_cell_env_kind(cell)); }

double faro_cell_low(const faro_cell *cell) {
  const faro_env_params env = faro_cell_env(cell);
  return faro_env_low(faro_cell_env_kind(cell), &env);
}

faro_env_params faro_cell_env(const faro_cell *cell) {
  const double *value = cell->settings.value;
  return (faro_env_params){.dimension = faro_cell_streams(cell) ? 1 : (size_t)value[FARO_KEY_DIMENSION],
                           .arms = (size_t)value[FARO_KEY_ARMS],
                           .horizon = (uint64_t)value[FARO_KEY_HORIZON],
                           .reward = (faro_reward)value[FARO_KEY_REWARD],
                           .draw = (faro_draw)value[FARO_KEY_DRAW],
                           .shufflers = (uint64_t)value[FARO_KEY_SHUFFLERS],
                           .epsilon = value[FARO_KEY_EPSILON],
                           .zeta = value[FARO_KEY_ZETA],
                           .actions = (size_t)value[FARO_KEY_ACTIONS],
                           .samples = (uint64_t)value[FARO_KEY_SAMPLES],
                           .spread = value[FARO_KEY_SPREAD],
                           .norm = value[FARO_KEY_NORM],
                           .population = (uint64_t)value[FARO_KEY_POPULATION]};
}

faro_release_params faro_cell_release(const faro_cell *cell) {
  const double *value = cell->settings.value;
  const bool anytime = value[FARO_KEY_ANYTIME] != 0;
  /* the first of ever longer horizons holds a few batches, and the largest node of every shuffler */
  const double tree = ldexp(fmax(2, value[FARO_KEY_BATCH]), (int)value[FARO_KEY_SHUFFLERS]);
  const double first = fmin(value[FARO_KEY_HORIZON], fmax(fmax(1024, tree), 4 * value[FARO_KEY_BATCH]));
  return (faro_release_params){.epsilon = value[FARO_KEY_EPSILON],
                               .delta = value[FARO_KEY_DELTA],
                               .horizon = (uint64_t)(anytime ? first : value[FARO_KEY_HORIZON]),
                               .batch = (uint64_t)value[FARO_KEY_BATCH],
                               .shufflers = (uint64_t)value[FARO_KEY_SHUFFLERS],
                               .level = (faro_level)value[FARO_KEY_LEVEL],
                               .contributions = (uint64_t)value[FARO_KEY_CONTRIBUTIONS],
                               .anytime = anytime,
                               .calibration = (faro_calibration)value[FARO_KEY_CALIBRATION]};
}

double faro_cell_centre(const faro_cell *cell) {
  const bool tight = cell->settings.value[FARO_KEY_CALIBRATION] == FARO_CALIBRATION_TIGHT;
  return tight && faro_cell_low(cell) == 0 ? 0.5 : 0;
}

faro_learner_params faro_cell_phased(const faro_cell *cell, const faro_arms *arms) {
  const double *value = cell->settings.value;
  const faro_env_params env = faro_cell_env(cell);
  return (faro_learner_params){
      .dimension = env.dimension,
      .horizon = env.horizon,
      .norm = 1,
      .failure = value[FARO_KEY_FAILURE],
      .reward = faro_learner_kind_clients(cell->learner) ? 1 : (1 - faro_cell_low(cell)) / 2,
      .arms = arms,
      .paper = value[FARO_KEY_CALIBRATION] == FARO_CALIBRATION_PAPER,
      .core = value[FARO_KEY_CORE] != 0,
      .alpha = value[FARO_KEY_ALPHA],
      .spread = value[FARO_KEY_SPREAD]};
}

faro_status faro_cell_contribution(const faro_cell *cell, faro_contribution *contribution,
                                   faro_error *error) {
  if (faro_cell_streams(cell)) return faro_contribution_values(contribution, 1, true, error); /* bit - 1/2 */
  if (faro_learner_kind_phased(cell->learner)) /* a client reports for several arms, a user for one */
    return faro_contribution_values(contribution, faro_learner_kind_clients(cell->learner) ? 2 : 1, false,
                                    error);
  const faro_env_params env = faro_cell_env(cell);
  const double centre = faro_cell_centre(cell);
  return faro_contribution_init(contribution, env.dimension, faro_env_norm(&env),
                                faro_cell_low(cell) - centre, 1 - centre, error);
}

faro_status faro_draft_fail(const faro_draft *draft, faro_line line, const char *format, ...) {
  char message[380];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  if (line < 0)
    return faro_fail(draft->error, FARO_INVALID, "--set%s%.60s: %s", draft->override ? " " : "",
                     draft->override ? draft->override : "", message);
  const char *file = faro_path_end(draft->file);
  if (line == 0) return faro_fail(draft->error, FARO_INVALID, "%s: %s", file, message);
  return faro_fail(draft->error, FARO_INVALID, "%s:%d: %s", file, line, message);
}

faro_draft_sweep *faro_draft_sweep_of(faro_draft *draft, faro_key key) {
  for (size_t i = 0; i < draft->sweeps; i++)
    if (draft->sweep[i].key == key) return &draft->sweep[i];
  return NULL;
}

static void at_most(double *value, double most) {
  if (*value > most) *value = most;
}

/* ... and a sweep's values, without those that then come twice. */
static void sweep_at_most(faro_draft *draft, faro_key key, double most) {
  faro_draft_sweep *sweep = faro_draft_sweep_of(draft, key);
  size_t kept = 0;
  for (size_t i = 0; sweep && i < sweep->count; i++) {
    at_most(&sweep->value[i], most);
    bool twice = false;
    for (size_t j = 0; j < kept; j++) twice |= sweep->value[j] == sweep->value[i];
    if (!twice) sweep->value[kept++] = sweep->value[i];
  }
  if (sweep) sweep->count = kept;
}

/* A shorter run of the same thing. */
void faro_draft_quicken(faro_draft *draft) {
  const double horizon = 2000;
  at_most(&draft->top[FARO_KEY_HORIZON].value, horizon);
  if (!draft->top[FARO_KEY_INSTANCES].given) draft->top[FARO_KEY_INSTANCES].value = 10;
  draft->top[FARO_KEY_INSTANCES].given = true;
  at_most(&draft->top[FARO_KEY_INSTANCES].value, 4);
  at_most(&draft->top[FARO_KEY_BATCH].value, horizon / 10);
  sweep_at_most(draft, FARO_KEY_HORIZON, horizon);
  sweep_at_most(draft, FARO_KEY_BATCH, horizon / 10);
  for (size_t i = 0; i < draft->algorithms; i++)
    at_most(&draft->algorithm[i].own[FARO_KEY_BATCH].value, horizon / 10);
}

/* Where the value of a key in this cell was written; `algorithm` when nowhere. */
static faro_line written(faro_draft *draft, const faro_draft_algorithm *algorithm, faro_key key) {
  if (algorithm->own[key].given) return algorithm->own[key].line;
  const faro_draft_sweep *sweep = faro_draft_sweep_of(draft, key);
  if (sweep) return sweep->line;
  return draft->top[key].given ? draft->top[key].line : algorithm->line;
}

/* A layer below refused its parameters; its message starts with the parameter's name. */
static faro_status blame(faro_draft *draft, const faro_draft_algorithm *algorithm, const faro_error *inner) {
  faro_line line = algorithm->line;
  for (int k = 0; k < FARO_KEY_COUNT; k++) {
    const size_t length = strlen(faro_key_name((faro_key)k));
    if (strncmp(inner->message, faro_key_name((faro_key)k), length) == 0 && inner->message[length] == ' ')
      line = written(draft, algorithm, (faro_key)k);
  }
  if (inner->status != FARO_INVALID) return faro_fail(draft->error, inner->status, "%s", inner->message);
  return faro_draft_fail(draft, line, "%s [algorithm %s]", inner->message, algorithm->label);
}

static bool is_swept(const faro_draft *draft, faro_key key) {
  for (size_t s = 0; s < draft->sweeps; s++)
    if (draft->sweep[s].key == key) return true;
  return false;
}

static void set_cell(const faro_draft *draft, const faro_draft_algorithm *algorithm, size_t point,
                     faro_cell *cell) {
  for (int k = 0; k < FARO_KEY_COUNT; k++)
    cell->settings.value[k] =
        draft->top[k].given ? draft->top[k].value : faro_key_info_of((faro_key)k)->fallback;
  for (size_t s = draft->sweeps; s-- > 0;) { /* the last sweep turns fastest */
    cell->at[s] = point % draft->sweep[s].count;
    point /= draft->sweep[s].count;
    cell->settings.value[draft->sweep[s].key] = draft->sweep[s].value[cell->at[s]];
  }
  double *value = cell->settings.value;
  for (int k = 0; k < FARO_KEY_COUNT; k++)
    if (algorithm->own[k].given) value[k] = algorithm->own[k].value;
  const bool glm = faro_env_kind_glm(faro_cell_env_kind(cell));
  if (glm && !draft->top[FARO_KEY_DRAW].given && !is_swept(draft, FARO_KEY_DRAW))
    value[FARO_KEY_DRAW] = FARO_DRAW_BALL;
  /* The published figures of linear rewards ran on unscaled features. */
  if (!glm && value[FARO_KEY_CALIBRATION] == FARO_CALIBRATION_FIGURE &&
      value[FARO_KEY_DRAW] == FARO_DRAW_APPENDED)
    value[FARO_KEY_DRAW] = FARO_DRAW_PUBLISHED;
  cell->learner = faro_learner_kind_at((size_t)value[FARO_KEY_LEARNER]);
  cell->release = faro_release_kind_at((size_t)value[FARO_KEY_RELEASE]);
}

/* What a release for a phase of so many users would be. */
static faro_release_params sample_phase(const faro_cell *cell, double users) {
  faro_release_params params = faro_cell_release(cell);
  params.horizon = params.batch = params.crowd = (uint64_t)users;
  return params;
}

/* The largest phase must be possible, too. */
static faro_status check_longest(const faro_cell *cell, const faro_contribution *contribution,
                                 faro_error *error) {
  if (!faro_learner_kind_phased(cell->learner)) return FARO_OK;
  faro_release *release = NULL;
  const faro_release_params params = sample_phase(cell, cell->settings.value[FARO_KEY_HORIZON]);
  const faro_status status =
      faro_release_create(&release, cell->release, contribution, &params, faro_source_none(), error);
  faro_release_destroy(release);
  return status;
}

/* The release of a learner of one, or of a phase. */
static faro_status try_release(faro_cell *cell, faro_error *error) {
  faro_contribution contribution;
  faro_release *release = NULL;
  const bool phased = faro_learner_kind_phased(cell->learner);
  const faro_release_params params = phased ? sample_phase(cell, 1000) : faro_cell_release(cell);
  faro_status status = faro_cell_contribution(cell, &contribution, error);
  if (status == FARO_OK) status = check_longest(cell, &contribution, error);
  if (status == FARO_OK)
    status = faro_release_create(&release, cell->release, &contribution, &params, faro_source_none(), error);
  if (status != FARO_OK) return status;
  cell->claim = *faro_release_claim(release);
  if (phased && cell->claim.trust != FARO_TRUST_NONE) { /* numbers in the text are those of one phase */
    const size_t used = strlen(cell->claim.by);
    snprintf(cell->claim.by + used, sizeof cell->claim.by - used, " (a phase of 1000 users)");
  }
  cell->cost = faro_release_cost(release);
  if (!params.anytime && !phased) cell->settings.value[FARO_KEY_BATCH] = (double)faro_release_batch(release);
  faro_release_destroy(release);
  return FARO_OK;
}

/* Tries what the runner will create, and keeps what that tells: claim, cost, batch. */
static faro_status try_cell(faro_draft *draft, const faro_draft_algorithm *algorithm, faro_cell *cell) {
  faro_error inner = {0};
  const faro_env_params env = faro_cell_env(cell);
  faro_status status = faro_pair_check(cell, &inner);
  if (status == FARO_OK) status = faro_env_check(faro_cell_env_kind(cell), &env, &inner);
  if (status == FARO_OK)
    status = (faro_learner_kind_glm(cell->learner) ? faro_try_glm : try_release)(cell, &inner);
  return status == FARO_OK ? FARO_OK : blame(draft, algorithm, &inner);
}

/* Calibration figure plays the published features, so there is nothing to sweep. */
static faro_status check_draw(faro_draft *draft, const faro_draft_algorithm *algorithm,
                              const faro_cell *cell) {
  const faro_draft_sweep *sweep = faro_draft_sweep_of(draft, FARO_KEY_DRAW);
  if (!sweep || cell->settings.value[FARO_KEY_CALIBRATION] != FARO_CALIBRATION_FIGURE) return FARO_OK;
  return faro_draft_fail(draft, sweep->line, "draw cannot be swept under calibration figure [algorithm %s]",
                         algorithm->label);
}

/* A swept key must not be given elsewhere: which one would count? */
static faro_status check_sweeps(const faro_draft *draft) {
  for (size_t s = 0; s < draft->sweeps; s++) {
    const faro_key key = draft->sweep[s].key;
    if (draft->top[key].given)
      return faro_draft_fail(draft, draft->top[key].line, "%s is given here and swept too; leave one out",
                             faro_key_title(key));
    for (size_t i = 0; i < draft->algorithms; i++)
      if (draft->algorithm[i].own[key].given)
        return faro_draft_fail(draft, draft->algorithm[i].own[key].line,
                               "%s is given here and swept too; leave one out", faro_key_title(key));
  }
  return FARO_OK;
}

static faro_status check_draft(const faro_draft *draft) {
  if (draft->algorithms == 0)
    return faro_draft_fail(draft, 0, "algorithms is missing: a list of learner and release pairs");
  for (int k = 0; k < FARO_KEY_COUNT; k++) {
    const faro_key_info *info = faro_key_info_of((faro_key)k);
    if (!isnan(info->fallback) || info->scope == SCOPE_ALGORITHM || draft->top[k].given ||
        is_swept(draft, (faro_key)k))
      continue;
    char allowed[FARO_ALLOWED_SIZE];
    return faro_draft_fail(draft, 0, "%s is missing: %s", faro_key_title((faro_key)k),
                           faro_key_allowed((faro_key)k, allowed));
  }
  return FARO_OK;
}

/* An experiment measures one thing: its environments must agree on it, and the plot's y may say it. */
static faro_status resolve_measure(faro_draft *draft, faro_experiment *experiment) {
  const faro_draft_sweep *sweep = faro_draft_sweep_of(draft, FARO_KEY_ENVIRONMENT);
  const double first = sweep ? sweep->value[0] : draft->top[FARO_KEY_ENVIRONMENT].value;
  experiment->measure = is_stream(first) ? FARO_MEASURE_ERROR : FARO_MEASURE_REGRET;
  for (size_t i = 1; sweep && i < sweep->count; i++) {
    if (is_stream(sweep->value[i]) == is_stream(first)) continue;
    char a[64];
    char b[64];
    return faro_draft_fail(
        draft, sweep->line, "sweep of name must not mix arms and streams of numbers (got %s and %s)",
        faro_key_print(sweep->key, first, a), faro_key_print(sweep->key, sweep->value[i], b));
  }
  const char *measure = faro_measure_name(experiment->measure);
  if (*draft->y.name == '\0' || strcmp(draft->y.name, measure) == 0) return FARO_OK;
  return faro_draft_fail(draft, draft->y.line, "y must be %s (got %s)", measure, draft->y.name);
}

/* Which sweep an axis of the plot names. */
static faro_status find_axis(const faro_draft *draft, const faro_draft_axis *axis, const char *role,
                             int fallback, int *sweep) {
  *sweep = fallback;
  if (*axis->name == '\0') return FARO_OK;
  if (strcmp(axis->name, fallback == FARO_PLOT_ROUND ? "round" : "none") == 0) return FARO_OK;
  for (size_t i = 0; i < draft->sweeps; i++)
    if (strcmp(faro_key_name(draft->sweep[i].key), axis->name) == 0) *sweep = (int)i;
  if (*sweep != fallback) return FARO_OK;
  for (int k = 0; k < FARO_KEY_COUNT; k++) /* an override took the sweep away: no fault of the file */
    if (draft->overridden[k] && strcmp(faro_key_name((faro_key)k), axis->name) == 0) return FARO_OK;
  return faro_draft_fail(draft, axis->line, "%s must be %s or a key that is swept (got %s)", role,
                         fallback == FARO_PLOT_ROUND ? "round" : "none", axis->name);
}

static faro_status resolve_plot(const faro_draft *draft, faro_experiment *experiment) {
  faro_status status = find_axis(draft, &draft->x, "x", FARO_PLOT_ROUND, &experiment->x);
  if (status != FARO_OK) return status;
  status = find_axis(draft, &draft->panels, "panels", FARO_PLOT_NONE, &experiment->panels);
  if (status != FARO_OK) return status;
  if (*draft->panels.name == '\0' && draft->sweeps > 0 && experiment->x == FARO_PLOT_ROUND)
    experiment->panels = 0;
  if (experiment->x >= 0 && !faro_key_is_number(draft->sweep[experiment->x].key))
    return faro_draft_fail(draft, draft->x.line,
                           "x must be round or a swept key whose values are numbers (got %s)", draft->x.name);
  for (size_t i = 0; experiment->x >= 0 && i < draft->sweep[experiment->x].count; i++)
    if (draft->sweep[experiment->x].value[i] == 0 &&
        faro_key_info_of(draft->sweep[experiment->x].key)->least > 0) {
      char word[64];
      return faro_draft_fail(draft, draft->sweep[experiment->x].line, "%s has no place on the axis x: %s",
                             faro_key_print(draft->sweep[experiment->x].key, 0, word), draft->x.name);
    }
  if (experiment->panels >= 0 && experiment->panels == experiment->x)
    return faro_draft_fail(draft, draft->panels.line, "panels must differ from x (got %s)",
                           draft->panels.name);
  return FARO_OK;
}

static faro_status resolve_sweeps(const faro_draft *draft, faro_experiment *experiment) {
  experiment->sweeps = draft->sweeps;
  for (size_t i = 0; i < draft->sweeps; i++) {
    faro_sweep *sweep = &experiment->sweep[i];
    sweep->key = draft->sweep[i].key;
    sweep->count = draft->sweep[i].count;
    sweep->value = faro_arena_alloc(&experiment->arena, sweep->count, sizeof *sweep->value, draft->error);
    if (!sweep->value) return FARO_MEMORY;
    memcpy(sweep->value, draft->sweep[i].value, sweep->count * sizeof *sweep->value);
  }
  return FARO_OK;
}

/* Without privacy epsilon and delta change nothing, unless a stream is made for them: where they are swept, their first
 * values are played for all. */
static size_t find_twin(const faro_experiment *experiment, size_t index) {
  const faro_cell *cell = &experiment->cell[index];
  if (cell->release->trust != FARO_TRUST_NONE || faro_cell_streams(cell)) return index;
  size_t point = 0;
  for (size_t s = 0; s < experiment->sweeps; s++) {
    const faro_sweep *sweep = &experiment->sweep[s];
    const bool idle = sweep->key == FARO_KEY_EPSILON || sweep->key == FARO_KEY_DELTA;
    point = point * sweep->count + (idle ? 0 : cell->at[s]);
  }
  return point * experiment->algorithms + index % experiment->algorithms;
}

static faro_status resolve_cells(faro_draft *draft, faro_experiment *experiment) {
  size_t points = 1;
  for (size_t i = 0; i < draft->sweeps; i++) points *= draft->sweep[i].count; /* at most 100^3 */
  experiment->algorithms = draft->algorithms;
  experiment->count = points * draft->algorithms;
  if (experiment->count > CELLS_MAX)
    return faro_draft_fail(draft, draft->sweep[0].line,
                           "sweeps and algorithms make %zu combinations; at most %d are allowed",
                           experiment->count, CELLS_MAX);
  experiment->cell =
      faro_arena_alloc(&experiment->arena, experiment->count, sizeof *experiment->cell, draft->error);
  if (!experiment->cell) return FARO_MEMORY;
  for (size_t c = 0, point = 0; point < points; point++)
    for (size_t a = 0; a < draft->algorithms; a++, c++) {
      const faro_draft_algorithm *algorithm = &draft->algorithm[a];
      faro_cell *cell = &experiment->cell[c];
      set_cell(draft, algorithm, point, cell);
      faro_status status = check_draw(draft, algorithm, cell);
      if (status == FARO_OK) status = try_cell(draft, algorithm, cell);
      if (status != FARO_OK) return status;
      cell->label = point == 0 ? faro_arena_strdup(&experiment->arena, algorithm->label, draft->error)
                               : experiment->cell[a].label;
      if (!cell->label) return FARO_MEMORY;
      cell->twin = find_twin(experiment, c);
    }
  experiment->instances = (size_t)experiment->cell[0].settings.value[FARO_KEY_INSTANCES];
  experiment->seed = (uint64_t)experiment->cell[0].settings.value[FARO_KEY_SEED];
  if (experiment->count * experiment->instances > RUNS_MAX) /* each keeps its curve in memory */
    return faro_draft_fail(draft, draft->top[FARO_KEY_INSTANCES].line,
                           "instances x combinations must be at most %d (got %zu x %zu)", RUNS_MAX,
                           experiment->instances, experiment->count);
  return FARO_OK;
}

/* The file's name without folders and ending. */
static faro_status resolve_name(const faro_draft *draft, faro_experiment *experiment) {
  const char *slash = strrchr(draft->file, '/');
  char name[DRAFT_NAME_MAX];
  snprintf(name, sizeof name, "%s", slash ? slash + 1 : draft->file);
  char *dot = strrchr(name, '.');
  if (dot && dot != name) *dot = '\0';
  for (char *c = name; *c; c++) /* it names files, and stands in documents */
    if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 127) *c = '_';
  experiment->name = faro_arena_strdup(&experiment->arena, name, draft->error);
  experiment->title =
      faro_arena_strdup(&experiment->arena, *draft->title ? draft->title : name, draft->error);
  return experiment->name && experiment->title ? FARO_OK : FARO_MEMORY;
}

/* The running program, byte by byte: two builds may differ though their versions do not. */
static void hash_program(crypto_generichash_state *state) {
  crypto_generichash_update(state, (const unsigned char *)faro_version(), strlen(faro_version()));
  FILE *file = fopen("/proc/self/exe", "rb");
  unsigned char part[1 << 14];
  for (size_t n = 0; file && (n = fread(part, 1, sizeof part, file)) > 0;)
    crypto_generichash_update(state, part, n);
  if (file) fclose(file);
}

/* Same digest, same results: everything that decides them is in it. */
static void digest(faro_experiment *experiment) {
  crypto_generichash_state state;
  crypto_generichash_init(&state, NULL, 0, sizeof experiment->digest);
  hash_program(&state);
  for (size_t c = 0; c < experiment->count; c++) {
    const faro_cell *cell = &experiment->cell[c];
    crypto_generichash_update(&state, (const unsigned char *)cell->label, strlen(cell->label) + 1);
    crypto_generichash_update(&state, (const unsigned char *)cell->settings.value,
                              sizeof cell->settings.value);
  }
  crypto_generichash_final(&state, experiment->digest, sizeof experiment->digest);
}

static faro_status resolve(faro_draft *draft, faro_experiment *experiment) {
  faro_status status = check_draft(draft);
  if (status == FARO_OK) status = check_sweeps(draft);
  if (status == FARO_OK) status = resolve_name(draft, experiment);
  if (status == FARO_OK) status = resolve_sweeps(draft, experiment);
  if (status == FARO_OK) status = resolve_measure(draft, experiment);
  if (status == FARO_OK) status = resolve_plot(draft, experiment);
  if (status == FARO_OK) status = resolve_cells(draft, experiment);
  if (status == FARO_OK) digest(experiment);
  return status;
}

static faro_status build_draft(faro_draft *draft, const char *text, size_t length,
                               const faro_experiment_options *options) {
  faro_status status = faro_draft_parse(draft, text, length);
  for (size_t i = 0; status == FARO_OK && options && i < options->override_count; i++)
    status = faro_draft_override(draft, &options->overrides[i]);
  draft->override = NULL;
  if (status == FARO_OK && options && options->quick) faro_draft_quicken(draft);
  return status;
}

faro_status faro_experiment_parse(faro_experiment **experiment, const char *file, const char *text,
                                  size_t length, const faro_experiment_options *options, faro_error *error) {
  if (length > FILE_MAX)
    return faro_fail(error, FARO_INVALID, "%s: too large: at most %d bytes are allowed", faro_path_end(file),
                     FILE_MAX);
  if (sodium_init() < 0) return faro_fail(error, FARO_SYSTEM, "libsodium cannot start");
  faro_arena arena = {0};
  faro_experiment *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  faro_draft *draft = faro_arena_alloc(&arena, 1, sizeof *draft, error);
  if (!made || !draft) {
    faro_arena_free(&arena);
    return FARO_MEMORY;
  }
  made->arena = arena;
  draft->file = file;
  draft->error = error;
  faro_status status = build_draft(draft, text, length, options);
  if (status == FARO_OK) status = resolve(draft, made);
  free(draft->algorithm);
  if (status == FARO_OK) *experiment = made;
  else faro_experiment_destroy(made);
  return status;
}

faro_status faro_experiment_load(faro_experiment **experiment, const char *path,
                                 const faro_experiment_options *options, faro_error *error) {
  char *text = NULL;
  size_t length = 0;
  faro_status status = faro_read_file(path, FILE_MAX, &text, &length, error);
  if (status == FARO_OK) status = faro_experiment_parse(experiment, path, text, length, options, error);
  free(text);
  return status;
}

void faro_experiment_destroy(faro_experiment *experiment) {
  if (!experiment) return;
  faro_arena arena = experiment->arena;
  faro_arena_free(&arena);
}

const char *faro_experiment_name(const faro_experiment *experiment) { return experiment->name; }
const char *faro_experiment_title(const faro_experiment *experiment) { return experiment->title; }
faro_measure faro_experiment_measure(const faro_experiment *experiment) { return experiment->measure; }
size_t faro_experiment_cells(const faro_experiment *experiment) { return experiment->count; }
size_t faro_experiment_instances(const faro_experiment *experiment) { return experiment->instances; }
