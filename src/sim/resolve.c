/* resolve: a draft into an experiment: defaults, the product of sweeps and algorithms, and a trial
 * of every algorithm, so that what cannot run is refused before anything runs. */
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/abort.h"
#include "base/file.h"
#include "base/names.h"
#include "base/text.h"
#include "data/table.h"
#include "sim/draft.h"
#include "sim/loop.h"
#include "sim/machine.h"

enum { CELLS_MAX = 10000, RUNS_MAX = 1000000, FILE_MAX = 1 << 20 };

/* A layer below refused its parameters; its message starts with the parameter's name. */
static faro_status blame(faro_draft *draft, const faro_draft_algorithm *algorithm, const faro_error *inner) {
  faro_line line = algorithm->line;
  for (faro_key k = 0; k < faro_key_count(); k++) {
    const size_t length = strlen(faro_key_name(k));
    if (strncmp(inner->message, faro_key_name(k), length) == 0 && inner->message[length] == ' ')
      line = faro_draft_written(draft, algorithm, k);
  }
  if (inner->status != FARO_INVALID) return faro_fail(draft->error, inner->status, "%s", inner->message);
  return faro_draft_fail(draft, line, "%s [algorithm %s]", inner->message, algorithm->label);
}

/* Cells. */

/* The value of a key that was given, for this algorithm at the sweep values of the cell; false: it
 * was not. */
static bool given_value(const faro_draft *draft, const faro_draft_algorithm *algorithm, const faro_cell *cell,
                        faro_key key, double *value) {
  const faro_draft_sweep *sweep = faro_draft_sweep_of(draft, key);
  if (algorithm->own[key].given) *value = algorithm->own[key].value;
  else if (sweep) *value = sweep->value[cell->at[sweep - draft->sweep]];
  else if (draft->top[key].given) *value = draft->top[key].value;
  else return false;
  return true;
}

/* The same for a text; NULL: it was not given. A text is never swept. */
static const char *given_text(const faro_draft *draft, const faro_draft_algorithm *algorithm, faro_key key) {
  return algorithm->own[key].given ? algorithm->own[key].text : draft->top[key].text;
}

/* Settings of the learner's or environment's own, with their defaults. */
static faro_status make_own(faro_arena *arena, const faro_setting *table, size_t size, void **own,
                            faro_error *error) {
  if (!table) return FARO_OK;
  *own = faro_arena_alloc(arena, 1, size, error);
  if (!*own) return FARO_MEMORY;
  faro_settings_preset(table, *own);
  return FARO_OK;
}

/* The published figures of linear rewards ran on unscaled features. */
static void set_draw(const faro_draft *draft, faro_cell *cell) {
  faro_settings *s = &cell->settings;
  const bool linear = cell->env->link == FARO_LINK_LINEAR;
  if (!linear && !draft->top[FARO_KEY_DRAW].given && !faro_draft_sweep_of(draft, FARO_KEY_DRAW))
    s->draw = FARO_DRAW_BALL;
  if (linear && s->calibration == FARO_CALIBRATION_FIGURE && s->draw == FARO_DRAW_APPENDED)
    s->draw = FARO_DRAW_PUBLISHED;
}

