/* rerun: faro rerun DIR */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/play.h"

enum { SETS_MAX = 64, FILE_MAX = 1 << 20, SUMMARY_MAX = 256 << 20 };

typedef struct request {
  const char *directory, *out, *command;
  size_t jobs;
  bool quiet;
} request;

static const faro_field options[] = {
    {"out", FARO_FIELD_WORD, FARO_AT(request, out), .value = "DIR",
     .help = "directory of the new results; by default the old one's name with -rerun added"},
    {"jobs", FARO_FIELD_COUNT, FARO_AT(request, jobs), .least = 1, .most = 1024, .value = "N",
     .help = "threads; one per processor by default"},
    {"quiet", FARO_FIELD_FLAG, FARO_AT(request, quiet), .help = "do not print progress on stderr"},
};

/* A finished run: how it was asked for, and what came out. */
typedef struct old_run {
  json_t *document; /* run.json */
  cli_source source;
  const char *sets[SETS_MAX + 1];
  char file[CLI_PATH + 8]; /* "file=PATH" */
  size_t count;
  char *summary;
  size_t length;
} old_run;

static void clear(old_run *old) {
  json_decref(old->document);
  cli_source_clear(&old->source);
  free(old->summary);
}

static faro_status path_in(const char *directory, const char *name, char out[static CLI_PATH],
                           faro_error *error) {
  if (snprintf(out, CLI_PATH, "%s/%s", directory, name) < CLI_PATH) return FARO_OK;
  return faro_fail(error, FARO_INVALID, "the path %.100s/... is too long", directory);
}

static faro_status read_record(old_run *old, const char *path, faro_error *error) {
  json_error_t problem;
  json_t *set = NULL;
  size_t index = 0;
  char *text = NULL;
  size_t length = 0;
  const faro_status status = faro_read_file(path, SUMMARY_MAX, &text, &length, error);
  if (status != FARO_OK) return status;
  old->document = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
  free(text);
  if (!old->document)
    return faro_fail(error, FARO_INVALID, "%s:%d: not JSON: %s", faro_path_end(path), problem.line,
                     problem.text);
  old->source.name = json_string_value(json_object_get(old->document, "experiment"));
  const json_t *sets = json_object_get(old->document, "overrides");
  if (!old->source.name || !json_is_array(sets) || json_array_size(sets) > SETS_MAX)
    return faro_fail(error, FARO_INVALID,
                     "%s: does not say how it was run (it may be from an older version of faro)",
                     faro_path_end(path));
  json_array_foreach(sets, index, set) {
    const char *one = json_string_value(set);
    if (!one || *one == '=' || !strchr(one, '='))
      return faro_fail(error, FARO_INVALID, "%s: overrides must be a list of texts KEY=VALUE",
                       faro_path_end(path));
    old->sets[old->count++] = one;
  }
  return FARO_OK;
}

/* The file of people that it read; NULL: none. */
static const char *file_of(const old_run *old) {
  const json_t *first = json_array_get(json_object_get(old->document, "results"), 0);
  return json_string_value(json_object_get(json_object_get(first, "settings"), "file"));
}

/* People from a file: its path was perhaps relative to the experiment, which is now a copy. */
static void keep_file(old_run *old) {
  const char *path = file_of(old);
  for (size_t i = 0; i < old->count; i++)
    if (strncmp(old->sets[i], "file=", 5) == 0) return;
  if (!path || (size_t)snprintf(old->file, sizeof old->file, "file=%s", path) >= sizeof old->file) return;
  old->sets[old->count++] = old->file;
}

static faro_status read_old(old_run *old, const char *directory, faro_error *error) {
  char path[CLI_PATH];
  faro_status status = path_in(directory, "run.json", path, error);
  if (status == FARO_OK) status = read_record(old, path, error);
  if (status == FARO_OK) keep_file(old);
  if (status == FARO_OK) status = path_in(directory, "experiment.yaml", old->source.file, error);
  if (status == FARO_OK)
    status = faro_read_file(old->source.file, FILE_MAX, &old->source.text, &old->source.length, error);
  if (status == FARO_OK) status = path_in(directory, "summary.csv", path, error);
  if (status == FARO_OK) status = faro_read_file(path, SUMMARY_MAX, &old->summary, &old->length, error);
  return status;
}

