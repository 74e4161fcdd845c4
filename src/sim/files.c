/* files: the files of people's rows that an experiment reads, once each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "data/features.h"
#include "data/table.h"
#include "sim/draft.h"
#include "sim/loop.h"

static bool same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

static bool same_rows(const faro_rows_params *a, const faro_rows_params *b) {
  return same_text(a->file, b->file) && a->format == b->format && same_text(a->label, b->label) &&
         same_text(a->classes, b->classes) && same_text(a->rewards, b->rewards) &&
         same_text(a->action, b->action) && same_text(a->reward, b->reward) &&
         same_text(a->propensity, b->propensity) && same_text(a->person, b->person) &&
         same_text(a->words, b->words) && same_text(a->features, b->features) &&
         same_text(a->ignore, b->ignore) && a->low == b->low && a->high == b->high;
}

static faro_experiment_file *find(const faro_experiment *experiment, const faro_env_settings *own) {
  faro_experiment_file *file = experiment->files;
  while (file && !(same_rows(&file->rows, &own->rows) && file->memory == own->memory)) file = file->before;
  return file;
}

void faro_experiment_close_files(faro_experiment *experiment) {
  for (faro_experiment_file *file = experiment->files; file; file = file->before)
    faro_table_close(file->table);
  experiment->files = NULL;
}

/* A path that an experiment file gives may be relative to its folder. */
static faro_status locate(const faro_draft *draft, const char **path) {
  const char *slash = strrchr(draft->file, '/');
  if (!*path || **path == '/' || !slash || access(*path, F_OK) == 0) return FARO_OK;
  const size_t folder = (size_t)(slash - draft->file) + 1;
  char *beside = faro_arena_alloc(draft->arena, folder + strlen(*path) + 1, 1, draft->error);
  if (!beside) return FARO_MEMORY;
  memcpy(beside, draft->file, folder);
  strcpy(beside + folder, *path); // NOLINT: it has room
  if (access(beside, F_OK) == 0) *path = beside;
  return FARO_OK;
}

/* What the file says cannot be set. */
static faro_status check_given(const faro_draft *draft, const faro_cell *cell) {
  static const faro_key keys[] = {FARO_KEY_ARMS, FARO_KEY_REWARD, FARO_KEY_DRAW, FARO_KEY_POPULATION,
                                  FARO_KEY_DIMENSION};
  const faro_env_settings *own = cell->env_own;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const faro_draft_sweep *sweep = faro_draft_sweep_of(draft, keys[i]);
    if (!draft->top[keys[i]].given && !sweep) continue;
    if (keys[i] == FARO_KEY_DIMENSION && own->layout == FARO_LAYOUT_SHARED) continue;
    return faro_draft_fail(draft, sweep ? sweep->line : draft->top[keys[i]].line,
                           "%s must be left out for rows%s: the file says it", faro_key_name(keys[i]),
                           keys[i] == FARO_KEY_DIMENSION ? " with layout block" : "");
  }
  return FARO_OK;
}

/* A fault of a setting has its line in the experiment; one of the file says where it is. */
static faro_status blame(const faro_draft *draft, const faro_draft_algorithm *algorithm,
                         const faro_error *inner) {
  for (faro_key k = 0; k < faro_key_count() && inner->status == FARO_INVALID; k++) {
    const size_t length = strlen(faro_key_name(k));
    if (strncmp(inner->message, faro_key_name(k), length) != 0 ||
        (inner->message[length] != ' ' && inner->message[length] != ','))
      continue;
    const bool own = draft->top[k].given || faro_draft_sweep_of(draft, k) || algorithm->own[k].given;
    return faro_draft_fail(
        draft, own ? faro_draft_written(draft, algorithm, k) : draft->top[FARO_KEY_ENVIRONMENT].line, "%s",
        inner->message);
  }
  return faro_fail(draft->error, inner->status, "%s", inner->message);
}