static faro_status set_cell(const faro_draft *draft, const faro_draft_algorithm *algorithm, size_t point,
                            faro_arena *arena, faro_cell *cell) {
  double value = 0;
  for (size_t s = draft->sweeps; s-- > 0;) { /* the last sweep turns fastest */
    cell->at[s] = point % draft->sweep[s].count;
    point /= draft->sweep[s].count;
  }
  for (faro_key k = 0; k < FARO_KEY_OWN; k++)
    faro_setting_put(faro_key_setting(k), &cell->settings,
                     given_value(draft, algorithm, cell, k, &value) ? value : faro_key_setting(k)->preset);
  cell->learner = faro_learner_at((size_t)cell->settings.learner);
  cell->release = faro_release_kind_at((size_t)cell->settings.release);
  cell->env = faro_env_at((size_t)cell->settings.environment);
  cell->loop = faro_loop_of(cell->learner);
  faro_status status = make_own(arena, cell->learner->settings, cell->learner->settings_size,
                                &cell->learner_own, draft->error);
  if (status == FARO_OK)
    status = make_own(arena, cell->env->settings, cell->env->settings_size, &cell->env_own, draft->error);
  for (faro_key k = FARO_KEY_OWN; status == FARO_OK && k < faro_key_count(); k++)
    if (faro_key_is_text(k)) faro_cell_put_text(cell, k, given_text(draft, algorithm, k));
    else if (given_value(draft, algorithm, cell, k, &value)) faro_cell_put(cell, k, value);
  if (status == FARO_OK) set_draw(draft, cell);
  if (status == FARO_OK && (cell->env->traits & FARO_ENV_ROWS) && !draft->experiment->outline)
    status = faro_draft_read_file(draft, algorithm, cell);
  return status;
}

/* local_epsilon and epsilon: which of the two would count? */
static faro_status check_aim(faro_draft *draft, const faro_draft_algorithm *algorithm) {
  if (!faro_draft_sweep_of(draft, FARO_KEY_EPSILON) && !algorithm->own[FARO_KEY_EPSILON].given)
    return FARO_OK;
  return faro_draft_fail(draft, faro_draft_written(draft, algorithm, FARO_KEY_LOCAL),
                         "local_epsilon and epsilon are both given; leave one out [algorithm %s]",
                         algorithm->label);
}

static faro_status try_cell(faro_draft *draft, const faro_draft_algorithm *algorithm, faro_cell *cell) {
  faro_error inner = {0};
  if (cell->settings.local_epsilon > 0 && check_aim(draft, algorithm) != FARO_OK) return FARO_INVALID;
  if (cell->table && faro_cell_check_people(cell, &inner) != FARO_OK) return blame(draft, algorithm, &inner);
  if (faro_cell_rehearse(cell, &inner) != FARO_OK) return blame(draft, algorithm, &inner);
  faro_cell_caution(cell);
  return FARO_OK;
}

/* Calibration figure plays the published features, so there is nothing to sweep. */
static faro_status check_draw(faro_draft *draft, const faro_draft_algorithm *algorithm,
                              const faro_cell *cell) {
  const faro_draft_sweep *sweep = faro_draft_sweep_of(draft, FARO_KEY_DRAW);
  if (!sweep || cell->settings.calibration != FARO_CALIBRATION_FIGURE) return FARO_OK;
  return faro_draft_fail(draft, sweep->line, "draw cannot be swept under calibration figure [algorithm %s]",
                         algorithm->label);
}

/* Whether a sweep's values make no difference to the cell: a setting that it does not have, or,
 * without privacy, the budget (unless a stream is made for them). */
static bool is_idle(const faro_cell *cell, faro_key key) {
  if (isnan(faro_cell_get(cell, key))) return true;
  const bool budget = key == FARO_KEY_EPSILON || key == FARO_KEY_DELTA || key == FARO_KEY_LOCAL;
  return budget && cell->release->trust == FARO_TRUST_NONE && !(cell->env->traits & FARO_ENV_STREAM);
}

/* The cell with the same results in which all idle sweeps have their first value. */
static size_t find_twin(const faro_experiment *experiment, size_t index) {
  const faro_cell *cell = &experiment->cell[index];
  size_t point = 0;
  for (size_t s = 0; s < experiment->sweeps; s++) {
    const faro_sweep *sweep = &experiment->sweep[s];
    point = point * sweep->count + (is_idle(cell, sweep->key) ? 0 : cell->at[s]);
  }
  return point * experiment->algorithms + index % experiment->algorithms;
}

