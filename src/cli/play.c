/* play: see the header.
 *
 * A first signal asks the run to stop. Threads obey within a few hundredths of a second as long as
 * they play rounds; where one computes something long instead, the program ends without it, because
 * finished instances are in the journal already. Files are replaced as a whole, so the report may
 * be interrupted anywhere. A second signal ends the program at once. */
#include "cli/play.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "sim/experiment.h"

/* ---- experiments */

faro_status cli_source_read(cli_source *source, const char *experiment, faro_error *error) {
  enum { FILE_MAX = 1 << 20 };
  *source = (cli_source){.name = NULL};
  const bool input = strcmp(experiment, "-") == 0;
  if (input) {
    snprintf(source->file, sizeof source->file, "standard input");
    source->name = "stdin";
  } else if (!cli_find_experiment(experiment, source->file, error)) return FARO_INVALID;
  return faro_read_file(input ? "/dev/stdin" : source->file, FILE_MAX, &source->text, &source->length, error);
}

void cli_source_clear(cli_source *source) {
  free(source->text);
  source->text = NULL;
}

faro_status cli_source_parse(const cli_source *source, const char *const *sets, size_t count, bool quick,
                             const char *command, faro_experiment **experiment, faro_error *error) {
  char **key = calloc(count + 1, sizeof *key);
  faro_override *override = calloc(count + 1, sizeof *override);
  bool made = key && override;
  for (size_t i = 0; i < count && made; i++) {
    const size_t length = strcspn(sets[i], "=");
    key[i] = strndup(sets[i], length);
    override[i] = (faro_override){.key = key[i], .value = sets[i] + length + 1};
    made = key[i] != NULL;
  }
  const faro_experiment_options options = {.overrides = override,
                                           .override_count = count,
                                           .quick = quick,
                                           .name = source->name,
                                           .command = command};
  const faro_status status =
      made ? faro_experiment_parse(experiment, source->file, source->text, source->length, &options, error)
           : faro_fail(error, FARO_MEMORY, "out of memory");
  for (size_t i = 0; key && i < count; i++) free(key[i]);
  free(key);
  free(override);
  return status;
}

/* ---- signals */

static atomic_bool stop;
static atomic_bool writing; /* the run is over and its report is written */

static bool is_stopped(void *context) {
  (void)context;
  return atomic_load(&stop);
}

static void on_signal(int number) {
  static const char text[] =
      "\nfaro: interrupted while the report was written; run the same command again to "
      "write it\n";
  (void)number;
  if (!atomic_load(&writing)) {
    atomic_store(&stop, true);
    return;
  }
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  _exit(EXIT_STOPPED);
}

static void catch_signals(void) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

/* ---- playing */

typedef struct stage {
  cli_results *results;
  const cli_play_options *options;
  char journal[CLI_PATH + 64];
  faro_shard_list others; /* journals that the folder has already */
  cli_progress progress;
  double stopped; /* when the stop was first seen; 0: not yet */
} stage;

/* After an interrupt: says where to go on, or removes what is of no use. */
static void close_interrupted(stage *s) {
  if (s->progress.done > 0) {
    fprintf(stderr, "faro: run the same command again to continue (saved in %s)\n", s->results->path);
    return;
  }
  (void)remove(s->journal);
  cli_results_take_back(s->results);
}

/* Ends the program without its threads: one of them is in the middle of something long. */
static _Noreturn void abandon(stage *s) {
  cli_progress_end(&s->progress);
  if (s->progress.done > 0)
    fprintf(stderr, "faro: interrupted: %zu of %zu instances are finished and saved\n", s->progress.done,
            s->progress.total);
  else fprintf(stderr, "faro: interrupted before the first instance finished; nothing was saved\n");
  close_interrupted(s);
  _exit(EXIT_STOPPED);
}

static void show_progress(void *context, size_t done, size_t total, double share) {
  static const double PATIENCE = 0.4;
  stage *s = context;
  if (!s->progress.begun && done > 0 && !s->progress.quiet)
    fprintf(stderr, "faro: %zu of %zu instances were saved by an earlier run\n", done, total);
  cli_progress_show(&s->progress, done, total, share);
  if (!is_stopped(NULL)) return;
  if (s->stopped == 0) s->stopped = faro_clock();
  if (faro_clock() - s->stopped > PATIENCE) abandon(s);
}

static void tell_missing(void *context, size_t cell, size_t instance) {
  const stage *s = context;
  s->options->missing(s->options->context, cell, instance);
}

/* Removes the journals, of which everything is in the results now. */
static void remove_journals(const stage *s) {
  char path[CLI_PATH + 32];
  (void)remove(s->journal);
  for (size_t i = 0; i < s->others.count; i++) (void)remove(s->others.path[i]);
  snprintf(path, sizeof path, "%s/shards.json", s->results->path);
  (void)remove(path);
}

/* Writes the report and the experiment; the journals are removed last, when nothing needs them. */
static faro_status write_all(const stage *s, const faro_report *report, const faro_experiment *experiment,
                             faro_error *error) {
  char path[CLI_PATH + 32];
  snprintf(path, sizeof path, "%s/experiment.yaml", s->results->path);
  faro_status status = faro_write_file(path, experiment->text, experiment->length, 0666, error);
  if (status == FARO_OK) status = faro_report_write(report, s->results->path, error);
  if (status == FARO_OK) remove_journals(s);
  return status;
}