/* Another version may have changed what comes out. If it is the same one, an experiment that is not
 * what it was has other people. */
static void print_reason(const old_run *old, const faro_experiment *experiment) {
  const json_t *faro = json_object_get(old->document, "faro");
  const char *commit = json_string_value(json_object_get(faro, "commit"));
  const char *identity = json_string_value(json_object_get(old->document, "identity"));
  const char *file = file_of(old);
  if (commit && strcmp(commit, faro_commit()) != 0)
    printf("it was made by commit %s; this is commit %s\n", commit, faro_commit());
  else if (file && identity && strcmp(identity, faro_experiment_identity(experiment)) != 0)
    printf("%s, which it reads, has changed since\n", file);
}

typedef struct comparison {
  const request *r;
  const old_run *old;
  const faro_experiment *experiment;
} comparison;

static int compare(const faro_report *report, const char *folder, const void *context) {
  const comparison *c = context;
  char *summary = faro_report_summary_csv(report);
  if (!summary) return cli_print(stdout, NULL);
  const bool same =
      strlen(summary) == c->old->length && memcmp(summary, c->old->summary, c->old->length) == 0;
  free(summary);
  printf("summary.csv is %s the one in %s\n", same ? "the same, byte for byte, as" : "different from",
         c->r->directory);
  if (!same) print_reason(c->old, c->experiment);
  printf("report: %s/report.html\n", folder);
  return same ? EXIT_DONE : EXIT_CHECK;
}

static faro_status choose(const request *r, const faro_experiment *experiment, cli_results *results,
                          faro_error *error) {
  char place[CLI_PATH];
  size_t length = strlen(r->directory);
  while (length > 1 && r->directory[length - 1] == '/') length--;
  if (r->out) return cli_results_choose(results, experiment, r->out, false, error);
  snprintf(place, sizeof place, "%.*s-rerun", (int)length, r->directory);
  return cli_results_new(results, experiment, place, error);
}

static int execute(const request *r) {
  faro_error error = {0};
  old_run old = {0};
  cli_results results;
  faro_experiment *experiment = NULL;
  faro_status status = read_old(&old, r->directory, &error);
  const bool quick = json_is_true(json_object_get(old.document, "quick"));
  if (status == FARO_OK)
    status = cli_source_parse(&old.source, old.sets, old.count, quick, r->command, &experiment, &error);
  if (status == FARO_OK) status = choose(r, experiment, &results, &error);
  const cli_play_options how = {.jobs = r->jobs, .quiet = r->quiet};
  const comparison context = {.r = r, .old = &old, .experiment = experiment};
  const int result =
      status == FARO_OK ? cli_play(experiment, &results, &how, compare, &context) : cli_fail(&error);
  faro_experiment_destroy(experiment);
  clear(&old);
  return result;
}

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  faro_text command = FARO_TEXT_INIT;
  cli_command_line(&command, &cli_rerun, argc, argv);
  int status = cli_read(&cli_rerun, &r, argc, argv, &words);
  if (status == CLI_GO && words == 0)
    status = cli_usage(&cli_rerun, "DIR is required: the directory of a finished run");
  r.directory = argv[0];
  r.command = command.data;
  if (status == CLI_GO) status = execute(&r);
  faro_text_clear(&command);
  return status;
}

const cli_command cli_rerun = {
    .name = "rerun",
    .usage = "rerun DIR",
    .summary = "run a finished run again from its directory, and compare",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 1,
    .about =
        "DIR is the directory of the results of `faro run`. The experiment is DIR/experiment.yaml, with the\n"
        "overrides that DIR/run.json records. The old results stay as they are.\n",
    .help =
        "Says whether summary.csv came out the same, byte for byte: status 0 if it did, 1 if not. The same\n"
        "version of faro always gives the same bytes on the same kind of machine.\n"
        "\n"
        "examples:\n"
        "  faro rerun results/trust-models\n",
};