static faro_status resolve_cell(faro_draft *draft, faro_experiment *experiment, size_t index) {
  FARO_INVARIANT(draft->algorithms > 0);
  const size_t a = index % draft->algorithms;
  const faro_draft_algorithm *algorithm = &draft->algorithm[a];
  faro_cell *cell = &experiment->cell[index];
  faro_status status = set_cell(draft, algorithm, index / draft->algorithms, &experiment->arena, cell);
  if (status == FARO_OK) status = check_draw(draft, algorithm, cell);
  if (status == FARO_OK && !experiment->outline) status = try_cell(draft, algorithm, cell);
  if (status != FARO_OK) return status;
  cell->label = index < draft->algorithms
                    ? faro_arena_strdup(&experiment->arena, algorithm->label, draft->error)
                    : experiment->cell[a].label;
  cell->twin = find_twin(experiment, index);
  return cell->label ? FARO_OK : FARO_MEMORY;
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
  for (size_t c = 0; c < experiment->count; c++) {
    const faro_status status = resolve_cell(draft, experiment, c);
    if (status != FARO_OK) return status;
  }
  experiment->instances = (size_t)experiment->cell[0].settings.instances;
  experiment->seed = experiment->cell[0].settings.seed;
  if (experiment->count * experiment->instances > RUNS_MAX) /* each keeps its curve in memory */
    return faro_draft_fail(draft, draft->top[FARO_KEY_INSTANCES].line,
                           "instances x combinations must be at most %d (got %zu x %zu)", RUNS_MAX,
                           experiment->instances, experiment->count);
  return FARO_OK;
}

/* Algorithms that an override asks for a calibration which they do not offer are left out, with a
 * note. In a file they are an error. */

/* Whether the algorithm is refused for its calibration at a sweep point. A message starts with the
 * name of the setting that it is about. */
static bool lacks(const faro_draft *draft, const faro_draft_algorithm *algorithm, size_t point,
                  faro_arena *arena) {
  faro_error inner = {0};
  faro_cell cell = {0};
  const bool lacking = set_cell(draft, algorithm, point, arena, &cell) == FARO_OK &&
                       faro_cell_rehearse(&cell, &inner) == FARO_INVALID &&
                       strncmp(inner.message, "calibration ", 12) == 0;
  free(cell.grounds);
  return lacking;
}

static bool offers_all(const faro_draft *draft, const faro_draft_algorithm *algorithm) {
  faro_arena arena = {0};
  size_t points = 1;
  bool all = true;
  for (size_t i = 0; i < draft->sweeps; i++) points *= draft->sweep[i].count;
  for (size_t p = 0; all && p < points && p < CELLS_MAX; p++) all = !lacks(draft, algorithm, p, &arena);
  faro_arena_free(&arena);
  return all;
}

/* No algorithm offers the calibration that --set gives: names those that one offers. */
static faro_status refuse_calibration(faro_draft *draft, size_t algorithms) {
  char offered[64] = "";
  for (int c = 0; c < FARO_CALIBRATION_COUNT; c++) {
    bool some = false;
    draft->top[FARO_KEY_CALIBRATION].value = c;
    for (size_t i = 0; i < algorithms && !some; i++) some = offers_all(draft, &draft->algorithm[i]);
    if (some)
      snprintf(offered + strlen(offered), sizeof offered - strlen(offered), "%s%s", *offered ? ", " : "",
               faro_calibration_name((faro_calibration)c));
  }
  return faro_draft_fail(draft, -1, "calibration must be one that an algorithm of this experiment offers%s%s",
                         *offered ? ": " : "", offered);
}

