/* csv: the CSV files (RFC 4180). Seconds are not included, so that the files of a run are the same
 * bytes on every repetition. What does not apply is empty. */
#include <math.h>
#include <string.h>

#include "report/view.h"

static bool is_swept(const faro_report *report, const char *key) {
  for (size_t s = 0; s < report->sweeps; s++)
    if (strcmp(report->sweep[s], key) == 0) return true;
  return false;
}

static char *finish(faro_text *out) {
  if (out->failed) faro_text_clear(out);
  return out->data;
}

static void add_doubled(faro_text *out, const char *value) {
  for (; *value; value++) faro_text_add(out, *value == '"' ? "\"%c" : "%c", *value);
}

/* Text in quotes, quotes doubled. */
static void add_quoted(faro_text *out, const char *value) {
  faro_text_put(out, "\"");
  add_doubled(out, value);
  faro_text_put(out, "\",");
}

static void add_number(faro_text *out, double value, char end) {
  char number[FARO_NUMBER_SIZE];
  faro_text_put(out, isfinite(value) ? faro_short(value, number) : "");
  faro_text_put(out, (const char[]){end, '\0'});
}

static void add_identity(const faro_report *report, const faro_view_row *row, faro_text *out) {
  add_quoted(out, row->label);
  for (size_t s = 0; s < report->sweeps; s++) {
    if (isfinite(row->place[s])) add_number(out, row->place[s], ',');
    else add_quoted(out, row->at[s]);
  }
}

static void add_identity_head(const faro_report *report, faro_text *out) {
  faro_text_add(out, "label,");
  for (size_t s = 0; s < report->sweeps; s++) faro_text_add(out, "%s,", report->sweep[s]);
}

/* "regret_mean,regret_sd," for the parts of a spread listed in `parts`, which NULL ends. */
static void add_measure_head(const faro_report *report, const char *const *parts, faro_text *out) {
  for (; *parts; parts++) faro_text_add(out, "%s_%s,", report->measure->name, *parts);
}

/* Outcomes of rows have columns only where people come from a file. */
enum {
  IS_ROWS_ALL,
  IS_ROWS_PHASES = 0,
  IS_ROWS_STUDIES = 0,
  IS_ROWS_MATRICES = 0,
  IS_ROWS_STREAMS = 0,
  IS_ROWS_NONE = 0,
  IS_ROWS_ROWS = 1
};

/* What is promised: epsilon to contributions, then the words, quoted. */
static void add_claim(const faro_view_row *row, bool level, faro_text *out) {
  const bool is_private = faro_view_is_private(row);
  add_number(out, row->epsilon, ',');
  add_number(out, row->delta, ',');
  add_number(out, is_private ? row->contributions : (double)NAN, ',');
  add_quoted(out, row->trust);
  if (level) add_quoted(out, row->level);
  add_quoted(out, row->standing);
  faro_text_put(out, "\"");
  faro_view_add_by(row, add_doubled, out);
  faro_text_put(out, "\",");
  if (is_private)
    add_quoted(out, faro_protects_name(row->rewards_only ? FARO_PROTECTS_REWARDS : FARO_PROTECTS_ALL));
  else faro_text_put(out, ",");
  if (row->assumes) add_quoted(out, row->assumes);
  else faro_text_put(out, ",");
}

/* A swept key has its column already. batch_users is the batch that was played, even if the
 * experiment says auto; empty if it changed during the run (anytime). */
