/* view: checks and reads the run document. It may come from a file, so nothing in it is trusted. */
#include "report/view.h"
#include "sim/experiment.h"

#include "sim/interval.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Runs from before there was a choice have no measure, and measured the regret. NULL if faro does
 * not know the measure. */
static const faro_measure_text *read_measure(const json_t *document) {
  static const faro_measure_text measures[] = {
#define X(id, name, course, end) {name, course, end},
      FARO_MEASURE_LIST(X)
#undef X
  };
  const json_t *measure = json_object_get(document, "measure");
  if (!measure) return &measures[FARO_MEASURE_REGRET];
  for (size_t i = 0; json_is_string(measure) && i < sizeof measures / sizeof *measures; i++)
    if (strcmp(json_string_value(measure), measures[i].name) == 0) return &measures[i];
  return NULL;
}

static double real(const json_t *value) {
  return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* The same for a member that is omitted if it has nothing to say. */
static double real_or(const json_t *object, const char *key, double otherwise) {
  const json_t *value = json_object_get(object, key);
  return value ? real(value) : otherwise;
}

/* A text without control characters, which would affect a terminal and break XML; else NULL. */
static const char *clean(const char *value) {
  for (const char *c = value; c && *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) return NULL;
  return value;
}

void faro_view_add_clean(const char *value, void (*add)(faro_text *, const char *), faro_text *out) {
  add(out, value && clean(value) ? value : "?");
}

static const char *text(const json_t *object, const char *key) {
  return clean(json_string_value(json_object_get(object, key)));
}

/* A sweep's value as text, allocated in the arena. */
static const char *print_value(faro_arena *arena, const json_t *value, faro_error *error) {
  if (json_is_string(value)) return clean(json_string_value(value));
  if (json_is_boolean(value)) return json_is_true(value) ? "true" : "false";
  char number[FARO_NUMBER_SIZE];
  return json_is_number(value) ? faro_arena_strdup(arena, faro_short(json_number_value(value), number), error)
                               : NULL;
}

static bool read_spread(const json_t *object, faro_spread *out) {
  *out = (faro_spread){.mean = real(json_object_get(object, "mean")),
                       .sd = real(json_object_get(object, "sd")),
                       .error = real(json_object_get(object, "se")),
                       .lower = real(json_object_get(object, "q25")),
                       .median = real(json_object_get(object, "median")),
                       .upper = real(json_object_get(object, "q75")),
                       .most = real(json_object_get(object, "max")), /* missing in older runs */
                       .tail = real_or(object, "tail", 0)};
  return isfinite(out->mean) && isfinite(out->sd) && isfinite(out->error) && isfinite(out->lower) &&
         isfinite(out->median) && isfinite(out->upper);
}

static bool read_curve(faro_report *report, const json_t *curve, faro_view_row *row, faro_error *error) {
  static const char *const names[] = {"round", "mean", "sd", "q25", "median", "q75"};
  const double root = sqrt((double)report->instances);
  row->points = json_array_size(json_object_get(curve, "round"));
  if (row->points < 1 || row->points > FARO_CURVE_POINTS) return false;
  row->curve = faro_arena_alloc(&report->arena, row->points, sizeof *row->curve, error);
  if (!row->curve) return false;
  for (size_t i = 0; i < row->points; i++) {
    double value[6];
    for (size_t k = 0; k < 6; k++) {
      value[k] = real(json_array_get(json_object_get(curve, names[k]), i));
      if (!isfinite(value[k])) return false;
    }
    const faro_interval mean =
        faro_interval_positive(value[1], value[2] / root, (double)report->instances - 1);
    row->curve[i] =
        (faro_view_point){value[0], value[1], value[2], value[3], value[4], value[5], mean.low, mean.high};
  }
  return true;
}

double faro_view_base(const char *measure, double uniform, double fixed) {
  return strcmp(measure, "error-rate") == 0 && isfinite(fixed) ? fixed : uniform;
}

/* The regret beside that of simple play. Runs from before there was a yardstick have none. */
static void read_yardstick(const faro_report *report, const json_t *result, faro_view_row *row) {
  const faro_interval mean =
      faro_interval_positive(row->regret.mean, row->regret.error, (double)report->instances - 1);
  row->low = mean.low;
  row->high = mean.high;
  row->uniform = real(json_object_get(json_object_get(result, "uniform"), "mean"));
  row->fixed = real(json_object_get(json_object_get(result, "fixed"), "mean"));
  row->base = faro_view_base(report->measure->name, row->uniform, row->fixed);
  row->learnt = row->base > 0 ? 1 - row->regret.mean / row->base : (double)NAN;
  row->per_user = strcmp(report->measure->name, "regret") == 0 ? row->regret.mean / row->rounds : (double)NAN;
}

/* Every instance. False if it is there and wrong. */
static bool read_each(faro_report *report, const json_t *result, faro_view_row *row, faro_error *error) {
  const json_t *list = json_object_get(json_object_get(result, "each"), report->measure->name);
  if (!list) return true;
  if (json_array_size(list) != report->instances) return false;
  double *each = faro_arena_alloc(&report->arena, report->instances, sizeof *each, error);
  for (size_t i = 0; each && i < report->instances; i++) {
    each[i] = real(json_array_get(list, i));
    if (!isfinite(each[i])) return false;
  }
  row->each = each;
  return each;
}

/* `auto` stays if the batch changes during the run. */
static double read_batch(const json_t *batch) {
  const char *word = json_string_value(batch);
  return word && strcmp(word, "auto") == 0 ? 0 : real(batch);
}

/* Whether every run must have an outcome (outcomes.def); a document without it is not valid.
 * SIGNED: it need not, and if it does, it may be null or below 0. */
enum {
  SIGNED = 2,
  IS_ALWAYS_ALL = 1,
  IS_ALWAYS_PHASES = 0,
  IS_ALWAYS_STUDIES = 0,
  IS_ALWAYS_MATRICES = 0,
  IS_ALWAYS_STREAMS = 0,
  IS_ALWAYS_ROWS = SIGNED,
  IS_ALWAYS_NONE = 0
};

/* NaN if it may be absent and is. */
static bool read_outcome(const json_t *result, const char *name, int always, double *value) {
  const json_t *there = json_object_get(result, name);
  *value = real_or(result, name, (double)NAN);
  if (always != true && !there) return true;
  if (always == SIGNED) return json_is_null(there) || isfinite(*value);
  return *value >= 0 && isfinite(*value);
}

/* Older runs say in their settings alone what is protected, and in `by` what is assumed. */
static bool read_limits(const json_t *claim, const json_t *settings, faro_view_row *row) {
  const json_t *assumes = json_object_get(claim, "assumes");
  const bool older = !json_object_get(claim, "protects");
  const char *protects = older ? text(settings, "protect") : text(claim, "protects");
  faro_protects what = FARO_PROTECTS_ALL;
  if (!older && !(protects && faro_protects_find(protects, &what))) return false;
  if (older && protects && isfinite(row->epsilon)) (void)faro_protects_find(protects, &what);
  row->rewards_only = what == FARO_PROTECTS_REWARDS;
  row->assumes = text(claim, "assumes");
  return row->assumes || !assumes || json_is_null(assumes);
}

static bool read_row(faro_report *report, const json_t *result, faro_view_row *row, faro_error *error) {
  const json_t *claim = json_object_get(result, "claim");
  const json_t *local = json_object_get(claim, "local");
  const json_t *settings = json_object_get(result, "settings");
  *row = (faro_view_row){.label = text(result, "label"),
                         .learner = text(result, "learner"),
                         .release = text(result, "release"),
                         .settings = settings,
                         .calibration = text(settings, "calibration"),
                         .trust = text(claim, "trust"),
                         .level = text(claim, "level"),
                         .by = text(claim, "by"),
                         .standing = text(claim, "standing"),
                         .region = text(result, "region"),
                         .epsilon = real(json_object_get(claim, "epsilon")),
                         .delta = real(json_object_get(claim, "delta")),
                         .batch = read_batch(json_object_get(settings, "batch")),
                         .growth = read_batch(json_object_get(settings, "growth")),
                         .rounds = real(json_object_get(result, "rounds")),
                         .sends = real(json_object_get(result, "bytes_per_user")), /* missing in older runs */
                         .messages = real(json_object_get(result, "messages_per_user")),
                         .contributions = real_or(claim, "contributions", 1),
                         .actions = text(claim, "actions"), /* missing in older runs */
                         .local_epsilon = real(json_object_get(local, "epsilon")),
                         .local_delta = real(json_object_get(local, "delta"))};
#define OUTCOME(member, how, where, name, ...)                                                               \
  if (!read_outcome(result, name, IS_ALWAYS_##where, &row->member)) return false;
#include <faro/outcomes.def>
#undef OUTCOME
  for (size_t s = 0; s < report->sweeps; s++) {
    const json_t *value = json_object_get(result, report->sweep[s]);
    row->at[s] = print_value(&report->arena, value, error);
    row->place[s] = real(value);
    if (!row->at[s]) return false;
  }
  const double numbers[] = {row->batch, row->rounds, row->messages, row->contributions};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (!(numbers[i] >= 0 && isfinite(numbers[i]))) return false;
  if (!(row->label && row->learner && row->release && row->calibration && row->trust && row->level &&
        row->by && row->standing && read_limits(claim, settings, row) &&
        read_spread(json_object_get(result, report->measure->name), &row->regret)))
    return false;
  read_yardstick(report, result, row);
  return read_each(report, result, row, error) &&
         read_curve(report, json_object_get(result, "curve"), row, error);
}

static int find_sweep(const faro_report *report, const char *name) {
  for (size_t s = 0; name && s < report->sweeps; s++)
    if (strcmp(report->sweep[s], name) == 0) return (int)s;
  return -1;
}

/* The experiment's name becomes a file name, so it must be one plain word. */
static bool plain_name(const char *name) {
  if (!name || *name == '\0' || *name == '.' || strlen(name) > 200) return false;
  for (; *name; name++)
    if ((unsigned char)*name <= ' ' || (unsigned char)*name >= 127 || *name == '/') return false;
  return true;
}

static bool read_sweeps(faro_report *report) {
  const json_t *sweep = json_object_get(report->document, "sweep");
  const json_t *plot = json_object_get(report->document, "plot");
  report->sweeps = json_array_size(sweep);
  if (!json_is_array(sweep) || !json_is_object(plot) || report->sweeps > FARO_SWEEPS_MAX) return false;
  for (size_t s = 0; s < report->sweeps; s++) {
    report->sweep[s] = json_string_value(json_array_get(sweep, s));
    if (!plain_name(report->sweep[s]) || strpbrk(report->sweep[s], ",\"")) return false;
  }
  report->x = find_sweep(report, text(plot, "x"));
  report->panels = find_sweep(report, text(plot, "panels"));
  const char *y = text(plot, "y");
  report->per_round = y && strcmp(y, "regret-per-round") == 0 && report->x < 0;
  return true;
}

static bool read_head(faro_report *report) {
  const json_t *document = report->document;
  const json_t *program = json_object_get(document, "faro");
  const json_t *seed = json_object_get(document, "seed");
  const json_t *instances = json_object_get(document, "instances");
  report->name = text(document, "experiment");
  report->title = text(document, "title");
  report->left_out = text(document, "left_out");
  report->measure = read_measure(document);
  report->version = text(program, "version");
  report->commit = text(program, "commit");
  report->compiler = text(program, "compiler");
  report->seconds = real(json_object_get(document, "wall_seconds"));
  report->seed = (uint64_t)json_integer_value(seed);
  report->instances = (size_t)json_integer_value(instances);
  report->count = json_array_size(json_object_get(document, "results"));
  return plain_name(report->name) && report->title && report->measure && report->version && report->commit &&
         report->compiler && isfinite(report->seconds) && json_is_integer(seed) &&
         json_integer_value(seed) >= 0 && json_is_integer(instances) && json_integer_value(instances) >= 1 &&
         report->count >= 1 && read_sweeps(report);
}

faro_status faro_view_read(faro_report *report, const char *name, faro_error *error) {
  if (!read_head(report))
    return faro_fail(error, FARO_INVALID, "%s: not a run of faro: its head is incomplete", name);
  report->row = faro_arena_alloc(&report->arena, report->count, sizeof *report->row, error);
  if (!report->row) return FARO_MEMORY;
  const json_t *results = json_object_get(report->document, "results");
  for (size_t i = 0; i < report->count; i++)
    if (!read_row(report, json_array_get(results, i), &report->row[i], error))
      return faro_fail(error, FARO_INVALID, "%s: not a run of faro: result %zu is incomplete", name, i + 1);
  const faro_status status = faro_view_fit(report, error);
  return status == FARO_OK ? faro_view_compare(report, error) : status;
}

bool faro_view_alike(const faro_report *report, const faro_view_row *a, const faro_view_row *b, int except,
                     int other) {
  if (strcmp(a->label, b->label) != 0) return false;
  for (int s = 0; s < (int)report->sweeps; s++)
    if (s != except && s != other && strcmp(a->at[s], b->at[s]) != 0) return false;
  return true;
}

bool faro_view_print(const json_t *value, char out[static 64]) {
  char number[FARO_NUMBER_SIZE];
  if (json_is_string(value) && clean(json_string_value(value)))
    snprintf(out, 64, "%s", json_string_value(value));
  else if (json_is_number(value)) snprintf(out, 64, "%s", faro_short(json_number_value(value), number));
  else if (json_is_boolean(value)) snprintf(out, 64, "%s", json_is_true(value) ? "true" : "false");
  else return false;
  return true;
}

/* Whether all results have the same value for a setting; if so, writes it as text. */
static bool shared_setting(const faro_report *report, const char *key, char out[static 64]) {
  const json_t *first = json_object_get(report->row[0].settings, key);
  for (size_t i = 1; i < report->count; i++)
    if (!json_equal(json_object_get(report->row[i].settings, key), first)) return false;
  return faro_view_print(first, out);
}

bool faro_view_has_rows(const faro_report *report) {
  return strcmp(report->measure->name, "error-rate") == 0 || strcmp(report->measure->name, "loss") == 0;
}

bool faro_view_has_classes(const faro_report *report) {
  return strcmp(report->measure->name, "error-rate") == 0;
}

const char *faro_view_base_name(const faro_report *report) {
  return faro_view_has_classes(report) ? "always naming the most frequent class" : "uniform play";
}

const char *faro_view_measure(const faro_report *report) {
  const char *name = report->measure->name;
  if (strcmp(name, "error-rate") == 0) return "an error rate";
  if (strcmp(name, "error") == 0) return "an error";
  return strcmp(name, "loss") == 0 ? "a loss" : "a regret";
}

const char *faro_view_word(const faro_report *report) { return strchr(faro_view_measure(report), ' ') + 1; }

void faro_view_add_limits(const faro_view_row *row, void (*add)(faro_text *, const char *), faro_text *out) {
  if (row->rewards_only) faro_text_add(out, ", rewards only");
  if (!row->assumes) return;
  faro_text_add(out, ", assumes that ");
  add(out, row->assumes);
}

void faro_view_add_terms(const faro_view_row *row, void (*add)(faro_text *, const char *), faro_text *out) {
  char pair[FARO_PAIR_SIZE];
  if (!isfinite(row->epsilon)) return;
  if (strcmp(row->level, "user") == 0)
    faro_text_add(out, ", user level (%.0f round%s)", row->contributions, row->contributions == 1 ? "" : "s");
  if (row->actions && strcmp(row->actions, "hidden") == 0) faro_text_add(out, ", actions hidden");
  faro_view_add_limits(row, add, out);
  if (isfinite(row->local_epsilon))
    faro_text_add(out, ", local %s", faro_pair_above(row->local_epsilon, row->local_delta, pair));
}

void faro_view_add_by(const faro_view_row *row, void (*add)(faro_text *, const char *), faro_text *out) {
  if (row->assumes) {
    add(out, "assumes that ");
    add(out, row->assumes);
    add(out, "; ");
  }
  add(out, row->by);
  if (!row->rewards_only) return;
  add(out, "; ");
  add(out, faro_protects_text(FARO_PROTECTS_REWARDS));
}

void faro_view_add_phases(const faro_report *report, const char *before, const char *after, faro_text *out) {
  double most = 0;
  double blur = 0;
  for (size_t i = 0; i < report->count; i++) {
    most = fmax(most, report->row[i].exhausted);
    blur = fmax(blur, report->row[i].blur);
  }
  if (most > 0)
    faro_text_add(
        out,
        "%sin up to %.3g %% of instances the population ran out of clients; then nobody was asked any more, "
        "and the arm that looked best was played to the end%s",
        before, 100 * most, after);
  if (blur > 0)
    faro_text_add(out,
                  "%sthe arms' mean features were estimated by sampling contexts; their standard error "
                  "is at most %.2g%s",
                  before, blur, after);
}

/* The least and the greatest share over the rows with this row's label; 0 if this is not the first
 * of them. */
static double find_early(const faro_report *report, const faro_view_row *row, double *least) {
  double most = 0;
  *least = INFINITY;
  for (const faro_view_row *other = report->row; other < report->row + report->count; other++) {
    if (strcmp(other->label, row->label) != 0) continue;
    if (other < row) return 0;
    const double share = other->early > 0 ? other->early / other->regret.mean : 0;
    *least = fmin(*least, share);
    most = fmax(most, share);
  }
  return most;
}

void faro_view_add_early(const faro_report *report, const char *before, const char *after,
                         void (*add)(faro_text *, const char *), faro_text *out) {
  for (size_t i = 0; i < report->count; i++) {
    double least = 0;
    const double most = find_early(report, &report->row[i], &least);
    if (!(most > 0)) continue;
    faro_text_add(out, "%s", before);
    add(out, report->row[i].label);
    faro_text_add(out, ": ");
    if (least < most) faro_text_add(out, "%.3g to ", 100 * least);
    faro_text_add(out, "%.3g %% of the regret is from initial exploration, before the first re-estimate%s",
                  100 * most, after);
  }
}

void faro_view_add_left_out(const faro_report *report, const char *before, const char *after,
                            void (*add)(faro_text *, const char *), faro_text *out) {
  if (!report->left_out) return;
  faro_text_add(out, "%sleft out, because they do not offer this calibration: ", before);
  add(out, report->left_out);
  faro_text_add(out, "%s", after);
}

void faro_view_add_refused(const faro_report *report, const char *before, const char *after, faro_text *out) {
  double least = INFINITY;
  double most = 0;
  for (size_t i = 0; i < report->count; i++) {
    if (!faro_view_is_private(&report->row[i])) continue; /* without a claim, nobody is refused */
    least = fmin(least, report->row[i].refused);
    most = fmax(most, report->row[i].refused);
  }
  if (most == 0) return;
  faro_text_add(out, "%s", before);
  if (least < most) faro_text_add(out, "%.3g to ", 100 * least);
  faro_text_add(
      out,
      "%.3g %% of rounds were not counted: the user had contributed as often as the claim allows, or "
      "was already in the batch%s",
      100 * most, after);
}

void faro_view_add_setting(const faro_report *report, faro_text *out) {
  static const char *const keys[] = {"environment", "dimension",     "arms",       "norm",   "horizon",
                                     "population",  "epsilon",       "delta",      "honest", "batch",
                                     "level",       "contributions", "calibration"};
  const char *separator = "";
  char level[64];
  const bool users = shared_setting(report, "level", level) && strcmp(level, "user") == 0;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    char value[64];
    if (!shared_setting(report, keys[i], value)) continue;
    if (strcmp(value, "new") == 0) continue; /* the usual case: nobody comes back */
    if (strcmp(keys[i], "honest") == 0 && strcmp(value, "1") == 0) continue; /* the default */
    if (!users && (strcmp(keys[i], "level") == 0 || strcmp(keys[i], "contributions") == 0)) continue;
    faro_text_add(out, "%s%s%s%s", separator, i ? keys[i] : "", i ? " " : "", value);
    separator = ", ";
  }
  faro_text_add(out, "%s%zu instance%s, seed %llu", separator, report->instances,
                report->instances == 1 ? "" : "s", (unsigned long long)report->seed);
}

const char *faro_brief(double value, char out[static 32]) {
  static const char unit[] = {'\0', 'k', 'M', 'G', 'T'};
  size_t u = 0;
  while (fabs(value) >= 99999.5 && u + 1 < sizeof unit) {
    value /= 1000;
    u++;
  }
  if (!isfinite(value)) snprintf(out, 32, "-");
  else if (fabs(value) < 10 && value != floor(value)) snprintf(out, 32, "%.3g%c", value, unit[u]);
  else snprintf(out, 32, "%.0f%c", value, unit[u]);
  return out;
}

const char *faro_percent(double share, char out[static 32]) {
  const double percent = 100 * share;
  if (!isfinite(percent)) snprintf(out, 32, "-");
  else if (percent < 99.05 || percent >= 100) snprintf(out, 32, "%.0f", round(percent) + 0.0); /* no -0 */
  else if (percent < 99.91) snprintf(out, 32, "%.1f", fmin(percent, 99.9));
  else snprintf(out, 32, "%.2f", fmin(percent, 99.99));
  return out;
}

const char *faro_exponent(double value, char out[static 32]) {
  if (isfinite(value)) snprintf(out, 32, "%.3f", value);
  else snprintf(out, 32, "-");
  return out;
}