static faro_status leave_out(faro_draft *draft, faro_experiment *experiment) {
  faro_text note = FARO_TEXT_INIT;
  size_t kept = 0;
  if (!draft->overridden[FARO_KEY_CALIBRATION]) return FARO_OK;
  for (size_t i = 0; i < draft->algorithms; i++) {
    const faro_draft_algorithm *algorithm = &draft->algorithm[i];
    const bool stays =
        faro_draft_written(draft, algorithm, FARO_KEY_CALIBRATION) >= 0 || offers_all(draft, algorithm);
    if (!stays) faro_text_add(&note, "%s%s", note.length ? ", " : "", algorithm->label);
    else draft->algorithm[kept++] = *algorithm;
  }
  const size_t out = draft->algorithms - kept;
  draft->algorithms = kept;
  if (out > 0)
    experiment->left_out = faro_arena_strdup(&experiment->arena, note.data ? note.data : "", draft->error);
  faro_text_clear(&note);
  if (out > 0 && kept == 0) return refuse_calibration(draft, out);
  return out == 0 || experiment->left_out ? FARO_OK : FARO_MEMORY;
}

/* Measure, plot, sweeps. */

/* What an environment is made of, as far as measures differ by it. */
static unsigned nature_of(double environment) {
  return faro_env_at((size_t)environment)->traits & (FARO_ENV_STREAM | FARO_ENV_ROWS);
}

static faro_measure measure_of(const faro_draft *draft, double environment) {
  const bool graded = draft->top[faro_key_find("rewards")].given || draft->top[faro_key_find("action")].given;
  if (nature_of(environment) & FARO_ENV_STREAM) return FARO_MEASURE_ERROR;
  if (!(nature_of(environment) & FARO_ENV_ROWS)) return FARO_MEASURE_REGRET;
  return graded ? FARO_MEASURE_LOSS : FARO_MEASURE_ERROR_RATE;
}

/* An experiment measures one thing: its environments must agree on it, and the plot's y may say it.
 */
static faro_status resolve_measure(faro_draft *draft, faro_experiment *experiment) {
  const faro_draft_sweep *sweep = faro_draft_sweep_of(draft, FARO_KEY_ENVIRONMENT);
  const double first = sweep ? sweep->value[0] : draft->top[FARO_KEY_ENVIRONMENT].value;
  experiment->measure = measure_of(draft, first);
  for (size_t i = 1; sweep && i < sweep->count; i++) {
    if (nature_of(sweep->value[i]) == nature_of(first)) continue;
    char a[FARO_PRINTED];
    char b[FARO_PRINTED];
    return faro_draft_fail(
        draft, sweep->line, "sweep of name must not mix arms, streams of numbers and files (got %s and %s)",
        faro_key_print(sweep->key, first, a), faro_key_print(sweep->key, sweep->value[i], b));
  }
  const char *measure = faro_measure_name(experiment->measure);
  experiment->per_round = strcmp(draft->y.name, "regret-per-round") == 0;
  const bool regret = experiment->measure == FARO_MEASURE_REGRET;
  if (*draft->y.name == '\0' || strcmp(draft->y.name, measure) == 0 || (experiment->per_round && regret))
    return FARO_OK;
  return faro_draft_fail(draft, draft->y.line, "y must be %s%s (got %s)", measure,
                         regret ? " or regret-per-round" : "", draft->y.name);
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
  for (faro_key k = 0; k < faro_key_count(); k++) /* an override took the sweep away: no fault of the file */
    if (draft->overridden[k] && strcmp(faro_key_name(k), axis->name) == 0) return FARO_OK;
  return faro_draft_fail(draft, axis->line, "%s must be %s or a key that is swept (got %s)", role,
                         fallback == FARO_PLOT_ROUND ? "round" : "none", axis->name);
}

