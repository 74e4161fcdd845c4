/* run: faro run EXPERIMENT */
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/dry.h"
#include "cli/play.h"

enum { SETS_MAX = 64 };

/* The texts of --set, KEY=VALUE. */
typedef struct sets {
  const char *text[SETS_MAX];
  size_t count;
} sets;

typedef struct request {
  const char *experiment, *out, *command;
  sets sets;
  const char *part; /* --shard */
  size_t shard, shards;
  size_t jobs;
  cli_format format;
  bool quick, fresh, quiet, dry;
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
     .help = "directory of the results; by default results/EXPERIMENT, with the --set texts in its name"},
    {"quick", FARO_FIELD_FLAG, FARO_AT(request, quick),
     .help = "for a first look: at most 2000 rounds, 4 instances and batches of 200; the results go to "
             "results/EXPERIMENT-quick"},
    {"dry-run", FARO_FIELD_FLAG, FARO_AT(request, dry),
     .help = "print what would be run, what it would claim and about how long it would take; play for two "
             "seconds to find out, and write nothing"},
    {"shard", FARO_FIELD_WORD, FARO_AT(request, part), .value = "I/N",
     .help =
         "play only part I of N, counted from 1, so that N processes can share the work; `faro merge DIR` "
         "then makes the results; auto: I and N as SLURM (job arrays), Open MPI or MPICH say; auto/N: I as "
         "these, PBS or GNU parallel say"},
    {"json", FARO_FIELD_FLAG, FARO_AT(request, format.json), .help = "print the results as JSON"},
    {"csv", FARO_FIELD_FLAG, FARO_AT(request, format.csv), .help = "print the results as CSV"},
    {"fresh", FARO_FIELD_FLAG, FARO_AT(request, fresh),
     .help = "do not continue an interrupted run, and replace whatever --out holds"},
    {"quiet", FARO_FIELD_FLAG, FARO_AT(request, quiet),
     .help = "do not print progress on stderr; with --shard, print nothing but errors"},
};

/* EXPERIMENT is a folder that keeps an experiment whose shards are played. */
static bool is_folder(const char *experiment) {
  char path[CLI_PATH];
  return snprintf(path, sizeof path, "%s/shards.json", experiment) < CLI_PATH && access(path, F_OK) == 0;
}

/* The experiment of a folder goes on where it is, as it was asked for. */
static faro_status read_folder(request *r, faro_experiment **experiment, faro_error *error) {
  if (r->sets.count > 0 || r->quick || r->out)
    return faro_fail(
        error, FARO_INVALID,
        "--set, --quick and --out must be left out for a folder, which keeps how its experiment was "
        "asked for (got the folder %s)",
        faro_path_end(r->experiment));
  r->out = r->experiment;
  return faro_shard_recall(experiment, r->experiment, &(faro_experiment_options){.command = r->command},
                           error);
}

static faro_status read_experiment(const request *r, faro_experiment **experiment, faro_error *error) {
  cli_source source;
  faro_status status = cli_source_read(&source, r->experiment, error);
  if (status == FARO_OK)
    status = cli_source_parse(&source, r->sets.text, r->sets.count, r->quick, r->command, experiment, error);
  cli_source_clear(&source);
  return status;
}

/* EXPERIMENT is a folder whose shards were merged, and one of them is asked for again. */
static bool is_merged(const request *r) {
  const bool folder = r->sets.count == 0 && !r->quick && !r->out && !r->fresh;
  return r->shards > 0 && folder && cli_results_complete(r->experiment, NULL);
}

static int execute(request *r) {
  faro_error error = {0};
  faro_experiment *experiment = NULL;
  cli_results results;
  if (is_merged(r)) return r->quiet ? EXIT_DONE : cli_play_merged(stdout, r->experiment);
  faro_status status = is_folder(r->experiment) ? read_folder(r, &experiment, &error)
                                                : read_experiment(r, &experiment, &error);
  if (status == FARO_OK) status = cli_results_choose(&results, experiment, r->out, r->fresh, &error);
  const cli_play_options how = {
      .jobs = r->jobs, .fresh = r->fresh, .quiet = r->quiet, .shard = r->shard, .shards = r->shards};
  const int result = status != FARO_OK ? cli_fail(&error)
                     : r->dry          ? cli_dry_run(experiment, r->jobs, r->format.json, results.path)
                     : r->shards > 0   ? cli_play_shard(experiment, &results, &how)
                                       : cli_play(experiment, &results, &how, cli_show, &r->format);
  faro_experiment_destroy(experiment);
  return result;
}

/* What the options say of each other. */
static int check(request *r) {
  faro_error error = {0};
  if (r->format.json && r->format.csv) return cli_usage(&cli_run, "--json and --csv exclude each other");
  if (!r->part) return CLI_GO;
  if (r->format.json || r->format.csv)
    return cli_usage(&cli_run, "--shard prints no results; give --json or --csv to `faro merge` instead");
  if (r->dry) return cli_usage(&cli_run, "--shard and --dry-run exclude each other");
  if (faro_shard_read(r->part, &r->shard, &r->shards, &error) == FARO_OK) return CLI_GO;
  return cli_usage(&cli_run, "--%s", error.message);
}

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  faro_text command = FARO_TEXT_INIT;
  cli_command_line(&command, &cli_run, argc, argv);
  int status = cli_read(&cli_run, &r, argc, argv, &words);
  if (status == CLI_GO) status = check(&r);
  if (status == CLI_GO && words == 0)
    status =
        cli_usage(&cli_run, "EXPERIMENT is required: a name from `faro list experiments`, a path, or - for "
                            "standard input");
  r.experiment = argv[0];
  r.command = command.data;
  if (status == CLI_GO) status = execute(&r);
  faro_text_clear(&command);
  return status;
}

const cli_command cli_run = {
    .name = "run",
    .usage = "run EXPERIMENT [--set KEY=VALUE]...",
    .summary = "run an experiment and write its report",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 1,
    .list = "experiments",
    .about =
        "EXPERIMENT is a name (`faro list experiments`), the path of a YAML file, - for standard input, or\n"
        "a directory where shards of an experiment were played. `faro new NAME` writes a file to start "
        "from.\n",
    .help =
        "DIR gets run.json, summary.csv, curves.csv, a figure and report.html, and experiment.yaml, the "
        "file\n"
        "that was run: `faro rerun DIR` runs it again. Results of another experiment or of other settings "
        "are\n"
        "never replaced without --fresh: if the default directory holds some, -2, -3, ... is added to its\n"
        "name. An interrupted run keeps its finished instances in DIR; the same command continues it.\n"
        "Results depend on the experiment and its seed alone, not on the number of threads or shards.\n"
        "\n"
        "examples:\n"
        "  faro run trust-models\n"
        "  faro run trust-models --dry-run\n"
        "  faro run 000-fig1 --set calibration=figure\n"
        "  faro run 000-fig1 --set 'epsilon=[0.5, 1, 2]' --set instances=10 --json\n"
        "  faro run - <mine.yaml\n"
        "  faro run 000-fig1 --shard 3/16 --out fig1\n",
};