static faro_status open_file(const faro_draft *draft, const faro_env_settings *own, faro_env_params *params,
                             const faro_env_kind *kind, faro_error *error) {
  faro_experiment *experiment = draft->experiment;
  faro_experiment_file *file = find(experiment, own);
  params->table = file ? file->table : NULL;
  if (!file) file = faro_arena_alloc(&experiment->arena, 1, sizeof *file, error);
  if (!file) return FARO_MEMORY;
  const bool fresh = !params->table;
  const faro_status status = faro_env_read(kind, params, error);
  if (fresh && params->table) {
    *file = (faro_experiment_file){own->rows, own->memory, params->table, experiment->files};
    experiment->files = file;
  }
  return status;
}

faro_status faro_draft_read_file(const faro_draft *draft, const faro_draft_algorithm *algorithm,
                                 faro_cell *cell) {
  faro_env_settings *own = cell->env_own;
  faro_settings *s = &cell->settings;
  faro_error inner = {0};
  if (faro_pair_check(cell, &inner) != FARO_OK) return FARO_OK; /* said later; no need to read anything */
  faro_status status = check_given(draft, cell);
  if (status == FARO_OK) status = locate(draft, &own->rows.file);
  if (status != FARO_OK) return status;
  faro_env_params params = faro_cell_env(cell);
  status = open_file(draft, own, &params, cell->env, &inner);
  if (status != FARO_OK) return blame(draft, algorithm, &inner);
  const faro_entry *dimension = &draft->top[FARO_KEY_DIMENSION];
  if (dimension->given && params.dimension != s->dimension)
    return faro_draft_fail(draft, dimension->line,
                           "dimension must be left out for a file with columns for each arm: it is %zu",
                           params.dimension);
  if (s->horizon == 0 && draft->quick && params.horizon > 2000) params.horizon = 2000;
  cell->table = params.table;
  s->horizon = params.horizon;
  s->arms = params.arms;
  s->dimension = params.dimension;
  s->population = params.population;
  return FARO_OK;
}

faro_status faro_cell_check_people(const faro_cell *cell, faro_error *error) {
  const faro_env_params params = faro_cell_env(cell);
  if (cell->settings.level == FARO_LEVEL_USER || cell->release->trust == FARO_TRUST_NONE) return FARO_OK;
  return faro_env_once(cell->env, &params, error);
}

void faro_cell_caution(faro_cell *cell) {
  if (cell->table && cell->claim.trust != FARO_TRUST_NONE)
    cell->claim.assumes |= faro_cell_facts(cell).assumes;
}

/* ---- what is known of a file */

static size_t count_beyond(const faro_cell *cell) {
  const faro_env_settings *own = cell->env_own;
  const faro_features_params params = {
      .facts = cell->table->facts, .scaling = (faro_scaling)own->scaling, .ranges = own->ranges};
  faro_features *features = NULL;
  if (own->scaling != FARO_SCALING_DECLARED || faro_features_create(&features, &params, NULL) != FARO_OK)
    return 0;
  const size_t beyond = faro_features_beyond(features, cell->table->facts);
  faro_features_destroy(features);
  return beyond;
}

static void find_rare(const faro_table *t, faro_cell_file *file) {
  enum { FEW = 10 };
  uint64_t *rows = calloc(t->facts->arms, sizeof *rows);
  const bool counted = rows && faro_table_count(t, rows);
  for (size_t a = 0; counted && a < t->facts->arms && file->rares < FARO_RARE_MAX; a++) {
    if (rows[a] >= FEW || 1000 * rows[a] >= t->facts->rows) continue;
    file->rare[file->rares].arm = a;
    file->rare[file->rares++].rows = rows[a];
  }
  free(rows);
}

faro_cell_file faro_cell_file_of(const faro_cell *cell) {
  const faro_rows_facts *f = cell->table->facts;
  const faro_env_settings *own = cell->env_own;
  faro_cell_file file = {.rows = f->rows,
                         .columns = f->numbers + f->words,
                         .arms = f->arms,
                         .column = f->name,
                         .arm = f->arm,
                         .beyond = count_beyond(cell)};
  if (own->layout == FARO_LAYOUT_BLOCK) file.features = (size_t)(cell->settings.dimension / f->arms) - 1;
  find_rare(cell->table, &file);
  return file;
}