char *faro_report_summary_csv(const faro_report *report) {
  faro_text out = FARO_TEXT_INIT;
  const bool calibration = !is_swept(report, "calibration");
  static const char *const spread[] = {"mean",   "sd",  "se",  "low",  "high", "q25",
                                       "median", "q75", "max", "tail", NULL};
  const bool level = !is_swept(report, "level");
  const bool rows = faro_view_has_rows(report);
  add_identity_head(report, &out);
  faro_text_add(&out, "learner,release,%sbatch_users,rounds,instances,", calibration ? "calibration," : "");
  add_measure_head(report, spread, &out);
  faro_text_add(&out, "per_user,uniform,fixed,learnt,bytes_per_user,messages_per_user,");
#define OUTCOME(member, how, where, name, csv, ...)                                                          \
  if (csv && (rows || !IS_ROWS_##where)) faro_text_add(&out, "%s,", name);
#include <faro/outcomes.def>
#undef OUTCOME
  faro_text_add(&out, "claim_epsilon,claim_delta,claim_contributions,trust,%sstanding,by,protects,assumes\n",
                level ? "level," : "");
  for (size_t i = 0; i < report->count; i++) {
    const faro_view_row *row = &report->row[i];
    add_identity(report, row, &out);
    add_quoted(&out, row->learner);
    add_quoted(&out, row->release);
    if (calibration) add_quoted(&out, row->calibration);
    const faro_spread *m = &row->regret;
    const double values[] = {row->batch > 0 ? row->batch : (double)NAN,
                             row->rounds,
                             (double)report->instances,
                             m->mean,
                             m->sd,
                             m->error,
                             row->low,
                             row->high,
                             m->lower,
                             m->median,
                             m->upper,
                             m->most,
                             m->tail,
                             row->per_user,
                             row->uniform,
                             row->fixed,
                             row->learnt,
                             row->sends,
                             row->messages};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) add_number(&out, values[k], ',');
#define OUTCOME(member, how, where, name, csv, ...)                                                          \
  if (csv && (rows || !IS_ROWS_##where)) add_number(&out, row->member, ',');
#include <faro/outcomes.def>
#undef OUTCOME
    add_claim(row, level, &out);
    if (!out.failed) out.data[out.length - 1] = '\n'; /* in place of the last comma */
  }
  return finish(&out);
}

char *faro_report_curves_csv(const faro_report *report) {
  faro_text out = FARO_TEXT_INIT;
  static const char *const spread[] = {"mean", "sd", "low", "high", "q25", "median", "q75", NULL};
  add_identity_head(report, &out);
  faro_text_add(&out, "round,");
  add_measure_head(report, spread, &out);
  if (!out.failed) out.data[out.length - 1] = '\n';
  for (size_t i = 0; i < report->count; i++)
    for (size_t k = 0; k < report->row[i].points; k++) {
      const faro_view_point *point = &report->row[i].curve[k];
      add_identity(report, &report->row[i], &out);
      const double values[] = {point->round, point->mean,  point->sd,     point->low,
                               point->high,  point->lower, point->median, point->upper};
      const size_t last = sizeof values / sizeof *values - 1;
      for (size_t v = 0; v <= last; v++) add_number(&out, values[v], v < last ? ',' : '\n');
    }
  return finish(&out);
}

/* The columns of instances.csv after the measure; those that no row has are left out. */
static const char *const columns[] = {
    "uniform",
    "fixed",
#define OUTCOME(member, how, where, name, csv, ...) csv ? name : NULL,
#include <faro/outcomes.def>
#undef OUTCOME
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* The list of a row's instances by this name; NULL: the row has none. */
static const json_t *list_of(const faro_report *report, size_t row, const char *name) {
  const json_t *result = json_array_get(json_object_get(report->document, "results"), row);
  return name ? json_object_get(json_object_get(result, "each"), name) : NULL;
}

static void add_instances(const faro_report *report, size_t row, const bool *shown, faro_text *out) {
  for (size_t i = 0; report->row[row].each && i < report->instances; i++) {
    add_identity(report, &report->row[row], out);
    faro_text_add(out, "%zu,", i);
    add_number(out, report->row[row].each[i], ',');
    for (size_t c = 0; c < COLUMNS; c++) {
      if (!shown[c]) continue;
      const json_t *value = json_array_get(list_of(report, row, columns[c]), i);
      add_number(out, json_is_number(value) ? json_number_value(value) : (double)NAN, ',');
    }
    if (!out->failed) out->data[out->length - 1] = '\n';
  }
}

char *faro_report_instances_csv(const faro_report *report) {
  faro_text out = FARO_TEXT_INIT;
  bool shown[COLUMNS] = {false};
  add_identity_head(report, &out);
  faro_text_add(&out, "instance,%s,", report->measure->name);
  for (size_t c = 0; c < COLUMNS; c++) {
    for (size_t i = 0; i < report->count; i++) shown[c] |= list_of(report, i, columns[c]) != NULL;
    if (shown[c]) faro_text_add(&out, "%s,", columns[c]);
  }
  if (!out.failed) out.data[out.length - 1] = '\n';
  for (size_t i = 0; i < report->count; i++) add_instances(report, i, shown, &out);
  return finish(&out);
}
