/* play: see the header. */
#include "support/play.h"

#include <stdio.h>
#include <string.h>

faro_experiment *parse_experiment(const char *format, ...) {
  char text[2000];
  va_list args;
  va_start(args, format);
  const int length = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  assert_in_range(length, 1, sizeof text - 1);
  faro_experiment *e = NULL;
  assert_ok(faro_experiment_parse(&e, "test.yaml", text, (size_t)length, NULL, error));
  return e;
}

faro_status try_cell(const faro_cell *cell, faro_play_record *record, faro_error *error) {
  const faro_turn turn = {.cell = cell, .seed = PLAY_SEED, .record = record};
  return faro_play(&turn, error);
}

faro_play_record play_cell(const faro_cell *cell, uint64_t instance) {
  faro_play_record record;
  const faro_turn turn = {.cell = cell, .seed = PLAY_SEED, .instance = instance, .record = &record};
  assert_ok(faro_play(&turn, error));
  return record;
}

faro_env *make_cell_env(const faro_cell *cell, uint64_t instance) {
  const faro_env_params params = faro_cell_env(cell);
  faro_env *env = NULL;
  assert_ok(faro_env_create(&env, cell->env, &params, error));
  faro_env_begin(env, PLAY_SEED, instance);
  return env;
}

faro_report *make_report(const char *file, const char *text, const char *key, const char *value) {
  const faro_override override = {.key = key, .value = value};
  const faro_experiment_options options = {.overrides = &override, .override_count = key ? 1 : 0};
  faro_experiment *e = NULL;
  faro_results *results = NULL;
  faro_report *report = NULL;
  assert_ok(faro_experiment_parse(&e, file, text, strlen(text), &options, error));
  assert_ok(faro_run(e, &(faro_run_options){.jobs = 2}, &results, error));
  assert_ok(faro_report_make(&report, e, results, error));
  faro_results_destroy(results);
  faro_experiment_destroy(e);
  return report;
}
