/* merge: faro merge DIR */
#include <stdlib.h>

#include "base/text.h"
#include "cli/play.h"
#include "sim/shard.h"

typedef struct request {
  const char *directory, *command;
  cli_format format;
} request;

static const faro_field options[] = {
    {"json", FARO_FIELD_FLAG, FARO_AT(request, format.json), .help = "print the results as JSON"},
    {"csv", FARO_FIELD_FLAG, FARO_AT(request, format.csv), .help = "print the results as CSV"},
};

/* ---- what is missing */

/* Instances of a shard that no journal has. */
typedef struct gap {
  size_t count;
  size_t cell, instance; /* the first of them */
} gap;

typedef struct gaps {
  const faro_experiment *experiment;
  size_t shards; /* the N of the commands that fill them; 0: no shard was played */
  size_t *first; /* of each cell, see sim/shard.h */
  gap *gap;      /* of each shard, from 0 */
} gaps;

static void note_missing(void *context, size_t cell, size_t instance) {
  gaps *g = context;
  const size_t shard = g->shards ? faro_shard_of(g->first[cell], instance, g->shards) - 1 : 0;
  if (g->gap[shard].count++ == 0) {
    g->gap[shard].cell = cell;
    g->gap[shard].instance = instance;
  }
}

/* The N of most journals; the greatest of several. */
static size_t usual_count(const faro_shard_list *list) {
  size_t best = 0;
  size_t most = 0;
  for (size_t i = 0, run = 0; i < list->count; i++) { /* sorted by N */
    run = i > 0 && list->shards[i] == list->shards[i - 1] ? run + 1 : 1;
    if (list->shards[i] > 0 && run >= most) {
      most = run;
      best = list->shards[i];
    }
  }
  return best;
}

static faro_status begin_gaps(gaps *g, const faro_experiment *experiment, const char *directory,
                              faro_error *error) {
  faro_shard_list list = {0};
  const faro_status status = faro_shard_find(&list, directory, error);
  if (status != FARO_OK) return status;
  *g = (gaps){.experiment = experiment, .shards = usual_count(&list)};
  faro_shard_clear(&list);
  g->first = calloc(experiment->count, sizeof *g->first);
  g->gap = calloc(g->shards + 1, sizeof *g->gap);
  if (!g->first || !g->gap) return faro_fail(error, FARO_MEMORY, "out of memory");
  faro_shard_deal(experiment, g->first);
  return FARO_OK;
}

/* One line for a shard: the command, and what it has to play. */
static void print_gap(const gaps *g, size_t shard, char *directory) {
  const gap *here = &g->gap[shard];
  char part[48];
  char point[FARO_SHARD_POINT];
  char *words[] = {directory, "--shard", part};
  faro_text command = FARO_TEXT_INIT;
  snprintf(part, sizeof part, "%zu/%zu", shard + 1, g->shards);
  cli_command_line(&command, &cli_run, g->shards ? 3 : 1, words);
  fprintf(stderr, "  %s    # %zu instance%s, the first: %s, instance %zu\n", command.data ? command.data : "",
          here->count, here->count == 1 ? "" : "s", faro_shard_point(g->experiment, here->cell, point),
          here->instance);
  faro_text_clear(&command);
}

/* "3,7,9-12", as batch systems take it. */
static void print_numbers(const gaps *g) {
  const char *between = "";
  for (size_t i = 0; i < g->shards; i++) {
    size_t last = i;
    if (g->gap[i].count == 0) continue;
    while (last + 1 < g->shards && g->gap[last + 1].count > 0) last++;
    fprintf(stderr, last == i ? "%s%zu" : "%s%zu-%zu", between, i + 1, last + 1);
    between = ",";
    i = last;
  }
}

/* The commands that play what is missing; nothing if nothing is. */
static void print_gaps(const gaps *g, char *directory) {
  enum { SHOWN = 16 };
  size_t open = 0;
  for (size_t i = 0; i <= g->shards; i++) open += g->gap[i].count > 0;
  if (open == 0) return;
  fprintf(stderr, "%s; then merge again:\n", open == 1 ? "this plays them" : "these play them");
  for (size_t i = 0, shown = 0; i <= g->shards && shown < SHOWN; i++) {
    if (g->gap[i].count == 0) continue;
    print_gap(g, i, directory);
    shown++;
  }
  if (g->shards < 2) return;
  if (open > SHOWN) fprintf(stderr, "  ... and %zu more\n", open - SHOWN);
  fprintf(stderr, "shards of %zu with missing instances: ", g->shards);
  print_numbers(g);
  fprintf(stderr, "\n");
}

/* ---- the command */

static int gather(const request *r, const faro_experiment *experiment, gaps *g) {
  cli_results results = {.first = 0};
  const cli_play_options how = {.quiet = true, .missing = note_missing, .context = g};
  snprintf(results.path, sizeof results.path, "%s", r->directory);
  const int result = cli_play(experiment, &results, &how, cli_show, &r->format);
  if (result != EXIT_DONE) print_gaps(g, results.path);
  return result;
}

static int execute(const request *r) {
  const faro_experiment_options how = {.command = r->command};
  faro_error error = {0};
  faro_experiment *experiment = NULL;
  gaps g = {0};
  if (cli_results_complete(r->directory, NULL))
    return cli_play_merged(r->format.json || r->format.csv ? stderr : stdout, r->directory);
  faro_status status = faro_shard_recall(&experiment, r->directory, &how, &error);
  if (status == FARO_OK) status = begin_gaps(&g, experiment, r->directory, &error);
  const int result = status == FARO_OK ? gather(r, experiment, &g) : cli_fail(&error);
  free(g.first);
  free(g.gap);
  faro_experiment_destroy(experiment);
  return result;
}

static int run(int argc, char **argv) {
  request r = {0};
  int words = 0;
  faro_text command = FARO_TEXT_INIT;
  cli_command_line(&command, &cli_merge, argc, argv);
  int status = cli_read(&cli_merge, &r, argc, argv, &words);
  if (status == CLI_GO && r.format.json && r.format.csv)
    status = cli_usage(&cli_merge, "--json and --csv exclude each other");
  if (status == CLI_GO && words == 0)
    status = cli_usage(&cli_merge, "DIR is required: the directory where shards were played");
  r.directory = argv[0];
  r.command = command.data;
  if (status == CLI_GO) status = execute(&r);
  faro_text_clear(&command);
  return status;
}

const cli_command cli_merge = {
    .name = "merge",
    .usage = "merge DIR",
    .summary = "make the results of an experiment whose shards were played by several processes",
    .run = run,
    .options = options,
    .count = sizeof options / sizeof *options,
    .words = 1,
    .about =
        "DIR is the directory where `faro run EXPERIMENT --shard I/N --out DIR` has played the shards of an\n"
        "experiment. DIR keeps the experiment and its settings.\n",
    .help =
        "Writes into DIR what `faro run` without shards would write, with the same bytes in summary.csv and\n"
        "curves.csv, and then removes the journals. Plays nothing. If instances are missing, it names the\n"
        "shards that have to be run, or run again, and ends with status 3. An instance that was played "
        "twice\n"
        "counts once; if the two records differ, they are refused, because one machine computes "
        "differently.\n"
        "\n"
        "examples:\n"
        "  faro merge results/trust-models\n",
};
