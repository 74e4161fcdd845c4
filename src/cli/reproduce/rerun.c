/* rerun: see rerun.h.
 *
 * A finished run has a file `finished` beside its results: the digest of the experiment (which
 * covers the program), the number of instances, and the processor time. If these are the same, the
 * results are used again. An unfinished run continues from its journal. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/reproduce/rerun.h"
#include "sim/experiment.h"
#include "sim/journal.h"

enum { MARK_SIZE = 256 };

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

static double processor_seconds(void) {
  struct timespec t;
  return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0 ? (double)t.tv_sec + 1e-9 * (double)t.tv_nsec : 0;
}

/* mkdir -p */
static faro_status make_folder(const char *path, faro_error *error) {
  char part[CLI_PATH];
  snprintf(part, sizeof part, "%s", path);
  for (size_t i = 1; i <= strlen(path); i++) {
    if (path[i] != '/' && path[i] != '\0') continue;
    part[i] = '\0';
    if (mkdir(part, 0777) != 0 && errno != EEXIST)
      return faro_fail(error, FARO_SYSTEM, "%s: cannot be created: %s", faro_path_end(part), strerror(errno));
    part[i] = path[i];
  }
  return FARO_OK;
}

/* ---- the mark of a finished run */

static const char *mark_of(const faro_experiment *experiment, char out[static MARK_SIZE]) {
  size_t length = 0;
  for (size_t i = 0; i < sizeof experiment->digest; i++)
    length += (size_t)snprintf(out + length, MARK_SIZE - length, "%02x", experiment->digest[i]);
  snprintf(out + length, MARK_SIZE - length, " %zu ", experiment->instances);
  return out;
}

/* Whether the folder has the results of this experiment; then *seconds is set. */
static bool is_finished(const char *folder, const char *mark, double *seconds) {
  char path[CLI_PATH + 32];
  char *text = NULL;
  size_t length = 0;
  faro_error error = {0};
  snprintf(path, sizeof path, "%s/finished", folder);
  const bool same = faro_read_file(path, MARK_SIZE, &text, &length, &error) == FARO_OK &&
                    length > strlen(mark) && memcmp(text, mark, strlen(mark)) == 0;
  if (same) *seconds = strtod(text + strlen(mark), NULL);
  free(text);
  return same;
}

static faro_status write_mark(const char *folder, const char *mark, double seconds, faro_error *error) {
  char path[CLI_PATH + 32];
  char text[MARK_SIZE + 32];
  snprintf(path, sizeof path, "%s/finished", folder);
  const int length = snprintf(text, sizeof text, "%s%.3f\n", mark, seconds);
  return faro_write_file(path, text, (size_t)length, 0666, error);
}

/* ---- a run */

static void show_progress(void *context, size_t done, size_t total, double share) {
  cli_progress_show(context, done, total, share);
}

/* A journal of another experiment or program is of no use, and is discarded. */
static faro_status run_into(const rerun_options *o, const faro_experiment *experiment, const char *folder,
                            faro_report **report, faro_error *error) {
  char journal[CLI_PATH + 32];
  snprintf(journal, sizeof journal, "%s/instances.journal", folder);
  cli_progress progress;
  cli_progress_begin(&progress, "instances", o->quiet);
  const faro_run_options run = {.jobs = o->jobs,
                                .journal = journal,
                                .fresh = o->fresh || !faro_journal_fits(journal, experiment->digest),
                                .stopped = is_stopped,
                                .progress = show_progress,
                                .context = &progress};
  faro_results *results = NULL;
  catch_signals();
  faro_status status = faro_run(experiment, &run, &results, error);
  cli_progress_end(&progress);
  if (status == FARO_OK) status = faro_report_make(report, experiment, results, error);
  if (status == FARO_OK) status = faro_report_write(*report, folder, error);
  if (status == FARO_OK) (void)remove(journal);
  faro_results_destroy(results);
  return status;
}

static faro_status load(const rerun_options *o, const char *name, const char *calibration,
                        faro_experiment **experiment, faro_error *error) {
  char path[CLI_PATH];
  const faro_override override = {.key = "calibration", .value = calibration};
  const faro_experiment_options settings = {
      .overrides = &override, .override_count = calibration ? 1 : 0, .quick = o->quick};
  if (!cli_find_experiment(name, path, error)) return FARO_INVALID;
  return faro_experiment_load(experiment, path, &settings, error);
}

/* Runs, or takes the results from the folder. */
static faro_status play(const rerun_options *o, const faro_experiment *experiment, const char *folder,
                        double start, faro_rerun *run, faro_error *error) {
  char mark[MARK_SIZE];
  char path[CLI_PATH + 32];
  mark_of(experiment, mark);
  if (!o->fresh && is_finished(folder, mark, &run->seconds) &&
      faro_report_load(&run->report, folder, error) == FARO_OK)
    return FARO_OK;
  snprintf(path, sizeof path, "%s/finished", folder);
  (void)remove(path);
  faro_status status = run_into(o, experiment, folder, &run->report, error);
  run->seconds = processor_seconds() - start;
  if (status == FARO_OK) status = write_mark(folder, mark, run->seconds, error);
  return status;
}

int rerun_play(const rerun_options *o, const char *name, const char *calibration, const char *progress,
               faro_rerun *run) {
  char folder[CLI_PATH];
  faro_experiment *experiment = NULL;
  faro_error error = {0};
  const double start = processor_seconds();
  *run = (faro_rerun){.calibration = calibration};
  snprintf(run->folder, sizeof run->folder, "%s/%s", name, calibration ? calibration : "as-written");
  if (!o->quiet)
    fprintf(stderr, "faro: %s: %s%s%s\n", progress, name, calibration ? ", calibration " : "",
            calibration ? calibration : "");
  faro_status status = FARO_OK;
  if (*o->out == '\0' || snprintf(folder, sizeof folder, "%s/%s", o->out, run->folder) >= (int)sizeof folder)
    status = faro_fail(&error, FARO_INVALID, "--out must be a path of 1 to %d characters", CLI_PATH - 1);
  if (status == FARO_OK) status = make_folder(folder, &error);
  if (status == FARO_OK) status = load(o, name, calibration, &experiment, &error);
  if (status == FARO_OK) status = play(o, experiment, folder, start, run, &error);
  faro_experiment_destroy(experiment);
  const int result = status == FARO_OK ? EXIT_DONE : cli_fail(&error);
  if (status == FARO_INTERRUPTED)
    fprintf(stderr, "faro: run the same command again to continue (saved in %s)\n", o->out);
  return result;
}
