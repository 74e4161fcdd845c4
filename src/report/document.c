/* document: the run as JSON. make() writes it, and every renderer reads it back through view.c. */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "report/claim.h"
#include "report/json.h"
#include "report/view.h"
#include "sim/experiment.h"
#include "sim/interval.h"

json_t *faro_json_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }
static json_t *number(double value) { return faro_json_number(value); }
static json_t *whole(double value) { return json_integer((json_int_t)value); }

static json_t *key_value(faro_key key, double value) {
  char text[FARO_PRINTED];
  faro_key_print(key, value, text);
  if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) return json_boolean(*text == 't');
  /* a choice, or the word for zero: auto, log, new */
  if (text[0] < '0' || text[0] > '9') return json_string(text);
  return value == floor(value) ? whole(value) : number(value);
}

json_t *faro_claim_json(const faro_claim *claim) {
  char view[FARO_VIEW_SIZE];
  char assumed[FARO_ASSUMES_SIZE];
  json_t *made = json_pack(
      "{s:o, s:o, s:s, s:s, s:b, s:s, s:s, s:s, s:s, s:s, s:s?}", "epsilon", number(claim->epsilon), "delta",
      number(claim->delta), "trust", faro_claim_trust(claim), "level", faro_level_name(claim->level),
      "proven", claim->proven ? 1 : 0, "standing", faro_claim_standing(claim), "by", claim->by,
      "adversary_sees", faro_claim_view(claim, view), "actions", faro_actions_name(claim->actions),
      "protects", faro_protects_name(claim->protects), "assumes", faro_assumes_text(claim->assumes, assumed));
  json_t *local = claim->local_epsilon > 0
                      ? json_pack("{s:f, s:f}", "epsilon", claim->local_epsilon, "delta", claim->local_delta)
                      : json_null();
  json_object_set_new(made, "local", local);
  if (claim->level == FARO_LEVEL_USER)
    json_object_set_new(made, "contributions", whole((double)claim->contributions));
  return made;
}

static json_t *make_spread(const faro_spread *s, size_t instances) {
  const faro_interval mean = faro_interval_positive(s->mean, s->error, (double)instances - 1);
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "mean", number(s->mean), "sd",
                   number(s->sd), "se", number(s->error), "low", number(mean.low), "high", number(mean.high),
                   "q25", number(s->lower), "median", number(s->median), "q75", number(s->upper), "max",
                   number(s->most), "tail", number(s->tail));
}

static json_t *make_curve(const faro_outcome *outcome, size_t instances) {
  enum { COLUMNS = 8 };
  static const char *const name[COLUMNS] = {"round", "mean", "sd", "low", "high", "q25", "median", "q75"};
  json_t *curve = json_object();
  json_t *column[COLUMNS];
  for (size_t i = 0; i < COLUMNS; i++) json_object_set_new(curve, name[i], column[i] = json_array());
  for (size_t i = 0; i < outcome->points; i++) {
    const faro_spread *s = &outcome->curve[i];
    const faro_interval mean = faro_interval_positive(s->mean, s->error, (double)instances - 1);
    const double value[COLUMNS] = {0, s->mean, s->sd, mean.low, mean.high, s->lower, s->median, s->upper};
    json_array_append_new(column[0], json_integer((json_int_t)outcome->round[i]));
    for (size_t k = 1; k < COLUMNS; k++) json_array_append_new(column[k], number(value[k]));
  }
  return curve;
}

/* Keys without a meaning for a stream, which has no arms, or for a file, which has its own. */
static bool is_idle(const faro_cell *cell, faro_key key) {
  const bool stream = cell->env->traits & FARO_ENV_STREAM;
  const bool rows = cell->env->traits & FARO_ENV_ROWS;
  if (key == FARO_KEY_DIMENSION || key == FARO_KEY_ARMS) return stream;
  return (stream || rows) && (key == FARO_KEY_REWARD || key == FARO_KEY_DRAW);
}

/* Every setting of the cell, with the values that faro chose filled in. */
static json_t *make_settings(const faro_cell *cell) {
  json_t *settings = json_object();
  for (faro_key k = 0; k < faro_key_count(); k++) {
    const double value = faro_cell_get(cell, k);
    if (isnan(value) || is_idle(cell, k)) continue;
    const char *name = k == FARO_KEY_ENVIRONMENT ? "environment" : faro_key_name(k);
    const char *text = faro_cell_text(cell, k);
    if (faro_key_is_text(k)) {
      if (text) json_object_set_new(settings, name, json_string(text));
    } else json_object_set_new(settings, name, key_value(k, value));
  }
  return settings;
}

