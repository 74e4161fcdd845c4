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

enum {
  OPTION_SET,
  OPTION_JOBS,
  OPTION_OUT,
  OPTION_QUICK,
  OPTION_JSON,
  OPTION_CSV,
  OPTION_FRESH,
  OPTION_QUIET,
  OPTION_COUNT
};
static const cli_option options[OPTION_COUNT] = {
    [OPTION_SET] = {"set", true},      [OPTION_JOBS] = {"jobs", true},    [OPTION_OUT] = {"out", true},
    [OPTION_QUICK] = {"quick", false}, [OPTION_JSON] = {"json", false},   [OPTION_CSV] = {"csv", false},
    [OPTION_FRESH] = {"fresh", false}, [OPTION_QUIET] = {"quiet", false},
};

enum { OVERRIDES_MAX = 64 };

typedef struct request {
  const char *experiment, *out;
  faro_override override[OVERRIDES_MAX];
  char *text[OVERRIDES_MAX]; /* what the overrides point into */
  size_t overrides, jobs;
  bool quick, json, csv, fresh, quiet;
} request;

static atomic_int stop;

static bool is_stopped(void *context) {
  (void)context;
  return atomic_load(&stop) != 0;
}

static void on_signal(int number) {
  (void)number;
  atomic_store(&stop, 1);
}

/* The first interrupt ends the run in order; a second one ends the program. */
static void catch_signals(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

static int add_override(request *r, const char *text) {
  char *copy = strdup(text);
  char *equals = copy ? strchr(copy, '=') : NULL;
  if (!equals || equals == copy) {
    free(copy);
    return cli_usage(&cli_run, "--set takes KEY=VALUE (got %s)", text);
  }
  if (r->overrides == OVERRIDES_MAX) {
    free(copy);
    return cli_usage(&cli_run, "at most %d --set are possible", OVERRIDES_MAX);
  }
  *equals = '\0';
  r->text[r->overrides] = copy;
  r->override[r->overrides++] = (faro_override){.key = copy, .value = equals + 1};
  return EXIT_DONE;
}

static int set_jobs(request *r, const char *text) {
  char *end = NULL;
  const long jobs = strtol(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || jobs < 1 || jobs > 1024)
    return cli_usage(&cli_run, "--jobs must be 1 .. 1024 (got %s)", text);
  r->jobs = (size_t)jobs;
  return EXIT_DONE;
}

static int set_experiment(request *r, const char *word) {
  if (r->experiment)
    return cli_usage(&cli_run, "one experiment at a time (got %s and %s)", r->experiment, word);
  r->experiment = word;
  return EXIT_DONE;
}

/* EXIT_DONE and a complete request, or -1 when help was printed, or an exit status. */
static int parse(request *r, int argc, char **argv) {
  int place = 0;
  const char *value = NULL;
  for (;;) {
    int status = EXIT_DONE;
    switch (cli_next(&cli_run, options, OPTION_COUNT, argc, argv, &place, &value)) {
    case OPTION_SET: status = add_override(r, value); break;
    case OPTION_JOBS: status = set_jobs(r, value); break;
    case OPTION_OUT: r->out = value; break;
    case OPTION_QUICK: r->quick = true; break;
    case OPTION_JSON: r->json = true; break;
    case OPTION_CSV: r->csv = true; break;
    case OPTION_FRESH: r->fresh = true; break;
    case OPTION_QUIET: r->quiet = true; break;
    case CLI_WORD: status = set_experiment(r, value); break;
    case CLI_HELP: return -1;
    case CLI_END:
      if (r->json && r->csv) return cli_usage(&cli_run, "--json or --csv, not both");
      return r->experiment ? EXIT_DONE : cli_usage(&cli_run, "which experiment?");
    default: return EXIT_USAGE;
    }
    if (status != EXIT_DONE) return status;
  }
}

/* The folders that a run made for its output, so that an early failure can take them back. */
typedef struct folders {
  char path[CLI_PATH];
  size_t first, last; /* lengths of the shortest and the longest prefix of path that was made; 0: none */
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
      return faro_fail(error, FARO_SYSTEM, "%s: cannot be made: %s", faro_path_end(f->path), strerror(errno));
    f->path[i] = path[i];
    if (made && f->first == 0) f->first = i;
    if (made) f->last = i;
  }
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode) || access(path, W_OK) != 0)
    return faro_fail(error, FARO_SYSTEM, "%s: not a directory that can be written", faro_path_end(path));
  return FARO_OK;
}