/* Plays what is to be played. */
static faro_status play(stage *s, const faro_experiment *experiment, faro_results **results,
                        faro_error *error) {
  const cli_play_options *o = s->options;
  const bool alone = o->fresh || o->shards > 0; /* takes nothing from other journals */
  const faro_run_options run = {.jobs = o->jobs,
                                .journal = o->missing ? NULL : s->journal,
                                .fresh = o->fresh,
                                .stopped = is_stopped,
                                .progress = show_progress,
                                .context = s,
                                .shard = o->shard,
                                .shards = o->shards,
                                .journals = s->others.path,
                                .journal_count = alone ? 0 : s->others.count,
                                .missing = o->missing ? tell_missing : NULL};
  cli_progress_begin(&s->progress, "instances", o->quiet);
  atomic_store(&writing, false);
  catch_signals();
  const faro_status status = faro_run(experiment, &run, results, error);
  atomic_store(&writing, true);
  cli_progress_end(&s->progress);
  return status;
}

/* Makes the folder, and finds what it has. */
static faro_status prepare(stage *s, faro_error *error) {
  const cli_play_options *o = s->options;
  faro_shard_journal(s->results->path, o->shard, o->shards, s->journal, sizeof s->journal);
  const faro_status status = cli_results_make(s->results, error);
  return status == FARO_OK ? faro_shard_find(&s->others, s->results->path, error) : status;
}

static void clear(stage *s, faro_results *played, faro_status status, int result) {
  faro_results_destroy(played);
  if (status == FARO_INTERRUPTED) close_interrupted(s);
  else if (result != EXIT_DONE) cli_results_take_back(s->results);
  faro_shard_clear(&s->others);
}

int cli_play(const faro_experiment *experiment, cli_results *results, const cli_play_options *options,
             int (*then)(const faro_report *report, const char *folder, const void *context),
             const void *context) {
  stage s = {.results = results, .options = options};
  faro_results *played = NULL;
  faro_report *report = NULL;
  faro_error error = {0};
  faro_status status = prepare(&s, &error);
  if (status == FARO_OK) status = play(&s, experiment, &played, &error);
  if (status == FARO_OK && is_stopped(NULL))
    status = faro_fail(&error, FARO_INTERRUPTED, "interrupted before the report was written");
  if (status == FARO_OK) status = faro_report_make(&report, experiment, played, &error);
  if (status == FARO_OK) status = write_all(&s, report, experiment, &error);
  const int result = status == FARO_OK ? then(report, results->path, context) : cli_fail(&error);
  faro_report_destroy(report);
  clear(&s, played, status, result);
  return result;
}

int cli_play_merged(FILE *out, const char *folder) {
  fprintf(out, "already merged: the results in %s are complete\n", folder);
  return EXIT_DONE;
}

/* What a shard has played, and what comes next. */
static void tell_shard(const stage *s, const faro_results *played) {
  char *words[] = {s->results->path};
  faro_text next = FARO_TEXT_INIT;
  cli_command_line(&next, &cli_merge, 1, words);
  printf("shard %zu of %zu: %zu instance%s finished", s->options->shard, s->options->shards, played->total,
         played->total == 1 ? " is" : "s are");
  if (played->resumed > 0) printf(", %zu of them by an earlier run", played->resumed);
  printf("; saved in %s\nwhen all shards are finished: %s\n", s->journal,
         next.data ? next.data : "faro merge");
  faro_text_clear(&next);
}

/* A run of the whole experiment may have ended, and removed the journals, before the shard did. */
static faro_status close_shard(const stage *s, const faro_experiment *experiment, const faro_results *played,
                               faro_error *error) {
  const char *folder = s->results->path;
  const bool saved = access(s->journal, F_OK) == 0;
  if (!saved && !cli_results_complete(folder, experiment))
    return faro_fail(error, FARO_SYSTEM, "%s: was removed while its shard was played; run it again",
                     faro_path_end(s->journal));
  if (s->options->quiet) return FARO_OK;
  if (saved) tell_shard(s, played);
  else
    printf("shard %zu of %zu: %zu instances are finished, and not needed: the results in %s are complete\n",
           s->options->shard, s->options->shards, played->total, folder);
  return FARO_OK;
}

int cli_play_shard(const faro_experiment *experiment, cli_results *results, const cli_play_options *options) {
  stage s = {.results = results, .options = options};
  faro_results *played = NULL;
  faro_error error = {0};
  if (!options->fresh && cli_results_complete(results->path, experiment))
    return options->quiet ? EXIT_DONE : cli_play_merged(stdout, results->path);
  faro_status status = prepare(&s, &error);
  if (status == FARO_OK) status = faro_shard_keep(experiment, results->path, &error);
  if (status == FARO_OK) status = play(&s, experiment, &played, &error);
  if (status == FARO_OK) status = close_shard(&s, experiment, played, &error);
  const int result = status == FARO_OK ? EXIT_DONE : cli_fail(&error);
  clear(&s, played, status, result);
  return result;
}

int cli_show(const faro_report *report, const char *folder, const void *format) {
  const cli_format *f = format;
  if (f->json) return cli_print(stdout, faro_report_json(report));
  if (f->csv) return cli_print(stdout, faro_report_summary_csv(report));
  const int status = cli_print(stdout, faro_report_table(report, cli_screen(stdout)));
  if (status == EXIT_DONE) printf("report: %s/report.html\n", folder);
  return status;
}