/* In which results an outcome is written (outcomes.def). */
typedef enum where {
  WHERE_NONE,
  WHERE_ALL,
  WHERE_PHASES,
  WHERE_STUDIES,
  WHERE_MATRICES,
  WHERE_STREAMS,
  WHERE_ROWS
} where;

static bool is_told(where place, const faro_cell *cell) {
  const faro_protocol protocol = cell->learner->protocol;
  switch (place) {
  case WHERE_ALL: return true;
  case WHERE_PHASES: return protocol == FARO_PROTOCOL_ELIMINATOR;
  case WHERE_STUDIES: return protocol == FARO_PROTOCOL_ASKER || protocol == FARO_PROTOCOL_WATCHER;
  case WHERE_MATRICES: return protocol == FARO_PROTOCOL_UPDATER || protocol == FARO_PROTOCOL_ASKER;
  case WHERE_STREAMS: return protocol == FARO_PROTOCOL_ESTIMATOR;
  case WHERE_ROWS: return cell->env->traits & FARO_ENV_ROWS;
  case WHERE_NONE: break;
  }
  return false;
}

static void add_outcomes(json_t *result, const faro_cell *cell, const faro_outcome *outcome) {
  const bool counted = outcome->users > 0; /* by phases and terms, because users differ in what they send */
  json_object_set_new(result, "bytes_per_user",
                      number(counted ? outcome->bytes / outcome->users : cell->cost.bytes));
  json_object_set_new(result, "bits_per_user",
                      number(counted ? outcome->sent / outcome->users : cell->cost.bits));
  json_object_set_new(result, "messages_per_user",
                      number(counted ? outcome->posted / outcome->users : cell->cost.messages));
#define OUTCOME(member, how, where, name, ...)                                                               \
  if (is_told(WHERE_##where, cell)) json_object_set_new(result, name, number(outcome->member));
#include <faro/outcomes.def>
#undef OUTCOME
}

/* What the learner's exploration rests on; NULL: nothing is said. */
static const char *region_of(const faro_cell *cell) {
  const faro_calibration calibration = cell->settings.calibration;
  if (cell->settings.surrogate && cell->env->link != FARO_LINK_LINEAR) return "misspecified";
  if (calibration == FARO_CALIBRATION_FIGURE) return NULL;
  /* the widths of askers are published ones, unless the calibration is tight */
  const bool asks = cell->learner->protocol == FARO_PROTOCOL_ASKER;
  return asks && calibration == FARO_CALIBRATION_PAPER ? NULL : cell->learner->region;
}

/* What regret is worth: per user, and beside that of simple play on the same instances. */
static void add_yardstick(json_t *result, const faro_cell *cell, const char *measure,
                          const faro_outcome *outcome) {
  if (cell->env->traits & FARO_ENV_STREAM) return;
  const double regret = outcome->regret.mean;
  if (!(cell->env->traits & FARO_ENV_ROWS))
    json_object_set_new(result, "per_user", number(regret / (double)cell->settings.horizon));
  json_object_set_new(result, "uniform", json_pack("{s:o}", "mean", number(outcome->uniform)));
  if (isfinite(outcome->fixed))
    json_object_set_new(result, "fixed", json_pack("{s:o}", "mean", number(outcome->fixed)));
  const double base = faro_view_base(measure, outcome->uniform, outcome->fixed);
  if (base > 0) json_object_set_new(result, "learnt", number(1 - regret / base));
}

/* Appends this instance to the list of that name. */
static void append_to(json_t *lists, const char *name, double value) {
  json_t *list = json_object_get(lists, name);
  if (!list) json_object_set_new(lists, name, list = json_array());
  json_array_append_new(list, number(value));
}

/* Every instance: the measure, what uniform play would have got, and the outcomes. Not the time, so
 * that the CSV files of a run are the same bytes on every repetition. */
static json_t *make_each(const faro_cell *cell, const char *measure, const faro_play_record *first,
                         size_t step, size_t count) {
  json_t *lists = json_object();
  for (const faro_play_record *one = first; one < first + count * step; one += step) {
    append_to(lists, measure, one->regret);
    if (isfinite(one->uniform)) append_to(lists, "uniform", one->uniform);
    if (isfinite(one->fixed)) append_to(lists, "fixed", one->fixed);
#define OUTCOME(member, how, where, name, csv, ...)                                                          \
  if (csv && is_told(WHERE_##where, cell))                                                                   \
    append_to(lists, name, strcmp(#how, "UPDATE") == 0 ? one->member / fmax(one->updates, 1) : one->member);
#include <faro/outcomes.def>
#undef OUTCOME
  }
  return lists;
}

/* `records` of the cell's instances, one in every `count` of cells; NULL: they are not kept. */
static json_t *make_result(const faro_experiment *experiment, const faro_cell *cell,
                           const faro_outcome *outcome, const faro_play_record *records) {
  const faro_settings *settings = &cell->settings;
  json_t *result =
      json_pack("{s:s, s:s, s:s, s:o, s:o}", "label", cell->label, "learner", cell->learner->name, "release",
                cell->release->name, "epsilon", number(settings->epsilon), "delta", number(settings->delta));
  for (size_t s = 0; s < experiment->sweeps; s++) { /* as in the file: `auto` stays `auto` */
    const faro_sweep *sweep = &experiment->sweep[s];
    json_object_set_new(result, faro_key_name(sweep->key), key_value(sweep->key, sweep->value[cell->at[s]]));
  }
  json_object_set_new(result, faro_measure_name(experiment->measure),
                      make_spread(&outcome->regret, experiment->instances));
  if (outcome->points > 0) add_yardstick(result, cell, faro_measure_name(experiment->measure), outcome);
  json_object_set_new(result, "rounds", whole((double)settings->horizon));
  json_object_set_new(result, "instances", json_integer((json_int_t)experiment->instances));
  const char *region = region_of(cell);
  if (region) json_object_set_new(result, "region", json_string(region));
  add_outcomes(result, cell, outcome);
  json_object_set_new(result, "claim", faro_claim_json(&cell->claim));
  if (cell->grounds) json_object_set_new(result, "grounds", json_loads(cell->grounds, 0, NULL));
  json_object_set_new(result, "settings", make_settings(cell));
  json_object_set_new(result, "curve", make_curve(outcome, experiment->instances));
  if (records)
    json_object_set_new(result, "each",
                        make_each(cell, faro_measure_name(experiment->measure), records, experiment->count,
                                  experiment->instances));
  return result;
}

static json_t *make_machine(void) {
  struct utsname name;
  if (uname(&name) != 0) memset(&name, 0, sizeof name);
  return json_pack("{s:s, s:s, s:s, s:I}", "system", name.sysname, "release", name.release, "architecture",
                   name.machine, "processors", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN));
}

static const char *axis_name(const faro_experiment *experiment, int axis, const char *otherwise) {
  return axis >= 0 ? faro_key_name(experiment->sweep[axis].key) : otherwise;
}

/* How the run was asked for: enough to run it again, with experiment.yaml beside it. */
static void add_record(json_t *document, const faro_experiment *experiment) {
  json_t *overrides = json_array();
  for (size_t i = 0; i < experiment->overrides; i++)
    json_array_append_new(overrides, json_string(experiment->override[i]));
  if (experiment->command) json_object_set_new(document, "command", json_string(experiment->command));
  json_object_set_new(document, "overrides", overrides);
  json_object_set_new(document, "quick", json_boolean(experiment->quick));
  json_object_set_new(document, "identity", json_string(experiment->identity));
}

static json_t *make_document(const faro_experiment *experiment, const faro_results *results) {
  char start[32] = "";
  const time_t began = time(NULL) - (time_t)results->seconds;
  struct tm utc;
  if (gmtime_r(&began, &utc)) strftime(start, sizeof start, "%Y-%m-%dT%H:%M:%SZ", &utc);
  json_t *sweep = json_array();
  for (size_t s = 0; s < experiment->sweeps; s++)
    json_array_append_new(sweep, json_string(faro_key_name(experiment->sweep[s].key)));
  json_t *result = json_array();
  for (size_t c = 0; c < results->cells; c++)
    json_array_append_new(result, make_result(experiment, &experiment->cell[c], &results->outcome[c],
                                              results->record ? results->record + c : NULL));
  const char *measure = faro_measure_name(experiment->measure);
  json_t *document = json_pack(
      "{s:s, s:s, s:s, s:I, s:I, s:{s:s, s:s, s:s}, s:o, s:s, s:o, s:I, s:o, s:{s:s, s:s, s:s}, s:o}",
      "experiment", experiment->name, "title", experiment->title, "measure", measure, "seed",
      (json_int_t)experiment->seed, "instances", (json_int_t)experiment->instances, "faro", "version",
      faro_version(), "commit", faro_commit(), "compiler", faro_compiler(), "machine", make_machine(),
      "start", start, "wall_seconds", number(results->seconds), "resumed_instances",
      (json_int_t)results->resumed, "sweep", sweep, "plot", "x",
      axis_name(experiment, experiment->x, "round"), "y",
      experiment->per_round ? "regret-per-round" : measure, "panels",
      axis_name(experiment, experiment->panels, "none"), "results", result);
  if (experiment->left_out) json_object_set_new(document, "left_out", json_string(experiment->left_out));
  if (experiment->cell[0].table)
    json_object_set_new(document, "data", faro_people_json(&experiment->cell[0]));
  add_record(document, experiment);
  return document;
}

/* The slopes, each with its label and the values of the sweeps that are not x. */
static json_t *make_slopes(const faro_report *report) {
  json_t *slopes = json_array();
  for (size_t i = 0; i < report->slopes; i++) {
    const faro_view_slope *slope = &report->slope[i];
    const json_t *result =
        json_array_get(json_object_get(report->document, "results"), (size_t)(slope->row - report->row));
    json_t *made = json_pack("{s:s}", "label", slope->row->label);
    for (int s = 0; s < (int)report->sweeps; s++)
      if (s != report->x) json_object_set(made, report->sweep[s], json_object_get(result, report->sweep[s]));
    json_object_set_new(made, "slope", number(slope->slope));
    json_object_set_new(made, "se", number(slope->error));
    json_object_set_new(made, "slope_of_max", number(slope->of_most));
    json_array_append_new(slopes, made);
  }
  return slopes;
}

/* A row's values of the sweeps, as run.json has them. */
static json_t *make_place(const faro_report *report, const faro_view_row *row) {
  const json_t *result =
      json_array_get(json_object_get(report->document, "results"), (size_t)(row - report->row));
  json_t *at = json_object();
  for (size_t s = 0; s < report->sweeps; s++)
    json_object_set(at, report->sweep[s], json_object_get(result, report->sweep[s]));
  return at;
}

static json_t *make_comparisons(const faro_report *report) {
  json_t *comparisons = json_array();
  for (size_t i = 0; i < report->comparisons; i++) {
    const faro_view_comparison *c = &report->comparison[i];
    json_array_append_new(comparisons,
                          json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:b}", "at",
                                    make_place(report, c->better), "better", c->better->label, "worse",
                                    c->worse->label, "difference", number(c->difference), "low",
                                    number(c->low), "high", number(c->high), "seen", c->seen ? 1 : 0));
  }
  return comparisons;
}

static faro_status adopt(faro_report **report, json_t *document, const char *name, faro_error *error) {
  faro_arena arena = {0};
  faro_report *made = faro_arena_alloc(&arena, 1, sizeof *made, error);
  if (!made) {
    json_decref(document);
    return FARO_MEMORY;
  }
  made->arena = arena;
  made->document = document;
  const faro_status status = faro_view_read(made, name, error);
  if (status == FARO_OK) { /* never read back, always computed */
    json_object_set_new(document, "slopes", make_slopes(made));
    json_object_set_new(document, "comparisons", make_comparisons(made));
  }
  if (status == FARO_OK) *report = made;
  else faro_report_destroy(made);
  return status;
}

faro_status faro_report_make(faro_report **report, const faro_experiment *experiment,
                             const faro_results *results, faro_error *error) {
  if (!results->outcome)
    return faro_fail(error, FARO_INVALID, "results of a shard cannot be reported; merge all shards first");
  json_t *document = make_document(experiment, results);
  if (!document) return faro_fail(error, FARO_MEMORY, "cannot allocate the report");
  return adopt(report, document, experiment->name, error);
}

char *faro_report_claims(const faro_experiment *experiment) {
  static const faro_outcome none;
  json_t *results = json_array();
  for (size_t c = 0; c < experiment->count; c++) {
    json_t *result = make_result(experiment, &experiment->cell[c], &none, NULL);
    json_object_del(result, "refused"); /* nobody was asked */
    json_array_append_new(results, result);
  }
  json_t *document = json_pack("{s:s, s:o}", "experiment", experiment->name, "results", results);
  char *text = faro_json_text(document, false);
  json_decref(document);
  return text;
}

faro_status faro_report_parse(faro_report **report, const char *name, const char *text, size_t length,
                              faro_error *error) {
  json_error_t problem;
  json_t *document = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
  if (!document)
    return faro_fail(error, FARO_INVALID, "%s:%d: not JSON: %s", name, problem.line, problem.text);
  return adopt(report, document, name, error);
}

void faro_report_destroy(faro_report *report) {
  if (!report) return;
  json_decref(report->document);
  faro_arena arena = report->arena;
  faro_arena_free(&arena);
}

char *faro_report_json(const faro_report *report) {
  json_t *results = json_deep_copy(json_object_get(report->document, "results"));
  size_t index = 0;
  json_t *result = NULL;
  json_array_foreach(results, index, result) {
    json_object_del(result, "curve");
    json_object_del(result, "each");
  }
  json_t *document =
      json_pack("{s:s, s:s, s:O, s:O, s:o}", "experiment", report->name, "measure", report->measure->name,
                "slopes", json_object_get(report->document, "slopes"), "comparisons",
                json_object_get(report->document, "comparisons"), "results", results);
  char *text = faro_json_text(document, true);
  json_decref(document);
  return text;
}
