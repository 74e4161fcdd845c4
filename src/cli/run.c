/* run: faro run EXPERIMENT */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"

enum { SETS_MAX = 64 };

/* The texts of --set, KEY=VALUE. */
typedef struct sets {
  const char *text[SETS_MAX];
  size_t count;
} sets;

typedef struct request {
  const char *experiment, *out;
  sets sets;
  size_t jobs;
  bool quick, json, csv, fresh, quiet;
} request;

static bool add_set(const char *text, void *out) {
  sets *all = out;
  if (*text == '=' || !strchr(text, '=') || all->count == SETS_MAX) return false;
  all->text[all->count++] = text;
  return true;
}

static const faro_field options[] = {
    {"set", FARO_FIELD_OTHER, FARO_AT(request, sets), .read = add_set,
     .allowed = "KEY=VALUE, at most 64 times", .value = "KEY=VALUE",
     .help = "replace a setting everywhere in the file; KEY=[A, B] sweeps it (`faro list settings` "
             "shows the keys and what they allow)"},
    {"jobs", FARO_FIELD_COUNT, FARO_AT(request, jobs), .least = 1, .most = 1024, .value = "N",
     .help = "threads; one per processor by default"},
    {"out", FARO_FIELD_WORD, FARO_AT(request, out), .value = "DIR",
     .help = "directory of the results; results/EXPERIMENT by default"},
    {"quick", FARO_FIELD_FLAG, FARO_AT(request, quick),
     .help = "for a first look: at most 2000 rounds, 4 instances and batches of 200; the results go to "
             "results/EXPERIMENT-quick"},
    {"json", FARO_FIELD_FLAG, FARO_AT(request, json), .help = "print the results as JSON"},
    {"csv", FARO_FIELD_FLAG, FARO_AT(request, csv), .help = "print the results as CSV"},
    {"fresh", FARO_FIELD_FLAG, FARO_AT(request, fresh), .help = "do not continue an interrupted run"},
    {"quiet", FARO_FIELD_FLAG, FARO_AT(request, quiet), .help = "do not print progress on stderr"},
};

static atomic_int stop;

static bool is_stopped(void *context) {
  (void)context;
  return atomic_load(&stop) != 0;
}

static void on_signal(int number) {
  (void)number;
  atomic_store(&stop, 1);
}

/* The first signal stops the run cleanly; a second one ends the program at once. */
static void catch_signals(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

/* The folders that a run created for its output, so that they can be removed after a failure. */
typedef struct folders {
  char path[CLI_PATH];
  size_t first, last; /* lengths of the shortest and longest prefix created; 0: none */
} folders;

/* mkdir -p */
static faro_status make_folders(folders *f, const char *path, faro_error *error) {
  if (*path == '\0' || snprintf(f->path, sizeof f->path, "%s", path) >= (int)sizeof f->path)
    return faro_fail(error, FARO_INVALID, "--out must be a path of 1 to %d characters", CLI_PATH - 1);
  const size_t length = strlen(path);
  for (size_t i = 1; i <= length; i++) {
    if (path[i] != '/' && path[i] != '\0') continue;
    f->path[i] = '\0';
    const bool made = mkdir(f->path, 0777) == 0;
    if (!made && errno != EEXIST)
      return faro_fail(error, FARO_SYSTEM, "%s: cannot be created: %s", faro_path_end(f->path),
                       strerror(errno));
    f->path[i] = path[i];
    if (made && f->first == 0) f->first = i;
    if (made) f->last = i;
  }
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode) || access(path, W_OK) != 0)
    return faro_fail(error, FARO_SYSTEM, "%s: not a directory, or not writable", faro_path_end(path));
  return FARO_OK;
}

/* Removes the folders that were created and are empty. */
static void take_back_folders(folders *f) {
  for (size_t i = f->last; f->first > 0 && i >= f->first; i--) {
    const bool end = f->path[i] == '/' || f->path[i] == '\0';
    f->path[i] = end ? '\0' : f->path[i];
    if (end && f->path[i - 1] != '/' && rmdir(f->path) != 0) return;
  }
}

static void show_progress(void *context, size_t done, size_t total, double share) {
  cli_progress_show(context, done, total, share);
}

static int show(const request *r, const faro_report *report, const char *out) {
  if (r->json) return cli_print(stdout, faro_report_json(report));
  if (r->csv) return cli_print(stdout, faro_report_summary_csv(report));
  const int status = cli_print(stdout, faro_report_table(report));
  if (status == EXIT_DONE) printf("report: %s/report.html\n", out);
  return status;
}