static faro_status resolve_plot(const faro_draft *draft, faro_experiment *experiment) {
  faro_status status = find_axis(draft, &draft->x, "x", FARO_PLOT_ROUND, &experiment->x);
  if (status != FARO_OK) return status;
  status = find_axis(draft, &draft->panels, "panels", FARO_PLOT_NONE, &experiment->panels);
  if (status != FARO_OK) return status;
  if (experiment->per_round && experiment->x != FARO_PLOT_ROUND)
    return faro_draft_fail(draft, draft->y.line, "y regret-per-round must go with x: round (got x: %s)",
                           draft->x.name);
  if (*draft->panels.name == '\0' && draft->sweeps > 0 && experiment->x == FARO_PLOT_ROUND)
    experiment->panels = 0;
  if (experiment->x >= 0 && !faro_key_is_number(draft->sweep[experiment->x].key))
    return faro_draft_fail(draft, draft->x.line,
                           "x must be round or a swept key whose values are numbers (got %s)", draft->x.name);
  const faro_draft_sweep *x = experiment->x >= 0 ? &draft->sweep[experiment->x] : NULL;
  for (size_t i = 0; x && i < x->count; i++)
    if (x->value[i] == 0 && faro_key_setting(x->key)->least > 0) {
      char word[FARO_PRINTED];
      return faro_draft_fail(
          draft, x->line,
          "cannot plot %s: %s on the x axis; remove it from the sweep or use plot: {x: round}", draft->x.name,
          faro_key_print(x->key, 0, word));
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

/* The name that was asked for, or the file's name without folders and ending. */
static faro_status resolve_name(const faro_draft *draft, faro_experiment *experiment) {
  const char *slash = strrchr(draft->file, '/');
  char name[DRAFT_NAME_MAX];
  snprintf(name, sizeof name, "%s", draft->name ? draft->name : slash ? slash + 1 : draft->file);
  char *dot = draft->name ? NULL : strrchr(name, '.');
  if (dot && dot != name) *dot = '\0';
  for (char *c = name; *c; c++) /* it names files, and stands in documents */
    if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 127) *c = '_';
  experiment->name = faro_arena_strdup(&experiment->arena, name, draft->error);
  experiment->title =
      faro_arena_strdup(&experiment->arena, *draft->title ? draft->title : name, draft->error);
  return experiment->name && experiment->title ? FARO_OK : FARO_MEMORY;
}

/* Every setting of every algorithm. */
static void hash_cells(crypto_generichash_state *state, const faro_experiment *experiment) {
  const faro_key file = faro_key_find("file");
  for (size_t c = 0; c < experiment->count; c++) {
    const faro_cell *cell = &experiment->cell[c];
    crypto_generichash_update(state, (const unsigned char *)cell->label, strlen(cell->label) + 1);
    if (cell->table)
      crypto_generichash_update(state, cell->table->facts->digest, sizeof cell->table->facts->digest);
    if (cell->env->version)
      crypto_generichash_update(state, (const unsigned char *)cell->env->version, strlen(cell->env->version));
    for (faro_key k = 0; k < faro_key_count(); k++) {
      const double value = faro_cell_get(cell, k);
      /* not where a file is, but what is in it */
      const char *text = k == file && cell->table ? NULL : faro_cell_text(cell, k);
      crypto_generichash_update(state, (const unsigned char *)&value, sizeof value);
      if (text) crypto_generichash_update(state, (const unsigned char *)text, strlen(text) + 1);
    }
  }
}

/* Same digest, same results: everything that decides them is in it. */
static void digest(faro_experiment *experiment) {
  crypto_generichash_state state;
  crypto_generichash_init(&state, NULL, 0, sizeof experiment->digest);
  crypto_generichash_update(&state, faro_program(), FARO_PROGRAM_BYTES);
  hash_cells(&state, experiment);
  crypto_generichash_final(&state, experiment->digest, sizeof experiment->digest);
}

static void identify(faro_experiment *experiment) {
  unsigned char hash[sizeof experiment->identity / 2];
  crypto_generichash_state state;
  crypto_generichash_init(&state, NULL, 0, sizeof hash);
  crypto_generichash_update(&state, (const unsigned char *)experiment->name, strlen(experiment->name) + 1);
  hash_cells(&state, experiment);
  crypto_generichash_final(&state, hash, sizeof hash);
  sodium_bin2hex(experiment->identity, sizeof experiment->identity, hash, sizeof hash);
}

static faro_status resolve(faro_draft *draft, faro_experiment *experiment) {
  faro_status status = faro_draft_check(draft);
  if (status == FARO_OK) status = leave_out(draft, experiment);
  if (status == FARO_OK) status = resolve_name(draft, experiment);
  if (status == FARO_OK) status = resolve_sweeps(draft, experiment);
  if (status == FARO_OK) status = resolve_measure(draft, experiment);
  if (status == FARO_OK) status = resolve_plot(draft, experiment);
  if (status == FARO_OK) status = resolve_cells(draft, experiment);
  if (status == FARO_OK) digest(experiment);
  if (status == FARO_OK) identify(experiment);
  return status;
}

static faro_status keep_text(faro_experiment *experiment, const char *file, const char *text, size_t length,
                             faro_error *error) {
  char *kept = faro_arena_alloc(&experiment->arena, length + 1, 1, error);
  if (!kept) return FARO_MEMORY;
  memcpy(kept, text, length);
  experiment->file = faro_arena_strdup(&experiment->arena, file, error);
  experiment->text = kept;
  experiment->length = length;
  return experiment->file ? FARO_OK : FARO_MEMORY;
}

/* Keeps how the experiment was asked for. */
static faro_status keep_record(faro_experiment *experiment, const faro_experiment_options *options,
                               faro_error *error) {
  faro_arena *arena = &experiment->arena;
  if (!options) return FARO_OK;
  experiment->quick = options->quick;
  if (options->command && !(experiment->command = faro_arena_strdup(arena, options->command, error)))
    return FARO_MEMORY;
  if (options->override_count == 0) return FARO_OK;
  experiment->override =
      faro_arena_alloc(arena, options->override_count, sizeof *experiment->override, error);
  if (!experiment->override) return FARO_MEMORY;
  for (size_t i = 0; i < options->override_count; i++) {
    const faro_override *one = &options->overrides[i];
    const size_t size = strlen(one->key) + strlen(one->value) + 2;
    char *text = faro_arena_alloc(arena, size, 1, error);
    if (!text) return FARO_MEMORY;
    snprintf(text, size, "%s=%s", one->key, one->value);
    experiment->override[i] = text;
  }
  experiment->overrides = options->override_count;
  return FARO_OK;
}

static faro_status build_draft(faro_draft *draft, const char *text, size_t length,
                               const faro_experiment_options *options) {
  faro_status status = faro_draft_parse(draft, text, length);
  for (size_t i = 0; status == FARO_OK && options && i < options->override_count; i++)
    status = faro_draft_override(draft, &options->overrides[i]);
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
  draft->name = options ? options->name : NULL;
  draft->error = error;
  draft->arena = &made->arena;
  draft->experiment = made;
  draft->quick = options && options->quick;
  made->outline = options && options->outline;
  faro_status status = build_draft(draft, text, length, options);
  if (status == FARO_OK) status = keep_text(made, file, text, length, error);
  if (status == FARO_OK) status = keep_record(made, options, error);
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
  for (size_t c = 0; experiment->cell && c < experiment->count; c++) free(experiment->cell[c].grounds);
  faro_experiment_close_files(experiment);
  faro_arena arena = experiment->arena;
  faro_arena_free(&arena);
}

const char *faro_experiment_name(const faro_experiment *experiment) { return experiment->name; }
const char *faro_experiment_title(const faro_experiment *experiment) { return experiment->title; }
const char *faro_experiment_identity(const faro_experiment *experiment) { return experiment->identity; }

const char *faro_measure_name(faro_measure measure) {
  static const char *const name[] = FARO_NAMES(FARO_MEASURE_LIST);
  return name[measure];
}

FARO_FIND(faro_measure, FARO_MEASURE_LIST)