/* Removes what was made, as far as it is empty. */
static void take_back_folders(folders *f) {
  for (size_t i = f->last; f->first > 0 && i >= f->first; i--) {
    const bool end = f->path[i] == '/' || f->path[i] == '\0';
    f->path[i] = end ? '\0' : f->path[i];
    if (end && f->path[i - 1] != '/' && rmdir(f->path) != 0) return;
  }
}

static int show(const request *r, const faro_report *report, const char *out) {
  if (r->json) return cli_print(stdout, faro_report_json(report));
  if (r->csv) return cli_print(stdout, faro_report_summary_csv(report));
  const int status = cli_print(stdout, faro_report_table(report));
  if (status == EXIT_DONE) printf("report: %s/report.html\n", out);
  return status;
}

/* Runs and writes; the journal goes only when everything else is in its place. */
static int run_into(const request *r, const faro_experiment *experiment, const char *out, faro_error *error) {
  char journal[CLI_PATH + 32];
  snprintf(journal, sizeof journal, "%s/instances.journal", out);
  cli_progress progress;
  cli_progress_begin(&progress, r->quiet);
  const faro_run_options run = {.jobs = r->jobs,
                                .journal = journal,
                                .fresh = r->fresh,
                                .stopped = is_stopped,
                                .progress = cli_progress_show,
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
  if (status == FARO_INTERRUPTED) fprintf(stderr, "faro: the same command continues it (saved in %s)\n", out);
  faro_report_destroy(report);
  faro_results_destroy(results);
  return result;
}

static int execute(const request *r) {
  faro_error error = {0};
  char path[CLI_PATH];
  char fallback[CLI_PATH];
  if (!cli_find_experiment(r->experiment, path, &error)) return cli_fail(&error);
  faro_experiment *experiment = NULL;
  const faro_experiment_options settings = {
      .overrides = r->override, .override_count = r->overrides, .quick = r->quick};
  if (faro_experiment_load(&experiment, path, &settings, &error) != FARO_OK) return cli_fail(&error);
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
  const int status = parse(&r, argc, argv);
  const int result = status == EXIT_DONE ? execute(&r) : status < 0 ? EXIT_DONE : status;
  for (size_t i = 0; i < r.overrides; i++) free(r.text[i]);
  return result;
}

const cli_command cli_run = {
    .name = "run",
    .usage = "run EXPERIMENT [--set KEY=VALUE]... [--jobs N] [--out DIR] [--quick] [--json | --csv]",
    .summary = "run an experiment and report it",
    .run = run,
    .help =
        "EXPERIMENT is a name (`faro list experiments`) or the path of a YAML file.\n"
        "\n"
        "  --set KEY=VALUE  replace a setting wherever the file gives it; KEY=[A, B] sweeps it\n"
        "                   (`faro list settings` shows the keys and what they allow)\n"
        "  --jobs N         threads; the default is one for each processor\n"
        "  --out DIR        where the results go; the default is results/EXPERIMENT\n"
        "  --quick          at most 2000 rounds, 4 instances and batches of 200, into\n"
        "                   results/EXPERIMENT-quick, for a first look\n"
        "  --json, --csv    print results in that form instead of a table\n"
        "  --fresh          do not continue an interrupted run\n"
        "  --quiet          no progress on stderr\n"
        "\n"
        "DIR gets run.json, summary.csv, curves.csv, a figure and report.html. An interrupted run keeps its\n"
        "finished instances there; the same command continues it. Results depend on the experiment and its\n"
        "seed alone, not on the number of threads.\n"
        "\n"
        "examples:\n"
        "  faro run trust-models\n"
        "  faro run 000-fig1 --set calibration=figure\n"
        "  faro run 000-fig1 --set 'epsilon=[0.5, 1, 2]' --set instances=10 --json\n",
};