/* Runs the experiment and writes the report. The journal is removed last, after everything else is
 * written. */
static int run_into(const request *r, const faro_experiment *experiment, const char *out, faro_error *error) {
  char journal[CLI_PATH + 32];
  snprintf(journal, sizeof journal, "%s/instances.journal", out);
  cli_progress progress;
  cli_progress_begin(&progress, "instances", r->quiet);
  const faro_run_options run = {.jobs = r->jobs,
                                .journal = journal,
                                .fresh = r->fresh,
                                .stopped = is_stopped,
                                .progress = show_progress,
                                .context = &progress};
  faro_results *results = NULL;
  faro_report *report = NULL;
  catch_signals();
  faro_status status = faro_run(experiment, &run, &results, error);
  cli_progress_end(&progress);
  if (status == FARO_OK) status = faro_report_make(&report, experiment, results, error);
  if (status == FARO_OK) status = faro_report_write(report, out, error);
  if (status == FARO_OK) (void)remove(journal);
  const int result = status == FARO_OK ? show(r, report, out) : cli_fail(error);
  if (status == FARO_INTERRUPTED)
    fprintf(stderr, "faro: run the same command again to continue (saved in %s)\n", out);
  faro_report_destroy(report);
  faro_results_destroy(results);
  return result;
}

static faro_status load(const request *r, faro_experiment **experiment, faro_error *error) {
  char path[CLI_PATH];
  char *key[SETS_MAX] = {NULL};
  faro_override override[SETS_MAX];
  faro_status status = cli_find_experiment(r->experiment, path, error) ? FARO_OK : FARO_INVALID;
  for (size_t i = 0; i < r->sets.count && status == FARO_OK; i++) {
    const char *text = r->sets.text[i];
    const size_t length = strcspn(text, "=");
    key[i] = strndup(text, length);
    override[i] = (faro_override){.key = key[i], .value = text + length + 1};
    if (!key[i]) status = faro_fail(error, FARO_MEMORY, "out of memory");
  }
  const faro_experiment_options settings = {
      .overrides = override, .override_count = r->sets.count, .quick = r->quick};
  if (status == FARO_OK) status = faro_experiment_load(experiment, path, &settings, error);
  for (size_t i = 0; i < r->sets.count; i++) free(key[i]);
  return status;
}

static int execute(const request *r) {
  faro_error error = {0};
  char fallback[CLI_PATH];
  faro_experiment *experiment = NULL;
  if (load(r, &experiment, &error) != FARO_OK) return cli_fail(&error);
  snprintf(fallback, sizeof fallback, "results/%s%s", faro_experiment_name(experiment),
           r->quick ? "-quick" : "");
  const char *out = r->out ? r->out : fallback;
  folders made = {.first = 0};
  int result = EXIT_DONE;
  if (make_folders(&made, out, &error) != FARO_OK) result = cli_fail(&error);
  else result = run_into(r, experiment, out, &error);
  if (result != EXIT_DONE) take_back_folders(&made);
  faro_experiment_destroy(experiment);
  return result;
}

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  const int status = cli_read(&cli_run, &r, argc, argv, &words);
  if (status != CLI_GO) return status;
  if (r.json && r.csv) return cli_usage(&cli_run, "--json and --csv exclude each other");
  if (words == 0)
    return cli_usage(&cli_run, "EXPERIMENT is required: a name from `faro list experiments`, or a path");
  r.experiment = argv[0];
  return execute(&r);
}

const cli_command cli_run = {
    .name = "run",
    .usage = "run EXPERIMENT [--set KEY=VALUE]... [--jobs N] [--out DIR] [--quick] [--json | --csv]",
    .summary = "run an experiment and write its report",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 1,
    .about = "EXPERIMENT is a name (`faro list experiments`) or the path of a YAML file.\n",
    .help =
        "DIR gets run.json, summary.csv, curves.csv, a figure and report.html. An interrupted run keeps its\n"
        "finished instances there; the same command continues it. Results depend on the experiment and its\n"
        "seed alone, not on the number of threads.\n"
        "\n"
        "examples:\n"
        "  faro run trust-models\n"
        "  faro run 000-fig1 --set calibration=figure\n"
        "  faro run 000-fig1 --set 'epsilon=[0.5, 1, 2]' --set instances=10 --json\n",
};
